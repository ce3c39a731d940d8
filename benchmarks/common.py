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
