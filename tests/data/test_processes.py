import os
import signal

import pytest
import torch

from litotes.data.processes import in_processes
from litotes.errors import UserError


def doubled(item):
    if item == 3:
        raise UserError(got="3", expected="another number", do="choose one")
    if item == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    if item == 5:
        raise RuntimeError("a fault of the program")
    return torch.full((2,), 2.0 * item), ("a tuple", item)


@pytest.mark.parametrize("workers", [0, 2])
def test_results_come_in_the_order_of_the_items_as_they_are(workers):
    before = torch.get_rng_state()
    results = list(in_processes(doubled, [2, 0, 1], workers))
    assert [(half.tolist(), rest) for half, rest in results] == [
        ([2.0 * i, 2.0 * i], ("a tuple", i)) for i in (2, 0, 1)
    ]
    assert torch.equal(torch.get_rng_state(), before)
    assert list(in_processes(doubled, [], workers)) == []


@pytest.mark.parametrize("workers", [0, 1])
def test_a_users_mistake_comes_as_it_is_and_after_what_went_well(workers):
    results = in_processes(doubled, [1, 3, 2], workers)
    assert next(results)[1] == ("a tuple", 1)
    with pytest.raises(UserError) as error:
        next(results)
    assert (error.value.got, error.value.expected, error.value.do) == ("3", "another number", "choose one")


def test_a_process_that_is_killed_is_told_and_not_waited_for():
    with pytest.raises(UserError, match="a process that prepares pictures ended before its work was done") as error:
        list(in_processes(doubled, [4], 1))
    assert "--workers" in error.value.do


@pytest.mark.parametrize("workers", [0, 1])
def test_a_fault_of_the_program_stays_one(workers):
    with pytest.raises(RuntimeError, match="a fault of the program"):
        list(in_processes(doubled, [5], workers))
