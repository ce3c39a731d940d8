"""Embeddings of one model, each picture and each text computed once."""

from collections.abc import Callable, Sequence
from typing import Protocol, final, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.data.images import Pictures, Subset
from litotes.metrics.similarity import Similarity

PICTURES_AT_ONCE = 1024
TEXTS_AT_ONCE = 1024

Progress = Callable[[str, int, int], None]
"""Called as ``progress(what, done, total)``, with ``what`` "pictures" or "texts"."""


def silent(what: str, done: int, total: int) -> None:
    """The progress of a run that nobody watches."""


@runtime_checkable
class Encoder(Protocol):
    """What a suite needs of a model; a Matcher is one."""

    def encode_images(self, pictures: Pictures, indices: Sequence[int] | None = None) -> Tensor:
        """Embeddings [n, d] of the pictures (of ``indices`` alone where given), in their order."""

    def encode_texts(self, texts: Sequence[str]) -> Tensor:
        """Embeddings [n, d] of the texts, in their order."""

    @property
    def similarity(self) -> Similarity:
        """How embeddings of pictures and texts compare."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides an embedding."""

    def provenance(self) -> dict[str, object]:
        """The fields that make a number traceable."""


@final
class Remembering:
    """An Encoder that asks its model once for each different picture, by content, and for each different text.

    Two suites over the same pictures in another order share them, and so do two equal files of one data set: equal
    content has equal embeddings, bit by bit. It holds what it has seen until it is dropped, and it must be dropped
    when the model changes. ``progress(what, done, total)`` is called while encoding. ``encode_images`` replaces the
    model's own, for a caller that keeps features on disk or knows that the image tower is unchanged.
    """

    def __init__(
        self,
        encoder: Encoder,
        progress: Progress = silent,
        encode_images: Callable[[Pictures], Tensor] | None = None,
    ) -> None:
        self._encoder = encoder
        self._progress = progress
        self._encode_images = encode_images or encoder.encode_images
        self._images = _Rows()
        self._texts = _Rows()
        self.fingerprint = encoder.fingerprint
        self.similarity = encoder.similarity

    def encode_images(self, pictures: Pictures, indices: Sequence[int] | None = None) -> Float[Tensor, "n d"]:
        """Embeddings of the pictures, in their order."""
        wanted = range(len(pictures)) if indices is None else indices
        keys = [pictures.digest(i) for i in wanted]
        first = dict(reversed(list(zip(keys, wanted, strict=True))))
        new = [key for key in dict.fromkeys(keys) if key not in self._images]
        for start in range(0, len(new), PICTURES_AT_ONCE):
            part = new[start : start + PICTURES_AT_ONCE]
            self._images.add(part, self._encode_images(Subset(pictures, [first[key] for key in part])))
            self._progress("pictures", start + len(part), len(new))
        return self._images.of(keys)

    def encode_texts(self, texts: Sequence[str]) -> Float[Tensor, "n d"]:
        """Embeddings of the texts, in their order."""
        # Texts of like length together waste no time on padding.
        new = sorted({text for text in texts if text not in self._texts}, key=lambda text: (len(text), text))
        for start in range(0, len(new), TEXTS_AT_ONCE):
            part = new[start : start + TEXTS_AT_ONCE]
            self._texts.add(part, self._encoder.encode_texts(part))
            self._progress("texts", start + len(part), len(new))
        return self._texts.of(texts)

    def provenance(self) -> dict[str, object]:
        """That of the model."""
        return self._encoder.provenance()

    @property
    def truncated(self) -> int:
        """Captions that the model's tokenizer has cut so far."""
        count = self._encoder.provenance().get("captions_truncated", 0)
        return count if isinstance(count, int) else 0


def remembering(encoder: Encoder) -> Remembering:
    """The encoder as one that remembers; one that does already is taken as it is, with what it holds."""
    return encoder if isinstance(encoder, Remembering) else Remembering(encoder)


def picture_digests(pictures: Pictures) -> list[str]:
    """Digests of the contents, in order."""
    return [pictures.digest(i) for i in range(len(pictures))]


class _Rows:
    """Rows of embeddings by key."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}
        self._parts: list[Tensor] = []

    def __contains__(self, key: str) -> bool:
        return key in self._place

    def add(self, keys: Sequence[str], rows: Tensor) -> None:
        for key in keys:
            self._place[key] = len(self._place)
        self._parts.append(rows.cpu())

    def of(self, keys: Sequence[str]) -> Tensor:
        if len(self._parts) > 1:
            self._parts = [torch.cat(self._parts)]
        return self._parts[0][[self._place[key] for key in keys]]
