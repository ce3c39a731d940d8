"""Folders of class folders, and files of class names: ImageNet and its kin, or whoever's pictures."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from litotes.data.caption_folder import PICTURE_ENDINGS
from litotes.data.tables import listed, read_json, read_lines
from litotes.errors import UserError

_WNID = re.compile(r"n\d{8}")


class ClassFolders(NamedTuple):
    """Picture paths below the root, the class of each by its place in ``classnames``, and all class names.

    ``notes``: in sentences, which files are of no class.
    """

    paths: list[str]
    labels: list[int]
    classnames: list[str]
    notes: list[str]


def class_folders(root: Path, names: Path | None = None) -> ClassFolders:
    """The pictures in the class folders of ``root``; ``names``: a file of class names (``read_class_names``).

    Without names the folders' own are taken: folders named by numbers in the order of the numbers, others in that of
    the alphabet. With names:
    - folders named by numbers: folder k is class k, counted from 0, as in ImageNetV2; all names are classes;
    - folders named by WordNet ids (n01440764) and names with such ids: by id; the folders that are there are the
      classes, as for ImageNet-A and -R, which have 200 of the 1,000;
    - otherwise: the folders in the order of the alphabet, as many as names.

    A class folder is read to any depth. Files without a picture's ending, and those beside the class folders, are told
    in ``notes``; what is hidden, its name beginning with a point, is not there.

    Errors: :class:`UserError` for a folder without a picture, or without a name; folders named by WordNet ids where no
    names are given; no folder; fewer or more names than folders where nothing but the order tells which is whose.
    """
    folders = sorted((folder for folder in root.iterdir() if _visible(folder) and folder.is_dir()), key=_natural)
    if not folders:
        raise UserError(
            got=f"{root} without folders", expected="one folder a class", do="name the folder above the class folders"
        )
    of_folder, classnames = _classes([folder.name for folder in folders], root, names)
    paths: list[str] = []
    labels: list[int] = []
    left = [path.name for path in root.iterdir() if _visible(path) and not path.is_dir()]
    for label, folder in zip(of_folder, folders, strict=True):
        files, others = _inside(folder)
        left += others
        if not files:
            raise UserError(
                got=f"class folder {folder} without a picture",
                expected=f"files that end in {', '.join(PICTURE_ENDINGS)}",
                do="remove the folder, or fill it",
            )
        paths += files
        labels += [label] * len(files)
    told = f"files of no class, or without a picture's ending, left out: {len(left):,} ({listed(sorted(left), 3)})"
    return ClassFolders(paths, labels, classnames, [told] if left else [])


def _inside(folder: Path) -> tuple[list[str], list[str]]:
    """What bears a picture's name in a class folder, at any depth, and all other files; paths from the root on."""
    sides: tuple[list[str], list[str]] = ([], [])
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder.parent)
        pictured = path.suffix.lower() in PICTURE_ENDINGS
        if not any(part.startswith(".") for part in name.parts) and (pictured or not path.is_dir()):
            sides[not pictured].append(name.as_posix())
    return sides


def read_class_names(path: Path) -> list[tuple[str, str]]:
    """WordNet id ("" where there is none) and name of each class, in order.

    A text of one name a line, or of id and name a line ("n01440764 tench", CoOp's classnames.txt), or of
    number and name a line, counted from 0; or JSON, an object
    of place -> [id, name] (imagenet_class_index.json) or a list of names.

    Errors: :class:`UserError` for a file that is not there or is neither; a line without a name.
    """
    if path.suffix.lower() == ".json":
        return _of_json(path)
    if not path.is_file():
        raise UserError(got=f"no file {path}", expected="a text file with one class name a line", do="check the path")
    lines = [line.strip() for line in read_lines(path)]
    while lines and not lines[-1]:
        lines.pop()
    if not lines or not all(lines):
        raise UserError(
            got=f"{path}: line {lines.index('') + 1} is empty" if lines else f"{path} holds blank lines only",
            expected="a class name in every line, since the line's number is that of the class",
            do="fill or remove the line",
        )
    parts = [line.split(maxsplit=1) for line in lines]
    if all(len(part) == 2 and _WNID.fullmatch(part[0]) for part in parts):
        return [(part[0], part[1]) for part in parts]
    if [part[0] for part in parts] == [str(i) for i in range(len(parts))] and all(len(part) == 2 for part in parts):
        return [("", part[1]) for part in parts]
    return [("", line) for line in lines]


def _of_json(path: Path) -> list[tuple[str, str]]:
    content = read_json(path)
    if isinstance(content, dict) and set(content) == set(map(str, range(len(content)))):
        content = [content[str(i)] for i in range(len(content))]
    pairs = [("", entry) if isinstance(entry, str) else entry for entry in content] if isinstance(content, list) else []
    if not pairs or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
        for pair in pairs
    ):
        raise UserError(
            got=f"{path}: neither a list of names nor an object of place -> [id, name]",
            expected='["tench", ...] or {"0": ["n01440764", "tench"], ...}, without a gap',
            do="correct the file",
        )
    return [(pair[0], pair[1]) for pair in pairs]


def _classes(folders: Sequence[str], root: Path, names: Path | None) -> tuple[list[int], list[str]]:
    """The label of each folder, and the class names."""
    if names is None:
        if all(map(_WNID.fullmatch, folders)):
            raise UserError(
                got=f"{root} with class folders named by WordNet ids ({listed(folders, 3)}), without names",
                expected="names for the prompts, since no model knows what an id stands for",
                do='give --classnames, a file with "n01440764 tench" in a line, or imagenet_class_index.json',
            )
        return list(range(len(folders))), list(folders)
    given = read_class_names(names)
    if all(map(_is_number, folders)):
        nameless = [folder for folder in folders if int(folder) >= len(given)]
        _refuse_nameless(nameless, root, names, len(given))
        return [int(folder) for folder in folders], [name for _, name in given]
    of_id = {identity: name for identity, name in given if identity}
    if of_id:
        _refuse_nameless([folder for folder in folders if folder not in of_id], root, names, len(given))
        return list(range(len(folders))), [of_id[folder] for folder in folders]
    if len(given) != len(folders):
        raise UserError(
            got=f"{names} with {len(given)} names for {len(folders)} class folders in {root}",
            expected="as many, in the order of the alphabet of the folders",
            do="give names with their ids (n01440764 tench), or those of these folders alone",
        )
    return list(range(len(folders))), [name for _, name in given]


def _refuse_nameless(folders: Sequence[str], root: Path, names: Path, count: int) -> None:
    if folders:
        raise UserError(
            got=f"{root}: {len(folders)} class folders without a name: {listed(folders)}",
            expected=f"every folder among the {count} classes of {names}",
            do="complete the names, or name the folder above these classes",
        )


def _visible(path: Path) -> bool:
    return not path.name.startswith(".")


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _natural(folder: Path) -> tuple[bool, int, str]:
    number = _is_number(folder.name)
    return (not number, int(folder.name) if number else 0, folder.name)
