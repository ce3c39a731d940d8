"""Search with a denial, against figures by hand."""

import numpy as np
import pytest
import torch

from litotes.data.images import ArrayPictures
from litotes.demo.searching import denial_search, fits, query, searchable_pairs
from litotes.metrics.similarity import COSINE

# Six pictures of a cat alone, one of a cat and a dog, six of a dog alone.
KINDS = [("cat",)] * 6 + [("cat", "dog")] + [("dog",)] * 6
CAT, DOG = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
IMAGES = torch.stack([*[CAT] * 6, CAT + DOG, *[DOG] * 6])


class Model:
    """Encodes "a <wanted> but no <denied>" as wanted + weight * denied, and the pictures as ``IMAGES``."""

    fingerprint = "fake"

    similarity = COSINE

    def __init__(self, weight):
        self.weight = weight

    def encode_images(self, pictures, indices=None):
        return IMAGES[: len(pictures)]

    def provenance(self):
        return {}

    def encode_texts(self, texts):
        at = {"cat": CAT, "dog": DOG}
        return torch.stack([at[t.split()[1]] + self.weight * at[t.split()[-1]] for t in texts])


def pictures(count):
    return ArrayPictures(np.zeros((count, 1, 1, 3), dtype=np.uint8), [f"p{i}" for i in range(count)])


def test_queries_are_those_that_a_picture_of_both_can_decide():
    assert searchable_pairs(KINDS) == [("cat", "dog"), ("dog", "cat")]
    assert searchable_pairs(KINDS, first=7) == []
    assert searchable_pairs([("cat",)] * 8) == []
    assert query("owl", "cat") == "an owl but no cat"
    assert [fits(kinds, "cat", "dog") for kinds in (("cat",), ("cat", "dog"), ("dog",))] == [True, False, False]


@pytest.mark.parametrize(
    ("weight", "right", "denied"),
    [
        (-0.5, 1.0, 0.0),  # the denied thing counts against a picture
        (0.9, 5 / 6, 1 / 6),  # it attracts: the picture of both comes first
        (3.0, 0.0, 1.0),  # nothing but what is denied is found
    ],
)
def test_shares_by_hand(weight, right, denied):
    found = denial_search(Model(weight), pictures(len(KINDS)), KINDS)
    assert found["right"] == pytest.approx(right)
    assert found["denied_shown"] == pytest.approx(denied)
    assert found["chance"] == pytest.approx(6 / 13)
    assert found["queries"] == 2


def test_too_few_pictures_give_no_figure():
    assert denial_search(Model(0.0), pictures(3), KINDS[:3]) is None
