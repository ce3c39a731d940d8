"""The calibration of an adapter: kept and read back, and every way in which its file can be wrong."""

import json

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.calibrators import Isotonic, Scaling
from litotes.models.pair_calibration import (
    CALIBRATION,
    PairCalibration,
    fit_calibrator,
    load_calibration,
    save_calibration,
)

SHA = "ab" * 32
FOUND = {
    "scaling": Scaling(0.5, -1.25),
    "temperature": Scaling(3.0),
    "isotonic": Isotonic((-1.0, 0.5, 2.0), (0.0, 0.25, 1.0)),
}


def calibration(method):
    return PairCalibration(method, FOUND[method], "found", SHA, {"answers": 10, "data": "val.csv"})


@pytest.mark.parametrize("method", FOUND)
def test_what_is_kept_is_read_back_and_gives_the_same_probabilities(method, tmp_path):
    save_calibration(calibration(method), tmp_path)
    found = load_calibration(tmp_path, SHA)
    assert found == calibration(method)
    logits = torch.linspace(-3, 3, 11)
    assert torch.equal(found(logits), FOUND[method](logits))
    assert json.loads((tmp_path / CALIBRATION).read_text())["method"] == method


def test_an_adapter_without_one_has_none(tmp_path):
    assert load_calibration(tmp_path, SHA) is None


def test_each_method_fits_what_it_says():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(500, generator=generator)
    right = torch.rand(500, generator=generator) < torch.sigmoid(2 * logits - 1)
    scaling, temperature, isotonic = (fit_calibrator(method, logits, right) for method in FOUND)
    assert scaling.offset == pytest.approx(-1, abs=0.35) and scaling.temperature == pytest.approx(0.5, rel=0.3)
    assert temperature.offset == 0 and isinstance(isotonic, Isotonic)


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("scaling", {"temperature": 0.0}),
        ("scaling", {"temperature": -1}),
        ("scaling", {"offset": "much"}),
        ("scaling", {"method": "platt"}),
        ("scaling", {"population": "some"}),
        ("scaling", {"format": 2}),
        ("scaling", {"slope": 1}),
        ("isotonic", {"scores": [0.5, 0.5, 2.0]}),
        ("isotonic", {"probabilities": [0.5, 0.25, 1.0]}),
        ("isotonic", {"probabilities": [0.0, 0.25, 1.5]}),
        ("isotonic", {"probabilities": [0.0, 1.0]}),
        ("isotonic", {"scores": [], "probabilities": []}),
    ],
)
def test_a_file_that_was_changed_is_refused_by_its_name(method, change, tmp_path):
    save_calibration(calibration(method), tmp_path)
    path = tmp_path / CALIBRATION
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UserError):
        load_calibration(tmp_path, SHA)


def test_cut_files_lost_keys_and_another_adapters_are_refused(tmp_path):
    path = save_calibration(calibration("scaling"), tmp_path)
    with pytest.raises(UserError, match="fitted to an adapter of weights abab"):
        load_calibration(tmp_path, "cd" * 32)
    text = path.read_text()
    path.write_text(text[:40])
    with pytest.raises(UserError, match=r"calibration\.json, which is no whole calibration: "):
        load_calibration(tmp_path, SHA)
    path.write_text("{}")
    with pytest.raises(UserError) as caught:
        load_calibration(tmp_path, SHA)
    assert caught.value.got == f"{path} without method"
    path.write_text(json.dumps({key: value for key, value in json.loads(text).items() if key != "offset"}))
    with pytest.raises(UserError, match=r"calibration\.json without offset"):
        load_calibration(tmp_path, SHA)
