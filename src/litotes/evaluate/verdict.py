"""What changed between a base and an adapted model, in words: every sentence follows the figures, whichever way."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from litotes.evaluate.compare import Difference, Differences, is_beyond_chance
from litotes.evaluate.layouts import has_layout
from litotes.evaluate.rows import MINUS, Record, Row, Section, signed
from litotes.evaluate.sections import sections

Suites = Mapping[str, Any]
"""The results of a model by suite, as ``run_suites`` gives them."""
_Measure = tuple[str, tuple[str, str], float, str]

DECISIVE = ("absence_absent_over_present", "hybrid_absent_over_present")
"""The two diagnostics that need negation itself."""

BAND = 0.05
"""How far from guessing a share must be to be called above or below it."""
_GUESS = 0.5
_BOTH_WAYS = 2
"""Searches, one each way, of a single picture with a single caption."""
_OFTEN, _SMALLEST = 0.1, 1e-9
"""Below the first, a probability is told as once in so many; below the second, no more than that it is smaller."""
_ELSEWHERE = (
    ("plain retrieval", ("retrieval", "rsum"), 1.0, "rSum {} → {}"),
    ("retrieval with a denial", ("retrieval_neg", "rsum"), 1.0, "rSum {} → {}"),
    ("classification", ("classification", "acc1"), 100.0, "{} → {} %"),
    ("search with a “not”", ("denial_search", "right"), 100.0, "{} → {} % right"),
)
"""Of each measure its name, its place in the results, the factor and the form in which it is printed."""
_ASKED = (
    ("multiple choice on negation", ("mcq", "total"), 100.0, "{} → {} %"),
    (
        "true negated captions over false ones",
        ("pairs", "negated_positive_over_negative"),
        100.0,
        "{} → {} %, which a shortcut can win too",
    ),
    *_ELSEWHERE,
)


def outcome(adapted: Suites, base: Suites, compared: Differences | None = None) -> tuple[str, ...]:
    """What an adaptation brought and what it cost; whether negation itself was learnt; how far chance could reach.

    adapted, base: of the same questions; compared: what their single answers differ in, where these are there. Each is
    a sentence or two and left out where nothing was asked of it; a change smaller than is printed is none, and a change
    that chance could bring is told apart: one whose 95 % interval holds zero or, without single answers, a share that
    moved by less than 1.96 standard deviations. A part that moved against its total, or without it, is named too, as
    the tables mark it. Negation counts as learnt only where chance does not reach.
    """
    changes = _by_direction(adapted, base, compared or {})
    better, worse, unsure = ([change.text for change in some] for some in changes)
    told = {(change.suite, change.rose) for some in changes[:2] for change in some}
    for suite, rose, text in _parts(adapted, base, compared or {}):
        if (suite, rose) not in told:
            (better if rose else worse).append(text)
    gains = f"Better after the adaptation: {joined(better)}." if better else "Nothing that was measured became better."
    costs = f"The price, worse than before: {joined(worse)}." if worse else "Nothing that was measured became worse."
    doubt = f" Too close to tell, with so few questions: {joined(unsure)}." if unsure else ""
    return tuple(
        part for part in (f"{gains} {costs}{doubt}", _negation_itself(adapted, base), _chance(adapted)) if part
    )


def losses(model: Suites, base: Suites) -> list[str]:
    """What got worse than the base outside negation, as printed figures; a smaller change than is printed is none."""
    return [change.text for change in _changed(model, base, _ELSEWHERE, {}) if not change.rose]


def summary(records: Mapping[str, Record], compared: Mapping[str, Differences]) -> list[str]:
    """What the main measures say, in a sentence a model: against the first, or, of one model alone, what it got.

    ``compared``: as for ``significance``. Each difference has its 95 % interval where single answers give one. A part
    that is marked where its suite's main measure is not, or is marked the other way, is named too, as in ``outcome``.
    """
    shown = sections(records, compared)
    main = [(section, row) for section in shown for row in section.rows if row.main]
    first, *others = records
    if not main:
        return []
    if not others:
        return [_alone(section, row, records[first]) for section, row in main]
    said = []
    for place, label in enumerate(others, 1):
        groups: dict[str, list[str]] = {"better": [], "worse": [], "unsure": [], "same": []}
        told_by_main = {(section.suite, row.cells[place].verdict) for section, row in main}
        parts = [
            (f"{section.title}: {row.label}", row)
            for section, row in _marked(shown, place)
            if not row.main and (section.suite, row.cells[place].verdict) not in told_by_main
        ]
        for label_of, row in [*((row.label, row) for _, row in main), *parts]:
            cell = row.cells[place]
            if cell.difference:
                reach = f", 95 % interval {cell.reach}" if cell.reach and cell.verdict != "same" else ""
                groups[cell.verdict].append(f"{label_of} ({cell.difference}{reach})")
        told = {"better": "better in", "worse": "worse in", "unsure": "too close to tell in", "same": "unchanged in"}
        verdicts = [f"{words} {joined(groups[key])}" for key, words in told.items() if groups[key]]
        if verdicts:
            said.append(f"Compared with {first}, {label} is {'; '.join(verdicts)}.")
    return said


def _alone(section: Section, row: Row, record: Record) -> str:
    """A figure with its interval and what guessing gives."""
    cell, chance = row.cells[0], record["suites"][section.suite].get("chance")
    parts = [
        *([f"95 % interval {cell.interval.replace('–', ' to ')}"] if cell.interval else []),
        *([f"guessing gives {100 * chance:.1f} %"] if chance is not None else []),
    ]
    return f"{row.label}: {cell.text}{' (' if parts else ''}{', '.join(parts)}{')' if parts else ''}."


class Told(NamedTuple):
    """In what a model differs from the first in a suite, in a sentence or two."""

    suite: str
    label: str
    sentence: str


def significance(records: Mapping[str, Record], compared: Mapping[str, Differences]) -> list[Told]:
    """What each model differs in from the first in each main measure, with how far chance could reach.

    ``compared``: by label, of the models whose single answers can be compared with the first one's.
    """
    return [
        Told(section.suite, label, in_words(row.label, part))
        for section in sections(records)
        for row in section.rows
        for label, suites in compared.items()
        for part in suites.get(section.suite, ())
        if row.main and part.path == row.path
    ]


def in_words(label: str, difference: Difference) -> str:
    """A difference, its interval and what chance would bring, in a sentence or two."""
    factor = 1.0 if difference.path == ("rsum",) else 100.0
    change, low, high = (
        factor * value for value in (difference.after - difference.before, difference.low, difference.high)
    )
    if difference.n == 1 or (difference.path == ("rsum",) and difference.n == _BOTH_WAYS):
        return f"{label}: {signed(change)} points in a single question, which says nothing about the models."
    chance = "" if difference.p is None else f" If both were equally good, {_chance_of(difference.p)}."
    if not difference.beyond_chance:
        told = f"{signed(change)} points, which may be chance: 95 % interval {signed(low)} to {signed(high)}"
    else:
        ends = sorted((abs(low), abs(high)))
        word = "better" if change > 0 else "worse"
        told = f"{word} by {abs(change):.1f} points, 95 % interval {ends[0]:.1f} to {ends[1]:.1f}"
    return f"{label}: {told}.{chance}"


def _chance_of(p: float) -> str:
    """What McNemar's exact p says, in words and as a number."""
    told = f"p = {p:.2g}" if p >= _SMALLEST else f"p < {_SMALLEST:.0e}".replace("e-0", "e-")
    if p >= _OFTEN:
        often = "nearly always" if p > 1 - _OFTEN / 2 else f"about {round(10 * p)} times in 10"
    elif p >= _SMALLEST:
        times = 1 / p
        digits = 1 - math.floor(math.log10(times))
        often = f"once in {round(times, digits):,.0f}"
    else:
        often = f"less than once in {1 / _SMALLEST:,.0f}"
    return f"chance would give so large a difference {often} (McNemar, {told})"


