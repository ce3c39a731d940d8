import io
import json
import math

import pytest
from rich.console import Console

from drawn_results import record
from litotes.cli import main
from litotes.errors import UserError
from litotes.evaluate.charts import interval_bars, wrong_choices
from litotes.evaluate.checking import fault_in
from litotes.evaluate.reading import read_records
from litotes.evaluate.sections import sections
from litotes.evaluate.table import figures_table


def whole():
    own = record("b", 0.5)
    own["suites"]["mcq"] |= {
        "interval": [0.4, 0.6], "intervals": {"positive": [0.4, 0.6]}, "wrong_by_type": {"positive": {"hybrid": 1016}},
        "controls": {"another_picture": 0.25, "no_picture": None},
    }  # fmt: skip
    own["suites"]["retrieval_neg"]["gap"] = {"i2t": {"1": -0.1}, "t2i": {"1": -0.1}, "rsum": -9.0}
    own["left_out"] = {"of": 9, "missing": ["a"], "broken": [], "rows": {"mcq": 1}}
    return json.loads(json.dumps(own | {"n_skipped": 1, "model_notes": []}))


def changed(path, value):
    own = whole()
    *above, last = path
    inner = own
    for key in above:
        inner = inner[key]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return own


MCQ, NEG = ("suites", "mcq"), ("suites", "retrieval_neg")
FAULTS = [
    (("suites",), ..., "suites is not there", "at least one suite"),
    (("suites",), {}, "suites is an object without anything in it", "at least one suite"),
    (("suites",), [1], "suites is a list", "at least one suite"),
    (MCQ, "x", 'suites.mcq is "x", a text', "an object"),
    ((*MCQ, "task"), ..., "suites.mcq.task is not there", "one of mcq"),
    ((*MCQ, "task"), "riddle", 'suites.mcq.task is "riddle", a text', "one of mcq"),
    ((*MCQ, "task"), ["mcq"], "suites.mcq.task is a list", "one of mcq"),
    ((*MCQ, "split_sha256"), ..., "suites.mcq.split_sha256 is not there", "a text"),
    ((*MCQ, "split_sha256"), 7, "suites.mcq.split_sha256 is 7", "a text"),
    ((*MCQ, "total"), ..., "suites.mcq.total is not there", "a share from 0 to 1"),
    ((*MCQ, "total"), 1.01, "suites.mcq.total is 1.01", "a share from 0 to 1"),
    ((*MCQ, "total"), -0.01, "suites.mcq.total is -0.01", "a share from 0 to 1"),
    ((*MCQ, "total"), "0.5", 'suites.mcq.total is "0.5", a text', "a share from 0 to 1"),
    ((*MCQ, "total"), True, "suites.mcq.total is true", "a share from 0 to 1"),
    ((*MCQ, "negative"), 40, "suites.mcq.negative is 40", "a share from 0 to 1"),
    ((*MCQ, "n"), 0, "suites.mcq.n is 0", "a whole number from 1 on"),
    ((*MCQ, "n_hybrid"), -1, "suites.mcq.n_hybrid is -1", "a whole number from 0 on"),
    ((*MCQ, "n_hybrid"), 2.5, "suites.mcq.n_hybrid is 2.5", "a whole number from 0 on"),
    ((*MCQ, "n_hybrid"), "12", 'suites.mcq.n_hybrid is "12", a text', "a whole number from 0 on"),
    ((*MCQ, "ties"), -3, "suites.mcq.ties is -3", "a whole number from 0 on"),
    ((*MCQ, "chance"), None, "suites.mcq.chance is null", "a share from 0 to 1"),
    ((*MCQ, "interval"), [0.6, 0.4], "suites.mcq.interval is a list", "the two ends of an interval"),
    ((*MCQ, "intervals", "positive"), "x", 'suites.mcq.intervals.positive is "x", a text', "the two ends"),
    ((*MCQ, "controls", "no_picture"), 2, "suites.mcq.controls.no_picture is 2", "a share"),
    ((*MCQ, "wrong_by_type"), 3, "suites.mcq.wrong_by_type is 3", "an object of counts"),
    ((*MCQ, "wrong_by_type", "positive"), {"hybrid": 2033}, "positive counts 2033", "no more than 2032"),
    ((*MCQ, "wrong_by_type", "odd"), {"hybrid": 1}, "suites.mcq.n_odd is not there", "from 1 on"),
    ((*NEG, "negated"), "no", 'suites.retrieval_neg.negated is "no", a text', "true or false"),
    ((*NEG, "i2t"), [], "suites.retrieval_neg.i2t is a list without anything in it", "by K"),
    ((*NEG, "i2t"), {"first": 0.1}, "suites.retrieval_neg.i2t is an object", "by K"),
    ((*NEG, "t2i", "5"), 1.5, "suites.retrieval_neg.t2i.5 is 1.5", "a share"),
    ((*NEG, "ties"), 3, "suites.retrieval_neg.ties is 3", "i2t and t2i"),
    ((*NEG, "ties"), {"up": 3}, "suites.retrieval_neg.ties is an object", "i2t and t2i"),
    ((*NEG, "rsum"), -1, "suites.retrieval_neg.rsum is -1", "a number from 0 on"),
    ((*NEG, "gap", "i2t", "1"), 1.2, "suites.retrieval_neg.gap.i2t.1 is 1.2", "from -1 to 1"),
    ((*NEG, "gap", "rsum"), ..., "suites.retrieval_neg.gap.rsum is not there", "a number"),
    (("n_skipped",), -2, "n_skipped is -2", "a whole number"),
    (("left_out",), "none", 'left_out is "none", a text', "an object"),
    (("left_out", "broken"), ["a.png"], "left_out.broken is a list", "each with its reason"),
    (("left_out", "rows", "mcq"), "all", 'left_out.rows.mcq is "all", a text', "a whole number"),
    (("answers",), "file", 'answers is "file", a text', "an object"),
    (("answers",), {"file": "x"}, "answers.sha256 is not there", "a text"),
]


