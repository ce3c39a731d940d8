"""Pictures to tensors with Pillow alone, in the order of the reference CLIP code."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Shaped
from PIL import Image
from torch import Tensor

from litotes.backbones.deviations import DEVIATIONS, ordered_deviations
from litotes.backbones.square import paper_square
from litotes.backbones.squash import IMAGENET_MEAN, IMAGENET_STD, squash_square
from litotes.errors import UserError

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_STD = (0.26862954, 0.26130258, 0.27577711)
CONFIG_NAME = "preprocessor_config.json"
_DO_WRITE = f"use a folder written by save_pretrained or save(), or correct its {CONFIG_NAME}"


@dataclass(frozen=True)
class Preprocess:
    """Turn one picture into the normalised square that a CLIP picture tower takes.

    out[c] = (pixel[c] / 255 - mean[c]) / std[c] over the centre square of the picture, whose shorter side was
    first resized to ``size``.

    ``size``: side of the result in pixels, > 0. ``mean``, ``std``: one number a channel (red, green, blue),
    of values in [0, 1]. ``mode``: the order of the steps; ``"paper"`` is the reference order:
    resize with Pillow's bicubic (longer side truncated, left out when nothing changes), crop at offsets
    rounded half to even, and only then convert to RGB. ``"squash"``: convert to RGB, then squash the whole picture to
    the square (:func:`litotes.backbones.squash.squashed`), no crop; see ``pcmepp``. In both EXIF orientation is
    ignored, transparency dropped and values of more than 8 bits clipped (with a warning), as the reference does.
    ``deviations``: departures from that order by name, out of ``DEVIATIONS``, kept in its order; see
    :func:`litotes.backbones.deviations.deviate`. They come before the resizing and leave every picture alone that
    they do not speak of.

    Calling it: a PIL picture -> Float[Tensor, "3 size size"], float32. Edges: a picture smaller than ``size``
    is enlarged. Errors: :class:`UserError`, with the name of the picture's file where it has one, when the resized
    picture would exceed ``MAX_INTERMEDIATE_PIXELS`` (before it is made) or a deviation refuses it; and on settings
    that are not as above.

    Source: the CLIP reference transform (Resize, CenterCrop, convert, ToTensor, Normalize); the processors of
    transformers differ from it by one pixel of crop at some sizes, 640 x 427 among them, so are not used.
    """

    size: int = 224
    mean: tuple[float, float, float] = CLIP_MEAN
    std: tuple[float, float, float] = CLIP_STD
    mode: str = "paper"
    deviations: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "deviations", ordered_deviations(self.deviations, "the picture deviations"))
        problem = _problem(self.size, self.mean, self.std, self.mode)
        if problem:
            wanted = "a positive size, 3 means, 3 positive deviations, mode 'paper' or 'squash'"
            raise UserError(problem, wanted, _DO_WRITE)

    def __call__(self, picture: Image.Image) -> Float[Tensor, "3 size size"]:
        """Prepare one picture; see the class."""
        return self.normalised(self.square(picture)[None])[0]

    @property
    def square(self) -> Callable[[Image.Image], Shaped[np.ndarray, "3 s s"]]:
        """The first half, a picture -> red, green and blue in 0 .. 255, to be sent to other processes.

        In paper mode these are whole numbers of 8 bits, a quarter of the memory, and making them loads no torch.
        """
        return partial(_SQUARES[self.mode], size=self.size, deviations=self.deviations)

    def normalised(self, squares: Shaped[np.ndarray, "n 3 s s"]) -> Float[Tensor, "n 3 s s"]:
        """The second half: (square / 255 - mean) / std of several, float32."""
        mean = torch.tensor(self.mean, dtype=torch.float32).view(3, 1, 1)
        std = torch.tensor(self.std, dtype=torch.float32).view(3, 1, 1)
        return torch.from_numpy(squares).to(torch.float32, copy=True).div_(255).sub_(mean).div_(std)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings under the names of a Hugging Face ``preprocessor_config.json``.

        ``picture_deviations`` is there only when there are some, so that a model without keeps its fingerprint.
        """
        deviations = {"picture_deviations": list(self.deviations)} if self.deviations else {}
        square = {"height": self.size, "width": self.size}
        return {
            "image_processor_type": "CLIPImageProcessor",
            "size": square if self.mode == "squash" else {"shortest_edge": self.size},
            **_STEPS[self.mode],
            "crop_size": {"height": self.size, "width": self.size},
            "rescale_factor": 1 / 255,
            "image_mean": list(self.mean),
            "image_std": list(self.std),
            "do_convert_rgb": True,
            "preprocess_mode": self.mode,
            **deviations,
        }

    def save(self, folder: str | Path) -> Path:
        """Write ``preprocessor_config.json`` into ``folder`` (made when absent) and return its path."""
        path = Path(folder) / CONFIG_NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")
        return path

    @classmethod
    def from_config(cls, folder: str | Path) -> "Preprocess":
        """Read ``preprocessor_config.json`` from ``folder``.

        ``size`` and ``crop_size`` may each be a number, {"shortest_edge": n} or {"height": n, "width": n};
        what the file leaves out takes CLIP's value. Errors: :class:`UserError` when the file is absent or
        broken, or asks for another preparation than resize, square crop, / 255, normalise (bicubic), unless its
        ``preprocess_mode`` is "squash" (no crop, bilinear).
        """
        path = Path(folder) / CONFIG_NAME
        config = _read(path)
        mode = str(config.get("preprocess_mode", "paper"))
        size = _side(path, "size", config.get("size", 224))
        crop = _side(path, "crop_size", config.get("crop_size", size))
        for key, wanted in _STEPS.get(mode, {}).items():
            if config.get(key, wanted) != wanted:
                raise UserError(f"{key} = {config[key]!r} in {path}", f"{key} = {wanted!r}", _DO_WRITE)
        if crop != size:
            raise UserError(f"size {size} but crop_size {crop} in {path}", "one and the same side", _DO_WRITE)
        if abs(config.get("rescale_factor", 1 / 255) * 255 - 1) > 1e-6:
            raise UserError(f"rescale_factor {config['rescale_factor']} in {path}", "1 / 255", _DO_WRITE)
        mean = _channels(path, "image_mean", config.get("image_mean", CLIP_MEAN))
        std = _channels(path, "image_std", config.get("image_std", CLIP_STD))
        deviations = _names(path, "picture_deviations", config.get("picture_deviations", []))
        return cls(size, mean, std, mode=mode, deviations=deviations)


