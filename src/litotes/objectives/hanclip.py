"""The HANCLIP loss: the weighted sum of its two parts."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.errors import UserError
from litotes.geometry.numerics import coarsest, full_precision, narrow, require_finite, widen
from litotes.objectives.atnl import atnl_of_placed
from litotes.objectives.hco import HcoConfig, hco_of_placed
from litotes.objectives.space import place


@dataclass(frozen=True)
class HanclipConfig:
    """Settings of the HANCLIP loss.

    hco: settings of the contrastive part, whose feature treatment (``norm``) the angular part shares.
    alpha: weight of the angular part, a number >= 0; default 1 (paper). 0 leaves it out.
    """

    hco: HcoConfig = field(default_factory=HcoConfig)
    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not self.alpha >= 0:
            raise UserError(got=f"alpha = {self.alpha}", expected="a number >= 0", do="set alpha to 0 or above")

    def with_model_temperature(self, cosine_temperature: float) -> "HanclipConfig":
        """The configuration with ``temperature = "model"`` turned into a number; a number stays as it is."""
        return replace(self, hco=self.hco.with_model_temperature(cosine_temperature))


class HanclipTerms(NamedTuple):
    """Every part of the loss as a scalar; ``loss`` is ``hco + alpha * atnl``, ``hco`` and ``atnl`` sums of theirs."""

    loss: Float[Tensor, ""]
    hco: Float[Tensor, ""]
    text_to_image: Float[Tensor, ""]
    image_to_text: Float[Tensor, ""]
    text_to_text: Float[Tensor, ""]
    atnl: Float[Tensor, ""]
    positive_angle: Float[Tensor, ""]
    negated_angle: Float[Tensor, ""]


def hanclip(
    image: Float[Tensor, "b d"],
    positive: Float[Tensor, "b d"],
    negated_positive: Float[Tensor, "b d"],
    negative: Float[Tensor, "b d"],
    config: HanclipConfig | None = None,
) -> HanclipTerms:
    """The whole loss of HANCLIP, ``L = L_hc + alpha * L_at``.

    image, positive, negated_positive, negative: encoder outputs [b, d], un-normalised, row i of one quadruplet;
    config: `HanclipConfig`, the paper's by default. Returns `HanclipTerms`; ``_asdict()`` gives the names for the
    journal. Both parts see the same features, treated once as ``config.hco.norm`` says: the paper does not say
    whether the angles are taken before or after normalisation. With alpha = 0 the angular terms are still reported.
    Edges and errors as in `hco` and `atnl`. Source: HANCLIP (arXiv 2606.23843), equation of the total loss.
    """
    config = config or HanclipConfig()
    features = {"image": image, "positive": positive, "negated_positive": negated_positive, "negative": negative}
    require_finite(**features)
    with full_precision(image):
        v, p, q, n = place(torch.stack([widen(feature) for feature in features.values()]), config.hco)
        contrastive = hco_of_placed(v, p, q, n, config.hco)
        angular = atnl_of_placed(p, q, n, coarsest(positive, negated_positive, negative))
        loss = contrastive.total + config.alpha * angular.total
    parts = (loss, contrastive.total, *contrastive, angular.total, *angular)
    return HanclipTerms(*(narrow(part, *features.values()) for part in parts))
