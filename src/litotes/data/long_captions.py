"""Pictures with one long caption each: Urban1k, and the first thousand of ShareGPT4V, as LongCLIP asks for them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from litotes.data.negbench import RetrievalCaptions, captions_of_rows
from litotes.data.tables import listed, no_constant, once_each, read_lines
from litotes.errors import UserError

SHAREGPT4V_COUNT = 1000
"""LongCLIP keeps the first 1,000 entries of the file for its evaluation and trains on the others."""

_PIECE, _LONGEST = 1 << 16, 1 << 24
_DECODER = json.JSONDecoder(object_pairs_hook=once_each, parse_constant=no_constant)


def read_urban1k(folder: Path) -> tuple[RetrievalCaptions, list[str]]:
    """Read Urban1k: ``image/N.jpg`` and, of the same name, ``caption/N.txt``, in whose first line the caption stands.

    Returns the captions, paths from ``folder`` on, in the order of the names; and in sentences what must be known of
    them: further lines are no part of a caption, as in LongCLIP's own evaluation.

    Errors: :class:`UserError` where one of the two folders is missing; with their names, for captions without a
    picture, pictures without a caption, and empty files.
    """
    images, texts = folder / "image", folder / "caption"
    if not images.is_dir() or not texts.is_dir():
        raise UserError(
            f"{folder} without {'image' if not images.is_dir() else 'caption'}/",
            "the folder Urban1k, with the folders image (N.jpg) and caption (N.txt) in it",
            "name the folder that holds these two",
        )
    pictures = {file.stem: file.name for file in images.glob("*.jpg") if not file.name.startswith(".")}
    captions = {file.stem: file for file in texts.glob("*.txt") if not file.name.startswith(".")}
    lines = {stem: read_lines(file) if file.stat().st_size else [] for stem, file in captions.items()}
    wrong = [f"caption/{stem}.txt without image/{stem}.jpg" for stem in sorted(captions.keys() - pictures)]
    wrong += [f"image/{name} without a caption" for stem, name in sorted(pictures.items()) if stem not in captions]
    wrong += [f"caption/{stem}.txt, empty" for stem in sorted(lines) if not lines[stem]]
    if wrong or not captions:
        raise UserError(
            f"{folder}: {listed(wrong) or 'no caption/*.txt'}",
            "one text for each picture, of the same name, with the caption in its first line",
            "complete or remove these files",
        )
    more = sum(any(map(str.strip, rest[1:])) for rest in lines.values())
    notes = [f"caption files with more than one line, of which the first counts: {more:,}"] if more else []
    return captions_of_rows((f"image/{pictures[stem]}", lines[stem][0]) for stem in sorted(captions)), notes


def read_sharegpt4v(path: Path, count: int = SHAREGPT4V_COUNT) -> RetrievalCaptions:
    """Read the first ``count`` entries of ``share-captioner_coco_lcs_sam_1246k_1107.json``; the rest is not read.

    The file is a list of {image, conversations: [{from: "human", ...}, {from: "gpt", value}]}; the second value is the
    caption, its line ends turned into blanks, as LongCLIP does. A file of fewer entries gives all of them.

    Errors: :class:`UserError` with the number of the entry where a field is missing or of another kind; no JSON list of
    objects.
    """
    found = []
    for number, entry in enumerate(_entries(path, count), start=1):
        image, talk = entry.get("image"), entry.get("conversations")
        answer = talk[1] if isinstance(talk, list) and len(talk) > 1 and isinstance(talk[1], dict) else {}
        text = answer.get("value")
        if not isinstance(image, str) or not isinstance(text, str) or answer.get("from", "gpt") != "gpt":
            raise UserError(
                f"{path}: entry {number}: {json.dumps(entry)[:120]}",
                'image, and conversations with {"from": "gpt", "value": caption} in the second place',
                "take ShareGPT4V's share-captioner_coco_lcs_sam_1246k_1107.json",
            )
        found.append((image, text.replace("\n", " ")))
    if not found:
        raise UserError(f"{path}: an empty list", "entries, at least one", "take the file anew")
    return captions_of_rows(found)


def _entries(path: Path, count: int) -> Iterator[dict[str, Any]]:
    """The first entries of a JSON list of objects, read piece by piece: the published file has 1.5 GB."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = _ahead(file, "")
            if text[:1] != "[":
                raise ValueError("no list")
            for number in range(1, count + 1):
                text = _ahead(file, text[1:])  # past the bracket or the comma
                if number == 1 and text[:1] == "]":
                    return
                entry, text = _entry(file, text, number)
                yield entry
                if text[:1] == "]":
                    return
                if text[:1] != ",":
                    raise ValueError(f"no comma after entry {number}")
    except FileNotFoundError:
        raise UserError(f"no file {path}", "ShareGPT4V's JSON", "check the path") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", "ShareGPT4V's JSON", "check the path") from error
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"{path}: {error}",
            "one JSON list of objects",
            "take ShareGPT4V's share-captioner_coco_lcs_sam_1246k_1107.json",
        ) from error


def _entry(file: TextIO, text: str, number: int) -> tuple[dict[str, Any], str]:
    """The object that a text begins with, and what follows it. Errors: ValueError."""
    while True:
        try:
            entry, end = _DECODER.raw_decode(text)
        except json.JSONDecodeError as error:
            piece = file.read(_PIECE) if len(text) < _LONGEST else ""
            if not piece:
                raise ValueError(f"entry {number}: {error}") from error
            text += piece
            continue
        if not isinstance(entry, dict):
            raise ValueError(f"entry {number} is {json.dumps(entry)[:80]}")
        return entry, _ahead(file, text[end:])


def _ahead(file: TextIO, text: str) -> str:
    """The text without blanks at its beginning, with the next piece of the file where nothing is left of it."""
    text = text.lstrip()
    while not text and (piece := file.read(_PIECE)):
        text = piece.lstrip()
    return text
