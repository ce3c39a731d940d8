"""Collections of pictures, opened one at a time."""

import hashlib
import os
import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import final

import numpy as np
from jaxtyping import UInt8
from PIL import Image, UnidentifiedImageError

from litotes.data.tables import listed
from litotes.errors import UserError

UNREADABLE = (
    OSError,
    UnidentifiedImageError,
    Image.DecompressionBombError,
    ValueError,
    SyntaxError,
    EOFError,
    RuntimeError,
    struct.error,
    MemoryError,
)
"""What Pillow raises on files that are cut, damaged, no pictures, or far too large; the one list of them.

RuntimeError is what the decoder of AVIF says of a damaged file."""

_SHOWN = 10


class Pictures(ABC):
    """Pictures by position: 0 .. len - 1; a position outside raises IndexError, so iteration works."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, i: int) -> Image.Image:
        """Return picture ``i``, decoded whole, in the pixel format it is stored in."""

    @abstractmethod
    def name(self, i: int) -> str:
        """Return what a person calls picture ``i``: its path as given, or its label."""

    @abstractmethod
    def digest(self, i: int) -> str:
        """Return the SHA-256 of the stored content of picture ``i``, as 64 hexadecimal digits."""

    @abstractmethod
    def path(self, i: int) -> Path | None:
        """Return the file that holds picture ``i``, or None for a picture that is in no file."""


@final
class ImageFiles(Pictures):
    """Picture files of a table, by their paths.

    ``paths``: as the table has them, with forward slashes; one file may stand several times. ``root``: the
    folder that relative paths start from (none: the current folder). ``strip_prefix``: the beginning to take
    off every path that has it, for tables written on another machine. ``allow_missing``: how many files may be missing;
    their rows are for the caller to leave out (:class:`litotes.data.screening.Screening`). ``table``: where the paths
    stand, for the messages.

    Files are opened when asked for and not kept. Errors: :class:`UserError` at construction when more files are
    missing (all of them counted, the first ten named) or some lie outside ``root``; on opening, when a file
    cannot be decoded, with its name and the reason. A folder, or a link that leads nowhere, is there and cannot be
    decoded.
    """

    def __init__(
        self,
        paths: Sequence[str],
        root: str | Path | None = None,
        strip_prefix: str = "",
        allow_missing: int = 0,
        table: str | Path = "",
    ) -> None:
        where = f"{table}: " if str(table) else ""
        self._names = [path.removeprefix(strip_prefix) for path in paths]
        self._root = Path(root) if root is not None else Path()
        if root is not None and not self._root.is_dir():
            raise UserError(
                f"image root {root} (--images-root), which is no folder",
                "a folder",
                "name the folder that the table's paths start from",
            )
        self._files = [_joined(self._root, name, where) for name in self._names]
        if root is not None:
            _require_inside(self._root, dict(zip(self._names, self._files, strict=True)), where)
        self._digests: dict[str, str] = {}
        files = dict(zip(self._files, self._names, strict=True))
        missing = [name for file, name in files.items() if not os.path.lexists(file)]
        if len(missing) > allow_missing:
            raise _missing(missing, len(files), self._root, allow_missing, where)

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, i: int) -> Image.Image:
        try:
            with Image.open(self._files[i]) as picture:
                picture.load()
                return picture
        except UNREADABLE as error:
            raise unreadable(self._files[i], _why(error)) from error

    def name(self, i: int) -> str:
        """Return the path of picture ``i`` as the table has it, without ``strip_prefix``."""
        return self._names[i]

    def digest(self, i: int) -> str:
        """Return the SHA-256 of the file's bytes; each file is hashed once. Errors: as on opening."""
        file = self._files[i]
        if file not in self._digests:
            try:
                self._digests[file] = sha256_of_file(Path(file))
            except OSError as error:
                raise unreadable(file, _why(error)) from error
        return self._digests[file]

    def path(self, i: int) -> Path:
        """Return the file of picture ``i``, as an absolute path."""
        return Path(self._files[i])


@final
class ArrayPictures(Pictures):
    """Pictures that are in memory.

    ``pixels``: UInt8 [n, height, width, 3], red, green, blue. ``names``: n labels. The array is not copied.
    """

    def __init__(self, pixels: UInt8[np.ndarray, "n h w 3"], names: Sequence[str]) -> None:
        if len(names) != len(pixels):
            raise ValueError(f"{len(pixels)} pictures but {len(names)} names")
        self._pixels = pixels
        self._names = list(names)

    def __len__(self) -> int:
        return len(self._pixels)

    def __getitem__(self, i: int) -> Image.Image:
        return Image.fromarray(self._pixels[i])

    def name(self, i: int) -> str:
        """Return the label of picture ``i``."""
        return self._names[i]

    def digest(self, i: int) -> str:
        """Return the SHA-256 of the picture's shape and pixels."""
        pixels = np.ascontiguousarray(self._pixels[i])
        return hashlib.sha256(repr(pixels.shape).encode() + pixels.tobytes()).hexdigest()

    def path(self, i: int) -> None:
        """Return None: the pictures are in memory."""


