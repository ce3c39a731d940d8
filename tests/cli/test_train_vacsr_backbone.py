"""``litotes train vacsr --backbone full``: the paper's recipe by the command, what comes out, and what is refused."""

import csv
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from drawn_table import litotes, table, write
from safetensors.torch import load_file
from test_train_vacsr_command import figures, report, same, settings, settings_of, weights

from litotes.cli import pair_training
from litotes.cli.pair_data import load_data
from litotes.cli.pair_settings import augmentation_of, loop_of, method_of, rates_of
from litotes.data.augment import Augmentation
from litotes.data.pairs import read_pairs
from litotes.metrics.ranking import ranks, recalls
from litotes.models.lora import LoraSettings, add_lora, save_adapter
from litotes.models.matcher import load_matcher
from litotes.models.pair_adapter import load_pair_adapter, read_pair_adapter
from litotes.models.scorer import VariationalScorer
from litotes.train.backbone_pairs import RECIPE, BackbonePairs
from litotes.train.journal import read_journal
from litotes.train.optim import BackboneRates
from tiny import tiny_matcher, tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")

SHORT = {
    "backbone": "full", "dimension": 12, "val_fraction": 0.34, "batch_size": 5, "epochs": 3, "frozen_epochs": 1,
    "lr": 1e-2, "hidden": 8, "latent": 6, "decoder_hidden": 4, "token_part": 0.9, "save_frequency": 2, "ks": "1,2",
}  # fmt: skip
STEPS = 9
"""Three passes over 12 captions by five."""


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return table(tmp_path_factory.mktemp("drawn"), columns=("filepath", "caption"))


@pytest.fixture(scope="module")
def model(pairs, tmp_path_factory):
    return tiny_model(tmp_path_factory.mktemp("model"), [row[1] for row in rows_of(pairs)])


@pytest.fixture(scope="module")
def trained(model, pairs, tmp_path_factory):
    """A whole run with noise and selection, for all that only looks at what is left."""
    torch.set_num_threads(1)
    run = tmp_path_factory.mktemp("trained") / "run"
    given = {"model": model, "train_data": pairs, "output": run, "select": "validation", "noise_ratio": 0.5}
    assert litotes("train vacsr", **given, **SHORT) == 0
    return run


@pytest.fixture
def train(model, pairs, tmp_path):
    def run(output="run", without=(), **options):
        given = {"model": model, "train_data": pairs, "output": tmp_path / output}
        short = {key: value for key, value in SHORT.items() if key not in without}
        return litotes("train vacsr", **(given | short | options))

    return run


def rows_of(path):
    return list(csv.reader(path.open(newline="", encoding="utf-8")))[1:]


def backbone(folder):
    return load_file(folder / "pair-adapter" / "backbone" / "pair_backbone.safetensors")


def test_the_defaults_are_the_recipe_of_the_paper():
    full = settings("--backbone", "full")
    assert loop_of(full, 566_435) == replace(RECIPE, save_every=200)
    assert rates_of(full) == BackboneRates()
    assert augmentation_of(full) == Augmentation()
    assert (full.dimension, full.preparation) == (1024, "pcmepp")
    assert method_of(full, full.dimension).adapter.features == 1024
    awake = loop_of(settings("--backbone", "full", "--frozen-epochs", "0", "--workers", "3"), 1000)
    assert (awake.ramp_epoch, awake.workers) == (None, 3)
    assert loop_of(settings("--backbone", "full", "--ramp", "false", "--optimizer", "adamw"), 1000).ramp_epoch is None
    assert loop_of(settings("--backbone", "full", "--schedule", "cosine"), 1000).schedule == "cosine"


