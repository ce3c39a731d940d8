"""Figures of several models in rows: how each is found in a result, printed, and held against the first model's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Record = Mapping[str, Any]
Records = Mapping[str, Record]

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Cell:
    """A figure of one model: ``text`` as printed; ``bar``, its share of the whole row's scale, 0-1 or None.

    ``difference``: from the first model, as printed ("" for the first model itself); ``verdict``: "better", "worse",
    "same", "unsure" where chance could bring the difference or nobody knows whether it could, or "" where neither
    direction is better.
    ``reach``: the 95 % interval of the difference, as printed, where both models' answers are there; ``interval``:
    Wilson's of the figure itself, where it is a share with one.
    """

    text: str
    bar: float | None
    difference: str
    verdict: str
    reach: str = ""
    interval: str = ""


@dataclass(frozen=True)
class Row:
    """One measure, one cell a model. ``main`` marks the measures that a headline takes.

    ``path``, ``interval``, ``chance``: places of the figure, of its interval and of what guessing gives in a suite's
    result.
    """

    label: str
    cells: tuple[Cell, ...]
    main: bool = False
    path: tuple[str, ...] = ()
    interval: tuple[str, ...] = ()
    chance: tuple[str, ...] = ("chance",)


@dataclass(frozen=True)
class Section:
    """A suite: title, one sentence on how to read it, rows, the name it has in the results.

    ``left_out``: sentences on rows that are left out, since their pictures are missing or broken. ``source``: which
    questions these are, a published file or another, by their hash.
    """

    title: str
    note: str
    rows: tuple[Row, ...]
    suite: str = ""
    left_out: tuple[str, ...] = ()
    source: str = ""

    @property
    def compared(self) -> tuple[bool, ...]:
        """Of each model, whether a row has its difference from the first."""
        return tuple(
            any(cell.difference for cell in cells) for cells in zip(*(row.cells for row in self.rows), strict=True)
        )


@dataclass(frozen=True)
class Measure:
    """A figure to be found in a suite's result, and how it is printed; ``interval``: where that of a share is.

    ``chance``: where that stands which guessing gives. ``n``: questions that a share is of, None where it is no plain
    share. ``summed``: where the parts of a sum are, of one of the two ways of a search; it can be compared only with a
    sum of the same parts.
    """

    label: str
    path: tuple[str, ...]
    kind: str
    main: bool = False
    interval: tuple[str, ...] = ()
    n: int | None = None
    summed: tuple[str, ...] = ()
    chance: tuple[str, ...] = ("chance",)


@dataclass(frozen=True)
class Kind:
    """How figures of a kind are printed: factor, unit, full scale of the bar, whether more is better, sign, decimals.

    ``scale``: None for the greatest figure of the row, 0 for no bar. Of a sum it is the usual maximum; where the parts
    are told, each figure has its own.
    """

    factor: float
    unit: str
    scale: float | None
    judged: bool
    signed: bool = False
    decimals: int = 1


KINDS = {
    "percent": Kind(100.0, " %", 100.0, True),
    "control": Kind(100.0, " %", 100.0, False),
    "rsum": Kind(1.0, "", 600.0, True),
    "gap": Kind(100.0, "", 0.0, True, signed=True),
    "rsum gap": Kind(1.0, "", 0.0, True, signed=True),
    "length": Kind(1.0, "", None, False, decimals=2),
    "rank": Kind(1.0, "", 0.0, False),
    "degrees": Kind(1.0, "°", None, False),
}


def keys_at(result: Record | None, path: tuple[str, ...]) -> set[str]:
    """The names of what stands at a place of a result; none where nothing with names does."""
    value = value_at(result, path)
    return set(value) if isinstance(value, Mapping) else set()


def depths_of(result: Record) -> list[int]:
    """Every K that a search was asked for, in their order; by COCO's judges those of its rSum; none of other suites."""
    return sorted(map(int, keys_at(result.get("coco_1k", result), ("i2t",))))


def row_of(measure: Measure, results: list[Record | None]) -> Row:
    """One measure of several models, the first being what the others are compared with.

    A sum of other parts than the first model's has no difference; its bar ends at 100 for each part, both ways, and the
    label tells this end where it is the same for all and not the usual one.
    """
    values = [number_at(result, measure.path) for result in results]
    kind = KINDS[measure.kind]
    greatest = max((abs(value) for value in values if value is not None), default=0.0) or 1.0
    scale = greatest if kind.scale is None else kind.scale
    parts = [keys_at(result, measure.summed) if measure.summed else set() for result in results]
    ends_at = [most_of_sum(len(some)) if some and kind.scale else scale for some in parts]
    cells = [
        _cell(value, values[0] if i and parts[i] == parts[0] else None, kind, ends_at[i])
        for i, value in enumerate(values)
    ]
    if measure.interval:
        ends = [value_at(result, measure.interval) for result in results]
        cells = [replace(cell, interval=_ends(pair)) for cell, pair in zip(cells, ends, strict=True)]
    shown = {end for end, value in zip(ends_at, values, strict=True) if value is not None}
    unusual = f" of at most {min(shown):g}" if measure.summed and len(shown) == 1 and shown != {scale} else ""
    return Row(measure.label + unusual, tuple(cells), measure.main, measure.path, measure.interval, measure.chance)


def most_of_sum(ks: int) -> float:
    """The maximum of rSum: 100 for each of so many K, both ways."""
    return 200.0 * ks


def _ends(interval: Sequence[float] | None) -> str:
    return "" if interval is None else "–".join(f"{100 * end:.1f}" for end in interval)


def signed(value: float, decimals: int = 1) -> str:
    """A change with its sign, a minus as long as the plus; "±0.0" where nothing is left of it."""
    rounded = round(value, decimals)
    return f"{rounded:+.{decimals}f}".replace("-", MINUS) if rounded else f"±{0:.{decimals}f}"


def _cell(value: float | None, base: float | None, kind: Kind, scale: float) -> Cell:
    if value is None:
        return Cell("–", None, "", "")
    shown = kind.factor * value
    text = f"{shown:.{kind.decimals}f}{kind.unit}".replace("-", MINUS)
    bar = min(max(shown / scale, 0.0), 1.0) if scale else None
    text = signed(shown, kind.decimals) if kind.signed else text
    if base is None:
        return Cell(text, bar, "", "")
    change = round(shown - kind.factor * base, kind.decimals)
    difference = signed(change, kind.decimals)
    verdict = ("better" if change > 0 else "worse" if change < 0 else "same") if kind.judged else ""
    return Cell(text, bar, difference, verdict)


def number_at(result: Record | None, path: tuple[str, ...]) -> float | None:
    """The number at a place of a result; None where none does."""
    value = value_at(result, path)
    return None if value is None else float(value)


def value_at(result: Record | None, path: tuple[str, ...]) -> Any:  # noqa: ANN401 (whatever a result holds)
    """What stands at a place of a result; None where nothing does."""
    value: Any = result
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
