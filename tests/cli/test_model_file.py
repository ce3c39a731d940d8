"""``litotes train`` and ``litotes evaluate`` on a file of weights: as on the folder that is made of it."""

import hashlib
import json

import pytest
import torch
from drawn_table import litotes, table, write

from litotes.backbones.train_tokenizer import train_tokenizer
from reference.openai_clip import ReferenceClip


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return table(tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A SmartCLIP and its vocabulary: what ``--model`` and ``--vocabulary`` say."""
    folder = tmp_path_factory.mktemp("given")
    ids = train_tokenizer(["a red ball and a blue box", "a ball but no box"] * 3, 600, folder / "vocabulary")
    model = ReferenceClip(ids=ids, context=248, long=True, mask=True, dimension=128)
    torch.save(model.state_dict(), folder / "smart.pt")
    return {"model": folder / "smart.pt", "vocabulary": folder / "vocabulary"}


def figures(path):
    record = json.loads(path.read_text())
    return [{k: v for k, v in model["suites"]["mcq"].items() if k != "wall_s"} for model in (record, record["base"])]


def test_an_adapter_of_a_file_is_one_of_the_folder_too(given, pairs, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    run, rows = tmp_path / "run", ["00.png", 0, "a ball", "no ball", "positive"]
    short = {"val_fraction": 0.34, "batch_size": 4, "steps": 2, "warmup": 0, "lora_dropout": 0}
    assert litotes("train", **given, train_data=pairs, output=run, **short) == 0
    assert "note: family: SmartCLIP with" in capsys.readouterr().out
    columns = ["image_path", "correct_answer", "caption_0", "caption_1", "correct_answer_template"]
    asked = {"choice": write(pairs.parent / "mcq.csv", [rows], columns), "adapter": run / "adapter"}
    assert litotes("evaluate", **given, **asked, output=tmp_path / "file.json") == 0
    shown = capsys.readouterr().out
    assert shown.count("SmartCLIP's weights are CC-BY-NC-4.0") == 1
    words, folder = given["vocabulary"], tmp_path / "folder"
    assert litotes("convert", source=given["model"], vocabulary=words, output=folder) == 0
    assert litotes("evaluate", model=folder, **asked, output=tmp_path / "folder.json") == 0
    assert figures(tmp_path / "file.json") == figures(tmp_path / "folder.json")
    records = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("file", "folder")]
    assert records[0]["fingerprint"] == records[1]["fingerprint"] != records[0]["base"]["fingerprint"]
    assert (records[0]["model"], records[1]["model_notes"]) == ("smart", [])


def test_how_a_file_is_to_be_read_is_said_by_options_and_stands_in_the_result(given, pairs, tmp_path, capsys):
    wanted = {"retrieval": pairs, "ks": "1", "output": tmp_path / "r.json"}
    right = hashlib.sha256(given["model"].read_bytes()).hexdigest()
    assert litotes("evaluate", **given, **wanted, sha256=right, round_like_reference=True) == 0
    record = json.loads((tmp_path / "r.json").read_text())
    assert (record["file_sha256"], record["round_like_reference"]) == (right, True)
    capsys.readouterr()
    for command, more in (
        ("evaluate", wanted), ("train", {"train_data": pairs, "output": tmp_path / "o"}), ("doctor", {}),
    ):  # fmt: skip
        assert litotes(command, **given, **more, sha256="1" * 64) == 2
        assert f"smart.pt with sha256 {right}" in capsys.readouterr().err
    assert litotes("doctor", **given, round_like_reference=True) == 0
    assert "- weights rounded to float16, as the reference loaders do" in capsys.readouterr().out


def test_masked_scoring_is_asked_for_and_recorded(given, pairs, tmp_path, capsys):
    columns = ["image_path", "correct_answer", "caption_0", "caption_1", "correct_answer_template"]
    rows = [[f"{i:02d}.png", i % 2, "a red ball and a blue box", "no ball", "positive"] for i in range(12)]
    asked = {"choice": write(tmp_path / "mcq.csv", rows, columns), "retrieval": pairs, "classification": pairs}
    asked |= {"images_root": pairs.parent, "ks": "1,3"}
    records = {}
    for name, options in (("plain", {}), ("masked", {"masked": True})):
        assert litotes("evaluate", **given, **asked, **options, output=tmp_path / f"{name}.json") == 0
        records[name] = json.loads((tmp_path / f"{name}.json").read_text())
    shown = capsys.readouterr().out
    assert shown.count("masked for each text") == shown.count("kept aside and not applied") == 1
    plain, masked = records["plain"], records["masked"]
    assert (plain["similarity"], masked["similarity"]) == ("cosine", "masked cosine")
    assert 0 < masked["mask_kept"] < 1 and masked["masks_empty"] == 0
    assert plain["fingerprint"] != masked["fingerprint"] and plain["base_sha256"] == masked["base_sha256"]
    scores = [
        [json.loads(line)["base"]["scores"] for line in (tmp_path / f"{name}.answers.jsonl").read_text().splitlines()
         if json.loads(line)["suite"] == "mcq"]
        for name in ("plain", "masked")
    ]  # fmt: skip
    assert len(scores[0]) == len(scores[1]) == 12 and scores[0] != scores[1]


def test_masked_scoring_that_cannot_be_is_refused(given, pairs, tmp_path, capsys):
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("a {c}\nthe {c}\n")
    wanted = {"output": tmp_path / "r.json", "masked": True, "ks": "1"}
    assert litotes("evaluate", **given, classification=pairs, templates=prompts, **wanted) == 2
    assert "--masked with 2 prompts for each class" in capsys.readouterr().err
    ids = len(torch.load(given["model"])["token_embedding.weight"])
    torch.save(ReferenceClip(ids=ids, context=248, long=True).state_dict(), tmp_path / "long.pt")
    given = {**given, "model": tmp_path / "long.pt"}
    assert litotes("evaluate", **given, retrieval=pairs, **wanted) == 2
    assert "--masked) with long, a model without a mask network" in capsys.readouterr().err
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_a_file_without_its_vocabulary_is_refused_before_any_work(command, given, pairs, tmp_path, capsys):
    wanted = {"train": {"train_data": pairs, "output": tmp_path / "o"}, "evaluate": {"retrieval": pairs}}[command]
    assert litotes(command, model=given["model"], **wanted) == 2
    assert "smart.pt, a file of weights, which holds no vocabulary" in (shown := capsys.readouterr().err)
    assert "add --vocabulary: " in shown
    assert not (tmp_path / "o").exists()
