"""The calibrators against scikit-learn: isotonic, temperature, and temperature with an offset (logistic regression)."""

import numpy as np
import pytest
import torch

from litotes.metrics.calibrators import fit_isotonic, fit_scaling

pytest.importorskip("sklearn")

from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

SEEDS = range(3)


def answers(seed, n=2000, levels=None):
    """Logits, some of them many times where levels are given, and which answers were right."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=n)
    if levels:
        logits = np.round(levels * logits) / levels
    return logits, rng.random(n) < 1 / (1 + np.exp(-(2.5 * logits - 1)))


def tensors(logits, right):
    return torch.from_numpy(logits), torch.from_numpy(right)


@pytest.mark.parametrize("levels", [None, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_isotonic_function_is_that_of_scikit_learn_at_its_points_between_and_outside(seed, levels):
    logits, right = answers(seed, levels=levels)
    asked = np.concatenate([logits, np.linspace(-9, 9, 3001)])
    theirs = IsotonicRegression(out_of_bounds="clip").fit(logits, right).predict(asked)
    ours = fit_isotonic(*tensors(logits, right))(torch.from_numpy(asked)).numpy()
    assert np.abs(ours - theirs).max() < 1e-6


@pytest.mark.parametrize("scale", [1.0, 0.01, 30.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_temperature_is_that_of_scikit_learn(seed, scale):
    logits, right = answers(seed)
    logits = scale * logits
    # A classifier whose decision function is the number that it is given.
    given = LogisticRegression().fit(logits[:, None], right)
    given.coef_, given.intercept_ = np.ones((1, 1)), np.zeros(1)
    theirs = CalibratedClassifierCV(FrozenEstimator(given), method="temperature").fit(logits[:, None], right)
    found = fit_scaling(*tensors(logits, right))
    p = theirs.predict_proba(logits[:, None])[:, 1]
    assert np.abs(found(torch.from_numpy(logits)).numpy() - p).max() < 1e-6
    # They take (-l, l) for the logits of two classes, so that their factor is half of 1/T.
    beta = theirs.calibrated_classifiers_[0].calibrators[0].beta_
    assert found.temperature == pytest.approx(1 / (2 * float(beta)), rel=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_temperature_and_offset_are_a_logistic_regression_without_a_penalty(seed):
    logits, right = answers(seed)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(logits[:, None], right)
    found = fit_scaling(*tensors(logits, right), offset=True)
    p = theirs.predict_proba(logits[:, None])[:, 1]
    assert np.abs(found(torch.from_numpy(logits)).numpy() - p).max() < 1e-6
