"""Things of the household."""

# fmt: off
# The points of an outline read better side by side.

import numpy as np

from litotes.demo.things.brush import Brush
from litotes.demo.things.shapes import arc, around, box, corners, dot, oval, path, smooth, turned


def cup(brush: Brush) -> None:
    """Draw a steaming cup with a handle, on a saucer."""
    sway = brush.vary(-0.04, 0.04)
    for x in (0.32, 0.52):
        brush.line("steel", path((x, 0.30), (x - 0.05, 0.22), (x + 0.05 + sway, 0.13), (x + sway, 0.03)), 0.03)
    brush.tube("body", 0.075, path((0.70, 0.46), (0.92, 0.44), (0.92, 0.62), (0.66, 0.70)))
    brush.area("shade", oval((0.42, 0.90), (0.44, 0.055)))
    brush.area(
        "body",
        smooth(
            (0.08, 0.38), (0.42, 0.36), (0.76, 0.38), (0.74, 0.66), (0.62, 0.86), (0.42, 0.88), (0.22, 0.86),
            (0.10, 0.66),
        ),
    )
    brush.area("wood", oval((0.42, 0.39), (0.31, 0.065)))
    brush.area("light", oval((0.20, 0.58), (0.035, 0.12), -10.0), edge=False)


def teapot(brush: Brush) -> None:
    """Draw a round teapot with a spout, a handle and a lid."""
    brush.tube("body", 0.075, path((0.22, 0.44), (0.04, 0.38), (0.02, 0.60), (0.24, 0.70)))
    tip = brush.vary(-0.03, 0.03)
    brush.area(
        "body",
        smooth(
            (0.68, 0.74), (0.80, 0.66), (0.86, 0.44), (0.96, 0.32 + tip), (1.04, 0.38 + tip), (0.96, 0.56),
            (0.86, 0.78), (0.70, 0.86),
        ),
    )
    brush.area("shade", box((0.34, 0.86), (0.62, 0.95), 0.03))
    brush.area("body", oval((0.48, 0.62), (0.32, 0.29)))
    brush.area("shade", smooth((0.30, 0.37), (0.38, 0.28), (0.48, 0.26), (0.58, 0.28), (0.66, 0.37), (0.48, 0.40)))
    brush.area("gold", dot((0.48, 0.22), 0.055))
    brush.line("light", path((0.19, 0.58), (0.48, 0.66), (0.77, 0.58)), 0.055)
    for x, y in ((0.30, 0.73), (0.42, 0.77), (0.54, 0.77), (0.66, 0.73)):
        brush.area("paper", dot((x, y), 0.03), edge=False)


def umbrella(brush: Brush) -> None:
    """Draw an open umbrella with scalloped panels and a hooked handle."""
    hook = path((0.50, 0.10), (0.50, 0.60), (0.50, 0.86), (0.56, 0.95), (0.66, 0.92), (0.68, 0.84))
    brush.tube("wood", 0.04, hook)
    brush.tube("steel", 0.03, corners((0.50, 0.10), (0.50, 0.02)))
    scallops = [(0.98 - 0.08 * k, 0.52 - (0.055 if k % 3 else 0.0)) for k in range(13)]
    brush.area("body", np.concatenate([arc((0.50, 0.52), (0.48, 0.44), 180.0, 360.0), path(*scallops)]))
    panel = [(0.66, 0.52), (0.61, 0.46), (0.50, 0.45), (0.39, 0.46), (0.34, 0.52)]
    wide = brush.vary(0.10, 0.13)
    brush.area(
        "light",
        np.concatenate(
            [
                path((0.34, 0.51), (0.50 - wide, 0.28), (0.50, 0.09)),
                path((0.50, 0.09), (0.50 + wide, 0.28), (0.66, 0.51)),
                path(*panel),
            ]
        ),
        edge=False,
    )
    brush.line("line", path((0.34, 0.51), (0.50 - wide, 0.28), (0.50, 0.09)), 0.02)
    brush.line("line", path((0.66, 0.51), (0.50 + wide, 0.28), (0.50, 0.09)), 0.02)


def chair(brush: Brush) -> None:
    """Draw a wooden chair, half from the side, with a slatted back, a cushion and four legs."""
    tall = brush.vary(-0.04, 0.04)
    brush.tube("shade", 0.065, corners((0.54, 0.60), (0.54, 0.84)))
    brush.tube("body", 0.065, corners((0.22, 0.56), (0.22, 0.90)), corners((0.80, 0.64), (0.80, 0.90)))
    brush.tube("body", 0.075, corners((0.52, 0.70), (0.52, 0.98)))
    brush.area("body", corners((0.18, 0.08 + tall), (0.50, 0.02 + tall), (0.50, 0.56), (0.18, 0.58)))
    for x in (0.25, 0.37):
        brush.hole(corners((x, 0.20 + tall), (x + 0.06, 0.19 + tall), (x + 0.06, 0.47), (x, 0.48)))
    brush.area("body", corners((0.18, 0.56), (0.56, 0.50), (0.86, 0.60), (0.86, 0.67), (0.50, 0.75), (0.18, 0.63)))
    brush.area("light", smooth((0.24, 0.56), (0.52, 0.50), (0.78, 0.59), (0.51, 0.66)))


