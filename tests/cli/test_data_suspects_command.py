"""``litotes data suspects``: a table in, a list of its suspect pairs out, and what is refused."""

import csv
import shutil

import pytest
import torch
from drawn_table import litotes, table, write

from litotes.cli import pair_model
from litotes.data.pairs import read_pairs
from litotes.models.matcher import load_matcher
from litotes.models.pair_adapter import new_pair_model, save_pair_adapter
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import AdapterConfig
from tiny import DIMENSION, tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")

KINDS = ("variational", "deterministic", "cosine")
CONFIG = AdapterConfig(features=DIMENSION, hidden=8, latent=6, decoder_hidden=4)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return table(tmp_path_factory.mktemp("drawn"), count=8, columns=("filepath", "caption"))


@pytest.fixture(scope="module")
def models(pairs, tmp_path_factory):
    """A tiny model and an adapter of each kind on it."""
    folder = tmp_path_factory.mktemp("models")
    tiny_model(folder / "clip", [row["caption"] for row in read(pairs)])
    matcher = load_matcher(folder / "clip")
    for kind in KINDS:
        save_pair_adapter(new_pair_model(kind, CONFIG, seed=1), kind, CONFIG, matcher, {"method": "x"}, folder / kind)
    return folder


@pytest.fixture
def suspects(models, pairs, tmp_path):
    def run(kind="variational", **options):
        given = {
            "model": models / "clip", "pair_adapter": models / kind, "data": pairs, "output": tmp_path / "list.csv"
        }  # fmt: skip
        return litotes("data suspects", **(given | options))

    return run


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("kind", KINDS)
def test_the_list_is_that_of_the_adapter_and_pictures(kind, suspects, models, pairs, tmp_path, capsys):
    assert suspects(kind, most=3) == 0
    rows = read(tmp_path / "list.csv")
    assert [(row["kind"], row["rank"]) for row in rows] == [(k, r) for k in ("wrong", "missing") for r in "123"]
    assert ("mean_std" in rows[0]) == (kind == "variational")
    matcher, data = load_matcher(models / "clip"), read_pairs(pairs)
    images, texts = matcher.encode_images(data.pictures), matcher.encode_texts(data.captions)
    logits = PairScorer(new_pair_model(kind, CONFIG, seed=1)).scores(images, texts)
    lowest = logits.diagonal().argsort()[:3].tolist()
    assert [int(row["row_of_caption"]) - 1 for row in rows[:3]] == lowest
    assert [(row["filepath"], row["caption"]) for row in rows[:3]] == [
        (data.pictures.name(i), data.captions[i]) for i in lowest
    ]
    others = logits.fill_diagonal_(-torch.inf).flatten().argsort(descending=True)[:3].tolist()
    assert [(row["filepath"], row["caption"]) for row in rows[3:]] == [
        (data.pictures.name(at // 8), data.captions[at % 8]) for at in others
    ]
    shown = " ".join(capsys.readouterr().out.split())
    assert "wrong: the 3 pairs of the table that look least like belonging together, p from" in shown
    assert "missing: the 3 pairs that the table lacks and that look most like belonging together, p from" in shown
    assert suspects(kind, most=1, overwrite=True) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "wrong: the 1 pair of the table that looks least like belonging together, p from" in shown
    assert "missing: the 1 pair that the table lacks and that looks most like belonging together, p from" in shown


@pytest.mark.parametrize(("order", "said"), [("uncertainty", "of highest sigma"), ("both", "first by p and sigma")])
def test_missing_pairs_can_be_listed_by_how_unsure_the_adapter_is_of_them(order, said, suspects, tmp_path, capsys):
    assert suspects(most=20, output=tmp_path / "by_p.csv") == 0
    assert suspects(most=3, missing_order=order, shortlist=20) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "missing: of the 20 pairs that the table lacks and that look most like belonging" in shown
    assert f"together, the 3 {said}" in shown
    near = [row for row in read(tmp_path / "by_p.csv") if row["kind"] == "missing"]
    found = [row for row in read(tmp_path / "list.csv") if row["kind"] == "missing"]
    by_sigma = sorted(near, key=lambda row: -float(row["mean_std"]))
    places = {row["rank"]: near.index(row) + by_sigma.index(row) for row in near}
    expected = by_sigma if order == "uncertainty" else sorted(near, key=lambda row: places[row["rank"]])
    assert [(row["filepath"], row["caption"]) for row in found] == [
        (row["filepath"], row["caption"]) for row in expected[:3]
    ]
    assert suspects(most=3, missing_order=order, shortlist=10**6, overwrite=True) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"missing: of all 56 pairs that the table lacks, the 3 {said}" in shown  # 8 x 8 without the table's 8


@pytest.mark.parametrize(
    ("options", "told"),
    [({"shortlist": 200}, "--shortlist 200 with --missing-order similarity"),
     ({"missing_order": "both", "shortlist": 20}, "--shortlist 20 for a list of 100 pairs"),
     ({"missing_order": "sigma"}, "sigma"),
     ({"kind": "cosine", "missing_order": "uncertainty"}, "--missing-order uncertainty with an adapter that knows no")],
)  # fmt: skip
def test_an_order_that_says_nothing_is_refused_before_the_model_is_loaded(
    options, told, suspects, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(pair_model, "load_backbone", None)
    assert suspects(**options) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "list.csv").exists()


def test_pictures_that_are_left_out_shift_no_row_and_a_copy_is_no_missing_pair(suspects, pairs, tmp_path, capsys):
    rows = [(row["filepath"], row["caption"]) for row in read(pairs)]
    shutil.copytree(pairs.parent, tmp_path / "own")
    (tmp_path / "own" / "00.png").write_bytes(b"no picture")
    (tmp_path / "own" / "copy.png").write_bytes((tmp_path / "own" / "03.png").read_bytes())
    own = write(tmp_path / "own" / "own.csv", [*rows, ("copy.png", rows[5][1])], ("filepath", "caption"))
    assert suspects(data=own) == 2
    assert "00.png cannot be read as a picture" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "list.csv").exists()
    assert suspects(data=own, broken_pictures="skip") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 of 9 pictures is left out, and with it these rows: 1 of data." in shown
    table_of = {i: pair for i, pair in enumerate([*rows, ("copy.png", rows[5][1])], 1)}
    found = read(tmp_path / "list.csv")
    assert sorted(int(row["row_of_picture"]) for row in found if row["kind"] == "wrong") == list(range(2, 10))
    assert all(table_of[int(row["row_of_picture"])][0] == row["filepath"] for row in found)
    assert all(table_of[int(row["row_of_caption"])][1] == row["caption"] for row in found)
    missing = {(row["filepath"], row["caption"]) for row in found if row["kind"] == "missing"}
    assert len(missing) == 7 * 7 - 8
    assert not missing & {("03.png", rows[5][1]), ("copy.png", rows[3][1]), ("03.png", rows[3][1])}


def test_what_could_be_a_formula_and_what_stands_twice_is_told_and_kept_as_it_is(suspects, pairs, tmp_path, capsys):
    rows = [(row["filepath"], row["caption"]) for row in read(pairs)][:4]
    assert suspects(data=write(pairs.parent / "plain.csv", rows, ("filepath", "caption"))) == 0
    assert "for a formula" not in (said := capsys.readouterr().out) and "different ones" not in said
    rows[1] = (rows[1][0], "=1+2")
    rows[2] = (rows[2][0], "@home")
    own = write(pairs.parent / "formulas.csv", [*rows, rows[1], rows[3]], ("filepath", "caption"))
    assert suspects(data=own, overwrite=True) == 0
    found = read(tmp_path / "list.csv")
    assert {row["caption"] for row in found} == {text for _, text in rows}
    odd = sum(row["caption"][0] in "=@" for row in found)
    said = " ".join(capsys.readouterr().out.split())
    assert f"note: {odd} rows of the list have a caption or a path that begins with =, +" in said
    assert "note: the 6 pairs listed as wrong are 4 different ones" in said


def test_a_list_that_is_there_is_replaced_only_where_that_is_said(suspects, tmp_path, monkeypatch, capsys):
    (tmp_path / "list.csv").write_text("my own work")
    with monkeypatch.context() as patch:
        patch.setattr(pair_model, "load_backbone", None)
        assert suspects() == 2
    assert "which is there" in capsys.readouterr().err
    assert (tmp_path / "list.csv").read_text() == "my own work"
    assert suspects(overwrite=True) == 0
    assert (tmp_path / "list.csv").read_text().startswith("kind,rank,")
    assert [path.name for path in tmp_path.iterdir()] == ["list.csv"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"most": 0}, "--most 0"),
        ({"pair_adapter": "nowhere"}, "nowhere without pair_adapter.json"),
        ({"model": "nowhere"}, "nowhere"),
        ({"data": "nowhere.csv"}, "nowhere.csv"),
        ({"any_base": True}, "--any-base without --adapter"),
        ({"output": "."}, "a folder"),
        ({"device": "abacus"}, "abacus"),
    ],
)
def test_what_cannot_work_is_refused_before_the_model_is_loaded(options, told, suspects, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pair_model, "load_backbone", None)
    assert suspects(**options) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_an_adapter_of_another_model_is_refused(suspects, pairs, tmp_path, capsys):
    other = tiny_model(tmp_path / "other", [row["caption"] for row in read(pairs)], seed=9)
    assert suspects(model=other) == 2
    assert "for an adapter of pairs trained on" in capsys.readouterr().err
    assert not (tmp_path / "list.csv").exists()
