"""Animals of field and forest."""

# fmt: off
# The points of an outline read better side by side.

from litotes.demo.things.brush import Brush
from litotes.demo.things.shapes import arc, box, corners, dot, oval, path, smooth


def cat(brush: Brush) -> None:
    """Draw a sitting cat with pointed ears, whiskers and a long tail."""
    lift = brush.vary(0.0, 0.22)
    brush.tube("body", 0.085, path((0.66, 0.86), (0.84, 0.84), (0.92, 0.66 - lift / 2), (0.82, 0.52 - lift)))
    brush.area(
        "body",
        smooth((0.42, 0.44), (0.60, 0.50), (0.74, 0.74), (0.72, 0.93), (0.46, 0.95), (0.22, 0.93), (0.26, 0.62)),
    )
    brush.line("dark", corners((0.40, 0.78), (0.40, 0.93)), 0.02)
    brush.line("dark", corners((0.52, 0.78), (0.52, 0.93)), 0.02)
    brush.area("light", oval((0.44, 0.66), (0.10, 0.09)), edge=False)
    brush.area(
        "body",
        oval((0.42, 0.36), (0.28, 0.22)),
        corners((0.15, 0.34), (0.15, 0.02), (0.38, 0.18)),
        corners((0.69, 0.34), (0.69, 0.02), (0.46, 0.18)),
    )
    brush.area("rose", corners((0.19, 0.24), (0.19, 0.10), (0.30, 0.18)), edge=False)
    brush.area("rose", corners((0.65, 0.24), (0.65, 0.10), (0.54, 0.18)), edge=False)
    brush.eye((0.31, 0.34), 0.045)
    brush.eye((0.53, 0.34), 0.045)
    brush.area("rose", corners((0.38, 0.41), (0.46, 0.41), (0.42, 0.46)))
    for side in (-1, 1):
        for y in (0.42, 0.48):
            brush.line("line", corners((0.42 + side * 0.16, 0.44), (0.42 + side * 0.38, y)), 0.012)


def dog(brush: Brush) -> None:
    """Draw a standing dog from the side, with a long muzzle, a hanging ear and a raised tail."""
    wag = brush.vary(-0.08, 0.06)
    brush.tube("body", 0.07, path((0.84, 0.50), (0.93, 0.40), (0.94 + wag, 0.24)))
    for x in (0.40, 0.86):
        brush.area("shade", box((x - 0.10, 0.60), (x, 0.94), 0.04))
    brush.area(
        "body",
        box((0.28, 0.44), (0.88, 0.74), 0.13),
        box((0.29, 0.60), (0.40, 0.96), 0.04),
        box((0.76, 0.60), (0.87, 0.96), 0.04),
    )
    brush.area("light", oval((0.70, 0.54), (0.10, 0.07), -15.0), edge=False)
    brush.area("body", oval((0.34, 0.28), (0.19, 0.17)), box((0.05, 0.26), (0.36, 0.44), 0.08))
    brush.area("coral", box((0.28, 0.44), (0.48, 0.50), 0.025))
    brush.area("ink", oval((0.07, 0.28), (0.05, 0.04)), edge=False)
    brush.line("line", path((0.10, 0.38), (0.16, 0.39), (0.22, 0.37)), 0.015)
    brush.eye((0.27, 0.24), 0.04)
    swing = brush.vary(-0.03, 0.04)
    brush.area("shade", smooth((0.40, 0.12), (0.52, 0.18), (0.56 + swing, 0.42), (0.46 + swing, 0.46), (0.40, 0.32)))


