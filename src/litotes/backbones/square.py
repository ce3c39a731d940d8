"""Pictures to squares of whole numbers with Pillow and NumPy alone: a process that does no more starts fast."""

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from jaxtyping import Shaped, UInt8
from PIL import Image

from litotes.backbones.deviations import WIDE_MODES, deviate
from litotes.data.augment import area_box
from litotes.data.images import Pictures
from litotes.errors import Note, UserError

MAX_INTERMEDIATE_PIXELS = 2**26
"""Largest picture (pixels) between resizing and cropping: 64 Mpx, about 0.2 GB in RGB.

At 224 pixels it allows sides up to about 1 : 1300; an everyday panorama is 1 : 10."""


def paper_square(picture: Image.Image, size: int, deviations: Collection[str] = ()) -> UInt8[np.ndarray, "3 s s"]:
    """The centre square of a picture whose shorter side is resized to ``size``, as red, green and blue in 0 .. 255.

    In the reference order: resize, crop, and only then RGB; see ``Preprocess``. Errors: those of ``errors_named``.
    """
    with errors_named(picture):
        require_pixels(picture)
        _require_whole(picture, size)
        square = rgb(_crop(_resize(deviate(picture, deviations), size), size))
    return np.ascontiguousarray(np.array(square, dtype=np.uint8).transpose(2, 0, 1))


def cropped_square(
    picture: Image.Image, size: int, rng: np.random.Generator, least: float, deviations: Collection[str] = ()
) -> UInt8[np.ndarray, "3 s s"]:
    """A random part of a picture (``area_box``), stretched to a square, as red, green and blue in 0 .. 255.

    least: share of the picture's area, above 0 to 1. To RGB first, then Pillow's bicubic, which smooths what it makes
    smaller. Errors: those of ``errors_named``.
    """
    with errors_named(picture):
        require_pixels(picture)
        whole = rgb(deviate(picture, deviations))
    part = whole.crop(area_box(*whole.size, rng, least)).resize((size, size), Image.Resampling.BICUBIC)
    return np.ascontiguousarray(np.array(part, dtype=np.uint8).transpose(2, 0, 1))


def stacked(
    square: Callable[[Image.Image], np.ndarray], pictures: Pictures, indices: Sequence[int]
) -> Shaped[np.ndarray, "n 3 s s"]:
    """The squares of the pictures at ``indices``, decoded for it, in their order; at least one."""
    return np.stack([square(pictures[i]) for i in indices])


@contextmanager
def errors_named(picture: Image.Image) -> Iterator[None]:
    """A :class:`UserError` of what is done to a picture gets the name of its file, where it has one."""
    try:
        yield
    except UserError as error:
        file = getattr(picture, "filename", "")
        raise UserError(f"{file}: {error.got}" if file else error.got, error.expected, error.do) from error


def require_pixels(picture: Image.Image) -> None:
    """Refuse a picture that has none."""
    if min(picture.size) < 1:
        width, height = picture.size
        raise UserError(f"a picture of {width} x {height} pixels", "at least 1 x 1", "leave the picture out")


def rgb(picture: Image.Image) -> Image.Image:
    """As red, green and blue, with a warning where values of more than 8 bits are clipped."""
    if picture.mode in WIDE_MODES:
        warnings.warn(
            "a picture of more than 8 bits a channel is clipped to white or black, as the CLIP reference does; "
            'the picture deviation "16bit" scales such pictures instead',
            Note,
            stacklevel=3,
        )
    if picture.mode == "P" and "transparency" in picture.info:
        picture = picture.convert("RGBA")  # the same colours; Pillow warns of this palette on the straight way
    return picture.convert("RGB")


def _longer(picture: Image.Image, size: int) -> int:
    """The longer side once the shorter one is ``size``."""
    return int(size * max(picture.size) / min(picture.size))


def _require_whole(picture: Image.Image, size: int) -> None:
    """Refuse a picture so long that resizing it would take gigabytes."""
    width, height = picture.size
    long = _longer(picture, size)
    if size * long > MAX_INTERMEDIATE_PIXELS:
        raise UserError(
            f"a picture of {width} x {height} pixels, which resizes to {size} x {long}",
            f"at most {MAX_INTERMEDIATE_PIXELS} pixels before the crop",
            "crop the strip to a more even shape, or leave the picture out",
        )


def _resize(picture: Image.Image, size: int) -> Image.Image:
    """Resize so that the shorter side is ``size``; nothing is touched when it is so already."""
    long = _longer(picture, size)
    wanted = (size, long) if picture.width <= picture.height else (long, size)
    if wanted == picture.size:
        return picture
    return picture.resize(wanted, Image.Resampling.BICUBIC)


def _crop(picture: Image.Image, size: int) -> Image.Image:
    """Cut the centre square; Python's round (half to even) places it as the reference does."""
    left = round((picture.width - size) / 2)
    top = round((picture.height - size) / 2)
    return picture.crop((left, top, left + size, top + size))
