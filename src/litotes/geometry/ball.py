"""The Poincaré ball of curvature -c: ``c ||x||^2 < 1``.

Two families of distances. The point form takes points of the ball and is limited by their coordinates: near the edge
a float32 point no longer says how far out it is. The polar form takes tangent vectors at the origin, never saturates,
and is what the objectives use. Both accept any floating type, compute in float64 also under autocast, and return
float32 (float64 for float64 inputs). All refuse NaN and infinity by the argument's name, and a curvature that is not
above zero. Norms from 1e-150 to 1e150 are told apart from zero and from infinity.

Source: Ganea et al. 2018 for the maps, HANCLIP (arXiv 2606.23843) section 3 for their use. The paper prints the
curvature once as -c^2; its formulas are those of -c, which is what is meant here.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.geometry.numerics import (
    EDGE,
    LARGE_EXPONENT,
    arcosh1p,
    direction,
    full_precision,
    log_sinh,
    narrow,
    pairwise_square_distance,
    require_finite,
    require_positive,
    safe_norm,
    square_distance,
    widen,
)


def exp0(tangent: Float[Tensor, "*batch d"], curvature: float) -> Float[Tensor, "*batch d"]:
    """Exponential map at the origin, the paper's g.

    ``g(a) = tanh(sqrt(c) ||a||) a / (sqrt(c) ||a||)``, g(0) = 0.

    tangent: any vectors [..., d]; curvature: c > 0. Returns points of norm at most ``(1 - eps) / sqrt(c)``: the
    result is projected, so tangents beyond ``sqrt(c) ||a||`` = 6.1 (float32 inputs) all reach that radius.
    The gradient at zero is the identity.
    """
    require_positive(curvature=curvature)
    require_finite(tangent=tangent)
    with full_precision(tangent):
        wide = widen(tangent)
        reach = math.sqrt(curvature) * safe_norm(wide).unsqueeze(-1)
        safe = torch.where(reach > 0, reach, torch.ones_like(reach))
        point = torch.where(reach > 0, torch.tanh(safe) / safe, torch.ones_like(reach)) * wide
        return narrow(_into_ball(point, curvature, EDGE[tangent.dtype]), tangent)


def log0(point: Float[Tensor, "*batch d"], curvature: float) -> Float[Tensor, "*batch d"]:
    """Logarithm at the origin, the inverse of `exp0` on the ball.

    ``log0(x) = artanh(sqrt(c) ||x||) x / (sqrt(c) ||x||)``, log0(0) = 0.

    point: [..., d], projected into the ball first; curvature: c > 0. Returns tangent vectors [..., d].
    """
    require_positive(curvature=curvature)
    require_finite(point=point)
    with full_precision(point):
        wide = _into_ball(widen(point), curvature, EDGE[point.dtype])
        reach = math.sqrt(curvature) * safe_norm(wide).unsqueeze(-1)
        safe = torch.where(reach > 0, reach, torch.full_like(reach, 0.5))
        stretch = torch.where(reach > 0, torch.atanh(safe) / safe, torch.ones_like(reach))
        return narrow(stretch * wide, point)


def mobius_add(
    x: Float[Tensor, "*#batch d"], y: Float[Tensor, "*#batch d"], curvature: float
) -> Float[Tensor, "... d"]:
    """Möbius addition of points.

    ``x (+) y = [(1 + 2c<x,y> + c||y||^2) x + (1 - c||x||^2) y] / (1 + 2c<x,y> + c^2 ||x||^2 ||y||^2)``.

    x, y: points [..., d] with broadcasting batch axes, projected into the ball first; curvature: c > 0. The result is
    projected as well. Neither commutative nor associative; 0 is neutral and -x the left inverse of x.
    """
    require_positive(curvature=curvature)
    require_finite(x=x, y=y)
    with full_precision(x):
        left = _into_ball(widen(x), curvature, EDGE[x.dtype])
        right = _into_ball(widen(y), curvature, EDGE[y.dtype])
        left_gap = _gap_to_edge(left, curvature).unsqueeze(-1)
        right_gap = _gap_to_edge(right, curvature).unsqueeze(-1)
        total = left + right
        spread = curvature * total.square().sum(-1, keepdim=True)
        # The formula rewritten with c||x + y||^2: sums of positive terms, where the printed one cancels at the edge.
        moved = (left_gap * total + spread * left) / (left_gap * right_gap + spread)
        return narrow(_into_ball(moved, curvature, max(EDGE[x.dtype], EDGE[y.dtype])), x, y)


def project(point: Float[Tensor, "*batch d"], curvature: float) -> Float[Tensor, "*batch d"]:
    """Points kept inside the ball: those beyond radius ``(1 - eps) / sqrt(c)`` are moved in along their direction.

    point: [..., d]; curvature: c > 0; eps: 4e-3 for half types, 1e-5 for float32, 1e-12 for float64 inputs. Points
    within that radius are returned as they are. `count_outside` says how many would move.
    """
    require_positive(curvature=curvature)
    require_finite(point=point)
    with full_precision(point):
        return narrow(_into_ball(widen(point), curvature, EDGE[point.dtype]), point)


def count_outside(point: Float[Tensor, "*batch d"], curvature: float) -> int:
    """Number of points that are on or outside the ball's boundary, ``c ||x||^2 >= 1``, which `project` moves in."""
    require_positive(curvature=curvature)
    require_finite(point=point)
    return int((math.sqrt(curvature) * safe_norm(widen(point)) >= 1).sum())


