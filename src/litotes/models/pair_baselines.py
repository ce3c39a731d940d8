"""What VACSR is compared with: scores of all pairs without a distribution, asked for as the variational adapter's are.

Each has ``logits(image, text) -> [bi, bt]`` for ranking and, through `litotes.objectives`, for its loss:
`info_nce_of_scores`, `sigmoid_loss_of_logits` or `reconstruction`.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litotes.errors import UserError
from litotes.geometry.numerics import at_least_float32, full_precision, require_positive
from litotes.models.variational import (
    AdapterConfig,
    VariationalAdapter,
    new_decoder,
    new_trunk,
    parameter_count,
    similarity_vectors,
)
from litotes.objectives.contrastive import scaled_cosines


class CosineLogits(nn.Module):
    """``l_ij = scale cos(image_i, text_j) + bias`` with a learned scale and bias, and no adapter.

    scale: > 0, learned as its logarithm; bias: a number. The defaults 10 and -10 are where SigLIP starts (Zhai et al.
    2023); InfoNCE is not changed by the bias. Errors: NaN or infinite features.
    """

    def __init__(self, scale: float = 10.0, bias: float = -10.0) -> None:
        super().__init__()
        require_positive(scale=scale)
        self.log_scale = nn.Parameter(torch.tensor(math.log(scale)))
        self.bias = nn.Parameter(torch.tensor(float(bias)))

    def logits(
        self, image: Float[Tensor, "bi d"], text: Float[Tensor, "bt d"], *, paired: bool = False
    ) -> Float[Tensor, "bi _"]:
        """The logit of each pair, in float32 at least, also under autocast; features [bi, d] and [bt, d].

        paired: of the pairs (image_i, text_i) alone, [b, 1].
        """
        return scaled_cosines(image, text, self.log_scale.exp(), paired=paired) + self.bias


class DeterministicAdapter(nn.Module):
    """The variational adapter without its distribution, and as large: trunk, one linear head, decoder.

    The same path that `VariationalAdapter.logits` takes, without mixture, variance and draw. The trunk is as wide as
    brings the number of parameters nearest to that of the variational adapter with the same configuration (within
    half of features + latent): hidden 2561 and 5,264,930 for the default. Of ``config``, features, latent,
    decoder_hidden, norm, feature_norm and input_scale count; hidden, components and layout only by their size. Weights
    are torch's default, drawn from ``seed``.
    Errors: a bottleneck, whose size could be met in two ways; features as in `VariationalAdapter`.
    """

    def __init__(self, config: AdapterConfig | None = None, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config = config or AdapterConfig()
        if config.bottleneck:
            raise UserError(
                got=f"bottleneck = {config.bottleneck}",
                expected="a trunk of one layer, whose width alone decides the size",
                do="leave bottleneck out for the deterministic adapter",
            )
        hidden = equal_width(config)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.trunk = new_trunk(config, hidden)
            self.head = nn.Linear(hidden, config.latent_size)
            self.decoder = new_decoder(config)

    def logits(
        self, image: Float[Tensor, "bi _"], text: Float[Tensor, "bt _"], *, paired: bool = False
    ) -> Float[Tensor, "bi _"]:
        """The logit of each pair, higher is better; features [bi, d] and [bt, d], full precision from the head on.

        paired: of the pairs (image_i, text_i) alone, [b, 1].
        """
        vectors = similarity_vectors(image, text, self.config, paired=paired).to(self.head.weight.dtype)
        hidden = self.trunk(vectors)
        with full_precision(vectors):
            return at_least_float32(self.decoder(self.head(hidden.to(vectors.dtype))).squeeze(-1))


def equal_width(config: AdapterConfig) -> int:
    """The trunk's width at which `DeterministicAdapter` comes nearest to the size of the variational adapter."""
    with torch.device("meta"):
        target = parameter_count(VariationalAdapter(config))
        fixed = parameter_count(new_decoder(config)) + config.latent_size
    # Weights and a bias into a unit, weights out of it, and two numbers of its normalisation.
    each = config.features + 1 + config.latent_size + 2 * (config.norm == "layernorm")
    return max(1, round((target - fixed) / each))
