"""Training and evaluation sets of the picture-book world, disjoint in pictures, wordings and object pairs."""

from dataclasses import dataclass
from itertools import islice

import numpy as np

from litotes.data.images import ArrayPictures
from litotes.data.quadruplets import Quadruplets, template_captions
from litotes.data.statements import TWIN, OptionSet, make_options
from litotes.data.wordings import HELD_OUT_WORDINGS, NEGBENCH_WORDINGS, NEW_CUE_WORDINGS, with_article
from litotes.demo.language import absent_kind, describe, describe_pair, negate
from litotes.demo.scenes import EvaluationScene, evaluation_scene, held_out, paint_all, sample_scene, training_scenes
from litotes.demo.things import KINDS
from litotes.evaluate.classification import Classification
from litotes.evaluate.from_objects import NamedPictures, choice_from_objects, decisive_pairs
from litotes.evaluate.geometry import Geometry
from litotes.evaluate.negation import MultipleChoice, Pairs
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.suite import Suite

EVALUATION_SEED = 424_242
VALIDATION_SEED = 515_151
NEGATED_RETRIEVAL_FRAMES = (
    "There is no {n} in the image. {c}.", "{c}. There is no {n} in the image.", "{c} but no {n}",
    "no {n} is visible but {c}",
)  # fmt: skip


@dataclass(frozen=True)
class Evaluation:
    """The held-out pictures and everything that is asked about them."""

    scenes: tuple[EvaluationScene, ...]
    pictures: ArrayPictures
    choice: MultipleChoice
    geometry: Geometry
    suites: tuple[Suite, ...]


def evaluation(count: int = 1000, per_class: int = 10, seed: int = EVALUATION_SEED) -> Evaluation:
    """Suites over ``count`` pictures that no training seed draws.

    mcq: three questions a picture, of NegBench's three types and in its wording, options in seeded order.
    retrieval: one caption a picture, of two things. retrieval_neg: the same with a truthful denial added. pairs:
    P' over N, and the two diagnostics that need negation itself. held_out_wordings and new_cues: the same two in
    frames, and with cue words, that training never uses. classification: ``per_class`` pictures of each kind alone.
    geometry: radii and angles of the quadruplets. ``VALIDATION_SEED`` gives a second such set, for choosing settings.
    """
    rng = np.random.default_rng(seed)
    scenes = tuple(evaluation_scene(rng) for _ in range(count))
    pictures = ArrayPictures(paint_all([item.scene for item in scenes], seed + 1), _names("scene", count))
    pairs = [describe_pair(item.scene, rng) for item in scenes]
    captions = tuple(caption.text for caption in pairs)
    positives = tuple(template_captions(captions, seed))
    negatives = tuple(negate(caption, rng) for caption in pairs)
    own = tuple(range(count))
    named = NamedPictures(
        pictures, [item.present for item in scenes], [(item.absent,) for item in scenes], allowed=held_out
    )
    choice = choice_from_objects("mcq", named, rng)
    geometry = Geometry("geometry", pictures, captions, positives, negatives)
    decisive = decisive_pairs(named, rng, NEGBENCH_WORDINGS)
    suites = (
        choice,
        Retrieval("retrieval", pictures, captions, own),
        Retrieval("retrieval_neg", pictures, _denying(scenes, captions, rng), own, negated=True),
        _classification(per_class, seed + 2),
        Pairs("pairs", pictures, {"negated_positive_over_negative": (positives, negatives), **decisive}),
        Pairs("held_out_wordings", pictures, decisive_pairs(named, rng, HELD_OUT_WORDINGS)),
        Pairs("new_cues", pictures, decisive_pairs(named, rng, NEW_CUE_WORDINGS)),
        geometry,
    )  # fmt: skip
    return Evaluation(scenes, pictures, choice, geometry, suites)


TRUTHFUL_FRAMES = (
    "{c}, with no {n} in it", "{c} and not a single {n}", "without any {n}, {c}", "no {n} here, {c}",
    "{c}, without {a}", "{c}, not {a}",
)  # fmt: skip


def training_quadruplets(count: int, seed: int, truthful: float = 0.0, single: float = 0.0) -> Quadruplets:
    """Pictures without a held-out pair, each with P, P' and N; ``objects`` names all its things.

    P' comes from a template, or, for a share ``truthful`` of the pictures (the extended recipe), is P with a thing
    denied that really is absent. A share ``single`` of the pictures (the extended recipe too) shows one thing, large.
    """
    rng = np.random.default_rng([seed, 1])
    scenes = list(islice(training_scenes(rng), count))
    rng_single = np.random.default_rng([seed, 4])
    for i in np.flatnonzero(rng_single.random(count) < single):
        scenes[i] = sample_scene(rng_single, (KINDS[rng_single.integers(len(KINDS))],))
    pictures = ArrayPictures(paint_all(scenes, seed + 100), _names(f"train-{seed}", count))
    captions = [describe(scene, rng) for scene in scenes]
    texts = tuple(caption.text for caption in captions)
    positives = template_captions(texts, seed)
    rng_truthful = np.random.default_rng([seed, 3])
    for i in np.flatnonzero(rng_truthful.random(count) < truthful):
        kind = absent_kind(scenes[i], captions[i].kinds, rng_truthful)
        frame = TRUTHFUL_FRAMES[rng_truthful.integers(len(TRUTHFUL_FRAMES))]
        positives[i] = frame.format(c=texts[i], n=kind, a=with_article(kind))
    return Quadruplets(
        pictures,
        texts,
        tuple(positives),
        tuple(negate(caption, rng) for caption in captions),
        tuple(scene.kinds for scene in scenes),
    )


def allowed_in_training(first: str, second: str) -> bool:
    """Whether a training text may name both kinds."""
    return not held_out(first, second)


def training_options(data: Quadruplets, seed: int) -> list[OptionSet]:
    """Own statements of each picture in the training wordings, without a held-out pair."""
    rng = np.random.default_rng([seed, 2])
    return [make_options(objects, KINDS, rng, allowed_in_training, twin=TWIN) for objects in data.objects or ()]


def _denying(scenes: tuple[EvaluationScene, ...], captions: tuple[str, ...], rng: np.random.Generator) -> list[str]:
    frames = NEGATED_RETRIEVAL_FRAMES
    return [
        frames[rng.integers(len(frames))].format(n=item.absent, c=caption)
        for item, caption in zip(scenes, captions, strict=True)
    ]


def _classification(per_class: int, seed: int) -> Classification:
    rng = np.random.default_rng(seed)
    labels = [label for label in range(len(KINDS)) for _ in range(per_class)]
    scenes = [sample_scene(rng, (KINDS[label],)) for label in labels]
    pictures = ArrayPictures(paint_all(scenes, seed + 1), _names("single", len(labels)))
    return Classification(
        "classification", pictures, labels, [with_article(kind) for kind in KINDS], ("a photo of {c}",)
    )


def _names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{i:05d}.png" for i in range(count)]
