"""What a page shows of single classes: pictures, accuracy with its interval, and what was answered instead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from litotes.evaluate.rows import Record, Records, signed
from litotes.metrics.paired import wilson_interval

AT_ONCE = 30
"""Rows of a table of classes that are seen before it is unfolded."""
_FEW_MORE = 5
"""Rows that are not worth folding."""


@dataclass(frozen=True)
class ClassCell:
    """One model on the pictures of one class.

    ``share`` as printed, ``interval`` Wilson's of 95 %, ``bar`` 0-1; ``difference`` from the first model, in points
    with its sign, "" for the first itself; ``instead``: what was most often answered in place of the class, "" where
    nothing was, and ``often``, how many of the wrong answers that are.
    """

    share: str
    interval: str
    bar: float
    difference: str
    instead: str
    often: str


@dataclass(frozen=True)
class ClassRow:
    """A class, its number of pictures, a cell a model; None for a model that was not asked."""

    name: str
    pictures: int
    cells: tuple[ClassCell | None, ...]


@dataclass(frozen=True)
class ByClass:
    """All classes of a suite: sentences about them, the worst ones, and the others, which a reader unfolds.

    ``last``: the model that orders them. ``compared``: of each model, whether it has differences from the first.
    """

    last: str
    compared: tuple[bool, ...]
    told: tuple[str, ...]
    worst: tuple[ClassRow, ...]
    others: tuple[ClassRow, ...]
    folded: str


def class_tables(records: Records) -> dict[str, ByClass]:
    """By suite, a table of its classes, those that the last model knows least first, then as the first model does.

    Last and first are of those that were asked; models are compared with the first of all alone. Of equal classes those
    with more pictures stand first. Classes without a picture have no row and are counted in words.
    A suite whose results do not tell its classes (``class_answers`` of ``Classification``) has no table.
    """
    names = dict.fromkeys(name for record in records.values() for name in record["suites"])
    found = {name: [record["suites"].get(name, {}) for record in records.values()] for name in names}
    return {
        name: _table(results, list(records))
        for name, results in found.items()
        if any(result.get("class_answers") for result in results)
    }


def _table(results: Sequence[Record], labels: Sequence[str]) -> ByClass:
    told = {label: result.get("class_answers") or {} for label, result in zip(labels, results, strict=True)}
    known = {label: by_class for label, by_class in told.items() if by_class}
    first, *others = known.values()
    shared = [name for name in first if all(name in by_class for by_class in others)]

    before = told[labels[0]]

    def order(name: str) -> tuple[float, ...]:
        return (*(_share(by_class[name]) for by_class in (*reversed(others), first)), -float(first[name]["n"]))

    rows = [
        ClassRow(
            name,
            first[name]["n"],
            tuple(
                _cell(own[name], None if own is before or not before else before[name]) if own else None
                for own in told.values()
            ),
        )
        for name in sorted(shared, key=order)
    ]
    cut = AT_ONCE if len(rows) > AT_ONCE + _FEW_MORE else len(rows)
    folded = f"The other {len(rows) - cut:,} of {len(rows):,} classes" if cut < len(rows) else ""
    sentences = [*_without(results, len(first)), *(_moved(known, shared) if before else [])]
    compared = tuple(bool(before and own) and own is not before for own in told.values())
    return ByClass(list(known)[-1], compared, tuple(sentences), tuple(rows[:cut]), tuple(rows[cut:]), folded)


def _share(told: Mapping[str, Any]) -> float:
    return float(told["right"] / told["n"])


def _cell(own: Mapping[str, Any], before: Mapping[str, Any] | None) -> ClassCell:
    ends = wilson_interval(own["right"], own["n"])
    wrong = own["n"] - own["right"]
    return ClassCell(
        share=f"{100 * _share(own):.1f} %",
        interval="–".join(f"{100 * end:.1f}" for end in ends),
        bar=_share(own),
        difference="" if before is None else signed(100 * (_share(own) - _share(before))),
        instead=own["instead"] or "",
        often=f"{own['times']:,} of {wrong:,}" if wrong else "",
    )


def _without(results: Sequence[Record], shown: int) -> list[str]:
    """How many classes were asked for of which there is no picture."""
    result = next(result for result in results if result.get("class_answers"))
    more = result.get("n_classes", shown) - shown
    were = "1 more class was" if more == 1 else f"{more:,} more classes were"
    return [f"{were} among the answers, without a picture of their own."] if more > 0 else []


def _moved(known: Mapping[str, Mapping[str, Any]], shared: Sequence[str]) -> list[str]:
    """In how many classes each model is above and below the first, in a sentence a model."""
    first, *others = known
    sentences = []
    for label in others:
        changes = [known[label][name]["right"] - known[first][name]["right"] for name in shared]
        up, down = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
        sentences.append(
            f"Of {len(changes):,} classes {label} gets more pictures right than {first} in {up:,}, fewer in {down:,}, "
            f"as many in {len(changes) - up - down:,}."
        )
    return sentences
