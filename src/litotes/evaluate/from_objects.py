"""Questions about pictures made from the names of what is in them, where no file of questions is at hand."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from litotes.data.claims import name_words
from litotes.data.images import Pictures, Subset
from litotes.data.statements import KINDS, Allowed, absence_pair, any_pair, hybrid_pair, make_options
from litotes.data.wordings import NEGBENCH_WORDINGS, Wordings, with_article
from litotes.evaluate.classification import Classification
from litotes.evaluate.negation import MultipleChoice

TextPairs = dict[str, tuple[Sequence[str], Sequence[str]]]

_SORTS = ("hybrid", "positive", "negative")
_PROMPT = "a photo of {c}"


@dataclass(frozen=True)
class NamedPictures:
    """Pictures and the names of all things in each.

    ``objects`` [pictures]: names, at least one each; a thing that is there but not named may be taken for absent.
    ``vocabularies`` [pictures]: names that the absent thing is drawn from. ``allowed(x, y)``: whether two names may
    stand in one statement.
    """

    pictures: Pictures
    objects: Sequence[Sequence[str]]
    vocabularies: Sequence[Sequence[str]]
    allowed: Allowed = any_pair


def choice_from_objects(
    name: str, named: NamedPictures, rng: np.random.Generator, wordings: Wordings = NEGBENCH_WORDINGS
) -> MultipleChoice:
    """NegBench's multiple choice: three questions a picture, one of each type, options in seeded order.

    The false options are always "N but not B", "N" and "not A", with A and B in the picture and N not, as NegBench
    makes them. Errors: those of ``make_options``.
    """
    options, correct, types, option_types = [], [], [], []
    for objects, vocabulary in zip(named.objects, named.vocabularies, strict=True):
        for kind in KINDS:
            made = make_options(objects, vocabulary, rng, named.allowed, wordings=wordings, kind=kind, joint=0.0)
            texts, sorts = (made.true, *made.false), (kind, *_SORTS)
            order = rng.permutation(len(texts))
            options.append(tuple(texts[i] for i in order))
            option_types.append(tuple(sorts[i] for i in order))
            correct.append(int(np.flatnonzero(order == 0)[0]))
            types.append(kind)
    images = [i for i in range(len(named.objects)) for _ in KINDS]
    return MultipleChoice(name, named.pictures, images, options, correct, types, option_types)


def decisive_pairs(named: NamedPictures, rng: np.random.Generator, wordings: Wordings) -> TextPairs:
    """The two orders that need negation itself, for ``Pairs``: true and false texts of one wording, one a picture.

    "A but not <absent>" over "A but not <present>" (left out where some picture has one thing only), and "no <absent>"
    over "no <present>". Errors: those of ``make_options``.
    """
    asked = list(zip(named.objects, named.vocabularies, strict=True))
    hybrid = [hybrid_pair(objects, absent, rng, named.allowed, wordings) for objects, absent in asked]
    absence = [absence_pair(objects, absent, rng, named.allowed, wordings) for objects, absent in asked]
    pairs: TextPairs = {}
    both = [pair for pair in hybrid if pair is not None]
    if len(both) == len(asked):
        pairs["hybrid_absent_over_present"] = ([pair.true for pair in both], [pair.false for pair in both])
    pairs["absence_absent_over_present"] = ([pair.true for pair in absence], [pair.false for pair in absence])
    return pairs


def classification_from_objects(
    name: str, pictures: Pictures, objects: Sequence[Sequence[str]]
) -> Classification | None:
    """Zero-shot classification of the pictures that show exactly one of some names; None for want of two classes.

    ``objects`` [pictures]: names of all things in each picture. The classes are ``lone_names``; a picture that shows
    none or several of them is left out, so that one class is right and every other wrong.
    """
    labels = lone_names(objects)
    classes = sorted(set(labels.values()))
    if len(classes) < 2:
        return None
    prompts = [with_article(label) for label in classes]
    numbers = [classes.index(label) for label in labels.values()]
    return Classification(name, Subset(pictures, list(labels)), numbers, prompts, (_PROMPT,))


def lone_names(objects: Sequence[Sequence[str]]) -> dict[int, str]:
    """By picture, the only one of some classes that it shows; the classes are chosen for the most such pictures.

    They are taken one by one, each the name that gains most pictures (the first of the alphabet among equals), until
    none gains any. A picture with a hot dog counts neither as one with a dog nor as one without.
    """
    exact, near = _holders(objects)
    chosen: list[str] = []
    shown = np.zeros(len(objects), dtype=int)
    while exact.keys() - set(chosen):
        gains = {
            name: int((shown[exact[name]] == 0).sum() - (shown[near[name]] == 1).sum())
            for name in exact.keys() - set(chosen)
        }
        best = min(gains, key=lambda name: (-gains[name], name))
        if gains[best] <= 0:
            break
        chosen.append(best)
        shown[near[best]] += 2
        shown[exact[best]] -= 1
    labels = {i: name for name in chosen for i in exact[name] if shown[i] == 1}
    return dict(sorted(labels.items()))


def _holders(objects: Sequence[Sequence[str]]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """By name, the pictures that show it by that very name, and those that show a thing whose name shares its words."""
    exact: dict[str, list[int]] = {}
    for i, names in enumerate(objects):
        for name in dict.fromkeys(names):
            exact.setdefault(name, []).append(i)
    words = {name: name_words(name) for name in exact}
    by_word: dict[str, set[str]] = {}
    for name, parts in words.items():
        for part in parts:
            by_word.setdefault(part, set()).add(name)
    near = {}
    for name, own in words.items():
        others = {other for part in own for other in by_word[part] if words[other] <= own or own <= words[other]}
        near[name] = sorted({i for other in others for i in exact[other]})
    return exact, near
