"""COCO's captions with their ids, as Karpathy's dataset_coco.json or a table has them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litotes.data.tables import IMAGE, column, filled, read_json, read_table
from litotes.errors import UserError

SPLIT = "test"
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
    content = read_json(path)
    images = content.get("images") if isinstance(content, dict) else None
    chosen = [image for image in images or () if isinstance(image, dict) and image.get("split") == SPLIT]
    if not chosen:
        raise UserError(
            f"{path}: no images of the split {SPLIT!r}", "Karpathy's dataset_coco.json", "name that file, or a table"
        )
    for number, image in enumerate(chosen, start=1):
        try:
            folder, name = (_as(image[key], str) for key in ("filepath", "filename"))
            identity = _as(image["cocoid"], int)
            sentences = [(_as(s["sentid"], int), _as(s["raw"], str)) for s in _as(image["sentences"], list)]
        except (KeyError, TypeError) as error:
            raise UserError(
                f"{path}: picture {number} of the split {SPLIT!r}: {type(error).__name__} {error}",
                "cocoid, filepath, filename and sentences with sentid and raw, as dataset_coco.json has them",
                "take the file anew",
            ) from error
        yield from ((f"{folder}/{name}", identity, caption, text) for caption, text in sentences)


def _as(value: Any, kind: type) -> Any:  # noqa: ANN401 (a part of a JSON document)
    if type(value) is not kind:
        raise TypeError(f"{value!r:.60} is no {kind.__name__}")
    return value


def _of_table(path: Path) -> Iterator[_CaptionRow]:
    table = read_table(path)
    ids = [_ids(path, name, column(table, name)) for name in ("image_id", "caption_id")]
    yield from zip(column(table, *IMAGE), *ids, filled(table, "caption"), strict=True)


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
