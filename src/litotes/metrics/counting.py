"""Counting the scores that reach those of some pairs, in one pass over a score matrix that comes in blocks of rows.

What ``streaming.at_or_above`` counts; here are only the arrays and the order in which memory is walked. NumPy compares
a row of scores that the cache still holds, and adds truth values up as bytes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_ROWS_AT_ONCE = 32  # their truth values stay in the cache, and can be added up in bytes


class Pairs(NamedTuple):
    """Pairs of an image and a text, and of each its ``own`` score and whether it is ``decisive`` [pairs].

    ``place`` [images]: shared by images that are equal. ``best_of`` [sets, pairs]: sets of pairs of which the best one
    of each image is enough; ``every`` [pairs]: those that are counted anyhow.
    """

    image: np.ndarray
    text: np.ndarray
    own: np.ndarray
    decisive: np.ndarray
    place: np.ndarray
    best_of: np.ndarray
    every: np.ndarray


class Groups(NamedTuple):
    """Items by the number of their group: those of group g are ``items[begin[g]:begin[g + 1]]``."""

    items: np.ndarray
    begin: np.ndarray

    def of(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All items of some groups, and for each the place of its group among those asked."""
        begin, size = self.begin[groups], self.begin[groups + 1] - self.begin[groups]
        asked = np.repeat(np.arange(len(groups)), size)
        return self.items[(begin - size.cumsum() + size)[asked] + np.arange(len(asked))], asked


def grouped(group: np.ndarray, n_groups: int) -> Groups:
    """Items 0, 1, 2, ... by their groups, each in the order of the items."""
    order = np.argsort(group, kind="stable")
    return Groups(order, np.searchsorted(group[order], np.arange(n_groups + 1)))


