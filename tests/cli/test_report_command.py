import json
import subprocess
import sys

import pytest
from drawn_table import litotes

from drawn_results import record
from litotes.cli import main
from litotes.evaluate.published import published


@pytest.fixture
def result(tmp_path):
    (tmp_path / "own.json").write_text(json.dumps(record("x", 0.5) | {"base": record("b", 0.4)}))
    return tmp_path / "own.json"


def test_results_stand_beside_published_rows(result, tmp_path, capsys):
    page, rows = tmp_path / "page.html", "CLIP B/32,CLIP B/32 + HANCLIP"
    assert litotes("report", results=result, published=rows, output=page, title="Ours <b>") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "base beside CLIP B/32, published" in shown and "adapted beside CLIP B/32 + HANCLIP, published" in shown
    assert "41.8 % │ 50.0 % │ +8.2" in shown and str(page) in shown.replace(" ", "")
    text = page.read_text()
    assert "Ours &lt;b&gt;" in text and "adapted beside CLIP B/32 + HANCLIP" in text and "350.6" in text
    told = json.loads((tmp_path / "page.json").read_text())
    assert list(told["models"]) == list(told["published"]) == ["base", "adapted"]
    assert told["models"]["adapted"]["suites"]["mcq"]["total"] == 0.5
    assert told["published"]["adapted"]["suites"]["mcq"]["total"] == 0.4183
    assert "may differ from those named under" in told["notes"][-1]
    total = told["published"]["base"]["deviations"]["mcq"][-1]
    assert total == {"label": "Multiple choice, all 5,914", "published": "39.4 %", "own": "40.0 %",
                     "difference": "+0.6", "inside": None}  # fmt: skip


@pytest.mark.parametrize(
    "options, message",
    [
        ({"output": "page.txt"}, "the name of a page"),
        ({"output": "own.html"}, "one of the results"),
        ({"published": "CLIP B/23"}, "CLIP B/32"),
        ({"published": "CLIP B/32,CLIP B/16,CLIP L/14"}, "3 rows for 2 models (base, adapted)"),
        ({"results": ["own.json", "none.json"]}, "no file none.json"),
        ({"results": "own.json,none.json"}, "--results own.json --results none.json"),
        ({"results": ["own.json", "own.json"]}, "two results named own: base"),
    ],
)
def test_what_cannot_be_told_writes_nothing(options, message, result, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = result.read_text()
    assert litotes("report", **{"results": "own.json", **options}) == 2
    assert message in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["own.json"] and result.read_text() == before


def other_questions(path, **suites):
    """A result like that of ``result``, of another model, in some of whose suites other questions were asked."""
    told = record("y", 0.6)
    for name, changes in suites.items():
        told["suites"][name] |= {"split_sha256": "e" * 64, **changes}
    path.write_text(json.dumps(told))
    return path


def test_what_can_be_compared_is_shown_and_what_cannot_is_told_with_the_reason(result, tmp_path, capsys):
    other = other_questions(tmp_path / "other.json", retrieval_neg={"n_images": 4000})
    assert litotes("report", results=[result, other], output=tmp_path / "page.html") == 0
    why = (
        "retrieval_neg: other was asked other questions than own: base (4,000 pictures where own: base has 5,000), so "
        "that its figures are left out here."
    )
    assert why in " ".join(capsys.readouterr().out.split()) and why in (tmp_path / "page.html").read_text()
    told = json.loads((tmp_path / "page.json").read_text())
    assert [note for note in told["notes"] if note.startswith(why)]
    assert {label: list(one["suites"]) for label, one in told["models"].items()} == {
        "own: base": ["mcq", "retrieval_neg"], "own": ["mcq", "retrieval_neg"], "other": ["mcq"],
    }  # fmt: skip
    assert litotes("report", results=tmp_path / "page.json", output=tmp_path / "again.html") == 0


def test_a_model_of_which_nothing_can_be_compared_is_told_and_two_of_nothing_are_refused(result, tmp_path, capsys):
    other = other_questions(tmp_path / "other.json", retrieval_neg={}, mcq={})
    assert litotes("report", results=[result, other], output=tmp_path / "page.html") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "mcq: other was asked other questions than own: base (as many, but others by their hash)" in shown
    assert "note: other is not shown: nothing that it was asked can be compared." in shown
    assert list(json.loads((tmp_path / "page.json").read_text())["models"]) == ["own: base", "own"]
    alone = tmp_path / "alone.json"
    alone.write_text(json.dumps(record("x", 0.5)))
    assert litotes("report", results=[alone, other], output=tmp_path / "none.html") == 2
    assert "suite mcq with other questions for other than for alone" in capsys.readouterr().err
    assert not (tmp_path / "none.html").exists()


def test_published_rows_are_listed_by_the_names_that_report_takes(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    assert main(["report", "published"]) == 0
    shown = capsys.readouterr().out
    assert all(f"│ {name} " in shown and row["source"] in shown for name, row in published().items())
    assert main(["report", "published", "--contains", "hanclip, table"]) == 0
    some = capsys.readouterr().out
    assert "CLIP B/32 + HANCLIP" in some and "COCO MCQ rephrased" in some
    assert some.count("\n") < shown.count("\n")
    assert main(["report", "published", "--contains", "xyz"]) == 2
    assert "which no published row does" in capsys.readouterr().err


def test_the_same_base_twice_and_other_depths_are_told_on_screen_and_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    base, fewer = record("b", 0.4), record("y", 0.6)
    for way in ("i2t", "t2i"):
        fewer["suites"]["retrieval_neg"][way] = {"1": 0.6}
    for name, content in {"one": record("x", 0.5) | {"base": base}, "two": fewer | {"base": base}}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    assert litotes("report", results=["one.json", "two.json"], output="p.html") == 0
    shown, page = " ".join(capsys.readouterr().out.split()), (tmp_path / "p.html").read_text()
    for told in (
        "two: base holds the same figures as one: base, shown once.",
        "two was searched with K = 1 and one: base with K = 1, 5, 10, so that their rSum are sums of other recalls",
    ):
        assert f"{told}" in shown and told in page


def test_a_report_loads_no_model_library(result, tmp_path):
    code = (
        "import sys\n"
        "from litotes.cli import main\n"
        f"code = main(['report', '--results', {str(result)!r}, '--output', {str(tmp_path / 'page.html')!r}])\n"
        "print(code, sorted({'transformers', 'peft', 'accelerate'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"
