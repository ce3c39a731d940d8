import json
import re

import pytest

from litotes.cli import main
from litotes.demo.vacsr.methods import LABELS
from litotes.demo.vacsr.report import write_pair_report
from litotes.demo.vacsr.run import PairDemo, planned
from litotes.demo.vacsr.summary import Mean
from litotes.demo.vacsr.tables import tables
from litotes.demo.vacsr.words import lead
from litotes.errors import UserError

SMALL = ["--pictures", "24", "--held", "12", "--steps", "2", "--seeds", "2", "--noise", "0,0.2", "--workers", "0"]
OTHER = ["3" if before == "--steps" else word for before, word in zip(["", *SMALL], SMALL, strict=False)]


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "out"
    assert main(["demo", "vacsr", "--output", str(folder), *SMALL]) == 0
    return folder


def test_the_page_has_every_method_and_stands_alone(output):
    page = (output / "report.html").read_text(encoding="utf-8")
    assert all(label in page for label in LABELS.values())
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)
    assert not re.search(r"\bnan\b|None", page)
    assert "How similarities lie" in page and page.count("<svg") == 2 + 1 + 5
    assert page.count("Uncertainty of the K first against mAP@R") == 2


def test_the_results_hold_a_row_for_every_training(output):
    rows = json.loads((output / "report.json").read_text(encoding="utf-8"))["rows"]
    assert [row["row"] for row in rows].count("cosine") == 1
    assert len(rows) == 1 + 2 * (4 + 5)
    assert len(list((output / "rows").glob("*.json"))) == 2 * (4 + 5)


def test_a_second_call_trains_nothing_and_other_settings_are_refused(output, capsys):
    before = {path: path.stat().st_mtime_ns for path in (output / "rows").iterdir()}
    assert main(["demo", "vacsr", "--output", str(output), *SMALL]) == 0
    assert {path: path.stat().st_mtime_ns for path in (output / "rows").iterdir()} == before
    assert main(["demo", "vacsr", "--output", str(output), *OTHER]) == 2
    assert "another demo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--noise", "0.2,0.2"], "different shares"),
        (["--noise", "1"], "below 1"),
        (["--seeds", "0"], "--seeds 0"),
        (["--held", "1"], "--held 1"),
        (["--steps", "0"], "--steps 0"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_drawn(options, said, tmp_path, capsys):
    assert main(["demo", "vacsr", "--output", str(tmp_path / "new"), *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_the_ablation_is_planned_at_one_noise_alone():
    names = [(row.name, row.noise) for row in planned(PairDemo(seeds=1))]
    assert [noise for name, noise in names if name == "no_sigma"] == [0.2]
    assert len(names) == len(set(names)) == 13
    with pytest.raises(UserError):
        PairDemo(noise=())


def fake(name, noise, seed, quality, sigma=0.9):
    ways = {way: {"map_at_r": quality, "r1": quality, "sparse_r1": quality} for way in ("i2t", "t2i")}
    doubts = {"sigma": sigma, "one_minus_p": 0.93, "one_minus_cosine": 0.94}
    told = {key: {"aurc": 0.4, "pearson": -0.9} for key in ("sigma", "one_minus_p")}
    return {
        "row": name, "noise": noise, "seed": seed, "retrieval": ways, "errors": {"i2t": told, "t2i": told},
        "wrong_pairs": {"shuffled": doubts, "untrue": doubts} if noise else None,
        "held_wrong_pairs": {"shuffled": {"sigma": 0.8}, "untrue": doubts},
        "groups": {"missing_at_equal_p": 0.4, "hard": {"sigma": 1.5, "p": 0.25}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("own", "place"),
    [
        (0.3, "VACSR is first, ahead of InfoNCE by more than"),
        (0.2, "VACSR is number 2 of 3, behind InfoNCE by less than"),
        (0.1, "VACSR is last, behind sigmoid by more than"),
    ],
)
def test_the_words_follow_the_figures_whichever_way_they_went(own, place):
    rows = [
        fake(name, 0.2, seed, quality + 0.01 * seed)
        for name, quality in (("vacsr", own), ("infonce", 0.204), ("sigmoid", 0.15))
        for seed in (0, 1)
    ]
    assert place in lead(rows, LABELS)[0]


@pytest.mark.parametrize(
    ("with_it", "without", "said"),
    [(0.96, 0.1, ("which reaches the 0.95", "wrong way")), (0.90, 0.9, ("does not reach the 0.95", "no collapse"))],
)
def test_the_words_say_whether_the_asked_auroc_is_reached(with_it, without, said):
    rows = [fake("vacsr", 0.2, 0, 0.2, with_it), fake("no_sigma", 0.2, 0, 0.2, without)]
    text = " ".join(lead(rows, LABELS))
    assert all(part in text for part in said)
    assert "1.50 for pairs that are hard and wrong (p 0.25)" in text
    assert "says the opposite of the claim" in text


def test_nothing_is_concluded_from_a_model_that_did_not_learn():
    frozen = {key: value for key, value in fake("cosine", 0.2, 0, 0.4).items() if key != "noise"}
    text = " ".join(lead([fake("vacsr", 0.2, 0, 0.1, 0.96), frozen], LABELS))
    assert "it is not trained enough for its σ to say anything" in text
    assert "AUROC" not in text
    assert "claim" not in text


def test_a_table_has_mean_and_spread_of_the_seeds():
    rows = [fake("vacsr", 0.2, seed, quality) for seed, quality in ((0, 0.2), (1, 0.3))]
    table = tables(rows, LABELS)[0]
    assert table.rows == (("VACSR", ("25.0 ± 7.1",) * 6),)
    assert Mean(-0.5, 0.0, 1).share() == "\N{MINUS SIGN}0.500"


def test_wrong_pairs_of_other_pictures_have_a_table_of_their_own():
    found = {table.title: table.rows for table in tables([fake("vacsr", 0.0, 0, 0.2)], LABELS)}
    assert found["Does the uncertainty find wrong pairs of other pictures?"] == (
        ("VACSR, 0 %", ("0.800", "–", "–", "0.900", "0.930", "0.940")),
    )


def test_nothing_is_left_of_a_page_that_cannot_be_made(tmp_path):
    with pytest.raises(KeyError):
        write_pair_report({"rows": [], "settings": {}}, tmp_path)
    assert not list(tmp_path.iterdir())
