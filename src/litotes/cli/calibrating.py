"""The work of ``litotes calibrate``: from a table of held-out pairs to the calibration of an adapter."""

from functools import partial
from typing import Any

import numpy as np
import torch
from rich.console import Console

from litotes.cli.calibrate import Settings
from litotes.cli.pair_model import load_pair_model, only_readable
from litotes.data.pairs import CaptionedPictures, read_pairs, split_by_picture
from litotes.data.screening import Screening
from litotes.errors import UserError
from litotes.evaluate.command import progress_bars, require_device
from litotes.metrics.answered_pairs import AnsweredPairs, answered_pairs
from litotes.metrics.calibration import brier, reliability
from litotes.models.pair_calibration import CALIBRATION, PairCalibration, fit_calibrator, save_calibration
from litotes.models.pair_scores import PairScorer
from litotes.models.pair_trained_on import TRAINED_ON, require_untrained
from litotes.places import require_file_place, require_folder_place
from litotes.train.pairs import pair_features

_ABOUT = {"found": "what a search finds first", "balanced": "pairs of which half are right"}
FEW = 100
"""Answers of either outcome below which a fit follows chance, which is told."""


def run_calibration(settings: Settings) -> None:
    """Everything is read and checked before the model is loaded; the calibration is written last."""
    screen = Console()
    _require_places(settings)
    screening = Screening(settings.broken_pictures, settings.allow_missing)
    read = partial(_read, settings, screening)
    parts, matcher, model, side = load_pair_model(settings, read)
    with progress_bars(screen) as progress:
        parts = only_readable(parts, read, matcher, screening, progress, screen)
        scorer = PairScorer(model)
        fitted, measured = (_answers(settings, scorer, pair_features(matcher, part, cache=settings.cache))
                            for part in parts)  # fmt: skip
    calibrator = fit_calibrator(settings.method, fitted.scores, fitted.right)
    before, after = torch.sigmoid(measured.scores.double()), calibrator(measured.scores)
    told = {
        "data": settings.data.name, "split_sha256": parts[0].fingerprint(), "measured_split_sha256":
        parts[1].fingerprint(), "seed": settings.seed, "answers": len(fitted.right), "right": int(fitted.right.sum()),
        "measured": {"answers": len(measured.right), "right": int(measured.right.sum()),
                     "before": _worth(before, measured.right), "after": _worth(after, measured.right)},
    }  # fmt: skip
    found = PairCalibration(settings.method, calibrator, settings.pairs, side.weights_sha256, told)
    path = save_calibration(found, settings.pair_adapter)
    for line in (*_lines(found, parts), *_unknown(settings)):
        screen.print(line, highlight=False, soft_wrap=True, markup=False)
    screen.print(f"written to {path}", highlight=False, soft_wrap=True, markup=False)


def _read(settings: Settings, screening: Screening) -> tuple[CaptionedPictures, CaptionedPictures]:
    """The part to fit to and the part to measure on; pictures of equal content are on one side.

    Errors: those of the table; pictures that the adapter was trained on; too few.
    """
    data = read_pairs(settings.data, settings.images_root, screening, "data")
    require_untrained(data, settings.pair_adapter)
    different = len(np.unique(data.contents()))
    if not 2 <= round(settings.measure_fraction * different) <= different - 2:
        raise UserError(
            got=f"{different} different pictures with --measure-fraction {settings.measure_fraction}",
            expected="at least two pictures to fit to, and two to measure on",
            do="give more pictures, some hundreds at least",
        )
    return split_by_picture(data, settings.measure_fraction, settings.seed, different)


def _answers(settings: Settings, scorer: PairScorer, features: Any) -> AnsweredPairs:  # noqa: ANN401
    texts = features.texts[features.text_of_row]
    scores = scorer.scores(features.images, texts)
    return answered_pairs(scores, features.picture_of_row.tolist(), settings.pairs, settings.seed)


def _worth(probabilities: torch.Tensor, right: torch.Tensor) -> dict[str, float]:
    return {"ece": reliability(probabilities, right).ece, "brier": brier(probabilities, right)}


def _lines(found: PairCalibration, parts: tuple[CaptionedPictures, CaptionedPictures]) -> list[str]:
    """What was fitted and how far it is off, in sentences."""
    told = found.fitted_on
    measured = told["measured"]
    lines = [
        f"P(match) of {_ABOUT[found.population]}, by {found.method}, fitted to {told['answers']:,} answers about "
        f"{len(parts[0].pictures):,} pictures ({told['right'] / told['answers']:.1%} right)",
        f"on {measured['answers']:,} others about {len(parts[1].pictures):,} pictures "
        f"({measured['right'] / measured['answers']:.1%} right): expected calibration error "
        f"{measured['before']['ece']:.1%} before and {measured['after']['ece']:.1%} after, Brier score "
        f"{measured['before']['brier']:.3f} and {measured['after']['brier']:.3f}",
    ]
    fewest = min(told["right"], told["answers"] - told["right"])
    if fewest < FEW:
        lines.append(f"note: only {fewest} of the fitted answers have one of the two outcomes; chance has a part in it")
    return [*lines, *_no_better(measured["before"], measured["after"])]


def _no_better(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """What became worse by the calibration on the pairs that it was not fitted to, or that nothing became better."""
    forms = {"ece": ("expected calibration error", "{:.2%}"), "brier": ("Brier score", "{:.4f}")}
    worse = [
        f"the {name} ({form.format(before[key])} → {form.format(after[key])})"
        for key, (name, form) in forms.items()
        if after[key] > before[key]
    ]
    if worse:
        return [
            f"note: on the pairs measured the calibration makes {' and '.join(worse)} worse, not better; it is "
            "kept all the same: give more pairs to fit to, or delete it"
        ]
    if after["ece"] >= before["ece"]:
        return ["note: on the pairs measured it is no better than before; give more pairs to fit to"]
    return []


def _unknown(settings: Settings) -> list[str]:
    """That nobody can tell whether these pictures were trained on, where the adapter does not say."""
    if (settings.pair_adapter / TRAINED_ON).is_file():
        return []
    return [
        f"note: {settings.pair_adapter} does not tell which pictures it was trained on ({TRAINED_ON}, which an "
        "earlier version did not write); the probabilities hold only if it was trained on none of these"
    ]


def _require_places(settings: Settings) -> None:
    """Refuse a device or a place that will not do, before a file is read."""
    require_device(settings.device)
    path = settings.pair_adapter / CALIBRATION
    require_file_place(path, "the calibration in --pair-adapter,")
    if path.exists() and not settings.overwrite:
        raise UserError(
            got=f"{path}, which is there",
            expected="an adapter without a calibration",
            do="add --overwrite to replace it",
        )
    if settings.cache:
        require_folder_place(settings.cache, "--cache")
