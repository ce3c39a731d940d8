"""What every table of pictures must satisfy, told with the file and the rows (row 1 is the first below the header)."""

from collections import defaultdict

from litotes.data.tables import IMAGE, Table, column, listed, title_of
from litotes.errors import UserError

ROW_IDS = ("id", "question_id", "caption_id")
"""Columns that, where a table has them, tell its rows apart."""
IMAGE_ID = "image_id"


def image_paths(table: Table) -> list[str]:
    """The cells of the column of pictures, none of them empty, once the table's ids are known to be sound.

    A column of ``ROW_IDS`` must have every id once; one named ``image_id``, one picture for each id, and one id for
    each picture. An empty cell in such a column is no id. Nothing else is done with ids: rows and pictures go by their
    place and path, so that ids may be numbers or text.

    Errors: :class:`UserError` with the rows: those of ``column``; an empty path; an id that stands twice.
    """
    paths = column(table, *IMAGE)
    empty = [row for row, path in enumerate(paths, start=1) if not path.strip()]
    if empty:
        raise UserError(
            f"{table.path}: {title_of(table, *IMAGE)} is empty in rows {listed(empty)}",
            "the path of a picture in every row (row 1 is the first below the header)",
            "fill or remove these rows",
        )
    for name in ROW_IDS:
        if title_of(table, name) is not None:
            _require_once(table, name)
    if title_of(table, IMAGE_ID) is not None:
        _require_one_to_one(table, paths)
    return paths


def _require_once(table: Table, name: str) -> None:
    rows: dict[str, list[int]] = defaultdict(list)
    for row, identity in enumerate(column(table, name), start=1):
        if identity.strip():
            rows[identity].append(row)
    twice = {identity: places for identity, places in rows.items() if len(places) > 1}
    if twice:
        told = listed([f"{identity} in rows {listed(places)}" for identity, places in twice.items()], 5)
        raise UserError(
            f"{table.path}: {len(twice)} ids stand more than once in the column {title_of(table, name)}: {told}",
            "every id once (row 1 is the first below the header)",
            f"correct or remove these rows; call the column {IMAGE_ID} if it is the picture that it names",
        )


def _require_one_to_one(table: Table, paths: list[str]) -> None:
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for row, (identity, path) in enumerate(zip(column(table, IMAGE_ID), paths, strict=True), start=1):
        if not identity.strip():
            continue
        for key, value in ((("id", identity), path), (("path", path), identity)):
            known, place = first.setdefault(key, (value, row))
            if known != value:
                what = f"{IMAGE_ID} {identity}" if key[0] == "id" else f"the picture {path}"
                raise UserError(
                    f"{table.path}: {what} with {known} in row {place} and with {value} in row {row}",
                    f"one picture for each {IMAGE_ID}, one {IMAGE_ID} for each picture",
                    "correct these rows (row 1 is the first below the header)",
                )
