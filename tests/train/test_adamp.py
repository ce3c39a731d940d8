"""AdamP against plain loops, against AdamW where it does not project, and by what projecting is for."""

import pytest
import torch

from litotes.train.adamp import AdamP, free_of_length, without_radial
from reference import adamp as loops


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def across(weight, rows, seed):
    """A gradient that is orthogonal to each of the rows of the weight, but for a trace."""
    return without_radial(random(*weight.shape, seed=seed), weight, rows)


def run(weight, gradient_at, count, **settings):
    """The weight after each step of the optimiser, and the gradients that it was given."""
    parameter = torch.nn.Parameter(weight.clone())
    optimizer = AdamP([parameter], **settings)
    path, gradients = [], []
    for step in range(count):
        parameter.grad = gradient_at(parameter.detach(), step)
        gradients.append(parameter.grad.flatten().tolist())
        optimizer.step()
        path.append(parameter.detach().flatten().tolist())
    return path, gradients


@pytest.mark.parametrize(
    ("shape", "rows", "split"),
    [
        ((4, 6), 4, 4),  # each row by itself
        ((4, 6), 1, 1),  # the whole alone
        ((3, 2, 2, 2), 3, 3),
        ((4, 6), None, 0),
        ((7,), None, 0),
    ],
)
def test_every_step_is_that_of_plain_loops(shape, rows, split):
    weight = random(*shape)
    settings = {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-6}

    def gradient(now, step):
        free = random(*shape, seed=step + 1)
        # Far from orthogonal in one case, and in the rows alone in the other.
        return (free + 3 * now) if rows is None else across(now, rows, step + 1)

    path, gradients = run(weight, gradient, 6, weight_decay=0.3, **settings)
    wanted, splits = loops.steps(
        weight.flatten().tolist(), gradients, shape[0] if len(shape) > 1 else 0, decay=0.3, **settings
    )
    assert splits == [split] * 6
    for got, right in zip(path, wanted, strict=True):
        assert got == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("case", ["delta 0", "a vector", "gradients along the weight"])
def test_it_is_adamw_where_nothing_is_projected(case):
    weight = random(7) if case == "a vector" else random(4, 6)
    delta = 0.0 if case == "delta 0" else 0.1
    mine, torchs = torch.nn.Parameter(weight.clone()), torch.nn.Parameter(weight.clone())
    settings = {"lr": 0.02, "betas": (0.9, 0.99), "weight_decay": 0.2}
    optimizers = [AdamP([mine], delta=delta, **settings), torch.optim.AdamW([torchs], **settings)]
    for step in range(8):
        for parameter, optimizer in zip((mine, torchs), optimizers, strict=True):
            along = parameter.detach() if case == "gradients along the weight" else 0.0
            parameter.grad = random(*weight.shape, seed=step + 1) + 5 * along
            optimizer.step()
        assert torch.allclose(mine, torchs, atol=1e-13, rtol=0)


def test_a_projected_step_has_no_part_along_the_weight_and_decays_a_tenth():
    weight = random(4, 6)
    path, _ = run(weight, lambda now, step: across(now, 4, step + 1), 1, lr=0.1, weight_decay=0.5)
    moved = torch.tensor(path[0], dtype=torch.float64).view(4, 6) - weight * (1 - 0.1 * 0.5 * 0.1)
    assert (moved * weight).sum(1).abs().max() < 1e-14
    assert moved.abs().min() > 1e-4


def test_a_weight_of_which_only_the_direction_counts_moves_across_itself_alone():
    # Then ||w'||^2 = ||w||^2 + ||w' - w||^2; momentum and the root of Adam leave a part along the weight.
    target = torch.nn.functional.normalize(random(1, 12, seed=5))
    along = {AdamP: [], torch.optim.AdamW: []}
    for kind, parts in along.items():
        parameter = torch.nn.Parameter(random(1, 12))
        optimizer = kind([parameter], lr=0.02, weight_decay=0.0)
        for _ in range(200):
            before = parameter.detach().clone()
            optimizer.zero_grad()
            (torch.nn.functional.normalize(parameter) - target).square().sum().backward()
            optimizer.step()
            parts.append(((parameter.detach() - before) * before).sum().abs().item())
        assert torch.nn.functional.cosine_similarity(parameter, target).item() > 0.99
    assert max(along[AdamP]) < 1e-14
    assert max(along[torch.optim.AdamW]) > 1e-3


def test_the_threshold_falls_with_the_root_of_the_size():
    weight = torch.zeros(1, 16, dtype=torch.float64)
    weight[0, 0] = 1.0
    for cosine, rows in ((0.024, 1), (0.026, 0)):  # 0.1 / 4 = 0.025
        grad = torch.zeros(1, 16, dtype=torch.float64)
        grad[0, 0], grad[0, 1] = cosine, (1 - cosine**2) ** 0.5
        assert free_of_length(weight, grad, 0.1) == rows
        assert free_of_length(weight, -7 * grad, 0.1) == rows


@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e3])
def test_zero_weights_and_gradients_of_any_magnitude_give_finite_steps(scale):
    for weight in (torch.zeros(3, 4), scale * torch.ones(3, 4)):
        for grad in (torch.zeros(3, 4), scale * torch.eye(3, 4)):
            parameter = torch.nn.Parameter(weight.clone())
            parameter.grad = grad
            AdamP([parameter], lr=0.1, weight_decay=0.1).step()
            assert parameter.isfinite().all()


def test_a_weight_without_a_gradient_rests_and_its_state_begins_later():
    resting, moving = torch.nn.Parameter(random(2, 2)), torch.nn.Parameter(random(2, 2))
    optimizer = AdamP([resting, moving], lr=0.1, weight_decay=0.5)
    before = resting.detach().clone()
    moving.grad = random(2, 2, seed=1)
    optimizer.step()
    assert torch.equal(resting, before)
    assert resting not in optimizer.state
    assert float(optimizer.state[moving]["step"]) == 1


def test_the_step_returns_the_loss_of_a_closure():
    parameter = torch.nn.Parameter(random(2, 2))

    def closure():
        loss = parameter.square().sum()
        loss.backward()
        return loss

    assert AdamP([parameter]).step(closure).requires_grad
