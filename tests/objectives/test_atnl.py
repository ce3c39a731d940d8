"""The angular triplet negation loss and the angles that reports show."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.objectives import angles, atnl
from reference import losses


def triplets(n=6, d=5, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, d, generator=generator, dtype=torch.float64).to(dtype) for _ in range(3)]


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_against_loops(dtype, rtol):
    p, q, n = triplets(dtype=dtype)
    got = atnl(p, q, n)
    closing, opening = losses.atnl(p.tolist(), q.tolist(), n.tolist())
    assert got.positive_angle.item() == pytest.approx(closing, rel=rtol)
    assert got.negated_angle.item() == pytest.approx(opening, rel=rtol)
    assert got.total.item() == pytest.approx(closing + opening, rel=rtol)
    assert got.total.dtype == dtype


def test_an_equilateral_and_a_right_triangle():
    n, p = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    q = torch.tensor([[0.5, math.sqrt(3) / 2]])
    assert atnl(p, q, n).positive_angle.item() == pytest.approx(0.5, rel=1e-6)
    assert atnl(p, q, n).negated_angle.item() == pytest.approx(0.5, rel=1e-6)
    assert angles(p, q, n) == pytest.approx((60, 60, 0), rel=1e-6)
    right = torch.tensor([[1.0, 1.0]])  # the right angle is at P, 45 degrees at N and at P'
    assert angles(p, right, n) == pytest.approx((45, 45, 0), rel=1e-6)


def test_the_best_triangle_has_p_beyond_p_prime_seen_from_n():
    n = torch.tensor([[0.0, 0.0, 0.0]])
    q, p = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[2.0, 0.0, 0.0]])
    assert atnl(p, q, n).total.item() == pytest.approx(-1, rel=1e-6)
    assert angles(p, q, n) == pytest.approx((0, 180, 0), abs=1e-4)


def test_scale_and_shift_change_nothing():
    p, q, n = triplets()
    shift = torch.full((1, 5), 0.7, dtype=torch.float64)
    for moved in ([100 * x for x in (p, q, n)], [x + shift for x in (p, q, n)]):
        torch.testing.assert_close(atnl(*moved).total, atnl(p, q, n).total)


@pytest.mark.parametrize("nearly", [0.0, 1e-7])
def test_coinciding_captions_have_cosine_zero_and_zero_gradient(nearly):
    p, _, n = triplets(1, dtype=torch.float32)
    p, n = p.requires_grad_(), n.requires_grad_()
    q = (p.detach() * (1 + nearly)).requires_grad_()
    terms = atnl(p, q, n)
    assert terms.negated_angle.item() == 0  # p - p' is nothing, or rounding
    assert terms.positive_angle.item() == pytest.approx(0, abs=1e-6)
    terms.negated_angle.backward()
    assert all((x.grad == 0).all() for x in (p, q, n))
    alike = p.detach().clone().requires_grad_()
    terms = atnl(alike, alike, alike)
    assert terms.positive_angle.item() == 1
    terms.total.backward()
    assert (alike.grad == 0).all()


def test_a_small_but_real_difference_is_kept():
    p, _, n = triplets(1, dtype=torch.float32)
    q = p + 1e-4 * torch.tensor([[1.0, -1.0, 0.5, 0.0, 2.0]])
    assert abs(atnl(p, q, n).negated_angle.item()) > 0.01


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_loss_and_gradient_are_finite_at_every_magnitude(dtype):
    for size in (1e-15, 1e-8, 1e-3, 1.0, 1e3):
        p, q, n = ((size * x).to(dtype) for x in triplets())
        q[0] = p[0]
        n[1] = q[1]
        p[2] = q[2] = n[2] = 0
        rows = [x.requires_grad_() for x in (p, q, n)]
        total = atnl(*rows).total
        total.backward()
        assert total.isfinite()
        assert all(x.grad.isfinite().all() for x in rows)


def test_gradients_equal_finite_differences():
    assert torch.autograd.gradcheck(lambda *x: atnl(*x).total, [x.requires_grad_() for x in triplets(3)])


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_changes_nothing(half):
    rows = triplets(dtype=torch.float32)
    plain = atnl(*rows)
    with torch.autocast("cpu", dtype=half):
        assert torch.equal(atnl(*rows).total, plain.total)


def test_angles_leave_out_triplets_that_have_none():
    p, q, n = triplets(3)
    q[1] = p[1]
    both = angles(p, q, n)
    kept = torch.tensor([0, 2])
    assert both.undefined == 1
    assert both.at_negated_positive == pytest.approx(angles(p[kept], q[kept], n[kept]).at_negated_positive)
    assert math.isnan(angles(p, p, n).at_negated_positive)
    with pytest.raises(UserError, match="negative with 1 of"):
        angles(p, q, torch.where(torch.arange(15).reshape(3, 5) == 4, torch.nan, n))


def test_missing_numbers_are_refused_by_name():
    p, q, n = triplets()
    p[0, 0] = float("inf")
    with pytest.raises(UserError, match="positive with 1 of 30"):
        atnl(p, q, n)
