import json

import pytest
import torch
from drawn_table import litotes
from safetensors.torch import load_file

from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.models.matcher import load_matcher
from reference.openai_clip import ReferenceClip


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    train_tokenizer(["a cat", "no cat"] * 3, 600, folder)
    return folder


def saved(folder, size, **options):
    """A file of the reference model with as many ids as the vocabulary has; the model, and the file."""
    model = ReferenceClip(ids=size, **options)
    torch.save(model.state_dict(), folder / "model.pt")
    return model, folder / "model.pt"


def ids(vocabulary):
    return len(json.loads((vocabulary / "vocab.json").read_text()))


def test_a_file_becomes_a_folder_that_other_commands_take(vocabulary, tmp_path, capsys):
    model, file = saved(tmp_path, ids(vocabulary), context=248, long=True, mask=True, dimension=128)
    folder = tmp_path / "smart"
    assert litotes("convert", source=file, vocabulary=vocabulary, output=folder) == 0
    shown = capsys.readouterr().out
    assert "SmartCLIP" in shown and "CC-BY-NC-4.0" in shown and str(folder) in shown
    matcher = load_matcher(folder)
    tokens = matcher.tokenizer(["a cat", "no cat " * 20])
    padded = torch.nn.functional.pad(tokens, (0, 248 - tokens.shape[1]))
    with torch.no_grad():
        wanted = model.encode_text(padded)
    assert torch.allclose(matcher.encode_texts(["a cat", "no cat " * 20]), wanted, atol=1e-5)
    record = json.loads((folder / "litotes_source.json").read_text())
    assert (record["file"], record["family"]) == ("model.pt", "smartclip")
    assert load_file(folder / "mask_network.safetensors").keys() == {n for n in model.state_dict() if "mask_net" in n}
    # A second time: nothing is written over.
    assert litotes("convert", source=file, vocabulary=vocabulary, output=folder) == 2
    assert "which is not empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    "extra, options, message",
    [
        (0, {}, "without a word on its activation"),
        (-1, {"activation": "gelu"}, "at most {} ids and end token {}"),
        (3, {"activation": "gelu"}, "at most {} ids and end token {}"),
        (0, {"activation": "gelu", "sha256": "0" * 64}, "expected: sha256 " + "0" * 64),
        (0, {"activation": "gelu", "sha256": "00"}, "64 hexadecimal digits"),
        (0, {"activation": "relu"}, "activation"),
        (0, {"activation": "gelu", "picture_deviations": "exif,16bits"}, "did you mean '16bit'"),
    ],
)
def test_what_does_not_belong_together_writes_nothing(extra, options, message, vocabulary, tmp_path, capsys):
    size = ids(vocabulary) + extra
    _, file = saved(tmp_path, size)
    assert litotes("convert", source=file, vocabulary=vocabulary, output=tmp_path / "out", **options) == 2
    assert message.format(size, size - 1) in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_picture_deviations_go_with_the_model(vocabulary, tmp_path, capsys):
    _, file = saved(tmp_path, ids(vocabulary))
    given = {"source": file, "vocabulary": vocabulary, "activation": "gelu"}
    assert litotes("convert", **given, output=tmp_path / "plain") == 0
    assert "as the CLIP reference, without deviations" in capsys.readouterr().out
    assert litotes("convert", **given, output=tmp_path / "turned", picture_deviations="16bit,exif") == 0
    assert "with exif, 16bit" in capsys.readouterr().out
    plain, turned = load_matcher(tmp_path / "plain"), load_matcher(tmp_path / "turned")
    assert turned.provenance()["preprocessing"]["picture_deviations"] == ["exif", "16bit"]
    assert plain.preprocess.deviations == () and plain.base == turned.base and plain.fingerprint != turned.fingerprint


def test_a_folder_without_vocabulary_is_refused(tmp_path, capsys):
    _, file = saved(tmp_path, 600)
    given = {"source": file, "vocabulary": tmp_path, "output": tmp_path / "out", "activation": "quick_gelu"}
    assert litotes("convert", **given) == 2
    assert f"no tokenizer files in {tmp_path}" in capsys.readouterr().err


def test_a_folder_for_a_source_is_told_what_it_is_and_how_to_go_on(vocabulary, tmp_path, capsys):
    _, file = saved(tmp_path, ids(vocabulary))
    folder = tmp_path / "hf"
    given = {"vocabulary": vocabulary, "activation": "quick_gelu"}
    assert litotes("convert", source=file, output=folder, **given) == 0

    def told(source):
        capsys.readouterr()
        assert litotes("convert", source=source, output=tmp_path / "out", **given) == 2
        assert not (tmp_path / "out").exists()
        return capsys.readouterr().err

    assert "which is a model in transformers' layout\n" in told(folder) and f"--model {folder}" in told(folder)
    assert f"do:       --source {file}\n" in told(tmp_path)
    (folder / "adapter_config.json").write_text("{}")
    assert "which is an adapter\n" in told(folder) and f"--adapter {folder}" in told(folder)
    (tmp_path / "empty").mkdir()
    assert "a folder without a file of weights" in told(tmp_path / "empty")
