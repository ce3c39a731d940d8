"""Which weights are trained when some blocks are."""

import pytest
import torch

from litotes.errors import UserError
from litotes.models.blocks import (
    Blocks,
    OwnFeatures,
    block_weights,
    blocks_said,
    blocks_with,
    named_blocks,
    train_blocks,
    trained_blocks,
)
from litotes.models.clip import VIT_B_32, new_clip
from litotes.models.lora import LoraSettings, adapted_layers, add_lora
from litotes.models.variational import AdapterConfig, VariationalAdapter, parameter_count
from tiny import FileClip, noise_pictures, tiny_matcher


@pytest.mark.parametrize(
    ("said", "vision", "text"),
    [({}, (0, 1), (0, 1, 2)), ({"vision": "top2", "text": "top3"}, (2, 3), (1, 2, 3)), ({"text": "3"}, (0, 1), (3,))],
)
def test_the_named_blocks_are_trained_whole_and_nothing_else(said, vision, text, tmp_path):
    encoder = tiny_matcher(tmp_path, ["a"], layers=4).encoder
    names = train_blocks(encoder, **said)
    wanted = [
        name for name, _ in encoder.named_parameters()
        for tower, blocks in (("vision", vision), ("text", text))
        if any(f".{tower}_model.encoder.layers.{block}." in name for block in blocks)
    ]  # fmt: skip
    assert names == wanted
    assert names == [name for name, p in encoder.named_parameters() if p.requires_grad]
    assert len(names) == 16 * (len(vision) + len(text))


def test_blocks_that_are_not_there_are_refused_and_change_nothing(tmp_path):
    encoder = tiny_matcher(tmp_path, ["a"], layers=2).encoder
    with pytest.raises(UserError, match="layers 0-2 of a tower of 2 blocks"):
        train_blocks(encoder)
    assert all(p.requires_grad for p in encoder.parameters())


def test_blocks_are_named_told_and_found_again(tmp_path):
    encoder = tiny_matcher(tmp_path, ["a"], layers=4).encoder
    blocks = named_blocks(encoder, "top2", "0,2-3")
    assert blocks == Blocks((2, 3), (0, 2, 3))
    assert blocks_said(encoder, blocks) == ("2-3", "0,2-3")
    assert blocks_said(encoder, named_blocks(encoder, "all", "1")) == ("all", "1")
    assert list(block_weights(encoder, blocks)) == train_blocks(encoder, "top2", "0,2-3")
    assert trained_blocks(encoder) == blocks
    add_lora(encoder, LoraSettings(towers="text", layers="0-1"))
    assert blocks_with(adapted_layers(encoder), Blocks((3,), (1, 2))) == Blocks((3,), (0, 1, 2))
    assert blocks_with([], blocks) == blocks


def test_own_features_are_those_of_clip_and_equal_texts_are_encoded_once(tmp_path):
    matcher = tiny_matcher(tmp_path, ["a red square", "two"], layers=2)
    own, texts = OwnFeatures(matcher.encoder), ["a red square", "two", "a red square", ""]
    pixels, ids = matcher.pixels(noise_pictures(3), range(3)), matcher.tokenizer(texts)
    seen = []
    matcher.encoder.clip.text_model.register_forward_pre_hook(
        lambda _, __, named: seen.append(named["input_ids"]), with_kwargs=True
    )
    image, text = own(pixels, ids)
    assert [len(part) for part in seen] == [3]
    assert torch.allclose(image, matcher.encode_images(noise_pictures(3)), atol=1e-6)
    assert torch.allclose(text, matcher.encode_texts(texts), atol=1e-6)
    assert own.dimension == image.shape[1] == 24
    assert not torch.allclose(image.norm(dim=1), torch.ones(3), atol=0.01)  # the adapter brings them to length 1
    with pytest.raises(ValueError, match="tokens are left out"):
        own(pixels, ids, torch.tensor([[True] * 4 + [False]] * 3))
    encoder = FileClip.encoder()
    image, text = OwnFeatures(encoder)(FileClip.pixels(), FileClip.ids())
    with torch.no_grad():
        assert torch.allclose(image, encoder.image_features(FileClip.pixels()), atol=1e-6)
        assert torch.allclose(text, encoder.text_features(FileClip.ids()), atol=1e-6)


def test_the_trained_parameters_of_vit_b_16_are_as_many_as_specified():
    vision, text, projection = VIT_B_32
    with torch.device("meta"):
        encoder = new_clip({**vision, "patch_size": 16}, text, projection, eos=49407, bos=49406)
        own, adapter = OwnFeatures(encoder), VariationalAdapter(AdapterConfig(features=512))
    assert (own.dimension, parameter_count(adapter)) == (512, 1_321_507)
    weights = dict(encoder.named_parameters())
    counted = sum(weights[name].numel() for name in train_blocks(encoder))
    assert counted == 2 * 7_087_872 + 3 * 3_152_384
