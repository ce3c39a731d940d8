"""Outlines on the unit canvas (x to the right, y down): every function returns points of shape [n, 2]."""

import math

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]
Points = NDArray[np.float64]

STEPS = 28
PER_SPAN = 5


def corners(*points: Point) -> Points:
    """Return the points as they are: straight sides and sharp corners."""
    return np.array(points, dtype=np.float64)


def arc(centre: Point, radii: Point, start: float, stop: float) -> Points:
    """Return points along an ellipse from one angle to another, in degrees clockwise from the right."""
    count = max(4, round(STEPS * abs(stop - start) / 360))
    angles = np.radians(np.linspace(start, stop, count))
    return np.stack([centre[0] + radii[0] * np.cos(angles), centre[1] + radii[1] * np.sin(angles)], axis=1)


def oval(centre: Point, radii: Point, tilt: float = 0.0) -> Points:
    """Return an ellipse, turned clockwise by the tilt in degrees."""
    return turned(arc(centre, radii, 0.0, 360.0 - 360.0 / STEPS), centre, tilt)


def dot(centre: Point, radius: float) -> Points:
    """Return a circle."""
    return oval(centre, (radius, radius))


def box(first: Point, last: Point, rounding: float = 0.0) -> Points:
    """Return an upright rectangle between two opposite corners, its own corners rounded by a radius."""
    (left, top), (right, bottom) = first, last
    if not rounding:
        return corners((left, top), (right, top), (right, bottom), (left, bottom))
    radii = (rounding, rounding)
    return np.concatenate(
        [
            arc((right - rounding, bottom - rounding), radii, 0.0, 90.0),
            arc((left + rounding, bottom - rounding), radii, 90.0, 180.0),
            arc((left + rounding, top + rounding), radii, 180.0, 270.0),
            arc((right - rounding, top + rounding), radii, 270.0, 360.0),
        ]
    )


def smooth(*points: Point) -> Points:
    """Return a closed smooth curve through the points (Catmull-Rom)."""
    through = np.array(points, dtype=np.float64)
    return _spans(np.concatenate([through[-1:], through, through[:2]]))


def path(*points: Point) -> Points:
    """Return an open smooth curve through the points (Catmull-Rom), its ends included."""
    through = np.array(points, dtype=np.float64)
    first, last = 2 * through[0] - through[1], 2 * through[-1] - through[-2]
    return np.concatenate([_spans(np.concatenate([first[None], through, last[None]])), through[-1:]])


def spikes(centre: Point, outer: float, inner: float, count: int) -> Points:
    """Return a star with the given number of tips, one of them pointing up."""
    angles = np.pi * np.arange(2 * count) / count - np.pi / 2
    reach = np.where(np.arange(2 * count) % 2 == 0, outer, inner)
    return np.stack([centre[0] + reach * np.cos(angles), centre[1] + reach * np.sin(angles)], axis=1)


def around(centre: Point, reach: float, degrees: float) -> Point:
    """Return the point at a distance from the centre, in degrees clockwise from the right."""
    angle = math.radians(degrees)
    return centre[0] + reach * math.cos(angle), centre[1] + reach * math.sin(angle)


def turned(points: Points, centre: Point, degrees: float) -> Points:
    """Return the points turned clockwise about a centre."""
    if not degrees:
        return points
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    away = points - np.array(centre)
    there: Points = away @ np.array([[cos, sin], [-sin, cos]]) + np.array(centre)
    return there


def _spans(through: Points) -> Points:
    """Return points along every inner span of a Catmull-Rom curve, each span without its end."""
    before, start, stop, after = through[:-3], through[1:-2], through[2:-1], through[3:]
    at = (np.arange(PER_SPAN) / PER_SPAN)[None, :, None]
    before, start, stop, after = (part[:, None, :] for part in (before, start, stop, after))
    curve = (
        2 * start
        + (stop - before) * at
        + (2 * before - 5 * start + 4 * stop - after) * at**2
        + (3 * start - before - 3 * stop + after) * at**3
    )
    return (curve / 2).reshape(-1, 2)
