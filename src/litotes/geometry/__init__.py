"""The Poincaré ball: distances of points and of tangent vectors, with finite gradients everywhere."""

from litotes.geometry.ball import (
    count_outside,
    dist,
    exp0,
    log0,
    mobius_add,
    pairwise_dist,
    pairwise_tangent_dist,
    project,
    tangent_dist,
    tangent_radius,
)

__all__ = [
    "count_outside",
    "dist",
    "exp0",
    "log0",
    "mobius_add",
    "pairwise_dist",
    "pairwise_tangent_dist",
    "project",
    "tangent_dist",
    "tangent_radius",
]
