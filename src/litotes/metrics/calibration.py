"""Whether a probability means what it says: reliability by bins, expected calibration error, Brier score."""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite

Binning = Literal["width", "count"]


class Reliability(NamedTuple):
    """Bins of answers by their probability, those without an answer left out: the data of a reliability diagram.

    answers [bins]: how many; confidence [bins]: their mean probability; frequency [bins]: the share of right ones.
    ece: sum_b answers_b / n |frequency_b - confidence_b|, 0 to 1; largest: the largest of these differences.
    """

    answers: Int[Tensor, " bins"]
    confidence: Float[Tensor, " bins"]
    frequency: Float[Tensor, " bins"]
    ece: float
    largest: float


def reliability(
    probabilities: Float[Tensor, " n"], right: Bool[Tensor, " n"], bins: int = 10, binning: Binning = "count"
) -> Reliability:
    """How often answers of about the same probability are right, and the expected calibration error.

    Bins of equal ``width``: bin b of M holds p with b/M < p <= (b + 1)/M, and p = 0 belongs to the first (Guo et al.).
    Bins of equal ``count``: an answer that r others are below is in bin floor(r M / n), so that equal probabilities
    share a bin, whatever their order, and a bin can then hold more than n/M, or none. Errors of opposite sign within a
    bin cancel, and chance adds more the more bins there are: compare only at one M, binning and n.

    probabilities: in [0, 1]; right: what came true; bins: M >= 1. In float64. Source: Guo et al. 2017 (equal width);
    Nixon et al. 2019 (equal count). Errors: no answer, other lengths, numbers outside [0, 1] or not finite.
    """
    p, y = _answers(probabilities, right)
    _require_known(bins, binning)
    if binning == "width":
        place = (p * bins).ceil().long().sub(1).clamp(0, bins - 1)
    else:
        _, group, sizes = p.unique(return_inverse=True, return_counts=True)
        place = ((sizes.cumsum(0) - sizes) * bins // len(p))[group]
    count = place.bincount(minlength=bins)
    held = count > 0
    count = count[held]
    confidence, frequency = (place.bincount(weights, minlength=bins)[held] / count for weights in (p, y))
    gap = (frequency - confidence).abs()
    return Reliability(count, confidence, frequency, float((gap * count).sum() / len(p)), float(gap.max()))


def brier(probabilities: Float[Tensor, " n"], right: Bool[Tensor, " n"]) -> float:
    """``mean (p - y)^2``, 0 (sure and right) to 1 (sure and wrong); 1/4 for p = 1/2 throughout.

    Least in expectation at the true probability, unlike ECE, which a constant p of the right mean makes 0. Inputs and
    errors as in `reliability`. Source: Brier 1950, for two outcomes.
    """
    p, y = _answers(probabilities, right)
    return float((p - y).square().mean())


def _answers(probabilities: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    p, y = two_rows(probabilities, right, "probabilities")
    outside = int(((p < 0) | (p > 1)).sum())
    if outside:
        raise UserError(
            got=f"{outside} of {len(p)} probabilities outside [0, 1]",
            expected="probabilities, as of a calibrator or a sigmoid",
            do="turn scores into probabilities first",
        )
    return p, y


def two_rows(numbers: Tensor, right: Tensor, what: str) -> tuple[Tensor, Tensor]:
    """Both as float64 rows on the CPU. Errors: other shapes, no row, not bool, not finite."""
    if numbers.ndim != 1 or numbers.shape != right.shape or not len(numbers) or right.dtype != torch.bool:
        raise UserError(
            got=f"{what} of shape {tuple(numbers.shape)} and outcomes of shape {tuple(right.shape)} and {right.dtype}",
            expected="one number and one true or false each, for at least one answer",
            do="give both as a row, in the same order",
        )
    refuse_non_finite(numbers, what)
    return numbers.detach().cpu().to(torch.float64), right.detach().cpu().to(torch.float64)


def _require_known(bins: int, binning: str) -> None:
    if bins < 1 or binning not in get_args(Binning):
        raise UserError(
            got=f"bins = {bins}, binning = {binning!r}",
            expected="a whole number from 1 on, and width or count",
            do="correct them",
        )
