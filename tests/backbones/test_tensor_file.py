"""Files of weights as people have them: whole, wrapped, cut, harmful. Each kind is made anew here."""

import argparse
import hashlib
import json
import os
import pathlib
import pickle
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from litotes.backbones.fit import require_fit
from litotes.backbones.tensor_file import read_tensor_file
from litotes.errors import UserError

WEIGHT = torch.arange(12.0).reshape(3, 4) / 10
BIAS = torch.tensor([0.1, 0.2, 0.3])
WANTED = {"proj.weight": (3, 4), "proj.bias": (3,)}
MARKER = "checkpoint_ran.marker"


def weights(prefix=""):
    return {f"{prefix}proj.weight": WEIGHT.clone(), f"{prefix}proj.bias": BIAS.clone()}


def with_optimizer(path):
    moments = {"step": torch.tensor(1.0), "exp_avg": torch.ones(3, 4), "exp_avg_sq": torch.ones(3, 4)}
    optimizer = {"state": {0: moments}, "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "params": [0]}]}
    torch.save({"state_dict": weights(), "optimizer": optimizer, "rng": torch.get_rng_state()}, path)


def torchscript(path):
    layer = nn.Sequential(OrderedDict(proj=nn.Linear(4, 3)))
    layer.load_state_dict(weights())
    torch.jit.save(torch.jit.trace(layer, torch.ones(4)), path)


def rewritten(path, change):
    """The archive at ``path`` with its ``data.pkl`` changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, change(data) if name.endswith("/data.pkl") else data)


def saved_on_cuda(path):
    torch.save({"state_dict": weights()}, path)
    rewritten(path, lambda data: data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0"))


LOADED = {
    "safetensors": lambda path: save_file(weights(), path),
    "bare": lambda path: torch.save(weights(), path),
    "ordered": lambda path: torch.save(OrderedDict(weights()), path),
    "state_dict": lambda path: torch.save({"state_dict": weights(), "epoch": 3}, path),
    "model": lambda path: torch.save({"model": weights("_orig_mod.")}, path),
    "model_state_dict": lambda path: torch.save({"model_state_dict": weights()}, path),
    "wrapped twice": lambda path: torch.save({"model": {"state_dict": weights("module._orig_mod.")}, "x": 1}, path),
    "parameters": lambda path: torch.save({k: nn.Parameter(v) for k, v in weights().items()}, path),
    "half": lambda path: torch.save({"state_dict": {k: v.half() for k, v in weights().items()}}, path),
    "saved on a GPU": saved_on_cuda,
    "old form": lambda path: torch.save({"state_dict": weights()}, path, _use_new_zipfile_serialization=False),
    "optimizer": with_optimizer,
    "NumPy numbers": lambda path: torch.save(
        {"state_dict": weights(), "best": np.float64(0.5), "step": np.int64(3), "on": np.bool_(True)}, path
    ),
    "settings and paths": lambda path: torch.save(
        {"state_dict": weights(), "args": argparse.Namespace(lr=1e-4, out=pathlib.PurePosixPath("runs/x"))}, path
    ),
    "TorchScript": torchscript,
}


@pytest.mark.parametrize("kind", LOADED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_whole_file_gives_its_weights(kind, tmp_path):
    path = tmp_path / "model.bin"  # no suffix tells what it is
    LOADED[kind](path)
    file = read_tensor_file(path)
    require_fit(path, file.tensors, WANTED, "the layer")
    found = {name: tensor.detach().float() for name, tensor in file.tensors.items()}
    out = found["proj.weight"] @ torch.ones(4) + found["proj.bias"]
    assert torch.allclose(out, torch.tensor([0.7, 2.4, 4.1]), atol=1e-3 if kind == "half" else 1e-6)
    assert {tensor.device.type for tensor in file.tensors.values()} == {"cpu"}
    assert file.scripted == (kind == "TorchScript")


@pytest.mark.parametrize(
    "kind, notes",
    [
        ("bare", ()),
        ("state_dict", ("read from state_dict; left out: epoch",)),
        ("model", ("read from model", "taken off every name: _orig_mod.")),
        (
            "wrapped twice",
            ("read from model; left out: x", "read from model.state_dict", "taken off every name: module._orig_mod."),
        ),
        ("optimizer", ("read from state_dict; left out: optimizer, rng",)),
        ("settings and paths", ("read from state_dict; left out: args",)),
    ],
)
def test_what_was_undone_and_left_out_is_said(kind, notes, tmp_path):
    LOADED[kind](tmp_path / "model.pt")
    assert read_tensor_file(tmp_path / "model.pt").notes == notes


def test_a_prefix_that_not_all_names_share_stays(tmp_path):
    torch.save({"module.a": BIAS, "b": BIAS}, tmp_path / "model.pt")
    assert set(read_tensor_file(tmp_path / "model.pt").tensors) == {"module.a", "b"}


class Harmful:
    """Makes a file when it is unpickled by a careless reader."""

    def __reduce__(self):
        return (open, (MARKER, "w"))


class HarmfulSystem:
    def __reduce__(self):
        return (os.system, (f"touch {MARKER}",))


def cut(path, share=0.7, make=lambda path: torch.save({"state_dict": weights()}, path)):
    make(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])


def harmful_torchscript(path):
    """A name in the archive's description exchanged for one that runs code."""
    torchscript(path)
    rewritten(path, lambda data: data.replace(b"ccollections\nOrderedDict\n", b"cposix\nsystem\n"))


REFUSED = {
    "runs code": (lambda path: torch.save({"state_dict": weights(), "note": Harmful()}, path), "asks for io.open"),
    "runs a command": (lambda path: torch.save([HarmfulSystem()], path), "asks for posix.system"),
    "runs code, bare pickle": (lambda path: path.write_bytes(pickle.dumps(Harmful())), "nothing of it was run"),
    "runs code, old pickle": (lambda path: path.write_bytes(pickle.dumps(Harmful(), 2)), "nothing of it was run"),
    "a pickle of numbers": (
        lambda path: path.write_bytes(pickle.dumps({"a": 1}, 2)),
        "a pickle that torch.save did not write .* nothing of it was run",
    ),
    "runs code, old form": (
        lambda path: torch.save({"x": Harmful()}, path, _use_new_zipfile_serialization=False),
        "asks for io.open",
    ),
    "runs code, TorchScript": (harmful_torchscript, "asks for posix.system .nothing of it was run"),
    "a whole module": (lambda path: torch.save(nn.Linear(4, 3), path), r"asks for torch.nn.modules.linear.Linear"),
    "an array": (lambda path: torch.save({"x": np.zeros(2)}, path), "_reconstruct"),
    "cut": (cut, "is cut: the end of the archive is missing"),
    "cut, old form": (
        lambda path: cut(path, 0.9, LOADED["old form"]),
        "is cut or no file of weights",
    ),
    "cut, safetensors": (lambda path: cut(path, 0.9, LOADED["safetensors"]), "is cut or broken"),
    "cut, TorchScript": (lambda path: cut(path, 0.9, torchscript), "is cut: the end"),
    "empty": (lambda path: path.write_bytes(b""), "an empty file"),
    "git-lfs pointer": (
        lambda path: path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 354\n"),
        "a git-lfs pointer",
    ),
    "a page": (lambda path: path.write_text("<!DOCTYPE html><html>404</html>"), "no file of weights"),
    "JSON": (lambda path: path.write_text('{"a": 1, "b": 2}'), "no file of weights"),
    "another archive": (lambda path: zipfile.ZipFile(path, "w").writestr("a/b.txt", "x"), "no file of weights"),
    "a list": (lambda path: torch.save([BIAS], path), "a list where weights are looked for"),
    "nothing": (lambda path: torch.save({}, path), "nothing where weights"),
    "nothing, wrapped": (lambda path: torch.save({"state_dict": {}}, path), "nothing where weights"),
    "a number among tensors": (lambda path: torch.save({"a": BIAS, "b": 3}, path), "int under 'b', among 2 entries"),
    "numbered tensors": (lambda path: torch.save({0: BIAS}, path), "Tensor under 0"),
    "two places": (
        lambda path: torch.save({"model": weights(), "state_dict": weights()}, path),
        "weights in two places: state_dict, model",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_bad_file_is_refused_by_its_name_and_never_run(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, message = REFUSED[kind]
    path = tmp_path / "model.pt"
    make(path)
    with pytest.raises(UserError, match=message) as error:
        read_tensor_file(path)
    assert str(path) in error.value.got
    assert "weights_only" not in str(error.value)
    assert not (tmp_path / MARKER).exists()


@pytest.mark.parametrize("make", [Harmful, HarmfulSystem])
def test_the_harmful_files_are_harmful(make, tmp_path, monkeypatch):
    """Else the test above would show nothing."""
    monkeypatch.chdir(tmp_path)
    torch.save({"x": make()}, "model.pt")
    torch.load("model.pt", weights_only=False)
    assert (tmp_path / MARKER).exists()


def test_every_way_from_a_torchscript_description_to_code_is_closed(tmp_path, monkeypatch):
    """Pickles written by hand in the archive's place: what they name is refused, or is an inert node."""
    monkeypatch.chdir(tmp_path)
    pickles = {
        "reduce": b"\x80\x02cbuiltins\neval\n(X\x01\x00\x00\x001tR.",
        "inst": b"\x80\x02(X\x04\x00\x00\x00touciposix\nsystem\n.",
        "obj": b"\x80\x02(cposix\nsystem\nX\x01\x00\x00\x00xo.",
        "newobj": b"\x80\x02csubprocess\nPopen\n)\x81.",
        "stack global": b"\x80\x04\x8c\x05posix\x8c\x06system\x93.",
        "dotted": b"\x80\x04\x8c\x05torch\x8c\x0dos.system.foo\x93.",
        "torch's own": b"\x80\x02ctorch\nload\n)R.",
        "a list's attribute": b"\x80\x04\x8c\x12torch.jit._pickle\x8c\x0fos.system.a.b.c\x93.",
        "extension": b"\x80\x02\x82\x01.",
        "unfinished": b"\x80\x02(X\x05\x00\x00\x00touch",
        "persistent": b"\x80\x02X\x01\x00\x00\x00aQ.",
        "outside": b"\x80\x02(X\x07\x00\x00\x00storagectorch\nByteStorage\n"
        b"X\x10\x00\x00\x00../constants.pklX\x03\x00\x00\x00cpuK\x04tQ.",
    }
    for kind, data in pickles.items():
        path = tmp_path / f"{kind}.pt"
        torchscript(path)
        rewritten(path, lambda _, data=data: data)
        with pytest.raises(UserError, match="a TorchScript archive which") as error:
            read_tensor_file(path)
        assert str(path) in error.value.got
    # A class of the archive is a node whatever it is called, and calling it with anything does nothing.
    path = tmp_path / "node.pt"
    torchscript(path)
    rewritten(path, lambda _: b"\x80\x02c__torch__.os\nsystem\n(X\x01\x00\x00\x00xtR.")
    with pytest.raises(UserError, match="nothing where weights"):
        read_tensor_file(path)
    assert list(tmp_path.glob("*.marker")) == []


def test_a_view_beyond_the_numbers_of_an_archive_is_refused(tmp_path):
    torchscript(tmp_path / "model.pt")
    # The shape (3, 4) of the weight made (99, 4); and the numbers of its storage announced as 99.
    rewritten(tmp_path / "model.pt", lambda data: data.replace(b"(K\x03K\x04t", b"(K\x63K\x04t"))
    with pytest.raises(UserError, match=r"cannot be read: RuntimeError.*out of bounds"):
        read_tensor_file(tmp_path / "model.pt")
    torchscript(tmp_path / "model.pt")
    rewritten(tmp_path / "model.pt", lambda data: data.replace(b"K\x0ct", b"K\x63t", 1))
    with pytest.raises(UserError, match="99 numbers are announced and 12 there"):
        read_tensor_file(tmp_path / "model.pt")


def test_an_archive_without_end_is_left(tmp_path):
    """Forty nodes, each of which holds the next one twice: 2^40 names."""
    node = b"c__torch__\nM\n)\x81"
    data = node
    for _ in range(40):
        data += b"q\x000" + node + b"}(X\x01\x00\x00\x00ah\x00X\x01\x00\x00\x00bh\x00ub"
    torchscript(tmp_path / "model.pt")
    rewritten(tmp_path / "model.pt", lambda _: b"\x80\x02" + data + b".")
    with pytest.raises(UserError, match="more than 100000 objects"):
        read_tensor_file(tmp_path / "model.pt")


def test_no_file_or_a_folder(tmp_path):
    for path, message in ((tmp_path / "none.pt", "no file"), (tmp_path, "which is not a file")):
        with pytest.raises(UserError, match=message):
            read_tensor_file(path)


def test_nothing_is_read_of_a_file_with_another_hash(tmp_path, monkeypatch):
    path = tmp_path / "model.pt"
    torch.save(weights(), path)
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    assert set(read_tensor_file(path, right).tensors) == set(WANTED)
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("read before it was checked"))
    with pytest.raises(UserError, match=f"with sha256 {right}"):
        read_tensor_file(path, "0" * 64)


def test_reading_leaves_torchs_own_list_of_harmless_names_as_it_was(tmp_path):
    before = set(torch.serialization.get_safe_globals())
    LOADED["NumPy numbers"](tmp_path / "model.pt")
    read_tensor_file(tmp_path / "model.pt")
    assert set(torch.serialization.get_safe_globals()) == before
    with pytest.raises(pickle.UnpicklingError):
        torch.load(tmp_path / "model.pt", weights_only=True)


FOLDER = pathlib.Path(os.environ.get("LITOTES_SHARED_CASES", "/nonexistent")) / "26_checkpoint_files"


@pytest.mark.skipif(not FOLDER.is_dir(), reason="LITOTES_SHARED_CASES names no folder of cases")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_files_of_the_case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = json.loads((FOLDER / "expected.json").read_text())
    for line in [*expected["must_load_and_give_it"], *expected["may_need_a_flag"]]:
        path = FOLDER / line.split(" ")[0]
        tensors = read_tensor_file(path).tensors
        require_fit(path, tensors, WANTED, "the layer")
        out = tensors["proj.weight"].float() @ torch.ones(4) + tensors["proj.bias"].float()
        wanted = torch.tensor(expected["output_for_input_of_ones"])
        assert torch.allclose(out, wanted, atol=1e-3 if "half" in line else 1e-6), line
    for name in expected["must_refuse"]:
        with pytest.raises(UserError, match=name):
            require_fit(FOLDER / name, read_tensor_file(FOLDER / name).tensors, WANTED, "the layer")
    assert list(tmp_path.iterdir()) == []
