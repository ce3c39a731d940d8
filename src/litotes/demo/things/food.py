"""Things to eat."""

# fmt: off
# The points of an outline read better side by side.

from litotes.demo.things.brush import Brush
from litotes.demo.things.shapes import around, box, corners, dot, oval, path, smooth


def apple(brush: Brush) -> None:
    """Draw an apple with two lobes, a stem and a leaf."""
    brush.area(
        "body",
        smooth(
            (0.50, 0.30), (0.66, 0.24), (0.86, 0.34), (0.88, 0.58), (0.74, 0.86), (0.60, 0.91), (0.50, 0.87),
            (0.40, 0.91), (0.26, 0.86), (0.12, 0.58), (0.14, 0.34), (0.34, 0.24),
        ),
    )
    brush.area("light", oval((0.27, 0.46), (0.05, 0.11), 20.0), edge=False)
    brush.tube("wood", 0.035, path((0.50, 0.34), (0.50, 0.22), (0.46, 0.10)))
    droop = brush.vary(-0.04, 0.05)
    brush.area("leaf", smooth((0.52, 0.22), (0.62, 0.08 + droop), (0.82, 0.07 + droop), (0.70, 0.21 + droop)))


def cherry(brush: Brush) -> None:
    """Draw two cherries that hang from one stalk with a leaf."""
    low = brush.vary(-0.04, 0.04)
    brush.tube("leaf", 0.025, path((0.60, 0.12), (0.44, 0.30), (0.30, 0.58)))
    brush.tube("leaf", 0.025, path((0.60, 0.12), (0.66, 0.36), (0.70, 0.62)))
    brush.area("body", dot((0.28, 0.70 + low), 0.19))
    brush.area("body", dot((0.71, 0.76 - low), 0.19))
    brush.area("light", oval((0.21, 0.63 + low), (0.04, 0.06), 30.0), edge=False)
    brush.area("light", oval((0.64, 0.69 - low), (0.04, 0.06), 30.0), edge=False)
    brush.area("leaf", smooth((0.60, 0.12), (0.74, 0.04), (0.96, 0.10), (0.80, 0.22)))


def cake(brush: Brush) -> None:
    """Draw a cake of two tiers with dripping icing and three candles."""
    brush.area("steel", oval((0.50, 0.90), (0.47, 0.05)))
    brush.area("body", box((0.12, 0.58), (0.88, 0.90), 0.05))
    brush.area("body", box((0.24, 0.32), (0.76, 0.62), 0.05))
    for left, right, top in ((0.12, 0.88, 0.58), (0.24, 0.76, 0.32)):
        drips = [(left + (right - left) * k / 6, top + (0.13 if k % 2 else 0.07)) for k in range(7)]
        brush.area("light", smooth((right, top + 0.01), (left, top + 0.01), *drips))
    for x in (0.34, 0.50, 0.66):
        brush.area("paper", box((x - 0.025, 0.18), (x + 0.025, 0.33)))
        lean = brush.vary(-0.02, 0.02)
        brush.area("gold", smooth((x, 0.17), (x - 0.04, 0.12), (x + lean, 0.03), (x + 0.04, 0.12)))


def pizza(brush: Brush) -> None:
    """Draw a slice of pizza with its crust, rounds of sausage and leaves of basil."""
    brush.area("body", corners((0.10, 0.26), (0.90, 0.26), (0.52, 0.95)))
    for x, y in ((0.32, 0.40), (0.62, 0.38), (0.50, 0.64)):
        brush.area("coral", dot((x + brush.vary(-0.03, 0.03), y), 0.072))
    for x, y in ((0.47, 0.44), (0.60, 0.58), (0.50, 0.80), (0.78, 0.36)):
        brush.area("leaf", oval((x, y), (0.045, 0.022), brush.vary(0.0, 180.0)), edge=False)
    brush.tube("dough", 0.11, path((0.11, 0.24), (0.35, 0.16), (0.65, 0.16), (0.89, 0.24)))


def donut(brush: Brush) -> None:
    """Draw a ring of dough with wavy icing and sprinkles."""
    brush.area("dough", dot((0.50, 0.50), 0.45))
    wave = [around((0.50, 0.49), 0.375 + (0.025 if k % 2 else -0.02), 360 / 14.0 * k) for k in range(14)]
    brush.area("body", smooth(*wave))
    brush.area("dough", dot((0.50, 0.50), 0.165))
    brush.hole(dot((0.50, 0.51), 0.13))
    start = brush.vary(0.0, 40.0)
    for k in range(9):
        x, y = around((0.50, 0.49), 0.25 + 0.06 * (k % 2), start + 40.0 * k)
        fill = ("paper", "gold", "ink")[k % 3]
        brush.line(fill, corners(around((x, y), 0.03, 70.0 * k), around((x, y), -0.03, 70.0 * k)), 0.03)


DRAWINGS = {"apple": apple, "cherry": cherry, "cake": cake, "pizza": pizza, "donut": donut}
