"""Named tensors from a file, without running anything that the file holds."""

import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from litotes.backbones.torchscript import is_torchscript, read_torchscript
from litotes.data.images import sha256_of_file
from litotes.errors import UserError

WRAPPERS = ("state_dict", "model", "model_state_dict")
"""Names under which training scripts keep the weights beside optimiser, epoch and the like."""

PREFIXES = ("module.", "_orig_mod.", "model.")
"""What DistributedDataParallel, torch.compile and Lightning put before every name."""

_DO_AGAIN = "download or copy it again, and compare its size with the source's"
_DO_SAVE = "where it was made, save model.state_dict() alone, best with safetensors.torch.save_file"
_DO_TENSORS = (
    "take it as safetensors from its source, or save its tensors anew where it was made, with "
    "safetensors.torch.save_file; a whole CLIP in OpenAI's or open_clip's naming is read by litotes convert as it is"
)
_LFS = b"version https://git-lfs"
_ZIP = b"PK\x03\x04"
_OLD_FORM = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
"""The number that torch.save puts in front of its old form."""
_PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
"""Those of pickle that a file can begin with by name."""
_BARE = "a pickle"


_PATHS = ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath")


class _Unread:
    """Stands where a file holds a NumPy number, a path or argparse settings; keeps nothing of it."""

    def __init__(self, *parts: object) -> None:
        """Take any parts."""

    def __setstate__(self, state: object) -> None:
        """Take any state."""


def _stand_in(name: str) -> type[_Unread]:
    """A class that a pickle finds under ``name``; torch tells what may be made by module and name of a class."""
    module, _, last = name.rpartition(".")
    return type(last, (_Unread,), {"__module__": module})


_STAND_INS: list[Any] = [
    _stand_in(name)
    for name in (
        "numpy.core.multiarray.scalar",
        "numpy._core.multiarray.scalar",
        "numpy.dtype",
        "argparse.Namespace",
        *(f"{module}.{kind}" for module in ("pathlib", "pathlib._local") for kind in _PATHS),
    )
]
"""For harmless things that scripts save beside weights and torch.load refuses. The named thing is never made."""


@dataclass(frozen=True)
class TensorFile:
    """What a file of weights holds: ``tensors`` by their names, and ``notes`` on what was undone or left out.

    ``scripted``: it is a TorchScript archive, the form of OpenAI's own files. ``said``: words in the header of a
    safetensors file. Tensors lie on the CPU and may be mapped from the file: copy what is to be kept.
    """

    path: Path
    tensors: dict[str, Tensor]
    notes: tuple[str, ...] = ()
    scripted: bool = False
    said: Mapping[str, str] = field(default_factory=dict)


def read_tensor_file(source: str | Path, sha256: str | None = None) -> TensorFile:
    """Read the weights of a ``.safetensors`` file, of a file of ``torch.save``, or of a TorchScript archive.

    The kind is told by the content, not by the suffix. Weights may stand at the top or under one of ``WRAPPERS``;
    ``PREFIXES`` that all names share are taken off. What stands beside the weights (optimiser, epoch) is left out and
    named in the notes.

    Nothing in a file is run: pickles go through ``torch.load(weights_only=True)`` and TorchScript archives through a
    reader that knows tensors alone. NumPy numbers, paths and argparse settings become empty stand-ins; a file that
    asks for anything else is refused. ``sha256``: nothing is read of a file with another one. Edges: tensors saved on
    a GPU are read to the CPU.

    Errors: :class:`UserError` naming the file when it is missing, empty, cut, a git-lfs pointer or of no known kind;
    when it would run code; when it holds no weights, or weights in two places.
    """
    path = Path(source)
    start = _start(path)
    require_hash(path, sha256)
    if start[8:9] == b"{":
        tensors, said = _safetensors(path)
        return replace(_unwrapped(path, tensors, scripted=False), said=said)
    if start.startswith(_ZIP):
        _require_whole_archive(path)
        if is_torchscript(path):
            return _unwrapped(path, read_torchscript(path), scripted=True)
        return _unwrapped(path, _torch_load(path, mapped=True), scripted=False)
    return _unwrapped(path, _torch_load(path, mapped=False), scripted=False)


