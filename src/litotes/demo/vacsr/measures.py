"""What a model of pair scores is measured by where all that is true is known."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import cosine_similarity

from litotes.evaluate.doubts import KS, of_lists, plain
from litotes.metrics.graded import average_precision_at_r, graded_scores
from litotes.metrics.histogram import histogram
from litotes.metrics.matched import matched_auroc
from litotes.metrics.pair_groups import LABELLED, MISSING, by_group, pair_groups, relevant_ranks
from litotes.metrics.ranking import recall_at_k
from litotes.metrics.selective import auroc, risk_coverage
from litotes.metrics.streaming import best
from litotes.metrics.uncertainty_bins import uncertainty_bins
from litotes.models.pair_scores import DOUBT, SIGMA

Doubts = Callable[[Tensor, Tensor], dict[str, Tensor]]
"""From features of n pictures and of n texts to how unsure a model is of each pair, by name."""
ListedDoubts = Callable[[Tensor, Tensor, Tensor], dict[str, Tensor]]
"""From queries, gallery and listed items [queries, listed] to how unsure a model is of each, by name."""


def retrieval(scores: Float[Tensor, "n _"], relevance: Bool[Tensor, "n _"]) -> dict[str, dict[str, float]]:
    """By way (``i2t``, ``t2i``): ``map_at_r`` and ``r1`` against all that is true, ``sparse_r1`` against the labels.

    scores: of n pictures and their n captions; relevance: whether a caption is true of a picture, the diagonal (the
    labels) included. Fractions 0-1, ties against the model.
    """
    sparse = recall_at_k(scores, torch.arange(len(scores)), (1,))
    labelled = {"i2t": sparse["i2t"][1], "t2i": sparse["t2i"][1]}
    found = {}
    for way, rows, right in (("i2t", scores, relevance), ("t2i", scores.T.contiguous(), relevance.T)):
        graded = graded_scores(relevant_ranks(rows, right))
        found[way] = {"map_at_r": graded.map_at_r, "r1": graded.recall[1], "sparse_r1": labelled[way]}
    return found


def knows_errors(
    images: Float[Tensor, "n d"], texts: Float[Tensor, "n d"], scores: Float[Tensor, "n _"],
    relevance: Bool[Tensor, "n _"], doubts: Doubts,
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Whether a model knows which first finds are untrue, by way and by each way to say how unsure it is.

    ``error``: share of searches whose first find is untrue; by each name of ``doubts``: ``auroc`` of a wrong find
    against a right one; ``aurc``, the mean error over all coverages, the surest first; and over ten bins of equal
    count, ``pearson`` and ``spearman`` of their mean doubt and their share of true finds.
    """
    first_text, first_image = scores.argmax(dim=1), scores.argmax(dim=0)
    every = torch.arange(len(scores))
    finds = {
        "i2t": (images, texts[first_text], ~relevance[every, first_text]),
        "t2i": (images[first_image], texts, ~relevance[first_image, every]),
    }
    return {
        way: {
            "error": float(wrong.double().mean()),
            **{name: _told(doubt, wrong) for name, doubt in doubts(some_images, some_texts).items()},
        }
        for way, (some_images, some_texts, wrong) in finds.items()
    }


def _told(doubt: Tensor, wrong: Tensor) -> dict[str, float | None]:
    bins = uncertainty_bins(doubt, ~wrong)
    return {
        "auroc": auroc(doubt, wrong),
        "aurc": risk_coverage(doubt, wrong).aurc,
        "pearson": bins.pearson_by_uncertainty,
        "spearman": bins.spearman,
    }


def listed_firsts(
    images: Float[Tensor, "n d"], texts: Float[Tensor, "n d"], scores: Float[Tensor, "n _"],
    relevance: Bool[Tensor, "n _"], listed_doubts: ListedDoubts,
) -> dict[str, Any]:  # fmt: skip
    """The uncertainty of the K first items against the AP@R of all that is true, by way: ``evaluate.doubts.of_lists``.

    listed_doubts: from queries, gallery and the items that each query lists to how unsure a model is of each.
    """
    ways = {"i2t": (images, texts, scores, relevance), "t2i": (texts, images, scores.T.contiguous(), relevance.T)}
    found = {}
    for way, (queries, gallery, rows, right) in ways.items():
        items = best(partial(_rows, rows), len(rows), min(max(KS), rows.shape[1]))[1]
        precision = average_precision_at_r(relevant_ranks(rows, right))
        found[way] = of_lists(listed_doubts(queries, gallery, items), precision)
    return found


