"""Histograms and moments against numpy and scipy; edges, one value, nothing."""

import numpy as np
import pytest
import torch
from scipy import stats

from litotes.errors import UserError
from litotes.metrics.histogram import histogram


@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("bounds", [(None, None), (-1.0, 0.5)])
def test_shares_and_moments_are_those_of_numpy_and_scipy(bounds, levels):
    values = torch.randn(30, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64).exp() - 1.5
    if levels:
        values = (values * levels).round() / levels
    found = histogram(values, 12, *bounds)
    flat = values.flatten().numpy()
    low, high = (
        bound if bound is not None else end for bound, end in zip(bounds, (flat.min(), flat.max()), strict=True)
    )
    counts, edges = np.histogram(flat, 12, (low, high))
    assert found.edges.numpy() == pytest.approx(edges)
    assert found.shares.numpy() * 600 == pytest.approx(counts)
    assert (found.below, found.above) == pytest.approx(((flat < low).mean(), (flat > high).mean()))
    assert float(found.shares.sum()) + found.below + found.above == pytest.approx(1)
    assert (found.mean, found.median) == pytest.approx((flat.mean(), np.median(flat)))
    assert (found.lowest, found.highest, found.pairs) == (flat.min(), flat.max(), 600)
    assert (found.deviation, found.skewness) == pytest.approx((flat.std(), stats.skew(flat)))


def test_equal_values_stand_in_the_middle_and_lean_nowhere():
    found = histogram(torch.full((3, 3), 2.0), 4)
    assert found.shares.tolist() == [0, 0, 1, 0] and found.skewness is None
    assert (found.edges[0], found.edges[-1], found.median) == (1.5, 2.5, 2.0)


@pytest.mark.parametrize(
    ("values", "given"),
    [
        (torch.rand(0), {}),
        (torch.rand(3), {"bins": 0}),
        (torch.rand(3), {"low": 1.0, "high": 1.0}),
        (torch.rand(3), {"low": 2.0}),
        (torch.tensor([0.0, torch.nan]), {}),
    ],
)
def test_what_cannot_be_drawn_is_refused(values, given):
    with pytest.raises(UserError):
        histogram(values, **given)
