"""Which pictures of a run cannot be used, and what becomes of their rows: one policy for every command."""

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from PIL import Image

from litotes.data.images import ImageFiles, Pictures, Subset, reason_of, unreadable
from litotes.data.processes import in_processes
from litotes.data.tables import listed
from litotes.errors import UserError

OnBroken = Literal["stop", "skip"]
Cell = TypeVar("Cell")

CHECKED_AT_ONCE = 32
_SHOWN = 10


class AllOf:
    """Several picture transforms as one, for ``Screening.look``: it refuses what any of them refuses."""

    def __init__(self, transforms: Sequence[Callable[[Image.Image], object]]) -> None:
        self._transforms = list(transforms)

    def __call__(self, picture: Image.Image) -> None:
        """Apply each."""
        for transform in self._transforms:
            transform(picture)


@dataclass(frozen=True)
class Selection:
    """What is left of a table.

    ``pictures``: those that are left, in their order. ``rows``: places of the rows that are left. ``image_of_row``: for
    each of these, the place of its picture in ``pictures``.
    """

    pictures: Pictures
    rows: list[int]
    image_of_row: list[int]

    def of(self, column: Sequence[Cell]) -> list[Cell]:
        """The cells of a column in the rows that are left."""
        return [column[i] for i in self.rows]


class Screening:
    """Finds the pictures that are missing or broken, and leaves out the rows that need them, or stops.

    A picture is *missing* where nothing has its name, and *broken* where something has and it is no whole picture: a
    file that is empty, cut, damaged, no picture or far too large, a folder, a link that leads nowhere. It is *left out*
    with every row that needs it: no other takes its place, and it is counted once, however many rows and tables name
    it.

    ``broken``: "stop" refuses the first one that is found, "skip" leaves out all of them. ``allow_missing``: how many
    pictures may be missing in all tables of a run together; those are left out.

    It goes in two steps. ``select``, for each table, sees what a look at the folders tells. ``look``, for "skip",
    decodes every picture once; where it finds something, every ``select`` is to be made again. Under "stop" a file that
    is damaged within stops the run when it is decoded. What ``look`` decodes is not kept (150 kB a picture at 224
    pixels), so that the pictures which are left are decoded once more when they are encoded.
    """

    def __init__(self, broken: OnBroken = "stop", allow_missing: int = 0) -> None:
        self.on_broken = broken
        self.allow_missing = allow_missing
        self._names: dict[Path, str] = {}
        self._missing: set[Path] = set()
        self._broken: dict[Path, str] = {}
        self._rows: dict[str, int] = {}
        self._looked = False

    def select(self, what: str, pictures: Pictures, image_of_row: Sequence[int]) -> Selection:
        """What is left of the table ``what``; ``image_of_row``: the place of each row's picture in ``pictures``.

        Errors: :class:`UserError` for a broken picture under "stop", with what a look at the folders tells of others;
        for more missing ones than are allowed; and where no row is left.
        """
        paths = [pictures.path(i) for i in range(len(pictures))]
        for i, path in enumerate(paths):
            if path is not None and path not in self._names:
                self._names[path] = pictures.name(i)
                self._classify(path)
        self._refuse(dict.fromkeys(path for path in paths if path is not None))
        left = [i for i, path in enumerate(paths) if path not in self._missing and path not in self._broken]
        place = {i: new for new, i in enumerate(left)}
        rows = [row for row, image in enumerate(image_of_row) if image in place]
        self._rows[what] = len(image_of_row) - len(rows)
        if not rows:
            raise UserError(
                got=f"{what}: none of {len(image_of_row)} rows has a picture that can be used; {self._examples()}",
                expected="at least one",
                do="check the folder of the pictures (--images-root)",
            )
        kept = pictures if len(left) == len(pictures) else Subset(pictures, left)
        return Selection(kept, rows, [place[image_of_row[row]] for row in rows])

    def look(
        self,
        transform: Callable[[Image.Image], object],
        workers: int = 0,
        progress: Callable[[str, int, int], None] = lambda what, done, total: None,
    ) -> bool:
        """Under "skip", decode and transform every picture that ``select`` has seen; whether more are broken.

        ``transform``: what the model does to a picture, which may refuse it too. Each file is tried once in a run.
        """
        if self.on_broken == "stop" or self._looked:
            return False
        self._looked = True
        paths = [path for path in self._names if path not in self._missing and path not in self._broken]
        parts = [paths[i : i + CHECKED_AT_ONCE] for i in range(0, len(paths), CHECKED_AT_ONCE)]
        known, done = len(self._broken), 0
        for part, reasons in zip(parts, in_processes(partial(_reasons, transform), parts, workers), strict=True):
            self._broken |= {path: reason for path, reason in zip(part, reasons, strict=True) if reason}
            done += len(part)
            progress("pictures checked", done, len(paths))
        return len(self._broken) > known

    def record(self) -> dict[str, Any]:
        """For a result: ``n_skipped``, how many pictures are left out, and ``left_out``, which, why, with what.

        ``left_out``: ``of``, how many pictures the tables name; ``missing``, names as the tables have them; ``broken``,
        objects of ``picture`` and ``reason``; ``rows``, by table how many of its rows.
        """
        broken = [{"picture": self._names[path], "reason": reason} for path, reason in sorted(self._broken.items())]
        missing = [self._names[path] for path in sorted(self._missing)]
        return {
            "n_skipped": len(missing) + len(broken),
            "left_out": {"of": len(self._names), "missing": missing, "broken": broken, "rows": dict(self._rows)},
        }

    def _classify(self, path: Path) -> None:
        """What the folder tells of a file."""
        try:
            found = os.stat(path)  # noqa: PTH116 (a third of the time of Path.stat, for every picture of a table)
        except FileNotFoundError:
            if os.path.lexists(path):
                self._broken[path] = "a link that leads nowhere"
            else:
                self._missing.add(path)
        except OSError as error:
            self._broken[path] = str(error.strerror)
        else:
            if stat.S_ISDIR(found.st_mode):
                self._broken[path] = "a folder"
            elif not stat.S_ISREG(found.st_mode):
                self._broken[path] = "no regular file"
            elif not found.st_size:
                self._broken[path] = "an empty file"

    def _refuse(self, paths: dict[Path, None]) -> None:
        if len(self._missing) > self.allow_missing:
            raise UserError(
                got=f"{len(self._missing)} of {len(self._names)} pictures are missing: {self._examples()}",
                expected=f"at most {self.allow_missing} in all tables together (--allow-missing)",
                do="bring the files, or allow as many as are missing"
                if len(self._missing) < len(self._names)
                else "all are missing: name the folder that the paths start from (--images-root)",
            )
        broken = [path for path in paths if path in self._broken]
        if broken and self.on_broken == "stop":
            more = f"; at least {len(broken) - 1:,} more cannot be read either" if len(broken) > 1 else ""
            raise unreadable(broken[0], self._broken[broken[0]], more)

    def _examples(self) -> str:
        missing = [f"{self._names[path]} (missing)" for path in sorted(self._missing)]
        return listed([*missing, *(f"{self._names[path]} ({why})" for path, why in sorted(self._broken.items()))], 5)


