"""``litotes train vacsr``: from a table to an adapter of pairs and a report that agree, and what is refused."""

import csv
import json
from dataclasses import fields, replace
from typing import get_type_hints

import numpy as np
import pytest
import torch
from drawn_table import litotes, table, words, write
from safetensors.torch import load_file

from litotes.cli import pair_training
from litotes.cli.options import described, parse
from litotes.cli.pair_data import load_data
from litotes.cli.pair_report import Trained, worse_note
from litotes.cli.pair_settings import loop_of, method_of
from litotes.cli.train_vacsr import Settings
from litotes.data.noise import noise_sha256, save_noise
from litotes.data.pairs import read_pairs
from litotes.errors import UserError
from litotes.evaluate.kept import kept_answers
from litotes.evaluate.notes import notes_of_all
from litotes.evaluate.reading import read_results
from litotes.evaluate.verdict import significance
from litotes.models.lora import LoraSettings, add_lora, save_adapter
from litotes.models.matcher import load_matcher
from litotes.models.pair_adapter import load_pair_adapter, read_pair_adapter
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import AdapterConfig
from litotes.objectives.diagnostics import PairDiagnostics, signs
from litotes.objectives.vacsr import VacsrConfig
from litotes.train.backbone_pairs import RECIPE
from litotes.train.journal import read_journal
from litotes.train.pair_objectives import PairMethod
from litotes.train.pairs import FrozenPairs
from tiny import tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")

SHORT = {
    "val_fraction": 0.34, "batch_size": 5, "steps": 6, "lr": 1e-2, "hidden": 8, "latent": 6, "decoder_hidden": 4,
    "save_frequency": 2, "ks": "1,2",
}  # fmt: skip
CONTROL = {key: value for key, value in SHORT.items() if key not in ("hidden", "latent", "decoder_hidden")}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return table(tmp_path_factory.mktemp("drawn"), columns=("filepath", "caption"))


@pytest.fixture(scope="module")
def model(pairs, tmp_path_factory):
    with pairs.open(newline="", encoding="utf-8") as file:
        captions = [row["caption"] for row in csv.DictReader(file)]
    return tiny_model(tmp_path_factory.mktemp("model"), captions)


@pytest.fixture
def train(model, pairs, tmp_path):
    def run(output="run", **options):
        given = {"model": model, "train_data": pairs, "output": tmp_path / output}
        return litotes("train vacsr", **(given | (options if "steps" in options else SHORT | options)))

    return run


def report(folder):
    return json.loads((folder / "report.json").read_text())


def weights(folder):
    return load_file(folder / "pair-adapter" / "pair_adapter.safetensors")


def same(first, second):
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def figures(folder):
    suites = report(folder)["models"]["vacsr"]["suites"]
    return {name: {key: value for key, value in suite.items() if key != "wall_s"} for name, suite in suites.items()}


def settings(*line):
    data = [] if "--train-data" in line else ["--train-data", "t.csv"]
    return parse("train vacsr", Settings, ["--model", "m", "--output", "o", *data, *line])


def test_a_run_leaves_an_adapter_a_journal_and_a_report_that_agree(train, model, tmp_path, capsys):
    assert train() == 0
    run = tmp_path / "run"
    lines = read_journal(run / "run" / "journal.jsonl")
    assert len(lines) == 6
    told = ("log_var_min", "log_var_mean", "log_var_max", "kl_0", "kl_1", "weights_0", "weights_1", "shares_0")
    assert {"loss", "recon", "kl", "sigma_positive", "sigma_negative", *told, "positive_residual"} <= set(lines[0])
    found = report(run)["models"]
    assert list(found) == ["cosine", "vacsr"]
    before, after = found["cosine"], found["vacsr"]
    assert (before["similarity"], after["similarity"]) == ("cosine", "logit of an adapter of pairs")
    assert (list(before["suites"]), list(after["suites"])) == (["retrieval"], ["retrieval", "selective"])
    assert before["split_sha256"] == before["suites"]["retrieval"]["split_sha256"]
    matcher = load_matcher(model)
    pair_model, side = load_pair_adapter(run / "pair-adapter", matcher)
    assert after["pair_adapter"]["weights_sha256"] == side.weights_sha256
    assert (side.config.hidden, side.objective["method"]) == (8, "vacsr")
    held = load_data(settings_of(run)).held
    scores = PairScorer(pair_model).scores(matcher.encode_images(held.pictures), matcher.encode_texts(held.captions))
    hits = (scores >= scores.diagonal()).sum(dim=0) == 1  # a tie is no hit
    assert after["suites"]["retrieval"]["t2i"]["1"] == pytest.approx(float(hits.double().mean()))
    assert {"sigma", "total_variance", "one_minus_p"} <= set(after["suites"]["selective"]["ways"]["t2i"])
    assert "noise" not in after
    shown = " ".join(capsys.readouterr().out.split())
    assert "12 captions of 12 pictures to train on, 6 of 6 held out" in shown
    assert "vacsr on VACSR's variational adapter: 451 weights" in shown
    page = (run / "report.html").read_text()
    for text in ("Answering only where sure", "AURC by σ", "AURC by 1 − p", "kept: step 6"):
        assert text in page


