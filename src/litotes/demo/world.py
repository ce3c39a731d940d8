"""The picture-book world without end: pictures and web captions made when they are asked for."""

import hashlib
from dataclasses import dataclass

import numpy as np
from PIL import Image

from litotes.data.images import Pictures
from litotes.demo.language import web_caption
from litotes.demo.scenes import Scene, paint, sample_scene
from litotes.demo.things import KINDS


@dataclass(frozen=True)
class WorldPictures(Pictures):
    """Pictures without end: the i-th is drawn when asked for, from ``seed`` and i alone.

    single: share of pictures with one thing only.
    """

    seed: int
    count: int
    single: float = 0.3

    def __len__(self) -> int:
        return self.count

    def scene(self, index: int) -> tuple[Scene, np.random.Generator]:
        """The i-th scene, and the generator to go on with."""
        if not 0 <= index < self.count:
            raise IndexError(index)
        rng = np.random.default_rng([self.seed, index])
        single = (KINDS[rng.integers(len(KINDS))],) if rng.random() < self.single else None
        return sample_scene(rng, single), rng

    def __getitem__(self, index: int) -> Image.Image:
        scene, rng = self.scene(index)
        return Image.fromarray(paint(scene, rng))

    def name(self, index: int) -> str:
        """A name by seed and number."""
        return f"world-{self.seed}-{index}"

    def digest(self, index: int) -> str:
        """sha256 of all that the picture is a function of."""
        return hashlib.sha256(f"{self.name(index)} {self.single}".encode()).hexdigest()

    def path(self, index: int) -> None:
        """None: no picture is in a file."""


@dataclass(frozen=True)
class WorldCaptions:
    """The web captions that go with ``WorldPictures`` of the same seed."""

    pictures: WorldPictures
    tags: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> str:
        scene, _ = self.pictures.scene(index)
        return web_caption(scene, np.random.default_rng([self.pictures.seed, index, 1]), self.tags)
