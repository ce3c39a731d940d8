"""Named ways to depart from how the CLIP reference reads a picture, each off unless it is asked for."""

import io
import struct
from collections.abc import Collection, Iterable

import numpy as np
from PIL import Image, ImageCms

from litotes.config import require_known
from litotes.errors import UserError

DEVIATIONS = ("exif", "16bit", "palette", "icc", "alpha")
"""The names, in the order in which they are applied."""

WIDE_MODES = frozenset({"I", "F", "I;16", "I;16L", "I;16B", "I;16N"})
"""Pillow's modes of more than eight bits; converting them to RGB clips at 255, so most turn white or black."""

_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_PROFILED_AS = {"LA": "L", "1": "L", "P": "RGB", "PA": "RGB", "RGBA": "RGB", "RGBX": "RGB"}


def ordered_deviations(names: Iterable[str], where: str) -> tuple[str, ...]:
    """The names without repeats, in the order of ``DEVIATIONS``; ``where`` they stand, for the message.

    Errors: :class:`UserError` on a name that is none of ``DEVIATIONS``; the nearest is offered.
    """
    given = list(names)
    require_known(given, DEVIATIONS, where)
    return tuple(name for name in DEVIATIONS if name in given)


def deviate(picture: Image.Image, names: Collection[str]) -> Image.Image:
    """The picture as the deviations make it, before anything is resized; what none of them speaks of is left alone.

    - ``"exif"``: turned and mirrored upright by the EXIF orientation 2 .. 8. (Pillow does so to every TIFF by itself.)
    - ``"16bit"``: pixels of more than eight bits scaled into 0 .. 255 instead of clipped: unsigned 16-bit by / 257;
      32-bit integers too unless none is over 255; floats * 255 when none is over 1, else as these integers.
    - ``"palette"``: a palette looked up, and one bit made grey, before resizing (which takes the nearest pixel there).
    - ``"icc"``: colours brought to sRGB by the embedded profile, perceptual intent.
    - ``"alpha"``: laid on white by its transparency, instead of showing the colour that transparency hides.

    They follow one another in this order. A malformed orientation or profile counts as none. Errors:
    :class:`UserError` under ``"16bit"`` when values are not finite, negative, or over 65535.
    """
    profile = picture.info.get("icc_profile")
    if "exif" in names:
        picture = _upright(picture)
    if "16bit" in names and picture.mode in WIDE_MODES:
        picture = _scaled(picture)
    if "palette" in names and picture.mode in ("P", "PA", "1"):
        picture = picture.convert("L") if picture.mode == "1" else _looked_up(picture)
    if "icc" in names and profile:
        picture = _in_srgb(picture, profile)
    if "alpha" in names and picture.has_transparency_data:
        picture = _on_white(picture)
    return picture


def _upright(picture: Image.Image) -> Image.Image:
    try:
        turn = _TURNS.get(picture.getexif().get(_ORIENTATION, 1))
    except (OSError, ValueError, SyntaxError, TypeError, LookupError, OverflowError, struct.error):
        return picture
    return picture if turn is None else picture.transpose(turn)


def _scaled(picture: Image.Image) -> Image.Image:
    values = np.asarray(picture, dtype=np.float32)
    low, high = float(values.min()), float(values.max())
    if not (np.isfinite(low) and np.isfinite(high) and low >= 0 and high <= 65535):
        raise UserError(
            f"a picture of mode {picture.mode} with values from {low:g} to {high:g}",
            "finite values from 0, up to 1, 255 or 65535",
            "save the picture with 8 bits a channel, or leave it out",
        )
    factor = _factor(picture.mode, high)
    return Image.fromarray(np.rint(values * np.float32(factor)).astype(np.uint8))


def _factor(mode: str, high: float) -> float:
    """By what a picture's values are to be multiplied for 0 .. 255; only 16-bit modes say their range themselves."""
    if mode == "F" and high <= 1:
        return 255.0
    return 1.0 if mode in ("I", "F") and high <= 255 else 1 / 257


def _looked_up(picture: Image.Image) -> Image.Image:
    return picture.convert("RGBA" if picture.has_transparency_data else "RGB")


def _in_srgb(picture: Image.Image, profile: bytes) -> Image.Image:
    mode = _PROFILED_AS.get(picture.mode, picture.mode)
    opaque = picture.convert("RGBA").convert("RGB") if picture.mode in ("P", "PA") else picture.convert(mode)
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        managed = ImageCms.profileToProfile(opaque, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return picture
    if managed is None:
        return picture
    if picture.has_transparency_data:
        managed.putalpha(picture.convert("RGBA").getchannel("A"))
    return managed


def _on_white(picture: Image.Image) -> Image.Image:
    colours = picture.convert("RGBA")
    white = Image.new("RGB", picture.size, "white")
    white.paste(colours, mask=colours.getchannel("A"))
    return white