def test_readings_of_scores_and_uncertainty_are_kept_with_the_adapter_and_do_not_change_its_weights(
    train, model, tmp_path
):
    readings = {"decoded": "argmax", "uncertainty_spread": "total", "uncertainty_summary": "sum_variance"}
    assert train("plain") == 0 and train("other", **readings) == 0
    same(weights(tmp_path / "plain"), weights(tmp_path / "other"))
    side = read_pair_adapter(tmp_path / "other" / "pair-adapter")
    assert (side.config.decoded, side.config.spread, side.config.summary) == ("argmax", "total", "sum_variance")
    ways = [figures(tmp_path / name)["selective"]["ways"]["t2i"] for name in ("plain", "other")]
    assert ways[0] != ways[1]
    matcher = load_matcher(model)
    loaded, _ = load_pair_adapter(tmp_path / "other" / "pair-adapter", matcher)
    held = load_data(settings_of(tmp_path / "other")).held
    scores = PairScorer(loaded).scores(matcher.encode_images(held.pictures), matcher.encode_texts(held.captions))
    hits = (scores >= scores.diagonal()).sum(dim=0) == 1
    assert figures(tmp_path / "other")["retrieval"]["t2i"]["1"] == pytest.approx(float(hits.double().mean()))


@pytest.mark.parametrize(
    ("method", "kind", "sums", "told"),
    [("vacsr", "variational", (500.0, 280.0), True), ("vacsr", "variational", (500.0, 500.0), False),
     ("sigmoid", "cosine", (500.0, 499.0), False)],
)  # fmt: skip
def test_an_adapter_that_finds_less_than_the_cosine_is_told_with_what_it_had(pairs, method, kind, sums, told):
    asked = settings("--train-data", str(pairs), "--val-fraction", "0.34", "--batch-size", "5", "--steps", "6")
    data = load_data(asked)
    trained = Trained(data, loop_of(asked, len(data.training)), PairMethod(method, kind), 451)
    records = {name: {"suites": {"retrieval": {"rsum": rsum}}} for name, rsum in zip("ba", sums, strict=True)}
    note = worse_note(records, trained)
    assert bool(note) is told
    assert not told or ("6 steps on 12 captions" in note and "--method sigmoid --scorer cosine" in note)
    assert worse_note({"b": {"suites": {}}, "a": {"suites": {}}}, trained) == ""


def test_of_classes_the_share_that_is_put_right_decides_whether_less_is_found(pairs):
    asked = settings("--train-data", str(pairs), "--backbone", "blocks", "--batch-size", "5", "--steps", "6")
    data = load_data(asked)
    trained = Trained(data, loop_of(asked, len(data.training)), PairMethod(), 451)

    def note(before, after):
        records = {name: {"suites": {"classification": {"acc1": x}}} for name, x in (("b", before), ("a", after))}
        return worse_note(records, trained, "blocks")

    assert note(0.5, 0.5) == note(0.5, 0.6) == ""
    told = note(0.5, 0.4)
    assert "6 steps on" in told and "SGD moves a new adapter slowly" in told and "begins at the cosine's order" in told


