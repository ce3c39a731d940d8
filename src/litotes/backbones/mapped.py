"""Give back the memory of a file's tensors while they are copied one by one."""

import ctypes
import mmap
import sys
from pathlib import Path

from torch import Tensor

_AT_ONCE = 64 * 2**20
"""Bytes of copied tensors after which pages are given back."""

_MAPS = Path("/proc/self/maps")


class Consumed:
    """Takes tensors of a file out of ``tensors`` once they are copied, so that file and copy never lie in memory whole.

    ``tensors``: fresh from ``read_tensor_file``, never written to; what lies in ordinary memory is freed if nobody else
    holds it, and pages mapped from the file at ``path`` are dropped every 64 MB (a tensor that is read again is read
    from the file again). Edges: on systems other than Linux mapped pages stay until the last tensor is gone.
    """

    def __init__(self, path: Path, tensors: dict[str, Tensor]) -> None:
        self._tensors = tensors
        self._ranges = _mapped_ranges(path, tensors)
        self._waiting = 0

    def __call__(self, name: str) -> None:
        """The tensor of this name has been copied."""
        tensor = self._tensors.pop(name)
        self._waiting += tensor.numel() * tensor.element_size()
        if self._waiting >= _AT_ONCE or not self._tensors:
            self._waiting = 0
            for start, stop in self._ranges:
                _drop(start, stop)


def _mapped_ranges(path: Path, tensors: dict[str, Tensor]) -> list[tuple[int, int]]:
    """First and last address of each mapping of this very file that holds one of the tensors."""
    if not sys.platform.startswith("linux") or not _MAPS.is_file():
        return []
    inode = str(path.stat().st_ino)
    places = [tensor.data_ptr() for tensor in tensors.values()]
    ranges = []
    for line in _MAPS.read_text(encoding="utf-8", errors="replace").splitlines():
        addresses, _, _, _, found, *_ = line.split()
        start, stop = (int(address, 16) for address in addresses.split("-"))
        if found == inode and any(start <= place < stop for place in places):
            ranges.append((start, stop))
    return ranges


def _drop(start: int, stop: int) -> None:
    """Drop clean pages of a file, which can be read again; where the system refuses, they stay."""
    ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(stop - start), mmap.MADV_DONTNEED)
