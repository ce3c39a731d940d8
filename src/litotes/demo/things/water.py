"""Animals of the water and the air."""

# fmt: off
# The points of an outline read better side by side.

from litotes.demo.things.brush import Brush
from litotes.demo.things.shapes import Points, corners, dot, oval, path, smooth


def fish(brush: Brush) -> None:
    """Draw a fish with a fan tail, fins and bands."""
    flap = brush.vary(-0.05, 0.05)
    brush.area(
        "shade",
        smooth(
            (0.66, 0.50), (0.92, 0.24 + flap), (0.98, 0.32 + flap), (0.88, 0.50), (0.98, 0.70 + flap),
            (0.92, 0.78 + flap),
        ),
    )
    brush.area("shade", smooth((0.28, 0.32), (0.46, 0.12), (0.64, 0.18), (0.62, 0.36)))
    brush.area("shade", smooth((0.38, 0.70), (0.48, 0.88), (0.60, 0.84), (0.58, 0.66)))
    brush.area(
        "body",
        smooth(
            (0.02, 0.52), (0.18, 0.32), (0.42, 0.25), (0.66, 0.40), (0.76, 0.50), (0.66, 0.60), (0.42, 0.76),
            (0.18, 0.70),
        ),
    )
    brush.line("light", path((0.44, 0.30), (0.50, 0.50), (0.44, 0.71)), 0.06)
    brush.line("light", path((0.59, 0.38), (0.63, 0.50), (0.59, 0.62)), 0.05)
    brush.area("paper", dot((0.20, 0.45), 0.075))
    brush.eye((0.19, 0.45), 0.045)
    brush.line("line", path((0.05, 0.57), (0.11, 0.60), (0.17, 0.58)), 0.018)
    brush.area("shade", smooth((0.32, 0.52), (0.44, 0.54), (0.40, 0.64), (0.33, 0.62)))


def whale(brush: Brush) -> None:
    """Draw a whale with a pale belly, a raised tail and a fountain."""
    high = brush.vary(-0.03, 0.05)
    for side in (-1, 1):
        jet = path(
            (0.34, 0.34), (0.34 + side * 0.02, 0.14 - high), (0.34 + side * 0.12, 0.06 - high),
            (0.34 + side * 0.18, 0.18 - high),
        )
        brush.line("water", jet, 0.05)
    brush.area(
        "body",
        smooth(
            (0.03, 0.62), (0.10, 0.42), (0.32, 0.33), (0.56, 0.42), (0.74, 0.58), (0.84, 0.48), (0.84, 0.34),
            (0.93, 0.36), (0.95, 0.62), (0.80, 0.84), (0.50, 0.92), (0.16, 0.88),
        ),
        smooth(
            (0.88, 0.40), (0.74, 0.34), (0.68, 0.20), (0.84, 0.24), (0.89, 0.30), (0.94, 0.22), (1.06, 0.18),
            (1.04, 0.32), (0.94, 0.40),
        ),
    )
    brush.area(
        "paper",
        smooth((0.05, 0.70), (0.24, 0.76), (0.46, 0.76), (0.58, 0.84), (0.48, 0.90), (0.18, 0.87)),
        edge=False,
    )
    for x in (0.20, 0.32, 0.44):
        brush.line("steel", path((x, 0.78), (x + 0.02, 0.83), (x + 0.01, 0.88)), 0.014)
    brush.eye((0.20, 0.59), 0.04)
    brush.line("line", path((0.05, 0.68), (0.14, 0.72), (0.24, 0.70)), 0.02)
    brush.area("shade", smooth((0.46, 0.70), (0.58, 0.72), (0.64, 0.84), (0.52, 0.82)))


def duck(brush: Brush) -> None:
    """Draw a swimming duck from the side, with a flat bill, a wing and a tipped tail."""
    tip = brush.vary(-0.05, 0.05)
    brush.area("beak", smooth((0.18, 0.30), (0.08, 0.32), (0.00, 0.38), (0.08, 0.42), (0.20, 0.41)))
    brush.area(
        "body",
        dot((0.32, 0.30), 0.19),
        smooth(
            (0.22, 0.46), (0.42, 0.42), (0.56, 0.56), (0.76, 0.54), (0.96, 0.38 + tip), (0.94, 0.68), (0.78, 0.88),
            (0.40, 0.90), (0.16, 0.76), (0.16, 0.60),
        ),
    )
    brush.area(
        "shade",
        smooth((0.42, 0.62), (0.58, 0.64), (0.82, 0.58 + tip / 2), (0.72, 0.76), (0.54, 0.80), (0.44, 0.74)),
    )
    brush.eye((0.27, 0.26), 0.042)
    brush.line(
        "water",
        path((0.00, 0.90), (0.16, 0.94), (0.33, 0.89), (0.50, 0.94), (0.67, 0.89), (0.84, 0.94), (1.00, 0.90)),
        0.05,
    )


