"""End to end on real pictures: pretrain a small CLIP, measure it, adapt it with HANCLIP, measure again, report.

    python benchmarks/stamps.py --data STAMPS --out FOLDER

STAMPS holds quadruplets_train.csv, captions.csv and, in NegBench's formats, mcq_test.csv, retrieval_test.csv and
negated_retrieval_test.csv, with their pictures. The same command goes on where a stopped run was; what is finished
is not done again.

A tenth of the training scenes is held out of everything. The learning rate is chosen on it alone, by a rule that is
written here (``choose``); the test files are asked once of the base and once of the chosen adapter. The single
pictures of captions.csv, which classification asks about, are part of the pretraining.
"""

import argparse
import csv
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litotes.cli import main as litotes
from litotes.cli.training import split
from litotes.data.quadruplets import from_table
from litotes.data.tables import CAPTION, IMAGE, column, read_table

QUADRUPLETS = "quadruplets_train.csv"
SINGLES = "captions.csv"
HELD_OUT, SEED = 0.1, 0
KEPT = 0.9
"""A rate keeps what the model knew where held-out retrieval and classification stay at this share of the base's."""


@dataclass(frozen=True)
class Size:
    """How long the run is.

    pretraining: further options of ``litotes pretrain``. steps, batch: of HANCLIP, four passes over 1,800 scenes.
    rates: learning rates to choose from. ks: ranks at which recall is counted.
    """

    pretraining: tuple[str, ...] = ("--warmup-steps", "300", "--steps", "500", "--batch-size", "64")
    steps: int = 112
    batch: int = 64
    rates: tuple[float, ...] = (1e-4, 3e-4, 1e-3)
    ks: str = "1,5,10"


SMOKE = Size(("--warmup-steps", "2", "--steps", "2", "--batch-size", "4", "--image-size", "32"), 2, 4, (1e-3,), "1,2")


