"""Ablation on the picture-book world: every row of docs/reproduction.md, seed by seed.

    python benchmarks/world_ablation.py --rows hanclip infonce --seeds 0 1 2 --output runs/ablation

Each finished (row, seed) is one JSON file, and is not done again. ``--table`` prints mean and spread of what is there.
The variants of the extended recipe take half of its steps, beside "extended, 800 steps".
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import torch

from litotes.data.quadruplets import Quadruplets
from litotes.demo.recipes import (
    EXTENDED_LORA,
    SINGLE,
    TRUTHFUL,
    base_matcher,
    control_recipe,
    extended_recipe,
    hanclip_recipe,
    infonce_recipe,
    negatives_recipe,
)
from litotes.demo.run import summary
from litotes.demo.sets import evaluation, training_options, training_quadruplets
from litotes.evaluate.results import write_json
from litotes.train.recipes import Recipe, adapt

Change = Callable[[int], Recipe]
QUADRUPLETS = 10_240
EXTENDED_QUADRUPLETS = 24_000
HALF = 800


def _hco(seed: int, **changes: object) -> Recipe:
    recipe = hanclip_recipe(seed)
    objective = recipe.negation.objective
    changed = replace(objective, hco=replace(objective.hco, **changes))
    return replace(recipe, negation=replace(recipe.negation, objective=changed))


def _alpha(seed: int, alpha: float) -> Recipe:
    recipe = hanclip_recipe(seed)
    objective = replace(recipe.negation.objective, alpha=alpha)
    return replace(recipe, negation=replace(recipe.negation, objective=objective))


def _towers(seed: int, towers: str) -> Recipe:
    recipe = hanclip_recipe(seed)
    return replace(recipe, lora=replace(recipe.lora, towers=towers))


def _full(seed: int, towers: str) -> Recipe:
    recipe = hanclip_recipe(seed)
    return replace(recipe, lora=None, full=towers, loop=replace(recipe.loop, lr=recipe.loop.lr / 10))


def _extended(seed: int, **weights: float) -> Recipe:
    recipe = extended_recipe(seed, HALF)
    return replace(recipe, negation=replace(recipe.negation, **weights))


def _extended_text(seed: int) -> Recipe:
    return replace(extended_recipe(seed, HALF), lora=replace(EXTENDED_LORA, towers="text"))


def _extended_without_lesson(seed: int) -> Recipe:
    recipe = extended_recipe(seed, HALF)
    return replace(recipe, lesson=None, negation=replace(recipe.negation, mirror=0.0))


ROWS: dict[str, Change] = {
    "infonce": infonce_recipe,
    "negatives": negatives_recipe,
    "hanclip": hanclip_recipe,
    "without ATNL": lambda seed: _alpha(seed, 0.0),
    "cosine": lambda seed: _hco(seed, distance="cosine"),
    "literal": lambda seed: _hco(seed, reading="paper_literal"),
    "temperature 0.01": lambda seed: _hco(seed, temperature=0.01),
    "LoRA V": lambda seed: _towers(seed, "vision"),
    "LoRA V+T": lambda seed: _towers(seed, "both"),
    "full T": lambda seed: _full(seed, "text"),
    "full V+T": lambda seed: _full(seed, "both"),
    "norm none": lambda seed: _hco(seed, norm="none", temperature=0.34),
    "norm clip": lambda seed: _hco(seed, norm="clip", temperature="model"),
    "norm scale": lambda seed: _hco(seed, norm="scale", image_norm=1.0, temperature="model"),
    "extended": extended_recipe,
    "control V+T": control_recipe,
    "extended, 800 steps": lambda seed: extended_recipe(seed, HALF),
    "control V+T, 800 steps": lambda seed: control_recipe(seed, HALF),
    "extended without HCO, ATNL": lambda seed: _extended(seed, hanclip=0.0),
    "extended without lesson": _extended_without_lesson,
    "extended without contrast": lambda seed: _extended(seed, contrast=0.0),
    "extended, pictures frozen": _extended_text,
    "extended, 2,000 quadruplets": lambda seed: extended_recipe(seed, HALF),
    "extended, 6,000 quadruplets": lambda seed: extended_recipe(seed, HALF),
}
SIZES = {"extended, 2,000 quadruplets": 2_000, "extended, 6,000 quadruplets": 6_000}
LONG = {name for name in ROWS if name.startswith(("extended", "control"))}


@lru_cache(maxsize=1)
def _pictures_of(count: int, seed: int, truthful: float, single: float) -> Quadruplets:
    """The training set of a seed, drawn once for the rows that share it."""
    return training_quadruplets(count, seed, truthful, single)


def run_row(name: str, seed: int, folder: Path, held: object) -> None:
    """Adapt, evaluate, write one JSON."""
    path = folder / f"{name.replace(' ', '_').replace(',', '')}-{seed}.json"
    if path.exists():
        return
    matcher = base_matcher()
    begun = time.perf_counter()
    if name != "base":
        recipe = ROWS[name](seed)
        kinds = (TRUTHFUL, SINGLE) if name in LONG else (0.0, 0.0)
        data = _pictures_of(SIZES.get(name, EXTENDED_QUADRUPLETS if name in LONG else QUADRUPLETS), seed, *kinds)
        if recipe.negation.objective.hco.norm == "scale":
            length = float(matcher.encode_images(data.pictures, range(256)).norm(dim=-1).mean())
            recipe = _hco(seed, norm="scale", image_norm=length, temperature="model")
        options = training_options(data, seed) if recipe.states else None
        run = folder / "runs" / path.stem
        adapt(matcher, data, recipe, run, options=options, cache=folder / "features", resume=run.exists())
    figures = {"row": name, "seed": seed, "seconds": round(time.perf_counter() - begun, 1), **summary(matcher, held)}
    write_json(path, figures)
    print(line(name, [figures]), flush=True)


COLUMNS: dict[str, Callable[[dict], float]] = {
    "Aff": lambda f: 100 * f["mcq"]["positive"],
    "Neg": lambda f: 100 * f["mcq"]["negative"],
    "Hyb": lambda f: 100 * f["mcq"]["hybrid"],
    "MCQ": lambda f: 100 * f["mcq"]["total"],
    "P'>N": lambda f: 100 * f["pairs"]["negated_positive_over_negative"],
    "A-not": lambda f: 100 * f["pairs"]["hybrid_absent_over_present"],
    "no": lambda f: 100 * f["pairs"]["absence_absent_over_present"],
    "held A-not": lambda f: 100 * f["held_out_wordings"]["hybrid_absent_over_present"],
    "held no": lambda f: 100 * f["held_out_wordings"]["absence_absent_over_present"],
    "new A-not": lambda f: 100 * f["new_cues"]["hybrid_absent_over_present"],
    "new no": lambda f: 100 * f["new_cues"]["absence_absent_over_present"],
    "R-Neg": lambda f: f["retrieval_neg"]["rsum"],
    "rSum": lambda f: f["retrieval"]["rsum"],
    "class": lambda f: 100 * f["classification"]["acc1"],
    "search": lambda f: 100 * f["denial_search"]["right"],
    "s": lambda f: f["seconds"],
}


def line(name: str, runs: list[dict]) -> str:
    """One row of the table: mean, and the spread (sample standard deviation) of several seeds."""
    cells = []
    for value in COLUMNS.values():
        some = [value(figures) for figures in runs]
        spread = f" ±{statistics.stdev(some):.1f}" if len(some) > 1 else ""
        cells.append(f"{statistics.mean(some):.1f}{spread}")
    return f"| {name} | {len(runs)} | " + " | ".join(cells) + " |"


def table(folder: Path) -> str:
    """All finished runs as a Markdown table."""
    runs: dict[str, list[dict]] = {}
    for path in sorted(folder.glob("*.json")):
        figures = json.loads(path.read_text())
        runs.setdefault(figures["row"], []).append(figures)
    order = ["base", *ROWS]
    head = "| row | seeds | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (len(COLUMNS) + 2)
    return "\n".join([head, *(line(name, runs[name]) for name in sorted(runs, key=order.index))])


def main() -> None:
    """Run what was asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", default=["base", *ROWS], choices=["base", *ROWS])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--output", type=Path, default=Path("runs/ablation"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    if not chosen.table:
        chosen.output.mkdir(parents=True, exist_ok=True)
        held = evaluation()
        for seed in chosen.seeds:
            for name in chosen.rows:
                if name != "base" or seed == chosen.seeds[0]:
                    run_row(name, seed, chosen.output, held)
    print(table(chosen.output))


if __name__ == "__main__":
    main()
