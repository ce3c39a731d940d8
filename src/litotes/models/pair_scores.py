"""Scores of pairs by any of the models that give them, and how unsure the model is of a pair."""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite
from litotes.models.pair_adapter import PairModel
from litotes.models.pair_calibration import PairCalibration
from litotes.models.scorer import MergedMean, VariationalScorer
from litotes.models.variational import VariationalAdapter, uncertainty
from litotes.objectives.diagnostics import PairDiagnostics, diagnostics

SIGMA, TOTAL, DOUBT = "sigma", "total_variance", "one_minus_p"
"""The ways to say how unsure a model is: mean standard deviation, mean variance of the mixture, 1 - p."""
_AT_ONCE = 256
_BLOCK = 32

Told = Callable[[int, int], None]
"""Called with how many pairs are scored so far, and how many there are."""


def untold(done: int, total: int) -> None:
    """Tells nobody."""


LeftOut = Callable[[np.ndarray, np.ndarray], Bool[np.ndarray, "p t"]]
"""Which pairs of these pictures and these texts, given by their places, are not asked for."""


class HighestPairs(NamedTuple):
    """Pairs by falling logit: places of their pictures and their texts, and the logits, [n] each, on the CPU."""

    images: Int[Tensor, " n"]
    texts: Int[Tensor, " n"]
    logits: Float[Tensor, " n"]


def require_some(images: Tensor, texts: Tensor) -> None:
    """Refuse scores without a picture or without a text."""
    if not (len(images) and len(texts)):
        raise UserError(
            got=f"{len(images)} pictures and {len(texts)} texts", expected="at least one of each", do="give some"
        )


