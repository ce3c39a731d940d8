"""The losses of VACSR: a similarity distribution for each pair, fitted to sparse labels.

Pure functions of what an adapter gives for all pairs of a batch: image rows, text columns. Which pairs belong together
is a matrix (`litotes.objectives.match_matrix`), never the diagonal.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from litotes.errors import UserError
from litotes.geometry.numerics import at_least_float32, bounded, full_precision, narrow, require_finite, widen
from litotes.objectives.pairs import PairReduction, require_pairs
from litotes.objectives.space import require_choice, require_choices

ReconGradient = Literal["straight_through", "exact"]
KlReduction = Literal["mean", "sum"]
Variance = Literal["sigmoid", "exp", "sigmoid_std"]
Denominator = Literal["variance", "std"]
LogTerm = Literal["variance", "log_var"]
Aggregation = Literal["elementwise", "sum", "first"]
Hardest = Literal["similarity", "bracket"]
Directions = Literal["images", "both"]
WeightReading = Literal["appendix", "equation_13"]


@dataclass(frozen=True)
class VacsrConfig:
    """Weights and readings of the VACSR losses; the defaults are those that docs/methods.md gives reasons for.

    recon_weight, kl_weight, sigma_positive_weight, sigma_negative_weight: factors >= 0 of the four terms, default 1,
    0.0005, 1, 1 (paper); `paper_weights` makes them from its beta and gamma.
    recon_gradient: ``straight_through``: the sigmoid has gradient 1 (paper, Eq. 15); ``exact``: its own.
    recon_reduction: ``mean`` over all pairs; ``per_image``: their sum divided by the number of images (SigLIP).
    kl_reduction: ``mean`` or ``sum`` over the latent dimensions.
    variance: what L_sigma takes for sigma^2 of a log-variance lv. ``sigmoid``: sigmoid(lv); ``exp``: exp(lv), without a
    sigmoid; ``sigmoid_std``: sigmoid(lv)^2. For a sigmoid in every place choose ``exp`` here, and the adapter's
    ``log_var = "log_sigmoid"`` or ``"sigmoid"``.
    denominator: r^2 over 2 sigma^2 (``variance``) or over 2 sigma (``std``, Eq. 10 as printed).
    log_term: 1/2 log sigma^2 of the same sigma^2 (``variance``) or 1/2 lv (``log_var``).
    aggregation: mean over dimensions of the elements (``elementwise``), their ``sum``, or one element of the mean
    variance, lv = log mean exp(lv_d) (``first``).
    hard_negatives: N_h >= 1, non-matching captions for each image; default 1.
    hardest: those with the largest p (``similarity``) or with the largest loss (``bracket``, Eq. 12 to the letter,
    which picks the easiest).
    directions: negatives of the ``images``, or ``both``: also the hardest images of each caption, averaged with the
    former.
    negative_target: the label, from 0 to 1, that r measures from at hard negatives; default 1 (paper).
    stop_gradient: whether r^2 in L_sigma is a constant; default true (paper).
    """

    recon_weight: float = 1.0
    kl_weight: float = 0.0005
    sigma_positive_weight: float = 1.0
    sigma_negative_weight: float = 1.0
    recon_gradient: ReconGradient = "straight_through"
    recon_reduction: PairReduction = "mean"
    kl_reduction: KlReduction = "mean"
    variance: Variance = "sigmoid"
    denominator: Denominator = "variance"
    log_term: LogTerm = "variance"
    aggregation: Aggregation = "elementwise"
    hard_negatives: int = 1
    hardest: Hardest = "similarity"
    directions: Directions = "images"
    negative_target: float = 1.0
    stop_gradient: bool = True

    def __post_init__(self) -> None:
        choices = {
            "recon_gradient": ReconGradient,
            "recon_reduction": PairReduction,
            "kl_reduction": KlReduction,
            "variance": Variance,
            "denominator": Denominator,
            "log_term": LogTerm,
            "aggregation": Aggregation,
            "hardest": Hardest,
            "directions": Directions,
        }
        require_choices(self, choices)
        for name in ("recon_weight", "kl_weight", "sigma_positive_weight", "sigma_negative_weight"):
            _require_between(name, float(getattr(self, name)), 0.0, math.inf)
        _require_between("negative_target", float(self.negative_target), 0.0, 1.0)
        if self.hard_negatives < 1:
            raise UserError(
                got=f"hard_negatives = {self.hard_negatives}",
                expected="a whole number from 1 on",
                do="set sigma_negative_weight to 0 to leave hard negatives out",
            )


class PairSample(NamedTuple):
    """What an adapter gives for all pairs of bi images and bt captions: K Gaussians in d dimensions, and one draw.

    logits: [bi, bt], the decoded draw, p = sigmoid(logits); mean, log_var: [bi, bt, K, d], log_var is log sigma^2 of a
    diagonal covariance; weights: [bi, bt, K], alpha, sums to 1; choice: [bi, bt, K], the component drawn, one-hot or
    nearly so; sampled_log_var: [bi, bt, d], sum_k choice_k log_var_k.
    """

    logits: Float[Tensor, "bi bt"]
    mean: Float[Tensor, "bi bt k d"]
    log_var: Float[Tensor, "bi bt k d"]
    weights: Float[Tensor, "bi bt k"]
    choice: Float[Tensor, "bi bt k"]
    sampled_log_var: Float[Tensor, "bi bt d"]


class VacsrTerms(NamedTuple):
    """The weighted sum ``loss`` and its four terms before their weights, each a scalar; both sigma terms can be < 0."""

    loss: Float[Tensor, ""]
    recon: Float[Tensor, ""]
    kl: Float[Tensor, ""]
    sigma_positive: Float[Tensor, ""]
    sigma_negative: Float[Tensor, ""]


def vacsr(sample: PairSample, positives: Bool[Tensor, "rows columns"], config: VacsrConfig | None = None) -> VacsrTerms:
    """The whole loss of VACSR on the pairs of a batch.

    ``L = recon_weight L_recon + kl_weight L_KL + sigma_positive_weight L_sigma^P + sigma_negative_weight L_sigma^N``,
    the terms as in `reconstruction`, `kl_bound`, `sigma_positive` and `sigma_negative`.

    sample: what the adapter gives (`PairSample`); positives: bool [bi, bt], true where image and caption belong
    together (`match_matrix`); config: `VacsrConfig`. A batch without a positive pair, or without a negative one, has 0
    for that term. Terms are float32 (float64 for float64 samples), also under autocast. Raises UserError for NaN or
    infinite samples, shapes that do not fit each other, and an empty batch.
    Source: VACSR (arXiv 2605.30968), Eq. 13, with four weights in place of its three: the appendix multiplies other
    terms by them (`paper_weights`).
    """
    config = config or VacsrConfig()
    _check(sample, positives)
    recon = reconstruction(sample.logits, positives, config)
    kl = kl_bound(sample.mean, sample.log_var, sample.weights, config.kl_reduction)
    positive = sigma_positive(sample.sampled_log_var, sample.logits, positives, config)
    negative = sigma_negative(sample.sampled_log_var, sample.logits, positives, config)
    loss = (
        config.recon_weight * recon
        + config.kl_weight * kl
        + config.sigma_positive_weight * positive
        + config.sigma_negative_weight * negative
    )
    return VacsrTerms(loss, recon, kl, positive, negative)


def reconstruction(
    logits: Float[Tensor, "bi bt"], positives: Bool[Tensor, "rows columns"], config: VacsrConfig | None = None
) -> Float[Tensor, ""]:
    """Half the squared distance of the score to its label, with a sigmoid that the gradient does not see.

    ``L_recon = 1/2 mean_ij (y_ij - p_ij)^2``, ``p = sigmoid(l)``, ``dp/dl := 1``; so ``dL/dl_ij = (p_ij - y_ij) / n``
    over n pairs, which is the gradient of the mean binary cross-entropy of the logits.

    logits: l [bi, bt]; positives: y, bool [bi, bt]; config: ``recon_gradient`` and ``recon_reduction`` count here.
    Returns a scalar in [0, 1/2] for ``mean``, times bt for ``per_image``. Computed in float64 also under autocast.
    Raises UserError for NaN or infinite logits and for positives of another shape.
    Source: VACSR (arXiv 2605.30968), Eq. 8 (there called a log-likelihood, and written as minus one) and 15.
    """
    config = config or VacsrConfig()
    require_pairs(logits, positives)
    with full_precision(logits):
        wide = widen(logits)
        p = wide.sigmoid()
        if config.recon_gradient == "straight_through":
            p = p.detach() + (wide - wide.detach())
        squares = (positives.to(wide) - p).square() / 2
        count = squares.numel() if config.recon_reduction == "mean" else len(squares)
        return narrow(squares.sum() / count, logits)


def kl_bound(
    mean: Float[Tensor, "bi bt k d"],
    log_var: Float[Tensor, "bi bt k d"],
    weights: Float[Tensor, "bi bt k"],
    reduction: KlReduction = "mean",
) -> Float[Tensor, ""]:
    """An upper bound of the divergence of the mixtures from a standard normal, averaged over the pairs.

    ``L_KL = mean_ij sum_k alpha_k mean_d 1/2 (mu_k^2 + exp(lv_k) - 1 - lv_k)``: the divergence is convex, so that the
    mixture of the components' divergences is no less than the mixture's.

    mean, log_var: mu and lv [bi, bt, K, d]; weights: alpha [bi, bt, K]; reduction: ``mean`` or ``sum`` over d (with a
    sum, and 0.0005 for its weight, it would outgrow the reconstruction). Returns a scalar >= 0 in natural logarithms, 0
    for mu = lv = 0. Computed in float32 at least, also under autocast: these are the largest tensors of a step. An lv
    above 88 overflows float32; the adapter's end at 10. Raises UserError for NaN or infinite inputs.
    Source: VACSR (arXiv 2605.30968), section 3.1; mean over d as in PCME++.
    """
    require_choice("reduction", reduction, get_args(KlReduction))
    require_finite(mean=mean, log_var=log_var, weights=weights)
    with full_precision(mean):
        mean, log_var, weights = at_least_float32(mean), at_least_float32(log_var), at_least_float32(weights)
        # expm1 keeps the digits that exp(lv) - 1 loses near lv = 0.
        elements = (mean.square() + (torch.expm1(log_var) - log_var)) / 2
        component = elements.mean(-1) if reduction == "mean" else elements.sum(-1)
        return (weights * component).sum(-1).mean()


def sigma_positive(
    log_var: Float[Tensor, "*pairs d"],
    logits: Float[Tensor, "bi bt"],
    positives: Bool[Tensor, "rows columns"],
    config: VacsrConfig | None = None,
) -> Float[Tensor, ""]:
    """Fit the variance of matching pairs to how far their score is from 1.

    ``L_sigma^P = mean over positive pairs of mean_d [r^2 / (2 s2_d) + 1/2 log s2_d]``, ``s2 = sigmoid(lv)``,
    ``r = 1 - sigmoid(l)``; least at ``s2 = r^2``.

    log_var: sampled log-variance lv [bi, bt, d]; logits: l [bi, bt]; positives: bool [bi, bt]; config: ``variance``,
    ``denominator``, ``log_term``, ``aggregation`` and ``stop_gradient`` count here. Returns a scalar without bounds of
    sign, 0 with zero gradient if no pair is positive. lv is kept within +-10 (`bounded`). Computed in float64 also
    under autocast. Raises UserError for NaN or infinite inputs and for shapes that do not fit each other.
    Source: VACSR (arXiv 2605.30968), Eq. 10 and 11; the printed 1/(2 sigma) is read as 1/(2 sigma^2), which the
    derivative in Eq. 11 needs.
    """
    config = config or VacsrConfig()
    _check_sigma(log_var, logits, positives)
    with full_precision(logits):
        rows, columns = positives.to(logits.device).nonzero(as_tuple=True)
        fits = _fits(log_var, widen(logits), rows, columns, 1.0, config)
        return narrow(fits.mean() if len(fits) else _nothing(logits, log_var), logits, log_var)


def sigma_negative(
    log_var: Float[Tensor, "*pairs d"],
    logits: Float[Tensor, "bi bt"],
    positives: Bool[Tensor, "rows columns"],
    config: VacsrConfig | None = None,
) -> Float[Tensor, ""]:
    """Fit the variance of each image's most similar wrong captions, as if they were right.

    ``L_sigma^N = mean_i mean over the N_h wrong captions j of i with the largest l_ij`` of the element of
    `sigma_positive` with ``r = target - p_ij``.

    Inputs as there; config: also ``hard_negatives``, ``hardest``, ``directions`` and ``negative_target`` count. The
    choice is by logit (p itself ties where the sigmoid is saturated) and has no gradient; equal logits go to the first.
    An image with fewer wrong captions than N_h is averaged over those it has, one with none is left out; 0 with zero
    gradient if none is left. Precision and errors as there.
    Source: VACSR (arXiv 2605.30968), Eq. 12. Its maximum is over the bracket, which the easiest negatives win, while
    the text asks for hard ones: chosen by similarity here.
    """
    config = config or VacsrConfig()
    _check_sigma(log_var, logits, positives)
    wrong = ~positives.to(logits.device)
    with full_precision(logits):
        wide = widen(logits)
        ranking = _brackets(log_var, logits, config) if config.hardest == "bracket" else logits.detach()
        picks = [hardest_negatives(ranking, wrong, config.hard_negatives)]
        if config.directions == "both":
            columns, rows = hardest_negatives(ranking.T, wrong.T, config.hard_negatives)
            picks.append((rows, columns))
        halves = []
        for axis, (rows, columns) in enumerate(picks):
            fits = _fits(log_var, wide, rows, columns, config.negative_target, config)
            halves.append(_mean_by(fits, (rows, columns)[axis].to(fits.device)))
        some = [half for half in halves if half is not None]
        return narrow(torch.stack(some).mean() if some else _nothing(logits, log_var), logits, log_var)


def hardest_negatives(
    scores: Float[Tensor, "bi bt"], wrong: Bool[Tensor, "bi bt"], count: int
) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"]]:
    """Rows and columns of the ``count`` highest scores among the wrong pairs of each row, equal scores in order.

    scores: [bi, bt], finite; wrong: bool [bi, bt]. A row gives as many pairs as it has, at most ``count``.
    """
    scores = at_least_float32(scores).masked_fill(~wrong, -torch.inf)
    best = scores.argsort(dim=1, descending=True, stable=True)[:, :count]
    row, place = wrong.gather(1, best).nonzero(as_tuple=True)
    return row, best[row, place]


def paper_weights(
    alpha: float = 0.0005, beta: float = 1.0, gamma: float = 1.0, reading: WeightReading = "appendix"
) -> VacsrConfig:
    """The configuration with the paper's three weights, which its equation and its appendix attach to other terms.

    ``appendix`` (default): alpha L_KL + L_recon + beta (L_sigma^P + gamma L_sigma^N); ``equation_13``:
    alpha L_KL + beta (L_recon + gamma (L_sigma^P + L_sigma^N)). Both agree at beta = gamma = 1.
    Source: VACSR (arXiv 2605.30968), Eq. 13 and Appendix E.1. With beta = 0 its R@1 stays near 85, which could not be
    if beta had removed the reconstruction.
    """
    require_choice("reading", reading, get_args(WeightReading))
    if reading == "appendix":
        return VacsrConfig(kl_weight=alpha, sigma_positive_weight=beta, sigma_negative_weight=beta * gamma)
    return VacsrConfig(
        kl_weight=alpha,
        recon_weight=beta,
        sigma_positive_weight=beta * gamma,
        sigma_negative_weight=beta * gamma,
    )


def _fits(log_var: Tensor, logits: Tensor, rows: Tensor, columns: Tensor, target: float, config: VacsrConfig) -> Tensor:
    """The element of L_sigma for the pairs (rows, columns), in the precision of the logits: [pairs]."""
    at = rows.to(log_var.device), columns.to(log_var.device)
    chosen = logits[rows.to(logits.device), columns.to(logits.device)]
    # 1 - p as sigmoid(-l) keeps its digits where p is nearly 1.
    residual = (torch.sigmoid(-chosen) - (1 - target)).square()
    if config.stop_gradient:
        residual = residual.detach()
    return _element(log_var[at].to(logits), residual, config)


def _element(log_var: Tensor, residual: Tensor, config: VacsrConfig) -> Tensor:
    """``r^2 / (2 s2) + 1/2 log s2`` over the last axis of log_var; residual: r^2, one for each vector of log_var."""
    log_var = bounded(log_var)
    if config.aggregation == "first":
        log_var = log_var.logsumexp(-1, keepdim=True) - math.log(log_var.shape[-1])
    log_s2 = {"sigmoid": logsigmoid(log_var), "exp": log_var, "sigmoid_std": 2 * logsigmoid(log_var)}[config.variance]
    inverse = torch.exp(-log_s2 if config.denominator == "variance" else -log_s2 / 2)
    log_term = log_s2 if config.log_term == "variance" else log_var
    elements = (residual.unsqueeze(-1) * inverse + log_term) / 2
    return elements.sum(-1) if config.aggregation == "sum" else elements.mean(-1)


def _brackets(log_var: Tensor, logits: Tensor, config: VacsrConfig) -> Tensor:
    """The element of L_sigma of every pair, without gradient, in float32 at least: all pairs are many numbers."""
    with torch.no_grad():
        residual = (torch.sigmoid(-at_least_float32(logits)) - (1 - config.negative_target)).square()
        return _element(at_least_float32(log_var), residual.to(log_var.device), config)


def _mean_by(values: Tensor, anchors: Tensor) -> Tensor | None:
    """Mean over the anchors of the mean of each anchor's values; None without any."""
    if not len(values):
        return None
    _, group, counts = anchors.unique(return_inverse=True, return_counts=True)
    return (values / counts[group]).sum() / len(counts)


