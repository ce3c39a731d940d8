"""All-pairs hyperbolic distance by matrix product against the Möbius formula broadcast over all pairs.

    python benchmarks/distance.py

Each line is one batch size B with 512 dimensions: forward and backward of the mean of the [B, B] distances of unit
tangent vectors in float32. Time is the median of seven passes, or one pass where that takes over a second; memory is
the growth of the process's peak resident size over the inputs. Every measurement runs in a process of its own with one
thread. The broadcast formula is left out where memory would not hold it, or where it would take more than 30 seconds
by four times the line above (``--all`` measures it all the same).
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from torch import Tensor

DIMENSIONS = 512
CURVATURE = 0.1
SIZES = (64, 128, 256, 512, 1024)
MEBIBYTE = 2**20
LONGEST = 30_000.0  # milliseconds
# [B, B, d] tensors in float32 that the broadcast formula holds at once, for the check before it starts.
BROADCAST_TENSORS = 6


def main() -> None:
    """Print the table, or, as a child process, one measurement as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="measure the broadcast formula however long it takes")
    parser.add_argument("--measure", nargs=2, metavar=("METHOD", "B"), help="used by the program itself")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure[0], int(arguments.measure[1]))))
        return
    table = Table(title=f"all-pairs distance, d = {DIMENSIONS}, forward and backward, one thread")
    for head in ("B", "product, ms", "broadcast, ms", "ratio", "product, MiB", "broadcast, MiB", "ratio", "difference"):
        table.add_column(head, justify="right")
    milliseconds = 0.0
    for size in SIZES:
        product = run_child("product", size)
        reason = "" if arguments.all else too_long(4 * milliseconds)
        reason = reason or too_large(size)
        broadcast = None if reason else run_child("broadcast", size)
        milliseconds = broadcast["ms"] if broadcast else 4 * milliseconds
        table.add_row(str(size), *row(product, broadcast, reason))
    Console(width=120).print(table)


def too_long(expected: float) -> str:
    """Why a measurement that is expected to take so many milliseconds is left out, or nothing."""
    return f"left out: about {expected / 1000:.0f} s" if expected > LONGEST else ""


def too_large(size: int) -> str:
    """Why the broadcast formula is left out for want of memory, or nothing."""
    needed = BROADCAST_TENSORS * 4 * DIMENSIONS * size**2
    return f"left out: about {needed / 2**30:.0f} GiB" if needed > available_memory() else ""


def row(product: dict[str, float], broadcast: dict[str, float] | None, reason: str) -> list[str]:
    """One line of the table after its batch size."""
    if broadcast is None:
        return [f"{product['ms']:.1f}", reason, "", f"{product['mib']:.1f}", "", "", ""]
    return [
        f"{product['ms']:.1f}",
        f"{broadcast['ms']:.1f}",
        f"{broadcast['ms'] / product['ms']:.1f}",
        f"{product['mib']:.1f}",
        f"{broadcast['mib']:.1f}",
        f"{broadcast['mib'] / product['mib']:.1f}",
        f"{abs(product['mean'] / broadcast['mean'] - 1):.0e}",
    ]


def run_child(method: str, size: int) -> dict[str, float]:
    """The measurement in a fresh process."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__)), "--measure", method, str(size)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def measure(method: str, size: int) -> dict[str, float]:
    """Milliseconds, growth of peak memory in MiB, and the mean distance, by which both methods are compared."""
    # Here and not above: a child inherits the peak size of the process that starts it, which must stay small.
    import torch  # noqa: PLC0415

    from litotes import geometry  # noqa: PLC0415

    formula = {"product": by_product, "broadcast": by_broadcast}[method]
    distance = partial(formula, geometry)
    generator = torch.Generator().manual_seed(0)
    u, w = (torch.nn.functional.normalize(torch.randn(size, DIMENSIONS, generator=generator)) for _ in range(2))
    u.requires_grad_()
    w.requires_grad_()
    distance(u[:8], w[:8]).sum().backward()  # loads kernels, whose memory is not the method's
    before = peak_memory()
    value, first = timed(distance, u, w)
    peak = peak_memory()
    times = [first] if first > 1 else [timed(distance, u, w)[1] for _ in range(7)]
    return {"ms": 1000 * statistics.median(times), "mib": max(peak - before, MEBIBYTE / 4) / MEBIBYTE, "mean": value}


def timed(distance: "Callable[[Tensor, Tensor], Tensor]", u: "Tensor", w: "Tensor") -> tuple[float, float]:
    """Mean distance, and the seconds of one forward and backward pass."""
    u.grad = w.grad = None
    start = time.perf_counter()
    value = distance(u, w).mean()
    value.backward()
    return value.item(), time.perf_counter() - start


def by_product(geometry: ModuleType, u: "Tensor", w: "Tensor") -> "Tensor":
    """The package's function, from tangent vectors."""
    return geometry.pairwise_tangent_dist(u, w, CURVATURE)


def by_broadcast(geometry: ModuleType, u: "Tensor", w: "Tensor") -> "Tensor":
    """``(2 / sqrt(c)) artanh(sqrt(c) ||(-x) (+) y||)`` as the paper writes it, on [B, 1, d] and [1, B, d] points."""
    x, y = geometry.exp0(u, CURVATURE)[:, None], geometry.exp0(w, CURVATURE)[None]
    product = -(x * y).sum(-1, keepdim=True)
    x_square, y_square = x.square().sum(-1, keepdim=True), y.square().sum(-1, keepdim=True)
    numerator = -(1 + 2 * CURVATURE * product + CURVATURE * y_square) * x + (1 - CURVATURE * x_square) * y
    moved = numerator / (1 + 2 * CURVATURE * product + CURVATURE**2 * x_square * y_square)
    root = CURVATURE**0.5
    return 2 / root * (root * moved.norm(dim=-1)).atanh()


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def available_memory() -> int:
    """Bytes that can be taken without swapping; where the system does not say, 8 GiB."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 8 * 2**30


if __name__ == "__main__":
    main()
