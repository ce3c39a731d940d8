"""Ranking by the variational adapter: every block and both paths give the same, and only the best K are asked twice."""

import math

import numpy as np
import pytest
import torch

from litotes.errors import UserError
from litotes.models.pair_scores import PairScorer
from litotes.models.pair_stream import StreamedLogits
from litotes.models.scorer import MergedMean, Ranked, VariationalScorer
from litotes.models.variational import AdapterConfig, VariationalAdapter, uncertainty
from reference import vacsr as loops

LAYOUTS = [
    {},
    {"layout": "per_component"},
    {"layout": "separate", "components": 3},
    {"mixture": "per_pair"},
    {"norm": "layernorm", "components": 1},
    {"bottleneck": 4, "input_scale": "sqrt_d", "feature_norm": "none"},
]


def adapter(**settings):
    made = VariationalAdapter(
        AdapterConfig(**{"features": 8, "hidden": 12, "latent": 6, "decoder_hidden": 5, **settings})
    )
    with torch.no_grad():
        if made.config.mixture == "global":
            made.mixture.copy_(torch.linspace(-1, 1, made.config.components))
    return made


def features(images=19, texts=23, d=8):
    generator = torch.Generator().manual_seed(3)
    return torch.randn(images, d, generator=generator), torch.randn(texts, d, generator=generator)


@pytest.mark.parametrize("decoded", ["mixture_mean", "argmax", "mean_of_decoded"])
@pytest.mark.parametrize("settings", LAYOUTS, ids=str)
def test_the_merged_path_is_the_literal_one(settings, decoded):
    made, (image, text) = adapter(**settings, decoded=decoded), features()
    literal = VariationalScorer(made, path="literal").scores(image, text)
    merged = VariationalScorer(made).scores(image, text)
    assert literal.std() > 1e-3
    torch.testing.assert_close(merged, literal, rtol=0, atol=1e-5)
    exact = made.double()
    double = MergedMean(exact).logits(image.double(), text.double())
    torch.testing.assert_close(double, exact.logits(image.double(), text.double()), rtol=0, atol=1e-13)


@pytest.mark.parametrize("decoded", ["argmax", "mean_of_decoded"])
@pytest.mark.parametrize("mixture", ["global", "per_pair"])
def test_a16_the_configured_mean_is_the_one_that_every_path_decodes(decoded, mixture):
    made, (image, text) = adapter(decoded=decoded, mixture=mixture), features()
    with torch.no_grad():
        for head in made.mean_heads:  # far apart, so that the decoder's ReLU parts the readings
            head.weight.mul_(20)
    expected = made.logits(image, text, decoded)
    assert (expected - made.logits(image, text, "mixture_mean")).abs().max() > 1e-3
    scorer = PairScorer(made)
    every = image.repeat_interleave(len(text), 0), text.repeat(len(image), 1)
    found = {
        "plain": made.logits(image, text),
        "all": scorer.scores(image, text),
        "paired": scorer.paired(*every).view_as(expected),
        "streamed": StreamedLogits(scorer, block=7).scores(image, text).rows(0, len(image)),
        "one_minus_p": (1 - scorer.all_doubts(image, text)["one_minus_p"]).logit().float(),
    }
    for name, logits in found.items():
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5, msg=name)
    best = scorer.highest(image, text, 3, lambda i, t: np.zeros((len(i), len(t)), dtype=bool))
    torch.testing.assert_close(best.logits, expected.flatten().sort(descending=True).values[:3], rtol=0, atol=1e-5)


@pytest.mark.parametrize("spread", ["mixture", "argmax", "total"])
@pytest.mark.parametrize("summary", ["mean_std", "mean_variance", "sum_variance"])
def test_a17_sigma_is_the_number_that_is_configured(spread, summary):
    made, (image, text) = adapter(spread=spread, summary=summary), features()
    expected = uncertainty(made.distribution(image, text), spread, summary)
    found = PairScorer(made).all_doubts(image, text)
    torch.testing.assert_close(found["sigma"].float(), expected, rtol=1e-5, atol=0)
    plain = PairScorer(adapter()).all_doubts(image, text)
    assert (spread, summary) == ("mixture", "mean_std") or (plain["sigma"] - found["sigma"]).abs().max() > 1e-3
    torch.testing.assert_close(found["total_variance"], plain["total_variance"])
    if summary == "sum_variance":  # ranks as the mean does
        mean = PairScorer(adapter(spread=spread, summary="mean_variance")).all_doubts(image, text)["sigma"]
        torch.testing.assert_close(found["sigma"], made.config.latent_size * mean, rtol=1e-6, atol=0)


