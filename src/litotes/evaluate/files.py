"""Suites from a user's files: NegBench's tables, caption tables, class folders, pairs of a true and a false text."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from litotes.data.caption_folder import read_caption_folder
from litotes.data.cifar import is_cifar, read_cifar_test
from litotes.data.images import ImageFiles, Pictures
from litotes.data.label_list import LIST_OR_TABLE, WNID, LabelList, is_number, read_label_list
from litotes.data.negbench import (
    KNOWN,
    ChoiceQuestions,
    fingerprint_choice,
    fingerprint_retrieval,
    read_choice,
    read_retrieval,
)
from litotes.data.rows import image_paths
from litotes.data.screening import Screening
from litotes.data.tables import CAPTION, IMAGE, Table, filled, is_blank, listed, read_lines, read_table, title_of
from litotes.errors import UserError, together
from litotes.evaluate.class_folders import class_folders, name_classes
from litotes.evaluate.classification import PLACES, Classification
from litotes.evaluate.coco import coco_suite
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.foil_files import cc_neg_suite, negrefcocog_suite, sugarcrepe_suite, valse_suite
from litotes.evaluate.negation import MultipleChoice
from litotes.evaluate.notes import counted
from litotes.evaluate.protocols import PROTOCOLS, protocol_suite
from litotes.evaluate.retrieval import Retrieval, depths
from litotes.evaluate.suite import Suite

FOLDER_TEMPLATES = ("a photo of a {c}.",)
TABLE_TEMPLATES = ("{c}",)
CLASS = ("classname", "class", "label")
"""Columns of names, which want a prompt around them, where a table of classes has no column of captions."""

_ID, _NUMBER, _WORDS = "a WordNet id", "a number", "words"
_FIXED_ORDER = ("hybrid", "positive", "negative")
_FIXED_ORDER_FILES = ("COCO MCQ rephrased", "VOC2007 MCQ rephrased", "VOC2007 MCQ template", "MSR-VTT MCQ rephrased")
_SYNTHETIC_ORDER = ("positive", "hybrid", "hybrid", "negative")
_SYNTHETIC_FILES = ("HardNeg-Syn MCQ rephrased",)


def suites_from_files(config: EvaluateConfig, screening: Screening | None = None) -> list[Suite]:
    """The suites that the settings name, complete and checked: nothing is encoded, no model is needed.

    ``screening``: what of the pictures cannot be used; a new one by the settings where none is given. The questions
    about such pictures are left out, captions included.

    Errors: those of the readers; missing pictures, counted and listed, of every file together with the others'.
    """
    screening = screening or Screening(config.broken_pictures, config.allow_missing)
    builders: dict[str, Callable[[Path, EvaluateConfig, Screening], Suite]] = {
        "mcq": choice_suite,
        "retrieval": retrieval_suite,
        "retrieval_neg": negated_retrieval_suite,
        **{name: partial(protocol_suite, name) for name in PROTOCOLS},
        "coco": coco_suite,
        "classification": classification_suite,
        "valse": valse_suite,
        "sugarcrepe": sugarcrepe_suite,
        "negrefcocog": negrefcocog_suite,
        "cc_neg": cc_neg_suite,
    }
    if (
        (config.images_root or config.strip_prefix)
        and config.files.keys() <= {"classification", "retrieval", "retrieval_neg", "urban1k"}
        and all(path.is_dir() for path in config.files.values())
    ):
        raise UserError(
            got=f"{'--images-root' if config.images_root else '--strip-prefix'} with folders of pictures alone",
            expected="a table, whose paths it is about",
            do="leave it out",
        )
    return together(*(partial(builders[name], path, config, screening) for name, path in config.files.items()))


def picture_roots(config: EvaluateConfig, suites: Sequence[Suite]) -> dict[str, Path]:
    """By suite of ``suites_from_files``, the folder that the names of its pictures start from."""
    return {
        suite.name: config.images_root or (path if path.is_dir() else path.parent)
        for suite, path in zip(suites, config.files.values(), strict=True)
    }


def choice_suite(path: Path, config: EvaluateConfig, screening: Screening) -> MultipleChoice:
    """Multiple choice from a table in NegBench's columns."""
    questions = read_choice(path)
    places = {name: i for i, name in enumerate(dict.fromkeys(questions.image_paths))}
    left = screening.select(
        "mcq", _pictures(list(places), path, config), [places[name] for name in questions.image_paths]
    )
    kinds = _option_types(questions)
    return MultipleChoice(
        name="mcq",
        pictures=left.pictures,
        image_of_question=left.image_of_row,
        options=left.of(questions.options),
        correct=left.of(questions.correct),
        types=left.of(questions.types),
        option_types=None if kinds is None else left.of(kinds),
    )


