"""VACSR's adapter: pairs a second of its ways to score, time and memory of its ways to take a training step.

    python benchmarks/vacsr.py                         # both tables; the step with 256 needs 7 GiB and minutes
    python benchmarks/vacsr.py --batches 64 128
    python benchmarks/vacsr.py --batches 256 --paths blocks --memory 128

Random features and weights at d = 1024 (5,264,419 parameters), float32. Each repeat runs all ways in turn, and the best
time of each counts: that of the processor, system calls included, which other processes lengthen less than the clock's.
The last column is the rate of the matrix products over that of one large product, the best in the same process.

Scoring: every image against every text. Pairs/CPU s counts all pairs that a ranking covers, the shortlist's too, though
it scores only the candidates of highest cosine; its agreement is the share of the exact best 10 that are among them,
which for random features is no more than chance allows.

Training: forward, losses and backward, features with gradient. naive: the plain layers, the graph of all pairs at once.
hadamard: the same, the first layer keeping features in place of products. checkpointed: blocks of rows by
torch.utils.checkpoint, each computed twice. blocks: `vacsr_step`. Every step is a process of its own; its peak is what
that grew by since before the step. All draw the same numbers, and their losses must agree.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from common import best_seconds
from litotes.models import variational
from litotes.models.pair_noise import PairNoise
from litotes.models.pair_step import MEMORY, rows_within, vacsr_step
from litotes.models.scorer import VariationalScorer
from litotes.models.variational import AdapterConfig, VariationalAdapter
from litotes.objectives.vacsr import VacsrConfig, vacsr

K, LARGE = 10, 2048
NOISE = PairNoise(1)


@dataclass(frozen=True)
class Sizes:
    """What is measured: d, a gallery, candidates of a shortlist, batches of a step, repeats of both."""

    width: int = 1024
    images: int = 64
    texts: int = 256
    candidates: int = 32
    batches: tuple[int, ...] = (64, 128, 256)
    scoring_repeats: int = 3
    training_repeats: int = 2
    large: int = LARGE


SMOKE = Sizes(16, 12, 40, 32, (64,), 1, 1, 64)


def main(arguments: list[str] | None = None) -> None:
    """Print both tables."""
    options = parsed(arguments)
    sizes, memory = (SMOKE, 1) if options.smoke else (Sizes(training_repeats=options.repeats), options.memory)
    if options.child:
        for path in options.paths:
            print(json.dumps(measured_step(path, options.batches[0], memory, sizes)), flush=True)
        return
    console = Console(width=110)
    if options.only != "training":
        console.print(scoring_table(sizes))
    if options.only != "scoring":
        batches = tuple(options.batches) if options.batches else sizes.batches
        console.print(training_table(sizes, batches, options.paths, memory, smoke=options.smoke))


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--only", choices=("scoring", "training"), help="one table alone")
    parser.add_argument("--batches", type=int, nargs="+", help="batches of the training step (64 128 256)")
    parser.add_argument("--paths", nargs="+", choices=list(STEPS), default=list(STEPS), help="ways to take a step")
    parser.add_argument("--memory", type=int, default=MEMORY, help=f"MiB of a block's graph ({MEMORY})")
    parser.add_argument("--repeats", type=int, default=Sizes.training_repeats, help="steps of each way")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def scoring_table(sizes: Sizes) -> Table:
    """Pairs a second of the literal path, the folded one and a shortlist."""
    torch.manual_seed(0)
    width, images, texts = sizes.width, sizes.images, sizes.texts
    config = AdapterConfig(features=width)
    adapter = VariationalAdapter(config).eval()
    image, text = torch.randn(images, width), torch.randn(texts, width)
    literal, merged = (VariationalScorer(adapter, path=path) for path in ("literal", "merged"))
    apart = float((literal.scores(image, text) - merged.scores(image, text)).abs().max())
    held = merged.shortlist(image, text, K, sizes.candidates, sample=images).recall
    seconds = best_seconds(
        {
            "literal": lambda: literal.scores(image, text),
            "merged": lambda: merged.scores(image, text),
            "shortlist": lambda: merged.shortlist(image, text, K, sizes.candidates, sample=1),
            "product": large_product(sizes),
        },
        sizes.scoring_repeats,
        time.process_time,
    )
    top = 2 * sizes.large * width**2 / seconds.pop("product")
    pairs, small = images * texts, config.decoder_hidden
    products = {"literal": (1 + config.components) * width**2 + width * small + small}
    products["merged"] = width**2 + width * small + small
    agreement = {
        "literal": "",
        "merged": f"difference {apart:.0e}",
        "shortlist": f"{100 * held:.0f} % of the best {K} in {sizes.candidates} of {texts}",
    }
    table = Table(title=f"Scoring, {images} x {texts} pairs, d = {width}, {torch.get_num_threads()} threads")
    for head in ("path", "pairs/CPU s", "ratio", "agreement", "of a matrix product's rate"):
        table.add_column(head, justify="left" if head in ("path", "agreement") else "right")
    for path, taken in seconds.items():
        rate = f"{100 * 2 * pairs * products[path] / taken / top:.0f} %" if path in products else ""
        table.add_row(path, f"{pairs / taken:,.0f}", f"{seconds['literal'] / taken:.1f}", agreement[path], rate)
    return table


def training_table(sizes: Sizes, batches: tuple[int, ...], paths: list[str], memory: int, *, smoke: bool) -> Table:
    """Time and peak memory of a step, by batch and path."""
    table = Table(title=f"Training step, d = {sizes.width}, {torch.get_num_threads()} threads, blocks of {memory} MiB")
    heads = ("batch", "path", "CPU s", "to naive", "peak MiB", "below naive", "of a matrix product's rate")
    for head in heads:
        table.add_column(head, justify="left" if head == "path" else "right")
    for batch in batches:
        runs: dict[str, list[dict[str, float]]] = {path: [] for path in paths}
        for _ in range(sizes.training_repeats):
            for group in [paths] if smoke else [[path] for path in paths]:
                for path, run in zip(group, in_a_child(group, batch, memory, smoke=smoke), strict=True):
                    runs[path].append(run)
        losses = [run["loss"] for found in runs.values() for run in found]
        if max(losses) - min(losses) > 1e-4:
            sys.exit(f"the losses differ: {losses}")
        best = {path: {name: min(run[name] for run in found) for name in found[0]} for path, found in runs.items()}
        naive = best.get("naive")
        for path, run in best.items():
            work = 2 * batch**2 * products_of_a_step(AdapterConfig(features=sizes.width))
            top = 2 * sizes.large * sizes.width**2 / min(found["product"] for found in runs[path])
            to_naive = f"{run['seconds'] / naive['seconds']:.2f}" if naive else ""
            below = f"{naive['peak'] / max(run['peak'], 1):.1f}" if naive else ""
            rate = f"{100 * work / run['seconds'] / top:.0f} %"
            table.add_row(str(batch), path, f"{run['seconds']:.2f}", to_naive, f"{run['peak']:,.0f}", below, rate)
    return table


def products_of_a_step(config: AdapterConfig) -> int:
    """Multiplications of a pair in the matrix products of a step: each layer forwards, and twice backwards."""
    d, hidden, latent = config.features, config.hidden_size, config.latent_size
    heads = 2 * config.components * hidden * latent
    return 3 * (d * hidden + heads + latent * config.decoder_hidden + config.decoder_hidden)


def in_a_child(paths: list[str], batch: int, memory: int, *, smoke: bool) -> list[dict[str, float]]:
    """The measurements of some paths, taken by a new process."""
    asked = ["--child", "--paths", *paths, "--batches", str(batch), "--memory", str(memory)]
    command = [sys.executable, __file__, *asked, *(["--smoke"] if smoke else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    if done.returncode:
        sys.exit(f"the step with {batch} by {', '.join(paths)} failed ({done.returncode}):\n{done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def measured_step(path: str, batch: int, memory: int, sizes: Sizes) -> dict[str, float]:
    """Seconds, growth in MiB and loss of one step in this process, and seconds of a large product beside it."""
    torch.manual_seed(0)
    adapter = VariationalAdapter(AdapterConfig(features=sizes.width))
    features = [torch.randn(batch, sizes.width).requires_grad_() for _ in range(2)]
    positives = torch.eye(batch, dtype=torch.bool)
    take = STEPS[path]
    take(adapter, features[0][:2], features[1][:2], positives[:2, :2], memory).backward()
    for tensor in (*features, *adapter.parameters()):
        tensor.grad = None
    product = large_product(sizes)
    before = best_seconds({"product": product}, 3, time.process_time)["product"]
    grown = memory_of_this_process("VmRSS")
    start = time.process_time()
    loss = take(adapter, *features, positives, memory)
    loss.backward()
    seconds = time.process_time() - start
    peak = memory_of_this_process("VmHWM") - grown
    after = best_seconds({"product": product}, 3, time.process_time)["product"]
    return {"seconds": seconds, "peak": peak, "loss": float(loss.detach()), "product": min(before, after)}


def large_product(sizes: Sizes) -> Callable[[], Tensor]:
    """A matrix product of the sizes that the layers have."""
    matrix, weight = torch.randn(sizes.large, sizes.width), torch.randn(sizes.width, sizes.width)
    return lambda: matrix @ weight


def memory_of_this_process(name: str) -> float:
    """MiB resident now (VmRSS) or at most so far (VmHWM), as Linux counts them."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise OSError(f"no {name} in /proc/self/status: this benchmark needs Linux")


