"""Adapters on some blocks of a tower: which weights are trained, and what a file must hold."""

import json
import re

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file

from litotes.backbones.preprocess import Preprocess
from litotes.errors import UserError
from litotes.models.clip import new_clip
from litotes.models.lora import adapted_layers, add_lora, load_adapter, save_adapter
from litotes.models.lora_settings import LoraSettings, block_indices, describe, layers_said
from litotes.models.matcher import Matcher
from tiny import WIDTHS, FileClip

# Positions of CLIP-LoRA for 12 blocks, and for the 24 of ViT-L/14, which has no others.
OF_12 = {
    "all": range(12), "top1": [11], "top2": [10, 11], "top3": [9, 10, 11], "bottom": range(4), "mid": range(4, 8),
    "up": range(8, 12), "half-up": range(6, 12), "half-bottom": range(6),
}  # fmt: skip
OF_24 = {"all": range(24), "half-up": range(12, 24), "half-bottom": range(12)}


@pytest.mark.parametrize(("count", "table"), [(12, OF_12), (24, OF_24)])
def test_names_mean_the_blocks_of_clip_lora(count, table):
    for name, blocks in table.items():
        assert block_indices(name, count) == tuple(blocks)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 13, 32])
def test_thirds_and_halves_share_a_tower_of_any_depth_without_gap_or_overlap(count):
    for names in (("bottom", "mid", "up"), ("half-bottom", "half-up")):
        found = []
        for name in names:
            try:
                found += block_indices(name, count)
            except UserError as error:
                assert count < len(names) and "at least one block" in str(error)
        assert found == list(range(count))


def test_numbers_are_blocks_from_0_and_are_said_shortest():
    assert block_indices("8-11", 12) == (8, 9, 10, 11)
    assert block_indices("0,2-3,3,7", 12) == (0, 2, 3, 7)
    assert (layers_said([7, 0, 3, 2], 12), layers_said(range(12), 12), layers_said([0], 1)) == ("0,2-3,7", "all", "all")
    for mask in range(1, 2**6):
        blocks = tuple(i for i in range(6) if mask >> i & 1)
        assert block_indices(layers_said(blocks, 6), 6) == blocks


@pytest.mark.parametrize("layers", ["", "top", "Up", "-1", "1,", "1-2-3", " 1", "1e3", "1;2", "9" * 19, "all,1"])
def test_words_that_are_no_layers_are_refused(layers):
    with pytest.raises(UserError, match="or numbers of blocks from 0"):
        LoraSettings(layers=layers)
    with pytest.raises(UserError, match="or numbers of blocks from 0"):
        LoraSettings(vision_layers=layers)


def test_layers_of_their_own_for_vision_need_both_towers():
    with pytest.raises(UserError, match="of the vision tower alone"):
        LoraSettings(towers="vision", vision_layers="up")


def deep_clip():
    """Three blocks of texts, six of pictures."""
    return new_clip(
        {**WIDTHS, "num_hidden_layers": 6, "image_size": 32, "patch_size": 16},
        {**WIDTHS, "num_hidden_layers": 3, "max_position_embeddings": 77, "vocab_size": 514},
        24,
        eos=513,
        bos=512,
    )


def deep_matcher():
    return Matcher(deep_clip(), FileClip.matcher().tokenizer, Preprocess(size=32), "deep")


CASES = [
    (LoraSettings(layers="all"), {"text": [0, 1, 2], "vision": [0, 1, 2, 3, 4, 5]}),
    (LoraSettings(layers="up"), {"text": [2], "vision": [4, 5]}),
    (LoraSettings(layers="0,2"), {"text": [0, 2], "vision": [0, 2]}),
    (LoraSettings(layers="1", vision_layers="half-up"), {"text": [1], "vision": [3, 4, 5]}),
    (LoraSettings(layers="all", vision_layers="top1", targets=("fc1",)), {"text": [0, 1, 2], "vision": [5]}),
    (LoraSettings(towers="vision", layers="1-4"), {"vision": [1, 2, 3, 4]}),
    (LoraSettings(towers="text", layers="bottom", targets=("q_proj", "out_proj")), {"text": [0]}),
]


@pytest.mark.parametrize(("settings", "blocks"), CASES)
def test_just_the_blocks_asked_for_are_trained(settings, blocks):
    encoder = deep_clip()
    wanted = {
        f"clip.{tower}_model.encoder.layers.{i}.{'mlp' if target == 'fc1' else 'self_attn'}.{target}.{matrix}"
        for tower, numbers in blocks.items()
        for i in numbers
        for target in settings.targets
        for matrix in ("lora_A.default.weight", "lora_B.default.weight")
    }
    assert add_lora(encoder, settings) == len(wanted) // 2
    assert {name for name, parameter in encoder.named_parameters() if parameter.requires_grad} == wanted


