"""The work of ``litotes data few-shot``: from a data set to its tables and their record."""

import csv
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import litotes
from litotes.cli.data_few_shot import Settings
from litotes.data.few_shot import (
    VAL_SHOTS,
    Labelled,
    Split,
    few_shot,
    halves,
    of_classes,
    read_split,
    require_sound,
    short_classes,
)
from litotes.data.images import sha256_of_file
from litotes.data.label_list import is_number
from litotes.data.tables import listed
from litotes.errors import UserError
from litotes.evaluate.class_folders import class_folders
from litotes.evaluate.files import FOLDER_TEMPLATES, ClassTable, class_table
from litotes.evaluate.notes import counted
from litotes.evaluate.results import write_json
from litotes.places import require_folder_place, whole_or_nothing

RECORD = "few-shot.json"
_GROUPED = 4
"""Classes from which on base and novel have two each; with one, every answer is right."""


class Source(NamedTuple):
    """A data set as it was read.

    files: what the record says of each file or folder, by its option. roots: by part where its paths start, where that
    is known. notes: in sentences, what was done to the names.
    """

    split: Split
    files: dict[str, dict[str, str]]
    roots: dict[str, str]
    notes: list[str]


def run_few_shot(settings: Settings) -> None:
    """Everything is read and checked before the folder appears, which it does whole or not at all."""
    _require_free(settings.output)
    source = _of_split(settings.split) if settings.split else _of_parts(settings)
    names = {item.label: item.name for item in source.split.train}
    drawn = few_shot(source.split, settings.shots, settings.seed)
    groups = {"": sorted(names)}
    if len(names) >= _GROUPED:
        groups |= dict(zip(("base-", "novel-"), halves(set(names)), strict=True))
    tables = {
        f"{group}{part}.csv": items
        for group, labels in groups.items()
        for part, items in of_classes(drawn, labels)._asdict().items()
        if items
    }
    val_shots = min(settings.shots, VAL_SHOTS)
    short = {
        part: short_classes(items, names, shots)
        for part, items, shots in (("train", drawn.train, settings.shots), ("val", drawn.val, val_shots))
    }
    with whole_or_nothing(settings.output) as folder:
        folder.mkdir()
        written = {name: _write(folder / name, items) for name, items in tables.items()}
        record = {
            "source": source.files,
            "shots": settings.shots,
            "val_shots": val_shots,
            "val_from": "val" if source.split.val else "train, what was not drawn",
            "seed": settings.seed,
            "classes": {group.removesuffix("-") or "all": [names[label] for label in labels]
                        for group, labels in groups.items()},
            "fewer_than_asked": short,
            "tables": written,
            "tool_version": litotes.__version__,
        }  # fmt: skip
        write_json(folder / RECORD, record)
    _tell(settings, source, record)


def _require_free(output: Path) -> None:
    if os.path.lexists(output):
        raise UserError(
            got=f"--output {output}, which is there already",
            expected="the name of a new folder",
            do="name another one, for instance by data set and seed",
        )
    require_folder_place(output)


def _of_split(path: Path) -> Source:
    split = read_split(path)
    return Source(split, {"split": {"path": str(path), "sha256": sha256_of_file(path)}}, {}, [])


def _of_parts(settings: Settings) -> Source:
    """The parts from folders or tables; a class of val or test has the label that its name has in train.

    Labels of train: the places of the folders (by number, or by the alphabet), numbers of a list as they are, other
    names by code point. Errors: those of the readers and of ``require_sound``.
    """
    given = {"train": settings.train_data, "val": settings.val_data, "test": settings.test_data}
    where = {part: path for part, path in given.items() if path is not None}
    found = {part: _read(path, settings.classnames) for part, path in where.items()}
    parts: dict[str, list[Labelled]] = {"train": [], "val": [], "test": []}
    label_of: dict[str, int] = {}
    for part, table in found.items():
        named = [table.classnames[label] for label in table.labels]
        labels = table.labels
        if label_of:
            labels = [label_of.setdefault(name, 1 + max(label_of.values())) for name in named]
        elif not where[part].is_dir() and not settings.classnames and not all(map(is_number, named)):
            place = {name: i for i, name in enumerate(sorted(set(named)))}
            labels = [place[name] for name in named]
        parts[part] = [Labelled(*one) for one in zip(table.paths, labels, named, strict=True)]
        label_of |= dict(zip(named, labels, strict=True))
    roots = {part: str(path if path.is_dir() else path.parent) for part, path in where.items()}
    split = Split(**parts)
    require_sound(split, where, {part: os.path.realpath(root) for part, root in roots.items()})
    told = {f"{part}_data": _described(path, parts[part]) for part, path in where.items()}
    if settings.classnames:
        told["classnames"] = {"path": str(settings.classnames), "sha256": sha256_of_file(settings.classnames)}
    notes = list(dict.fromkeys(note for table in found.values() for note in table.notes))
    return Source(split, told, roots, notes)


