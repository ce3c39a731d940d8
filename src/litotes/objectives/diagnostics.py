"""What to look at while VACSR's adapter learns: log-variances, components, residuals, and signs of a collapse."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from litotes.geometry.numerics import LOG_VAR_BOUND, widen
from litotes.objectives.pairs import require_pairs
from litotes.objectives.vacsr import PairSample

IDLE = 0.1
"""A component is idle below this share of an even weight: alpha_k < IDLE / K, which is 5 % for two components."""

AT_BOUND = 0.01
"""Share of log-variances at the ends of their range from which on it is told."""

FLAT = 1e-3
"""A component is flat below this mean divergence, in nats a dimension: it is the prior, whatever the pair."""


class PairDiagnostics(NamedTuple):
    """Means over the pairs of a batch, or of several (`joined`); lists have one number for each of K components.

    pairs, positive_pairs: how many; log_var_min, log_var_mean, log_var_max: of all components and dimensions;
    at_bound: share of these at the ends of the range they are kept in, plus and minus 10; kl: mean over pairs and
    dimensions of 1/2 (mu_k^2 + exp(lv_k) - 1 - lv_k), in nats; weights: mean alpha_k; shares: share of pairs whose draw
    is of component k (of a soft choice, its largest), in expectation equal to the weights; positive_residual: mean
    (1 - p)^2 of the positive pairs, None without any.
    """

    pairs: int
    positive_pairs: int
    log_var_min: float
    log_var_mean: float
    log_var_max: float
    at_bound: float
    kl: tuple[float, ...]
    weights: tuple[float, ...]
    shares: tuple[float, ...]
    positive_residual: float | None


@torch.no_grad()
def diagnostics(sample: PairSample, positives: Bool[Tensor, "rows columns"]) -> PairDiagnostics:
    """The state of an adapter on the pairs of a batch.

    sample: what the adapter gives; positives: bool [bi, bt], as in `vacsr`. Errors: an empty batch, positives
    of another shape, logits that are not finite.
    """
    require_pairs(sample.logits, positives)
    log_var, (pairs, k) = sample.log_var, (sample.logits.numel(), sample.weights.shape[-1])
    kl = (sample.mean.square() + (torch.expm1(log_var) - log_var)).mean(-1) / 2
    drawn = sample.choice.argmax(-1).flatten().bincount(minlength=k)
    residual = torch.sigmoid(-widen(sample.logits)[positives.to(sample.logits.device)]).square()
    return PairDiagnostics(
        pairs,
        residual.numel(),
        float(log_var.min()),
        float(log_var.mean()),
        float(log_var.max()),
        int((log_var.abs() >= LOG_VAR_BOUND).count_nonzero()) / log_var.numel(),
        tuple(kl.mean((0, 1)).tolist()),
        tuple(sample.weights.mean((0, 1)).tolist()),
        tuple(count / pairs for count in drawn.tolist()),
        float(residual.mean()) if len(residual) else None,
    )


def joined(parts: Sequence[PairDiagnostics]) -> PairDiagnostics:
    """The diagnostics of all pairs together; parts: one or more, of one adapter."""
    pairs, positives = (sum(getattr(part, name) for part in parts) for name in ("pairs", "positive_pairs"))

    def mean(name: str) -> float:
        return math.fsum(getattr(part, name) * part.pairs for part in parts) / pairs

    def means(name: str) -> tuple[float, ...]:
        columns = zip(*(getattr(part, name) for part in parts), strict=True)
        return tuple(
            math.fsum(x * part.pairs for x, part in zip(column, parts, strict=True)) / pairs for column in columns
        )

    residuals = [part.positive_residual * part.positive_pairs for part in parts if part.positive_residual is not None]
    return PairDiagnostics(
        pairs,
        positives,
        min(part.log_var_min for part in parts),
        mean("log_var_mean"),
        max(part.log_var_max for part in parts),
        mean("at_bound"),
        means("kl"),
        means("weights"),
        means("shares"),
        math.fsum(residuals) / positives if positives else None,
    )


def named(found: PairDiagnostics) -> dict[str, float]:
    """The numbers by name, for a journal: ``kl_0``, ``kl_1``, ... for the components; what is None is left out."""
    line: dict[str, float] = {}
    for name, value in found._asdict().items():
        if isinstance(value, tuple):
            line |= {f"{name}_{component}": number for component, number in enumerate(value)}
        elif value is not None:
            line[name] = float(value)
    return line


def collapses(found: PairDiagnostics) -> list[str]:
    """A sentence for each component that has collapsed; none is as it should be.

    Idle: mean weight below 0.1 / K, so that the mixture is one of fewer components. Flat: divergence below 0.001 nats a
    dimension, so that it is the prior whatever the pair (posterior collapse). A new adapter is flat by its initial
    weights: ask after training. One component alone is never idle.
    """
    k, told = len(found.weights), []
    for component, (weight, kl) in enumerate(zip(found.weights, found.kl, strict=True)):
        if weight < IDLE / k:
            told.append(
                f"component {component} of {k} is idle: its mean weight is {weight:.3g}, "
                f"below {IDLE / k:.3g} (a tenth of an even share)"
            )
        if kl < FLAT:
            told.append(
                f"component {component} of {k} is flat: its divergence from the prior is {kl:.3g} nats a dimension, "
                f"below {FLAT:g}, so that it says the same of every pair"
            )
    return told


def signs(found: PairDiagnostics | None) -> list[str]:
    """What is wrong with a distribution after its training, in sentences: `collapses`, and log-variances that saturate.

    No sentence is as it should be, or a model without a distribution (None). Saturation is told from 1 % of the
    log-variances at the ends of their range on.
    """
    if found is None:
        return []
    told = [f"{sentence}." for sentence in collapses(found)]
    if found.at_bound > AT_BOUND:
        told.append(
            f"{found.at_bound:.1%} of the log-variances are at the ends of their range, plus and minus 10: "
            "they saturate, and what lies beyond is not told apart."
        )
    return told
