"""Scores by a shortlist, against all pairs one by one."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.ranking import ranks_of
from litotes.metrics.streaming import matrix
from litotes.models.pair_adapter import new_pair_model
from litotes.models.pair_scores import PairScorer
from litotes.models.pair_shortlist import ShortlistedLogits
from litotes.models.pair_stream import StreamedLogits, streamed
from litotes.models.variational import AdapterConfig

CONFIG = AdapterConfig(features=6, hidden=8, latent=5, decoder_hidden=4)
KINDS = ("variational", "deterministic", "cosine")


def features(n, seed):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(seed))


def cosine(first, second):
    return float(first @ second / (first.norm() * second.norm()))


def plain_list(images, texts, shortlist):
    """Pairs of the list, by sorting every search."""
    of_picture = max(shortlist, math.ceil(shortlist * len(texts) / len(images)))
    found = set()
    for i, image in enumerate(images):
        order = sorted(range(len(texts)), key=lambda j: -cosine(image, texts[j]))
        found |= {(i, j) for j in order[:of_picture]}
    for j, text in enumerate(texts):
        order = sorted(range(len(images)), key=lambda i: -cosine(images[i], text))
        found |= {(i, j) for i in order[:shortlist]}
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "t", "shortlist"), [(9, 25, 2), (25, 9, 3), (5, 5, 1)])
def test_listed_pairs_have_their_logit_and_all_others_stand_below_by_cosine(kind, n, t, shortlist):
    model, images, texts = new_pair_model(kind, CONFIG, seed=2), features(n, 0), features(t, 1)
    logits = PairScorer(model).scores(images, texts).detach()
    listed = plain_list(images, texts, shortlist)
    assert 0 < len(listed) < n * t
    lowest = min(float(logits[pair]) for pair in listed)
    scores = ShortlistedLogits(model, shortlist).scores(images, texts)
    rows = torch.cat([scores.rows(0, 2), scores.rows(2, n)])
    every = torch.arange(n).repeat_interleave(t), torch.arange(t).repeat(n)
    single = scores.of_pairs(*every).view(n, t)
    for i in range(n):
        for j in range(t):
            wanted = logits[i, j] if (i, j) in listed else lowest - 2 + cosine(images[i], texts[j])
            assert float(rows[i, j]) == pytest.approx(float(wanted), abs=1e-5)
            assert float(single[i, j]) == pytest.approx(float(wanted), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_of_all_pairs_gives_the_ranks_of_all_pairs(kind):
    model, images, texts = new_pair_model(kind, CONFIG, seed=2), features(8, 0), features(16, 1)
    owners = [j // 2 for j in range(16)]
    stream = ShortlistedLogits(model, 16)
    found = ranks_of(stream.scores(images, texts), owners)
    wanted = ranks_of(matrix(PairScorer(model).scores(images, texts)), owners)
    assert torch.equal(found.image_to_text, wanted.image_to_text)
    assert torch.equal(found.text_to_image, wanted.text_to_image)
    assert stream.recall is not None
    assert stream.recall.share == {"i2t": 1.0, "t2i": 1.0}
    assert (stream.recall.listed, stream.recall.pairs) == (128, 128)


def test_the_recall_is_the_share_of_the_exact_best_on_the_list():
    model, images, texts = new_pair_model("variational", CONFIG, seed=2), features(30, 0), features(40, 1)
    stream = ShortlistedLogits(model, 4, sample=1000)
    stream.scores(images, texts)
    logits, listed = PairScorer(model).scores(images, texts).detach(), plain_list(images, texts, 4)
    best = {
        "i2t": [(i, int(j)) for i in range(30) for j in logits[i].argsort(descending=True)[:10]],
        "t2i": [(int(i), j) for j in range(40) for i in logits[:, j].argsort(descending=True)[:10]],
    }
    assert stream.recall is not None
    assert stream.recall.sampled == {"i2t": 30, "t2i": 40}
    for way, pairs in best.items():
        share = sum(pair in listed for pair in pairs) / len(pairs)
        assert 0 < share < 1
        assert stream.recall.share[way] == pytest.approx(share, abs=1e-12)


def test_equal_features_tie_exactly_and_the_list_has_each_once():
    model, images, texts = new_pair_model("variational", CONFIG, seed=2), features(12, 0), features(20, 1)
    images[7], texts[[3, 19]] = images[1].clone(), texts[0].clone()
    stream = ShortlistedLogits(model, 2)
    rows = stream.scores(images, texts).rows(0, 12)
    assert torch.equal(rows[7], rows[1])
    assert torch.equal(rows[:, 0], rows[:, 3])
    assert torch.equal(rows[:, 0], rows[:, 19])
    assert stream.recall is not None
    assert stream.recall.pairs == 11 * 18


def test_a_model_that_scores_all_pairs_alike_gains_nothing_within_the_list():
    model, images = new_pair_model("variational", CONFIG), features(20, 0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
    found = ranks_of(ShortlistedLogits(model, 11).scores(images, images), list(range(20)))
    assert int(found.text_to_image.min()) > 10
    assert int(found.image_to_text.min()) > 10


def test_a_scorer_streams_its_shortlist():
    model = new_pair_model("cosine", CONFIG)
    assert isinstance(streamed(PairScorer(model)), StreamedLogits)
    assert isinstance(streamed(PairScorer(model, shortlist=3)), ShortlistedLogits)


def test_bad_input_is_refused():
    model = new_pair_model("variational", CONFIG)
    with pytest.raises(UserError, match="shortlist = 0"):
        ShortlistedLogits(model, 0)
    with pytest.raises(UserError, match="sample = 0"):
        ShortlistedLogits(model, 1, sample=0)
    with pytest.raises(UserError, match="0 pictures"):
        ShortlistedLogits(model, 1).scores(features(0, 0), features(3, 1))
    broken = features(4, 0)
    broken[2, 3] = float("nan")
    with pytest.raises(UserError):
        ShortlistedLogits(model, 1).scores(broken, features(3, 1))


def test_the_pairs_that_are_scored_are_told_those_of_the_sample_too():
    told = []
    stream = ShortlistedLogits(new_pair_model("cosine", CONFIG), 1, 2, lambda done, total: told.append((done, total)))
    stream.scores(features(4, 0), features(6, 1))
    assert stream.recall is not None
    total = stream.recall.listed + 2 * 6 + 2 * 4
    assert [done for done, _ in told] == [stream.recall.listed + n for n in (0, 6, 12, 16, 20)]
    assert {end for _, end in told} == {total}
