"""Laws of the ball, an independent reference, and sweeps over types and magnitudes."""

import math

import geoopt
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from litotes.errors import UserError
from litotes.geometry import (
    count_outside,
    dist,
    exp0,
    log0,
    mobius_add,
    numerics,
    pairwise_dist,
    pairwise_tangent_dist,
    project,
    tangent_dist,
    tangent_radius,
)
from reference import hyperbolic

CURVATURES = [0.1, 1.0, 10.0]
MAGNITUDES = [1e-15, 1e-8, 1e-3, 1.0, 2.3, 16.0, 100.0, 1000.0]
SEPARATIONS = [1.0, 1e-3, 1e-5, 1e-6, 2e-7]


def gaussian(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def points(n, d, curvature, reach=0.9, seed=0, dtype=torch.float64):
    """Points at random radii up to ``reach`` of the ball's."""
    way = gaussian(n, d, seed=seed)
    share = torch.rand(n, 1, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    return (way / way.norm(dim=-1, keepdim=True) * share * reach / math.sqrt(curvature)).to(dtype)


def relative_error(got, expected):
    return abs(got - expected) / abs(expected) if expected else abs(got)


# ---- laws --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("seed", range(3))
def test_mobius_addition_has_a_neutral_element_and_left_inverses(c, seed):
    x, y = points(20, 5, c, seed=seed), points(20, 5, c, seed=seed + 50)
    zero = torch.zeros_like(x)
    torch.testing.assert_close(mobius_add(zero, y, c), y)
    torch.testing.assert_close(mobius_add(x, zero, c), x)
    torch.testing.assert_close(mobius_add(-x, x, c), zero)
    torch.testing.assert_close(mobius_add(-x, mobius_add(x, y, c), c), y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("c", CURVATURES)
def test_distance_is_a_metric_and_translations_keep_it(c):
    x, y, z = (points(20, 5, c, seed=seed) for seed in (0, 10, 20))
    xy = dist(x, y, c)
    torch.testing.assert_close(xy, dist(y, x, c), rtol=0, atol=0)
    assert (xy > 0).all()
    assert (dist(x, x, c) == 0).all()
    assert (dist(x, z, c) <= xy + dist(y, z, c) + 1e-12).all()
    torch.testing.assert_close(dist(mobius_add(z, x, c), mobius_add(z, y, c), c), xy, rtol=1e-8, atol=0)


@pytest.mark.parametrize("c", CURVATURES)
def test_distance_is_the_artanh_of_the_mobius_difference(c):
    x, y = points(20, 5, c, seed=3), points(20, 5, c, seed=4)
    reach = math.sqrt(c) * mobius_add(-x, y, c).norm(dim=-1)
    torch.testing.assert_close(dist(x, y, c), 2 / math.sqrt(c) * torch.atanh(reach), rtol=1e-9, atol=0)


def test_small_curvature_gives_twice_the_euclidean_distance():
    x, y = gaussian(10, 6, seed=1), gaussian(10, 6, seed=2)
    euclidean = 2 * (x - y).norm(dim=-1)
    torch.testing.assert_close(dist(x, y, 1e-9), euclidean, rtol=1e-6, atol=0)
    torch.testing.assert_close(tangent_dist(x, y, 1e-9), euclidean, rtol=1e-6, atol=0)


@pytest.mark.parametrize("c", CURVATURES)
def test_curvature_is_a_change_of_unit(c):
    x, y = points(10, 6, c, seed=1), points(10, 6, c, seed=2)
    root = math.sqrt(c)
    torch.testing.assert_close(dist(x, y, c), dist(root * x, root * y, 1.0) / root)
    torch.testing.assert_close(tangent_dist(x, y, c), tangent_dist(root * x, root * y, 1.0) / root)


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float32, 2e-6), (torch.float64, 1e-12)])
def test_logarithm_undoes_the_exponential(c, dtype, rtol):
    tangent = gaussian(20, 5, dtype=dtype) / (2 * math.sqrt(c))
    torch.testing.assert_close(log0(exp0(tangent, c), c), tangent, rtol=rtol, atol=0)
    point = points(20, 5, c, dtype=dtype)
    torch.testing.assert_close(exp0(log0(point, c), c), point, rtol=rtol, atol=0)