def naive(adapter: VariationalAdapter, image: Tensor, text: Tensor, positives: Tensor, memory: int) -> Tensor:
    """All pairs at once, through plain layers."""
    own, variational.hadamard_linear = variational.hadamard_linear, plain_layer
    try:
        return vacsr(adapter(image, text, NOISE), positives).loss
    finally:
        variational.hadamard_linear = own


def plain_layer(image: Tensor, text: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The first layer as torch has it: the products are kept."""
    return torch.nn.functional.linear(image.unsqueeze(1) * text.unsqueeze(0), weight, bias)


def hadamard(adapter: VariationalAdapter, image: Tensor, text: Tensor, positives: Tensor, memory: int) -> Tensor:
    """All pairs at once, without the products."""
    return vacsr(adapter(image, text, NOISE), positives).loss


def checkpointed(adapter: VariationalAdapter, image: Tensor, text: Tensor, positives: Tensor, memory: int) -> Tensor:
    """Blocks of rows whose graphs are made again in the backward pass."""
    rows = rows_within(adapter, len(text), memory)
    right = max(1, int(positives.sum()))

    def block(images: Tensor, texts: Tensor, first: int) -> Tensor:
        at = slice(first, first + rows)
        terms = vacsr(adapter(images, texts, NOISE.from_row(first)), positives[at])
        share, positive = len(images) / len(image), int(positives[at].sum()) / right
        return share * (terms.recon + VacsrConfig.kl_weight * terms.kl + terms.sigma_negative) + (
            positive * terms.sigma_positive
        )

    blocks = [
        checkpoint(block, image[first : first + rows], text, first, use_reentrant=False)
        for first in range(0, len(image), rows)
    ]
    return torch.stack(blocks).sum()


def blocks(adapter: VariationalAdapter, image: Tensor, text: Tensor, positives: Tensor, memory: int) -> Tensor:
    """As the training does."""
    return vacsr_step(adapter, image, text, positives, noise=NOISE, memory=memory).loss


STEPS: dict[str, Callable[[VariationalAdapter, Tensor, Tensor, Tensor, int], Tensor]] = {
    "naive": naive,
    "hadamard": hadamard,
    "checkpointed": checkpointed,
    "blocks": blocks,
}

if __name__ == "__main__":
    main()
