"""Temperature, offset and isotonic fits against brute force, scipy and the definition; edges and mistakes."""

import itertools
import math

import pytest
import torch
from scipy.optimize import isotonic_regression, minimize

from litotes.errors import UserError
from litotes.metrics.calibration import brier, reliability
from litotes.metrics.calibrators import Isotonic, Scaling, fit_isotonic, fit_scaling, negative_log_likelihood


def answers(n=400, temperature=0.4, offset=-1.5, seed=0, levels=None):
    """Logits whose true probability is sigmoid(l / temperature + offset)."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(n, generator=generator, dtype=torch.float64)
    if levels:
        logits = (logits * levels).round() / levels
    true = torch.sigmoid(logits / temperature + offset)
    return logits, torch.rand(n, generator=generator, dtype=torch.float64) < true


def loss(logits, right, slope, offset):
    rows = zip(logits.tolist(), right.tolist(), strict=True)
    return sum(math.log1p(math.exp(-(1 if y else -1) * (slope * x + offset))) for x, y in rows) / len(logits)


@pytest.mark.parametrize("seed", range(3))
def test_the_temperature_is_the_best_of_a_fine_grid(seed):
    logits, right = answers(offset=0.0, seed=seed)
    found = fit_scaling(logits, right)
    least = loss(logits, right, 1 / found.temperature, 0.0)
    assert negative_log_likelihood(logits, right, found) == pytest.approx(least, rel=1e-12)
    grid = [found.temperature * (1 + step / 1000) for step in range(-200, 201) if step]
    assert all(loss(logits, right, 1 / t, 0.0) > least for t in grid)
    assert found.offset == 0
    # At the optimum the slope is zero.
    p = found(logits)
    assert float(((p - right.double()) * logits).mean()) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e4])
def test_temperature_and_offset_are_those_of_another_optimiser_in_any_unit(scale):
    logits, right = answers()
    found = fit_scaling(scale * logits, right, offset=True)
    other = minimize(lambda w: loss(logits, right, *w), [1.0, 0.0], method="BFGS", options={"gtol": 1e-9})
    assert scale / found.temperature == pytest.approx(other.x[0], rel=1e-5)
    assert found.offset == pytest.approx(other.x[1], rel=1e-5)
    assert float((found(scale * logits) - right.double()).mean()) == pytest.approx(0, abs=1e-12)


def test_a_fit_finds_the_law_the_answers_follow_and_holds_on_others():
    fitted = fit_scaling(*answers(20_000), offset=True)
    assert fitted.temperature == pytest.approx(0.4, rel=0.05)
    assert fitted.offset == pytest.approx(-1.5, abs=0.06)
    logits, right = answers(20_000, seed=1)
    raw = Scaling(1.0)
    for calibrated in (fitted, fit_isotonic(*answers(20_000))):
        assert reliability(raw(logits), right).ece > 0.1
        assert reliability(calibrated(logits), right).ece < 0.015
        assert brier(calibrated(logits), right) < brier(raw(logits), right)
    # A temperature alone cannot: it leaves p = 1/2 where the logit is 0.
    alone = fit_scaling(*answers(20_000))
    assert reliability(alone(logits), right).ece > 0.05


def test_the_loss_of_saturated_logits_is_exact():
    logits, right = torch.tensor([1e4, -1e4, 30.0]), torch.tensor([False, True, True])
    assert negative_log_likelihood(logits, right, Scaling(0.5)) == pytest.approx((2e4 + 2e4 + 8.76e-27) / 3, rel=1e-12)
    tiny = negative_log_likelihood(logits[2:], right[2:], Scaling(1.0))
    assert tiny == pytest.approx(math.log1p(math.exp(-30)), abs=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_saturated_logits_and_every_type_are_fitted(dtype):
    logits = torch.tensor([-1e4, -300.0, 2.0, 300.0, 1e4, -1.0]).to(dtype)
    right = torch.tensor([False, False, False, True, True, True])
    for offset in (False, True):
        found = fit_scaling(logits, right, offset=offset)
        assert 0 < found.temperature < math.inf
        assert found(logits).isfinite().all()
        assert (found(logits).diff()[:4] >= 0).all()


def by_min_max(values, y):
    """The isotonic fit at each level, by its closed form: max over starts of the min over ends of the mean."""
    levels = sorted(set(values))
    rows = [[b for a, b in zip(values, y, strict=True) if a == level] for level in levels]

    def mean(start, end):
        held = list(itertools.chain(*rows[start : end + 1]))
        return sum(held) / len(held)

    n = len(levels)
    return levels, [max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


@pytest.mark.parametrize("levels", [None, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_the_isotonic_fit_against_its_closed_form(seed, levels):
    scores, right = answers(40, seed=seed, levels=levels)
    found = fit_isotonic(scores, right)
    at, expected = by_min_max(scores.tolist(), right.double().tolist())
    assert found(torch.tensor(at, dtype=torch.float64)).tolist() == pytest.approx(expected, abs=1e-12)
    assert list(found.scores) == sorted(set(found.scores))
    assert all(a <= b for a, b in itertools.pairwise(found.probabilities))


def test_the_isotonic_fit_against_scipy():
    scores, right = answers(5_000)
    order = scores.argsort()
    expected = isotonic_regression(right[order].double().numpy()).x
    assert fit_isotonic(scores, right)(scores[order]).tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_an_isotonic_function_is_straight_between_its_points_and_constant_outside():
    rises = Isotonic((0.0, 2.0, 3.0), (0.1, 0.5, 0.9))
    asked = torch.tensor([[-1e9, 0.0], [1.0, 2.25], [3.0, 1e9]])
    assert rises(asked).tolist() == [pytest.approx(row) for row in ([0.1, 0.1], [0.3, 0.6], [0.9, 0.9])]
    one = fit_isotonic(torch.zeros(4), torch.tensor([True, False, False, False]))
    assert one(torch.tensor([-5.0, 0.0, 0.5, 7.0])).tolist() == [0.25] * 4


RIGHT = torch.tensor([False, False, True, True])


@pytest.mark.parametrize(
    ("logits", "right", "offset", "told"),
    [
        ([-2.0, -1.0, 1.0, 2.0], RIGHT, False, "parts into right and wrong"),
        ([1.0, 2.0, 3.0, 4.0], RIGHT, True, "parts into right and wrong"),
        ([1.0, 2.0, 2.0, 4.0], RIGHT, True, "parts into right and wrong"),
        ([2.0, 1.0, -1.0, -2.0], RIGHT, False, "not more often right"),
        ([2.0, 1.0, -1.0, 1.5], RIGHT, True, "not more often right"),
        ([4.0, 3.0, 2.0, 1.0], RIGHT, True, "not more often right"),
        ([1.0, 1.0, 1.0, 1.0], RIGHT, True, "parts into right and wrong"),
        ([0.0, 0.0, 0.0, 0.0], RIGHT, False, "parts into right and wrong"),
        ([1.0, 2.0, 3.0, 4.0], ~RIGHT | RIGHT, False, "all were right"),
        ([1.0, 2.0, math.inf, 4.0], RIGHT, False, "1 of 4 logits NaN or infinite"),
    ],
)
def test_what_has_no_optimum_is_told(logits, right, offset, told):
    with pytest.raises(UserError, match=told):
        fit_scaling(torch.tensor(logits), right, offset=offset)


def test_without_an_offset_logits_of_one_sign_still_have_an_optimum():
    logits = torch.tensor([1.0, 2.0, 3.0, 4.0])
    found = fit_scaling(logits, RIGHT)
    steps = [found.temperature * factor for factor in (0.99, 1.01)]
    assert all(loss(logits, RIGHT, 1 / t, 0) > loss(logits, RIGHT, 1 / found.temperature, 0) for t in steps)
    with pytest.raises(UserError, match="none were right"):
        fit_isotonic(logits, torch.zeros(4, dtype=torch.bool))
