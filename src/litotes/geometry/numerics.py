"""Every clamp, tolerance and choice of precision of the project, so that each is decided once.

Distances are taken in float64 whatever comes in: the cosine of two nearly equal directions loses every digit of a
float32 distance, and in float64 one matrix product is enough. Inputs and results stay float32 (or float64).
"""

import contextlib
import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from litotes.errors import UserError

# How far inside the unit sphere (of the ball scaled to curvature 1) a point is kept, by the type it arrives in.
EDGE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 4e-3, torch.float16: 4e-3}

# A pair whose squared distance is below this share of its squared norms is measured again by subtraction. The
# matrix product errs by about 1e-15 of the squared norms, so it leaves at most about 1e-7 relative on larger ones.
CLOSE_PAIR = 1e-8

# Numbers held at once while close pairs are measured again: 8 MiB in float64.
CLOSE_PAIR_BUDGET = 2**20

# Above this exponent the polar distance is scaled before sinh: exp(2 * 20) is far from overflow, and the logarithm
# that undoes the scaling has lost no digit by then.
LARGE_EXPONENT = 20.0

# A difference of two vectors shorter than this many machine epsilons of the longer one is rounding, not a direction.
ZERO_DIFFERENCE_EPSILONS = 4.0

# Log-variances are kept within plus and minus this, so that neither exp(lv) nor exp(-lv) leaves float16's range.
LOG_VAR_BOUND = 10.0

# Uniform draws are kept this far from 0 and from 1, so that the two logarithms of Gumbel noise are finite.
UNIFORM_EDGE = 1e-6


# Added to a length before a vector is divided by it, where a recipe says so.
LENGTH_FLOOR = 1e-8


def full_precision(tensor: Tensor) -> contextlib.AbstractContextManager[object]:
    """Context in which autocast leaves the arithmetic of the tensor's device alone."""
    return torch.autocast(device_type=tensor.device.type, enabled=False)


