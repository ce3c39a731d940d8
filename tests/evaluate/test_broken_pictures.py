"""What becomes of the questions about pictures that are missing or broken."""

import csv
import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from broken_files import BROKEN, GOOD, write_all
from litotes.data.screening import Screening
from litotes.errors import UserError
from litotes.evaluate.command import evaluate_command, run
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.files import suites_from_files
from litotes.evaluate.foil_files import cc_neg_suite
from litotes.models.matcher import load_matcher
from tiny import tiny_model

LOST = "lost.png"
ALL = sorted((*GOOD, *BROKEN, LOST))
BOXES = [[0, 0, 20, 20], [12, 16, 28, 30]]
TEXT = {name: f"a {name.partition('.')[0].replace('_', ' ')}" for name in ALL}


def csv_file(path, columns, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


def write_tables(folder, names):
    """Every kind of file over the pictures, most with several rows a picture; a row depends on its picture alone."""
    folder.mkdir()
    twice = [(name, text) for name in names for text in (TEXT[name], f"one {TEXT[name]}")]
    columns = ["image_path", "correct_answer", "caption_0", "caption_1", "correct_answer_template"]
    csv_file(folder / "mcq.csv", columns, [[n, len(n) % 2, text, f"no {text}", "hybrid"] for n, text in twice])
    csv_file(folder / "captions.csv", ["filepath", "captions"], [[n, str([TEXT[n], f"one {n}"])] for n in names])
    csv_file(folder / "negated.csv", ["filepath", "captions"], [[n, str([f"no cup, {TEXT[n]}"])] for n in names])
    csv_file(
        folder / "classes.csv", ["filepath", "caption"], [[n, "cup" if n == "ok_b.png" else "boat"] for n in names]
    )
    csv_file(folder / "cc.csv", ["filepath", "caption", "negated_caption"], [[n, t, f"no {t}"] for n, t in twice])
    valse = [{"image_file": n, "caption": t, "foil": f"no {t}", "mturk": {"caption": len(n) % 4}} for n, t in twice]
    (folder / "existence.json").write_text(json.dumps({str(i): row for i, row in enumerate(valse)}))
    crepe = [{"filename": n, "caption": t, "caption2": f"some {t}", "negative_caption": f"no {t}"} for n, t in twice]
    (folder / "crepe.json").write_text(json.dumps(crepe))
    boxes = [{"image": n, "phrase": t, "ref_bbox": BOXES[0], "bbox_list": BOXES} for n, t in twice]
    (folder / "boxes.json").write_text(json.dumps(boxes))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    write_all(folder / "pictures")
    write_tables(folder / "all", ALL)
    write_tables(folder / "good", GOOD)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_model(tmp_path_factory.mktemp("model") / "tiny", list(TEXT.values()))


def config(model, data, tables, **changes):
    names = {
        "choice": "mcq.csv", "retrieval": "captions.csv", "negated_retrieval": "negated.csv",
        "classification": "classes.csv", "valse": "existence.json", "sugarcrepe": "crepe.json",
        "negrefcocog": "boxes.json",
    }  # fmt: skip
    files = {option: data / tables / name for option, name in names.items()}
    return EvaluateConfig(model=model, images_root=data / "pictures", ks=(1, 2), **(files | changes))


SKIPPING = {"broken_pictures": "skip", "allow_missing": 1}


def figures(record):
    return {name: {k: v for k, v in result.items() if k != "wall_s"} for name, result in record["suites"].items()}


def test_every_suite_gives_what_it_gives_of_a_file_without_the_broken_pictures(model, data, tmp_path):
    whole = run(config(model, data, "good"))
    assert (whole["n_skipped"], whole["left_out"]["of"]) == (0, 3)
    text = io.StringIO()
    out = tmp_path / "r.json"
    evaluate_command(config(model, data, "all", output=out, **SKIPPING), Console(file=text, width=110))
    record = json.loads(out.read_text())
    assert len(record["suites"]) == 7
    assert figures(record) == figures(whole)
    assert record["n_images"] == whole["n_images"]
    assert record["n_skipped"] == 10
    left_out = record["left_out"]
    assert (left_out["of"], left_out["missing"]) == (13, [LOST])
    assert [one["picture"] for one in left_out["broken"]] == list(BROKEN)
    assert left_out["rows"] == {
        "mcq": 20, "retrieval": 20, "retrieval_neg": 10, "classification": 10, "valse": 20, "sugarcrepe_pp": 20,
        "negrefcocog": 20,
    }  # fmt: skip
    shown = " ".join(text.getvalue().split())
    assert "without 10 of 13 pictures" in shown.partition("measure")[0]
    assert "note: 10 of 13 pictures are left out" in shown
    assert all(name in shown for name in (LOST, *BROKEN))


def test_of_base_and_adapted_the_same_is_left_out(model, data, tmp_path, monkeypatch):
    monkeypatch.setattr("litotes.evaluate.command._matcher", lambda config, adapter: load_matcher(model))
    monkeypatch.setattr("litotes.evaluate.command.require_adapter_files", lambda folder: None)
    record = run(config(model, data, "all", adapter=tmp_path, cache=tmp_path / "cache", **SKIPPING))
    assert record["left_out"] == record["base"]["left_out"]
    assert figures(record) == figures(record["base"])


def test_the_first_broken_picture_stops_the_run_unless_another_policy_is_given(model, data):
    with pytest.raises(UserError, match=f"1 of 13 pictures are missing.*{LOST}"):
        run(config(model, data, "all"))
    with pytest.raises(UserError, match=r"broken_link\.jpg cannot be read .*; at least 2 more cannot be read either"):
        run(config(model, data, "all", allow_missing=1))
    with pytest.raises(UserError, match=f"1 of 13 pictures are missing.*{LOST}"):
        run(config(model, data, "all", broken_pictures="skip"))


def test_class_folders_and_cc_neg_follow_the_policy(model, data, tmp_path):
    for name in ("boats", "cups"):
        write_all(tmp_path / "classes" / name)
    settings = EvaluateConfig(model=model, classification=tmp_path / "classes", broken_pictures="skip")
    record = run(settings)
    assert record["n_images"] == 6
    assert record["left_out"]["rows"] == {"classification": 18}
    assert {one["picture"] for one in record["left_out"]["broken"]} == {
        f"{c}/{n}" for c in ("boats", "cups") for n in BROKEN
    }
    with pytest.raises(UserError, match=r"broken_link\.jpg"):
        suites_from_files(replace(settings, broken_pictures="stop"))
    path, screening = data / "all" / "cc.csv", Screening("skip", 1)
    settings = EvaluateConfig(model=model, cc_neg=path, images_root=data / "pictures", **SKIPPING)
    cc_neg_suite(path, settings, screening, test_count=2 * len(ALL) - 1)
    screening.look(load_matcher(model).preprocess)
    suite = cc_neg_suite(path, settings, screening, test_count=2 * len(ALL) - 1)
    assert {suite.pictures.name(i) for i in suite.image_of_item} == set(GOOD)
    assert {name: len(items) for name, items in suite.groups.items()} == {
        "as_published": 6, "commas_removed_from_both": 6
    }  # fmt: skip
    assert suite.captions[:2] == [TEXT["ok_a.jpg"], f"one {TEXT['ok_a.jpg']}"]


def test_numbers_below_zero_are_refused(model, data):
    for option in ("allow_missing", "workers"):
        with pytest.raises(UserError, match=f"--{option.replace('_', '-')} -1"):
            config(model, data, "good", **{option: -1})