def dist(x: Float[Tensor, "*#batch d"], y: Float[Tensor, "*#batch d"], curvature: float) -> Float[Tensor, "..."]:
    """Distance of points of the ball, pair by pair.

    ``D(x, y) = arcosh(1 + 2c||x - y||^2 / ((1 - c||x||^2)(1 - c||y||^2))) / sqrt(c)``, equal to
    ``(2 / sqrt(c)) artanh(sqrt(c) ||(-x) (+) y||)``; tends to ``2 ||x - y||`` as c -> 0.

    x, y: points [..., d] with broadcasting batch axes, projected into the ball first; curvature: c > 0. Returns
    [...], from 0 to about 24 / sqrt(c) for float32 points (57 / sqrt(c) for float64). Coincident points give 0 with
    zero gradient.
    """
    require_positive(curvature=curvature)
    require_finite(x=x, y=y)
    with full_precision(x):
        left = _into_ball(widen(x), curvature, EDGE[x.dtype])
        right = _into_ball(widen(y), curvature, EDGE[y.dtype])
        excess = 2 * curvature * square_distance(left, right)
        excess = excess / (_gap_to_edge(left, curvature) * _gap_to_edge(right, curvature))
        return narrow(arcosh1p(excess) / math.sqrt(curvature), x, y)


