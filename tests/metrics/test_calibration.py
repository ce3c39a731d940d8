"""Reliability, calibration error and Brier score against their definitions in loops."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.calibration import brier, reliability


def answers(n=200, levels=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    p = torch.rand(n, generator=generator, dtype=torch.float64)
    if levels:
        p = (p * levels).round() / levels
    return p, torch.rand(n, generator=generator) < p.float() ** 2


def by_definition(p, y, bins, binning):
    p, y, found = p.tolist(), y.tolist(), {}
    for probability, right in zip(p, y, strict=True):
        if binning == "width":
            place = next(b for b in range(bins) if probability <= (b + 1) / bins)
        else:
            place = math.floor(sum(other < probability for other in p) * bins / len(p))
        found.setdefault(place, []).append((probability, right))
    rows = [found[place] for place in sorted(found)]
    return [(len(row), sum(a for a, _ in row) / len(row), sum(b for _, b in row) / len(row)) for row in rows]


@pytest.mark.parametrize("binning", ["width", "count"])
@pytest.mark.parametrize("levels", [None, 8, 1])
@pytest.mark.parametrize("bins", [1, 8, 15, 400])
def test_bins_and_error_against_their_definition(binning, levels, bins):
    p, y = answers(levels=levels)
    found = reliability(p, y, bins, binning)
    rows = by_definition(p, y, bins, binning)
    assert found.answers.tolist() == [count for count, *_ in rows]
    assert found.confidence.tolist() == pytest.approx([a for _, a, _ in rows])
    assert found.frequency.tolist() == pytest.approx([b for *_, b in rows])
    gaps = [abs(a - b) for _, a, b in rows]
    weighted = math.fsum(count * gap for (count, *_), gap in zip(rows, gaps, strict=True))
    assert found.ece == pytest.approx(weighted / len(p), abs=1e-15)
    assert found.largest == pytest.approx(max(gaps), abs=1e-15)


def test_equal_counts_are_equal_and_the_order_of_the_answers_has_no_part():
    p, y = answers()
    assert reliability(p, y).answers.tolist() == [20] * 10
    order = torch.randperm(200, generator=torch.Generator().manual_seed(1))
    coarse, right = answers(levels=8)
    one, other = reliability(coarse, right), reliability(coarse[order], right[order])
    assert torch.equal(one.answers, other.answers)
    assert one.ece == pytest.approx(other.ece, abs=1e-15)


def test_the_edges_of_bins_of_equal_width():
    p = torch.tensor([0.0, 0.5, 0.500001, 1.0], dtype=torch.float64)
    assert reliability(p, torch.tensor([False, True, True, True]), 2, "width").answers.tolist() == [2, 2]


def test_brier_by_its_definition_and_at_its_least():
    p, y = answers()
    assert brier(p, y) == pytest.approx(sum((a - b) ** 2 for a, b in zip(p.tolist(), y.tolist(), strict=True)) / 200)
    assert brier(torch.tensor([0.0, 1.0]), torch.tensor([False, True])) == 0
    assert brier(torch.tensor([0.0, 1.0]), torch.tensor([True, False])) == 1
    assert brier(p**2, y) < brier(p, y)  # the answers were drawn with p^2
    # A constant of the right mean has no calibration error, and a Brier score that tells it apart.
    mean = y.double().mean().expand(200)
    assert reliability(mean, y).ece == pytest.approx(0, abs=1e-12)
    assert brier(mean, y) > brier(p**2, y)


def test_mistakes_are_told():
    right = torch.tensor([True, False])
    for wrong, told in (
        ((torch.tensor([0.5, 1.1]), right), "1 of 2 probabilities outside"),
        ((torch.tensor([0.5, torch.nan]), right), "1 of 2 probabilities NaN"),
        ((torch.zeros(0), right[:0]), "at least one answer"),
    ):
        with pytest.raises(UserError, match=told):
            brier(*wrong)
    with pytest.raises(UserError, match="bins = 0"):
        reliability(torch.tensor([0.5, 0.5]), right, 0)
