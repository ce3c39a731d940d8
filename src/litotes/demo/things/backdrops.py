"""Gentle backgrounds that leave room for things: soft bands of colour, a little grain, nothing to name."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from litotes.demo.things.colours import RGB

Field = NDArray[np.float64]

TONE = 7.0
"""Largest shift of a whole background in red, green and blue, of 255."""
GRAIN = 1.5
"""Spread of the paper grain, of 255."""


class Canvas:
    """A picture of floats [size, size, 3] with the unit coordinates of its pixels."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        """Start empty; the generator varies lines and tones."""
        self.rng = rng
        self.down, self.across = np.mgrid[0:size, 0:size] / size
        self.pixels = np.zeros((size, size, 3))

    def fade(self, top: RGB, bottom: RGB) -> None:
        """Fill everything with a gradient from top to bottom."""
        self.pixels = np.array(top) + (np.array(bottom) - np.array(top)) * self.down[..., None]

    def blend(self, mask: Field, colour: RGB) -> None:
        """Lay a colour over the pixels, as strongly as the mask (0 to 1) says."""
        self.pixels += mask[..., None] * (np.array(colour) - self.pixels)

    def ground(self, height: float, roll: float, colour: RGB) -> None:
        """Cover what lies below a rolling line."""
        wave = np.sin(2 * np.pi * (self.across * self.rng.uniform(0.6, 1.3) + self.rng.uniform()))
        line = height + self.rng.uniform(-0.04, 0.04) + roll * wave
        self.blend(np.clip((self.down - line) * 40, 0, 1), colour)

    def specks(self, count: int, radius: float, colour: RGB, top: float = 0.0) -> None:
        """Scatter soft small dots below a height."""
        for x, y in self.rng.uniform((0, top), 1, size=(count, 2)):
            away = np.hypot(self.across - x, self.down - y)
            self.blend(0.7 * np.clip(1.5 - away / radius, 0, 1), colour)


def _meadow(canvas: Canvas) -> None:
    """Paint rolling grass under a pale morning."""
    canvas.fade((214, 232, 240), (244, 242, 226))
    canvas.ground(0.40, 0.05, (206, 224, 170))
    canvas.ground(0.62, 0.04, (192, 215, 152))
    canvas.ground(0.84, 0.03, (180, 206, 140))


def _beach(canvas: Canvas) -> None:
    """Paint a pale sea between haze and sand."""
    canvas.fade((222, 238, 242), (236, 240, 232))
    canvas.ground(0.34, 0.0, (168, 212, 220))
    canvas.ground(0.52, 0.015, (232, 240, 234))
    canvas.ground(0.56, 0.02, (242, 226, 186))
    canvas.specks(14, 0.012, (222, 200, 156), 0.7)


def _night(canvas: Canvas) -> None:
    """Paint a violet dusk over dim hills, with faint glimmers."""
    canvas.fade((112, 118, 164), (182, 166, 190))
    canvas.specks(16, 0.010, (226, 220, 220))
    canvas.ground(0.70, 0.05, (132, 132, 160))
    canvas.ground(0.86, 0.04, (118, 122, 148))


def _snow(canvas: Canvas) -> None:
    """Paint bluish drifts and falling flakes."""
    canvas.fade((200, 214, 230), (222, 230, 240))
    canvas.ground(0.50, 0.06, (218, 227, 238))
    canvas.ground(0.72, 0.05, (230, 236, 243))
    canvas.specks(22, 0.014, (252, 254, 255))


def _room(canvas: Canvas) -> None:
    """Paint a papered wall with faint stripes over a floor of boards."""
    canvas.fade((244, 226, 208), (238, 216, 196))
    stripes = 0.5 + 0.5 * np.sin(2 * np.pi * (canvas.across * canvas.rng.uniform(5, 8) + canvas.rng.uniform()))
    canvas.blend(0.5 * stripes, (248, 236, 220))
    canvas.ground(0.70, 0.0, (236, 226, 214))
    canvas.ground(0.76, 0.0, (204, 178, 150))


def _sky(canvas: Canvas) -> None:
    """Paint open air, brighter and warmer towards its lower end."""
    canvas.fade((170, 208, 238), (246, 236, 226))
    for height in canvas.rng.uniform(0.1, 0.9, size=3):
        slope = canvas.rng.uniform(-0.1, 0.1) * (canvas.across - 0.5)
        canvas.blend(0.35 * np.exp(-(((canvas.down - height + slope) / 0.06) ** 2)), (252, 250, 246))


_PAINTERS: dict[str, Callable[[Canvas], None]] = {
    "meadow": _meadow,
    "beach": _beach,
    "night": _night,
    "snow": _snow,
    "room": _room,
    "sky": _sky,
}

BACKDROPS: tuple[str, ...] = tuple(_PAINTERS)


def paint(name: str, size: int, rng: np.random.Generator) -> Image.Image:
    """Paint the named background, its tone shifted a little and grained like paper."""
    canvas = Canvas(size, rng)
    _PAINTERS[name](canvas)
    tone = rng.uniform(-TONE, TONE, size=3)
    grain = rng.normal(0.0, GRAIN, size=(size, size, 1))
    return Image.fromarray(np.clip(canvas.pixels + tone + grain, 0, 255).astype(np.uint8))