def test_a_run_leaves_a_backbone_with_its_adapter_and_a_report_that_agree(trained, model, pairs):
    lines = read_journal(trained / "run" / "journal.jsonl")
    assert len(lines) == STEPS
    found = report(trained)["models"]
    before, after = found["cosine"], found["vacsr"]
    assert before["preprocessing"]["preprocess_mode"] == "paper"
    assert "pooled_features" not in before
    assert (after["preprocessing"]["preprocess_mode"], after["pooled_features"]) == ("squash", 12)
    matcher = load_matcher(model)
    assert after["pair_backbone"]["base_sha256"] == matcher.base == before["base_sha256"]
    assert after["pair_backbone"]["merged_adapter_sha256"] is None
    pair_model, side = load_pair_adapter(trained / "pair-adapter", matcher)
    assert after["pair_adapter"]["backbone_sha256"] == side.backbone_sha256 is not None
    assert after["fingerprint"] == matcher.fingerprint
    # What the report says is what the folder gives.
    held = load_data(settings_of(trained)).held
    images, texts = matcher.encode_images(held.pictures), matcher.encode_texts(held.captions)
    scorer = VariationalScorer(pair_model)
    wanted = recalls(ranks(scorer.scores(images, texts), held.owners.tolist()), (1, 2))
    assert after["suites"]["retrieval"]["rsum"] == pytest.approx(wanted["rsum"])
    assert after["kept"]["validation_rsum"] == pytest.approx(wanted["rsum"])
    top = scorer.best(images, texts, 2).texts
    assert torch.equal(top.items, scorer.scores(images, texts).topk(2).indices)
    page = (trained / "report.html").read_text()
    told = "of both towers and their heads, tokens pooled into 12 numbers"
    for text in (
        "trained with the backbone",
        told,
        "squashed to a square",
        "at rest in the first pass",
        "crops of",
    ):
        assert text in page
    assert set(after["wrong_pairs"]) == {"sigma", "total_variance", "one_minus_p", "one_minus_cosine"}


def test_the_towers_move_when_they_should_and_not_in_the_first_pass(trained, train, model, tmp_path):
    assert train(steps=3) == 0  # one pass: the picture tower rests
    assert "The picture tower does not move: it rests for 3 steps" in report(tmp_path / "run")["notes"][0]
    start = load_matcher(model).encoder.state_dict()

    def unmoved(weights, part):
        found = {name.partition("encoder.")[2]: tensor for name, tensor in weights.items() if part in name}
        assert found
        return [torch.equal(tensor, start[name]) for name, tensor in found.items()]

    assert all(unmoved(backbone(tmp_path / "run"), "vision_model"))
    assert not any(unmoved(backbone(tmp_path / "run"), "text_model.encoder.layers.0.mlp"))
    last = load_file(trained / "run" / f"checkpoint-{STEPS:06d}" / "weights.safetensors")
    assert not any(unmoved(last, "vision_model.encoder.layers.0.mlp.fc1.weight"))


@pytest.mark.parametrize(
    ("method", "scorer", "kind"),
    [("sigmoid", "cosine", "cosine"), ("infonce", None, "deterministic"), ("infonce", "cosine", "cosine")],
)
def test_the_controls_train_the_backbone_by_the_same_command(method, scorer, kind, train, model, tmp_path):
    sizes = ("hidden", "latent", "decoder_hidden") if kind == "cosine" else ()
    chosen = {} if scorer is None else {"scorer": scorer}
    assert train(without=sizes, method=method, steps=2, **chosen) == 0
    side = read_pair_adapter(tmp_path / "run" / "pair-adapter")
    assert (side.kind, side.objective["method"]) == (kind, method)
    if kind == "cosine":
        assert float(weights(tmp_path / "run")["log_scale"].exp()) == pytest.approx(10, rel=0.1)
    load_pair_adapter(tmp_path / "run" / "pair-adapter", load_matcher(model))


@pytest.mark.parametrize("stop_at", [4, 7])
def test_a_stopped_run_goes_on_and_ends_as_if_it_had_not_been_stopped(
    stop_at, trained, train, tmp_path, monkeypatch, capsys
):
    given = {"select": "validation", "noise_ratio": 0.5}
    calls, terms = [], BackbonePairs.terms

    def stop(task, batch):
        calls.append(1)
        if len(calls) == stop_at:
            raise KeyboardInterrupt
        return terms(task, batch)

    with monkeypatch.context() as patch:
        patch.setattr(BackbonePairs, "terms", stop)
        assert train(**given) == 130
    assert f"step {2 * ((stop_at - 1) // 2)} is saved in" in capsys.readouterr().err
    assert not (tmp_path / "run" / "pair-adapter").exists()
    torch.manual_seed(99)
    assert train(resume=True, **given) == 0
    run = tmp_path / "run"
    same(weights(run), weights(trained))
    same(backbone(run), backbone(trained))
    assert figures(run) == figures(trained)
    journals = [read_journal(folder / "run" / "selection.jsonl") for folder in (run, trained)]
    assert journals[0] == journals[1]


