"""The run over pretraining, adaptation and report goes through on a few generated pictures, and goes on."""

import csv
import importlib.util
import json
from pathlib import Path

import pytest

from painted_stamps import write_stamps

PATH = Path(__file__).parents[2] / "benchmarks" / "stamps.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("stamps", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def data(tmp_path):
    return write_stamps(tmp_path / "stamps")


def test_the_run_ends_with_a_report_and_does_nothing_twice(benchmark, data, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["--data", str(data), "--out", str(out), "--smoke"]
    benchmark.main(command)
    adapted = json.loads((out / "adapted.json").read_text())
    assert set(adapted["suites"]) == {"mcq", "retrieval", "retrieval_neg", "classification"}
    assert (
        adapted["base"]["suites"]["mcq"]["total"]
        == json.loads((out / "base.json").read_text())["suites"]["mcq"]["total"]
    )
    assert adapted["differences"]
    page = (out / "report.html").read_text()
    assert "HANCLIP on stamps" in page
    pretrained_on = {row["filepath"] for row in csv.DictReader((out / "pretraining.csv").open())}
    assert len(pretrained_on & {f"scenes/{i:02}.png" for i in range(30)}) >= 27
    assert not pretrained_on & {f"scenes/{i:02}.png" for i in range(30, 40)}
    first = capsys.readouterr().out
    assert [line.split()[2] for line in first.splitlines() if line.startswith("$ litotes")] == [
        "pretrain", "evaluate", "train", "evaluate", "report",
    ]  # fmt: skip
    benchmark.main(command)
    again = capsys.readouterr().out
    assert [line.split()[2] for line in again.splitlines() if line.startswith("$ litotes")] == ["report"]
    assert "chosen: lr 0.001" in again


def figures(adapted):
    base = {"P' over N": 0.1, "multiple choice": 0.3, "rSum": 40.0, "classification": 0.2}
    keys = ("P' over N", "rSum", "classification")
    return {"base": base, "adapted": {**base, **dict(zip(keys, adapted, strict=True))}}


def test_the_rate_is_that_of_most_order_among_those_that_keep(benchmark):
    runs = {1e-4: figures((0.3, 40, 0.2)), 3e-4: figures((0.5, 36.5, 0.185)), 1e-3: figures((0.9, 36, 0.17))}
    assert benchmark.choose(runs) == 3e-4
    assert benchmark.choose({1e-3: figures((0.9, 20, 0.2)), 1e-4: figures((0.3, 30, 0.2))}) == 1e-4
    assert "| lr 0.001 | 90.0 | 30.0 | 36.0 | 17.0 |" in benchmark.told(runs, 3e-4)
