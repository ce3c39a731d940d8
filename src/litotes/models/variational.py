"""The variational adapter of VACSR: for each image and text a distribution over similarities.

Everything the adapter does is a function of the elementwise product of two normalised features.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, one_hot

from litotes.errors import UserError
from litotes.geometry.numerics import (
    UNIFORM_EDGE,
    at_least_float32,
    bounded,
    direction,
    full_precision,
    require_finite,
    require_positive,
)
from litotes.models.hadamard import hadamard_linear
from litotes.models.pair_noise import PairNoise
from litotes.objectives.space import require_choice, require_choices
from litotes.objectives.vacsr import PairSample

Layout = Literal["shared", "per_component", "separate"]
LayerNorm = Literal["none", "layernorm"]
FeatureNorm = Literal["unit", "none"]
Mixture = Literal["global", "per_pair"]
Choice = Literal["hard", "soft"]
LogVar = Literal["raw", "log_sigmoid", "sigmoid"]
Decoded = Literal["mixture_mean", "argmax", "mean_of_decoded"]
Spread = Literal["mixture", "argmax", "total"]
Summary = Literal["mean_std", "mean_variance", "sum_variance"]


@dataclass(frozen=True)
class AdapterConfig:
    """Sizes and readings of the adapter; the defaults are those that docs/methods.md gives reasons for.

    features: d, dimensions of image and text features; default 1024 (retrieval; 512 for CLIP's own projections).
    hidden, latent: dimensions behind the trunk, and of a component; default d both.
    components: K >= 1, default 2 (paper). decoder_hidden: units of the decoder, default 16.
    bottleneck: units of one more layer between the features and the trunk's last; default none.
    layout: ``shared``: one trunk under all heads; ``per_component``: one for each component; ``separate``: one for each
    of the 2K heads. norm: ``layernorm`` before each ReLU, or ``none``.
    feature_norm: features are divided by their length (``unit``) or not (``none``). input_scale: factor on their
    product: a number, default 1, or ``sqrt_d`` or ``d``.
    mixture: K logits of the whole adapter (``global``), or a head on the shared trunk (``per_pair``).
    choice: ``hard``: one-hot forwards, soft backwards; ``soft``: Gumbel-softmax in both. temperature: of the softmax,
    > 0, default 1.
    log_var: what a head's number h is: log sigma^2 (``raw``); its sigmoid is sigma^2, lv = log sigmoid(h)
    (``log_sigmoid``); its sigmoid is log sigma^2, lv = sigmoid(h) (``sigmoid``).
    decoded: which mean gives the logit, as in `VariationalAdapter.logits`. spread, summary: which number tells how
    unsure a pair is, as in `uncertainty`. None of the three counts in training.
    """

    features: int = 1024
    hidden: int | None = None
    latent: int | None = None
    components: int = 2
    decoder_hidden: int = 16
    bottleneck: int | None = None
    layout: Layout = "shared"
    norm: LayerNorm = "none"
    feature_norm: FeatureNorm = "unit"
    input_scale: float | Literal["sqrt_d", "d"] = 1.0
    mixture: Mixture = "global"
    choice: Choice = "hard"
    temperature: float = 1.0
    log_var: LogVar = "raw"
    decoded: Decoded = "mixture_mean"
    spread: Spread = "mixture"
    summary: Summary = "mean_std"

    def __post_init__(self) -> None:
        choices = {
            "layout": Layout,
            "norm": LayerNorm,
            "feature_norm": FeatureNorm,
            "mixture": Mixture,
            "choice": Choice,
            "log_var": LogVar,
            "decoded": Decoded,
            "spread": Spread,
            "summary": Summary,
        }
        require_choices(self, choices)
        for name in ("features", "hidden", "latent", "components", "decoder_hidden", "bottleneck"):
            size = getattr(self, name)
            if size is not None and size < 1:
                raise UserError(got=f"{name} = {size}", expected="a whole number from 1 on", do=f"correct {name}")
        require_positive(temperature=self.temperature)
        if isinstance(self.input_scale, str):
            require_choice("input_scale", self.input_scale, ("sqrt_d", "d", "a positive number"))
        else:
            require_positive(input_scale=self.input_scale)
        if self.mixture == "per_pair" and self.layout != "shared":
            raise UserError(
                got=f'mixture = "per_pair" with layout = "{self.layout}"',
                expected='layout = "shared": the head of the mixture reads the one trunk',
                do='choose mixture = "global" or layout = "shared"',
            )

    @property
    def hidden_size(self) -> int:
        """``hidden``, or d."""
        return self.hidden or self.features

    @property
    def latent_size(self) -> int:
        """``latent``, or d."""
        return self.latent or self.features

    @property
    def numeric_scale(self) -> float:
        """``input_scale`` as a number."""
        named = {"sqrt_d": self.features**0.5, "d": float(self.features)}
        return named[self.input_scale] if isinstance(self.input_scale, str) else self.input_scale


class PairDistribution(NamedTuple):
    """A mixture of K diagonal Gaussians for each pair: mean and log sigma^2 [bi, bt, K, d], alpha [bi, bt, K]."""

    mean: Float[Tensor, "bi bt k d"]
    log_var: Float[Tensor, "bi bt k d"]
    weights: Float[Tensor, "bi bt k"]


class VariationalAdapter(nn.Module):
    """From features of images and texts to a distribution over each pair's similarity, and a logit decoded from it.

    ``s = v * t``; ``h = ReLU(W s + b)``; K linear heads give mu_k and lv_k = log sigma_k^2; ``alpha = softmax(a)``,
    ``z = sum_k w_k (mu_k + exp(lv_k / 2) eps_k)`` with a drawn choice w and noise eps; the decoder, Linear, ReLU,
    Linear, gives the logit of z. 5,264,419 parameters with the default configuration.

    ``forward`` draws (training, `litotes.objectives.vacsr`), ``logits`` does not (ranking), ``distribution`` is what
    `uncertainty` takes. Features may have any length and float type. Weights are torch's default for linear layers,
    drawn from ``seed``; a starts at 0. Log-variances are kept within +-10, with a gradient that leads back inside.
    Under autocast the trunk and the heads take the lower precision, all else stays float32 at least.
    Errors: features of another width than the configuration's, NaN or infinite features.
    Source: VACSR (arXiv 2605.30968), sections 3.1 and 3.2; sizes that it does not print are chosen so that the number
    of parameters is the printed one (docs/methods.md).
    """

    def __init__(self, config: AdapterConfig | None = None, *, seed: int = 0) -> None:
        super().__init__()
        self.config = config = config or AdapterConfig()
        hidden, latent, k = config.hidden_size, config.latent_size, config.components
        trunks = {"shared": 1, "per_component": k, "separate": 2 * k}[config.layout]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.trunks = nn.ModuleList(new_trunk(config, hidden) for _ in range(trunks))
            self.mean_heads = nn.ModuleList(nn.Linear(hidden, latent) for _ in range(k))
            self.log_var_heads = nn.ModuleList(nn.Linear(hidden, latent) for _ in range(k))
            self.decoder = new_decoder(config)
            self.mixture = nn.Linear(hidden, k) if config.mixture == "per_pair" else nn.Parameter(torch.zeros(k))

    def forward(
        self,
        image: Float[Tensor, "bi _"],
        text: Float[Tensor, "bt _"],
        generator: torch.Generator | PairNoise | None = None,
    ) -> PairSample:
        """One draw for each pair of bi images and bt texts, the same for the same state of ``generator``.

        image, text: features [bi, d] and [bt, d]; generator: draws on its own device; torch's global one if None. With
        `PairNoise` the draw of a pair depends on the pair alone, not on what else is drawn.
        """
        mean, log_var, mixture = self._components(image, text)
        uniform, normal = (
            (generator.uniform(mixture), generator.normal(mean))
            if isinstance(generator, PairNoise)
            else (_draw(torch.rand, mixture, generator), _draw(torch.randn, mean, generator))
        )
        choice = gumbel_choice(mixture, uniform, self.config.temperature, self.config.choice)
        draw, sampled_log_var = mix(mean, log_var, choice, normal)
        return PairSample(self.decode(draw), mean, log_var, mixture.softmax(-1), choice, sampled_log_var)

    def distribution(
        self, image: Float[Tensor, "bi _"], text: Float[Tensor, "bt _"], *, paired: bool = False
    ) -> PairDistribution:
        """Mean, log-variance and weights of the components of each pair, or [b, 1] of (image_i, text_i) if paired."""
        mean, log_var, mixture = self._components(image, text, paired=paired)
        return PairDistribution(mean, log_var, mixture.softmax(-1))

    def logits(
        self,
        image: Float[Tensor, "bi _"],
        text: Float[Tensor, "bt _"],
        decoded: Decoded | None = None,
        *,
        paired: bool = False,
    ) -> Float[Tensor, "bi _"]:
        """The logit of each pair without a draw, higher is better; for ranking, in full precision also under autocast.

        decoded: ``mixture_mean``: the decoder at sum_k alpha_k mu_k; ``argmax``: at the mean of the likeliest
        component; ``mean_of_decoded``: sum_k alpha_k of the decoder at mu_k; by default as configured. Rank by it, not
        by its sigmoid, which ties where it saturates. paired: of the pairs (image_i, text_i) alone, [b, 1].
        """
        decoded = decoded or self.config.decoded
        require_choice("decoded", decoded, get_args(Decoded))
        with full_precision(image):
            hidden = self._hidden(image, text, paired=paired)
            mean, weights = self._means(hidden), self._mixture_logits(hidden).softmax(-1)
            if decoded == "mean_of_decoded":
                return (weights * self.decode(mean)).sum(-1)
            if decoded == "argmax":
                weights = at_largest(weights)
            return self.decode((weights.unsqueeze(-1) * mean).sum(-2))

    def decode(self, draw: Float[Tensor, "*pairs d"]) -> Float[Tensor, "*pairs"]:
        """The logit of latent vectors, [..., d] to [...], in full precision also under autocast."""
        with full_precision(draw):
            return at_least_float32(self.decoder(draw.to(self._dtype)).squeeze(-1))

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.parameters()).dtype

    def _hidden(self, image: Tensor, text: Tensor, *, paired: bool = False) -> list[Tensor]:
        """What each trunk gives for each pair: [bi, bt, hidden], or [b, 1, hidden]."""
        image, text = scaled_features(image, text, self.config, paired=paired)
        return [_through_trunk(trunk, image, text) for trunk in self.trunks]

    def _components(self, image: Tensor, text: Tensor, *, paired: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and log-variance [bi, bt, K, d] and mixture logits [bi, bt, K]."""
        hidden = self._hidden(image, text, paired=paired)
        raw = at_least_float32(self._heads(self.log_var_heads, hidden, 1))
        return self._means(hidden), bounded(_as_log_var(raw, self.config.log_var)), self._mixture_logits(hidden)

    def _means(self, hidden: list[Tensor]) -> Tensor:
        return at_least_float32(self._heads(self.mean_heads, hidden, 0))

    def _heads(self, heads: nn.ModuleList, hidden: list[Tensor], kind: int) -> Tensor:
        """All K heads of a kind (0 mean, 1 log-variance), each on its trunk: [bi, bt, K, d]."""
        k = self.config.components
        source = {
            "shared": [0] * k,
            "per_component": list(range(k)),
            "separate": [kind * k + component for component in range(k)],
        }[self.config.layout]
        return torch.stack([head(hidden[at]) for head, at in zip(heads, source, strict=True)], dim=-2)

    def _mixture_logits(self, hidden: list[Tensor]) -> Tensor:
        """The logits a [bi, bt, K]; of a global mixture one row, expanded."""
        if isinstance(self.mixture, nn.Linear):
            return at_least_float32(self.mixture(hidden[0]))
        return at_least_float32(self.mixture).expand(*hidden[0].shape[:2], -1)


def similarity_vectors(
    image: Float[Tensor, "bi _"], text: Float[Tensor, "bt _"], config: AdapterConfig, *, paired: bool = False
) -> Float[Tensor, "bi _ d"]:
    """``s_ij = scale * v_i * t_j`` elementwise, v and t of length 1; the sum over d is then scale times the cosine.

    image, text: features [bi, d] and [bt, d]; config: ``features``, ``feature_norm`` and ``input_scale`` count. A zero
    vector stays zero. In float32 at least, also under autocast. paired: of the pairs (v_i, t_i) alone, [b, 1, d].
    Errors as in `VariationalAdapter`.
    """
    image, text = scaled_features(image, text, config, paired=paired)
    return image.unsqueeze(1) * text.unsqueeze(0)


def scaled_features(
    image: Float[Tensor, "bi _"], text: Float[Tensor, "bt _"], config: AdapterConfig, *, paired: bool = False
) -> tuple[Float[Tensor, "bi d"], Float[Tensor, "_ d"]]:
    """``scale * v`` and ``t``, the factors of `similarity_vectors`; its inputs, precision and errors.

    paired: ``scale * v_i * t_i`` and one row of ones instead, whose products are those of the pairs (v_i, t_i).
    """
    require_features(image, text, config)
    with full_precision(image):
        image, text = at_least_float32(image), at_least_float32(text)
        if config.feature_norm == "unit":
            image, text = direction(image), direction(text)
        if paired:
            image, text = image * text, torch.ones_like(text[:1])
        return config.numeric_scale * image, text


def require_features(image: Tensor, text: Tensor, config: AdapterConfig) -> None:
    """Refuse features of another width than the configuration's, and NaN or infinite ones."""
    for name, features in (("image", image), ("text", text)):
        if features.ndim != 2 or features.shape[1] != config.features:
            raise UserError(
                got=f"{name} features of shape {tuple(features.shape)}",
                expected=f"rows of {config.features}, the width of the adapter",
                do="use the adapter with the model it was trained on",
            )
    require_finite(image=image, text=text)


def gumbel_choice(
    logits: Float[Tensor, "*pairs k"], uniform: Float[Tensor, "*pairs k"], temperature: float, choice: Choice = "hard"
) -> Float[Tensor, "*pairs k"]:
    """A component for each pair, drawn with probability softmax(logits), as weights that sum to 1.

    ``soft = softmax((logits + g) / temperature)``, ``g = -log(-log u)``.

    logits: [..., K]; uniform: u in [0, 1) [..., K], independent, kept 1e-6 away from 0 and 1; temperature: > 0;
    choice: ``soft``, or ``hard``: exactly one-hot at the largest, with the gradient of soft. For K = 1 all 1.
    Source: Jang et al. 2017, Maddison et al. 2017. Written out, because torch's gumbel_softmax has given NaN. For K = 2
    the difference of the two Gumbel draws is one logistic draw; one rule for every K is kept here.
    """
    require_positive(temperature=temperature)
    require_choice("choice", choice, get_args(Choice))
    uniform = uniform.clamp(UNIFORM_EDGE, 1 - UNIFORM_EDGE)
    soft = ((logits - torch.log(-torch.log(uniform))) / temperature).softmax(-1)
    if choice == "soft":
        return soft
    # The bracket is exactly 0, so that the rows stay exactly one-hot.
    return at_largest(soft) + (soft - soft.detach())


def mix(
    mean: Float[Tensor, "*pairs k d"],
    log_var: Float[Tensor, "*pairs k d"],
    choice: Float[Tensor, "*pairs k"],
    noise: Float[Tensor, "*pairs k d"],
) -> tuple[Float[Tensor, "*pairs d"], Float[Tensor, "*pairs d"]]:
    """The reparameterised draw and the log-variance that goes with it.

    ``z = sum_k w_k (mu_k + exp(lv_k / 2) eps_k)`` and ``lv = sum_k w_k lv_k``.

    mean, log_var, noise: [..., K, d], noise standard normal; choice: w [..., K]. Both results [..., d]; with a one-hot
    choice they are those of one component.
    """
    share = choice.unsqueeze(-1)
    draw = (share * (mean + torch.exp(log_var / 2) * noise)).sum(-2)
    return draw, (share * log_var).sum(-2)


def uncertainty(
    pairs: PairDistribution, spread: Spread = "mixture", summary: Summary = "mean_std"
) -> Float[Tensor, "bi bt"]:
    """One number >= 0 for how wide the distribution of each pair is.

    Of the variances s2_d of a pair: ``mean_std``: mean_d sqrt(s2_d); ``mean_variance``: mean_d s2_d; ``sum_variance``:
    sum_d s2_d. With ``spread = "mixture"`` s2 = sum_k alpha_k exp(lv_k); ``argmax``: exp(lv_k) of the likeliest
    component; ``total``: the variance of the mixture, sum_k alpha_k (exp(lv_k) + mu_k^2) - (sum_k alpha_k mu_k)^2.

    pairs: what `VariationalAdapter.distribution` gives. Returns [bi, bt], in the unit of the latent space (squared for
    the variances). Source: VACSR (arXiv 2605.30968), which names a vector and no summary; mean and sum rank alike.
    """
    require_choice("spread", spread, get_args(Spread))
    require_choice("summary", summary, get_args(Summary))
    mean, log_var, weights = pairs
    if spread == "argmax":
        weights = at_largest(weights)
    share = weights.unsqueeze(-1)
    variance = (share * log_var.exp()).sum(-2)
    if spread == "total":
        centre = (share * mean).sum(-2, keepdim=True)
        variance = variance + (share * (mean - centre).square()).sum(-2)
    if summary == "sum_variance":
        return variance.sum(-1)
    return (variance.sqrt() if summary == "mean_std" else variance).mean(-1)


def new_trunk(config: AdapterConfig, hidden: int) -> nn.Sequential:
    """Features to ``hidden`` units behind a ReLU, by way of the bottleneck if there is one."""
    sizes = [config.features, *([config.bottleneck] if config.bottleneck else []), hidden]
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), *_norm(config, after), nn.ReLU()]
    return nn.Sequential(*layers)


