"""A saved model of pair scores comes back bit for bit on what it was trained on, and nowhere else."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from litotes.data.images import sha256_of_file
from litotes.errors import UserError
from litotes.metrics.calibrators import Scaling
from litotes.models.lora import LoraSettings, adapted_layers, add_lora
from litotes.models.pair_adapter import (
    SIDE_FILE,
    WEIGHTS,
    load_pair_adapter,
    new_pair_model,
    read_pair_adapter,
    save_pair_adapter,
)
from litotes.models.pair_calibration import CALIBRATION, PairCalibration, load_calibration, save_calibration
from litotes.models.variational import AdapterConfig
from tiny import DIMENSION, tiny_matcher

CONFIG = AdapterConfig(features=DIMENSION, hidden=8, latent=6, decoder_hidden=4, log_var="log_sigmoid", components=3)
TEXTS = ("a cat", "no cat")


@pytest.fixture
def matcher(tmp_path):
    return tiny_matcher(tmp_path / "tokenizer", TEXTS)


def saved(matcher, folder, kind="variational", config=CONFIG, seed=4):
    model = new_pair_model(kind, config, seed=seed)
    return model, save_pair_adapter(model, kind, config, matcher, {"method": "vacsr"}, folder / "pair-adapter")


@pytest.mark.parametrize("kind", ["variational", "deterministic", "cosine"])
def test_a_saved_model_scores_as_before_and_knows_what_it_belongs_to(kind, matcher, tmp_path):
    model, record = saved(matcher, tmp_path, kind)
    back, side = load_pair_adapter(tmp_path / "pair-adapter", matcher)
    image, text = torch.randn(3, DIMENSION), torch.randn(4, DIMENSION)
    assert torch.equal(back.logits(image, text), model.logits(image, text))
    assert not any(p.requires_grad for p in back.parameters())
    assert not back.training
    assert side == record == read_pair_adapter(tmp_path / "pair-adapter")
    assert (side.kind, side.config, side.objective) == (kind, CONFIG, {"method": "vacsr"})
    assert (side.base_sha256, side.adapter_sha256, side.features_sha256) == (matcher.base, None, matcher.fingerprint)
    assert [path.name for path in tmp_path.glob("pair-adapter*")] == ["pair-adapter"]


def test_the_cosine_starts_at_its_scale_and_minus_it():
    model = new_pair_model("cosine", CONFIG, scale=7.0)
    assert float(model.log_scale.exp().detach()) == pytest.approx(7)
    assert float(model.bias.detach()) == -7


def test_a_calibration_stays_with_its_weights_and_goes_with_others(matcher, tmp_path):
    _, side = saved(matcher, tmp_path)
    folder = tmp_path / "pair-adapter"
    found = PairCalibration("temperature", Scaling(2.0), "found", side.weights_sha256)
    save_calibration(found, folder)
    saved(matcher, tmp_path)
    assert load_calibration(folder, side.weights_sha256) == found
    saved(matcher, tmp_path, seed=5)
    assert not (folder / CALIBRATION).exists()
    (folder / CALIBRATION).write_text("{")  # one that nobody can read
    saved(matcher, tmp_path, seed=5)
    assert not (folder / CALIBRATION).exists()


def test_saving_again_replaces_the_folder_whole_and_a_failure_leaves_the_first(matcher, tmp_path, monkeypatch):
    first, _ = saved(matcher, tmp_path)
    second, _ = saved(matcher, tmp_path, seed=5)
    image = torch.randn(2, DIMENSION)
    back, _ = load_pair_adapter(tmp_path / "pair-adapter", matcher)
    assert torch.equal(back.logits(image, image), second.logits(image, image))
    assert not torch.equal(first.logits(image, image), second.logits(image, image))

    def full(*_):
        raise OSError(28, "No space left on device", "disk")

    monkeypatch.setattr("litotes.models.pair_adapter.save_tensors", full)
    with pytest.raises(OSError, match="No space left"):
        saved(matcher, tmp_path, seed=6)
    back, _ = load_pair_adapter(tmp_path / "pair-adapter", matcher)
    assert torch.equal(back.logits(image, image), second.logits(image, image))


def test_another_base_width_lora_adapter_or_vocabulary_is_refused(matcher, tmp_path):
    folder = tmp_path / "pair-adapter"
    saved(matcher, tmp_path)
    with pytest.raises(UserError, match=r"base model .* for an adapter of pairs trained on"):
        load_pair_adapter(folder, tiny_matcher(tmp_path / "other", TEXTS, seed=1))
    add_lora(matcher.encoder, LoraSettings(rank=2))
    with pytest.raises(UserError, match=r"got:\s+LoRA adapter \w{12} on the model\nexpected: no LoRA adapter"):
        load_pair_adapter(folder, matcher)
    saved(matcher, tmp_path)
    assert read_pair_adapter(folder).adapter_sha256 == matcher.adapter_sha256
    with pytest.raises(UserError, match=r"no LoRA adapter on the model[\s\S]*--adapter"):
        load_pair_adapter(folder, tiny_matcher(tmp_path / "tokenizer", TEXTS))
    layer = next(iter(adapted_layers(matcher.encoder).values()))
    with torch.no_grad():
        layer.lora_B["default"].weight.add_(1)
    with pytest.raises(UserError, match=r"LoRA adapter \w{12} on the model\nexpected: LoRA adapter"):
        load_pair_adapter(folder, matcher)


def test_another_picture_transform_is_refused(matcher, tmp_path):
    saved(matcher, tmp_path)
    matcher.preprocess = type(matcher.preprocess)(size=matcher.preprocess.size, mean=(0.1, 0.2, 0.3))
    with pytest.raises(UserError, match="another activation, vocabulary, context or picture transform"):
        load_pair_adapter(tmp_path / "pair-adapter", matcher)


def test_another_width_is_refused(matcher, tmp_path):
    saved(matcher, tmp_path, config=AdapterConfig(features=DIMENSION + 1, hidden=8))
    with pytest.raises(UserError, match=f"features of {DIMENSION + 1} numbers, beside a model of {DIMENSION}"):
        load_pair_adapter(tmp_path / "pair-adapter", matcher)


def edited(folder, change):
    path = folder / SIDE_FILE
    side = json.loads(path.read_text())
    change(side)
    path.write_text(json.dumps(side))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda side: side.update(format=2), "format 2"),
        (lambda side: side.update(kinds="x"), "did you mean 'kind'"),
        (lambda side: side["config"].update(hiden=3), "did you mean 'hidden'"),
        (lambda side: side["config"].update(layout="round"), "layout|of another kind"),
        (lambda side: side["config"].update(hidden=9), "weights that do not fit"),
        (lambda side: side.pop("base_sha256"), "base_sha256"),
        (lambda side: side.pop("config"), "without config"),
        (lambda side: side.update(config=[3]), "no JSON object with a config in it"),
        (lambda side: side["config"].update(hidden="wide"), "with a value of another kind"),
        (lambda side: side.update(weights_sha256="0" * 64), "SHA-256 differs"),
        (lambda side: side.update(kind="cosine"), "weights that do not fit"),
        (lambda side: side.update(kind="linear"), "linear"),
    ],
)
def test_a_side_file_that_does_not_fit_is_refused(change, told, matcher, tmp_path):
    saved(matcher, tmp_path)
    edited(tmp_path / "pair-adapter", change)
    with pytest.raises(UserError, match=told):
        load_pair_adapter(tmp_path / "pair-adapter", matcher)


def test_missing_cut_and_unsound_files_are_refused(matcher, tmp_path):
    folder = tmp_path / "pair-adapter"
    with pytest.raises(UserError, match=f"without {SIDE_FILE} and {WEIGHTS}"):
        load_pair_adapter(folder, matcher)
    saved(matcher, tmp_path)
    whole = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="SHA-256 differs"):
        load_pair_adapter(folder, matcher)
    (folder / SIDE_FILE).write_text("[]")
    with pytest.raises(UserError, match="the side file as litotes train vacsr writes it"):
        load_pair_adapter(folder, matcher)
    saved(matcher, tmp_path)
    weights = load_file(folder / WEIGHTS)
    weights["decoder.0.bias"][0] = float("nan")
    save_file(weights, folder / WEIGHTS)
    edited(folder, lambda side: side.update(weights_sha256=sha256_of_file(folder / WEIGHTS)))
    with pytest.raises(UserError, match=r"not finite, decoder\.0\.bias"):
        load_pair_adapter(folder, matcher)
