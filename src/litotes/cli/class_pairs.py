"""Pictures with their class for a caption: what ``litotes train vacsr`` takes for classification, and its question."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from litotes.cli.train_vacsr import Settings
from litotes.data.images import ImageFiles
from litotes.data.pairs import CaptionedPictures
from litotes.data.screening import Screening
from litotes.errors import UserError
from litotes.evaluate.class_folders import class_folders
from litotes.evaluate.classification import PLACES, Classification, fill
from litotes.evaluate.files import FOLDER_TEMPLATES, TABLE_TEMPLATES, ClassTable, class_table


def read_class_pairs(
    path: Path, settings: Settings, screening: Screening, what: str = "train_data"
) -> CaptionedPictures:
    """The pictures of class folders, or of a table whose captions are classes, each with the prompt of its class.

    Pictures of one class have one caption, so that all of them are right for it. Errors: those of the readers; a
    prompt without a place for the name.
    """
    if settings.prompt is not None and not any(place in settings.prompt for place in PLACES):
        raise UserError(
            got=f"--prompt {settings.prompt!r}", expected="a prompt with {c} where the class name goes",
            do='write for instance --prompt "a photo of a {c}."',
        )  # fmt: skip
    if path.is_dir():
        found = class_folders(path, settings.classnames)
        root, table = path, ClassTable(found.paths, found.labels, found.classnames, FOLDER_TEMPLATES, found.notes)
    else:
        root, table = settings.images_root or path.absolute().parent, class_table(path, settings.classnames)
    pictures = ImageFiles(table.paths, root, allow_missing=screening.allow_missing, table=path)
    left = screening.select(what, pictures, range(len(pictures)))
    prompt = settings.prompt or table.templates[0]
    captions = tuple(fill(prompt, table.classnames[label]) for label in left.of(table.labels))
    return CaptionedPictures(left.pictures, captions, np.array(left.image_of_row, dtype=np.int64))


def class_suite(held: CaptionedPictures, training: CaptionedPictures, settings: Settings) -> Classification:
    """Which class, by its prompt, is in each held-out picture: among all classes of both parts.

    Its notes tell of files in the folders that are of no class, and of classes with several names.
    """
    places = [path for path in (settings.train_data, settings.val_data) if path is not None]
    found = [(class_folders if path.is_dir() else class_table)(path, settings.classnames) for path in places]
    notes = list(dict.fromkeys(note for part in found for note in part.notes))
    prompts = list(dict.fromkeys([*training.captions, *held.captions]))
    label = {prompt: number for number, prompt in enumerate(prompts)}
    of_picture = dict(zip(held.owners.tolist(), held.captions, strict=True))
    labels: Sequence[int] = [label[of_picture[picture]] for picture in range(len(held.pictures))]
    return Classification("classification", held.pictures, labels, prompts, TABLE_TEMPLATES, notes)
