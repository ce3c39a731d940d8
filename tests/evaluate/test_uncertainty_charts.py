"""Charts of uncertainty as they stand in a page: where their lines run, what is written in them and told of them."""

import re

import pytest
import torch

from litotes.errors import UserError
from litotes.evaluate.charts import MODEL_COLOURS
from litotes.evaluate.uncertainty_charts import (
    bins_chart,
    histograms_chart,
    in_deviations,
    in_order,
    reliability_chart,
    risk_coverage_chart,
    sigma_by_group_chart,
)
from litotes.metrics.calibration import reliability
from litotes.metrics.histogram import histogram
from litotes.metrics.pair_groups import by_group, pair_groups


def lines(chart, colour):
    """Heights of the points of each line in a colour of the page, the first above 0: SVG counts downwards."""
    paths = re.findall(r'<path d="([^"]+)"[^>]*style="([^"]*)"', str(chart.svg))
    chosen = [d for d, style in paths if f"stroke: var(--model-{colour})" in style and "fill: none" in style]
    return [[-float(y) for _, y in re.findall(r"[ML] (\S+) (\S+)", d)] for d in chosen]


def sound(chart):
    text = str(chart.svg)
    assert text.startswith("<svg") and "viewBox" in text and chart.title and chart.alternative
    assert not any(colour in text for colour in MODEL_COLOURS)
    return text


def test_quality_falls_along_the_bins_as_given():
    values = [0.9, 0.7, 0.8, 0.2]
    chart = bins_chart({"sigma": values, "one_minus_p": values[::-1]}, "R@1", "bins")
    text = sound(chart)
    assert "σ" in text and "1 − p" in text and "stroke-dasharray" in text
    for colour, expected in ((1, values), (2, values[::-1])):
        heights = next(line for line in lines(chart, colour) if len(line) == 4)
        unit = [(h - min(heights)) / (max(heights) - min(heights)) for h in heights]
        assert unit == pytest.approx([(v - 0.2) / 0.7 for v in expected], abs=1e-4)
    assert chart.alternative == "Bins by σ, 1 − p"


def test_risk_runs_over_coverage():
    chart = risk_coverage_chart({"sigma": ([0.25, 0.5, 1.0], [0.0, 0.2, 0.4])}, "Error", "risk")
    heights = next(line for line in lines(chart, 1) if len(line) == 3)
    assert (heights[1] - heights[0]) == pytest.approx(heights[2] - heights[1], abs=1e-3) and heights[0] < heights[2]
    sound(chart)


def test_reliability_tells_the_error_before_and_after():
    p = torch.tensor([0.1, 0.2, 0.8, 0.9])
    right = torch.tensor([False, False, True, True])
    found = {"p": reliability(p, right, 2), "calibrated": reliability(right.float(), right, 2)._asdict()}
    chart = reliability_chart(found, "P(match)", "reliability")
    assert "p, ECE 15.0 %" in sound(chart) and "calibrated, ECE 0.0 %" in chart.alternative


def test_similarities_of_several_methods_lie_over_each_other():
    values = torch.randn(400, generator=torch.Generator().manual_seed(0))
    chart = histograms_chart({"VACSR": histogram(values), "InfoNCE": histogram(3 * values + 1)}, "All pairs", "h")
    assert "VACSR" in sound(chart) and "InfoNCE" in str(chart.svg)
    tall, wide = (max(max(line) - min(line) for line in lines(chart, colour)) for colour in (1, 2))
    assert tall == pytest.approx(3 * wide, rel=0.01)  # of equal area, a third as high where three times as wide


def test_scores_of_any_scale_lie_alike_about_their_mean_in_their_deviations():
    values = torch.randn(500, generator=torch.Generator().manual_seed(1))
    first, second = (in_deviations(histogram(some)) for some in (values, 40 * values - 7))
    assert first["edges"] == pytest.approx(second["edges"], abs=1e-4) and first["mean"] == 0
    steps = [(a + b) / 2 for a, b in zip(first["edges"], first["edges"][1:], strict=False)]
    assert sum(share * at for share, at in zip(first["shares"].tolist(), steps, strict=True)) == pytest.approx(
        0, abs=0.05
    )
    assert in_deviations(histogram(torch.ones(3)))["edges"][0] == -0.5


def test_groups_stand_below_each_other_and_an_empty_one_is_left_out():
    scores = torch.arange(9.0).view(3, 3)
    eye = torch.eye(3, dtype=torch.bool)
    groups = pair_groups(scores, eye, eye)
    found = {"sigma": by_group(scores, groups), "one_minus_p": by_group(-scores, groups)}
    chart = sigma_by_group_chart(found, "σ by group", "groups")
    text = sound(chart)
    assert "wrong, hard" in text and "true, unlabelled" not in text
    assert "σ of labelled 4" in chart.alternative and "1 − p of labelled -4" in chart.alternative


@pytest.mark.parametrize(
    "call", [bins_chart, risk_coverage_chart, reliability_chart, histograms_chart, sigma_by_group_chart]
)
def test_nothing_is_not_drawn(call):
    with pytest.raises(UserError, match="nothing to draw"):
        call({}, "title", "name")


def test_sigma_stands_before_one_minus_p():
    assert list(in_order({"one_minus_p": 1, "n": 5, "total_variance": 2, "sigma": 3})) == [
        "sigma", "one_minus_p", "total_variance"
    ]  # fmt: skip


@pytest.mark.parametrize(("value", "ends"), [(1.0, (90, 100)), (0.0, (0, 10)), (0.42, (37, 47))])
def test_a_line_that_does_not_vary_keeps_the_axis_within_0_and_100_percent(value, ends):
    charts = [bins_chart({"sigma": [value] * 4}, "R@1", "bins"),
              risk_coverage_chart({"sigma": ([0.5, 1.0], [value] * 2)}, "Error", "risk")]  # fmt: skip
    for chart, below in zip(charts, (0, 2), strict=True):  # the coverage, 50 to 100 %, has ticks in percent too
        ticks = [float(tick.replace("\u2212", "-")) for tick in re.findall(r">(\S+) %<", sound(chart))]
        heights = ticks[-len([tick for tick in ticks if ends[0] <= tick <= ends[1]]) :] if below else ticks
        assert heights and all(ends[0] <= tick <= ends[1] for tick in heights)
        assert all(0 <= tick <= 100 for tick in ticks)
