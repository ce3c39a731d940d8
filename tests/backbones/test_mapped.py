"""Tensors of a file are taken away as they are copied, and their pages with them."""

import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from litotes.backbones import mapped
from litotes.backbones.mapped import Consumed
from litotes.backbones.tensor_file import read_tensor_file

MB = 2**20


def resident_of_files():
    """Bytes of mapped files that lie in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssFile"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not say what lies in memory")
@pytest.mark.parametrize("save", [save_file, torch.save])
def test_pages_of_copied_tensors_leave_memory_and_the_others_keep_their_numbers(tmp_path, monkeypatch, save):
    monkeypatch.setattr(mapped, "_AT_ONCE", 16 * MB)
    written = {name: torch.randn(4 * MB) for name in "abc"}
    save(written, tmp_path / "weights")
    tensors = read_tensor_file(tmp_path / "weights").tensors
    assert all(torch.isfinite(tensor).all() for tensor in tensors.values())
    consumed, kept, before = Consumed(tmp_path / "weights", tensors), tensors["b"], resident_of_files()
    consumed("a")
    assert before - resident_of_files() > 40 * MB
    assert sorted(tensors) == ["b", "c"]
    assert all(torch.equal(tensors[name], written[name]) for name in "bc")
    consumed("b")
    consumed("c")
    assert torch.equal(kept, written["b"])


def test_memory_that_is_no_file_is_left_alone(tmp_path):
    """Dropping pages of ordinary memory would turn its numbers to 0."""
    (tmp_path / "weights").write_bytes(b"another file")
    tensors = {name: torch.full((32 * MB,), 7.0) for name in "ab"}
    kept = dict(tensors)
    consumed = Consumed(tmp_path / "weights", tensors)
    consumed("a")
    consumed("b")
    assert tensors == {}
    assert all((tensor == 7).all() for tensor in kept.values())