def read_torch_file(source: str | Path) -> object:
    """What ``torch.save`` wrote: tensors, on the CPU, in whatever dictionaries and lists of numbers and words.

    For files that are no state dict; as in ``read_tensor_file``, nothing in it is run. Edges: torch reads safetensors
    too, as tensors by their names. Errors: a file that is missing, empty, cut, a git-lfs pointer, a TorchScript archive
    or of no known kind, or that would run code.
    """
    path = Path(source)
    if _start(path).startswith(_ZIP):
        _require_whole_archive(path)
        if is_torchscript(path):
            raise UserError(got=f"{path}, a TorchScript archive", expected="a file of torch.save", do=_DO_AGAIN)
    return _torch_load(path, mapped=False)


def require_weights(path: Path) -> None:
    """Refuse a file that is missing, empty or a git-lfs pointer."""
    _start(path)


def _start(path: Path) -> bytes:
    """The first bytes of a file that has some and is no git-lfs pointer."""
    _require_content(path)
    with path.open("rb") as stream:
        start = stream.read(max(9, len(_LFS)))
    if start.startswith(_LFS):
        raise UserError(
            got=f"{path}, a git-lfs pointer and not the weights themselves",
            expected="the file that the pointer stands for",
            do="run git lfs pull in its repository, or download the file itself",
        )
    return start


def _require_content(path: Path) -> None:
    if not path.is_file():
        raise UserError(
            got=f"no file {path}" if not path.exists() else f"{path}, which is not a file",
            expected="a file of weights (.safetensors, .pt, .pth)",
            do="check the path",
        )
    if path.stat().st_size == 0:
        raise UserError(got=f"{path}, an empty file", expected="a file of weights", do=_DO_AGAIN)


def require_sha256(sha256: str) -> None:
    """Refuse what is no hash at all, before a large file is read for nothing."""
    if not re.fullmatch("[0-9a-fA-F]{64}", sha256):
        raise UserError(got=f"sha256 {sha256!r}", expected="64 hexadecimal digits", do="copy the whole hash")


def require_hash(path: Path, sha256: str | None) -> None:
    """Refuse a file whose sha256 is not the given one (64 hexadecimal digits, in any case); None asks nothing."""
    if sha256 is None:
        return
    require_sha256(sha256)
    found = sha256_of_file(path)
    if found != sha256.lower():
        raise UserError(
            got=f"{path} with sha256 {found}",
            expected=f"sha256 {sha256}",
            do="download the file again from its source, or check the hash",
        )