def pcmepp(size: int = 224) -> Preprocess:
    """The picture transform of PCME++'s recipe, and so of VACSR's: plain squash, ImageNet's mean and deviation."""
    return Preprocess(size, IMAGENET_MEAN, IMAGENET_STD, mode="squash")


_SQUARES: dict[str, Callable[..., np.ndarray]] = {"paper": paper_square, "squash": squash_square}
_SIDE_KEYS = {"shortest_edge", "height", "width"}
_COMMON = {"do_resize": True, "do_rescale": True, "do_normalize": True}
_STEPS: dict[str, dict[str, Any]] = {
    "paper": {**_COMMON, "do_center_crop": True, "resample": int(Image.Resampling.BICUBIC)},
    "squash": {**_COMMON, "do_center_crop": False, "resample": int(Image.Resampling.BILINEAR)},
}


def _problem(size: int, mean: tuple[float, ...], std: tuple[float, ...], mode: str) -> str:
    if isinstance(size, bool) or size <= 0:
        return f"size {size!r}"
    if len(mean) != 3 or len(std) != 3 or min(std) <= 0:
        return f"mean {mean!r}, std {std!r}"
    return "" if mode in _STEPS else f"preprocessing mode {mode!r}"


def _read(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"no file {path}", f"a model folder with a {CONFIG_NAME}", _DO_WRITE) from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}", "a JSON object", _DO_WRITE) from error
    if not isinstance(config, dict):
        raise UserError(f"{path} holds a {type(config).__name__}", "a JSON object", _DO_WRITE)
    return config


def _side(path: Path, key: str, value: object) -> int:
    sides = set(value.values()) if isinstance(value, dict) else {value}
    keys = set(value) if isinstance(value, dict) else {"shortest_edge"}
    side = next(iter(sides)) if len(sides) == 1 and keys <= _SIDE_KEYS else None
    if isinstance(side, bool) or not isinstance(side, int):
        raise UserError(f"{key} = {value!r} in {path}", "one side in pixels", _DO_WRITE)
    return side


def _channels(path: Path, key: str, value: object) -> tuple[float, float, float]:
    numbers = isinstance(value, (list, tuple)) and all(isinstance(v, (int, float)) for v in value)
    if isinstance(value, (list, tuple)) and numbers and len(value) == 3:
        return (float(value[0]), float(value[1]), float(value[2]))
    raise UserError(f"{key} = {value!r} in {path}", "three numbers", _DO_WRITE)


def _names(path: Path, key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return ordered_deviations(value, f"{key} in {path}")
    raise UserError(f"{key} = {value!r} in {path}", f"a list out of {', '.join(DEVIATIONS)}", _DO_WRITE)
