"""Further numbers for how unsure a distribution over a pair's similarity is, beside those of `uncertainty`."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.errors import UserError
from litotes.models.variational import PairDistribution, VariationalAdapter, gumbel_choice, mix


def component_spread(pairs: PairDistribution) -> Float[Tensor, "bi bt"]:
    """How far the components of a pair lie apart: mean_d [sum_k alpha_k mu_k^2 - (sum_k alpha_k mu_k)^2], >= 0.

    The part of the mixture's variance that is between its components; 0 for one component. Source: the law of total
    variance.
    """
    share = pairs.weights.unsqueeze(-1)
    centre = (share * pairs.mean).sum(-2, keepdim=True)
    return (share * (pairs.mean - centre).square()).sum(-2).mean(-1)


def weight_entropy(pairs: PairDistribution) -> Float[Tensor, "bi bt"]:
    """How open the choice of the component is: -sum_k alpha_k log alpha_k, 0 to log K nats.

    The same for every pair where the adapter's weights are (``mixture = "global"``, the default).
    """
    return torch.special.entr(pairs.weights).sum(-1)


def entropy_bound(pairs: PairDistribution) -> Float[Tensor, "bi bt"]:
    """The most that the entropy of the mixture can be, in nats: H(alpha) + sum_k alpha_k sum_d 1/2 log(2 pi e s2_kd).

    Reached where the components do not overlap, too high by H(alpha) where they coincide. Of either sign. Source: Huber
    et al. 2008.
    """
    component = 0.5 * (math.log(2 * math.pi * math.e) + pairs.log_var).sum(-1)
    return weight_entropy(pairs) + (pairs.weights * component).sum(-1)


@torch.no_grad()
def drawn_spread(
    adapter: VariationalAdapter,
    image: Float[Tensor, "bi _"],
    text: Float[Tensor, "bt _"],
    draws: int,
    generator: torch.Generator,
) -> dict[str, Float[Tensor, "bi bt"]]:
    """What several draws of a pair's similarity say: ``logit_std`` and ``p_std``, their deviations, and ``doubt``.

    ``doubt``: 1 - mean p over the draws. Deviations divide by the number of draws. image, text: features of bi images
    and bt texts; draws: 2 or more; generator: of torch, on the features' device; the same state gives the same draws,
    one-hot whatever the adapter's own ``choice``. Errors: fewer draws; features as in `VariationalAdapter`.
    """
    if draws < 2:
        raise UserError(got=f"{draws} draws", expected="2 or more, so that they can differ", do="give more")
    mean, log_var, weights = adapter.distribution(image, text)
    logits = []
    for _ in range(draws):
        uniform = torch.rand(weights.shape, generator=generator, device=weights.device, dtype=weights.dtype)
        choice = gumbel_choice(weights.log(), uniform, 1.0)
        noise = torch.randn(mean.shape, generator=generator, device=mean.device, dtype=mean.dtype)
        logits.append(adapter.decode(mix(mean, log_var, choice, noise)[0]))
    every = torch.stack(logits).to(torch.float64)
    p = every.sigmoid()
    return {
        "logit_std": every.std(0, unbiased=False),
        "p_std": p.std(0, unbiased=False),
        "doubt": torch.sigmoid(-every).mean(0),
    }
