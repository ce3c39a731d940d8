"""The logits of a model of pairs in blocks, for measures of galleries whose scores are never held as a whole."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.metrics.checks import refuse_non_finite
from litotes.metrics.cosine import distinct_rows
from litotes.metrics.streaming import Scores, in_parts
from litotes.models.pair_scores import PairScorer, require_some
from litotes.models.pair_shortlist import ShortlistedLogits
from litotes.models.scorer import MergedMean
from litotes.models.variational import VariationalAdapter

HELD = 1 << 30
"""Pairs whose scores a measure may hold at once, 4 GiB; those of more are to be streamed."""
_PAIRS = 8
"""Single pairs whose block of all pairs is computed at once."""


@final
class StreamedLogits:
    """Scores of a ``PairScorer`` as ``metrics.streaming`` takes them.

    scorer: its model is read anew by every call of ``scores``. block: pictures and texts that are scored at once; no
    result depends on it but by rounding. In a block of rows equal pictures have equal scores bit by bit, and so have
    equal texts.
    """

    def __init__(self, scorer: PairScorer, block: int = 128) -> None:
        self._scorer, self._block = scorer, block

    @torch.no_grad()
    def scores(self, images: Float[Tensor, "ni d"], texts: Float[Tensor, "nt d"]) -> Scores:
        """Logits of all pairs, higher is better, float32 on the CPU. Errors: no image or no text; logits not finite."""
        require_some(images, texts)
        model = self._scorer.model
        device = next(model.parameters()).device
        path = MergedMean(model) if isinstance(model, VariationalAdapter) else model
        (pictures, place), (captions, place_of_text) = (distinct_rows(part.cpu()) for part in (images, texts))

        def logits(some: Tensor, others: Tensor) -> Tensor:
            with torch.no_grad():
                return path.logits(some.to(device), others.to(device)).float().cpu()

        def rows(start: int, stop: int) -> Tensor:
            wanted, at = place[start:stop].unique(return_inverse=True)
            found, done = torch.empty(len(wanted), len(captions)), 0
            for top in range(0, len(wanted), self._block):
                some = pictures[wanted[top : top + self._block]]
                for left in range(0, len(captions), self._block):
                    others = captions[left : left + self._block]
                    found[top : top + self._block, left : left + self._block] = logits(some, others)
                    done += len(some) * len(others)
                    told = (stop - start) * len(texts) * done // found.numel()
                    self._scorer.progress(start * len(texts) + told, len(images) * len(texts))
            refuse_non_finite(found)
            return found[at][:, place_of_text]

        def of_pairs(image: Tensor, text: Tensor) -> Tensor:
            # By the same path as the rows: a model whose logits are all the same must tie with itself.
            both = zip(images[image].split(_PAIRS), texts[text].split(_PAIRS), strict=True)
            return torch.cat([logits(some, others).diagonal() for some, others in both])

        return Scores((len(images), len(texts)), rows, in_parts(of_pairs), place)


def streamed(scorer: PairScorer) -> StreamedLogits | ShortlistedLogits:
    """Scores of a scorer in blocks: of all pairs, or of its shortlist where it has one."""
    if scorer.shortlist is None:
        return StreamedLogits(scorer)
    return ShortlistedLogits(scorer.model, scorer.shortlist, progress=scorer.progress)
