"""What is kept of scores that go by in blocks: the first items of each search, and how similarities lie."""

from typing import NamedTuple, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from litotes.metrics.histogram import Histogram, histogram
from litotes.metrics.streaming import Scores, Streamed, best

DRAWN = 1_000_000
"""Pairs without a label whose scores are kept, of more than that a draw."""
BINS = 50


class Firsts(NamedTuple):
    """The K first items of each search, best first, of equal scores the earlier item.

    ``i2t``: texts of each image [images, K]; ``t2i``: images of each text [texts, K].
    """

    i2t: Int[Tensor, "images k"]
    t2i: Int[Tensor, "texts k"]


@final
class Watched:
    """Takes the rows of a score matrix in order, a block at a time, and keeps O(K (images + texts)) numbers of them.

    image_of_text [texts]: the image of each text by its label; n_images: how many there are; k: items of a search,
    cut to the smaller gallery. Of the pairs without a label all scores are kept, or a draw of about ``DRAWN`` of them,
    as many from each image, by a fixed seed. The rows must be finite, which whoever gives them sees to.
    """

    def __init__(self, image_of_text: Int[Tensor, " texts"], n_images: int, k: int) -> None:
        self._owners, self._k = image_of_text, min(k, n_images, len(image_of_text))
        self._each = max(1, DRAWN // n_images)
        self._generator = torch.Generator().manual_seed(0)
        self._of_images: list[Tensor] = []
        self._scores, self._items = torch.empty(len(image_of_text), 0), torch.empty(len(image_of_text), 0).long()
        self._labelled: list[Tensor] = []
        self._others: list[Tensor] = []

    def add(self, start: int, rows: Float[Tensor, "some texts"]) -> None:
        """The scores of the images from ``start`` on with all texts."""
        count = len(rows)
        self._of_images.append(best(lambda low, high: rows[low:high], count, min(self._k, rows.shape[1]))[1])
        of_texts = torch.cat([self._scores, rows.T], dim=1)
        number = torch.arange(start, start + count).expand(rows.shape[1], count)
        items = torch.cat([self._items, number], dim=1)
        self._scores, at = best(lambda low, high: of_texts[low:high], len(of_texts), min(self._k, of_texts.shape[1]))
        self._items = items.gather(1, at)
        text = ((self._owners >= start) & (self._owners < start + count)).nonzero()[:, 0]
        self._labelled.append(rows[self._owners[text] - start, text])
        wrong = torch.ones_like(rows, dtype=torch.bool)
        wrong[self._owners[text] - start, text] = False
        others = rows[wrong]
        if rows.shape[1] > self._each:
            others = others[torch.randint(len(others), (count * self._each,), generator=self._generator)]
        self._others.append(others)

    def firsts(self) -> Firsts:
        """The first items of both ways, when all rows were taken."""
        return Firsts(torch.cat(self._of_images), self._items)

    def similarities(self) -> dict[str, Histogram]:
        """Histograms of the scores of ``labelled`` pairs and of the ``others``, over the same steps.

        Others are left out where every pair has a label.
        """
        found = {"labelled": torch.cat(self._labelled), "others": torch.cat(self._others)}
        some = {name: values for name, values in found.items() if len(values)}
        low = min(float(values.min()) for values in some.values())
        high = max(float(values.max()) for values in some.values())
        ends = (low, high) if low < high else (low - 0.5, low + 0.5)
        return {name: histogram(values, BINS, *ends) for name, values in some.items()}


@final
class Watching:
    """A ``Streamed`` whose rows are also given to a `Watched`; they must be asked for once and in order."""

    def __init__(self, similarity: Streamed, watched: Watched) -> None:
        self._similarity, self._watched = similarity, watched

    def scores(self, images: Tensor, texts: Tensor) -> Scores:
        """As of the similarity."""
        found = self._similarity.scores(images, texts)

        def rows(start: int, stop: int) -> Tensor:
            block = found.rows(start, stop)
            self._watched.add(start, block)
            return block

        return found._replace(rows=rows)
