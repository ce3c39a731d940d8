import json
import re
from collections import Counter

import numpy as np
import pytest
import torch
from evaluate_fakes import FakeEncoder
from PIL import Image

from browser import needs_browser, seen
from litotes.cli import main
from litotes.data.images import ImageFiles
from litotes.evaluate.class_page import AT_ONCE, class_tables
from litotes.evaluate.classification import Classification
from litotes.evaluate.results import result_record, write_json
from litotes.evaluate.suite import run_suites
from litotes.metrics.paired import wilson_interval


def told(n, right, instead=None, times=0):
    return {"n": n, "right": right, "instead": instead, "times": times}


def record(n_classes=None, **classes):
    result = {"task": "zeroshot_classification", "class_answers": classes, "n_classes": n_classes or len(classes)}
    return {"suites": {"classification": result}}


def test_classes_that_the_last_model_knows_least_stand_first():
    base = record(6, cat=told(10, 9, "dog", 1), dog=told(4, 1, "cat", 2), owl=told(10, 10), fox=told(8, 2, "dog", 6))
    own = record(6, cat=told(10, 5, "fox", 3), dog=told(4, 2, "owl", 1), owl=told(10, 10), fox=told(8, 4, "dog", 2))
    table = class_tables({"base": base, "tuned": own})["classification"]
    # half of each right with the last model: then by the first one's shares, 0.25, 0.25 and 0.9, more pictures first
    assert [row.name for row in table.worst] == ["fox", "dog", "cat", "owl"]
    assert table.others == () and table.folded == ""
    assert table.told == (
        "2 more classes were among the answers, without a picture of their own.",
        "Of 4 classes tuned gets more pictures right than base in 2, fewer in 1, as many in 1.",
    )
    cat = table.worst[2]
    low, high = wilson_interval(5, 10)
    assert cat.pictures == 10 and cat.cells[0].difference == ""
    assert (cat.cells[1].share, cat.cells[1].difference, cat.cells[1].bar) == ("50.0 %", "−40.0", 0.5)
    assert cat.cells[1].interval == f"{100 * low:.1f}–{100 * high:.1f}"
    assert (cat.cells[1].instead, cat.cells[1].often) == ("fox", "3 of 5")
    assert (table.worst[3].cells[1].instead, table.worst[3].cells[1].often) == ("", "")


def test_a_model_without_the_suite_is_a_gap_and_results_without_classes_have_no_table():
    other = {"suites": {"mcq": {"task": "mcq"}}}
    table = class_tables({"first": other, "second": record(cat=told(2, 1, "dog", 1), dog=told(3, 3))})
    assert list(table) == ["classification"] and table["classification"].worst[0].cells[0] is None
    assert table["classification"].worst[0].cells[1].difference == "" and table["classification"].told == ()
    assert class_tables({"first": other}) == {}


@pytest.mark.parametrize("count", [1, AT_ONCE, AT_ONCE + 5, AT_ONCE + 6, 200])
def test_a_long_list_is_folded_and_none_of_it_is_lost(count):
    classes = {f"class {i}": told(200, i, "another", 200 - i) for i in range(count)}
    table = class_tables({"base": record(**classes)})["classification"]
    assert [row.name for row in (*table.worst, *table.others)] == list(classes)
    assert len(table.worst) == (AT_ONCE if count > AT_ONCE + 5 else count)
    assert table.folded == (f"The other {count - AT_ONCE} of {count} classes" if count > AT_ONCE + 5 else "")


@pytest.fixture
def results(tmp_path):
    """Base and adapted on 40 classes with three pictures each, by random embeddings; 41 classes are asked for."""
    generator = np.random.default_rng(0)
    names = [f"kind_{i} <b>" for i in range(41)]
    prompts = {f"a photo of a {name.replace('_', ' ')}.": torch.eye(41)[i] for i, name in enumerate(names)}
    labels = [label for label in range(40) for _ in range(3)]
    for i in range(len(labels)):
        Image.new("RGB", (2, 2), (i, 0, 0)).save(tmp_path / f"{i}.png")
    pictures = ImageFiles([f"{i}.png" for i in range(len(labels))], tmp_path)
    suite = Classification("classification", pictures, labels, names)
    for model, skill in (("base", 0.6), ("adapted", 1.2)):
        vectors = generator.normal(size=(len(labels), 41)) * 0.5
        vectors[range(len(labels)), labels] += skill
        encoder = FakeEncoder({f"{i}.png": v for i, v in enumerate(vectors)}, prompts, fingerprint=model[0] * 64)
        answers = {}
        written = result_record(encoder, run_suites(encoder, [suite], answers), dataset="d")
        write_json(tmp_path / f"{model}.json", written)
        chosen = Counter((labels[i], answer.given["chosen"]) for i, answer in enumerate(answers["classification"]))
        for label, name in enumerate(names[:40]):
            own = written["suites"]["classification"]["class_answers"][name]
            wrong = {names[other]: times for (asked, other), times in chosen.items() if asked == label != other}
            assert (own["n"], own["right"]) == (3, chosen[label, label])
            assert own["times"] == max(wrong.values(), default=0) and wrong.get(own["instead"], 0) == own["times"]
    return tmp_path


