import numpy as np
import pytest
from scipy import stats

from litotes.errors import UserError
from litotes.metrics import paired
from litotes.metrics.paired import bootstrap_difference, bootstrap_interval, mcnemar_p, wilson_interval


def answers(both, only_first, only_second, neither):
    first = np.repeat([True, True, False, False], [both, only_first, only_second, neither])
    second = np.repeat([True, False, True, False], [both, only_first, only_second, neither])
    return first, second


@pytest.mark.parametrize(("right", "total"), [(0, 7), (7, 7), (1, 1), (2330, 5914), (254, 440), (1, 40_000)])
def test_wilson_is_scipys(right, total):
    expected = stats.binomtest(right, total).proportion_ci(method="wilson")
    assert wilson_interval(right, total) == pytest.approx((expected.low, expected.high), rel=1e-12, abs=1e-15)
    assert 0 <= wilson_interval(right, total).low <= right / total <= wilson_interval(right, total).high <= 1


@pytest.mark.parametrize("counts", [(5, 0, 0, 5), (0, 1, 0, 0), (3, 2, 9, 4), (9, 6, 6, 0), (2000, 700, 900, 2314)])
def test_mcnemar_is_the_exact_binomial_test(counts):
    first, second = answers(*counts)
    differing = counts[1] + counts[2]
    expected = stats.binomtest(counts[1], differing).pvalue if differing else 1.0
    assert mcnemar_p(first, second) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_p(second, first) == mcnemar_p(first, second)


def test_the_bootstrap_is_that_of_drawing_questions():
    first, second = answers(120, 30, 55, 95)
    order = np.random.default_rng(1).integers(0, len(first), (20_000, len(first)))
    difference = second.astype(float) - first
    expected = np.quantile(difference[order].mean(axis=1), [0.025, 0.975])
    found = bootstrap_difference(first, second, draws=20_000)
    assert found == pytest.approx(tuple(expected), abs=0.004)
    assert found == bootstrap_difference(first, second, draws=20_000)
    assert found.low > 0
    assert bootstrap_difference(first, first) == (0, 0)


def test_questions_of_one_picture_are_drawn_together():
    first, second = answers(6, 2, 12, 10)
    draw = np.random.default_rng(2)
    group = draw.permutation(np.arange(30) // 3) * 7  # ten pictures of three questions, their numbers apart
    order = draw.integers(0, 10, (20_000, 10))
    change = (second.astype(float) - first)[np.argsort(group, kind="stable")].reshape(10, 3).sum(axis=1)
    expected = np.quantile(change[order].sum(axis=1) / 30, [0.025, 0.975])
    found = bootstrap_difference(first, second, group, draws=20_000)
    assert found == pytest.approx(tuple(expected), abs=0.034)  # one question
    twice = [np.repeat(answer, 2) for answer in (first, second)]
    alone = bootstrap_difference(first, second)
    together = bootstrap_difference(*twice, np.repeat(np.arange(30), 2))
    assert together == pytest.approx(alone, abs=0.034)
    assert np.diff(bootstrap_difference(*twice))[0] < 0.8 * np.diff(together)[0]  # copies are no evidence


def test_a_ratio_of_sums_is_drawn_in_parts_as_at_once(monkeypatch):
    rows = np.random.default_rng(4).integers(1, 9, (40, 2)).astype(float)
    whole = bootstrap_interval(rows, lambda sums: sums[:, 0] / sums[:, 1], draws=500)
    monkeypatch.setattr(paired, "_DRAWN_AT_ONCE", 64)
    assert bootstrap_interval(rows, lambda sums: sums[:, 0] / sums[:, 1], draws=500) == whole
    assert whole.low < rows[:, 0].sum() / rows[:, 1].sum() < whole.high


@pytest.mark.parametrize("right", [(-1, 5), (6, 5), (0, 0)])
def test_an_impossible_count_is_refused(right):
    with pytest.raises(UserError, match="right of"):
        wilson_interval(*right)


@pytest.mark.parametrize("compare", [mcnemar_p, bootstrap_difference])
def test_answers_to_other_questions_are_refused(compare):
    one, two = np.ones(1, dtype=bool), np.ones(2, dtype=bool)
    for pair in ((one, two), (one[:0], one[:0])):
        with pytest.raises(UserError, match="answers"):
            compare(*pair)
    with pytest.raises(UserError, match="2 rows in 1 groups"):
        bootstrap_difference(two, two, np.zeros(1, dtype=int))
    with pytest.raises(UserError, match="0 draws"):
        bootstrap_difference(one, one, draws=0)