class Tally:
    """The counts of ``streaming.AtOrAbove``, filled block by block.

    ``parts``: the number of the part of each image and each text, from 0.
    """

    def __init__(self, pairs: Pairs, n_texts: int, parts: tuple[np.ndarray, np.ndarray] | None) -> None:
        self.pairs, self.parts = pairs, parts
        self.by_image = grouped(pairs.image, len(pairs.place))
        self.inside = pairs.decisive & (True if parts is None else parts[0][pairs.image] == parts[1][pairs.text])
        self.columns = [] if parts is None else [_run(found) for found in _by_part(parts)]
        self.layers = list(_layers(pairs, self.inside, parts))
        several = np.bincount(pairs.text, minlength=n_texts)
        self.several = np.argsort(-several, kind="stable")[: np.count_nonzero(several > 1)]
        self.n_texts = n_texts
        self.texts, self.images, self.texts_inside, self.images_inside, self.equal_texts, self.equal_images = (
            np.zeros(len(pairs.image), dtype=np.int64) for _ in range(6)
        )
        for counts in (self.texts, self.texts_inside):
            counts.fill(np.iinfo(np.int64).max)

    def add(self, start: int, rows: np.ndarray) -> None:
        """Count the scores of the images from number ``start`` on, [b, texts]."""
        counted, own, begin = self._counted(start, rows)
        for first, last in self._slices(start, start + len(rows)):
            shared = np.empty((last - first, len(self.several)), dtype=rows.dtype)
            for number in range(first, last):
                some = slice(*begin[number - start : number - start + 2])
                self._count_texts(number, rows[number - start], counted[some], own[some])
                # "clip", for which NumPy needs no buffer, though every number is in range
                rows[number - start].take(self.several, out=shared[number - first], mode="clip")
            for layer in self.layers[:1]:
                whole, block = len(layer.pairs) == self.n_texts, rows[first - start : last - start]
                self._count_images(layer, first, block if whole else block.take(layer.text, axis=1))
            for layer in self.layers[1:]:
                self._count_images(layer, first, shared[:, : len(layer.pairs)])

    def counts(self) -> tuple[np.ndarray, ...]:
        """The six counts, in the order of ``AtOrAbove``."""
        inside = (self.texts, self.images) if self.parts is None else (self.texts_inside, self.images_inside)
        return self.texts, self.images, *inside, self.equal_texts, self.equal_images

    def _slices(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Some rows at once, all of one part."""
        first = start
        while first < stop:
            last = min(first + _ROWS_AT_ONCE, stop)
            if self.parts is not None:
                other = np.flatnonzero(self.parts[0][first:last] != self.parts[0][first])
                last = first + int(other[0]) if len(other) else last
            yield first, last
            first = last

    def _counted(self, start: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pairs of these images whose texts are counted, their scores, and where those of each image begin."""
        stop = start + len(rows)
        pairs = self.by_image.items[self.by_image.begin[start] : self.by_image.begin[stop]]
        at = self.pairs.image[pairs] - start
        own = rows[at, self.pairs.text[pairs]]
        counted = self.pairs.every[pairs]
        for members in self.pairs.best_of[:, pairs]:
            best = np.full(len(rows), -np.inf, dtype=rows.dtype)
            np.maximum.at(best, at[members], own[members])
            counted = counted | (members & (own == best[at]))
        return pairs[counted], own[counted], np.searchsorted(at[counted], np.arange(len(rows) + 1))

    def _count_texts(self, number: int, row: np.ndarray, pairs: np.ndarray, own: np.ndarray) -> None:
        self.texts[pairs] = _reaching(row, own)
        decisive = self.pairs.decisive[pairs]
        self.equal_texts[pairs[decisive]] = [np.count_nonzero(row == score) - 1 for score in own[decisive]]
        inside = self.inside[pairs]
        if self.parts is not None and inside.any():
            self.texts_inside[pairs[inside]] = _reaching(row[self.columns[self.parts[0][number]]], own[inside])

    def _count_images(self, layer: "_Layer", first: int, scores: np.ndarray) -> None:
        """``scores`` of the images from number ``first`` on, over the texts of the layer."""
        named = layer.by_place.of(self.pairs.place[first : first + len(scores)])
        reached = scores >= layer.own
        reached[named[1], named[0]] = True
        count = _by_column(reached)
        self.images[layer.pairs] += count
        if layer.decisive.any():
            self._count_equal(layer, scores, first, named)
        if self.parts is not None:
            own = layer.inside[self.parts[0][first]]
            self.images_inside[layer.pairs[own]] += count[own]

    def _count_equal(
        self, layer: "_Layer", scores: np.ndarray, first: int, named: tuple[np.ndarray, np.ndarray]
    ) -> None:
        equal = scores == layer.own
        column, row = named
        equal[row, column] = first + row != self.pairs.image[layer.pairs[column]]
        if equal.any():
            self.equal_images[layer.pairs] += np.where(layer.decisive, _by_column(equal), 0)


class _Layer(NamedTuple):
    """At most one pair of each text: its text, its score, whether it is decisive, and the pairs of each place.

    ``inside``: by part, the pairs whose image and text it holds; the numbers in it and in ``by_place`` count the
    layer's pairs.
    """

    pairs: np.ndarray
    text: np.ndarray
    own: np.ndarray
    decisive: np.ndarray
    by_place: Groups
    inside: list[np.ndarray]


def _layers(pairs: Pairs, inside: np.ndarray, parts: tuple[np.ndarray, np.ndarray] | None) -> Iterator[_Layer]:
    """The first pair of each text by rising text, then the second of each that has two, and so on.

    Decisive ones come first. From the second layer on, texts with more pairs stand before those with fewer, so
    that every layer has the first columns of one and the same table.
    """
    order = np.lexsort((~pairs.decisive, pairs.text))
    text = pairs.text[order]
    begin = np.searchsorted(text, text)
    number = np.arange(len(order)) - begin
    size = np.searchsorted(text, text, side="right") - begin
    for depth in range(int(number.max(initial=-1)) + 1):
        here = np.flatnonzero(number == depth)
        chosen = order[here if not depth else here[np.argsort(-size[here], kind="stable")]]
        place = pairs.place[pairs.image[chosen]]
        within = [] if parts is None else _inside(parts, pairs.image[chosen], inside[chosen])
        by_place = grouped(place, len(pairs.place))
        yield _Layer(chosen, pairs.text[chosen], pairs.own[chosen], pairs.decisive[chosen], by_place, within)


def _inside(parts: tuple[np.ndarray, np.ndarray], image: np.ndarray, inside: np.ndarray) -> list[np.ndarray]:
    part = np.where(inside, parts[0][image], -1)
    return [np.flatnonzero(part == number) for number in range(_count(parts))]


def _by_part(parts: tuple[np.ndarray, np.ndarray]) -> list[np.ndarray]:
    return [np.flatnonzero(parts[1] == number) for number in range(_count(parts))]


def _count(parts: tuple[np.ndarray, np.ndarray]) -> int:
    return 1 + max(int(part.max(initial=-1)) for part in parts)


def _run(numbers: np.ndarray) -> np.ndarray | slice:
    """Neighbouring numbers as a slice, which copies nothing."""
    neighbours = len(numbers) > 0 and numbers[-1] - numbers[0] == len(numbers) - 1
    return slice(int(numbers[0]), int(numbers[-1]) + 1) if neighbours else numbers


def _reaching(row: np.ndarray, scores: np.ndarray) -> list[int]:
    return [int(np.count_nonzero(row >= score)) for score in scores]


def _by_column(true: np.ndarray) -> np.ndarray:
    return np.add.reduce(true.view(np.uint8), axis=0, dtype=np.uint8)
