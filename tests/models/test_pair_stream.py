"""Logits in blocks for galleries that are never scored as a whole: those of the whole matrix, ties included."""

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.streaming import at_or_above, matrix
from litotes.models.pair_adapter import new_pair_model
from litotes.models.pair_scores import PairScorer
from litotes.models.pair_stream import StreamedLogits
from litotes.models.variational import AdapterConfig

CONFIG = AdapterConfig(features=6, hidden=8, latent=5, decoder_hidden=4)
KINDS = ("variational", "deterministic", "cosine")


def features(n, seed):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(seed))


def pairs_of(n_images, n_texts):
    return [index.reshape(-1) for index in torch.meshgrid(torch.arange(n_images), torch.arange(n_texts), indexing="ij")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 4, 128])
def test_rows_and_single_pairs_are_those_of_the_model(kind, block):
    model = new_pair_model(kind, CONFIG, seed=2)
    images, texts = features(7, 0), features(9, 1)
    images[5], texts[[2, 8]] = images[1].clone(), texts[0].clone()
    found = StreamedLogits(PairScorer(model), block=block).scores(images, texts)
    with torch.no_grad():
        wanted = model.logits(images, texts)
    assert found.shape == (7, 9)
    assert torch.allclose(torch.cat([found.rows(0, 3), found.rows(3, 7)]), wanted, atol=1e-5)
    whole = found.rows(0, 7)
    assert torch.equal(whole[:, 0], whole[:, 8])
    assert torch.equal(whole[1], whole[5])
    assert found.place[5] == found.place[1] != found.place[0]
    assert torch.allclose(found.of_pairs(*pairs_of(7, 9)), wanted.reshape(-1), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_both_ways_are_those_of_the_whole_matrix(kind):
    scorer = PairScorer(new_pair_model(kind, CONFIG, seed=2))
    images, texts = features(11, 0), features(17, 1)
    pairs = pairs_of(11, 17)
    streamed = at_or_above(StreamedLogits(scorer, block=4).scores(images, texts), *pairs, block=3)
    whole = at_or_above(matrix(scorer.scores(images, texts)), *pairs)
    assert torch.equal(streamed.texts, whole.texts)
    assert torch.equal(streamed.images, whole.images)


@pytest.mark.parametrize("kind", ["variational", "deterministic"])
def test_a_model_that_scores_all_pairs_alike_puts_every_item_last(kind):
    model = new_pair_model(kind, AdapterConfig(features=6, hidden=37, latent=19), seed=2)
    with torch.no_grad():
        model.decoder[-1].weight.zero_()
        model.decoder[-1].bias.fill_(0.3)
    found = at_or_above(StreamedLogits(PairScorer(model)).scores(features(5, 0), features(6, 1)), *pairs_of(5, 6))
    assert set(found.texts.tolist()) == {6}
    assert set(found.images.tolist()) == {5}


def test_no_pictures_or_numbers_that_are_none_are_refused():
    streamed = StreamedLogits(PairScorer(new_pair_model("variational", CONFIG)))
    with pytest.raises(UserError, match="0 pictures and 2 texts"):
        streamed.scores(features(0, 0), features(2, 1))
    broken = PairScorer(new_pair_model("cosine", CONFIG))
    with torch.no_grad():
        broken.model.log_scale.fill_(float("inf"))
    with pytest.raises(UserError, match=r"NaN|finite"):
        StreamedLogits(broken).scores(features(3, 0), features(2, 1)).rows(0, 3)


def test_the_pairs_that_are_scored_are_told_as_they_go_by():
    told = []
    scorer = PairScorer(new_pair_model("cosine", CONFIG), progress=lambda done, total: told.append((done, total)))
    images = features(6, 0)
    images[5] = images[0].clone()
    scores = StreamedLogits(scorer, block=2).scores(images, features(3, 1))
    scores.rows(0, 4)
    assert told == [(4, 18), (6, 18), (10, 18), (12, 18)]
    scores.rows(4, 6)
    assert told[-1] == (18, 18)