def test_a_finished_run_is_only_measured_again(trained, train, tmp_path, monkeypatch):
    shutil.copytree(trained, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "pair-adapter")

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(BackbonePairs, "terms", never)
    assert train(resume=True, select="validation", noise_ratio=0.5) == 0
    same(backbone(tmp_path / "run"), backbone(trained))
    assert figures(tmp_path / "run") == figures(trained)
    assert train(resume=True, select="validation", noise_ratio=0.5, crop=1.0, text_rate=0.5) == 2


def test_noise_is_all_that_the_training_sees(trained, train, tmp_path, monkeypatch):
    told, init = [], BackbonePairs.__init__

    def watch(task, *given, **named):
        told.append((given, named))
        init(task, *given, **named)

    monkeypatch.setattr(BackbonePairs, "__init__", watch)
    assert train(steps=2, noise_index=trained / "noise.npy") == 0
    (_, data, *_), named = told[0]
    assert named["owners"].tolist() == np.load(trained / "noise.npy").tolist()
    assert named["owners"].tolist() != data.owners.tolist()
    assert set(named) == {"owners", "rates", "augmentation"}
    assert report(tmp_path / "run")["models"]["vacsr"]["noise"]["n_wrong"] > 0


@pytest.fixture
def asked(pairs):
    """Captions, negated ones and questions about the drawn pictures, as files."""
    rows = rows_of(pairs)
    columns = ("image_path", "correct_answer", *(f"caption_{i}" for i in range(4)), "correct_answer_template")
    questions = [
        (path, 0, text, *(rows[i + k][1] for k in (1, 2, 3)), "positive") for i, (path, text) in enumerate(rows[:6])
    ]
    negated = [(path, f"{text}, but no cat") for path, text in rows[:8]]
    return {
        "retrieval": write(pairs.parent / "asked.csv", rows[:8], ("filepath", "caption")),
        "negated_retrieval": write(pairs.parent / "negated.csv", negated, ("filepath", "caption")),
        "choice": write(pairs.parent / "mcq.csv", questions, columns),
    }


def test_what_comes_out_is_what_evaluate_and_suspects_take(trained, model, pairs, asked, tmp_path):
    folder, out = trained / "pair-adapter", tmp_path / "result.json"
    given = {"model": model, "pair_adapter": folder, "ks": "1,2", "output": out, **asked}
    assert litotes("evaluate", **given) == 0
    found = json.loads(out.read_text())
    assert "vacsr on variational, the backbone trained too" in found["adapter"]
    assert set(found["suites"]) == {"mcq", "retrieval", "selective", "retrieval_neg", "selective_neg"}
    assert found["pair_backbone"]["base_sha256"] == found["base"]["base_sha256"]
    assert "pooled_features" not in found["base"]
    matcher = load_matcher(model)
    pair_model, _ = load_pair_adapter(folder, matcher)
    data = read_pairs(asked["retrieval"])
    images, texts = matcher.encode_images(data.pictures), matcher.encode_texts(data.captions)
    with torch.no_grad():
        scores = pair_model.logits(images, texts)
    rank = (scores >= scores.diagonal()).sum(dim=0)
    assert found["suites"]["retrieval"]["t2i"]["2"] == pytest.approx(float((rank <= 2).double().mean()))
    assert litotes("evaluate", **given) == 0  # the same again replaces its own result
    assert litotes("data suspects", model=model, pair_adapter=folder, data=pairs, output=tmp_path / "list.csv") == 0
    listed = list(csv.DictReader((tmp_path / "list.csv").open()))
    lowest = min((row for row in listed if row["kind"] == "wrong"), key=lambda row: float(row["logit"]))
    own = read_pairs(pairs)
    with torch.no_grad():
        every = pair_model.logits(matcher.encode_images(own.pictures), matcher.encode_texts(own.captions))
    assert float(lowest["logit"]) == pytest.approx(float(every.diagonal().min()), abs=1e-4)


def _without_backbone(folder):
    shutil.rmtree(folder / "backbone")


def _other_backbone(folder):
    side = folder / "backbone" / "pair_backbone.json"
    side.write_text(side.read_text().replace('"weights_sha256": "', '"weights_sha256": "0'))


