import hashlib
import itertools
import json
import re

import numpy as np
import pytest
from evaluate_fakes import FakeEncoder
from PIL import Image

from browser import needs_browser, seen
from litotes.cli import main
from litotes.data.images import ImageFiles
from litotes.evaluate.answers import Answer, write_answers
from litotes.evaluate.charts import interval_bars, random_recall, recall_curves, wrong_choices
from litotes.evaluate.examples import PER_GROUP, examples
from litotes.evaluate.foils import Foils
from litotes.evaluate.negation import MultipleChoice
from litotes.evaluate.results import result_record, write_json
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.sections import sections
from litotes.evaluate.suite import run_suites

N = 24
# true for the base alone, for the adapted model alone, for both, for none
ONLY_BASE, ONLY_ADAPTED, BOTH = range(2), range(2, 9), range(9, 14)


def encoder(right, fingerprint):
    """True options lie towards the pictures where it is right, and off them where it is wrong; false ones between."""
    texts = {f"true {i} <b>": [1.0, 0, 0] if i in right else [0, 0, 1.0] for i in range(N)}
    texts |= {f"false {i}": [1.0, 0, 1.5] for i in range(N)} | {f"caption {i}": [1.0, i / N, 0] for i in range(N)}
    images = {f"pictures/{i}.png": [1.0, (i if fingerprint == "b" else i + i % 3) / N, 0] for i in range(N)}
    return FakeEncoder(images, texts, fingerprint=fingerprint * 64)


def suites(folder):
    files = ImageFiles([f"pictures/{i}.png" for i in range(N)], folder)
    true, false = [f"true {i} <b>" for i in range(N)], [f"false {i}" for i in range(N)]
    types = ["positive" if i % 2 else "negative" for i in range(N)]
    options = [(false[i], true[i]) if i % 3 else (true[i], false[i]) for i in range(N)]
    return [
        MultipleChoice("mcq", files, range(N), options, [int(i % 3 > 0) for i in range(N)], types),
        Foils("valse", files, range(N), true, false, {"all": range(N), "valid": range(9)}),
        Retrieval("retrieval", files, [f"caption {i}" for i in range(N)], range(N), (1, 5)),
    ]


@pytest.fixture
def results(tmp_path):
    """Results of a base and an adapted model in files of their own, with their pictures and answers."""
    (tmp_path / "pictures").mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (N, 300, 400, 3), dtype=np.uint8)
    for i in range(N):
        Image.fromarray(pixels[i]).save(tmp_path / "pictures" / f"{i}.png")
    for name, right in (("first", [*ONLY_BASE, *BOTH]), ("second", [*ONLY_ADAPTED, *BOTH])):
        model, answers = encoder(right, "b" if name == "first" else "a"), {}
        record = result_record(model, run_suites(model, suites(tmp_path), answers), dataset="d")
        path = tmp_path / f"{name}.json"
        told = write_answers(path, {"base": answers}) | {"model": "base", "pictures": dict.fromkeys(answers, ".")}
        write_json(path, record | {"answers": told})
    return tmp_path


def report(folder, *more, results=("first", "second")):
    given = [word for name in results for word in ("--results", str(folder / f"{name}.json"))]
    assert main(["report", *given, "--output", str(folder / "page.html"), *more]) == 0
    return (folder / "page.html").read_text(encoding="utf-8"), json.loads((folder / "page.json").read_text())


def test_two_results_are_compared_question_by_question(results, capsys):
    _, told = report(results)
    total = told["differences"]["second"]["mcq"][0]
    assert (total["path"], total["before"], total["after"]) == (["total"], 7 / N, 12 / N)
    assert (total["only_before"], total["only_after"], total["p"]) == (2, 7, pytest.approx(2 * 46 / 2**9))
    shown = " ".join(capsys.readouterr().out.split())
    assert "Multiple choice, all 24: +20.8 points, which may be chance: 95 % interval" in shown
    assert "about 2 times in 10 (McNemar, p = 0.18)" in shown
    assert told["notes"] == []
    assert "VALSE, all, 24: +20.8 points" in shown
    assert "VALSE, valid, 9: +55.6 points" in shown


