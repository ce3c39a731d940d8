"""A process that does others' work, started as a file of its own; it imports what the work needs, nothing else.

It reads pickles from its standard input and answers each with one on its standard output: first the paths that modules
are imported from; then ``(call, work, item)``, where ``work`` is a pickled function, or None for the one it has; and
None for the end, as when the input closes because the other process is no more. An answer is ``(kind, value, warned)``
with ``kind`` one of the names below and ``warned`` the warnings of the work, for the other side to tell.
"""

import os
import pickle
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

RESULT, RAISED, FAILED, NOT_LOADED = "result", "raised", "failed", "not loaded"
"""The result; an exception; the text of one that cannot be sent; why the function cannot be found here."""

Warned = list[tuple[Any, type[Warning], str, int]]
Answer = tuple[str, Any, Warned]


def main() -> None:
    """Answer until told to end."""
    # Ctrl-C reaches every process of a terminal; the one that gives work ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the work prints is no answer
    with suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):  # nobody is there any more
        sys.path[:] = pickle.load(given)
        _serve(given, answers)
    os._exit(0)  # at once: nothing here is to be kept


def _serve(given: BinaryIO, answers: BinaryIO) -> None:
    known = -1
    work: Callable[[Any], Any] = repr
    while (message := pickle.load(given)) is not None:
        call, sent, item = message
        if call != known:
            try:
                known, work = call, pickle.loads(sent)
            except Exception as error:  # whatever importing its modules brings
                _send(answers, (NOT_LOADED, f"{type(error).__name__}: {error}", []))
                known = -1
                continue
        _send(answers, _answer(work, item))


def _answer(work: Callable[[Any], Any], item: object) -> Answer:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            kind, value = RESULT, work(item)
        except Exception as error:
            error.add_note("".join(traceback.format_exception(error)))
            kind, value = RAISED, error
    return kind, value, [(one.message, one.category, one.filename, one.lineno) for one in caught]


def _send(answers: BinaryIO, answer: Answer) -> None:
    kind, value, _ = answer
    try:
        data = pickle.dumps(answer, protocol=5)
        if kind == RAISED:
            pickle.loads(data)  # some exceptions can be sent but not received
    except Exception:
        text = "".join(traceback.format_exception(value)) if kind == RAISED else traceback.format_exc()
        data = pickle.dumps((FAILED, text, []), protocol=5)
    answers.write(data)
    answers.flush()


if __name__ == "__main__":
    main()
