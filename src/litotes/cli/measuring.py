"""What ``litotes train`` measures before and after, and how it is shown on the terminal."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from litotes.cli.train import Settings
from litotes.data.quadruplets import Quadruplets
from litotes.data.screening import Screening
from litotes.data.statements import choose_things
from litotes.data.wordings import HELD_OUT_WORDINGS
from litotes.errors import UserError
from litotes.evaluate.answers import Answer
from litotes.evaluate.command import progress_bars
from litotes.evaluate.compare import Differences
from litotes.evaluate.config import EvaluateConfig, named_ks
from litotes.evaluate.features import Remembering
from litotes.evaluate.files import picture_roots, suites_from_files
from litotes.evaluate.from_objects import (
    NamedPictures,
    choice_from_objects,
    classification_from_objects,
    decisive_pairs,
)
from litotes.evaluate.geometry import Geometry
from litotes.evaluate.negation import Pairs
from litotes.evaluate.results import result_record
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.suite import Suite, run_suites
from litotes.evaluate.table import figures_table
from litotes.evaluate.verdict import significance
from litotes.models.matcher import Matcher
from litotes.train.recipes import Recipe

_ORDER = ("mcq", "pairs", "held_out_wordings", "retrieval", "retrieval_neg", "classification")
_MULTIPLE_CHOICE = (
    "Multiple choice on negation was not measured: it needs questions (--choice), or an objects column in the table."
)
_FORGETTING = (
    "Forgetting was not measured by zero-shot classification: it needs class folders or a table of classes "
    "(--classification), or an objects column in the table whose names tell the held-out pictures apart."
)


class Questions(NamedTuple):
    """What is asked of base and adapted alike, and in whole sentences what could not be asked.

    roots: by suite, the folder that the names of its pictures start from.
    """

    suites: list[Suite]
    notes: list[str]
    roots: dict[str, Path]


def report_suites(data: Quadruplets, held: Quadruplets, settings: Settings, screening: Screening) -> Questions:
    """Suites of the files that were named and, for what no file was named for, of the held-out quadruplets.

    Of these: P' over N, retrieval of P and, where the table names the things in the pictures, multiple choice in
    NegBench's wording, the two decisive orders in wordings that training never uses, and classification.

    ``screening``: of all pictures of the run. Errors: those of the files.
    """
    named, roots = _file_suites(settings, screening)
    suites: dict[str, Suite] = {suite.name: suite for suite in named}
    own = {"negated_positive_over_negative": (held.negated_positives, held.negatives)}
    from_table = [Pairs("pairs", held.pictures, own), *_object_suites(data, held, settings.seed)]
    if "retrieval" not in suites:
        from_table.append(_retrieval(held, settings.ks))
    root = settings.images_root or settings.train_data.parent
    for suite in from_table:
        suites.setdefault(suite.name, suite)
        roots.setdefault(suite.name, root)
    missing = {"mcq": _MULTIPLE_CHOICE, "classification": _FORGETTING}
    return Questions(
        [suites[name] for name in _ORDER if name in suites],
        [note for name, note in missing.items() if name not in suites],
        roots,
    )


def geometry_suite(held: Quadruplets, recipe: Recipe) -> Geometry:
    """Radii and angles of the held-out quadruplets, placed as the recipe places them in training."""
    space = recipe.negation.objective.hco
    return Geometry("geometry", held.pictures, held.captions, held.negated_positives, held.negatives, space)


def evaluated(
    what: str, matcher: Matcher, suites: Sequence[Suite], settings: Settings, screen: Console
) -> tuple[dict[str, Any], dict[str, list[Answer]]]:
    """The result record of the model as it is now, and its single answers; a bar headed ``what`` shows the progress."""
    answers: dict[str, list[Answer]] = {}
    with progress_bars(screen, what) as progress:
        results = run_suites(Remembering(matcher, progress), suites, answers)
    return result_record(matcher, results, dataset=settings.train_data.stem), answers


def print_comparison(
    records: Mapping[str, Mapping[str, Any]], compared: Mapping[str, Differences], outcome: Sequence[str],
    notes: Sequence[str], screen: Console,
) -> None:  # fmt: skip
    """All figures of base and adapted side by side, with what they differ in, the outcome in words, the notes.

    compared: by label, what the single answers of a model differ in from the base's.
    """
    screen.print(figures_table(records, "before and after", compared))
    for sentence in outcome:
        screen.print(sentence, highlight=False, markup=False)
    for told in significance(records, compared):
        screen.print(f"  {told.sentence}", highlight=False, markup=False)
    for note in notes:
        screen.print(f"note: {note}", highlight=False, markup=False)


def _file_suites(settings: Settings, screening: Screening) -> tuple[list[Suite], dict[str, Path]]:
    """The suites of the files that were named, and where their pictures are."""
    if not (settings.choice or settings.retrieval or settings.negated_retrieval or settings.classification):
        return [], {}
    files = EvaluateConfig(
        model=settings.model, choice=settings.choice, retrieval=settings.retrieval,
        negated_retrieval=settings.negated_retrieval, classification=settings.classification,
        ks=named_ks(settings.ks), allow_missing=settings.allow_missing,
    )  # fmt: skip
    suites = suites_from_files(files, screening)
    return suites, picture_roots(files, suites)


def _firsts(data: Quadruplets) -> list[int]:
    """The first row of each picture."""
    rows: dict[str, int] = {}
    for i in range(len(data)):
        rows.setdefault(data.pictures.name(i), i)
    return list(rows.values())


def _retrieval(held: Quadruplets, ks: Sequence[int]) -> Retrieval:
    """Retrieval of all captions P over the held-out pictures, each picture once; K beyond their number is left out."""
    rows = _firsts(held)
    place = {held.pictures.name(row): i for i, row in enumerate(rows)}
    owners = [place[held.pictures.name(i)] for i in range(len(held))]
    possible = [k for k in ks if k <= len(rows)] or [1]
    return Retrieval("retrieval", held.take(rows).pictures, held.captions, owners, possible)


def _object_suites(data: Quadruplets, held: Quadruplets, seed: int) -> list[Suite]:
    """What can be asked of the held-out pictures whose objects are named, with the names of the whole table.

    "A but not <absent>" is asked of pictures with several things, where there are such.
    """
    if data.objects is None or held.objects is None:
        return []
    vocabulary = sorted({name for objects in data.objects for name in objects})
    rows = [row for row in _firsts(held) if _askable(held.objects[row], vocabulary)]
    if not rows:
        return []
    rng = np.random.default_rng([seed, 8])
    named = _named(held, rows, vocabulary)
    several = _named(held, [row for row in rows if len(held.objects[row]) > 1] or rows, vocabulary)
    classification = classification_from_objects("classification", named.pictures, named.objects)
    return [
        choice_from_objects("mcq", named, rng),
        Pairs("held_out_wordings", several.pictures, decisive_pairs(several, rng, HELD_OUT_WORDINGS)),
        *([classification] if classification else []),
    ]


def _named(held: Quadruplets, rows: list[int], vocabulary: list[str]) -> NamedPictures:
    part = held.take(rows)
    return NamedPictures(part.pictures, part.objects or (), [vocabulary] * len(rows))


def _askable(objects: Sequence[str], vocabulary: Sequence[str]) -> bool:
    """Whether something is in the picture and something of the vocabulary is not."""
    try:
        choose_things(objects, vocabulary, np.random.default_rng(0))
    except UserError:
        return False
    return True
