"""VACSR and other losses with the whole backbone trained, as in VACSR's recipe: rows of docs/reproduction.md.

    python benchmarks/vacsr_backbone.py --tune --noise 0.2 --seeds 0 --steps 470 --output runs/vacsr-tune
    python benchmarks/vacsr_backbone.py --output runs/vacsr-backbone

On the parts of the picture-book world that ``vacsr_world.py`` measures frozen features on. ``--tune`` tries every
method at every rate of ``GRID`` on the part that settings are chosen on; without it each method has its own of
``ROWS``. Each finished row is one JSON file, and is not done again; ``--table`` prints what is there. A row keeps one
core busy: start the command once a core, each with other ``--seeds`` or ``--rows``, into one ``--output``.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console

from litotes.data.augment import UNCHANGED
from litotes.data.noise import Noise, noise_record, shuffled, wrong_pairs
from litotes.demo.recipes import base_matcher
from litotes.demo.vacsr.measures import finds_wrong_pairs
from litotes.demo.vacsr.methods import ADAPTER, COSINE, LABELS, LOOP, RIVALS
from litotes.demo.vacsr.rows import Held, cosine_row, held_figures, world_features
from litotes.demo.vacsr.run import TEST_SEED, TRAINING_SEED, VALIDATION_SEED
from litotes.demo.vacsr.summary import both_ways
from litotes.demo.vacsr.tables import Table, tables
from litotes.demo.vacsr.truth import Part, part
from litotes.evaluate.results import write_json
from litotes.models.matcher import Matcher
from litotes.models.pair_adapter import PairModel
from litotes.models.pair_backbone import PairBackbone
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import parameter_count
from litotes.train.backbone_pairs import RECIPE, BackbonePairs
from litotes.train.loop import LoopConfig, train
from litotes.train.optim import BackboneRates
from litotes.train.pair_objectives import PairMethod, new_objective
from litotes.train.pairs import pair_features
from vacsr_world import markdown, read


class Rates(NamedTuple):
    """Two learning rates.

    new: of heads and adapter, which begin with nothing. text: of the text tower's top, at most ``new``, and ten times
    that of the picture tower, as in the recipe.
    """

    new: float
    text: float


RECIPE_RATES = Rates(5e-4, 5e-5)
GRID = (RECIPE_RATES, *(Rates(new, text) for new in (2e-3, 5e-3, 1e-2) for text in (5e-5, 5e-4)))
"""The paper's, and rates above it: this world is passed through some ten times, the paper's COCO 25 times, and a pass
of it has 94 steps, not 4,425."""


@dataclass(frozen=True)
class Rival:
    """A row: what the table calls it, its loss and model, and the best rates of ``GRID`` on the validation part."""

    label: str
    method: PairMethod
    rates: Rates


ROWS = {
    "vacsr": Rival("VACSR, backbone trained", RIVALS["vacsr"].method, Rates(1e-2, 5e-4)),
    "deterministic": Rival("no distribution, backbone trained", RIVALS["sigmoid"].method, Rates(5e-3, 5e-5)),
    "sigmoid": Rival("sigmoid on the cosine, backbone trained", PairMethod("sigmoid", "cosine"), Rates(5e-3, 5e-4)),
    "infonce": Rival("InfoNCE on the cosine, backbone trained", PairMethod("infonce", "cosine"), Rates(1e-2, 5e-4)),
}
"""No distribution: an adapter as large as VACSR's, with the loss whose gradient L_recon has and the same reduction."""
NAMES = {**{name: rival.label for name, rival in ROWS.items()}, COSINE: LABELS[COSINE]}


def backbone_row(
    name: str, noise: float, seed: int, steps: int, training: Part, held: Part, matcher: Matcher, rates: Rates
) -> dict[str, Any]:
    """Train the matcher's backbone with the loss of a row, and measure as a frozen row is.

    The heads are new, so that what the model's own projections know is lost, as in the recipe. Without augmentation: a
    crop would cut away what the caption names. The matcher is not what it was afterwards.
    """
    matcher.pooled = PairBackbone(matcher.encoder, ADAPTER.features, seed=seed)
    method = replace(ROWS[name].method, seed=seed)
    objective = new_objective(method)
    clean = training.data.owners
    owners = shuffled(clean, Noise(noise, seed=seed))
    share = rates.text / rates.new
    task = BackbonePairs(
        matcher, training.data, objective, method, owners=owners, augmentation=UNCHANGED,
        rates=BackboneRates(text=share, image=share / 10),
    )  # fmt: skip
    begun = time.perf_counter()
    with TemporaryDirectory() as folder:
        train(task, _loop(len(clean), steps, rates.new, seed), Path(folder) / "run", quiet=True)
    seconds = time.perf_counter() - begun
    return {
        "row": name, "noise": noise, "seed": seed, "steps": steps, **rates._asdict(), "seconds": round(seconds, 1),
        "parameters": parameter_count(objective.module), **noise_record(clean, owners),
        **_measured(matcher, objective.module, training, held, owners),
    }  # fmt: skip


