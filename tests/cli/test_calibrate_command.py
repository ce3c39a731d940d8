"""``litotes calibrate``: a table in, a calibration beside the adapter, probabilities in evaluate; what is refused."""

import csv
import json
import shutil

import pytest
import torch
from drawn_table import litotes, pictures, table, write

from litotes.cli.calibrating import _no_better
from litotes.data.pairs import read_pairs, split_by_picture
from litotes.errors import UserError
from litotes.metrics.answered_pairs import answered_pairs
from litotes.metrics.calibration import brier, reliability
from litotes.metrics.calibrators import fit_scaling
from litotes.models.matcher import load_matcher
from litotes.models.pair_adapter import new_pair_model, read_pair_adapter, save_pair_adapter
from litotes.models.pair_calibration import CALIBRATION, load_calibration
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import AdapterConfig
from tiny import DIMENSION, tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIG = AdapterConfig(features=DIMENSION, hidden=8, latent=6, decoder_hidden=4)
COUNT = 16


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return table(tmp_path_factory.mktemp("drawn"), count=COUNT, columns=("filepath", "caption"))


@pytest.fixture(scope="module")
def clip(pairs, tmp_path_factory):
    with pairs.open(newline="", encoding="utf-8") as file:
        captions = [row["caption"] for row in csv.DictReader(file)]
    return tiny_model(tmp_path_factory.mktemp("model") / "clip", captions)


@pytest.fixture
def adapter(clip, tmp_path):
    folder = tmp_path / "pair-adapter"
    matcher = load_matcher(clip)
    save_pair_adapter(
        new_pair_model("variational", CONFIG, seed=1), "variational", CONFIG, matcher, {"method": "x"}, folder
    )
    return folder


@pytest.fixture
def calibrate(clip, pairs, adapter):
    def run(**options):
        return litotes("calibrate", **({"model": clip, "pair_adapter": adapter, "data": pairs} | options))

    return run


def halves(clip, pairs, seed=0, population="balanced"):
    """Answers of both parts, by the adapter of the fixture."""
    matcher, scorer = load_matcher(clip), PairScorer(new_pair_model("variational", CONFIG, seed=1))
    for part in split_by_picture(read_pairs(pairs), 0.5, seed, COUNT):
        scores = scorer.scores(matcher.encode_images(part.pictures), matcher.encode_texts(part.captions))
        yield answered_pairs(scores, part.owners.tolist(), population, seed)


@pytest.fixture(scope="module")
def seed(clip, pairs):
    """A split whose first part this untrained adapter happens to rank better than chance, so that it can be fitted."""
    for seed in range(50):
        fitted, _ = halves(clip, pairs, seed)
        try:
            fit_scaling(fitted.scores, fitted.right, offset=True)
        except UserError:
            continue
        return seed
    raise AssertionError("no such split")


def test_it_is_fitted_to_one_half_and_measured_on_the_other(calibrate, clip, pairs, seed, adapter, capsys):
    assert calibrate(pairs="balanced", seed=seed) == 0
    found = load_calibration(adapter, read_pair_adapter(adapter).weights_sha256)
    fitted, measured = halves(clip, pairs, seed)
    expected = fit_scaling(fitted.scores, fitted.right, offset=True)
    assert found.calibrator.temperature == pytest.approx(expected.temperature, rel=1e-3)
    assert found.calibrator.offset == pytest.approx(expected.offset, rel=1e-3, abs=1e-4)
    told = found.fitted_on["measured"]
    assert told["before"]["ece"] == pytest.approx(reliability(measured.scores.sigmoid(), measured.right).ece, abs=1e-5)
    assert told["after"]["ece"] == pytest.approx(reliability(expected(measured.scores), measured.right).ece, abs=1e-3)
    shown = " ".join(capsys.readouterr().out.split())
    assert "fitted to 16 answers about 8 pictures (50.0% right)" in shown
    assert f"{told['before']['ece']:.1%} before and {told['after']['ece']:.1%} after" in shown
    assert "only 8 of the fitted answers" in shown


def test_evaluate_tells_the_reliability_of_both_and_changes_no_ranking(calibrate, clip, pairs, seed, adapter, tmp_path):
    def evaluated(name):
        options = {"model": clip, "pair_adapter": adapter, "retrieval": pairs, "output": tmp_path / name, "ks": "1,2"}
        assert litotes("evaluate", adapted_only=True, **options) == 0
        return json.loads((tmp_path / name).read_text())["suites"]

    before = evaluated("before.json")
    assert set(before["selective"]["reliability"]) == {"population", "n", "p"}
    assert calibrate(pairs="balanced", seed=seed) == 0
    after = evaluated("after.json")
    told = after["selective"]["reliability"]
    assert told["population"] == "balanced" and told["n"] == 2 * COUNT
    assert {"ece", "brier", "confidence", "frequency"} <= set(told["calibrated"])
    found = load_calibration(adapter, read_pair_adapter(adapter).weights_sha256)
    matcher, data = load_matcher(clip), read_pairs(pairs)
    scores = PairScorer(new_pair_model("variational", CONFIG, seed=1)).scores(
        matcher.encode_images(data.pictures), matcher.encode_texts(data.captions)
    )
    answers = answered_pairs(scores, data.owners.tolist(), "balanced")
    for name, p in (("p", answers.scores.sigmoid()), ("calibrated", found(answers.scores))):
        assert told[name]["brier"] == pytest.approx(brier(p, answers.right), abs=1e-5)
    assert told["p"]["confidence"] != told["calibrated"]["confidence"]
    assert after["retrieval"]["rsum"] == before["retrieval"]["rsum"]


