"""Suites of true against false texts from the published files: VALSE, SugarCrepe, NegRefCOCOg, CC-Neg."""

from collections.abc import Sequence
from pathlib import Path

from litotes.data.cc_neg import TEST_COUNT, from_cc_neg
from litotes.data.crops import Crops
from litotes.data.foils import CaptionFoils, read_negrefcocog, read_sugarcrepe, read_valse
from litotes.data.images import ImageFiles
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.foils import Boxes, Foils, Rewordings


def valse_suite(path: Path, config: EvaluateConfig) -> Foils:
    """VALSE: all records, and the valid ones."""
    return _foils("valse", read_valse(path), path, config, averaged=False)


def sugarcrepe_suite(path: Path, config: EvaluateConfig) -> Foils | Rewordings:
    """SugarCrepe or, where the records have a second caption, SugarCrepe++."""
    read = read_sugarcrepe(path)
    if read.rewordings is None:
        return _foils("sugarcrepe", read, path, config, averaged=True)
    pictures, places = _pictures(read.image_paths, path, config)
    return Rewordings("sugarcrepe_pp", pictures, places, read.captions, read.rewordings, read.foils, read.groups)


def negrefcocog_suite(path: Path, config: EvaluateConfig) -> Boxes:
    """NegRefCOCOg, its boxes cut out of the pictures."""
    read = read_negrefcocog(path)
    pictures = ImageFiles(read.image_paths * 2, _root(path, config), config.strip_prefix)
    boxes = [box for side in (0, 1) for box in (pair[side] for pair in read.boxes)]
    return Boxes("negrefcocog", Crops(pictures, boxes), read.phrases)


def cc_neg_suite(path: Path, config: EvaluateConfig, test_count: int = TEST_COUNT) -> Foils:
    """CC-Neg's test split, its last 40,000 triples, twice.

    ``as_published``: commas are taken out of the negated caption alone, as its own loaders do, which gives the answer
    away to whoever counts commas. ``commas_removed_from_both``: without that cue.
    """
    test = from_cc_neg(path, _root(path, config), split="test", test_count=test_count)
    n = len(test.captions)
    plain = [text.replace(",", "") for text in test.negatives]
    return Foils(
        name="cc_neg",
        pictures=test.pictures,
        image_of_item=[*range(n), *range(n)],
        captions=[*test.captions, *(text.replace(",", "") for text in test.captions)],
        foils=[*plain, *plain],
        groups={"as_published": range(n), "commas_removed_from_both": range(n, 2 * n)},
    )


def _foils(name: str, read: CaptionFoils, path: Path, config: EvaluateConfig, averaged: bool) -> Foils:
    pictures, places = _pictures(read.image_paths, path, config)
    return Foils(name, pictures, places, read.captions, read.foils, read.groups, averaged)


def _pictures(paths: Sequence[str], path: Path, config: EvaluateConfig) -> tuple[ImageFiles, list[int]]:
    """Each picture once, and the place of the picture of each item."""
    places = {name: i for i, name in enumerate(dict.fromkeys(paths))}
    return ImageFiles(list(places), _root(path, config), config.strip_prefix), [places[name] for name in paths]


def _root(path: Path, config: EvaluateConfig) -> Path:
    return config.images_root or (path if path.is_dir() else path.absolute().parent)
