"""Places that results go to: checked before the work, so that no hour of it is lost to a mistyped path, and written."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from litotes.errors import UserError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def require_file_place(file: Path, option: str = "--output") -> None:
    """Refuse a path where no file can be written; nothing is left behind by the trial.

    file: to be written, or replaced where it is there; folders on the way may be missing. option: by which the user
    named it, for the message. Errors: the path is a folder or a device; its folder cannot be made or written to.
    ``OSError``: a name that the system does not take.
    """
    there = _nearest(file)
    if there == file.absolute() and not file.is_file():
        raise UserError(
            got=f"{option} {file}, which is {'a folder' if file.is_dir() else 'no ordinary file'}",
            expected="the name of a file to write",
            do=f"name a file in it, such as {file / 'result.json'}" if file.is_dir() else "choose another name",
        )
    _require_writable(_nearest(file.parent), f"{option} {file}")


def require_folder_place(folder: Path, option: str = "--output") -> None:
    """Refuse a path that is no folder and cannot become one, or a folder that cannot be written to."""
    _require_writable(_nearest(folder), f"{option} {folder}")


def require_files(folder: Path, names: Iterable[str], expected: str, do: str) -> None:
    """Refuse a folder that lacks one of these files, or is none; nothing is read."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise UserError(got=f"{folder} without {' and '.join(missing)}", expected=expected, do=do)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; folders on the way are made, and nothing stays of what could not be written.

    It is written beside ``path``, flushed, and renamed. Errors: ``OSError`` with the name of ``path``, which is the one
    that the user knows.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextmanager
def whole_or_nothing(output: Path) -> Iterator[Path]:
    """A path of the same last name to write to, moved to ``output`` at the end, or gone after an error."""
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    partial.mkdir()
    try:
        yield partial / output.name
        (partial / output.name).rename(output)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process is within ``alone_in`` of this folder, and keep others waiting.

    The lock is the system's and ends with the process, so that a run that was killed bars nobody; nothing is written.
    Where a system or a file system has no such locks (Windows, some network drives), nobody waits.
    """
    handle = _locked(folder)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _locked(folder: Path) -> int | None:
    if fcntl is None:
        return None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def _nearest(path: Path) -> Path:
    """The path itself where something is there, a broken link included, or else the nearest above it."""
    nearest = path.absolute()
    while True:
        try:
            os.lstat(nearest)
        except (FileNotFoundError, NotADirectoryError):
            nearest = nearest.parent
        else:
            return nearest


def _require_writable(folder: Path, asked: str) -> None:
    if not folder.is_dir():
        raise UserError(
            got=f"{asked}, but {folder} is no folder",
            expected="a folder to write into",
            do="choose another path, or move that file away",
        )
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            got=f"{asked}, but {folder} cannot be written to: {error.strerror}",
            expected="a folder to write into",
            do="check its permissions, or choose another path",
        ) from error
