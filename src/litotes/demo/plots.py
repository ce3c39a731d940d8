"""The Poincaré discs of the demo's report as inline SVG, in colours that the page's style sheet sets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from litotes.demo.narration import POINTS
from litotes.demo.story import Disc
from litotes.errors import UserError
from litotes.evaluate.plots import CARD, INK, LINE, SOFT, svg_element

MARKERS = {"image": "o", "positive": "s", "negated_positive": "^", "negative": "X"}
SHOWN = 150
"""Points of a kind in a disc."""

_KIND = {"image": "#01b001", "positive": "#01b002", "negated_positive": "#01b003", "negative": "#01b004"}
_VARIABLES = {colour: f"--{kind.replace('_', '-')}" for kind, colour in _KIND.items()}
"""Colours that stand for a variable of the demo's style sheet, beside those of every page."""


def view_radius(discs: Mapping[str, Disc]) -> float:
    """How far from the centre the discs are drawn, the same for all models: 1.04, or less where all points are near.

    Unit vectors at the paper's curvature lie within a third of the disc; drawn whole, one would see a dot.
    Errors: a kind of points is missing, or a point is not inside the disc.
    """
    furthest = 0.0
    for name, disc in discs.items():
        missing = [kind for kind in POINTS if kind not in disc.points]
        norms = [np.linalg.norm(disc.points[kind], axis=-1).max(initial=0.0) for kind in POINTS if not missing]
        if missing or not max(norms) < 1:
            raise UserError(
                got=f"the disc of {name} " + (f"without {', '.join(missing)}" if missing else "with points outside"),
                expected="points of norm below 1 for image, positive, negated_positive and negative",
                do="project the embeddings into the disc first",
            )
        furthest = max(furthest, *map(float, norms))
    return 1.04 if furthest > 0.75 else max(1.15 * furthest, 0.02)


def disc_svg(disc: Disc, view: float, name: str) -> str:
    """One model's quadruplets in the Poincaré disc; ``view`` from ``view_radius``; ``name`` makes the ids its own.

    Where ``view`` is below 1, a small disc in the corner shows which part of the whole one sees. The mean of each kind
    carries its letter.
    """
    figure = Figure(figsize=(4.2, 4.2))
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    _frame(axes, view)
    means = {}
    for kind, letter in POINTS.items():
        points = np.asarray(disc.points[kind], dtype=float)
        points = points[np.linspace(0, len(points) - 1, min(len(points), SHOWN)).astype(int)]
        axes.scatter(
            points[:, 0], points[:, 1], s=17, marker=MARKERS[kind], color=_KIND[kind], alpha=0.55, linewidths=0
        )
        means[letter] = (points.mean(axis=0), _KIND[kind])
    _letters(axes, means, view)
    if view < 1:
        _locator(figure, view)
    return svg_element(figure, f"disc-{name}", _VARIABLES)


def _frame(axes: Any, view: float) -> None:  # noqa: ANN401  matplotlib has no types
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-view, view)
    axes.set_ylim(-view, view)
    step = next(step for step in (0.2, 0.1, 0.05, 0.02, 0.01, 0.005) if view / step >= 2.5)
    angle = np.linspace(0, 2 * np.pi, 181)
    rings = [ring for ring in np.arange(step, min(view, 0.99), step)]
    for ring in rings:
        axes.plot(ring * np.cos(angle), ring * np.sin(angle), color=LINE, linewidth=0.8)
        axes.annotate(f"{ring:.3g}", (0, ring), color=SOFT, fontsize=7, ha="center", va="center",
                      bbox={"boxstyle": "round,pad=0.1", "fc": CARD, "ec": "none"})  # fmt: skip
    if view > 1:
        axes.plot(np.cos(angle), np.sin(angle), color=INK, linewidth=1.3)
    axes.plot(0, 0, marker="+", color=SOFT, markersize=6)


def _letters(axes: Any, means: dict[str, tuple[np.ndarray, str]], view: float) -> None:  # noqa: ANN401
    """Letters beside the means, each outward from the common centre and at least 40 degrees from the next."""
    centre = np.mean([mean for mean, _ in means.values()], axis=0)
    angles = {letter: float(np.arctan2(*(mean - centre)[::-1])) for letter, (mean, _) in means.items()}
    previous = -np.inf
    for letter in sorted(angles, key=angles.__getitem__):
        mean, colour = means[letter]
        previous = max(angles[letter], previous + np.radians(40))
        place = mean + 0.13 * view * np.array([np.cos(previous), np.sin(previous)])
        axes.annotate(
            letter, mean, place, color=INK, fontsize=11, ha="center", va="center", fontweight="bold",
            bbox={"boxstyle": "round,pad=0.22", "fc": CARD, "ec": colour, "lw": 1.6},
            arrowprops={"arrowstyle": "-", "color": INK, "lw": 1.0, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip


def _locator(figure: Figure, view: float) -> None:
    axes = figure.add_axes((0.0, 0.0, 0.2, 0.2))
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-1.08, 1.08)
    axes.set_ylim(-1.08, 1.08)
    angle = np.linspace(0, 2 * np.pi, 121)
    axes.fill(np.cos(angle), np.sin(angle), facecolor=CARD, edgecolor=INK, linewidth=1.1)
    axes.fill(view * np.cos(angle), view * np.sin(angle), facecolor=LINE, edgecolor=SOFT, linewidth=0.7)
