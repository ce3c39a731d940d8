"""Retrieval both ways, with any number of captions an image."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from torch import Tensor

from litotes.data.images import Pictures
from litotes.data.tables import is_blank
from litotes.errors import UserError
from litotes.evaluate.answers import searches
from litotes.evaluate.config import USUAL_KS
from litotes.evaluate.counts import Source, told_of
from litotes.evaluate.features import Encoder
from litotes.evaluate.notes import counted
from litotes.evaluate.shortlisted import of_shortlist
from litotes.evaluate.suite import (
    Identity,
    Result,
    Suite,
    base_name,
    count_repeated,
    require_in_range,
    require_parallel,
    sha256_of_rows,
)
from litotes.metrics.ranking import check_ks, median_rank, ranks_of, recalls
from litotes.metrics.streaming import Scores, matrix
from litotes.models import pair_stream
from litotes.models.pair_scores import PairScorer


class Depths(NamedTuple):
    """Ranks at which recall is counted, and in sentences which were left out, and why."""

    ks: tuple[int, ...]
    notes: list[str]


def depths(asked: Sequence[int] | None, n_pictures: int, image_of_caption: Sequence[int]) -> Depths:
    """The K that were asked for, as they are; where none were, the usual ones that a model can miss both ways.

    A K that no model can miss, since it reaches the worst rank that there is one way or the other, says nothing that
    way, and is left out of both, which have the same K, with a note; R@1 always stays.
    """
    if asked is not None:
        return Depths(tuple(asked), [])
    by_way = _worst_ranks(n_pictures, image_of_caption)
    worst, gallery = min(reversed(by_way.values()), key=lambda pair: pair[0])  # of equal ones, that of pictures
    left_out = [k for k in USUAL_KS[1:] if k >= worst]
    if not left_out:
        return Depths(USUAL_KS, [])
    told = " and ".join(f"R@{k}" for k in left_out)
    largest = min(n_pictures, len(image_of_caption))
    note = (
        f"{told} left out: with {gallery}, no model can miss a right one among the first {left_out[0]} "
        f"(--ks asks for other K, up to {largest} here)"
    )
    return Depths(tuple(k for k in USUAL_KS if k not in left_out), [note])


def _worst_ranks(n_pictures: int, image_of_caption: Sequence[int]) -> dict[str, tuple[int, str]]:
    """By way, the worst rank that a right item can have, and the gallery in words."""
    n_captions, fewest = len(image_of_caption), min(Counter(image_of_caption).values())
    return {
        "picture → caption": (n_captions - fewest + 1, counted(n_captions, "caption")),
        "caption → picture": (n_pictures, counted(n_pictures, "picture")),
    }


@final
@dataclass(frozen=True)
class Retrieval(Suite):
    """Find a caption's picture among all pictures, and any of a picture's captions among all captions.

    Score: the encoder's own (cosine), or the logit of ``scorer`` where one is given. Every caption is a query over all
    pictures; every picture with a caption is a query over all captions and is found by its best own caption. Ties count
    against the right item (``metrics.ranking.ranks``).

    ``captions`` [texts] and ``image_of_caption`` [texts]: index into ``pictures``; captions of a picture may stand
    anywhere. ``ks``: the ranks asked. ``negated``: whether the captions are negated ones (NegBench's Retrieval-Neg:
    the same measure, reported under its own names). ``protocol``, ``source``: of a named protocol
    (``evaluate.protocols``), its name and whose file it is. ``remarks``: further notes of the result.

    ``run`` gives ``i2t`` and ``t2i`` by K (keys are strings), ``rsum`` in percent (600 at most for three K),
    ``median_rank`` and ``ties`` both ways, ``n_images_with_captions``, ``captions_without_words`` (queries like any
    other), ``repeated_rows`` (captions that their picture has already; each is a query), ``notes`` where there are any
    (how the file differs from the published one; recalls that are 100 % whatever the model, since K reaches the worst
    rank that there is) and ``answers``. ``ties`` are the searches whose rank the rule for ties decides: an item that is
    not right has the very score of the best right one.

    Errors: lists of unequal length, no picture, indices out of range, a K above the number of pictures or captions.
    """

    name: str
    pictures: Pictures
    captions: Sequence[str]
    image_of_caption: Sequence[int]
    ks: Sequence[int] = USUAL_KS
    negated: bool = False
    scorer: PairScorer | None = None
    protocol: str = ""
    source: Source | None = None
    remarks: Sequence[str] = ()
    task = "zeroshot_retrieval"

    def __post_init__(self) -> None:
        require_parallel(self.name, captions=len(self.captions), pictures_of_captions=len(self.image_of_caption))
        require_in_range(self.name, "picture", self.image_of_caption, len(self.pictures))
        try:
            check_ks(self.ks, len(self.pictures), len(self.captions))
        except UserError as fault:
            raise UserError(f"{self.name}: {fault.got}", fault.expected, fault.do) from None

    def identity(self) -> Identity:
        """Rows of picture and caption, as NegBench's files are recognised."""
        rows = zip(self.image_of_caption, self.captions, strict=True)
        digest = sha256_of_rows((base_name(self.pictures, i), caption) for i, caption in rows)
        return Identity(self.pictures, len(self.captions), digest)

    def run(self, encoder: Encoder) -> Result:
        """Recall at each K both ways; see the class."""
        images = encoder.encode_images(self.pictures)
        texts = encoder.encode_texts(self.captions)
        scores, listed = self._scores(encoder, images, texts)
        found = ranks_of(scores, self.image_of_caption)
        recall = recalls(found, self.ks)
        return {
            "negated": self.negated,
            "i2t": {str(k): share for k, share in recall["i2t"].items()},
            "t2i": {str(k): share for k, share in recall["t2i"].items()},
            "rsum": recall["rsum"],
            "median_rank": {"i2t": median_rank(found.image_to_text), "t2i": median_rank(found.text_to_image)},
            "ties": {"i2t": len(found.tied_images), "t2i": len(found.tied_texts)},
            "n_images_with_captions": len(set(self.image_of_caption)),
            "captions_without_words": sum(map(is_blank, self.captions)),
            "repeated_rows": count_repeated(zip(self.image_of_caption, self.captions, strict=True)),
            **({"protocol": self.protocol} if self.protocol else {}),
            **told_of(self.source, [*self._certain(), *listed.pop("notes", []), *self.remarks]),
            **listed,
            "answers": searches(found.image_to_text, self._picture_queries())
            + searches(found.text_to_image, self._caption_queries()),
        }

    def _scores(self, encoder: Encoder, images: Tensor, texts: Tensor) -> tuple[Scores, Result]:
        """In blocks, with what is to be told of a shortlist.

        Logits are held as a whole where they are few enough for the suites behind this one to do so.
        """
        if self.scorer is None:
            return encoder.similarity.scores(images, texts), {}
        if self.scorer.shortlist is None and len(images) * len(texts) <= pair_stream.HELD:
            return matrix(self.scorer.scores(images, texts)), {}
        stream = pair_stream.streamed(self.scorer)
        return stream.scores(images, texts), of_shortlist(stream)

    def _certain(self) -> list[str]:
        """Of which recalls nothing can be learnt: no item of the gallery can stand behind the first K."""
        return [
            f"{way}, R@{k} is 100 % whatever the model: the first {k} of {gallery} always hold a right one"
            for way, (rank, gallery) in _worst_ranks(len(self.pictures), self.image_of_caption).items()
            for k in self.ks
            if k >= rank
        ]

    def _picture_queries(self) -> Iterator[dict[str, Any]]:
        for item in range(len(self.pictures)):
            yield {"way": "i2t", "item": item, "picture": self.pictures.name(item)}

    def _caption_queries(self) -> Iterator[dict[str, Any]]:
        for item, (picture, caption) in enumerate(zip(self.image_of_caption, self.captions, strict=True)):
            yield {"way": "t2i", "item": item, "picture": self.pictures.name(picture), "texts": [caption]}
