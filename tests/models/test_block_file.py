"""Trained blocks kept with an adapter of pairs: they alone, put back bit for bit, refused where they do not belong."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from litotes.data.images import sha256_of_file
from litotes.errors import UserError
from litotes.models.blocks import Blocks
from litotes.models.lora import LoraSettings, add_lora
from litotes.models.pair_adapter import load_pair_adapter, new_pair_model, save_pair_adapter
from litotes.models.pair_backbone_file import SIDE_FILE, WEIGHTS, load_pair_backbone, read_pair_backbone
from litotes.models.variational import AdapterConfig
from litotes.train.backbone_pairs import make_blocks_trainable
from tiny import noise_pictures, tiny_matcher

TEXTS = ["a red square", "two blue circles"]
CONFIG = AdapterConfig(features=24, hidden=5, latent=4, decoder_hidden=3)


def base(folder, seed=0):
    return tiny_matcher(folder / "tokenizer", TEXTS, layers=4, seed=seed)


def trained(folder, lora=None):
    """A model whose blocks 0, 1 and 0 to 2 have learned something, saved with an adapter; matcher and folder."""
    matcher = base(folder)
    if lora:
        add_lora(matcher.encoder, lora, seed=2)
        with torch.no_grad():
            for name, weight in matcher.encoder.named_parameters():
                if "lora_B" in name:
                    weight.normal_(std=0.1)
    origin = make_blocks_trainable(matcher)
    with torch.no_grad():
        for weight in matcher.encoder.parameters():
            if weight.requires_grad:
                weight.add_(0.01)
    model = new_pair_model("variational", CONFIG)
    save_pair_adapter(model, "variational", CONFIG, matcher, {"method": "vacsr"}, folder / "kept", origin)
    return matcher, folder / "kept"


@pytest.fixture
def saved(tmp_path):
    return trained(tmp_path)


def embeddings(matcher):
    return matcher.encode_images(noise_pictures(3)), matcher.encode_texts(TEXTS)


def places(weights):
    found = {tuple(name.split(".")[i] for i in (1, 4)) for name in weights}
    return {tower: sorted(int(block) for of, block in found if of == tower) for tower, _ in found}


def test_the_changed_blocks_alone_are_kept_and_put_back_bit_for_bit(saved, tmp_path):
    matcher, folder = saved
    weights = load_file(folder / "backbone" / WEIGHTS)
    assert places(weights) == {"vision_model": [0, 1], "text_model": [0, 1, 2]}
    assert len(weights) == 16 * 5
    side, again = read_pair_backbone(folder / "backbone"), base(tmp_path)
    assert (side.vision_blocks, side.text_blocks, side.dimension) == ("0-1", "0-2", 24)
    assert side.base_sha256 == again.base != matcher.base
    plain = embeddings(base(tmp_path))
    model, record = load_pair_adapter(folder, again)
    assert record.backbone_sha256 == side.weights_sha256
    assert again.pooled is None
    assert again.fingerprint == matcher.fingerprint == record.features_sha256
    assert "pooled_features" not in again.provenance()
    for a, b, c in zip(embeddings(matcher), embeddings(again), plain, strict=True):
        assert torch.equal(a, b)
        assert not torch.allclose(a, c)
    assert model.logits(*embeddings(again)).isfinite().all()


def test_a_merged_adapter_is_in_the_weights_and_every_block_that_it_touched_is_kept(tmp_path):
    matcher, folder = trained(tmp_path, LoraSettings(towers="text", layers="1,3"))
    side, again = read_pair_backbone(folder / "backbone"), base(tmp_path)
    assert (side.vision_blocks, side.text_blocks) == ("0-1", "all")
    assert side.merged_adapter_sha256 is not None
    load_pair_adapter(folder, again)
    for a, b in zip(embeddings(matcher), embeddings(again), strict=True):
        assert torch.equal(a, b)
    assert again.base == matcher.base


def test_blocks_that_the_model_lacks_are_refused_before_an_adapter_is_merged(tmp_path):
    matcher = base(tmp_path)
    add_lora(matcher.encoder, LoraSettings())
    before = matcher.fingerprint
    with pytest.raises(UserError, match="layers 0-4 of a tower of 4 blocks"):
        make_blocks_trainable(matcher, "0-4")
    assert matcher.fingerprint == before
    assert matcher.adapter_sha256


def test_what_may_differ_from_the_base_is_told(tmp_path):
    matcher = base(tmp_path)
    assert make_blocks_trainable(matcher, "top2", "1").blocks == Blocks((2, 3), (1,))
    assert make_blocks_trainable(matcher, "0", "0-3")[:2] == (matcher.base, None)


def side_of(folder, **change):
    path = folder / "backbone" / SIDE_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | change))


def rewrite(folder, change):
    path = folder / "backbone" / WEIGHTS
    weights = load_file(path)
    change(weights)
    save_file(weights, path)
    digest = sha256_of_file(path)
    side_of(folder, weights_sha256=digest)
    record = folder / "pair_adapter.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"backbone_sha256": digest}))


MISTAKES = {
    "no blocks": (lambda folder: shutil.rmtree(folder / "backbone"), "without pair_backbone"),
    "a weight too few": (lambda folder: rewrite(folder, lambda w: w.popitem()), "do not fit the base"),
    "NaN": (lambda folder: rewrite(folder, lambda w: next(iter(w.values())).fill_(float("nan"))), "not finite"),
    "other blocks": (lambda folder: side_of(folder, vision_blocks="0-2"), "do not fit the base"),
    "blocks that are not there": (lambda folder: side_of(folder, text_blocks="9"), "layers 9 of a tower of 4"),
    "blocks that are no words": (lambda folder: side_of(folder, vision_blocks=""), "layers ''"),
    "a number for blocks": (lambda folder: side_of(folder, vision_blocks=1), "pair_backbone.json: "),
    "one tower": (lambda folder: side_of(folder, vision_blocks=None), "the blocks of one tower alone"),
    "pooled": (lambda folder: side_of(folder, vision_blocks=None, text_blocks=None), "do not fit the base"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_broken_folder_is_refused_and_changes_no_weight(mistake, saved, tmp_path):
    break_it, message = MISTAKES[mistake]
    break_it(saved[1])
    matcher = base(tmp_path)
    before = matcher.fingerprint
    with pytest.raises(UserError, match=message):
        load_pair_adapter(saved[1], matcher)
    assert matcher.fingerprint == before


def test_another_base_vocabulary_and_a_mounted_adapter_are_refused(saved, tmp_path):
    folder = saved[1] / "backbone"
    with pytest.raises(UserError, match="base model"):
        load_pair_backbone(folder, base(tmp_path, seed=1))
    with pytest.raises(UserError, match="base model"):
        load_pair_backbone(folder, saved[0])
    adapted = base(tmp_path)
    add_lora(adapted.encoder, LoraSettings())
    with pytest.raises(UserError, match="mounted adapter"):
        load_pair_backbone(folder, adapted)