def _parts(adapted: Suites, base: Suites, compared: Differences) -> list[tuple[str, bool, str]]:
    """Every row of the tables that is marked and is none of ``_ASKED``: suite, whether it rose, row with figures.

    The held-out wordings have a sentence of their own.
    """
    both = [name for name in adapted if name in base and has_layout(adapted[name]) and name != "held_out_wordings"]
    if not both:
        return []
    records = {
        label: {"suites": {name: suites[name] for name in both}}
        for label, suites in (("base", base), ("adapted", adapted))
    }
    asked = [place for _, place, _, _ in _ASKED]
    return [
        (section.suite, row.cells[1].verdict == "better", f"{section.title}: {row.label} ({_moved(row)})")
        for section, row in _marked(sections(records, {"adapted": compared}), 1)
        if (section.suite, *row.path) not in asked
    ]


def _marked(shown: Sequence[Section], place: int) -> Iterator[tuple[Section, Row]]:
    """The rows in which the model of this place differs from the first by more than chance, as the tables mark them."""
    for section in shown:
        for row in section.rows:
            if row.cells[place].verdict in ("better", "worse"):
                yield section, row


def _moved(row: Row) -> str:
    return " → ".join([row.cells[0].text.removesuffix(" %"), row.cells[1].text])


class _Change(NamedTuple):
    """A measure with its figures; ``sure``: it is a share, and chance does not reach so far, or it is a sum."""

    suite: str
    text: str
    rose: bool
    sure: bool


