"""The test sets of CIFAR-10 and CIFAR-100 in their binary version, which is read without running anything."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from litotes.data.images import ArrayPictures
from litotes.data.tables import read_lines
from litotes.errors import UserError

SIDE = 32
_PIXELS = 3 * SIDE * SIDE
# File of pictures, file of names, bytes before the pixels; the last of them is the label (CIFAR-100: coarse, fine).
_FORMS = (("test_batch.bin", "batches.meta.txt", 1), ("test.bin", "fine_label_names.txt", 2))
_PICKLED = (("test_batch", "batches.meta"), ("test", "meta"))


class Labelled(NamedTuple):
    """Pictures, the class of each by its place in ``classnames``, and all class names."""

    pictures: ArrayPictures
    labels: list[int]
    classnames: list[str]


def is_cifar(folder: Path) -> bool:
    """Whether a folder holds CIFAR's test set, in whichever version."""
    binary = any((folder / file).is_file() for file, _, _ in _FORMS)
    return binary or any(all((folder / name).is_file() for name in names) for names in _PICKLED)


def read_cifar_test(folder: Path) -> Labelled:
    """Read ``test_batch.bin`` with ``batches.meta.txt`` (CIFAR-10), or ``test.bin`` with ``fine_label_names.txt``.

    A record is the label (CIFAR-100: the coarse one, then the fine one, which counts) and 32 x 32 pixels, all reds row
    by row, then all greens, then all blues; one byte each. Names, one a line.

    Errors: :class:`UserError` for the Python version, whose files are pickles and are never opened; for a file that is
    no whole number of records, or holds a label without a name.
    """
    found = next((form for form in _FORMS if (folder / form[0]).is_file()), None)
    if found is None:
        raise UserError(
            f"{folder}: CIFAR's Python version, whose files are pickles; opening one can run any code",
            "the binary version (cifar-10-binary.tar.gz, cifar-100-binary.tar.gz), or pictures in class folders",
            "download the binary version and name its folder",
        )
    file, names_file, before = found
    if not (folder / names_file).is_file():
        raise UserError(
            f"{folder} without {names_file}", "the names of the classes, one a line", "take it from the set"
        )
    names = [line.strip() for line in read_lines(folder / names_file) if line.strip()]
    content = np.fromfile(folder / file, dtype=np.uint8)
    if not len(content) or len(content) % (before + _PIXELS):
        raise UserError(
            f"{folder / file}: {len(content)} bytes",
            f"whole records of {before + _PIXELS} bytes",
            "download the file anew",
        )
    records = content.reshape(-1, before + _PIXELS)
    labels = records[:, before - 1].tolist()
    if max(labels) >= len(names):
        raise UserError(
            f"{folder / file}: class {max(labels)}", f"0 .. {len(names) - 1}, as {names_file} names them", "check both"
        )
    pixels = np.ascontiguousarray(records[:, before:].reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1))
    return Labelled(ArrayPictures(pixels, [f"{file}#{i}" for i in range(len(records))]), labels, names)
