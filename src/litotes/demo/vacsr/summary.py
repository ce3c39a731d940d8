"""Figures of several seeds as one: mean and spread, picked out of the rows of the comparison."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from litotes.evaluate.rows import MINUS

Rows = Sequence[Mapping[str, Any]]
Path = tuple[str, ...]


class Mean(NamedTuple):
    """Mean of the seeds, their sample standard deviation (0 for one), and how many there are."""

    mean: float
    spread: float
    seeds: int

    def percent(self) -> str:
        """As "18.2 ± 0.4", without spread for one seed."""
        return self._printed(100.0, 1)

    def share(self) -> str:
        """As "0.936 ± 0.004"."""
        return self._printed(1.0, 3)

    def _printed(self, factor: float, digits: int) -> str:
        spread = f" ± {factor * self.spread:.{digits}f}" if self.seeds > 1 else ""
        return f"{factor * self.mean:.{digits}f}{spread}".replace("-", MINUS)


def at(row: Mapping[str, Any], path: Path) -> float | None:
    """The number at a path of keys; None where there is none."""
    value: Any = row
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return None if value is None else float(value)


def mean_of(values: Iterable[float | None]) -> Mean | None:
    """Mean and spread of the numbers that are there; None where there is none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Mean(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else 0.0, len(known))


def over_seeds(rows: Rows, name: str, noise: float, path: Path) -> Mean | None:
    """Mean over the seeds of a method at a noise."""
    return mean_of(at(row, path) for row in rows if row["row"] == name and row.get("noise", noise) == noise)


def both_ways(rows: Rows, name: str, noise: float, key: str = "map_at_r") -> Mean | None:
    """Mean over the seeds of a retrieval figure's mean over both ways."""
    some = [row for row in rows if row["row"] == name and row.get("noise", noise) == noise]
    ways = [[at(row, ("retrieval", way, key)) for way in ("i2t", "t2i")] for row in some]
    return mean_of((a + b) / 2 for a, b in ways if a is not None and b is not None)


def noises(rows: Rows) -> list[float]:
    """The shares of wrong pairs, rising."""
    return sorted({float(row["noise"]) for row in rows if "noise" in row})
