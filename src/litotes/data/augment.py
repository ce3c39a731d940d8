"""What training changes in its examples, drawn by example and epoch alone: crops, captions' tokens, picture tokens."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool

from litotes.errors import UserError

Part = Literal["picture", "caption", "tokens"]
_PARTS: tuple[Part, ...] = ("picture", "caption", "tokens")
_TRIES = 10
"""Boxes that are drawn before the middle of a picture is taken."""


@dataclass(frozen=True)
class Augmentation:
    """How much training changes its examples; the defaults are PCME++'s.

    crop: least share of a side, above 0 to 1 (``crop_box``). flip: probability that a picture is mirrored. touched: of
    each inner token of a caption (``altered_ids``). token_chance, token_part: probability that a picture loses tokens
    before pooling, and the largest part (``kept_tokens``). 1 and four times 0 change nothing. area: least share of a
    picture's area, above 0 to 1, of a crop that is stretched to the square (``area_box``), in place of ``crop``; None,
    the default, for no such crop.
    """

    crop: float = 0.6
    flip: float = 0.5
    touched: float = 0.2
    token_chance: float = 0.8
    token_part: float = 0.2
    area: float | None = None

    def __post_init__(self) -> None:
        for name in ("crop", "flip", "touched", "token_chance", "token_part", "area"):
            value = getattr(self, name)
            if value is None:
                continue
            low_enough = value < 1 if name == "token_part" else value <= 1
            if not (value >= 0 and low_enough) or (name in ("crop", "area") and value == 0):
                raise UserError(
                    got=f"{name} = {value}", expected="a share from 0 to 1 (crop, area above 0, token_part below 1)",
                    do=f"correct {name}",
                )  # fmt: skip


UNCHANGED = Augmentation(crop=1.0, flip=0.0, touched=0.0, token_chance=0.0, token_part=0.0)
"""Examples as they are."""


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


def area_box(
    width: int, height: int, rng: np.random.Generator, least: float = 0.08, aspect: tuple[float, float] = (3 / 4, 4 / 3)
) -> tuple[int, int, int, int]:
    """A box (left, top, right, bottom) of ``least`` to 1 times the picture's area, wider or higher than the picture's.

    Area share s uniform in least .. 1 and width by height a log-uniform in ``aspect``; the sides are ``sqrt(s w h a)``
    and ``sqrt(s w h / a)``, rounded (half to even); the place is uniform over all where the box fits. A box that does
    not fit is drawn again, ten times in all. Then it is the largest one of the picture's own shape, brought within
    ``aspect``, in the middle.

    Source: the random resized crop of CLIP's and of most classifiers' training (Szegedy et al. 2015), with the
    limits and the number of tries of torchvision's RandomResizedCrop.
    """
    for _ in range(_TRIES):
        area = width * height * rng.uniform(least, 1)
        shape = math.exp(rng.uniform(math.log(aspect[0]), math.log(aspect[1])))
        wide, high = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < wide <= width and 0 < high <= height:
            left, top = int(rng.integers(width - wide + 1)), int(rng.integers(height - high + 1))
            return left, top, left + wide, top + high
    wide, high = min(width, round(height * aspect[1])), min(height, round(width / aspect[0]))
    left, top = (width - wide) // 2, (height - high) // 2
    return left, top, left + wide, top + high


def altered_ids(
    ids: Sequence[int], mask: int, random_ids: Sequence[int], rng: np.random.Generator, touched: float = 0.2
) -> list[int]:
    """A caption's ids with some inner tokens changed; the first and the last, start and end, stay.

    Each inner token is touched with probability ``touched``; of those half become ``mask``, a tenth one of
    ``random_ids`` (uniform), four tenths are left out. A caption of start and end alone is as it was.

    Source: VSE-infinity's size augmentation as PCME++ applies it to CLIP's tokens, with the shares it publishes.
    """
    kept, inner = [ids[0]], ids[1:-1]
    draws, others = rng.random(len(inner)), rng.integers(len(random_ids), size=len(inner))
    for token, draw, other in zip(inner, draws, others, strict=True):
        if draw >= touched:
            kept.append(token)
        elif draw < 0.5 * touched:
            kept.append(mask)
        elif draw < 0.6 * touched:
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
