"""Ids of queries and items, as files and tools write them: whole numbers and texts, checked and made into arrays."""

import operator
from array import array
from collections.abc import Collection, Mapping, Sequence, Sized
from itertools import chain
from typing import Any

import numpy as np

from litotes.errors import UserError
from litotes.metrics.graded import UNFOUND

NOTHING = -1
"""Fills a short list; ids of numbers are from 0, texts get -2, -3, ..."""
_AT_ONCE = 1024  # lists made into an array at once, which bounds the memory


def read_queries(lists: Mapping[Any, Any], what: str) -> list[int | str]:
    """The ids that ``lists`` has something for. Errors: one that is no id, named ``what``; one given twice."""
    queries = [*lists] if _are_plain([*lists]) else [_id(query, what) for query in lists]
    if len(set(queries)) < len(queries):
        twice = next(query for query in queries if queries.count(query) > 1)
        raise UserError(
            got=f"{what}: the query {twice!r} twice",
            expected="every query once (7, '7' and '007' are one id)",
            do="rename",
        )
    return queries


def _id(value: Any, where: object) -> int | str:  # noqa: ANN401 - whatever a file holds
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        return value
    number = _number(value)
    if not 0 <= number < UNFOUND:
        raise UserError(
            got=f"the id {value!r:.80} ({where})",
            expected="a whole number from 0, or a text",
            do="write ids as in the judgements",
        )
    return number


def _number(value: Any) -> int:  # noqa: ANN401 - whatever a file holds
    """The number that a value is, or its digits say; -1 for none."""
    try:
        if isinstance(value, str):
            return int(value)
        return -1 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except (TypeError, ValueError):  # ValueError: more than 4,300 digits
        return -1


def read_lists(lists: Sequence[Any], queries: Sequence[int | str], numbers: dict[str, int]) -> np.ndarray:
    """Lists of ids as one table [lists, longest], filled up with ``NOTHING``; texts as in ``read_ids``.

    int32 where every id fits, int64 otherwise. Errors: those of ``read_ids``.
    """
    try:
        width = max(1, *map(len, lists))
    except TypeError:  # one that is no list is refused below, with its query
        width = max(1, *(len(ids) for ids in lists if isinstance(ids, Sized)))
    table = np.full((len(lists), width), NOTHING, dtype=np.int32)
    for start in range(0, len(lists), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        block = _block(lists[some], queries[some], numbers, width)
        if block.max() > np.iinfo(table.dtype).max:
            table = table.astype(np.int64)
        table[some] = block
    return table


def _block(lists: Sequence[Any], queries: Sequence[int | str], numbers: dict[str, int], width: int) -> np.ndarray:
    if set(map(type, lists)) == {np.ndarray} and {ids.shape for ids in lists} == {(width,)}:
        table = np.array(lists)  # at once, much faster than one by one
        if all(ids.dtype.kind == "i" for ids in lists) and table.min() >= 0:
            return table
    block = np.full((len(lists), width), NOTHING, dtype=np.int64)
    for row, query, values in zip(block, queries, lists, strict=True):
        ids = read_ids(values, query, numbers)
        row[: len(ids)] = ids
    return block


def read_ids(values: Any, query: object, numbers: dict[str, int]) -> np.ndarray:  # noqa: ANN401 - whatever a file holds
    """Ids as int64 [items]; a text gets the next negative number of ``numbers``, from -2 down.

    Errors: no list, an id that is neither a whole number from 0 nor a text, with the query.
    """
    if isinstance(values, str) or not isinstance(values, (list, tuple, np.ndarray, Collection)):
        raise UserError(got=f"{values!r:.60} for query {query}", expected="a list of ids", do="put the ids in a list")
    found = _whole_numbers(values)
    if found is not None:
        return found
    ids = [_id(value, f"query {query}") for value in values]
    return np.array(
        [numbers.setdefault(i, -2 - len(numbers)) if isinstance(i, str) else i for i in ids], dtype=np.int64
    )


def _whole_numbers(values: Any) -> np.ndarray | None:  # noqa: ANN401 - any collection
    """Whole numbers from 0 as int64; None where something is another thing, as True is, or has to be looked at."""
    if isinstance(values, np.ndarray):
        return values.astype(np.int64, copy=False) if _is_plain_array(values) else None
    try:
        found = np.frombuffer(array("q", values), dtype=np.int64) if len(values) else np.empty(0, dtype=np.int64)
    except (TypeError, OverflowError, ValueError):  # ValueError: texts of one letter in a tuple of bytes
        return None
    lowest = found.min(initial=UNFOUND)
    return found if lowest > 1 or (lowest >= 0 and bool not in set(map(type, values))) else None


def _is_plain_array(values: np.ndarray) -> bool:
    return values.ndim == 1 and values.dtype.kind == "i" and (not len(values) or values.min() >= 0)


def plain_ids(lists: Sequence[Any]) -> np.ndarray | None:
    """All ids one after the other, where they are plain whole numbers (much faster at once); None otherwise."""
    if not set(map(type, lists)) <= {list, tuple, set, frozenset}:
        return None
    ids = [*chain.from_iterable(lists)]
    return np.array(ids, dtype=np.int64) if _are_plain(ids) else None


def _are_plain(ids: Sequence[Any]) -> bool:
    return set(map(type, ids)) <= {int} and min(ids, default=0) >= 0 and max(ids, default=0) < UNFOUND
