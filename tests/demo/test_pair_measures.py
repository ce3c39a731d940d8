import numpy as np
import pytest
import torch

from litotes.demo.vacsr.measures import (
    finds_wrong_pairs,
    knows_errors,
    listed_firsts,
    retrieval,
    sigma_of_groups,
    similarities,
)

# Three pictures and captions; caption 1 is true of picture 0 as well.
TRUE = torch.tensor([[True, True, False], [False, True, False], [False, False, True]])
SCORES = torch.tensor([[2.0, 3.0, 1.0], [0.0, 1.0, 2.0], [0.0, 2.5, 5.0]])


def test_retrieval_counts_all_that_is_true_and_the_labels():
    found = retrieval(SCORES, TRUE)
    # Pictures find captions 1, 2, 2 first; captions find pictures 0, 0, 2.
    assert found["i2t"] == pytest.approx({"map_at_r": (1 + 0 + 1) / 3, "r1": 2 / 3, "sparse_r1": 1 / 3})
    # Of caption 1 the right pictures 0 and 1 are at places 1 and 3, of which two count.
    assert found["t2i"] == pytest.approx({"map_at_r": (1 + 1 / 2 + 1) / 3, "r1": 1.0, "sparse_r1": 2 / 3})


def test_equal_scores_find_nothing():
    found = retrieval(torch.zeros(3, 3), TRUE)
    assert {figures[key] for figures in found.values() for key in ("r1", "sparse_r1")} == {0.0}


def test_a_doubt_that_knows_the_errors_has_an_auroc_of_one():
    images = texts = torch.eye(3)

    def doubts(some_images, some_texts):
        right = (some_images @ TRUE.float() * some_texts).sum(1) > 0
        return {"good": 1.0 - right.double(), "bad": right.double()}

    found = knows_errors(images, texts, SCORES, TRUE, doubts)
    assert found["i2t"]["error"] == pytest.approx(1 / 3)
    assert found["i2t"]["good"]["auroc"] == 1.0
    assert found["i2t"]["bad"]["auroc"] == 0.0
    # The surest two are right: errors 0, 0 and 1/3 over the coverages.
    assert found["i2t"]["good"]["aurc"] == pytest.approx(1 / 9)
    assert found["t2i"]["error"] == 0.0
    assert found["t2i"]["good"]["auroc"] is None


def test_the_first_items_are_held_against_all_that_is_true():
    images = texts = torch.eye(3)

    def listed_doubts(queries, gallery, items):
        return {"place": items.double(), "flat": torch.ones(items.shape, dtype=torch.float64)}

    found = listed_firsts(images, texts, SCORES, TRUE, listed_doubts)
    # Pictures list captions 1 0 2, 2 1 0, 2 1 0 and have an AP@R of 1, 0, 1.
    assert found["i2t"]["map_at_r"] == pytest.approx(2 / 3) and found["i2t"]["n"] == 3
    assert set(found["i2t"]["place"]) == {"1"}  # five or ten items are not there
    assert found["i2t"]["place"]["1"]["mean"] == pytest.approx((1 + 2 + 2) / 3)
    assert found["i2t"]["place"]["1"]["pearson"] == pytest.approx(np.corrcoef([1, 2, 2], [1, 0, 1])[0, 1])
    assert found["i2t"]["flat"]["1"]["pearson"] is None
    # Captions list pictures 0, 0, 2 first, and have 1, 1/2, 1.
    assert found["t2i"]["place"]["1"]["pearson"] == pytest.approx(np.corrcoef([0, 0, 2], [1, 0.5, 1])[0, 1])


def test_true_and_wrong_pairs_lie_over_the_same_steps():
    found = similarities(SCORES, TRUE)
    assert (found["true"]["pairs"], found["wrong"]["pairs"]) == (4, 5)
    assert found["true"]["mean"] == pytest.approx((2 + 3 + 1 + 5) / 4)
    assert found["wrong"]["edges"] == found["true"]["edges"] and found["wrong"]["edges"][0] == 0
    assert list(similarities(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.bool))) == ["true"]


def test_true_shuffled_pairs_count_as_shuffled_but_not_as_untrue():
    images = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [1.0, 0.2]])
    texts = torch.tensor([[1.0, 0.0]] * 4)
    wrong, true = np.array([False, False, True, True]), np.array([True, True, False, True])
    doubt = torch.tensor([0.1, 0.5, 0.9, 0.3], dtype=torch.float64)
    found = finds_wrong_pairs(images, texts, wrong, true, lambda i, t: {"sigma": doubt})
    assert (found["n_shuffled"], found["n_untrue"]) == (2, 1)
    assert found["shuffled"]["sigma"] == 3 / 4
    assert found["untrue"]["sigma"] == 1.0
    assert found["shuffled"]["one_minus_cosine"] == found["untrue"]["one_minus_cosine"] == 1.0


def test_sigma_is_told_by_what_a_pair_is():
    # sigma is 1 more for the true pair without a label than for wrong pairs of any score.
    sigma = torch.full((3, 3), 2.0, dtype=torch.float64)
    sigma[0, 1] = 3.0
    p = torch.sigmoid(SCORES.double())
    found = sigma_of_groups(SCORES, TRUE, {"sigma": sigma, "one_minus_p": 1 - p})
    assert {name: found[name]["pairs"] for name in ("labelled", "missing", "hard", "easy", "mislabelled")} == {
        "labelled": 3, "missing": 1, "hard": 3, "easy": 2, "mislabelled": 0,
    }  # fmt: skip
    assert found["missing"] == pytest.approx({"pairs": 1, "sigma": 3.0, "p": float(p[0, 1])})
    assert found["hard"]["p"] == pytest.approx(float((p[0, 2] + p[1, 2] + p[2, 1]) / 3))
    assert found["missing_at_equal_p"] is None  # no wrong pair has its score
