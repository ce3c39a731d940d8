"""A trained backbone kept in a folder, put back on its base bit for bit, and refused where it does not belong."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from litotes.backbones.preprocess import pcmepp
from litotes.data.images import sha256_of_file
from litotes.errors import UserError
from litotes.models.lora import add_lora
from litotes.models.lora_settings import LoraSettings
from litotes.models.pair_adapter import load_pair_adapter, new_pair_model, save_pair_adapter
from litotes.models.pair_backbone import PairBackbone
from litotes.models.pair_backbone_file import SIDE_FILE, WEIGHTS, Origin, load_pair_backbone, save_pair_backbone
from litotes.models.variational import AdapterConfig
from tiny import noise_pictures, tiny_matcher

TEXTS = ["a red square", "two blue circles"]
CONFIG = AdapterConfig(features=9, hidden=5, latent=4, decoder_hidden=3)


def base(folder, seed=0):
    return tiny_matcher(folder / "tokenizer", TEXTS, seed=seed)


@pytest.fixture
def saved(tmp_path):
    """A backbone that has learned something (all used weights moved), in a folder; its matcher and its start."""
    matcher = base(tmp_path)
    before = matcher.base
    matcher.preprocess = pcmepp(32)
    matcher.pooled = PairBackbone(matcher.encoder, 9, seed=3)
    with torch.no_grad():
        for parameter in matcher.pooled.parameters():
            if parameter.requires_grad:
                parameter.add_(0.01)
    save_pair_backbone(matcher, Origin(before), tmp_path / "kept")
    return matcher, tmp_path / "kept"


def embeddings(matcher):
    return matcher.encode_images(noise_pictures(3)), matcher.encode_texts(TEXTS)


def test_a_matcher_with_pooled_tokens_embeds_by_them_and_is_known_as_another(tmp_path):
    matcher = base(tmp_path)
    plain = matcher.fingerprint
    assert "pooled_features" not in matcher.provenance()
    matcher.pooled = PairBackbone(matcher.encoder, 9).train()
    image, text = embeddings(matcher)
    assert matcher.dimension == image.shape[1] == text.shape[1] == 9
    assert torch.allclose(image.norm(dim=1), torch.ones(3))
    with torch.no_grad():
        wanted = matcher.pooled.image_features(matcher.pixels(noise_pictures(3), range(3)))
    assert torch.equal(image, wanted)
    assert matcher.pooled.training
    assert matcher.provenance()["pooled_features"] == 9
    first = matcher.fingerprint
    with torch.no_grad():
        matcher.pooled.text_head.pool.score.weight.add_(1)
    assert len({plain, first, matcher.fingerprint}) == 3
    with pytest.raises(UserError, match="pooled from tokens"):
        matcher.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_what_was_saved_is_put_back_bit_for_bit_with_its_way_to_read_pictures(saved, tmp_path):
    trained, folder = saved
    again = base(tmp_path)
    side = load_pair_backbone(folder, again)
    assert side.dimension == 9
    assert again.preprocess == pcmepp(32)
    assert again.fingerprint != base(tmp_path).fingerprint
    for a, b in zip(embeddings(trained), embeddings(again), strict=True):
        assert torch.equal(a, b)
    assert again.fingerprint == trained.fingerprint
    assert not any("projection" in name or "post_layernorm" in name for name in load_file(folder / WEIGHTS))


def test_an_adapter_of_pairs_fits_the_backbone_that_it_was_trained_on_and_no_other(saved, tmp_path):
    trained, folder = saved
    model = new_pair_model("variational", CONFIG)
    save_pair_adapter(model, "variational", CONFIG, trained, {}, tmp_path / "adapter")
    again = base(tmp_path)
    with pytest.raises(UserError, match="features of 9 numbers"):
        load_pair_adapter(tmp_path / "adapter", again)
    load_pair_backbone(folder, again)
    loaded, _ = load_pair_adapter(tmp_path / "adapter", again)
    assert all(torch.equal(a, b) for a, b in zip(loaded.parameters(), model.parameters(), strict=True))


def test_saving_again_replaces_the_folder_and_leaves_nothing_beside(saved, tmp_path):
    trained, folder = saved
    save_pair_backbone(trained, Origin("0" * 64), folder)
    assert json.loads((folder / SIDE_FILE).read_text())["base_sha256"] == "0" * 64
    assert sorted(path.name for path in folder.parent.iterdir()) == ["kept", "tokenizer"]


def cut(folder):
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[: len(content) // 2])


def rewrite(folder, change):
    weights = load_file(folder / WEIGHTS)
    change(weights)
    save_file(weights, folder / WEIGHTS)
    side = json.loads((folder / SIDE_FILE).read_text())
    side["weights_sha256"] = sha256_of_file(folder / WEIGHTS)
    (folder / SIDE_FILE).write_text(json.dumps(side))


MISTAKES = {
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "without pair_backbone.safetensors"),
    "half a file": (cut, "SHA-256 differs"),
    "no JSON": (lambda folder: (folder / SIDE_FILE).write_text("{"), "the side file"),
    "a key too many": (lambda folder: (folder / SIDE_FILE).write_text('{"colour": 1}'), "'colour'"),
    "a key too few": (lambda folder: (folder / SIDE_FILE).write_text('{"dimension": 9}'), "the side file"),
    "a weight too few": (lambda folder: rewrite(folder, lambda w: w.popitem()), "do not fit"),
    "NaN": (lambda folder: rewrite(folder, lambda w: next(iter(w.values())).fill_(float("nan"))), "not finite"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_broken_folder_is_refused_and_changes_no_weight(mistake, saved, tmp_path):
    _, folder = saved
    break_it, message = MISTAKES[mistake]
    break_it(folder)
    matcher = base(tmp_path)
    before = matcher.fingerprint
    with pytest.raises(UserError, match=message):
        load_pair_backbone(folder, matcher)
    assert matcher.pooled is None
    assert matcher.fingerprint == before


def test_another_base_and_a_mounted_adapter_are_refused(saved, tmp_path):
    trained, folder = saved
    with pytest.raises(UserError, match="base model"):
        load_pair_backbone(folder, base(tmp_path, seed=1))
    adapted = base(tmp_path)
    add_lora(adapted.encoder, LoraSettings())
    with pytest.raises(UserError, match="mounted adapter"):
        load_pair_backbone(folder, adapted)
    adapted.pooled = PairBackbone(adapted.encoder, 9)
    with pytest.raises(UserError, match="mounted adapter"):
        save_pair_backbone(adapted, Origin(adapted.base), tmp_path / "other")
    assert not (tmp_path / "other").exists()
    assert trained.pooled is not None
