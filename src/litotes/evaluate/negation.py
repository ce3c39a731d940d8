"""Suites on negation: multiple choice, and pairs of a true and a false text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from litotes.data.images import Pictures
from litotes.errors import UserError
from litotes.evaluate.answers import Answer, choices, pictured
from litotes.evaluate.features import Encoder
from litotes.evaluate.suite import (
    Identity,
    Result,
    Suite,
    base_name,
    count_repeated,
    interval_of,
    require_in_range,
    require_parallel,
    sha256_of_rows,
)
from litotes.metrics.choice import choice_accuracy, chosen_instead, pair_accuracy, strictly_best
from litotes.metrics.cosine import unit
from litotes.metrics.similarity import Similarity
from litotes.models.pair_scores import PairScorer

_RESERVED = {"answers", "chance", "intervals", "n", "ties"}
CONTROL_SEED = 0
"""Decides which other picture a question is asked of."""


@final
@dataclass(frozen=True)
class MultipleChoice(Suite):
    """NegBench's multiple choice: which of several captions is true of the picture.

    score of an option = cosine of picture and option, or the logit of ``scorer`` where one is given; each option is
    encoded and scored by itself, never as one of a list: a rule that sees only the four texts together solves 84 % of
    NegBench's questions without any picture.

    ``image_of_question`` [q]: index into ``pictures``. ``options`` [q]: as many texts for every question.
    ``correct`` [q]: index of the true option. ``types`` [q]: ``positive``, ``negative``, ``hybrid`` or another word.
    ``option_types`` [q], where known: the kind of each option, for the count of what was chosen wrongly; it cannot be
    read off an option's place unless a file has a fixed order.

    ``run`` gives the keys of ``choice_accuracy`` (``total``, each type and its ``n_<type>``, ``ties``);
    ``total_if_ties_go_to_first``, by the first-maximum rule of NegBench's own code; ``n``; ``chance``, the accuracy of
    guessing; ``interval``, Wilson's 95 % interval of ``total``, and ``intervals``, those of the types; ``controls``,
    see below, and the ``seed`` of their draw; ``repeated_rows``, questions that an earlier one asks already, word for
    word of the same picture (each counts); ``equal_options``, questions with two options of the same wording, and
    ``unanswerable``, those of them in which the true option is one of the two: a tie by construction, wrong whatever
    the model; ``wrong_by_type``, for each question type how often an option of each place (or kind) was chosen
    instead; ``answers``.

    ``controls``, both as ``total`` is counted: ``another_picture``, the accuracy with each question asked of another
    picture of the set (None for a single picture), to which a model that looks must fall; and
    ``no_picture``, that of the options' cosines with the mean of all unit picture embeddings: what texts give alone.

    Errors: lists of unequal length, indices out of range, an empty option, unequal numbers of options, fewer than two.
    """

    name: str
    pictures: Pictures
    image_of_question: Sequence[int]
    options: Sequence[Sequence[str]]
    correct: Sequence[int]
    types: Sequence[str]
    option_types: Sequence[Sequence[str]] | None = None
    scorer: PairScorer | None = None
    task = "mcq"

    def __post_init__(self) -> None:
        require_parallel(
            self.name,
            questions=len(self.image_of_question),
            lists_of_options=len(self.options),
            answers=len(self.correct),
            types=len(self.types),
        )
        size = len(self.options[0])
        require_in_range(self.name, "picture", self.image_of_question, len(self.pictures))
        require_in_range(self.name, "answer", self.correct, size)
        kinds = self.options if self.option_types is None else self.option_types
        for question, (texts, words) in enumerate(zip(self.options, kinds, strict=True)):
            if len(texts) != size or len(words) != size or size < 2 or not all(text.strip() for text in texts):
                raise UserError(
                    got=f"{self.name}: question {question} with options {list(texts)}",
                    expected=f"{max(size, 2)} options with text, as in the first question",
                    do="correct the question or leave it out",
                )

    def identity(self) -> Identity:
        """Rows of picture, answer, options and type, as NegBench's files are recognised."""
        digest = sha256_of_rows((base_name(self.pictures, i), *rest) for i, *rest in self._rows())
        return Identity(self.pictures, sum(map(len, self.options)), digest)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """All that is asked by each question; the picture by its number."""
        for i, right, texts, kind in zip(self.image_of_question, self.correct, self.options, self.types, strict=True):
            yield i, right, *texts, kind

    def run(self, encoder: Encoder) -> Result:
        """Accuracies, ties and what was chosen instead; see the class."""
        size = len(self.options[0])
        pictures, asked = encoder.encode_images(self.pictures), torch.as_tensor(self.image_of_question)
        texts = encoder.encode_texts([text for options in self.options for text in options])
        texts = texts.reshape(len(self.options), size, -1)
        scores = self._scores(encoder.similarity, pictures[asked], texts)
        counts = choice_accuracy(scores, self.correct, self.types)
        by_first = counts.pop("total_ties_to_first")
        return {
            **counts,
            "total_if_ties_go_to_first": by_first,
            "n": len(self.options),
            "chance": 1 / size,
            "interval": interval_of(counts["total"], len(texts)),
            "intervals": {kind: interval_of(counts[kind], _count(counts, kind)) for kind in sorted(set(self.types))},
            "controls": self._controls(encoder.similarity, pictures, asked, texts),
            "seed": CONTROL_SEED,
            "repeated_rows": count_repeated(self._rows()),
            "equal_options": sum(len(set(options)) < size for options in self.options),
            "unanswerable": sum(
                list(options).count(options[right]) > 1
                for options, right in zip(self.options, self.correct, strict=True)
            ),
            "wrong_by_type": self._wrong_choices(chosen_instead(scores, self.correct).tolist()),
            "answers": choices(scores, self.correct, self._questions()),
        }

    def _scores(self, similarity: Similarity, images: Tensor, texts: Tensor) -> Tensor:
        """Of images [questions, d] and options [questions, options, e]: [questions, options]."""
        spread = images[:, None].expand(-1, texts.shape[1], -1)
        if self.scorer is None:
            return similarity.paired(spread, texts)
        return self.scorer.paired(spread.flatten(0, 1), texts.flatten(0, 1)).reshape(texts.shape[:2])

    def _questions(self) -> Iterator[dict[str, Any]]:
        rows = zip(self.image_of_question, self.types, self.options, strict=True)
        for item, (picture, kind, options) in enumerate(rows):
            yield {"item": item, **pictured(self.pictures, picture), "type": kind, "texts": list(options)}

    def _controls(
        self, similarity: Similarity, pictures: Tensor, asked: Tensor, texts: Tensor
    ) -> dict[str, float | None]:
        right = torch.as_tensor(self.correct, device=texts.device)

        def accuracy(images: Tensor) -> float:
            return int(strictly_best(self._scores(similarity, images, texts), right).sum()) / len(texts)

        mean = unit(pictures).mean(dim=0, keepdim=True).expand(len(texts), -1)
        another = accuracy(pictures[another_of_each(len(pictures))[asked]]) if len(pictures) > 1 else None
        return {"another_picture": another, "no_picture": accuracy(mean)}

    def _wrong_choices(self, chosen: Sequence[int]) -> dict[str, dict[str, int]]:
        table: dict[str, Counter[str]] = {kind: Counter() for kind in sorted(set(self.types))}
        for question, option in enumerate(chosen):
            if option >= 0:
                kind = f"option {option}" if self.option_types is None else self.option_types[question][option]
                table[self.types[question]][kind] += 1
        return {kind: dict(sorted(counts.items())) for kind, counts in table.items()}


