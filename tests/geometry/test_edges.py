"""Distances at the edge, at zero, for equal points and in half precision: users' reports from other tools."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.geometry import count_outside, dist, exp0, pairwise_dist, pairwise_tangent_dist, project, tangent_dist

POINTS = {
    "origin": (0.0, 0.0, 0.0),
    "half_x": (0.5, 0.0, 0.0),
    "half_minus_x": (-0.5, 0.0, 0.0),
    "half_y": (0.0, 0.5, 0.0),
    "nine_x": (0.9, 0.0, 0.0),
    "nine_y": (0.0, 0.9, 0.0),
    "near_a": (0.3, 0.2, 0.1),
    "near_b": (0.300001, 0.2, 0.1),
    "limit32_x": (0.996, 0.0, 0.0),
    "limit32_minus_x": (-0.996, 0.0, 0.0),
    "edge_x": (0.99999, 0.0, 0.0),
    "edge_minus_x": (-0.99999, 0.0, 0.0),
    "on_boundary": (1.0, 0.0, 0.0),
    "outside": (1.5, 0.0, 0.0),
    "just_outside": (1.0000001, 0.0, 0.0),
}
TANGENTS = {
    "zero": (0.0, 0.0, 0.0),
    "small": (1e-8, 0.0, 0.0),
    "one": (1.0, 0.0, 0.0),
    "ten": (10.0, 0.0, 0.0),
    "thousand": (1000.0, 0.0, 0.0),
    "clip_like": (6.0, 6.0, 6.0),
    "minus_thousand": (-1000.0, 0.0, 0.0),
}
DISTANCES = {
    ("origin", "half_x"): 1.0986122886681098,
    ("half_x", "half_minus_x"): 2.1972245773362196,
    ("half_x", "half_y"): 1.6806997724280035,
    ("nine_x", "nine_y"): 5.201232927686144,
    ("near_a", "near_b"): 2.3255822065994137e-06,
    ("limit32_x", "limit32_minus_x"): 12.425212191503038,
    ("origin", "limit32_x"): 6.212606095751519,
    ("origin", "edge_x"): 12.206067645517674,
    ("edge_x", "edge_minus_x"): 24.412135291035348,
    ("half_x", "half_x"): 0.0,
}
NORMS_AFTER_MAP = {
    "zero": 0.0,
    "small": 1e-08,
    "one": 0.7615941559557649,
    "ten": 0.9999999958776927,
    "thousand": 1.0,
    "clip_like": 0.9999999981190004,
    "minus_thousand": 1.0,
}
HALF_WAY_OUT_AND_BACK = {0.1: 6.948234195283235, 1.0: 2.1972245773362196, 10.0: 0.6948234195283236}


def table(rows, dtype):
    return torch.tensor(list(rows.values()), dtype=torch.float64).to(dtype)


def tolerance(name, expected, dtype):
    if dtype == torch.float64:
        return 1e-6 * expected
    if "near_a" in name:
        return 0.1 * expected
    return (1e-3 if expected <= 6 else 2e-3) * expected


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_listed_distances(dtype):
    matrix = pairwise_dist(table(POINTS, dtype), table(POINTS, dtype), 1.0)
    names = list(POINTS)
    for (a, b), expected in DISTANCES.items():
        x, y = (torch.tensor(POINTS[name], dtype=torch.float64).to(dtype) for name in (a, b))
        for got in (dist(x, y, 1.0).item(), matrix[names.index(a), names.index(b)].item()):
            assert abs(got - expected) <= tolerance((a, b), expected, dtype), (a, b, got)
            assert (got == 0) == (expected == 0)


@pytest.mark.parametrize("c", HALF_WAY_OUT_AND_BACK)
def test_the_listed_distances_at_other_curvatures(c):
    x = torch.tensor([0.5 / math.sqrt(c), 0.0, 0.0], dtype=torch.float64)
    assert dist(x, -x, c).item() == pytest.approx(HALF_WAY_OUT_AND_BACK[c], rel=1e-9)


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-11), (torch.float32, 1.1e-5)])
def test_the_listed_norms_after_the_exponential_map(dtype, rtol):
    norms = exp0(table(TANGENTS, dtype), 1.0).double().norm(dim=-1)
    torch.testing.assert_close(norms, table(NORMS_AFTER_MAP, torch.float64), rtol=rtol, atol=0)


def test_points_outside_are_counted_and_projected():
    points = table(POINTS, torch.float64)
    assert count_outside(points, 1.0) == 3
    assert count_outside(project(points, 1.0), 1.0) == 0
    assert torch.equal(project(points, 1.0)[:12], points[:12])
    for dtype, edge in ((torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 4e-3), (torch.float16, 4e-3)):
        moved = project(torch.tensor([1.5, 0.0], dtype=dtype), 1.0)
        assert 1 - moved[0].item() == pytest.approx(edge, rel=1e-2)


def test_a_missing_number_is_refused_with_its_row():
    points = torch.cat([table(POINTS, torch.float64), torch.tensor([[float("nan"), 0.0, 0.0]])])
    with pytest.raises(UserError, match=r"x with 1 of 48 numbers NaN or infinite, first at \[15, 0\]"):
        pairwise_dist(points, points, 1.0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("autocast", [None, torch.bfloat16, torch.float16])
def test_one_pass_over_everything_leaves_no_missing_number(dtype, autocast):
    points, tangents = table(POINTS, dtype).requires_grad_(), table(TANGENTS, dtype).requires_grad_()
    with torch.autocast("cpu", dtype=autocast or torch.bfloat16, enabled=autocast is not None):
        mapped = exp0(tangents, 1.0)
        values = [
            pairwise_dist(points, points, 1.0),
            pairwise_dist(mapped, points, 1.0),
            pairwise_tangent_dist(tangents, tangents, 1.0),
            dist(points[:, None], points[None], 1.0),
            tangent_dist(tangents[:, None], tangents[None], 1.0),
        ]
        sum(value.sum() for value in values).backward()
    for value in values:
        assert value.isfinite().all()
        if value.shape[0] == value.shape[1]:
            torch.testing.assert_close(value, value.T, rtol=1e-6, atol=0)
            assert (value.diagonal() == 0).all()
    assert points.grad.isfinite().all()
    assert tangents.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_every_single_pair_has_a_finite_gradient_and_equal_points_a_zero_one(dtype):
    points = table(POINTS, dtype)
    for i in range(len(points)):
        for j in range(len(points)):
            x, y = points[i].clone().requires_grad_(), points[j].clone().requires_grad_()
            dist(x, y, 1.0).backward()
            assert x.grad.isfinite().all()
            assert y.grad.isfinite().all()
            if i == j:
                assert (x.grad == 0).all()
