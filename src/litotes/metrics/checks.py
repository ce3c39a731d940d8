"""What every metric refuses: scores that are not finite, and indices that point to nothing."""

from collections.abc import Sequence

import torch
from torch import Tensor

from litotes.errors import UserError


def refuse_non_finite(scores: Tensor, what: str = "scores") -> None:
    """Nothing where every number is finite; otherwise a UserError that says how many are not, and where the first is.

    NaN compares as smaller than nothing and infinity as larger than all, so that a ranking made from them means
    nothing, and some library rankings put NaN first.
    """
    if bool(torch.isfinite(scores.sum())):  # many times faster; a sum is finite only where every number is
        return
    bad = ~torch.isfinite(scores)
    count = int(bad.sum())
    if count:
        first = tuple(int(i) for i in bad.nonzero()[0])
        raise UserError(
            got=f"{count} of {scores.numel()} {what} NaN or infinite, the first at {first}",
            expected=f"finite {what}",
            do="look at the model: such weights or embeddings usually come from a training run that diverged",
        )


def as_indices(values: Tensor | Sequence[int], length: int, size: int, what: str) -> Tensor:
    """``values`` as an int64 tensor [length], each in [0, size); anything else is a UserError that names ``what``."""
    indices = torch.as_tensor(values)
    if indices.ndim != 1 or len(indices) != length:
        raise UserError(
            got=f"{what} of shape {tuple(indices.shape)}",
            expected=f"one whole number for each of {length} items",
            do=f"give {what} in the order of the scores",
        )
    if length and (indices.dtype == torch.bool or indices.is_floating_point() or indices.is_complex()):
        raise UserError(got=f"{what} of type {indices.dtype}", expected="whole numbers", do=f"give {what} as integers")
    indices = indices.to(torch.int64)
    outside = (indices < 0) | (indices >= size)
    if outside.any():
        at = int(outside.nonzero()[0])
        raise UserError(
            got=f"{what}[{at}] = {int(indices[at])}",
            expected=f"a number from 0 to {size - 1}",
            do=f"check how {what} is counted: it starts at 0",
        )
    return indices
