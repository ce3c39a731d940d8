"""The demo of pairs: train every method on every noise and seed, side by side, and tell what came out."""

import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

import litotes
from litotes.config import record, require_workers
from litotes.data.processes import in_processes
from litotes.demo.recipes import base_matcher
from litotes.demo.vacsr.methods import RIVALS
from litotes.demo.vacsr.report import write_pair_report
from litotes.demo.vacsr.rows import Row, World, cosine_row, train_row, world_features
from litotes.demo.vacsr.truth import part
from litotes.errors import UserError
from litotes.evaluate.results import write_json

TRAINING_SEED, VALIDATION_SEED, TEST_SEED = 11, 12, 13
"""Of the parts of the world; settings were chosen on the second, figures are of the third."""
ABLATED_AT = 0.2
"""The noise at which VACSR is trained without L_sigma too."""
ROWS, FEATURES = "rows", "features"


@dataclass(frozen=True)
class PairDemo:
    """What the demo does.

    noise: shares of wrong training pairs, 0 to 1, each once. seeds: how many, from 0 on. steps: of each training.
    pictures, held: to train and to measure on. workers: trainings at once; 0: in this process.
    """

    noise: tuple[float, ...] = (0.0, 0.2, 0.5)
    seeds: int = 3
    steps: int = 400
    pictures: int = 6000
    held: int = 1000
    workers: int = 2

    def __post_init__(self) -> None:
        if len(set(self.noise)) < len(self.noise) or not self.noise or not all(0 <= share < 1 for share in self.noise):
            raise UserError(
                got=f"--noise {', '.join(f'{share:g}' for share in self.noise)}",
                expected="different shares from 0 to below 1",
                do="give for instance --noise 0,0.2,0.5",
            )
        if self.seeds < 1 or self.steps < 1 or self.pictures < 2 or self.held < 2 or self.workers < 0:
            raise UserError(
                got=f"--seeds {self.seeds}, --steps {self.steps}, --pictures {self.pictures}, --held {self.held}, "
                f"--workers {self.workers}",
                expected="at least one seed and step, two pictures of both kinds, and 0 or more workers",
                do="ask for more; what is left out has the values that the documentation speaks of",
            )
        require_workers(self.workers)


def planned(demo: PairDemo) -> list[Row]:
    """All trainings, seed by seed, so that a stopped demo has whole seeds."""
    rows = []
    for seed in range(demo.seeds):
        for noise in demo.noise:
            for name, rival in RIVALS.items():
                if name != "no_sigma" or noise == ABLATED_AT:
                    rows.append(Row(name, noise, seed, rival.seeded(seed), rival.loop(demo.steps, seed)))
    return rows


def run_rows(
    rows: Sequence[Row], world: World, folder: Path, workers: int, tell: Callable[[dict[str, Any], int, int], None]
) -> list[dict[str, Any]]:
    """The figures of all rows: those that ``folder`` has, and the others trained and written there, each when done.

    workers: trainings at once. tell: called with each row's figures, how many are done, and how many there are. Errors:
    a file of other settings than the row's.
    """
    done = {row.title: found for row in rows if (found := _read(row, world, folder))}
    missing = [row for row in rows if row.title not in done]
    for number, figures in enumerate(done.values(), 1):
        tell(figures, number, len(rows))
    work = partial(_train_and_write, world=world, folder=folder)
    for row, figures in zip(missing, in_processes(work, missing, min(workers, len(missing))), strict=True):
        done[row.title] = figures
        tell(figures, len(done), len(rows))
    return [done[row.title] for row in rows]


def _train_and_write(row: Row, world: World, folder: Path) -> dict[str, Any]:
    """In the process of the row, so that an interrupt loses nothing that is done."""
    figures = {**train_row(row, world), "settings": _settings(row, world)}
    write_json(folder / f"{row.title}.json", figures)
    return figures


def _read(row: Row, world: World, folder: Path) -> dict[str, Any] | None:
    path = folder / f"{row.title}.json"
    if not path.exists():
        return None
    try:
        figures: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        same = figures["settings"] == _settings(row, world)
    except (ValueError, KeyError, TypeError):
        same = False
    if not same:
        raise UserError(
            got=f"{path}, of another demo than the one that is asked for",
            expected="a folder of the same demo, to go on with, or a new one",
            do="choose another --output",
        )
    return figures


def _settings(row: Row, world: World) -> dict[str, object]:
    return {"method": record(row.method), "loop": record(row.loop), "world": world.sha256}


def run_pair_demo(
    folder: Path, demo: PairDemo, say: Callable[[str], None], tell: Callable[[dict[str, Any], int, int], None]
) -> Path:
    """Do the whole demo, or what is left of it, and return the path of ``report.html`` in ``folder``.

    ``report.json`` beside it holds all figures; the folder ``rows`` a file for each training, which is not done again;
    ``features`` those of the pictures and captions. say: is told each stage; tell: as of ``run_rows``.
    """
    begun = time.perf_counter()
    say("drawing pictures")
    training, held = part("train", demo.pictures, TRAINING_SEED), part("test", demo.held, TEST_SEED)
    say("encoding pictures and captions")
    matcher = base_matcher()
    world = world_features(matcher, training, held, folder / FEATURES)
    rows = planned(demo)
    (folder / ROWS).mkdir(parents=True, exist_ok=True)
    say(f"training {len(rows)} times")
    figures = [cosine_row(world), *run_rows(rows, world, folder / ROWS, demo.workers, tell)]
    say("writing the report")
    results = {
        "rows": figures,
        "settings": {"demo": record(demo), **{name: record(rival) for name, rival in RIVALS.items()}},
        "honesty": {
            "tool_version": litotes.__version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
            **matcher.provenance(),
            "world_sha256": world.sha256,
            "seconds_of_this_call": round(time.perf_counter() - begun, 1),
            "seconds_of_all_trainings": round(sum(row.get("seconds", 0.0) for row in figures), 1),
        },
    }
    return write_pair_report(results, folder)
