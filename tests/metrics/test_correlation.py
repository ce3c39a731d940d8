"""Correlations against scipy and against residuals of straight lines; ties, constants, edges."""

import numpy as np
import pytest
import torch
from scipy import stats

from litotes.errors import UserError
from litotes.metrics.correlation import correlations, mean_ranks, partial_spearman, pearson, spearman


def rows(seed, n=60, levels=None):
    generator = torch.Generator().manual_seed(seed)
    x, y, z = torch.randn(3, n, generator=generator, dtype=torch.float64)
    y, z = y + 0.5 * x, z + x - 0.3 * y
    return [(row * levels).round() / levels for row in (x, y, z)] if levels else [x, y, z]


@pytest.mark.parametrize("levels", [None, 2])
@pytest.mark.parametrize("seed", range(3))
def test_both_correlations_are_scipys(seed, levels):
    x, y, _ = rows(seed, levels=levels)
    found = correlations(x, y)
    assert found.pearson == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert mean_ranks(x).tolist() == stats.rankdata(x).tolist()


@pytest.mark.parametrize("levels", [None, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_partial_correlation_is_that_of_residuals(seed, levels):
    x, y, z = (stats.rankdata(row) for row in rows(seed, levels=levels))
    line = np.stack([z, np.ones_like(z)], axis=1)
    left = [row - line @ np.linalg.lstsq(line, row, rcond=None)[0] for row in (x, y)]
    expected = stats.pearsonr(*left).statistic
    assert partial_spearman(*rows(seed, levels=levels)) == pytest.approx(expected, abs=1e-10)


def test_what_follows_from_the_third_alone_has_nothing_left():
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(5000, generator=generator)
    wrong = torch.rand(5000, generator=generator) < torch.sigmoid(2 * z)
    noisy = z + 0.5 * torch.randn(5000, generator=generator)
    assert spearman(noisy, wrong) > 0.4
    assert partial_spearman(noisy, wrong, z) == pytest.approx(0, abs=0.04)
    # A rising or falling function of z says nothing that z does not.
    assert partial_spearman(z.exp(), wrong, z) is None
    assert partial_spearman(-z, wrong, z) is None
    # And what knows the errors themselves keeps it.
    assert partial_spearman(wrong.float() + 0.01 * noisy, wrong, z) > 0.8


def test_any_unit_and_offset_and_size_gives_the_same():
    x, y, z = rows(1)
    for scale in (1e-15, 1e150):
        assert pearson(scale * x, y) == pytest.approx(pearson(x, y), abs=1e-12)
        assert partial_spearman(scale * x, y, z) == partial_spearman(x, y, z)
    assert pearson(-x, x) == pytest.approx(-1) and spearman(x, x.exp()) == pytest.approx(1)


@pytest.mark.parametrize("call", [pearson, spearman])
def test_a_constant_has_no_correlation(call):
    x = torch.arange(5.0)
    assert call(x, torch.full((5,), 0.1)) is None
    assert call(torch.ones(1), torch.ones(1)) is None
    assert partial_spearman(x, torch.ones(5), x.flip(0)) is None


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (torch.ones(0), torch.ones(0), "one at least"),
        (torch.ones(2), torch.ones(3), "as many numbers"),
        (torch.ones(2, 2), torch.ones(2, 2), "as many numbers"),
        (torch.tensor([1.0, float("nan")]), torch.ones(2), "finite numbers"),
        (torch.ones(2), torch.tensor([1.0, float("inf")]), "finite numbers"),
    ],
)
def test_rows_that_do_not_fit_or_are_not_finite_are_refused(first, second, told):
    with pytest.raises(UserError, match=told):
        correlations(first, second)
