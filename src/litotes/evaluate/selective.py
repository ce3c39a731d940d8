"""Answering only where a model is sure: whether its uncertainty knows which searches go wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from litotes.data.images import Pictures
from litotes.evaluate.features import Encoder
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.suite import Identity, Result, Suite
from litotes.metrics.ranking import ranks
from litotes.metrics.selective import auroc, risk_coverage
from litotes.models.pair_scores import PairScorer


@final
@dataclass(frozen=True)
class SelectiveRetrieval(Suite):
    """The searches of ``Retrieval``, by how unsure the model is of the first item that it finds.

    A search is wrong where its right item is not at rank 1 (ties against it, as in ``Retrieval``). ``run`` gives, in
    ``ways``, for ``i2t`` (pictures with captions) and ``t2i``: ``n``; ``error``, the share of wrong searches; and for
    each way to say how unsure the model is (``sigma``, ``total_variance``, ``one_minus_p``; a model without a
    distribution has the last alone) ``aurc``, the mean error over all coverages with the surest answers first, to be
    held against ``error`` of a random order; ``excess`` over the best order; and ``auroc``, how often a wrong search is
    less sure than a right one (None where all are right or all wrong).

    Fields and errors: those of ``Retrieval``. Source: ``metrics.selective``; the uncertainty of the first item in the
    place of the K first.
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
        ways = {
            "i2t": self._way(images[asked], texts[first_text[asked]], found.image_to_text[asked] > 1),
            "t2i": self._way(images[first_image], texts, found.text_to_image > 1),
        }
        return {"ways": ways}

    def _way(self, images: Tensor, texts: Tensor, wrong: Tensor) -> Result:
        told = {}
        for name, doubt in self.scorer.doubts(images, texts).items():
            curve = risk_coverage(doubt, wrong)
            told[name] = {"aurc": curve.aurc, "excess": curve.excess, "auroc": auroc(doubt, wrong)}
        return {"n": len(wrong), "error": float(wrong.to(torch.float64).mean()), **told}
