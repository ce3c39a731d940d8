"""Tensors on disk as safetensors."""

import os
from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor


def save_tensors(tensors: Mapping[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write tensors as safetensors, readable by whom a new file of this user is (safetensors gives it to nobody else).

    Tensors must be contiguous; those of another device are copied. ``metadata``: of the file's header.
    """
    save_file(dict(tensors), path, metadata=metadata)
    permit_as_usual(path)


def permit_as_usual(path: Path) -> None:
    """Give a file the permissions that the process gives to new files (its umask)."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
