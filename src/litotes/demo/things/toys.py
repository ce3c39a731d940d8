"""Things to play with and to wear."""

# fmt: off
# The points of an outline read better side by side.

from litotes.demo.things.brush import Brush
from litotes.demo.things.shapes import box, corners, dot, oval, path, smooth


def balloon(brush: Brush) -> None:
    """Draw a balloon with a knot on a winding string."""
    sway = brush.vary(-0.05, 0.05)
    brush.line("line", path((0.50, 0.66), (0.44 + sway, 0.76), (0.55 + sway, 0.86), (0.48, 0.99)), 0.026)
    brush.area("body", corners((0.50, 0.60), (0.57, 0.69), (0.43, 0.69)))
    brush.area(
        "body",
        smooth(
            (0.50, 0.02), (0.72, 0.10), (0.80, 0.30), (0.70, 0.52), (0.50, 0.65), (0.30, 0.52), (0.20, 0.30),
            (0.28, 0.10),
        ),
    )
    brush.area("light", oval((0.34, 0.22), (0.055, 0.10), 25.0), edge=False)


def kite(brush: Brush) -> None:
    """Draw a diamond kite with a cross and a tail of bows."""
    swing = brush.vary(-0.05, 0.05)
    tail = path((0.54, 0.74), (0.46, 0.82 + swing), (0.34, 0.78 + swing), (0.26, 0.92), (0.10, 0.95))
    brush.line("line", tail, 0.026)
    for at, fill in ((7, "coral"), (13, "gold"), (19, "water")):
        x, y = tail[at]
        bow = corners((x - 0.08, y - 0.06), (x + 0.08, y + 0.06), (x + 0.08, y - 0.06), (x - 0.08, y + 0.06))
        brush.area(fill, bow)
    top, right, bottom, left = (0.74, -0.04), (1.06, 0.30), (0.54, 0.74), (0.28, 0.16)
    middle = (0.686, 0.233)
    brush.area("body", corners(top, right, bottom, left))
    brush.area("light", corners(top, right, middle), corners(bottom, left, middle), edge=False)
    brush.line("line", corners(top, bottom), 0.022)
    brush.line("line", corners(left, right), 0.022)


def guitar(brush: Brush) -> None:
    """Draw a guitar aslant, with a waisted body, a round hole, a neck and pegs."""
    brush.tube("wood", 0.075, corners((0.50, 0.50), (0.50, 0.10)))
    for y in (0.03, 0.09):
        brush.tube("gold", 0.025, corners((0.40, y), (0.60, y)))
    brush.area("rubber", box((0.44, -0.02), (0.56, 0.13), 0.02))
    wide = brush.vary(-0.015, 0.015)
    brush.area(
        "body",
        smooth(
            (0.50, 0.42), (0.66 + wide, 0.42), (0.72, 0.53), (0.67, 0.63), (0.76 + wide, 0.76), (0.72, 0.92),
            (0.50, 0.98), (0.28, 0.92), (0.24 - wide, 0.76), (0.33, 0.63), (0.28, 0.53), (0.34 - wide, 0.42),
        ),
    )
    brush.area("cream", dot((0.50, 0.62), 0.10))
    brush.area("ink", dot((0.50, 0.62), 0.065), edge=False)
    for x in (0.48, 0.52):
        brush.line("paper", corners((x, 0.12), (x, 0.84)), 0.012)
    brush.area("rubber", box((0.39, 0.81), (0.61, 0.87), 0.02))


def crown(brush: Brush) -> None:
    """Draw a crown of five points with pearls and jewels."""
    brush.area(
        "shade",
        corners((0.10, 0.50), (0.30, 0.30), (0.50, 0.50), (0.70, 0.30), (0.90, 0.50), (0.80, 0.70), (0.20, 0.70)),
    )
    high = brush.vary(-0.03, 0.03)
    brush.area(
        "body",
        corners(
            (0.14, 0.88), (0.03, 0.34), (0.28, 0.58), (0.50, 0.18 + high), (0.72, 0.58), (0.97, 0.34),
            (0.86, 0.88),
        ),
    )
    for x, y in ((0.03, 0.32), (0.50, 0.15 + high), (0.97, 0.32)):
        brush.area("gold", dot((x, y), 0.055))
    brush.area("light", box((0.12, 0.76), (0.88, 0.90), 0.02))
    brush.area("coral", dot((0.50, 0.66), 0.07))
    brush.area("water", dot((0.29, 0.69), 0.045), dot((0.71, 0.69), 0.045))
    for x in (0.22, 0.36, 0.50, 0.64, 0.78):
        brush.area("paper", dot((x, 0.83), 0.03), edge=False)