@pytest.mark.parametrize(("path", "value", "found", "expected"), FAULTS)
def test_what_is_wrong_is_told_by_its_place(path, value, found, expected, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(changed(path, value)))
    with pytest.raises(UserError) as fault:
        read_records([tmp_path / "r.json"])
    assert found in fault.value.got and str(tmp_path / "r.json") in fault.value.got
    assert expected in fault.value.expected
    assert "Error" not in str(fault.value)


def test_a_whole_result_has_no_fault():
    assert fault_in(whole()) is None
    assert fault_in(record("x", 0.0)) is None
    assert fault_in(changed((*MCQ, "hybrid"), None)) is None
    assert fault_in([]).expected == "an object with the results of a model"


def test_what_has_no_items_has_no_share_and_that_is_no_fault():
    foils = {
        "task": "foils", "split_sha256": "s", "chance": 0.5, "count": {"a": 3, "b": 0}, "ties": {"a": 0, "b": 0},
        "accuracy": {"a": 0.5, "b": None}, "averages": {}, "if_ties_won": {"a": 0.5, "b": None},
    }  # fmt: skip
    assert fault_in({"suites": {"valse": foils}}) is None
    assert fault_in({"suites": {"valse": foils | {"ties": None}}}) is None
    found = fault_in({"suites": {"valse": foils | {"count": {"a": -3}}}})
    assert found.where == "suites.valse.count.a"


def places(value, path=()):
    """Every place in a record."""
    for key, inner in value.items():
        yield (*path, key)
        if isinstance(inner, dict):
            yield from places(inner, (*path, key))


@pytest.mark.parametrize("value", [None, 0, -1, 1e300, "x", [], {"x": {}}, True, 10**400, ...])
def test_whatever_stands_anywhere_is_refused_or_shown(value):
    shown = 0
    for path in places(whole()):
        own = changed(path, value)
        if fault_in(own) is None:
            records = {"m": own}
            Console(file=io.StringIO()).print(figures_table(records, "t"))
            if path[:2] == MCQ and value in (None, 0):
                interval_bars(sections(records)[0], records)
                wrong_choices(own["suites"]["mcq"], "m")
            shown += 1
    assert 0 < shown < len(list(places(whole())))


def test_what_a_name_brings_along_neither_steers_a_terminal_nor_runs_in_a_page(tmp_path, capsys):
    own, bad = whole(), "\x1b[2J<script>boom()</script>\u202e\ud800"
    own["model"] = bad
    own["suites"]["mcq"]["wrong_by_type"]["positive"] = {bad: 7}
    own["suites"][f"mcq {bad}"] = own["suites"].pop("mcq")
    own["left_out"]["missing"] = [bad]
    (tmp_path / "r.json").write_text(json.dumps({"models": {bad: own, "other": own}}))
    assert main(["report", "--results", str(tmp_path / "r.json"), "--output", str(tmp_path / "p.html")]) == 0
    shown, page = capsys.readouterr().out, (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "\x1b" not in shown and "\u202e" not in shown
    assert "<script" not in page and "&lt;script&gt;boom()" in page
    assert page.count("\N{REPLACEMENT CHARACTER}[2J") > 3


def test_numbers_that_are_none_are_refused(tmp_path):
    for number in ("NaN", "Infinity", "1e999"):
        text = json.dumps(whole()).replace('"total": 0.5', f'"total": {number}')
        assert number in text and not math.isfinite(float(number))
        (tmp_path / "r.json").write_text(text)
        with pytest.raises(UserError) as fault:
            read_records([tmp_path / "r.json"])
        assert str(tmp_path / "r.json") in fault.value.got
