"""Uncertainty of the K first items against numpy and scipy; a doubt that knows, one that does not; edges."""

import numpy as np
import pytest
import torch
from scipy import stats

from litotes.errors import UserError
from litotes.metrics.first_items import first_items


@pytest.mark.parametrize("levels", [None, 3])
def test_means_and_correlations_are_those_of_numpy_and_scipy(levels):
    generator = torch.Generator().manual_seed(0)
    unsure = torch.rand(40, 10, generator=generator)
    if levels:
        unsure = (unsure * levels).round() / levels
    quality = torch.rand(40, generator=generator)
    found = first_items(unsure, quality, (1, 3, 10))
    for k, told in found.items():
        means = np.array([[float(u) for u in row[:k]] for row in unsure]).mean(axis=1)
        assert told.mean == pytest.approx(means.mean())
        assert told.pearson == pytest.approx(stats.pearsonr(means, quality).statistic)
        assert told.spearman == pytest.approx(stats.spearmanr(means, quality).statistic)


def test_only_the_first_k_count_and_a_doubt_that_knows_goes_down_with_quality():
    quality = torch.tensor([0.9, 0.5, 0.1])
    unsure = torch.stack([1 - quality, torch.zeros(3), 9 * quality], dim=1)
    found = first_items(unsure, quality, (1, 2, 3))
    assert found[1].pearson == pytest.approx(-1) and found[2].pearson == pytest.approx(-1)
    assert found[3].pearson == pytest.approx(1)
    assert found[2].mean == pytest.approx(found[1].mean / 2)


def test_where_one_of_both_is_constant_nothing_is_correlated():
    assert first_items(torch.ones(4, 1), torch.rand(4), (1,))[1][1:] == (None, None)
    assert first_items(torch.rand(4, 1), torch.ones(4), (1,))[1][1:] == (None, None)
    assert first_items(torch.rand(1, 1), torch.rand(1), (1,))[1][1:] == (None, None)


@pytest.mark.parametrize(
    ("unsure", "quality", "ks"),
    [
        (torch.rand(2, 3), torch.rand(2), (4,)),
        (torch.rand(2, 3), torch.rand(2), (0,)),
        (torch.rand(2, 3), torch.rand(2), ()),
        (torch.rand(2, 3), torch.rand(2), (1, 1)),
        (torch.rand(2, 3), torch.rand(3), (1,)),
        (torch.rand(3), torch.rand(3), (1,)),
        (torch.rand(0, 3), torch.rand(0), (1,)),
        (torch.tensor([[torch.nan]]), torch.rand(1), (1,)),
        (torch.rand(1, 1), torch.tensor([torch.inf]), (1,)),
    ],
)
def test_what_does_not_fit_is_refused(unsure, quality, ks):
    with pytest.raises(UserError):
        first_items(unsure, quality, ks)
