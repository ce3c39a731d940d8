"""Bins of uncertainty against plain loops, the readings of the paper's figure apart, edges."""

import pytest
import torch
from scipy import stats

from litotes.errors import UserError
from litotes.metrics.uncertainty_bins import uncertainty_bins


def answers(seed, n=137, levels=None):
    generator = torch.Generator().manual_seed(seed)
    unsure = torch.rand(n, generator=generator, dtype=torch.float64).square()
    if levels:
        unsure = (unsure * levels).round() / levels
    return unsure, torch.rand(n, generator=generator) > unsure


def place(value, values, bins, binning):
    if binning == "count":
        return sum(other < value for other in values) * bins // len(values)
    low, high = min(values), max(values)
    return max(b for b in range(bins) if b == 0 or (value - low) / (high - low) * bins > b)


@pytest.mark.parametrize("binning", ["count", "width"])
@pytest.mark.parametrize("levels", [None, 6])
def test_bins_hold_what_the_definition_says(levels, binning):
    for seed in range(3):
        unsure, good = answers(seed, levels=levels)
        found = uncertainty_bins(unsure, good, 10, binning)
        members = {}
        for value, hit in zip(unsure.tolist(), good.tolist(), strict=True):
            members.setdefault(place(value, unsure.tolist(), 10, binning), []).append((value, hit))
        parts = [members[key] for key in sorted(members)]
        assert found.answers.tolist() == [len(part) for part in parts]
        means = [[sum(pair[i] for pair in part) / len(part) for part in parts] for i in (0, 1)]
        assert found.uncertainty.tolist() == pytest.approx(means[0])
        assert found.quality.tolist() == pytest.approx(means[1])
        assert found.pearson_by_uncertainty == pytest.approx(stats.pearsonr(*means).statistic)
        assert found.pearson_by_index == pytest.approx(stats.pearsonr(range(len(parts)), means[1]).statistic)
        assert found.spearman == pytest.approx(stats.spearmanr(*means).statistic)


def test_equal_counts_average_to_the_whole_and_equal_widths_do_not():
    unsure, good = answers(0, 500)
    count, width = (uncertainty_bins(unsure, good, 10, binning) for binning in ("count", "width"))
    overall = good.double().mean().item()
    assert count.answers.tolist() == [50] * 10
    assert count.quality.mean().item() == pytest.approx(overall)
    assert abs(width.quality.mean().item() - overall) > 0.05
    # Skewed uncertainties: their mean and the number of their bin are not one straight line.
    assert abs(count.pearson_by_uncertainty - count.pearson_by_index) > 0.01


def test_the_printed_points_of_the_papers_figure_have_the_correlations_of_their_index():
    """Ten values each way; against the bin's number -0.933 and -0.929, where the paper prints -0.931 and -0.903."""
    i2t = [74.2, 70.2, 72.0, 70.4, 68.2, 67.6, 67.0, 62.2, 59.6, 53.6]
    t2i = [54.0, 52.8, 53.1, 51.3, 50.1, 50.5, 49.1, 49.3, 45.3, 42.3]
    for values, correlation, mean in ((i2t, -0.933, 66.50), (t2i, -0.929, 49.78)):
        found = uncertainty_bins(torch.arange(10.0), torch.tensor(values), 10)
        assert found.pearson_by_index == pytest.approx(correlation, abs=5e-4)
        assert found.quality.mean().item() == pytest.approx(mean, abs=5e-3)


@pytest.mark.parametrize("binning", ["count", "width"])
def test_one_uncertainty_for_all_is_one_bin_without_a_correlation(binning):
    found = uncertainty_bins(torch.full((20,), 0.3), torch.rand(20), 10, binning)
    assert found.answers.tolist() == [20]
    assert (found.pearson_by_uncertainty, found.pearson_by_index, found.spearman) == (None, None, None)
    flat = uncertainty_bins(torch.rand(20), torch.ones(20), 10, binning)
    assert flat.spearman is None and len(flat.answers) > 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: uncertainty_bins(torch.rand(0), torch.rand(0)),
        lambda: uncertainty_bins(torch.rand(3), torch.rand(2)),
        lambda: uncertainty_bins(torch.tensor([0.0, torch.nan]), torch.rand(2)),
        lambda: uncertainty_bins(torch.rand(2), torch.tensor([0.0, torch.inf])),
        lambda: uncertainty_bins(torch.rand(2), torch.rand(2), 0),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(UserError):
        call()
