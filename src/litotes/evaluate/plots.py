"""Pictures inside a page as inline SVG, in colours that the page's style sheet sets for light and dark."""

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from litotes.evaluate.rows import MINUS

# Colours that stand for a variable of the style sheet: matplotlib writes them, the page replaces them.
INK, SOFT, LINE, CARD = "#01a001", "#01a002", "#01a003", "#01a004"
_PAGE = {INK: "--ink", SOFT: "--soft", LINE: "--line", CARD: "--card"}

TERMS = {
    "loss": "whole loss", "hco": "HCO", "atnl": "ATNL", "options": "own options", "retention": "InfoNCE on I and P",
    "negatives": "InfoNCE with N", "contrast": "statements of the batch", "by_picture": "statements of a picture",
    "by_statement": "pictures of a statement", "mirror": "mirrored names", "keep": "captions kept",
}  # fmt: skip
"""What a page calls the terms of a loss; any other bears its own name."""
_NO_TERM = ("step", "epoch", "items", "lr", "samples_per_s")

_BINS = 160
_TIDY = (
    (r"<!--.*?-->\s*", ""),
    (r"<defs>\s*<style.*?</style>\s*</defs>", ""),
    (r"<g id=\"[^\"]*\"", "<g"),
    (r"<svg [^>]*?(viewBox=\"[^\"]+\")[^>]*>", r'<svg \1 aria-hidden="true" focusable="false">'),
    (r"font: [^;\"]*?([\d.]+px)[^;\"]*", r"font-size: \1"),
    (r"font-family: [^;\"]*;? ?", ""),
)
"""What matplotlib writes and an element inside a page should not have."""


class Curve(NamedTuple):
    """A term of the loss over the steps: what the page calls it, the last value as printed, the picture."""

    label: str
    last: str
    svg: Markup


def loss_terms(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """The values of each term of the loss, step by step, from the lines of a run's journal."""
    names = [name for name in (lines[0] if lines else ()) if name not in _NO_TERM]
    return {name: [line[name] for line in lines] for name in names}


def loss_curves(terms: Mapping[str, Sequence[float]], run: str) -> list[Curve]:
    """Curves of all terms of a run that has steps; ``run`` makes the ids of the pictures its own within a page."""
    return [
        Curve(TERMS.get(term, term), f"{values[-1]:.3f}".replace("-", MINUS), Markup(curve_svg(values, f"{run}-{t}")))
        for t, (term, values) in enumerate(terms.items())
        if values
    ]


def curve_svg(values: Sequence[float], name: str) -> str:
    """A loss over the steps: each step pale, the running mean strong; values that are not finite leave a gap."""
    raw = np.asarray(values, dtype=float)
    figure = Figure(figsize=(2.7, 1.35))
    axes = figure.add_axes((0.16, 0.17, 0.8, 0.76))
    steps, pale = _binned(raw)
    axes.plot(steps, pale, color=SOFT, linewidth=0.7, alpha=0.5)
    axes.plot(steps, _running_mean(pale), color=INK, linewidth=1.5)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(LINE)
    axes.tick_params(colors=SOFT, labelsize=7.5, length=2, pad=2, color=LINE)
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(3, integer=True))
    axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(3))
    return svg_element(figure, f"curve-{name}")


def _binned(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps from 1 and values, at most ``_BINS`` of them: the means of equal stretches."""
    parts = np.array_split(np.arange(len(raw)), min(len(raw), _BINS))
    values = np.where(np.isfinite(raw), raw, np.nan)
    return np.array([part.mean() + 1 for part in parts]), np.array([values[part].mean() for part in parts])


def _running_mean(values: np.ndarray) -> np.ndarray:
    """Mean over a window of about a twelfth of the run, shorter at its ends, without the values that are missing."""
    half = max(len(values) // 24, 1)
    known = np.where(np.isnan(values), 0.0, values)
    window = np.ones(2 * half + 1)
    total = np.convolve(known, window)[half:-half]
    count = np.convolve(~np.isnan(values), window)[half:-half]
    return np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0)


def svg_element(figure: Figure, name: str, variables: Mapping[str, str] | None = None) -> str:
    """The figure as an ``<svg>`` element that scales with the page and takes the page's colours and letters.

    ``name`` salts the ids of its markers, so that two figures in one page do not take each other's. Groups need no
    id, and matplotlib's own style rule would hold for the whole page. variables: of the style sheet, by the colour that
    stands for each in the figure, beside those of every page.
    """
    buffer = StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    text = buffer.getvalue()
    text = text[text.index("<svg") :].replace("xlink:href", "href")
    for colour, variable in {**_PAGE, **(variables or {})}.items():
        text = text.replace(colour, f"var({variable})")
    for pattern, plain in _TIDY:
        text = re.sub(pattern, plain, text, flags=re.DOTALL)
    return text.strip()
