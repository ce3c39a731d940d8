"""Which order of unlabelled pairs finds most missing labels: by p, by sigma among similar pairs, or by both.

    python benchmarks/vacsr_suspects.py [--seeds 3] [--steps 400] [--output FILE]

On the picture-book world, where all that is true is known. VACSR's adapter is trained as in ``litotes demo vacsr`` on
one table of pictures with one caption each, none or a fifth of the captions shuffled. Tables as clean or as wrong as
that are then looked through as ``litotes data suspects`` does it: other tables (one to choose on, the rest to measure
on), and the very table of the training. Of the first 100 and 500 unlabelled pairs of each order it is counted how many
are true, and of the first 100 labelled pairs how many are untrue.

"of the M": the M unlabelled pairs of highest p, in another order. The control, lowest p, tells what sigma would bring
if it were no more than another name for 1 - p; "sigma at equal p" compares sigma within twenty groups of near p alone.
"""

import argparse
import json
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from litotes.data.noise import Noise, shuffled
from litotes.data.pairs import KnownPairs
from litotes.demo.recipes import base_matcher
from litotes.demo.vacsr.methods import LOOP
from litotes.demo.vacsr.truth import part
from litotes.evaluate.suspect_order import missing_order
from litotes.models.matcher import Matcher
from litotes.models.pair_scores import SIGMA, PairScorer
from litotes.models.variational import VariationalAdapter
from litotes.train.pair_objectives import new_objective
from litotes.train.pairs import PairFeatures, pair_features
from vacsr_uncertainty import PAPER, trained

NOISE = (0.0, 0.2)
OTHERS = {"choosing": (31, 32, 33), "others": (41, 42, 43, 44)}
OWN, TRAINING_SEED = "own", 11
LOOKED_AT = (100, 500)
SHORTLISTS = (200, 500, 1000, 2500, 5000, 10000)
GROUPS = 20


class Labels(NamedTuple):
    """Features with the labels that the model may see, and of every picture and caption whether that is true."""

    features: PairFeatures
    true: Tensor


class Sizes(NamedTuple):
    """Pictures of the tables, adapters, steps of each, shortlists, and the other tables by their seeds."""

    own: int
    other: int
    seeds: int
    steps: int
    shortlists: tuple[int, ...]
    others: dict[str, tuple[int, ...]]


TINY = Sizes(40, 20, 1, 3, (20, 50), {"choosing": (31,), "others": (41,)})
"""Under --smoke."""


