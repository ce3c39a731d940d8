"""VACSR and other losses on partly wrong pairs of the picture-book world: the rows of docs/reproduction.md.

    python benchmarks/vacsr_world.py --rows vacsr infonce --noise 0.2 --seeds 0 1 2 --output runs/vacsr-world

The rows of `litotes demo vacsr` and its ablations, seed by seed; ``vacsr_backbone.py`` trains the backbone too.
Each finished row is one JSON file, and is not done again; ``--table`` prints mean and spread of what is there.
``--validation`` measures on the part of the world that settings are chosen on.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from litotes.demo.recipes import base_matcher
from litotes.demo.vacsr.methods import ADAPTER, LABELS, LOOP, RIVALS, Rival
from litotes.demo.vacsr.rows import Row, cosine_row, world_features
from litotes.demo.vacsr.run import TEST_SEED, TRAINING_SEED, VALIDATION_SEED, run_rows
from litotes.demo.vacsr.tables import Table, tables
from litotes.demo.vacsr.truth import part
from litotes.evaluate.results import write_json

VACSR = RIVALS["vacsr"]
SMALL = replace(ADAPTER, latent=16)
"""Of the ablations: half of the demo's latent numbers."""


def _small(rival: Rival, label: str, adapter: dict[str, Any] | None = None, **loss: Any) -> Rival:
    """With half of the demo's latent numbers, and another size or reading."""
    method = replace(rival.method, adapter=replace(SMALL, **(adapter or {})), vacsr=replace(rival.method.vacsr, **loss))
    return replace(rival, label=label, method=method)


ABLATIONS = {
    "mean": _small(VACSR, "VACSR, L_recon a mean over all pairs (A10)", recon_reduction="mean"),
    "no_negatives": _small(VACSR, "VACSR without hard negatives", sigma_negative_weight=0.0),
    "no_kl": _small(VACSR, "VACSR without L_KL", kl_weight=0.0),
    "k1": _small(VACSR, "VACSR, K = 1", {"components": 1}),
    "k3": _small(VACSR, "VACSR, K = 3", {"components": 3}),
    "k5": _small(VACSR, "VACSR, K = 5", {"components": 5}),
    "nh3": _small(VACSR, "VACSR, N_h = 3", hard_negatives=3),
    "nh5": _small(VACSR, "VACSR, N_h = 5", hard_negatives=5),
    "latent16": _small(VACSR, "VACSR, 16 latent numbers", {"latent": 16}),
    "latent64": _small(VACSR, "VACSR, 64 latent numbers", {"latent": 64}),
    "latent128": _small(VACSR, "VACSR, 128 latent numbers", {"latent": 128}),
    "sigma4": _small(VACSR, "VACSR, L_sigma x 4", sigma_positive_weight=4.0, sigma_negative_weight=4.0),
    "sigma16": _small(VACSR, "VACSR, L_sigma x 16", sigma_positive_weight=16.0, sigma_negative_weight=16.0),
    "sigma64": _small(VACSR, "VACSR, L_sigma x 64", sigma_positive_weight=64.0, sigma_negative_weight=64.0),
}
ALL = {**RIVALS, **ABLATIONS}
NAMES = {**LABELS, **{name: rival.label for name, rival in ALL.items()}}


def rows_of(names: list[str], noises: list[float], seeds: list[int], steps: int) -> Iterator[Row]:
    """The rows, seed by seed."""
    for seed in seeds:
        for noise in noises:
            for name in names:
                rival = ALL[name]
                yield Row(name, noise, seed, rival.seeded(seed), rival.loop(steps, seed))


def read(folder: Path) -> list[dict[str, Any]]:
    """All finished rows."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]


def markdown(table: Table) -> str:
    """A table as Markdown."""
    head = f"| | {' | '.join(table.columns)} |\n|{'---|' * (len(table.columns) + 1)}"
    rows = (f"| {label} | {' | '.join(cells)} |" for label, cells in table.rows)
    return "\n".join([f"**{table.title}**", "", head, *rows])


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=list(RIVALS), choices=list(ALL))
    parser.add_argument("--noise", nargs="*", type=float, default=[0.0, 0.2, 0.5])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=LOOP.steps)
    parser.add_argument("--pictures", type=int, default=6000)
    parser.add_argument("--held", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("runs/vacsr-world"))
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args(arguments)
    if not asked.table:
        asked.output.mkdir(parents=True, exist_ok=True)
        _run(asked)
    for table in tables(read(asked.output), NAMES):
        print(f"\n{markdown(table)}")


def _run(asked: argparse.Namespace) -> None:
    screen = Console(stderr=True)
    training = part("train", asked.pictures, TRAINING_SEED)
    seed = VALIDATION_SEED if asked.validation else TEST_SEED
    held = part("validation" if asked.validation else "test", asked.held, seed)

    def tell(figures: dict[str, Any], done: int, total: int) -> None:
        screen.print(f"{done}/{total} {figures['row']}, noise {figures['noise']}, seed {figures['seed']}")

    world = world_features(base_matcher(), training, held, asked.output / "features")
    write_json(asked.output / "cosine.json", cosine_row(world))
    rows = list(rows_of(asked.rows, asked.noise, asked.seeds, asked.steps))
    run_rows(rows, world, asked.output, asked.workers, tell)


if __name__ == "__main__":
    main()
