"""Ranked lists of ids, best first, against the ids that are right: checked, and turned into ranks of the positives."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from litotes.errors import UserError
from litotes.metrics.graded import UNFOUND, GradedScores, PositiveRanks, graded_scores
from litotes.metrics.ids import NOTHING, plain_ids, read_ids, read_lists, read_queries

_AT_ONCE = 1024  # lists worked on at once, which bounds the memory
_TABLE = 1 << 24  # span of ids up to which what belongs to an id is looked up by the id itself


class RankedLists(NamedTuple):
    """Checked lists: ``row`` of each query, ``items`` [queries, longest] filled up with -1, numbers for text ids.

    ``length`` [queries]: how many items each list has.
    """

    row: dict[int | str, int]
    items: np.ndarray
    numbers: dict[str, int]
    length: np.ndarray


class Listed(NamedTuple):
    """Ranks of the positives by ranked lists, and what was left out.

    ``found``: the ranks; its queries are those of ``queries``, in this order. ``items`` [pairs]: the right items, by
    the numbers that the lists have for them. ``listed`` [queries]: how many items the list of each query has.
    ``without_positives``: queries left out, since nothing is right for them. ``notes``:
    what a reader must know, in words.
    """

    found: PositiveRanks
    queries: tuple[int | str, ...]
    items: np.ndarray
    listed: np.ndarray
    without_positives: int
    notes: tuple[str, ...]


def list_scores(
    ranked: Mapping[Any, Any], relevant: Mapping[Any, Any], ks: Sequence[int] = (1,)
) -> tuple[GradedScores, Listed]:
    """R@K, R-Precision and mAP@R of ranked lists of ids, and what they were measured on.

    ``ranked``: query id -> item ids, best first, in the order that counts; ``relevant``: query id -> all right items.

    The rules and errors are those of ``ranked_lists`` and ``positive_ranks``.
    """
    listed = positive_ranks(ranked_lists(ranked), relevant)
    return graded_scores(listed.found, ks), listed


def ranked_lists(ranked: Mapping[Any, Any]) -> RankedLists:
    """Lists whose ids are known to be sound.

    An id is a whole number from 0, or a text; a text of digits alone is that number, so that 7, "7" and "000007" are
    one id (image ids of COCO are written in all three ways). Arrays of whole numbers are read fastest.

    Errors: no list; an id that is neither (True, 7.0, -7, None); an id twice in a list, or two queries with one id.
    """
    if not ranked:
        raise UserError(got="no ranked list", expected="a list of item ids for each query", do="check the file")
    numbers: dict[str, int] = {}
    queries = read_queries(ranked, "ranked lists")
    items = read_lists(list(ranked.values()), queries, numbers)
    _refuse_repeats(items, queries, numbers)
    length = np.count_nonzero(items != NOTHING, axis=1)
    return RankedLists({query: row for row, query in enumerate(queries)}, items, numbers, length)


def positive_ranks(lists: RankedLists, relevant: Mapping[Any, Any]) -> Listed:
    """Place of every right item in the list of its query, from 1; ``UNFOUND`` where the list does not have it.

    ``relevant``: query id -> all right items (one named twice counts once).

    A query without a right item is left out and counted; a list whose query is not asked is left aside with a note;
    a list may be shorter than the number of right items, and what it does not hold is not found.

    Errors: a query without a list, named; no query with a right item; ids that are all texts here and all numbers
    there, which could never meet and would score 0.
    """
    asked = read_queries(relevant, "relevant items")
    number, item = _right_items(asked, list(relevant.values()), lists.numbers)
    kept, query = np.unique(number, return_inverse=True)
    right = [asked[at] for at in kept]
    _refuse_missing(right, lists)
    if not right:
        raise UserError(got="no query with a right item", expected="at least one", do="check the judgements")
    rows = _rows(lists, right)
    rank = _places(lists.items, rows[query], item)
    notes = [] if (rank < UNFOUND).any() else _nothing_found(item, lists)
    extra = lists.row.keys() - set(asked)
    if extra:
        named = _named([query for query in lists.row if query in extra])
        notes.append(f"{len(extra)} ranked lists of queries that are not asked, left aside: {named}")
    empty = len(asked) - len(right)
    if empty:
        without = np.ones(len(asked), dtype=bool)
        without[kept] = False
        names = _named([query for query, left in zip(asked, without.tolist(), strict=True) if left])
        notes.append(f"{empty} queries without a right item, left out: {names}")
    found = PositiveRanks(torch.from_numpy(query), torch.from_numpy(rank))
    return Listed(found, tuple(right), item, lists.length[rows], empty, tuple(notes))


def inside_parts(
    lists: RankedLists, listed: Listed, query_parts: Mapping[Any, int], item_parts: Mapping[Any, int]
) -> Listed:
    """The ranks as if each list held only items of its query's own part, as for the folds of a gallery.

    ``query_parts``, ``item_parts``: the part of each query and of each item, by id, from 0; what is in no part is in
    none of them. ``listed`` then counts the items of the query's part. Errors: a query of ``listed`` without a part.
    """
    parts = _Parts.read(lists, listed.queries, query_parts, item_parts)
    query, found = listed.found.query.numpy(), listed.found.rank.numpy()
    rows = _rows(lists, listed.queries)
    rank = np.where(parts.of(listed.items) == parts.of_query[query], found, UNFOUND)
    count = np.zeros(len(rows), dtype=np.int64)
    pairs = np.flatnonzero(rank < UNFOUND)  # rising by query
    bounds = np.searchsorted(query[pairs], np.arange(0, len(rows) + _AT_ONCE, _AT_ONCE))
    for number, start in enumerate(range(0, len(rows), _AT_ONCE)):
        some = slice(start, start + _AT_ONCE)
        inside = parts.of(lists.items[rows[some]]) == parts.of_query[some, None]
        count[some] = np.count_nonzero(inside, axis=1)
        here = pairs[bounds[number] : bounds[number + 1]]
        rank[here] = inside.cumsum(axis=1, dtype=np.int32)[query[here] - start, rank[here] - 1]
    ranks = PositiveRanks(listed.found.query, torch.from_numpy(rank))
    return listed._replace(found=ranks, listed=count)


def _rows(lists: RankedLists, queries: Sequence[int | str]) -> np.ndarray:
    return np.fromiter(map(lists.row.__getitem__, queries), dtype=np.int64, count=len(queries))


def _right_items(
    asked: Sequence[int | str], right: Sequence[Any], numbers: dict[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """All right items of all queries, each once: the place of its query among ``asked``, and its id."""
    item = plain_ids(right)
    items = right
    if item is None:
        items = [read_ids(values, query, numbers) for query, values in zip(asked, right, strict=True)]
        item = np.concatenate([np.empty(0, dtype=np.int64), *items])
    number = np.repeat(np.arange(len(asked)), [*map(len, items)])
    order = np.lexsort((item, number))
    number, item = number[order], item[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (number[1:] != number[:-1]) | (item[1:] != item[:-1])
    return number[first], item[first]


class _Parts(NamedTuple):
    """The part of each query [queries], and the parts of items: known ids, rising, and the part of each."""

    of_query: np.ndarray
    items: np.ndarray
    of_item: np.ndarray

    @classmethod
    def read(
        cls, lists: RankedLists, queries: Sequence[int | str],
        query_parts: Mapping[Any, int], item_parts: Mapping[Any, int],
    ) -> "_Parts":  # fmt: skip
        of_query = dict(zip(read_queries(query_parts, "parts of queries"), query_parts.values(), strict=True))
        without = [query for query in queries if query not in of_query]
        if without:
            raise UserError(
                got=f"no part for {len(without)} queries: {_named(without)}",
                expected="the part of every query that has a right item",
                do="name the part in which each query is asked",
            )
        items = read_ids([*item_parts], "parts of items", lists.numbers)
        order = np.argsort(items)
        of_item = np.fromiter(item_parts.values(), dtype=np.int16, count=len(items))
        of_queries = np.array([of_query[query] for query in queries], dtype=np.int16)
        return cls(of_queries, items[order], of_item[order])

    def of(self, items: np.ndarray) -> np.ndarray:
        """The part of each item, -1 for one of none."""
        if not len(self.items):
            return np.full(items.shape, -1, dtype=np.int16)
        low, high = int(self.items[0]), int(self.items[-1])
        if high - low < _TABLE:
            table = np.full(high - low + 3, -1, dtype=np.int16)  # a place before the first and one behind the last
            table[self.items - low + 1] = self.of_item
            return table.take(items.clip(low - 1, high + 1) - (low - 1))
        at = np.searchsorted(self.items, items).clip(max=len(self.items) - 1)
        return np.where(self.items[at] == items, self.of_item[at], -1).astype(np.int16)


def _places(items: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Place of ``wanted`` in the given rows of ``items``, from 1."""
    rank = np.full(len(rows), UNFOUND, dtype=np.int64)
    for start in range(0, len(rows), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        hit = items[rows[some]] == wanted[some, None]
        place = hit.argmax(axis=1)
        rank[some] = np.where(hit[np.arange(len(hit)), place], place + 1, UNFOUND)
    return rank


def _refuse_repeats(items: np.ndarray, queries: list[int | str], numbers: dict[str, int]) -> None:
    for start in range(0, len(items), _AT_ONCE):
        ordered = np.sort(items[start : start + _AT_ONCE], axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOTHING)
        if twice.any():
            row, at = np.argwhere(twice)[0]
            number = int(ordered[row, at])
            name = next((text for text, code in numbers.items() if code == number), number)
            raise UserError(
                got=f"query {queries[start + row]!r} lists the item {name!r} twice",
                expected="every item once in a list (7, '7' and '007' are one id)",
                do="remove the repeats: they would count as hits again",
            )


def _refuse_missing(right: Sequence[int | str], lists: RankedLists) -> None:
    missing = [query for query in right if query not in lists.row]
    if missing:
        raise UserError(
            got=f"no ranked list for {len(missing)} of {len(right)} queries: {_named(missing)}",
            expected="a list for every query that has a right item",
            do="rank these queries too, or take them out of the judgements",
        )


def _nothing_found(item: np.ndarray, lists: RankedLists) -> list[str]:
    """A note that nothing was found; refused where it is because the ids are of different kinds."""
    ranked = lists.items[lists.items != NOTHING]
    if len(ranked) and not set((item < 0).tolist()) & set((ranked < 0).tolist()):
        names = {code: text for text, code in lists.numbers.items()}
        raise UserError(
            got=f"lists of ids like {names.get(int(ranked[0]), int(ranked[0]))!r}",
            expected=f"ids like {names.get(int(item[0]), int(item[0]))!r}, those of the right items",
            do="write the ids in one way; otherwise nothing could ever be found",
        )
    return ["no right item stands in any list: check that lists and judgements mean the same ids"]


def _named(queries: Sequence[int | str]) -> str:
    return ", ".join(map(str, queries[:10])) + (", ..." if len(queries) > 10 else "")