def pairwise_dist(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"], curvature: float) -> Float[Tensor, "n m"]:
    """Distance of all pairs of points, the formula of `dist` with ``||x - y||^2`` from one matrix product.

    x: points [n, d]; y: points [m, d]; curvature: c > 0. Returns [n, m]. Agrees with a float64 computation on the
    same points to 1e-6 relative, close pairs included; memory O(n m).
    """
    require_positive(curvature=curvature)
    require_finite(x=x, y=y)
    with full_precision(x):
        left = _into_ball(widen(x), curvature, EDGE[x.dtype])
        right = _into_ball(widen(y), curvature, EDGE[y.dtype])
        gaps = _gap_to_edge(left, curvature)[:, None] * _gap_to_edge(right, curvature)[None, :]
        excess = 2 * curvature * pairwise_square_distance(left, right) / gaps
        return narrow(arcosh1p(excess) / math.sqrt(curvature), x, y)


def tangent_dist(
    u: Float[Tensor, "*#batch d"], w: Float[Tensor, "*#batch d"], curvature: float
) -> Float[Tensor, "..."]:
    """Distance of exp0(u) and exp0(w) from the tangent vectors themselves (polar form), pair by pair.

    With ``a = 2 sqrt(c) ||u||``, ``b = 2 sqrt(c) ||w||`` and theta the angle between u and w:
    ``cosh(sqrt(c) D) - 1 = 2 sinh^2((a - b) / 2) + sinh(a) sinh(b) (1 - cos theta)``,
    ``1 - cos theta = || u/||u|| - w/||w|| ||^2 / 2``.

    u, w: tangent vectors at the origin [..., d] with broadcasting batch axes; curvature: c > 0. Returns [...], from 0
    to ``2 (||u|| + ||w||)``; nothing saturates and nothing overflows. Coincident vectors give 0 with zero gradient.
    A zero vector is the origin; its own gradient is zero there (the true one has length 2 towards the other point).
    """
    require_positive(curvature=curvature)
    require_finite(u=u, w=w)
    with full_precision(u):
        left, right = widen(u), widen(w)
        chord = square_distance(direction(left), direction(right))
        distance = _polar_dist(tangent_radius(left), tangent_radius(right), chord, curvature)
        return narrow(distance, u, w)


def pairwise_tangent_dist(u: Float[Tensor, "n d"], w: Float[Tensor, "m d"], curvature: float) -> Float[Tensor, "n m"]:
    """Polar distance of all pairs of tangent vectors, the formula of `tangent_dist` with one matrix product.

    u: [n, d]; w: [m, d]; curvature: c > 0. Returns [n, m]. Agrees with a float64 computation on the same vectors to
    1e-6 relative, nearly equal directions included; memory O(n m).
    """
    require_positive(curvature=curvature)
    require_finite(u=u, w=w)
    with full_precision(u):
        left, right = widen(u), widen(w)
        chord = pairwise_square_distance(direction(left), direction(right))
        distance = _polar_dist(tangent_radius(left)[:, None], tangent_radius(right)[None, :], chord, curvature)
        return narrow(distance, u, w)


def tangent_radius(u: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
    """Distance of exp0(u) from the origin: exactly ``2 ||u||``, whatever the curvature.

    u: tangent vectors [..., d]. Returns [...] >= 0.
    """
    with full_precision(u):
        return narrow(2 * safe_norm(widen(u)), u)


def _into_ball(point: Float[Tensor, "*batch d"], curvature: float, edge: float) -> Float[Tensor, "*batch d"]:
    radius = (1 - edge) / math.sqrt(curvature)
    # The clamp makes the factor exactly 1, with no gradient, for every point within the radius.
    return point * (radius / safe_norm(point).clamp_min(radius)).unsqueeze(-1)


def _gap_to_edge(point: Float[Tensor, "*batch d"], curvature: float) -> Float[Tensor, "*batch"]:
    reach = math.sqrt(curvature) * safe_norm(point)
    return (1 - reach) * (1 + reach)


def _polar_dist(
    left: Float[Tensor, "*#shape"],
    right: Float[Tensor, "*#shape"],
    chord: Float[Tensor, "*#shape"],
    curvature: float,
) -> Float[Tensor, "..."]:
    """Side of a hyperbolic triangle from two radii and the squared chord of the angle between them.

    Written with half angles, ``sinh^2(x / 2) = sinh^2((a - b) / 2) + sinh(a) sinh(b) chord / 4`` with x the side
    times sqrt(c). Two forms of the same value: `_far_side` only where sinh could grow large.
    """
    root = math.sqrt(curvature)
    a, b = root * left, root * right
    if bool(a.max() + b.max() <= 2 * LARGE_EXPONENT):
        square = torch.sinh((a - b) / 2).square() + torch.sinh(a) * torch.sinh(b) * (chord / 4)
        return arcosh1p(2 * square) / root
    return _far_side(a, b, chord) / root


def _far_side(
    a: Float[Tensor, "*#shape"], b: Float[Tensor, "*#shape"], chord: Float[Tensor, "*#shape"]
) -> Float[Tensor, "..."]:
    """The side times sqrt(c) with both terms scaled by exp(-2k) where that is large.

    k changes no value, so it carries no gradient.
    """
    gap = (a - b).abs()
    turned = (chord > 0) & (a > 0) & (b > 0)
    log_turn = torch.where(turned, log_sinh(a) + log_sinh(b) + torch.log(torch.where(turned, chord / 4, 1.0)), 0.0)
    with torch.no_grad():
        exponent = torch.maximum(gap, log_turn) / 2
        k = torch.where(exponent > LARGE_EXPONENT, exponent, 0.0)
    radial = torch.exp(gap / 2 - k) * torch.expm1(-gap) / 2
    square = radial.square() + torch.where(turned, torch.exp(log_turn - 2 * k), 0.0)
    near = arcosh1p(2 * square)
    safe = torch.where(k > 0, square, 1.0)
    far = 2 * (k + torch.log(torch.sqrt(safe) + torch.sqrt(safe + torch.exp(-2 * k))))
    return torch.where(k > 0, far, near)
