"""Answering only where one is sure: risk by coverage, and how well a score tells two groups apart."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite


class RiskCoverage(NamedTuple):
    """``coverage`` [n]: 1/n, 2/n ... 1; ``risk`` [n]: mean error of that share of the answers, the surest first.

    ``aurc``: mean of ``risk``; ``excess``: what lies above the least that any order of these errors can have.
    """

    coverage: Float[Tensor, " n"]
    risk: Float[Tensor, " n"]
    aurc: float
    excess: float


def risk_coverage(uncertainty: Float[Tensor, " n"], errors: Tensor) -> RiskCoverage:
    """The error that is left when only the k least uncertain of n answers are given, for every k.

    risk_k = 1/k sum_{i<=k} e_(i), answers in the order of rising uncertainty; AURC = 1/n sum_k risk_k; excess = AURC
    minus that of the answers in the order of their errors. Equal uncertainties are not put in an order that could help:
    every answer of such a group counts the group's mean error, which is what a random order gives on average.

    ``uncertainty``: any monotone score, higher is less sure; ``errors`` [n]: 0 or 1, or any finite loss of each answer.
    Range: that of the errors. Float64 throughout. Source: El-Yaniv and Wiener 2010 (risk-coverage), Geifman, Uziel and
    El-Yaniv 2019 (excess over the best order). Errors: no answer, other lengths, numbers that are not finite.
    """
    unsure, lost = _two(uncertainty, errors.to(torch.float64), "errors")
    order = unsure.argsort()
    risk = _running_mean(_by_group(unsure[order], lost[order]))
    best = _running_mean(lost.sort().values)
    aurc = float(risk.mean())
    coverage = torch.arange(1, len(risk) + 1, dtype=torch.float64) / len(risk)
    return RiskCoverage(coverage, risk, aurc, aurc - float(best.mean()))


def auroc(scores: Float[Tensor, " n"], positive: Bool[Tensor, " n"]) -> float | None:
    """How often a positive scores above a negative: P(s+ > s-) + P(s+ = s-) / 2; 0-1, 0.5 for scores that say nothing.

    Equal to the area under the ROC curve (Mann-Whitney). None where all are positive or none is. Errors: no score,
    other lengths, scores that are not finite, positives that are not true or false.
    """
    if positive.dtype != torch.bool:
        raise UserError(
            got=f"positives of type {positive.dtype}",
            expected="torch.bool",
            do="say which are positive by true or false",
        )
    values, is_positive = _two(scores, positive, "positives")
    n_positive = int(is_positive.sum())
    n_negative = len(values) - n_positive
    if not n_positive or not n_negative:
        return None
    _, group, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).to(torch.float64)
    middle = last - (counts.to(torch.float64) - 1) / 2
    return float((middle[group][is_positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def _by_group(values: Tensor, errors: Tensor) -> Tensor:
    """Each error as the mean over those of equal value; both sorted by value."""
    _, group, counts = values.unique_consecutive(return_inverse=True, return_counts=True)
    sums = torch.zeros(len(counts), dtype=torch.float64).index_add_(0, group, errors)
    return (sums / counts)[group]


def _running_mean(errors: Tensor) -> Tensor:
    return errors.cumsum(0) / torch.arange(1, len(errors) + 1, dtype=torch.float64)


def _two(scores: Tensor, others: Tensor, what: str) -> tuple[Tensor, Tensor]:
    if scores.ndim != 1 or scores.shape != others.shape or not len(scores):
        raise UserError(
            got=f"scores of shape {tuple(scores.shape)} and {what} of shape {tuple(others.shape)}",
            expected="one number each for at least one answer",
            do="give both as a row, in the same order",
        )
    refuse_non_finite(scores)
    refuse_non_finite(others, what)
    return scores.detach().cpu().to(torch.float64), others.detach().cpu()