def test_one_score_against_plain_loops():
    made, (image, text) = adapter().double(), features()
    found = VariationalScorer(made).scores(image.double(), text.double())
    trunk, *heads, first, last = (
        (layer.weight.tolist(), layer.bias.tolist())
        for layer in (made.trunks[0][0], *made.mean_heads, made.decoder[0], made.decoder[2])
    )
    powers = [math.exp(a) for a in made.mixture.tolist()]
    alpha = [power / sum(powers) for power in powers]
    for i, j in ((0, 0), (4, 20), (18, 22)):
        similarity = loops.similarity(image[i].double().tolist(), text[j].double().tolist())
        hidden = loops.relu(loops.linear(*trunk, similarity))
        mean = loops.mixed([loops.linear(*head, hidden) for head in heads], alpha)
        assert found[i, j].item() == pytest.approx(loops.decoded((first, last), mean), abs=1e-12)


@pytest.mark.parametrize("block", [1, 7, 128])
def test_no_result_depends_on_the_block(block):
    made, (image, text) = adapter(), features()
    whole = VariationalScorer(made, block=1000)
    parts = VariationalScorer(made, block=block)
    torch.testing.assert_close(parts.scores(image, text), whole.scores(image, text), rtol=0, atol=1e-5)
    for found, expected in zip(parts.best(image, text, 5), whole.best(image, text, 5), strict=True):
        assert found.items.equal(expected.items)
        torch.testing.assert_close(found.logits, expected.logits, rtol=0, atol=1e-5)
    ranked = whole.best(image, text, 5).texts
    for found, expected in zip(
        parts.uncertainty(image, text, ranked), whole.uncertainty(image, text, ranked), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("block", [1, 7, 128])
def test_the_best_are_those_of_the_whole_matrix_both_ways_and_ties_go_to_the_earlier(block):
    made, (image, text) = adapter(), features()
    text[11] = text[2]
    image[15] = image[0]
    scores = VariationalScorer(made, block=1).scores(image, text).double()
    found = VariationalScorer(made, block=block).best(image, text, 6)
    for matrix, ranked in ((scores, found.texts), (scores.T, found.images)):
        for row, items in zip(matrix.tolist(), ranked.items.tolist(), strict=True):
            # Logits of equal features may differ in the last bit between places of a block: rounded before they tie.
            level = [round(value, 5) for value in row]
            assert [level[i] for i in items] == sorted(level, reverse=True)[:6]
    if block == 1:
        rows = [sorted(range(23), key=lambda j, row=row: (-row[j], j))[:6] for row in scores.tolist()]
        assert found.texts.items.tolist() == rows
        columns = [sorted(range(19), key=lambda i, row=row: (-row[i], i))[:6] for row in scores.T.tolist()]
        assert found.images.items.tolist() == columns


def test_logits_rank_where_the_sigmoid_has_saturated():
    made, (image, text) = adapter(), features()
    with torch.no_grad():
        made.decoder[-1].bias.add_(40)
    found = VariationalScorer(made).best(image, text, 3).texts
    assert found.logits.dtype == torch.float32
    assert (torch.sigmoid(found.logits) == 1).all()
    assert (found.logits[:, 0] > found.logits[:, 1]).all()


def test_the_uncertainty_is_that_of_the_listed_pairs():
    made, (image, text) = adapter(), features()
    scorer = VariationalScorer(made, block=4)
    both = scorer.best(image, text, 6)
    mean, log_var, alpha = (part.detach().double() for part in made.distribution(image, text))
    variance = (alpha[..., None] * log_var.exp()).sum(2)
    centre = (alpha[..., None] * mean).sum(2, keepdim=True)
    total = variance + (alpha[..., None] * (mean - centre) ** 2).sum(2)
    expected = (variance.sqrt().mean(-1), total.mean(-1), 1 - torch.sigmoid(scorer.scores(image, text).double()))
    for ranked, sides, turn in ((both.texts, (image, text), False), (both.images, (text, image), True)):
        for found, matrix in zip(scorer.uncertainty(*sides, ranked), expected, strict=True):
            listed = (matrix.T if turn else matrix).gather(1, ranked.items)
            torch.testing.assert_close(found.double(), listed, rtol=0, atol=1e-5)


def test_a_scorer_follows_an_adapter_that_learns_on():
    made, (image, text) = adapter(), features()
    scorer = VariationalScorer(made)
    before = scorer.scores(image, text)
    with torch.no_grad():
        made.mean_heads[0].weight.mul_(2)
    after = scorer.scores(image, text)
    assert (after - before).abs().max() > 1e-3
    torch.testing.assert_close(after, made.logits(image, text).detach(), rtol=0, atol=1e-5)


def test_a_shortlist_of_everything_is_exact_and_a_short_one_tells_what_it_misses():
    made, (image, text) = adapter(), features()
    scorer = VariationalScorer(made, block=5)
    exact = scorer.best(image, text, 4)
    for sides, expected in (((image, text), exact.texts), ((text, image), exact.images)):
        n = len(sides[1])
        whole = scorer.shortlist(*sides, k=4, candidates=n)
        assert whole.ranked.items.equal(expected.items)
        assert (whole.recall, whole.sampled) == (1.0, len(sides[0]))
        short = scorer.shortlist(*sides, k=4, candidates=9)
        cosine = torch.nn.functional.cosine_similarity(sides[0][:, None], sides[1][None], dim=-1)
        near = [set(row) for row in cosine.topk(9).indices.tolist()]
        hits = [len(near[q] & set(items)) for q, items in enumerate(expected.items.tolist())]
        assert short.recall == pytest.approx(sum(hits) / (4 * len(hits)))
        assert 0 < short.recall < 1
        assert all(set(items) <= near[q] for q, items in enumerate(short.ranked.items.tolist()))
        assert scorer.shortlist(*sides, k=4, candidates=9, sample=5).sampled == 5


def test_the_largest_tensor_does_not_grow_with_the_gallery(monkeypatch):
    made = adapter()
    seen = []
    original = MergedMean.logits
    monkeypatch.setattr(MergedMean, "logits", lambda self, i, t: seen.append((len(i), len(t))) or original(self, i, t))
    image, text = features(40, 300)
    found = VariationalScorer(made, block=16).best(image, text, 3)
    assert max(seen) == (16, 16)
    assert sum(i * t for i, t in seen) == 40 * 300  # every pair once, for both ways
    assert found.texts.items.shape == (40, 3)
    assert found.images.items.shape == (300, 3)


@pytest.mark.parametrize("bad", ["nan", "width", "no text", "k", "block", "lists", "candidates"])
def test_what_cannot_be_scored_is_refused(bad):
    made, (image, text) = adapter(), features()
    scorer = VariationalScorer(made)
    with pytest.raises(UserError) as caught:
        if bad == "nan":
            image[3, 1] = torch.nan
            scorer.best(image, text, 2)
        elif bad == "width":
            scorer.scores(image, text[:, :7])
        elif bad == "no text":
            scorer.scores(image, text[:0])
        elif bad == "k":
            scorer.best(image, text, 20)
        elif bad == "block":
            VariationalScorer(made, block=0)
        elif bad == "lists":
            scorer.uncertainty(image, text, Ranked(torch.full((19, 1), 23), torch.zeros(19, 1)))
        else:
            scorer.shortlist(image, text, k=4, candidates=3)
    word = {"nan": "[3, 1]", "width": "(23, 7)", "no text": "(0, 8)", "k": "K = 20", "block": "block = 0"}
    word |= {"lists": "gallery of 23", "candidates": "K = 4"}
    assert word[bad] in caught.value.got
