"""The paired bootstrap of AURC against drawing answers one by one, and on answers of known order."""

import numpy as np
import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.aurc_difference import aurc_difference
from litotes.metrics.selective import risk_coverage


def answers(seed, n=80, levels=None):
    generator = torch.Generator().manual_seed(seed)
    doubt = torch.rand(n, generator=generator)
    errors = torch.rand(n, generator=generator) < doubt
    other = doubt + 0.7 * torch.rand(n, generator=generator)
    return [(row * levels).round() if levels else row for row in (doubt, other)], errors


@pytest.mark.parametrize("levels", [None, 4])
def test_the_interval_is_that_of_answers_drawn_again(levels):
    (first, second), errors = answers(0, levels=levels)
    found = aurc_difference(first, second, errors, draws=200, seed=3)
    rng, drawn = np.random.default_rng(3), []
    for _ in range(200):
        rows = torch.from_numpy(rng.integers(0, 80, 80))
        a, b = (risk_coverage(way[rows], errors[rows].float()).aurc for way in (first, second))
        drawn.append(a - b)
    assert found.interval == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=1e-9)
    assert found.difference == pytest.approx(found.first - found.second)
    assert found.first == pytest.approx(risk_coverage(first, errors.float()).aurc)
    assert found == aurc_difference(first, second, errors, draws=200, seed=3)


def test_the_better_order_is_below_and_equal_orders_never_differ():
    (first, second), errors = answers(1, 1500)
    found = aurc_difference(first, second, errors, draws=300)
    assert found.difference < 0 and found.interval.high < 0
    back = aurc_difference(second, first, errors, draws=300)
    assert back.interval == pytest.approx((-found.interval.high, -found.interval.low))
    same = aurc_difference(first, 3 * first + 1, errors, draws=50)
    assert (same.difference, *same.interval) == (0, 0, 0)


def test_groups_are_drawn_whole():
    (first, second), errors = answers(2, 40)
    five = [row.repeat_interleave(5) for row in (first, second, errors)]
    group = np.repeat(np.arange(40), 5)
    alone, whole = aurc_difference(*five, draws=400), aurc_difference(*five, group=group, draws=400)
    # Five copies of an answer know no more than one: the interval is wider by about the root of five.
    assert np.diff(whole.interval) == pytest.approx(np.sqrt(5) * np.diff(alone.interval), rel=0.2)


@pytest.mark.parametrize("change", [{"draws": 0}, {"group": np.zeros(3, dtype=np.int64)}])
def test_no_draw_and_groups_of_another_length_are_refused(change):
    with pytest.raises(UserError, match="at least one draw, and a group an answer"):
        aurc_difference(torch.rand(4), torch.rand(4), torch.ones(4), **change)
