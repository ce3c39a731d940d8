"""The sigmoid loss: each pair of a batch is judged by itself."""

from typing import get_args

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from litotes.geometry.numerics import full_precision, narrow, widen
from litotes.objectives.contrastive import scaled_cosines
from litotes.objectives.pairs import PairReduction, require_pairs
from litotes.objectives.space import require_choice


def sigmoid_loss(
    image: Float[Tensor, "bi d"],
    text: Float[Tensor, "bt d"],
    scale: float | Float[Tensor, ""],
    bias: float | Float[Tensor, ""],
    *,
    positives: Bool[Tensor, "rows columns"],
    reduction: PairReduction = "per_image",
) -> Float[Tensor, ""]:
    """Binary cross-entropy of every pair, with ``l_ij = scale cos(image_i, text_j) + bias``: `sigmoid_loss_of_logits`.

    image, text: encoder outputs [bi, d] and [bt, d], un-normalised; scale, bias: numbers or learned scalars, without
    unit (SigLIP starts at 10 and -10); positives: bool [bi, bt] (`match_matrix`). A zero vector has cosine 0.
    Result, precision and errors as there, and UserError for NaN or infinite features.
    """
    return sigmoid_loss_of_logits(scaled_cosines(image, text, scale) + bias, positives=positives, reduction=reduction)


def sigmoid_loss_of_logits(
    logits: Float[Tensor, "bi bt"],
    *,
    positives: Bool[Tensor, "rows columns"],
    reduction: PairReduction = "per_image",
) -> Float[Tensor, ""]:
    """Binary cross-entropy of the logits of all pairs with their labels.

    ``L = -1/n sum_ij [y_ij log sigmoid(l_ij) + (1 - y_ij) log sigmoid(-l_ij)]``.

    logits: l [bi, bt]; positives: y, bool [bi, bt]; reduction: n = bi (``per_image``) or bi bt (``mean``). Returns a
    scalar >= 0 in natural logarithms; log 2 for ``mean`` where all logits are 0. A batch of one, all
    pairs right and all pairs wrong are ordinary values. Computed in float64 also under autocast, so that saturated
    logits keep their gradient. Raises UserError for NaN or infinite logits and positives of another shape.
    Source: SigLIP (Zhai et al. 2023), Eq. 1, whose only positives are the diagonal.
    """
    require_choice("reduction", reduction, get_args(PairReduction))
    require_pairs(logits, positives)
    with full_precision(logits):
        wide = widen(logits)
        losses = binary_cross_entropy_with_logits(wide, positives.to(wide), reduction="sum")
        return narrow(losses / (len(logits) if reduction == "per_image" else logits.numel()), logits)
