"""Training and pretraining on a table some of whose pictures are missing or broken."""

import json

import pytest
from drawn_table import COLUMNS, SMALL, litotes, table, write

from broken_files import BROKEN, write_all
from litotes.models.matcher import load_matcher

SKIP = {"broken_pictures": "skip", "allow_missing": 1}
SHORT = {"val_fraction": 0.34, "batch_size": 4, "steps": 2, "warmup": 0}
LOST = "lost.png"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A table of whole pictures, and one with the same rows and others between and behind them."""
    whole = table(tmp_path_factory.mktemp("drawn pictures"), count=12)
    write_all(whole.parent)
    columns = (*COLUMNS, "negated_positive")
    rows = [[*line.split(","), "no word of it"] for line in whole.read_text().splitlines()[1:]]
    more = [[name, f"a red {name}", f"a box but no {name}", "ball|box", "no word"] for name in (*BROKEN, LOST)]
    write(whole, rows, columns)
    return whole, write(whole.with_name("more.csv"), [*more[:3], *rows, *more[3:], *more[:2]], columns)


@pytest.fixture(scope="module")
def model(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("small model")
    assert litotes("pretrain", train_data=tables[0], output=folder / "run", **SMALL) == 0
    return folder / "run" / "model"


def test_the_model_is_that_of_the_table_without_them(tables, model, tmp_path, capsys):
    assert litotes("pretrain", train_data=tables[1], output=tmp_path / "run", **SMALL, **SKIP) == 0
    assert load_matcher(tmp_path / "run" / "model").fingerprint == load_matcher(model).fingerprint
    shown = capsys.readouterr().out
    assert "note: 10 of 22 pictures are left out, and with them these rows: 12 of train_data." in shown
    assert all(name in shown for name in (*BROKEN, LOST))


def test_the_adapter_is_that_of_the_table_without_them(tables, model, tmp_path, capsys):
    reports = []
    for data, options in zip(tables, ({}, SKIP), strict=True):
        run = tmp_path / data.stem
        assert litotes("train", model=model, train_data=data, output=run, **SHORT, **options) == 0
        reports.append(json.loads((run / "report.json").read_text()))
    whole, more = reports
    assert more["models"]["adapted"]["fingerprint"] == whole["models"]["adapted"]["fingerprint"]
    assert more["adaptation"]["Training data (SHA-256)"] == whole["adaptation"]["Training data (SHA-256)"]
    for record in more["models"].values():
        assert record["n_skipped"] == 10
        assert record["left_out"]["rows"] == {"train_data": 12}
    note = "10 of 22 pictures are left out, and with them these rows: 12 of train_data."
    assert note in more["notes"]
    assert note in (run / "report.html").read_text().replace("&#39;", "'")
    assert note in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["train", "pretrain"])
def test_they_stop_the_run_before_it_begins_if_nothing_is_said(command, tables, model, tmp_path, capsys):
    options = {"model": model, **SHORT} if command == "train" else SMALL
    assert litotes(command, train_data=tables[1], output=tmp_path / "run", **options) == 2
    assert "1 of 22 pictures are missing" in capsys.readouterr().err
    assert litotes(command, train_data=tables[1], output=tmp_path / "run", allow_missing=1, **options) == 2
    assert "bad_crc.png" not in (told := capsys.readouterr().err)
    assert "broken_link.jpg cannot be read as a picture: a link that leads nowhere; at least 2 more" in told
    assert not (tmp_path / "run").exists()
