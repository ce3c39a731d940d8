"""AdamP: AdamW whose step does not lengthen weights of which only the direction counts."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from litotes.geometry.numerics import direction


class AdamP(torch.optim.Optimizer):
    """Adam with decoupled weight decay, its step projected where the loss does not depend on a weight's length.

    With m, s the running means of the gradient g and of g^2, ``p = (m / (1 - b1^t)) / (sqrt(s / (1 - b2^t)) + eps)``
    and ``q = p - (u . p) u``, u = w / ||w||: where ``|cos(w, g)| < delta / sqrt(size of w)``,
    ``w <- (1 - lr decay ratio) w - lr q``, elsewhere ``w <- (1 - lr decay) w - lr p``.
    A gradient orthogonal to its weight is what a loss that does not depend on the length gives. The test is first of
    each row by itself (its output channel: all rows must pass), then of the weight as one vector; vectors and scalars
    are never projected, so that they move as under AdamW.

    params: tensors or groups, as for any optimiser of torch. lr: > 0. betas: b1, b2. weight_decay: decay. delta:
    default 0.1; 0 gives AdamW. decay_ratio: ratio, default 0.1. Weights without a gradient do not move, and their state
    begins at their first one.
    Source: Heo et al. 2021, "AdamP: Slowing Down the Slowdown for Momentum Optimizers on Scale-invariant Weights",
    algorithm 2 and equation 11; rows before the whole, and the decay ratio, from the authors' published settings.
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, delta: float = 0.1, decay_ratio: float = 0.1,
    ) -> None:  # fmt: skip
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "delta": delta, "decay_ratio": decay_ratio})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # noqa: ANN401 (as torch has it)
        """One step of every weight that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._move(weight, weight.grad, group)
        return loss

    def _move(self, weight: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state = self.state[weight]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(weight), torch.zeros_like(weight)
        state["step"] += 1
        (first, second), count = group["betas"], float(state["step"])
        state["exp_avg"].lerp_(grad, 1 - first)
        state["exp_avg_sq"].mul_(second).addcmul_(grad, grad, value=1 - second)
        scale = (state["exp_avg_sq"] / (1 - second**count)).sqrt_().add_(group["eps"])
        update = (state["exp_avg"] / (1 - first**count)).div_(scale)
        decay = group["weight_decay"]
        rows = free_of_length(weight, grad, group["delta"])
        if rows:
            update = without_radial(update, weight, rows)
            decay *= group["decay_ratio"]
        weight.mul_(1 - group["lr"] * decay).sub_(update, alpha=group["lr"])


def free_of_length(weight: Tensor, grad: Tensor, delta: float) -> int:
    """Into how many rows a weight splits so that the loss looks free of each one's length: its first axis, 1, or 0.

    A row looks so where ``|cos(w, g)| < delta / sqrt(size of the row)``; 0: none does, or the weight has one axis.
    """
    if weight.ndim < 2:
        return 0
    for rows in (weight.shape[0], 1):
        unit, slope = direction(weight.reshape(rows, -1)), direction(grad.reshape(rows, -1))
        if (unit * slope).sum(1).abs().max() < delta / math.sqrt(unit.shape[1]):
            return rows
    return 0


def without_radial(update: Tensor, weight: Tensor, rows: int) -> Tensor:
    """The update minus its part along each row of the weight."""
    unit, flat = direction(weight.reshape(rows, -1)), update.reshape(rows, -1)
    return (flat - (unit * flat).sum(1, keepdim=True) * unit).reshape(weight.shape)
