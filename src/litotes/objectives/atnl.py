"""Angular triplet negation loss (ATNL) of HANCLIP."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.geometry.numerics import (
    coarsest,
    direction,
    full_precision,
    is_rounding,
    narrow,
    require_finite,
    safe_norm,
    widen,
)


class AtnlTerms(NamedTuple):
    """The two terms of the loss, each a scalar, a mean over the batch.

    positive_angle: ``1 - cos`` of the angle at N, in [0, 2]; negated_angle: ``cos`` of the angle at P', in [-1, 1].
    """

    positive_angle: Float[Tensor, ""]
    negated_angle: Float[Tensor, ""]

    @property
    def total(self) -> Float[Tensor, ""]:
        """L_at, the sum of the two terms."""
        return self.positive_angle + self.negated_angle


class Angles(NamedTuple):
    """Mean angles of a set of triplets in degrees, and how many triplets have none.

    at_negative: between P - N and P' - N; at_negated_positive: between N - P' and P - P'; NaN where no triplet has
    one. undefined: triplets left out of either mean because two of their three vectors coincide.
    """

    at_negative: float
    at_negated_positive: float
    undefined: int


def atnl(
    positive: Float[Tensor, "b d"], negated_positive: Float[Tensor, "b d"], negative: Float[Tensor, "b d"]
) -> AtnlTerms:
    """Close the angle at N between P and P', and open the angle at P' between N and P.

    ``L_pos = mean [1 - cos(p - n, p' - n)]``, ``L_neg = mean [cos(n - p', p - p')]``.

    positive, negated_positive, negative: vectors p, p', n [b, d], used as given (Euclidean): the caller normalises or
    not, and `hanclip` gives them the treatment of the HCO. L_pos in [0, 2], L_neg in [-1, 1], their sum in [-1, 3].
    Invariant to one common scale. cos with a zero vector is 0 with zero gradient (P' may equal P after truncation):
    such a triplet adds 1 to L_pos or 0 to L_neg. A difference shorter than four machine epsilons of the vectors'
    type counts as zero, since its direction is rounding and its gradient would be about 1e7 long.
    Computed in float64 also under autocast. Raises UserError for NaN or infinite vectors.
    Source: HANCLIP (arXiv 2606.23843), the angular triplet loss.
    """
    require_finite(positive=positive, negated_positive=negated_positive, negative=negative)
    tensors = (positive, negated_positive, negative)
    with full_precision(positive):
        p, q, n = map(widen, tensors)
        terms = atnl_of_placed(p, q, n, coarsest(*tensors))
    return AtnlTerms(*(narrow(term, *tensors) for term in terms))


def atnl_of_placed(
    positive: Float[Tensor, "b d"],
    negated_positive: Float[Tensor, "b d"],
    negative: Float[Tensor, "b d"],
    precision: torch.dtype,
) -> AtnlTerms:
    """The loss of `atnl` on float64 vectors; precision: the type they came in, which says what rounding is."""
    ways = direction(_arms(positive, negated_positive, negative, precision))
    closing, opening = (ways[0] * ways[1]).sum(-1), (ways[2] * ways[3]).sum(-1)
    return AtnlTerms((1 - closing).mean(), opening.mean())


def angles(
    positive: Float[Tensor, "b d"], negated_positive: Float[Tensor, "b d"], negative: Float[Tensor, "b d"]
) -> Angles:
    """Mean angle at N and at P' of each quadruplet's captions, for reports; no gradient.

    ``angle(x, y) = 2 atan2(||x^ - y^||, ||x^ + y^||)`` with unit vectors x^, y^, exact near 0 and 180 degrees too.

    positive, negated_positive, negative: vectors [b, d]. Returns `Angles` in degrees, each mean in [0, 180].
    """
    require_finite(positive=positive, negated_positive=negated_positive, negative=negative)
    tensors = (positive, negated_positive, negative)
    with torch.no_grad():
        p, q, n = map(widen, tensors)
        arms = _arms(p, q, n, coarsest(*tensors))
        at_negative, flat_n = _mean_angle(arms[0], arms[1])
        at_negated_positive, flat_p = _mean_angle(arms[2], arms[3])
    return Angles(at_negative, at_negated_positive, int((flat_n | flat_p).sum()))


def _arms(p: Tensor, q: Tensor, n: Tensor, precision: torch.dtype) -> Tensor:
    """The arms P - N, P' - N of the angle at N and N - P', P - P' of that at P', [4, b, d]; zero if only rounding."""
    ends, corners = torch.stack([p, q, n, p]), torch.stack([n, n, q, q])
    difference = ends - corners
    return difference.masked_fill(is_rounding(difference, ends, corners, dtype=precision).unsqueeze(-1), 0.0)


def _mean_angle(x: Tensor, y: Tensor) -> tuple[float, Tensor]:
    flat = (safe_norm(x) == 0) | (safe_norm(y) == 0)
    left, right = direction(x), direction(y)
    degrees = torch.rad2deg(2 * torch.atan2(safe_norm(left - right), safe_norm(left + right)))
    return float(degrees[~flat].mean()), flat
