import json
import os

import pytest

from drawn_results import NEGATED, QUESTIONS, choice, record, retrieval
from litotes.data.negbench import KNOWN
from litotes.errors import UserError
from litotes.evaluate import reading
from litotes.evaluate.published import published, published_record
from litotes.evaluate.reading import read_records, read_results
from litotes.evaluate.sections import sections

COUNTS = {"COCO MCQ rephrased": (2032, 1870, 2012), "VOC2007 MCQ rephrased": (682, 2121, 2228)}


@pytest.mark.parametrize("name", published())
def test_a_published_row_agrees_with_itself(name):
    row = published()[name]
    assert row.keys() - {"source"} <= set(KNOWN.values()) and len(row) > 1
    for file, counts in COUNTS.items():
        if file in row:
            right = [row[file][kind] * n for kind, n in zip(("positive", "negative", "hybrid"), counts, strict=True)]
            assert row[file]["total"] == pytest.approx(sum(right) / sum(counts), abs=0.02)
    retrieval = row.get("COCO retrieval negated rephrased")
    if retrieval:
        six = [share for way in ("i2t", "t2i") for share in retrieval[way].values()]
        assert len(six) == 6 and retrieval["rsum"] == pytest.approx(sum(six), abs=0.05)


def test_rows_of_the_paper_and_of_the_benchmark_are_there():
    rows = published()
    assert rows["CLIP B/32"]["COCO MCQ rephrased"]["total"] == 39.40
    assert rows["SmartCLIP L/14 + HANCLIP"]["COCO retrieval negated rephrased"]["rsum"] == 438.51
    assert rows["NegBench: CLIP OpenAI B/32"]["VOC2007 MCQ rephrased"]["total"] == 38.72
    assert sum("HANCLIP" in name for name in rows) == 8


def test_a_published_row_is_laid_out_like_a_measured_one():
    suites = {"a": choice(0.5), "b": retrieval(300.0)}
    row = published_record("CLIP B/32", suites)
    shown = {
        line.label: [cell.text for cell in line.cells] + [line.cells[1].difference]
        for section in sections({"published": row, "own": {"suites": suites}})
        for line in section.rows
    }
    assert shown["Multiple choice, all 5,914"] == ["39.4 %", "50.0 %", "+10.6"]
    assert shown["Retrieval, negated captions: rSum"] == ["326.4", "300.0", "\N{MINUS SIGN}26.4"]
    assert shown["Caption → picture, R@1"][0] == "24.9 %"


def test_other_questions_are_never_compared_with_published_ones():
    suites = {"mine": {**choice(0.5), "split_sha256": "0" * 64}, "b": retrieval(300.0)}
    assert list(published_record("CLIP B/32", suites)["suites"]) == ["b"]
    with pytest.raises(UserError, match="no suite on a file that CLIP B/32") as fault:
        published_record("CLIP B/32", {"mine": suites["mine"]})
    assert "COCO MCQ rephrased" in fault.value.expected
    with pytest.raises(UserError, match="CLIP B/32"):
        published_record("CLIP B/3", suites)


