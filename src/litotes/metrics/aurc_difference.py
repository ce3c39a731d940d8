"""Whether one uncertainty orders the same answers better than another, and how far chance could bring that."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.paired import Interval
from litotes.metrics.selective import risk_coverage


class AurcDifference(NamedTuple):
    """``first``, ``second``: the AURC of each; ``difference``: first - second, below 0 where the first is better.

    ``interval``: 95 % percentile interval of the difference.
    """

    first: float
    second: float
    difference: float
    interval: Interval


def aurc_difference(
    first: Float[Tensor, " n"],
    second: Float[Tensor, " _"],
    errors: Tensor,
    group: Int[np.ndarray, " _"] | None = None,
    draws: int = 1000,
    seed: int = 0,
) -> AurcDifference:
    """AURC by one uncertainty less that by another, over the same answers drawn again with repetition, in pairs.

    Each draw brings an answer's error and both its uncertainties, so that what is common to both cancels. An answer
    drawn c times is c answers of equal uncertainty, which count as all ties do in `risk_coverage`.

    first, second, errors: [n], as of `risk_coverage`. group [n]: answers of one number are drawn together, such as the
    captions of one picture; each by itself if None. draws, seed: of the bootstrap. In float64. Errors: those of
    `risk_coverage`; groups of another length; no draw. Source: Efron and Tibshirani 1993 (percentile interval).
    """
    curves = risk_coverage(first, errors), risk_coverage(second, errors)
    if draws < 1 or (group is not None and len(group) != len(errors)):
        raise UserError(
            got=f"{draws} draws of {len(errors)} answers in {len(group) if group is not None else len(errors)} groups",
            expected="at least one draw, and a group an answer",
            do="correct them",
        )
    lost = errors.detach().cpu().to(torch.float64).numpy()
    ways = [_Ordered(row.detach().cpu().to(torch.float64).numpy(), lost) for row in (first, second)]
    member = np.arange(len(lost)) if group is None else np.unique(group, return_inverse=True)[1]
    clusters = int(member.max()) + 1
    rng = np.random.default_rng(seed)
    drawn = np.empty(draws)
    for number in range(draws):
        count = np.bincount(rng.integers(0, clusters, clusters), minlength=clusters)[member]
        drawn[number] = ways[0].aurc(count) - ways[1].aurc(count)
    low, high = np.quantile(drawn, [0.025, 0.975])
    a, b = (curve.aurc for curve in curves)
    return AurcDifference(a, b, a - b, Interval(float(low), float(high)))


class _Ordered:
    """Answers by the levels of their uncertainty, for AURC with any count of each answer."""

    def __init__(self, uncertainty: np.ndarray, errors: np.ndarray) -> None:
        self.level = np.unique(uncertainty, return_inverse=True)[1]
        self.levels, self.errors = int(self.level.max()) + 1, errors

    def aurc(self, count: np.ndarray) -> float:
        """AURC of the answers, the i-th taken count_i times."""
        size = np.bincount(self.level, count, self.levels).astype(np.int64)
        lost = np.bincount(self.level, count * self.errors, self.levels)
        mean = np.divide(lost, size, out=np.zeros(self.levels), where=size > 0)
        each = np.repeat(mean, size)
        return float((each.cumsum() / np.arange(1, len(each) + 1)).mean())
