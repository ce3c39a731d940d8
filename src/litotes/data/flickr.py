"""Flickr30k's captions in the forms in which they are published: the test split of 1,000 pictures, and all of them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeGuard

from litotes.data.karpathy import of_kind, sentences, test_split
from litotes.data.negbench import RetrievalCaptions, captions_of_rows
from litotes.data.tables import read_json, read_lines
from litotes.errors import UserError

_Row = tuple[str, str]
_TOKEN = re.compile(r"(?P<name>.+)#(?P<number>[0-9]+)")
_JPG = ".jpg,"


def read_flickr30k_test(path: Path) -> RetrievalCaptions:
    """Read the test split of Karpathy: 1,000 pictures with five captions each. Captions are kept to the letter.

    Three forms, told apart by ending and content:
    - ``dataset_flickr30k.json`` of Karpathy: its images of the split "test", each with ``filename`` and ``sentences``
      with ``raw``;
    - ``flickr30k_test.json`` of ALBEF and BLIP: a list of {image, caption: [texts]}, paths with their folder;
    - ``flickr30k_test_karpathy.txt`` of CLIP_benchmark: a heading, then NAME.jpg,CAPTION a line, where a caption's own
      commas are not quoted.

    Errors: :class:`UserError` with the picture or the line for a field that is missing or of another kind, and for a
    picture that stands twice; a caption file of another set.
    """
    if path.suffix.lower() == ".txt":
        return captions_of_rows(_of_lines(path))
    content = read_json(path)
    if isinstance(content, list):
        pictures = _of_list(path, content)
    else:
        pictures = test_split(path, "dataset_flickr30k.json", _of_image)
    _refuse_repeats(path, [name for name, _ in pictures])
    return captions_of_rows((name, text) for name, texts in pictures for text in texts)


def read_flickr30k_tokens(path: Path) -> RetrievalCaptions:
    """Read ``results_20130124.token``: all 31,783 pictures of Flickr30k with five captions each, as LongCLIP searches.

    A line is NAME.jpg#NUMBER, a tab, the caption, which is kept to the letter.

    Errors: :class:`UserError` with the line for one of another form, and for a caption that stands twice.
    """
    seen: dict[str, int] = {}
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        key, tab, text = line.partition("\t")
        parts = _TOKEN.fullmatch(key)
        if not parts or not tab:
            raise UserError(
                f"{path}, line {number}: {line[:80]!r}",
                "NAME.jpg#NUMBER, a tab and the caption, as results_20130124.token has it",
                "take the file anew",
            )
        if key in seen:
            raise UserError(
                f"{path}, line {number}: the caption {key} of line {seen[key]} again",
                "each caption once",
                "remove one of the lines",
            )
        seen[key] = number
        rows.append((parts["name"], text))
    return captions_of_rows(rows)


def _of_image(image: dict[str, Any]) -> tuple[str, list[str]]:
    return of_kind(image["filename"], str), [of_kind(sentence["raw"], str) for sentence in sentences(image)]


def _of_list(path: Path, content: list[Any]) -> list[tuple[str, list[str]]]:
    found = []
    for number, record in enumerate(content, start=1):
        name, texts = (record.get(key) for key in ("image", "caption")) if isinstance(record, dict) else (None, None)
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(name, str) or not _are_texts(texts):
            raise UserError(
                f"{path}: picture {number}: {record!r:.80}",
                "image, a path, and caption, a list of at least one text, as flickr30k_test.json has them",
                "take the file anew",
            )
        found.append((name, texts))
    return found


def _are_texts(texts: object) -> TypeGuard[list[str]]:
    return isinstance(texts, list) and bool(texts) and all(isinstance(text, str) for text in texts)


def _of_lines(path: Path) -> Iterator[_Row]:
    for number, line in enumerate(read_lines(path), start=1):
        name, jpg, text = line.partition(_JPG)
        if number == 1 and not jpg:
            continue
        if number == 1 or not jpg:
            raise UserError(
                f"{path}, line {number}: {line[:80]!r}",
                "a heading in line 1, and NAME.jpg,CAPTION in all others, as flickr30k_test_karpathy.txt has it",
                "take the file anew",
            )
        yield name + _JPG.removesuffix(","), text


def _refuse_repeats(path: Path, names: list[str]) -> None:
    seen: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in seen:
            raise UserError(
                f"{path}: picture {number} is {name} of picture {seen[name]} again",
                "each picture once, with all its captions",
                "remove one of the two",
            )
        seen[name] = number