def test_the_page_says_how_far_chance_could_reach(train, model, pairs, tmp_path, capsys):
    rows = [("00.png", 0, "a ball", "no ball", "positive"), ("01.png", 1, "a ball", "no ball", "negative")]
    titles = ("image_path", "correct_answer", "caption_0", "caption_1", "correct_answer_template")
    asked = write(tmp_path / "mcq.csv", rows, titles)
    assert train(choice=asked, images_root=pairs.parent) == 0
    run = tmp_path / "run"
    found = read_results([run / "report.json"]).found
    kept = kept_answers(found)
    label = next(name for name in found if name != "cosine")
    assert not kept.notes and kept.answers.keys() == found.keys()
    told = report(run)["differences"]["vacsr"]
    assert told == {name: [part._asdict() | {"path": list(part.path)} for part in parts]
                    for name, parts in kept.compared[label].items()}  # fmt: skip
    assert [part["path"] for part in told["retrieval"]][-1] == ["rsum"] and {"retrieval", "mcq"} == told.keys()
    assert kept.roots["mcq"].resolve() == kept.roots["retrieval"].resolve() == pairs.parent.resolve()
    page, shown = (run / "report.html").read_text(), " ".join(capsys.readouterr().out.split())
    sentences = significance({name: one.record for name, one in found.items()}, kept.compared)
    assert len(sentences) >= 2 and all(told.sentence in shown for told in sentences)
    assert page.count('<small class="reach">') >= 5 and "Questions to look at" in page
    assert "The figures are cosines, and logits where an adapter of pairs scores;" in page


def settings_of(run):
    recorded = json.loads((run / "config.json").read_text())["settings"]
    return settings(
        "--train-data", recorded["train_data"], "--val-fraction", str(recorded["val_fraction"]),
        "--noise-ratio", str(recorded["noise_ratio"]),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("method", "scorer", "kind"),
    [("sigmoid", None, "deterministic"), ("sigmoid", "cosine", "cosine"), ("infonce", "cosine", "cosine"),
     ("infonce", None, "deterministic")],
)  # fmt: skip
def test_the_controls_run_by_the_same_command(method, scorer, kind, train, tmp_path):
    chosen = {} if scorer is None else {"scorer": scorer}
    assert train(method=method, noise_ratio=0.5, **chosen, **CONTROL) == 0
    after = report(tmp_path / "run")["models"][method]
    assert (after["pair_adapter"]["kind"], after["pair_adapter"]["objective"]["method"]) == (kind, method)
    assert set(after["wrong_pairs"]) == {"one_minus_p", "one_minus_cosine"}
    assert "diagnostics" not in after


def test_infonce_on_the_cosine_starts_at_the_backbones_own_scale(train, model, tmp_path):
    assert train(method="infonce", scorer="cosine", **CONTROL | {"lr": 1e-9}) == 0
    assert float(weights(tmp_path / "run")["log_scale"].exp()) == pytest.approx(load_matcher(model).scale, rel=1e-4)


def test_noise_is_recorded_repeated_from_its_file_and_hidden_from_the_training(train, tmp_path, monkeypatch, capsys):
    told, init = [], FrozenPairs.__init__

    def watch(task, data, *rest):
        told.append(data)
        init(task, data, *rest)

    monkeypatch.setattr(FrozenPairs, "__init__", watch)
    assert train(noise_ratio=0.5, noise_seed=3) == 0
    run = tmp_path / "run"
    after = report(run)["models"]["vacsr"]
    seen = np.load(run / "noise.npy")
    assert after["noise"]["noise_sha256"] == noise_sha256(seen)
    wrong = int((seen != np.arange(12)).sum())
    assert (after["noise"]["n_wrong"], after["noise"]["effective_ratio"]) == (wrong, wrong / 12)
    assert 0 < wrong <= 6
    assert set(after["wrong_pairs"]) == {"sigma", "total_variance", "one_minus_p", "one_minus_cosine"}
    shown = capsys.readouterr().out
    assert f"noise: {wrong} of 12 captions on a wrong picture" in shown
    assert "Wrong pairs of the training part against right ones, AUROC: " in shown
    # The rows stand beside the shuffled pictures, and nothing else came from the table.
    data = told[0]
    assert data.picture_of_row.tolist() == seen.tolist()
    assert {field.name for field in fields(data)} == {
        "images", "texts", "picture_of_row", "text_of_row", "features_sha256", "rows_sha256"
    }  # fmt: skip
    index = {"noise_index": run / "noise.npy", "noise_sha256": noise_sha256(seen)}
    assert train("again", **index) == 0
    same(weights(run), weights(tmp_path / "again"))
    assert train("clean") == 0
    assert any(not torch.equal(one, weights(tmp_path / "clean")[name]) for name, one in weights(run).items())


