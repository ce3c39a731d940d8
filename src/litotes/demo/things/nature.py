"""Plants, the sky and the snow."""

# fmt: off
# The points of an outline read better side by side.

import numpy as np

from litotes.demo.things.brush import Brush
from litotes.demo.things.shapes import arc, around, box, corners, dot, oval, path, smooth, spikes


def tree(brush: Brush) -> None:
    """Draw a tree with a thick trunk and a puffy crown."""
    brush.area(
        "wood",
        smooth((0.42, 0.50), (0.58, 0.50), (0.58, 0.80), (0.70, 0.95), (0.50, 0.93), (0.30, 0.95), (0.42, 0.80)),
    )
    puffs = (
        (0.28, 0.46, 0.19), (0.72, 0.46, 0.19), (0.36, 0.24, 0.19), (0.64, 0.24, 0.19), (0.50, 0.50, 0.18),
        (0.50, 0.20, 0.17),
    )
    brush.area("body", *(dot((x + brush.vary(-0.03, 0.03), y), r) for x, y, r in puffs))
    for x, y in ((0.34, 0.26), (0.60, 0.18), (0.24, 0.46), (0.52, 0.40), (0.74, 0.42)):
        brush.line("shade", path((x - 0.07, y + 0.01), (x, y + 0.05), (x + 0.07, y + 0.01)), 0.025)
    brush.line("dark", path((0.48, 0.72), (0.50, 0.80), (0.48, 0.86)), 0.02)


def flower(brush: Brush) -> None:
    """Draw a flower of six petals with a golden heart, a stem and two leaves."""
    sway = brush.vary(-0.05, 0.05)
    brush.tube("leaf", 0.045, path((0.50, 0.40), (0.50 + sway, 0.68), (0.50, 0.97)))
    brush.area("leaf", smooth((0.50, 0.86), (0.36, 0.70), (0.16, 0.68), (0.26, 0.84)))
    brush.area("leaf", smooth((0.50, 0.90), (0.64, 0.74), (0.84, 0.72), (0.74, 0.88)))
    for k in range(6):
        brush.area("body", oval(around((0.50, 0.34), 0.20, 60.0 * k + 30.0), (0.14, 0.115), 60.0 * k + 30.0))
    brush.area("gold", dot((0.50, 0.34), 0.115))
    brush.area("beak", dot((0.48, 0.36), 0.02), dot((0.54, 0.33), 0.02), dot((0.49, 0.30), 0.02), edge=False)


def cactus(brush: Brush) -> None:
    """Draw a cactus with two arms, prickles and a bud, in a clay pot."""
    left, right = brush.vary(0.28, 0.40), brush.vary(0.22, 0.34)
    brush.tube(
        "body",
        0.14,
        path((0.48, 0.58), (0.28, 0.58), (0.20, 0.52), (0.18, left)),
        path((0.52, 0.50), (0.72, 0.50), (0.80, 0.44), (0.82, right)),
    )
    brush.area("body", box((0.36, 0.08), (0.64, 0.80), 0.13))
    brush.line("body", corners((0.30, 0.58), (0.45, 0.58)), 0.13)
    brush.line("body", corners((0.55, 0.50), (0.70, 0.50)), 0.13)
    for x, y in (
        (0.44, 0.24), (0.56, 0.32), (0.44, 0.42), (0.56, 0.52), (0.44, 0.62), (0.20, 0.50), (0.80, 0.40),
    ):
        brush.line("paper", corners((x - 0.03, y - 0.02), (x + 0.03, y + 0.02)), 0.016)
        brush.line("paper", corners((x - 0.03, y + 0.02), (x + 0.03, y - 0.02)), 0.016)
    brush.area(
        "rose",
        smooth((0.43, 0.12), (0.40, 0.00), (0.47, 0.04), (0.50, -0.03), (0.53, 0.04), (0.60, 0.00), (0.57, 0.12)),
    )
    brush.area("dough", corners((0.30, 0.78), (0.70, 0.78), (0.65, 0.97), (0.35, 0.97)))
    brush.area("dough", box((0.26, 0.74), (0.74, 0.83), 0.02))


def mushroom(brush: Brush) -> None:
    """Draw a toadstool with a spotted cap."""
    brush.area(
        "cream",
        smooth((0.40, 0.50), (0.60, 0.50), (0.62, 0.74), (0.70, 0.92), (0.50, 0.96), (0.30, 0.92), (0.38, 0.74)),
    )
    brush.area("paper", oval((0.50, 0.55), (0.30, 0.07)))
    brush.area(
        "body",
        smooth(
            (0.04, 0.52), (0.10, 0.28), (0.30, 0.09), (0.50, 0.05), (0.70, 0.09), (0.90, 0.28), (0.96, 0.52),
            (0.76, 0.58), (0.50, 0.54), (0.24, 0.58),
        ),
    )
    shift = brush.vary(-0.03, 0.03)
    for x, y, r in (
        (0.30, 0.26, 0.075), (0.60, 0.20, 0.08), (0.48, 0.42, 0.065), (0.78, 0.40, 0.065), (0.17, 0.44, 0.05),
    ):
        brush.area("paper", oval((x + shift, y), (r, r * 0.85)))


