"""Which captions and pictures of COCO belong together, by three groups of judges: COCO, CxC and ECCV Caption.

The files are those inside the package ``eccv_caption`` (``eccv_caption/data``; ``pip download --no-deps eccv_caption``
and unzip, or install it): ECCV Caption under MIT, Crisscrossed Captions under Apache-2.0, COCO's annotations under
CC-BY 4.0. Litotes ships none of them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from litotes.data.arrays import read_whole_numbers
from litotes.errors import UserError

FOLDS = 5
Relevant = Mapping[int, tuple[int, ...]]


class Judgements(NamedTuple):
    """All right items of each query both ways: image id -> caption ids (``i2t``), caption id -> image ids (``t2i``)."""

    i2t: Relevant
    t2i: Relevant


@dataclass(frozen=True)
class CocoJudgements:
    """COCO's test set of Karpathy: 5,000 images with five captions each, as three groups of judges see it.

    ``caption_ids``: all captions in the order of the folds. ``original``: COCO's own pairs. ``cxc``: with pairs added
    by human similarity (24,972 captions have one). ``eccv``: 1,261 images and 1,332 captions judged against nearly
    everything that models found; two of its captions are not in the set, so that a perfect mAP@R is 0.999897.
    """

    caption_ids: tuple[int, ...]
    original: Judgements
    cxc: Judgements
    eccv: Judgements

    @cached_property
    def image_ids(self) -> tuple[int, ...]:
        """All images, in the order of their captions."""
        return self.images_of(self.caption_ids)

    def images_of(self, captions: tuple[int, ...]) -> tuple[int, ...]:
        """The images of some captions by COCO's own pairs, in this order, each once."""
        return tuple(dict.fromkeys(self.original.t2i[caption][0] for caption in captions))

    def fold(self, number: int) -> tuple[int, ...]:
        """The captions of one of the five folds, 0 to 4: consecutive fifths of ``caption_ids``."""
        size = len(self.caption_ids) // FOLDS
        return self.caption_ids[number * size : (number + 1) * size]

    @cached_property
    def fold_of_caption(self) -> dict[int, int]:
        """The fold of each caption."""
        return {caption: number for number in range(FOLDS) for caption in self.fold(number)}

    @cached_property
    def fold_of_image(self) -> dict[int, int]:
        """The fold of each image, which is that of its captions."""
        return {self.original.t2i[caption][0]: number for caption, number in self.fold_of_caption.items()}


def read_coco_judgements(folder: str | Path) -> CocoJudgements:
    """Read ``coco_test_ids.npy`` and ``{original,cxc,eccv}_{image_to_caption,caption_to_image}.json`` of a folder.

    Errors, with the file: one of the seven that is not there; JSON that is not {"id": [ids, ...], ...} with every id a
    whole number and none twice; a list of captions that has no five equal folds, an id twice, or a caption or image
    that COCO's own pairs do not have both ways.
    """
    place = Path(folder)
    names = {"coco_test_ids.npy"} | {f"{j}_{d}.json" for j in ("original", "cxc", "eccv") for d in _DIRECTIONS}
    missing = sorted(name for name in names if not (place / name).is_file())
    if missing:
        raise UserError(
            got=f"{place} without {', '.join(missing)}",
            expected="the folder eccv_caption/data of the package eccv_caption",
            do="pip download --no-deps eccv_caption, unzip the wheel, and give this folder",
        )
    captions = _read_ids(place / "coco_test_ids.npy")
    judged = {j: Judgements(*(_read_pairs(place / f"{j}_{d}.json") for d in _DIRECTIONS)) for j in ("cxc", "eccv")}
    original = Judgements(*(_read_pairs(place / f"original_{d}.json") for d in _DIRECTIONS))
    both_ways = {(image, caption) for image, of_image in original.i2t.items() for caption in of_image}
    if set(original.t2i) != set(captions) or both_ways != {
        (i, c) for c, images in original.t2i.items() for i in images
    }:
        raise UserError(
            got=f"{place}: coco_test_ids.npy and the two original_*.json do not hold the same pairs",
            expected="every caption of the list with its image, both ways",
            do="take all files from one version of the package",
        )
    found = CocoJudgements(captions, original, judged["cxc"], judged["eccv"])
    split = [c for c, fold in found.fold_of_caption.items() if found.fold_of_image[original.t2i[c][0]] != fold]
    if split:
        raise UserError(
            got=f"{place}: image {original.t2i[split[0]][0]} with captions in two folds of coco_test_ids.npy",
            expected="all captions of an image in one fifth of the list",
            do="take all files from one version of the package",
        )
    return found


_DIRECTIONS = ("image_to_caption", "caption_to_image")


def _read_ids(path: Path) -> tuple[int, ...]:
    ids = read_whole_numbers(path, "the caption ids")
    if not len(ids) or len(ids) % FOLDS or len(np.unique(ids)) < len(ids):
        raise UserError(f"{path} holds {len(ids)} ids", f"different ids in {FOLDS} equal folds", "take it anew")
    return tuple(ids.tolist())


def _read_pairs(path: Path) -> Relevant:
    wanted = '{"id": [ids, ...], ...}, whole numbers, none twice'
    try:
        record = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
        if not isinstance(record, dict) or not record:
            raise ValueError("no JSON object with ids")
        return {int(query): _ids(query, items) for query, items in record.items()}
    except (ValueError, OSError, RecursionError) as error:
        raise UserError(f"{path}: {error}", wanted, "take the file anew from the package") from error


def _ids(query: str, items: Any) -> tuple[int, ...]:  # noqa: ANN401 - whatever the file holds
    sound = isinstance(items, list) and all(type(item) is int and item >= 0 for item in items)
    if not sound or not items or len(set(items)) < len(items):
        raise ValueError(f"the right items of {query} are {items!r:.80}")
    return tuple(items)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, _ in pairs:
        if not (key.isascii() and key.isdigit()):
            raise ValueError(f"the id {key!r}")
    if len({int(key) for key, _ in pairs}) < len(pairs):
        raise ValueError("an id stands twice")
    return dict(pairs)
