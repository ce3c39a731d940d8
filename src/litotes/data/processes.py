"""Work on many items by processes of their own: pictures are decoded while the model computes."""

import atexit
import itertools
import os
import pickle
import queue
import subprocess
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from litotes.data import worker
from litotes.errors import UserError

Item = TypeVar("Item")
Out = TypeVar("Out")

_AHEAD = 4
"""Items that each process may be ahead."""

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_PATIENCE = 2.0
"""Seconds that a process has to end by itself."""

_calls = itertools.count()
_told: dict[str | tuple[str, type[Warning], int], int] = {}
"""What Python notes of warnings that were shown, so that each is shown once."""


def in_processes(work: Callable[[Item], Out], items: Sequence[Item], workers: int) -> Iterator[Out]:
    """``work(item)`` of every item, in their order; ``workers`` processes work ahead, or none with 0.

    ``work``, the items and what comes of them are sent between processes, so they must be picklable; ``work`` must be
    of a module that can be imported, not of the script that was started. A process starts when it is first needed, from
    nothing, and imports the module of ``work`` alone: it inherits no threads, no locks and no device of this one. It
    then waits for the next call, whatever that is, until this process ends, however that comes about. No random state
    is touched. Warnings of ``work`` are given here, each once.

    Errors: an exception of ``work`` comes here as it is; :class:`UserError` for a process that ends before its work is
    done, as for want of memory, and for work that it cannot import.
    """
    if not workers:
        yield from map(work, items)
        return
    count = min(workers, len(items))
    if not count:
        return
    free, call, sent = _free_processes(count), next(_calls), pickle.dumps(work, protocol=5)

    def ask(item: Item) -> worker.Answer:
        process = free.get()
        try:
            return process.ask(call, sent, item)
        finally:
            free.put(process)

    threads = ThreadPoolExecutor(count)
    try:
        asked: deque[Future[worker.Answer]] = deque()
        for item in items:
            asked.append(threads.submit(ask, item))
            if len(asked) == count * _AHEAD:
                yield _taken(asked.popleft().result())
        while asked:
            yield _taken(asked.popleft().result())
    finally:
        threads.shutdown(cancel_futures=True)


def _taken(answer: worker.Answer) -> Any:  # noqa: ANN401 (what the work gives)
    """The result, or the error that is to be raised instead."""
    kind, value, warned = answer
    for message, category, file, line in warned:
        warnings.warn_explicit(message, category, file, line, registry=_told)
    if kind == worker.RAISED:
        raise value
    if kind == worker.FAILED:
        raise RuntimeError(f"in a process that prepares pictures:\n{value}")
    if kind == worker.NOT_LOADED:
        raise UserError(
            got=f"work that another process cannot load: {value}",
            expected="functions and classes of modules, not of the script that was started",
            do="move them into a module of their own, or do without processes (workers 0)",
        )
    return value


class _Process:
    """A process that may not have started, or has ended; it is asked by one thread at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._known = -1

    def ask(self, call: int, work: bytes, item: object) -> worker.Answer:
        """The answer to one item. ``work`` is sent along with the first item of a call."""
        process = self._process or self._started()
        try:
            _send(process, (call, work if call != self._known else None, item))
            answer: worker.Answer = pickle.load(_stream(process.stdout))
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise _ended(self._discarded(process)) from error
        except BaseException:
            self._discarded(process)  # what it says next would be taken for the answer to something else
            raise
        self._known = -1 if answer[0] == worker.NOT_LOADED else call
        return answer

    def stop(self) -> None:
        """End it, by force where it does not listen."""
        if self._process is None:
            return
        try:
            _send(self._process, None)
            self._process.wait(_PATIENCE)
        except (OSError, subprocess.TimeoutExpired):
            pass
        self._discarded(self._process)

    def _started(self) -> "subprocess.Popen[bytes]":
        # A file and no module, so that nothing is imported on the way; -P: nor found beside that file.
        command = [sys.executable, "-P", str(Path(worker.__file__))]
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | _ONE_THREAD
            )
        except OSError as error:
            raise UserError(
                got=f"a process that prepares pictures cannot be started: {error}",
                expected="a system that has room for it",
                do="give fewer --workers; 0 does all in one process",
            ) from error
        self._process, self._known = process, -1
        _send(process, [path or str(Path.cwd()) for path in sys.path])
        return process

    def _discarded(self, process: "subprocess.Popen[bytes]") -> int:
        """Its exit code, after making sure that it has ended."""
        self._process = None
        process.kill()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # what could not be sent
                _stream(stream).close()
        return process.wait()


def _send(process: "subprocess.Popen[bytes]", message: object) -> None:
    data, stream = pickle.dumps(message, protocol=5), _stream(process.stdin)
    stream.write(data)
    stream.flush()


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    """One that is there: both were asked for."""
    return cast("IO[bytes]", stream)


def _ended(code: int) -> UserError:
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return UserError(
        got=f"a process that prepares pictures ended before its work was done, {how}",
        expected="processes (--workers) that have the memory they need",
        do="give fewer --workers; 0 does all in one process",
    )


class _Pool:
    """All processes of this process; those that no call is using are in ``free``."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.all: list[_Process] = []
        self.free: queue.LifoQueue[_Process] = queue.LifoQueue()


_pool = _Pool()


def _free_processes(count: int) -> "queue.LifoQueue[_Process]":
    """The queue that processes are taken from and put back to, after making sure that there are ``count``."""
    global _pool  # noqa: PLW0603 (a fork has no part in the processes of its parent)
    if _pool.owner != os.getpid():
        _pool = _Pool()
    while len(_pool.all) < count:
        _pool.all.append(_Process())
        _pool.free.put(_pool.all[-1])
    return _pool.free


@atexit.register
def end_processes() -> None:
    """End all of them, as the end of this process does; the next call starts others."""
    if _pool.owner == os.getpid():
        for process in _pool.all:
            process.stop()
