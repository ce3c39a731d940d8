"""Files of tensors can be read by whom other files of the user can be."""

import os

import pytest
import torch
from safetensors.torch import load_file

from litotes.models.tensors import permit_as_usual, save_tensors


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_file_of_tensors_has_the_permissions_of_any_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        save_tensors({"a": torch.ones(2)}, tmp_path / "a.safetensors", {"format": "pt"})
        (tmp_path / "b").touch()
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode for name in ("a.safetensors", "b")]
    assert modes[0] == modes[1]
    assert load_file(tmp_path / "a.safetensors")["a"].tolist() == [1, 1]


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        permit_as_usual(tmp_path / "none")
