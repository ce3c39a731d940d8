"""Cosine scores in which equal embeddings tie exactly."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from litotes.metrics.checks import refuse_non_finite

Rows = Callable[[int, int], Tensor]
"""Scores of the queries from ``start`` to ``stop`` over the whole gallery, [stop - start, gallery]."""


_ROWS_AT_ONCE = 4096  # bounds what is copied to look at numbers bit by bit


class Units(NamedTuple):
    """Unit embeddings, equal ones once: the different ``rows`` [distinct, d], and the ``place`` of each [n] in them."""

    rows: Tensor
    place: Tensor

    def of(self, numbers: Tensor | slice) -> Tensor:
        """The unit embeddings of some numbers."""
        return self.rows[self.place[numbers]]


def units(embeddings: Float[Tensor, "n d"], what: str = "embeddings") -> Units:
    """See ``Units``. Errors: non-finite embeddings, named ``what``."""
    return Units(*distinct_rows(unit(embeddings, what)))


def unit(embeddings: Float[Tensor, "*n d"], what: str = "embeddings") -> Float[Tensor, "*n d"]:
    """Embeddings divided by their length; a zero vector stays zero. Errors: non-finite embeddings, named ``what``."""
    refuse_non_finite(embeddings, what)
    # Divided by the largest entry first, or the square of a large number would overflow (of a tiny one, vanish).
    largest = torch.linalg.vector_norm(embeddings, torch.inf, dim=-1, keepdim=True)
    return functional.normalize(embeddings / torch.where(largest > 0, largest, torch.ones_like(largest)), dim=-1)


def cosine_scores(images: Float[Tensor, "images d"], texts: Float[Tensor, "texts d"]) -> Float[Tensor, "images texts"]:
    """All cosines: s[i, j] = <images_i, texts_j> / (||images_i|| ||texts_j||), in [-1, 1]; 0 for a zero vector.

    Equal rows are scored once and share the number. In a matrix product two equal rows can differ in the last bit by
    their place in it, which would turn an exact tie (a caption that two images share) into a coin toss.

    Errors: non-finite embeddings.
    """
    pictures, captions = units(images, "image embeddings"), units(texts, "text embeddings")
    return products(pictures.rows, captions.rows)[pictures.place][:, captions.place]


def cosine_rows(images: Float[Tensor, "images d"], texts: Float[Tensor, "texts d"]) -> tuple[Rows, Rows]:
    """The scores of ``cosine_scores`` in blocks, never as a whole: rows of images over texts, of texts over images.

    Within a block equal embeddings tie exactly; the matrix product may differ in the last bit between blocks of
    different sizes, so that one should compare the scores of a query inside its block only.

    Errors: non-finite embeddings.
    """
    pictures, captions = units(images, "image embeddings"), units(texts, "text embeddings")
    return rows_over(pictures, captions), rows_over(captions, pictures)


def rows_over(queries: Units, gallery: Units) -> Rows:
    """Cosines of some queries over the whole gallery; see ``cosine_rows``."""
    all_distinct = len(gallery.rows) == len(gallery.place)  # the places are then 0, 1, 2, ...

    def rows(start: int, stop: int) -> Tensor:
        scores = products(queries.of(slice(start, stop)), gallery.rows)
        return scores if all_distinct else scores[:, gallery.place]

    return rows


def products(first: Float[Tensor, "n d"], second: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    """All scalar products. On a CPU by NumPy, whose OpenBLAS took a quarter less time than the MKL of torch on AMD."""
    plain = all(rows.device.type == "cpu" and not rows.requires_grad for rows in (first, second))
    if plain and first.dtype == second.dtype and first.dtype in (torch.float32, torch.float64):
        return torch.from_numpy(first.numpy() @ second.numpy().T)
    return first @ second.T


def paired_cosines(first: Float[Tensor, "*n d"], second: Float[Tensor, "*n d"]) -> Float[Tensor, "*n"]:
    """Cosines row by row, in [-1, 1]; 0 for a zero vector. Errors: non-finite embeddings."""
    return (unit(first) * unit(second)).sum(dim=-1)


def distinct_rows(rows: Float[Tensor, "n d"]) -> tuple[Tensor, Tensor]:
    """The different rows in order of appearance and, for each row, its place among them; equal means bit by bit."""
    # NumPy knows no bfloat16, and float32 holds it exactly
    exact = (rows.float() if rows.dtype == torch.bfloat16 else rows).detach().cpu().contiguous().numpy()
    words = exact.view(np.dtype(f"u{exact.itemsize}"))
    _, first, group = np.unique(_digests(words), return_index=True, return_inverse=True)
    if not _same(words, first[group]):  # different rows of one digest
        _, first, group = np.unique(words, axis=0, return_index=True, return_inverse=True)
    by_appearance = np.argsort(first)
    place = np.argsort(by_appearance)[group.ravel()]
    chosen = rows if len(first) == len(words) else rows[torch.from_numpy(first[by_appearance]).to(rows.device)]
    return chosen, torch.from_numpy(place).to(rows.device)


def _digests(words: np.ndarray) -> np.ndarray:
    """A number for each row, equal where the rows are: its words times random odd numbers, added up modulo 2^64."""
    factors = np.random.default_rng(0).integers(0, 2**63, words.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    found = np.empty(len(words), dtype=np.uint64)
    for start in range(0, len(words), _ROWS_AT_ONCE):
        found[start : start + _ROWS_AT_ONCE] = words[start : start + _ROWS_AT_ONCE].astype(np.uint64) @ factors
    return found


def _same(words: np.ndarray, other: np.ndarray) -> bool:
    """Whether each row equals the row of that number."""
    moved = np.flatnonzero(other != np.arange(len(words)))
    parts = (moved[start : start + _ROWS_AT_ONCE] for start in range(0, len(moved), _ROWS_AT_ONCE))
    return all(np.array_equal(words[part], words[other[part]]) for part in parts)