def report(folder, *names):
    given = [word for name in names for word in ("--results", str(folder / f"{name}.json"))]
    return main(["report", *given, "--output", str(folder / "page.html")])


def test_the_page_holds_every_class_and_folds_the_rest(results):
    assert report(results, "base", "adapted") == 0
    page = (results / "page.html").read_text(encoding="utf-8")
    rows = re.findall(r'<tr><th scope="row">kind_(\d+) &lt;b&gt;</th><td class="change">3</td>', page)
    assert sorted(map(int, rows)) == list(range(40))
    assert "<summary>The other 10 of 40 classes</summary>" in page
    assert page.index("<details>") > [found.start() for found in re.finditer("<tr><th scope=.row.>kind_", page)][29]


def test_screen_and_page_have_the_interval_of_the_accuracy_and_what_guessing_gives(results, capsys):
    suite = json.loads((results / "base.json").read_text())["suites"]["classification"]
    ends = wilson_interval(round(120 * suite["acc1"]), 120)
    assert suite["interval"] == list(ends)
    printed = "–".join(f"{100 * end:.1f}" for end in ends)
    assert report(results, "base") == 0
    page, shown = (results / "page.html").read_text(encoding="utf-8"), " ".join(capsys.readouterr().out.split())
    assert f"{100 * suite['acc1']:.1f} % ({printed})" in shown
    assert f"{100 * suite['acc1']:.1f} %</span> <small>{printed}</small>" in page
    assert "Guessing gives 2.4 %, and 12.2 % among the first five." in page
    assert "Bars of the shares of the table below, with guessing at 2.4 and 12.2 percent" in page


@pytest.mark.parametrize(
    ("key", "odd", "told"),
    [
        ("interval", [0.9, 0.1], "interval is a list"), ("chance", "x", "chance is"),
        ("chances", {"acc5": 2}, "acc5 is 2"), ("chance", None, "chance is null"),
    ],
)  # fmt: skip
def test_an_edited_interval_or_level_is_refused(key, odd, told, results, capsys):
    written = json.loads((results / "base.json").read_text())
    written["suites"]["classification"][key] = odd
    (results / "odd.json").write_text(json.dumps(written))
    assert report(results, "odd") == 2
    assert told in capsys.readouterr().err


def test_a_result_of_an_earlier_version_has_no_interval(results):
    written = json.loads((results / "base.json").read_text())
    for key in ("interval", "intervals", "chance", "chances"):
        del written["suites"]["classification"][key]
    (results / "old.json").write_text(json.dumps(written))
    assert report(results, "old", "adapted") == 0
    page = (results / "page.html").read_text(encoding="utf-8")
    assert "with guessing at 2.4 and 12.2 percent" in page  # as the newer result tells


@pytest.mark.parametrize(
    "odd",
    [
        {"n": 0, "right": 0, "instead": None, "times": 0}, {"n": 3, "right": 4, "instead": "dog", "times": 1},
        {"n": 3, "right": 1, "instead": None, "times": 1}, {"n": 3, "right": 1, "instead": "dog", "times": 3},
        {"n": 3, "right": 3, "instead": "dog", "times": 0}, {"n": 3, "right": 1.5, "instead": "dog", "times": 1},
        {"n": 3, "right": 1, "instead": "dog", "times": 0}, [3, 1],
    ],
)  # fmt: skip
def test_an_edited_result_is_refused(odd, results, capsys):
    written = json.loads((results / "base.json").read_text())
    written["suites"]["classification"]["class_answers"]["kind_7 <b>"] = odd
    (results / "odd.json").write_text(json.dumps(written))
    assert report(results, "odd") == 2
    assert "suites.classification.class_answers is" in capsys.readouterr().err


@needs_browser
def test_a_browser_shows_the_classes_within_the_page(results, tmp_path):
    assert report(results, "base", "adapted") == 0
    for width in (1000, 500):
        shown = seen(results / "page.html", tmp_path, width=width)
        assert shown["faults"] == shown["requests"] == [] and not shown["too_wide"]
    assert "1 more class was among the answers" in shown["text"] and "The other 10 of 40 classes" in shown["text"]
