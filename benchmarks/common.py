"""What several benchmarks share: sizes, random captions, medians of times."""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

BOS, EOS = 49406, 49407
SHORTEST, LONGEST = 10, 20
TINY = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
"""Sizes that replace those of a tower under ``--smoke``."""


def is_smoke(arguments: list[str] | None, title: str) -> bool:
    """Whether the command line asks for a run on tiny sizes, which shows no more than that it runs."""
    parser = argparse.ArgumentParser(description=title.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    return parser.parse_args(arguments).smoke


def captions(count: int) -> Tensor:
    """Token ids [count, LONGEST] of random words: start, words, end, zeros; SHORTEST to LONGEST tokens each."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.zeros(count, LONGEST, dtype=torch.long)
    lengths = torch.randint(SHORTEST, LONGEST + 1, (count,), generator=generator)
    for row, length in zip(ids, lengths.tolist(), strict=True):
        row[:length] = torch.randint(1, BOS, (length,), generator=generator)
        row[0], row[length - 1] = BOS, EOS
    return ids


def median_seconds(action: Callable[[], object], repeats: int) -> float:
    """Median time of a call; the first one, which warms up, is not counted."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def best_seconds(
    actions: dict[str, Callable[[], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The shortest time of each action; every repeat runs all of them in turn, after one that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeats + 1):
        for name, action in actions.items():
            start = clock()
            action()
            times[name].append(clock() - start)
    return {name: min(taken[1:]) for name, taken in times.items()}
