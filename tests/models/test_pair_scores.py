"""Scores and doubts of pairs, against each pair by itself."""

import numpy as np
import pytest
import torch

from litotes.errors import UserError
from litotes.models.pair_adapter import new_pair_model
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import AdapterConfig, uncertainty

CONFIG = AdapterConfig(features=6, hidden=8, latent=5, decoder_hidden=4)
KINDS = ("variational", "deterministic", "cosine")


def features(n, seed):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 3, 128])
def test_scores_are_those_of_each_pair_by_itself_whatever_the_block(kind, block):
    model = new_pair_model(kind, CONFIG, seed=2)
    images, texts = features(5, 0), features(7, 1)
    found = PairScorer(model, block=block).scores(images, texts)
    for i in range(5):
        for j in range(7):
            alone = model.logits(images[i : i + 1], texts[j : j + 1])[0, 0]
            assert float(found[i, j]) == pytest.approx(float(alone.detach()), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_features_tie_exactly_wherever_they_stand(kind):
    model = new_pair_model(kind, AdapterConfig(features=6, hidden=37, latent=19), seed=2)
    texts = features(150, 1)
    texts[[3, 70, 149]] = texts[0].clone()
    images = features(140, 0)
    images[[9, 139]] = images[1].clone()
    found = PairScorer(model, block=64).scores(images, texts)
    assert all(torch.equal(found[:, 0], found[:, j]) for j in (3, 70, 149))
    assert all(torch.equal(found[1], found[i]) for i in (9, 139))


def test_the_last_matrix_is_kept_for_the_same_features_alone():
    scorer = PairScorer(new_pair_model("cosine", CONFIG))
    images, texts = features(5, 0), features(7, 1)
    first = scorer.scores(images, texts)
    assert scorer.scores(images.clone(), texts) is first
    other = scorer.scores(texts, images)
    assert torch.allclose(other, first.T)
    with pytest.raises(UserError, match="0 pictures"):
        scorer.scores(images[:0], texts)


@pytest.mark.parametrize("kind", KINDS)
def test_doubts_of_all_pairs_are_those_of_chosen_ones(kind):
    scorer = PairScorer(new_pair_model(kind, CONFIG, seed=2))
    images, texts = features(35, 0), features(41, 1)
    found = scorer.all_doubts(images, texts)
    chosen = scorer.doubts(images[[0, 31, 32, 34]], texts[[40, 0, 33, 32]])
    assert set(found) == set(chosen)
    for name, matrix in found.items():
        assert matrix.shape == (35, 41)
        assert torch.allclose(matrix[[0, 31, 32, 34], [40, 0, 33, 32]], chosen[name], atol=1e-6)


@pytest.mark.parametrize("kind", ["variational", "deterministic", "cosine"])
def test_doubts_of_listed_items_are_those_of_the_pairs_whichever_side_asks(kind):
    scorer = PairScorer(new_pair_model(kind, CONFIG, seed=2))
    images, texts = features(5, 0), features(7, 1)
    whole = scorer.all_doubts(images, texts)
    items = torch.tensor([[6, 0], [1, 1], [2, 5], [3, 4], [0, 6]])
    for name, found in scorer.listed_doubts(images, texts, items).items():
        assert torch.allclose(found, whole[name].gather(1, items), atol=1e-6)
    back = torch.tensor([[4], [0], [2], [1], [3], [3], [0]])
    for name, found in scorer.listed_doubts(texts, images, back).items():
        assert torch.allclose(found, whole[name].T.gather(1, back), atol=1e-6)


def test_doubts_of_the_variational_adapter_are_those_of_each_pair():
    model = new_pair_model("variational", CONFIG, seed=2)
    images, texts = features(19, 0), features(19, 1)
    found = PairScorer(model).doubts(images, texts)
    assert set(found) == {"sigma", "total_variance", "one_minus_p"}
    with torch.no_grad():
        for i in range(19):
            pair = model.distribution(images[i : i + 1], texts[i : i + 1])
            logit = model.logits(images[i : i + 1], texts[i : i + 1]).double()
            wanted = (uncertainty(pair), uncertainty(pair, "total", "mean_variance"), 1 - logit.sigmoid())
            got = [float(found[name][i]) for name in ("sigma", "total_variance", "one_minus_p")]
            assert got == pytest.approx([float(value) for value in wanted], abs=1e-6)


def test_models_without_a_distribution_have_one_doubt_that_does_not_saturate():
    model = new_pair_model("cosine", CONFIG)
    with torch.no_grad():
        model.log_scale.fill_(3.0)
        model.bias.fill_(0.0)
    images = features(9, 0)
    found = PairScorer(model).doubts(images, images)
    assert set(found) == {"one_minus_p"}
    assert float(found["one_minus_p"].max()) < 1e-8  # 1 - sigmoid(20), which is 0 in float32
    assert float(found["one_minus_p"].min()) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_paired_logits_are_those_of_each_pair_and_tie_where_pairs_are_equal(kind):
    model = new_pair_model(kind, CONFIG, seed=2)
    images, texts = features(30, 0), features(30, 1)
    images[29], texts[29] = images[3].clone(), texts[3].clone()
    found = PairScorer(model).paired(images, texts)
    assert found[29] == found[3]
    for i in range(30):
        alone = model.logits(images[i : i + 1], texts[i : i + 1])[0, 0]
        assert float(found[i]) == pytest.approx(float(alone.detach()), abs=1e-5)


def nothing(images, texts):
    return np.zeros((len(images), len(texts)), dtype=bool)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 3, 128])
