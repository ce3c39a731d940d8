"""Where the objectives measure: treatment of the features' length, and the distance between them.

Shared by HCO, ATNL, their sum and the own-option term, so that one setting means the same in each.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, get_args

from jaxtyping import Float
from torch import Tensor

from litotes.errors import UserError
from litotes.geometry import pairwise_tangent_dist, tangent_dist
from litotes.geometry.numerics import direction, require_positive, safe_norm

Norm = Literal["unit", "none", "clip", "scale"]
Distance = Literal["hyperbolic", "cosine"]
Config = TypeVar("Config", bound="SpaceConfig")

SENSITIVITY = 2.35
SHARPENING = 1.5


@dataclass(frozen=True)
class SpaceConfig:
    """Feature treatment, distance and temperature of an objective.

    curvature: parameter c of the ball, 1 / length^2; default 0.1 (paper).
    temperature: divides the distance, a length; default 0.01 (paper). ``model``: the backbone's own temperature
    translated to distances (`hyperbolic_temperature`), resolved by `with_model_temperature` before the first batch.
    norm: length of the features before the exponential map. ``unit``: 1; ``none``: as encoded; ``clip``: at most
    ``clip_norm``; ``scale``: as encoded, divided by ``image_norm``. The paper does not say which; default ``unit``.
    clip_norm: cap of ``clip``, a length; default 2.3 (Hyperbolic Vision Transformers, Ermolov et al. 2022).
    image_norm: divisor of ``scale``, a length: the mean norm of the base model's image features. No default.
    distance: ``hyperbolic`` (paper) or, for ablation, ``cosine``: ``cosine_slope * (1 - cos)``.
    cosine_slope: distance per unit of cosine; default 2.35, so that both distances change equally fast where unit
    features at c = 0.1 have a cosine of 0.62 (`sensitivity`).
    """

    curvature: float = 0.1
    temperature: float | Literal["model"] = 0.01
    norm: Norm = "unit"
    clip_norm: float = 2.3
    image_norm: float | None = None
    distance: Distance = "hyperbolic"
    cosine_slope: float = SENSITIVITY

    def __post_init__(self) -> None:
        require_choices(self, {"norm": Norm, "distance": Distance})
        require_positive(curvature=self.curvature, clip_norm=self.clip_norm, cosine_slope=self.cosine_slope)
        if isinstance(self.temperature, str):
            require_choice("temperature", self.temperature, ("model", "a positive number"))
        else:
            require_positive(temperature=self.temperature)
        if self.image_norm is not None:
            require_positive(image_norm=self.image_norm)
        elif self.norm == "scale":
            raise UserError(
                got='norm = "scale" without image_norm',
                expected="the mean norm of the base model's image features as image_norm",
                do='give image_norm, or choose norm = "unit"',
            )

    def with_model_temperature(self: Config, cosine_temperature: float) -> Config:
        """The configuration with ``temperature = "model"`` turned into a number; a number stays as it is."""
        if self.temperature != "model":
            return self
        return replace(self, temperature=hyperbolic_temperature(cosine_temperature))

    @property
    def numeric_temperature(self) -> float:
        """The temperature as a number; UserError while it is still ``model``, since a loss knows no model."""
        if isinstance(self.temperature, str):
            raise UserError(
                got='temperature = "model" in a loss, which knows no model',
                expected="a number",
                do="call with_model_temperature(cosine_temperature) on the configuration first",
            )
        return self.temperature


def place(features: Float[Tensor, "*batch d"], space: SpaceConfig) -> Float[Tensor, "*batch d"]:
    """Features with their length treated as ``space.norm`` says; a zero vector stays zero, with finite gradients.

    features: encoder outputs [..., d], un-normalised. Returns tangent vectors at the origin [..., d].
    """
    if space.norm == "unit":
        return direction(features)
    if space.norm == "clip":
        cap = space.clip_norm
        return features * (cap / safe_norm(features).clamp_min(cap)).unsqueeze(-1)
    if space.norm == "scale" and space.image_norm is not None:
        return features / space.image_norm
    return features


def matched(u: Float[Tensor, "*#batch d"], w: Float[Tensor, "*#batch d"], space: SpaceConfig) -> Float[Tensor, "..."]:
    """Distance of placed features pair by pair, with broadcasting batch axes: [..., d] and [..., d] to [...]."""
    if space.distance == "hyperbolic":
        return tangent_dist(u, w, space.curvature)
    return space.cosine_slope * (1 - (direction(u) * direction(w)).sum(-1))


def all_pairs(u: Float[Tensor, "n d"], w: Float[Tensor, "m d"], space: SpaceConfig) -> Float[Tensor, "n m"]:
    """Distance of all pairs of placed features: [n, d] and [m, d] to [n, m]."""
    if space.distance == "hyperbolic":
        return pairwise_tangent_dist(u, w, space.curvature)
    return space.cosine_slope * (1 - direction(u) @ direction(w).T)


def sensitivity(cosine: float, curvature: float = 0.1, radius: float = 1.0) -> float:
    """How fast the distance falls as the cosine grows, ``-dD/dcos``, for two tangent vectors of the same length.

    ``sinh^2(a) / (sqrt(c) sqrt(z (z + 2)))`` with ``a = 2 sqrt(c) r`` and ``z = sinh^2(a) (1 - cos)``.

    cosine: in [-1, 1); curvature: c > 0; radius: the length r of both vectors. Returns distance per unit of cosine:
    2.35 at cosine 0.62 (c = 0.1, r = 1), 2.29 at 0.6, 1.61 at 0.25; infinite at cosine 1, which is refused.
    Source: derivative of the distance of `tangent_dist`; tested against autograd.
    """
    require_positive(curvature=curvature, radius=radius)
    if not -1 <= cosine < 1:
        raise UserError(got=f"cosine = {cosine}", expected="a cosine in [-1, 1)", do="give the mean cosine of pairs")
    root = math.sqrt(curvature)
    reach = math.sinh(2 * root * radius) ** 2
    excess = reach * (1 - cosine)
    return reach / (root * math.sqrt(excess * (excess + 2)))


def hyperbolic_temperature(
    cosine_temperature: float, *, slope: float = SENSITIVITY, sharpening: float = SHARPENING
) -> float:
    """Temperature of a distance that matches a model's own temperature of cosines, ``temperature = "model"``.

    ``tau = cosine_temperature * slope / sharpening``.

    cosine_temperature: the backbone's learned one, ``exp(-logit_scale)`` with CLIP's parameter; slope: distance per
    unit of cosine at the working point; sharpening: how much sharper than in pretraining. Returns a distance.
    Defaults: 2.35, the slope at cosine 0.62 (`sensitivity`), and 1.5, found on
    a small model (docs/methods.md, reading 5). CLIP's 0.01 gives 0.0157, a learned 0.06 gives 0.094.
    """
    require_positive(cosine_temperature=cosine_temperature, slope=slope, sharpening=sharpening)
    return cosine_temperature * slope / sharpening


def require_choices(settings: object, choices: Mapping[str, object]) -> None:
    """Refuse settings of which one is not among its choices; choices: the ``Literal`` type of each, by its name."""
    for name, choice in choices.items():
        require_choice(name, getattr(settings, name), get_args(choice))


def require_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    """Refuse a setting that is not one of its choices."""
    if value not in choices:
        listed = ", ".join(map(str, choices))
        raise UserError(got=f"{name} = {value!r}", expected=f"one of {listed}", do=f"choose {name} from these")
