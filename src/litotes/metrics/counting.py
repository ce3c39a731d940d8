"""Counting the scores that reach those of some pairs, in one pass over a score matrix that comes in blocks of rows.

What ``streaming.at_or_above`` counts; here are only the arrays and the order in which memory is walked. NumPy compares
a row of scores that the cache still holds, and adds truth values up as bytes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

_ROWS_AT_ONCE = 128  # truth values of up to 255 rows can be added up in bytes
_NOT_ASKED = np.iinfo(np.int64).max


class Pairs(NamedTuple):
    """Pairs of an image and a text, and of each its ``own`` score and whether it is ``decisive`` [pairs].

    ``place`` [images]: shared by images that are equal. ``best_texts`` [sets, pairs], ``every_text`` and
    ``enough_texts`` [pairs]: what ``streaming.Asked`` says of the texts of each image; ``best_images``,
    ``every_image``: of the images of each text.
    """

    image: np.ndarray
    text: np.ndarray
    own: np.ndarray
    decisive: np.ndarray
    place: np.ndarray
    best_texts: np.ndarray
    every_text: np.ndarray
    enough_texts: np.ndarray
    best_images: np.ndarray
    every_image: np.ndarray


class Groups(NamedTuple):
    """Items by the number of their ``group``: those of group g are ``items[begin[g]:begin[g + 1]]``."""

    items: np.ndarray
    begin: np.ndarray
    group: np.ndarray

    def of(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All items of some groups, and for each the place of its group among those asked."""
        begin, size = self.begin[groups], self.begin[groups + 1] - self.begin[groups]
        asked = np.repeat(np.arange(len(groups)), size)
        return self.items[(begin - size.cumsum() + size)[asked] + np.arange(len(asked))], asked

    def between(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """What ``of`` gives for the groups first, first + 1, ..., last - 1, sooner."""
        some = slice(self.begin[first], self.begin[last])
        return self.items[some], self.group[some] - first


def grouped(group: np.ndarray, n_groups: int) -> Groups:
    """Items 0, 1, 2, ... by their groups, each in the order of the items."""
    order = np.argsort(group, kind="stable")
    return Groups(order, np.searchsorted(group[order], np.arange(n_groups + 1)), group[order])


class Tally:
    """The counts of ``streaming.AtOrAbove``, filled block by block.

    ``parts``: the number of the part of each image and each text, from 0.
    """

    def __init__(self, pairs: Pairs, n_texts: int, parts: tuple[np.ndarray, np.ndarray] | None) -> None:
        self.pairs, self.parts = pairs, parts
        self.distinct = np.array_equal(pairs.place, np.arange(len(pairs.place)))
        self.by_image = grouped(pairs.image, len(pairs.place))
        self.inside = pairs.decisive & (True if parts is None else parts[0][pairs.image] == parts[1][pairs.text])
        self.columns = [] if parts is None else [_run(found) for found in _by_part(parts)]
        self.image_asked = pairs.every_image | _best_in_sets(pairs.best_images, pairs.text, pairs.own, n_texts)
        self.layers = list(_layers(pairs, self.image_asked, self.inside, parts))
        several = np.bincount(pairs.text[self.image_asked], minlength=n_texts)
        self.several = np.argsort(-several, kind="stable")[: np.count_nonzero(several > 1)]
        self.n_texts = n_texts
        self.texts, self.images, self.texts_inside, self.images_inside, self.equal_texts, self.equal_images = (
            np.zeros(len(pairs.image), dtype=np.int64) for _ in range(6)
        )
        for counts in (self.texts, self.texts_inside):
            counts.fill(_NOT_ASKED)

    def add(self, start: int, rows: np.ndarray) -> None:
        """Count the scores of the images from number ``start`` on, [b, texts]."""
        pairs, asks, begin = self._asked(start, rows)
        found: list[tuple[int, int, int]] = []
        for first, last in self._slices(start, start + len(rows)):
            shared = np.empty((last - first, len(self.several)), dtype=rows.dtype)
            for number in range(first, last):
                i, row = number - start, rows[number - start]
                found += _texts_reaching(row, self._part(number, row), asks[begin[i] : begin[i + 1]])
                # "clip", for which NumPy needs no buffer, though every number is in range
                row.take(self.several, out=shared[number - first], mode="clip")
            for layer in self.layers[:1]:
                whole, block = len(layer.pairs) == self.n_texts, rows[first - start : last - start]
                self._count_images(layer, first, block if whole else block.take(layer.text, axis=1))
            for layer in self.layers[1:]:
                self._count_images(layer, first, shared[:, : len(layer.pairs)])
        counts = np.array(found, dtype=np.int64).reshape(-1, 3)
        self.texts[pairs], self.texts_inside[pairs], self.equal_texts[pairs] = counts.T

    def counts(self) -> tuple[np.ndarray, ...]:
        """The six counts, in the order of ``AtOrAbove``."""
        images = np.where(self.image_asked, self.images, _NOT_ASKED)
        if self.parts is None:
            return self.texts, images, self.texts, images, self.equal_texts, self.equal_images
        inside = np.where(self.image_asked & self.inside, self.images_inside, _NOT_ASKED)
        return self.texts, images, self.texts_inside, inside, self.equal_texts, self.equal_images

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

    def _asked(self, start: int, rows: np.ndarray) -> tuple[np.ndarray, list["_Ask"], list[int]]:
        """The pairs of these images whose texts may be asked for, by image and falling score.

        With them what is asked of each, and where those of each image begin.
        """
        pairs = self.by_image.items[self.by_image.begin[start] : self.by_image.begin[start + len(rows)]]
        at = self.pairs.image[pairs] - start
        own = rows[at, self.pairs.text[pairs]]
        surely = _best_in_sets(self.pairs.best_texts[:, pairs], at, own, len(rows))
        some = np.flatnonzero(surely | self.pairs.every_text[pairs])
        some = some[np.lexsort((-own[some], at[some]))]
        pairs, own, surely = pairs[some], own[some], surely[some]
        enough = np.where(self.pairs.every_text[pairs], self.pairs.enough_texts[pairs], self.n_texts)
        asked = (surely, enough, self.pairs.decisive[pairs], self.inside[pairs])
        asks = [_Ask(*each) for each in zip(own, *(column.tolist() for column in asked), strict=True)]
        return pairs, asks, np.searchsorted(at[some], np.arange(len(rows) + 1)).tolist()

    def _part(self, number: int, row: np.ndarray) -> np.ndarray:
        """The texts of an image's own part; all where there are none."""
        return row if self.parts is None else row[self.columns[self.parts[0][number]]]

    def _count_images(self, layer: "_Layer", first: int, scores: np.ndarray) -> None:
        """``scores`` of the images from number ``first`` on, over the texts of the layer."""
        last = first + len(scores)
        named = (
            layer.by_place.between(first, last) if self.distinct else layer.by_place.of(self.pairs.place[first:last])
        )
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


class _Ask(NamedTuple):
    """A pair of an image, and what is asked: its counts ``surely``, or until more than ``enough`` texts reach one."""

    own: np.floating
    surely: bool
    enough: int
    decisive: bool
    inside: bool


def _texts_reaching(row: np.ndarray, part: np.ndarray, asks: list[_Ask]) -> list[tuple[int, int, int]]:
    """Of each pair of a row, in falling order: texts that reach it, those of its part, others that equal it."""
    found = []
    last_asked = None
    for ask in asks:
        if ask.surely or last_asked is None or ask.own == last_asked:
            count = int(np.count_nonzero(row >= ask.own))
            inside = int(np.count_nonzero(part >= ask.own)) if ask.inside else _NOT_ASKED
            equal = int(np.count_nonzero(row == ask.own)) - 1 if ask.decisive else 0
            found.append((count, inside, equal))
            if last_asked is None and count > ask.enough:
                last_asked = ask.own
        else:
            found.append((_NOT_ASKED, _NOT_ASKED, 0))
    return found


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


def _best_in_sets(sets: np.ndarray, query: np.ndarray, own: np.ndarray, n_queries: int) -> np.ndarray:
    """Whether each pair has the highest score of its query in one of the sets [sets, pairs] that hold it."""
    found = np.zeros(len(query), dtype=bool)
    for members in sets:
        best = np.full(n_queries, -np.inf, dtype=own.dtype)
        np.maximum.at(best, query[members], own[members])
        found |= members & (own == best[query])
    return found


def _layers(
    pairs: Pairs, asked: np.ndarray, inside: np.ndarray, parts: tuple[np.ndarray, np.ndarray] | None
) -> Iterator[_Layer]:
    """The first asked pair of each text by rising text, then the second of each that has two, and so on.

    Decisive ones come first. From the second layer on, texts with more pairs stand before those with fewer, so
    that every layer has the first columns of one and the same table.
    """
    order = np.lexsort((~pairs.decisive, pairs.text))
    order = order[asked[order]]
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


def _by_column(true: np.ndarray) -> np.ndarray:
    return np.add.reduce(true.view(np.uint8), axis=0, dtype=np.uint8)
