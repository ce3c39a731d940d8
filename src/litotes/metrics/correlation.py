"""Correlations of two rows of numbers, and of two beside a third that may explain both."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite

_CONSTANT = 1e-12
"""Below this share of its own squares a spread is rounding, and a correlation is not defined."""


class Correlations(NamedTuple):
    """``pearson``: of the numbers; ``spearman``: of their ranks. Each in [-1, 1], None where a row is constant."""

    pearson: float | None
    spearman: float | None


def correlations(first: Tensor, second: Tensor) -> Correlations:
    """Both correlations of two rows; see `pearson` and `spearman`."""
    return Correlations(pearson(first, second), spearman(first, second))


def pearson(first: Tensor, second: Tensor) -> float | None:
    """``sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 sum (y - mean y)^2)``, in float64.

    first, second: [n], numbers or true and false. None where one of them is constant, or n is 1. Errors: no number,
    other lengths, numbers that are not finite.
    """
    return _pearson(*_rows(first, second))


def spearman(first: Tensor, second: Tensor) -> float | None:
    """Pearson's correlation of the ranks; equal numbers share the mean of their ranks. Otherwise as `pearson`."""
    return _pearson(*map(mean_ranks, _rows(first, second)))


def partial_spearman(first: Tensor, second: Tensor, given: Tensor) -> float | None:
    """What is left of the rank correlation of x and y when a third row z explains both.

    ``(r_xy - r_xz r_yz) / sqrt((1 - r_xz^2)(1 - r_yz^2))``, r the rank correlations: that of the residuals of the ranks
    of x and of y after a straight line in the ranks of z.

    first, second, given: x, y, z [n]. In [-1, 1]; None where a row is constant, or the ranks of x or y are those of z,
    either way round, so that nothing is left to correlate. Where the ranks of y bend over those of z, as 0-or-1 errors
    over a score do, a little can be left without x knowing more than z: `metrics.matched.matched_auroc` compares at
    equal z. Errors: as `pearson`. Source: Kendall 1942 (partial rank correlation), in Spearman's form.
    """
    x, y = map(mean_ranks, _rows(first, second))
    z = mean_ranks(_rows(first, given)[1])
    xy, xz, yz = _pearson(x, y), _pearson(x, z), _pearson(y, z)
    if xy is None or xz is None or yz is None:
        return None
    left = (1 - xz * xz) * (1 - yz * yz)
    return None if left <= _CONSTANT else max(-1.0, min(1.0, (xy - xz * yz) / left**0.5))


def mean_ranks(values: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Ranks from 1 by rising value, equal values at the mean of the ranks they take; float64."""
    _, group, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).to(torch.float64)
    return (last - (counts.to(torch.float64) - 1) / 2)[group]


def _pearson(x: Tensor, y: Tensor) -> float | None:
    dx, dy = x - x.mean(), y - y.mean()
    if any(float(d.square().sum()) <= _CONSTANT * float(v.square().sum()) for d, v in ((dx, x), (dy, y))):
        return None
    # Each by its own length first, so that neither product leaves the range of float64.
    return max(-1.0, min(1.0, float((dx / dx.norm()) @ (dy / dy.norm()))))


def _rows(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise UserError(
            got=f"rows of shapes {tuple(first.shape)} and {tuple(second.shape)}",
            expected="as many numbers in each, one at least",
            do="give both of the same items, in the same order",
        )
    x, y = (row.detach().cpu().to(torch.float64) for row in (first, second))
    refuse_non_finite(x, "numbers")
    refuse_non_finite(y, "numbers")
    return x, y
