import numpy as np
import pytest
from scipy import stats

from litotes.errors import UserError
from litotes.metrics.paired import bootstrap_difference, mcnemar_p, wilson_interval


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
    with pytest.raises(UserError, match="0 draws"):
        bootstrap_difference(one, one, draws=0)
