"""Pairs with known outcomes against plain loops; what a probability fitted to each population is about."""

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.answered_pairs import answered_pairs
from litotes.metrics.calibrators import fit_isotonic

OWNERS = [0, 1, 1, 2, 4, 0]


def scores(levels=None):
    found = torch.randn(5, 6, generator=torch.Generator().manual_seed(3))
    return (found * levels).round() / levels if levels else found


@pytest.mark.parametrize("levels", [None, 1])
def test_found_are_the_first_items_of_all_searches(levels):
    table = scores(levels)
    found = answered_pairs(table, OWNERS)
    expected = []
    for i in (0, 1, 2, 4):  # picture 3 has no caption and is no search
        best = max(float(table[i, j]) for j in range(6) if OWNERS[j] == i)
        others = [float(table[i, j]) for j in range(6) if OWNERS[j] != i]
        expected.append((max(best, *others), best > max(others)))
    for j in range(6):
        own = float(table[OWNERS[j], j])
        others = [float(table[i, j]) for i in range(5) if i != OWNERS[j]]
        expected.append((max(own, *others), own > max(others)))
    assert list(zip(found.scores.tolist(), found.right.tolist(), strict=True)) == expected


def test_balanced_are_as_many_right_as_wrong_and_never_a_captions_own_picture():
    table = torch.arange(5)[:, None] * 10.0 + torch.arange(6)
    seen = set()
    for seed in range(40):
        found = answered_pairs(table, OWNERS, "balanced", seed)
        assert found.right.tolist() == [True] * 6 + [False] * 6
        pictures = (found.scores // 10).int().tolist()
        assert pictures[:6] == OWNERS
        assert all(a != b for a, b in zip(pictures[6:], OWNERS, strict=True))
        seen |= set(pictures[6:])
        assert found.scores.tolist() == answered_pairs(table, OWNERS, "balanced", seed).scores.tolist()
    assert seen == {0, 1, 2, 3, 4}


def test_a_larger_gallery_makes_a_found_item_less_often_right_and_a_balanced_pair_just_as_often():
    generator = torch.Generator().manual_seed(0)
    shares = {}
    for size in (30, 600):
        table = torch.randn(size, size, generator=generator) + 2.5 * torch.eye(size)
        for population in ("found", "balanced"):
            found = answered_pairs(table, list(range(size)), population)
            shares[population, size] = float(fit_isotonic(found.scores, found.right)(torch.tensor([2.5]))[0])
    assert shares["found", 30] > shares["found", 600] + 0.2
    assert shares["balanced", 30] == pytest.approx(shares["balanced", 600], abs=0.12)


def test_a_single_picture_has_no_wrong_pair():
    with pytest.raises(UserError, match="a single picture"):
        answered_pairs(torch.ones(1, 2), [0, 0], "balanced")
