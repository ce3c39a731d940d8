"""Retrieval both ways: exact ranks from scores, any number of captions an image, and recall at K."""

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

import torch
from jaxtyping import Float, Int
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import as_indices
from litotes.metrics.graded import UNFOUND, check_depths
from litotes.metrics.streaming import Asked, Scores, at_or_above, cosines, matrix, tied_queries


class Ranks(NamedTuple):
    """Ranks of the right items, counted from 1.

    ``image_to_text`` [images]: rank of the best own caption of each image, 0 for an image without a caption.
    ``text_to_image`` [texts]: rank of the one right image of each text. ``tied_images`` and ``tied_texts``: the queries
    whose rank the rule for ties decides, since an item that is not right has the very score of the best right one.
    """

    image_to_text: Tensor
    text_to_image: Tensor
    tied_images: Tensor
    tied_texts: Tensor


class Recalls(TypedDict):
    """Recall at K both ways as fractions 0-1, and their sum in percent."""

    i2t: dict[int, float]
    t2i: dict[int, float]
    rsum: float


def ranks(
    scores: Float[Tensor, "images texts"], image_of_text: Tensor | Sequence[int], block: int | None = None
) -> Ranks:
    """Exact ranks both ways, every tie counted against the right item.

    text -> image:  rank_j = 1 + #{ i != image_of_text[j] : s[i, j] >= s[image_of_text[j], j] }
    image -> text:  rank_i = 1 + #{ j not own of i : s[i, j] >= b_i },  b_i = max of s[i, j] over the own captions j

    ``scores`` s [images, texts]: higher is better, any scale, any sign. ``image_of_text`` [texts]: row of each
    text's one right image; an image may have any number of texts, none included. ``block``: images worked on at
    once, which bounds the memory at O(block x texts) and changes no result.

    An image is found by its best own caption: its other own captions, ranked before or after, are no rivals (the
    any-hit rule of NegBench and CLIP_benchmark). A caption of another image with the same wording has the same score
    and is a rival like any other, so an image whose best caption also belongs to another image is never at rank 1.
    The files of NegBench leave this open (206 captions of the standard file are repeated; a sort would decide by
    memory order); here the right item is behind all its equals, which gives the lowest value that a sort could give.
    An image without captions is no query (rank 0) but stays a rival in text -> image.

    Errors: non-finite scores, no text at all, ``image_of_text`` of another length or out of range.
    """
    return ranks_of(matrix(scores), image_of_text, block)


def cosine_ranks(
    images: Float[Tensor, "images d"],
    texts: Float[Tensor, "texts d"],
    image_of_text: Tensor | Sequence[int],
    block: int | None = None,
) -> Ranks:
    """The ranks of ``ranks`` for cosine similarity, without ever holding the whole score matrix.

    s[i, j] = <images_i, texts_j> / (||images_i|| ||texts_j||); a zero vector scores 0 with everything.

    Equal embeddings tie exactly, as in ``cosine_scores``.

    Errors: those of ``ranks``; non-finite embeddings.
    """
    return ranks_of(cosines(images, texts), image_of_text, block)


def ranks_of(scores: Scores, image_of_text: Tensor | Sequence[int], block: int | None = None) -> Ranks:
    """The ranks of ``ranks`` from scores in blocks, whatever they come from."""
    n_images, n_texts = scores.shape
    owners, texts = _owners(image_of_text, n_images, n_texts).cpu(), torch.arange(n_texts)
    one_set = Asked(torch.ones(1, n_texts, dtype=torch.bool), torch.zeros(n_texts, dtype=torch.bool))
    found = at_or_above(scores, owners, texts, block, asked_texts=one_set)
    best = torch.full((n_images,), UNFOUND).scatter_reduce(0, owners, found.texts, "amin")
    own_equals = torch.bincount(owners[found.texts == best[owners]], minlength=n_images)
    return Ranks(
        torch.where(own_equals > 0, best - own_equals + 1, 0),
        found.images,
        tied_queries(owners, found.texts, found.equal_texts),
        tied_queries(texts, found.images, found.equal_images),
    )


def recall_at_k(
    scores: Float[Tensor, "images texts"],
    image_of_text: Tensor | Sequence[int],
    ks: Sequence[int] = (1, 5, 10),
) -> Recalls:
    """Recall at each K, image -> text and text -> image, and their sum.

    recall_t2i(K) = #{ j : rank_j <= K } / texts;  recall_i2t(K) = #{ i with captions : rank_i <= K } / #{ i with
    captions };  rsum = 100 times the sum of all of them (600 at most for the usual three K).

    The arguments, ties and errors are those of ``ranks``; a K above the size of a gallery is refused, since every
    item would be a hit. Fractions 0-1. Source: NegBench's retrieval evaluation and HANCLIP's rSum; deviation: ties
    against the right item.
    """
    return recalls(ranks(scores, image_of_text), ks)


def recalls(found: Ranks, ks: Sequence[int] = (1, 5, 10)) -> Recalls:
    """Recall at each K from ranks; see ``recall_at_k``."""
    n_images, n_texts = len(found.image_to_text), len(found.text_to_image)
    check_ks(ks, n_images, n_texts)
    queries = found.image_to_text[found.image_to_text > 0]
    i2t = {k: int((queries <= k).sum()) / len(queries) for k in ks}
    t2i = {k: int((found.text_to_image <= k).sum()) / n_texts for k in ks}
    return {"i2t": i2t, "t2i": t2i, "rsum": 100 * (sum(i2t.values()) + sum(t2i.values()))}


def median_rank(ranks_of_queries: Int[Tensor, " queries"]) -> float:
    """Median of the ranks of all queries that have one (rank 0: none); the mean of the middle two where even."""
    ordered = ranks_of_queries[ranks_of_queries > 0].sort().values
    if not len(ordered):
        raise UserError(got="no rank", expected="at least one query", do="give images with captions")
    return (int(ordered[(len(ordered) - 1) // 2]) + int(ordered[len(ordered) // 2])) / 2


def check_ks(ks: Sequence[int], n_images: int, n_texts: int) -> None:
    """Nothing where every K is a rank that both galleries have; a UserError otherwise."""
    check_depths(ks)
    size, gallery = min((n_images, "images"), (n_texts, "texts"))
    if max(ks) > size:
        raise UserError(
            got=f"recall at K = {max(ks)} over {size} {gallery} (--ks)",
            expected=f"K of at most {size}: recall is 1 by definition beyond the whole gallery",
            do=f"give --ks {_at_most(size, ks)}, or evaluate more pairs",
        )


def _at_most(size: int, ks: Sequence[int]) -> str:
    """Ranks that a gallery has: those that were asked for, or else the usual ones."""
    some = [k for k in ks if k <= size] or [k for k in (1, 5, 10) if k <= size]
    return ",".join(map(str, some or [1]))


def _owners(image_of_text: Tensor | Sequence[int], n_images: int, n_texts: int) -> Tensor:
    if not n_images or not n_texts:
        raise UserError(
            got=f"{n_images} images and {n_texts} texts", expected="at least one of each", do="check the input file"
        )
    return as_indices(image_of_text, n_texts, n_images, "image_of_text")
