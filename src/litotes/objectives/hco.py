"""Hyperbolic contrastive objective (HCO) of HANCLIP."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from litotes.geometry.numerics import full_precision, narrow, require_finite, widen
from litotes.objectives.space import SpaceConfig, all_pairs, matched, place, require_choice

Reading = Literal["all_pairs", "paper_literal", "paper_literal_sign"]


@dataclass(frozen=True)
class HcoConfig(SpaceConfig):
    """Settings of the hyperbolic contrastive objective: those of `SpaceConfig`, and which equations are meant.

    reading: ``all_pairs`` (default): -D, every pair of the batch in the denominator. For study only:
    ``paper_literal``: -D, matched pairs alone in the denominator as equations 5-7 print it (measured to destroy a
    model); ``paper_literal_sign``: the same with +D, the equations exactly as printed (pushes matched pairs apart).
    """

    reading: Reading = "all_pairs"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("reading", self.reading, get_args(Reading))


class HcoTerms(NamedTuple):
    """The three terms of the objective, each a scalar >= 0, a mean over the batch in natural logarithms.

    text_to_image: L(P' -> I); image_to_text: L(I -> P' u N); text_to_text: L(P' -> P u N).
    """

    text_to_image: Float[Tensor, ""]
    image_to_text: Float[Tensor, ""]
    text_to_text: Float[Tensor, ""]

    @property
    def total(self) -> Float[Tensor, ""]:
        """L_hc, the sum of the three terms."""
        return self.text_to_image + self.image_to_text + self.text_to_text


def hco(
    image: Float[Tensor, "b d"],
    positive: Float[Tensor, "b d"],
    negated_positive: Float[Tensor, "b d"],
    negative: Float[Tensor, "b d"],
    config: HcoConfig | None = None,
) -> HcoTerms:
    """Draw images to their negated-positive captions, and both away from true negatives, in the Poincaré ball.

    With ``s(x, y) = -D(g(x), g(y)) / tau``, v, p, p', n the placed features of image, P, P' and N:
    ``L(P'->I) = mean_i -log [exp s(p'_i, v_i) / sum_k exp s(p'_i, v_k)]``;
    ``L(I->P' u N) = mean_i -log [exp s(v_i, p'_i) / sum_k (exp s(v_i, p'_k) + exp s(v_i, n_k))]``;
    ``L(P'->P u N) = mean_i -log [exp s(p'_i, p_i) / sum_k (exp s(p'_i, p_k) + exp s(p'_i, n_k))]``.

    image, positive, negated_positive, negative: encoder outputs [b, d], un-normalised, row i of one quadruplet;
    config: `HcoConfig`, the paper's by default. Each term is >= 0; a batch of one makes the first exactly 0. Under
    autocast, and for half types, the computation still runs in float64 and returns float32.
    Raises UserError for NaN or infinite features and for an unresolved ``temperature = "model"``.

    Source: HANCLIP (arXiv 2606.23843) equations 5-7. Deviations, each with its reason in docs/methods.md: -D instead
    of the printed +D, all pairs of the batch in the denominators, mean instead of sum.
    """
    config = config or HcoConfig()
    features = {"image": image, "positive": positive, "negated_positive": negated_positive, "negative": negative}
    require_finite(**features)
    with full_precision(image):
        v, p, q, n = place(torch.stack([widen(feature) for feature in features.values()]), config)
        terms = hco_of_placed(v, p, q, n, config)
    return HcoTerms(*(narrow(term, *features.values()) for term in terms))


def hco_of_placed(
    image: Float[Tensor, "b d"],
    positive: Float[Tensor, "b d"],
    negated_positive: Float[Tensor, "b d"],
    negative: Float[Tensor, "b d"],
    config: HcoConfig,
) -> HcoTerms:
    """The objective of `hco` on features that `place` has treated already; `hanclip` places them once for both losses.

    Shapes and result as for `hco`; the precision is that of the inputs.
    """
    if config.reading == "all_pairs":
        return _over_all_pairs(image, positive, negated_positive, negative, config)
    return _over_matched_pairs(image, positive, negated_positive, negative, config)


def _over_all_pairs(
    image: Tensor, positive: Tensor, negated_positive: Tensor, negative: Tensor, config: HcoConfig
) -> HcoTerms:
    size = len(image)
    # Two calls for all blocks: P' against I, P and N at once, and I against N; I against P' is the first transposed.
    from_text = -all_pairs(negated_positive, torch.cat([image, positive, negative]), config)
    from_image = -all_pairs(image, negative, config)
    text_image, text_text = from_text[:, :size], from_text[:, size:]
    image_text = torch.cat([text_image.T, from_image], dim=1)
    target = torch.arange(size, device=from_text.device)
    scores = (block / config.numeric_temperature for block in (text_image, image_text, text_text))
    return HcoTerms(*(cross_entropy(block, target) for block in scores))


def _over_matched_pairs(
    image: Tensor, positive: Tensor, negated_positive: Tensor, negative: Tensor, config: HcoConfig
) -> HcoTerms:
    sign = 1.0 if config.reading == "paper_literal_sign" else -1.0
    factor = sign / config.numeric_temperature

    def scores(x: Tensor, y: Tensor) -> Tensor:
        return factor * matched(x, y, config)

    def term(numerator: Tensor, *others: Tensor) -> Tensor:
        return torch.logsumexp(torch.cat([numerator, *others]), dim=0) - numerator.mean()

    image_text = scores(negated_positive, image)
    text_text = scores(negated_positive, positive)
    return HcoTerms(
        term(image_text),
        term(image_text, scores(image, negative)),
        term(text_text, scores(negated_positive, negative)),
    )