@final
class PairScorer:
    """Scores of all pairs of pictures and texts, and the doubts of chosen pairs.

    model: read anew for other features, and taken as it was for the last ones: make a new scorer when it has learned
    on. block: pictures and texts scored at once. calibration: what makes probabilities of its logits, if anything does.
    shortlist, progress: of whoever streams its scores (``pair_stream.streamed``): how many items of a search the model
    is asked of, None for all, and what is called with the pairs that are scored so far, and in all.
    Features may lie on any device; what is returned lies on the CPU.
    Nothing is drawn.
    """

    def __init__(
        self,
        model: PairModel,
        block: int = 128,
        calibration: PairCalibration | None = None,
        shortlist: int | None = None,
        progress: Told = untold,
    ) -> None:
        self.model, self.calibration, self.shortlist, self.progress = model, calibration, shortlist, progress
        self._block = block
        self._device = next(model.parameters()).device
        self._last: tuple[Tensor, Tensor, Tensor] | None = None

    @torch.no_grad()
    def scores(self, images: Float[Tensor, "ni d"], texts: Float[Tensor, "nt d"]) -> Float[Tensor, "ni nt"]:
        """The logit of every pair, higher is better, in float32; equal features have exactly equal scores.

        Every different row of features is scored once, since the rounding of a product may depend on the place in its
        block. The matrix must fit into memory: 4 bytes a pair. Errors: those of the model; no image or no text.
        """
        if self._last and torch.equal(images, self._last[0]) and torch.equal(texts, self._last[1]):
            return self._last[2]
        require_some(images, texts)
        (some_images, image_at), (some_texts, text_at) = (
            torch.unique(features.cpu(), dim=0, return_inverse=True) for features in (images, texts)
        )
        matrix = self._logits(some_images.to(self._device), some_texts.to(self._device)).cpu()
        found = matrix[image_at][:, text_at]
        self._last = (images, texts, found)
        return found

    @torch.no_grad()
    def paired(self, images: Float[Tensor, "n d"], texts: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """The logits of the pairs (images_i, texts_i), in float32; equal pairs have exactly equal ones."""
        both = torch.cat([images.cpu(), texts.cpu()], dim=1)
        pairs, at = torch.unique(both, dim=0, return_inverse=True)
        parts = [
            self.model.logits(*part.to(self._device).chunk(2, dim=1), paired=True).squeeze(1).cpu()
            for part in pairs.split(_AT_ONCE)
        ]
        return torch.cat(parts)[at]

    @torch.no_grad()
    def highest(
        self, images: Float[Tensor, "ni d"], texts: Float[Tensor, "nt d"], most: int, left_out: LeftOut,
        progress: Told = untold,
    ) -> HighestPairs:  # fmt: skip
        """The ``most`` pairs of highest logit among all that are not left out; fewer where there are no more.

        Every pair is scored once, in blocks; beside features and a block it holds O(most) numbers. Of equal logits the
        pair of the earlier picture, then of the earlier text, comes first. The logits are those of ``scores`` but for
        rounding. progress: called with the number of pairs that are scored, and of all. Errors: logits not finite.
        """
        model = MergedMean(self.model) if isinstance(self.model, VariationalAdapter) else self.model
        best = HighestPairs(*(torch.zeros(0, dtype=kind) for kind in (torch.int64, torch.int64, torch.float32)))
        for top in range(0, len(images), self._block):
            rows = images[top : top + self._block].to(self._device)
            for left in range(0, len(texts), self._block):
                block = model.logits(rows, texts[left : left + self._block].to(self._device)).float().cpu()
                refuse_non_finite(block)
                at = np.arange(top, top + block.shape[0]), np.arange(left, left + block.shape[1])
                wanted = ~torch.from_numpy(left_out(*at))
                if len(best.logits) == most:
                    wanted &= block >= best.logits[-1]
                row, column = wanted.nonzero(as_tuple=True)
                best = _best_of(best, HighestPairs(row + top, column + left, block[row, column]), most)
            progress(min(top + self._block, len(images)) * len(texts), len(images) * len(texts))
        return best

    @torch.no_grad()
    def doubts(self, images: Float[Tensor, "n d"], texts: Float[Tensor, "n d"]) -> dict[str, Float[Tensor, " n"]]:
        """How unsure the model is of the pairs (images_i, texts_i), by name, higher is less sure; float64.

        ``sigma``: mean_d sqrt(sum_k alpha_k exp(lv_kd)), or as the adapter's ``spread`` and ``summary`` say;
        ``total_variance``: mean_d of the variance of the mixture;
        both are of the variational adapter alone; ``one_minus_p``: 1 - sigmoid(logit).
        """
        parts: dict[str, list[Tensor]] = {}
        for start in range(0, len(images), _AT_ONCE):
            image, text = (part[start : start + _AT_ONCE].to(self._device) for part in (images, texts))
            for name, column in self._all(image, text, paired=True).items():
                parts.setdefault(name, []).append(column.squeeze(1).double().cpu())
        return {name: torch.cat(values) for name, values in parts.items()}

    @torch.no_grad()
    def listed_doubts(
        self, queries: Float[Tensor, "q d"], gallery: Float[Tensor, "n d"], items: Int[Tensor, "q listed"]
    ) -> dict[str, Float[Tensor, "q listed"]]:
        """The doubts of each query with the items of the gallery that it lists, [q, listed] each; as ``doubts``.

        queries, gallery: pictures and texts, or texts and pictures: a model sees their product, the same both ways.
        """
        rows: dict[str, list[Tensor]] = {}
        some = max(1, _AT_ONCE // items.shape[1])
        for query, listed in zip(queries.split(some), items.cpu().split(some), strict=True):
            found = self.doubts(query.repeat_interleave(listed.shape[1], dim=0), gallery[listed.flatten()])
            for name, values in found.items():
                rows.setdefault(name, []).append(values.view(listed.shape))
        return {name: torch.cat(parts) for name, parts in rows.items()}

    @torch.no_grad()
    def state(
        self, images: Float[Tensor, "bi d"], texts: Float[Tensor, "bt d"], positives: Bool[Tensor, "bi bt"]
    ) -> PairDiagnostics | None:
        """``objectives.diagnostics`` of one draw, of a fixed seed, for all pairs; None without a distribution.

        All components of all pairs are held at once: for some dozens of either.
        """
        if not isinstance(self.model, VariationalAdapter):
            return None
        image, text = (features.to(self._device) for features in (images, texts))
        generator = torch.Generator(device=self._device).manual_seed(0)
        return diagnostics(self.model(image, text, generator), positives)

    @torch.no_grad()
    def all_doubts(self, images: Float[Tensor, "ni d"], texts: Float[Tensor, "nt d"]) -> dict[str, Tensor]:
        """The doubts of every pair of some images and texts, each [ni, nt]; otherwise as ``doubts``.

        All heads are asked of every pair, in blocks of 32 x 32: for a few thousand of either, such as a test set whose
        complete relevance is known. 24 bytes a pair.
        """
        found: dict[str, Tensor] = {}
        for top in range(0, len(images), _BLOCK):
            image = images[top : top + _BLOCK].to(self._device)
            for left in range(0, len(texts), _BLOCK):
                text = texts[left : left + _BLOCK].to(self._device)
                for name, part in self._all(image, text).items():
                    whole = found.setdefault(name, torch.empty(len(images), len(texts), dtype=torch.float64))
                    whole[top : top + _BLOCK, left : left + _BLOCK] = part.cpu()
        return found

    def _all(self, image: Tensor, text: Tensor, *, paired: bool = False) -> dict[str, Tensor]:
        """The doubts of all pairs of a few features, [bi, bt], or of (image_i, text_i) alone, [b, 1]."""
        found: dict[str, Tensor] = {}
        if isinstance(self.model, VariationalAdapter):
            pairs = self.model.distribution(image, text, paired=paired)
            how = self.model.config
            found |= {
                SIGMA: uncertainty(pairs, how.spread, how.summary),
                TOTAL: uncertainty(pairs, "total", "mean_variance"),
            }
        return {**found, DOUBT: torch.sigmoid(-self.model.logits(image, text, paired=paired).cpu().double())}

    def _logits(self, images: Tensor, texts: Tensor) -> Tensor:
        if isinstance(self.model, VariationalAdapter):
            return VariationalScorer(self.model, block=self._block).scores(images, texts)
        blocks = range(0, max(len(images), len(texts)), self._block)
        rows = [
            torch.cat([self.model.logits(images[i : i + self._block], texts[j : j + self._block])
                       for j in blocks if j < len(texts)], 1)
            for i in blocks if i < len(images)
        ]  # fmt: skip
        return torch.cat(rows)


def _best_of(first: HighestPairs, second: HighestPairs, most: int) -> HighestPairs:
    both = HighestPairs(*(torch.cat(parts) for parts in zip(first, second, strict=True)))
    order = np.lexsort((both.texts.numpy(), both.images.numpy(), -both.logits.numpy()))[:most]
    return HighestPairs(*(part[torch.from_numpy(order)] for part in both))
