"""Models of which different suites were asked: what stands side by side is not called compared."""

import re

import pytest

from drawn_results import choice, record, retrieval
from litotes.cli import main
from litotes.evaluate.class_page import class_tables
from litotes.evaluate.results import write_json
from litotes.evaluate.sections import comparable, shared_suites

TOLD = "No suite was asked of both cls and r3: nothing is compared, each stands for itself."


def classes(cat=3):
    told = {"cat": {"n": 4, "right": cat, "instead": "dog" if cat < 4 else None, "times": 4 - cat},
            "dog": {"n": 4, "right": 2, "instead": "cat", "times": 2}}  # fmt: skip
    share = (cat + 2) / 8
    return {
        "task": "zeroshot_classification", "split_sha256": "c", "n_images": 8, "n_classes": 2, "acc1": share,
        "acc5": None, "mean_per_class_recall": share, "class_answers": told, "chance": 0.5,
    }  # fmt: skip


def model(name, **suites):
    return record(name[0], 0.5) | {"model": name, "suites": suites}


CLS = model("cls", classification=classes())
R3 = model("r3", retrieval_neg=retrieval(300.0))


def report(folder, capsys, **records):
    given = []
    for label, one in records.items():
        write_json(folder / f"{label}.json", one)
        given += ["--results", str(folder / f"{label}.json")]
    assert main(["report", *given, "--output", str(folder / "page.html")]) == 0
    return (folder / "page.html").read_text(encoding="utf-8"), " ".join(capsys.readouterr().out.split())


def columns(page):
    return len(re.findall(r'<th scope="col" class="change">difference</th>', page))


@pytest.mark.parametrize("turned", [False, True])
def test_models_that_share_no_suite_stand_for_themselves(turned, tmp_path, capsys):
    records = {"r3": R3, "cls": CLS} if turned else {"cls": CLS, "r3": R3}
    page, shown = report(tmp_path, capsys, **records)
    told = TOLD if not turned else TOLD.replace("cls and r3", "r3 and cls")
    assert f'<p class="missing">{told}</p>' in page and f"note: {told}" in shown
    assert "asked the same questions" not in page and "Differences are taken" not in page
    assert columns(page) == 0 and "difference" not in shown
    assert "The classes that cls knows least stand first" in page
    assert "50.0 %" in page and "62.5 %" in page and "300.0" in page


def test_models_that_share_some_suites_are_compared_in_these(tmp_path, capsys):
    both = model("both", classification=classes(1), mcq=choice(0.5))
    page, shown = report(tmp_path, capsys, cls=CLS, both=both)
    assert "Where several models have a figure, they were asked the same questions" in page
    assert "Each model was asked" not in page and "nothing is compared" not in page
    assert columns(page) == 2  # the figures of the suite that both have, and its classes
    assert "−25.0" in page and "difference" in shown


def test_models_of_equal_suites_were_asked_the_same(tmp_path, capsys):
    page, _ = report(tmp_path, capsys, cls=CLS, other=model("other", classification=classes(1)))
    assert "Each model was asked the same questions" in page
    assert "The classes that other knows least" in page


def test_others_than_the_first_are_not_compared_with_each_other():
    records = {"r3": R3, "cls": CLS, "other": model("other", classification=classes(1))}
    assert shared_suites(records) == []
    assert comparable(records).notes == [
        "No suite that was asked of r3 was asked of another model: nothing is compared, since that would be done with "
        "the first one given."
    ]
    table = class_tables(records)["classification"]
    assert (table.last, table.compared, table.told) == ("other", (False, False, False), ())
    assert [row.name for row in table.worst] == ["cat", "dog"]  # 1 and 2 of 4 right with the last one
    assert [cell.difference for cell in table.worst[0].cells[1:]] == ["", ""]
    turned = class_tables(dict(reversed(records.items())))["classification"]
    assert (turned.last, turned.compared) == ("cls", (False, True, False))
    assert turned.worst[1].cells[1].difference == "+50.0"
    assert comparable({"cls": CLS}).notes == []