def test_the_auroc_of_wrong_pairs_is_that_of_the_loaded_adapter(train, model, tmp_path):
    assert train(noise_ratio=0.5) == 0
    run = tmp_path / "run"
    matcher = load_matcher(model)
    pair_model, _ = load_pair_adapter(run / "pair-adapter", matcher)
    part, seen = load_data(settings_of(run)).training, np.load(run / "noise.npy")
    images, texts = matcher.encode_images(part.pictures), matcher.encode_texts(part.captions)
    with torch.no_grad():
        doubt = [-float(pair_model.logits(images[s : s + 1], texts[i : i + 1])) for i, s in enumerate(seen.tolist())]
    bad = [d for d, s, i in zip(doubt, seen, range(12), strict=True) if s != i]
    good = [d for d, s, i in zip(doubt, seen, range(12), strict=True) if s == i]
    wanted = np.mean([(b > g) + 0.5 * (b == g) for b in bad for g in good])
    assert report(run)["models"]["vacsr"]["wrong_pairs"]["one_minus_p"] == pytest.approx(wanted)


@pytest.mark.parametrize("stop_at", [3, 5])
def test_a_stopped_run_goes_on_and_ends_as_if_it_had_not_been_stopped(stop_at, train, tmp_path, monkeypatch, capsys):
    given = {"select": "validation", "noise_ratio": 0.5}
    assert train("whole", **given) == 0
    calls, terms = [], FrozenPairs.terms

    def stop(task, batch):
        calls.append(1)
        if len(calls) == stop_at:
            raise KeyboardInterrupt
        return terms(task, batch)

    with monkeypatch.context() as patch:
        patch.setattr(FrozenPairs, "terms", stop)
        assert train(**given) == 130
    assert f"step {stop_at - 1} is saved in" in capsys.readouterr().err
    assert train(**given) == 2
    assert train(resume=True, **given) == 0
    same(weights(tmp_path / "run"), weights(tmp_path / "whole"))
    assert figures(tmp_path / "run") == figures(tmp_path / "whole")
    journals = [read_journal(tmp_path / name / "run" / "selection.jsonl") for name in ("run", "whole")]
    assert journals[0] == journals[1]
    assert [line["step"] for line in journals[0]] == [2, 4, 6]


def test_a_stop_between_a_checkpoint_and_its_measuring_is_made_good(train, tmp_path, monkeypatch):
    assert train("whole", select="validation") == 0
    with monkeypatch.context() as patch:
        patch.setattr("litotes.train.selection.Selection.__call__", _stop)
        assert train(select="validation") == 130
    assert not (tmp_path / "run" / "run" / "selection.jsonl").exists()
    assert train(select="validation", resume=True) == 0
    same(weights(tmp_path / "run"), weights(tmp_path / "whole"))
    both = [read_journal(tmp_path / name / "run" / "selection.jsonl") for name in ("run", "whole")]
    assert both[0] == both[1]


def _stop(*_, **__):
    raise KeyboardInterrupt


def test_the_best_step_on_the_validation_pictures_is_kept(train, tmp_path, monkeypatch, capsys):
    scores = iter([3.0, 9.0, 9.0])
    monkeypatch.setattr(pair_training, "recalls", lambda *_: {"rsum": next(scores)})
    assert train(select="validation") == 0
    run = tmp_path / "run"
    assert report(run)["models"]["vacsr"]["kept"] == {"step": 4, "validation_rsum": 9.0}
    assert "kept: step 4" in (run / "report.html").read_text()
    assert "selected on the pictures that are measured here" in " ".join(capsys.readouterr().out.split())
    kept = load_file(run / "run" / "best" / "weights.safetensors")
    same(weights(run), kept)
    last = load_file(run / "run" / "checkpoint-000006" / "weights.safetensors")
    assert any(not torch.equal(kept[name], last[name]) for name in kept)


