import io
import json
import re

import pytest
from markupsafe import Markup
from rich.console import Console

from drawn_results import QUESTIONS
from litotes.errors import UserError
from litotes.evaluate.compare import Difference
from litotes.evaluate.plots import Curve
from litotes.evaluate.report import Adaptation, write_comparison_report
from litotes.evaluate.sections import other_depths, sections
from litotes.evaluate.table import figures_table


def mcq(total, **changes):
    return {
        "task": "mcq", "total": total, "positive": 0.862, "n_positive": 600, "negative": 0.003, "n_negative": 400,
        "hybrid": None, "n_hybrid": 0, "n": 1000, "ties": 0, "chance": 0.25, "split_sha256": "m", **changes,
    }  # fmt: skip


def retrieval(rsum, negated=False):
    recall = {"1": rsum / 600, "5": rsum / 600, "10": rsum / 600}
    return {
        "task": "zeroshot_retrieval", "negated": negated, "i2t": recall, "t2i": recall, "rsum": rsum, "n_images": 100,
        "n_texts": 200, "split_sha256": "r",
    }  # fmt: skip


def geometry(radius):
    kinds = ("image", "positive", "negated_positive", "negative")
    return {
        "task": "geometry", "radius": dict.fromkeys(kinds, 2.0), "radius_raw": dict.fromkeys(kinds, radius),
        "angles": {"at_negative": 12.34, "at_negated_positive": None}, "norm": "unit", "curvature": 0.1, "n": 50,
        "split_sha256": "g",
    }  # fmt: skip


def record(**suites):
    return {
        "model": "tiny <b>",
        "adapter": None,
        "fingerprint": "f" * 64,
        "preprocessing": {"size": 32},
        "suites": suites,
    }


BASE = record(mcq=mcq(0.342), retrieval=retrieval(329.7), geometry=geometry(25.7))
ADAPTED = record(mcq=mcq(0.8357, negative=0.7), retrieval=retrieval(316.94), geometry=geometry(28.6))


def rows(records, title):
    section = next(section for section in sections(records) if section.title == title)
    return {row.label: row.cells for row in section.rows}


def test_percent_has_one_decimal_and_differences_a_sign():
    cells = rows({"base": BASE, "adapted": ADAPTED}, "Multiple choice on negation")["Multiple choice, all 1,000"]
    assert [cell.text for cell in cells] == ["34.2 %", "83.6 %"]
    assert [cell.difference for cell in cells] == ["", "+49.4"]
    assert [cell.verdict for cell in cells] == ["", "better"]
    assert cells[1].bar == pytest.approx(0.8357)
    cells = rows({"base": BASE, "adapted": ADAPTED}, "Retrieval")["Retrieval, plain captions: rSum"]
    assert [(cell.text, cell.difference, cell.verdict) for cell in cells] == [
        ("329.7", "", ""), ("316.9", "\N{MINUS SIGN}12.8", "unsure")
    ]  # fmt: skip


def test_a_change_that_rounds_to_nothing_is_neither_better_nor_worse():
    cells = rows({"a": BASE, "b": record(mcq=mcq(0.34204))}, "Multiple choice on negation")[
        "Multiple choice, all 1,000"
    ]
    assert (cells[1].difference, cells[1].verdict) == ("±0.0", "same")


def test_without_answers_a_share_is_marked_only_beyond_chance():
    # Of 149 pictures, 60.4 and 71.0 % are 1.94 standard deviations apart, 60.4 and 72.0 % 2.13.
    def classification(acc1):
        return {
            "task": "zeroshot_classification", "acc1": acc1, "acc5": acc1, "mean_per_class_recall": acc1,
            "n_images": 149, "split_sha256": "c",
        }  # fmt: skip

    for share, verdict in ((0.71, "unsure"), (0.72, "better")):
        records = {"a": record(c=classification(0.604)), "b": record(c=classification(share))}
        found = [row.cells[1].verdict for row in sections(records)[0].rows]
        assert found == [verdict, verdict, "unsure"]


