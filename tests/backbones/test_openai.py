"""OpenAI's names out of transformers' and back, and open_clip's configuration out of sizes and back."""

import json

import pytest
import torch

from litotes.backbones.layout import read_sizes
from litotes.backbones.open_clip_config import open_clip_config, read_open_clip_config
from litotes.backbones.openai import to_hf, to_openai
from litotes.backbones.preprocess import Preprocess
from reference.openai_clip import ReferenceClip

LONG = {"context": 248, "long": True}


def weights(**options):
    return {name: tensor.detach() for name, tensor in ReferenceClip(**options).state_dict().items()}


@pytest.mark.parametrize("options", [{}, LONG, {**LONG, "mask": True, "dimension": 128}], ids=["clip", "long", "smart"])
def test_out_and_back_is_the_same_bit_for_bit_but_for_dead_rows(options):
    tensors = {name: tensor for name, tensor in weights(**options).items() if not name.startswith("mask_net.")}
    back = to_openai(to_hf(tensors), two_tables="long" in options)
    assert back.keys() == tensors.keys()
    assert all(tensor.is_contiguous() and tensor.dtype == torch.float32 for tensor in back.values())
    tables = {name for name in back if name in ("positional_embedding", "positional_embedding_res")}
    assert all(torch.equal(back[name], tensors[name]) for name in tensors.keys() - tables)
    if "long" not in options:
        assert torch.equal(back["positional_embedding"], tensors["positional_embedding"])
        return
    first, second = back["positional_embedding"], back["positional_embedding_res"]
    assert torch.equal(first, second) and first.data_ptr() != second.data_ptr()
    assert torch.equal(first[:20], tensors["positional_embedding"][:20])
    assert torch.equal(first[20:], tensors["positional_embedding_res"][20:])


def test_in_and_out_of_openais_names_is_the_same_bit_for_bit():
    state = to_hf(weights())
    again = to_hf(to_openai(state, two_tables=True))
    assert again.keys() == state.keys() and all(torch.equal(again[name], state[name]) for name in state)


@pytest.mark.parametrize(
    "name", ["vision_model.encoder.layers.0.self_attn.k_norm.weight", "text_model.encoder.layers.0.mlp.fc3.bias", "x"]
)
def test_a_name_that_has_no_place_is_an_error(name):
    with pytest.raises(KeyError):
        to_openai({**to_hf(weights()), name: torch.zeros(1)})


@pytest.mark.parametrize("activation", ["quick_gelu", "gelu"])
@pytest.mark.parametrize("hidden", [320, 768])
def test_open_clips_configuration_says_what_is_read_from_it(activation, hidden, tmp_path):
    shapes = {name: tuple(tensor.shape) for name, tensor in weights(hidden=hidden).items()}
    sizes, pictures = read_sizes(tmp_path, shapes), Preprocess(size=32, mean=(0.5, 0.4, 0.3))
    config = open_clip_config(sizes, (4, 8), activation, pictures)
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))
    read = read_open_clip_config(tmp_path, sizes)
    assert (read.activation, read.vision_heads, read.text_heads) == (activation, 4, 8)
    assert read.preprocess == pictures
    assert int(192 * config["model_cfg"]["vision_cfg"]["mlp_ratio"]) == hidden


def test_hidden_units_come_out_whole_for_every_ratio(tmp_path):
    sizes = read_sizes(tmp_path, {name: tuple(tensor.shape) for name, tensor in weights().items()})
    for hidden in range(1, 2000):
        changed = type(sizes)(**{**vars(sizes), "vision_hidden": hidden})
        ratio = open_clip_config(changed, (3, 2), "gelu", Preprocess(size=32))["model_cfg"]["vision_cfg"]["mlp_ratio"]
        assert int(sizes.vision_width * ratio) == hidden
