"""AUROC at equal score against plain loops, and on pairs whose truth is known."""

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.matched import matched_auroc
from litotes.metrics.selective import auroc


def pairs(seed, n=300, levels=None):
    generator = torch.Generator().manual_seed(seed)
    score = torch.randn(n, generator=generator, dtype=torch.float64)
    if levels:
        score = (score * levels).round() / levels
    positive = torch.rand(n, generator=generator) < torch.sigmoid(2 * score - 1)
    return torch.randn(n, generator=generator, dtype=torch.float64) - score, positive, score


def reference(values, positive, score, bins, weighting):
    own = sorted(s for s, y in zip(score, positive, strict=True) if y)
    members = {}
    for v, y, s in zip(values, positive, score, strict=True):
        if own[0] <= s <= own[-1]:
            members.setdefault(sum(o < s for o in own) * bins // len(own), []).append((v, y))
    total = weight = 0.0
    for found in members.values():
        yes, no = ([v for v, y in found if y is kind] for kind in (True, False))
        if yes and no:
            area = sum((a > b) + 0.5 * (a == b) for a in yes for b in no) / (len(yes) * len(no))
            share = len(yes) if weighting == "positives" else len(yes) * len(no)
            total, weight = total + share * area, weight + share
    return total / weight


@pytest.mark.parametrize("weighting", ["positives", "pairs"])
@pytest.mark.parametrize("bins", [1, 7, 1000])
@pytest.mark.parametrize("levels", [None, 3])
def test_it_is_the_weighted_mean_over_the_bins(levels, bins, weighting):
    for seed in range(3):
        values, positive, score = pairs(seed, levels=levels)
        found = matched_auroc(values, positive, score, bins, weighting)
        lists = (row.tolist() for row in (values, positive, score))
        assert found.auroc == pytest.approx(reference(*lists, bins, weighting), abs=1e-12)
        assert sum(found.weights) == pytest.approx(1) and len(found.by_bin) == found.bins <= bins
        assert found.positives + found.positives_left_out == int(positive.sum())
        # Only the order of the scores counts, so that logits and p are the same.
        assert found == matched_auroc(values, positive, score.sigmoid(), bins, weighting)


def test_a_function_of_the_score_says_next_to_nothing_at_equal_score():
    _, positive, score = pairs(0, 40_000)
    assert auroc(-score, positive) < 0.2
    assert matched_auroc(-score, positive, score, 200).auroc == pytest.approx(0.5, abs=0.01)


def test_what_knows_the_group_keeps_it_at_equal_score():
    values, positive, score = pairs(0, 4000)
    told = values + 3.0 * positive
    assert matched_auroc(told, positive, score, 50).auroc > 0.9
    assert matched_auroc(positive.double(), positive, score, 50).auroc == 1.0
    assert matched_auroc(torch.zeros(4000), positive, score, 50).auroc == 0.5


def test_negatives_outside_the_positives_scores_take_no_part():
    score = torch.tensor([0.0, 1.0, 2.0, 3.0, 4.0])
    positive = torch.tensor([False, True, False, True, False])
    found = matched_auroc(torch.tensor([9.0, 0.0, 1.0, 0.5, -9.0]), positive, score, 2)
    # 1.0 has no negative of its bin, 3.0 has the one between.
    assert (found.auroc, found.positives, found.negatives, found.positives_left_out) == (0.0, 1, 1, 1)
    apart = matched_auroc(torch.rand(4), torch.tensor([True, True, False, False]), torch.arange(4.0))
    assert (apart.auroc, apart.bins, apart.positives_left_out) == (None, 0, 2)


def test_weights_by_positives_and_by_pairs_differ_where_negatives_crowd():
    score = torch.tensor([0.0] * 12 + [1.0] * 3)
    positive = torch.tensor([True, True] + [False] * 10 + [True, True, False])
    values = torch.tensor([1.0, 1.0] + [0.0] * 10 + [0.0, 0.0, 1.0])
    assert matched_auroc(values, positive, score, 2).auroc == pytest.approx(0.5)
    assert matched_auroc(values, positive, score, 2, "pairs").auroc == pytest.approx(20 / 22)


@pytest.mark.parametrize(
    "change",
    [
        {"values": torch.ones(2)},
        {"positive": torch.tensor([1, 0, 1])},
        {"positive": torch.ones(3, dtype=torch.bool)},
        {"positive": torch.zeros(3, dtype=torch.bool)},
        {"score": torch.tensor([1.0, 2.0, torch.nan])},
        {"values": torch.tensor([1.0, torch.inf, 0.0])},
        {"bins": 0},
    ],
)
def test_what_does_not_fit_is_refused(change):
    given = {"values": torch.rand(3), "positive": torch.tensor([True, False, True]), "score": torch.rand(3)}
    with pytest.raises(UserError):
        matched_auroc(**{**given, **change})
