"""COCO's captions with their ids, as Karpathy's dataset_coco.json or a table has them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litotes.data.karpathy import of_kind, sentences, test_split
from litotes.data.rows import image_paths
from litotes.data.tables import column, filled, read_table
from litotes.errors import UserError

_CaptionRow = tuple[str, int, int, str]


@dataclass(frozen=True)
class CocoCaptions:
    """m pictures and n captions with COCO's ids; caption j belongs to picture ``image_of_caption[j]``."""

    image_paths: tuple[str, ...]
    image_ids: tuple[int, ...]
    captions: tuple[str, ...]
    caption_ids: tuple[int, ...]
    image_of_caption: tuple[int, ...]


def read_coco_captions(path: Path) -> CocoCaptions:
    """Read Karpathy's ``dataset_coco.json`` (its test split), or a table with one caption a row.

    Of the JSON: ``images``, each with ``split``, ``cocoid``, ``filepath`` (the folder), ``filename`` and
    ``sentences``, each with ``raw`` and ``sentid``, which is COCO's id of the caption. Of a table: the columns
    filepath, image_id, caption_id and caption. Captions are kept to the letter.

    Errors: :class:`UserError` where a field is missing or of another kind, with the picture or the rows; no picture of
    the test split; a caption id twice; an image id with two paths, or a path with two ids.
    """
    rows = list(_of_json(path) if path.suffix.lower() == ".json" else _of_table(path))
    _refuse_repeats(path, "caption id", [caption for _, _, caption, _ in rows])
    images = dict.fromkeys((name, image) for name, image, _, _ in rows)
    _refuse_repeats(path, "image id", [image for _, image in images])
    _refuse_repeats(path, "path", [name for name, _ in images])
    place = {image: i for i, (_, image) in enumerate(images)}
    return CocoCaptions(
        tuple(name for name, _ in images),
        tuple(image for _, image in images),
        tuple(text for _, _, _, text in rows),
        tuple(caption for _, _, caption, _ in rows),
        tuple(place[image] for _, image, _, _ in rows),
    )


def _of_json(path: Path) -> Iterator[_CaptionRow]:
    for rows in test_split(path, "dataset_coco.json", _rows):
        yield from rows


def _rows(image: dict[str, Any]) -> list[_CaptionRow]:
    name = f"{of_kind(image['filepath'], str)}/{of_kind(image['filename'], str)}"
    identity = of_kind(image["cocoid"], int)
    return [(name, identity, of_kind(s["sentid"], int), of_kind(s["raw"], str)) for s in sentences(image)]


def _of_table(path: Path) -> Iterator[_CaptionRow]:
    table = read_table(path)
    ids = [_ids(path, name, column(table, name)) for name in ("image_id", "caption_id")]
    yield from zip(image_paths(table), *ids, filled(table, "caption"), strict=True)


def _ids(path: Path, name: str, cells: list[str]) -> list[int]:
    for row, cell in enumerate(cells, start=1):
        if not (cell.isascii() and cell.isdigit()):
            raise UserError(f"{path}: {name} {cell!r} in row {row}", "a whole number, COCO's id", "correct the row")
    return [int(cell) for cell in cells]


def _refuse_repeats(path: Path, what: str, values: list[Any]) -> None:
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise UserError(
                f"{path}: the {what} {value} stands twice",
                "each caption once, and one path for each image id",
                "correct the file",
            )
        seen.add(value)
