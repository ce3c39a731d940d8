"""Suites of true against false texts from the published files: VALSE, SugarCrepe, NegRefCOCOg, CC-Neg."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from litotes.data.cc_neg import TEST_COUNT, from_cc_neg
from litotes.data.crops import Crops
from litotes.data.foils import CaptionFoils, read_negrefcocog, read_sugarcrepe, read_valse
from litotes.data.images import ImageFiles, Subset
from litotes.data.screening import Screening, Selection
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.foils import Boxes, Foils, Rewordings


def valse_suite(path: Path, config: EvaluateConfig, screening: Screening) -> Foils:
    """VALSE: all records, and the valid ones."""
    return _foils("valse", read_valse(path), path, config, screening, averaged=False)


def sugarcrepe_suite(path: Path, config: EvaluateConfig, screening: Screening) -> Foils | Rewordings:
    """SugarCrepe or, where the records have a second caption, SugarCrepe++."""
    read = read_sugarcrepe(path)
    if read.rewordings is None:
        return _foils("sugarcrepe", read, path, config, screening, averaged=True)
    left = _left("sugarcrepe_pp", read.image_paths, path, config, screening)
    texts = (left.of(read.captions), left.of(read.rewordings), left.of(read.foils))
    return Rewordings("sugarcrepe_pp", left.pictures, left.image_of_row, *texts, _groups(read.groups, left.rows))


def negrefcocog_suite(path: Path, config: EvaluateConfig, screening: Screening) -> Boxes:
    """NegRefCOCOg, its boxes cut out of the pictures."""
    read = read_negrefcocog(path)
    left = _left("negrefcocog", read.image_paths, path, config, screening)
    boxes = [pair[side] for side in (0, 1) for pair in left.of(read.boxes)]
    return Boxes("negrefcocog", Crops(Subset(left.pictures, left.image_of_row * 2), boxes), left.of(read.phrases))


def cc_neg_suite(path: Path, config: EvaluateConfig, screening: Screening, test_count: int = TEST_COUNT) -> Foils:
    """CC-Neg's test split, its last 40,000 triples, twice.

    ``as_published``: commas are taken out of the negated caption alone, as its own loaders do, which gives the answer
    away to whoever counts commas. ``commas_removed_from_both``: without that cue.
    """
    test = from_cc_neg(
        path, _root(path, config), split="test", test_count=test_count, allow_missing=config.allow_missing
    )
    test = test.take(screening.select("cc_neg", test.pictures, range(len(test))).rows)
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


def _foils(
    name: str, read: CaptionFoils, path: Path, config: EvaluateConfig, screening: Screening, averaged: bool
) -> Foils:
    left = _left(name, read.image_paths, path, config, screening)
    groups = _groups(read.groups, left.rows)
    return Foils(name, left.pictures, left.image_of_row, left.of(read.captions), left.of(read.foils), groups, averaged)


def _left(name: str, paths: Sequence[str], path: Path, config: EvaluateConfig, screening: Screening) -> Selection:
    """Each picture once, and the items whose picture can be used."""
    places = {image: i for i, image in enumerate(dict.fromkeys(paths))}
    pictures = ImageFiles(list(places), _root(path, config), config.strip_prefix, config.allow_missing)
    return screening.select(name, pictures, [places[image] for image in paths])


def _groups(groups: Mapping[str, Sequence[int]], rows: Sequence[int]) -> dict[str, list[int]]:
    """The groups over the items that are left; one may be empty now."""
    place = {row: i for i, row in enumerate(rows)}
    return {group: [place[item] for item in items if item in place] for group, items in groups.items()}


def _root(path: Path, config: EvaluateConfig) -> Path:
    return config.images_root or (path if path.is_dir() else path.absolute().parent)
