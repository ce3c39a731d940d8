"""The charts of the demo of pairs: quality by the share of wrong training pairs, and how similarities lie."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from litotes.demo.vacsr.summary import Rows, noises, over_seeds
from litotes.evaluate.charts import Chart
from litotes.evaluate.plots import LINE, SOFT, svg_element
from litotes.evaluate.rows import MINUS
from litotes.evaluate.uncertainty_charts import histograms_chart, in_deviations

_STYLES = ("o-", "s-", "^-", "D-", ":")
_COLOURS = ("#01b001", "#01b002", "#01b003", "#01b004", SOFT)
_VARIABLES = dict(zip(_COLOURS, ("--extended", "--hanclip", "--better", "--infonce"), strict=False))
"""Colours that stand for a variable of the demo's style sheet."""


def noise_svg(rows: Rows, labels: Mapping[str, str], way: str) -> str:
    """mAP@R against all that is true by noise: a line a method, with the spread of the seeds as bars.

    Each line has its own mark, and its name at the right end, so that nothing hangs on colours alone.
    """
    figure = Figure(figsize=(4.6, 3.0))
    axes = figure.add_axes((0.1, 0.13, 0.62, 0.84))
    ends = []
    for (name, label), style, colour in zip(labels.items(), _STYLES, _COLOURS, strict=False):
        found = [(noise, over_seeds(rows, name, noise, ("retrieval", way, "map_at_r"))) for noise in noises(rows)]
        known = [(100 * noise, 100 * mean.mean, 100 * mean.spread) for noise, mean in found if mean]
        if known:
            across, height, spread = zip(*known, strict=True)
            axes.errorbar(
                across, height, yerr=spread, fmt=style, color=colour, markersize=4.5, linewidth=1.3, capsize=2
            )
            ends.append((height[-1], label, colour))
    _names(axes, ends)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(LINE)
    axes.tick_params(colors=SOFT, labelsize=8, length=2, color=LINE)
    axes.set_xticks([100 * noise for noise in noises(rows)])
    axes.set_xlabel("wrong training pairs, %", color=SOFT, fontsize=8)
    return svg_element(figure, f"noise-{way}", _VARIABLES)


def similarity_charts(rows: Rows, labels: Mapping[str, str], noise: float) -> list[Chart]:
    """How the scores of each method lie (Figure 6 of the paper), at one noise, of its first seed.

    First the wrong pairs of all methods over each other, each about its own mean and in its own standard deviations,
    since a logit of one is no logit of another; then true and wrong pairs of each by itself. Empty where no row has
    any.
    """
    found: dict[str, Any] = {}
    for row in rows:
        if row["row"] in labels and row.get("noise", noise) == noise and "similarities" in row:
            found.setdefault(row["row"], row["similarities"])
    known = {name: found[name] for name in labels if {"true", "wrong"} <= found.get(name, {}).keys()}
    if not known:
        return []
    beside = {labels[name]: in_deviations(part["wrong"]) for name, part in known.items()}
    return [
        histograms_chart(
            beside, "Wrong pairs of all methods, each about its own mean", "lie-all",
            "standard deviations from the mean",
        ),
        *(
            histograms_chart(part, f"{labels[name]}: {_lean(part)}", f"lie-{name}", "score")
            for name, part in known.items()
        ),
    ]  # fmt: skip


def _lean(part: Mapping[str, Any]) -> str:
    told = ", ".join(
        f"{name} {values['skewness']:+.2f}" for name, values in part.items() if values["skewness"] is not None
    )
    return f"skewness {told}".replace("-", MINUS)


def _names(axes: Any, ends: list[tuple[float, str, str]]) -> None:  # noqa: ANN401 (matplotlib has no types)
    """Names beside the ends of the lines, moved apart where they would lie on each other."""
    axes.margins(y=0.08)
    low, high = axes.get_ylim()
    least, place = (high - low) / 13, -float("inf")
    right = axes.get_xlim()[1]
    for height, label, colour in sorted(ends):
        place = max(height, place + least)
        axes.text(right, place, f" {label}", color=colour, fontsize=8, va="center")