def test_where_answers_are_a_row_without_an_interval_has_no_verdict():
    sides = [
        record(c={"task": "zeroshot_classification", "acc1": share, "acc5": share, "mean_per_class_recall": share,
                  "n_images": 1000})
        for share in (0.2, 0.9)
    ]  # fmt: skip
    compared = {"b": {"c": [Difference(("acc1",), 1000, 0.2, 0.9, 0.6, 0.8)]}}
    found = [
        (row.cells[1].verdict, row.cells[1].reach) for row in sections({"a": sides[0], "b": sides[1]}, compared)[0].rows
    ]
    assert found == [("better", "+60.0 to +80.0"), ("unsure", ""), ("unsure", "")]


def test_rsum_of_other_recalls_has_no_difference_and_all_recalls_a_row():
    few, many = retrieval(45.0), retrieval(166.0)
    few["i2t"] = few["t2i"] = {"1": 0.225}
    few["gap"] = {"i2t": {"1": -0.1}, "t2i": {"1": -0.1}, "rsum": -20.0}
    many["gap"] = {**dict.fromkeys(("i2t", "t2i"), dict.fromkeys(("1", "5", "10"), 0.0)), "rsum": 0.0}
    records = {"few": record(r=few), "many": record(r=many)}
    compared = {"many": {"r": [Difference(("rsum",), 9, 45, 45, 0, 0), Difference(("i2t", "5"), 9, 0.1, 0.2, 0, 0)]}}
    cells = {row.label: row.cells for row in sections(records, compared)[0].rows}
    assert [cell.bar for cell in cells["Retrieval, plain captions: rSum"]] == pytest.approx([45 / 200, 166 / 600])
    for label in ("Retrieval, plain captions: rSum", "Gap to plain captions: rSum", "Picture → caption, R@5"):
        assert (cells[label][1].difference, cells[label][1].reach, cells[label][1].verdict) == ("", "", "")
    assert cells["Picture → caption, R@1"][1].difference == "+5.2"
    assert [label for label in cells if label.startswith("Caption")] == [
        f"Caption → picture, R@{k}" for k in (1, 5, 10)
    ]
    assert [cell.text for cell in cells["Caption → picture, R@10"]] == ["–", "27.7 %"]
    assert other_depths(records) == [
        "r: many was searched with K = 1, 5, 10 and few with K = 1, so that their rSum are sums of other recalls, "
        "of at most 600 and 200, and are not compared."
    ]
    assert other_depths({"a": records["few"], "b": records["few"]}) == []


def test_the_bar_of_rsum_ends_at_its_maximum_which_is_told_where_it_is_not_600():
    def of_one_k(share):
        only = {"1": share}
        return record(r={**retrieval(200 * share), "i2t": only, "t2i": only})

    cells = rows({"a": of_one_k(1.0), "b": of_one_k(0.25)}, "Retrieval: r")
    assert [cell.bar for cell in cells["Retrieval, plain captions: rSum of at most 200"]] == [1.0, 0.25]
    three = rows({"a": record(r=retrieval(600.0))}, "Retrieval: r")
    assert three["Retrieval, plain captions: rSum"][0].bar == 1.0
    # a model without the suite, or without the sum, has no part in it
    assert "Retrieval, plain captions: rSum of at most 200" in rows({"a": BASE, "b": of_one_k(1.0)}, "Retrieval: r")
    without = of_one_k(1.0)
    del without["suites"]["r"]["rsum"]
    assert "Retrieval, plain captions: rSum" in rows({"a": record(r=retrieval(600.0)), "b": without}, "Retrieval: r")


def test_the_bar_of_rsum_by_coco_judges_is_of_its_own_depths():
    recalls = {way: {"1": 0.5, "5": 0.5} for way in ("i2t", "t2i")}
    graded = {way: {"map_at_r": 0.1, "r_precision": 0.1, "r1": 0.1} for way in ("i2t", "t2i")}
    result = {"task": "judged_retrieval", "n_images": 5000, "n_texts": 25_000, "rsum": 200.0, "eccv": graded,
              **dict.fromkeys(("coco_5k", "coco_1k", "cxc"), recalls)}  # fmt: skip
    cells = rows({"a": record(coco=result)}, "Retrieval by COCO's judges")
    assert cells["COCO 1K: rSum of at most 400"][0].bar == 0.5