def another_of_each(n: int, seed: int = CONTROL_SEED) -> Tensor:
    """For each of n >= 2 items another one, no two of them the same; int64 [n]. One random round through all items."""
    order = torch.as_tensor(np.random.default_rng(seed).permutation(n))
    others = torch.empty(n, dtype=torch.int64)
    others[order] = order.roll(1)
    return others


def _count(counts: Mapping[str, float | None], kind: str) -> int:
    return int(counts[f"n_{kind}"] or 0)


@final
@dataclass(frozen=True)
class Pairs(Suite):
    """Whether the true text scores above a false one of the same wording: a shortcut to the right words is no help.

    share = #{ i : cos(picture_i, true_i) > cos(picture_i, false_i) } / pictures

    ``pairs``: by the name of a diagnostic, the true and the false texts, one of each for every picture. Guessing
    gives 0.5, a constant 0. ``run`` gives each diagnostic's share by its name, Wilson's 95 % ``intervals`` and ``ties``
    by diagnostic, ``n``, ``chance`` and ``answers``, with the diagnostic as their group.

    Errors: lists of unequal length, no diagnostic, a reserved name.
    """

    name: str
    pictures: Pictures
    pairs: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    task = "pairs"

    def __post_init__(self) -> None:
        if not self.pairs or _RESERVED & self.pairs.keys():
            raise UserError(
                got=f"{self.name}: diagnostics {sorted(self.pairs)}",
                expected=f"at least one, none of them named {', '.join(sorted(_RESERVED))}",
                do="name the diagnostic by what it compares",
            )
        for key, (true, false) in self.pairs.items():
            require_parallel(
                f"{self.name}, {key}", pictures=len(self.pictures), true_texts=len(true), false_texts=len(false)
            )

    def identity(self) -> Identity:
        """Rows of diagnostic, picture, true and false text."""
        rows = (
            (key, base_name(self.pictures, i), *texts)
            for key, (true, false) in self.pairs.items()
            for i, texts in enumerate(zip(true, false, strict=True))
        )
        return Identity(self.pictures, 2 * len(self.pictures) * len(self.pairs), sha256_of_rows(rows))

    def run(self, encoder: Encoder) -> Result:
        """The share of each diagnostic; see the class."""
        images = encoder.encode_images(self.pictures)
        shares: Result = {}
        ties: dict[str, int] = {}
        answers: list[Answer] = []
        for key, (true, false) in self.pairs.items():
            above = encoder.similarity.paired(images, encoder.encode_texts(true))
            below = encoder.similarity.paired(images, encoder.encode_texts(false))
            shares[key] = pair_accuracy(above, below)
            ties[key] = int((above == below).sum())
            both = torch.stack([above, below], dim=1)
            answers += choices(both, [0] * len(both), self._asked(key, len(answers)))
        n = len(self.pictures)
        intervals = {key: interval_of(share, n) for key, share in shares.items()}
        return {**shares, "intervals": intervals, "ties": ties, "n": n, "chance": 0.5, "answers": answers}

    def _asked(self, key: str, first: int) -> Iterator[dict[str, Any]]:
        """The questions of a diagnostic, numbered from ``first``."""
        for i, texts in enumerate(zip(*self.pairs[key], strict=True)):
            yield {"item": first + i, **pictured(self.pictures, i), "groups": [key], "texts": list(texts)}
