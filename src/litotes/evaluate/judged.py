"""COCO retrieval by all its judges at once: 5K, 1K in five folds with RSUM, CxC and ECCV Caption."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.data.judgements import FOLDS, CocoJudgements, Judgements, Relevant
from litotes.errors import UserError
from litotes.metrics.graded import UNFOUND, PositiveRanks, graded_scores, number_of_positives, recall
from litotes.metrics.ranked_lists import positive_ranks, ranked_lists
from litotes.metrics.ranking import check_ks
from litotes.metrics.similarity import COSINE
from litotes.metrics.streaming import Scores, Streamed, at_or_above, behind_their_equals

WAYS = ("i2t", "t2i")
_OTHER = {"i2t": "t2i", "t2i": "i2t"}
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
    texts: Float[Tensor, "texts e"],
    image_ids: Sequence[int],
    caption_ids: Sequence[int],
    judgements: CocoJudgements,
    ks: Sequence[int] = (1, 5, 10),
    similarity: Streamed = COSINE,
) -> Judged:
    """Every measure from embeddings by ``similarity`` (of embeddings, or a model of pairs: ``models.pair_stream``).

    Ranks are exact, ties stand against the model.

    ``images`` [images, d] and ``texts`` [texts, e]: embeddings in the order of ``image_ids`` and ``caption_ids``, which
    are all those of ``judgements`` in any order. Neither scores nor lists are ever held as a whole.

    A right item behind all its equals that are not right is at the lowest place that a sort could give it; without
    ties the values are those of ``judge_lists`` on full lists. A caption that another image also has ties with it.

    Errors: ids that are not those of the judgements, another number of embeddings, a K above a fold.
    """
    require_all("image", image_ids, judgements.image_ids, len(images))
    require_all("caption", caption_ids, judgements.caption_ids, len(texts))
    ids = {"i2t": _numbers(image_ids), "t2i": _numbers(caption_ids)}
    whole = _Counts(similarity.scores(images, texts), ids, (judgements.original, judgements.cxc, judgements.eccv))
    folds: dict[tuple[int, ...], _Counts] = {}
    for number in range(FOLDS):
        captions = judgements.fold(number)
        own = judgements.images_of(captions)
        pairs = Judgements({i: judgements.original.i2t[i] for i in own}, {})
        inside = {"i2t": _numbers(own), "t2i": _numbers(captions)}
        rows = images[[ids["i2t"][i] for i in own]], texts[[ids["t2i"][c] for c in captions]]
        folds[captions] = folds[own] = _Counts(similarity.scores(*rows), inside, (pairs,))

    def find(name: str, way: str, relevant: Relevant, within: tuple[int, ...] | None) -> PositiveRanks:
        return (whole if within is None else folds[within]).ranks(way, relevant)

    return _all_measures(find, judgements, ks) | {"notes": []}


class _Counts:
    """How many items score at least as high as a right one, for all judgements in one pass over the scores."""

    def __init__(self, scores: Scores, ids: dict[str, dict[int, int]], sets: Sequence[Judgements]) -> None:
        self.ids, self.n_texts = ids, scores.shape[1]
        found = [self._keys(way, getattr(judged, way)) for judged in sets for way in WAYS]
        self.keys = torch.cat(found).unique()
        self.keys = self.keys[self.keys >= 0]
        counts = at_or_above(scores, self.keys // self.n_texts, self.keys % self.n_texts)
        self.counts = {"i2t": counts.texts, "t2i": counts.images}

    def ranks(self, way: str, relevant: Relevant) -> PositiveRanks:
        keys = self._keys(way, relevant)
        at = torch.searchsorted(self.keys, keys.clamp(min=0))
        query = torch.arange(len(relevant)).repeat_interleave(torch.tensor([*map(len, relevant.values())]))
        return behind_their_equals(query, torch.where(keys >= 0, self.counts[way][at], UNFOUND))

    def _keys(self, way: str, relevant: Relevant) -> Tensor:
        """One number a pair, the same for both ways; -1 for an item that is not there."""
        own, other = self.ids[way], self.ids[_OTHER[way]]
        sizes = torch.tensor([*map(len, relevant.values())], dtype=torch.int64)
        query = torch.tensor([own[query] for query in relevant], dtype=torch.int64).repeat_interleave(sizes)
        item = torch.tensor([other.get(item, -1) for right in relevant.values() for item in right], dtype=torch.int64)
        image, text = (query, item) if way == "i2t" else (item, query)
        return torch.where(item >= 0, image * self.n_texts + text, -1)


def _all_measures(find: Find, judgements: CocoJudgements, ks: Sequence[int]) -> Any:  # noqa: ANN401 - Judged but its notes
    require_folds(judgements, ks)

    def recalls(name: str, judged: Judgements) -> ByWay:
        found = {way: find(name, way, getattr(judged, way), None) for way in WAYS}
        return {way: {str(k): share for k, share in recall(found[way], ks).items()} for way in WAYS}

    folds = [_fold(find, judgements, number, ks) for number in range(FOLDS)]
    coco_1k = {way: {str(k): sum(fold[way][k] for fold in folds) / FOLDS for k in ks} for way in WAYS}
    eccv: ByWay = {}
    for way in WAYS:
        scores = graded_scores(find("ECCV", way, getattr(judgements.eccv, way), None))
        eccv[way] = {"map_at_r": scores.map_at_r, "r_precision": scores.r_precision, "r1": scores.recall[1]}
    return {
        "coco_5k": recalls("COCO 5K", judgements.original),
        "coco_1k": coco_1k,
        "rsum": 100 * sum(share for by_k in coco_1k.values() for share in by_k.values()),
        "cxc": recalls("CxC", judgements.cxc),
        "eccv": eccv,
    }


def _fold(find: Find, judgements: CocoJudgements, number: int, ks: Sequence[int]) -> dict[str, dict[int, float]]:
    captions = judgements.fold(number)
    images = judgements.images_of(captions)
    name = f"COCO 1K fold {number + 1}"
    i2t = find(name, "i2t", {image: judgements.original.i2t[image] for image in images}, captions)
    t2i = find(name, "t2i", {caption: judgements.original.t2i[caption] for caption in captions}, images)
    return {"i2t": recall(i2t, ks), "t2i": recall(t2i, ks)}


def require_folds(judgements: CocoJudgements, ks: Sequence[int]) -> None:
    """Nothing where every K is a rank that each fold has; a UserError otherwise."""
    smallest = min(len(judgements.images_of(judgements.fold(number))) for number in range(FOLDS))
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


def _numbers(ids: Sequence[int]) -> dict[int, int]:
    return {i: number for number, i in enumerate(ids)}