def test_a_page_shows_questions_by_a_stated_rule_and_never_more_than_there_are(results):
    page, _ = report(results)
    titles = re.findall(r"<h4>(.*?)</h4>", page)
    assert titles[:3] == [
        "Wrong with first, right with second: 7, 3 of them shown",
        "Right with first, wrong with second: 2",
        "Wrong with both: 10, 3 of them shown",
    ]
    assert "Drawn at random with seed 0 from each kind, not picked." in page
    assert len(re.findall(r'<img src="data:image/jpeg;base64,', page)) == 2 * (3 + 2 + 3)  # mcq and valse
    assert "true 3 &lt;b&gt;" in page or "true 4 &lt;b&gt;" in page
    assert page == report(results)[0]


def answers_of(folder):
    said = {}
    for name, right in (("first", [*ONLY_BASE, *BOTH]), ("second", [*ONLY_ADAPTED, *BOTH])):
        said[name] = {}
        run_suites(encoder(right, "b" if name == "first" else "a"), suites(folder), said[name])
    return said


def test_examples_are_of_their_group_and_bear_the_scores_of_both(results):
    found = examples(answers_of(results), "mcq", results)
    assert [group.total for group in found.groups] == [7, 2, 10]
    numbers = [[int(re.search(r"\d+", e.name).group()) for e in group.shown] for group in found.groups]
    assert set(numbers[0]) < set(ONLY_ADAPTED) and len(set(numbers[0])) == PER_GROUP
    assert sorted(numbers[1]) == list(ONLY_BASE)
    assert numbers[0] != sorted(ONLY_ADAPTED)[:PER_GROUP]  # drawn, not the first ones
    (true,) = (option for option in found.groups[0].shown[0].options if option.true)
    i = int(re.search(r"\d+", found.groups[0].shown[0].name).group())
    assert true.scores == (("0.000", False), (f"{1 / np.hypot(1, (i + i % 3) / N):.3f}", True))
    assert not found.pictures_missing
    assert examples(answers_of(results), "retrieval", results) is None
    alone = examples({"first": answers_of(results)["first"]}, "valse", None)
    assert [(group.title, group.total) for group in alone.groups] == [("Wrong", 17), ("Right", 7)]
    assert alone.pictures_missing


def test_a_picture_that_is_gone_or_changed_is_not_shown(results):
    for i in range(N):
        path = results / "pictures" / f"{i}.png"
        if i % 2:
            path.unlink()
        else:
            Image.new("RGB", (9, 9)).save(path)
    page, _ = report(results)
    assert "<img" not in page
    assert "Pictures that are no longer where they were, or have changed, are not shown." in page
    assert "Wrong with both: 10, 3 of them shown" in page


def test_why_there_is_no_comparison_is_told(results):
    path = results / "second.answers.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]) + "\n")
    _, told = report(results)
    assert told["notes"] == [f"The answers of second cannot be taken: {path}, changed since its result was written."]
    assert "differences" not in told
    record = json.loads((results / "second.json").read_text())
    del record["answers"]
    write_json(results / "second.json", record)
    assert report(results)[1]["notes"] == ["second has no answers to single questions, which litotes evaluate keeps."]
    assert report(results, results=("second",))[1]["notes"] == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"suite": "mcq"', '"suite": "retrieval"', "in retrieval cannot be taken: they answer questions"),
        ('"chosen": 0', '"chosen": "x"', "which is no answer to a question"),
        ('"picture": "', '"painting": "', "which is no answer to a question"),
        ('{"suite"', '"suite"', "line 1, which is no JSON"),
        ('{"suite"', '[{"suite"', "line 1, which is no JSON"),
        ('"base": ', '"other": ', "without answers of base"),
    ],
)  # fmt: skip
def test_answers_that_were_edited_along_with_their_hash_are_told(old, new, told, results):
    path = results / "second.answers.jsonl"
    content = path.read_text().replace(old, new)
    path.write_text(content)
    record = json.loads((results / "second.json").read_text())
    record["answers"]["sha256"] = hashlib.sha256(content.encode()).hexdigest()
    write_json(results / "second.json", record)
    _, found = report(results)
    assert told in " ".join(found["notes"])


