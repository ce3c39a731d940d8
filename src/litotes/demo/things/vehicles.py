"""Things that ride, sail and fly."""

# fmt: off
# The points of an outline read better side by side.

from litotes.demo.things.brush import Brush
from litotes.demo.things.shapes import Point, arc, around, box, corners, dot, oval, path, smooth


def _wheel(brush: Brush, centre: Point, radius: float) -> None:
    """Draw a black wheel with a steel hub."""
    brush.area("rubber", dot(centre, radius))
    brush.area("steel", dot(centre, radius * 0.5), edge=False)


def boat(brush: Brush) -> None:
    """Draw a sailing boat on the waves, with two sails and a pennant."""
    brush.tube("wood", 0.03, corners((0.50, 0.06), (0.50, 0.70)))
    flutter = brush.vary(-0.03, 0.03)
    brush.area("coral", corners((0.50, 0.02), (0.36, 0.06 + flutter), (0.50, 0.11)))
    brush.area("body", smooth((0.55, 0.12), (0.76, 0.32), (0.88, 0.62), (0.70, 0.65), (0.55, 0.64), (0.56, 0.38)))
    brush.area("paper", smooth((0.45, 0.18), (0.30, 0.38), (0.14, 0.62), (0.30, 0.65), (0.45, 0.64), (0.44, 0.40)))
    brush.area("body", corners((0.04, 0.70), (0.96, 0.70), (0.84, 0.92), (0.20, 0.92)))
    brush.area("light", corners((0.06, 0.72), (0.94, 0.72), (0.91, 0.78), (0.09, 0.78)), edge=False)
    waves = [(0.10 * k, 0.95 if k % 2 else 0.90) for k in range(11)]
    brush.line("water", path(*waves), 0.07)


def car(brush: Brush) -> None:
    """Draw a small round car from the side."""
    roof = brush.vary(-0.03, 0.03)
    brush.area(
        "body",
        box((0.03, 0.48), (0.97, 0.76), 0.10),
        smooth(
            (0.18, 0.56), (0.26, 0.28 + roof), (0.40, 0.20 + roof), (0.60, 0.20 + roof), (0.72, 0.30 + roof),
            (0.82, 0.56),
        ),
    )
    brush.area("glass", smooth((0.27, 0.47), (0.32, 0.32 + roof), (0.46, 0.28 + roof), (0.47, 0.47)))
    brush.area("glass", smooth((0.54, 0.47), (0.54, 0.28 + roof), (0.66, 0.33 + roof), (0.73, 0.47)))
    brush.line("shade", corners((0.50, 0.54), (0.50, 0.70)), 0.02)
    brush.line("dark", corners((0.55, 0.56), (0.61, 0.56)), 0.022)
    brush.area("gold", oval((0.92, 0.57), (0.035, 0.05)))
    brush.area("coral", oval((0.06, 0.57), (0.025, 0.04)))
    _wheel(brush, (0.26, 0.76), 0.135)
    _wheel(brush, (0.74, 0.76), 0.135)


def train(brush: Brush) -> None:
    """Draw a steam engine with a cabin, a chimney and puffs of smoke."""
    drift = brush.vary(0.0, 0.06)
    for x, y, r in ((0.76, 0.20, 0.07), (0.64 - drift, 0.10, 0.085), (0.48 - 2 * drift, 0.07, 0.06)):
        brush.area("smoke", dot((x, y), r))
    brush.area("rubber", corners((0.74, 0.46), (0.72, 0.26), (0.88, 0.26), (0.85, 0.46)))
    brush.area("gold", arc((0.56, 0.48), (0.07, 0.11), 180.0, 360.0))
    brush.area("body", box((0.36, 0.44), (0.93, 0.74), 0.09))
    brush.area("body", box((0.05, 0.24), (0.44, 0.76), 0.02))
    brush.area("shade", box((0.00, 0.16), (0.48, 0.26), 0.03))
    brush.area("glass", box((0.14, 0.33), (0.34, 0.50), 0.02))
    brush.line("light", corners((0.62, 0.47), (0.62, 0.71)), 0.035)
    brush.line("light", corners((0.78, 0.47), (0.78, 0.71)), 0.035)
    brush.area("rubber", corners((0.88, 0.76), (1.03, 0.93), (0.86, 0.93)))
    brush.area("shade", box((0.03, 0.72), (0.93, 0.79), 0.02))
    _wheel(brush, (0.23, 0.80), 0.15)
    _wheel(brush, (0.54, 0.85), 0.10)
    _wheel(brush, (0.77, 0.85), 0.10)