def test_a_finished_run_is_only_measured_again(train, tmp_path, monkeypatch):
    assert train() == 0
    first = figures(tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(FrozenPairs, "terms", _stop)
        assert train(resume=True) == 0
    assert figures(tmp_path / "run") == first


def test_other_settings_or_pairs_are_no_way_to_go_on(train, tmp_path, pairs, capsys):
    assert train() == 0
    capsys.readouterr()
    assert train(resume=True, kl_weight=0.1, noise_ratio=0.5) == 2
    message = capsys.readouterr().err
    assert "--kl-weight = 0.1 (was 0.0005)" in message
    assert "--noise-ratio = 0.5 (was 0.0)" in message
    rows = list(csv.reader(pairs.open(newline="", encoding="utf-8")))[1:]
    other = write(
        pairs.parent / "other.csv", [(path, caption + "!") for path, caption in rows], ("filepath", "caption")
    )
    assert train(resume=True, train_data=other) == 2
    assert "rows = " in capsys.readouterr().err


def test_it_trains_on_top_of_a_mounted_adapter_and_belongs_to_it(train, model, tmp_path):
    matcher = load_matcher(model)
    add_lora(matcher.encoder, LoraSettings(rank=2), seed=3)
    with torch.no_grad():
        for name, parameter in matcher.encoder.named_parameters():
            if "lora_B" in name:
                parameter.normal_(generator=torch.Generator().manual_seed(1), std=0.5)
    save_adapter(matcher, LoraSettings(rank=2), tmp_path / "hanclip")
    assert train(adapter=tmp_path / "hanclip") == 0
    side = read_pair_adapter(tmp_path / "run" / "pair-adapter")
    assert side.adapter_sha256 == matcher.adapter_sha256
    assert side.features_sha256 == matcher.fingerprint
    assert "hanclip" in report(tmp_path / "run")["models"]["cosine"]["adapter"]
    load_pair_adapter(tmp_path / "run" / "pair-adapter", matcher)
    with pytest.raises(UserError, match="no LoRA adapter on the model"):
        load_pair_adapter(tmp_path / "run" / "pair-adapter", load_matcher(model))


@pytest.fixture
def asked(pairs):
    """Captions and questions about the drawn pictures, as files."""
    rows = list(csv.reader(pairs.open(newline="", encoding="utf-8")))[1:]
    captions = write(pairs.parent / "asked.csv", rows[:8], ("filepath", "caption"))
    questions = [(path, 0, text, rows[i + 1][1], text, rows[i + 2][1], "positive")
                 for i, (path, text) in enumerate(rows[:6])]  # fmt: skip
    columns = ("image_path", "correct_answer", *(f"caption_{i}" for i in range(4)), "correct_answer_template")
    return {"retrieval": captions, "choice": write(pairs.parent / "mcq.csv", questions, columns)}


def test_the_adapter_of_pairs_is_what_evaluate_takes(train, model, asked, tmp_path, capsys):
    assert train() == 0
    folder, out = tmp_path / "run" / "pair-adapter", tmp_path / "result.json"
    given = {"model": model, "pair_adapter": folder, "ks": "1,2", "output": out, **asked}
    assert litotes("evaluate", **given) == 0
    record = json.loads(out.read_text())
    assert record["pair_adapter"]["weights_sha256"] == read_pair_adapter(folder).weights_sha256
    assert "vacsr on variational" in record["adapter"]
    assert set(record["suites"]) == {"mcq", "retrieval", "selective"}
    assert set(record["base"]["suites"]) == {"mcq", "retrieval"}
    matcher = load_matcher(model)
    pair_model, _ = load_pair_adapter(folder, matcher)
    data = read_pairs(asked["retrieval"])
    images, texts = matcher.encode_images(data.pictures), matcher.encode_texts(data.captions)
    with torch.no_grad():
        table = pair_model.logits(images, texts)
    for way, scores in (("t2i", table.T), ("i2t", table)):
        rank = (scores >= scores.diagonal()[:, None]).sum(dim=1)
        assert record["suites"]["retrieval"][way]["2"] == pytest.approx(float((rank <= 2).double().mean()))
    # Options 0 and 2 are one and the same text: never strictly the best, whatever their places in a product.
    assert record["suites"]["mcq"]["total"] == record["base"]["suites"]["mcq"]["total"] == 0
    first = np.mean([max(table[i, i + 1 : i + 3].tolist()) <= float(table[i, i]) for i in range(6)])
    assert record["suites"]["mcq"]["total_if_ties_go_to_first"] == pytest.approx(first)
    assert "AURC by σ" in capsys.readouterr().out
    assert litotes("evaluate", **given) == 0  # the same again replaces its own result
    other = {key: value for key, value in given.items() if key != "pair_adapter"}
    assert litotes("evaluate", **other) == 2  # but no other does
    assert litotes("evaluate", **given, adapted_only=True, overwrite=True) == 0
    assert "base" not in json.loads(out.read_text())


def test_evaluate_refuses_an_adapter_of_pairs_where_it_does_not_belong(train, model, asked, tmp_path, capsys):
    assert train() == 0
    folder = tmp_path / "run" / "pair-adapter"
    given = {"model": model, "retrieval": asked["retrieval"], "ks": "1,2", "output": tmp_path / "result.json"}
    assert litotes("evaluate", **given, pair_adapter=folder, valse=asked["retrieval"]) == 2
    assert "--pair-adapter with --valse" in capsys.readouterr().err
    assert litotes("evaluate", **given, pair_adapter=tmp_path) == 2
    assert "without pair_adapter.json and pair_adapter.safetensors" in capsys.readouterr().err
    other = tiny_model(tmp_path / "other", ["a ball", "a box"], seed=5)
    assert litotes("evaluate", **given | {"model": other}, pair_adapter=folder) == 2
    assert "for an adapter of pairs trained on" in capsys.readouterr().err
    assert litotes("evaluate", **given, adapted_only=True) == 2
    assert "--adapted-only without --adapter or --pair-adapter" in capsys.readouterr().err


def test_tables_of_their_own_validate_and_measure(train, pairs, tmp_path):
    rows = list(csv.reader(pairs.open(newline="", encoding="utf-8")))[1:]
    columns = ("filepath", "caption")
    parts = {name: write(pairs.parent / f"{name}.csv", part, columns)
             for name, part in (("a", rows[:10]), ("b", rows[10:14]), ("c", rows[14:]))}  # fmt: skip
    given = {key: value for key, value in SHORT.items() if key != "val_fraction"}
    assert train(train_data=parts["a"], val_data=parts["b"], retrieval=parts["c"], select="validation", **given) == 0
    found = report(tmp_path / "run")["models"]["vacsr"]
    assert found["suites"]["retrieval"]["n_images"] == 4
    found = report(tmp_path / "run")
    assert found["notes"] == notes_of_all(found["models"])
    assert train("both", train_data=parts["a"], val_data=parts["a"], **given) == 2


def test_missing_and_broken_pictures_are_left_out_where_asked(train, pairs, tmp_path, capsys):
    rows = list(csv.reader(pairs.open(newline="", encoding="utf-8")))[1:]
    (pairs.parent / "cut.png").write_bytes((pairs.parent / rows[0][0]).read_bytes()[:60])
    odd = [*rows, ("cut.png", "a cut ball"), ("gone.png", "a lost ball")]
    listed = write(pairs.parent / "odd.csv", odd, ("filepath", "caption"))
    assert train(train_data=listed) == 2
    assert "1 of 20 pictures are missing" in capsys.readouterr().err
    assert train(train_data=listed, allow_missing=1, broken_pictures="skip") == 0
    found = report(tmp_path / "run")
    assert {record["n_skipped"] for record in found["models"].values()} == {2}
    assert found["notes"][0].startswith("2 of 20 pictures are left out")
    assert train("clean") == 0
    same(weights(tmp_path / "run"), weights(tmp_path / "clean"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"noise_index": "short.npy"}, "with 11 captions"),
        ({"noise_index": "far.npy"}, "0 to 11: the training set has 12 pictures"),
        ({"noise_index": "fine.npy", "noise_sha256": "0" * 64}, "with SHA-256"),
        ({"noise_index": "none.npy"}, "no file"),
        ({"noise_ratio": 1.5}, "a share from 0 to 1"),
        ({"noise_unit": "image"}, "--noise-unit without noise"),
        ({"noise_index": "fine.npy", "noise_ratio": 0.2}, "--noise-index with --noise-ratio"),
        ({"noise_sha256": "0" * 64}, "--noise-sha256 without a file"),
        ({"select": "validation", "save_frequency": 0}, "checkpoints to choose among"),
        ({"any_base": True}, "--any-base without --adapter"),
        ({"adapter": "nowhere"}, "check the path of the adapter"),
        ({"model": "nowhere"}, "nowhere"),
        ({"method": "sigmoid", "kl_weight": 0.1}, "--kl-weight with the method sigmoid"),
        ({"repeats": "plain"}, "--repeats with the method vacsr"),
        ({"method": "infonce", "scorer": "cosine"}, "--hidden, --latent, --decoder-hidden with no adapter"),
        ({"method": "sigmoid", "mixture": "per_pair"}, "--mixture with an adapter without a distribution"),
        ({"scorer": "deterministic"}, "vacsr on the variational adapter"),
        ({"layout": "separate", "mixture": "per_pair"}, "the head of the mixture reads the one trunk"),
        ({"drop_epochs": "3"}, "--drop-epochs or --drop-factor with --schedule cosine"),
        ({"warmup": 6}, "a run of 6 steps, whose rate would never reach its peak"),
        ({"batch_size": 1}, "at least one step with two pairs"),
        ({"val_data": "pairs.csv"}, "one of them"),
        ({"lr": 0}, "--lr"),
    ],
)
def test_what_cannot_be_done_is_told_before_the_model_is_loaded(options, told, train, tmp_path, monkeypatch, capsys):
    for name, array in (("short", np.arange(11)), ("far", np.arange(12) + 1), ("fine", np.arange(12))):
        save_noise(tmp_path / f"{name}.npy", array)
    monkeypatch.setattr(pair_training, "load_backbone", None)
    files = ("noise_index", "adapter", "model", "val_data")
    assert train(**{key: tmp_path / value if key in files else value for key, value in options.items()}) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


