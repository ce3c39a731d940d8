"""The comparison of trained backbones runs, goes on, and tunes every method on the same grid."""

import importlib.util
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SMALL = ["--noise", "0.2", "--seeds", "0", "--pictures", "16", "--held", "8"]


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    spec = importlib.util.spec_from_file_location("vacsr_backbone", FOLDER / "vacsr_backbone.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rows_are_trained_once_and_shown_as_markdown(benchmark, tmp_path, capsys):
    asked = ["--rows", "vacsr", "infonce", *SMALL, "--steps", "2", "--output", str(tmp_path)]
    benchmark.main(asked)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[0][2:] for line in lines[1:4]] == [
        benchmark.NAMES[name] for name in ("vacsr", "infonce", "cosine")
    ]
    names = [benchmark.title(name, 0.2, 0, benchmark.ROWS[name].rates) for name in ("vacsr", "infonce")]
    files = [tmp_path / f"{name}.json" for name in names]
    figures = json.loads(files[0].read_text())
    assert (figures["row"], figures["noise"], figures["steps"]) == ("vacsr", 0.2, 2)
    assert (figures["new"], figures["text"]) == benchmark.ROWS["vacsr"].rates
    assert set(figures["retrieval"]) == {"i2t", "t2i"}
    before = [file.stat().st_mtime_ns for file in files]
    benchmark.main(asked)
    assert [file.stat().st_mtime_ns for file in files] == before


def test_each_method_is_tried_at_each_rate_on_the_validation_part(benchmark, tmp_path, capsys):
    benchmark.main(["--tune", "--rows", "sigmoid", *SMALL, "--steps", "1", "--output", str(tmp_path)])
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| sigmoid"))
    cells = row.strip("| ").split(" | ")[1:]
    assert len(cells) == len(benchmark.GRID) == len([*tmp_path.glob("*.json")])
    rates = benchmark.GRID[3]
    figures = json.loads((tmp_path / f"{benchmark.title('sigmoid', 0.2, 0, rates)}.json").read_text())
    ways = figures["retrieval"]
    assert cells[3] == f"{50 * (ways['i2t']['map_at_r'] + ways['t2i']['map_at_r']):.1f}"


def test_the_chosen_rates_are_of_the_grid(benchmark):
    assert {rival.rates for rival in benchmark.ROWS.values()} <= set(benchmark.GRID)
    assert all(rates.text <= rates.new for rates in benchmark.GRID)
