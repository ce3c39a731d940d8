"""Measured models beside published figures: how far off each figure is, and whether chance explains it."""

from collections.abc import Sequence
from typing import NamedTuple

from litotes.errors import UserError
from litotes.evaluate.published import published_record
from litotes.evaluate.rows import Record, Records, Row, value_at
from litotes.evaluate.sections import sections

ELSEWHERE = (
    "Activation, precision and picture preparation behind the published figures may differ from those named under "
    "“Where the figures come from”."
)
"""What a reader of any published figure must know."""


class Deviation(NamedTuple):
    """A figure of a model beside the published one, all as printed; ``difference``: its own less the published one.

    inside: whether the published figure lies within the 95 % interval of the model's own; None where that has none.
    """

    label: str
    published: str
    own: str
    difference: str
    inside: bool | None


class Table(NamedTuple):
    """The deviations of one suite, with the title that its figures bear elsewhere."""

    suite: str
    title: str
    rows: tuple[Deviation, ...]


class Against(NamedTuple):
    """A model beside a published row: its label, the row as a record of the same suites, in words, in tables."""

    label: str
    record: Record
    told: str
    tables: tuple[Table, ...]


def against(records: Records, names: Sequence[str]) -> list[Against]:
    """Every model beside a published row: all beside the one that is named, or each beside that of its own place.

    records: by label. Only suites on a published file that the row has figures for are compared.

    Errors: neither one name nor as many as models; a name that no row has; no suite that the row has figures for.
    """
    if not names:
        return []
    if len(names) not in (1, len(records)):
        raise UserError(
            got=f"--published with {len(names)} rows for {len(records)} models ({', '.join(records)})",
            expected="one row for all models, or one for each in their order, separated by commas",
            do="give as many rows as models",
        )
    rows = list(names) * len(records) if len(names) == 1 else list(names)
    return [_against(label, record, name) for (label, record), name in zip(records.items(), rows, strict=True)]


def _against(label: str, record: Record, name: str) -> Against:
    row = published_record(name, record["suites"])
    tables, distances = [], []
    for section in sections({name: row, label: record}):
        theirs, ours = (one["suites"].get(section.suite) for one in (row, record))
        shared = [one for one in section.rows if value_at(theirs, one.path) is not None]
        shared = [one for one in shared if value_at(ours, one.path) is not None]
        if shared:
            tables.append(Table(section.suite, section.title, tuple(_deviation(one, ours, theirs) for one in shared)))
            distances += [
                (abs(value_at(ours, one.path) - value_at(theirs, one.path)), one)
                for one in shared
                if one.path[-1] != "rsum"
            ]
    return Against(label, row, _in_words(f"{name} ({row['source']})", tables, distances), tuple(tables))


def _deviation(row: Row, ours: Record | None, theirs: Record | None) -> Deviation:
    published, own = row.cells
    ends = value_at(ours, row.interval) if row.interval else None
    inside = None if ends is None else ends[0] <= value_at(theirs, row.path) <= ends[1]
    return Deviation(row.label, published.text, own.text, own.difference, inside)


def _in_words(name: str, tables: Sequence[Table], distances: Sequence[tuple[float, Row]]) -> str:
    """How many shares there are, how far off they are in the mean and at most, how many lie within our intervals."""
    if not distances:
        return f"No share can be held against {name}."
    furthest = max(distances, key=lambda pair: pair[0])[1]
    mean = 100 * sum(distance for distance, _ in distances) / len(distances)
    known = [row.inside for table in tables for row in table.rows if row.inside is not None]
    within = f" The published figure lies in our 95 % interval in {sum(known)} of {len(known)} shares with one."
    return (
        f"{len(distances)} shares beside {name}: {mean:.1f} points off in the mean, at most "
        f"{furthest.cells[1].difference} ({furthest.label}).{within if known else ''}"
    )
