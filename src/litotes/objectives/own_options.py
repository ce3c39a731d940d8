"""Own options: each picture against true and false statements about itself."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from litotes.errors import UserError
from litotes.geometry.numerics import full_precision, narrow, require_finite, widen
from litotes.objectives.space import SpaceConfig, matched, place


@dataclass(frozen=True)
class OwnOptionsConfig(SpaceConfig):
    """Settings of the own-option term, which is this project's, not the paper's: those of `SpaceConfig`.

    temperature: default 0.06, found on a small model whose own temperature of cosines was 0.06 as well.
    """

    temperature: float | Literal["model"] = 0.06


def own_options(
    image: Float[Tensor, "b d"],
    options: Float[Tensor, "b k d"],
    config: OwnOptionsConfig | None = None,
    *,
    present: Bool[Tensor, "b k"] | None = None,
) -> Float[Tensor, ""]:
    """Choose the true statement among a picture's own k statements by their distance to it.

    ``L = mean_i -log [exp(-D(v_i, o_i0) / tau) / sum_j exp(-D(v_i, o_ij) / tau)]``, j over the options present.

    image: encoder outputs [b, d]; options: encoder outputs [b, k, d], un-normalised, option 0 the true one; config:
    `OwnOptionsConfig`; present: bool [b, k], false where a row has fewer statements (its vectors there may hold
    anything, NaN included). Returns a scalar >= 0, log k when nothing is told apart; a row with its true statement
    alone adds 0. Computed in float64 also under autocast. Raises UserError for NaN or infinite features, for a
    ``present`` of another shape or without its option 0, and for an unresolved ``temperature = "model"``.
    """
    config = config or OwnOptionsConfig()
    temperature = config.numeric_temperature
    if present is None:
        present = torch.ones(options.shape[:2], dtype=torch.bool, device=options.device)
    _check_present(present, options)
    options = options.masked_fill(~present.unsqueeze(-1), 0.0)
    require_finite(image=image, options=options)
    with full_precision(image):
        pictures = place(widen(image), config).unsqueeze(1)
        distance = matched(pictures, place(widen(options), config), config)
        scores = (-distance / temperature).masked_fill(~present.to(distance.device), -torch.inf)
        target = torch.zeros(len(scores), dtype=torch.long, device=scores.device)
        return narrow(cross_entropy(scores, target), image, options)


def _check_present(present: Tensor, options: Tensor) -> None:
    if present.shape != options.shape[:2] or not bool(present[:, 0].all()):
        raise UserError(
            got=f"present of shape {tuple(present.shape)}, option 0 present in {int(present[:, 0].sum())} rows",
            expected=f"shape {tuple(options.shape[:2])} with the true statement, option 0, in every row",
            do="put the true statement first and mark only missing false ones",
        )
