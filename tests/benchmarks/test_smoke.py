"""The benchmarks run; what they measure is not judged here."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("objectives_share", {4: 3}),
        ("text_trim", {5: 2}),
        ("cached_epoch", {5: 4}),
        ("world_bound", {6: 2}),
        ("vacsr", {5: 3, 7: 4}),
        ("metrics", {6: 3}),
        ("encode", {7: 10}),
        ("load_memory", {7: 3}),
        ("vacsr_uncertainty", {5: 46, 9: 4}),
        ("vacsr_suspects", {7: 22}),
    ],
)
def test_a_benchmark_prints_its_tables(name, tables, capsys, monkeypatch):
    """``tables``: the rows of each, by its number of columns."""
    monkeypatch.syspath_prepend(FOLDER)
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(["--smoke"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert Counter(line.count("│") - 1 for line in lines) == tables
