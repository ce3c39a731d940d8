"""Pairs whose outcome is known, with their scores: what a probability of a match is fitted to and held against."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.ranking import ranks

Population = Literal["found", "balanced"]


class AnsweredPairs(NamedTuple):
    """``scores`` [n] of some pairs, and whether each is ``right`` [n] by the labels."""

    scores: Float[Tensor, " n"]
    right: Bool[Tensor, " n"]


def answered_pairs(
    scores: Float[Tensor, "images texts"],
    image_of_text: Tensor | Sequence[int],
    population: Population = "found",
    seed: int = 0,
) -> AnsweredPairs:
    """Of all pairs of some images and texts, those that a probability is to be about.

    ``found``: what each search finds first, of images with a text and of texts; right where it is the labelled item, by
    `ranks` (a tie with another item is wrong). How often a search is right falls with the size of the gallery, and so
    does a probability fitted to it. ``balanced``: every text with its image, and with one other image drawn by seed, so
    that half of the pairs are right: the odds of a pair before anything is known of it are even.

    scores [images, texts]: higher is better; image_of_text [texts]: row of each text's image. What is true without a
    label counts as wrong in either. Errors: those of `ranks`; a single image for ``balanced``.
    """
    found = ranks(scores, image_of_text)
    owners = torch.as_tensor(image_of_text)
    if population == "found":
        asked = found.image_to_text > 0
        best = torch.cat([scores.amax(dim=1)[asked], scores.amax(dim=0)])
        return AnsweredPairs(best, torch.cat([found.image_to_text[asked], found.text_to_image]) == 1)
    if len(scores) < 2:
        raise UserError(got="a single picture", expected="two at least, so that a pair can be wrong", do="give more")
    text = torch.arange(len(owners))
    step = torch.randint(1, len(scores), (len(owners),), generator=torch.Generator().manual_seed(seed))
    other = (owners + step) % len(scores)
    both = torch.cat([scores[owners, text], scores[other, text]])
    return AnsweredPairs(both, torch.arange(2 * len(text)) < len(text))
