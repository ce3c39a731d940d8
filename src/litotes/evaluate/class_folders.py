"""Folders of class folders, and files of class names: ImageNet and its kin, or whoever's pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from litotes.data.caption_folder import PICTURE_ENDINGS
from litotes.data.label_list import WNID, is_number
from litotes.data.tables import listed, read_json, read_lines
from litotes.errors import UserError
from litotes.evaluate.classification import readable
from litotes.evaluate.notes import counted


class ClassFolders(NamedTuple):
    """Picture paths below the root, the class of each by its place in ``classnames``, and all class names.

    ``notes``: in sentences, which files are of no class, and how many classes had several names.
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
    Of several names of a WordNet id, parted by commas as in Kaggle's LOC_synset_mapping.txt, the first is taken.

    A class folder is read to any depth. Files without a picture's ending, and those beside the class folders, are told
    in ``notes``; what is hidden, its name beginning with a point, is not there.

    Errors: :class:`UserError` for a folder without a picture, or without a name; folders named by WordNet ids where no
    names are given; no folder; fewer or more names than folders where nothing but the order tells which is whose, or
    the folders' own names in another order.
    """
    folders = sorted((folder for folder in root.iterdir() if _visible(folder) and folder.is_dir()), key=_natural)
    if not folders:
        flat = any(path.suffix.lower() in PICTURE_ENDINGS for path in root.iterdir())
        raise UserError(
            got=f"{root} without folders{', only files' if flat else ''}",
            expected="one folder a class",
            do=f'give a list "PICTURE LABEL", such as val.txt, as --classification, and --images-root {root}'
            if flat
            else "name the folder above the class folders",
        )
    named = name_classes([folder.name for folder in folders], root, names, "class folder")
    paths: list[str] = []
    labels: list[int] = []
    left = [path.name for path in root.iterdir() if _visible(path) and not path.is_dir()]
    for label, folder in zip(named.of_label, folders, strict=True):
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
    return ClassFolders(paths, labels, named.classnames, [*([told] if left else []), *named.notes])


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
    """WordNet id ("" where there is none) and name of each class, in order; a name as the file has it, commas and all.

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
    if all(len(part) == 2 and WNID.fullmatch(part[0]) for part in parts):
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


class NamedClasses(NamedTuple):
    """The place of each label among ``classnames``, all class names, and in sentences what was done to these."""

    of_label: list[int]
    classnames: list[str]
    notes: list[str]


def name_classes(labels: Sequence[str], where: Path, names: Path | None, what: str) -> NamedClasses:
    """The place of each different label among the class names, and these; see ``class_folders``.

    labels: of class folders, or those of a list of pictures in whatever order; where, what: where they stand and what
    one of them is, for messages. Errors: those of names in ``class_folders``.
    """
    places = list(range(len(labels)))
    if names is None:
        ids = [label for label in labels if WNID.fullmatch(label)]
        if ids:
            raise UserError(
                got=f"{where} with {counted(len(ids), what)} named by WordNet ids ({listed(ids, 3)}), without names",
                expected="names for the prompts, since no model knows what an id stands for",
                do='give --classnames, a file with "n01440764 tench" in a line, or imagenet_class_index.json',
            )
        return NamedClasses(places, list(labels), [])
    given = read_class_names(names)
    if all(map(is_number, labels)):
        _refuse_nameless([label for label in labels if int(label) >= len(given)], where, names, len(given), what)
        return _first_names([int(label) for label in labels], given, names)
    of_id = {identity: name for identity, name in given if identity}
    if of_id:
        _refuse_nameless([label for label in labels if label not in of_id], where, names, len(given), what)
        return _first_names(places, [(label, of_id[label]) for label in labels], names)
    classnames = [name for _, name in given]
    if len(given) != len(labels):
        raise UserError(
            got=f"{names} with {counted(len(given), 'name')} for {counted(len(labels), what)} in {where}",
            expected=f"as many, in the order of the alphabet of the {what.removeprefix('class ')}s",
            do=f"give names with their ids (n01440764 tench), or those of these {what.removeprefix('class ')}s alone",
        )
    _refuse_other_order(labels, classnames, where, names, what)
    return NamedClasses(places, classnames, [])


def _first_names(of_label: list[int], classes: Sequence[tuple[str, str]], names: Path) -> NamedClasses:
    """The classes by the first of the names that a WordNet id has; names without an id may have commas in them."""
    first = [_first(name) if identity else name for identity, name in classes]
    cut = [(own, name) for own, (_, name) in zip(first, classes, strict=True) if own != name]
    if not cut:
        return NamedClasses(of_label, first, [])
    has = "has" if len(cut) == 1 else "have"
    return NamedClasses(
        of_label,
        first,
        [
            f"{len(cut):,} of {counted(len(classes), 'class', 'es')} {has} several names in {names.name}, parted by "
            f"commas; the first alone is asked for, such as “{cut[0][0]}” of “{cut[0][1]}”"
        ],
    )


def _first(synonyms: str) -> str:
    return next((name.strip() for name in synonyms.split(",") if name.strip()), synonyms)


def _refuse_other_order(labels: Sequence[str], classnames: Sequence[str], where: Path, names: Path, what: str) -> None:
    """Refuse names that are the labels themselves, compared as prompts say them and case aside, in another order."""
    own, given = ([readable(name).strip().casefold() for name in each] for each in (labels, classnames))
    if own == given or sorted(own) != sorted(given):
        return
    at = next(i for i, name in enumerate(own) if name != given[i])
    raise UserError(
        got=f"{names}: the names of the {what}s in {where}, in another order: {labels[at]!r} would be asked for as "
        f"{classnames[at]!r}",
        expected=f"names in the order of the {what}s, which is that of the alphabet and pairs them: {listed(labels)}",
        do="leave out --classnames, since the names are there already, or put the file into this order",
    )


def _refuse_nameless(labels: Sequence[str], where: Path, names: Path, count: int, what: str) -> None:
    if labels:
        raise UserError(
            got=f"{where}: {counted(len(labels), what)} without a name: {listed(labels)}",
            expected=f"each among the {counted(count, 'class', 'es')} of {names}; numbers count from 0",
            do="complete the names, or give the list or folder of these classes alone",
        )


def _visible(path: Path) -> bool:
    return not path.name.startswith(".")


def _natural(folder: Path) -> tuple[bool, int, str]:
    number = is_number(folder.name)
    return (not number, int(folder.name) if number else 0, folder.name)
