"""Feature treatment, the translation of temperatures, and the slope behind it."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.geometry import tangent_dist
from litotes.objectives import SpaceConfig, hyperbolic_temperature, sensitivity
from litotes.objectives.space import all_pairs, matched, place


def test_treatments_of_the_length():
    features = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]], dtype=torch.float64)
    expected = {"unit": [1.0, 1.0, 0.0], "none": [5.0, 0.5, 0.0], "clip": [2.3, 0.5, 0.0], "scale": [2.0, 0.2, 0.0]}
    for norm, lengths in expected.items():
        placed = place(features, SpaceConfig(norm=norm, image_norm=2.5))
        assert placed.norm(dim=-1).tolist() == pytest.approx(lengths)
        torch.testing.assert_close(placed[0] / placed[0].norm(), torch.tensor([0.6, 0.8], dtype=torch.float64))


@pytest.mark.parametrize("curvature", [0.1, 1.0])
@pytest.mark.parametrize("cosine", [-0.9, 0.0, 0.25, 0.62, 0.98])
@pytest.mark.parametrize("radius", [0.5, 1.0, 2.3])
def test_the_slope_is_the_derivative_of_the_distance(curvature, cosine, radius):
    cos = torch.tensor(cosine, dtype=torch.float64, requires_grad=True)
    u = radius * torch.tensor([1.0, 0.0], dtype=torch.float64)
    w = radius * torch.stack([cos, torch.sqrt(1 - cos**2)])
    tangent_dist(u, w, curvature).backward()
    assert sensitivity(cosine, curvature, radius) == pytest.approx(-cos.grad.item(), rel=1e-9)


def test_the_fixed_slope_holds_at_cosine_062_and_not_at_clips_own_cosines():
    assert sensitivity(0.62) == pytest.approx(2.35, abs=0.005)
    assert sensitivity(0.6) == pytest.approx(2.29, abs=0.005)
    assert sensitivity(0.25) == pytest.approx(1.61, abs=0.005)
    with pytest.raises(UserError, match="cosine"):
        sensitivity(1.0)


def test_the_models_temperature():
    assert hyperbolic_temperature(0.06) == pytest.approx(0.094)
    assert hyperbolic_temperature(0.01, slope=1.8, sharpening=1.0) == pytest.approx(0.018)
    with pytest.raises(UserError, match="cosine_temperature"):
        hyperbolic_temperature(0.0)


def test_cosine_distance_is_as_sensitive_as_the_hyperbolic_one_at_the_working_point():
    angles = torch.acos(torch.tensor([0.62 - 1e-5, 0.62 + 1e-5], dtype=torch.float64))
    u = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    w = torch.stack([angles.cos(), angles.sin()], dim=1)
    changes = [all_pairs(u, w, SpaceConfig(distance=name))[0].diff().item() for name in ("hyperbolic", "cosine")]
    assert changes[0] < 0
    assert changes[1] == pytest.approx(changes[0], rel=1e-3)


@pytest.mark.parametrize("distance", ["hyperbolic", "cosine"])
def test_all_pairs_hold_the_matched_ones(distance):
    generator = torch.Generator().manual_seed(0)
    u, w = (torch.randn(6, 5, generator=generator, dtype=torch.float64) for _ in range(2))
    space = SpaceConfig(distance=distance)
    torch.testing.assert_close(all_pairs(u, w, space).diagonal(), matched(u, w, space))


def test_the_cosine_of_a_zero_vector_is_zero():
    space = SpaceConfig(distance="cosine", cosine_slope=2.0)
    zero, one = torch.zeros(1, 3), torch.ones(1, 3)
    assert matched(zero, one, space).item() == 2.0
    assert all_pairs(zero, zero, space).item() == 2.0
    assert matched(one, one, space).item() == pytest.approx(0.0, abs=1e-6)
    assert math.isclose(matched(one, -one, space).item(), 4.0, rel_tol=1e-6)
