"""The data of ``litotes train vacsr``: a part to train on, its noise, and a part that is held out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litotes.cli.class_pairs import read_class_pairs
from litotes.cli.train_vacsr import Settings
from litotes.data.noise import Noise, load_noise, noise_record, shuffled
from litotes.data.pairs import (
    CaptionedPictures,
    Codes,
    KnownPairs,
    codes,
    read_pairs,
    require_disjoint,
    split_by_picture,
)
from litotes.data.screening import Screening
from litotes.errors import UserError

MOST_VALIDATION = 1000


@dataclass(frozen=True)
class PairData:
    """Both parts, and the picture that the training is told for each of its captions.

    ``seen``: after the noise; ``noise``: what is recorded of it, None without any.
    """

    training: CaptionedPictures
    held: CaptionedPictures
    seen: Codes
    noise: dict[str, Any] | None


def load_data(settings: Settings, screening: Screening | None = None) -> PairData:
    """Both parts of the data, and the noise on the part to train on.

    screening: what becomes of missing and broken pictures; those left out are so before the split and the noise.
    Errors: those of the files and of the noise; a part to train on that has no wrong pair.
    """
    data = _read(settings.train_data, settings, screening)
    if settings.val_data:
        training, held = data, _read(settings.val_data, settings, screening, "val_data")
        require_disjoint(training, held)
    else:
        training, held = split_by_picture(data, settings.val_fraction, settings.seed, MOST_VALIDATION)
    seen = _noisy(training, settings)
    KnownPairs(training.contents()[seen], codes(training.captions)).require_wrong_pair()
    if not (settings.noise_index or settings.noise_ratio):
        return PairData(training, held, seen, None)
    asked: dict[str, Any] = {"ratio": settings.noise_ratio, "unit": settings.noise_unit, "seed": settings.noise_seed}
    if settings.noise_index:
        asked = {"index": str(settings.noise_index)}
    return PairData(training, held, seen, {**asked, **noise_record(training.owners, seen)})


def _read(path: Path, settings: Settings, screening: Screening | None, what: str = "train_data") -> CaptionedPictures:
    if settings.of_classes:
        return read_class_pairs(path, settings, screening or Screening(), what)
    return read_pairs(path, settings.images_root, screening, what)


def _noisy(training: CaptionedPictures, settings: Settings) -> Codes:
    if settings.noise_index is None:
        return shuffled(training.owners, Noise(settings.noise_ratio, settings.noise_unit, settings.noise_seed))
    try:
        return load_noise(
            settings.noise_index, captions=len(training), images=len(training.pictures),
            sha256=settings.noise_sha256 or "",
        )  # fmt: skip
    except UserError as error:
        if settings.val_data:
            raise
        advice = "; if it was drawn for the whole table, give the pictures to validate on as --val-data"
        raise UserError(error.got, error.expected, error.do + advice) from error