def headline(record: Mapping[str, Any]) -> str:
    """What must stand beside the figures of a result, in a few words; "" where no picture is left out."""
    left_out = record.get("left_out", {"missing": [], "broken": []})
    count = len(left_out["missing"]) + len(left_out["broken"])
    return f"without {count:,} of {left_out['of']:,} pictures" if count else ""


def rows_left_out(record: Mapping[str, Any], suite: str) -> str:
    """What must stand beside the figures of a suite whose rows are not all there; "" where they are.

    Suites that are made of the training table lack rows where that does, though nobody can tell how many of theirs.
    """
    rows = record.get("left_out", {}).get("rows", {})
    count = rows.get(suite, rows.get("train_data", 0))
    are, why = ("is", "its picture is") if count == 1 else ("are", "their pictures are")
    if suite in rows:
        told = f"{count:,} of its rows"
    else:
        told = f"{count:,} row{'' if count == 1 else 's'} of the training table, of which this is a part,"
    return f"{told} {are} left out, since {why} missing or broken." if count else ""


def left_out_notes(record: Mapping[str, Any]) -> list[str]:
    """What a reader of a result must know of pictures that are left out, in whole sentences, the first ten by name."""
    if not headline(record):
        return []
    left_out = record["left_out"]
    rows = ", ".join(f"{count:,} of {table}" for table, count in left_out["rows"].items() if count)
    count = len(left_out["missing"]) + len(left_out["broken"])
    leave = "is left out, and with it these rows" if count == 1 else "are left out, and with them these rows"
    told = f"{count:,} of {left_out['of']:,} pictures {leave}: {rows}."
    broken = [f"{one['picture']} ({one['reason']})" for one in left_out["broken"]]
    lists = {"Missing": left_out["missing"], "Broken": broken}
    return [told, *(f"{kind}: {_few(names)}." for kind, names in lists.items() if names)]


def _reasons(transform: Callable[[Image.Image], object], paths: Sequence[Path]) -> list[str]:
    """Why each file cannot be used; "" of one that can."""
    reasons = []
    for path in paths:
        try:
            transform(ImageFiles([str(path)])[0])
        except UserError as error:
            reasons.append(reason_of(error, path))
        else:
            reasons.append("")
    return reasons


def _few(items: Sequence[str]) -> str:
    more = f" and {len(items) - _SHOWN:,} more, listed in the result" if len(items) > _SHOWN else ""
    return ", ".join(items[:_SHOWN]) + more
