"""The benchmark runs and goes on; what it measures is not judged here."""

import importlib.util
import json
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "vacsr_world.py"
ROWS = ["vacsr", "k3"]


@pytest.fixture
def benchmark():
    spec = importlib.util.spec_from_file_location("vacsr_world", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rows_are_trained_once_and_shown_as_markdown(benchmark, tmp_path, capsys):
    asked = ["--noise", "0.2", "--seeds", "0", "--steps", "2", "--pictures", "16", "--held", "8", "--workers", "0"]
    asked += ["--output", str(tmp_path)]
    benchmark.main(["--rows", *ROWS, *asked])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    order = ["vacsr", "cosine", "k3"]
    assert [line.split(" | ")[0] for line in lines[1:4]] == [f"| {benchmark.NAMES[name]}" for name in order]
    files = sorted(tmp_path.glob("*.json"))
    assert len(files) == 3
    figures = json.loads((tmp_path / "k3-noise20-seed0.json").read_text())
    assert (figures["noise"], figures["steps"]) == (0.2, 2)
    assert set(figures["retrieval"]) == {"i2t", "t2i"}
    before = [file.stat().st_mtime_ns for file in files if file.name != "cosine.json"]
    benchmark.main(["--rows", *ROWS, *asked])
    assert [file.stat().st_mtime_ns for file in files if file.name != "cosine.json"] == before
