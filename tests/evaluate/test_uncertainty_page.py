"""What a page tells of an uncertainty: of a model with a distribution, without one, of results of earlier versions."""

import copy

import pytest
import torch
from evaluate_fakes import FakeEncoder

from litotes.errors import UserError
from litotes.evaluate.notes import notes_of_all
from litotes.evaluate.report import write_comparison_report
from litotes.evaluate.results import result_record
from litotes.evaluate.sections import sections
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
    assert (
        len(titles) == 6
        and titles[5].startswith("How similarities lie")
        and "R@1 by ten bins" in titles[0]
        and "what searches find first" in titles[4]
    )
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
    assert not any("the order by" in sentence for sentence in one.told)
    assert "σ" not in str(one.charts[0].svg) and len(one.charts) == 6
    assert one.tables[1].columns == ("mAP@R", "mean 1 − p", "Pearson 1 − p", "Spearman 1 − p")


def test_the_first_items_stand_in_a_table_and_similarities_in_words(found):
    (one,) = uncertainties({"adapted": found})["selective"]
    result, (bins, table) = found["suites"]["selective"], one.tables
    known = result["ways"]["t2i"]["one_minus_p"]["bins"]
    figures = [known[key] for key in ("pearson_by_uncertainty", "pearson_by_index", "spearman")]
    wanted = tuple(f"{value:.2f}".replace("-", "−") for value in figures)
    assert dict(bins.rows)["Caption → picture, 1 − p"] == wanted and len(bins.rows) == 6
    assert [name for name, _ in table.rows] == [
        f"{way}, K = {k}" for way in ("Picture → caption", "Caption → picture") for k in (1, 5, 10)
    ]
    assert table.columns[:4] == ("mAP@R", "mean σ", "Pearson σ", "Spearman σ")
    assert table.columns[4:] == (
        "mean 1 − p",
        "Pearson 1 − p",
        "Spearman 1 − p",
    )
    told = result["firsts"]["t2i"]["sigma"]["5"]
    cells = (f"{told['mean']:.3f}", f"{told['pearson']:.2f}".replace("-", "−"))
    assert table.rows[4][1][1:3] == cells
    mean = result["similarities"]["others"]["mean"]
    assert any(
        "of 870 pairs without a label: " in line and f"mean {mean:.3g}".replace("-", "−") in line for line in one.told
    )


def test_models_side_by_side_have_their_similarities_over_each_other(found, tmp_path):
    parts = uncertainties({"VACSR": found, "sigmoid": record("deterministic"), "InfoNCE": record("cosine")})[
        "selective"
    ]
    assert [part.heading for part in parts[:3]] == [
        f"What the uncertainty of {name} is worth" for name in ("VACSR", "sigmoid", "InfoNCE")
    ]
    (chart,) = parts[3].charts
    assert parts[3].heading.startswith("How similarities lie")
    assert all(name in str(chart.svg) for name in ("VACSR", "sigmoid", "InfoNCE", "standard deviations"))
    page = tmp_path / "page.html"
    write_comparison_report(page, tmp_path / "page.json", {"a": found, "b": record("cosine")})
    assert page.read_text(encoding="utf-8").count("Uncertainty of the K first against mAP@R</h4>") == 2


def test_what_coco_tells_of_the_uncertainty_is_shown_as_that_of_other_searches(found):
    whole = {"suites": {"coco": {"task": "judged_retrieval", "doubt": found["suites"]["selective"]}}}
    (one,) = uncertainties({"adapted": whole})["coco"]
    assert one.heading == "What the uncertainty of adapted is worth" and one.tables and len(one.charts) == 6


def test_results_of_an_earlier_version_still_make_a_page(found, tmp_path):
    older = copy.deepcopy(found["suites"]["selective"])
    for name in ("reliability", "diagnostics", "notes", "firsts", "similarities"):
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
    assert "What the uncertainty of new is worth" in text and text.count("<svg") == 6


def test_details_that_are_no_bins_are_refused_by_their_place(found):
    changed = copy.deepcopy(found)
    changed["suites"]["selective"]["ways"]["t2i"]["sigma"]["bins"] = {"quality": "good"}
    with pytest.raises(UserError, match=r"suites\.selective of a, whose uncertainty cannot be shown"):
        uncertainties({"a": changed})


def test_what_rests_on_few_answers_says_so(found):
    """On the page's lines and in the notes of screen and page; of at least five of either outcome nothing is said."""
    few = copy.deepcopy(found)
    few["suites"]["selective"]["ways"]["i2t"]["error"] = (N - 1) / N
    few["suites"]["selective"]["ways"]["t2i"]["error"] = 5 / N
    (one,) = uncertainties({"adapted": few})["selective"]
    for line in one.told[:-1]:
        rests = "This rests on few searches: only 1 of 30 is right." in line
        assert rests == line.startswith("Picture → caption")
    notes = [note for note in notes_of_all({"adapted": few}) if "AUROC" in note]
    assert notes == ["selective: Picture → caption: only 1 of 30 is right, so that AURC and AUROC say little"]
    few["suites"]["selective"]["ways"]["i2t"]["error"] = 0.0
    assert any("only 0 of 30 are wrong" in note for note in notes_of_all({"adapted": few}))


def test_the_heading_of_searches_with_negated_captions_is_in_words(found):
    suites = {name: found["suites"]["selective"] for name in ("selective", "selective_neg", "selective_flickr30k")}
    assert [section.title for section in sections({"adapted": {"suites": suites}})] == [
        "Answering only where sure", "Answering only where sure: negated captions",
        "Answering only where sure: flickr30k"
    ]  # fmt: skip
