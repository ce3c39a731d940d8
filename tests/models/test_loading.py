"""One entry: a file of every family is the model of the folder that is made of it, and each refusal says what helps."""

import hashlib
import json

import pytest
import torch
from safetensors.torch import save_file

from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.errors import UserError
from litotes.models.conversion import convert
from litotes.models.loading import load_backbone, require_source
from reference.openai_clip import ReferenceClip
from tiny import noise_pictures, tiny_model

TEXTS = ["a cat", "no cat", "no cat " * 20]
LONG = {"context": 248, "long": True}
KINDS = {
    "clip": ({}, {"activation": "quick_gelu"}),
    "openai": ({}, {}),
    "longclip": (LONG, {}),  # and HiMo-CLIP, which saves the same names
    "smartclip": ({**LONG, "mask": True, "dimension": 128}, {}),
}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    return folder, train_tokenizer(["a cat", "no cat"] * 3, 600, folder)


def saved(kind, ids, path):
    model = ReferenceClip(ids=ids, **KINDS[kind][0])
    weights = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    if kind == "openai":
        weights |= {"vocab_size": torch.tensor(ids), "context_length": torch.tensor(77)}
    (save_file if path.suffix == ".safetensors" else torch.save)(weights, path)
    return model


@pytest.mark.parametrize("kind, suffix", [*((kind, ".pt") for kind in KINDS), ("smartclip", ".safetensors")])
def test_a_file_is_the_model_of_the_folder_that_is_made_of_it(kind, suffix, vocabulary, tmp_path):
    words, ids = vocabulary
    file, said = tmp_path / f"model{suffix}", KINDS[kind][1]
    reference = saved(kind, ids, file)
    convert(file, words, tmp_path / "folder", **said)
    of_file, of_folder = load_backbone(file, vocabulary=words, **said), load_backbone(tmp_path / "folder")
    assert of_file.fingerprint == of_folder.fingerprint
    assert of_file.scale == of_folder.scale
    pictures = noise_pictures(2)
    images, texts = of_file.encode_images(pictures), of_file.encode_texts(TEXTS)
    assert torch.equal(images, of_folder.encode_images(pictures))
    assert torch.equal(texts, of_folder.encode_texts(TEXTS))
    tokens = of_file.tokenizer(TEXTS)
    padded = torch.nn.functional.pad(tokens, (0, of_file.tokenizer.context_length - tokens.shape[1]))
    with torch.no_grad():
        assert (texts - reference.encode_text(padded)).abs().max() < 5e-6
        assert (images - reference.encode_image(of_file.pixels(pictures, [0, 1]))).abs().max() < 5e-6
    assert of_file.notes[0].startswith("family: ") and of_file.provenance()["model_notes"] == list(of_file.notes)
    assert ("CC-BY-NC" in " ".join(of_file.notes)) == (kind == "smartclip")
    assert (of_file.name, of_folder.notes) == ("model", ())
    assert of_file.family == of_folder.family == kind


def test_a_caption_that_is_too_long_is_treated_as_asked(vocabulary, tmp_path):
    words, ids = vocabulary
    saved("openai", ids, tmp_path / "model.pt")
    long = ["no cat " * 80]
    cutting = load_backbone(tmp_path / "model.pt", vocabulary=words)
    cutting.encode_texts(long)
    assert cutting.tokenizer.truncated == 1
    with pytest.raises(UserError, match="at most 75 tokens"):
        load_backbone(tmp_path / "model.pt", vocabulary=words, truncation="refuse").encode_texts(long)


