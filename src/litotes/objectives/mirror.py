"""Mirrored names: what a statement should embed to, from the names that it affirms and denies (beyond the paper)."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import cosine_similarity

from litotes.geometry.numerics import direction, full_precision, narrow, require_finite, require_positive, widen


@dataclass(frozen=True)
class MirrorConfig:
    """How far a denied name is mirrored, and what else holds meanwhile.

    absence: weight of a denied name in a statement that affirms nothing ("no cat"); beside: in one that also affirms
    ("a dog but no cat"), where half lets a search rank by the affirmed thing first. keep: weight of the term that
    holds plain captions where the base has them.
    """

    absence: float = 1.0
    beside: float = 0.5
    keep: float = 1.0

    def __post_init__(self) -> None:
        require_positive(absence=self.absence, beside=self.beside)


def mirror_targets(
    names: Float[Tensor, "v d"],
    affirmed: Bool[Tensor, "m v"],
    denied: Bool[Tensor, "m v"],
    config: MirrorConfig | None = None,
) -> Float[Tensor, "m d"]:
    """Directions of statements: towards what they affirm, away from what they deny, about the names' mean.

    ``r_j = u / |u|, u = m + sum_affirmed (t_k - m) - w_j sum_denied (t_k - m)``, with t_k the unit embedding of name
    k, m their mean, and w_j = ``absence`` where nothing is affirmed, ``beside`` otherwise.

    names: embeddings of the affirmed names ("a photo of a cat"), any length; affirmed, denied: which names a statement
    has. Returns unit vectors; zero where u is. Reason: a statement "no cat" should rank pictures by how little of a
    cat is in them, and in a space of cosines that is the mirrored direction.
    """
    config = config or MirrorConfig()
    require_finite(names=names)
    unit = direction(names)
    mean = unit.mean(0)
    away = torch.where(affirmed.any(1), config.beside, config.absence).unsqueeze(1).to(unit) * denied.to(unit)
    return direction(mean + (affirmed.to(unit) - away) @ (unit - mean))


def turning(texts: Float[Tensor, "m d"], targets: Float[Tensor, "m d"]) -> Float[Tensor, ""]:
    """Mean of 1 - cos of each text and its target; 0 when all point where they should, 2 at most."""
    require_finite(texts=texts, targets=targets)
    with full_precision(texts):
        cosines = cosine_similarity(widen(texts), widen(targets), dim=-1)
        return narrow(1 - cosines.mean(), texts)
