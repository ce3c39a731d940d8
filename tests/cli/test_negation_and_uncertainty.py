"""VACSR on top of a model that HANCLIP adapted: from two tables to figures of negation and uncertainty."""

import csv
import json
import shutil

import pytest
import torch
from drawn_table import litotes, table, write
from safetensors.torch import load_file, save_file
from test_train_vacsr_command import report

from litotes.models.lora import load_adapter
from litotes.models.matcher import load_matcher
from litotes.models.merging import merge_adapter
from litotes.models.pair_adapter import load_pair_adapter, read_pair_adapter
from litotes.models.pair_backbone_file import read_pair_backbone
from tiny import tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")

ADAPTER = {"hidden": 8, "latent": 6, "decoder_hidden": 4, "batch_size": 5, "val_fraction": 0.34, "ks": "1,2"}
NEGATION = {"mcq", "retrieval", "retrieval_neg"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Pictures with true and negated captions, questions about them, a tiny model, and HANCLIP's adapter for it."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("world")
    quadruplets = table(folder, count=12, columns=("filepath", "caption", "negated_caption"))
    rows = list(csv.reader(quadruplets.open(newline="", encoding="utf-8")))[1:]
    columns = ("image_path", "correct_answer", *(f"caption_{i}" for i in range(4)), "correct_answer_template")
    questions = [
        (path, 0, text, denied, *(rows[i + k][1] for k in (1, 2)), "negative")
        for i, (path, text, denied) in enumerate(rows[:6])
    ]
    negated = [(path, f"{text}, but no cat") for path, text, _ in rows[:8]]
    found = {
        "train_data": write(folder / "pairs.csv", [row[:2] for row in rows], ("filepath", "caption")),
        "choice": write(folder / "mcq.csv", questions, columns),
        "retrieval": write(folder / "asked.csv", [row[:2] for row in rows[:8]], ("filepath", "caption")),
        "negated_retrieval": write(folder / "negated.csv", negated, ("filepath", "caption")),
        "model": tiny_model(folder / "model", [text for row in rows for text in row[1:]]),
    }
    quadruplets = write(folder / "quadruplets.csv", rows, ("filepath", "caption", "negated_caption"))
    given = {"model": found["model"], "train_data": quadruplets, "output": folder / "hanclip"}
    assert litotes("train", **given, towers="both", steps=2, batch_size=4, lr=0.3, warmup=0, val_fraction=0.34) == 0
    return found | {"adapter": folder / "hanclip" / "adapter"}


def asked(world):
    return {name: world[name] for name in ("choice", "retrieval", "negated_retrieval")}


def trained(world, output, **options):
    given = {name: world[name] for name in ("model", "adapter", "train_data")}
    assert litotes("train vacsr", **given, **asked(world), output=output, **ADAPTER, **options) == 0
    return output / "pair-adapter"


def evaluated(world, out, **options):
    given = {"model": world["model"], "ks": "1,2", "output": out, **asked(world)}
    assert litotes("evaluate", **given, **options) == 0
    return json.loads(out.read_text())


def same_figures(one, other):
    """Equal but for rounding: the same texts are encoded in other batches."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one.keys() - {"wall_s", "answers"}:
            same_figures(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            same_figures(mine, theirs)
    else:
        assert other == (pytest.approx(one, abs=1e-4) if isinstance(one, float) else one)


def test_on_frozen_features_of_the_adapted_model(world, tmp_path):
    folder = trained(world, tmp_path / "frozen", steps=2)
    found = report(tmp_path / "frozen")["models"]
    assert set(found["cosine"]["suites"]) == NEGATION
    assert set(found["vacsr"]["suites"]) == NEGATION | {"selective", "selective_neg"}
    assert "adapter" in found["cosine"]["adapter"]
    record = evaluated(world, tmp_path / "r.json", adapter=world["adapter"], pair_adapter=folder)
    same_figures(record["suites"], found["vacsr"]["suites"])
    assert record["base"]["pretrained"] == "base"


def test_with_the_whole_backbone_the_adapter_is_merged_and_the_plain_base_is_enough(world, tmp_path):
    folder = trained(world, tmp_path / "full", backbone="full", dimension=12, steps=2, lr=1e-9)
    found = report(tmp_path / "full")["models"]
    assert set(found["vacsr"]["suites"]) == NEGATION | {"selective", "selective_neg"}
    matcher = load_matcher(world["model"])
    plain = matcher.base
    load_adapter(matcher, world["adapter"])
    assert found["cosine"]["fingerprint"] == matcher.fingerprint  # before: the adapted model's own cosine
    side = read_pair_backbone(folder / "backbone")
    assert (side.base_sha256, side.merged_adapter_sha256) == (plain, matcher.adapter_sha256)
    assert read_pair_adapter(folder).adapter_sha256 is None
    before = load_matcher(world["model"]).encoder.state_dict()
    merge_adapter(matcher)
    start = matcher.encoder.state_dict()
    kept = load_file(folder / "backbone" / "pair_backbone.safetensors")
    moved = 0
    for name, tensor in kept.items():
        if name.startswith("encoder."):
            own = name.removeprefix("encoder.")
            assert torch.allclose(tensor, start[own], atol=1e-6), name
            moved += not torch.allclose(tensor, before[own], atol=1e-3)
    assert moved >= 6  # q, k and v of both towers
    record = evaluated(world, tmp_path / "r.json", pair_adapter=folder)
    same_figures(record["suites"], found["vacsr"]["suites"])
    again = load_matcher(world["model"])
    load_pair_adapter(folder, again)
    assert again.fingerprint == found["vacsr"]["fingerprint"]


def test_a_run_on_another_adapter_is_not_gone_on_with(world, tmp_path, capsys):
    trained(world, tmp_path / "full", backbone="full", dimension=12, steps=2)
    other = tmp_path / "adapter"
    shutil.copytree(world["adapter"], other)
    weights = load_file(other / "adapter_model.safetensors")
    save_file({name: 2 * tensor for name, tensor in weights.items()}, other / "adapter_model.safetensors")
    capsys.readouterr()
    given = {name: world[name] for name in ("model", "train_data")} | asked(world) | ADAPTER
    full = {"backbone": "full", "dimension": 12, "steps": 2, "resume": True}
    assert litotes("train vacsr", **given, **full, adapter=other, output=tmp_path / "full") == 2
    assert "model = " in capsys.readouterr().err
