"""COCO retrieval by all its judges at once: 5K, 1K in five folds with RSUM, CxC and ECCV Caption."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypedDict

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from litotes.data.judgements import FOLDS, CocoJudgements, Relevant
from litotes.errors import UserError
from litotes.metrics.graded import (
    UNFOUND,
    PositiveRanks,
    average_precision_at_r,
    first_ranks,
    graded_scores,
    number_of_positives,
    r_precision,
    recall,
)
from litotes.metrics.ranked_lists import Listed, inside_parts, positive_ranks, ranked_lists
from litotes.metrics.ranking import check_ks
from litotes.metrics.similarity import COSINE
from litotes.metrics.streaming import Asked, Parts, Scores, Streamed, at_or_above, behind_their_equals, tied_queries

WAYS = ("i2t", "t2i")
_OTHER = {"i2t": "t2i", "t2i": "i2t"}
ByWay = dict[str, dict[str, float]]
Singles = dict[str, dict[int, dict[str, Any]]]
"""By way and query: ranks of the best right item, from 1 (``original``, ``fold``, ``cxc``, ``eccv``; ``UNFOUND`` where
none is there), ``map_at_r`` and ``r_precision``; of those judges that know the query."""
# Name of the judge, way, and whether each query has the items of its fold alone -> ranks of all right items.
Find = Callable[[str, str, bool], PositiveRanks]
_NAMES = {"original": "COCO 5K", "cxc": "CxC", "eccv": "ECCV"}


class Judged(TypedDict):
    """What all judges say, both ways, as fractions 0-1: recall by K, and ``map_at_r``, ``r_precision``, ``r1``.

    ``ties``: queries of COCO 5K whose best right item has the score of an item that is not right, so that the rule for
    ties decides; None of lists, which have no scores.
    """

    coco_5k: ByWay
    coco_1k: ByWay
    rsum: float
    cxc: ByWay
    eccv: ByWay
    ties: dict[str, int] | None
    notes: list[str]


def judge_lists(
    i2t: Mapping[Any, Any], t2i: Mapping[Any, Any], judgements: CocoJudgements, ks: Sequence[int] = (1, 5, 10)
) -> Judged:
    """Every measure from one pair of ranked lists: image id -> caption ids best first, and the other way.

    The lists are over the whole gallery (of its first 500 items or so: R is 48 at most, and a fold is a fifth); for a
    fold they are read as if they held its items only. What a list does not hold counts as not found, and ``notes``
    say how many lists were too short for their measure. The order given counts, so that ties are whoever's who sorted.
    Rows of an array of whole numbers are read several times faster than lists of Python's.

    ``coco_1k`` is the mean of the five folds, ``rsum`` 100 times the sum of its recalls (600 at most for three K).

    Errors: those of ``ranked_lists`` and ``positive_ranks``, a K above a fold. Source: ECCV Caption (2204.03359) and
    its package, equal to it on lists that it takes.
    """
    lists = {"i2t": ranked_lists(i2t), "t2i": ranked_lists(t2i)}
    folds = {"i2t": (judgements.fold_of_image, judgements.fold_of_caption)}
    folds["t2i"] = folds["i2t"][::-1]
    notes: list[str] = []

    listed_of = {
        (judge, way): positive_ranks(lists[way], getattr(getattr(judgements, judge), way))
        for judge in _NAMES
        for way in WAYS
    }
    for way in WAYS:  # by COCO itself every query is asked
        notes += [f"{way}: {note}" for note in listed_of["original", way].notes]

    def find(judge: str, way: str, inside: bool) -> PositiveRanks:
        listed = listed_of[judge, way]
        listed = inside_parts(lists[way], listed, *folds[way]) if inside else listed
        depth = number_of_positives(listed.found) if judge == "eccv" else torch.tensor(max(ks))
        short = torch.from_numpy(listed.listed) < depth
        for name, count in _by_measure(judge, listed, short, folds[way][0] if inside else None):
            if count:
                notes.append(f"{name} {way}: {count} lists are too short; what they do not hold counts as not found")
        return listed.found

    return _all_measures(find, judgements, ks) | {"ties": None, "notes": notes}


def _by_measure(judge: str, listed: Listed, short: Tensor, fold: Mapping[int, int] | None) -> list[tuple[str, int]]:
    """By the name of the measure, how many lists are too short for it."""
    if fold is None:
        return [(_NAMES[judge], int(short.sum()))]
    count = np.bincount([fold[int(query)] for query in np.array(listed.queries)[short.numpy()]], minlength=FOLDS)
    return [(f"COCO 1K fold {number + 1}", int(count[number])) for number in range(FOLDS)]


def judge_features(
    images: Float[Tensor, "images d"],
    texts: Float[Tensor, "texts e"],
    image_ids: Sequence[int],
    caption_ids: Sequence[int],
    judgements: CocoJudgements,
    ks: Sequence[int] = (1, 5, 10),
    similarity: Streamed = COSINE,
    singles: Singles | None = None,
) -> Judged:
    """Every measure from embeddings by ``similarity`` (of embeddings, or a model of pairs: ``models.pair_stream``).

    Ranks are exact, ties stand against the model.

    ``images`` [images, d] and ``texts`` [texts, e]: embeddings in the order of ``image_ids`` and ``caption_ids``, which
    are all those of ``judgements`` in any order. Neither scores nor lists are ever held as a whole.

    ``singles``: takes, by way and query, what was found for it, for a caller that wants to keep it.

    A right item behind all its equals that are not right is at the lowest place that a sort could give it; without
    ties the values are those of ``judge_lists`` on full lists. A caption that another image also has ties with it.

    Errors: ids that are not those of the judgements, another number of embeddings, a K above a fold.
    """
    require_all("image", image_ids, judgements.image_ids, len(images))
    require_all("caption", caption_ids, judgements.caption_ids, len(texts))
    rows = images[numbered(image_ids).of(judgements.image_ids)], texts[numbered(caption_ids).of(judgements.caption_ids)]
    counts = _Counts(similarity.scores(*rows), judgements)
    ties = {way: len(tied_queries(*counts.of("original", way))) for way in WAYS}
    find = counts.ranks if singles is None else _keeping(counts.ranks, judgements, singles)
    return _all_measures(find, judgements, ks) | {"ties": ties, "notes": []}


def _keeping(find: Find, judgements: CocoJudgements, singles: Singles) -> Find:
    """The same ranks; what each query got goes to ``singles`` besides."""

    def kept(judge: str, way: str, inside: bool) -> PositiveRanks:
        found = find(judge, way, inside)
        columns = {"fold" if inside else judge: first_ranks(found)}
        if judge == "eccv":
            columns |= {"map_at_r": average_precision_at_r(found), "r_precision": r_precision(found)}
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        for query, values in zip(getattr(getattr(judgements, judge), way), rows, strict=True):
            singles[way].setdefault(query, {}).update(zip(columns, values, strict=True))
        return found

    return kept


class _Counts:
    """How many items score at least as high as a right one, for all judgements in one pass over the scores.

    Images and texts stand in the order of the judgements, so that the folds follow each other.
    """

    def __init__(self, scores: Scores, judgements: CocoJudgements) -> None:
        self.numbers = {"i2t": numbered(judgements.image_ids), "t2i": numbered(judgements.caption_ids)}
        self.n_texts = scores.shape[1]
        self.pairs = {
            (judge, way): self._pairs(way, getattr(getattr(judgements, judge), way)) for judge in _NAMES for way in WAYS
        }
        keys = torch.cat([found for _, found in self.pairs.values()]).unique()
        self.keys = keys[keys >= 0]
        folds = (judgements.fold_of_image, judgements.image_ids), (judgements.fold_of_caption, judgements.caption_ids)
        self.counts = at_or_above(
            scores, self.keys // self.n_texts, self.keys % self.n_texts,
            asked_texts=self._asked("i2t"), asked_images=self._asked("t2i"), decisive=self._holds("original", "i2t"),
            parts=Parts(*(torch.tensor([fold[i] for i in ids]) for fold, ids in folds)),
        )  # fmt: skip

    def ranks(self, judge: str, way: str, inside: bool) -> PositiveRanks:
        """Ranks of the right items of each query in the whole gallery, or among those of the query's fold."""
        return behind_their_equals(*self.of(judge, way, inside)[:2])

    def of(self, judge: str, way: str, inside: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """For every right item of every query: the query, how many score as high, how many others the same."""
        found = self.counts
        whole, part, equal = {
            "i2t": (found.texts, found.texts_inside, found.equal_texts),
            "t2i": (found.images, found.images_inside, found.equal_images),
        }[way]
        query, keys = self.pairs[judge, way]
        at = torch.searchsorted(self.keys, keys.clamp(min=0)).clamp(max=len(self.keys) - 1)
        return query, torch.where(keys >= 0, (part if inside else whole)[at], UNFOUND), equal[at]

    def _holds(self, judge: str, way: str) -> Tensor:
        return torch.isin(self.keys, self.pairs[judge, way][1])

    def _asked(self, way: str) -> Asked:
        """Of COCO and CxC the best right item of each query, of ECCV as many as are among its first R."""
        query, keys = self.pairs["eccv", way]
        there = keys >= 0
        enough = torch.zeros(len(self.keys), dtype=torch.int64)
        enough[torch.searchsorted(self.keys, keys[there])] = torch.bincount(query)[query[there]]
        best_of = torch.stack([self._holds("original", way), self._holds("cxc", way)])
        return Asked(best_of, self._holds("eccv", way), enough)

    def _pairs(self, way: str, relevant: Relevant) -> tuple[Tensor, Tensor]:
        """The number of the query among those asked, and one number a pair: the same for both ways, -1 for none."""
        query = np.repeat(np.arange(len(relevant)), [*map(len, relevant.values())])
        items = np.fromiter(chain.from_iterable(relevant.values()), dtype=np.int64)
        first, second = self.numbers[way].of([*relevant])[query], self.numbers[_OTHER[way]].of(items)
        image, text = (first, second) if way == "i2t" else (second, first)
        keys = np.where(second >= 0, image * self.n_texts + text, -1)
        return torch.from_numpy(query), torch.from_numpy(keys)


class Numbered(NamedTuple):
    """The place of each id in a list of ids: ``ids`` rising, and their places."""

    ids: np.ndarray
    place: np.ndarray

    def of(self, asked: Sequence[int] | np.ndarray) -> np.ndarray:
        """The places of some ids, -1 for one that the list lacks."""
        wanted = np.asarray(asked, dtype=np.int64)
        at = np.searchsorted(self.ids, wanted).clip(max=len(self.ids) - 1)
        return np.where(self.ids[at] == wanted, self.place[at], -1)


def numbered(ids: Sequence[int]) -> Numbered:
    """The ids with their places, ready to be asked."""
    order = np.argsort(ids, kind="stable")
    return Numbered(np.asarray(ids, dtype=np.int64)[order], order)


def _all_measures(find: Find, judgements: CocoJudgements, ks: Sequence[int]) -> Any:  # noqa: ANN401 - Judged but two keys
    require_folds(judgements, ks)

    def recalls(judge: str) -> ByWay:
        return {way: {str(k): share for k, share in recall(find(judge, way, False), ks).items()} for way in WAYS}

    coco_1k = {way: _mean_of_folds(find, judgements, way, ks) for way in WAYS}
    eccv: ByWay = {}
    for way in WAYS:
        scores = graded_scores(find("eccv", way, False))
        eccv[way] = {"map_at_r": scores.map_at_r, "r_precision": scores.r_precision, "r1": scores.recall[1]}
    return {
        "coco_5k": recalls("original"),
        "coco_1k": coco_1k,
        "rsum": 100 * sum(share for by_k in coco_1k.values() for share in by_k.values()),
        "cxc": recalls("cxc"),
        "eccv": eccv,
    }


def _mean_of_folds(find: Find, judgements: CocoJudgements, way: str, ks: Sequence[int]) -> dict[str, float]:
    fold_of = judgements.fold_of_image if way == "i2t" else judgements.fold_of_caption
    fold = torch.tensor([fold_of[query] for query in getattr(judgements.original, way)])
    first = first_ranks(find("original", way, True))
    folds = [first[fold == number] for number in range(FOLDS)]
    return {str(k): sum(int((ranks <= k).sum()) / len(ranks) for ranks in folds) / FOLDS for k in ks}


def require_folds(judgements: CocoJudgements, ks: Sequence[int]) -> None:
    """Nothing where every K is a rank that each fold has; a UserError otherwise."""
    smallest = min(Counter(judgements.fold_of_image.values()).values())
    check_ks(ks, smallest, len(judgements.fold(0)))


def require_all(what: str, ids: Sequence[int], judged: Sequence[int], n_embeddings: int) -> None:
    """Nothing where the ids are those judged, each once, as many as embeddings; a UserError otherwise."""
    strange, missing = sorted(set(ids) - set(judged)), sorted(set(judged) - set(ids))
    if len(ids) != n_embeddings or len(set(ids)) < len(ids) or strange or missing:
        raise UserError(
            got=f"{n_embeddings} {what}s with {len(ids)} {what} ids, {len(set(ids))} different; {len(strange)} not "
            f"judged (first {strange[:1]}), {len(missing)} of the judged ones missing (first {missing[:1]})",
            expected=f"the {len(judged)} {what}s of the judgements, each once, in any order",
            do="take the whole test set, and give the ids in its order",
        )
