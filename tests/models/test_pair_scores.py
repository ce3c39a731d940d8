"""Scores and doubts of pairs, against each pair by itself."""

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