def test_a_calibration_is_not_replaced_unasked_and_goes_with_its_adapter(calibrate, clip, pairs, seed, adapter, capsys):
    assert calibrate(pairs="balanced", seed=seed) == 0
    first = (adapter / CALIBRATION).read_bytes()
    assert calibrate(pairs="balanced", method="isotonic") == 2
    assert "--overwrite" in capsys.readouterr().err and (adapter / CALIBRATION).read_bytes() == first
    assert calibrate(pairs="balanced", method="isotonic", overwrite=True) == 0
    assert json.loads((adapter / CALIBRATION).read_text())["method"] == "isotonic"
    # Of another adapter's weights it is refused, by whatever reads it.
    other = adapter.with_name("other")
    save_pair_adapter(
        new_pair_model("variational", CONFIG, seed=2), "variational", CONFIG, load_matcher(clip), {}, other
    )
    shutil.copy(adapter / CALIBRATION, other / CALIBRATION)
    assert litotes("evaluate", model=clip, pair_adapter=other, retrieval=pairs, output=other / "r.json", ks="1") == 2
    assert "fitted to an adapter of weights" in capsys.readouterr().err


def test_pictures_that_the_adapter_was_trained_on_are_refused(calibrate, clip, pairs, seed, adapter, tmp_path, capsys):
    """The very table, a part of it under other names; and an adapter that does not tell is told."""
    assert calibrate(pairs="balanced", seed=seed) == 0
    assert "does not tell which pictures it was trained on" in " ".join(capsys.readouterr().out.split())
    short = {"method": "sigmoid", "scorer": "cosine", "val_fraction": 0.25, "batch_size": 4, "steps": 2, "ks": "1"}
    assert litotes("train vacsr", model=clip, train_data=pairs, output=tmp_path / "run", **short) == 0
    trained = tmp_path / "run" / "pair-adapter"
    told = json.loads((trained / "trained_on.json").read_text())
    part, held = split_by_picture(read_pairs(pairs), 0.25, 0, COUNT)
    assert told["pictures"] == sorted(part.pictures.digest(i)[:16] for i in range(len(part.pictures)))
    assert (told["split_sha256"], told["captions"]) == (part.fingerprint(), 12)
    capsys.readouterr()
    assert calibrate(pair_adapter=trained) == 2
    assert f"12 of 16 pictures that {trained} was trained on: " in (said := capsys.readouterr().err)
    assert "the very table" not in said and not (trained / CALIBRATION).exists()

    def others(name, data):
        (folder := tmp_path / name).mkdir()
        paths = [shutil.copy(data.pictures.path(i), folder / f"again {i}.png") for i in range(len(data.pictures))]
        rows = [(paths[owner].name, text) for text, owner in zip(data.captions, data.owners, strict=True)]
        return write(folder / "pairs.csv", rows, ("filepath", "caption"))

    assert calibrate(pair_adapter=trained, data=others("same", part)) == 2
    assert "was trained on: the very table" in capsys.readouterr().err
    assert calibrate(pair_adapter=trained, data=others("held", held), pairs="balanced") in (0, 2)  # it may not fit
    assert "was trained on" not in "".join(capsys.readouterr())
    (trained / "trained_on.json").write_text('{"pictures": 3}')
    assert calibrate(pair_adapter=trained) == 2
    assert "which does not tell which pictures" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ((0.2, 0.1), (0.1, 0.05), []),
        ((0.1, 0.1), (0.1, 0.1), ["no better than before"]),
        ((0.109, 0.116), (0.102, 0.12), ["makes the Brier score (0.1160 → 0.1200) worse"]),
        ((0.1, 0.1), (0.2, 0.3), ["the expected calibration error (10.00% → 20.00%) and the Brier score (0.1"]),
    ],
)
def test_what_a_calibration_makes_worse_is_told(before, after, told):
    said = _no_better(*({"ece": ece, "brier": score} for ece, score in (before, after)))
    assert len(said) == len(told) and all(part in line for part, line in zip(told, said, strict=True))


def test_too_few_pictures_and_odd_shares_are_refused_before_the_model_is_read(calibrate, tmp_path, capsys):
    rows = pictures(tmp_path / "few", 3)
    few = write(tmp_path / "few" / "pairs.csv", [row[:2] for row in rows], ("filepath", "caption"))
    assert calibrate(data=few) == 2
    assert "3 different pictures" in capsys.readouterr().err
    assert calibrate(measure_fraction=1.0) == 2
    assert "--measure-fraction 1.0" in capsys.readouterr().err
    assert calibrate(any_base=True) == 2


def test_answers_that_are_all_wrong_leave_nothing_behind(calibrate, adapter, clip, capsys):
    with torch.no_grad():
        model = new_pair_model("variational", CONFIG, seed=1)
        for head in (*model.mean_heads, model.decoder[0]):  # one logit for every pair: all searches tie
            head.weight.zero_()
    save_pair_adapter(model, "variational", CONFIG, load_matcher(clip), {}, adapter)
    assert calibrate() == 2
    assert "none were right" in capsys.readouterr().err
    assert not (adapter / CALIBRATION).exists()