def _cut_backbone(folder):
    file = folder / "backbone" / "pair_backbone.safetensors"
    file.write_bytes(file.read_bytes()[:999])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_without_backbone, "without pair_backbone.json and pair_backbone.safetensors"),
        (_other_backbone, "another backbone than"),
        (_cut_backbone, "SHA-256 differs"),
    ],
)
def test_a_folder_that_is_not_whole_is_refused_by_every_command(change, told, trained, model, asked, tmp_path, capsys):
    folder = tmp_path / "pair-adapter"
    shutil.copytree(trained / "pair-adapter", folder)
    change(folder)
    given = {"model": model, "pair_adapter": folder}
    questions = {"retrieval": asked["retrieval"], "ks": "1,2", "output": tmp_path / "result.json"}
    assert litotes("evaluate", **given, **questions) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert litotes("data suspects", **given, data=asked["retrieval"], output=tmp_path / "list.csv") == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pair-adapter"]


def test_another_base_or_a_mounted_adapter_is_no_place_for_it(trained, model, asked, tmp_path, capsys):
    given = {"pair_adapter": trained / "pair-adapter", "retrieval": asked["retrieval"], "ks": "1,2"}
    given["output"] = tmp_path / "r.json"
    other = tiny_model(tmp_path / "other", ["a ball", "a box"], seed=5)
    assert litotes("evaluate", **given, model=other) == 2
    assert "the base that it was trained from, untrained" in " ".join(capsys.readouterr().err.split())
    matcher = load_matcher(model)
    add_lora(matcher.encoder, LoraSettings(rank=2))
    save_adapter(matcher, LoraSettings(rank=2), tmp_path / "lora")
    assert litotes("evaluate", **given, model=model, adapter=tmp_path / "lora") == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "an adapter that it was trained on top of is in its weights do: leave out --adapter" in message


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"backbone": "frozen"}, "--dimension, --frozen-epochs, --token-part with a frozen backbone"),
        ({"cache": "cache"}, "--cache with a backbone that is trained"),
        ({"frozen_epochs": 0, "ramp": "false"}, "--ramp with a picture tower that never rests"),
        ({"text_rate": 1.5}, "--text-rate 1.5"),
        ({"image_rate": 0}, "--image-rate 0"),
        ({"crop": 0}, "--crop 0"),
        ({"token_part": 1}, "a share below 1"),
        ({"dimension": 0}, "--dimension 0"),
        ({"backbone": "half"}, "frozen|full"),
        ({"batch_size": 1}, "at least one step with two pairs"),
        ({"warmup": 9}, "a run of 9 steps, whose rate would never reach its peak"),
        ({"schedule": "cosine", "drop_epochs": "1"}, "--drop-epochs or --drop-factor with --schedule cosine"),
    ],
)
def test_what_cannot_be_done_is_told_before_the_model_is_loaded(options, told, train, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pair_training, "load_backbone", None)
    assert train(**{key: tmp_path / value if key == "cache" else value for key, value in options.items()}) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("backbone", ["frozen", "full"])
def test_bad_data_is_refused_before_the_model_is_loaded(backbone, pairs, model, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pair_training, "load_backbone", None)
    rows, lists = rows_of(pairs), [(path, repr([text])) for path, text in rows_of(pairs)]
    one = ("filepath", "caption")
    mistakes = {
        "the path of a picture in every row": ([*rows, ("", "a ball")], one),
        "captions '[]' in rows 18": ([*lists[1:], (rows[0][0], "[]")], ("filepath", "captions")),
        "1 captions without words": ([*rows[1:], (rows[0][0], " ")], one),
        "12 pairs of which every caption is right for every picture": ([(path, "a ball") for path, _ in rows], one),
    }
    for told, (table_of, columns) in mistakes.items():
        data = write(pairs.parent / "bad.csv", table_of, columns)
        given = {"model": model, "train_data": data, "output": tmp_path / "run", "backbone": backbone}
        assert litotes("train vacsr", **given, val_fraction=0.34, ks="1") == 2
        assert told in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("backbone", ["frozen", "full"])
def test_numbers_that_are_none_stop_a_run_and_say_where(backbone, pairs, train, tmp_path, capsys):
    matcher = tiny_matcher(tmp_path / "big", [row[1] for row in rows_of(pairs)])
    with torch.no_grad():
        matcher.encoder.clip.text_model.final_layer_norm.weight.fill_(3e38)
    matcher.save(tmp_path / "big")
    alone = ("dimension", "frozen_epochs", "token_part") if backbone == "frozen" else ()
    assert train(model=tmp_path / "big", backbone=backbone, without=alone) == 2
    assert "text embeddings NaN or infinite" in " ".join(capsys.readouterr().err.split())
    assert train("fast", backbone=backbone, without=alone, lr=1e30) == 2
    assert "lower the learning rate" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "fast" / "pair-adapter").exists()
