"""The things of a picture-book world, drawn by code alone: no files, no fonts."""

from collections.abc import Callable

import numpy as np
from PIL import Image

from litotes.demo.things import animals, backdrops, buildings, food, home, nature, toys, vehicles, water
from litotes.demo.things.backdrops import BACKDROPS
from litotes.demo.things.brush import Brush, Pose
from litotes.demo.things.colours import COLOURS
from litotes.errors import UserError

__all__ = ["BACKDROPS", "COLOURS", "KINDS", "backdrop", "draw"]

_DRAWINGS: dict[str, Callable[[Brush], None]] = {
    **animals.DRAWINGS,
    **water.DRAWINGS,
    **nature.DRAWINGS,
    **food.DRAWINGS,
    **vehicles.DRAWINGS,
    **buildings.DRAWINGS,
    **home.DRAWINGS,
    **toys.DRAWINGS,
}

SMALLEST = 8
"""Side in pixels below which no drawing can be told from another."""

KINDS: tuple[str, ...] = tuple(_DRAWINGS)


def draw(kind: str, colour: str, size: int, rng: np.random.Generator) -> Image.Image:
    """Draw one thing of the given kind and colour on a transparent square.

    The generator gives the pose (mirrored or not, turned by up to 12 degrees, slightly stretched) and
    small differences of detail; the same state gives the same picture.
    kind: one of KINDS. colour: one of COLOURS. size: side in pixels, at least 8.
    Returns an RGBA picture of size x size. Raises UserError for an unknown kind or colour.
    """
    _require(kind, KINDS, "kind of thing")
    _require(colour, tuple(COLOURS), "colour")
    if size < SMALLEST:
        raise UserError(
            got=f"a size of {size} pixels",
            expected=f"at least {SMALLEST}",
            do="ask for a larger picture of the thing",
        )
    pose = Pose(bool(rng.integers(2)), rng.uniform(-12, 12), rng.uniform(0.9, 1.0), rng.uniform(0.94, 1.06))
    brush = Brush(rng)
    _DRAWINGS[kind](brush)
    return brush.paint(COLOURS[colour], size, pose)


def backdrop(name: str, size: int, rng: np.random.Generator) -> Image.Image:
    """Paint one background as an RGB picture of size x size pixels.

    The generator moves its lines and tones a little. Raises UserError for an unknown name.
    """
    _require(name, BACKDROPS, "backdrop")
    return backdrops.paint(name, size, rng)


def _require(name: str, known: tuple[str, ...], what: str) -> None:
    """Raise UserError unless the name is known."""
    if name not in known:
        raise UserError(
            got=f"{name!r} as a {what}",
            expected=f"one of {', '.join(known)}",
            do=f"choose a {what} from this list",
        )
