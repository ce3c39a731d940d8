"""Rows of whole numbers in NumPy's own files, read without running anything in them."""

from pathlib import Path

import numpy as np
from jaxtyping import Int

from litotes.errors import UserError


def read_whole_numbers(path: Path, what: str) -> Int[np.ndarray, " n"]:
    """One row of whole numbers from a ``.npy``, of whatever integer type it is.

    ``what``: what the numbers are, for the message. Errors: :class:`UserError` for no such file, an archive, pickled
    objects, another file, another shape or type.
    """
    try:
        array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise UserError(f"no file {path}", f"a .npy of {what}", "check the path") from None
    except (ValueError, EOFError, OSError) as error:
        raise _unfit(path, _wrong_with(error), what) from error
    if not isinstance(array, np.ndarray):
        raise _unfit(path, "an archive of arrays", what)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise _unfit(path, f"{array.dtype} of shape {array.shape}", what)
    return array


def _wrong_with(error: Exception) -> str:
    """NumPy's own words advise to open pickled objects, which run what is in them, also where there are none."""
    if "allow_pickle" in str(error):
        return "no .npy file, or one of pickled objects, which are never opened"
    return f"cut or broken ({error})"


def _unfit(path: Path, found: str, what: str) -> UserError:
    return UserError(
        f"{path}: {found}", f"one row of whole numbers, {what}", "take the file anew, or numpy.save(path, numbers)"
    )
