"""Charts of uncertainty: quality by bins, risk by coverage, reliability, similarities, and sigma by group of pairs.

Wherever an uncertainty is drawn, 1 - p is drawn beside it. Each function takes plain numbers, as results hold them, and
``name``, which must be the chart's own within a page.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from litotes.errors import UserError
from litotes.evaluate.charts import MODEL_COLOURS, Chart
from litotes.evaluate.plots import INK, LINE, SOFT, svg_element

WORDS = {
    "sigma": "σ", "total_variance": "total variance", "one_minus_p": "1 − p", "one_minus_cosine": "1 − cosine",
    "labelled": "labelled", "missing": "true, unlabelled", "hard": "wrong, hard", "easy": "wrong, easy",
    "mislabelled": "labelled, wrong", "others": "not labelled", "true": "true", "wrong": "wrong",
}  # fmt: skip
"""What a chart calls the uncertainties and the groups of pairs; any other bears its own name."""

_COLOURS = tuple(MODEL_COLOURS)
_STYLES = {"one_minus_p": (0, (3, 1.5)), "one_minus_cosine": (0, (1, 1))}
_OUTLINES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))
_LEAST = 10.0
"""Points that an axis of percentages spans at least."""
_PREFERRED = ("sigma", "one_minus_p", "total_variance")


def bins_chart(qualities: Mapping[str, Sequence[float]], title: str, name: str) -> Chart:
    """Quality by bins of rising uncertainty, a line an uncertainty (Figure 3 of VACSR).

    qualities: by uncertainty, the mean quality 0-1 of each bin (``UncertaintyBins.quality``).
    """
    _require_some(qualities)
    figure, axes = _axes()
    for at, (key, values) in enumerate(qualities.items()):
        number = np.arange(1, len(values) + 1)
        _line(axes, number, 100 * np.asarray(values), key, at, marker="o")
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
    _within_percent(axes)
    return _percent_chart(figure, axes, title, "bin, the surest first", _told(qualities, "bins"), name)


def risk_coverage_chart(curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], title: str, name: str) -> Chart:
    """The error that is left when only the surest answers are given, a line an uncertainty.

    curves: by uncertainty, coverage and risk, 0-1 each (``risk_coverage``, or every so many of its points).
    """
    _require_some(curves)
    figure, axes = _axes()
    for at, (key, (coverage, risk)) in enumerate(curves.items()):
        _line(axes, 100 * np.asarray(coverage), 100 * np.asarray(risk), key, at)
    axes.xaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:g} %"))
    _within_percent(axes)
    return _percent_chart(figure, axes, title, "answered", _told(curves, "risk by coverage"), name)


def reliability_chart(found: Mapping[str, Any], title: str, name: str) -> Chart:
    """How often pairs of about the same probability are right: on the dashed line a probability means what it says.

    found: by what the probabilities are ("before", "after"), a ``Reliability`` or a mapping with its ``confidence``,
    ``frequency`` and ``ece``. Points of a line are its bins; the legend has the ECE.
    """
    _require_some(found)
    figure, axes = _axes()
    axes.plot([0, 100], [0, 100], color=SOFT, linewidth=0.9, linestyle=(0, (2, 2)))
    told = []
    for at, (key, values) in enumerate(found.items()):
        part = values if isinstance(values, Mapping) else values._asdict()
        label = f"{key}, ECE {100 * part['ece']:.1f} %"
        told.append(label)
        said, came_true = (100 * np.asarray(part[side]) for side in ("confidence", "frequency"))
        _line(axes, said, came_true, label, at, marker="o")
    axes.set(xlim=(-2, 102), ylim=(-2, 102))
    axes.xaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:g} %"))
    return _percent_chart(figure, axes, title, "said", f"Reliability: {'; '.join(told)}", name)


def histograms_chart(found: Mapping[str, Any], title: str, name: str, below: str = "similarity") -> Chart:
    """How similarities lie, an outline a method or group (Figure 6 of VACSR); the dots below are the means.

    found: by what the values are of, a ``Histogram`` or a mapping with its ``edges``, ``shares`` and ``mean``.
    Outlines are densities, so that steps of other width can be compared. below: what the horizontal axis counts.
    """
    _require_some(found)
    figure, axes = _axes()
    for at, (key, values) in enumerate(found.items()):
        part = values if isinstance(values, Mapping) else values._asdict()
        edges, shares = np.asarray(part["edges"]), np.asarray(part["shares"])
        density = shares / np.diff(edges)
        colour = _COLOURS[(at + 1) % len(_COLOURS)]
        style: Any = _OUTLINES[at % len(_OUTLINES)]
        axes.stairs(density, edges, color=colour, linewidth=1.4, linestyle=style, label=WORDS.get(key, key))
        axes.plot([part["mean"]], [0], marker="o", color=colour, markersize=4, clip_on=False)
    axes.set(ylim=(0, None), yticks=[])
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4))
    _finish(axes, below, ("top", "right", "left"))
    means = ", ".join(f"{WORDS.get(key, key)} {_mean_of(values):.2f}" for key, values in found.items())
    return _chart(figure, title, f"Histograms of similarities, with the means {means}", name)


def in_deviations(found: Any) -> dict[str, Any]:  # noqa: ANN401 (a Histogram, or what JSON made of it)
    """A histogram about its mean in its standard deviations, so that scores of any scale can be compared."""
    part = _as_mapping(found)
    unit = part["deviation"] or 1.0
    edges = (np.asarray(part["edges"]) - part["mean"]) / unit
    return {"edges": edges.tolist(), "shares": part["shares"], "mean": 0.0}


def sigma_by_group_chart(found: Mapping[str, Mapping[str, Any]], title: str, name: str) -> Chart:
    """Median and quartiles of each uncertainty in each group of pairs, a panel an uncertainty.

    found: by uncertainty ("sigma", "one_minus_p"), by group what ``by_group`` gives (or mappings of its names); an
    empty group has no mark. Groups stand in the first uncertainty's order.
    """
    _require_some(found)
    groups = [group for group, summary in next(iter(found.values())).items() if _as_mapping(summary)["pairs"]]
    panel, gap = 0.24 * len(groups) + 0.1, 0.45
    height = len(found) * (panel + gap)
    figure = Figure(figsize=(3.6, height))
    told = []
    for at, (key, summaries) in enumerate(found.items()):
        axes = figure.add_axes((0.27, (height - (at + 1) * (panel + gap) + gap) / height, 0.7, panel / height))
        for row, group in enumerate(groups):
            summary = _as_mapping(summaries[group])
            colour = _COLOURS[(row + 1) % len(_COLOURS)]
            axes.plot([summary["low"], summary["high"]], [-row, -row], color=colour, linewidth=3, alpha=0.45)
            axes.plot([summary["median"]], [-row], marker="o", color=colour, markersize=5)
            told.append(f"{WORDS.get(key, key)} of {WORDS.get(group, group)} {summary['median']:.3g}")
        axes.set(ylim=(0.6 - len(groups), 0.5), yticks=[-row for row in range(len(groups))])
        axes.set_yticklabels([WORDS.get(group, group) for group in groups])
        _finish(axes, WORDS.get(key, key), ("top", "right"), legend=False)
    return _chart(figure, title, f"Medians: {', '.join(told)}", name)


def in_order(found: Mapping[str, Any]) -> dict[str, Any]:
    """The uncertainties of a result in the order of the charts: sigma, 1 - p, total variance."""
    return {key: found[key] for key in _PREFERRED if key in found}


def _axes() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(3.6, 2.5))
    return figure, figure.add_axes((0.15, 0.2, 0.82, 0.75))


def _within_percent(axes: Axes) -> None:
    """Keep the vertical axis between 0 and 100 %, and at least ten points high, where values do not vary."""
    low, high = (min(max(end, 0.0), 100.0) for end in axes.get_ylim())
    if high - low < _LEAST:
        middle = min(max((low + high) / 2, _LEAST / 2), 100 - _LEAST / 2)
        low, high = middle - _LEAST / 2, middle + _LEAST / 2
    axes.set_ylim(low, high)
    for line in axes.lines:
        line.set_clip_on(False)


def _line(axes: Axes, x: np.ndarray, y: np.ndarray, key: str, at: int, marker: str | None = None) -> None:
    colour = _COLOURS[(at + 1) % len(_COLOURS)]
    style: Any = _STYLES.get(key, "-")
    axes.plot(
        x, y, color=colour, linewidth=1.7, linestyle=style, marker=marker, markersize=3.5, label=WORDS.get(key, key)
    )


def _percent_chart(figure: Figure, axes: Axes, title: str, below: str, alternative: str, name: str) -> Chart:
    axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(5))
    axes.yaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:g} %"))
    _finish(axes, below, ("top", "right"))
    return _chart(figure, title, alternative, name)


def _finish(axes: Axes, below: str, without: Sequence[str], *, legend: bool = True) -> None:
    """Quiet lines, a word for the horizontal axis, and what the lines are."""
    for side, spine in axes.spines.items():
        spine.set_visible(side not in without)
        spine.set_color(LINE)
    axes.tick_params(which="both", colors=SOFT, labelsize=8.5, length=2, pad=2, color=LINE)
    axes.set_xlabel(below, fontsize=8.5, color=SOFT, labelpad=2)
    if legend:
        axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="best", handlelength=1.8, borderaxespad=0.2)


def _chart(figure: Figure, title: str, alternative: str, name: str) -> Chart:
    return Chart(title, alternative, Markup(svg_element(figure, name, MODEL_COLOURS)))


def _told(lines: Mapping[str, Any], what: str) -> str:
    return f"{what.capitalize()} by {', '.join(WORDS.get(key, key) for key in lines)}"


def _as_mapping(values: Any) -> Mapping[str, Any]:  # noqa: ANN401 (a named tuple, or what JSON made of it)
    found: Mapping[str, Any] = values if isinstance(values, Mapping) else values._asdict()
    return found


def _mean_of(values: Any) -> float:  # noqa: ANN401 (as above)
    return float(_as_mapping(values)["mean"])


def _require_some(lines: Mapping[str, Any]) -> None:
    if not lines:
        raise UserError(got="nothing to draw", expected="at least one line", do="leave the chart out")