def test_an_index_for_the_whole_table_is_refused_with_the_way_out(train, tmp_path, capsys):
    save_noise(tmp_path / "whole.npy", np.arange(18))
    assert train(noise_index=tmp_path / "whole.npy") == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "with 18 captions expected: 12, as in the training set" in message
    assert "--val-data" in message


def test_every_setting_of_adapter_and_loss_is_an_option_with_the_same_default_and_choices():
    hints = get_type_hints(Settings)
    for config, skipped, other in (
        (
            AdapterConfig,
            {"features"},
            {
                "temperature": "gumbel_temperature",
                "choice": "gumbel_choice",
                "spread": "uncertainty_spread",
                "summary": "uncertainty_summary",
            },
        ),
        (VacsrConfig, set(), {}),
    ):
        kinds = get_type_hints(config)
        for field in fields(config):
            if field.name in skipped:
                continue
            option = other.get(field.name, field.name)
            assert getattr(Settings, option) == field.default, option
            assert hints[option] == kinds[field.name], option
    assert method_of(settings(), 512).adapter == AdapterConfig(512)
    assert method_of(settings(), 512).vacsr == VacsrConfig()
    assert {name for part in described(Settings) for name in part.meanings} == {
        field.name for field in fields(Settings)
    }


def test_the_loop_is_as_the_options_say():
    loop = loop_of(settings("--epochs", "3", "--batch-size", "10", "--wd", "0.1", "--seed", "4"), 100)
    assert (loop.epochs, loop.batch_size, loop.weight_decay, loop.seed, loop.warmup) == (3, 10, 0.1, 4, 3)
    assert (loop.schedule, loop.optimizer, loop.clip_norm) == ("cosine", "adamw", 2.0)
    paper = loop_of(settings("--schedule", "step", "--drop-epochs", "3,5", "--optimizer", "adamp"), 100)
    assert (paper.schedule, paper.drop_epochs, paper.drop_factor, paper.optimizer) == ("step", (3, 5), 0.1, "adamp")
    assert loop_of(settings("--steps", "900"), 100).warmup == 50
    assert loop_of(settings("--steps", "900", "--warmup", "0"), 100).warmup == 0


