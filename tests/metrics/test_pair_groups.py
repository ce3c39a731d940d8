"""Groups of pairs, their summaries and ranks against the definitions in plain loops."""

import numpy as np
import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.graded import average_precision_at_r
from litotes.metrics.pair_groups import (
    EASY,
    HARD,
    LABELLED,
    MISLABELLED,
    MISSING,
    by_group,
    pair_groups,
    relevant_ranks,
)


def world(seed=0, shape=(7, 9), levels=None):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(shape, generator=generator)
    if levels:
        scores = (scores * levels).round() / levels
    relevant = torch.rand(shape, generator=generator) < 0.3
    labelled = relevant & (torch.rand(shape, generator=generator) < 0.4)
    labelled[0, 0], relevant[0, 0] = True, False
    return scores, labelled, relevant


@pytest.mark.parametrize("hardest", [1, 3, 50])
@pytest.mark.parametrize("levels", [None, 1])
def test_each_pair_is_in_the_group_of_its_definition(hardest, levels):
    scores, labelled, relevant = world(levels=levels)
    groups = pair_groups(scores, labelled, relevant, hardest)
    for i in range(len(scores)):
        wrong = [j for j in range(scores.shape[1]) if not labelled[i, j] and not relevant[i, j]]
        hard = sorted(wrong, key=lambda j: (-float(scores[i, j]), j))[:hardest]
        for j in range(scores.shape[1]):
            expected = {
                (True, True): LABELLED, (False, True): MISSING, (True, False): MISLABELLED,
                (False, False): HARD if j in hard else EASY,
            }[bool(labelled[i, j]), bool(relevant[i, j])]  # fmt: skip
            assert [name for name, mask in groups.items() if mask[i, j]] == [expected]


@pytest.mark.parametrize("seed", range(3))
def test_summaries_are_numpys(seed):
    scores, labelled, relevant = world(seed)
    groups = pair_groups(scores, labelled, relevant)
    values = torch.rand(scores.shape, generator=torch.Generator().manual_seed(seed))
    for name, found in by_group(values, groups).items():
        members = values[groups[name]].double().numpy()
        assert found.pairs == len(members)
        expected = [members.mean(), *np.quantile(members, [0.25, 0.5, 0.75])]
        assert found[1:] == pytest.approx(expected, abs=1e-12)


def test_an_empty_group_has_no_mean():
    everything = torch.ones(2, 3, dtype=torch.bool)
    found = by_group(torch.rand(2, 3), pair_groups(torch.rand(2, 3), everything, everything))
    assert found[HARD] == (0, None, None, None, None)
    assert found[LABELLED].pairs == 6


@pytest.mark.parametrize("levels", [None, 1])
@pytest.mark.parametrize("seed", range(3))
def test_ranks_put_every_equal_wrong_item_before_a_relevant_one(seed, levels):
    scores, _, relevant = world(seed, (6, 11), levels)
    relevant[:, 2] = True
    found = relevant_ranks(scores, relevant)
    expected = []
    for i in range(len(scores)):
        order = sorted(range(11), key=lambda j: (-float(scores[i, j]), bool(relevant[i, j])))
        expected += [(i, 1 + place) for place, j in enumerate(order) if relevant[i, j]]
    assert sorted(zip(found.query.tolist(), found.rank.tolist(), strict=True)) == expected
    for i, value in enumerate(average_precision_at_r(found).tolist()):
        ranks = [rank for query, rank in expected if query == i]
        r = len(ranks)
        hits = [sum(other <= rank for other in ranks) / rank for rank in ranks if rank <= r]
        assert value == pytest.approx(sum(hits) / r)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pair_groups(torch.rand(2, 3), torch.zeros(2, 3, dtype=torch.bool), torch.zeros(2, 2, dtype=torch.bool)),
        lambda: pair_groups(*(torch.zeros(0, 3, dtype=kind) for kind in (torch.float32, torch.bool, torch.bool))),
        lambda: pair_groups(torch.rand(1, 1), *[torch.ones(1, 1, dtype=torch.bool)] * 2, hardest=0),
        lambda: pair_groups(torch.full((1, 1), torch.nan), *[torch.ones(1, 1, dtype=torch.bool)] * 2),
        lambda: by_group(torch.rand(2), {"all": torch.ones(3, dtype=torch.bool)}),
        lambda: by_group(torch.tensor([torch.inf]), {"all": torch.ones(1, dtype=torch.bool)}),
        lambda: relevant_ranks(torch.rand(2, 3), torch.zeros(2, 3, dtype=torch.bool)),
        lambda: relevant_ranks(torch.full((1, 2), torch.nan), torch.ones(1, 2, dtype=torch.bool)),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(UserError):
        call()
