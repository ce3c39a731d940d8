"""From scores to probabilities: a temperature, one with an offset, or any rising function, fitted to outcomes.

Fit on data that is used for nothing else: neither trained on, nor measured on afterwards.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.calibration import two_rows

_STEPS = 200
"""Newton steps at most; a few dozen are enough."""

_ROUNDING = 1e-13


@dataclass(frozen=True)
class Scaling:
    """``p = sigmoid(l / temperature + offset)``; temperature > 0, so that no ranking changes."""

    temperature: float
    offset: float = 0.0

    def __call__(self, logits: Float[Tensor, " *n"]) -> Float[Tensor, " *n"]:
        """Probabilities of logits, in float64."""
        return torch.sigmoid(logits.to(torch.float64) / self.temperature + self.offset)


@dataclass(frozen=True)
class Isotonic:
    """A function that rises through the points (``scores``, ``probabilities``), straight between, constant outside.

    scores: rising; probabilities: never falling. Scores between two points of equal probability become equal, so that
    ties can arise; rank by the score.
    """

    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __call__(self, scores: Float[Tensor, " *n"]) -> Float[Tensor, " *n"]:
        """Probabilities of scores, in float64."""
        x, y = (torch.tensor(row, dtype=torch.float64, device=scores.device) for row in self._points())
        at = scores.to(torch.float64).clamp(x[0], x[-1])
        right = torch.searchsorted(x, at).clamp(1, len(x) - 1)
        left = right - 1
        share = (at - x[left]) / (x[right] - x[left])
        return y[left] + share * (y[right] - y[left])

    def _points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """At least two points."""
        if len(self.scores) > 1:
            return self.scores, self.probabilities
        return (self.scores[0], self.scores[0] + 1.0), self.probabilities * 2


def negative_log_likelihood(logits: Float[Tensor, " n"], right: Bool[Tensor, " n"], scaling: Scaling) -> float:
    """``mean log(1 + exp(-+(l / T + b)))`` in nats, minus where right; >= 0. Errors as in `fit_scaling`."""
    values, y = two_rows(logits, right, "logits")
    return _loss(values / scaling.temperature + scaling.offset, y)


def fit_scaling(logits: Float[Tensor, " n"], right: Bool[Tensor, " n"], *, offset: bool = False) -> Scaling:
    """The temperature, and with ``offset`` the offset too, of the least negative log-likelihood: the exact optimum.

    The loss is convex in 1/T and b; by Newton's method, steps halved until they descend, in float64. A temperature
    alone keeps l = 0 at p = 1/2: where wrong pairs are many, as in retrieval, the offset carries their share.

    logits: any finite numbers, higher is more probable; right: what came true.
    Errors: outcomes all alike; no optimum, since a threshold (0, without an offset) parts right from wrong, or since
    higher logits are not more often right; other lengths, numbers not finite, no answer.
    Source: Guo et al. 2017 (temperature); Platt 1999 (offset), with the outcomes themselves for targets.
    """
    values, y = two_rows(logits, right, "logits")
    _require_both(y)
    _require_overlap(values, y, offset=offset)
    # Near 1, so that the two unknowns are of one size whatever the logits' unit is.
    size = float(values.abs().max()) or 1.0
    columns = [values / size, torch.ones_like(values)] if offset else [values / size]
    slope, *rest = _newton(torch.stack(columns, 1), y).tolist()
    if slope <= 0:
        raise UserError(
            got="logits of which the higher are not more often right",
            expected="a model that ranks better than chance on these pairs",
            do="train the model further; see that right and wrong are not swapped",
        )
    return Scaling(size / slope, rest[0] if offset else 0.0)


def fit_isotonic(scores: Float[Tensor, " n"], right: Bool[Tensor, " n"]) -> Isotonic:
    """The rising function of least squared error: equal to the share of right answers wherever it is constant.

    By pooling adjacent violators; answers of equal score are pooled first, so that their order has no part in it. It
    follows any shape, and with few answers it follows chance: prefer `fit_scaling` below some thousand answers.
    Only the first and last score of each constant part are kept as points.

    scores: any finite numbers, higher is more probable. Errors: outcomes all alike; other lengths, numbers not finite,
    no answer. Source: Ayer et al. 1955; Zadrozny and Elkan 2002.
    """
    values, y = two_rows(scores, right, "scores")
    _require_both(y)
    levels, group, counts = values.unique(return_inverse=True, return_counts=True)
    sums = torch.zeros(len(levels), dtype=torch.float64).index_add_(0, group, y)
    pools: list[tuple[float, float, int, int]] = []  # right answers, answers, first and last level
    for level, (hits, count) in enumerate(zip(sums.tolist(), counts.tolist(), strict=True)):
        pool = (hits, count, level, level)
        while pools and pools[-1][0] * pool[1] >= pool[0] * pools[-1][1]:
            before = pools.pop()
            pool = (before[0] + pool[0], before[1] + pool[1], before[2], pool[3])
        pools.append(pool)
    points = [(float(levels[end]), hits / count) for hits, count, *ends in pools for end in sorted(set(ends))]
    return Isotonic(tuple(x for x, _ in points), tuple(p for _, p in points))


def _newton(columns: Tensor, y: Tensor) -> Tensor:
    """The weights of the least mean log-likelihood loss of ``columns @ weights``."""
    weights = torch.zeros(columns.shape[1], dtype=torch.float64)
    for _ in range(_STEPS):
        p = torch.sigmoid(columns @ weights)
        slope = columns.T @ (p - y) / len(y)
        bend = (columns * (p * (1 - p)).unsqueeze(1)).T @ columns / len(y)
        step = torch.linalg.lstsq(bend, slope.unsqueeze(1)).solution.squeeze(1)
        # Losses nearer than rounding are equal: next to the optimum the step itself is the better judge.
        now = _loss(columns @ weights, y) * (1 + _ROUNDING)
        while _loss(columns @ (weights - step), y) > now:
            step = step / 2
        weights = weights - step
        if step.abs().max() <= _ROUNDING * weights.abs().max():
            break
    return weights


def _loss(logits: Tensor, y: Tensor) -> float:
    return float((torch.logaddexp(logits, torch.zeros_like(logits)) - y * logits).mean())


def _require_both(y: Tensor) -> None:
    if y.min() == y.max():
        raise UserError(
            got=f"{len(y)} answers of which {'all' if y[0] else 'none'} were right",
            expected="right and wrong ones",
            do="give more pairs to calibrate on",
        )


def _require_overlap(values: Tensor, y: Tensor, *, offset: bool) -> None:
    """Refuse answers that a threshold parts without a mistake: the likelihood then rises for ever."""
    wrong, right = values[y == 0], values[y == 1]
    cut = bool(wrong.max() <= right.min()) if offset else bool(wrong.max() <= 0 <= right.min())
    if cut:
        raise UserError(
            got=f"{len(values)} answers that a threshold parts into right and wrong without a mistake",
            expected="some right answers below some wrong ones, so that a temperature has an optimum",
            do="give more pairs to calibrate on, of all degrees of likeness",
        )
