"""Lists of pictures with a label each that have no header, or ImageNet's own: val.txt and LOC_val_solution.csv."""

import re
from pathlib import Path
from typing import NamedTuple

from litotes.data.caption_folder import PICTURE_ENDINGS
from litotes.data.tables import listed, read_lines, read_table, title_of
from litotes.errors import UserError

WNID = re.compile(r"n\d{8}")
_KAGGLE = ("ImageId", "PredictionString")
_ENDING = ".JPEG"
_TEXTS = (".txt", ".csv", ".tsv")
LIST_OR_TABLE = (
    'a picture and its label, a WordNet id or a number from 0, in each line ("a.JPEG n01751748" or "a.JPEG 65"), or a '
    "table with the columns filepath,label"
)


class LabelList(NamedTuple):
    """Paths of pictures as the list has them, and the label of each, as text."""

    paths: list[str]
    labels: list[str]


def read_label_list(path: Path) -> LabelList | None:
    """The pictures and labels of a list; None for a table with a header of its own.

    Without a header: a picture and its label a line, parted by a tab, a comma or blanks (``val.txt`` of Caffe:
    "ILSVRC2012_val_00000001.JPEG 65"). Known by its first line, which begins with a name that ends as pictures do.
    ``LOC_val_solution.csv`` of Kaggle: ``ImageId``, to which .JPEG is added, and ``PredictionString``, of which the
    first word is the label (a box follows each).

    Errors: :class:`UserError` for a line that is not of this form, also the first one where it is a picture alone; a
    list of labels alone, one a line, from which nobody can tell which picture is meant; an empty PredictionString.
    """
    if path.suffix.lower() not in _TEXTS or not path.is_file():
        return None
    lines = [line.strip() for line in read_lines(path)]
    first = next((line for line in lines if line), "")
    if _is_label(first):
        raise UserError(
            got=f"{path}: labels alone, such as {first!r} in its first line, and no pictures",
            expected="a picture and its label in each line: ILSVRC2012_val_00000001.JPEG n01751748",
            do="put the name of its picture before each label (docs/evaluation.md tells how for ImageNet's devkit, "
            "whose numbers are those of its own meta.mat)",
        )
    for mark in ("\t", ",", None):
        parts = first.rsplit(mark, 1)
        if len(parts) == 2 and parts[0].strip().lower().endswith(PICTURE_ENDINGS):
            return _without_header(path, lines, mark)
    if first.lower().endswith(PICTURE_ENDINGS):
        raise UserError(
            got=f"{path}, line {lines.index(first) + 1}: {first[:80]!r}, a picture without a label",
            expected=LIST_OR_TABLE,
            do="put its label behind the picture, in every line that lacks it",
        )
    return _of_kaggle(path) if set(_KAGGLE) <= set(re.split(r"[,;\t]", first)) else None


def _without_header(path: Path, lines: list[str], mark: str | None) -> LabelList:
    found = [(number, [part.strip() for part in line.rsplit(mark, 1)]) for number, line in enumerate(lines, 1) if line]
    for number, parts in found:
        odd = len(parts) < 2 or not all(parts) or not parts[0].lower().endswith(PICTURE_ENDINGS)
        if odd or (mark is None and not _is_label(parts[1])):
            raise UserError(
                got=f"{path}, line {number}: {lines[number - 1][:80]!r}",
                expected=LIST_OR_TABLE,
                do="correct the line; where labels are words, give a table with the columns filepath,classname",
            )
    return LabelList([parts[0] for _, parts in found], [parts[1] for _, parts in found])


def _of_kaggle(path: Path) -> LabelList:
    table = read_table(path)
    image, told = (title_of(table, name) or name for name in _KAGGLE)
    empty = [row for row, cells in enumerate(table.rows, 1) if not cells[told].split() or not cells[image].strip()]
    if empty:
        raise UserError(
            got=f"{path}: {image} or {told} is empty in rows {listed(empty)}",
            expected="a picture and its label in every row (row 1 is the first below the header)",
            do="take the file anew",
        )
    names = [cells[image].strip() for cells in table.rows]
    paths = [name if name.lower().endswith(PICTURE_ENDINGS) else name + _ENDING for name in names]
    return LabelList(paths, [cells[told].split()[0] for cells in table.rows])


def is_number(text: str) -> bool:
    """Whether a label, or the name of a class folder, is a whole number from 0."""
    return text.isascii() and text.isdigit()


def _is_label(text: str) -> bool:
    return bool(WNID.fullmatch(text)) or is_number(text)
