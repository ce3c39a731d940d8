"""Ranks of many positives, and the best K, from scores that come in blocks and are never held as a whole.

The memory is O(block x gallery) beside the result; the block changes no result but where the rounding of the matrix
product decides.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite
from litotes.metrics.cosine import Rows, rows_over, units
from litotes.metrics.counting import Pairs, Tally
from litotes.metrics.graded import UNFOUND, PositiveRanks

_PAIRS_AT_ONCE = 512  # their embeddings stay in the cache
_NUMBERS_AT_ONCE = 1 << 24  # scores in a block, where none is asked: 64 MiB in float32


class Scores(NamedTuple):
    """Scores of images over texts, in blocks.

    ``shape``: images, texts. ``rows``: scores of some images, [b, texts]. ``of_pairs``: scores of single pairs, given
    the numbers of their images and texts. ``place`` [images]: a number that two images share where they are equal, so
    that all their scores are.
    """

    shape: tuple[int, int]
    rows: Rows
    of_pairs: Callable[[Tensor, Tensor], Tensor]
    place: Tensor


@runtime_checkable
class Streamed(Protocol):
    """What scores all pictures and texts by their embeddings, in blocks; a ``Similarity`` is one."""

    def scores(self, images: Tensor, texts: Tensor) -> Scores:
        """All scores."""


def matrix(scores: Float[Tensor, "images texts"]) -> Scores:
    """Scores that are there as a whole; each block is checked to be finite."""

    def rows(start: int, stop: int) -> Tensor:
        refuse_non_finite(scores[start:stop])
        return scores[start:stop]

    n_images, n_texts = scores.shape
    return Scores((n_images, n_texts), rows, lambda image, text: scores[image, text], torch.arange(n_images))


def cosines(images: Float[Tensor, "images d"], texts: Float[Tensor, "texts d"]) -> Scores:
    """The scores of ``cosine_scores``. Errors: non-finite embeddings."""
    pictures, captions = units(images, "image embeddings"), units(texts, "text embeddings")
    of_pairs = in_parts(lambda i, t: (pictures.of(i) * captions.of(t)).sum(dim=-1))
    return Scores((len(images), len(texts)), rows_over(pictures, captions), of_pairs, pictures.place)


def in_parts(of_pairs: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """The scores of pairs some at once, so that no more of their embeddings are gathered together."""

    def joined(image: Tensor, text: Tensor) -> Tensor:
        parts = zip(image.split(_PAIRS_AT_ONCE), text.split(_PAIRS_AT_ONCE), strict=True)
        return torch.cat([of_pairs(i, t) for i, t in parts])

    return joined


class AtOrAbove(NamedTuple):
    """How many score at least as high as each pair, itself among them; int64 [pairs].

    ``texts``: texts for the pair's image. ``images``: images for the pair's text. ``texts_inside`` and
    ``images_inside``: of these, those of the pair's own part (the same counts where there are no parts).
    ``equal_texts`` and ``equal_images``: how many others have the same score. What is not asked of a pair is
    ``UNFOUND`` in the first four, 0 in the last two.
    """

    texts: Tensor
    images: Tensor
    texts_inside: Tensor
    images_inside: Tensor
    equal_texts: Tensor
    equal_images: Tensor


class Asked(NamedTuple):
    """The pairs whose counts are asked for one way; with fewer of them the work is less.

    ``best_of`` [sets, pairs]: sets of pairs of which each query needs its best alone, as recall does. ``every``
    [pairs]: pairs that are needed whatever their place, or, with ``enough`` [pairs], as long as no more than so many
    score at least as high: below a query's first pair of ``every`` with more than that none is needed, as AP@R asks.
    ``enough`` saves work from images to texts only.
    """

    best_of: Bool[Tensor, "sets pairs"]
    every: Bool[Tensor, " pairs"]
    enough: Int[Tensor, " pairs"] | None = None


class Parts(NamedTuple):
    """Parts of a gallery, as folds are: the number of the part of each image [images] and of each text [texts]."""

    images: Tensor
    texts: Tensor


def at_or_above(
    scores: Scores,
    image: Int[Tensor, " pairs"],
    text: Int[Tensor, " pairs"],
    block: int | None = None,
    *,
    asked_texts: Asked | None = None,
    asked_images: Asked | None = None,
    decisive: Bool[Tensor, " pairs"] | None = None,
    parts: Parts | None = None,
) -> AtOrAbove:
    """The worst rank that a sort could give to each of some pairs, both ways, from one pass over the scores.

    texts_p  = #{ j : s[image_p, j] >= s[image_p, text_p] }
    images_p = #{ i : i equals image_p, or s[i, text_p] >= s[image_p, text_p] }

    ``image``, ``text`` [pairs]: numbers of the pairs, in any order, none twice or many times. ``block``: images
    worked on at once; by default as many as make 2^24 scores. ``asked_texts``, ``asked_images``: the pairs whose
    texts (by image), and whose images (by text), are asked for; by default all. ``decisive`` [pairs]: the pairs of
    which equal scores, and with ``parts`` those inside, are counted too; by default all. ``parts``: a pair counts
    inside where its image and text are of one part; it is fastest where the images of each part stand together.

    Texts are compared inside the block that holds the image's row. A text's own score is computed by itself before
    any block; where the other images' scores differ from it by less than rounding the order is open anyhow, and
    images that equal the right one tie with it by name and not by number.

    Errors: non-finite scores, no image or text, numbers out of range.
    """
    n_images, n_texts = scores.shape
    if n_images < 1 or n_texts < 1 or (block is not None and block < 1):
        raise UserError(
            got=f"{n_images} images, {n_texts} texts in blocks of {block}", expected="at least 1", do="check them"
        )
    _require_numbers(image, n_images, "images")
    _require_numbers(text, n_texts, "texts")
    own, all_pairs = _array(scores.of_pairs(image, text)), torch.ones(len(image), dtype=torch.bool)
    everything = Asked(torch.zeros(0, len(image), dtype=torch.bool), all_pairs)
    by_image, by_text = asked_texts or everything, asked_images or everything
    enough = torch.full((len(image),), n_texts) if by_image.enough is None else by_image.enough
    given = (
        decisive if decisive is not None else all_pairs, scores.place,
        by_image.best_of, by_image.every, enough, by_text.best_of, by_text.every,
    )  # fmt: skip
    pairs = Pairs(_numpy(image), _numpy(text), own, *map(_numpy, given))
    tally = Tally(pairs, n_texts, parts and (_numpy(parts.images), _numpy(parts.texts)))
    at_once = block or max(1, _NUMBERS_AT_ONCE // n_texts)
    for start in range(0, n_images, at_once):
        tally.add(start, _array(scores.rows(start, min(start + at_once, n_images))))
    return AtOrAbove(*map(torch.from_numpy, tally.counts()))


def tied_queries(query: Int[Tensor, " pairs"], count: Int[Tensor, " pairs"], equal: Int[Tensor, " pairs"]) -> Tensor:
    """The queries whose best positive shares its score with an item that is no positive; int64, rising.

    ``query``, ``count`` [pairs] as for ``behind_their_equals``; ``equal`` [pairs]: items of the same score beside each.
    There the rule for ties decides: by another one the rank would be better.
    """
    best = torch.full((int(query.max()) + 1,), UNFOUND).scatter_reduce(0, query, count, "amin")
    decides = (count == best[query]) & (count < UNFOUND)
    own = torch.bincount(query[decides], minlength=len(best))
    return query[decides & (equal > own[query] - 1)].unique()


def _numpy(numbers: Tensor) -> np.ndarray:
    return numbers.cpu().numpy()


def _array(scores: Tensor) -> np.ndarray:
    """As NumPy compares it; NumPy knows no bfloat16 and is slow on halves, float32 holds both exactly."""
    return (scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores).detach().cpu().numpy()


def _require_numbers(numbers: Tensor, size: int, what: str) -> None:
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < size:
        raise UserError(
            got=f"numbers of {what} from {int(numbers.min())} to {int(numbers.max())}",
            expected=f"0 to {size - 1}",
            do="check how they are counted",
        )


def behind_their_equals(query: Int[Tensor, " pairs"], count: Int[Tensor, " pairs"]) -> PositiveRanks:
    """Ranks of the positives, each behind every item of equal score that is no positive of its query.

    ``query``, ``count`` [pairs]: all positives of all queries, and their numbers by ``at_or_above`` (``UNFOUND`` for
    what is not in the gallery). Among t positives of one score, the count n of all of them, the ranks are n - t + 1,
    ..., n. So a model whose scores are all the same finds nothing, and R@1 is the share of the queries whose best
    score belongs to positives only.
    """
    order = torch.from_numpy(np.lexsort((count.cpu().numpy(), query.cpu().numpy())))
    query, count = query[order], count[order]
    fresh = torch.ones(len(order), dtype=torch.bool)
    fresh[1:] = (query[1:] != query[:-1]) | (count[1:] != count[:-1])
    begin, group = fresh.nonzero()[:, 0], fresh.cumsum(0) - 1
    size = torch.diff(begin, append=torch.tensor([len(order)]))
    place = torch.arange(len(order)) - begin[group]
    return PositiveRanks(query, torch.where(count < UNFOUND, count - size[group] + 1 + place, UNFOUND))


def best(rows: Rows, n_queries: int, k: int, block: int = 512) -> tuple[Tensor, Tensor]:
    """The K highest scores of each query and the items that have them, best first; [queries, K] both.

    ``rows``: those of ``cosine_rows``, or ``lambda start, stop: scores[start:stop]`` of a matrix.

    Of equal scores the earlier item of the gallery comes first, also where the list ends. Such a list is for looking
    at, and for measures that take lists; ``behind_their_equals`` holds ties against the model, which no list can.

    Errors: non-finite scores; K below 1 or above the gallery.
    """
    scores, items = zip(
        *(_best_of(block_scores, k) for _, block_scores in _blocks(rows, n_queries, block)), strict=True
    )
    return torch.cat(scores), torch.cat(items)


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
