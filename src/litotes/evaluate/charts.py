"""Charts of a page of results: shares with their intervals, what was chosen instead, recall by depth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from litotes.evaluate.answers import Answer
from litotes.evaluate.compare import hits
from litotes.evaluate.plots import INK, LINE, SOFT, svg_element
from litotes.evaluate.rows import Record, Records, Section, value_at

MODEL_COLOURS = {f"#02b00{i}": f"--model-{i}" for i in range(6)}
"""Colours that stand for those of the models in the page's style sheet, in the order of the models."""
DEEPEST = 100
_COLOURS = tuple(MODEL_COLOURS)
_STYLES = ("-", "--", ":")
_WAYS = {"i2t": "Picture → caption", "t2i": "Caption → picture"}


@dataclass(frozen=True)
class Chart:
    """A picture of some figures: what it shows, in words for those who do not see it, and the SVG."""

    title: str
    alternative: str
    svg: Markup


@dataclass(frozen=True)
class WrongChoices:
    """What one model chose: rows of question types, columns of ``kinds``, each cell a count and its share of the row.

    The first column is the right answer.
    """

    label: str
    kinds: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[int, float], ...]], ...]


def interval_bars(section: Section, records: Records) -> Chart | None:
    """Every share of a section that has an interval: a bar a model, the interval as a whisker, and the chance level.

    None where no share has one.
    """
    results = [record["suites"].get(section.suite) for record in records.values()]
    rows = [row for row in section.rows if row.interval and any(value_at(r, row.interval) for r in results)]
    if not rows:
        return None
    chance = next(result for result in results if result is not None)["chance"]
    step, lane = 0.17, 0.17 * len(records) + 0.33
    figure = Figure(figsize=(5.4, lane * len(rows) + 0.35))
    axes = figure.add_axes((0.02, 0.3 / figure.get_figheight(), 0.94, 1 - 0.32 / figure.get_figheight()))
    for number, row in enumerate(rows):
        top = -lane * number
        axes.text(0, top, row.label, fontsize=9.5, color=INK, va="top")
        guessing = [100 * chance] * 2
        axes.plot(guessing, [top - 0.19, top - lane + 0.07], color=SOFT, linewidth=0.9, linestyle=(0, (2, 2)))
        for model, result in enumerate(results):
            share, ends = value_at(result, row.path), value_at(result, row.interval)
            if share is not None and ends is not None:
                _bar(axes, top - 0.28 - step * model, 100 * share, [100 * end for end in ends], model)
    axes.set(xlim=(0, 100), ylim=(-lane * len(rows) + 0.05, 0.02), yticks=[], xticks=range(0, 101, 25))
    axes.set_xticklabels([f"{tick} %" for tick in range(0, 101, 25)])
    _quiet(axes, ("top", "right", "left"))
    return Chart(
        "Shares with their 95 % intervals; dashed: guessing",
        f"Bars of the shares of the table below, with guessing at {100 * chance:.1f} percent",
        Markup(svg_element(figure, f"bars-{section.suite}", MODEL_COLOURS)),
    )


def recall_curves(answers: Mapping[str, Sequence[Answer]], labels: Sequence[str]) -> list[Chart]:
    """Recall at every depth up to ``DEEPEST`` or the deepest rank, a curve a model, one chart each way.

    answers: of searches, by the label of the model; labels: of all models of the page, which set the colours.
    """
    charts = []
    for way, words in _WAYS.items():
        figure = Figure(figsize=(3.4, 2.3))
        axes = figure.add_axes((0.13, 0.17, 0.84, 0.78))
        for label, said in answers.items():
            asked = [answer for answer in said if answer.asked["way"] == way]
            deepest = min(DEEPEST, max(answer.given["rank"] for answer in asked))
            depths = np.arange(1, deepest + 1)
            shares = [100 * hits(asked, int(k)).mean() for k in depths]
            model = labels.index(label)
            axes.plot(
                depths, shares, color=_colour(model), linewidth=1.7, linestyle=_STYLES[model // len(_COLOURS) % 3]
            )
        axes.set(xscale="log", ylim=(0, None), xlim=(1, None))
        axes.xaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:.0f}"))
        axes.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(4))
        axes.yaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:g} %"))
        _quiet(axes, ("top", "right"))
        title = f"{words}: right item among the first K"
        charts.append(
            Chart(title, f"Recall by K, {words}", Markup(svg_element(figure, f"recall-{way}", MODEL_COLOURS)))
        )
    return charts


def wrong_choices(result: Record, label: str) -> WrongChoices | None:
    """What a model chose in each type of question, from its ``wrong_by_type``; None where nothing was wrong or told."""
    table: Mapping[str, Mapping[str, int]] = result.get("wrong_by_type", {})
    kinds = sorted({kind for counts in table.values() for kind in counts})
    if not kinds:
        return None
    rows = []
    for question, counts in table.items():
        total = result[f"n_{question}"]
        wrong = [counts.get(kind, 0) for kind in kinds]
        cells = [total - sum(wrong), *wrong]
        rows.append((question, tuple((count, count / total) for count in cells)))
    return WrongChoices(label, ("right", *kinds), tuple(rows))


def _bar(axes: Axes, at: float, share: float, ends: Sequence[float], model: int) -> None:
    axes.barh(at, share, height=0.13, color=_colour(model))
    axes.plot(ends, [at, at], color=INK, linewidth=1.1, solid_capstyle="butt")
    for end in ends:
        axes.plot([end, end], [at - 0.045, at + 0.045], color=INK, linewidth=1.1)


def _colour(model: int) -> str:
    return _COLOURS[model % len(_COLOURS)]


def _quiet(axes: Axes, without: Sequence[str]) -> None:
    """No lines where they say nothing, and ticks in the soft colour."""
    for side, spine in axes.spines.items():
        spine.set_visible(side not in without)
        spine.set_color(LINE)
    axes.tick_params(which="both", colors=SOFT, labelsize=8.5, length=2, pad=2, color=LINE)
