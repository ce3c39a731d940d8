"""What training changes in its examples, drawn by example and epoch alone: crops, captions' tokens, picture tokens."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool

Part = Literal["picture", "caption", "tokens"]
_PARTS: tuple[Part, ...] = ("picture", "caption", "tokens")


def example_rng(seed: int, epoch: int, example: int, part: Part) -> np.random.Generator:
    """The source of what is drawn for one part of one example in one epoch.

    It depends on these four alone: neither worker processes, nor batches, nor a resumed run, nor what is drawn for
    another part change it.
    """
    return np.random.default_rng([seed, epoch, example, _PARTS.index(part)])


def crop_box(width: int, height: int, rng: np.random.Generator, least: float = 0.6) -> tuple[int, int, int, int]:
    """A box (left, top, right, bottom) with sides ``int(u width)``, ``int(u height)``, u uniform in least .. 1.

    One u for both sides, at least one pixel; the place is uniform over all where the box fits.
    """
    share = least + (1 - least) * rng.random()
    wide, high = max(1, int(share * width)), max(1, int(share * height))
    left, top = int(rng.integers(width - wide + 1)), int(rng.integers(height - high + 1))
    return left, top, left + wide, top + high


def altered_ids(
    ids: Sequence[int], mask: int, random_ids: Sequence[int], rng: np.random.Generator, touched: float = 0.2
) -> list[int]:
    """A caption's ids with some inner tokens changed; the first and the last, start and end, stay.

    Each inner token is touched with probability ``touched``; of those half become ``mask``, a tenth one of
    ``random_ids`` (uniform), four tenths are left out. A caption of start and end alone is as it was.

    Source: VSE-infinity's size augmentation as PCME++ applies it to CLIP's tokens, with the shares it publishes.
    """
    kept = [ids[0]]
    for token, draw, other in zip(
        ids[1:-1], rng.random(len(ids) - 2) / touched, rng.integers(len(random_ids), size=len(ids) - 2), strict=True
    ):
        if draw >= 1:
            kept.append(token)
        elif draw < 0.5:
            kept.append(mask)
        elif draw < 0.6:
            kept.append(random_ids[other])
    return [*kept, ids[-1]]


def kept_tokens(
    count: int, rng: np.random.Generator, chance: float = 0.8, most: float = 0.2
) -> Bool[np.ndarray, " count"]:
    """Which of a picture's tokens are pooled: with probability ``chance`` a random part of them is dropped.

    ``floor(share count)`` tokens are dropped, all sets of so many equally likely, with share uniform in
    ``(1 - chance) most .. most``; with the defaults between 4 and 20 %. Below 1 / most tokens nothing is dropped.

    Source: PCME++, which takes each token with the same probability 1 - share by itself; then more than the stated part
    may go, and of few tokens all. Here the number is fixed first.
    """
    kept = np.ones(count, dtype=bool)
    draw = rng.random()
    if draw > 1 - chance:
        kept[rng.permutation(count)[: int(draw * most * count)]] = False
    return kept
