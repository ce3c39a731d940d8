"""NegBench's own files: multiple choice and retrieval, read as they are and recognised by content."""

import ast
import hashlib
import json
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from litotes.data.rows import image_paths
from litotes.data.tables import CAPTION, Table, column, read_table, title_of
from litotes.errors import UserError

KNOWN = {
    "3824ba420aeef9aa517701cff182f0eb2d584a8f17153cc84f9c4a12400783d8": "COCO MCQ rephrased",
    "2815a400bb7cf47ae7c6aee8ea035cd82540e40db6bbbb65a01c32c0e6895e48": "VOC2007 MCQ rephrased",
    "59b93b3a26b285f25575c3139560bed858d73042f04b1960d6134c54a06ede6f": "VOC2007 MCQ template",
    "e0f7252c42dee6350238d7d67dd567b27408b3fdc4376466b4cfc67d6e967a49": "HardNeg-Syn MCQ rephrased",
    "c75e2f689de27842f097a82d0029d37ca380ec58b554c8ec395a68da68c78616": "MSR-VTT MCQ rephrased",
    "355e21126f84acf064ccee19315d87f5e95fcb152aa85b779cf7a2ac1b910733": "COCO retrieval standard",
    "3026c3fe587890769b1fef6abbcc29d325a00d509da441b1c2d5e485af536746": "COCO retrieval negated rephrased",
    "1224eaa904d678cc330cb49e819b799468093428589553e56881248f3e78e545": "COCO retrieval negated template",
}
"""SHA-256 by the recipes below -> name of the published file."""

UNTYPED = "untyped"
"""The question type where the file has no column for it (the two-option medical files)."""

MAX_CELL = 1_000_000
"""Longest list cell that is parsed, in characters; the longest published one is under 4,000."""

_STRING = r"""(?:'(?:[^'\\\n\r]|\\.)*+'|"(?:[^"\\\n\r]|\\.)*+")"""
# A flat list of quoted strings and nothing else. What matches has no nesting, no names and no operators, so
# reading it as a literal can neither run anything nor exhaust the interpreter.
_LIST = re.compile(rf"\s*\[\s*(?:{_STRING}\s*(?:,\s*{_STRING}\s*)*+,?\s*)?+\]\s*", re.DOTALL)
_OPTION = re.compile(r"caption_[0-9]+", re.IGNORECASE)
_LOOKS_LIKE_LIST = re.compile(r"""\s*\[\s*['"\[\]]""")


@dataclass(frozen=True)
class ChoiceQuestions:
    """n multiple-choice questions as parallel tuples.

    ``image_paths``: as in the file. ``options``: captions, equally many for every question. ``correct``:
    position of the right one, from 0. ``types``: "positive", "negative" or "hybrid", after the right option.
    """

    image_paths: tuple[str, ...]
    options: tuple[tuple[str, ...], ...]
    correct: tuple[int, ...]
    types: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.correct)


@dataclass(frozen=True)
class RetrievalCaptions:
    """m pictures and n captions; caption j belongs to picture ``image_of_caption[j]``.

    ``image_paths``: m different paths in the order of the file. ``captions``: n texts, untouched.
    """

    image_paths: tuple[str, ...]
    captions: tuple[str, ...]
    image_of_caption: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.captions)


def read_choice(path: str | Path) -> ChoiceQuestions:
    """Read a multiple-choice table.

    Columns, by name: image_path, correct_answer, caption_0, caption_1, ... (two or more), and
    correct_answer_template (absent: every question is "untyped"). Captions are kept to the letter, outer blanks and
    "None" included.

    Errors: :class:`UserError` with the rows: missing columns, a number left out among those of the captions; answers
    that are no position of an option; an option without text; a type that is empty; those of ``image_paths``. Two
    options of one wording are taken: they tie, which the evaluation counts as wrong and tells.
    """
    table = read_table(path)
    titles: list[str] = []
    while (title := title_of(table, f"caption_{len(titles)}")) is not None:
        titles.append(title)
    if len(titles) < 2:
        raise UserError(str(table), "columns caption_0, caption_1, ...", "give a multiple-choice table")
    further = [title for title in table.columns if _OPTION.fullmatch(title) and title not in titles]
    if further:
        raise UserError(
            f"{table.path}: the columns {', '.join([*titles, *further])}",
            f"caption_0, caption_1, ... without a gap; caption_{len(titles)} is missing",
            "rename the columns",
        )
    answers = column(table, "correct_answer")
    places = {form: i for i in range(len(titles)) for form in (str(i), f"{i}.0")}  # 1.0: a column once held gaps
    wrong = [i for i, answer in enumerate(answers, 1) if answer.strip() not in places]
    if wrong:
        raise UserError(
            f"{table.path}: correct_answer {answers[wrong[0] - 1]!r} in rows {_listed(wrong)}",
            f"0 .. {len(titles) - 1} (row 1 is the first below the header)",
            "correct these rows",
        )
    correct = [places[answer.strip()] for answer in answers]
    options = [tuple(row[title] for title in titles) for row in table.rows]
    typed = title_of(table, "correct_answer_template") is not None
    types = column(table, "correct_answer_template") if typed else [UNTYPED] * len(answers)
    blank = [not all(text.strip() for text in texts) for texts in options]
    _refuse_rows(table, "an option is empty", blank, f"{len(titles)} options with text in every row")
    _refuse_rows(table, "correct_answer_template is empty", [not kind.strip() for kind in types], "a word in every row")
    return ChoiceQuestions(tuple(image_paths(table)), tuple(options), tuple(correct), tuple(types))