def lamp(brush: Brush) -> None:
    """Draw a table lamp with a wide shade, a round foot and a cord to pull."""
    low = brush.vary(-0.04, 0.06)
    brush.line("line", corners((0.66, 0.52), (0.66, 0.68 + low)), 0.016)
    brush.area("gold", dot((0.66, 0.70 + low), 0.03))
    brush.area("gold", oval((0.50, 0.54), (0.13, 0.09)))
    brush.tube("steel", 0.05, corners((0.50, 0.56), (0.50, 0.86)))
    brush.area("body", corners((0.34, 0.08), (0.66, 0.08), (0.92, 0.54), (0.08, 0.54)))
    brush.area("light", corners((0.42, 0.08), (0.52, 0.08), (0.56, 0.54), (0.34, 0.54)), edge=False)
    brush.line("shade", corners((0.10, 0.51), (0.90, 0.51)), 0.04)
    brush.area("body", arc((0.50, 0.95), (0.25, 0.13), 180.0, 360.0))


def clock(brush: Brush) -> None:
    """Draw an alarm clock with two bells, feet and a pale face with hands."""
    for side in (-1, 1):
        brush.tube("rubber", 0.06, corners((0.50 + side * 0.20, 0.80), (0.50 + side * 0.28, 0.95)))
        brush.area("shade", turned(arc((0.50, 0.20), (0.14, 0.13), 180.0, 360.0), (0.50, 0.56), side * 36.0))
    brush.tube("steel", 0.03, corners((0.50, 0.24), (0.50, 0.12)))
    brush.area("body", dot((0.50, 0.56), 0.37))
    brush.area("paper", dot((0.50, 0.56), 0.235))
    for k in range(4):
        brush.area("ink", dot(around((0.50, 0.56), 0.19, 90.0 * k), 0.022), edge=False)
    hour = brush.vary(0.0, 360.0)
    brush.line("ink", corners((0.50, 0.56), around((0.50, 0.56), 0.11, hour)), 0.04)
    brush.line("coral", corners((0.50, 0.56), around((0.50, 0.56), 0.17, hour + brush.vary(60.0, 300.0))), 0.03)


def key(brush: Brush) -> None:
    """Draw an old key: a clover head with a hole, a shaft and two teeth."""
    brush.tube("body", 0.09, corners((0.30, 0.50), (0.94, 0.50)))
    deep = brush.vary(-0.02, 0.03)
    brush.area(
        "body",
        box((0.70, 0.50), (0.79, 0.70 + deep)),
        box((0.86, 0.50), (0.96, 0.74 - deep)),
        box((0.60, 0.46), (0.97, 0.54), 0.03),
    )
    brush.area(
        "body",
        dot((0.16, 0.36), 0.15),
        dot((0.16, 0.64), 0.15),
        dot((0.36, 0.50), 0.15),
        dot((0.22, 0.50), 0.14),
    )
    brush.hole(dot((0.21, 0.50), 0.09))
    brush.area("shade", box((0.51, 0.42), (0.57, 0.58), 0.02))


def book(brush: Brush) -> None:
    """Draw a thick closed book, standing askew, with a spine, pages, an emblem and a ribbon."""
    low = brush.vary(0.90, 1.00)
    brush.area("shade", corners((0.14, 0.10), (0.74, 0.10), (0.88, 0.20), (0.88, 0.96), (0.24, 0.96), (0.14, 0.88)))
    brush.area("paper", corners((0.16, 0.08), (0.74, 0.08), (0.86, 0.17), (0.28, 0.17)))
    brush.line("steel", corners((0.22, 0.125), (0.80, 0.125)), 0.014)
    brush.area(
        "coral",
        corners((0.66, 0.90), (0.75, 0.90), (0.75, low + 0.06), (0.705, low + 0.02), (0.66, low + 0.06)),
    )
    brush.area("body", box((0.26, 0.18), (0.88, 0.94), 0.02))
    brush.area("shade", corners((0.12, 0.08), (0.26, 0.18), (0.26, 0.94), (0.12, 0.84)))
    brush.area("gold", corners((0.57, 0.30), (0.70, 0.46), (0.57, 0.62), (0.44, 0.46)))
    brush.line("light", corners((0.42, 0.74), (0.72, 0.74)), 0.04)
    brush.line("light", corners((0.48, 0.83), (0.66, 0.83)), 0.04)


def ladder(brush: Brush) -> None:
    """Draw a ladder of five rungs that narrows to its top."""
    for k in range(5):
        y = 0.15 + 0.175 * k + brush.vary(-0.015, 0.015)
        half = 0.22 + 0.10 * y
        brush.tube("light", 0.075, corners((0.50 - half, y), (0.50 + half, y)))
    brush.tube("body", 0.115, corners((0.29, 0.04), (0.18, 0.96)))
    brush.tube("body", 0.115, corners((0.71, 0.04), (0.82, 0.96)))


DRAWINGS = {
    "cup": cup,
    "teapot": teapot,
    "umbrella": umbrella,
    "chair": chair,
    "lamp": lamp,
    "clock": clock,
    "key": key,
    "book": book,
    "ladder": ladder,
}
