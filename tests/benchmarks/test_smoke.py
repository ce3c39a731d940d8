"""The benchmarks run; what they measure is not judged here."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("objectives_share", 3, 4),
        ("text_trim", 2, 5),
        ("cached_epoch", 4, 5),
        ("world_bound", 2, 6),
        ("vacsr_scoring", 3, 5),
        ("metrics", 2, 6),
    ],
)
def test_a_benchmark_prints_its_table(name, rows, columns, capsys, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(["--smoke"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert len(lines) == rows
    assert all(line.count("│") == columns + 1 for line in lines)