def recipe_files(pytestconfig):
    return sorted((pytestconfig.rootpath / "configs" / "vacsr").iterdir())


def head_of(file):
    return [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("#")]


def test_every_recipe_file_loads_names_its_own_command_and_says_what_to_expect(pytestconfig):
    files = recipe_files(pytestconfig)
    assert len(files) == 20
    for file in files:
        found = settings("--config", str(file))
        method, loop = method_of(found, 512), loop_of(found, 100_000)
        assert method.method == found.method
        assert loop.lr == found.lr
        head = head_of(file)
        assert f"litotes train vacsr --config configs/vacsr/{file.name} " in " ".join(head)
        assert any(line.startswith("# expected  ") for line in head)


# Of each file of the paper's rows: what it changes in coco-b32.toml, and a figure that stands in its head.
PAPER = {
    "coco-b32": ({}, "541.4"),
    "coco-b16": ({}, "551.8"),
    "coco-b32-noise20": ({"noise_ratio": 0.2}, "539.0"),
    "coco-b32-noise50": ({"noise_ratio": 0.5}, "534.2"),
    "coco-b32-sigmoid": ({"method": "sigmoid", "scorer": "cosine"}, "537.0"),
    "coco-b32-no-kl": ({"kl_weight": 0.0}, "40.1"),
    "coco-b32-no-sigmoid": ({"variance": "exp"}, "40.1"),
    "coco-b32-no-sigma": ({"sigma_positive_weight": 0.0, "sigma_negative_weight": 0.0}, "39.8"),
    "coco-b32-k1": ({"components": 1}, "39.6"),
    "coco-b32-k3": ({"components": 3}, "not at hand"),
    "coco-b32-k4": ({"components": 4}, "not at hand"),
    "coco-b32-nh2": ({"hard_negatives": 2}, "not at hand"),
    "coco-b32-nh4": ({"hard_negatives": 4}, "not at hand"),
}


