"""Charts of a page of results: shares with their intervals, what was chosen instead, recall by depth."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

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
STROKES: tuple[tuple[int, ...], ...] = ((), (5, 2), (1, 1), (6, 2, 1, 2), (3, 1), (1, 3))
"""Dashes of the lines of the models in their order, in points on and off; the first is drawn through."""
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


def interval_bars(section: Section, records: Records, published: Records | None = None) -> Chart | None:
    """Every share of a section that has an interval: a bar a model, the interval as a whisker, and the chance level.

    ``published``: by name rows whose figures stand as hollow bars below those of the models; they have no interval and
    bear the letters of the legend, as bars do the numbers of their models where there are several. None where no share
    has an interval.
    """
    results = [record["suites"].get(section.suite) for record in records.values()]
    rows = [row for row in section.rows if row.interval and any(value_at(r, row.interval) for r in results)]
    if not rows:
        return None
    others = [
        (letter, record["suites"][section.suite])
        for letter, record in zip(ascii_lowercase, (published or {}).values(), strict=False)
        if section.suite in record["suites"]
    ]
    told = [[value_at(result, row.chance) for result in results] for row in rows]
    chances = [next(float(chance) for chance in by_model if chance is not None) for by_model in told]
    step, lane = 0.17, 0.17 * (len(records) + len(others)) + 0.33
    figure = Figure(figsize=(4.3, lane * len(rows) + 0.35))
    axes = figure.add_axes((0.035, 0.3 / figure.get_figheight(), 0.915, 1 - 0.32 / figure.get_figheight()))
    for number, row in enumerate(rows):
        top = -lane * number
        axes.text(0, top, row.label, fontsize=9.5, color=INK, va="top", parse_math=False)
        guessing = [100 * chances[number]] * 2
        axes.plot(guessing, [top - 0.19, top - lane + 0.07], color=SOFT, linewidth=0.9, linestyle=(0, (2, 2)))
        for model, result in enumerate(results):
            share, ends = value_at(result, row.path), value_at(result, row.interval)
            if share is not None and ends is not None:
                at = top - 0.28 - step * model
                _bar(axes, at, 100.0 * share, [100.0 * end for end in ends], model)
                if len(results) > 1:
                    axes.text(-0.8, at, str(model + 1), fontsize=7, color=SOFT, va="center", ha="right")
        for place, (letter, other) in enumerate(others, len(results)):
            share = value_at(other, row.path)
            if share is not None:
                at = top - 0.28 - step * place
                axes.barh(at, 100 * share, height=0.12, facecolor="none", edgecolor=INK, linewidth=0.9)
                axes.text(-0.8, at, letter, fontsize=7, color=SOFT, va="center", ha="right")
    axes.set(xlim=(0, 100), ylim=(-lane * len(rows) + 0.05, 0.02), yticks=[], xticks=range(0, 101, 25))
    axes.set_xticklabels([f"{tick} %" for tick in range(0, 101, 25)])
    _quiet(axes, ("top", "right", "left"))
    hollow = "; hollow: published" if others else ""
    return Chart(
        f"Shares with their 95 % intervals; dashed: guessing{hollow}",
        f"Bars of the shares of the table below, with guessing at {_percents(chances)} percent",
        Markup(svg_element(figure, f"bars-{section.suite}", MODEL_COLOURS)),
    )


def recall_curves(
    answers: Mapping[str, Sequence[Answer]],
    labels: Sequence[str],
    ks: Sequence[int],
    suite: str = "",
    published: Sequence[Record] = (),
) -> list[Chart]:
    """Recall at every depth up to ``DEEPEST`` or the deepest rank, a curve a model, one chart each way.

    answers: of searches, by the label of the model; labels: of all models of the page, which set colours and strokes.
    ks: that were asked for, which the axis names and which it reaches in any case; a single one needs no chart.
    suite: its name. published: results of the same searches, whose recalls stand as hollow points. The thin line is
    what a random order would get.
    """
    if len(ks) < 2:
        return []
    charts = []
    for way, words in _WAYS.items():
        figure = Figure(figsize=(3.4, 2.35))
        axes = figure.add_axes((0.13, 0.21, 0.84, 0.74))
        asked = {label: [answer for answer in said if answer.asked["way"] == way] for label, said in answers.items()}
        deepest = min(DEEPEST, max(answer.given["rank"] for said in asked.values() for answer in said))
        depths = np.arange(1, max(deepest, *ks) + 1)
        for label, said in asked.items():
            model = labels.index(label)
            shares = [100 * hits(said, int(k)).mean() for k in depths]
            axes.plot(depths, shares, color=_colour(model), linewidth=1.7, linestyle=stroke(model))
        guessed = 100 * random_recall(next(iter(answers.values())), way, depths)
        axes.plot(depths, guessed, color=SOFT, linewidth=0.7)
        for result in published:
            known = {int(k): 100 * share for k, share in result[way].items() if int(k) <= depths[-1]}
            axes.plot(list(known), list(known.values()), "o", color=INK, markerfacecolor="none", markersize=5)
        named = sorted({*ks, *(k for k in (1, 10, 100) if k <= depths[-1])})
        axes.set(xscale="log", ylim=(0, 102), xlim=(1, None), yticks=range(0, 101, 25))
        axes.set_xticks(named)
        axes.set_xlabel("K", fontsize=8.5, color=SOFT, labelpad=1)
        axes.xaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:.0f}"))
        axes.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        axes.yaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:g} %"))
        _quiet(axes, ("top", "right"))
        hollow = "; hollow: published" if published else ""
        charts.append(
            Chart(
                f"{words}: right item among the first K; thin line: random order{hollow}",
                f"Recall by K, {words}: at K = 1 "
                + ", ".join(f"{label} {100 * hits(said, 1).mean():.1f} percent" for label, said in asked.items()),
                Markup(svg_element(figure, f"recall-{suite}-{way}", MODEL_COLOURS)),
            )
        )
    return charts


def stroke(model: int) -> str | tuple[int, tuple[int, ...]]:
    """How the lines of a model are drawn, by its number from 0, so that colour is not needed to tell them apart."""
    dashes = STROKES[model % len(STROKES)]
    return (0, dashes) if dashes else "-"


def random_recall(said: Sequence[Answer], way: str, depths: np.ndarray) -> np.ndarray:
    """Recall by depth of a random order: 1 - C(n - m, K) / C(n, K), with m right items of n, the mean of the queries.

    n and m by the searches that are told: every picture and every caption that has a right item asks once.
    """
    captions = Counter(answer.asked["picture"] for answer in said if answer.asked["way"] == "t2i")
    n = len(captions) if way == "t2i" else sum(captions.values())
    right = [1] if way == "t2i" else list(captions.values())
    misses = np.ones((len(right), len(depths)))
    for row, m in enumerate(right):
        left = np.clip((n - m - depths + 1) / np.maximum(n - depths + 1, 1), 0, 1)
        misses[row] = np.cumprod(left)
    return 1 - misses.mean(axis=0)


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


def _percents(shares: Sequence[float]) -> str:
    """Shares as numbers of percent, each once."""
    return " and ".join(dict.fromkeys(f"{100 * share:.1f}" for share in shares))


def _colour(model: int) -> str:
    return _COLOURS[model % len(_COLOURS)]


def _quiet(axes: Axes, without: Sequence[str]) -> None:
    """No lines where they say nothing, and ticks in the soft colour."""
    for side, spine in axes.spines.items():
        spine.set_visible(side not in without)
        spine.set_color(LINE)
    axes.tick_params(which="both", colors=SOFT, labelsize=8.5, length=2, pad=2, color=LINE)