def rabbit(brush: Brush) -> None:
    """Draw a sitting rabbit with two very long ears and a white tail."""
    brush.area("paper", dot((0.82, 0.82), 0.09))
    brush.area("body", oval((0.54, 0.74), (0.27, 0.22)), oval((0.38, 0.92), (0.15, 0.05)))
    brush.line("dark", path((0.52, 0.78), (0.66, 0.70), (0.76, 0.84), (0.62, 0.94)), 0.018)
    fold = brush.vary(-6.0, 22.0)
    ears = oval((0.32, 0.17), (0.07, 0.19), -8.0), oval((0.50, 0.18), (0.07, 0.19), fold)
    brush.area("body", *ears, oval((0.38, 0.46), (0.21, 0.18)))
    brush.area("rose", oval((0.32, 0.16), (0.03, 0.13), -8.0), edge=False)
    brush.area("rose", oval((0.50, 0.17), (0.03, 0.13), fold), edge=False)
    brush.eye((0.32, 0.43), 0.04)
    brush.eye((0.48, 0.43), 0.04)
    brush.area("rose", oval((0.40, 0.51), (0.03, 0.022)), edge=False)
    brush.area("paper", box((0.375, 0.55), (0.43, 0.61)), edge=False)


def elephant(brush: Brush) -> None:
    """Draw an elephant from the side, with a big ear, a tusk and a trunk that hangs or lifts."""
    tail = brush.vary(0.60, 0.74)
    brush.line("line", path((0.93, 0.48), (0.985, 0.56), (0.97, tail)), 0.03)
    for x in (0.46, 0.80):
        brush.area("shade", box((x, 0.66), (x + 0.13, 0.92), 0.03))
    if brush.either():
        trunk = path((0.20, 0.44), (0.08, 0.60), (0.10, 0.78), (0.04, 0.86))
    else:
        trunk = path((0.18, 0.48), (0.06, 0.54), (0.02, 0.38), (0.07, 0.24))
    brush.tube("body", 0.10, trunk)
    brush.area(
        "body",
        oval((0.62, 0.52), (0.34, 0.26)),
        oval((0.28, 0.40), (0.19, 0.20)),
        box((0.34, 0.60), (0.49, 0.94), 0.04),
        box((0.70, 0.60), (0.85, 0.94), 0.04),
    )
    brush.line("body", trunk, 0.10)
    for x in (0.415, 0.775):
        brush.area("paper", oval((x, 0.925), (0.06, 0.018)), edge=False)
    brush.area("paper", smooth((0.18, 0.56), (0.24, 0.55), (0.22, 0.66), (0.14, 0.70)))
    brush.area("shade", smooth((0.36, 0.20), (0.52, 0.22), (0.56, 0.42), (0.48, 0.62), (0.38, 0.54), (0.34, 0.36)))
    brush.eye((0.22, 0.36), 0.035)


def giraffe(brush: Brush) -> None:
    """Draw a giraffe with a long neck, horns and big spots."""
    brush.line("line", path((0.84, 0.60), (0.92, 0.66), (0.91, 0.78)), 0.03)
    for x in (0.46, 0.72):
        brush.area("shade", box((x, 0.68), (x + 0.07, 0.95), 0.02))
    brush.tube("body", 0.03, corners((0.24, 0.12), (0.22, 0.02)))
    brush.tube("body", 0.03, corners((0.33, 0.12), (0.35, 0.02)))
    bend = brush.vary(-0.04, 0.03)
    brush.area(
        "body",
        box((0.34, 0.54), (0.86, 0.76), 0.10),
        smooth(
            (0.22, 0.12), (0.36, 0.12), (0.46 + bend, 0.36), (0.60, 0.58), (0.50, 0.72), (0.34, 0.64),
            (0.30 + bend, 0.38),
        ),
        oval((0.22, 0.17), (0.16, 0.085), -18.0),
        box((0.36, 0.64), (0.44, 0.97), 0.02),
        box((0.77, 0.64), (0.85, 0.97), 0.02),
    )
    brush.area("body", oval((0.40, 0.12), (0.07, 0.03), -25.0))
    for x, y, r in (
        (0.36, 0.30, 0.035), (0.39, 0.44, 0.045), (0.45, 0.60, 0.05), (0.60, 0.63, 0.055), (0.75, 0.62, 0.05),
    ):
        brush.area("dark", oval((x, y), (r, r * 0.9), brush.vary(0.0, 90.0)), edge=False)
    brush.eye((0.24, 0.14), 0.03)
    brush.line("line", path((0.09, 0.22), (0.14, 0.235), (0.18, 0.22)), 0.014)