def test_a_type_without_questions_has_no_row():
    labels = list(rows({"base": BASE}, "Multiple choice on negation"))
    assert labels == ["Affirmed (“A and B”), 600", "Negated (“no N”), 400", "Multiple choice, all 1,000"]


def test_geometry_is_not_judged():
    cells = rows({"base": BASE, "adapted": ADAPTED}, "Geometry")
    raw = cells["Radius of negative N, as encoded"]
    assert [(cell.text, cell.difference, cell.verdict) for cell in raw] == [("25.70", "", ""), ("28.60", "+2.90", "")]
    assert raw[0].bar == pytest.approx(25.7 / 28.6)
    assert [cell.text for cell in cells["Angle at N, between P and P′"]] == ["12.3°", "12.3°"]
    assert [cell.text for cell in cells["Angle at P′, between N and P"]] == ["–", "–"]


def test_a_suite_that_one_model_lacks_is_a_dash():
    cells = rows({"base": record(mcq=mcq(0.3)), "adapted": ADAPTED}, "Retrieval")["Retrieval, plain captions: rSum"]
    assert [(cell.text, cell.difference) for cell in cells] == [("–", ""), ("316.9", "")]


def test_a_second_suite_of_a_task_is_told_apart_by_its_name():
    both = record(mcq=mcq(0.3), mcq_held_out=mcq(0.4))
    assert [s.title for s in sections({"base": both})] == [
        "Multiple choice on negation", "Multiple choice on negation: mcq_held_out"
    ]  # fmt: skip


def test_the_page_is_self_contained_and_escapes_what_it_shows(tmp_path):
    page, data = tmp_path / "out" / "report.html", tmp_path / "out" / "report.json"
    write_comparison_report(page, data, {"base": BASE, "<i>adapted</i>": ADAPTED})
    html = page.read_text(encoding="utf-8")
    assert "<i>adapted" not in html
    assert "tiny &lt;b&gt;" in html
    assert not re.search(r"(?:src|href)=|@import|url\(", html)
    assert "▲ +49.4" in html
    assert "\N{MINUS SIGN}12.8" in html and "▼ \N{MINUS SIGN}12.8" not in html
    assert "a share of questions must differ by more than 1.96 standard deviations" in " ".join(html.split())
    assert "NaN" not in html
    assert set(json.loads(data.read_text())["models"]) == {"base", "<i>adapted</i>"}


def test_the_page_tells_how_the_model_was_adapted(tmp_path):
    curve = Curve("HCO", "1.250", Markup("<svg></svg>"))
    told = Adaptation(("From 3.0 % <b>",), (("Recipe", "hanclip: a & b"), ("Steps", "12")), (curve,))
    records = {"base": BASE, "adapted": ADAPTED}
    write_comparison_report(tmp_path / "r.html", tmp_path / "r.json", records, adaptation=told)
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "From <b>3.0 %</b> &lt;b&gt;" in html
    assert '<th scope="row">Recipe</th><td>hanclip: a &amp; b</td>' in html
    assert "HCO <span>1.250</span>" in html
    assert "<svg></svg>" in html
    found = json.loads((tmp_path / "r.json").read_text())["adaptation"]
    assert found == {"outcome": ["From 3.0 % <b>"], "Recipe": "hanclip: a & b", "Steps": "12"}


def test_what_all_models_share_stands_once(tmp_path):
    records = {"base": BASE, "adapted": {**ADAPTED, "fingerprint": "e" * 64}}
    write_comparison_report(tmp_path / "r.html", tmp_path / "r.json", records)
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert html.count("size: 32") == html.count("tiny &lt;b&gt;") == 1
    assert f"<td>{'f' * 64}</td><td>{'e' * 64}</td>" in html


