"""A random part of a picture as a square: the box, its stretching, colours, and what is refused."""

import numpy as np
import pytest
from PIL import Image

from litotes.backbones.square import cropped_square
from litotes.data.augment import area_box, example_rng
from litotes.errors import UserError


def picture(width=90, height=60, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def rng(example=0):
    return example_rng(0, 0, example, "picture")


def cubic(x):
    """Keys' kernel with a = -1/2, which Pillow's bicubic takes."""
    x = abs(x)
    if x < 1:
        return 1.5 * x**3 - 2.5 * x**2 + 1
    return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0


def resized(row, size):
    """One line of numbers to ``size`` of them, the kernel widened where it is made smaller, in plain loops."""
    step = len(row) / size
    wide, out = max(step, 1.0), []
    for i in range(size):
        centre = (i + 0.5) * step
        first, last = max(0, int(centre - 2 * wide + 0.5)), min(len(row), int(centre + 2 * wide + 0.5))
        weights = [cubic((j - centre + 0.5) / wide) for j in range(first, last)]
        out.append(sum(w * row[j] for w, j in zip(weights, range(first, last), strict=True)) / sum(weights))
    return np.clip(np.floor(np.array(out) + 0.5), 0, 255)


@pytest.mark.parametrize("example", range(4))
def test_the_square_is_the_box_of_the_same_draw_stretched_with_smoothing(example):
    whole = picture()
    found = cropped_square(whole, 12, rng(example), 0.08)
    left, top, right, bottom = area_box(90, 60, rng(example), 0.08)
    part = np.array(whole, dtype=float)[top:bottom, left:right]
    for channel in range(3):
        rows = np.array([resized(line, 12) for line in part[:, :, channel]])
        wanted = np.array([resized(line, 12) for line in rows.T]).T
        assert np.abs(found[channel] - wanted).max() <= 1  # Pillow calculates in whole numbers
    assert (found.dtype, found.shape, found.flags.c_contiguous) == (np.uint8, (3, 12, 12), True)


def test_the_smallest_share_reaches_small_parts_and_a_share_of_one_the_whole():
    halves = Image.new("RGB", (100, 100), "black")
    halves.paste("white", (50, 0, 100, 100))
    means = [cropped_square(halves, 8, rng(i), 0.08).mean() for i in range(60)]
    assert min(means) == 0
    assert max(means) == 255
    assert cropped_square(halves, 8, rng(), 1.0).mean() == pytest.approx(127.5, abs=20)


def test_palettes_and_grey_become_colours_before_they_are_stretched():
    grey, palette = picture().convert("L"), picture().convert("P")
    assert np.ptp(cropped_square(grey, 12, rng(), 0.5), axis=0).max() == 0
    same = cropped_square(palette.convert("RGB"), 12, rng(), 0.5)
    assert np.array_equal(cropped_square(palette, 12, rng(), 0.5), same)


def test_deviations_come_first_and_errors_name_the_file(tmp_path):
    turned = picture(60, 90)
    exif = turned.getexif()
    exif[0x0112] = 6
    turned.save(tmp_path / "turned.png", exif=exif)
    opened = Image.open(tmp_path / "turned.png")
    upright = cropped_square(opened, 12, rng(), 0.5, ("exif",))
    assert np.array_equal(upright, cropped_square(turned.transpose(Image.Transpose.ROTATE_270), 12, rng(), 0.5))
    with pytest.raises(UserError, match="0 x 5 pixels"):
        cropped_square(Image.new("RGB", (0, 5)), 12, rng(), 0.5)
