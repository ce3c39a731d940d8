"""In which order pairs that a table may lack are looked at: by how alike they are, by how unsure the model is."""

from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from litotes.objectives.space import require_choice

MissingOrder = Literal["similarity", "uncertainty", "both"]


def missing_order(
    logits: Float[Tensor, " n"], sigma: Float[Tensor, " n"], order: MissingOrder = "similarity"
) -> Int[Tensor, " n"]:
    """Places of candidate pairs, the one to look at first in front.

    ``similarity``: by falling logit. ``uncertainty``: by falling sigma, whatever the logit: the candidates are similar
    by how they were chosen. ``both``: by the sum of the two places, counted from the highest logit and from the highest
    sigma, so that neither unit counts.

    Of equal pairs by the first number the other one decides (of equal sums the logit), then the given order. Source:
    VACSR (arXiv 2605.30968) expects missing pairs where similarity and uncertainty are high, and gives no rule.
    """
    require_choice("order", order, get_args(MissingOrder))
    by_logit, by_sigma = _falling(logits, sigma), _falling(sigma, logits)
    if order != "both":
        return by_logit if order == "similarity" else by_sigma
    places = torch.zeros(len(logits), dtype=torch.int64)
    for ranked in (by_logit, by_sigma):
        places[ranked] += torch.arange(len(ranked))
    return by_logit[places[by_logit].argsort(stable=True)]


def _falling(first: Tensor, second: Tensor) -> Tensor:
    """Places by falling first number, of equal ones by the second, then as given."""
    by_second = second.argsort(descending=True, stable=True)
    return by_second[first[by_second].argsort(descending=True, stable=True)]


def share_below(values: Float[Tensor, " n"], among: Float[Tensor, " m"]) -> Float[Tensor, " n"]:
    """Of each value, the share of some others that are lower, 0 to 1, in float64."""
    below = torch.searchsorted(among.double().sort().values, values.double())
    return below.double() / len(among)
