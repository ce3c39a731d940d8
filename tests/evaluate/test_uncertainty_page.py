"""What a page tells of an uncertainty: of a model with a distribution, without one, of results of earlier versions."""

import copy

import pytest
import torch
from evaluate_fakes import FakeEncoder

from litotes.errors import UserError
from litotes.evaluate.report import write_comparison_report
from litotes.evaluate.results import result_record
from litotes.evaluate.selective import SelectiveRetrieval
from litotes.evaluate.suite import run_suites
from litotes.evaluate.uncertainty_page import uncertainties
from litotes.metrics.calibrators import Scaling
from litotes.models.pair_adapter import new_pair_model
from litotes.models.pair_calibration import PairCalibration
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import AdapterConfig
from tiny import noise_pictures

N = 30
CAPTIONS = [f"caption {i}" for i in range(N)]


def record(kind, calibration=None):
    generator = torch.Generator().manual_seed(5)
    images = torch.randn(N, 6, generator=generator)
    texts = images + 1.2 * torch.randn(N, 6, generator=generator)
    encoder = FakeEncoder(
        {f"folder/p{i}": row.tolist() for i, row in enumerate(images)},
        {text: row.tolist() for text, row in zip(CAPTIONS, texts, strict=True)},
    )
    model = new_pair_model(kind, AdapterConfig(features=6, hidden=8, latent=5, decoder_hidden=4), seed=3)
    suite = SelectiveRetrieval(
        "selective", noise_pictures(N), CAPTIONS, range(N), PairScorer(model, calibration=calibration)
    )
    return result_record(encoder, run_suites(encoder, [suite]), dataset="set")


@pytest.fixture(scope="module")
def found():
    return record("variational", PairCalibration("scaling", Scaling(0.5, -1.0), "found", "ab"))


def test_each_order_is_held_against_one_minus_p_and_the_state_is_told(found):
    (one,) = uncertainties({"adapted": found})["selective"]
    text = " ".join(one.told)
    assert text.count("the order by σ is") == 2 and text.count("the order by total variance is") == 2
    result = found["suites"]["selective"]
    less = result["ways"]["i2t"]["sigma"]["less_one_minus_p"]
    assert f"{100 * less['difference']:+.2f}".replace("-", "−") in one.told[0]
    assert "log-variances from" in text and "weights of the components: 0.5, 0.5" in text
    titles = [chart.title for chart in one.charts]
    assert len(titles) == 5 and "R@1 by ten bins" in titles[0] and "what searches find first" in titles[4]
    assert all(name in str(one.charts[0].svg) for name in ("σ", "1 − p"))
    assert "calibrated, ECE" in str(one.charts[4].svg)


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(-0.02, -0.01, "is better than"), (0.01, 0.02, "is worse than"), (-0.01, 0.02, "is no better and no worse than")],
)
def test_the_verdict_follows_the_interval(found, low, high, told):
    changed = copy.deepcopy(found)
    for way in changed["suites"]["selective"]["ways"].values():
        way["sigma"]["less_one_minus_p"] = {"difference": (low + high) / 2, "low": low, "high": high}
    (one,) = uncertainties({"adapted": changed})["selective"]
    assert f"the order by σ {told} 1 − p" in one.told[0]


def test_a_model_without_a_distribution_has_charts_of_one_minus_p_alone():
    (one,) = uncertainties({"a": record("cosine")})["selective"]
    assert one.told == () and "σ" not in str(one.charts[0].svg) and len(one.charts) == 5


def test_results_of_an_earlier_version_still_make_a_page(found, tmp_path):
    older = copy.deepcopy(found["suites"]["selective"])
    for name in ("reliability", "diagnostics", "notes"):
        older.pop(name)
    for way in older["ways"].values():
        for values in way.values():
            if isinstance(values, dict):
                for name in ("bins", "curve", "less_one_minus_p", "partial_spearman"):
                    values.pop(name, None)
    assert uncertainties({"old": {"suites": {"selective": older}}}) == {}
    page = tmp_path / "page.html"
    write_comparison_report(page, tmp_path / "page.json", {"new": found})
    text = page.read_text(encoding="utf-8")
    assert "What the uncertainty of new is worth" in text and text.count("<svg") == 5


def test_details_that_are_no_bins_are_refused_by_their_place(found):
    changed = copy.deepcopy(found)
    changed["suites"]["selective"]["ways"]["t2i"]["sigma"]["bins"] = {"quality": "good"}
    with pytest.raises(UserError, match=r"suites\.selective of a, whose uncertainty cannot be shown"):
        uncertainties({"a": changed})