def new_decoder(config: AdapterConfig) -> nn.Sequential:
    """Latent vector to one logit: Linear, ReLU, Linear."""
    units = config.decoder_hidden
    return nn.Sequential(nn.Linear(config.latent_size, units), *_norm(config, units), nn.ReLU(), nn.Linear(units, 1))


def parameter_count(module: nn.Module) -> int:
    """Numbers in all parameters of a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def _through_trunk(trunk: nn.Module, image: Tensor, text: Tensor) -> Tensor:
    """A trunk on the products of all pairs, which its first layer neither needs nor keeps as a whole."""
    assert isinstance(trunk, nn.Sequential)
    first, *rest = trunk
    assert isinstance(first, nn.Linear)
    hidden = hadamard_linear(image, text, first.weight, first.bias)
    for layer in rest:
        hidden = layer(hidden)
    return hidden


def at_largest(weights: Tensor) -> Tensor:
    """One at the largest of the last axis, the first among equals, 0 elsewhere."""
    return one_hot(weights.argmax(-1), weights.shape[-1]).to(weights)


def _norm(config: AdapterConfig, size: int) -> list[nn.Module]:
    return [nn.LayerNorm(size)] if config.norm == "layernorm" else []


def _as_log_var(raw: Tensor, reading: LogVar) -> Tensor:
    if reading == "raw":
        return raw
    return logsigmoid(raw) if reading == "log_sigmoid" else raw.sigmoid()


def _draw(sampler: Callable[..., Tensor], like: Tensor, generator: torch.Generator | None) -> Tensor:
    device = generator.device if generator else like.device
    return sampler(like.shape, generator=generator, device=device, dtype=like.dtype).to(like.device)
