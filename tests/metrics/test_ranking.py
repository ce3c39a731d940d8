import random

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.ranking import cosine_ranks, median_rank, ranks, recall_at_k, recalls

# 5 images x 11 captions; the images have 1, 2, 3, 5 and 0 captions
VARYING = torch.tensor(
    [
        [0.1001, -0.0106, 0.0512, 0.0084, -0.0429, 0.0289, 0.1043, 0.0758, -0.0563, -0.1012, -0.0499],
        [0.0033, -0.0960, 0.0725, -0.0997, -0.0586, -0.0435, -0.0253, 0.0329, 0.0834, -0.0103, 0.1093],
        [-0.0532, 0.0281, 0.0723, 0.0975, 0.0305, 0.0163, -0.0366, 0.0176, -0.0808, -0.0167, -0.0127],
        [0.0433, 0.0172, 0.0284, -0.0523, -0.0104, 0.0627, 0.2095, -0.0107, 0.2111, 0.1977, 0.1525],
        [0.0212, -0.0251, 0.1166, 0.1568, 0.1441, 0.1052, 0.0286, -0.0967, -0.0004, 0.0525, -0.1031],
    ]
)
OWNERS = [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3]


def reference_ranks(scores, owners):
    """Plain loops over Python numbers: the definition, nothing else."""
    table = scores.double().tolist()
    i2t, t2i = [], []
    for image, row in enumerate(table):
        own = [row[text] for text, owner in enumerate(owners) if owner == image]
        if not own:
            i2t.append(0)
            continue
        i2t.append(1 + sum(row[text] >= max(own) for text, owner in enumerate(owners) if owner != image))
    for text, owner in enumerate(owners):
        t2i.append(1 + sum(table[i][text] >= table[owner][text] for i in range(len(table)) if i != owner))
    return i2t, t2i


def reference_ties(scores, owners):
    """The images and the texts whose best right item has the score of one that is not right."""
    table = scores.double().tolist()
    images = []
    for image, row in enumerate(table):
        own = [row[text] for text, owner in enumerate(owners) if owner == image]
        if own and any(row[text] == max(own) for text, owner in enumerate(owners) if owner != image):
            images.append(image)
    texts = [
        text
        for text, owner in enumerate(owners)
        if any(table[i][text] == table[owner][text] for i in range(len(table)) if i != owner)
    ]
    return images, texts


def test_equal_captions_and_equal_pictures_are_counted_as_ties():
    generator = torch.Generator().manual_seed(2)
    images, texts = torch.randn(6, 16, generator=generator), torch.randn(9, 16, generator=generator)
    owners = [0, 0, 1, 1, 2, 3, 4, 5, 5]
    texts[[0, 2]] = images[[0]] * 0.5  # the best caption of image 0 is one of image 1, too
    texts[8] = texts[7] = images[5]  # an image's own two captions are no rivals
    found = cosine_ranks(images, texts, owners)
    assert 0 in found.tied_images.tolist()
    assert not {4, 5} & set(found.tied_images.tolist())
    assert found.tied_texts.tolist() == []
    images[4] = images[3]
    assert cosine_ranks(images, texts, owners).tied_texts.tolist() == [5, 6]


def test_images_with_different_numbers_of_captions():
    found = ranks(VARYING, OWNERS)
    assert found.text_to_image.tolist() == [1, 5, 2, 2, 2, 4, 1, 4, 1, 1, 1]
    assert found.image_to_text.tolist() == [2, 3, 1, 1, 0]
    assert median_rank(found.text_to_image) == 2.0
    assert median_rank(found.image_to_text) == 1.5
    recall = recall_at_k(VARYING, torch.tensor(OWNERS), ks=(1, 2, 3, 5))
    assert [round(100 * recall["i2t"][k], 4) for k in (1, 2, 3, 5)] == [50.0, 75.0, 100.0, 100.0]
    assert [round(100 * recall["t2i"][k], 4) for k in (1, 2, 3, 5)] == [45.4545, 72.7273, 72.7273, 100.0]
    assert recall["rsum"] == pytest.approx(325 + 45.454545 + 2 * 72.727273 + 100, abs=1e-4)


KINDS = {
    "distinct": lambda g, shape: torch.randn(shape, generator=g),
    "negative": lambda g, shape: -5 - torch.rand(shape, generator=g),
    "tied": lambda g, shape: torch.randint(0, 3, shape, generator=g).float(),
    "saturated": lambda g, shape: (0.999 + 1e-3 * torch.rand(shape, generator=g)).to(torch.bfloat16),
    "half": lambda g, shape: torch.randn(shape, generator=g).half(),
    "double": lambda g, shape: 1 + 1e-12 * torch.randn(shape, generator=g, dtype=torch.float64),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 3, 1024])
def test_ranks_follow_the_definition(kind, block):
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        n_images, n_texts = 7, 13
        owners = random.Random(seed).choices(range(n_images), k=n_texts)
        scores = KINDS[kind](generator, (n_images, n_texts))
        found = ranks(scores, owners, block=block)
        assert (found.image_to_text.tolist(), found.text_to_image.tolist()) == reference_ranks(scores, owners)
        assert (found.tied_images.tolist(), found.tied_texts.tolist()) == reference_ties(scores, owners)


