"""A brush that records strokes on the unit canvas and then paints them, posed and fitted, at any size."""

import functools
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from litotes.demo.things.colours import RGB, roles
from litotes.demo.things.shapes import Point, Points, dot

OVERSAMPLING = 4
MARGIN = 0.035
EDGE = 0.024
"""Width of the ink around an area, as a share of the picture: the same on every thing."""


MITRE = 2.2
"""How far ink may reach at a sharp corner, in multiples of its width."""
PIECE = 4


class Pose(NamedTuple):
    """How a thing stands in its picture: turn in degrees, size and stretch as factors."""

    mirrored: bool
    turn: float
    size: float
    stretch: float


class Stroke(NamedTuple):
    """One recorded stroke: a filled area (width None) or a line; a fill of None rubs out."""

    points: Points
    fill: str | None
    width: float | None = None
    edge: bool = False


class Brush:
    """What a drawing paints with, in coordinates 0 to 1; the order of calls is the order of layers."""

    def __init__(self, rng: np.random.Generator) -> None:
        """Start with an empty canvas; the generator decides the small variations of details."""
        self._rng = rng
        self._strokes: list[Stroke] = []

    def vary(self, low: float, high: float) -> float:
        """Return a random number between two bounds, for a detail that may differ."""
        return float(self._rng.uniform(low, high))

    def either(self) -> bool:
        """Return yes or no at random, for a detail with two forms."""
        return bool(self._rng.integers(2))

    def area(self, fill: str, *outlines: Points, edge: bool = True) -> None:
        """Fill outlines as one area, inked around their union and not where they overlap."""
        if edge:
            self._strokes += [Stroke(outline, "line", edge=True) for outline in outlines]
        self._strokes += [Stroke(outline, fill) for outline in outlines]

    def line(self, fill: str, points: Points, width: float) -> None:
        """Draw a plain line with round ends."""
        self._strokes.append(Stroke(points, fill, width))

    def tube(self, fill: str, width: float, *lines: Points) -> None:
        """Draw thick lines with round ends, inked around their union like an area."""
        self._strokes += [Stroke(points, "line", width, edge=True) for points in lines]
        self._strokes += [Stroke(points, fill, width) for points in lines]

    def hole(self, outline: Points) -> None:
        """Rub out everything painted so far within the outline, and ink its rim."""
        self._strokes += [Stroke(outline, "line", edge=True), Stroke(outline, None)]

    def eye(self, centre: Point, radius: float) -> None:
        """Draw a black eye with a spark of light."""
        self.area("ink", dot(centre, radius), edge=False)
        self.area("paper", dot((centre[0] + radius * 0.3, centre[1] - radius * 0.35), radius * 0.4), edge=False)

    def paint(self, colour: RGB, size: int, pose: Pose) -> Image.Image:
        """Paint the record into a transparent picture, as large as its margin and the pose allow."""
        scale, placed = _fit(self._strokes, size * OVERSAMPLING, pose)
        canvas = Image.new("RGBA", (size * OVERSAMPLING,) * 2, (0, 0, 0, 0))
        pen, fills = ImageDraw.Draw(canvas), roles(colour)
        for stroke, points in zip(self._strokes, placed, strict=True):
            fill = (*fills[stroke.fill], 255) if stroke.fill else (0, 0, 0, 0)
            ink = EDGE * size * OVERSAMPLING if stroke.edge else 0.0
            if stroke.width is None:
                pen.polygon(_grown(points, ink).ravel().tolist(), fill=fill)
            else:
                _draw_line(pen, points, fill, max(0.5, stroke.width * scale / 2 + ink))
        return _lit(canvas.reduce(OVERSAMPLING))


def _draw_line(pen: ImageDraw.ImageDraw, points: Points, fill: tuple[int, ...], radius: float) -> None:
    """Draw a line with round ends, in short pieces so that a tight bend never covers itself."""
    ahead = np.diff(points, axis=0)
    side = _bisectors(np.concatenate([ahead[:1], ahead]), np.concatenate([ahead, ahead[-1:]])) * radius
    left, right = points - side, points + side
    for start in range(0, len(points) - 1, PIECE):
        part = slice(start, start + PIECE + 1)
        pen.polygon(np.concatenate([left[part], right[part][::-1]]).ravel().tolist(), fill=fill)
    for x, y in (points[0], points[-1]):
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


def _grown(outline: Points, reach: float) -> Points:
    """Return a closed outline moved outwards on all sides."""
    if not reach:
        return outline
    closed = np.concatenate([outline[-1:], outline, outline[:1]])
    ways = np.diff(closed, axis=0)
    x, y = closed[1:].T
    outwards = 1.0 if np.dot(x[:-1], y[1:]) > np.dot(y[:-1], x[1:]) else -1.0
    return outline - outwards * reach * _bisectors(ways[:-1], ways[1:])


def _bisectors(before: Points, after: Points) -> Points:
    """Return the mitre at each corner between two directions: to the right of the way, at most MITRE long."""
    middle = _unit(before) + _unit(after)
    # With unit directions, |sum| = 2 cos(half the turn) and the mitre is 1 / cos(half the turn) long.
    length = 2 / np.maximum(np.hypot(middle[:, 0], middle[:, 1]), 2 / MITRE)
    mitre: Points = _unit(np.stack([-middle[:, 1], middle[:, 0]], axis=1)) * length[:, None]
    return mitre


def _unit(ways: Points) -> Points:
    """Return directions of length one; a way of no length stays as it is."""
    length = np.hypot(ways[:, 0], ways[:, 1])
    unit: Points = ways / np.where(length > 0, length, 1.0)[:, None]
    return unit


def _fit(strokes: list[Stroke], side: int, pose: Pose) -> tuple[float, list[Points]]:
    """Return the scale and each stroke's points in pixels, posed and centred to fill the canvas."""
    angle = np.radians(pose.turn)
    cos, sin = np.cos(angle), np.sin(angle)
    flip = -1.0 if pose.mirrored else 1.0
    matrix = np.diag([flip * pose.stretch, 1 / pose.stretch]) @ np.array([[cos, sin], [-sin, cos]])
    every = np.concatenate([stroke.points for stroke in strokes]) @ matrix
    halves = np.repeat([(stroke.width or 0) / 2 for stroke in strokes], [len(s.points) for s in strokes])
    low, high = (every - halves[:, None]).min(axis=0), (every + halves[:, None]).max(axis=0)
    room = side * (1 - 2 * (MARGIN + EDGE)) * pose.size
    scale = float(room / (high - low).max())
    pixels = (every - (low + high) / 2) * scale + side / 2
    return scale, np.split(pixels, np.cumsum([len(stroke.points) for stroke in strokes])[:-1])


@functools.cache
def _light(size: int) -> Points:
    """Return the soft light that falls on everything from above left, as factors [size, size, 1]."""
    across = np.linspace(0, 1, size)
    return 1.05 - 0.17 * (0.7 * across[:, None] + 0.3 * across[None, :])[:, :, None]


def _lit(picture: Image.Image) -> Image.Image:
    """Return the picture with the soft light on its colours and its transparency unchanged."""
    pixels = np.array(picture)
    pixels[..., :3] = np.minimum(pixels[..., :3] * _light(pixels.shape[0]), 255).astype(np.uint8)
    return Image.fromarray(pixels)
