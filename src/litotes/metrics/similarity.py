"""How the embeddings of pictures and texts compare: by cosine, or by the cosine of a picture masked for each text."""

from abc import ABC, abstractmethod
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.cosine import distinct_rows, paired_cosines, unit
from litotes.metrics.streaming import Scores, cosines, in_parts


class Similarity(ABC):
    """Scores of pictures and texts from their embeddings, higher is better; ``name`` stands in results.

    What an embedding of a text holds beside its d numbers, e numbers in all, is the business of the class alone.
    """

    name: str

    @abstractmethod
    def paired(self, images: Float[Tensor, "*n d"], texts: Float[Tensor, "*n e"]) -> Float[Tensor, "*n"]:
        """Scores row by row."""

    @abstractmethod
    def scores(self, images: Float[Tensor, "images d"], texts: Float[Tensor, "texts e"]) -> Scores:
        """All scores, in blocks."""

    @abstractmethod
    def between_texts(self, first: Float[Tensor, "*n e"], second: Float[Tensor, "*n e"]) -> Float[Tensor, "*n"]:
        """Cosines of texts row by row."""

    @abstractmethod
    def pooled(self, prompts: Float[Tensor, "classes templates e"]) -> Float[Tensor, "classes e"]:
        """One embedding for each class from those of its prompts."""


@final
class Cosine(Similarity):
    """CLIP's own: <v, t> / (||v|| ||t||), and classes as the unit mean of their prompts' unit embeddings."""

    name = "cosine"

    def paired(self, images: Float[Tensor, "*n d"], texts: Float[Tensor, "*n e"]) -> Float[Tensor, "*n"]:
        """See the class."""
        return paired_cosines(images, texts)

    def scores(self, images: Float[Tensor, "images d"], texts: Float[Tensor, "texts e"]) -> Scores:
        """See the class."""
        return cosines(images, texts)

    def between_texts(self, first: Float[Tensor, "*n e"], second: Float[Tensor, "*n e"]) -> Float[Tensor, "*n"]:
        """See the class."""
        return paired_cosines(first, second)

    def pooled(self, prompts: Float[Tensor, "classes templates e"]) -> Float[Tensor, "classes e"]:
        """See the class."""
        return unit(unit(prompts, "text embeddings").mean(dim=1), "class embeddings")


@final
class MaskedCosine(Similarity):
    """SmartCLIP's: the picture keeps the dimensions that the text's mask names, and is compared by cosine.

    s(v, t, m) = < v * m / ||v * m||, t / ||t|| > = <v, m * t> / (||t|| sqrt(<v^2, m>))

    v [d]: picture; t [d]: text, itself not masked; m [d] of 0 and 1: the text's mask. A row of texts is t followed by
    m, e = 2 d numbers. In [-1, 1]; 0 where v * m or t is zero (the authors' code divides by zero there). Equal pictures
    tie exactly, and so do equal texts with equal masks. Errors: embeddings that are not finite; classes of several
    prompts, of which a mask can only be had before they are embedded.

    Source: SmartCLIP (the forward of its training and its CIFAR-10 check; its retrieval evaluations use no mask).
    """

    name = "masked cosine"

    def paired(self, images: Float[Tensor, "*n d"], texts: Float[Tensor, "*n e"]) -> Float[Tensor, "*n"]:
        """See the class."""
        text, mask = _parts(texts)
        return paired_cosines(images * mask, text)

    def scores(self, images: Float[Tensor, "images d"], texts: Float[Tensor, "texts e"]) -> Scores:
        """See the class."""
        text, mask = _parts(texts)
        pictures, place = distinct_rows(unit(images, "image embeddings"))
        both, text_place = distinct_rows(torch.cat([unit(text, "text embeddings"), mask], dim=-1))
        kept, masks = both.chunk(2, dim=-1)
        kept = kept * masks

        def rows(start: int, stop: int) -> Tensor:
            return _scores(pictures[place[start:stop]], kept, masks)[:, text_place]

        shape = len(images), len(texts)
        return Scores(shape, rows, in_parts(lambda i, t: self.paired(images[i], texts[t])), place)

    def between_texts(self, first: Float[Tensor, "*n e"], second: Float[Tensor, "*n e"]) -> Float[Tensor, "*n"]:
        """See the class: no picture, no mask."""
        return paired_cosines(_parts(first)[0], _parts(second)[0])

    def pooled(self, prompts: Float[Tensor, "classes templates e"]) -> Float[Tensor, "classes e"]:
        """See the class."""
        if prompts.shape[1] != 1:
            raise UserError(
                got=f"{prompts.shape[1]} prompts for each class with masked scoring",
                expected="one prompt, which has one mask",
                do="give --templates with one line, or leave out --masked",
            )
        return prompts[:, 0]


COSINE = Cosine()
MASKED_COSINE = MaskedCosine()


def _parts(texts: Tensor) -> tuple[Tensor, Tensor]:
    text, mask = texts.chunk(2, dim=-1)
    return text, mask


def _scores(pictures: Tensor, kept: Tensor, masks: Tensor) -> Tensor:
    """Scores [pictures, texts] of unit pictures, masked unit texts and masks; 0 where nothing is left of a picture."""
    length = (pictures.square() @ masks.T).sqrt()
    return torch.where(length > 0, pictures @ kept.T / length.clamp(min=torch.finfo(length.dtype).tiny), 0.0)
