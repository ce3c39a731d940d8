"""The comparison of pairs on real pictures runs, goes on, and measures nothing that the pretraining saw."""

import importlib.util
import json
from pathlib import Path

import pytest

from litotes.data.tables import column, read_table
from litotes.demo.vacsr.methods import RIVALS
from litotes.errors import UserError
from painted_stamps import write_stamps
from tiny import noise_pictures, tiny_model

FOLDER = Path(__file__).parents[2] / "benchmarks"
NAMES = ["pear", "sports car", "star", "yellow pear"]


def loaded(name, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def benchmark(monkeypatch):
    return loaded("vacsr_stamps", monkeypatch)


@pytest.fixture
def data(tmp_path):
    return write_stamps(tmp_path / "stamps")


def scenes(benchmark, captions, objects):
    return benchmark.Scenes(noise_pictures(len(captions)), captions, objects)


def test_rows_are_trained_once_and_shown_as_markdown(benchmark, data, tmp_path, capsys):
    (tmp_path / "model").mkdir()
    model = tiny_model(tmp_path / "model", ["a sun and a sea", "a tree and a rose"])
    out = tmp_path / "out"
    asked = ["--data", str(data), "--model", str(model), "--output", str(out), "--smoke"]
    benchmark.main([*asked, "--backbone", "infonce"])
    first = capsys.readouterr().out
    assert "training: 27 pictures" in first
    assert "test: 10 pictures" in first
    labels = [line.split(" | ")[0] for line in first.splitlines() if line.startswith("| ")]
    every = {
        *(f"| {rival.label}" for rival in RIVALS.values()),
        "| frozen cosine",
        "| InfoNCE on the cosine, backbone trained",
    }
    assert every <= set(labels)
    assert len([*(out / "choice").glob("*.json")]) == 1 + 2 * 4
    rows = sorted((out / "rows").glob("*.json"))
    assert len(rows) == 1 + len(RIVALS) + 1
    figures = json.loads((out / "rows" / "vacsr-noise20-seed0.json").read_text())
    assert figures["settings"]["method"]["adapter"]["features"] == 24
    before = [path.stat().st_mtime_ns for path in rows if path.name != "cosine.json"]
    benchmark.main(asked)
    assert [path.stat().st_mtime_ns for path in rows if path.name != "cosine.json"] == before
    assert capsys.readouterr().out == first
    benchmark.main(["--output", str(out), "--smoke", "--table"])
    assert capsys.readouterr().out == first
    with pytest.raises(UserError, match="another model or other parts"):
        benchmark.main([*asked, "--train-on", "fresh"])


@pytest.mark.parametrize("fresh", [False, True])
def test_no_scene_that_the_pretraining_saw_is_measured(benchmark, data, tmp_path, monkeypatch, fresh):
    table = loaded("stamps", monkeypatch).pretraining_table(data, tmp_path / "seen.csv")
    seen = set(column(read_table(table), "filepath")) - set(column(read_table(data / "captions.csv"), "filepath"))
    parts = [{part.data.pictures.name(i) for i in range(len(part.data))} for part in benchmark.arranged(data, fresh)]
    training, validation, test = parts
    assert not seen & (validation | test)
    assert not training & (validation | test)
    assert not validation & test
    assert (not seen & training) if fresh else (seen <= training)
    assert [len(part) for part in parts] == ([6, 3, 4] if fresh else [27, 3, 10])


def test_a_caption_is_true_where_all_that_it_mentions_is(benchmark):
    captions = ["a pear", "a photo of a yellow pear next to a star", "this image includes a sports car with a star"]
    objects = [("pear", "star"), ("yellow pear", "star"), ("star", "sports car", "pear")]
    part = benchmark.part_of(scenes(benchmark, captions, objects), NAMES)
    # The first caption is true where there is a yellow pear, too; the second is not where there is just a pear.
    assert part.truth.relevance().tolist() == [[True, False, False], [True, True, False], [True, False, True]]


@pytest.mark.parametrize("caption", ["a red star", "a photo", "a star and a pear", "no star", "a starfish"])
def test_a_caption_that_cannot_be_judged_is_refused(benchmark, caption):
    with pytest.raises(UserError, match="cannot judge") as refused:
        benchmark.part_of(scenes(benchmark, ["a star", caption], [("star",), ("star", "sports car")]), NAMES)
    assert refused.value.got.startswith("1 captions")
    assert caption in refused.value.got


def test_each_method_takes_what_was_best_on_the_validation_part(benchmark):
    size = benchmark.Size(rates=(0.001, 0.01), scales=(1.0, "d"))
    quality = {"vacsr-scale-d-lr-0.001": 0.3, "infonce-scale-1.0-lr-0.01": 0.2}
    rows = [
        {
            "row": title,
            "noise": 0.2,
            "retrieval": {way: {"map_at_r": quality.get(title, 0.1)} for way in ("i2t", "t2i")},
        }
        for _, title, _ in benchmark.candidates(24, size)
    ]
    chosen = benchmark.choose(rows, 24, size)
    assert set(chosen) == set(RIVALS)
    found = {name: (rival.method.adapter.input_scale, rival.lr) for name, rival in chosen.items()}
    assert found == {
        "vacsr": ("d", 0.001), "no_sigma": ("d", 0.001), "infonce": (1.0, 0.01), "sigmoid": (1.0, 0.001),
        "deterministic": (1.0, 0.001),
    }  # fmt: skip
    assert chosen["no_sigma"].method.vacsr == RIVALS["no_sigma"].method.vacsr
    lines = dict(benchmark.choice_table(rows, size).rows)
    assert lines["VACSR"] == ("10.0", "10.0", "30.0", "10.0")
