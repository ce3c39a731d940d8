"""How sure a share is, and whether two models differ on the same questions."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from litotes.errors import UserError

Z95 = 1.959963984540054
"""The standard normal's 97.5 % point."""


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
    first: Bool[np.ndarray, " n"], second: Bool[np.ndarray, " _"], draws: int = 10_000, seed: int = 0
) -> Interval:
    """95 % percentile interval of share(second) - share(first) over questions drawn again, in pairs.

    A question drawn brings both models' answers, so what is common to both cancels. The differences are -1, 0 or 1,
    so that a draw of n questions is one of a multinomial distribution. Errors: as of ``mcnemar_p``, or no draw.
    """
    _require_parallel(first, second)
    if draws < 1:
        raise UserError(got=f"{draws} draws", expected="at least one", do="leave the number out")
    n = len(first)
    lost, won = int((first & ~second).sum()), int((second & ~first).sum())
    drawn = np.random.default_rng(seed).multinomial(n, [lost / n, won / n, (n - lost - won) / n], size=draws)
    low, high = np.quantile((drawn[:, 1] - drawn[:, 0]) / n, [0.025, 0.975])
    return Interval(float(low), float(high))


def _require_parallel(first: np.ndarray, second: np.ndarray) -> None:
    if len(first) != len(second) or not len(first):
        raise UserError(
            got=f"{len(first)} and {len(second)} answers",
            expected="both models' answers to the same questions, at least one",
            do="evaluate both on the same file",
        )
