"""Retrieval with any number of right items a query: R@K, R-Precision and mAP@R from the ranks of the positives."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from litotes.errors import UserError

UNFOUND = torch.iinfo(torch.int64).max
"""Rank of a positive that no list and no gallery holds."""


class PositiveRanks(NamedTuple):
    """Ranks of all positives of all queries, from 1; ``UNFOUND`` where one is not there at all.

    ``query`` [pairs]: number of the query of each positive, 0 to queries - 1; each query has at least one.
    ``rank`` [pairs]: its rank among everything that the query ranks, no two positives of a query the same.
    """

    query: Tensor
    rank: Tensor


class GradedScores(NamedTuple):
    """Means over the queries, as fractions 0-1: ``recall`` at each K, ``r_precision``, ``map_at_r``."""

    recall: dict[int, float]
    r_precision: float
    map_at_r: float


def graded_scores(found: PositiveRanks, ks: Sequence[int] = (1,)) -> GradedScores:
    """R@K, R-Precision and mAP@R, each the mean over the queries of the functions of this file."""
    return GradedScores(
        recall(found, ks), float(r_precision(found).mean()), float(average_precision_at_r(found).mean())
    )


def recall(found: PositiveRanks, ks: Sequence[int] = (1,)) -> dict[int, float]:
    """Share of the queries whose best positive is among the first K, for each K; fractions 0-1."""
    check_depths(ks)
    first = first_ranks(found)
    return {k: int((first <= k).sum()) / len(first) for k in ks}


def first_ranks(found: PositiveRanks) -> Int[Tensor, " queries"]:
    """Rank of the best positive of each query; the query is a hit at K where it is at most K (any hit counts)."""
    start = torch.full_like(number_of_positives(found), UNFOUND)
    return start.scatter_reduce(0, found.query, found.rank, "amin")


def r_precision(found: PositiveRanks) -> Float[Tensor, " queries"]:
    """Share of the first R places that positives hold, R being the number of positives of the query; float64 0-1.

    R-Precision_q = #{ positives p of q : rank_p <= R_q } / R_q

    A list that ends before place R is divided by R all the same. Source: ECCV Caption (2204.03359), section 4;
    deviation: its package divides a short list by its own length.
    """
    of_query = number_of_positives(found)
    inside = (found.rank <= of_query[found.query]).to(torch.float64)
    return _sum(found.query, inside, len(of_query)) / of_query


def average_precision_at_r(found: PositiveRanks) -> Float[Tensor, " queries"]:
    """Average precision of the first R places, divided by R and not by the hits; float64 0-1.

    AP@R_q = 1 / R_q  sum over places r = 1..R_q of [place r holds a positive] * #{ positives with rank <= r } / r

    The h-th best positive, at rank_h <= R, adds h / rank_h. mAP@R is its mean. Source: Musgrave et al. (2003.08505),
    as in ECCV Caption.
    """
    by_rank = found.rank.argsort(stable=True)
    order = by_rank[found.query[by_rank].argsort(stable=True)]
    query, rank = found.query[order], found.rank[order]
    of_query = number_of_positives(found)
    before = of_query.cumsum(0) - of_query
    place = torch.arange(1, len(query) + 1, device=query.device) - before[query]
    precision = torch.where(rank <= of_query[query], place.to(torch.float64) / rank, 0.0)
    return _sum(query, precision, len(of_query)) / of_query


def number_of_positives(found: PositiveRanks) -> Int[Tensor, " queries"]:
    """R, the number of positives of each query. Errors: no pair at all."""
    if not len(found.query):
        raise UserError(got="no query with a positive", expected="at least one", do="check the file of judgements")
    return torch.bincount(found.query)


def check_depths(ks: Sequence[int]) -> None:
    """Nothing where the K are different whole numbers from 1; a UserError otherwise."""
    if not ks or min(ks) < 1 or len(set(ks)) < len(ks):
        raise UserError(
            got=f"K = {list(ks)} (--ks)", expected="different whole numbers from 1", do="give for instance --ks 1,5,10"
        )


def _sum(query: Tensor, values: Tensor, n_queries: int) -> Tensor:
    return torch.zeros(n_queries, dtype=torch.float64, device=values.device).index_add(0, query, values)
