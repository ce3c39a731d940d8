"""Tables of captions and paths: CSV, TSV, JSON lines, parquet, all read as text."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from litotes.errors import UserError

IMAGE = ("filepath", "image_path", "image")
CAPTION = ("caption", "title", "text")
NEGATED = ("negated_caption", "negative_caption")

_SEPARATORS = {",": "comma", "\t": "tab", ";": "semicolon"}
_TEXT = (".csv", ".tsv", ".txt")
_JSON_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_FOREIGN = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_DO_UTF8 = "save the file as UTF-8 (for example: iconv -f FROM -t UTF-8)"


@dataclass(frozen=True)
class Table:
    """A table whose every cell is text.

    ``path``: the file. ``columns``: titles in the file's order, outer blanks taken off; a column without a
    title is called "column 1", "column 2", ... by its place. ``rows``: one dictionary a row, title -> cell.
    ``form``: how it was read: "comma", "tab", "semicolon", "JSON lines" or "parquet".
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[dict[str, str], ...]
    form: str

    def __str__(self) -> str:
        return f"{self.path} (separator: {self.form}, columns: {', '.join(self.columns)})"


def read_table(path: str | Path) -> Table:
    """Read a table with at least one row.

    The ending names the form: .csv, .tsv, .txt (separator comma, tab or semicolon, whichever parts the
    header into most titles), .jsonl, .ndjson (one object a line), .parquet, .pq. Text is UTF-8, with or
    without byte order mark; line ends of any kind; quotes and line breaks inside quoted cells as in RFC 4180.

    Nothing is interpreted: "NA", "null" and "" stay the texts they are, and no cell is stripped. Of JSON and
    parquet, numbers become their digits, null becomes "", and a list becomes its JSON text.

    Errors: :class:`UserError`, with the file, the separator and the titles found, when the file is absent,
    empty, has a header only, is not UTF-8, holds a NUL byte, has the same title twice (case aside), or has a
    row with more or fewer cells than titles.
    """
    file = Path(path)
    ending = file.suffix.lower()
    if ending in _PARQUET:
        _check_file(file)
        columns, rows = _read_parquet(file)
        form = "parquet"
    elif ending in _JSON_LINES:
        columns, rows = _read_json_lines(file, _decode(file))
        form = "JSON lines"
    elif ending in _TEXT:
        columns, rows, form = _read_separated(file, _decode(file))
    else:
        known = ", ".join((*_TEXT, *_JSON_LINES, *_PARQUET))
        raise UserError(f"table {file}", f"a file that ends in {known}", "convert or rename the table")
    table = Table(file, columns, tuple(rows), form)
    if not rows:
        raise UserError(f"{table} has 0 rows", "at least one row below the header", "fill the table")
    return table


def read_json(path: Path, expected: str = "one JSON document, each key once", do: str = "correct the file") -> Any:  # noqa: ANN401 (whatever the document holds)
    """One JSON document, strictly: UTF-8, no key twice in one object, no NaN.

    Errors: :class:`UserError` with the file and the reason, as for a table, and what to do about it.
    """
    text = _decode(path)
    try:
        return json.loads(text, object_pairs_hook=once_each, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: {_reason(error)}", expected, do) from error


def read_lines(path: Path) -> list[str]:
    """The lines of a text in UTF-8, without their ends (line feed, or carriage return and line feed); at least one.

    No other character ends a line, and nothing else is taken off. Errors: :class:`UserError`, as for a table.
    """
    lines = [line.removesuffix("\r") for line in _decode(path).split("\n")]
    return lines[:-1] if not lines[-1] else lines


def title_of(table: Table, *names: str) -> str | None:
    """Return the title of the first of ``names`` that the table has, case and outer blanks aside, or None."""
    titles = {title.casefold(): title for title in table.columns}
    for name in names:
        if name.strip().casefold() in titles:
            return titles[name.strip().casefold()]
    return None


def column(table: Table, *names: str) -> list[str]:
    """Return the cells of the first of ``names`` that the table has.

    Errors: :class:`UserError` when it has none of them, with the titles that it does have.
    """
    title = title_of(table, *names)
    if title is None:
        wanted = f"a column {names[0]}" if len(names) == 1 else f"one of the columns {', '.join(names)}"
        raise UserError(str(table), wanted, "rename the column, or choose another table")
    return [row[title] for row in table.rows]


def filled(table: Table, *names: str) -> list[str]:
    """Return the cells of the first of ``names`` that the table has, each with a word in it.

    Errors: those of ``column``; :class:`UserError` with the rows whose cell has no words.
    """
    cells = column(table, *names)
    blank = [i for i, cell in enumerate(cells, start=1) if is_blank(cell)]
    if blank:
        raise UserError(
            f"{table.path}: column {title_of(table, *names)} has no words in {len(blank)} rows: {listed(blank)}",
            "a sentence in every row (row 1 is the first below the header)",
            "fill or remove these rows",
        )
    return cells


def is_blank(text: str) -> bool:
    """Whether a text has nothing but blanks and the marks that end a sentence."""
    return not text.strip(" \t\r\n.?!")


def listed(items: Sequence[object], shown: int = 10) -> str:
    """Write the first of some items in a line, and say where there are more."""
    return ", ".join(map(str, items[:shown])) + (", ..." if len(items) > shown else "")


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise UserError(f"no file {path}", "the path of a file", "check the path")
    if path.stat().st_size == 0:
        raise UserError(f"{path} is an empty file", "a file with something in it", "write or take it anew")


def _decode(path: Path) -> str:
    _check_file(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error}", "a readable file", "check its rights") from error
    for mark, name in _FOREIGN.items():
        if raw.startswith(mark):
            raise UserError(f"{path} is {name}", "UTF-8", _DO_UTF8.replace("FROM", name))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path} is not UTF-8: byte 0x{raw[error.start]:02x} at position {error.start} (line {line})",
            "UTF-8",
            _DO_UTF8.replace("FROM", "LATIN1"),
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UserError(
            f"{path} holds a NUL byte (line {line}); a damaged file, or UTF-16 without its mark",
            "plain UTF-8 text",
            "write the table anew as UTF-8",
        )
    return text