def boot(brush: Brush) -> None:
    """Draw a rubber boot with a pale rim, a strap and a thick sole."""
    tall = brush.vary(-0.05, 0.03)
    brush.area(
        "body",
        smooth(
            (0.20, 0.10 + tall), (0.40, 0.09 + tall), (0.58, 0.10 + tall), (0.58, 0.46), (0.70, 0.60),
            (0.92, 0.68), (0.95, 0.86), (0.60, 0.88), (0.22, 0.87), (0.19, 0.60),
        ),
    )
    brush.area("light", box((0.15, 0.05 + tall), (0.63, 0.19 + tall), 0.05))
    brush.area("rubber", box((0.17, 0.84), (0.97, 0.93), 0.03), box((0.17, 0.84), (0.42, 0.98), 0.02))
    brush.line("shade", path((0.21, 0.58), (0.40, 0.60), (0.62, 0.54)), 0.05)
    brush.area("gold", dot((0.44, 0.59), 0.045))
    brush.area("light", oval((0.30, 0.38), (0.03, 0.11)), edge=False)


def shirt(brush: Brush) -> None:
    """Draw a shirt with short sleeves, a collar, a stripe and buttons."""
    for side in (-1, 1):
        sleeve = [
            (0.50 + side * x, y) for x, y in ((0.18, 0.12), (0.36, 0.18), (0.50, 0.42), (0.34, 0.52), (0.22, 0.38))
        ]
        brush.area("shade", corners(*sleeve))
    brush.area(
        "body",
        smooth(
            (0.30, 0.12), (0.50, 0.20), (0.70, 0.12), (0.75, 0.36), (0.74, 0.92), (0.50, 0.94), (0.26, 0.92),
            (0.25, 0.36),
        ),
    )
    stripe = brush.vary(0.58, 0.66)
    brush.area("light", box((0.265, stripe), (0.735, stripe + 0.12)), edge=False)
    brush.area("paper", corners((0.50, 0.26), (0.30, 0.10), (0.28, 0.22), (0.40, 0.32)))
    brush.area("paper", corners((0.50, 0.26), (0.70, 0.10), (0.72, 0.22), (0.60, 0.32)))
    for y in (0.40, 0.54, 0.82):
        brush.area("ink", dot((0.50, y), 0.025), edge=False)


def hat(brush: Brush) -> None:
    """Draw a top hat with a wide curled brim and a banded crown."""
    lean = brush.vary(-0.03, 0.03)
    brush.area(
        "body",
        smooth(
            (0.02, 0.74), (0.20, 0.80), (0.50, 0.82), (0.80, 0.80), (0.98, 0.74), (0.90, 0.90), (0.50, 0.96),
            (0.10, 0.90),
        ),
    )
    brush.area("body", corners((0.26, 0.84), (0.20 + lean, 0.12), (0.80 + lean, 0.12), (0.74, 0.84)))
    brush.area("shade", oval((0.50 + lean, 0.13), (0.30, 0.06)))
    brush.area("coral", corners((0.25, 0.66), (0.75, 0.66), (0.74, 0.81), (0.26, 0.81)))
    brush.area("gold", box((0.54, 0.66), (0.67, 0.81)))
    brush.area("light", corners((0.30 + lean, 0.24), (0.37 + lean, 0.24), (0.38, 0.60), (0.32, 0.60)), edge=False)


DRAWINGS = {
    "balloon": balloon,
    "kite": kite,
    "guitar": guitar,
    "crown": crown,
    "boot": boot,
    "shirt": shirt,
    "hat": hat,
}
