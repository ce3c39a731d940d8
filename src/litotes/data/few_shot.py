"""Few-shot parts of a labelled data set, and its base and novel classes, drawn as CoOp draws them."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from litotes.config import require_known
from litotes.data.tables import is_blank, listed, read_json
from litotes.errors import UserError

VAL_SHOTS = 4
_PARTS = ("train", "val", "test")
_FORM = "an object of train, val and test, each a list of [relative path, label, class name]"


class Labelled(NamedTuple):
    """A picture by its path, the number of its class, and the name of that."""

    path: str
    label: int
    name: str


class Split(NamedTuple):
    """The three parts of a data set, in the order in which they are read; ``val`` may be empty."""

    train: list[Labelled]
    val: list[Labelled]
    test: list[Labelled]


def read_split(path: Path) -> Split:
    """CoOp's ``split_zhou_*.json``; paths and names are kept to the letter.

    Errors: :class:`UserError` with the part and the entry (from 1) for what is not of this form: another key, a label
    that is no whole number from 0, a path or a name without words in it; those of ``require_sound``.
    """
    content = read_json(path, _FORM)
    if not isinstance(content, dict):
        raise UserError(f"{path}: {_kind(content)} in place of an object", _FORM, "name a split_zhou_*.json of CoOp")
    require_known(content, _PARTS, f"{path} ({_FORM})")
    lacking = [part for part in _PARTS if part not in content]
    if lacking:
        raise UserError(f"{path} without {' and '.join(lacking)}", _FORM, "add what is missing; val may be []")
    split = Split(*([_entry(path, part, i, one) for i, one in _entries(path, part, content[part])] for part in _PARTS))
    require_sound(split, dict.fromkeys(_PARTS, path), dict.fromkeys(_PARTS, ""))
    return split


def _entries(path: Path, part: str, found: object) -> Iterator[tuple[int, object]]:
    if not isinstance(found, list):
        raise UserError(f"{path}: {part} is {_kind(found)}", _FORM, "correct the file")
    return enumerate(found, start=1)


def _entry(path: Path, part: str, number: int, entry: Any) -> Labelled:  # noqa: ANN401 (whatever a file holds)
    wrong = ""
    if not isinstance(entry, list) or len(entry) != 3:
        wrong = f"{_kind(entry)}{f' of {len(entry)}' if isinstance(entry, list) else ''}"
    elif isinstance(entry[1], bool) or not isinstance(entry[1], int) or entry[1] < 0:
        wrong = f"the label {entry[1]!r}, which is no whole number from 0"
    elif not isinstance(entry[0], str) or not isinstance(entry[2], str):
        wrong = f"{entry!r:.80}, whose path or name is no text"
    if wrong:
        raise UserError(
            f"{path}: entry {number} of {part} is {wrong}"[:300],
            "[relative path, label, class name] in each entry, labels being whole numbers from 0",
            "correct the entry",
        )
    return Labelled(*entry)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def require_sound(split: Split, where: Mapping[str, Path], roots: Mapping[str, str]) -> None:
    """Refuse parts that nobody could train on and be judged by.

    where: by part the file or folder it was read from, for messages. roots: by part the folder that its paths start
    from, so that equal paths in two folders are two pictures.

    Errors: :class:`UserError` for an empty train or test; a path that is absolute, has ".." or a back slash in it; a
    name without words; characters that no table holds; a label with two names, or a name (as prompts say it) with two
    labels; a class of one of train and test that the other lacks, or of val that train lacks; a picture that stands
    twice, in one part or in two; one class alone.
    """
    for part in ("train", "test"):
        if not getattr(split, part):
            raise UserError(f"{where[part]}: {part} is empty", "pictures to train on and to test on", "fill it")
    names: dict[int, str] = {}
    labels: dict[str, int] = {}
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for part in _PARTS:
        for number, item in enumerate(getattr(split, part), start=1):
            fault = _fault(item, names, labels)
            if fault:
                found, expected, do = fault
                raise UserError(f"{where[part]}, {part}, entry {number}: {found}", expected, do)
            known = first.setdefault((roots[part], PurePosixPath(item.path).as_posix()), (part, number))
            if known != (part, number):
                raise UserError(
                    f"{item.path} is entry {known[1]} of {known[0]} ({where[known[0]]}), and entry {number} of {part} "
                    f"({where[part]})",
                    "each picture once: none is tested on that was trained on",
                    "remove it from one of the two",
                )
    _require_same_classes(split, names, where)


def _fault(item: Labelled, names: dict[int, str], labels: dict[str, int]) -> tuple[str, str, str] | None:
    """What is wrong with an entry after those before it, what was expected, and what to do; None where nothing is.

    names, labels: by label its name, by name its label, so far; the entry's are added.
    """
    if not is_plain_path(item.path):
        return (
            f"the path {item.path!r}",
            "a path from the folder of pictures on, with forward slashes and without ..",
            "write it so; the folder itself is named with --images-root when the pictures are read",
        )
    if is_blank(item.name) or not (item.name + item.path).isprintable():
        return (
            f"{item.path!r} of the class {item.name!r}",
            "a class name with a word in it, and no line breaks or other control characters",
            "correct the entry",
        )
    name = names.setdefault(item.label, item.name)
    if name != item.name:
        return (
            f"label {item.label} is {item.name!r}, and was {name!r} before",
            "one name for each label",
            "correct the labels",
        )
    said = item.name.replace("_", " ").strip()
    label = labels.setdefault(said, item.label)
    if label != item.label:
        return (
            f"labels {label} and {item.label} are both called {said!r} in prompts",
            "a name of its own for each class, since no prompt could tell them apart",
            "rename one of the two classes",
        )
    return None


def is_plain_path(path: str) -> bool:
    """Whether a path of a table stays, by its letters, within the folder that it starts from."""
    inside = not path.startswith("/") and "\\" not in path and not PureWindowsPath(path).drive
    return inside and bool(PurePosixPath(path).parts) and ".." not in PurePosixPath(path).parts


def _require_same_classes(split: Split, names: Mapping[int, str], where: Mapping[str, Path]) -> None:
    of = {part: {item.label for item in items} for part, items in split._asdict().items()}
    for part, other in (("test", "train"), ("val", "train"), ("train", "test")):
        lone = [names[label] for label in sorted(of[part] - of[other])]
        if lone:
            raise UserError(
                f"{where[part]}: {len(lone)} of the classes of {part} stand not in {other} ({where[other]}): "
                f"{listed(lone)}",
                "the same classes in train and test",
                "take these pictures out, or add others of these classes",
            )
    if len(of["train"]) < 2:
        raise UserError(f"{where['train']}: one class, {names[min(of['train'])]!r}", "two or more", "add another class")


def few_shot(split: Split, shots: int, seed: int) -> Split:
    """``shots`` pictures of each class to train on, up to ``VAL_SHOTS`` of each to validate on, and the whole test.

    Python's generator is seeded; then, for train and after that for val, the classes follow in the order of their first
    appearance and ``random.sample`` draws from the pictures of each in theirs. A class with fewer pictures than asked
    for gives all of them, in their order, and no random number is spent on it (Dassl's rule, on which CoOp stands; its
    older versions repeated pictures). Without a val of its own, the data set's is drawn from the pictures of train that
    are left, which changes no draw before it.

    Source: CoOp, ``generate_fewshot_dataset`` with ``num_shots`` and min(``num_shots``, 4).
    """
    generator = random.Random(seed)
    train = _drawn(split.train, shots, generator)
    taken = set(train)
    source = split.val or [item for item in split.train if item not in taken]
    return Split(train, _drawn(source, min(shots, VAL_SHOTS), generator), split.test)


def _drawn(items: Sequence[Labelled], shots: int, generator: random.Random) -> list[Labelled]:
    of_class: dict[int, list[Labelled]] = defaultdict(list)
    for item in items:
        of_class[item.label].append(item)
    drawn = (generator.sample(own, shots) if len(own) >= shots else own for own in of_class.values())
    return [item for own in drawn for item in own]


def halves(labels: set[int]) -> tuple[list[int], list[int]]:
    """Base and novel classes: of n labels in order the first ceil(n / 2), and the rest. Source: CoCoOp."""
    order = sorted(labels)
    middle = (len(order) + 1) // 2
    return order[:middle], order[middle:]


def of_classes(split: Split, labels: Sequence[int]) -> Split:
    """The pictures of these classes, in their order."""
    wanted = set(labels)
    return Split(*([item for item in items if item.label in wanted] for items in split))


def short_classes(drawn: Sequence[Labelled], names: Mapping[int, str], shots: int) -> dict[str, int]:
    """By name the classes of ``names`` that have fewer pictures than asked for, and how many they have."""
    counts = Counter(item.label for item in drawn)
    return {name: counts[label] for label, name in sorted(names.items()) if counts[label] < shots}
