import json
import pickle
import re
import shutil
from functools import partial

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import CLIPModel

from litotes.errors import UserError
from litotes.models.clip import VIT_B_32, load_clip, new_clip
from litotes.models.matcher import load_matcher
from tiny import CONTEXT, FileClip, tiny_matcher, tiny_model

WEIGHT = "text_model.encoder.layers.0.mlp.fc1.weight"
TEXTS = ["a red cat and a tree", "no cat", "a tree and no cat", "an umbrella"]


def changed_copy(folder, weights=None, config=None):
    """The tiny CLIP with its weights and its configuration changed in place by two functions."""
    shutil.copytree(FileClip.folder, folder)
    if weights:
        tensors = load_file(folder / "model.safetensors")
        weights(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    if config:
        values = json.loads((folder / "config.json").read_text())
        config(values)
        (folder / "config.json").write_text(json.dumps(values))
    return folder


def put_nan(tensors):
    tensors[WEIGHT][0, 0] = float("nan")


BROKEN = {
    "missing weight": (lambda w: w.pop(WEIGHT), None, f"{WEIGHT} is missing"),
    "weight too many": (lambda w: w.update(other=torch.zeros(2)), None, "other has no place"),
    "wrong shape": (lambda w: w.update({WEIGHT: torch.zeros(3, 3)}), None, r"shape \(3, 3\) instead of \(64, 32\)"),
    "NaN": (put_nan, None, "NaN or infinite numbers in " + WEIGHT),
    "more blocks": (None, lambda c: c["text_config"].update(num_hidden_layers=3), "layers.2.*and 13 more"),
    "other width": (None, lambda c: c["text_config"].update(hidden_size=30), "not a multiple"),
    "other kind": (None, lambda c: c.update(model_type="bert"), "model of type 'bert'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_model_that_does_not_fit_its_configuration_is_refused(name, tmp_path):
    weights, config, message = BROKEN[name]
    with pytest.raises(UserError, match=message):
        load_clip(changed_copy(tmp_path / "model", weights, config))


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_missing_or_cut_file_is_refused(name, tmp_path):
    folder = changed_copy(tmp_path / "model")
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=re.escape(name)):
        load_clip(folder)
    (folder / name).unlink()
    with pytest.raises(UserError, match=f"without {re.escape(name)}"):
        load_clip(folder)


def test_files_of_older_versions_and_of_half_precision_load_in_float32(tmp_path):
    def old(tensors):
        for name in list(tensors):
            tensors[name] = tensors[name].half()
        tensors["text_model.embeddings.position_ids"] = torch.arange(77)[None]

    encoder = load_clip(changed_copy(tmp_path / "model", old))
    assert {p.dtype for p in encoder.parameters()} == {torch.float32}
    assert torch.allclose(FileClip.logits(encoder), FileClip.logits(FileClip.encoder()), atol=0.05)


def test_embeddings_are_the_recorded_ones():
    recorded = json.loads((FileClip.folder / "vectors.json").read_text())
    encoder = FileClip.encoder()
    assert not encoder.training
    with torch.no_grad():
        text = encoder.text_features(FileClip.ids())
        image = encoder.image_features(FileClip.pixels())
    assert torch.allclose(text, torch.tensor(recorded["captions"]), atol=1e-4)
    assert torch.allclose(image, torch.tensor(recorded["images"]), atol=1e-4)


def test_vit_b_32_has_the_published_number_of_weights():
    # Without memory for the numbers: a real one takes seconds.
    with torch.device("meta"):
        encoder = new_clip(*VIT_B_32, eos=49407, bos=49406)
    assert sum(p.numel() for p in encoder.parameters()) == 151_277_313
    assert (encoder.image_size, encoder.context_length, encoder.activation) == (224, 77, "quick_gelu")


def test_weights_are_drawn_from_the_seed_and_leave_the_global_state_alone(tmp_path):
    torch.manual_seed(5)
    first = tiny_matcher(tmp_path / "a", TEXTS, seed=3)
    after = torch.rand(1)
    torch.manual_seed(5)
    assert torch.equal(after, torch.rand(1))
    assert first.base == tiny_matcher(tmp_path / "b", TEXTS, seed=3).base
    assert first.base != tiny_matcher(tmp_path / "c", TEXTS, seed=4).base


def test_sizes_that_fit_no_model_are_refused():
    with pytest.raises(UserError, match="not a multiple"):
        new_clip({**VIT_B_32[0], "hidden_size": 100}, *VIT_B_32[1:], eos=49407, bos=49406)
    with pytest.raises(UserError, match="end token id 2"):
        new_clip(*VIT_B_32, eos=2, bos=1)


def test_a_text_is_the_same_trimmed_and_padded_to_the_context(tmp_path):
    matcher = tiny_matcher(tmp_path, TEXTS, layers=2)
    ids = matcher.tokenizer(TEXTS)
    assert ids.shape[1] < CONTEXT
    padded = torch.nn.functional.pad(ids, (0, CONTEXT - ids.shape[1]))
    with torch.no_grad():
        trimmed = matcher.encoder.text_features(ids)
        assert torch.allclose(trimmed, matcher.encoder.text_features(padded), atol=1e-5)
        one_by_one = [matcher.encoder.text_features(matcher.tokenizer([text])) for text in TEXTS]
        assert torch.allclose(trimmed, torch.cat(one_by_one), atol=1e-5)


@pytest.mark.parametrize("end_in_the_configuration", ["its own", 2])
def test_grouped_texts_are_those_of_one_call_also_under_an_old_configuration(end_in_the_configuration, tmp_path):
    matcher = tiny_matcher(tmp_path, TEXTS, layers=2)
    expected = matcher.encode_texts(TEXTS)
    if end_in_the_configuration == 2:
        matcher.encoder.clip.config.text_config.eos_token_id = 2
        matcher.encoder.clip.text_model.eos_token_id = 2
    with torch.no_grad():
        grouped = matcher.encoder.grouped_text_features(matcher.tokenizer(TEXTS), group=2)
    assert torch.allclose(grouped, expected, atol=1e-5)


def test_the_fingerprint_follows_every_weight_but_the_scale(tmp_path):
    encoder = FileClip.encoder()
    before = encoder.base_fingerprint()
    assert before == FileClip.encoder().base_fingerprint()
    with torch.no_grad():
        encoder.clip.logit_scale.add_(1)
        assert encoder.base_fingerprint() == before
        encoder.clip.text_projection.weight[0, 0] += 1e-3
    assert encoder.base_fingerprint() != before


def test_a_name_of_the_hub_is_fetched_only_when_that_is_said(tmp_path, monkeypatch):
    asked = []

    def fetch(name, allow_patterns):
        asked.append((name, allow_patterns))
        return tiny_model(tmp_path / "snapshot", TEXTS)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    with pytest.raises(UserError, match="--allow-network"):
        load_matcher("owner/name")
    assert asked == []
    assert load_matcher("owner/name", allow_network=True).name == "name"
    assert asked[0][0] == "owner/name"
    assert {"config.json", "model.safetensors", "vocab.json"} <= set(asked[0][1])


def test_a_model_that_the_hub_does_not_have_is_a_mistake_and_not_a_crash(monkeypatch):
    def fail(name, allow_patterns):
        raise OSError("404 Client Error.\nmore lines")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(UserError, match=r"no model 'owner/nmae' from the hub: 404 Client Error\.\n"):
        load_clip("owner/nmae", allow_network=True)


def test_loading_says_nothing_by_itself(tmp_path, capfd):
    folder = tiny_model(tmp_path, TEXTS)
    capfd.readouterr()
    load_clip(folder)
    assert capfd.readouterr() == ("", "")
    assert isinstance(load_clip(folder).clip, CLIPModel)


def test_weights_that_are_a_git_lfs_pointer_are_told_as_such(tmp_path):
    folder = changed_copy(tmp_path / "model")
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 354\n")
    with pytest.raises(UserError, match=r"model.safetensors, a git-lfs pointer") as error:
        load_clip(folder)
    assert "git lfs pull" in error.value.do


PICKLES = {
    "an archive as torch.save writes it, with a pickle in it,": torch.save,
    "a file of torch.save in its old form, a pickle,": partial(torch.save, _use_new_zipfile_serialization=False),
    "a pickle": lambda content, path: path.write_bytes(pickle.dumps(content)),
}


@pytest.mark.parametrize("kind", PICKLES)
def test_a_pickle_under_the_name_of_safetensors_is_told_as_such_and_not_opened(kind, tmp_path):
    folder = changed_copy(tmp_path / "model")
    path = folder / "model.safetensors"
    PICKLES[kind]({"state": Runs(tmp_path / "ran")}, path)
    with pytest.raises(UserError, match=re.escape(f"{path}, which is {kind} and no safetensors file")) as error:
        load_clip(folder)
    assert "nothing of it was run" in error.value.got and "safetensors.torch.save_file" in error.value.do
    assert not (tmp_path / "ran").exists()


def test_a_cut_file_whose_length_looks_like_a_pickle_is_told_as_cut(tmp_path):
    folder = changed_copy(tmp_path / "model")
    # The first two bytes of a header of 0x0480 bytes are those of a pickle of protocol 4.
    (folder / "model.safetensors").write_bytes((0x0480).to_bytes(8, "little") + b'{"a": ')
    with pytest.raises(UserError, match="which is cut or broken"):
        load_clip(folder)


class Runs:
    """Would make a file of this name if it were unpickled without care."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return (open, (str(self.place), "w"))
