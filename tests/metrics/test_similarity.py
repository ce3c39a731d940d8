"""Masked cosines against plain loops in float64, their ties and edges."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.cosine import cosine_scores, paired_cosines
from litotes.metrics.ranking import cosine_ranks, ranks, ranks_of
from litotes.metrics.similarity import COSINE, MASKED_COSINE


def drawn(n, scale=1.0, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    images, texts = (scale * torch.randn(n, 12, generator=generator, dtype=torch.float64) for _ in range(2))
    masks = (torch.rand(n, 12, generator=generator) < 0.5).double()
    return images.to(dtype), torch.cat([texts, masks], dim=1).to(dtype)


def looped(image, text):
    """One score, number by number."""
    v, t, m = image.tolist(), text[:12].tolist(), text[12:].tolist()
    kept = [x * keep for x, keep in zip(v, m, strict=True)]
    lengths = math.sqrt(sum(x * x for x in kept)) * math.sqrt(sum(y * y for y in t))
    return sum(x * y for x, y in zip(kept, t, strict=True)) / lengths if lengths else 0.0


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float64, 1e-13), (torch.float32, 2e-6)])
@pytest.mark.parametrize("scale", [1e-15, 1e-3, 1.0, 1e3])
def test_masked_cosines_are_those_of_plain_loops(scale, dtype, bound):
    images, texts = drawn(7, scale, dtype)
    texts[:, 12:] = texts[:, 12:].round()
    wanted = torch.tensor([[looped(image, text) for text in texts] for image in images], dtype=torch.float64)
    scores, pairs = MASKED_COSINE.scores(images, texts), torch.cartesian_prod(torch.arange(7), torch.arange(7)).T
    assert scores.shape == (7, 7)
    assert (scores.rows(0, 7) - wanted).abs().max() < bound
    assert (scores.of_pairs(*pairs) - wanted.flatten()).abs().max() < bound
    assert torch.allclose(scores.rows(2, 5), scores.rows(0, 7)[2:5], atol=bound, rtol=0)
    assert (MASKED_COSINE.paired(images, texts) - wanted.diagonal()).abs().max() < bound
    assert wanted.abs().max() <= 1 and wanted.std() > 0.1


def test_a_mask_that_keeps_everything_changes_nothing_and_one_that_keeps_nothing_scores_0():
    images, texts = drawn(5)
    texts[:, 12:] = 1
    plain, found = cosine_scores(images, texts[:, :12]), MASKED_COSINE.scores(images, texts)
    assert torch.allclose(found.rows(0, 5), plain, atol=1e-6)
    assert torch.equal(MASKED_COSINE.between_texts(texts, texts[[1, 0, 2, 3, 4]]),
                       paired_cosines(texts[:, :12], texts[[1, 0, 2, 3, 4], :12]))  # fmt: skip
    texts[1, 12:], images[2] = 0, 0
    scores = MASKED_COSINE.scores(images, texts).rows(0, 5)
    assert (scores[:, 1] == 0).all() and (scores[2] == 0).all() and scores[0, 0] != 0
    assert torch.equal(MASKED_COSINE.paired(images, texts)[[1, 2]], torch.zeros(2))


def test_the_scale_of_pictures_and_texts_does_not_matter():
    images, texts = drawn(5)
    larger = torch.cat([texts[:, :12] * 7, texts[:, 12:]], dim=1)
    scores, same = (MASKED_COSINE.scores(i, t).rows(0, 5) for i, t in ((images, texts), (images * 3, larger)))
    assert torch.allclose(scores, same, atol=1e-6)


def test_equal_texts_tie_exactly_and_another_mask_breaks_the_tie():
    images, texts = drawn(40)
    texts[31] = texts[3]
    texts[32, :12] = texts[3, :12]
    texts[32, 12:] = 1 - texts[3, 12:]
    images[17] = images[5]
    found = MASKED_COSINE.scores(images, texts)
    scores = found.rows(0, 40)
    assert torch.equal(scores[:, 31], scores[:, 3]) and not torch.equal(scores[:, 32], scores[:, 3])
    assert found.place[17] == found.place[5] != found.place[6]
    owners = list(range(40))
    blocks, whole = ranks_of(found, owners, block=7), ranks(scores, owners)
    assert torch.equal(blocks.image_to_text, whole.image_to_text)
    assert torch.equal(blocks.text_to_image, whole.text_to_image)


def test_plain_cosine_is_what_it_was():
    images, texts = drawn(9)
    texts = texts[:, :12]
    assert torch.equal(COSINE.paired(images, texts), paired_cosines(images, texts))
    for found, wanted in zip(ranks_of(COSINE.scores(images, texts), range(9)), cosine_ranks(images, texts, range(9)),
                             strict=True):  # fmt: skip
        assert torch.equal(found, wanted)
    pooled = COSINE.pooled(texts.reshape(3, 3, 12))
    by_hand = torch.stack([sum(t / t.norm() for t in three) for three in texts.reshape(3, 3, 12)])
    assert torch.allclose(pooled, by_hand / by_hand.norm(dim=1, keepdim=True), atol=1e-6)


def test_several_prompts_have_no_mask_in_common_and_numbers_must_be_finite():
    images, texts = drawn(4)
    assert torch.equal(MASKED_COSINE.pooled(texts[:, None]), texts)
    with pytest.raises(UserError, match="2 prompts for each class"):
        MASKED_COSINE.pooled(texts.reshape(2, 2, 24))
    images[0, 0] = torch.nan
    for score in (MASKED_COSINE.scores, MASKED_COSINE.paired):
        with pytest.raises(UserError):
            score(images, texts)