def _safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors, and what the header says beside them."""
    try:
        with safe_open(path, "pt") as file:
            said = file.metadata() or {}
        return load_file(path), said
    except (SafetensorError, OSError) as error:
        raise no_safetensors(path, error) from error


def no_safetensors(path: Path, error: Exception) -> UserError:
    """What is told of a file that safetensors does not read (``error``): that it is a pickle, or that it is broken.

    Told by its first bytes alone: a pickle is not opened.
    """
    kind = _pickle_kind(path)
    if kind:
        return UserError(
            got=f"{path}, which is {kind} and no safetensors file (it could run code, and nothing of it was run)",
            expected="a safetensors file: numbers, and nothing that could be run",
            do=_DO_TENSORS,
        )
    return UserError(
        got=f"{path}, which is cut or broken: {str(error).splitlines()[0]}",
        expected="a whole safetensors file",
        do=_DO_AGAIN,
    )


def _pickle_kind(path: Path) -> str:
    """What kind of pickle a file is, by its first bytes; "" for no kind."""
    with path.open("rb") as stream:
        start = stream.read(len(_OLD_FORM)).ljust(2)
    if start.startswith(_ZIP):
        return "an archive as torch.save writes it, with a pickle in it,"
    if start == _OLD_FORM:
        return "a file of torch.save in its old form, a pickle,"
    header = start[8:9] == b"{"  # of safetensors, whose length may begin with the bytes of a pickle
    return _BARE if start[:1] == pickle.PROTO and start[1] in _PROTOCOLS and not header else ""


def _require_whole_archive(path: Path) -> None:
    """The table of contents of an archive stands at its end, so that a cut file has none."""
    if not zipfile.is_zipfile(path):
        raise UserError(
            got=f"{path}, which is cut: the end of the archive is missing",
            expected="a whole file of torch.save",
            do=_DO_AGAIN,
        )


def _torch_load(path: Path, mapped: bool) -> object:
    try:
        with torch.serialization.safe_globals(_STAND_INS), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old forms and pickle protocols: what matters is checked here
            return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:  # a pickle that was written to do harm can raise anything
        raise UserError(
            got=f"{path}, {_reason(path, error)}",
            expected="a safetensors file, or one of torch.save with tensors, numbers, strings, lists and dictionaries",
            do=f"{_DO_AGAIN}; or {_DO_SAVE}",
        ) from error


def _reason(path: Path, error: Exception) -> str:
    """Why torch does not read a file, without its advice to read it unsafely."""
    kind = _pickle_kind(path)
    if not isinstance(error, pickle.UnpicklingError):
        if kind == _BARE:
            return "a pickle that torch.save did not write (it could run code, and nothing of it was run)"
        return "which is cut or no file of weights"
    asked = re.search(r"GLOBAL (\S+)", str(error))
    if asked:
        return f"which asks for {asked[1]} (it could run code, and nothing of it was run)"
    if kind:
        return "a pickle with instructions that tensors do not need (it could run code, and nothing of it was run)"
    return "which is no file of weights"


def _unwrapped(path: Path, content: object, scripted: bool) -> TensorFile:
    notes = []
    where: list[str] = []
    while isinstance(content, Mapping):
        inner = [key for key in WRAPPERS if isinstance(content.get(key), Mapping)]
        if not inner:
            break
        if len(inner) > 1:
            raise UserError(
                got=f"{path} with weights in two places: {', '.join(inner)}",
                expected=f"one of {', '.join(WRAPPERS)}",
                do=_DO_SAVE,
            )
        where.append(inner[0])
        beside = [str(key) for key in content if key != inner[0]]
        more = f" and {len(beside) - 8} more" if len(beside) > 8 else ""
        left_out = f"; left out: {', '.join(beside[:8])}{more}" if beside else ""
        notes.append(f"read from {'.'.join(where)}{left_out}")
        content = content[inner[0]]
    tensors, prefix = _without_prefix(_flat(path, content))
    if prefix:
        notes.append(f"taken off every name: {prefix}")
    return TensorFile(path, tensors, tuple(notes), scripted)


def _flat(path: Path, content: object) -> dict[str, Tensor]:
    if not isinstance(content, Mapping) or not content:
        kind = "nothing" if content == {} else f"a {type(content).__name__}"
        raise UserError(
            got=f"{path} with {kind} where weights are looked for",
            expected="tensors by their names, at the top or under " + ", ".join(WRAPPERS),
            do=_DO_SAVE,
        )
    for name, value in content.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise UserError(
                got=f"{path} with {type(value).__name__} under {name!r}, among {len(content)} entries",
                expected="tensors by their names, at the top or under " + ", ".join(WRAPPERS),
                do=_DO_SAVE,
            )
    return dict(content)


def _without_prefix(tensors: dict[str, Tensor]) -> tuple[dict[str, Tensor], str]:
    taken = ""
    while True:
        shared = [prefix for prefix in PREFIXES if all(name.startswith(prefix) for name in tensors)]
        if not shared:
            return tensors, taken
        tensors = {name.removeprefix(shared[0]): tensor for name, tensor in tensors.items()}
        taken += shared[0]