def main(arguments: list[str] | None = None) -> None:
    """Train, list, count, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=LOOP.steps)
    parser.add_argument("--output", type=Path, help="file that gets a line of JSON for each list")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    rows = []
    sizes = TINY if asked.smoke else Sizes(4000, 1000, asked.seeds, asked.steps, SHORTLISTS, OTHERS)
    for row in figures(sizes):
        rows.append(row)
        if asked.output:
            with asked.output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    screen = Console(width=150)
    for noise in NOISE:
        screen.print(summary([row for row in rows if row["noise"] == noise], noise))


def figures(sizes: Sizes) -> Iterator[dict[str, Any]]:
    """For each adapter, table and order: the share of hits among the first of each list."""
    matcher = base_matcher()
    asked = [(where, sizes.other, seed) for where, parts in sizes.others.items() for seed in parts]
    asked.append((OWN, sizes.own, TRAINING_SEED))
    tables = [(where, seed, table(matcher, f"{where}{seed}", count, seed)) for where, count, seed in asked]
    for noise in NOISE:
        seen = [(where, labelled(some, Noise(noise, seed=seed))) for where, seed, some in tables]
        for seed in range(sizes.seeds):
            model = trained(seen[-1][1].features, replace(PAPER, seed=seed), new_objective, sizes.steps)
            for where, some in seen:
                for order, hits in {**missing(model, some, sizes.shortlists), **wrong(model, some)}.items():
                    yield {"noise": noise, "seed": seed, "where": where, "order": order, "hits": hits}


def table(matcher: Matcher, name: str, count: int, seed: int) -> Labels:
    """A table of pictures with one caption each, and its whole truth."""
    made = part(name, count, seed)
    features = pair_features(matcher, made.data)
    first_picture, first_text = (
        np.unique(numbers, return_index=True)[1] for numbers in (features.picture_of_row, features.text_of_row)
    )
    return Labels(features, made.truth.relevance()[first_picture][:, first_text])


def labelled(some: Labels, noise: Noise) -> Labels:
    """The same with a share of the captions on another picture."""
    rows = shuffled(np.arange(len(some.features)), noise)
    return some._replace(features=replace(some.features, picture_of_row=some.features.picture_of_row[rows]))


def missing(model: VariationalAdapter, some: Labels, shortlists: tuple[int, ...]) -> dict[str, list[float]]:
    """By order, the share of true pairs among the first unlabelled ones."""
    data, scorer = some.features, PairScorer(model)
    known = KnownPairs(data.picture_of_row, data.text_of_row)
    found = scorer.highest(data.images, data.texts, max(shortlists), known.between)
    sigma = scorer.doubts(data.images[found.images], data.texts[found.texts])[SIGMA]
    true = some.true[found.images, found.texts]
    orders = {"p": torch.arange(len(true))}
    for count in shortlists:
        logits, doubt = found.logits[:count].double(), sigma[:count]
        orders |= {
            f"sigma, of the {count}": missing_order(logits, doubt, "uncertainty"),
            f"p + sigma, of the {count}": missing_order(logits, doubt, "both"),
            f"sigma at equal p, of the {count}": missing_order(at_equal_p(doubt), logits, "similarity"),
            f"lowest p, of the {count}": torch.arange(len(doubt)).flip(0),
        }
    return {name: [share(true[order], k) for k in LOOKED_AT] for name, order in orders.items()}


def at_equal_p(sigma: Tensor) -> Tensor:
    """The place of each sigma, 0 to 1, in its group of near p; ``sigma`` is in the order of p."""
    parts = torch.tensor_split(sigma, GROUPS)
    return torch.cat([part.argsort().argsort().double() / max(1, len(part)) for part in parts])


def wrong(model: VariationalAdapter, some: Labels) -> dict[str, list[float]]:
    """By order, the share of untrue pairs among the first labelled ones."""
    data, scorer = some.features, PairScorer(model)
    images, texts = data.images[data.picture_of_row], data.texts[data.text_of_row]
    untrue = ~some.true[data.picture_of_row, data.text_of_row]
    orders = {"p": scorer.paired(images, texts).argsort(stable=True)}
    orders["sigma"] = scorer.doubts(images, texts)[SIGMA].argsort(descending=True, stable=True)
    return {f"wrong, by {name}": [share(untrue[order], k) for k in LOOKED_AT] for name, order in orders.items()}


def share(hits: Tensor, first: int) -> float:
    """Of the first, in percent; of all where there are fewer."""
    return 100 * float(hits[:first].double().mean())


def summary(rows: list[dict[str, Any]], noise: float) -> Table:
    """Hits in percent by order, among the first 100 and 500: mean of the tables, with the spread of the seeds."""
    told = Table(title=f"{100 * noise:.0f} % of the captions shuffled: hits among the first, in percent")
    places = [*OTHERS, OWN]
    for head in ("order", *(f"{where}, {k}" for where in places for k in LOOKED_AT)):
        told.add_column(head, justify="left" if head == "order" else "right")
    for order in dict.fromkeys(row["order"] for row in rows):
        told.add_row(order, *(cell(rows, order, where, k) for where in places for k in range(len(LOOKED_AT))))
    return told


def cell(rows: list[dict[str, Any]], order: str, where: str, k: int) -> str:
    """Mean over the tables, and sample standard deviation over the seeds."""
    some = [row for row in rows if row["order"] == order and row["where"] == where]
    seeds = sorted({row["seed"] for row in some})
    means = [statistics.mean(row["hits"][k] for row in some if row["seed"] == seed) for seed in seeds]
    spread = f" ± {statistics.stdev(means):.1f}" if len(means) > 1 else ""
    return f"{statistics.mean(means):.1f}{spread}"


if __name__ == "__main__":
    main()
