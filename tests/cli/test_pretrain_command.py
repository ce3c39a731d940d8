import json

import pytest
from drawn_table import COLUMNS, SIDE, SMALL, litotes, table, write

from litotes.models.matcher import load_matcher
from litotes.train.journal import read_journal
from litotes.train.pretrain import Contrastive


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return table(tmp_path_factory.mktemp("drawn pictures"), columns=COLUMNS[:2])


@pytest.fixture
def pretrain(pairs, tmp_path):
    def run(**options):
        return litotes("pretrain", **({"train_data": pairs, "output": tmp_path / "small", **SMALL} | options))

    return run


def steps(run):
    return [line["step"] for line in read_journal(run / "journal.jsonl")]


def test_a_model_comes_out_and_can_be_measured(pretrain, pairs, tmp_path, capsys):
    assert pretrain() == 0
    folder = tmp_path / "small" / "model"
    shown = capsys.readouterr().out.replace("\n", "")
    assert str(folder) in shown
    assert "litotes train --model" in shown
    assert [steps(tmp_path / "small" / name) for name in ("warmup", "contrastive")] == [[1, 2], [1, 2]]
    assert load_matcher(folder).encoder.image_size == SIDE
    out = tmp_path / "result.json"
    assert litotes("evaluate", model=folder, retrieval=pairs, output=out) == 0
    record = json.loads(out.read_text())
    assert record["suites"]["retrieval"]["n_texts"] == 18
    assert record["fingerprint"] == load_matcher(folder).fingerprint


def test_a_stopped_pretraining_goes_on(pretrain, tmp_path, monkeypatch, capsys):
    assert pretrain(output=tmp_path / "whole") == 0
    calls, terms = [], Contrastive.terms

    def stop(task, batch):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return terms(task, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Contrastive, "terms", stop)
        assert pretrain() == 130
    assert f"stopped: step 1 is saved in {tmp_path}/small/contrastive/checkpoint-000001" in capsys.readouterr().err
    assert pretrain() == 2
    assert pretrain(resume=True) == 0
    assert steps(tmp_path / "small" / "contrastive") == [1, 2]
    whole, again = (load_matcher(tmp_path / name / "model").fingerprint for name in ("whole", "small"))
    assert whole == again


def test_the_warm_up_can_be_left_out(pretrain, tmp_path):
    assert pretrain(warmup_steps=0) == 0
    assert not (tmp_path / "small" / "warmup").exists()
    assert steps(tmp_path / "small" / "contrastive") == [1, 2]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"train_data": "nowhere.csv"}, "nowhere.csv"),
        ({"image_size": 30}, "--image-size 30 and --patch-size 16"),
        ({"width": 100}, "100"),
        ({"vocabulary": 100}, "vocabulary of 100 (--vocabulary)"),
        ({"steps": "few"}, "--steps few"),
        ({"steps": 0}, "--steps 0"),
        ({"lr": "nan"}, "--lr nan"),
        ({"batch_size": 0}, "--batch-size 0"),
        ({"patch_size": 0}, "--patch-size 0"),
        ({"warmup_steps": -1}, "--warmup-steps -1"),
        ({"warmup": 2}, "--warmup 2 in a phase of 2 steps"),
        ({"warmup": 2, "steps": 5}, "--warmup 2 in a phase of 2 steps"),
        ({"device": "warp:9"}, "warp:9"),
        ({"resume": True}, "small, which is not there"),
        ({"layer": 2}, "did you mean '--layers'"),
    ],
)
def test_a_mistake_is_told_in_three_parts(options, part, pretrain, tmp_path, capsys):
    assert pretrain(**options) == 2
    message = capsys.readouterr().err
    assert part in message
    for head in ("got:", "expected:", "do:"):
        assert f"\n{head}" in message
    assert not (tmp_path / "small" / "model").exists()


def test_an_empty_caption_is_refused_and_a_batch_that_cannot_be_filled_is_said(pretrain, pairs, tmp_path, capsys):
    rows = [line.split(",") for line in pairs.read_text().splitlines()[1:]]
    blank = write(tmp_path / "blank.csv", [*rows, ["00.png", " "]], COLUMNS[:2])
    assert pretrain(train_data=blank, images_root=pairs.parent) == 2
    assert "column caption has no words in 1 rows: 19" in capsys.readouterr().err
    assert pretrain(batch_size=100, warmup_steps=0) == 0
    assert "note: The batch of 100 is larger than the 18 examples to train on" in capsys.readouterr().out


def test_missing_pictures_and_columns_are_named(pretrain, pairs, tmp_path, capsys):
    rows = [line.split(",") for line in pairs.read_text().splitlines()[1:]]
    lost = write(tmp_path / "lost.csv", [*rows, ["lost/1.png", "a ball"], ["lost/2.png", "a box"]], COLUMNS[:2])
    assert pretrain(train_data=lost, images_root=pairs.parent) == 2
    message = capsys.readouterr().err
    assert "2 of 20 pictures are missing" in message
    assert "lost/1.png, lost/2.png" in message
    odd = write(tmp_path / "odd.csv", rows, ["filepath", "words"])
    assert pretrain(train_data=odd, images_root=pairs.parent) == 2
    assert "words" in capsys.readouterr().err
    assert not (tmp_path / "small").exists()
