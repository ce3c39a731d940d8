"""Generalised pooling against plain loops, its laws, true lengths, one token, half precision and mistakes."""

import pytest
import torch

from litotes.errors import UserError
from litotes.models.pooling import GeneralizedPooling, sinusoidal_positions
from litotes.models.variational import parameter_count
from reference import pooling as loops

DIRECTIONS = ("", "_reverse")


def pool(size=32, dtype=torch.float64, seed=0):
    torch.manual_seed(seed)
    return GeneralizedPooling(size).to(dtype)


def tokens(n=3, length=7, d=5, seed=1, dtype=torch.float64):
    return torch.randn(n, length, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def kept(lengths, longest):
    return torch.arange(longest) < torch.tensor(lengths)[:, None]


def reference_weights(module, length):
    parts = [
        [getattr(module.gru, f"{kind}_l0{end}").tolist() for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        for end in DIRECTIONS
    ]
    return loops.rank_weights(length, module.size, *parts, module.score.weight[0].tolist(), module.temperature)


def test_the_count_of_parameters_is_the_specified_one():
    assert parameter_count(GeneralizedPooling()) == 12_704


def test_positions_are_the_listed_ones():
    assert sinusoidal_positions(5, 32).tolist() == [pytest.approx(row, abs=1e-12) for row in loops.positions(5, 32)]


@pytest.mark.parametrize("size", [2, 8, 32])
def test_weights_and_pooled_rows_are_those_of_plain_loops(size):
    module, values, lengths = pool(size), tokens(4, 9), [9, 4, 1, 4]
    weights = module.weights(torch.tensor(lengths))
    out = module(values, kept(lengths, 9))
    for i, length in enumerate(lengths):
        wanted = reference_weights(module, length)
        assert weights[i, :length].tolist() == pytest.approx(wanted, abs=1e-12)
        assert weights[i, length:].tolist() == [0.0] * (9 - length)
        assert out[i].tolist() == pytest.approx(loops.pooled(values[i, :length].tolist(), wanted), abs=1e-12)


def test_weights_differ_between_ranks_so_that_pooling_is_not_the_mean():
    weights = pool().weights(torch.tensor([6]))[0]
    assert weights.sum().item() == pytest.approx(1)
    assert weights.max() - weights.min() > 0.01


def test_neither_order_nor_padding_nor_neighbours_change_a_row():
    module, values = pool(), tokens(3, 7)
    whole = module(values[:, :5], kept([5, 5, 5], 5))
    shuffled = values[:, torch.tensor([6, 2, 0, 5, 1, 3, 4])]
    where = torch.tensor([False, True, True, False, True, True, True])
    assert torch.allclose(module(shuffled, where.expand(3, -1)), whole, atol=1e-12)
    padded = values.clone()
    padded[:, 5:] = 1e6
    assert torch.equal(module(padded, kept([5, 5, 5], 7)), whole)
    assert torch.allclose(module(values, kept([5, 7, 2], 7))[:1], whole[:1], atol=1e-12)


def test_one_token_is_itself_and_equal_tokens_are_their_value():
    module, values = pool(), tokens(2, 4)
    assert torch.allclose(module(values, kept([1, 1], 4)), values[:, 0], atol=1e-12)
    same = values[:, :1].expand(-1, 4, -1)
    assert torch.allclose(module(same, kept([4, 3], 4)), values[:, 0], atol=1e-12)
    assert module(values[:1, :1], kept([1], 1)).shape == (1, 5)


def test_a_shift_and_a_positive_factor_pass_through():
    module, values, mask = pool(), tokens(), kept([7, 3, 5], 7)
    assert torch.allclose(module(3 * values + 2, mask), 3 * module(values, mask) + 2, atol=1e-11)


def test_gradients_of_tokens_and_weights_are_exact_and_none_reaches_what_is_not_kept():
    module, values, mask = pool(4), tokens(2, 4, 3).requires_grad_(), kept([4, 2], 4)
    assert torch.autograd.gradcheck(lambda x: module(x, mask), (values,))
    scale = torch.linspace(1, 2, 3, dtype=torch.float64)
    (module(values, mask) * scale).square().sum().backward()
    assert torch.equal(values.grad[1, 2:], torch.zeros(2, 3, dtype=torch.float64))
    name, step = "weight_hh_l0_reverse", 1e-6
    weight = dict(module.gru.named_parameters())[name]
    slope, losses = weight.grad[5, 1].item(), []
    for change in (step, -step):
        with torch.no_grad():
            weight[5, 1] += change
            losses.append((module(values, mask) * scale).square().sum().item())
            weight[5, 1] -= change
    assert slope == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=1e-5)
    assert abs(slope) > 1e-6


@pytest.mark.parametrize("scale", [1e-15, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_any_magnitude_gives_finite_values_and_gradients(scale, dtype):
    module = pool(dtype=dtype)
    values = (scale * tokens(3, 6, dtype=dtype)).requires_grad_()
    values.data[1] = values.data[1, :1]  # ties
    out = module(values, kept([6, 6, 1], 6))
    out.sum().backward()
    assert out.dtype == dtype
    assert out.isfinite().all()
    assert values.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in module.parameters())


def test_under_autocast_pooling_stays_in_float32():
    module, values, mask = pool(dtype=torch.float32), tokens(dtype=torch.float32), kept([7, 2, 5], 7)
    plain = module(values, mask)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(module(values, mask), plain)
        assert module(values.bfloat16(), mask).dtype == torch.float32


def test_a_row_without_a_token_and_a_temperature_of_zero_are_refused():
    with pytest.raises(UserError, match=r"no token in row 1 \(2 of 3 rows\)"):
        pool()(tokens(), kept([7, 0, 0], 7))
    with pytest.raises(UserError, match="temperature = 0"):
        GeneralizedPooling(temperature=0.0)
