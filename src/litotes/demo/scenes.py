"""Scenes of the picture-book world: which things stand where, and their pictures."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image

from litotes.demo.things import BACKDROPS, COLOURS, KINDS, backdrop, draw

SIDE = 80
USUAL_COLOURS = {
    "red": "apple cherry crab car rocket umbrella mushroom",
    "blue": "whale fish bicycle cup book anchor boat",
    "green": "frog snake turtle cactus tree train boot",
    "yellow": "duck giraffe sun star moon crown key lamp",
    "purple": "octopus butterfly kite teapot hat shirt castle",
    "pink": "flower donut cake balloon snail elephant windmill",
    "brown": "dog owl guitar chair ladder house pizza",
    "white": "rabbit snowman cloud cat plane clock",
}
"""The colour that every other thing of a kind has; the rest have any, each colour alike."""
_USUAL = {kind: colour for colour, kinds in USUAL_COLOURS.items() for kind in kinds.split()}
_MASTER = 56
_POSES = 5
_BACKDROPS = 24


@dataclass(frozen=True)
class Thing:
    """One thing of a scene: what it is, its colour, its centre and its side in pixels."""

    kind: str
    colour: str
    x: float
    y: float
    side: int


@dataclass(frozen=True)
class Scene:
    """Two to four things, each of another kind, before a backdrop (one thing for classification)."""

    backdrop: str
    things: tuple[Thing, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of the things, in their order."""
        return tuple(thing.kind for thing in self.things)


def held_out(first: str, second: str) -> bool:
    """Whether this pair of kinds is kept for evaluation: about a fifth of all pairs, by a hash of the two names.

    Training pictures never show such a pair together and training texts never name one; every evaluation statement
    that names two things names such a pair.
    """
    return zlib.crc32(" ".join(sorted((first, second))).encode()) % 5 == 0


def sample_scene(rng: np.random.Generator, kinds: tuple[str, ...] | None = None) -> Scene:
    """A scene of the given kinds, or of two to four random ones without a held-out pair."""
    if kinds is None:
        count = int(rng.choice([2, 3, 4], p=[0.4, 0.4, 0.2]))
        kinds = _training_kinds(rng, count)
    cells = rng.permutation(4)[: len(kinds)]
    things = tuple(_place(rng, kind, int(cell), len(kinds)) for kind, cell in zip(kinds, cells, strict=True))
    return Scene(BACKDROPS[rng.integers(len(BACKDROPS))], things)


def training_scenes(rng: np.random.Generator) -> Iterator[Scene]:
    """Endless scenes without a held-out pair."""
    while True:
        yield sample_scene(rng)


@dataclass(frozen=True)
class EvaluationScene:
    """A scene with the kinds that its statements name: two present ones, one absent, all pairs of them held out."""

    scene: Scene
    present: tuple[str, str]
    absent: str


def evaluation_scene(rng: np.random.Generator) -> EvaluationScene:
    """A scene for evaluation: things one and two and the absent kind are pairwise held out."""
    while True:
        first = KINDS[rng.integers(len(KINDS))]
        partners = [kind for kind in KINDS if kind != first and held_out(first, kind)]
        if len(partners) < 2:
            continue
        second = partners[rng.integers(len(partners))]
        extra = int(rng.choice([0, 1, 2], p=[0.4, 0.4, 0.2]))
        others = [kind for kind in KINDS if kind not in (first, second)]
        kinds = (first, second, *(others[i] for i in rng.permutation(len(others))[:extra]))
        absent = [kind for kind in partners if kind not in kinds and held_out(second, kind)]
        if absent:
            return EvaluationScene(sample_scene(rng, kinds), (first, second), absent[rng.integers(len(absent))])


def paint(scene: Scene, rng: np.random.Generator) -> np.ndarray:
    """The picture of a scene, uint8 [SIDE, SIDE, 3]; ``rng`` chooses poses and the tone of the backdrop."""
    picture = _backdrop(scene.backdrop, int(rng.integers(_BACKDROPS))).copy()
    for thing in scene.things:
        sprite = _sprite(thing.kind, thing.colour, int(rng.integers(_POSES))).resize(
            (thing.side, thing.side), Image.Resampling.LANCZOS, reducing_gap=2.0
        )
        picture.paste(sprite, (round(thing.x - thing.side / 2), round(thing.y - thing.side / 2)), sprite)
    return np.asarray(picture)


def paint_all(scenes: list[Scene], seed: int, progress: Callable[[int], None] | None = None) -> np.ndarray:
    """Pictures of all scenes, uint8 [n, SIDE, SIDE, 3]."""
    rng = np.random.default_rng(seed)
    pictures = np.empty((len(scenes), SIDE, SIDE, 3), dtype=np.uint8)
    for i, scene in enumerate(scenes):
        pictures[i] = paint(scene, rng)
        if progress:
            progress(i + 1)
    return pictures


def _training_kinds(rng: np.random.Generator, count: int) -> tuple[str, ...]:
    while True:
        kinds = tuple(KINDS[i] for i in rng.choice(len(KINDS), count, replace=False))
        if not any(held_out(a, b) for i, a in enumerate(kinds) for b in kinds[:i]):
            return kinds


def _place(rng: np.random.Generator, kind: str, cell: int, count: int) -> Thing:
    """A thing in its quarter of the picture, jittered; a single thing may be anywhere and larger."""
    usual = rng.random() < 0.5
    colour = _USUAL[kind] if usual else list(COLOURS)[rng.integers(len(COLOURS))]
    side = int(rng.integers(36, 73) if count == 1 else rng.integers(28, 41))
    low, high = side / 2, SIDE - side / 2
    if count == 1:
        x, y = rng.uniform(low, high, 2)
    else:
        jitter = (SIDE / 2 - side) / 2 + 3
        centre = np.array([cell % 2, cell // 2]) * SIDE / 2 + SIDE / 4
        x, y = np.clip(centre + rng.uniform(-jitter, jitter, 2), low, high)
    return Thing(kind, colour, float(x), float(y), side)


@cache
def _sprite(kind: str, colour: str, pose: int) -> Image.Image:
    rng = np.random.default_rng([zlib.crc32(f"{kind} {colour}".encode()), pose])
    return draw(kind, colour, _MASTER, rng)


@cache
def _backdrop(name: str, tone: int) -> Image.Image:
    return backdrop(name, SIDE, np.random.default_rng([zlib.crc32(name.encode()), tone]))