@pytest.mark.parametrize("c", CURVATURES)
def test_polar_form_is_the_distance_of_the_mapped_points(c):
    u, w = gaussian(12, 5, seed=1) / math.sqrt(c), gaussian(12, 5, seed=2) / math.sqrt(c)
    torch.testing.assert_close(tangent_dist(u, w, c), dist(exp0(u, c), exp0(w, c), c), rtol=1e-8, atol=0)


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_radius_is_twice_the_tangent_norm_whatever_the_curvature(c, dtype):
    u = torch.cat([gaussian(3, 7) * size for size in (1e-15, 1e-3, 1.0, 100.0, 1000.0)]).to(dtype)
    zero = torch.zeros_like(u)
    torch.testing.assert_close(tangent_radius(u), 2 * u.norm(dim=-1), rtol=1e-6, atol=0)
    torch.testing.assert_close(tangent_dist(u, zero, c), tangent_radius(u), rtol=1e-6, atol=0)
    torch.testing.assert_close(tangent_dist(u, -u, c), 2 * tangent_radius(u), rtol=1e-6, atol=0)
    torch.testing.assert_close(tangent_dist(u, 2 * u, c), tangent_radius(u), rtol=1e-6, atol=0)


@pytest.mark.parametrize("c", CURVATURES)
def test_all_pairs_agree_with_the_pair_by_pair_forms(c):
    x, y = points(7, 5, c, seed=1), points(9, 5, c, seed=2)
    torch.testing.assert_close(pairwise_dist(x, y, c), dist(x[:, None], y[None], c), rtol=1e-12, atol=0)
    torch.testing.assert_close(pairwise_tangent_dist(x, y, c), tangent_dist(x[:, None], y[None], c), rtol=1e-12, atol=0)
    assert (pairwise_dist(x, x, c).diagonal() == 0).all()
    assert (pairwise_tangent_dist(x, x, c).diagonal() == 0).all()


# ---- references --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_polar_distance_is_exact_to_a_millionth_at_every_magnitude_and_separation(c, dtype):
    worst = 0.0
    for size in MAGNITUDES[:-1]:
        for separation in SEPARATIONS:
            u = gaussian(2, 16)
            u = size * u / u.norm(dim=-1, keepdim=True)
            w = u + separation * size * gaussian(2, 16, seed=1) / 4
            w = torch.cat([w, -u[:1], 2 * u[:1], torch.zeros(1, 16, dtype=torch.float64)])
            u, w = u.to(dtype), w.to(dtype)
            got = pairwise_tangent_dist(u, w, c)
            assert got.dtype == dtype
            for i in range(len(u)):
                for j in range(len(w)):
                    expected = hyperbolic.tangent_distance(u[i].tolist(), w[j].tolist(), c)
                    worst = max(worst, relative_error(got[i, j].item(), expected))
    assert worst < (1e-6 if dtype == torch.float32 else 1e-7)


@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_point_distance_is_exact_to_a_millionth_up_to_the_edge(c, dtype):
    worst = 0.0
    for reach in (1e-15, 1e-8, 1e-3, 0.5, 0.9, 0.999, 0.9999, 0.99998):
        for separation in SEPARATIONS:
            x = gaussian(2, 8)
            x = reach / math.sqrt(c) * x / x.norm(dim=-1, keepdim=True)
            y = x + separation * reach / math.sqrt(c) * gaussian(2, 8, seed=1) / 4
            y = project(y * 0.99999, c)
            y = torch.cat([y, -x[:1], 0.5 * x[:1], torch.zeros(1, 8, dtype=torch.float64)])
            x, y = project(x.to(dtype), c), project(y.to(dtype), c)
            got = pairwise_dist(x, y, c)
            for i in range(len(x)):
                for j in range(len(y)):
                    if max(x[i].double().norm(), y[j].double().norm()) * math.sqrt(c) > 1 - 1.001e-5:
                        continue  # the function would move it in once more
                    expected = hyperbolic.mobius_distance(x[i].tolist(), y[j].tolist(), c)
                    worst = max(worst, relative_error(got[i, j].item(), expected))
    assert 0 < worst < 1e-6