def test_one_step_changes_every_lora_b_of_these_blocks_alone():
    encoder = deep_clip()
    add_lora(encoder, LoraSettings(layers="top1", vision_layers="2", dropout=0.0))
    before = encoder.base_fingerprint()
    optimizer = torch.optim.AdamW([p for p in encoder.parameters() if p.requires_grad], lr=1e-2)
    images = encoder.image_features(torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0)))
    texts = encoder.text_features(torch.tensor([[512, 5, 513], [512, 9, 513]]))
    (images - texts).square().sum().backward()
    optimizer.step()
    layers = adapted_layers(encoder)
    assert {name.rsplit(".", 2)[0] for name in layers} == {
        "text_model.encoder.layers.2", "vision_model.encoder.layers.2",
    }  # fmt: skip
    assert all(layer.lora_B["default"].weight.abs().max() > 0 for layer in layers.values())
    assert encoder.base_fingerprint() == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (LoraSettings(layers="3"), "layers 3 of a tower of 3 blocks"),
        (LoraSettings(layers="0-999999999999999999"), "layers 0-9+ of a tower of 3 blocks"),
        (LoraSettings(layers="1", vision_layers="6"), "layers 6 of a tower of 6 blocks"),
    ],
)
def test_a_block_that_a_tower_lacks_is_refused_and_nothing_is_mounted(settings, message):
    encoder = deep_clip()
    with pytest.raises(UserError, match=message):
        add_lora(encoder, settings)
    assert adapted_layers(encoder) == {}


@torch.no_grad()
def features(encoder):
    pixels = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    return torch.cat([encoder.image_features(pixels), encoder.text_features(torch.tensor([[512, 5, 8, 513]]))])


def saved(folder, settings):
    """A matcher with an adapter unlike its base, and the adapter in ``folder``."""
    matcher = deep_matcher()
    add_lora(matcher.encoder, settings)
    with torch.no_grad():
        for layer in adapted_layers(matcher.encoder).values():
            layer.lora_B["default"].weight.normal_(generator=torch.Generator().manual_seed(2))
    save_adapter(matcher, settings, folder)
    return matcher


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_a_saved_adapter_names_its_blocks_and_peft_reads_it_alike(tmp_path):
    matcher = saved(tmp_path, LoraSettings(layers="1", vision_layers="up", dropout=0.0))
    again = deep_matcher()
    found = load_adapter(again, tmp_path)
    assert (found.layers, found.vision_layers) == ("1", "4-5")
    assert "of both (blocks 1 of text, 4-5 of vision), rank 2" in again.adapter
    assert torch.equal(features(again.encoder), features(matcher.encoder))
    side = json.loads((tmp_path / "litotes_adapter.json").read_text())["lora"]
    assert (side["layers"], side["vision_layers"]) == ("1", "up")
    plain = deep_clip()
    with torch.no_grad():
        base = features(plain)
    PeftModel.from_pretrained(plain.clip, str(tmp_path))
    assert torch.equal(features(plain.eval()), features(matcher.encoder))
    assert (base - features(matcher.encoder)).abs().max() > 0.1


def changed(folder, keep=lambda name: True, **config):
    weights = {k: t for k, t in load_file(folder / "adapter_model.safetensors").items() if keep(k)}
    save_file(weights, folder / "adapter_model.safetensors")
    values = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(values | config))


BLOCK_4 = re.compile(r"vision_model\.encoder\.layers\.4\.")
REFUSED = {
    "a block that the pattern lists is missing": ({"keep": lambda k: not BLOCK_4.search(k)}, "6 weights missing"),
    "a pattern that is not understood": ({"target_modules": r"vision.*layers\.[45]\..*proj"}, "24 weights missing"),
    "a list means all blocks": ({"target_modules": ["q_proj", "k_proj", "v_proj"]}, "42 weights missing"),
    "blocks beside a pattern": ({"layers_to_transform": [4, 5]}, "layers_to_transform = "),
    "blocks that are not there": (
        {"target_modules": ["q_proj", "k_proj", "v_proj"], "layers_to_transform": [4, 6]},
        r"layers_to_transform = \[4, 6\], more blocks",
    ),
    "blocks that are no numbers": (
        {"target_modules": ["q_proj", "k_proj", "v_proj"], "layers_to_transform": [[4]]},
        "more blocks than this model has",
    ),
    "blocks under another name": (
        {"target_modules": ["q_proj"], "layers_pattern": "resblocks"},
        "layers_pattern = 'resblocks'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_fewer_blocks_than_the_configuration_means_are_refused(name, tmp_path):
    changes, message = REFUSED[name]
    saved(tmp_path, LoraSettings(towers="vision", layers="up"))
    changed(tmp_path, **changes)
    matcher = deep_matcher()
    with pytest.raises(UserError, match=message):
        load_adapter(matcher, tmp_path)
    assert adapted_layers(matcher.encoder) == {}


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
@pytest.mark.parametrize("blocks", [5, [5], [3, 5]])
def test_pefts_own_way_to_name_blocks_is_understood(blocks, tmp_path):
    numbers = blocks if isinstance(blocks, list) else [blocks]
    matcher = saved(tmp_path, LoraSettings(towers="vision", layers=",".join(map(str, numbers)), dropout=0.0))
    changed(tmp_path, target_modules=["q_proj", "k_proj", "v_proj"], layers_to_transform=blocks)
    again, plain = deep_matcher(), deep_clip()
    found = load_adapter(again, tmp_path)
    assert (found.towers, found.layers) == ("vision", ",".join(map(str, numbers)))
    PeftModel.from_pretrained(plain.clip, str(tmp_path))
    for encoder in (again.encoder, plain.eval()):
        assert torch.equal(features(encoder), features(matcher.encoder))


def test_blocks_stand_in_the_description_unless_they_are_all():
    assert "of both, rank" in describe(LoraSettings())
    assert "of both (blocks up), rank" in describe(LoraSettings(layers="up"))
    assert "of both (blocks up), rank" in describe(LoraSettings(layers="up", vision_layers="up"))
    assert "of vision (blocks 0-3), rank" in describe(LoraSettings(towers="vision", layers="0-3"))
