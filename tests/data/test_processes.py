import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from litotes.data.processes import end_processes, in_processes
from litotes.errors import UserError


class TwoPartError(Exception):
    """One that pickles, and cannot be made again from what was pickled."""

    def __init__(self, one, other):
        super().__init__(one)


def doubled(item):
    if item == 3:
        raise UserError(got="3", expected="another number", do="choose one")
    if item == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    if item == 5:
        raise KeyError("a fault of the program")
    if item == 6:
        raise TwoPartError("a fault that cannot be sent", 0)
    if item == 7:
        return lambda: None
    if item == 8:
        print("not an answer")
    if item == 9:
        warnings.warn("told once", stacklevel=1)
    return np.full(2, 2.0 * item), ("a tuple", item)


def process_of(item):
    time.sleep(item)
    return os.getpid()


@pytest.mark.parametrize("workers", [0, 2])
def test_results_come_in_the_order_of_the_items_as_they_are(workers):
    import torch  # noqa: PLC0415 (the processes import this module too)

    before = torch.get_rng_state(), np.random.get_state()[1].tolist()
    items = [2, 0, 1, 8, *range(10, 40)]
    results = list(in_processes(doubled, items, workers))
    assert [(half.tolist(), rest) for half, rest in results] == [([2.0 * i, 2.0 * i], ("a tuple", i)) for i in items]
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]
    assert list(in_processes(doubled, [], workers)) == []


@pytest.mark.parametrize("workers", [0, 1])
def test_a_users_mistake_comes_as_it_is_and_after_what_went_well(workers):
    results = in_processes(doubled, [1, 3, 2], workers)
    assert next(results)[1] == ("a tuple", 1)
    with pytest.raises(UserError) as error:
        next(results)
    assert (error.value.got, error.value.expected, error.value.do) == ("3", "another number", "choose one")


def test_a_process_that_is_killed_is_told_and_not_waited_for_and_the_next_call_has_another():
    (first,) = in_processes(process_of, [0], 1)
    with pytest.raises(UserError, match="ended before its work was done, by signal 9") as error:
        list(in_processes(doubled, [4, *range(10, 20)], 1))
    assert "--workers" in error.value.do
    (other,) = in_processes(process_of, [0], 1)
    assert other != first


@pytest.mark.parametrize("workers", [0, 1])
def test_a_fault_of_the_program_stays_one(workers):
    with pytest.raises(KeyError, match="a fault of the program") as error:
        list(in_processes(doubled, [5], workers))
    assert not workers or "in doubled" in error.value.__notes__[0]


def test_what_cannot_be_sent_is_told_with_the_place_it_comes_from():
    for item, told in ((6, "in doubled(?s:.*)a fault that cannot be sent"), (7, "lambda")):
        with pytest.raises(RuntimeError, match=told):
            list(in_processes(doubled, [item], 1))
    with pytest.raises((pickle.PicklingError, AttributeError)):
        list(in_processes(lambda item: item, [1], 1))


def test_warnings_of_the_work_are_given_here_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        assert len(list(in_processes(doubled, [9, 9, 9], 2))) == 3
    assert [str(one.message) for one in caught] == ["told once"]
    assert caught[0].filename == __file__


def test_processes_stay_for_the_next_call_and_serve_several_at_once():
    first = set(in_processes(process_of, [0.05] * 6, 2))
    assert len(first) == 2
    assert set(in_processes(process_of, [0.05] * 6, 2)) == first
    end_processes()
    assert not any(Path(f"/proc/{pid}").exists() for pid in first)
    first, ended = set(in_processes(process_of, [0.05] * 6, 2)), first
    assert not first & ended
    # One call is dropped half way, two go on side by side.
    dropped = in_processes(process_of, [0] * 20, 2)
    assert next(dropped) in first
    dropped.close()
    ones, others = in_processes(doubled, range(10, 30), 2), in_processes(process_of, [0] * 20, 2)
    for i, (one, other) in enumerate(zip(ones, others, strict=True)):
        assert one[1] == ("a tuple", 10 + i)
        assert other in first


def test_a_fork_has_processes_of_its_own():
    mine = set(in_processes(process_of, [0.05] * 4, 2))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, repr(set(in_processes(process_of, [0.05] * 4, 2)) & mine).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 100) == b"set()"
    assert set(in_processes(process_of, [0.05] * 4, 2)) == mine


SCRIPT = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it, and so would this
from functools import partial
from PIL import Image
from litotes.backbones.square import paper_square, stacked
from litotes.data.images import ImageFiles
from litotes.data.processes import in_processes
from litotes.errors import UserError

def own(item):
    return item

Image.new("RGB", (40, 30), "red").save("red.png")
files = ImageFiles(["red.png"] * 4, ".")
squares = list(in_processes(partial(stacked, partial(paper_square, size=8), files), [[0, 1], [2, 3]], 2))
assert [s.shape for s in squares] == [(2, 3, 8, 8)] * 2 and squares[0].dtype == "uint8"
code = "__import__('time').sleep(0.1) or (__import__('os').getpid(), sorted(__import__('sys').modules))"
found = list(in_processes(eval, [code] * 2, 2))
assert not {"torch", "transformers", "matplotlib", "pyarrow"} & {name for _, names in found for name in names}
try:
    list(in_processes(own, [1], 2))
except UserError as error:
    assert "own" in error.got and "workers 0" in error.do
print(*(pid for pid, _ in found), flush=True)
"""


@pytest.mark.parametrize(
    "ending",
    ["pass", "sys.exit(3)", "1 / 0", "busy = in_processes(time.sleep, [0.1] * 9, 2); next(busy)", "KILL", "INT"],
)
def test_processes_read_pictures_without_torch_and_end_with_the_one_that_started_them(ending, tmp_path):
    wait = "list(in_processes(time.sleep, [0.2] * 100, 2))"
    code = SCRIPT + (wait if ending.isupper() else ending)
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        workers = [int(word) for word in process.stdout.readline().split()]
        if ending.isupper():
            time.sleep(0.1)
            group = os.killpg if ending == "INT" else os.kill  # Ctrl-C reaches the processes too
            group(process.pid, getattr(signal, f"SIG{ending}"))
        _, told = process.communicate()
    assert len(set(workers)) == 2, told
    ends = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < ends:
        time.sleep(0.02)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    if ending == "INT":
        assert told.count("KeyboardInterrupt") == 1  # nothing of the others