@pytest.mark.parametrize("c", CURVATURES)
def test_maps_and_addition_against_the_reference(c):
    x, y = points(4, 6, c, seed=1), points(4, 6, c, seed=2)
    for i in range(4):
        left, right = hyperbolic.numbers(x[i].tolist()), hyperbolic.numbers(y[i].tolist())
        expected = torch.tensor([float(a) for a in hyperbolic.mobius_add(left, right, c)], dtype=torch.float64)
        torch.testing.assert_close(mobius_add(x[i], y[i], c), expected, rtol=1e-12, atol=1e-14)
        expected = torch.tensor([float(a) for a in hyperbolic.exp0(x[i].tolist(), c)], dtype=torch.float64)
        torch.testing.assert_close(exp0(x[i], c), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("c", CURVATURES)
def test_geoopt_agrees_in_float64(c):
    ball = geoopt.PoincareBall(c=torch.tensor(c, dtype=torch.float64))
    x, y = points(30, 6, c, seed=5), points(30, 6, c, seed=6)
    u = gaussian(30, 6, seed=7) / (2 * math.sqrt(c))
    torch.testing.assert_close(dist(x, y, c), ball.dist(x, y), rtol=1e-9, atol=0)
    torch.testing.assert_close(mobius_add(x, y, c), ball.mobius_add(x, y), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(exp0(u, c), ball.expmap0(u), rtol=1e-9, atol=0)
    torch.testing.assert_close(log0(x, c), ball.logmap0(x), rtol=1e-9, atol=0)


# ---- gradients ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", CURVATURES)
def test_gradients_equal_finite_differences(c):
    x, y = (points(3, 4, c, seed=seed).requires_grad_() for seed in (1, 2))
    u, w = ((gaussian(3, 4, seed=seed) / math.sqrt(c)).requires_grad_() for seed in (3, 4))
    for function in (dist, pairwise_dist, mobius_add):
        assert torch.autograd.gradcheck(lambda a, b, f=function: f(a, b, c), (x, y))
    for function in (tangent_dist, pairwise_tangent_dist):
        assert torch.autograd.gradcheck(lambda a, b, f=function: f(a, b, c), (u, w))
    assert torch.autograd.gradcheck(lambda a: exp0(a, c), (u,))
    assert torch.autograd.gradcheck(lambda a: log0(a, c), (x,))


@pytest.mark.parametrize("separation", [1e-3, 1e-5, 1e-7])
def test_the_gradient_of_a_close_pair_is_as_good_as_its_value(separation):
    u = gaussian(4, 32)
    w = u + separation * gaussian(4, 32, seed=1)
    gradients = []
    for matched in (True, False):
        a, b = u.clone().requires_grad_(), w.clone().requires_grad_()
        d = tangent_dist(a, b, 0.1) if matched else pairwise_tangent_dist(a, b, 0.1).diagonal()
        d.sum().backward()
        gradients.append(torch.cat([a.grad, b.grad]))
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("c", CURVATURES)
@pytest.mark.parametrize("size", MAGNITUDES)
def test_every_value_and_gradient_is_finite(dtype, c, size):
    base = gaussian(3, 8)
    rows = torch.cat([base, base[:1], -base[:1], 2 * base[:1], torch.zeros(2, 8, dtype=torch.float64)])
    rows = (size * rows).to(dtype)
    for function in (dist, tangent_dist):
        pairs = {dist: pairwise_dist, tangent_dist: pairwise_tangent_dist}[function]
        for measure in (lambda a, b, f=function: f(a[:, None], b[None], c), lambda a, b, f=pairs: f(a, b, c)):
            a, b = rows.clone().requires_grad_(), rows.clone().requires_grad_()
            value = measure(a, b)
            value.sum().backward()
            assert value.isfinite().all()
            assert a.grad.isfinite().all()
            assert b.grad.isfinite().all()
    a = rows.clone().requires_grad_()
    total = exp0(a, c).sum() + log0(a, c).sum() + mobius_add(a, a.flip(0), c).sum() + tangent_radius(a).sum()
    total.backward()
    assert a.grad.isfinite().all()


def test_coincident_points_have_distance_zero_and_zero_gradient():
    for function in (dist, tangent_dist, pairwise_dist, pairwise_tangent_dist):
        x = (gaussian(1, 6) / 4).requires_grad_()
        value = function(x, x.detach().clone(), 1.0).sum()
        value.backward()
        assert value.item() == 0
        assert (x.grad == 0).all()


# ---- precision and memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_changes_nothing(half):
    x, y = gaussian(5, 16, dtype=torch.float32) / 5, gaussian(6, 16, seed=1, dtype=torch.float32) / 5
    for function in (pairwise_dist, pairwise_tangent_dist):
        plain = function(x, y, 0.1)
        with torch.autocast("cpu", dtype=half):
            cast = function(x, y, 0.1)
            assert (x @ y.T).dtype == half  # the context is on
        assert cast.dtype == torch.float32
        assert torch.equal(plain, cast)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_inputs_are_computed_and_returned_in_float32(half):
    x = (gaussian(4, 8) / 5).to(half)
    for function in (dist, pairwise_dist, tangent_dist, pairwise_tangent_dist, mobius_add):
        assert torch.equal(function(x, x.flip(0), 0.1), function(x.float(), x.float().flip(0), 0.1))
        assert function(x, x, 0.1).dtype == torch.float32
    assert project(200 * x, 0.1).norm(dim=-1).max() == pytest.approx(math.sqrt(10) * (1 - 4e-3), rel=1e-6)


class LargestTensor(TorchDispatchMode):
    """Records the number of elements of the largest tensor that any operation makes."""

    size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.size = max(self.size, result.numel())
        return result


@pytest.mark.parametrize("function", [pairwise_dist, pairwise_tangent_dist])
def test_all_pairs_make_no_tensor_of_pairs_times_dimensions(function):
    x, y = gaussian(40, 64).requires_grad_(), gaussian(50, 64, seed=1).requires_grad_()
    with LargestTensor() as largest:
        function(x / 20, y / 20, 0.1).sum().backward()
    assert largest.size == 50 * 64


@pytest.mark.parametrize("function", [pairwise_dist, pairwise_tangent_dist])
def test_a_collapsed_batch_is_measured_in_bounded_pieces(function, monkeypatch):
    x = torch.full((30, 64), 0.05, dtype=torch.float64)
    x[:, 0] += torch.linspace(0, 1e-9, 30, dtype=torch.float64)
    whole = function(x, x, 0.1)
    monkeypatch.setattr(numerics, "CLOSE_PAIR_BUDGET", 1000)
    with LargestTensor() as largest:
        pieces = function(x, x, 0.1)
    assert largest.size == 30 * 64
    assert torch.equal(whole, pieces)
    assert (whole[~torch.eye(30, dtype=torch.bool)] > 0).all()


# ---- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused_by_name(bad):
    good, spoilt = torch.zeros(3, 4), torch.zeros(3, 4)
    spoilt[2, 1] = bad
    for function in (dist, pairwise_dist, mobius_add):
        with pytest.raises(UserError, match=r"y with 1 of 12 numbers NaN or infinite, first at \[2, 1\]"):
            function(good, spoilt, 0.1)
    for function in (tangent_dist, pairwise_tangent_dist):
        with pytest.raises(UserError, match="u with 1 of 12"):
            function(spoilt, good, 0.1)
    with pytest.raises(UserError, match="tangent with"):
        exp0(spoilt, 0.1)
    for function in (log0, project, count_outside):
        with pytest.raises(UserError, match="point with"):
            function(spoilt, 0.1)


@pytest.mark.parametrize("curvature", [0.0, -0.1, float("nan"), float("inf")])
def test_a_curvature_that_is_not_above_zero_is_refused(curvature):
    x = torch.zeros(2, 3)
    for function in (dist, pairwise_dist, mobius_add, tangent_dist, pairwise_tangent_dist):
        with pytest.raises(UserError, match="curvature"):
            function(x, x, curvature)
    for function in (exp0, log0, project, count_outside):
        with pytest.raises(UserError, match="curvature"):
            function(x, curvature)
