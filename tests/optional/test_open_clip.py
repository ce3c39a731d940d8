"""Exported weights in open_clip itself. Needs the package open_clip_torch."""

import json
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.cli import main
from litotes.models.lora import adapted_layers, add_lora, save_adapter
from litotes.models.lora_settings import LoraSettings
from litotes.models.matcher import Matcher
from litotes.models.state_dict_file import load_state_dict_file
from reference.openai_clip import ReferenceClip
from tiny import CONTEXT, noise_pictures, tiny_matcher

open_clip = pytest.importorskip("open_clip", reason="open_clip_torch, or what it needs, is not installed")

LONG = {"context": 248, "long": True}
FAMILIES = {
    "clip": {"hidden": 768},
    "gelu": {"hidden": 320, "act": nn.GELU},
    "longclip": {"hidden": 768, **LONG},  # HiMo-CLIP's files have the same names
    "smartclip": {"hidden": 768, "dimension": 128, "mask": True, **LONG},
}
WEIGHTS, CONFIG = "open_clip_model.safetensors", "open_clip_config.json"


@pytest.fixture(scope="module", params=FAMILIES)
def model(request, tmp_path_factory):
    """A model folder of the family and an adapter that changes both towers, mounted in ``encoder`` too."""
    options, folder = FAMILIES[request.param], tmp_path_factory.mktemp(request.param)
    size = train_tokenizer(["a cat", "no cat"] * 3, 600, folder)
    reference = ReferenceClip(ids=size, **options)
    save_file(reference.state_dict(), folder / "reference.safetensors")
    said = None if "long" in options else "gelu" if "act" in options else "quick_gelu"
    backbone = load_state_dict_file(folder / "reference.safetensors", activation=said)
    encoder, pictures = backbone.encoder, backbone.preprocess
    matcher = Matcher(encoder, TextTokenizer(folder, encoder.context_length), pictures, "model")
    matcher.save(folder / "hf")
    settings = LoraSettings(rank=2, alpha=2.0, dropout=0.0)
    add_lora(encoder, settings)
    generator = torch.Generator().manual_seed(1)
    for layer in adapted_layers(encoder).values():
        nn.init.normal_(layer.lora_B["default"].weight, std=1 / 8, generator=generator)
    nn.init.constant_(encoder.clip.logit_scale, 3.0)
    save_adapter(matcher, settings, folder / "adapter")
    return SimpleNamespace(family=request.param, folder=folder, reference=reference, matcher=matcher, size=size)


def written(model, form, output, adapted=True):
    words = ["export", "--model", str(model.folder / "hf"), "--format", form, "--output", str(output)]
    assert main([*words, *(["--adapter", str(model.folder / "adapter")] if adapted else [])]) == 0
    return output


def texts(model):
    """Ids [n, context], as open_clip takes them: start, ordinary ids, the end token (the last id), zeros."""
    context, size = model.matcher.encoder.context_length, model.size
    lengths = [length for length in (2, 3, 10, 20, 21, 76, 77, 200, 248) if length <= context]
    ids, generator = torch.zeros(len(lengths), context, dtype=torch.long), torch.Generator().manual_seed(3)
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = torch.randint(1, size - 2, (length,), generator=generator)
        row[0], row[length - 1] = size - 2, size - 1
    return ids


def pixels():
    return torch.randn(5, 3, 32, 32, generator=torch.Generator().manual_seed(5))


@torch.no_grad()
def embeddings(encoder, ids):
    if hasattr(encoder, "encode_image"):
        return encoder.encode_image(pixels()), encoder.encode_text(ids)
    return encoder.image_features(pixels()), encoder.text_features(ids)


def off(found, wanted):
    return max((a - b).abs().max().item() for a, b in zip(found, wanted, strict=True))


def test_open_clip_gives_the_embeddings_of_the_adapted_model(model, tmp_path):
    loaded = open_clip.create_model(f"local-dir:{written(model, 'open_clip', tmp_path / 'out')}").eval()
    found, wanted = embeddings(loaded, texts(model)), embeddings(model.matcher.encoder, texts(model))
    assert off(found, wanted) < 1e-5
    assert loaded.logit_scale == 3
    base = embeddings(model.reference, texts(model))
    assert min((a - b).abs().max() for a, b in zip(base, wanted, strict=True)) > 0.1


def test_open_clip_gives_the_embeddings_of_the_reference(model, tmp_path):
    folder = written(model, "open_clip", tmp_path / "out", adapted=False)
    loaded = open_clip.create_model(f"local-dir:{folder}").eval()
    assert off(embeddings(loaded, texts(model)), embeddings(model.reference, texts(model))) < 1e-5


def test_heads_and_hidden_units_of_other_widths_are_told(tmp_path):
    matcher = tiny_matcher(tmp_path / "tiny", ["a cat", "no cat"] * 3, layers=2)
    matcher.save(tmp_path / "hf")
    model = SimpleNamespace(folder=tmp_path, matcher=matcher, size=matcher.tokenizer.vocabulary_size)
    folder = written(model, "open_clip", tmp_path / "out", adapted=False)
    loaded = open_clip.create_model(f"local-dir:{folder}").eval()
    assert texts(model).shape[1] == CONTEXT
    assert off(embeddings(loaded, texts(model)), embeddings(matcher.encoder, texts(model))) < 1e-5


def test_its_class_of_a_text_tower_apart_takes_the_weights_and_gives_them_back(model, tmp_path):
    folder = written(model, "open_clip", tmp_path / "out")
    config = json.loads((folder / CONFIG).read_text())
    config["model_cfg"]["custom_text"] = True
    (folder / CONFIG).write_text(json.dumps(config))
    loaded = open_clip.create_model(f"local-dir:{folder}").eval()
    assert type(loaded).__name__ == "CustomTextCLIP"
    wanted = embeddings(model.matcher.encoder, texts(model))
    assert off(embeddings(loaded, texts(model)), wanted) < 1e-5
    save_file(loaded.state_dict(), folder / WEIGHTS)
    back = load_state_dict_file(folder / WEIGHTS)
    assert back.family == "custom_text_clip"
    assert off(embeddings(back.encoder, texts(model)), wanted) < 1e-5


def test_openais_naming_is_read_at_77_tokens_and_refused_with_two_tables(model, tmp_path):
    if model.family == "gelu":
        return  # no tool that reads OpenAI's naming could be told
    folder = written(model, "open_clip", tmp_path / "out")
    file = written(model, "openai", tmp_path / "out.safetensors")
    loaded = open_clip.create_model(f"local-dir:{folder}", load_weights=False).eval()
    if "long" in FAMILIES[model.family]:
        with pytest.raises(RuntimeError, match="positional_embedding_res"):
            open_clip.load_checkpoint(loaded, str(file))
        return
    open_clip.load_checkpoint(loaded, str(file))
    assert off(embeddings(loaded, texts(model)), embeddings(model.matcher.encoder, texts(model))) < 1e-5
    assert load_file(file).keys() == loaded.state_dict().keys()


def test_its_picture_transform_is_that_of_the_model(model, tmp_path):
    folder = written(model, "open_clip", tmp_path / "out")
    _, _, transform = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    (noise,) = noise_pictures(1, 160)
    for size in ((32, 32), (64, 43), (43, 64), (160, 107), (20, 31), (33, 32)):
        picture = noise.resize(size)
        assert (transform(picture) - model.matcher.preprocess(picture)).abs().max() < 1e-6, size
