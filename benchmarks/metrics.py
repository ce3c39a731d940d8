"""Retrieval metrics at COCO's size: recall both ways, and all judges at once, against other implementations.

    python benchmarks/metrics.py

5,000 images and 25,000 captions of random features, d = 512, each caption near its image. Every row is measured in a
process of its own, on one thread: seconds of the processor (the best of two), and the highest memory of the process
while it measures, Python, torch and what is measured among it (Linux). What is made before and not measured: features,
lists, and the judgements, read by both sides.

- recall: from features, by a plain argsort, by clip_benchmark's own functions where that package is installed, by
  Litotes. The row "products alone" is what any of them needs at least: the features times each other, once.
- judges, from features (COCO 5K, 1K, RSUM, CxC, ECCV Caption): by the package eccv_caption from lists, which a user
  makes by a whole argsort, or by a topk of 500; by Litotes without any list. Only where eccv_caption is installed.
- judges, from lists: of 500, made before. The package takes dictionaries of lists of Python's numbers, Litotes also
  rows of integer arrays, as a topk or an index gives them ("arrays").

Two rows of one group must have the same values; the last column is the largest difference from the first.
"""

import argparse
import contextlib
import gc
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from litotes.data.judgements import CocoJudgements, read_coco_judgements
from litotes.evaluate.judged import judge_features, judge_lists
from litotes.metrics.cosine import products, units
from litotes.metrics.ranking import cosine_ranks, recalls

IMAGES, CAPTIONS, WIDTH, NOISE, LISTED = 5000, 5, 512, 8.0, 500
SMOKE = {"images": 60, "width": 16}
KS = (1, 5, 10)
BLOCK = 500

Values = dict[str, float]


def features(smoke: bool) -> tuple[Tensor, Tensor]:
    """Images [n, d] and their captions [5 n, d], in the order of the images."""
    generator = torch.Generator().manual_seed(0)
    n, width = (SMOKE["images"], SMOKE["width"]) if smoke else (IMAGES, WIDTH)
    images = torch.randn(n, width, generator=generator)
    noise = torch.randn(n * CAPTIONS, width, generator=generator)
    return images, images.repeat_interleave(CAPTIONS, 0).add_(noise, alpha=NOISE)


def score_blocks(queries: Tensor, gallery: Tensor) -> Iterator[tuple[int, Tensor]]:
    """Cosines of some queries over the whole gallery, with the number of the first."""
    queries, gallery = (torch.nn.functional.normalize(rows, dim=-1) for rows in (queries, gallery))
    for start in range(0, len(queries), BLOCK):
        yield start, queries[start : start + BLOCK] @ gallery.T


def recall_by_argsort(images: Tensor, texts: Tensor) -> Values:
    """Sort every row whole and look for the first own item."""
    found: Values = {}
    owner = torch.arange(len(texts)) // CAPTIONS
    for way, queries, gallery in (("i2t", images, texts), ("t2i", texts, images)):
        best = []
        for start, scores in score_blocks(queries, gallery):
            order = scores.argsort(dim=1, descending=True)
            query = torch.arange(start, start + len(scores))
            own = owner[order] == query[:, None] if way == "i2t" else order == owner[query][:, None]
            best.append(own.int().argmax(dim=1))
        found |= {f"{way} {k}": float((torch.cat(best) < k).double().mean()) for k in KS}
    return found


