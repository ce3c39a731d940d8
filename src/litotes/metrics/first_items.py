"""The uncertainty of what each search lists first, held against how good its answer is."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite
from litotes.metrics.correlation import pearson, spearman


class FirstItems(NamedTuple):
    """Of the K first items of all queries.

    mean: of their uncertainty, over queries and items. pearson, spearman: correlations over the queries of the mean
    uncertainty of the K first with the query's quality, below 0 where an uncertain list is a bad one; None where one of
    both is constant, or there is a single query.
    """

    mean: float
    pearson: float | None
    spearman: float | None


def first_items(uncertainty: Tensor, quality: Tensor, ks: Sequence[int] = (1, 5, 10)) -> dict[int, FirstItems]:
    """For each K, ``u_q = 1/K sum over the K first items of their uncertainty`` against the quality of query q.

    uncertainty [queries, listed]: of the items that each query lists, best first, any scale, higher is less sure;
    quality [queries]: such as the AP@R of each (`average_precision_at_r`), 0-1; ks: different numbers from 1 up to the
    items listed. In float64. For K = 1 the uncertainty is that of the answer, as in Figure 3 of VACSR. Errors: other
    shapes, no query, numbers not finite, another K. Source: VACSR (arXiv 2605.30968), Table 10, the uncertainty of the
    K first beside mAP@R.
    """
    listed = uncertainty.shape[-1] if uncertainty.ndim == 2 else 0
    fit = uncertainty.ndim == 2 and quality.shape == uncertainty.shape[:1] and len(quality)
    if not fit or not ks or not all(1 <= k <= listed for k in ks) or len(set(ks)) < len(ks):
        raise UserError(
            got=f"uncertainties of shape {tuple(uncertainty.shape)}, qualities of shape {tuple(quality.shape)}, "
            f"K = {list(ks)}",
            expected="a row of uncertainties and one quality a query, and K from 1 up to the items of a row",
            do="give both of the same queries, in the same order",
        )
    refuse_non_finite(uncertainty, "uncertainties")
    refuse_non_finite(quality, "qualities")
    unsure, good = (part.detach().cpu().to(torch.float64) for part in (uncertainty, quality))
    means = {k: unsure[:, :k].mean(dim=1) for k in ks}
    return {k: FirstItems(float(row.mean()), pearson(row, good), spearman(row, good)) for k, row in means.items()}