def retrieval_suite(path: Path, config: EvaluateConfig, screening: Screening, negated: bool = False) -> Retrieval:
    """Retrieval both ways from a table in NegBench's columns or with one caption a row, or a folder with texts."""
    captions = read_caption_folder(path) if path.is_dir() else read_retrieval(path)
    blank = [captions.image_paths[i] for i, text in zip(captions.image_of_caption, captions.captions, strict=True)
             if is_blank(text)]  # fmt: skip
    # A published file is measured as it is, so that its figures can be compared.
    if blank and fingerprint_retrieval(captions) not in KNOWN:
        raise UserError(
            got=f"{path}: {len(blank)} captions without words, of {listed(blank)}",
            expected="at least one word in every caption",
            do="fill these captions, or take them out of the table",
        )
    name = "retrieval_neg" if negated else "retrieval"
    pictures = _pictures(captions.image_paths, path, config)
    _refuse_two_spellings(path, pictures)
    left = screening.select(name, pictures, captions.image_of_caption)
    ks, told = depths(config.ks, len(left.pictures), left.image_of_row)
    return Retrieval(
        name=name,
        pictures=left.pictures,
        captions=left.of(captions.captions),
        image_of_caption=left.image_of_row,
        ks=ks,
        negated=negated,
        remarks=told,
    )


def negated_retrieval_suite(path: Path, config: EvaluateConfig, screening: Screening) -> Retrieval:
    """Retrieval of negated captions."""
    return retrieval_suite(path, config, screening, negated=True)


def classification_suite(path: Path, config: EvaluateConfig, screening: Screening) -> Classification:
    """Classification from a folder of class folders, CIFAR's binary version, or a table of the classes.

    The captions of a table are asked as they stand, its class names (``CLASS``), those of labels in a list and those of
    folders in CLIP's prompt.
    A class all of whose pictures are left out stays one of the answers, with a note.
    """
    pictures: Pictures
    labels: Sequence[int]
    classnames: Sequence[str]
    notes: list[str] = []
    if path.is_dir() and is_cifar(path):
        if config.classnames:
            raise _needless_names(path, "CIFAR has the names of its classes in it")
        pictures, labels, classnames = read_cifar_test(path)
        templates = _templates(config.templates, FOLDER_TEMPLATES)
    elif path.is_dir():
        names, labels, classnames, notes = class_folders(path, config.classnames)
        pictures = ImageFiles(names, path, allow_missing=config.allow_missing)
        templates = _templates(config.templates, FOLDER_TEMPLATES)
    else:
        table = class_table(path, config.classnames)
        labels, classnames, notes = table.labels, table.classnames, table.notes
        pictures = _pictures(table.paths, path, config)
        templates = _templates(config.templates, table.templates)
    left = screening.select("classification", pictures, range(len(pictures)))
    gone = [classnames[label] for label in sorted(set(labels) - set(left.of(labels)))]
    if gone:
        classes = counted(len(gone), "class", "es")
        stays = "stays an answer" if len(gone) == 1 else "stay answers"
        notes = [*notes, f"{classes} without a picture that can be used ({listed(gone)}) {stays}, always a wrong one"]
    return Classification("classification", left.pictures, left.of(labels), classnames, templates, notes)


class ClassTable(NamedTuple):
    """Path of each picture, the class of each by its place in ``classnames``, and what classes are usually asked in.

    ``notes``: in sentences, what was done to the names.
    """

    paths: Sequence[str]
    labels: Sequence[int]
    classnames: Sequence[str]
    templates: tuple[str, ...]
    notes: list[str]


def class_table(path: Path, names: Path | None = None) -> ClassTable:
    """A table of pictures with their classes: captions, asked as they stand, or names of classes (``CLASS``).

    Or pictures with labels, all of them WordNet ids or all of them numbers from 0, in such a column or in a list
    (``data.label_list``): ``names``, a file of class names, says what they are, as for class folders.

    Errors: those of tables, lists and names; a picture in two rows; names for classes that have their own; WordNet ids
    without names, or among other labels; numbers among words where there are names.
    """
    found = read_label_list(path)
    named = found is not None
    if found is None:
        table = read_table(path)
        named = title_of(table, *CAPTION) is None and title_of(table, *CLASS) is not None
        if title_of(table, *IMAGE) is None or not (named or title_of(table, *CAPTION)):
            raise _neither(table)
        cells = [cell.strip() for cell in filled(table, *CLASS)] if named else filled(table, *CAPTION)
        found = LabelList(image_paths(table), cells)
    paths, classes = found
    _refuse_two_classes(path, paths, classes)
    different = list(dict.fromkeys(classes))
    kinds = {kind: row for row, kind in reversed(list(enumerate(map(_kind, classes))))} if named else {}
    if _ID in kinds or names is not None:
        _refuse_mixed(path, found, kinds)
    if len(kinds) == 1 and _WORDS not in kinds:
        different.sort(key=lambda label: (int(label) if is_number(label) else 0, label))
        of_label, classnames, notes = name_classes(different, path, names, "label")
    elif names is not None:
        raise _needless_names(path, "a table of captions or names of classes says itself what they are called")
    else:
        of_label, classnames, notes = list(range(len(different))), different, []
    place = dict(zip(different, of_label, strict=True))
    labels = [place[name] for name in classes]
    return ClassTable(paths, labels, classnames, FOLDER_TEMPLATES if named else TABLE_TEMPLATES, notes)


