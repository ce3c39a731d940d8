"""Ranks of many positives, and the best K, from scores that come in blocks and are never held as a whole.

The memory is O(block x gallery) beside the result; the block changes no result but where the rounding of the matrix
product decides.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite
from litotes.metrics.cosine import Rows, cosine_rows, distinct_rows, paired_cosines, unit
from litotes.metrics.graded import UNFOUND, PositiveRanks

_PAIRS_AT_ONCE = 4096
_ROWS_AT_ONCE = 1 << 15  # sums of rows are counted in 16 bits


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
    rows = cosine_rows(images, texts)[0]
    of_pairs = in_parts(lambda i, t: paired_cosines(images[i], texts[t]))
    return Scores((len(images), len(texts)), rows, of_pairs, distinct_rows(unit(images))[1])


def in_parts(of_pairs: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """The scores of pairs a few thousand at once, so that no more of their embeddings are gathered together."""

    def joined(image: Tensor, text: Tensor) -> Tensor:
        parts = zip(image.split(_PAIRS_AT_ONCE), text.split(_PAIRS_AT_ONCE), strict=True)
        return torch.cat([of_pairs(i, t) for i, t in parts])

    return joined


class AtOrAbove(NamedTuple):
    """How many score at least as high as each pair, itself among them; int64 [pairs].

    ``texts``: texts for the pair's image. ``images``: images for the pair's text.
    """

    texts: Tensor
    images: Tensor


def at_or_above(
    scores: Scores, image: Int[Tensor, " pairs"], text: Int[Tensor, " pairs"], block: int = 256
) -> AtOrAbove:
    """The worst rank that a sort could give to each of some pairs, both ways, from one pass over the scores.

    texts_p  = #{ j : s[image_p, j] >= s[image_p, text_p] }
    images_p = #{ i : i equals image_p, or s[i, text_p] >= s[image_p, text_p] }

    ``image``, ``text`` [pairs]: numbers of the pairs, in any order, none twice or many times. ``block``: images
    worked on at once.

    Texts are compared inside the block that holds the image's row. A text's own score is computed by itself before
    any block; where the other images' scores differ from it by less than rounding the order is open anyhow, and
    images that equal the right one tie with it by name and not by number.

    Errors: non-finite scores, no image or text, numbers out of range.
    """
    n_images, n_texts = scores.shape
    if n_images < 1 or n_texts < 1 or block < 1:
        raise UserError(
            got=f"{n_images} images, {n_texts} texts in blocks of {block}", expected="at least 1", do="check them"
        )
    _require_numbers(image, n_images, "images")
    _require_numbers(text, n_texts, "texts")
    texts, images = np.zeros(len(image), dtype=np.int64), np.zeros(len(image), dtype=np.int64)
    pairs = image.cpu().numpy(), text.cpu().numpy()
    place = scores.place.cpu().numpy().astype(np.int32)
    layers = list(_layers(*pairs, _array(scores.of_pairs(image, text)), place))
    by_image = np.argsort(pairs[0], kind="stable")
    bounds = np.searchsorted(pairs[0][by_image], np.arange(n_images + 1))
    for start in range(0, n_images, min(block, _ROWS_AT_ONCE)):
        rows = _array(scores.rows(start, min(start + min(block, _ROWS_AT_ONCE), n_images)))
        for number, row in enumerate(rows, start):
            own = by_image[bounds[number] : bounds[number + 1]]
            texts[own] = [np.count_nonzero(row >= row[column]) for column in pairs[1][own]]
        for layer in layers:
            images[layer.pairs] += layer.reaching(rows, place[start : start + len(rows)])
    return AtOrAbove(torch.from_numpy(texts), torch.from_numpy(images))


class _Layer(NamedTuple):
    """At most one pair of each text: its column, its score, and the place of its image."""

    pairs: np.ndarray
    columns: np.ndarray
    own: np.ndarray
    place: np.ndarray

    def reaching(self, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        """In each column, the rows that reach the pair's own score or are its image."""
        whole = len(self.columns) == rows.shape[1]  # the columns are then 0, 1, 2, ...
        reached = (rows if whole else rows.take(self.columns, axis=1)) >= self.own
        reached |= places[:, None] == self.place
        return reached.sum(axis=0, dtype=np.uint16)


def _layers(image: np.ndarray, text: np.ndarray, own: np.ndarray, place: np.ndarray) -> Iterator[_Layer]:
    """The first pair of each text, the second of each that has two, and so on, by rising text."""
    order = np.argsort(text, kind="stable")
    number = np.arange(len(order)) - np.searchsorted(text[order], text[order])
    for layer in range(int(number.max(initial=-1)) + 1):
        pairs = order[number == layer]
        yield _Layer(pairs, text[pairs], own[pairs], place[image[pairs]])


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
    by_count = count.argsort(stable=True)
    order = by_count[query[by_count].argsort(stable=True)]
    pairs = torch.stack([query[order], count[order]])
    _, group, size = torch.unique_consecutive(pairs, dim=1, return_inverse=True, return_counts=True)
    place = torch.arange(len(order)) - (size.cumsum(0) - size)[group]
    rank = torch.where(pairs[1] < UNFOUND, pairs[1] - size[group] + 1 + place, UNFOUND)
    return PositiveRanks(pairs[0], rank)


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