@pytest.mark.parametrize("value", [0.0, 1.0, -3.5, 1e30])
def test_constant_scores_give_nothing(value):
    recall = recall_at_k(torch.full((12, 24), value), [j // 2 for j in range(24)])
    assert recall == {"i2t": {1: 0.0, 5: 0.0, 10: 0.0}, "t2i": {1: 0.0, 5: 0.0, 10: 0.0}, "rsum": 0.0}


def test_collapsed_embeddings_give_nothing():
    collapsed = torch.randn(1, 37, generator=torch.Generator().manual_seed(0))
    found = cosine_ranks(collapsed.expand(50, -1), 3 * collapsed.expand(101, -1), [j % 50 for j in range(101)])
    assert recalls(found)["rsum"] == 0
    assert set(found.text_to_image.tolist()) == {50}


def test_a_perfect_model_gives_six_hundred():
    assert recall_at_k(torch.eye(10), range(10))["rsum"] == 600


def test_own_captions_are_no_rivals_of_each_other():
    scores = torch.tensor([[0.9, 0.9, 0.1], [0.0, 0.0, 0.5]])
    assert ranks(scores, [0, 0, 1]).image_to_text.tolist() == [1, 1]


def test_a_caption_that_another_image_shares_is_a_rival():
    texts = torch.tensor([[1.0, 0.2], [1.0, 0.2], [0.0, 1.0]])
    images = torch.tensor([[1.0, 0.2], [0.9, 0.1]])
    assert cosine_ranks(images, texts, [0, 1, 1]).image_to_text.tolist() == [2, 2]


def test_equal_embeddings_tie_exactly_wherever_they_stand():
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(67, 33, generator=generator)
    texts = torch.randn(67, 33, generator=generator)
    both = torch.cat([texts, texts])  # every caption belongs to two images
    found = cosine_ranks(torch.cat([images, images]), both, range(134))
    assert found.image_to_text.min() >= 2
    assert found.text_to_image.min() >= 2
    assert found.image_to_text[:67].tolist() == found.image_to_text[67:].tolist()
    assert found.text_to_image[:67].tolist() == found.text_to_image[67:].tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("block", [2, 4, 512])
def test_streamed_cosine_equals_the_whole_matrix(dtype, block):
    generator = torch.Generator().manual_seed(2)
    images = torch.randn(9, 5, generator=generator, dtype=dtype)
    texts = 100 * torch.randn(21, 5, generator=generator, dtype=dtype)
    owners = [j % 8 for j in range(21)]
    unit = torch.nn.functional.normalize
    whole = ranks(unit(images) @ unit(texts).T, owners)
    streamed = cosine_ranks(images, texts, owners, block=block)
    assert streamed.image_to_text.tolist() == whole.image_to_text.tolist()
    assert streamed.text_to_image.tolist() == whole.text_to_image.tolist()


def test_a_zero_embedding_hits_nothing():
    images = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    found = cosine_ranks(images, torch.tensor([[0.0, 1.0], [1.0, 0.0]]), [0, 1])
    assert found.image_to_text.tolist() == [2, 1]
    assert found.text_to_image.tolist() == [2, 1]


def test_permuting_images_and_captions_changes_nothing():
    generator = torch.Generator().manual_seed(3)
    scores = torch.randint(0, 9, (12, 30), generator=generator).float()
    owners = torch.randint(0, 12, (30,), generator=generator)
    rows, columns = torch.randperm(12, generator=generator), torch.randperm(30, generator=generator)
    moved = rows.argsort()[owners[columns]]
    assert recall_at_k(scores[rows][:, columns], moved) == recall_at_k(scores, owners)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_non_finite_scores_are_refused(value):
    scores = torch.rand(10, 10)
    scores[3, 4] = value
    with pytest.raises(UserError, match="NaN or infinite"):
        recall_at_k(scores, range(10))
    with pytest.raises(UserError, match=r"1 of 100 image embeddings NaN or infinite, the first at \(3, 4\)"):
        cosine_ranks(scores, torch.rand(10, 10), range(10))
    with pytest.raises(UserError, match="text embeddings"):
        cosine_ranks(torch.rand(10, 10), scores, range(10))


@pytest.mark.parametrize(
    ("owners", "ks", "message"),
    [
        ([0, 1, 2], (1, 5), "K = 5 over 3 images"),
        ([0, 1, 2], (0,), "different whole numbers"),
        ([0, 1, 2], (), "different whole numbers"),
        ([0, 1, 2], (1, 1), "different whole numbers"),
        ([0, 1], (1,), "one whole number for each of 3"),
        ([0, 1, 3], (1,), r"image_of_text\[2\] = 3"),
        ([0, -1, 2], (1,), r"image_of_text\[1\] = -1"),
        ([0.0, 1.0, 2.0], (1,), "integers"),
    ],
)
def test_errors_say_what_was_wrong(owners, ks, message):
    with pytest.raises(UserError, match=message):
        recall_at_k(torch.eye(3), torch.tensor(owners), ks)


def test_k_is_held_against_the_smaller_gallery():
    with pytest.raises(UserError, match="K = 3 over 2 texts"):
        recall_at_k(torch.rand(4, 2), [0, 1], ks=(3,))
    with pytest.raises(UserError, match="0 images"):
        recall_at_k(torch.zeros(0, 2), [0, 0], ks=(1,))


def test_the_median_needs_a_query():
    with pytest.raises(UserError, match="no rank"):
        median_rank(torch.zeros(2, dtype=torch.int64))
