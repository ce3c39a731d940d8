"""How sure a share is, and whether two models differ on the same questions."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from litotes.errors import UserError

Z95 = 1.959963984540054
"""The standard normal's 97.5 % point."""

_DRAWN_AT_ONCE = 1 << 22
"""Counts of different rows that are held at once."""


class Interval(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float


def wilson_interval(right: int, total: int, z: float = Z95) -> Interval:
    """Wilson's score interval of a share p = right / total, within [0, 1].

    (p + z²/2n ± z sqrt(p(1 - p)/n + z²/4n²)) / (1 + z²/n), with n = total; 95 % for the usual z. It has a width at
    shares of 0 and 1 too. Errors: no question, or more right than asked. Source: Wilson (1927).
    """
    if not 0 <= right <= total or not total:
        raise UserError(got=f"{right} right of {total}", expected="0 <= right <= total, at least one", do="count again")
    share, extra = right / total, z * z / total
    middle = share + extra / 2
    half = z * math.sqrt(share * (1 - share) / total + extra / (4 * total))
    low, high = (middle - half) / (1 + extra), (middle + half) / (1 + extra)
    # rounding may leave the exact ends 0 and 1 a bit off
    return Interval(0.0 if right == 0 else low, 1.0 if right == total else high)


def mcnemar_p(first: Bool[np.ndarray, " n"], second: Bool[np.ndarray, " _"]) -> float:
    """McNemar's exact test: probability of so uneven a split, or a more uneven one, if both models were equally good.

    ``first``, ``second`` [n]: whether each question was answered rightly. Of the d questions that exactly one of the
    models got right, the first's number is Binomial(d, 1/2); p = min(1, 2 P(X <= the smaller number)). 1 where they
    never differ. Errors: unequal lengths, no question. Source: McNemar (1947), in its exact form.
    """
    _require_parallel(first, second)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    differing = only_first + only_second
    # in whole numbers, so that no size of set rounds or overflows
    tail, term = 0, 1
    for k in range(min(only_first, only_second) + 1):
        tail += term
        term = term * (differing - k) // (k + 1)
    return min(1.0, 2 * tail / 2**differing)


def bootstrap_difference(
    first: Bool[np.ndarray, " n"],
    second: Bool[np.ndarray, " _"],
    group: Int[np.ndarray, " _"] | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> Interval:
    """95 % percentile interval of share(second) - share(first) over questions drawn again, in pairs.

    A question drawn brings both models' answers, so what is common to both cancels. ``group`` [n]: a number for each
    question; those of one number are drawn together, as questions about one picture are not independent of each other.
    By default each is drawn alone. Errors: as of ``mcnemar_p``; groups of another length; no draw.
    """
    _require_parallel(first, second)
    change = second.astype(float) - first
    rows = np.stack([change, np.ones(len(change))], axis=1)
    grouped = rows if group is None else sums_of_groups(rows, group)
    return bootstrap_interval(grouped, lambda sums: sums[:, 0] / sums[:, 1], draws, seed)


def bootstrap_interval(
    rows: Float[np.ndarray, "n m"],
    statistic: Callable[[np.ndarray], np.ndarray],
    draws: int = 10_000,
    seed: int = 0,
) -> Interval:
    """95 % percentile interval of a statistic of column sums, over n rows drawn again with repetition.

    ``statistic``: takes sums [draws, m] and gives a number for each draw, such as a ratio of two columns. Equal rows
    are drawn together: how often each different row comes is one draw of a multinomial distribution. Errors: no row;
    no draw.
    """
    if draws < 1 or not len(rows):
        raise UserError(got=f"{draws} draws of {len(rows)} rows", expected="at least one of both", do="leave it out")
    different, count = np.unique(rows, axis=0, return_counts=True)
    draw = np.random.default_rng(seed)
    at_once = max(1, _DRAWN_AT_ONCE // len(different))
    values = [
        statistic(draw.multinomial(len(rows), count / len(rows), size=min(at_once, draws - start)) @ different)
        for start in range(0, draws, at_once)
    ]
    low, high = np.quantile(np.concatenate(values), [0.025, 0.975])
    return Interval(float(low), float(high))


def sums_of_groups(rows: Float[np.ndarray, "n m"], group: Int[np.ndarray, " _"]) -> Float[np.ndarray, "groups m"]:
    """The sum of the rows of each group, in the order of the groups' numbers. Errors: unequal lengths."""
    if len(rows) != len(group):
        raise UserError(got=f"{len(rows)} rows in {len(group)} groups", expected="a group a row", do="check the lists")
    numbers, place = np.unique(group, return_inverse=True)
    sums = np.zeros((len(numbers), rows.shape[1]))
    np.add.at(sums, place, rows)
    return sums


def _require_parallel(first: np.ndarray, second: np.ndarray) -> None:
    if len(first) != len(second) or not len(first):
        raise UserError(
            got=f"{len(first)} and {len(second)} answers",
            expected="both models' answers to the same questions, at least one",
            do="evaluate both on the same file",
        )