def widen(tensor: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The tensor in float64, differentiably; on the CPU where its own device has no float64 (Apple's MPS)."""
    device = torch.device("cpu") if tensor.device.type == "mps" else tensor.device
    return tensor.to(device=device, dtype=torch.float64)


def narrow(result: Float[Tensor, "*shape"], *inputs: Tensor) -> Float[Tensor, "*shape"]:
    """A float64 result on the inputs' device: float64 if one of them is, else float32 (half types included)."""
    double = any(tensor.dtype == torch.float64 for tensor in inputs)
    return result.to(device=inputs[0].device, dtype=torch.float64 if double else torch.float32)


def coarsest(*tensors: Tensor) -> torch.dtype:
    """The type with the largest rounding among the tensors'."""
    return max((tensor.dtype for tensor in tensors), key=lambda dtype: torch.finfo(dtype).eps)


def at_least_float32(tensor: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The tensor itself, or float32 where it comes in a half type."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def require_finite(**tensors: Tensor) -> None:
    """Refuse NaN and infinity by the argument's name: one sum of each input, one wait for an accelerator."""
    # A sum is finite only if every number is; if it overflows by itself, the search below finds nothing.
    if bool(torch.stack([tensor.detach().sum().float() for tensor in tensors.values()]).isfinite().all()):
        return
    for name, tensor in tensors.items():
        bad = (~torch.isfinite(tensor)).nonzero()
        if len(bad):
            raise UserError(
                got=f"{name} with {len(bad)} of {tensor.numel()} numbers NaN or infinite, first at {bad[0].tolist()}",
                expected=f"finite numbers in {name}",
                do="look at the row named above; in training, lower the learning rate or leave half precision",
            )


def require_positive(**numbers: float) -> None:
    """Refuse zero, negative, NaN and infinite settings by name."""
    for name, number in numbers.items():
        if not (math.isfinite(number) and number > 0):
            raise UserError(
                got=f"{name} = {number}", expected=f"a positive, finite {name}", do=f"set {name} above zero"
            )


def safe_norm(vector: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
    """Euclidean norm over the last axis; its gradient at the zero vector is zero."""
    return torch.linalg.vector_norm(vector, dim=-1)


def direction(vector: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """``v / ||v||``, and zero for the zero vector, with finite gradients."""
    norm = safe_norm(vector).unsqueeze(-1)
    return vector / torch.where(norm > 0, norm, 1.0)


def arcosh1p(excess: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """``arcosh(1 + u)`` for u >= 0 to full relative accuracy, as ``log1p(u + sqrt(u (u + 2)))``.

    Zero, with a zero gradient, for u <= 0: the one-sided derivative there is infinite, and every distance that uses
    it has its minimum there.
    """
    positive = excess > 0
    safe = torch.where(positive, excess, 1.0)
    return torch.where(positive, torch.log1p(safe + torch.sqrt(safe * (safe + 2))), 0.0)


def log_sinh(number: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """``log(sinh(a))`` for a > 0 without overflow; for a = 0 a harmless 0 that the caller masks."""
    safe = torch.where(number > 0, number, 1.0)
    return torch.where(number > 0, safe + torch.log(-torch.expm1(-2 * safe)) - math.log(2), 0.0)


def square_distance(x: Float[Tensor, "*#batch d"], y: Float[Tensor, "*#batch d"]) -> Float[Tensor, "..."]:
    """``||x - y||^2`` over the last axis, batch axes broadcast."""
    return (x - y).square().sum(-1)


def pairwise_square_distance(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    """``||x_i - y_j||^2`` of all pairs by one matrix product, exact for close pairs too; memory O(n m).

    ``||x||^2 + ||y||^2 - 2 <x, y>`` cancels for close pairs. Those (``CLOSE_PAIR``) are measured again by subtraction,
    a bounded number at a time, and replace the value; the gradient ``2 (x - y)`` is the product's own. Coincident
    pairs come out exactly 0. Time grows with the number of close pairs: a batch in which every vector equals every
    other costs n m d subtractions.
    """
    square_norms = x.square().sum(-1)[:, None] + y.square().sum(-1)[None, :]
    product = square_norms - 2 * (x @ y.T)
    with torch.no_grad():
        # Values are replaced in place behind the graph's back: no operation so far has kept them for its gradient.
        values = product.detach().clamp_min_(0)
        rows, columns = (values < CLOSE_PAIR * square_norms).nonzero(as_tuple=True)
        step = max(1, CLOSE_PAIR_BUDGET // max(1, x.shape[1]))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            values[rows[part], columns[part]] = square_distance(x[rows[part]], y[columns[part]])
    return product


def is_rounding(difference: Float[Tensor, "*batch d"], *operands: Tensor, dtype: torch.dtype) -> Bool[Tensor, "*batch"]:
    """Whether a difference of vectors that arrived as ``dtype`` is no longer than their rounding errors."""
    with torch.no_grad():
        longest = torch.stack([safe_norm(operand) for operand in operands]).amax(0)
        return safe_norm(difference) <= ZERO_DIFFERENCE_EPSILONS * torch.finfo(dtype).eps * longest


def bounded(number: Float[Tensor, "*shape"], bound: float = LOG_VAR_BOUND) -> Float[Tensor, "*shape"]:
    """The numbers clamped to [-bound, bound]; one outside keeps a gradient that leads it back inside.

    A plain clamp has gradient 0 outside, so that a number that got there once would stay whatever the loss says. A
    gradient that would lead further out is 0 here as well.
    """
    return _Bounded.apply(number, bound)


class _Bounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, number: Tensor, bound: float) -> Tensor:
        # One byte a number, where keeping the numbers themselves would take four.
        ctx.save_for_backward((number > bound).to(torch.int8) - (number < -bound).to(torch.int8))
        return number.clamp(-bound, bound)

    @staticmethod
    def backward(ctx: torch.autograd.function.BackwardCFunction, grad: Tensor) -> tuple[Tensor, None]:
        (side,) = ctx.saved_tensors
        return grad.masked_fill(side * grad < 0, 0.0), None
