"""`litotes evaluate --shortlist` by the real command: what it writes, and what it refuses."""

import json

import pytest
from drawn_table import litotes, table

from litotes.data.tables import read_table
from tiny import tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A tiny model, a table of twelve pictures, and an adapter of pairs that was trained on it for two steps."""
    folder = tmp_path_factory.mktemp("shortlist")
    pairs = table(folder, count=12)
    model = tiny_model(folder / "model", [row["caption"] for row in read_table(pairs).rows])
    sizes = {"hidden": 8, "latent": 6, "decoder_hidden": 4, "batch_size": 5, "val_fraction": 0.34, "ks": "1,2"}
    run = {"model": model, "train_data": pairs, "output": folder / "run", "steps": 2}
    assert litotes("train vacsr", **run, **sizes) == 0
    return {"model": model, "retrieval": pairs, "pair_adapter": folder / "run" / "pair-adapter"}


def test_the_result_tells_of_the_list_and_is_not_taken_for_that_of_all_pairs(given, tmp_path, capsys):
    out = tmp_path / "result.json"
    asked = {**given, "ks": "1,2", "output": out, "adapted_only": True}
    assert litotes("evaluate", **asked, shortlist=3) == 0
    record = json.loads(out.read_text())
    assert record["shortlist"] == 3
    assert record["similarity"] == "logit of an adapter of pairs, on a shortlist of 3 by cosine"
    (suite,) = record["suites"].values()
    assert suite["shortlist"]["listed"] < suite["shortlist"]["pairs"] == 144
    assert any("the adapter scored" in note for note in suite["notes"])
    assert litotes("evaluate", **asked, shortlist=3) == 0
    written = out.read_bytes()
    capsys.readouterr()
    for other in ({}, {"shortlist": 4}):
        assert litotes("evaluate", **asked, **other) == 2
        told = capsys.readouterr().err
        assert "not of this run" in told
        assert "--shortlist" in told
    assert out.read_bytes() == written


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"pair_adapter": None}, "--shortlist without --pair-adapter"),
        ({"shortlist": 2}, "--shortlist 2 for recall at 2"),
        ({"shortlist": 0}, "--shortlist 0 for recall at 2"),
        ({"shortlist": "nan"}, "--shortlist"),
        ({"retrieval": None, "classification": "retrieval"}, "--shortlist with --classification"),
        ({"retrieval": None, "choice": "retrieval"}, "--shortlist with --choice"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused(given, tmp_path, capsys, changed, told):
    asked = {**given, "ks": "1,2", "output": tmp_path / "result.json", "shortlist": 3, **changed}
    asked = {name: given.get(value, value) for name, value in asked.items() if value is not None}
    assert litotes("evaluate", **asked) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "result.json").exists()
