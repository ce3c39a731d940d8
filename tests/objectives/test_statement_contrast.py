"""Statements of a batch against its pictures, by loops over plain numbers."""

import math
from functools import partial
from statistics import mean

import pytest
import torch

from litotes.errors import UserError
from litotes.objectives import OwnOptionsConfig, statement_contrast
from reference import losses

SORTS = torch.tensor([1, 1, 2, 2, 2, 3])
TRUE = torch.tensor([[1, 0, 1, 0, 0, 1], [1, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 0]], dtype=torch.bool)
FALSE = torch.tensor([[0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 0, 1]], dtype=torch.bool)


def sample(dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(n, 5, generator=generator, dtype=torch.float64).to(dtype) for n in (3, 6))


def by_loops(scores, true, false):
    """Mean over anchors that have both of the mean over their true ones; None where there is no such anchor."""
    anchors = []
    for row, is_true, is_false in zip(scores, true, false, strict=True):
        rivals = [s for s, f in zip(row, is_false, strict=True) if f]
        own = [s for s, t in zip(row, is_true, strict=True) if t]
        if rivals and own:
            anchors.append(mean(math.log(1 + sum(math.exp(r - s) for r in rivals)) for s in own))
    return mean(anchors) if anchors else None


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-10), (torch.float32, 1e-6)])
def test_against_loops(dtype, rtol):
    image, statements = sample(dtype)
    config = OwnOptionsConfig(temperature=0.3, curvature=0.5)
    measure = partial(losses.distance, c=0.5)
    placed = [[losses.placed(x, "unit", 2.3) for x in table.tolist()] for table in (image, statements)]
    scores = [[-measure(v, o) / 0.3 for o in placed[1]] for v in placed[0]]
    found = statement_contrast(image, statements, TRUE, FALSE, SORTS, config)
    turned = list(zip(*scores, strict=True))
    assert found.statements.item() == pytest.approx(by_loops(turned, TRUE.T.tolist(), FALSE.T.tolist()), rel=rtol)
    sorts = []
    for sort in (1, 2, 3):
        at = [j for j, own in enumerate(SORTS.tolist()) if own == sort]
        parts = [[[row[j] for j in at] for row in some] for some in (scores, TRUE.tolist(), FALSE.tolist())]
        sorts.append(by_loops(*parts))
    assert sorts[2] is None  # no picture has a true and a false one of the third sort
    assert found.pictures.item() == pytest.approx(mean(sorts[:2]), rel=rtol)
    assert found.loss.item() == pytest.approx((found.pictures + found.statements).item())
    assert found.loss.dtype == dtype


def test_nothing_told_apart_is_the_log_of_the_rivals_and_one():
    image, statements = sample()
    found = statement_contrast(image, statements[:1].expand(6, -1), TRUE, FALSE, SORTS)
    # Sort 1: one rival in row 0; sort 2: one in each of the three rows.
    assert found.pictures.item() == pytest.approx(math.log(2))


def test_a_batch_without_a_rival_is_zero_with_a_gradient():
    image, statements = sample()
    image.requires_grad_()
    found = statement_contrast(image, statements, TRUE, torch.zeros_like(FALSE), SORTS)
    found.loss.backward()
    assert found.loss.item() == 0
    assert image.grad.abs().sum() == 0


def test_open_pairs_do_not_matter():
    image, statements = sample()
    open_ = ~TRUE & ~FALSE
    assert open_[0, 4]
    moved = statements.clone().requires_grad_()
    only = torch.zeros_like(TRUE)
    only[:, 4] = True
    statement_contrast(image, moved, TRUE & ~only, FALSE & ~only, SORTS).loss.backward()
    assert moved.grad[4].abs().sum() == 0
    assert moved.grad[3].abs().sum() > 0


def test_refusals():
    image, statements = sample()
    with pytest.raises(UserError, match="true and false"):
        statement_contrast(image, statements, TRUE, FALSE | TRUE, SORTS)
    with pytest.raises(UserError, match="statements"):
        statement_contrast(image, statements * float("nan"), TRUE, FALSE, SORTS)