def owl(brush: Brush) -> None:
    """Draw an owl on a branch, from the front, with huge eyes and folded wings."""
    brush.tube("wood", 0.06, path((0.06, 0.92), (0.50, 0.90), (0.94, 0.93)))
    brush.area(
        "body",
        smooth(
            (0.50, 0.14), (0.74, 0.14), (0.82, 0.46), (0.76, 0.78), (0.50, 0.90), (0.24, 0.78), (0.18, 0.46),
            (0.26, 0.14),
        ),
        corners((0.22, 0.26), (0.17, 0.02), (0.42, 0.14)),
        corners((0.78, 0.26), (0.83, 0.02), (0.58, 0.14)),
    )
    brush.area("light", oval((0.50, 0.68), (0.17, 0.17)), edge=False)
    for x, y in ((0.43, 0.62), (0.57, 0.62), (0.50, 0.70), (0.43, 0.77), (0.57, 0.77)):
        brush.line("shade", path((x - 0.04, y), (x, y + 0.03), (x + 0.04, y)), 0.018)
    spread = brush.vary(0.0, 12.0)
    brush.area("shade", oval((0.20, 0.60), (0.08, 0.22), 8 + spread))
    brush.area("shade", oval((0.80, 0.60), (0.08, 0.22), -8 - spread))
    for x in (0.36, 0.64):
        brush.area("paper", dot((x, 0.34), 0.145))
        brush.eye((x, 0.34), 0.075)
    brush.area("beak", corners((0.44, 0.40), (0.56, 0.40), (0.50, 0.53)))
    for x in (0.40, 0.60):
        brush.area("beak", oval((x, 0.90), (0.055, 0.035)))


def snail(brush: Brush) -> None:
    """Draw a snail with a spiral shell and two eyes on stalks."""
    sway = brush.vary(-0.04, 0.04)
    brush.tube("cream", 0.03, path((0.18, 0.56), (0.15, 0.42), (0.10 + sway, 0.30)))
    brush.tube("cream", 0.03, path((0.22, 0.56), (0.25, 0.42), (0.28 + sway, 0.30)))
    brush.area(
        "cream",
        smooth(
            (0.08, 0.62), (0.18, 0.52), (0.28, 0.60), (0.36, 0.78), (0.70, 0.80), (0.97, 0.90), (0.60, 0.93),
            (0.24, 0.92), (0.12, 0.78),
        ),
    )
    brush.area("ink", dot((0.10 + sway, 0.29), 0.035), dot((0.28 + sway, 0.29), 0.035), edge=False)
    brush.area("body", oval((0.58, 0.52), (0.33, 0.33)))
    brush.area("light", oval((0.44, 0.32), (0.07, 0.04), -40.0), edge=False)
    brush.line(
        "line",
        path(
            (0.88, 0.62), (0.68, 0.78), (0.42, 0.70), (0.34, 0.50), (0.48, 0.31), (0.69, 0.36), (0.74, 0.54),
            (0.60, 0.65), (0.48, 0.55), (0.55, 0.46), (0.62, 0.51),
        ),
        0.032,
    )
    brush.line("line", path((0.12, 0.69), (0.16, 0.72), (0.20, 0.70)), 0.016)


