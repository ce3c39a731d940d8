"""Which images and captions of a batch belong together, and what a loss over all pairs asks of its inputs."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Bool
from torch import Tensor

from litotes.errors import UserError
from litotes.geometry.numerics import require_finite

PairReduction = Literal["mean", "per_image"]


def codes(names: Sequence[str]) -> Tensor:
    """The same number for the same name."""
    numbers: dict[str, int] = {}
    return torch.tensor([numbers.setdefault(name, len(numbers)) for name in names], dtype=torch.long)


def match_matrix(image_ids: Sequence[str], caption_image_ids: Sequence[str]) -> Bool[Tensor, "bi bt"]:
    """Which captions of a batch belong to which of its pictures, by the ids of the pictures.

    ``[i, j] = (image_ids[i] == caption_image_ids[j])``.

    image_ids: the picture of each image row, bi strings; caption_image_ids: the picture that each caption was written
    for, bt strings. Several captions of a picture and repeated pictures all match; the diagonal has no part in it, and
    the two numbers need not agree. Returns bool [bi, bt]; a row or column without a match is all false.
    """
    numbers = codes([*image_ids, *caption_image_ids])
    return numbers[: len(image_ids), None] == numbers[len(image_ids) :]


def require_pairs(logits: Tensor, positives: Tensor) -> None:
    """Refuse logits that are not finite, an empty batch, and positives of another shape or not true and false."""
    if positives.dtype != torch.bool:
        raise UserError(
            got=f"positives of type {positives.dtype}",
            expected="torch.bool, true where image and caption belong together",
            do="build positives with match_matrix(image_ids, caption_image_ids)",
        )
    if positives.shape != logits.shape or logits.ndim != 2 or not logits.numel():
        raise UserError(
            got=f"logits of shape {tuple(logits.shape)} and positives of shape {tuple(positives.shape)}",
            expected="the same shape, image rows and caption columns, at least one of each",
            do="build positives with match_matrix(image_ids, caption_image_ids)",
        )
    require_finite(logits=logits)
