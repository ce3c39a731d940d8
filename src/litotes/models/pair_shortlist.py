"""The logits of a model of pairs for the pairs of highest cosine alone: a ranking in a fraction of the time."""

from typing import NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite
from litotes.metrics.cosine import distinct_rows, products, unit
from litotes.metrics.streaming import Scores, best, in_parts
from litotes.models.pair_adapter import PairModel
from litotes.models.pair_scores import Told, require_some, untold
from litotes.models.scorer import MergedMean
from litotes.models.variational import VariationalAdapter

BEST, SAMPLED = 10, 32
_BELOW = 2.0
"""Pairs off the list have their cosine, less this, under the lowest logit on it: all of them stand below the list."""
_AT_ONCE = 2048


class Recall(NamedTuple):
    """What a shortlist holds of what all pairs would give.

    listed, pairs: different pairs on the list, and in all. best: how many items of a search are looked for. sampled:
    searches each way, by name, that were scored against the whole gallery. share: of their ``best`` items those that
    are on the list, by way, 0 to 1.
    """

    listed: int
    pairs: int
    best: int
    sampled: dict[str, int]
    share: dict[str, float]


@final
class ShortlistedLogits:
    """Scores as `StreamedLogits` gives them, of which the model is asked for the pairs of a shortlist alone.

    On it are for each of t texts the ``shortlist`` pictures of highest cosine, and for each of n pictures
    ``ceil(shortlist t / n)`` texts, at least ``shortlist``: with five captions a picture five times as many. Every
    other pair stands below all of these, by its cosine. So recall at K <= shortlist is that of the model but for what
    the list lacks, of which ``recall`` tells by ``sample`` searches each way, drawn by a fixed seed, once ``scores``
    was called; deeper ranks are those of the cosine.

    It holds some 12 bytes for each pair of the list, and a block. Equal pictures have equal scores bit by bit, and so
    have equal texts. progress: called with the pairs that the model has scored, and those that it will, the sample's
    among them. Errors: a shortlist or a sample below 1. Source: reranking; VACSR (arXiv 2605.30968) scores all.
    """

    def __init__(self, model: PairModel, shortlist: int, sample: int = SAMPLED, progress: Told = untold) -> None:
        for name, number in (("shortlist", shortlist), ("sample", sample)):
            if number < 1:
                raise UserError(got=f"{name} = {number}", expected="a whole number from 1 on", do=f"correct {name}")
        self._model, self._shortlist, self._sample, self._progress = model, shortlist, sample, progress
        self._device = next(model.parameters()).device
        self.recall: Recall | None = None

    @torch.no_grad()
    def scores(self, images: Float[Tensor, "ni d"], texts: Float[Tensor, "nt d"]) -> Scores:
        """Scores of all pairs, higher is better, float32 on the CPU.

        Errors: no image or no text; features or logits that are not finite.
        """
        require_some(images, texts)
        (pictures, place), (captions, place_of_text) = (distinct_rows(part.cpu()) for part in (images, texts))
        units = unit(pictures.float(), "image embeddings"), unit(captions.float(), "text embeddings")
        listed = _shortlist(*units, self._shortlist, -(-self._shortlist * len(texts) // len(images)))
        sampled = sum(min(self._sample, n) * other for n, other in _both_ways(len(pictures), len(captions)).values())
        told = _Counted(self._progress, len(listed) + sampled)
        logits = self._logits(pictures, captions, listed, told)
        self.recall = self._recall(pictures, captions, listed, told)
        below, width = logits.min() - _BELOW, len(captions)
        begin = torch.searchsorted(listed, torch.arange(len(pictures) + 1) * width)

        def rows(start: int, stop: int) -> Tensor:
            wanted, at = place[start:stop].unique(return_inverse=True)
            found = products(units[0][wanted], units[1]) + below
            for row, picture in enumerate(wanted.tolist()):
                own = slice(begin[picture], begin[picture + 1])
                found[row, listed[own] - picture * width] = logits[own]
            return found[at][:, place_of_text]

        def of_pairs(image: Tensor, text: Tensor) -> Tensor:
            picture, caption = place[image], place_of_text[text]
            at, there = _among(listed, picture * width + caption)
            return torch.where(there, logits[at], (units[0][picture] * units[1][caption]).sum(1) + below)

        return Scores((len(images), len(texts)), rows, in_parts(of_pairs), place)

    def _logits(self, pictures: Tensor, captions: Tensor, pairs: Tensor, told: "_Counted") -> Float[Tensor, " pairs"]:
        """Of pairs of different pictures and captions, given as picture x captions + caption."""
        model = MergedMean(self._model) if isinstance(self._model, VariationalAdapter) else self._model
        parts = []
        for part in pairs.split(_AT_ONCE):
            both = pictures[part // len(captions)], captions[part % len(captions)]
            found = model.logits(*(features.to(self._device) for features in both), paired=True)
            parts.append(found.squeeze(1).float().cpu())
            told.add(len(part))
        logits = torch.cat(parts)
        refuse_non_finite(logits)
        return logits

    def _recall(self, pictures: Tensor, captions: Tensor, listed: Tensor, told: "_Counted") -> Recall:
        """By some searches each way, scored against the whole gallery."""
        generator = torch.Generator().manual_seed(0)
        sampled, share = {}, {}
        for way, (queries, gallery) in _both_ways(len(pictures), len(captions)).items():
            drawn = torch.randperm(queries, generator=generator)[: self._sample]
            held = 0.0
            for query in drawn.tolist():
                item = torch.arange(gallery)
                pairs = query * gallery + item if way == "i2t" else item * queries + query
                first = self._logits(pictures, captions, pairs, told).topk(min(BEST, gallery)).indices
                held += _among(listed, pairs[first])[1].double().mean().item()
            sampled[way], share[way] = len(drawn), held / len(drawn)
        return Recall(len(listed), len(pictures) * len(captions), BEST, sampled, share)


class _Counted:
    """Counts what is done, and tells it."""

    def __init__(self, progress: Told, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def add(self, count: int) -> None:
        self._done += count
        self._progress(self._done, self._total)


def _both_ways(pictures: int, captions: int) -> dict[str, tuple[int, int]]:
    """Queries and gallery, by way."""
    return {"i2t": (pictures, captions), "t2i": (captions, pictures)}


def _shortlist(
    pictures: Float[Tensor, "n d"], captions: Float[Tensor, "t d"], of_text: int, of_picture: int
) -> Int[Tensor, " pairs"]:
    """Pairs of highest cosine for each of both, as picture x t + caption, rising, each once."""
    width = len(captions)
    most = min(max(of_picture, of_text), width), min(of_text, len(pictures))
    texts = best(lambda low, high: products(pictures[low:high], captions), len(pictures), most[0])[1]
    images = best(lambda low, high: products(captions[low:high], pictures), width, most[1])[1]
    of_pictures = torch.arange(len(pictures)).unsqueeze(1) * width + texts
    of_texts = images * width + torch.arange(width).unsqueeze(1)
    return torch.cat([of_pictures.flatten(), of_texts.flatten()]).unique()


def _among(rising: Int[Tensor, " n"], wanted: Int[Tensor, " m"]) -> tuple[Tensor, Tensor]:
    """Where some numbers stand among others, and whether they do."""
    at = torch.searchsorted(rising, wanted).clamp(max=len(rising) - 1)
    return at, rising[at] == wanted
