"""Buildings."""

import numpy as np

from litotes.demo.things.brush import Brush
from litotes.demo.things.shapes import Points, arc, around, box, corners, dot, turned


def house(brush: Brush) -> None:
    """Draw a house with a pitched roof, a chimney, a door and two windows."""
    brush.area("dough", box((0.68, 0.10), (0.80, 0.40)))
    brush.area("body", box((0.15, 0.42), (0.85, 0.95)))
    brush.area("shade", corners((0.50, 0.06), (1.00, 0.47), (0.00, 0.47)))
    brush.line("dark", corners((0.20, 0.40), (0.80, 0.40)), 0.018)
    brush.line("dark", corners((0.32, 0.30), (0.68, 0.30)), 0.018)
    brush.area("wood", box((0.42, 0.64), (0.58, 0.95), 0.02))
    brush.area("gold", dot((0.545, 0.80), 0.018), edge=False)
    lit = "gold" if brush.either() else "glass"
    for x in (0.285, 0.715):
        brush.area(lit, box((x - 0.075, 0.56), (x + 0.075, 0.73)))
        brush.line("line", corners((x, 0.57), (x, 0.72)), 0.016)
        brush.line("line", corners((x - 0.065, 0.645), (x + 0.065, 0.645)), 0.016)


def castle(brush: Brush) -> None:
    """Draw a castle with two battlemented towers, a gate and flags."""
    wave = brush.vary(-0.03, 0.03)
    for x in (0.18, 0.82):
        brush.line("line", corners((x, 0.24), (x, 0.02)), 0.022)
        brush.area("coral", corners((x, 0.02), (x + 0.14, 0.07 + wave), (x, 0.12)))
    brush.area("body", _battlement(0.30, 0.70, 0.42), box((0.30, 0.50), (0.70, 0.95)))
    for left in (0.03, 0.67):
        brush.area("body", _battlement(left, left + 0.30, 0.22), box((left + 0.03, 0.36), (left + 0.27, 0.95)))
        brush.area("rubber", box((left + 0.11, 0.46), (left + 0.19, 0.60), 0.035))
        brush.line("shade", corners((left + 0.07, 0.72), (left + 0.13, 0.72)), 0.024)
        brush.line("shade", corners((left + 0.17, 0.82), (left + 0.23, 0.82)), 0.024)
    brush.area(
        "wood",
        np.concatenate([arc((0.50, 0.74), (0.12, 0.14), 180.0, 360.0), corners((0.62, 0.95), (0.38, 0.95))]),
    )


def _battlement(left: float, right: float, top: float) -> Points:
    """Return a wall top with three merlons."""
    step = (right - left) / 5
    low, base = top + 0.08, top + 0.16
    points = [(left, base)]
    for k in range(5):
        height = low if k % 2 else top
        points += [(left + k * step, height), (left + (k + 1) * step, height)]
    return corners(*points, (right, base))


def windmill(brush: Brush) -> None:
    """Draw a windmill with a domed cap, a door and four latticed sails."""
    brush.area("body", corners((0.30, 0.36), (0.70, 0.36), (0.84, 1.02), (0.16, 1.02)))
    brush.line("shade", corners((0.30, 0.72), (0.38, 0.72)), 0.028)
    brush.line("shade", corners((0.60, 0.62), (0.67, 0.62)), 0.028)
    brush.area(
        "wood",
        np.concatenate([arc((0.50, 0.87), (0.08, 0.07), 180.0, 360.0), corners((0.58, 1.02), (0.42, 1.02))]),
    )
    brush.area("shade", arc((0.50, 0.37), (0.20, 0.22), 180.0, 360.0))
    hub = (0.50, 0.34)
    start = brush.vary(25.0, 65.0)
    for k in range(4):
        angle = start + 90 * k
        sail = turned(box((0.62, 0.27), (0.92, 0.44)), hub, angle)
        brush.area("light", sail)
        for reach in (0.72, 0.82):
            brush.line("line", turned(corners((reach, 0.28), (reach, 0.43)), hub, angle), 0.016)
        brush.line("dark", corners(hub, around(hub, 0.43, angle)), 0.03)
    brush.area("gold", dot(hub, 0.045))


DRAWINGS = {"house": house, "castle": castle, "windmill": windmill}