@final
class Subset(Pictures):
    """Some pictures of another collection, in the order of ``indices`` (each 0 .. len(pictures) - 1)."""

    def __init__(self, pictures: Pictures, indices: Sequence[int]) -> None:
        chosen = [int(i) for i in indices]
        if chosen and not 0 <= min(chosen) <= max(chosen) < len(pictures):
            raise IndexError(f"positions {min(chosen)} .. {max(chosen)} of {len(pictures)} pictures")
        self._pictures: Pictures = pictures
        self._indices: list[int] = chosen
        if isinstance(pictures, Subset):
            # Look into the first collection at once, however often it is narrowed.
            self._pictures = pictures._pictures
            self._indices = [pictures._indices[i] for i in chosen]

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, i: int) -> Image.Image:
        return self._pictures[self._indices[i]]

    def name(self, i: int) -> str:
        """Return the name that picture ``i`` has in the whole collection."""
        return self._pictures.name(self._indices[i])

    def digest(self, i: int) -> str:
        """Return the digest that picture ``i`` has in the whole collection."""
        return self._pictures.digest(self._indices[i])

    def path(self, i: int) -> Path | None:
        """Return the file that picture ``i`` has in the whole collection."""
        return self._pictures.path(self._indices[i])


def unreadable(file: str | Path, reason: str, others: str = "") -> UserError:
    """What is told of a file that is there and cannot be used as a picture. ``others``: what is known of more such."""
    return UserError(
        f"{file} cannot be read as a picture: {reason}{others}",
        "a whole picture file that Pillow can decode",
        "replace the file, or decode every picture, list all that are broken and leave out their rows "
        "(--broken-pictures skip)",
    )


def reason_of(error: UserError, file: str | Path) -> str:
    """Why a file cannot be used, of an error that names it: without the name."""
    return error.got.removeprefix(str(file)).removeprefix(" cannot be read as a picture").removeprefix(": ")


def _joined(root: Path, name: str, where: str) -> str:
    if not name or "\0" in name:
        raise UserError(f"{where}image path {name!r}", "the path of a file", "fill the column of image paths")
    return os.path.normpath(os.path.join(os.path.normpath(root.absolute()), name))  # noqa: PTH118 (pathlib keeps "..")


def _require_inside(root: Path, files: dict[str, str], where: str) -> None:
    """Refuse files that are not below the root; the text of the paths decides, so that linked folders stay usable.

    ``files``: by the names that the table has.
    """
    below = os.path.normpath(root.absolute()).rstrip(os.sep) + os.sep
    outside = [name for name, file in files.items() if not file.startswith(below)]
    if outside:
        which = f"image path {outside[0]!r}, which is" if len(outside) == 1 else f"{len(outside)} image paths that are"
        named = "" if len(outside) == 1 else f": {listed(outside, _SHOWN)}"
        raise UserError(
            f"{where}{which} outside the image root {root}{named}",
            "paths below the root, which is the table's own folder where nothing else is said",
            _without_prefix(root, outside[0])
            or "name a folder above all pictures as the image root (--images-root), or shorten the paths",
        )


def sha256_of_file(path: Path) -> str:
    """SHA-256 of a file's bytes, read piece by piece."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _why(error: BaseException) -> str:
    """What Pillow says of a file, without the path that stands before it already."""
    if isinstance(error, UnidentifiedImageError):
        return "it is in no picture format that Pillow knows"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return str(error) or type(error).__name__


def _without_prefix(root: Path, name: str) -> str:
    """What to do where a file is there once the beginning of its path is left out; "" where none is."""
    parts = PurePosixPath(name).parts
    for cut in range(1, len(parts)):
        tail = "/".join(parts[cut:])
        if ".." not in parts[cut:] and (root / tail).is_file():
            prefix = name.removesuffix(tail)
            return f"strip the prefix {prefix!r} (litotes evaluate --strip-prefix): {tail} is there below the root"
    return ""


def _missing(names: list[str], total: int, root: Path, allowed: int, where: str) -> UserError:
    advice = "name the folder that the paths start from as the image root (--images-root)"
    if len(names) < total:
        advice += (
            f"; to leave out the rows of missing pictures, allow as many as are missing (--allow-missing {len(names)})"
        )
    elif "\\" in names[0]:
        advice = "write the paths from the image root on (--images-root), with forward slashes"
    else:
        advice = f"all are missing, so that this is another folder than the paths start from: {advice}"
    advice = _without_prefix(root, names[0]) or advice
    return UserError(
        f"{where}{len(names)} of {total} pictures are missing below {root.absolute()}: {listed(names, _SHOWN)}",
        f"at most {allowed} missing (--allow-missing)" if allowed else "every picture of the table as a file",
        advice,
    )
