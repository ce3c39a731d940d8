"""The tensors of a TorchScript archive, read without its code."""

import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from litotes.errors import UserError

_TYPES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
}
_LISTS = ("build_intlist", "build_doublelist", "build_boollist", "build_tensorlist")
_MOST = 100_000
"""Objects of a module at most; a tree whose nodes point at each other could name tensors without end."""

_DO = "download it again, or take the same model as safetensors, for instance from the hub"


def is_torchscript(path: Path) -> bool:
    """Whether an archive is one of ``torch.jit.save``: it holds ``constants.pkl``, as torch itself decides it."""
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def read_torchscript(path: Path) -> dict[str, Tensor]:
    """Every tensor of the archived module, by its dotted name, on the CPU.

    ``data.pkl`` describes the module as a tree of objects. It is read by an unpickler in which a name can stand for
    four things only: a tensor over bytes of the archive, an ordered dictionary, a list, an inert node of the tree. The
    archived code is neither compiled nor run, and no class of it is made. Edges: an attribute that is not a tensor is
    passed over; a tensor that occurs twice is given under both names.

    Errors: :class:`UserError` when the description asks for anything else, is broken, or names bytes that are not
    there.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            root = next(name for name in archive.namelist() if name.endswith("/constants.pkl")).rpartition("/")[0]
            tree = _Reader(archive, root).load()
        return dict(_tensors(tree))
    except _Forbidden as error:
        raise UserError(
            got=f"{path}, a TorchScript archive which asks for {error} (nothing of it was run)",
            expected="an archive of torch.jit.save that holds modules and tensors alone",
            do=_DO,
        ) from error
    except Exception as error:  # a pickle that was written to do harm can raise anything
        raise UserError(
            got=f"{path}, a TorchScript archive which cannot be read: {type(error).__name__}: {error}",
            expected="a whole archive of torch.jit.save",
            do=_DO,
        ) from error


class _Forbidden(Exception):  # noqa: N818 (never leaves this module)
    """A name that stands for nothing here."""


class _Node:
    """An object of the tree; its attributes are whatever the description says."""

    children: dict[str, object]

    def __new__(cls, *_: object) -> "_Node":
        node = super().__new__(cls)  # a pickle can make an object without calling its __init__
        node.children = {}
        return node

    def __setstate__(self, state: object) -> None:
        self.children = dict(state) if isinstance(state, dict) else {}


class _Reader(pickle.Unpickler):
    """Reads ``data.pkl``: ``find_class`` is the only way from a pickle to a thing that can be called."""

    def __init__(self, archive: zipfile.ZipFile, root: str) -> None:
        super().__init__(BytesIO(archive.read(f"{root}/data.pkl")))
        self._archive = archive
        self._root = root
        self._storages: dict[str, Tensor] = {}

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 (as in the class above it)
        if module == "__torch__" or module.startswith("__torch__."):
            return _Node
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _view
        if module == "torch.jit._pickle" and name in _LISTS:
            return list
        if module == "torch" and name in _TYPES:
            return _TYPES[name]
        raise _Forbidden(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Tensor:  # noqa: ANN401
        """The numbers of one storage: ("storage", type, key, device, count)."""
        kind, dtype, key, _, count = pid
        if kind != "storage" or not isinstance(dtype, torch.dtype):
            raise _Forbidden(f"{pid}")
        if key not in self._storages:
            data = bytearray(self._archive.read(f"{self._root}/data/{key}"))
            self._storages[key] = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
        storage = self._storages[key]
        if storage.numel() != count or storage.dtype != dtype:
            raise ValueError(f"{count} numbers are announced and {storage.numel()} there")
        return storage


def _view(storage: Tensor, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: object) -> Tensor:
    # torch checks that the view lies within the storage.
    return torch.as_strided(storage, shape, stride, offset)


def _tensors(tree: object) -> Iterator[tuple[str, Tensor]]:
    waiting, seen = [("", tree)], 0
    while waiting:
        name, node = waiting.pop()
        seen += 1
        if seen > _MOST:
            raise ValueError(f"more than {_MOST} objects")
        if isinstance(node, Tensor):
            yield name, node
        elif isinstance(node, _Node):
            waiting += [(f"{name}.{key}" if name else key, child) for key, child in node.children.items()]
