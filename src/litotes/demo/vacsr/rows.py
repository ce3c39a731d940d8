"""One row of the comparison: train a method on pairs of which a share is wrong, and measure it."""

import hashlib
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from litotes.data.noise import Noise, noise_record, shuffled, wrong_pairs
from litotes.demo.vacsr.measures import (
    cosine_doubts,
    finds_wrong_pairs,
    knows_errors,
    listed_firsts,
    retrieval,
    sigma_of_groups,
    similarities,
)
from litotes.demo.vacsr.truth import Part, Truth
from litotes.metrics.cosine import cosine_scores
from litotes.models.matcher import Matcher
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import VariationalAdapter, parameter_count
from litotes.objectives.diagnostics import named
from litotes.train.loop import LoopConfig, train
from litotes.train.pair_objectives import PairMethod, new_objective
from litotes.train.pairs import FrozenPairs, PairFeatures, pair_features

GROUPED = 250
"""Pictures whose pairs are told apart by group."""
HELD_NOISE = Noise(0.2)
"""Of the held-out pairs, when a model is asked which of them are wrong: the same for every row."""


@dataclass(frozen=True)
class Row:
    """What is trained on which noise. name: of the method in the table."""

    name: str
    noise: float
    seed: int
    method: PairMethod
    loop: LoopConfig

    @property
    def title(self) -> str:
        """Method, noise and seed, as the name of a file."""
        return f"{self.name}-noise{round(100 * self.noise):02d}-seed{self.seed}"


@dataclass(frozen=True)
class Held:
    """Features of a part to measure on, and its truth."""

    images: Float[Tensor, "n d"]
    texts: Float[Tensor, "n d"]
    relevance: Bool[Tensor, "n n"]


@dataclass(frozen=True)
class World:
    """Features to train on, what is true of what among them, and the features to measure on.

    ``sha256``: of the model that gives the features, and of both parts.
    """

    features: PairFeatures
    truth: Truth
    held: Held
    sha256: str


def world_features(matcher: Matcher, training: Part, held: Part, cache: Path | None = None) -> World:
    """Encode both parts once. cache: folder that keeps the features for the next time."""
    seen, other = pair_features(matcher, training.data, cache=cache), pair_features(matcher, held.data, cache=cache)
    images, texts = other.images[other.picture_of_row], other.texts[other.text_of_row]
    names = f"{seen.features_sha256} {seen.rows_sha256} {other.rows_sha256}"
    return World(
        seen, training.truth, Held(images, texts, held.truth.relevance()), hashlib.sha256(names.encode()).hexdigest()
    )


def train_row(row: Row, world: World) -> dict[str, Any]:
    """Train and measure; the figures as JSON values, fractions 0-1. One thread, so that rows can go side by side."""
    torch.set_num_threads(1)
    clean = np.arange(len(world.features))
    owners = shuffled(clean, Noise(row.noise, seed=row.seed))
    record = noise_record(clean, owners)
    features = replace(
        world.features,
        picture_of_row=world.features.picture_of_row[owners],
        rows_sha256=hashlib.sha256(f"{world.features.rows_sha256} {record['noise_sha256']}".encode()).hexdigest(),
    )
    begun = time.perf_counter()
    objective = new_objective(row.method)
    task = FrozenPairs(features, objective, row.method)
    with tempfile.TemporaryDirectory() as folder:
        train(task, row.loop, Path(folder) / "run", quiet=True)
    seconds = time.perf_counter() - begun
    scorer = PairScorer(objective.module)
    state = task.diagnose(row.loop.batch_size, batches=2)
    wrong = wrong_pairs(clean, owners)
    return {
        "row": row.name, "noise": row.noise, "seed": row.seed, "steps": row.loop.steps, "lr": row.loop.lr,
        "parameters": parameter_count(objective.module), "seconds": round(seconds, 1), **record,
        **held_figures(scorer, world.held),
        "wrong_pairs": finds_wrong_pairs(
            features.images[features.picture_of_row], features.texts[features.text_of_row], wrong,
            world.truth.holds(owners), scorer.doubts,
        ) if wrong.any() else None,
        "diagnostics": named(state) if state else None,
    }  # fmt: skip


def held_figures(scorer: PairScorer, held: Held, grouped: int = GROUPED) -> dict[str, Any]:
    """Retrieval by the model's scores, what it knows of errors and wrong pairs, how scores lie, sigma by kind of pair.

    grouped: pictures whose pairs with all captions are taken for the last.
    """
    images, texts, relevance = held.images, held.texts, held.relevance
    scores = scorer.scores(images, texts)
    groups = None
    if isinstance(scorer.model, VariationalAdapter):
        some = slice(grouped)
        groups = sigma_of_groups(scores[some], relevance[some], scorer.all_doubts(images[some], texts))
    return {
        "retrieval": retrieval(scores, relevance),
        "errors": knows_errors(images, texts, scores, relevance, scorer.doubts),
        "held_wrong_pairs": _finds_held(scorer, held),
        "firsts": listed_firsts(images, texts, scores, relevance, scorer.listed_doubts),
        "similarities": similarities(scores, relevance),
        "groups": groups,
    }


def _finds_held(scorer: PairScorer, held: Held) -> dict[str, Any] | None:
    """Whether it finds wrong pairs among held-out pictures, whose captions are shuffled by HELD_NOISE; None of none."""
    clean = np.arange(len(held.texts))
    owners = shuffled(clean, HELD_NOISE)
    wrong, true = wrong_pairs(clean, owners), held.relevance[owners, clean].numpy()
    return finds_wrong_pairs(held.images[owners], held.texts, wrong, true, scorer.doubts) if wrong.any() else None


def cosine_row(world: World) -> dict[str, Any]:
    """The frozen model by the cosine of its features, nothing trained: what every method starts from."""
    images, texts, relevance = world.held.images, world.held.texts, world.held.relevance
    scores = cosine_scores(images, texts)
    errors = knows_errors(images, texts, scores, relevance, cosine_doubts)
    return {
        "row": "cosine", "retrieval": retrieval(scores, relevance), "errors": errors,
        "similarities": similarities(scores, relevance),
    }  # fmt: skip