def octopus(brush: Brush) -> None:
    """Draw an octopus with a round head and curling arms."""
    curl = brush.vary(-0.05, 0.05)
    arms = [
        path((0.36, 0.52), (0.20, 0.66), (0.06, 0.62 + curl), (0.05, 0.50 + curl)),
        path((0.40, 0.56), (0.28, 0.76), (0.22, 0.92), (0.08, 0.86 + curl)),
        path((0.47, 0.58), (0.44, 0.78), (0.46, 0.94), (0.36, 0.97)),
        path((0.53, 0.58), (0.56, 0.78), (0.55, 0.94), (0.66, 0.97)),
        path((0.60, 0.56), (0.72, 0.76), (0.78, 0.92), (0.92, 0.86 - curl)),
        path((0.64, 0.52), (0.80, 0.66), (0.94, 0.62 - curl), (0.95, 0.50 - curl)),
    ]
    brush.tube("body", 0.10, *arms)
    brush.area(
        "body",
        smooth(
            (0.50, 0.04), (0.74, 0.12), (0.80, 0.34), (0.70, 0.58), (0.50, 0.64), (0.30, 0.58), (0.20, 0.34),
            (0.26, 0.12),
        ),
    )
    brush.area("body", oval((0.50, 0.60), (0.17, 0.08)), edge=False)
    brush.area("light", oval((0.33, 0.20), (0.05, 0.09), 30.0), edge=False)
    for x in (0.39, 0.61):
        brush.area("paper", dot((x, 0.40), 0.085))
        brush.eye((x, 0.41), 0.05)
    brush.line("line", path((0.43, 0.53), (0.50, 0.57), (0.57, 0.53)), 0.022)


def crab(brush: Brush) -> None:
    """Draw a crab with two raised claws, eyes on stalks and six legs."""
    lift = brush.vary(-0.05, 0.05)
    for side, up in ((-1, lift), (1, -lift)):
        for k in range(3):
            x, y = 0.50 + side * (0.24 - 0.02 * k), 0.66 + 0.07 * k
            knee, foot = (
                (0.50 + side * (0.42 - 0.05 * k), 0.68 + 0.08 * k),
                (0.50 + side * (0.47 - 0.07 * k), 0.82 + 0.06 * k),
            )
            brush.tube("shade", 0.045, corners((x, y), knee, foot))
        brush.tube(
            "body",
            0.07,
            path((0.50 + side * 0.24, 0.58), (0.50 + side * 0.40, 0.54), (0.50 + side * 0.40, 0.36 + up)),
        )
        centre = (0.50 + side * 0.37, 0.24 + up)
        brush.area("body", _claw(centre, side))
        brush.tube("body", 0.02, corners((0.50 + side * 0.10, 0.50), (0.50 + side * 0.11, 0.36)))
    brush.area("body", oval((0.50, 0.64), (0.33, 0.22)))
    brush.area("light", oval((0.36, 0.54), (0.08, 0.045), -25.0), edge=False)
    for x in (0.39, 0.61):
        brush.area("paper", dot((x, 0.35), 0.07))
        brush.eye((x, 0.35), 0.042)
    brush.line("line", path((0.38, 0.70), (0.50, 0.76), (0.62, 0.70)), 0.024)


def _claw(centre: tuple[float, float], side: int) -> Points:
    """Return an open pincer that points up and inwards."""
    x, y = centre
    steps = (
        (0.02, 0.15), (-0.12, 0.08), (-0.13, -0.06), (-0.05, -0.18), (-0.01, -0.06), (0.02, 0.0), (0.06, -0.06),
        (0.12, -0.14), (0.15, 0.0), (0.11, 0.10),
    )
    return corners(*((x - side * across, y + down) for across, down in steps))


def butterfly(brush: Brush) -> None:
    """Draw a butterfly from above with four spotted wings and two feelers."""
    for side in (-1, 1):
        brush.line("line", path((0.50, 0.30), (0.50 + side * 0.06, 0.14), (0.50 + side * 0.15, 0.08)), 0.028)
        brush.area("line", dot((0.50 + side * 0.15, 0.08), 0.03), edge=False)
        low = [
            (0.50 + side * x, y)
            for x, y in ((0.03, 0.54), (0.24, 0.54), (0.38, 0.68), (0.34, 0.88), (0.20, 0.90), (0.06, 0.74))
        ]
        brush.area("shade", smooth(*low))
        high = [
            (0.50 + side * x, y)
            for x, y in (
                (0.03, 0.54), (0.06, 0.36), (0.24, 0.16), (0.42, 0.14), (0.48, 0.30), (0.42, 0.52), (0.24, 0.60),
            )
        ]
        brush.area("body", smooth(*high))
    wide = brush.vary(0.06, 0.09)
    for side in (-1, 1):
        brush.area("paper", dot((0.50 + side * 0.32, 0.31), wide), edge=False)
        brush.area("gold", dot((0.50 + side * 0.23, 0.74), 0.06), edge=False)
    brush.area("rubber", oval((0.50, 0.54), (0.05, 0.26)))


DRAWINGS = {
    "fish": fish,
    "whale": whale,
    "duck": duck,
    "octopus": octopus,
    "crab": crab,
    "butterfly": butterfly,
}