def main(arguments: list[str] | None = None) -> None:
    """All stages in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--smoke", action="store_true", help="a few steps: does it run?")
    chosen = parser.parse_args(arguments)
    size = SMOKE if chosen.smoke else Size()
    out = chosen.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    model = pretrained(chosen.data, out, size)
    asked = [*questions(chosen.data), "--ks", size.ks]
    evaluated(["--model", str(model), *asked], out / "base.json")
    figures = {rate: held_out(trained(model, chosen.data, out, rate, size)) for rate in size.rates}
    rate = choose(figures)
    adapter = run_folder(out, rate) / "adapter"
    evaluated(["--model", str(model), "--adapter", str(adapter), *asked], out / "adapted.json")
    page = out / "report.html"
    run("report", "--results", str(out / "adapted.json"), "--output", str(page), "--title", "HANCLIP on stamps")
    print(told(figures, rate), f"report: {page}", sep="\n")


def pretrained(data: Path, out: Path, size: Size) -> Path:
    """The folder of a model trained on single pictures and on all scenes but the held-out ones."""
    model = out / "pretraining" / "model"
    if model.is_dir():
        return model
    table = pretraining_table(data, out / "pretraining.csv")
    resume = ["--resume"] if (out / "pretraining").is_dir() else []
    where = ["--train-data", str(table), "--images-root", str(data), "--output", str(out / "pretraining")]
    run("pretrain", *where, *size.pretraining, "--seed", str(SEED), *resume)
    return model


def pretraining_table(data: Path, target: Path) -> Path:
    """Single pictures, and the scenes that ``litotes train`` will not hold out, with their captions."""
    singles = read_table(data / SINGLES)
    scenes, _ = split(from_table(data / QUADRUPLETS, seed=SEED), HELD_OUT, SEED)
    rows = [*zip(column(singles, *IMAGE), column(singles, *CAPTION), strict=True)]
    rows += [(scenes.pictures.name(i), scenes.captions[i]) for i in range(len(scenes))]
    partial = target.with_suffix(".partial")
    with partial.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([("filepath", "caption"), *rows])
    partial.replace(target)
    return target


def questions(data: Path) -> list[str]:
    """Options of ``litotes evaluate`` for all that the test files allow."""
    files = {
        "--choice": "mcq_test.csv", "--retrieval": "retrieval_test.csv",
        "--negated-retrieval": "negated_retrieval_test.csv", "--classification": SINGLES,
    }  # fmt: skip
    return [word for option, name in files.items() for word in (option, str(data / name))]


def evaluated(options: Sequence[str], result: Path) -> None:
    """Measure and write ``result``, unless it is there."""
    if not result.is_file():
        run("evaluate", *options, "--output", str(result))


def run_folder(out: Path, rate: float) -> Path:
    """The folder of the adaptation at a learning rate."""
    return out / f"hanclip-lr-{rate:g}"


def trained(model: Path, data: Path, out: Path, rate: float, size: Size) -> Path:
    """The report of HANCLIP at a learning rate, measured on the held-out scenes before and after."""
    folder = run_folder(out, rate)
    if not (folder / "report.json").is_file():
        resume = ["--resume"] if folder.is_dir() else []
        run(
            "train", "--model", str(model), "--train-data", str(data / QUADRUPLETS), "--output", str(folder),
            "--val-fraction", str(HELD_OUT), "--seed", str(SEED), "--temperature", "model", "--lora-rank", "8",
            "--lora-alpha", "5.6", "--lora-dropout", "0", "--lr", str(rate), "--steps", str(size.steps),
            "--batch-size", str(size.batch), *resume,
        )  # fmt: skip
    return folder / "report.json"


def held_out(report: Path) -> dict[str, dict[str, float]]:
    """By model, base and adapted, the figures of the held-out scenes that the choice rests on."""
    models: Mapping[str, Any] = json.loads(report.read_text(encoding="utf-8"))["models"]
    return {name: _figures(record["suites"]) for name, record in models.items()}


def _figures(suites: Mapping[str, Any]) -> dict[str, float]:
    figures: dict[str, float] = {
        "P' over N": suites["pairs"]["negated_positive_over_negative"],
        "multiple choice": suites["mcq"]["total"],
        "rSum": suites["retrieval"]["rsum"],
    }
    if "classification" in suites:  # a few scenes may have no things that tell them apart
        figures["classification"] = suites["classification"]["acc1"]
    return figures


def choose(figures: Mapping[float, Mapping[str, Mapping[str, float]]]) -> float:
    """The rate with most P' over N among those that keep retrieval and classification; the lowest where none does.

    All figures are of the held-out scenes; those of the test files are not looked at.
    """

    def keeps(rate: float) -> bool:
        base, adapted = figures[rate]["base"], figures[rate]["adapted"]
        return all(adapted[key] >= KEPT * base[key] for key in ("rSum", "classification") if key in base)

    kept = [rate for rate in figures if keeps(rate)]
    return max(kept, key=lambda rate: (figures[rate]["adapted"]["P' over N"], -rate), default=min(figures))


def told(figures: Mapping[float, Mapping[str, Mapping[str, float]]], rate: float) -> str:
    """The figures of the held-out scenes as a table in Markdown, and the rate chosen."""
    first = next(iter(figures.values()))["base"]
    rows = [("base", first), *((f"lr {rate:g}", models["adapted"]) for rate, models in figures.items())]
    lines = ["| held-out scenes | " + " | ".join(first) + " |", "|---" * (len(first) + 1) + "|"]
    for name, row in rows:
        values = (value if key == "rSum" else 100 * value for key, value in row.items())
        lines.append(f"| {name} | " + " | ".join(f"{value:.1f}" for value in values) + " |")
    return "\n".join([*lines, f"chosen: lr {rate:g}"])


def run(*words: str) -> None:
    """A command of Litotes; ends the run where it fails."""
    print("$ litotes", *words, flush=True)
    if litotes(list(words)):
        sys.exit(2)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