def _kind(label: str) -> str:
    return _ID if WNID.fullmatch(label) else _NUMBER if is_number(label) else _WORDS


def _refuse_mixed(path: Path, found: LabelList, kinds: Mapping[str, int]) -> None:
    """Refuse labels of more than one kind; ``kinds``: the first row of each, from 0."""
    if len(kinds) > 1:
        told = [f"{kind} in row {row + 1} ({found.paths[row]}: {found.labels[row]!r})" for kind, row in kinds.items()]
        raise UserError(
            got=f"{path}: labels of {len(kinds)} kinds: {', '.join(sorted(told))}",
            expected="all WordNet ids, all numbers from 0, or all names (row 1 is the first with a picture)",
            do="correct the labels that are of another kind than the rest",
        )


def _neither(table: Table) -> UserError:
    return UserError(
        got=str(table),
        expected=f"{LIST_OR_TABLE}, filepath,classname or filepath,caption",
        do="rename the columns, or take out the header of a list whose lines have a picture and its label each",
    )


def _needless_names(path: Path, why: str) -> UserError:
    return UserError(
        got=f"--classnames with {path}",
        expected=f"class folders, or pictures whose labels are WordNet ids or numbers; {why}",
        do="leave it out",
    )


def _pictures(paths: Sequence[str], table: Path, config: EvaluateConfig) -> ImageFiles:
    own = table if table.is_dir() else table.absolute().parent
    root = own if table.is_dir() else config.images_root or own
    return ImageFiles(paths, root, config.strip_prefix, config.allow_missing, table)


def _option_types(questions: ChoiceQuestions) -> list[tuple[str, ...]] | None:
    """Kinds of the options in the published files, which have a fixed order; None for any other file."""
    published = KNOWN.get(fingerprint_choice(questions))
    if published in _FIXED_ORDER_FILES:
        return [(kind, *_FIXED_ORDER) for kind in questions.types]
    if published in _SYNTHETIC_FILES:
        return [_SYNTHETIC_ORDER for _ in questions.types]
    return None


def _templates(path: Path | None, default: tuple[str, ...]) -> tuple[str, ...]:
    if path is None:
        return default
    if not path.is_file():
        raise UserError(got=f"no file {path}", expected="a text file with one prompt a line", do="check the path")
    found = [(number, line.strip()) for number, line in enumerate(read_lines(path), start=1) if line.strip()]
    for number, line in found or [(1, "")]:
        if not any(place in line for place in PLACES):
            raise UserError(
                got=f"{path}, line {number}: {line!r}",
                expected="prompts, one a line, each with {c} or {} where the class name goes",
                do='write for instance "a photo of a {c}."',
            )
    return tuple(line for _, line in found)


def _refuse_two_classes(path: Path, paths: Sequence[str], classes: Sequence[str]) -> None:
    """Refuse a picture that stands in two rows: it would count twice, or for two classes."""
    first: dict[str, int] = {}
    for row, (name, own) in enumerate(zip(paths, classes, strict=True), start=1):
        known = first.setdefault(name, row)
        if known != row:
            other = classes[known - 1]
            raise UserError(
                got=f"{path}: {name} in row {known} ({other!r}) and in row {row} ({own!r})",
                expected="each picture once, with its one class (row 1 is the first below the header)",
                do="remove one of the rows; pictures with several captions are for --retrieval",
            )


def _refuse_two_spellings(path: Path, pictures: ImageFiles) -> None:
    """Refuse one picture under two names: it would be two in the gallery, of which none can be told from the other."""
    first: dict[Path, int] = {}
    for i in range(len(pictures)):
        known = first.setdefault(pictures.path(i), i)
        if known != i:
            raise UserError(
                got=f"{path}: the picture {pictures.name(known)} also as {pictures.name(i)}",
                expected="one way to write the path of a picture, so that its captions belong together",
                do="write both paths alike",
            )
