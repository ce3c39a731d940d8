"""One entry: a file of every family is the model of the folder that is made of it, and each refusal says what helps."""

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
        (tmp_path / "empty", {"allow_network": True}, r"without config\.json and model\.safetensors"),
        ("owner/name", {"allow_network": True, "activation": "gelu"}, "leave --activation out"),
    ):
        for refused in (require_source, load_backbone):
            with pytest.raises(UserError) as error:
                refused(source, **given)
            assert error.match(f"(?s){message}")


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
