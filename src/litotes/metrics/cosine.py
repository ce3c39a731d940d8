"""Cosine scores in which equal embeddings tie exactly."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from litotes.metrics.checks import refuse_non_finite

Rows = Callable[[int, int], Tensor]
"""Scores of the queries from ``start`` to ``stop`` over the whole gallery, [stop - start, gallery]."""


def unit(embeddings: Float[Tensor, "*n d"], what: str = "embeddings") -> Float[Tensor, "*n d"]:
    """Embeddings divided by their length; a zero vector stays zero. Errors: non-finite embeddings, named ``what``."""
    refuse_non_finite(embeddings, what)
    # Divided by the largest entry first, or the square of a large number would overflow (of a tiny one, vanish).
    largest = embeddings.abs().amax(dim=-1, keepdim=True)
    scaled = embeddings / torch.where(largest > 0, largest, torch.ones_like(largest))
    return functional.normalize(scaled, dim=-1)


def cosine_scores(images: Float[Tensor, "images d"], texts: Float[Tensor, "texts d"]) -> Float[Tensor, "images texts"]:
    """All cosines: s[i, j] = <images_i, texts_j> / (||images_i|| ||texts_j||), in [-1, 1]; 0 for a zero vector.

    Equal rows are scored once and share the number. In a matrix product two equal rows can differ in the last bit by
    their place in it, which would turn an exact tie (a caption that two images share) into a coin toss.

    Errors: non-finite embeddings.
    """
    image_rows, image_place = distinct_rows(unit(images, "image embeddings"))
    text_rows, text_place = distinct_rows(unit(texts, "text embeddings"))
    return (image_rows @ text_rows.T)[image_place][:, text_place]


def cosine_rows(images: Float[Tensor, "images d"], texts: Float[Tensor, "texts d"]) -> tuple[Rows, Rows]:
    """The scores of ``cosine_scores`` in blocks, never as a whole: rows of images over texts, of texts over images.

    Within a block equal embeddings tie exactly; the matrix product may differ in the last bit between blocks of
    different sizes, so that one should compare the scores of a query inside its block only.

    Errors: non-finite embeddings.
    """
    image_rows, image_place = distinct_rows(unit(images, "image embeddings"))
    text_rows, text_place = distinct_rows(unit(texts, "text embeddings"))

    def over(queries: Tensor, query_place: Tensor, gallery: Tensor, gallery_place: Tensor) -> Rows:
        all_distinct = len(gallery) == len(gallery_place)  # the places are then 0, 1, 2, ...

        def rows(start: int, stop: int) -> Tensor:
            scores = queries[query_place[start:stop]] @ gallery.T
            return scores if all_distinct else scores[:, gallery_place]

        return rows

    return over(image_rows, image_place, text_rows, text_place), over(text_rows, text_place, image_rows, image_place)


def paired_cosines(first: Float[Tensor, "*n d"], second: Float[Tensor, "*n d"]) -> Float[Tensor, "*n"]:
    """Cosines row by row, in [-1, 1]; 0 for a zero vector. Errors: non-finite embeddings."""
    return (unit(first) * unit(second)).sum(dim=-1)


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The different rows in order of appearance and, for each row, its place among them; equal means bit by bit."""
    seen: dict[bytes, int] = {}
    # NumPy knows no bfloat16, and float32 holds it exactly
    exact = (rows.float() if rows.dtype == torch.bfloat16 else rows).detach().cpu().contiguous().numpy()
    place = torch.tensor([seen.setdefault(row.tobytes(), len(seen)) for row in exact], dtype=torch.int64)
    first = torch.zeros(len(seen), dtype=torch.int64)
    first[place.flip(0)] = torch.arange(len(rows) - 1, -1, -1)
    return rows[first.to(rows.device)], place.to(rows.device)
