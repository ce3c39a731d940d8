"""Quality by bins of uncertainty, with its correlations."""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite
from litotes.metrics.correlation import pearson, spearman

BinsOf = Literal["count", "width"]


class UncertaintyBins(NamedTuple):
    """Bins by rising uncertainty, those without an answer left out.

    answers, uncertainty, quality [bins]: how many, and the means of both. pearson_by_uncertainty,
    pearson_by_index: of the bins' mean quality with their mean uncertainty, or with their number 0, 1, ...; spearman:
    with either. All three None for a single bin, or where all bins have one quality.
    """

    answers: Int[Tensor, " bins"]
    uncertainty: Float[Tensor, " bins"]
    quality: Float[Tensor, " bins"]
    pearson_by_uncertainty: float | None
    pearson_by_index: float | None
    spearman: float | None


def uncertainty_bins(
    uncertainty: Float[Tensor, " n"], quality: Tensor, bins: int = 10, binning: BinsOf = "count"
) -> UncertaintyBins:
    """How good the answers of about the same uncertainty are.

    Bins of equal ``count``: an answer that r others are less uncertain than is in bin floor(r M / n), so that equal
    uncertainties share a bin, which can then hold more than n/M, or none; without ties the bins hold n/M each, and the
    mean of their qualities is that of all answers. Bins of equal ``width``: M of them from the least to the largest
    uncertainty, each without its lower end but the first; one bin where all are equal.

    uncertainty [n]: higher is less sure, any scale; quality [n]: such as 1 where R@1 hits, or the AP@R of a query;
    bins: M >= 1. In float64. Few bins correlate highly by chance: of ten, beyond 0.63 in one of twenty cases without
    any relation. Errors: no answer, other lengths, numbers not finite.
    Source: VACSR (arXiv 2605.30968), Figure 3. Its text says equal width, its ten points average to its own R@1, which
    equal counts alone do (reading A18); its correlations say not with what (A19): both are given.
    """
    unsure, good = _two(uncertainty, quality)
    if bins < 1 or binning not in get_args(BinsOf):
        raise UserError(
            got=f"bins = {bins}, binning = {binning!r}",
            expected="a whole number from 1 on, and count or width",
            do="correct them",
        )
    if binning == "count":
        _, group, sizes = unsure.unique(return_inverse=True, return_counts=True)
        place = ((sizes.cumsum(0) - sizes) * bins // len(unsure))[group]
    else:
        low, reach = unsure.min(), unsure.max() - unsure.min()
        share = (unsure - low) / reach if float(reach) else torch.zeros_like(unsure)
        place = (share * bins).ceil().long().sub(1).clamp(0, bins - 1)
    count = place.bincount(minlength=bins)
    held = count > 0
    count = count[held]
    unsure, good = (place.bincount(row, minlength=bins)[held] / count for row in (unsure, good))
    by_index = pearson(torch.arange(len(count)), good)
    return UncertaintyBins(count, unsure, good, pearson(unsure, good), by_index, spearman(unsure, good))


def _two(uncertainty: Tensor, quality: Tensor) -> tuple[Tensor, Tensor]:
    if uncertainty.ndim != 1 or uncertainty.shape != quality.shape or not len(quality):
        raise UserError(
            got=f"uncertainties of shape {tuple(uncertainty.shape)} and qualities of shape {tuple(quality.shape)}",
            expected="one number each for at least one answer",
            do="give both as a row, in the same order",
        )
    refuse_non_finite(uncertainty, "uncertainties")
    unsure, good = (row.detach().cpu().to(torch.float64) for row in (uncertainty, quality))
    refuse_non_finite(good, "qualities")
    return unsure, good