@pytest.mark.parametrize("most", [1, 6, 100])
def test_the_highest_pairs_are_the_end_of_the_sorted_matrix_without_those_left_out(kind, block, most):
    images, texts = features(5, 0), features(7, 1)
    scorer = PairScorer(new_pair_model(kind, CONFIG, seed=2), block=block)
    found = scorer.highest(images, texts, most, lambda i, j: (i[:, None] + j) % 3 == 0)
    matrix = scorer.scores(images, texts)
    free = [(i, j) for i in range(5) for j in range(7) if (i + j) % 3]
    wanted = sorted(free, key=lambda pair: -float(matrix[pair]))[:most]
    assert list(zip(found.images.tolist(), found.texts.tolist(), strict=True)) == wanted
    assert found.logits.tolist() == pytest.approx([float(matrix[pair]) for pair in wanted], abs=1e-5)


@pytest.mark.parametrize("block", [1, 2, 128])
def test_of_equal_pairs_the_earlier_picture_and_then_the_earlier_text_is_kept(block):
    images, texts = torch.eye(6)[[0] * 5], torch.eye(6)[[1] * 4]  # products without rounding
    found = PairScorer(new_pair_model("cosine", CONFIG), block=block).highest(images, texts, 6, nothing)
    assert list(zip(found.images.tolist(), found.texts.tolist(), strict=True)) == [
        (0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)
    ]  # fmt: skip


def test_the_highest_pairs_are_found_block_by_block_and_told_as_they_come():
    asked, told = [], []

    def left_out(images, texts):
        asked.append((len(images), len(texts)))
        return nothing(images, texts)

    scorer = PairScorer(new_pair_model("variational", CONFIG), block=4)
    scorer.highest(features(10, 0), features(9, 1), 3, left_out, lambda done, total: told.append((done, total)))
    assert max(asked) == (4, 4)
    assert sum(i * j for i, j in asked) == 90
    assert told == [(36, 90), (72, 90), (90, 90)]


def test_logits_that_are_not_finite_are_no_highest_pairs():
    model = new_pair_model("cosine", CONFIG)
    with torch.no_grad():
        model.bias.fill_(float("inf"))
    with pytest.raises(UserError, match="NaN or infinite"):
        PairScorer(model).highest(features(3, 0), features(3, 1), 2, nothing)