def bicycle(brush: Brush) -> None:
    """Draw a bicycle: two wheels with spokes, a thick frame, a saddle and handlebars."""
    turn = brush.vary(0.0, 60.0)
    back, front = (0.21, 0.68), (0.79, 0.68)
    for centre in (back, front):
        brush.area("rubber", dot(centre, 0.215))
        brush.hole(dot(centre, 0.175))
        for k in range(3):
            angle = turn + 60 * k
            brush.line("steel", corners(around(centre, 0.16, angle), around(centre, -0.16, angle)), 0.014)
    crank, seat, head = (0.46, 0.70), (0.37, 0.38), (0.68, 0.38)
    brush.tube(
        "body",
        0.085,
        corners(back, crank, head),
        corners(back, seat),
        corners(crank, seat, head),
        corners((0.64, 0.24), head, front),
    )
    brush.tube("steel", 0.03, corners(seat, (0.345, 0.29)))
    brush.tube("rubber", 0.05, path((0.24, 0.25), (0.34, 0.26), (0.43, 0.27)))
    brush.tube("rubber", 0.03, path((0.52, 0.22), (0.62, 0.20), (0.70, 0.22), (0.76, 0.29)))
    brush.area("gold", dot(crank, 0.055))


def rocket(brush: Brush) -> None:
    """Draw a rocket that takes off, with fins, a round window and a flame."""
    long = brush.vary(0.0, 0.10)
    brush.area("flame", smooth((0.38, 0.76), (0.62, 0.76), (0.62, 0.88), (0.50, 1.00 + long), (0.38, 0.88)))
    brush.area(
        "gold",
        smooth((0.44, 0.76), (0.56, 0.76), (0.55, 0.84), (0.50, 0.92 + long), (0.45, 0.84)),
        edge=False,
    )
    for side in (-1, 1):
        fin = [(0.50 + side * x, y) for x, y in ((0.14, 0.50), (0.34, 0.68), (0.36, 0.88), (0.14, 0.76))]
        brush.area("shade", corners(*fin))
    brush.area(
        "body",
        smooth(
            (0.50, 0.00), (0.64, 0.16), (0.71, 0.42), (0.64, 0.76), (0.50, 0.78), (0.36, 0.76), (0.29, 0.42),
            (0.36, 0.16),
        ),
    )
    brush.area(
        "light",
        smooth((0.50, 0.02), (0.61, 0.14), (0.64, 0.21), (0.50, 0.24), (0.36, 0.21), (0.39, 0.14)),
        edge=False,
    )
    brush.area("steel", dot((0.50, 0.40), 0.125))
    brush.area("glass", dot((0.50, 0.40), 0.085), edge=False)
    brush.line("dark", path((0.37, 0.66), (0.50, 0.69), (0.63, 0.66)), 0.022)
    brush.area("shade", box((0.47, 0.62), (0.53, 0.86), 0.02))


def plane(brush: Brush) -> None:
    """Draw a round aeroplane from the side, with a wing, a tail and a row of windows."""
    climb = brush.vary(-0.03, 0.05)
    brush.area("shade", corners((0.08, 0.46), (0.03, 0.20), (0.16, 0.18), (0.32, 0.42)))
    brush.area("shade", corners((0.46, 0.44), (0.40, 0.22 - climb), (0.52, 0.22 - climb), (0.66, 0.42)))
    brush.area(
        "body",
        smooth(
            (0.03, 0.44), (0.30, 0.36), (0.66, 0.34), (0.90, 0.42), (0.98, 0.53), (0.86, 0.64), (0.50, 0.67),
            (0.20, 0.58),
        ),
    )
    brush.area("glass", smooth((0.80, 0.41), (0.88, 0.43), (0.94, 0.50), (0.82, 0.50)))
    for x in (0.32, 0.46, 0.60, 0.72):
        brush.area("glass", dot((x, 0.46), 0.042))
    brush.area("shade", corners((0.06, 0.50), (0.02, 0.58), (0.12, 0.58), (0.24, 0.51)))
    brush.area("light", corners((0.42, 0.57), (0.66, 0.57), (0.40, 0.86 + climb), (0.24, 0.88 + climb)))


def anchor(brush: Brush) -> None:
    """Draw an anchor with a ring, a crossbar and two barbed arms."""
    brush.area("body", dot((0.50, 0.13), 0.12))
    brush.hole(dot((0.50, 0.13), 0.055))
    sweep = brush.vary(-0.03, 0.03)
    arms = path(
        (0.12, 0.60), (0.18, 0.78), (0.34, 0.89 + sweep), (0.50, 0.92), (0.66, 0.89 + sweep), (0.82, 0.78),
        (0.88, 0.60),
    )
    brush.area(
        "body",
        corners((0.00, 0.68), (0.08, 0.48), (0.26, 0.62)),
        corners((1.00, 0.68), (0.92, 0.48), (0.74, 0.62)),
    )
    brush.tube("body", 0.11, corners((0.50, 0.27), (0.50, 0.88)), arms)
    brush.tube("light", 0.085, corners((0.30, 0.34), (0.70, 0.34)))


DRAWINGS = {
    "boat": boat,
    "car": car,
    "train": train,
    "bicycle": bicycle,
    "rocket": rocket,
    "plane": plane,
    "anchor": anchor,
}