def _nothing(*tensors: Tensor) -> Tensor:
    """0 with a zero gradient to each of the tensors."""
    return torch.stack([widen(tensor.flatten()[:1].sum()) * 0 for tensor in tensors]).sum()


def _require_between(name: str, number: float, low: float, high: float) -> None:
    if not (low <= number <= high and math.isfinite(number)):
        raise UserError(
            got=f"{name} = {number}",
            expected=f"a finite number from {low:g} on" if high == math.inf else f"a number from {low:g} to {high:g}",
            do=f"correct {name}",
        )


def _check(sample: PairSample, positives: Tensor) -> None:
    require_pairs(sample.logits, positives)
    bi, bt = sample.logits.shape
    k, d = sample.weights.shape[-1:], sample.sampled_log_var.shape[-1:]
    wanted = {
        "weights": (bi, bt, *k),
        "choice": (bi, bt, *k),
        "sampled_log_var": (bi, bt, *d),
        "mean": (bi, bt, *k, *d),
        "log_var": (bi, bt, *k, *d),
    }
    for name, shape in wanted.items():
        found = tuple(getattr(sample, name).shape)
        if found != shape:
            raise UserError(
                got=f"{name} of shape {found} beside logits of {bi} x {bt}",
                expected=f"shape {shape}",
                do="give the sample of one adapter for one batch",
            )


def _check_sigma(log_var: Tensor, logits: Tensor, positives: Tensor) -> None:
    require_pairs(logits, positives)
    if log_var.shape[:2] != logits.shape:
        raise UserError(
            got=f"log_var of shape {tuple(log_var.shape)} beside logits of shape {tuple(logits.shape)}",
            expected=f"shape ({logits.shape[0]}, {logits.shape[1]}, d)",
            do="give both of the same pairs",
        )
    require_finite(log_var=log_var)
