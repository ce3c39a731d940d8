"""Zero-shot classification with class names and prompt templates."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.data.images import Pictures
from litotes.errors import UserError
from litotes.evaluate.answers import Answer, choices, pictured
from litotes.evaluate.features import Encoder
from litotes.evaluate.notes import counted
from litotes.evaluate.suite import (
    Identity,
    Result,
    Suite,
    base_name,
    interval_of,
    require_in_range,
    require_parallel,
    sha256_of_rows,
)
from litotes.metrics.classification import accuracy_at, mean_per_class_recall, recall_of_classes
from litotes.models.pair_scores import PairScorer

PLACES = ("{c}", "{}")
"""Where a template takes the class name: CLIP_benchmark writes the first, CLIP's own lists the second."""
_FIRST = 5


@final
@dataclass(frozen=True)
class Classification(Suite):
    """Zero-shot classification: which class is in the picture.

    class embedding = mean over the templates of unit text embeddings, made unit again (CLIP's own rule);
    score = cosine of picture and class embedding, or the logit of ``scorer`` where one is given.

    ``labels`` [pictures]: index into ``classnames``. ``templates``: prompts with ``{c}`` or ``{}`` for the name, in
    which underscores become spaces (in the prompt only). ``notes``: what must be known of the pictures.

    ``run`` gives ``acc1``, ``acc5`` (None under five classes), ``mean_per_class_recall``; ``interval``, Wilson's 95 %
    interval of ``acc1``, and ``intervals``, that of ``acc5`` where there is one; ``chance``, what guessing gives for
    ``acc1``: 1 / classes, and ``chances``, for ``acc5``: 5 / classes; ``per_class`` by class name
    with an image (by ``name #index`` where names repeat), ``class_answers`` by the same names: ``n`` pictures,
    ``right`` ones, the class most often answered ``instead`` and how many ``times`` (None and 0 where all are right; of
    several, the first in the order of classes); ``n_classes``, those that are asked for; ``equal_names``: classes whose
    prompts are the same, which tie with each other and cannot be told apart; ``notes``, those of the field, and where
    the prompts or the number of classes make a figure mean less than it seems; ``templates``; and ``answers``, with two
    scores each: that of the right class and of the best other one. Ties are misses.

    Errors: lists of unequal length, labels out of range, an empty class name, a template without a place.
    """

    name: str
    pictures: Pictures
    labels: Sequence[int]
    classnames: Sequence[str]
    templates: Sequence[str] = ("a photo of a {c}.",)
    notes: Sequence[str] = ()
    scorer: PairScorer | None = None
    task = "zeroshot_classification"

    def __post_init__(self) -> None:
        require_parallel(self.name, pictures=len(self.pictures), labels=len(self.labels))
        require_in_range(self.name, "label", self.labels, len(self.classnames))
        for template in self.templates or ("",):
            if not any(place in template for place in PLACES):
                raise UserError(
                    got=f"{self.name}: template {template!r}",
                    expected="a prompt with {c} where the class name goes",
                    do='write for instance "a photo of a {c}."',
                )
        for index, name in enumerate(self.classnames):
            if not name.strip():
                raise UserError(
                    got=f"{self.name}: class {index} without a name", expected="a name", do="complete the list"
                )
        if len(self.classnames) < 2:
            raise UserError(
                got=f"{self.name}: {counted(len(self.classnames), 'class', 'es')}, {list(self.classnames)}",
                expected="at least two classes: with one, every answer is right",
                do="add pictures or captions of another class",
            )

    def identity(self) -> Identity:
        """Rows of picture and class name, then class names, then templates."""
        pictures = ((base_name(self.pictures, i), self.classnames[label]) for i, label in enumerate(self.labels))
        digest = sha256_of_rows([*pictures, list(self.classnames), list(self.templates)])
        return Identity(self.pictures, len(self.classnames) * len(self.templates), digest)

    def run(self, encoder: Encoder) -> Result:
        """Accuracy and recall of the classes; see the class."""
        images = encoder.encode_images(self.pictures)
        classes = self.class_embeddings(encoder)
        if self.scorer is None:
            scores = encoder.similarity.scores(images, classes).rows(0, len(images))
        else:
            scores = self.scorer.scores(images, classes)
        recall = recall_of_classes(scores, self.labels)
        answers = self._answers(scores)
        first, n = accuracy_at(scores, self.labels, 1), len(self.labels)
        five = accuracy_at(scores, self.labels, _FIRST) if len(self.classnames) >= _FIRST else None
        return {
            "acc1": first,
            "acc5": five,
            "interval": interval_of(first, n),
            "intervals": {} if five is None else {"acc5": interval_of(five, n)},
            "chance": 1 / len(self.classnames),
            "chances": {} if five is None else {"acc5": _FIRST / len(self.classnames)},
            "mean_per_class_recall": mean_per_class_recall(scores, self.labels),
            "per_class": {self._key(label): share for label, share in recall.items()},
            "class_answers": self._class_answers(answers),
            "n_classes": len(self.classnames),
            "equal_names": self._equal_names(),
            "notes": [*self.notes, *self._odd_prompts()],
            "templates": list(self.templates),
            "answers": answers,
        }

    def _class_answers(self, answers: Sequence[Answer]) -> dict[str, dict[str, Any]]:
        """What was answered to the pictures of each class; see the class."""
        chosen: dict[int, Counter[int]] = {label: Counter() for label in sorted(set(self.labels))}
        for label, answer in zip(self.labels, answers, strict=True):
            chosen[label][answer.given["chosen"]] += 1
        told = {}
        for label, counts in chosen.items():
            others = ((-times, other) for other, times in counts.items() if other != label)
            times, other = min(others, default=(0, label))
            told[self._key(label)] = {
                "n": counts.total(),
                "right": counts[label],
                "instead": self._key(other) if times else None,
                "times": -times,
            }
        return told

    def _answers(self, scores: Tensor) -> list[Answer]:
        """Of the scores only that of the right class and of the best other one; all would be as many as the classes."""
        label = torch.as_tensor(self.labels, device=scores.device)[:, None]
        others = scores.scatter(1, label, -torch.inf).amax(dim=1, keepdim=True)
        kept = torch.cat([scores.gather(1, label), others], dim=1)
        return choices(scores, self.labels, self._questions(), kept)

    def _questions(self) -> Iterator[dict[str, Any]]:
        for item, label in enumerate(self.labels):
            yield {"item": item, **pictured(self.pictures, item), "class": self.classnames[label]}

    def class_embeddings(self, encoder: Encoder) -> Float[Tensor, "classes d"]:
        """Class embeddings, unit ones where the score is a cosine."""
        prompts = [fill(template, name) for name in self.classnames for template in self.templates]
        texts = encoder.encode_texts(prompts)
        return encoder.similarity.pooled(texts.reshape(len(self.classnames), len(self.templates), -1))

    def _odd_prompts(self) -> list[str]:
        """Where prompts, or the number of classes, make a figure mean less than it seems."""
        words = [name for name in map(readable, self.classnames) if len(name.split()) == 1]
        told = []
        if words and any(template in PLACES for template in self.templates):
            told.append(
                f"{len(words):,} of {len(self.classnames):,} classes are asked for by a single word, such as "
                f"“{words[0]}”, without a sentence around it: CLIP is used to sentences, and a model adapted on these "
                'can answer a bare word quite differently; "a photo of a {c}." is the usual prompt (--templates)'
            )
        numbers = [name for name in self.classnames if name.strip().isdecimal()]
        if len(numbers) == len(self.classnames):
            told.append("the classes are called by numbers, and so are they in the prompts (--classnames gives names)")
        elif numbers:
            are = "is" if len(numbers) == 1 else "are"
            told.append(f"{len(numbers):,} of {len(self.classnames):,} classes {are} called by a number, such as “"
                        f"{numbers[0]}”, and so in the prompts; the others are not")  # fmt: skip
        if len(self.classnames) == _FIRST:
            told.append(f"acc{_FIRST} is 100 % whatever the model, since there are {_FIRST} classes")
        return told

    def _equal_names(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for index, name in enumerate(self.classnames):
            places.setdefault(readable(name), []).append(index)
        return {name: indices for name, indices in places.items() if len(indices) > 1}

    def _key(self, label: int) -> str:
        name = self.classnames[label]
        return f"{name} #{label}" if list(self.classnames).count(name) > 1 else name


def readable(classname: str) -> str:
    """A class name as a prompt says it: underscores are spaces."""
    return classname.replace("_", " ")


def fill(template: str, classname: str) -> str:
    """A template with the class name in its place; nothing else in braces is touched."""
    for place in PLACES:
        template = template.replace(place, readable(classname))
    return template
