"""Ranked lists of ids, best first, against the ids that are right: checked, and turned into ranks of the positives."""

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch

from litotes.errors import UserError
from litotes.metrics.graded import UNFOUND, GradedScores, PositiveRanks, graded_scores

_NOTHING = -1  # fills a short list; ids of numbers are from 0, texts get -2, -3, ...
_AT_ONCE = 4096  # lists worked on at once, which bounds the memory


class RankedLists(NamedTuple):
    """Checked lists: ``row`` of each query, ``items`` [queries, longest] filled up with -1, numbers for text ids."""

    row: dict[int | str, int]
    items: np.ndarray
    numbers: dict[str, int]


class Listed(NamedTuple):
    """Ranks of the positives by ranked lists, and what was left out.

    ``found``: the ranks; its queries are those of ``queries``, in this order. ``listed`` [queries]: how many items
    the list of each query has. ``without_positives``: queries left out, since nothing is right for them. ``notes``:
    what a reader must know, in words.
    """

    found: PositiveRanks
    queries: tuple[int | str, ...]
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
    one id (image ids of COCO are written in all three ways).

    Errors: no list; an id that is neither (True, 7.0, -7, None); an id twice in a list, or two queries with one id.
    """
    if not ranked:
        raise UserError(got="no ranked list", expected="a list of item ids for each query", do="check the file")
    numbers: dict[str, int] = {}
    queries = _queries(ranked, "ranked lists")
    lists = [_items(ids, query, numbers) for query, ids in zip(queries, ranked.values(), strict=True)]
    width = max(1, *map(len, lists))
    items = np.full((len(lists), width), _NOTHING, dtype=np.int64)
    for row, ids in enumerate(lists):
        items[row, : len(ids)] = ids
    _refuse_repeats(items, queries, numbers)
    return RankedLists({query: row for row, query in enumerate(queries)}, items, numbers)


def positive_ranks(lists: RankedLists, relevant: Mapping[Any, Any], within: Iterable[Any] | None = None) -> Listed:
    """Place of every right item in the list of its query, from 1; ``UNFOUND`` where the list does not have it.

    ``relevant``: query id -> all right items (one named twice counts once). ``within``: where given, the lists are
    read as if they held these items only, as for a fold of a gallery.

    A query without a right item is left out and counted; a list whose query is not asked is left aside with a note;
    a list may be shorter than the number of right items, and what it does not hold is not found.

    Errors: a query without a list, named; no query with a right item; ids that are all texts here and all numbers
    there, which could never meet and would score 0.
    """
    asked = _queries(relevant, "relevant items")
    number, item = _right_items(asked, list(relevant.values()), lists.numbers)
    kept, query = np.unique(number, return_inverse=True)
    right = [asked[at] for at in kept]
    _refuse_missing(right, lists)
    if not right:
        raise UserError(got="no query with a right item", expected="at least one", do="check the judgements")
    rows = np.array([lists.row[query] for query in right])
    allowed = None if within is None else _items(list(within), "within", lists.numbers)
    rank = _places(lists.items, rows[query], item, allowed)
    notes = [] if (rank < UNFOUND).any() else _nothing_found(item, lists)
    extra = lists.row.keys() - set(asked)
    if extra:
        named = _named([query for query in lists.row if query in extra])
        notes.append(f"{len(extra)} ranked lists of queries that are not asked, left aside: {named}")
    empty = len(asked) - len(right)
    if empty:
        names = _named([query for at, query in enumerate(asked) if at not in set(kept.tolist())])
        notes.append(f"{empty} queries without a right item, left out: {names}")
    found = PositiveRanks(torch.from_numpy(query), torch.from_numpy(rank))
    listed = np.count_nonzero(_counted(lists.items[rows], allowed), axis=1)
    return Listed(found, tuple(right), listed, empty, tuple(notes))


def _right_items(
    asked: Sequence[int | str], right: Sequence[Any], numbers: dict[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """All right items of all queries, each once: the place of its query among ``asked``, and its id."""
    item = _all_numbers(right)
    items = right
    if item is None:
        items = [_items(values, query, numbers) for query, values in zip(asked, right, strict=True)]
        item = np.concatenate([np.empty(0, dtype=np.int64), *items])
    number = np.repeat(np.arange(len(asked)), [len(ids) for ids in items])
    order = np.lexsort((item, number))
    number, item = number[order], item[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (number[1:] != number[:-1]) | (item[1:] != item[:-1])
    return number[first], item[first]


def _all_numbers(lists: Sequence[Any]) -> np.ndarray | None:
    """All ids one after the other, where they are plain whole numbers (much faster at once); None otherwise."""
    if not all(isinstance(ids, (list, tuple, set, frozenset)) for ids in lists):
        return None
    ids = [*chain.from_iterable(lists)]
    plain = set(map(type, ids)) <= {int} and min(ids, default=0) >= 0 and max(ids, default=0) < UNFOUND
    return np.array(ids, dtype=np.int64) if plain else None


def _places(items: np.ndarray, rows: np.ndarray, wanted: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    """Place of ``wanted`` in the given rows of ``items``, from 1, counting allowed items only."""
    rank = np.full(len(rows), UNFOUND, dtype=np.int64)
    for start in range(0, len(rows), _AT_ONCE):
        lists = items[rows[start : start + _AT_ONCE]]
        hit = lists == wanted[start : start + _AT_ONCE, None]
        place = hit.argmax(axis=1)
        pair = hit[np.arange(len(hit)), place].nonzero()[0]
        before = np.arange(lists.shape[1]) <= place[pair, None]
        counted = np.count_nonzero(_counted(lists[pair], allowed) & before, axis=1)
        rank[start + pair] = counted
    return rank if allowed is None else np.where(np.isin(wanted, allowed), rank, UNFOUND)


def _counted(items: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    return (items != _NOTHING) if allowed is None else np.isin(items, allowed)


def _queries(lists: Mapping[Any, Any], what: str) -> list[int | str]:
    queries = [_id(query, what) for query in lists]
    if len(set(queries)) < len(queries):
        twice = next(query for query in queries if queries.count(query) > 1)
        raise UserError(
            got=f"{what}: the query {twice!r} twice",
            expected="every query once (7, '7' and '007' are one id)",
            do="rename",
        )
    return queries


def _id(value: Any, where: object) -> int | str:  # noqa: ANN401 - whatever a file holds
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() else value
    try:
        number = -1 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < UNFOUND:
        raise UserError(
            got=f"the id {value!r} ({where})",
            expected="a whole number from 0, or a text",
            do="write ids as in the judgements",
        )
    return number


def _items(values: object, query: object, numbers: dict[str, int]) -> np.ndarray:
    """Ids as int64 [items]; a text gets the next negative number of ``numbers``."""
    if isinstance(values, str) or not isinstance(values, (list, tuple, np.ndarray, Collection)):
        raise UserError(got=f"{values!r:.60} for query {query}", expected="a list of ids", do="put the ids in a list")
    try:
        array = np.asarray(values if isinstance(values, (list, tuple, np.ndarray)) else list(values))
    except ValueError:  # lists of different lengths inside: refused below as ids
        array = np.empty(0)
    if array.ndim == 1 and array.dtype.kind == "i" and (not len(array) or array.min() >= 0):
        return array.astype(np.int64, copy=False)
    ids = [_id(value, f"query {query}") for value in values]
    return np.array(
        [numbers.setdefault(i, -2 - len(numbers)) if isinstance(i, str) else i for i in ids], dtype=np.int64
    )


def _refuse_repeats(items: np.ndarray, queries: list[int | str], numbers: dict[str, int]) -> None:
    for start in range(0, len(items), _AT_ONCE):
        ordered = np.sort(items[start : start + _AT_ONCE], axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != _NOTHING)
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
    ranked = lists.items[lists.items != _NOTHING]
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
