"""A picture squashed to a square without keeping its aspect ratio, as PCME++ reads pictures."""

from collections.abc import Collection

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor
from torch.nn.functional import interpolate

from litotes.backbones.deviations import deviate
from litotes.backbones.square import errors_named, require_pixels, rgb
from litotes.data.augment import crop_box

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def squash_square(picture: Image.Image, size: int, deviations: Collection[str] = ()) -> Float[np.ndarray, "3 s s"]:
    """The whole picture as red, green and blue in 0 .. 255, float32; see ``squashed``."""
    with errors_named(picture):
        require_pixels(picture)
        return squashed(rgb(deviate(picture, deviations)), size).numpy()


def squashed(picture: Image.Image, size: int) -> Float[Tensor, "3 size size"]:
    """The whole picture as a square of ``size``, in 0 .. 255, by bilinear interpolation without antialiasing.

    Output pixel i of an axis of n input pixels is read at ``x = (i + 1/2) n / size - 1/2``, kept within 0 .. n - 1,
    between its two neighbours; results are not rounded to whole numbers. Of a picture that is made smaller, pixels
    between are passed over: that is what the recipe's own reader does, and Pillow's bilinear filter does not.

    picture: RGB. Returns float32.
    """
    pixels = torch.from_numpy(np.array(picture, dtype=np.uint8)).permute(2, 0, 1).unsqueeze(0).float()
    return interpolate(pixels, size=(size, size), mode="bilinear", align_corners=False, antialias=False)[0]


def random_crop(picture: Image.Image, rng: np.random.Generator, least: float = 0.6) -> Image.Image:
    """A part of the picture with sides of ``least`` to 1 times its own, the same share for both (``crop_box``)."""
    return picture.crop(crop_box(*picture.size, rng, least))
