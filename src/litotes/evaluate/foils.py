"""Suites of a true against a false text for a picture, or of a true against a false part of it for a text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from litotes.data.images import Pictures
from litotes.errors import UserError
from litotes.evaluate.answers import Answer, choices, pictured
from litotes.evaluate.counts import Source, told_of
from litotes.evaluate.features import Encoder
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
from litotes.metrics.choice import pair_accuracy
from litotes.metrics.paired import wilson_interval

Groups = Mapping[str, Sequence[int]]


@final
@dataclass(frozen=True)
class Foils(Suite):
    """Whether a picture's true text scores above its false one: VALSE, SugarCrepe, CC-Neg.

    accuracy of a group g = #{ i in g : cos(picture_i, caption_i) > cos(picture_i, foil_i) } / |g|

    ``image_of_item`` [n]: index into ``pictures``. ``captions``, ``foils`` [n]: the true and the false text.
    ``groups``: by name, the items that are counted together; they may overlap. ``averaged``: whether the groups are
    splits of one benchmark, whose averages mean something. ``source``: whose file it is, where that is known. ``run``
    gives ``benchmark``, the name, what ``source`` tells, the keys of ``counted``, ``repeated_rows`` (items that say
    what an earlier one of their group says, word for word; each counts) and ``answers``. Guessing gives 0.5, a
    constant 0.

    Errors: lists of unequal length, an item or picture out of range, no group.
    """

    name: str
    pictures: Pictures
    image_of_item: Sequence[int]
    captions: Sequence[str]
    foils: Sequence[str]
    groups: Groups
    averaged: bool = False
    source: Source | None = None
    task = "foils"

    def __post_init__(self) -> None:
        require_parallel(self.name, items=len(self.image_of_item), captions=len(self.captions), foils=len(self.foils))
        _require_items(self.name, self.image_of_item, self.pictures, self.groups)

    def identity(self) -> Identity:
        """Rows of group, picture, caption and foil, group by group."""
        texts = [(base_name(self.pictures, i), c, f) for i, c, f in
                 zip(self.image_of_item, self.captions, self.foils, strict=True)]  # fmt: skip
        return Identity(self.pictures, 2 * len(texts), _digest(texts, self.groups))

    def run(self, encoder: Encoder) -> Result:
        """Accuracy and ties of each group; see the class."""
        images = encoder.encode_images(self.pictures)[torch.as_tensor(self.image_of_item)]
        above = encoder.similarity.paired(images, encoder.encode_texts(self.captions))
        below = encoder.similarity.paired(images, encoder.encode_texts(self.foils))
        texts = [list(pair) for pair in zip(self.captions, self.foils, strict=True)]
        return {
            "benchmark": self.name,
            **told_of(self.source),
            **counted(above, below, self.groups, averaged=self.averaged),
            "repeated_rows": _repeated(self.pictures, self.image_of_item, texts, self.groups, self.averaged),
            "answers": _answers(above, below, _asked(self.pictures, self.image_of_item, texts, self.groups)),
        }


@final
@dataclass(frozen=True)
class Rewordings(Suite):
    """SugarCrepe++: two true texts of different wording against one false text.

    With p, q the true texts, f the false one and v the picture, an item is right
    - image-text (ITT): where min(cos(v, p), cos(v, q)) > cos(v, f);
    - text-only (TOT): where cos(p, q) > max(cos(p, f), cos(q, f)).

    Arguments as for ``Foils``, with ``rewordings`` the second true texts. Each group is counted twice, as
    ``<group>, ITT`` and ``<group>, TOT``. Guessing at random gives 1/3 in each. Source: SugarCrepe++ (Dumpala et al.,
    2024); ties are wrong.
    """

    name: str
    pictures: Pictures
    image_of_item: Sequence[int]
    captions: Sequence[str]
    rewordings: Sequence[str]
    foils: Sequence[str]
    groups: Groups
    source: Source | None = None
    task = "foils"

    def __post_init__(self) -> None:
        require_parallel(
            self.name,
            items=len(self.image_of_item),
            captions=len(self.captions),
            rewordings=len(self.rewordings),
            foils=len(self.foils),
        )
        _require_items(self.name, self.image_of_item, self.pictures, self.groups)

    def identity(self) -> Identity:
        """Rows of group, picture, caption, rewording and foil, group by group."""
        parts = zip(self.image_of_item, self.captions, self.rewordings, self.foils, strict=True)
        texts = [(base_name(self.pictures, i), *three) for i, *three in parts]
        return Identity(self.pictures, 3 * len(texts), _digest(texts, self.groups))

    def run(self, encoder: Encoder) -> Result:
        """Accuracy and ties of each group in both tasks; see the class."""
        images = encoder.encode_images(self.pictures)[torch.as_tensor(self.image_of_item)]
        first, second, false = map(encoder.encode_texts, (self.captions, self.rewordings, self.foils))
        score, between = encoder.similarity.paired, encoder.similarity.between_texts
        true, untrue = torch.minimum(score(images, first), score(images, second)), score(images, false)
        same, nearest = between(first, second), torch.maximum(between(first, false), between(second, false))
        by_image = counted(true, untrue, self.groups, averaged=True, chance=1 / 3, of="ITT")
        by_text = counted(same, nearest, self.groups, averaged=True, chance=1 / 3, of="TOT")
        texts = [list(three) for three in zip(self.captions, self.rewordings, self.foils, strict=True)]
        itt, tot = (_asked(self.pictures, self.image_of_item, texts, self.groups, of) for of in ("ITT", "TOT"))
        return {
            "benchmark": self.name,
            **told_of(self.source),
            **{key: _merged(value, by_text[key]) for key, value in by_image.items()},
            "repeated_rows": _repeated(self.pictures, self.image_of_item, texts, self.groups, True),
            "answers": _answers(true, untrue, itt) + _answers(same, nearest, tot),
        }


@final
@dataclass(frozen=True)
class Boxes(Suite):
    """NegRefCOCOg: whether a phrase scores above for the part of a picture that it means than for the other part.

    accuracy = #{ i : cos(true_i, phrase_i) > cos(other_i, phrase_i) } / n

    ``parts`` [2n]: the true part of each phrase, then the other part of each. Guessing gives 0.5, a constant 0.
    """

    name: str
    parts: Pictures
    phrases: Sequence[str]
    source: Source | None = None
    task = "foils"

    def __post_init__(self) -> None:
        require_parallel(self.name, parts=len(self.parts), two_for_each_phrase=2 * len(self.phrases))

    def identity(self) -> Identity:
        """Rows of true part, other part and phrase."""
        n = len(self.phrases)
        rows = ((base_name(self.parts, i), base_name(self.parts, n + i), text) for i, text in enumerate(self.phrases))
        return Identity(self.parts, n, sha256_of_rows(rows))

    def run(self, encoder: Encoder) -> Result:
        """Accuracy and ties; see the class."""
        n = len(self.phrases)
        images, texts = encoder.encode_images(self.parts), encoder.encode_texts(self.phrases)
        above, below = (encoder.similarity.paired(part, texts) for part in (images[:n], images[n:]))
        everything = {"all": range(n)}
        asked = _asked(self.parts, range(n), [[phrase] for phrase in self.phrases], everything)
        return {
            "benchmark": self.name,
            **told_of(self.source),
            **counted(above, below, everything),
            "repeated_rows": count_repeated(
                (self.parts.name(i), self.parts.name(n + i), phrase) for i, phrase in enumerate(self.phrases)
            ),
            "answers": _answers(above, below, asked),
        }


def counted(
    above: Tensor, below: Tensor, groups: Groups, *, averaged: bool = False, chance: float = 0.5, of: str = ""
) -> Result:
    """What of each group was right: above [n] strictly over below [n].

    Returns, each by group: ``accuracy`` (None for an empty group), ``count``, ``ties`` (equal scores, which are wrong)
    and ``if_ties_won``, the accuracy of an argmax that finds the true one first, as CC-Neg's own code. ``averages``:
    where ``averaged``, ``micro`` over all items alike and ``macro``, the mean of the groups that have items; otherwise
    empty. ``intervals``: Wilson's 95 % interval of each accuracy that there is, and of ``micro``. ``chance``. ``of`` is
    added to every name. Errors: scores that are not finite.
    """
    tail = f", {of}" if of else ""
    accuracy: dict[str, float | None] = {}
    count, ties, lenient, intervals = {}, {}, {}, {}
    for group, items in groups.items():
        chosen = torch.as_tensor(list(items), dtype=torch.int64)
        first, second = above[chosen], below[chosen]
        key = f"{group}{tail}"
        accuracy[key] = pair_accuracy(first, second) if len(chosen) else None
        count[key], ties[key] = len(chosen), int((first == second).sum())
        lenient[key] = int((first >= second).sum()) / len(chosen) if len(chosen) else None
        if len(chosen):
            intervals[key] = list(wilson_interval(int((first > second).sum()), len(chosen)))
    averages = {}
    if averaged:
        shares = [share for share in accuracy.values() if share is not None]
        items = [i for members in groups.values() for i in members]
        averages[f"micro{tail}"] = pair_accuracy(above[items], below[items])
        intervals[f"micro{tail}"] = list(wilson_interval(int((above[items] > below[items]).sum()), len(items)))
        averages[f"macro{tail}"] = sum(shares) / len(shares)
    return {
        "accuracy": accuracy, "averages": averages, "count": count, "ties": ties, "if_ties_won": lenient,
        "intervals": intervals, "chance": chance,
    }  # fmt: skip


def _answers(above: Tensor, below: Tensor, asked: Iterator[dict[str, Any]]) -> list[Answer]:
    return choices(torch.stack([above, below], dim=1), [0] * len(above), asked)


def _asked(
    pictures: Pictures, image_of_item: Sequence[int], texts: Sequence[list[str]], groups: Groups, of: str = ""
) -> Iterator[dict[str, Any]]:
    tail = f", {of}" if of else ""
    of_item: list[list[str]] = [[] for _ in texts]
    for group, items in groups.items():
        for item in items:
            of_item[item].append(f"{group}{tail}")
    for item, (picture, words) in enumerate(zip(image_of_item, texts, strict=True)):
        yield {"item": item, "groups": of_item[item], **pictured(pictures, picture), "texts": words}


def _repeated(
    pictures: Pictures, image_of_item: Sequence[int], texts: Sequence[list[str]], groups: Groups, averaged: bool
) -> int:
    """How many items say what an earlier one of their group says: in all splits, or in the group that has most."""
    rows = [(pictures.name(i), *words) for i, words in zip(image_of_item, texts, strict=True)]
    by_group = [count_repeated(rows[item] for item in items) for items in groups.values()]
    return sum(by_group) if averaged else max(by_group)


def _merged(first: object, second: object) -> object:
    return {**first, **second} if isinstance(first, dict) and isinstance(second, dict) else first


def _digest(texts: Sequence[tuple[str, ...]], groups: Groups) -> str:
    return sha256_of_rows((group, *texts[i]) for group, items in groups.items() for i in items)


def _require_items(name: str, image_of_item: Sequence[int], pictures: Pictures, groups: Groups) -> None:
    require_in_range(name, "picture", image_of_item, len(pictures))
    for group, items in groups.items():
        require_in_range(f"{name}, {group}", "item", items, len(image_of_item))
    if not any(len(items) for items in groups.values()):
        raise UserError(got=f"{name} without items in a group", expected="at least one", do="check the file")
