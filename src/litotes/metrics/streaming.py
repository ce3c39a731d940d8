"""Ranks of many positives, and the best K, from scores that come in blocks and are never held as a whole.

``rows`` are those of ``metrics.cosine.cosine_rows``, or ``lambda start, stop: scores[start:stop]`` of a matrix.
The memory is O(block x gallery) beside the result; the block changes no result but where the rounding of the matrix
product decides.
"""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite
from litotes.metrics.cosine import Rows
from litotes.metrics.graded import UNFOUND, PositiveRanks


def at_or_above(
    rows: Rows, n_queries: int, query: Int[Tensor, " pairs"], item: Int[Tensor, " pairs"], block: int = 512
) -> Int[Tensor, " pairs"]:
    """How many items of the gallery score at least as high as a given one, itself among them.

    n_p = #{ i : s[query_p, i] >= s[query_p, item_p] }

    ``query`` [pairs] in rising order, from 0 to ``n_queries`` - 1; ``item`` [pairs]: index into the gallery, or -1 for
    what is not in it, which gives ``UNFOUND``. It is the worst rank that a sort could give the item.

    Errors: non-finite scores; queries out of order or range.
    """
    if len(query) and (query.diff().lt(0).any() or not 0 <= int(query[0]) <= int(query[-1]) < n_queries):
        raise UserError(
            got="numbers of queries out of order or range",
            expected=f"rising, 0 to {n_queries - 1}",
            do="sort the pairs",
        )
    end = torch.bincount(query, minlength=n_queries).cumsum(0).tolist()
    count = torch.zeros_like(query)
    for start, scores in _blocks(rows, n_queries, block):
        for number, row in enumerate(scores, start):
            part = slice(end[number - 1] if number else 0, end[number])
            if part.start < part.stop:
                count[part] = count_true(row >= row[item[part].clamp(min=0)][:, None])
    return torch.where(item >= 0, count, UNFOUND)


def behind_their_equals(query: Int[Tensor, " pairs"], count: Int[Tensor, " pairs"]) -> PositiveRanks:
    """Ranks of the positives, each behind every item of equal score that is no positive of its query.

    ``query``, ``count`` [pairs]: all positives of all queries, and their numbers by ``at_or_above``. Among t
    positives of one score, the count n of all of them, the ranks are n - t + 1, ..., n. So a model whose scores are
    all the same finds nothing, and R@1 is the share of the queries whose best score belongs to positives only.
    """
    by_count = count.argsort(stable=True)
    order = by_count[query[by_count].argsort(stable=True)]
    pairs = torch.stack([query[order], count[order]])
    _, group, size = torch.unique_consecutive(pairs, dim=1, return_inverse=True, return_counts=True)
    place = torch.arange(len(order)) - (size.cumsum(0) - size)[group]
    rank = torch.where(pairs[1] < UNFOUND, pairs[1] - size[group] + 1 + place, UNFOUND)
    return PositiveRanks(pairs[0], rank)


def best(rows: Rows, n_queries: int, k: int, block: int = 512) -> tuple[Tensor, Tensor]:
    """The K highest scores of each query and the items that have them, best first; [queries, K] both.

    Of equal scores the earlier item of the gallery comes first, also where the list ends. Such a list is for looking
    at, and for measures that take lists; ``behind_their_equals`` holds ties against the model, which no list can.

    Errors: non-finite scores; K below 1 or above the gallery.
    """
    scores, items = zip(
        *(_best_of(block_scores, k) for _, block_scores in _blocks(rows, n_queries, block)), strict=True
    )
    return torch.cat(scores), torch.cat(items)


def count_true(mask: Bool[Tensor, "rows n"]) -> Int[Tensor, " rows"]:
    """How many are true in each row; on the CPU by NumPy, which counts several times faster than torch adds."""
    on_cpu = mask.device.type == "cpu"
    return torch.from_numpy(np.count_nonzero(mask.numpy(), axis=1)) if on_cpu else mask.sum(dim=1)


def _best_of(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    if not 1 <= k <= scores.shape[1]:
        raise UserError(
            got=f"K = {k} of {scores.shape[1]} items", expected="1 up to the gallery", do="choose another K"
        )
    lowest = scores.topk(k, dim=1).values[:, -1:]
    # Where several share the lowest score, those that stand first are kept: strictly better ones all, then by place.
    level = scores == lowest
    kept = (scores > lowest) | (level & (level.cumsum(dim=1) <= k - (scores > lowest).sum(dim=1, keepdim=True)))
    items = kept.nonzero()[:, 1].view(len(scores), k)
    values, order = scores.gather(1, items).sort(dim=1, descending=True, stable=True)
    return values, items.gather(1, order)


def _blocks(rows: Rows, n_queries: int, block: int) -> Iterator[tuple[int, Tensor]]:
    if n_queries < 1 or block < 1:
        raise UserError(got=f"{n_queries} queries in blocks of {block}", expected="at least 1 of both", do="check them")
    for start in range(0, n_queries, block):
        scores = rows(start, min(start + block, n_queries))
        refuse_non_finite(scores)
        yield start, scores
