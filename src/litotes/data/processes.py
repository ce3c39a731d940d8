"""Work on many items by processes of their own: pictures are decoded while the model computes."""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from typing import TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

from litotes.errors import UserError

Item = TypeVar("Item")
Out = TypeVar("Out")

_AHEAD = 4
"""Items that each process may be ahead."""


def in_processes(work: Callable[[Item], Out], items: Sequence[Item], workers: int) -> Iterator[Out]:
    """``work(item)`` of every item, in their order; ``workers`` processes work ahead, or none with 0.

    ``work`` and ``items`` are sent to each process, so they must be picklable. The processes inherit no threads, no
    locks and no device of this one: a fork of a process in which torch has computed, or a progress bar draws, may wait
    for ever for a lock that nobody in it holds. No global random state is touched.

    Errors: a :class:`UserError` of ``work`` comes here as it is; one for a process that ends before its work is done,
    as for want of memory.
    """
    if not workers:
        yield from map(work, items)
        return
    loader = DataLoader(
        _Work(work, items), batch_size=None, num_workers=min(workers, len(items)), collate_fn=_as_it_is,
        prefetch_factor=_AHEAD if items else None, multiprocessing_context=_clean_start() if items else None,
        generator=torch.Generator().manual_seed(0),
    )  # fmt: skip
    try:
        for result in loader:
            if isinstance(result, _Failed):
                raise result.error
            yield result
    except RuntimeError as error:
        if "DataLoader worker (pid" not in str(error):
            raise
        raise UserError(
            got=f"a process that prepares pictures ended before its work was done: {error}",
            expected=f"{workers} processes (--workers) that have the memory they need",
            do="give fewer --workers; 0 does all in one process",
        ) from error


def _clean_start() -> BaseContext:
    """Each process is forked from one that did nothing but import; where the system has none, begun from nothing."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "litotes.data.images"])
    return context


@dataclass(frozen=True)
class _Failed:
    """A user's mistake on its way out of a process: the loader would make a RuntimeError of the exception itself."""

    error: UserError


class _Work(Dataset[object]):
    def __init__(self, work: Callable[[Item], Out], items: Sequence[Item]) -> None:
        self.work = work
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> object:
        try:
            return self.work(self.items[index])
        except UserError as error:
            return _Failed(error)


def _as_it_is(result: object) -> object:
    """The loader would turn tuples into lists."""
    return result
