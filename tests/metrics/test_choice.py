import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.choice import choice_accuracy, chosen_instead, pair_accuracy

# Four questions whose vectors have unequal lengths: raw dot products get every one of them wrong.
IMAGES = torch.tensor([[1.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 3.0]])
OPTIONS = torch.tensor(
    [
        [0.982, 0.1091, 0.1091, 0.1091], [0.407, 0.0904, 0.9044, 0.0904],
        [0.407, 0.0904, 0.0904, 0.9044], [5.5995, 1.2443, 1.2443, 1.2443],
        [0.5427, 2.442, 5.4266, 0.5427], [0.0904, 0.407, 0.0904, 0.9044],
        [0.1091, 0.982, 0.1091, 0.1091], [0.2074, 0.9333, 0.2074, 0.2074],
        [0.0904, 0.0904, 0.407, 0.9044], [0.1091, 0.1091, 0.982, 0.1091],
        [0.5427, 5.4266, 2.442, 0.5427], [0.2074, 0.2074, 0.9333, 0.2074],
        [0.9044, 0.0904, 0.0904, 0.407], [0.5427, 5.4266, 0.5427, 2.442],
        [0.0904, 0.0904, 0.9044, 0.407], [0.1091, 0.1091, 0.1091, 0.982],
    ]
).reshape(4, 4, 4)  # fmt: skip
CORRECT = [0, 2, 1, 3]
TYPES = ["positive", "hybrid", "hybrid", "positive"]


def cosines():
    unit = torch.nn.functional.normalize
    return torch.einsum("qd,qod->qo", unit(IMAGES), unit(OPTIONS, dim=-1))


def test_the_right_answer_may_stand_anywhere_and_an_absent_type_is_none():
    assert cosines()[0].tolist() == pytest.approx([0.981984, 0.407014, 0.407014, 0.93326], abs=2e-6)
    assert choice_accuracy(cosines(), CORRECT, TYPES) == {
        "total": 1.0, "positive": 1.0, "n_positive": 2, "negative": None, "n_negative": 0, "hybrid": 1.0,
        "n_hybrid": 2, "ties": 0, "total_ties_to_first": 1.0,
    }  # fmt: skip
    assert chosen_instead(cosines(), CORRECT).tolist() == [-1, -1, -1, -1]


def test_raw_dot_products_would_be_wrong_everywhere():
    raw = torch.einsum("qd,qod->qo", IMAGES, OPTIONS)
    assert choice_accuracy(raw, CORRECT, TYPES)["total"] == 0
    assert chosen_instead(raw, CORRECT).tolist() == [3, 0, 2, 1]


def reference(scores, correct):
    won = ties = first = 0
    for row, right in zip(scores.double().tolist(), correct, strict=True):
        others = row[:right] + row[right + 1 :]
        won += row[right] > max(others)
        ties += row[right] == max(others)
        first += row.index(max(row)) == right
    return won / len(correct), ties, first / len(correct)


@pytest.mark.parametrize(
    "make",
    [
        lambda g: torch.randn(40, 4, generator=g),
        lambda g: -torch.rand(40, 2, generator=g) - 3,
        lambda g: torch.randint(0, 2, (40, 5), generator=g).float(),
        lambda g: (1 - 1e-3 * torch.rand(40, 4, generator=g)).to(torch.bfloat16),
    ],
    ids=["distinct", "negative", "tied", "saturated"],
)
def test_counts_follow_the_definition(make):
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        scores = make(generator)
        correct = torch.randint(0, scores.shape[1], (40,), generator=generator)
        result = choice_accuracy(scores, correct, ["positive"] * 40)
        assert (result["total"], result["ties"], result["total_ties_to_first"]) == reference(scores, correct.tolist())
        assert result["positive"] == result["total"]


def test_a_constant_scores_nothing_although_the_first_maximum_rule_gives_all():
    result = choice_accuracy(torch.full((8, 4), 0.3), [0] * 8, ["negative"] * 8)
    assert (result["total"], result["negative"], result["ties"], result["total_ties_to_first"]) == (0, 0, 8, 1)


def test_types_outside_the_three_keep_their_own_name():
    result = choice_accuracy(torch.eye(3), [0, 1, 0], ["positive", "other kind", "other kind"])
    assert (result["other kind"], result["n_other kind"], result["total"]) == (0.5, 2, 2 / 3)


def test_an_order_of_options_changes_nothing():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randint(0, 4, (30, 4), generator=generator).float()
    correct = torch.randint(0, 4, (30,), generator=generator)
    order = torch.rand(30, 4, generator=generator).argsort(dim=1)
    moved = (order == correct[:, None]).nonzero()[:, 1]
    first = choice_accuracy(scores, correct, ["hybrid"] * 30)
    second = choice_accuracy(scores.gather(1, order), moved, ["hybrid"] * 30)
    assert (first["total"], first["ties"]) == (second["total"], second["ties"])


def test_the_option_chosen_instead_is_the_first_of_the_best_wrong_ones():
    scores = torch.tensor([[0.1, 0.7, 0.7], [0.5, 0.5, 0.2], [0.9, 0.5, 0.2]])
    assert chosen_instead(scores, [0, 1, 0]).tolist() == [1, 0, -1]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_non_finite_scores_are_refused(value):
    scores = torch.rand(4, 4)
    scores[2, 1] = value
    with pytest.raises(UserError, match=r"the first at \(2, 1\)"):
        choice_accuracy(scores, [0] * 4, ["hybrid"] * 4)
    with pytest.raises(UserError, match="NaN"):
        chosen_instead(scores, [0] * 4)
    with pytest.raises(UserError, match="NaN"):
        pair_accuracy(scores[2], scores[0])
    with pytest.raises(UserError, match="NaN"):
        pair_accuracy(scores[0], scores[2])


@pytest.mark.parametrize(
    ("shape", "correct", "types", "message"),
    [
        ((0, 4), [], [], "0 questions"),
        ((2, 1), [0, 0], ["a", "a"], "two options"),
        ((2, 4), [0, 0], ["a"], "1 types"),
        ((2, 4), [0, 4], ["a", "a"], r"correct\[1\] = 4"),
        ((2, 4), [0, -1], ["a", "a"], r"correct\[1\] = -1"),
        ((2, 4), [0, 0], ["a", "total"], "'total'"),
        ((2, 4), [0, 0], ["a", "n_a"], "'n_a'"),
    ],
)
def test_errors_say_what_was_wrong(shape, correct, types, message):
    with pytest.raises(UserError, match=message):
        choice_accuracy(torch.zeros(shape), torch.tensor(correct, dtype=torch.int64), types)


def test_pairs_are_won_strictly():
    assert pair_accuracy(torch.tensor([0.2, -1.0, 0.5, 0.5]), torch.tensor([0.1, -2.0, 0.5, 0.6])) == 0.5
    assert pair_accuracy(torch.ones(5), torch.ones(5)) == 0
    with pytest.raises(UserError, match="0 and 0"):
        pair_accuracy(torch.zeros(0), torch.zeros(0))
    with pytest.raises(UserError, match="2 and 3"):
        pair_accuracy(torch.zeros(2), torch.zeros(3))
