"""Parts of pictures, as pictures."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import final

from PIL import Image

from litotes.data.foils import Box
from litotes.data.images import Pictures
from litotes.errors import UserError


@final
class Crops(Pictures):
    """A box of each picture: ``boxes[i]`` = (left, top, width, height) in pixels of ``pictures[i]`` as stored.

    Corners are rounded to whole pixels. A box that reaches one pixel beyond an edge is cut there. Errors: a box further
    outside, when its picture is opened.
    """

    def __init__(self, pictures: Pictures, boxes: Sequence[Box]) -> None:
        if len(pictures) != len(boxes):
            raise ValueError(f"{len(pictures)} pictures but {len(boxes)} boxes")
        self._pictures = pictures
        self._boxes = list(boxes)

    def __len__(self) -> int:
        return len(self._boxes)

    def __getitem__(self, i: int) -> Image.Image:
        picture = self._pictures[i]
        left, top, width, height = self._boxes[i]
        corners = (round(left), round(top), round(left + width), round(top + height))
        inside = (
            max(corners[0], 0),
            max(corners[1], 0),
            min(corners[2], picture.width),
            min(corners[3], picture.height),
        )
        off = max(abs(a - b) for a, b in zip(corners, inside, strict=True))
        if off > 1 or inside[0] >= inside[2] or inside[1] >= inside[3]:
            raise UserError(
                got=f"{self.name(i)}: a box outside a picture of {picture.width} x {picture.height} pixels",
                expected="a box [left, top, width, height] within its picture",
                do="check that the pictures are the ones that the boxes were drawn on, in their first size",
            )
        return picture.crop(inside)

    def name(self, i: int) -> str:
        """Return the picture's name with the box."""
        return f"{self._pictures.name(i)} {list(self._boxes[i])}"

    def digest(self, i: int) -> str:
        """Return the SHA-256 of the whole picture's digest and the box."""
        return hashlib.sha256(f"{self._pictures.digest(i)} {self._boxes[i]}".encode()).hexdigest()

    def path(self, i: int) -> Path | None:
        """Return the file of the whole picture."""
        return self._pictures.path(i)
