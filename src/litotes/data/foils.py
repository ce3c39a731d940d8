"""Files of a true against a false text for a picture: VALSE, SugarCrepe, SugarCrepe++; and NegRefCOCOg's two boxes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litotes.data.tables import is_blank, read_json
from litotes.errors import UserError

VALID_VOTES = 2
"""A record of VALSE is valid where this many of its three annotators chose the caption."""

Box = tuple[float, float, float, float]
"""Left, top, width, height in pixels."""

_Record = dict[str, Any]


@dataclass(frozen=True)
class CaptionFoils:
    """n pictures, each with a true and a false text, as parallel tuples.

    ``image_paths``: as in the file. ``captions``: true of the picture; ``foils``: false. ``groups``: by name, the
    positions of the items that are counted together. ``rewordings``: second true texts (SugarCrepe++), or None.
    """

    image_paths: tuple[str, ...]
    captions: tuple[str, ...]
    foils: tuple[str, ...]
    groups: dict[str, tuple[int, ...]]
    rewordings: tuple[str, ...] | None = None


@dataclass(frozen=True)
class BoxPhrases:
    """n phrases, each true of the first of two boxes of one picture, as parallel tuples."""

    image_paths: tuple[str, ...]
    phrases: tuple[str, ...]
    boxes: tuple[tuple[Box, Box], ...]


def read_valse(path: Path) -> CaptionFoils:
    """Read a file of VALSE, such as existence.json: id -> {image_file, caption, foil, mturk: {caption: votes}, ...}.

    Groups: ``all`` (existence: 534) and ``valid`` (505), where at least two of three annotators chose the caption.
    Errors: :class:`UserError` with the id where a field is missing, blank or of another kind.
    """
    content = read_json(path)
    _require(isinstance(content, dict), path, "a JSON document", "an object id -> record, as VALSE's files have it")
    records = list(_records(path, content))
    votes = [_votes(path, where, record) for where, record in records]
    valid = tuple(i for i, count in enumerate(votes) if count >= VALID_VOTES)
    images, captions, foils = _columns(path, records, "image_file", "caption", "foil")
    return CaptionFoils(images, captions, foils, {"all": tuple(range(len(records))), "valid": valid})


def read_sugarcrepe(path: Path) -> CaptionFoils:
    """Read one split of SugarCrepe or SugarCrepe++ (a file), or all splits in a folder, each file one group.

    SugarCrepe: id -> {filename, caption, negative_caption}. SugarCrepe++: a list of {id, filename, caption, caption2,
    negative_caption}; ``rewordings`` are its ``caption2``. Groups bear the files' names without ending, in the order
    of the alphabet.

    Errors: :class:`UserError` with file and id where a field is missing or blank, or an id stands twice; a folder
    without JSON files, or with files of both kinds.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    _require(bool(files), path, "a folder without .json files", "SugarCrepe's splits, such as replace_att.json")
    records: list[tuple[str, _Record]] = []
    groups: dict[str, tuple[int, ...]] = {}
    columns: list[tuple[str, ...]] = []
    kinds = set()
    for file in files:
        content = read_json(file)
        kinds.add(type(content))
        _require(len(kinds) == 1, file, "both objects and lists", "SugarCrepe's or SugarCrepe++'s files, not both")
        found = list(_records(file, content))
        fields = ("filename", "caption", "negative_caption", *(("caption2",) if isinstance(content, list) else ()))
        columns = _joined(columns, _columns(file, found, *fields))
        groups[file.stem] = tuple(range(len(records), len(records) + len(found)))
        records += found
    return CaptionFoils(columns[0], columns[1], columns[2], groups, columns[3] if len(columns) > 3 else None)


def read_negrefcocog(path: Path) -> BoxPhrases:
    """Read NegRefCOCOg.json: a list of {image, phrase, ref_bbox, bbox_list: two boxes}, the true one among the two.

    A box is [left, top, width, height]. Errors: :class:`UserError` with the row where a field is missing, a box has no
    area, or ``ref_bbox`` is not exactly one of the two.
    """
    content = read_json(path)
    _require(isinstance(content, list), path, "a JSON document", "a list of records, as NegRefCOCOg.json has it")
    records = list(_records(path, content))
    images, phrases = _columns(path, records, "image", "phrase")
    return BoxPhrases(images, phrases, tuple(_boxes(path, where, record) for where, record in records))


def _records(path: Path, content: Any) -> Iterator[tuple[str, _Record]]:  # noqa: ANN401 (a JSON document)
    """The records of a list or an object, each with the words that say where it stands."""
    _require(isinstance(content, dict | list) and len(content) > 0, path, "no records", "records, at least one")
    rows = [(f"id {key!r}", record) for key, record in content.items()] if isinstance(content, dict) else [
        (f"row {i}", record) for i, record in enumerate(content, start=1)
    ]  # fmt: skip
    seen: dict[str, str] = {}
    for where, record in rows:
        _require(isinstance(record, dict), path, f"{where} is {str(record)[:80]}", "an object with named fields")
        if isinstance(content, list) and "id" in record:
            key = str(record["id"])
            _require(key not in seen, path, f"{where} has the id {key} of {seen.get(key)}", "each id once")
            seen[key] = where
        yield where, record


def _columns(path: Path, records: list[tuple[str, _Record]], *fields: str) -> list[tuple[str, ...]]:
    return [tuple(_text(path, where, record, field) for where, record in records) for field in fields]


def _joined(first: list[tuple[str, ...]], second: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [a + b for a, b in zip(first, second, strict=True)] if first else second


def _text(path: Path, where: str, record: _Record, field: str) -> str:
    _require(field in record, path, f"{where} without {field}", f"a text {field} in every record")
    value = record[field]
    filled = isinstance(value, str) and not is_blank(value) and not any("\ud800" <= c <= "\udfff" for c in value)
    _require(filled, path, f"{where}: {field} is {str(value)[:80]!a}", "a text with at least one word")
    return str(value)


def _votes(path: Path, where: str, record: _Record) -> int:
    mturk = record.get("mturk")
    votes = mturk.get("caption") if isinstance(mturk, dict) else None
    _require(type(votes) is int, path, f"{where} without mturk.caption", "how many annotators chose the caption")
    return int(votes or 0)


def _boxes(path: Path, where: str, record: _Record) -> tuple[Box, Box]:
    """The true box first."""
    listed = record.get("bbox_list")
    _require(isinstance(listed, list) and len(listed) == 2, path, f"{where}: bbox_list {listed!r:.80}", "two boxes")
    first, second = (_box(path, where, value) for value in listed or ())
    true = _box(path, where, record.get("ref_bbox"))
    _require([first, second].count(true) == 1, path, f"{where}: ref_bbox {true}", "one of the two boxes of bbox_list")
    return (first, second) if true == first else (second, first)


def _box(path: Path, where: str, value: object) -> Box:
    numbers = [float(x) for x in value if type(x) in (int, float)] if isinstance(value, list) else []
    whole = isinstance(value, list) and len(value) == len(numbers) == 4 and all(map(math.isfinite, numbers))
    left, top, width, height = numbers if whole else [0.0] * 4
    area = round(left + width) > round(left) and round(top + height) > round(top)
    _require(area, path, f"{where}: box {value!r:.80}", "[left, top, width, height] in pixels, with an area")
    return left, top, width, height


def _require(met: bool, path: Path, got: str, expected: str) -> None:
    if not met:
        raise UserError(f"{path}: {got}", expected, "correct the file, or download it again")