def _read(path: Path, names: Path | None) -> ClassTable:
    """The classes of a folder or a table, which are to be put into a prompt."""
    if path.is_dir():
        found = class_folders(path, names)
        return ClassTable(found.paths, found.labels, found.classnames, FOLDER_TEMPLATES, found.notes)
    table = class_table(path, names)
    if table.templates != FOLDER_TEMPLATES:
        raise UserError(
            got=f"{path}, whose classes are whole captions",
            expected="a table with the columns filepath and classname (or label)",
            do="name the column so, and write names of classes into it",
        )
    return table


def _described(path: Path, items: Sequence[Labelled]) -> dict[str, str]:
    """What the record says of a source: of a folder the hash of its list, a line a picture, path, tab and class."""
    if not path.is_dir():
        return {"path": str(path), "sha256": sha256_of_file(path)}
    lines = "".join(f"{item.path}\t{item.name}\n" for item in items)
    return {"path": str(path), "list_sha256": hashlib.sha256(lines.encode()).hexdigest()}


def _write(path: Path, items: Sequence[Labelled]) -> dict[str, Any]:
    """Write a table, and return how many it has of what, and its hash."""
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator="\n")
    table.writerow(("filepath", "classname"))
    table.writerows((item.path, item.name) for item in items)
    content = file.getvalue().encode()
    path.write_bytes(content)
    classes = len({item.label for item in items})
    return {"classes": classes, "pictures": len(items), "sha256": hashlib.sha256(content).hexdigest()}


def _tell(settings: Settings, source: Source, record: Mapping[str, Any]) -> None:
    """What was drawn, as a table, and what must be known of it."""
    screen = Console()
    shown = Table(title=f"{counted(settings.shots, 'shot')}, seed {settings.seed}", title_justify="left")
    for heading in ("", "classes", *(f"{part}, pictures" for part in Split._fields)):
        shown.add_column(heading, justify="left" if not heading else "right")
    for group, names in record["classes"].items():
        prefix = "" if group == "all" else f"{group}-"
        counts = [record["tables"].get(f"{prefix}{part}.csv", {"pictures": 0})["pictures"] for part in Split._fields]
        shown.add_row(group, *(f"{count:,}" for count in (len(names), *counts)))
    screen.print(shown)
    for note in _notes(source, record):
        screen.print(f"note: {note}", highlight=False, soft_wrap=True, markup=False)
    screen.print(f"written to {settings.output}", highlight=False, soft_wrap=True, markup=False)


def _notes(source: Source, record: Mapping[str, Any]) -> list[str]:
    notes = list(source.notes)
    for part, fewer in record["fewer_than_asked"].items():
        if fewer:
            few = listed([f"{name} {count}" for name, count in fewer.items()], 5)
            asked = record["shots" if part == "train" else "val_shots"]
            have = "has" if len(fewer) == 1 else "have"
            notes.append(
                f"{part}: {counted(len(fewer), 'class', 'es')} {have} fewer than {asked} pictures, all of which are "
                f"taken once: {few}"
            )
    if not source.split.val:
        notes.append("val is of pictures of the training data that are not trained on, since there is no other")
    if "base" not in record["classes"]:
        few = counted(len(record["classes"]["all"]), "class", "es")
        notes.append(f"{few}, of which no base and novel are made: each needs two of them")
    roots = source.roots
    if len(set(roots.values())) > 1:
        told = ", ".join(f"those of {part} in {root}" for part, root in roots.items())
        notes.append(f"the paths start where the data do, {told}: give that as --images-root")
    else:
        where = next(iter(roots.values()), "the folder of pictures of this data set")
        notes.append(f"all paths start in {where}: give that as --images-root")
    return notes
