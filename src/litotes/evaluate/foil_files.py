"""Suites of true against false texts from the published files: VALSE, SugarCrepe, NegRefCOCOg, CC-Neg."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from litotes.data.cc_neg import TEST_COUNT, TOTAL, cc_neg_table, from_cc_neg
from litotes.data.crops import Crops
from litotes.data.foils import CaptionFoils, read_negrefcocog, read_sugarcrepe, read_valse
from litotes.data.images import ImageFiles, Subset
from litotes.data.screening import Screening, Selection
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.counts import Source, by_counts
from litotes.evaluate.foils import Boxes, Foils, Rewordings

_EXISTENCE = {"all": 534, "valid": 505}
_SPLITS = {
    "add_att": 692, "add_obj": 2062, "replace_att": 788, "replace_obj": 1652, "replace_rel": 1406, "swap_att": 666,
    "swap_obj": 245,
}  # fmt: skip
_REWORDED = ("replace_att", "replace_obj", "replace_rel", "swap_att", "swap_obj")
_BOXES = {"phrases": 440, "pictures": 402}
_TRIPLES = {"triples": TOTAL, "of them asked": TEST_COUNT}


def valse_suite(path: Path, config: EvaluateConfig, screening: Screening) -> Foils:
    """VALSE: all records, and the valid ones."""
    suite = _foils("valse", read_valse(path), path, config, screening, averaged=False)
    return replace(suite, source=by_counts("VALSE existence", _EXISTENCE, _sizes(suite.groups)))


def sugarcrepe_suite(path: Path, config: EvaluateConfig, screening: Screening) -> Foils | Rewordings:
    """SugarCrepe or, where the records have a second caption, SugarCrepe++."""
    read = read_sugarcrepe(path)
    if read.rewordings is None:
        suite = _foils("sugarcrepe", read, path, config, screening, averaged=True)
        return replace(suite, source=_of_splits("SugarCrepe", suite.groups, _SPLITS))
    left = _left("sugarcrepe_pp", read.image_paths, path, config, screening)
    texts = (left.of(read.captions), left.of(read.rewordings), left.of(read.foils))
    groups = _groups(read.groups, left.rows)
    source = _of_splits("SugarCrepe++", groups, {name: _SPLITS[name] for name in _REWORDED})
    return Rewordings("sugarcrepe_pp", left.pictures, left.image_of_row, *texts, groups, source)


def negrefcocog_suite(path: Path, config: EvaluateConfig, screening: Screening) -> Boxes:
    """NegRefCOCOg, its boxes cut out of the pictures."""
    read = read_negrefcocog(path)
    left = _left("negrefcocog", read.image_paths, path, config, screening)
    boxes = [pair[side] for side in (0, 1) for pair in left.of(read.boxes)]
    found = {"phrases": len(left.rows), "pictures": len(left.pictures)}
    return Boxes(
        "negrefcocog",
        Crops(Subset(left.pictures, left.image_of_row * 2), boxes),
        left.of(read.phrases),
        by_counts("NegRefCOCOg", _BOXES, found),
    )


def cc_neg_suite(path: Path, config: EvaluateConfig, screening: Screening, test_count: int = TEST_COUNT) -> Foils:
    """CC-Neg's test split, its last 40,000 triples, twice.

    ``as_published``: commas are taken out of the negated caption alone, as its own loaders do, which gives the answer
    away to whoever counts commas. ``commas_removed_from_both``: without that cue.
    """
    table = cc_neg_table(path)
    test = from_cc_neg(
        table, _root(path, config), split="test", test_count=test_count, allow_missing=config.allow_missing
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
        source=by_counts("CC-Neg", _TRIPLES, {"triples": len(table.rows), "of them asked": n}),
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
    pictures = ImageFiles(list(places), _root(path, config), config.strip_prefix, config.allow_missing, path)
    return screening.select(name, pictures, [places[image] for image in paths])


def _of_splits(name: str, groups: Mapping[str, Sequence[int]], published: Mapping[str, int]) -> Source:
    """By the sizes of the splits that are there: a single one of them may be asked too."""
    found = _sizes(groups)
    return by_counts(name, {split: size for split, size in published.items() if split in found}, found)


def _sizes(groups: Mapping[str, Sequence[int]]) -> dict[str, int]:
    return {name: len(items) for name, items in groups.items()}


def _groups(groups: Mapping[str, Sequence[int]], rows: Sequence[int]) -> dict[str, list[int]]:
    """The groups over the items that are left; one may be empty now."""
    place = {row: i for i, row in enumerate(rows)}
    return {group: [place[item] for item in items if item in place] for group, items in groups.items()}


def _root(path: Path, config: EvaluateConfig) -> Path:
    return config.images_root or (path if path.is_dir() else path.absolute().parent)
