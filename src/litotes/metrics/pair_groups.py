"""Uncertainty by what a pair is, where the complete relevance is known, and the ranks of all that is relevant."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite
from litotes.metrics.graded import PositiveRanks
from litotes.metrics.streaming import behind_their_equals

LABELLED, MISSING, HARD, EASY, MISLABELLED = "labelled", "missing", "hard", "easy", "mislabelled"
"""Labelled true pairs, unlabelled true pairs, hard and easy wrong pairs, and labelled pairs that are wrong."""


class GroupSummary(NamedTuple):
    """pairs: how many; mean, and the quartiles low, median and high of their values; None of an empty group."""

    pairs: int
    mean: float | None
    low: float | None
    median: float | None
    high: float | None


def pair_groups(
    scores: Float[Tensor, "images texts"],
    labelled: Bool[Tensor, "rows columns"],
    relevant: Bool[Tensor, "_ _"],
    hardest: int = 1,
) -> dict[str, Bool[Tensor, "images texts"]]:
    """Which pairs are of which group, by name; each pair is in exactly one.

    ``labelled``: labelled and relevant; ``missing``: relevant without a label (false negatives of a training);
    ``hard``: of the pairs of a row that are neither, the ``hardest`` of highest score, of equal ones the first;
    ``easy``: the rest of these; ``mislabelled``: labelled, but not relevant.

    scores [images, texts]: any, higher is better; labelled: what a training was told; relevant: all that is true. A row
    without a wrong pair has none that is hard. Transpose all three for the hardest images of each text. Errors: shapes
    that differ, nothing at all, hardest below 1, scores that are not finite.
    """
    if scores.ndim != 2 or not scores.numel() or hardest < 1 or not scores.shape == labelled.shape == relevant.shape:
        raise UserError(
            got=f"scores {tuple(scores.shape)}, labels {tuple(labelled.shape)}, relevance {tuple(relevant.shape)}, "
            f"hardest = {hardest}",
            expected="three matrices of one shape, images x texts, and at least one hard pair a row",
            do="give them of the same images and texts",
        )
    refuse_non_finite(scores)
    wrong = ~(labelled | relevant)
    order = scores.masked_fill(~wrong, -torch.inf).argsort(dim=1, descending=True, stable=True)[:, :hardest]
    hard = torch.zeros_like(wrong).scatter(1, order, value=True) & wrong
    return {
        LABELLED: labelled & relevant, MISSING: relevant & ~labelled, HARD: hard, EASY: wrong & ~hard,
        MISLABELLED: labelled & ~relevant,
    }  # fmt: skip


def by_group(values: Tensor, groups: Mapping[str, Tensor]) -> dict[str, GroupSummary]:
    """Mean and quartiles of the values of each group, in float64.

    values: a number a pair, of the shape of every mask in ``groups`` (`pair_groups`). Quartiles lie straight between
    the two nearest values. Errors: another shape; values that are not finite.
    """
    refuse_non_finite(values, "values")
    found = {}
    for name, mask in groups.items():
        if mask.shape != values.shape:
            raise UserError(
                got=f"values of shape {tuple(values.shape)} and a group of shape {tuple(mask.shape)}",
                expected="one value a pair",
                do="give values and groups of the same pairs",
            )
        members = values.detach().cpu()[mask.cpu()].to(torch.float64).sort().values
        if len(members):
            quartiles = (_between(members, share) for share in (0.25, 0.5, 0.75))
            found[name] = GroupSummary(len(members), float(members.mean()), *quartiles)
        else:
            found[name] = GroupSummary(0, None, None, None, None)
    return found


def relevant_ranks(scores: Float[Tensor, "queries items"], relevant: Bool[Tensor, "_ _"]) -> PositiveRanks:
    """The rank of every relevant item of every query, for `metrics.graded`; ties count against it.

    scores, relevant: [queries, items]; transpose both for the other way. Errors: shapes that differ, a query with
    nothing relevant, scores that are not finite.
    """
    if scores.ndim != 2 or scores.shape != relevant.shape or not bool(relevant.any(dim=1).all()):
        raise UserError(
            got=f"scores {tuple(scores.shape)}, relevance {tuple(relevant.shape)}, or a query with nothing relevant",
            expected="one shape, and at least one relevant item a query",
            do="leave out queries that have no answer",
        )
    refuse_non_finite(scores)
    query, item = relevant.cpu().nonzero(as_tuple=True)
    rows = scores.detach().cpu().to(torch.float64)
    rising = rows.sort(dim=1).values
    own = rows[query, item]
    # One row of the relevant scores for each query, filled up, so that all are searched at once.
    count = relevant.sum(dim=1).cpu()
    place = torch.arange(len(query)) - (count.cumsum(0) - count)[query]
    wanted = torch.zeros(len(rows), int(count.max()), dtype=torch.float64)
    wanted[query, place] = own
    below = torch.searchsorted(rising, wanted)[query, place]
    return behind_their_equals(query, rows.shape[1] - below)


def _between(rising: Tensor, share: float) -> float:
    """The value below which a share of sorted values lies; torch's own quantile ends at 2^24 values."""
    at = share * (len(rising) - 1)
    left = int(at)
    right = min(left + 1, len(rising) - 1)
    return float(rising[left] + (at - left) * (rising[right] - rising[left]))