def test_answers_to_other_questions_in_one_suite_leave_the_others_compared(results, capsys):
    path = results / "second.json"
    told = json.loads(path.read_text())
    told["suites"]["valse"]["split_sha256"] = "e" * 64
    write_json(path, told)
    page, found = report(results)
    shown = " ".join(capsys.readouterr().out.split())
    assert "valse: second was asked other questions than first (as many, but others by their hash)" in shown
    assert "cannot be taken" not in shown and "not compared" not in shown
    assert set(found["differences"]["second"]) == {"mcq", "retrieval"} and "valse: second was asked" in page


def test_an_edited_result_is_not_compared_by_answers_that_say_otherwise(results):
    record = json.loads((results / "second.json").read_text())
    record["suites"]["mcq"]["total"] = 0.9
    write_json(results / "second.json", record)
    _, told = report(results)
    assert told["notes"] == [
        "second is not compared with first question by question in mcq: the answers give other figures than the "
        "results."
    ]
    assert set(told["differences"]["second"]) == {"valse", "retrieval"}


def test_answers_of_other_depths_are_compared_in_the_shared_ones(results):
    record = json.loads((results / "second.json").read_text())
    for way in ("i2t", "t2i"):
        del record["suites"]["retrieval"][way]["5"]
    write_json(results / "second.json", record)
    page, told = report(results)
    assert [part["path"] for part in told["differences"]["second"]["retrieval"]] == [["i2t", "1"], ["t2i", "1"]]
    assert "rSum: " not in "".join(re.findall(r'<p class="told">(.*?)</p>', page))


def test_charts_show_shares_choices_and_recall(results):
    records = {name: json.loads((results / f"{name}.json").read_text()) for name in ("first", "second")}
    mcq, valse, retrieval = sections(records)
    chart = interval_bars(mcq, records)
    for text in ("Negated (“no N”), 12", "Multiple choice, all 24", "100 %", "var(--model-0)", "var(--model-1)"):
        assert text in chart.svg
    assert "var(--model-2)" not in chart.svg
    assert "guessing at 25" not in chart.alternative and "guessing at 50.0 percent" in chart.alternative
    assert "VALSE, valid, 9" in interval_bars(valse, records).svg
    assert interval_bars(retrieval, records) is None
    said = {name: found["retrieval"] for name, found in answers_of(results).items()}
    i2t, t2i = recall_curves(said, ["first", "second"], (1, 5))
    assert ">5<" in i2t.svg and ">5<" in t2i.svg
    assert recall_curves(said, ["first", "second"], (1,)) == []
    assert i2t.title.startswith("Picture → caption") and t2i.title.startswith("Caption → picture")
    table = wrong_choices(records["second"]["suites"]["mcq"], "second")
    assert table.kinds == ("right", "option 0", "option 1")
    by_type = dict(table.rows)
    right = {"negative": {2, 4, 6, 8, 10, 12}, "positive": {3, 5, 7, 9, 11, 13}}
    for kind, items in right.items():
        wrong = [i for i in range(N) if i not in items and (i % 2 == 1) == (kind == "positive")]
        places = [sum(i % 3 > 0 for i in wrong), sum(i % 3 == 0 for i in wrong)]
        assert [count for count, _ in by_type[kind]] == [len(items), *places]
        assert sum(share for _, share in by_type[kind]) == pytest.approx(1)
    assert wrong_choices({"wrong_by_type": {"positive": {}}}, "m") is None
    assert wrong_choices({}, "m") is None


def test_recall_is_drawn_as_far_as_was_asked_where_everything_stands_first():
    said = [Answer({"picture": name, "way": way}, {"rank": 1}) for name in "abcdef" for way in ("i2t", "t2i")]
    for chart in recall_curves({"m": said}, ["m"], (1, 5)):
        ticks = re.findall(r">(\d+)</text>", chart.svg)
        assert ticks == ["1", "5"]


