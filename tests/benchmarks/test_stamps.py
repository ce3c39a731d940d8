"""The run over pretraining, adaptation and report goes through on a few generated pictures, and goes on."""

import csv
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

PATH = Path(__file__).parents[2] / "benchmarks" / "stamps.py"
THINGS = {"sun": (250, 220, 40), "sea": (30, 60, 220), "tree": (20, 140, 40), "rose": (220, 30, 60)}


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("stamps", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(path, header, rows):
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([header, *rows])


@pytest.fixture
def data(tmp_path):
    """Pictures of two halves, each in the colour of a thing."""
    folder = tmp_path / "stamps"
    (folder / "scenes").mkdir(parents=True)
    names = list(THINGS)
    scenes = [(names[i % 4], names[(i + 1 + i // 4 % 3) % 4]) for i in range(40)]
    for i, both in enumerate(scenes):
        pixels = np.concatenate([np.full((32, 16, 3), THINGS[name], np.uint8) for name in both], axis=1)
        Image.fromarray(pixels).save(folder / "scenes" / f"{i:02}.png")
    paths = [f"scenes/{i:02}.png" for i in range(40)]
    shown = [*zip(paths, scenes, strict=True)]
    absent = [next(name for name in names if name not in both) for both in scenes]
    quadruplets = [(path, f"a {a} and a {b}", f"a {a} but no {b}", f"{a}|{b}") for path, (a, b) in shown[:30]]
    write(folder / "quadruplets_train.csv", ["filepath", "caption", "negated_caption", "objects"], quadruplets)
    write(folder / "captions.csv", ["filepath", "caption"], [(path, f"a {a}") for path, (a, _) in shown[:12]])
    options = [
        (path, 0, f"a {a} and a {b}", f"a {n} but no {b}", f"a {n}", f"no {a}", "positive")
        for (path, (a, b)), n in zip(shown[30:], absent[30:], strict=True)
    ]
    columns = ["image_path", "correct_answer", *(f"caption_{i}" for i in range(4)), "correct_answer_template"]
    write(folder / "mcq_test.csv", columns, options)
    for name, text in (("retrieval", "a {a} and a {b}"), ("negated_retrieval", "a {a} and a {b} but no {n}")):
        rows = [
            (path, str([text.format(a=a, b=b, n=n)])) for (path, (a, b)), n in zip(shown[30:], absent[30:], strict=True)
        ]
        write(folder / f"{name}_test.csv", ["filepath", "captions"], rows)
    return folder


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