def _loop(rows: int, steps: int, lr: float, seed: int) -> LoopConfig:
    """The recipe's run in ``steps`` steps of the demo's batches; its rate falls at the same part, epoch 15 of 25."""
    epoch = -(-rows // LOOP.batch_size)
    drop = max(3, round(0.6 * steps / epoch))
    return replace(
        RECIPE, batch_size=LOOP.batch_size, epochs=1, steps=steps, lr=lr, drop_epochs=(drop,), seed=seed, save_every=0
    )


def _measured(matcher: Matcher, model: PairModel, training: Part, held: Part, owners: np.ndarray) -> dict[str, Any]:
    seen, other = pair_features(matcher, training.data, owners), pair_features(matcher, held.data)
    scorer = PairScorer(model)
    wrong = wrong_pairs(training.data.owners, owners)
    own = Held(other.images[other.picture_of_row], other.texts[other.text_of_row], held.truth.relevance())
    images, texts = seen.images[seen.picture_of_row], seen.texts[seen.text_of_row]
    found = finds_wrong_pairs(images, texts, wrong, training.truth.holds(owners), scorer.doubts)
    return {**held_figures(scorer, own), "wrong_pairs": found if wrong.any() else None}


def title(name: str, noise: float, seed: int, rates: Rates) -> str:
    """Of a row, as the name of its file."""
    return f"backbone-{name}-noise{round(100 * noise):02d}-seed{seed}-new{rates.new:g}-text{rates.text:g}"


def tuning_table(rows: Sequence[dict[str, Any]]) -> Table:
    """mAP@R of each method at each rate of the grid, mean of both ways and of all that was trained, in percent."""

    def cell(name: str, rates: Rates) -> str:
        some = [row for row in rows if row["row"] == name and (row["new"], row["text"]) == rates]
        found = [both_ways([row], name, row["noise"]) for row in some]
        return f"{100 * statistics.fmean(one.mean for one in found if one):.1f}" if found else "–"

    return Table(
        "mAP@R of the validation part, by the rate of what is new / of the text tower", "",
        tuple(f"{rates.new:g} / {rates.text:g}" for rates in GRID),
        tuple((rival.label, tuple(cell(name, rates) for rates in GRID)) for name, rival in ROWS.items()),
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=list(ROWS), choices=list(ROWS))
    parser.add_argument("--noise", nargs="*", type=float, default=[0.0, 0.2, 0.5])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=940)
    parser.add_argument("--pictures", type=int, default=6000)
    parser.add_argument("--held", type=int, default=1000)
    parser.add_argument("--output", type=Path, default=Path("runs/vacsr-backbone"))
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--table", action="store_true", help="print what is there, and train nothing")
    asked = parser.parse_args(arguments)
    if not asked.table:
        torch.set_num_threads(1)
        _run(asked)
    done = read(asked.output)
    for table in [tuning_table(done)] if asked.tune else tables(done, NAMES):
        print(f"\n{markdown(table)}")


def _run(asked: argparse.Namespace) -> None:
    screen = Console(stderr=True)
    training = part("train", asked.pictures, TRAINING_SEED)
    held = part("validation", asked.held, VALIDATION_SEED) if asked.tune else part("test", asked.held, TEST_SEED)
    asked.output.mkdir(parents=True, exist_ok=True)
    if not asked.tune:
        write_json(asked.output / "cosine.json", cosine_row(world_features(base_matcher(), training, held)))
    for seed, noise, name in product(asked.seeds, asked.noise, asked.rows):
        for rates in GRID if asked.tune else [ROWS[name].rates]:
            path = asked.output / f"{title(name, noise, seed, rates)}.json"
            if not path.exists():
                matcher = base_matcher()
                write_json(path, backbone_row(name, noise, seed, asked.steps, training, held, matcher, rates))
            screen.print(path.stem)


if __name__ == "__main__":
    main()