def _by_direction(
    adapted: Suites, base: Suites, compared: Differences
) -> tuple[list[_Change], list[_Change], list[_Change]]:
    """What became better, what worse, and what is too close to tell."""
    found = _changed(adapted, base, _ASKED, compared)
    sure = [change for change in found if change.sure]
    return [c for c in sure if c.rose], [c for c in sure if not c.rose], [c for c in found if not c.sure]


def _changed(model: Suites, base: Suites, measures: tuple[_Measure, ...], compared: Differences) -> list[_Change]:
    """Measures that rose or fell by what is printed."""
    found = []
    for name, (suite, key), factor, form in measures:
        if suite not in base:
            continue
        before, after = factor * base[suite][key], factor * model[suite][key]
        if round(after - before, 1) and f"{before:.1f}" != f"{after:.1f}":
            text = f"{name} ({form.format(f'{before:.1f}', f'{after:.1f}')})"
            pair = next((part for part in compared.get(suite, ()) if part.path == (key,)), None)
            sure = (
                pair.beyond_chance
                if pair
                else key == "rsum" or _is_sure(base[suite][key], model[suite][key], _questions(base[suite]))
            )
            found.append(_Change(suite, text, after > before, sure))
    return found


def _questions(suite: Mapping[str, Any]) -> int:
    """How many questions a share is of; 0 where that is not told."""
    return suite.get("n") or suite.get("queries") or suite.get("n_images") or 0


def _is_sure(before: float, after: float, count: int) -> bool:
    """Whether chance does not reach from one share to the other, or nothing tells of how many questions they are."""
    return not count or is_beyond_chance(before, after, count)


def _negation_itself(adapted: Suites, base: Suites) -> str:
    asked = adapted.get("held_out_wordings", {})
    orders = [key for key in DECISIVE if key in asked]
    if not orders:
        return ""
    before, after = (tuple(suites["held_out_wordings"][key] for key in orders) for suites in (base, adapted))
    band = max(BAND, _reach(asked["n"]))
    above = sum(level(share, band) == "above" for share in after)
    verdict = "it uses the “not” itself" if above == len(orders) else "at most one of the two forms was learnt"
    which = "The two orders that need" if len(orders) == 2 else "The order that needs"
    return (
        f"{which} negation itself, asked in wordings that no training uses: {percents(after)} right, before "
        f"{percents(before)}. "
        f"Guessing gives 50 %: {verdict if above else 'nothing shows that negation itself was learnt'}."
    )


def _chance(adapted: Suites) -> str:
    if "pairs" not in adapted:
        return ""
    count = adapted["pairs"]["n"]
    return (
        f"With {count:,} held-out quadruplets, a share can be off by {100 * _reach(count):.0f} points by chance alone."
    )


def _reach(count: int) -> float:
    """How far a share of ``count`` may lie from 50 % by chance: 1.96 standard deviations."""
    return 1.96 * math.sqrt(0.25 / count)


def percents(shares: tuple[float, ...]) -> str:
    """Write shares as "34.2 %" or "34.2 and 51.0 %"."""
    return " and ".join(f"{100 * share:.1f}" for share in shares) + " %"


def change(before: float, after: float, unit: str = " %") -> str:
    """Say "rises from 34.2 to 83.6 %", "falls from ..." or "stays at 34.2 %", by the figures with one decimal."""
    old, new = f"{before:.1f}".replace("-", MINUS), f"{after:.1f}".replace("-", MINUS)
    if old == new:
        return f"stays at {new}{unit}"
    return f"{'rises' if after > before else 'falls'} from {old} to {new}{unit}"


def standing(shares: tuple[float, ...]) -> str:
    """Where shares lie against guessing one of two: "below guessing", "about guessing", "above guessing", or mixed."""
    found = [level(share) for share in shares]
    if len(set(found)) == 1:
        return f"{'both ' if len(shares) == 2 and found[0] != 'about' else ''}{found[0]} guessing"
    return f"the first {found[0]}, the second {found[1]} guessing"


def level(share: float, band: float = BAND) -> str:
    """Where a share lies against guessing one of two: "below", "about" (no further off than ``band``) or "above"."""
    return "below" if share < _GUESS - band else "above" if share > _GUESS + band else "about"


def joined(parts: list[str]) -> str:
    """Write parts as "a", "a and b" or "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
