"""The clamps and helpers that the geometry stands on."""

import math

import mpmath
import pytest
import torch

from litotes.errors import UserError
from litotes.geometry import numerics


@pytest.mark.parametrize("exponent", [-300, -30, -16, -8, -3, -1, 0, 1, 8, 30, 150])
def test_arcosh1p_keeps_every_digit(exponent):
    u = torch.tensor(1.7 * 10.0**exponent, dtype=torch.float64, requires_grad=True)
    value = numerics.arcosh1p(u)
    value.backward()
    with mpmath.workdps(400):
        exact = mpmath.mpf(u.item())
        assert value.item() == pytest.approx(float(mpmath.acosh(1 + exact)), rel=1e-14)
        assert u.grad.item() == pytest.approx(float(1 / mpmath.sqrt(exact * (exact + 2))), rel=1e-12)


def test_arcosh1p_is_zero_with_zero_gradient_at_and_below_zero():
    u = torch.tensor([0.0, -1e-9], requires_grad=True)
    value = numerics.arcosh1p(u)
    value.sum().backward()
    assert value.tolist() == [0, 0]
    assert u.grad.tolist() == [0, 0]


@pytest.mark.parametrize("number", [1e-300, 1e-15, 1e-3, 1.0, 100.0, 700.0, 2000.0])
def test_log_sinh(number):
    got = numerics.log_sinh(torch.tensor(number, dtype=torch.float64)).item()
    assert got == pytest.approx(float(mpmath.log(mpmath.sinh(mpmath.mpf(number)))), rel=1e-14, abs=1e-15)


def test_log_sinh_of_zero_is_masked_with_a_finite_gradient():
    a = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    numerics.log_sinh(a).sum().backward()
    assert a.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_results_return_in_the_type_of_the_inputs_but_never_in_half(dtype):
    x = torch.ones(2, dtype=dtype)
    wide = numerics.widen(x)
    assert wide.dtype == torch.float64
    assert numerics.narrow(wide, x).dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert numerics.narrow(wide, x, torch.ones(1, dtype=torch.float64)).dtype == torch.float64
    assert numerics.at_least_float32(x).dtype == (torch.float64 if dtype == torch.float64 else torch.float32)


def test_coarsest_type():
    rows = [torch.ones(1, dtype=dtype) for dtype in (torch.float64, torch.bfloat16, torch.float16, torch.float32)]
    assert numerics.coarsest(*rows) == torch.bfloat16
    assert numerics.coarsest(rows[0], rows[3]) == torch.float32


def test_direction_is_unit_or_zero_with_finite_gradients():
    v = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-30, 0.0]], dtype=torch.float64, requires_grad=True)
    way = numerics.direction(v)
    way.sum().backward()
    torch.testing.assert_close(way.detach(), torch.tensor([[0.6, 0.8], [0.0, 0.0], [1.0, 0.0]], dtype=torch.float64))
    assert v.grad.isfinite().all()


@pytest.mark.parametrize("separation", [1.0, 1e-3, 1e-4, 1e-6, 1e-10, 1e-14])
def test_square_distance_of_close_pairs_keeps_its_digits(separation):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 300, generator=generator, dtype=torch.float64)
    y = x + separation * torch.randn(5, 300, generator=generator, dtype=torch.float64)
    got = numerics.pairwise_square_distance(x, y)
    expected = numerics.square_distance(x[:, None], y[None])
    torch.testing.assert_close(got, expected, rtol=1e-6, atol=0)
    assert (numerics.pairwise_square_distance(x, x).diagonal() == 0).all()


def test_is_rounding_is_relative_to_the_vectors():
    for size in (1e-15, 1.0, 1e3):
        x = size * torch.tensor([[3.0, 4.0]])
        for share, expected in ((0.0, True), (2e-7, True), (2e-6, False)):
            difference = share * x
            assert numerics.is_rounding(difference, x, x, dtype=torch.float32).item() is expected
            assert numerics.is_rounding(difference, x, x, dtype=torch.float64).item() is (share == 0)


def test_finite_numbers_pass_and_the_first_bad_name_is_told():
    numerics.require_finite(x=torch.ones(2), y=torch.zeros(0))
    with pytest.raises(UserError) as caught:
        numerics.require_finite(x=torch.ones(2), y=torch.tensor([1.0, math.nan, math.inf]))
    assert caught.value.got == "y with 2 of 3 numbers NaN or infinite, first at [1]"
    assert caught.value.expected == "finite numbers in y"


def test_large_finite_numbers_are_not_taken_for_infinite_ones():
    for dtype in (torch.float16, torch.float32, torch.float64):
        numerics.require_finite(x=torch.full((4,), torch.finfo(dtype).max, dtype=dtype))


def test_numbers_are_bounded_and_one_outside_is_led_back_inside_only():
    numbers = torch.tensor([-20.0, -10.0, 3.0, 10.0, 20.0])
    for slope, kept in ((1.0, [0, 1, 1, 1, 1]), (-1.0, [1, 1, 1, 1, 0])):
        x = numbers.clone().requires_grad_()
        bounded = numerics.bounded(x)
        (slope * bounded).sum().backward()
        assert bounded.tolist() == [-10, -10, 3, 10, 10]
        assert x.grad.tolist() == [slope * keep for keep in kept]
    assert numerics.bounded(numbers, 5.0).tolist() == [-5, -5, 3, 5, 5]
