"""VACSR and other losses on partly wrong pairs of the picture-book world: the rows of docs/reproduction.md.

    python benchmarks/vacsr_world.py --rows vacsr infonce --noise 0.2 --seeds 0 1 2 --output runs/vacsr-world

The rows of `litotes demo vacsr`, its ablations, and rows whose backbone is trained too ("backbone ..."), seed by seed.
Each finished row is one JSON file, and is not done again; ``--table`` prints mean and spread of what is there.
``--validation`` measures on the part of the world that settings are chosen on.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from rich.console import Console

from litotes.data.augment import UNCHANGED
from litotes.data.noise import Noise, noise_record, shuffled, wrong_pairs
from litotes.demo.recipes import base_matcher
from litotes.demo.vacsr.measures import finds_wrong_pairs
from litotes.demo.vacsr.methods import ADAPTER, LABELS, LOOP, RIVALS, Rival
from litotes.demo.vacsr.rows import Held, Row, cosine_row, held_figures, world_features
from litotes.demo.vacsr.run import TEST_SEED, TRAINING_SEED, VALIDATION_SEED, run_rows
from litotes.demo.vacsr.tables import Table, tables
from litotes.demo.vacsr.truth import Part, part
from litotes.evaluate.results import write_json
from litotes.models.matcher import Matcher
from litotes.models.pair_adapter import PairModel
from litotes.models.pair_backbone import PairBackbone
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import parameter_count
from litotes.train.backbone_pairs import RECIPE, BackbonePairs
from litotes.train.loop import train
from litotes.train.pair_objectives import PairMethod, new_objective
from litotes.train.pairs import pair_features

VACSR = RIVALS["vacsr"]
SMALL = replace(ADAPTER, latent=16)
"""Of the ablations and of trained backbones: half of the demo's latent numbers."""


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
BACKBONE = {
    "backbone vacsr": _small(VACSR, "VACSR, backbone trained"),
    "backbone deterministic": _small(RIVALS["deterministic"], "no distribution, backbone trained"),
    "backbone sigmoid": Rival("sigmoid on the cosine, backbone trained", PairMethod("sigmoid", "cosine")),
    "backbone infonce": Rival("InfoNCE on the cosine, backbone trained", PairMethod("infonce", "cosine")),
}
FROZEN = {**RIVALS, **ABLATIONS}
ALL = {**FROZEN, **BACKBONE}
NAMES = {**LABELS, **{name: rival.label for name, rival in ALL.items()}}


def frozen_rows(names: list[str], noises: list[float], seeds: list[int], steps: int) -> Iterator[Row]:
    """The rows on frozen features, seed by seed."""
    for seed in seeds:
        for noise in noises:
            for name in names:
                rival = FROZEN[name]
                yield Row(name, noise, seed, rival.seeded(seed), rival.loop(steps, seed))


def backbone_row(
    name: str, noise: float, seed: int, steps: int, training: Part, held: Part, matcher: Matcher
) -> dict[str, Any]:
    """Train the matcher's backbone with the loss, by the recipe's rates, and measure as a frozen row is.

    The heads are new, so that what the model's own projections know is lost, as in the recipe. Without augmentation: a
    crop would cut away what the caption names. The matcher is not what it was afterwards.
    """
    matcher.pooled = PairBackbone(matcher.encoder, ADAPTER.features, seed=seed)
    method = BACKBONE[name].seeded(seed)
    objective = new_objective(method)
    clean = training.data.owners
    owners = shuffled(clean, Noise(noise, seed=seed))
    task = BackbonePairs(matcher, training.data, objective, method, owners=owners, augmentation=UNCHANGED)
    epoch = -(-len(clean) // LOOP.batch_size)
    drop = max(3, round(0.6 * steps / epoch))  # the recipe's epoch 15 of 25
    loop = replace(
        RECIPE, batch_size=LOOP.batch_size, epochs=1, steps=steps, drop_epochs=(drop,), seed=seed, save_every=0
    )
    begun = time.perf_counter()
    with TemporaryDirectory() as folder:
        train(task, loop, Path(folder) / "run", quiet=True)
    seconds = time.perf_counter() - begun
    return {
        "row": name, "noise": noise, "seed": seed, "steps": steps, "lr": loop.lr, "seconds": round(seconds, 1),
        "parameters": parameter_count(objective.module), **noise_record(clean, owners),
        **_measured(matcher, objective.module, training, held, owners),
    }  # fmt: skip


def _measured(
    matcher: Any,
    model: PairModel,
    training: Part,
    held: Part,
    owners: np.ndarray,
) -> dict[str, Any]:
    seen, other = pair_features(matcher, training.data, owners), pair_features(matcher, held.data)
    scorer = PairScorer(model)
    wrong = wrong_pairs(training.data.owners, owners)
    own = Held(other.images[other.picture_of_row], other.texts[other.text_of_row], held.truth.relevance())
    images, texts = seen.images[seen.picture_of_row], seen.texts[seen.text_of_row]
    found = finds_wrong_pairs(images, texts, wrong, training.truth.holds(owners), scorer.doubts)
    return {**held_figures(scorer, own), "wrong_pairs": found if wrong.any() else None}


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
    frozen = [name for name in asked.rows if name in FROZEN]

    def tell(figures: dict[str, Any], done: int, total: int) -> None:
        screen.print(f"{done}/{total} {figures['row']}, noise {figures['noise']}, seed {figures['seed']}")

    if frozen:
        world = world_features(base_matcher(), training, held, asked.output / "features")
        write_json(asked.output / "cosine.json", cosine_row(world))
        rows = list(frozen_rows(frozen, asked.noise, asked.seeds, asked.steps))
        run_rows(rows, world, asked.output, asked.workers, tell)
    torch.set_num_threads(max(1, asked.workers))
    for one in asked.seeds:
        for noise in asked.noise:
            for name in (name for name in asked.rows if name in BACKBONE):
                path = asked.output / f"{name.replace(' ', '-')}-noise{round(100 * noise):02d}-seed{one}.json"
                if not path.exists():
                    figures = backbone_row(name, noise, one, asked.steps, training, held, base_matcher())
                    write_json(path, figures)
                    tell(figures, 1, 1)


if __name__ == "__main__":
    main()
