"""What a statement claims of a picture, and of which pictures the claim is true."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from litotes.data.wordings import bare


class Claim(NamedTuple):
    """A statement by what it says: ``affirmed`` things are in the picture, ``denied`` things are not."""

    affirmed: tuple[str, ...]
    denied: tuple[str, ...]

    @property
    def sort(self) -> int:
        """1 for an affirmation, 2 for a denial, 3 for both in one."""
        return bool(self.affirmed) + 2 * bool(self.denied)


class Truth(NamedTuple):
    """Boolean tables [pictures, claims]; where neither holds, the names leave it open."""

    true: np.ndarray
    false: np.ndarray


def truth(claims: Sequence[Claim], objects: Sequence[Sequence[str]]) -> Truth:
    """Tell of which pictures each claim is true and of which it is false.

    objects: the names of all things of each picture. A claim is false of a picture that lacks an affirmed thing or
    has a denied one. A thing that is not listed, but shares its words with one that is (a tree beside a christmas
    tree), may be there: such a claim is neither, unless another part makes it false.
    """
    names = sorted({name for some in (*objects, *(part for claim in claims for part in claim)) for name in some})
    present = many_hot(objects, names)
    shared = np.zeros((len(names), len(names)), dtype=bool)
    for i, j in overlapping(names):
        shared[i, j] = True
    unsure = (present @ shared) & ~present
    absent = ~(present | unsure)
    affirmed = many_hot([claim.affirmed for claim in claims], names).T
    denied = many_hot([claim.denied for claim in claims], names).T
    false = (absent @ affirmed) | (present @ denied)
    return Truth(~false & ~(unsure @ (affirmed | denied)), false)


def many_hot(lists: Sequence[Iterable[str]], names: Sequence[str]) -> np.ndarray:
    """Boolean table [lists, names] of which list holds which name."""
    at = {name: k for k, name in enumerate(names)}
    table = np.zeros((len(lists), len(names)), dtype=bool)
    for row, some in enumerate(lists):
        table[row, [at[name] for name in some]] = True
    return table


def overlapping(names: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs (i, j) of names of which one has all words of the other, each name with itself included."""
    words = [name_words(name) for name in names]
    having: dict[str, list[int]] = {}
    for i, some in enumerate(words):
        for word in some:
            having.setdefault(word, []).append(i)
    near = ({j for word in some for j in having[word]} for some in words)
    return [(i, j) for i, others in enumerate(near) for j in others if words[i] <= words[j] or words[j] <= words[i]]


def name_words(name: str) -> frozenset[str]:
    """Return the words of a name in a form in which "Dogs" and "dog" are the same.

    Of two names whose words contain each other, neither may be taken for absent where the other is there.
    """
    words = bare(name).lower().split()
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)
