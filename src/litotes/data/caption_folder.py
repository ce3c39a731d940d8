"""A folder of pictures, each with its captions in a text file of the same name beside it."""

import os
from pathlib import Path

from litotes.data.negbench import RetrievalCaptions
from litotes.data.tables import is_blank, listed, read_lines
from litotes.errors import UserError

PICTURE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")


def picture_files(root: Path) -> list[str]:
    """Paths of all pictures below ``root``, from there, with forward slashes, by code point; hidden ones are no part.

    Endings count in either case. Two pictures never share a path, so that none takes the place of another.
    """
    return [path for path in _files(root) if path.lower().endswith(PICTURE_ENDINGS)]


def read_caption_folder(root: Path) -> RetrievalCaptions:
    """Pictures and their captions: ``dogs/001.txt`` holds those of ``dogs/001.jpg``, one a line, blank lines aside.

    A picture without a text is no query, and stays among those that are searched. Captions are kept to the letter.

    Errors: :class:`UserError` with the names, all together: a text that could belong to two pictures (``001.jpg`` and
    ``001.png``) or to none, one without a caption, one that is not UTF-8; no text at all.
    """
    pictures = picture_files(root)
    of_stem: dict[str, list[int]] = {}
    for i, path in enumerate(pictures):
        of_stem.setdefault(_stem(path), []).append(i)
    captions: list[str] = []
    owners: list[int] = []
    wrong = []
    for text in (path for path in _files(root) if path.lower().endswith(".txt")):
        found = of_stem.get(_stem(text), [])
        if len(found) != 1:
            names = " or ".join(pictures[i] for i in found)
            wrong.append(f"{text} belongs to {names}" if found else f"{text} has no picture")
            continue
        lines = _lines(root / text)
        if not lines:
            wrong.append(f"{text} has no caption")
        captions += lines
        owners += found * len(lines)
    if wrong or not captions:
        raise UserError(
            got=f"{root}: {listed(wrong) or 'no .txt file with a caption'}",
            expected="one picture for each text, of the same name but for the ending, and a caption in each text",
            do="rename or remove these files, or give a table (filepath, caption)",
        )
    return RetrievalCaptions(tuple(pictures), tuple(captions), tuple(owners))


def _files(root: Path) -> list[str]:
    """All files below a folder that are not hidden, nor in a hidden folder, by code point."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = Path(folder).relative_to(root)
        found += [(inside / name).as_posix() for name in files if not name.startswith(".")]
    return sorted(found)


def _stem(path: str) -> str:
    """The path without its last ending: "v1.0.1.png" is of "v1.0.1"."""
    return os.path.splitext(path)[0]  # noqa: PTH122 (a path from the root, as text)


def _lines(path: Path) -> list[str]:
    return [line for line in read_lines(path) if not is_blank(line)] if path.stat().st_size else []
