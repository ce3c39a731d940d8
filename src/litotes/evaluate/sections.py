"""All suites of several models as tables, with a verdict where chance does not explain a difference."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from litotes.data.negbench import recognise
from litotes.data.screening import headline, rows_left_out
from litotes.errors import UserError
from litotes.evaluate.compare import Difference, Differences, is_beyond_chance
from litotes.evaluate.layouts import LAYOUTS
from litotes.evaluate.rows import (
    KINDS,
    Measure,
    Record,
    Records,
    Row,
    Section,
    depths_of,
    most_of_sum,
    number_at,
    row_of,
    signed,
)

_DIGITS = 12


def sections(records: Records, compared: Mapping[str, Differences] | None = None) -> list[Section]:
    """All suites of all records as tables, in the order of their first appearance.

    ``compared``: by label, what a model differs in from the first, where the answers of both are there.
    """
    names = dict.fromkeys(name for record in records.values() for name in record["suites"])
    return [_section(name, records, compared or {}) for name in names]


def _section(name: str, records: Records, compared: Mapping[str, Differences]) -> Section:
    results = [record["suites"].get(name) for record in records.values()]
    asked: Record = {}
    for result in results:
        asked = _union(asked, result or {})
    title, note, measures = LAYOUTS[asked["task"]](name, asked)
    found = [{part.path: part for part in compared.get(label, {}).get(name, ())} for label in records]
    rows = (_without_chance(row_of(measure, results), measure, results, found) for measure in measures)
    return Section(title, note, tuple(rows), name, _left_out(name, records), _source(asked))


def _source(asked: Record) -> str:
    """Which questions a suite asked; "" where the result does not tell."""
    digest = str(asked.get("split_sha256", ""))
    if len(digest) < _DIGITS:
        return ""
    file = asked.get("file") or recognise(digest)
    known = "no published file" if file == "yours" else file
    return f"Questions: {known}; SHA-256 {digest[:_DIGITS]}…"


def _left_out(name: str, records: Records) -> tuple[str, ...]:
    """Which of a suite's rows are left out, in a sentence for each model, or one for all where it is the same."""
    told = {label: rows_left_out(record, name) for label, record in records.items() if name in record["suites"]}
    if len(set(told.values())) == 1:
        return tuple(filter(None, set(told.values())))
    return tuple(f"{label}: {sentence}" for label, sentence in told.items() if sentence)


def _union(first: Record, second: Record) -> Record:
    """All that stands in either of two results, at any depth; of what stands in both, the first's."""
    both = dict(first)
    for key, value in second.items():
        known = both.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            both[key] = _union(known, value)
        elif known is None:
            both[key] = value
    return both


def _without_chance(
    row: Row, measure: Measure, results: Sequence[Record | None], found: Sequence[Mapping[tuple[str, ...], Difference]]
) -> Row:
    """The row with the intervals of its differences, and no verdict on what chance could bring.

    ``found``: by path, what each model's answers differ in from the first's. Without any, a share must differ by more
    than 1.96 standard deviations. No verdict where nobody knows how far chance could reach.
    """
    kind, cells = KINDS[measure.kind], []
    for cell, result, parts in zip(row.cells, results, found, strict=True):
        part = parts.get(measure.path)
        if not cell.difference:
            cells.append(cell)
            continue
        if part is not None:
            known = part.beyond_chance
        else:
            before, after = (number_at(one, measure.path) for one in (results[0], result))
            known = not parts and _is_sure(before, after, measure.n)
        reach = f"{signed(kind.factor * part.low)} to {signed(kind.factor * part.high)}" if part else ""
        unsure = cell.verdict in ("better", "worse") and not known
        cells.append(replace(cell, reach=reach, verdict="unsure" if unsure else cell.verdict))
    return replace(row, cells=tuple(cells))


def _is_sure(before: float | None, after: float | None, count: int | None) -> bool:
    """Whether two shares are there, and differ by more than chance in as many questions."""
    return before is not None and after is not None and bool(count) and is_beyond_chance(before, after, count or 0)


