"""Whether a number tells two groups of pairs apart that have the same score."""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite
from litotes.metrics.selective import auroc

Weighting = Literal["positives", "pairs"]


class MatchedAuroc(NamedTuple):
    """``auroc``: weighted mean over the bins that hold both groups, 0-1, None where none does.

    bins: how many do; positives, negatives: how many of each stand in them; positives_left_out: those in other bins;
    by_bin: the AUROC of each such bin, by rising score; weights: its share of the mean.
    """

    auroc: float | None
    bins: int
    positives: int
    negatives: int
    positives_left_out: int
    by_bin: tuple[float, ...]
    weights: tuple[float, ...]


def matched_auroc(
    values: Float[Tensor, " n"],
    positive: Tensor,
    score: Float[Tensor, " _"],
    bins: int = 20,
    weighting: Weighting = "positives",
) -> MatchedAuroc:
    """How often a positive has the higher value than a negative of about the same score; 0.5: values say nothing more.

    ``sum_b w_b AUROC_b`` over bins of the score. A bin holds the positives that floor(r M / n) says, r the number of
    the n positives of lower score, so that equal scores share a bin, and the negatives between the bins' scores:
    above the positives before it, up to its own highest. Negatives below all positives or above them are in none.

    values: what is tested, such as an uncertainty; positive: the group, such as unlabelled true pairs against wrong
    ones; score: p or, the same by its ranks, the logit; bins: M >= 1; weighting: w_b by ``positives`` (the mean over
    the positives that have a negative of their score: each counts once, wherever negatives are many) or by ``pairs`` of
    a positive and a negative (crowded scores decide).

    Within a bin the score still varies: give the negated score as values for what that alone makes of this, and more
    bins to make it less. Errors: no positive or no negative, other lengths, numbers not finite, bins below 1.
    Source: stratification by a score, as in Rosenbaum and Rubin 1984; AUROC as in `auroc`.
    """
    value, s, group = _checked(values, positive, score, bins, weighting)
    own = s[group].sort().values
    below = torch.searchsorted(own, s)
    place = below * bins // len(own)
    inside = (below < len(own)) & (s >= own[0])
    areas, weights, shown, rivals = [], [], 0, 0
    for number in range(bins):
        here = inside & (place == number)
        with_value = auroc(value[here], group[here]) if bool(here.any()) else None
        if with_value is None:
            continue
        n_positive = int(group[here].sum())
        n_negative = int(here.sum()) - n_positive
        areas.append(with_value)
        weights.append(n_positive if weighting == "positives" else n_positive * n_negative)
        shown, rivals = shown + n_positive, rivals + n_negative
    shares = tuple(weight / sum(weights) for weight in weights)
    mean = sum(area * weight for area, weight in zip(areas, weights, strict=True)) / sum(weights) if areas else None
    return MatchedAuroc(mean, len(areas), shown, rivals, len(own) - shown, tuple(areas), shares)


def _checked(
    values: Tensor, positive: Tensor, score: Tensor, bins: int, weighting: str
) -> tuple[Tensor, Tensor, Tensor]:
    if values.ndim != 1 or not values.shape == positive.shape == score.shape or positive.dtype != torch.bool:
        raise UserError(
            got=f"values {tuple(values.shape)}, groups {tuple(positive.shape)} {positive.dtype}, "
            f"scores {tuple(score.shape)}",
            expected="three rows of one length, the group as true or false",
            do="give them of the same pairs",
        )
    if bins < 1 or weighting not in get_args(Weighting):
        raise UserError(
            got=f"bins = {bins}, weighting = {weighting!r}",
            expected="a whole number from 1 on, and positives or pairs",
            do="correct them",
        )
    if not 0 < int(positive.sum()) < len(positive):
        raise UserError(
            got=f"{int(positive.sum())} of {len(positive)} pairs in the group",
            expected="pairs of both groups",
            do="look at the labels and the relevance",
        )
    refuse_non_finite(values, "values")
    refuse_non_finite(score)
    value, s = (row.detach().cpu().to(torch.float64) for row in (values, score))
    return value, s, positive.cpu()
