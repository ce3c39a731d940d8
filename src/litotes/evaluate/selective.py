"""Answering only where a model is sure: whether its uncertainty knows which searches go wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from litotes.data.images import Pictures
from litotes.evaluate.doubts import KS, of_both_lists, of_first, plain, similarities, state_of
from litotes.evaluate.features import Encoder
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.suite import Identity, Result, Suite
from litotes.evaluate.watched import Watched
from litotes.metrics.answered_pairs import answered_pairs
from litotes.metrics.calibration import brier, reliability
from litotes.metrics.graded import average_precision_at_r
from litotes.metrics.ranking import ranks
from litotes.metrics.streaming import at_or_above, behind_their_equals, matrix
from litotes.models.pair_scores import PairScorer

_ROWS = 512


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

    ``firsts``, by way: ``n``, ``map_at_r`` by the labels, and by each uncertainty and K (1, 5, 10) its ``mean`` over
    the K first items and the ``pearson`` and ``spearman`` correlation of a search's mean with its AP@R
    (``first_items``). ``similarities``: histograms of the scores of ``labelled`` pairs and of the ``others``, of more
    than a million of these a draw.

    ``reliability``: of ``p``, and of the ``calibrated`` probability where the scorer has one, on its ``population`` of
    pairs: bins of equal count, ``ece``, ``brier``. Of a model with a distribution: ``diagnostics`` and, in ``notes``,
    what is wrong with it.

    Fields and errors: those of ``Retrieval``. Source: ``metrics``; VACSR (arXiv 2605.30968), Figures 3 and 6, Table 10.
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
        owners = torch.as_tensor(self.image_of_caption)
        watched = Watched(owners, len(images), max(KS))
        for start in range(0, len(scores), _ROWS):
            watched.add(start, scores[start : start + _ROWS])
        firsts = watched.firsts()
        asked = (found.image_to_text > 0).nonzero()[:, 0]
        every = torch.arange(len(texts))
        doubts = self.scorer.doubts
        ways = {
            "i2t": of_first(
                doubts(images[asked], texts[firsts.i2t[asked, 0]]), found.image_to_text[asked] > 1, asked.numpy()
            ),
            "t2i": of_first(doubts(images[firsts.t2i[:, 0]], texts), found.text_to_image > 1, owners.numpy()),
        }
        precision = _precision(scores, owners)
        lists = {"i2t": (asked, precision["i2t"]), "t2i": (every, precision["t2i"])}
        return {
            "ways": ways,
            "firsts": of_both_lists(self.scorer, images, texts, firsts, lists),
            "similarities": similarities(watched),
            "reliability": self._reliability(scores),
            **state_of(self.scorer, images, texts, self.image_of_caption),
        }

    def _reliability(self, scores: Tensor) -> Result:
        calibration = self.scorer.calibration
        population = calibration.population if calibration else "found"
        answers = answered_pairs(scores, self.image_of_caption, population)
        said = {"p": torch.sigmoid(answers.scores.double())}
        if calibration:
            said["calibrated"] = calibration(answers.scores)
        found = {
            name: {**plain(reliability(p, answers.right)), "brier": brier(p, answers.right)} for name, p in said.items()
        }
        return {"population": population, "n": len(answers.right), **found}


def _precision(scores: Tensor, owners: Tensor) -> dict[str, Tensor]:
    """AP@R of each search by the labels, of the pictures with a caption and of all captions."""
    every = torch.arange(len(owners))
    counts = at_or_above(matrix(scores), owners, every)
    query = owners.unique(return_inverse=True)[1]
    return {
        "i2t": average_precision_at_r(behind_their_equals(query, counts.texts)),
        "t2i": average_precision_at_r(behind_their_equals(every, counts.images)),
    }