def other_depths(records: Records) -> list[str]:
    """Why rSum is not compared, a sentence for each model that was searched to other depths than the first."""
    label, first = next(iter(records.items()))
    told = []
    for other, record in records.items():
        for name, result in record["suites"].items():
            known = first["suites"].get(name)
            if known is None or depths_of(known) == depths_of(result):
                continue
            ours, theirs = (", ".join(map(str, depths_of(one))) for one in (result, known))
            most, least = (f"{most_of_sum(len(depths_of(one))):g}" for one in (result, known))
            told.append(
                f"{name}: {other} was searched with K = {ours} and {label} with K = {theirs}, so that their rSum are "
                f"sums of other recalls, of at most {most} and {least}, and are not compared."
            )
    return told


class Comparable(NamedTuple):
    """What of several results can stand side by side, and in sentences what cannot, and why."""

    records: dict[str, Record]
    notes: list[str]


def comparable(records: Records) -> Comparable:
    """The records without the results of suites that were asked other questions than the first model that has them.

    A model of which nothing is left is left out. Models that no suite was asked of in common stay, and a note says that
    nothing is compared. Errors: those of ``require_same_questions``, where that is so since figures were left out.
    """
    first: dict[str, tuple[str, Record]] = {}
    kept: dict[str, Record] = {}
    notes: list[str] = []
    for label, record in records.items():
        left = {}
        for name, result in record["suites"].items():
            known, other = first.setdefault(name, (label, record))
            if result["split_sha256"] == other["suites"][name]["split_sha256"]:
                left[name] = result
            else:
                why = _how_questions_differ(name, record, other, known)
                notes.append(
                    f"{name}: {label} was asked other questions than {known} ({why}), so that its figures are left out "
                    "here. They can be compared once both were evaluated on the same files."
                )
        if left:
            kept[label] = {**record, "suites": left}
        else:
            notes.append(f"{label} is not shown: nothing that it was asked can be compared.")
    if notes and not any(sum(name in record["suites"] for record in kept.values()) > 1 for name in first):
        require_same_questions(records)
    if len(kept) > 1 and not shared_suites(kept):
        notes.append(_nothing_shared(list(kept)))
    return Comparable(kept, notes)


def shared_suites(records: Records) -> list[str]:
    """The suites that were asked of the first model and of another one, which alone have differences."""
    first, *others = records.values()
    return [name for name in first["suites"] if any(name in other["suites"] for other in others)]


def _nothing_shared(labels: Sequence[str]) -> str:
    """That several models were asked nothing in common with the first, in a sentence or two."""
    first, *others = labels
    if len(others) == 1:
        return f"No suite was asked of both {first} and {others[0]}: nothing is compared, each stands for itself."
    return (
        f"No suite that was asked of {first} was asked of another model: nothing is compared, since that would be done "
        "with the first one given."
    )


def _how_questions_differ(name: str, record: Record, other: Record, known: str) -> str:
    """In what the questions of a suite can be seen to differ from those of another record."""
    own, theirs = (one["suites"][name] for one in (record, other))
    counts = [
        f"{own[key]:,} {what} where {known} has {theirs[key]:,}"
        for key, what in (("n_images", "pictures"), ("n_texts", "texts"))
        if isinstance(own.get(key), int) and isinstance(theirs.get(key), int) and own[key] != theirs[key]
    ]
    here, there = (headline(one) or "with all pictures" for one in (record, other))
    skipped = [f"measured {here}, {known} {there}"] if here != there else []
    prompts = ["other prompts"] if own.get("templates") != theirs.get("templates") else []
    return "; ".join([*counts, *skipped, *prompts]) or "as many, but others by their hash"


def require_same_questions(records: Records) -> None:
    """Refuse models that were asked different questions under one suite's name."""
    if not records:
        raise UserError(got="no model to report", expected="at least one", do="evaluate a model first")
    asked: dict[str, tuple[str, str]] = {}
    for label, record in records.items():
        for name, result in record["suites"].items():
            known, digest = asked.setdefault(name, (label, result["split_sha256"]))
            if digest != result["split_sha256"]:
                raise UserError(
                    got=f"suite {name} with other questions for {label} than for {known}",
                    expected="the same questions, so that the figures can be compared",
                    do="evaluate both models on the same files",
                )