def read_retrieval(path: str | Path) -> RetrievalCaptions:
    """Read a retrieval table.

    Columns: filepath and captions. A cell of captions is a list literal of strings, Python's or JSON's; or,
    when no cell of the file begins like a list of strings, every cell is one caption. A column caption,
    title or text in place of captions always holds one caption a row. Rows of the same path belong to one
    picture. Captions are kept to the letter, the empty one included; nothing is ever evaluated.

    Errors: :class:`UserError` with the numbers of the rows whose cell is not such a list, or is an empty one; those of
    ``image_paths``.
    """
    table = read_table(path)
    if title_of(table, "captions") is None:
        cells = [[text] for text in column(table, "captions", *CAPTION)]
    else:
        cells = _caption_cells(table, column(table, "captions"))
    paths = image_paths(table)
    return captions_of_rows((name, text) for name, cell in zip(paths, cells, strict=True) for text in cell)


def captions_of_rows(rows: Iterable[tuple[str, str]]) -> RetrievalCaptions:
    """Captions from rows of picture path and caption; rows of one path belong to one picture, wherever they stand."""
    pairs = list(rows)
    position = {name: i for i, name in enumerate(dict.fromkeys(name for name, _ in pairs))}
    return RetrievalCaptions(
        tuple(position), tuple(text for _, text in pairs), tuple(position[name] for name, _ in pairs)
    )


def fingerprint_choice(questions: ChoiceQuestions) -> str:
    """Return the SHA-256 that knows a multiple-choice file whatever its path prefix and column order.

    Per question, joined by TAB: file name of the picture, position of the right option, the options, the
    type; questions joined by LF; UTF-8. Result: 64 hexadecimal digits; ``KNOWN`` names the published files.
    """
    parts = zip(questions.image_paths, questions.correct, questions.options, questions.types, strict=True)
    return _sha256(
        "\t".join((_file_name(path), str(correct), *options, kind)) for path, correct, options, kind in parts
    )


def fingerprint_retrieval(captions: RetrievalCaptions) -> str:
    """Return the SHA-256 that knows a retrieval file whatever its path prefix.

    Per caption, joined by TAB: file name of the picture, caption; in the file's order, joined by LF; UTF-8.
    """
    pairs = zip(captions.image_of_caption, captions.captions, strict=True)
    return _sha256(f"{_file_name(captions.image_paths[i])}\t{text}" for i, text in pairs)


def recognise(fingerprint: str) -> str:
    """Say in a few words whether a fingerprint is that of a published file or of the user's own."""
    return f"published file: {KNOWN[fingerprint]}" if fingerprint in KNOWN else "yours"


def parse_list(cell: str) -> list[str] | None:
    """Read a list literal of strings, JSON's or Python's; None when the cell is anything else or too long."""
    if len(cell) > MAX_CELL or not _LIST.fullmatch(cell):
        return None
    try:
        # JSON first: of two escapes that form one character Python would make two halves.
        texts = json.loads(cell)
    except ValueError:
        texts = _literal(cell)
    if texts is None or any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):
        return None
    return list(texts)


def _literal(cell: str) -> list[str] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of escapes that it does not know, and keeps them
        try:
            value: list[str] = ast.literal_eval(cell.strip())
        except (ValueError, SyntaxError):
            return None
    return value


def _caption_cells(table: Table, cells: list[str]) -> list[list[str]]:
    if not any(_LOOKS_LIKE_LIST.match(cell) for cell in cells):
        return [[cell] for cell in cells]
    lists = [parse_list(cell) for cell in cells]
    bad = [i for i, texts in enumerate(lists, start=1) if not texts]
    if bad:
        raise UserError(
            f"{table.path}: captions {cells[bad[0] - 1][:80]!r} in rows {_listed(bad)}",
            "a list of at least one string in every row (row 1 is the first below the header)",
            "write each cell as a JSON list of strings, or all of them as one caption a row",
        )
    return [texts for texts in lists if texts]


def _refuse_rows(table: Table, what: str, faulty: Sequence[bool], wanted: str) -> None:
    rows = [row for row, wrong in enumerate(faulty, start=1) if wrong]
    if rows:
        raise UserError(
            f"{table.path}: {what} in rows {_listed(rows)}",
            f"{wanted} (row 1 is the first below the header)",
            "correct these rows, or leave them out",
        )


def _listed(rows: list[int]) -> str:
    return ", ".join(map(str, rows[:20])) + (f", ... ({len(rows)} rows)" if len(rows) > 20 else "")


def _file_name(path: str) -> str:
    return path.rsplit("/", maxsplit=1)[-1]


def _sha256(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()
