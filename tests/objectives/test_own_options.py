"""Each picture against its own true and false statements."""

import math
from functools import partial

import pytest
import torch

from litotes.errors import UserError
from litotes.objectives import OwnOptionsConfig, own_options
from reference import losses


def sample(b=4, k=3, d=6, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    image = torch.randn(b, d, generator=generator, dtype=torch.float64)
    return image.to(dtype), torch.randn(b, k, d, generator=generator, dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("distance", ["hyperbolic", "cosine"])
@pytest.mark.parametrize("norm", ["unit", "none", "clip"])
@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-10), (torch.float32, 1e-6)])
def test_against_loops(distance, norm, dtype, rtol):
    image, options = sample(dtype=dtype)
    config = OwnOptionsConfig(temperature=0.3, norm=norm, distance=distance, curvature=0.5)

    def cosine_distance(x, y):
        return config.cosine_slope * (1 - losses.cosine(x, y))

    measure = partial(losses.distance, c=0.5) if distance == "hyperbolic" else cosine_distance
    placed = [losses.placed(x, norm, 2.3) for x in image.tolist()]
    own = [[losses.placed(y, norm, 2.3) for y in row] for row in options.tolist()]
    got = own_options(image, options, config)
    assert got.dtype == dtype
    assert got.item() == pytest.approx(losses.own_options(placed, own, measure, 0.3), rel=rtol)


def test_other_pictures_statements_do_not_matter():
    image, options = sample()
    whole = own_options(image, options)
    alone = torch.stack([own_options(image[i : i + 1], options[i : i + 1]) for i in range(4)])
    torch.testing.assert_close(whole, alone.mean())


def test_nothing_told_apart_is_log_k_and_a_right_answer_is_near_zero():
    image, options = sample()
    same = options[:, :1].expand(-1, 3, -1)
    assert own_options(image, same).item() == pytest.approx(math.log(3))
    told = torch.stack([image, -image, -image], dim=1)
    assert own_options(image, told).item() == pytest.approx(0, abs=1e-9)
    assert own_options(image, told.flip(1)).item() > 10


def test_absent_options_are_as_if_not_there():
    image, options = sample()
    present = torch.ones(4, 3, dtype=torch.bool)
    present[:, 2] = False
    spoilt = options.clone()
    spoilt[:, 2] = float("nan")
    spoilt.requires_grad_()
    loss = own_options(image, spoilt, present=present)
    torch.testing.assert_close(loss, own_options(image, options[:, :2]))
    loss.backward()
    assert (spoilt.grad[:, 2] == 0).all()
    assert spoilt.grad.isfinite().all()
    present[:, 1] = False
    assert own_options(image, spoilt, present=present) == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("norm", ["unit", "none"])
def test_loss_and_gradient_are_finite_at_every_magnitude(dtype, norm):
    for size in (1e-15, 1e-8, 1e-3, 1.0, 1e3):
        image, options = ((size * x).to(dtype) for x in sample())
        options[0, 0] = image[0]
        options[1, 2] = options[1, 1]
        options[2, 0] = 0
        image[3] = 0
        rows = [image.requires_grad_(), options.requires_grad_()]
        loss = own_options(*rows, OwnOptionsConfig(norm=norm))
        loss.backward()
        assert loss.isfinite()
        assert all(x.grad.isfinite().all() for x in rows)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_changes_nothing(half):
    image, options = sample(dtype=torch.float32)
    plain = own_options(image, options)
    with torch.autocast("cpu", dtype=half):
        assert torch.equal(own_options(image, options), plain)


def test_mistakes_are_told():
    image, options = sample()
    with pytest.raises(UserError, match="true statement"):
        own_options(image, options, present=torch.zeros(4, 3, dtype=torch.bool))
    with pytest.raises(UserError, match="model"):
        own_options(image, options, OwnOptionsConfig(temperature="model"))
    assert OwnOptionsConfig(temperature="model").with_model_temperature(0.06).temperature == pytest.approx(0.094)
    options[1, 1, 1] = float("nan")
    with pytest.raises(UserError, match="options with 1 of 72"):
        own_options(image, options)
