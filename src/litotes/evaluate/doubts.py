"""What a model's uncertainty knows of searches: of their first items, and of how good their lists are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from litotes.evaluate.suite import Result
from litotes.evaluate.watched import Firsts, Watched
from litotes.metrics.aurc_difference import aurc_difference
from litotes.metrics.correlation import partial_spearman
from litotes.metrics.first_items import first_items
from litotes.metrics.selective import auroc, risk_coverage
from litotes.metrics.uncertainty_bins import uncertainty_bins
from litotes.models.pair_scores import DOUBT, PairScorer
from litotes.objectives.diagnostics import named, signs

POINTS = 100
"""Points of a risk-coverage curve that a result keeps."""
KS = (1, 5, 10)
"""How many first items the uncertainty of a list is taken over."""
LOOKED_AT = 64
"""Captions, with their pictures, whose pairs the state of the distribution is taken from."""


def of_first(doubts: Mapping[str, Float[Tensor, " n"]], wrong: Bool[Tensor, " n"], picture: np.ndarray) -> Result:
    """Of searches one way: ``n``, ``error`` (share of wrong ones), and by each doubt of the first item what it knows.

    picture: a number each, those of one picture being drawn together. Keys: see ``SelectiveRetrieval``.
    """
    told: dict[str, Any] = {}
    for name, doubt in doubts.items():
        curve = risk_coverage(doubt, wrong)
        at = torch.linspace(0, len(wrong) - 1, min(POINTS, len(wrong)), dtype=torch.float64).round().long()
        told[name] = {
            "aurc": curve.aurc, "excess": curve.excess, "auroc": auroc(doubt, wrong),
            "curve": {"coverage": curve.coverage[at].tolist(), "risk": curve.risk[at].tolist()},
            "bins": plain(uncertainty_bins(doubt, ~wrong)),
        }  # fmt: skip
        if name != DOUBT:
            less = aurc_difference(doubt, doubts[DOUBT], wrong, picture)
            told[name] |= {
                "less_one_minus_p": {"difference": less.difference, **less.interval._asdict()},
                "partial_spearman": partial_spearman(doubt, wrong, doubts[DOUBT]),
            }
    return {"n": len(wrong), "error": float(wrong.to(torch.float64).mean()), **told}


def of_lists(doubts: Mapping[str, Float[Tensor, "n listed"]], precision: Float[Tensor, " n"]) -> Result:
    """Of searches one way: ``n``, ``map_at_r``, and by each doubt and K what ``first_items`` says of the K first.

    precision: AP@R of each search. K of ``KS`` that the lists have not are left out.
    """
    listed = next(iter(doubts.values())).shape[1]
    ks = [k for k in KS if k <= listed]
    by_doubt = {
        name: {str(k): found._asdict() for k, found in first_items(doubt, precision, ks).items()}
        for name, doubt in doubts.items()
    }
    return {"n": len(precision), "map_at_r": float(precision.mean()), **by_doubt}


def of_both_lists(
    scorer: PairScorer, images: Tensor, texts: Tensor, firsts: Firsts,
    asked: Mapping[str, tuple[Tensor, Float[Tensor, " n"]]],
) -> Result:  # fmt: skip
    """``of_lists`` both ways. asked: by way, which images or texts search, and the AP@R of each."""
    pictures, picture_precision = asked["i2t"]
    captions, caption_precision = asked["t2i"]
    of_pictures = scorer.listed_doubts(images[pictures], texts, firsts.i2t[pictures])
    of_captions = scorer.listed_doubts(texts[captions], images, firsts.t2i[captions])
    return {"i2t": of_lists(of_pictures, picture_precision), "t2i": of_lists(of_captions, caption_precision)}


def similarities(watched: Watched) -> Result:
    """The histograms of ``Watched`` as JSON values."""
    return {name: plain(found) for name, found in watched.similarities().items()}


def state_of(scorer: PairScorer, images: Tensor, texts: Tensor, image_of_text: Sequence[int]) -> Result:
    """``diagnostics`` and ``notes`` of the first captions with their pictures; nothing without a distribution."""
    owners = torch.as_tensor(image_of_text)[:LOOKED_AT]
    picture, at = owners.unique(return_inverse=True)
    positives = torch.zeros(len(picture), len(owners), dtype=torch.bool)
    positives[at, torch.arange(len(owners))] = True
    state = scorer.state(images[picture], texts[: len(owners)], positives)
    return {"diagnostics": named(state), "notes": signs(state)} if state else {}


def plain(found: Any) -> dict[str, Any]:  # noqa: ANN401 (a named tuple)
    """A named tuple as JSON values."""
    return {name: part.tolist() if isinstance(part, Tensor) else part for name, part in found._asdict().items()}