def recall_by_clip_benchmark(images: Tensor, texts: Tensor) -> Values:
    """The package's own two functions, called as its ``evaluate`` calls them, 64 queries at once."""
    module = importlib.import_module("clip_benchmark.metrics.zeroshot_retrieval")
    unit = torch.nn.functional.normalize
    scores = unit(texts, dim=-1) @ unit(images, dim=-1).T
    positive = torch.zeros_like(scores, dtype=torch.bool)
    positive[torch.arange(len(texts)), torch.arange(len(texts)) // CAPTIONS] = True
    found: Values = {}
    for way, s, p in (("i2t", scores.T, positive.T), ("t2i", scores, positive)):
        for k in KS:
            share = module.batchify(module.recall_at_k, s, p, 64, "cpu", k=k)
            found[f"{way} {k}"] = float((share > 0).double().mean())
    return found


def recall_by_litotes(images: Tensor, texts: Tensor) -> Values:
    """Ranks by counting."""
    found = recalls(cosine_ranks(images, texts, torch.arange(len(texts)) // CAPTIONS), KS)
    return {f"i2t {k}": found["i2t"][k] for k in KS} | {f"t2i {k}": found["t2i"][k] for k in KS}


def products_alone(images: Tensor, texts: Tensor) -> Values:
    """What recall cannot do without: all cosines, once, in blocks that are thrown away."""
    first, second = units(images), units(texts)
    for start in range(0, len(images), BLOCK):
        products(first.rows[start : start + BLOCK], second.rows)
    return {}


def lists(
    images: Tensor, texts: Tensor, coco: CocoJudgements, *, whole: bool = False, arrays: bool = False
) -> tuple[dict[int, Any], dict[int, Any]]:
    """The best 500 both ways by id, as lists of Python's numbers, which eccv_caption takes, or as rows of an array.

    whole: by an argsort of every row, not by a topk.
    """
    ids = np.array(coco.image_ids), np.array(coco.caption_ids)
    both = []
    for queries, gallery, own, other in ((images, texts, *ids), (texts, images, *ids[::-1])):
        ranked: dict[int, Any] = {}
        for start, scores in score_blocks(queries, gallery):
            best = scores.argsort(dim=1, descending=True)[:, :LISTED] if whole else scores.topk(LISTED, dim=1).indices
            items = other[best.numpy()]
            ranked.update(zip(own[start : start + BLOCK].tolist(), items if arrays else items.tolist(), strict=True))
        both.append(ranked)
    return both[0], both[1]


def judged_by_package(metrics: Any, i2t: dict[int, Any], t2i: dict[int, Any]) -> Values:
    """eccv_caption's metrics."""
    asked = ("eccv_r1", "eccv_map_at_r", "eccv_rprecision", "coco_1k_recalls", "coco_5k_recalls", "cxc_recalls")
    found = metrics.compute_all_metrics(i2t, t2i, target_metrics=asked, Ks=KS)
    return {f"{name} {way}": float(share) for name, by_way in found.items() for way, share in by_way.items()}


def named_as_package(found: Any) -> Values:
    """Our values under the package's names."""
    values = {
        f"{name}_r{k} {way}": share
        for name in ("coco_1k", "coco_5k", "cxc")
        for way, by_k in found[name].items()
        for k, share in by_k.items()
    }
    names = {"map_at_r": "eccv_map_at_r", "r_precision": "eccv_rprecision", "r1": "eccv_r1"}
    return values | {f"{names[key]} {way}": s for way, by in found["eccv"].items() for key, s in by.items()}


def actions(name: str, smoke: bool) -> Callable[[], Values]:
    """What a child measures; all that is not to be measured has happened when this returns."""
    images, texts = features(smoke)
    recall = {
        "argsort": recall_by_argsort, "clip_benchmark": recall_by_clip_benchmark, "products alone": products_alone,
        "litotes": recall_by_litotes,
    }  # fmt: skip
    group, path = name.split(": ")
    if group == "recall":
        return lambda: recall[path](images, texts)
    coco = read_coco_judgements(package_folder("eccv_caption") / "data")
    package = importlib.import_module("eccv_caption").Metrics() if path.startswith("eccv_caption") else None
    if group == "judges, from lists":
        ranked = lists(images, texts, coco, arrays=path == "litotes, arrays")
        if package is None:
            return lambda: named_as_package(judge_lists(*ranked, coco, KS))
        return lambda: judged_by_package(package, *ranked)
    if package is None:
        return lambda: named_as_package(judge_features(images, texts, coco.image_ids, coco.caption_ids, coco, KS))
    whole = path == "eccv_caption, argsort"
    return lambda: judged_by_package(package, *lists(images, texts, coco, whole=whole))


def package_folder(name: str) -> Path:
    """The folder of an installed package, or a path that is not there."""
    found = importlib.util.find_spec(name)
    return Path(found.origin).parent if found and found.origin else Path("not installed")


def child(name: str, smoke: bool) -> None:
    """Measure one row and print it as JSON."""
    torch.set_num_threads(1)
    action = actions(name, smoke)
    gc.collect()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the highest memory so far is that of now
    start = time.process_time()
    values = action()
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds, "peak_mb": peak_mb(), "values": values}))


def peak_mb() -> float:
    """The most memory that this process had since the measure began, in MB; NaN where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM")), float("nan"))


def measured(name: str, smoke: bool) -> dict[str, Any]:
    """A row by a child process of its own; the better of two."""
    command = [sys.executable, __file__, "--child", name, *(["--smoke"] if smoke else [])]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    runs = []
    for _ in range(1 if smoke else 2):
        done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **threads})
        if done.returncode:
            sys.exit(f"{name}:\n{done.stderr}")
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return min(runs, key=lambda run: run["seconds"])


def main(arguments: list[str] | None = None) -> None:
    """Print the table, or measure one row for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--group", help="measure this group of rows alone, such as recall")
    parser.add_argument("--child", help="measure this row alone, as the parent process does")
    chosen = parser.parse_args(arguments)
    if chosen.child:
        child(chosen.child, chosen.smoke)
        return
    groups = {"recall": ["argsort", "products alone", "litotes"]}
    if package_folder("clip_benchmark").is_dir() and not chosen.smoke:
        groups["recall"].insert(1, "clip_benchmark")
    if package_folder("eccv_caption").is_dir() and not chosen.smoke:  # its judgements have one size
        groups["judges, from features"] = ["eccv_caption, argsort", "eccv_caption, topk", "litotes"]
        groups["judges, from lists"] = ["eccv_caption", "litotes, same lists", "litotes, arrays"]
    if chosen.group:
        groups = {group: paths for group, paths in groups.items() if group == chosen.group}
    size = SMOKE["images"] if chosen.smoke else IMAGES
    table = Table(title=f"{size:,} images, {size * CAPTIONS:,} captions, one thread")
    for head in ("measure", "by", "CPU s", "ratio", "peak MB", "difference"):
        table.add_column(head, justify="left" if head in ("measure", "by") else "right")
    for group, paths in groups.items():
        rows = {path: measured(f"{group}: {path}", chosen.smoke) for path in paths}
        first, ours = rows[paths[0]], rows[paths[-1]]
        for path, row in rows.items():
            both = row["values"] and first["values"].items()
            apart = f"{max(abs(value - row['values'][key]) for key, value in both):.0e}" if both else ""
            ratio = ours["seconds"] and row["seconds"] / ours["seconds"]
            table.add_row(group, path, f"{row['seconds']:.2f}", f"{ratio:.1f}", f"{row['peak_mb']:.0f}", apart)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
