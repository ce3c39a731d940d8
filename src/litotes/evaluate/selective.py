"""Answering only where a model is sure: whether its uncertainty knows which searches go wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from litotes.data.images import Pictures
from litotes.evaluate.features import Encoder
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.suite import Identity, Result, Suite
from litotes.metrics.answered_pairs import answered_pairs
from litotes.metrics.aurc_difference import aurc_difference
from litotes.metrics.calibration import brier, reliability
from litotes.metrics.correlation import partial_spearman
from litotes.metrics.ranking import ranks
from litotes.metrics.selective import auroc, risk_coverage
from litotes.metrics.uncertainty_bins import uncertainty_bins
from litotes.models.pair_scores import DOUBT, PairScorer
from litotes.objectives.diagnostics import named, signs

POINTS = 100
"""Points of a risk-coverage curve that a result keeps."""
_LOOKED_AT = 64
"""Captions, with their pictures, whose pairs the state of the distribution is taken from."""


@final
@dataclass(frozen=True)
class SelectiveRetrieval(Suite):
    """The searches of ``Retrieval``, by how unsure the model is of the first item that it finds.

    A search is wrong where its right item is not at rank 1 (ties against it, as in ``Retrieval``). ``run`` gives, in
    ``ways``, for ``i2t`` (pictures with captions) and ``t2i``: ``n``; ``error``, the share of wrong searches; and for
    each way to say how unsure the model is (``sigma``, ``total_variance``, ``one_minus_p``; a model without a
    distribution has the last alone):

    - ``aurc``, the mean error over all coverages with the surest answers first, to be held against ``error`` of a
      random order; ``excess`` over the best order; ``curve``, coverage and risk at up to 100 points;
    - ``auroc``, how often a wrong search is less sure than a right one (None where all are right or all wrong);
    - ``bins``: ten of equal count, with R@1 of each and its correlations (``uncertainty_bins``);
    - but for 1 - p itself: ``less_one_minus_p``, its AURC less that of 1 - p, ``difference`` with ``low`` and ``high``
      of a 95 % interval over pictures drawn again, and ``partial_spearman`` with the errors given 1 - p.

    ``reliability``: of ``p``, and of the ``calibrated`` probability where the scorer has one, on its ``population`` of
    pairs: bins of equal count, ``ece``, ``brier``. Of a model with a distribution: ``diagnostics`` and, in ``notes``,
    what is wrong with it.

    Fields and errors: those of ``Retrieval``. Source: ``metrics``; the uncertainty of the first item in the place of
    the K first.
    """

    name: str
    pictures: Pictures
    captions: Sequence[str]
    image_of_caption: Sequence[int]
    scorer: PairScorer
    task = "selective_retrieval"

    def __post_init__(self) -> None:
        Retrieval(self.name, self.pictures, self.captions, self.image_of_caption, ks=(1,))

    def identity(self) -> Identity:
        """As of ``Retrieval``."""
        return Retrieval(self.name, self.pictures, self.captions, self.image_of_caption, ks=(1,)).identity()

    def run(self, encoder: Encoder) -> Result:
        """Error, and how well it is told by each uncertainty, both ways; see the class."""
        images, texts = encoder.encode_images(self.pictures), encoder.encode_texts(self.captions)
        scores = self.scorer.scores(images, texts)
        found = ranks(scores, self.image_of_caption)
        asked = found.image_to_text > 0
        first_text, first_image = scores.argmax(dim=1), scores.argmax(dim=0)
        owners = np.asarray(self.image_of_caption)
        alone = np.flatnonzero(asked.numpy())
        ways = {
            "i2t": self._way(images[asked], texts[first_text[asked]], found.image_to_text[asked] > 1, alone),
            "t2i": self._way(images[first_image], texts, found.text_to_image > 1, owners),
        }
        return {"ways": ways, "reliability": self._reliability(scores), **self._state(images, texts)}

    def _way(self, images: Tensor, texts: Tensor, wrong: Tensor, picture: np.ndarray) -> Result:
        """The searches one way; picture: a number each, those of one picture being drawn together."""
        told: dict[str, Any] = {}
        doubts = self.scorer.doubts(images, texts)
        for name, doubt in doubts.items():
            curve = risk_coverage(doubt, wrong)
            at = torch.linspace(0, len(wrong) - 1, min(POINTS, len(wrong)), dtype=torch.float64).round().long()
            told[name] = {
                "aurc": curve.aurc, "excess": curve.excess, "auroc": auroc(doubt, wrong),
                "curve": {"coverage": curve.coverage[at].tolist(), "risk": curve.risk[at].tolist()},
                "bins": _plain(uncertainty_bins(doubt, ~wrong)),
            }  # fmt: skip
            if name != DOUBT:
                less = aurc_difference(doubt, doubts[DOUBT], wrong, picture)
                told[name] |= {
                    "less_one_minus_p": {"difference": less.difference, **less.interval._asdict()},
                    "partial_spearman": partial_spearman(doubt, wrong, doubts[DOUBT]),
                }
        return {"n": len(wrong), "error": float(wrong.to(torch.float64).mean()), **told}

    def _reliability(self, scores: Tensor) -> Result:
        calibration = self.scorer.calibration
        population = calibration.population if calibration else "found"
        answers = answered_pairs(scores, self.image_of_caption, population)
        said = {"p": torch.sigmoid(answers.scores.double())}
        if calibration:
            said["calibrated"] = calibration(answers.scores)
        found = {
            name: {**_plain(reliability(p, answers.right)), "brier": brier(p, answers.right)}
            for name, p in said.items()
        }
        return {"population": population, "n": len(answers.right), **found}

    def _state(self, images: Tensor, texts: Tensor) -> Result:
        """What the distribution looks like for the pairs of the first captions and their pictures."""
        owners = torch.as_tensor(self.image_of_caption)[:_LOOKED_AT]
        picture, at = owners.unique(return_inverse=True)
        positives = torch.zeros(len(picture), len(owners), dtype=torch.bool)
        positives[at, torch.arange(len(owners))] = True
        state = self.scorer.state(images[picture], texts[: len(owners)], positives)
        return {"diagnostics": named(state), "notes": signs(state)} if state else {}


def _plain(found: Any) -> dict[str, Any]:  # noqa: ANN401 (a named tuple)
    """A named tuple as JSON values."""
    return {name: part.tolist() if isinstance(part, Tensor) else part for name, part in found._asdict().items()}