def turtle(brush: Brush) -> None:
    """Draw a turtle with a domed shell of plates."""
    nod = brush.vary(-0.06, 0.04)
    brush.area("cream", corners((0.84, 0.70), (0.99, 0.72), (0.84, 0.78)))
    brush.area(
        "cream",
        smooth(
            (0.34, 0.72), (0.24, 0.72), (0.02, 0.56 + nod), (0.04, 0.40 + nod), (0.20, 0.38 + nod), (0.32, 0.54),
        ),
    )
    for x in (0.32, 0.74):
        brush.area("cream", oval((x, 0.84), (0.095, 0.095)))
    brush.eye((0.12, 0.47 + nod), 0.035)
    brush.line("line", path((0.05, 0.56 + nod), (0.10, 0.58 + nod), (0.15, 0.56 + nod)), 0.015)
    brush.area("body", arc((0.56, 0.74), (0.37, 0.52), 180.0, 360.0))
    brush.area("light", corners((0.48, 0.36), (0.64, 0.36), (0.70, 0.54), (0.56, 0.62), (0.42, 0.54)), edge=False)
    for start, stop in (
        ((0.48, 0.36), (0.44, 0.25)), ((0.64, 0.36), (0.68, 0.26)), ((0.70, 0.54), (0.90, 0.54)),
        ((0.56, 0.62), (0.56, 0.74)), ((0.42, 0.54), (0.22, 0.54)),
    ):
        brush.line("dark", corners(start, stop), 0.024)
    brush.area("shade", box((0.16, 0.70), (0.96, 0.79), 0.04))


def frog(brush: Brush) -> None:
    """Draw a sitting frog from the front, with eyes on top and a very wide mouth."""
    for side in (-1, 1):
        brush.area("shade", oval((0.50 + side * 0.33, 0.72), (0.13, 0.20), side * 20.0))
        foot = [(0.50 + side * x, y) for x, y in ((0.20, 0.88), (0.44, 0.86), (0.48, 0.93), (0.34, 0.96), (0.18, 0.95))]
        brush.area("body", smooth(*foot))
    brush.area("body", oval((0.50, 0.74), (0.28, 0.20)))
    brush.area("light", oval((0.50, 0.78), (0.17, 0.13)), edge=False)
    brush.area("body", oval((0.50, 0.44), (0.42, 0.23)), dot((0.25, 0.22), 0.15), dot((0.75, 0.22), 0.15))
    look = brush.vary(-0.03, 0.03)
    for x in (0.25, 0.75):
        brush.area("paper", dot((x, 0.21), 0.095))
        brush.area("ink", dot((x + look, 0.21), 0.055), edge=False)
    brush.line("line", path((0.16, 0.44), (0.30, 0.55), (0.50, 0.58), (0.70, 0.55), (0.84, 0.44)), 0.028)
    brush.area("rose", oval((0.20, 0.52), (0.05, 0.03)), oval((0.80, 0.52), (0.05, 0.03)), edge=False)


def snake(brush: Brush) -> None:
    """Draw a winding snake with bands and a forked tongue."""
    high = brush.vary(-0.03, 0.03)
    brush.line("coral", corners((0.10, 0.26), (0.00, 0.30)), 0.026)
    brush.line("coral", corners((0.00, 0.30), (-0.06, 0.26)), 0.02)
    brush.line("coral", corners((0.00, 0.30), (-0.04, 0.35)), 0.02)
    spine = path(
        (0.22, 0.24), (0.46, 0.22 + high), (0.52, 0.42), (0.26, 0.54), (0.20, 0.74), (0.44, 0.82), (0.64, 0.66),
        (0.80, 0.54), (0.94, 0.64 - high), (0.98, 0.80),
    )
    brush.tube("body", 0.15, spine)
    for k in range(8, len(spine) - 4, 7):
        x, y = spine[k]
        brush.area("shade", dot((x, y), 0.045), edge=False)
    brush.area("body", oval((0.21, 0.24), (0.15, 0.11), -4.0))
    brush.eye((0.17, 0.20), 0.035)


DRAWINGS = {
    "cat": cat,
    "dog": dog,
    "rabbit": rabbit,
    "elephant": elephant,
    "giraffe": giraffe,
    "owl": owl,
    "snail": snail,
    "turtle": turtle,
    "frog": frog,
    "snake": snake,
}
