"""Graphs that onnxruntime itself runs, against an independent forward. Needs the packages of the extra ``onnx``."""

import json

import pytest
import torch
from safetensors.torch import save_file

from litotes.backbones.preprocess import Preprocess
from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.cli import main
from litotes.models.lora import adapted_layers, add_lora, save_adapter
from litotes.models.lora_settings import LoraSettings
from litotes.models.matcher import Matcher
from litotes.models.state_dict_file import load_state_dict_file
from reference.openai_clip import ReferenceClip

for package in ("onnx", "onnxscript"):
    pytest.importorskip(package, reason=f"{package} is not installed (the extra litotes[onnx])")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed (the extra litotes[onnx])")

FAMILIES = {"clip": {}, "longclip": {"context": 248, "long": True}}


def model(folder, family):
    """A model of the family in ``folder / "hf"``; the reference with its weights, and the vocabulary's size."""
    size = train_tokenizer(["a cat", "no cat"] * 3, 600, folder)
    reference = ReferenceClip(ids=size, hidden=768, **FAMILIES[family])
    save_file(reference.state_dict(), folder / "model.safetensors")
    backbone = load_state_dict_file(
        folder / "model.safetensors", activation=None if family == "longclip" else "quick_gelu"
    )
    tokenizer = TextTokenizer(folder, backbone.encoder.context_length)
    Matcher(backbone.encoder, tokenizer, backbone.preprocess, "model").save(folder / "hf")
    return reference, size


def export(folder, *options):
    words = ["export", "--model", str(folder / "hf"), "--format", "onnx", "--output", str(folder / "onnx")]
    assert main([*words, *options]) == 0


def texts(rows, length, size):
    """Ids [len(rows), length]: start, ordinary ids, the end token after ``rows`` of them, zeros."""
    generator = torch.Generator().manual_seed(length)
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    for row, count in zip(ids, rows, strict=True):
        row[:count] = torch.randint(1, size - 2, (count,), generator=generator)
        row[0], row[count - 1] = size - 2, size - 1
    return ids


def session(file):
    return onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_onnxruntime_gives_the_embeddings_of_the_reference(family, tmp_path, capsys):
    reference, size = model(tmp_path, family)
    export(tmp_path)
    shown = capsys.readouterr().out
    assert "read again: the embeddings of pictures differ by " in shown and "text.onnx" in shown
    text, image = session(tmp_path / "onnx/text.onnx"), session(tmp_path / "onnx/image.onnx")
    context = FAMILIES[family].get("context", 77)
    for rows, length in (
        ([2], 2), ([3, 2, 3, 2, 3], 3), ([10, 21, 2], 30), ([77, 2], 77), ([20], 20), ([context], context),
    ):  # fmt: skip
        ids = texts(rows, length, size)
        (found,) = text.run(None, {"input_ids": ids.numpy()})
        assert (torch.from_numpy(found) - reference.encode_text(ids)).abs().max() < 1e-5
    for count in (1, 2, 7):
        pixels = torch.randn(count, 3, 32, 32, generator=torch.Generator().manual_seed(count))
        (found,) = image.run(None, {"pixel_values": pixels.numpy()})
        assert (torch.from_numpy(found) - reference.encode_image(pixels)).abs().max() < 1e-5
    record = json.loads((tmp_path / "onnx/litotes_export.json").read_text())
    assert record["adapter"] == "none" and len(record["weights_sha256"]) == 64
    assert TextTokenizer(tmp_path / "onnx", context).vocabulary_size == size
    assert Preprocess.from_config(tmp_path / "onnx").size == 32


@torch.no_grad()
def test_an_adapter_is_merged_into_the_graphs(tmp_path):
    reference, size = model(tmp_path, "clip")
    backbone = load_state_dict_file(tmp_path / "model.safetensors", activation="quick_gelu")
    matcher = Matcher(backbone.encoder, TextTokenizer(tmp_path, 77), backbone.preprocess, "model")
    settings = LoraSettings(dropout=0.0)
    add_lora(matcher.encoder, settings)
    for layer in adapted_layers(matcher.encoder).values():
        layer.lora_B["default"].weight.normal_(generator=torch.Generator().manual_seed(2)).div_(8)
    save_adapter(matcher, settings, tmp_path / "adapter")
    export(tmp_path, "--adapter", str(tmp_path / "adapter"))
    ids = texts([9, 4], 9, size)
    adapted = torch.from_numpy(session(tmp_path / "onnx/text.onnx").run(None, {"input_ids": ids.numpy()})[0])
    assert (adapted - matcher.encoder.text_features(ids)).abs().max() < 1e-5
    assert (adapted - reference.encode_text(ids)).abs().max() > 0.01
