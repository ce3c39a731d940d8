"""``litotes report base-novel``: results by data set and seed in, a table and its figures out."""

import json

import pytest
from drawn_table import litotes


def result(path, classes, acc1, adapter):
    suite = {
        "task": "zeroshot_classification", "split_sha256": "-".join(classes), "n_images": 7, "acc1": acc1, "acc5": None,
        "mean_per_class_recall": acc1, "per_class": dict.fromkeys(classes, acc1), "n_classes": len(classes),
    }  # fmt: skip
    told = {"model": "m", "fingerprint": "f", "pair_adapter": {"weights_sha256": adapter}}
    path.write_text(json.dumps(told | {"suites": {"classification": suite}}))
    return path.name


@pytest.fixture
def runs(tmp_path):
    figures = {("air", 1): (1 / 3, 2 / 7), ("air", 2): (3 / 7, 3 / 7), ("pets", 1): (6 / 7, 1.0)}
    lines = ["dataset,seed,base,novel"]
    for (dataset, seed), (base, novel) in figures.items():
        names = (
            result(tmp_path / f"{dataset}-{seed}-{group}.json", classes, acc1, f"{dataset}{seed}")
            for group, classes, acc1 in (("base", ("a", "b"), base), ("novel", ("c", "d"), novel))
        )
        lines.append(",".join((dataset, str(seed), *names)))
    (tmp_path / "runs.csv").write_text("\n".join(lines))
    return tmp_path / "runs.csv"


def test_the_table_is_rounded_and_the_file_is_not(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert litotes("report base-novel", runs=runs, output=tmp_path / "sum.json") == 0
    shown = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines() if line.startswith("│")]
    assert rows == [
        ["air", "38.10 ± 6.73", "35.71 ± 10.10", "36.87 ± 8.55"],
        ["pets", "85.71", "100.00", "92.31"],
        ["average, H of means", "61.90", "67.86", "64.74"],
        ["average, mean of H", "61.90", "67.86", "64.59"],
    ]
    assert "note: fewer than three runs, the usual number: air 2, pets 1" in shown
    told = json.loads((tmp_path / "sum.json").read_text())
    found = told["models"]["adapted"]
    assert found["datasets"]["air"]["base"]["mean"] == (1 / 3 + 3 / 7) / 2
    assert found["average"]["base"] == pytest.approx(((1 / 3 + 3 / 7) / 2 + 6 / 7) / 2, abs=1e-15)
    assert found["datasets"]["pets"]["base"]["sd"] is None
    assert told["runs"][1]["acc1"]["adapted"] == {"base": 3 / 7, "novel": 3 / 7}
    assert told["runs"][1]["base"]["file"] == "air-2-base.json" and told["runs"][1]["seed"] == "2"


def test_nothing_is_written_where_it_cannot_be_summed_or_over_an_input(runs, tmp_path, capsys):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for options, told in (
        ({"output": runs}, "which is one of the inputs"),
        ({"output": tmp_path / "air-1-base.json"}, "which is one of the inputs"),
        ({"output": tmp_path}, "a folder"),
        ({"runs": tmp_path / "none.csv"}, "none.csv"),
    ):
        assert litotes("report base-novel", **{"runs": runs, "output": tmp_path / "new.json", **options}) == 2
        assert told in " ".join(capsys.readouterr().err.split())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