def _read_separated(path: Path, text: str) -> tuple[tuple[str, ...], list[dict[str, str]], str]:
    separator = _separator(path, text)
    form = _SEPARATORS[separator]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[dict[str, str]] = []
    columns: tuple[str, ...] = ()
    line = 1
    try:
        for cells in reader:
            if cells and not columns:
                columns = _titles(path, form, cells)
            elif cells and len(cells) != len(columns):
                _refuse_row(path, form, columns, f"line {line} has {len(cells)} fields", len(columns))
            elif cells:
                rows.append(dict(zip(columns, cells, strict=True)))
            line = reader.line_num + 1
    except csv.Error as error:
        _refuse_row(path, form, columns, f"line {line}: {error}", len(columns))
    if not columns:
        raise UserError(f"{path} holds blank lines only", "a header and at least one row", "fill the table")
    return columns, rows, form


def _separator(path: Path, text: str) -> str:
    """Choose the separator that parts the header into most titles; on a tie the file's ending decides."""
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    header = next((line for line in text.splitlines() if line.strip()), "")
    counts = {mark: _count(header, mark) for mark in _SEPARATORS}
    return max(counts, key=lambda mark: (counts[mark], mark == usual))


def _count(header: str, mark: str) -> int:
    try:
        return len(next(csv.reader([header], delimiter=mark), []))
    except csv.Error:  # a title of over 131,072 characters; the reading of the rows then says so
        return 0


def _titles(path: Path, form: str, cells: list[str]) -> tuple[str, ...]:
    titles = tuple(cell.strip() or f"column {i}" for i, cell in enumerate(cells, start=1))
    seen: set[str] = set()
    for title in titles:
        if title.casefold() in seen:
            raise UserError(
                f"{path} (separator: {form}) has the column {title!r} twice: {', '.join(titles)}",
                "titles that differ in more than case",
                "rename or remove one of the columns",
            )
        seen.add(title.casefold())
    return titles


def _refuse_row(path: Path, form: str, columns: tuple[str, ...], what: str, expected: int) -> NoReturn:
    raise UserError(
        f"{path} (separator: {form}, columns: {', '.join(columns)}): {what}, {expected} expected",
        f"{expected} cells in every row, a cell with the separator or a line break inside double quotes",
        "quote the cell, or write the table with a CSV library",
    )


def _read_json_lines(path: Path, text: str) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    columns: tuple[str, ...] = ()
    titles: dict[str, str] = {}
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        record = _object(path, number, line)
        if not columns:
            columns = _titles(path, "JSON lines", list(record))
            titles = dict(zip(record, columns, strict=True))
        if set(record) != set(titles):
            found = f"line {number} has the keys {', '.join(record)}"
            _refuse_row(path, "JSON lines", columns, found, len(columns))
        rows.append({title: _text(path, f"line {number}", record[key]) for key, title in titles.items()})
    if not columns:
        raise UserError(f"{path} holds blank lines only", "one JSON object a line", "fill the table")
    return columns, rows


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    wanted = "one JSON object a line, each key once"
    try:
        record = json.loads(line, object_pairs_hook=once_each, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}, line {number}: {_reason(error)}", wanted, "correct the line") from error
    if not isinstance(record, dict) or not record:
        raise UserError(f"{path}, line {number} is no JSON object with keys", wanted, "correct the line")
    return record


def _reason(error: ValueError | RecursionError) -> str:
    """Why something is no JSON, without the words of Python's reader."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON from line {error.lineno}, column {error.colno} on"
    return "a number of more digits than any here has" if "digits" in str(error) else str(error)


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, from json's own hook. Errors: ValueError for a key that stands twice."""
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return record


def no_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's reader takes (ValueError)."""
    raise ValueError(f"{name} is not JSON")


def _text(path: Path, where: str, value: object) -> str:
    """Turn a JSON or parquet value into the text of a cell."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = value
    elif isinstance(value, (bool, int, float, list)):
        text = json.dumps(value, ensure_ascii=False, default=repr)
    else:
        raise UserError(
            f"{path}, {where} holds a {type(value).__name__}",
            "text, numbers, or lists of texts",
            "leave such columns out of the table",
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        wanted = "text that can be written as UTF-8"
        raise UserError(f"{path}, {where}: half a character", wanted, "correct the line") from error
    return text


def _read_parquet(path: Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    # Imported here: pyarrow takes a noticeable part of a second, and most tables are text.
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path} cannot be read: {error}", "a parquet file", "write the table anew") from error
    columns = _titles(path, "parquet", list(table.column_names))
    cells = [
        [_text(path, f"row {i} of column {title!r}", value) for i, value in enumerate(values.to_pylist(), 1)]
        for title, values in zip(columns, table.columns, strict=True)
    ]
    return columns, [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]
