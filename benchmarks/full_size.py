"""One training step and an evaluation at the size of ViT-B/32, with random weights: proof that sizes fit.

    python benchmarks/full_size.py --data STAMPS

STAMPS holds quadruplets_train.csv, mcq_test.csv and retrieval_test.csv with their pictures. The accuracies of random
weights mean nothing; what is shown is that every stage runs, and how long it takes.
"""

import argparse
import csv
import itertools
import tempfile
import time
from pathlib import Path

from litotes.backbones.preprocess import Preprocess
from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.cli import main as litotes
from litotes.models.clip import VIT_B_32, new_clip
from litotes.models.matcher import Matcher


def first_rows(source: Path, target: Path, count: int) -> Path:
    """The first rows of a table, as a table of its own."""
    with source.open(newline="", encoding="utf-8") as rows, target.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(itertools.islice(csv.reader(rows), count + 1))
    return target


def main() -> None:
    """Build the model, take one step, evaluate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pictures", type=int, default=60)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vision, text, dimension = VIT_B_32
        train_tokenizer(["a cat without a boat"], 514, folder / "tokenizer")
        tokenizer = TextTokenizer(folder / "tokenizer", 77)
        encoder = new_clip(vision, text, dimension, eos=tokenizer.eos, bos=tokenizer.bos)
        Matcher(encoder, tokenizer, Preprocess(224), "random ViT-B/32").save(folder / "model")
        print(f"{sum(p.numel() for p in encoder.parameters()):,} parameters")
        tables = {
            name: first_rows(chosen.data / f"{name}.csv", folder / f"{name}.csv", chosen.pictures)
            for name in ("quadruplets_train", "mcq_test", "retrieval_test")
        }
        begun = time.perf_counter()
        code = litotes([
            "train", "--model", str(folder / "model"), "--train-data", str(tables["quadruplets_train"]),
            "--images-root", str(chosen.data), "--output", str(folder / "run"), "--steps", "1", "--batch-size", "16",
        ])  # fmt: skip
        print(f"one step of 16, base and adapted measured: exit {code}, {time.perf_counter() - begun:.0f} s")
        begun = time.perf_counter()
        code = litotes([
            "evaluate", "--model", str(folder / "model"), "--adapter", str(folder / "run" / "adapter"),
            "--choice", str(tables["mcq_test"]), "--retrieval", str(tables["retrieval_test"]),
            "--images-root", str(chosen.data), "--output", str(folder / "result.json"), "--adapted-only",
        ])  # fmt: skip
        print(f"evaluation on {chosen.pictures} pictures: exit {code}, {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