def test_the_files_of_the_papers_rows_are_its_recipe_changed_in_one_thing_and_headed_with_its_figure(pytestconfig):
    files = {file.stem: file for file in recipe_files(pytestconfig) if file.name.startswith("coco-")}
    assert files.keys() == PAPER.keys()
    first = vars(settings("--config", str(files["coco-b32"])))
    for name, (change, figure) in PAPER.items():
        found = settings("--config", str(files[name]))
        assert {key: value for key, value in vars(found).items() if value != first[key]} == change, name
        head = head_of(files[name])
        start = next(number for number, line in enumerate(head) if line.startswith("# expected  "))
        assert figure in " ".join(head[start:]), name
        loop = loop_of(found, 566_435)
        assert loop == replace(RECIPE, save_every=4426), name
        assert (method_of(found, found.dimension).adapter.features, found.select) == (1024, "validation")
    model = next(line for line in head_of(files["coco-b16"]) if line.startswith("# model"))
    assert "clip-vit-base-patch16" in model


def test_the_files_of_noise_and_controls_differ_from_the_first_in_that_alone(pytestconfig):
    folder = pytestconfig.rootpath / "configs" / "vacsr"
    first = vars(settings("--config", str(folder / "frozen-clip.toml")))

    def others(name):
        found = vars(settings("--config", str(folder / f"frozen-clip-{name}.toml")))
        return {key: value for key, value in found.items() if value != first[key]}

    assert others("noise20") == {"noise_ratio": 0.2}
    assert others("noise50") == {"noise_ratio": 0.5}
    assert others("sigmoid") == {"method": "sigmoid", "scorer": "deterministic"}
    assert others("infonce") == {"method": "infonce", "scorer": "deterministic"}


def test_a_collapsed_or_saturated_distribution_is_told():
    fine = PairDiagnostics(9, 3, -2.0, 0.0, 2.0, 0.0, (0.5, 0.5), (0.5, 0.5), (0.4, 0.6), 0.2)
    assert signs(fine) == []
    assert signs(None) == []
    (idle,) = signs(fine._replace(weights=(0.99, 0.01)))
    assert idle.startswith("component 1 of 2 is idle")
    (saturated,) = signs(fine._replace(at_bound=0.25))
    assert saturated.startswith("25.0% of the log-variances are at the ends of their range")


def test_a_command_named_by_two_words_is_told_from_the_first_alone():
    assert parse("train vacsr", Settings, words(model="m", train_data="t", output="o")).method == "vacsr"
