import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.classification import acc1, accuracy_at, class_ranks, mean_per_class_recall, recall_of_classes


def reference_ranks(scores, labels):
    table = scores.double().tolist()
    return [
        1 + sum(value >= row[label] for c, value in enumerate(row) if c != label)
        for row, label in zip(table, labels, strict=True)
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda g: torch.randn(50, 6, generator=g),
        lambda g: -torch.rand(50, 6, generator=g),
        lambda g: torch.randint(0, 3, (50, 6), generator=g).double(),
        lambda g: (1 + 1e-3 * torch.rand(50, 6, generator=g)).half(),
    ],
    ids=["distinct", "negative", "tied", "saturated"],
)
def test_accuracies_follow_the_definition(make):
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        scores = make(generator)
        labels = torch.randint(0, 5, (50,), generator=generator)  # class 5 has no image
        expected = reference_ranks(scores, labels.tolist())
        assert class_ranks(scores, labels).tolist() == expected
        assert acc1(scores, labels) == sum(rank == 1 for rank in expected) / 50
        assert accuracy_at(scores, labels, 3) == sum(rank <= 3 for rank in expected) / 50
        recall = [
            sum(rank == 1 for rank, label in zip(expected, labels.tolist(), strict=True) if label == c)
            / labels.tolist().count(c)
            for c in range(5)
        ]
        assert mean_per_class_recall(scores, labels) == pytest.approx(sum(recall) / 5, abs=1e-12)


def test_unequal_classes_weigh_equally_in_the_mean_recall():
    scores = torch.tensor([[1.0, 0.0]] * 4)
    assert acc1(scores, [0, 0, 0, 1]) == 0.75
    assert mean_per_class_recall(scores, [0, 0, 0, 1]) == 0.5
    assert recall_of_classes(scores, [0, 0, 0, 1]) == {0: 1.0, 1: 0.0}


def test_a_constant_scores_nothing():
    scores = torch.zeros(10, 4)
    assert acc1(scores, [0] * 10) == 0
    assert accuracy_at(scores, [0] * 10, 3) == 0
    assert mean_per_class_recall(scores, [0] * 10) == 0


def test_one_class_alone_is_always_right():
    assert acc1(torch.zeros(3, 1), [0, 0, 0]) == 1


@pytest.mark.parametrize(
    ("scores", "labels", "k", "message"),
    [
        (torch.zeros(0, 3), [], 1, "0 images"),
        (torch.zeros(2, 0), [0, 0], 1, "K = 1 over 0"),
        (torch.zeros(2, 3), [0, 3], 1, r"labels\[1\] = 3"),
        (torch.zeros(2, 3), [0], 1, "for each of 2"),
        (torch.zeros(2, 3), [0, 0], 4, "K = 4 over 3"),
        (torch.zeros(2, 3), [0, 0], 0, "K = 0"),
        (torch.tensor([[0.0, float("nan")]]), [0], 1, "NaN"),
    ],
)
def test_errors_say_what_was_wrong(scores, labels, k, message):
    with pytest.raises(UserError, match=message):
        accuracy_at(scores, torch.tensor(labels, dtype=torch.int64), k)