def test_files_become_columns_with_a_base_shown_once(tmp_path):
    base, first, second = record("b", 0.4), record("x", 0.5), record("y", 0.6)
    for name, content in {
        "one": first | {"base": base},
        "two": second | {"base": base},
        "alone": base,
        "run/report": {"models": {"base": base, "adapted": first}},
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    files = {name: tmp_path / f"{name}.json" for name in ("one", "two", "alone", "run/report")}
    assert read_records([files["one"]]) == {"base": base, "adapted": first}
    assert list(read_records([files["alone"]])) == ["alone"]
    assert list(read_records([files["one"], files["two"]])) == ["one: base", "one", "two"]
    assert list(read_records([files["alone"], files["run/report"]])) == ["alone", "run"]
    with pytest.raises(UserError, match="two results named alone"):
        read_records([files["alone"], files["alone"]])


def test_only_equal_results_are_shown_once_and_that_is_told(tmp_path):
    base = record("b", 0.4) | {"activation": "quick_gelu", "wall_s": 1.0}
    edited = json.loads(json.dumps(base))
    edited["suites"]["mcq"]["total"] = 0.9
    others = {
        "again": (base | {"wall_s": 2.0}, "again holds the same figures as first, shown once."),
        "gelu": (base | {"activation": "gelu"}, "but differ in activation."),
        "newer": (base | {"tool_version": "9"}, "but differ in tool_version."),
        "edited": (edited, "first and edited have one fingerprint and the same questions, but differ in figures."),
    }
    (tmp_path / "first.json").write_text(json.dumps(base))
    for name, (content, told) in others.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
        found, (note,) = read_results([tmp_path / "first.json", tmp_path / f"{name}.json"])
        assert list(found) == (["first"] if name == "again" else ["first", name])
        assert note.endswith(told)


def test_of_equal_results_the_one_with_answers_is_taken(tmp_path):
    answers = {"file": "x", "sha256": "y", "model": "base"}
    for name, content in {"a": record("b", 0.4), "in/b": record("b", 0.4) | {"answers": answers}}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = read_results([tmp_path / "a.json", tmp_path / "in/b.json"]).found
    assert (list(found), found["a"].folder) == (["a"], tmp_path / "in")


@pytest.mark.parametrize(
    "content, found",
    [
        ("", "an empty file"),
        ("{", "no JSON from line 1, column 2 on"),
        ("[1]", "a list, no object"),
        ("7", "a single value, no object"),
        (f"[{'1' * 5000}]", "a number of more digits than any here has"),
        ("{}", "suites is not there"),
        ('{"suites": {}}', "suites is an object without anything in it"),
        ('{"suites": {"a": {"split_sha256": "x", "task": "mcq", "n": NaN}}}', "NaN is not JSON"),
        ('{"suites": {"a": {"split_sha256": "x", "task": "other"}}}', 'suites.a.task is "other", a text'),
        ('{"models": [1]}', "models without the record of a model"),
        ('{"models": {"a": 1}}', "a: is 1"),
        ('{"base": [], "suites": {}}', "base: is a list"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_result_is_refused_by_the_name_of_its_file(content, found, tmp_path):
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(UserError, match=found) as fault:
        read_records([tmp_path / "r.json"])
    assert str(tmp_path / "r.json") in fault.value.got


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UserError, match="no file"):
        read_records([tmp_path / "r.json"])
    assert {QUESTIONS, NEGATED} <= KNOWN.keys()


def test_a_folder_and_a_file_without_permission_are_refused(tmp_path):
    (tmp_path / "runs").mkdir()
    with pytest.raises(UserError, match="runs, which is a folder") as fault:
        read_records([tmp_path / "runs"])
    assert str(tmp_path / "runs" / "report.json") in fault.value.do
    locked = tmp_path / "locked.json"
    locked.write_text("{}")
    locked.chmod(0)
    if os.access(locked, os.R_OK):
        pytest.skip("whoever runs this may read everything")
    with pytest.raises(UserError, match="Permission denied"):
        read_records([locked])


def test_a_file_far_larger_than_any_result_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "r.json").write_text(json.dumps(record("x", 0.5)))
    monkeypatch.setattr(reading, "MAX_BYTES", 100)
    with pytest.raises(UserError, match="bytes, where 100 are the most"):
        read_records([tmp_path / "r.json"])


def test_another_version_is_named_where_something_is_missing(tmp_path):
    older = record("x", 0.5) | {"tool_version": "0.0.1"}
    del older["suites"]["mcq"]["chance"]
    (tmp_path / "r.json").write_text(json.dumps(older))
    with pytest.raises(UserError, match=r"suites\.mcq\.chance is not there") as fault:
        read_records([tmp_path / "r.json"])
    assert "the file is of 0.0.1" in fault.value.do