def moon(brush: Brush) -> None:
    """Draw a crescent moon with a sleeping face."""
    outer = arc((0.48, 0.50), (0.46, 0.46), 60.0, 300.0)
    inner = arc((0.72, 0.50), (0.40, 0.40), 266.0, 94.0)
    brush.area("body", np.concatenate([outer, inner]))
    brush.line("line", path((0.13, 0.44), (0.19, 0.48), (0.25, 0.44)), 0.026)
    brush.line("line", path((0.20, 0.64), (0.27, 0.67), (0.33, 0.63)), 0.024)
    brush.area("rose", oval((0.15, 0.56), (0.05, 0.035)), edge=False)
    for x, y in ((0.28, 0.26), (0.50, 0.87), (0.36, 0.80), (0.44, 0.14)):
        brush.area("shade", dot((x + brush.vary(-0.02, 0.02), y), 0.03), edge=False)


def star(brush: Brush) -> None:
    """Draw a plump five-pointed star with a smile."""
    brush.area("body", spikes((0.50, 0.52), 0.50, 0.24, 5))
    brush.area("light", spikes((0.50, 0.50), 0.26, 0.13, 5), edge=False)
    gap = brush.vary(0.07, 0.09)
    for x in (0.50 - gap, 0.50 + gap):
        brush.eye((x, 0.47), 0.035)
    brush.line("line", path((0.43, 0.57), (0.50, 0.62), (0.57, 0.57)), 0.024)


def sun(brush: Brush) -> None:
    """Draw a round sun with twelve separate rays and a smiling face."""
    start = brush.vary(0.0, 30.0)
    for k in range(12):
        angle = start + 30 * k
        reach = 0.50 if k % 2 else 0.44
        brush.area(
            "shade",
            corners(
                around((0.50, 0.50), 0.33, angle - 10),
                around((0.50, 0.50), reach, angle),
                around((0.50, 0.50), 0.33, angle + 10),
            ),
        )
    brush.area("body", dot((0.50, 0.50), 0.29))
    for x in (0.41, 0.59):
        brush.eye((x, 0.45), 0.036)
    brush.line("line", path((0.37, 0.57), (0.50, 0.65), (0.63, 0.57)), 0.026)
    brush.area("rose", oval((0.33, 0.54), (0.045, 0.03)), oval((0.67, 0.54), (0.045, 0.03)), edge=False)


def cloud(brush: Brush) -> None:
    """Draw a puffy cloud that rains."""
    for k, x in enumerate((0.26, 0.42, 0.58, 0.74)):
        y = 0.76 + (0.10 if k % 2 else 0.0) + brush.vary(-0.03, 0.03)
        brush.area("water", smooth((x, y - 0.09), (x + 0.045, y + 0.02), (x, y + 0.06), (x - 0.045, y + 0.02)))
    brush.area(
        "body",
        dot((0.20, 0.48), 0.18),
        dot((0.38, 0.32), 0.20),
        dot((0.62, 0.30), 0.18),
        dot((0.80, 0.47), 0.18),
        box((0.18, 0.40), (0.82, 0.66), 0.10),
    )
    brush.line("shade", path((0.30, 0.34), (0.36, 0.26), (0.44, 0.25)), 0.024)
    brush.line("shade", path((0.12, 0.50), (0.14, 0.44), (0.20, 0.41)), 0.024)
    for x in (0.42, 0.60):
        brush.eye((x, 0.46), 0.034)
    brush.line("line", path((0.46, 0.54), (0.51, 0.58), (0.56, 0.54)), 0.022)


def snowman(brush: Brush) -> None:
    """Draw a snowman of three balls with ear muffs, a carrot nose, a scarf and stick arms."""
    wave = brush.vary(-0.12, 0.10)
    for side, tip in ((-1, 0.40 + wave), (1, 0.40 - wave)):
        hand = (0.50 + side * 0.40, tip)
        brush.line("wood", corners((0.50 + side * 0.16, 0.54), hand), 0.035)
        brush.line("wood", corners((0.50 + side * 0.33, tip + 0.03), (0.50 + side * 0.34, tip - 0.07)), 0.028)
    brush.area("body", oval((0.50, 0.81), (0.26, 0.19)))
    brush.area("body", dot((0.50, 0.54), 0.19))
    brush.area("body", dot((0.50, 0.25), 0.165))
    brush.area("coral", box((0.35, 0.38), (0.65, 0.45), 0.03))
    brush.area("coral", corners((0.55, 0.43), (0.64, 0.43), (0.66, 0.58), (0.57, 0.58)))
    brush.tube("steel", 0.03, arc((0.50, 0.22), (0.17, 0.17), 180.0, 360.0))
    brush.area("coral", oval((0.33, 0.25), (0.055, 0.075)), oval((0.67, 0.25), (0.055, 0.075)))
    brush.area("beak", corners((0.52, 0.25), (0.52, 0.31), (0.36, 0.30)))
    coal = ((0.44, 0.20), (0.57, 0.20), (0.48, 0.52), (0.49, 0.61), (0.50, 0.76), (0.50, 0.86))
    brush.area("ink", *(dot(place, 0.027) for place in coal), edge=False)


DRAWINGS = {
    "tree": tree,
    "flower": flower,
    "cactus": cactus,
    "mushroom": mushroom,
    "moon": moon,
    "star": star,
    "sun": sun,
    "cloud": cloud,
    "snowman": snowman,
}
