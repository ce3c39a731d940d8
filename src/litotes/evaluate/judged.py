"""COCO retrieval by all its judges at once: 5K, 1K in five folds with RSUM, CxC and ECCV Caption."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.data.judgements import FOLDS, CocoJudgements, Judgements, Relevant
from litotes.errors import UserError
from litotes.metrics.cosine import Rows, cosine_rows
from litotes.metrics.graded import PositiveRanks, graded_scores, number_of_positives
from litotes.metrics.ranked_lists import positive_ranks, ranked_lists
from litotes.metrics.ranking import check_ks
from litotes.metrics.streaming import at_or_above, behind_their_equals

WAYS = ("i2t", "t2i")
ByWay = dict[str, dict[str, float]]
# Name of the measure, way, right items of each query, and the gallery where it is a part -> ranks of the right items.
Find = Callable[[str, str, Relevant, tuple[int, ...] | None], PositiveRanks]


class Judged(TypedDict):
    """What all judges say, both ways, as fractions 0-1: recall by K, and ``map_at_r``, ``r_precision``, ``r1``."""

    coco_5k: ByWay
    coco_1k: ByWay
    rsum: float
    cxc: ByWay
    eccv: ByWay
    notes: list[str]


def judge_lists(
    i2t: Mapping[Any, Any], t2i: Mapping[Any, Any], judgements: CocoJudgements, ks: Sequence[int] = (1, 5, 10)
) -> Judged:
    """Every measure from one pair of ranked lists: image id -> caption ids best first, and the other way.

    The lists are over the whole gallery (of its first 500 items or so: R is 48 at most, and a fold is a fifth); for a
    fold they are read as if they held its items only. What a list does not hold counts as not found, and ``notes``
    say how many lists were too short for their measure. The order given counts, so that ties are whoever's who sorted.

    ``coco_1k`` is the mean of the five folds, ``rsum`` 100 times the sum of its recalls (600 at most for three K).

    Errors: those of ``ranked_lists`` and ``positive_ranks``, a K above a fold. Source: ECCV Caption (2204.03359) and
    its package, equal to it on lists that it takes.
    """
    lists = {"i2t": ranked_lists(i2t), "t2i": ranked_lists(t2i)}
    notes: list[str] = []

    def find(name: str, way: str, relevant: Relevant, within: tuple[int, ...] | None) -> PositiveRanks:
        listed = positive_ranks(lists[way], relevant, within)
        if name == "COCO 5K":  # the one measure for which every query is asked
            notes.extend(f"{way}: {note}" for note in listed.notes)
        depth = number_of_positives(listed.found) if name == "ECCV" else torch.tensor(max(ks))
        short = int((torch.from_numpy(listed.listed) < depth).sum())
        if short:
            notes.append(f"{name} {way}: {short} lists are too short; what they do not hold counts as not found")
        return listed.found

    return _all_measures(find, judgements, ks) | {"notes": notes}


def judge_features(
    images: Float[Tensor, "images d"],
    texts: Float[Tensor, "texts d"],
    image_ids: Sequence[int],
    caption_ids: Sequence[int],
    judgements: CocoJudgements,
    ks: Sequence[int] = (1, 5, 10),
) -> Judged:
    """Every measure from embeddings by cosine, ranks exact and ties against the model.

    ``images`` [images, d] and ``texts`` [texts, d]: embeddings in the order of ``image_ids`` and ``caption_ids``, which
    are all those of ``judgements`` in any order. Neither scores nor lists are ever held as a whole.

    A right item behind all its equals that are not right is at the lowest place that a sort could give it; without
    ties the values are those of ``judge_lists`` on full lists. A caption that another image also has ties with it.

    Errors: ids that are not those of the judgements, another number of embeddings, a K above a fold.
    """
    _require_all("image", image_ids, judgements.image_ids, len(images))
    _require_all("caption", caption_ids, judgements.caption_ids, len(texts))
    number = {"i2t": _numbers(image_ids), "t2i": _numbers(caption_ids)}
    other = {"i2t": number["t2i"], "t2i": number["i2t"]}
    sets = (judgements.original, judgements.cxc, judgements.eccv)
    rows = dict(zip(WAYS, cosine_rows(images, texts), strict=True))
    counts = {
        way: _Counts(rows[way], number[way], other[way], [getattr(judged, way) for judged in sets]) for way in WAYS
    }

    def find(name: str, way: str, relevant: Relevant, within: tuple[int, ...] | None) -> PositiveRanks:
        if within is None:
            return counts[way].ranks(relevant)
        own, gallery = _numbers(list(relevant)), _numbers(within)
        queries = (images if way == "i2t" else texts)[[number[way][query] for query in relevant]]
        items = (texts if way == "i2t" else images)[[other[way][item] for item in within]]
        return _Counts(cosine_rows(queries, items)[0], own, gallery, [relevant]).ranks(relevant)

    return _all_measures(find, judgements, ks) | {"notes": []}


class _Counts:
    """How many items score at least as high as a right one, for all judgements in one pass over the scores."""

    def __init__(self, rows: Rows, queries: dict[int, int], items: dict[int, int], sets: list[Relevant]) -> None:
        self.queries, self.items = queries, items
        query, item = (torch.cat(parts) for parts in zip(*map(self._pairs, sets), strict=True))
        self.keys = self._keys(query, item).unique()
        width = len(items) + 1
        self.counts = at_or_above(rows, len(queries), self.keys // width, self.keys % width - 1)

    def ranks(self, relevant: Relevant) -> PositiveRanks:
        at = torch.searchsorted(self.keys, self._keys(*self._pairs(relevant)))
        place = torch.arange(len(relevant)).repeat_interleave(torch.tensor([len(items) for items in relevant.values()]))
        return behind_their_equals(place, self.counts[at])

    def _pairs(self, relevant: Relevant) -> tuple[Tensor, Tensor]:
        query = [self.queries[query] for query, items in relevant.items() for _ in items]
        return torch.tensor(query), torch.tensor([self.items.get(i, -1) for items in relevant.values() for i in items])

    def _keys(self, query: Tensor, item: Tensor) -> Tensor:
        return query * (len(self.items) + 1) + item + 1


def _all_measures(find: Find, judgements: CocoJudgements, ks: Sequence[int]) -> Any:  # noqa: ANN401 - Judged but its notes
    smallest = min(len(judgements.images_of(judgements.fold(number))) for number in range(FOLDS))
    check_ks(ks, smallest, len(judgements.fold(0)))

    def recall(name: str, judged: Judgements) -> ByWay:
        found = {way: find(name, way, getattr(judged, way), None) for way in WAYS}
        return {way: {str(k): share for k, share in graded_scores(found[way], ks).recall.items()} for way in WAYS}

    folds = [_fold(find, judgements, number, ks) for number in range(FOLDS)]
    coco_1k = {way: {str(k): sum(fold[way][k] for fold in folds) / FOLDS for k in ks} for way in WAYS}
    eccv: ByWay = {}
    for way in WAYS:
        scores = graded_scores(find("ECCV", way, getattr(judgements.eccv, way), None))
        eccv[way] = {"map_at_r": scores.map_at_r, "r_precision": scores.r_precision, "r1": scores.recall[1]}
    return {
        "coco_5k": recall("COCO 5K", judgements.original),
        "coco_1k": coco_1k,
        "rsum": 100 * sum(share for by_k in coco_1k.values() for share in by_k.values()),
        "cxc": recall("CxC", judgements.cxc),
        "eccv": eccv,
    }


def _fold(find: Find, judgements: CocoJudgements, number: int, ks: Sequence[int]) -> dict[str, dict[int, float]]:
    captions = judgements.fold(number)
    images = judgements.images_of(captions)
    name = f"COCO 1K fold {number + 1}"
    i2t = find(name, "i2t", {image: judgements.original.i2t[image] for image in images}, captions)
    t2i = find(name, "t2i", {caption: judgements.original.t2i[caption] for caption in captions}, images)
    return {"i2t": graded_scores(i2t, ks).recall, "t2i": graded_scores(t2i, ks).recall}


def _require_all(what: str, ids: Sequence[int], judged: Sequence[int], n_embeddings: int) -> None:
    strange, missing = sorted(set(ids) - set(judged)), sorted(set(judged) - set(ids))
    if len(ids) != n_embeddings or len(set(ids)) < len(ids) or strange or missing:
        raise UserError(
            got=f"{n_embeddings} embeddings with {len(ids)} {what} ids, {len(set(ids))} different; {len(strange)} not "
            f"judged (first {strange[:1]}), {len(missing)} of the judged ones missing (first {missing[:1]})",
            expected=f"the {len(judged)} {what}s of the judgements, each once, in any order",
            do="encode the whole test set, and give the ids in the order of the embeddings",
        )


def _numbers(ids: Sequence[int]) -> dict[int, int]:
    return {i: number for number, i in enumerate(ids)}