def _rows(scores: Tensor, start: int, stop: int) -> Tensor:
    return scores[start:stop]


def similarities(scores: Float[Tensor, "n _"], relevance: Bool[Tensor, "n _"]) -> dict[str, Any]:
    """Histograms of the scores of ``true`` and ``wrong`` pairs over the same steps, as JSON values."""
    groups = {"true": scores[relevance], "wrong": scores[~relevance]}
    ends = float(scores.min()), float(scores.max())
    ends = ends if ends[0] < ends[1] else (ends[0] - 0.5, ends[0] + 0.5)
    return {name: plain(histogram(values, 50, *ends)) for name, values in groups.items() if len(values)}


def finds_wrong_pairs(
    images: Float[Tensor, "n d"], texts: Float[Tensor, "n d"], wrong: Bool[np.ndarray, " n"],
    true: Bool[np.ndarray, " n"], doubts: Doubts,
) -> dict[str, Any]:  # fmt: skip
    """Whether a model is less sure of the training pairs that were shuffled: AUROC by each way to say how unsure.

    wrong: which pairs the noise made; true: of which pairs the caption is true all the same (of a shuffled pair now
    and then). ``shuffled``: all shuffled pairs against the rest; ``untrue``: only those that are untrue, against the
    rest but the true shuffled ones. Each also by ``one_minus_cosine`` of the features, without any training. The mask
    is seen here alone, after the training.
    """
    by_name = {**doubts(images, texts), **cosine_doubts(images, texts)}
    shuffled, kept = torch.from_numpy(wrong), torch.from_numpy(~(wrong & true))
    return {
        "n_shuffled": int(wrong.sum()),
        "n_untrue": int((wrong & ~true).sum()),
        "shuffled": {name: auroc(doubt, shuffled) for name, doubt in by_name.items()},
        "untrue": {name: auroc(doubt[kept], shuffled[kept]) for name, doubt in by_name.items()},
    }


def cosine_doubts(images: Float[Tensor, "n d"], texts: Float[Tensor, "n d"]) -> dict[str, Float[Tensor, " n"]]:
    """How unsure the features alone are of each pair: 1 - cosine."""
    return {"one_minus_cosine": 1 - cosine_similarity(images.double(), texts.double())}


def sigma_of_groups(
    scores: Float[Tensor, "some n"], relevance: Bool[Tensor, "some n"], all_doubts: dict[str, Tensor]
) -> dict[str, Any]:
    """The paper's claim: pairs that are true but unlabelled have a high sigma, labelled and hard wrong ones a low one.

    scores, relevance, all_doubts: of the first pictures with all captions; the i-th caption is the label of the i-th
    picture; of the doubts ``sigma`` and ``one_minus_p`` are asked. By group (`pair_groups`, the hardest wrong
    caption of each picture): ``pairs``, mean ``sigma`` and mean ``p``. ``missing_at_equal_p``: AUROC of sigma for the
    unlabelled true pairs against the wrong ones of about the same score; 0.5: it says nothing beyond the score.
    """
    groups = pair_groups(scores, torch.eye(*scores.shape, dtype=torch.bool), relevance)
    sigma, p = by_group(all_doubts[SIGMA], groups), by_group(1 - all_doubts[DOUBT], groups)
    asked = ~groups[LABELLED]
    missing = groups[MISSING][asked]
    both = bool(missing.any()) and not bool(missing.all())
    return {
        **{name: {"pairs": sigma[name].pairs, "sigma": sigma[name].mean, "p": p[name].mean} for name in groups},
        "missing_at_equal_p": matched_auroc(all_doubts[SIGMA][asked], missing, scores[asked].double()).auroc
        if both
        else None,
    }