def test_the_decisive_orders_stand_as_on_the_demos_page():
    pairs = {"task": "pairs", "n": 3, "split_sha256": "p", "ties": {"hybrid_absent_over_present": 0, "odd": 0}}
    shares = {"hybrid_absent_over_present": 0.5, "absence_absent_over_present": 0.5, "odd": 0.5}
    pairs["ties"]["absence_absent_over_present"] = 0
    labels = list(rows({"base": record(pairs={**pairs, **shares})}, "True over false"))
    assert labels == ["“no <absent>” above “no <present>”", "“A but not <absent>” above “A but not <present>”", "odd"]


def test_one_model_alone_has_no_differences(tmp_path):
    write_comparison_report(tmp_path / "r.html", tmp_path / "r.json", {"base": BASE})
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "difference</th>" not in html
    assert "34.2 %" in html


LEFT_OUT = {"of": 40, "missing": ["a.png"], "broken": [], "rows": {"mcq": 12, "retrieval": 0}}


def test_what_is_left_out_stands_beside_the_figures_that_it_is_left_out_of(tmp_path):
    base = {**BASE, "left_out": LEFT_OUT, "n_skipped": 1}
    told = "12 of its rows are left out, since their pictures are missing or broken."
    records = {"base": base, "adapted": {**ADAPTED, "left_out": LEFT_OUT}}
    found = {section.suite: section.left_out for section in sections(records)}
    assert found == {"mcq": (told,), "retrieval": (), "geometry": ()}
    assert sections({"base": base, "adapted": ADAPTED})[0].left_out == (f"base: {told}",)
    trained = {**BASE, "left_out": {**LEFT_OUT, "rows": {"train_data": 5}}}
    assert sections({"base": trained})[1].left_out == (
        "5 rows of the training table, of which this is a part, are left out, since their pictures are missing or "
        "broken.",
    )
    one = {**BASE, "left_out": {**LEFT_OUT, "rows": {"mcq": 1, "train_data": 1}}}
    assert [section.left_out for section in sections({"base": one})[:2]] == [
        ("1 of its rows is left out, since its picture is missing or broken.",),
        ("1 row of the training table, of which this is a part, is left out, since its picture is missing or broken.",),
    ]
    write_comparison_report(tmp_path / "r.html", tmp_path / "r.json", records)
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert html.count(f'<p class="without">{told}</p>') == 2  # with the headline figure, and above the table
    screen = Console(file=io.StringIO(), width=120)
    screen.print(figures_table(records, "t"))
    assert told in " ".join(screen.file.getvalue().replace("│", " ").split())


def test_a_section_says_which_questions_it_is_of():
    own = record(mcq=mcq(0.3, split_sha256=QUESTIONS), other=mcq(0.3, split_sha256="a" * 64, file="yours"), no=mcq(0.3))
    assert [section.source for section in sections({"m": own})] == [
        "Questions: published file: COCO MCQ rephrased; SHA-256 3824ba420aee…",
        "Questions: no published file; SHA-256 aaaaaaaaaaaa…",
        "",
    ]


def test_names_are_printed_as_they_are():
    screen = Console(file=io.StringIO(), width=120)
    odd = mcq(0.5, **{"n_[/b]": 7, "[/b]": 0.5})
    screen.print(figures_table({"[red]a": record(mcq=odd), "[/]": record(mcq=odd)}, "[bold] title"))
    shown = screen.file.getvalue()
    assert all(name in shown for name in ("[bold] title", "[red]a", "[/]", "[/b], 7"))


def test_other_questions_cannot_be_compared(tmp_path):
    other = record(mcq=mcq(0.3, split_sha256="other"))
    with pytest.raises(UserError, match="suite mcq with other questions for b than for a"):
        write_comparison_report(tmp_path / "r.html", tmp_path / "r.json", {"a": BASE, "b": other})
    with pytest.raises(UserError, match="no model"):
        write_comparison_report(tmp_path / "r.html", tmp_path / "r.json", {})
    assert not list(tmp_path.iterdir())