def test_a_file_needs_a_vocabulary_and_a_folder_has_its_own(vocabulary, tmp_path):
    words, _ = vocabulary
    (tmp_path / "model.pt").write_bytes(b"never read")
    folder = tiny_model(tmp_path / "tiny", TEXTS)
    (tmp_path / "empty").mkdir()
    for source, given, message in (
        (tmp_path / "model.pt", {}, "holds no vocabulary.*add --vocabulary: name a folder"),
        (tmp_path / "model.pt", {"vocabulary": tmp_path / "empty"}, "no tokenizer files in .*empty"),
        (tmp_path / "other.pt", {}, r"other\.pt, which is not there.*a file of weights"),
        (tmp_path / "other", {"vocabulary": words}, "other, which is not there.*a file of weights"),
        (tmp_path / "other", {}, "other, which is not a folder here"),
        (folder, {"vocabulary": words}, "--vocabulary .* which is not a file.*leave --vocabulary out"),
        (folder, {"activation": "gelu"}, "--activation gelu .* which is not a file.*leave --activation out"),
        (folder, {"round_like_reference": True}, "--round-like-reference for .* not a file.*convert the file"),
        (tmp_path / "empty", {"allow_network": True}, r"without config\.json and model\.safetensors"),
        ("owner/name", {"allow_network": True, "activation": "gelu"}, "leave --activation out"),
    ):
        for refused in (require_source, load_backbone):
            with pytest.raises(UserError) as error:
                refused(source, **given)
            assert error.match(f"(?s){message}")


def test_a_file_and_a_folder_with_another_hash_are_refused_before_they_are_read(vocabulary, tmp_path, monkeypatch):
    words, ids = vocabulary
    file, folder = tmp_path / "model.pt", tmp_path / "folder"
    saved("longclip", ids, file)
    convert(file, words, folder)
    right = hashlib.sha256(file.read_bytes()).hexdigest()
    of_file = load_backbone(file, vocabulary=words, sha256=right.upper())
    assert of_file.provenance()["file_sha256"] == load_backbone(folder).provenance()["file_sha256"] == right
    assert load_backbone(file, vocabulary=words).provenance()["file_sha256"] is None
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert load_backbone(folder, sha256=weights).fingerprint == of_file.fingerprint
    monkeypatch.setattr("torch.load", None)
    monkeypatch.setattr("litotes.models.loading.load_matcher", None)
    for source, given in ((file, {"vocabulary": words}), (folder, {})):
        with pytest.raises(UserError, match=f"(model.pt|model.safetensors) with sha256 .*\n.*sha256 {'0' * 64}"):
            load_backbone(source, sha256="0" * 64, **given)
        for refused in (require_source, load_backbone):
            with pytest.raises(UserError, match="64 hexadecimal digits"):
                refused(source, sha256=right[1:], **given)


def test_weights_rounded_like_the_reference_are_recorded_wherever_they_come_from(vocabulary, tmp_path):
    words, ids = vocabulary
    file = tmp_path / "model.pt"
    saved("longclip", ids, file)
    convert(file, words, tmp_path / "rounded", round_like_reference=True)
    convert(file, words, tmp_path / "exact")
    rounded = load_backbone(file, vocabulary=words, round_like_reference=True)
    exact = load_backbone(file, vocabulary=words)
    assert rounded.fingerprint == load_backbone(tmp_path / "rounded").fingerprint != exact.fingerprint
    halves = exact.encoder.clip.visual_projection.weight.half().float()
    assert torch.equal(rounded.encoder.clip.visual_projection.weight, halves)
    found = [rounded, exact, load_backbone(tmp_path / "rounded"), load_backbone(tmp_path / "exact")]
    assert [one.provenance()["round_like_reference"] for one in found] == [True, False, True, False]
    plain = load_backbone(tiny_model(tmp_path / "tiny", TEXTS)).provenance()
    assert (plain["round_like_reference"], plain["file_sha256"]) == (None, None)
    assert load_backbone(tmp_path / "tiny").family is None
    record = tmp_path / "exact" / "litotes_source.json"  # as it was written before rounding was kept
    record.write_text(json.dumps({k: v for k, v in json.loads(record.read_text()).items() if k[:5] != "round"}))
    assert load_backbone(tmp_path / "exact").provenance()["round_like_reference"] is None


def test_a_name_of_the_hub_is_looked_up_by_loading_alone(tmp_path, monkeypatch):
    folder, asked = tiny_model(tmp_path / "tiny", TEXTS), []

    def fetched(name, **_):
        asked.append(name)
        return str(folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetched)
    require_source("owner/name", allow_network=True)
    assert asked == []
    assert load_backbone("owner/name", allow_network=True).fingerprint == load_backbone(folder).fingerprint
    assert asked == ["owner/name"]