def test_a_page_of_a_single_k_has_no_chart_of_depths(results):
    for name in ("first", "second"):
        told = json.loads((results / f"{name}.json").read_text())
        for way in ("i2t", "t2i"):
            del told["suites"]["retrieval"][way]["5"]
        write_json(results / f"{name}.json", told)
    page, _ = report(results)
    assert "right item among the first K; thin line" not in page and "rSum of at most 200" in page


def test_names_with_signs_of_a_formula_are_drawn_as_they_are(results):
    record = json.loads((results / "first.json").read_text())
    mcq = record["suites"]["mcq"]
    mcq["$\\frac<b>$"], mcq["n_$\\frac<b>$"] = 0.5, 12
    mcq["intervals"]["$\\frac<b>$"] = [0.3, 0.7]
    (section, *_) = sections({"m": record})
    assert "$\\frac&lt;b&gt;$, 12" in interval_bars(section, {"m": record}).svg


def test_published_figures_stand_as_hollow_bars_and_points(results):
    records = {"first": json.loads((results / "first.json").read_text())}
    mcq, *_ = sections(records)
    own = interval_bars(mcq, records)
    both = interval_bars(mcq, records, {"paper": {"suites": {"mcq": {"total": 0.4, "negative": 0.2}}}})
    assert "hollow" in both.title and "hollow" not in own.title
    assert both.svg.count(">a<") == 2 and ">a<" not in own.svg
    assert both.svg.count("fill: none") == own.svg.count("fill: none") + 2  # it has no figure for the third row
    said = {"first": answers_of(results)["first"]["retrieval"]}
    alone = recall_curves(said, ["first"], (1, 5))[0]
    paper = {way: {"1": 0.5, "2": 0.7} for way in ("i2t", "t2i")}
    beside = recall_curves(said, ["first"], (1, 5), "retrieval", [paper])[0]
    assert "hollow" in beside.title and beside.svg.count("<use") >= alone.svg.count("<use") + 2


def test_a_random_order_finds_the_right_item_as_often_as_all_orders_together():
    owners = ["a", "a", "b", "c", "c", "c"]
    said = [Answer({"picture": name, "way": "t2i"}, {"rank": 1}) for name in owners]
    said += [Answer({"picture": name, "way": "i2t"}, {"rank": 1}) for name in "abc"]
    for k in range(1, 7):
        drawn = list(itertools.combinations(owners, k))
        by_hand = np.mean([[name in some for some in drawn] for name in "abc"])
        assert random_recall(said, "i2t", np.arange(1, 7))[k - 1] == pytest.approx(by_hand)
    assert random_recall(said, "t2i", np.arange(1, 5)) == pytest.approx([1 / 3, 2 / 3, 1, 1])


@needs_browser
def test_a_browser_shows_the_page_whole_and_loads_nothing(results, tmp_path):
    report(results)
    wide = seen(results / "page.html", tmp_path)
    assert wide["faults"] == wide["requests"] == []
    assert wide["pictures"] == 16
    for text in (
        "Multiple choice on negation", "which may be chance", "Shares with their 95 % intervals",
        "What was chosen", "Wrong with both: 10, 3 of them shown", "true", "<b>", "Where the figures come from",
        "Caption → picture: right item among the first K", "Negated (“no N”), 12",
    ):  # fmt: skip
        assert text in wide["text"]
    narrow = seen(results / "page.html", tmp_path, width=500)
    assert not wide["too_wide"] and not narrow["too_wide"]
    assert narrow["faults"] == []


@needs_browser
def test_the_browser_tells_what_a_page_must_not_do(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        "<html><head><title>t</title></head><body style='width: 3000px'><p>text</p>"
        "<img src='https://example.invalid/x.png'><script>boom()</script></body></html>"
    )
    found = seen(page, tmp_path)
    assert any("example.invalid" in fault for fault in found["faults"])
    assert any("boom is not defined" in fault for fault in found["faults"])
    assert (found["too_wide"], found["pictures"], found["text"].strip()) == (True, 0, "text")
