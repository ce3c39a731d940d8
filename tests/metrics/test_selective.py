import itertools

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.selective import auroc, risk_coverage


def reference_auroc(scores, positive):
    pairs = [
        (a, b)
        for a, p in zip(scores, positive, strict=True)
        if p
        for b, q in zip(scores, positive, strict=True)
        if not q
    ]
    return sum((a > b) + 0.5 * (a == b) for a, b in pairs) / len(pairs)


def reference_risks(uncertainty, errors):
    """Mean over all orders that rise in uncertainty of the mean error of the first k."""
    n = len(errors)
    orders = [
        order
        for order in itertools.permutations(range(n))
        if all(uncertainty[a] <= uncertainty[b] for a, b in itertools.pairwise(order))
    ]
    return [sum(sum(errors[i] for i in order[:k]) / k for order in orders) / len(orders) for k in range(1, n + 1)]


@pytest.mark.parametrize("levels", [2, 4, 1000])
def test_risk_by_coverage_is_the_mean_over_the_orders_that_ties_allow(levels):
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        uncertainty = torch.randint(0, levels, (6,), generator=generator).float() - 3
        errors = torch.randint(0, 2, (6,), generator=generator)
        found = risk_coverage(uncertainty, errors)
        expected = reference_risks(uncertainty.tolist(), errors.tolist())
        assert found.risk.tolist() == pytest.approx(expected, abs=1e-12)
        assert found.aurc == pytest.approx(sum(expected) / 6, abs=1e-12)
        best = reference_risks(errors.tolist(), errors.tolist())
        assert found.excess == pytest.approx(found.aurc - sum(best) / 6, abs=1e-12)
        assert found.coverage.tolist() == pytest.approx([k / 6 for k in range(1, 7)])


def test_the_best_order_has_no_excess_and_the_whole_has_the_mean_error():
    errors = torch.tensor([0.0, 1.0, 0.25, 1.0])
    found = risk_coverage(errors, errors)
    assert found.excess == pytest.approx(0, abs=1e-15)
    assert found.risk[-1].item() == pytest.approx(0.5625)
    assert risk_coverage(-errors, errors).excess > 0.3
    # A constant says nothing: the risk is the mean error at every coverage.
    assert risk_coverage(torch.zeros(4), errors).risk.tolist() == pytest.approx([0.5625] * 4)


@pytest.mark.parametrize("levels", [2, 5, 10**6])
def test_auroc_counts_every_pair(levels):
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        scores = torch.randint(0, levels, (40,), generator=generator).double() * 1e-9 - 5
        positive = torch.rand(40, generator=generator) < 0.3
        assert auroc(scores, positive) == pytest.approx(reference_auroc(scores.tolist(), positive.tolist()), abs=1e-12)


def test_auroc_of_nothing_to_tell_apart():
    positive = torch.tensor([True, False, True, False])
    assert auroc(torch.ones(4), positive) == 0.5
    assert auroc(positive.float(), positive) == 1.0 and auroc(-positive.float(), positive) == 0.0
    assert auroc(torch.ones(4), torch.ones(4, dtype=torch.bool)) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: auroc(torch.tensor([1.0, float("nan")]), torch.tensor([True, False])),
        lambda: auroc(torch.ones(3), torch.tensor([True, False])),
        lambda: auroc(torch.ones(2), torch.tensor([1, 0])),
        lambda: risk_coverage(torch.ones(0), torch.ones(0)),
        lambda: risk_coverage(torch.ones(2), torch.tensor([0.0, float("inf")])),
        lambda: risk_coverage(torch.ones(2, 1), torch.ones(2, 1)),
    ],
)
def test_what_cannot_be_measured_is_refused(call):
    with pytest.raises((UserError, TypeError)) as fault:
        call()
    assert isinstance(fault.value, UserError) or "type-check" in str(fault.value).lower()
