"""What open_clip's ``open_clip_config.json`` says of the weights beside it and no tensor can."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litotes.backbones.layout import ClipSizes
from litotes.backbones.preprocess import CLIP_MEAN, CLIP_STD, Preprocess
from litotes.errors import UserError

OPEN_CLIP_CONFIG = "open_clip_config.json"
HEAD_WIDTH, TEXT_HEADS = 64, 8
"""open_clip's own values where the file leaves them out."""

_DO = f"copy the {OPEN_CLIP_CONFIG} that belongs to these weights, or take it away"
_MODEL = {"embed_dim", "vision_cfg", "text_cfg", "quick_gelu", "custom_text", "init_logit_scale"}
_VISION = {"image_size", "layers", "width", "head_width", "patch_size", "mlp_ratio", "patch_dropout"}
_TEXT = {"context_length", "vocab_size", "width", "heads", "layers", "mlp_ratio"}
_PICTURES: dict[str, Any] = {
    "mean": list(CLIP_MEAN),
    "std": list(CLIP_STD),
    "interpolation": "bicubic",
    "resize_mode": "shortest",
}


@dataclass(frozen=True)
class OpenClipConfig:
    """``activation`` of both towers, attention heads of each, and how its pictures are prepared."""

    activation: str
    vision_heads: int
    text_heads: int
    preprocess: Preprocess


def read_open_clip_config(folder: Path, sizes: ClipSizes) -> OpenClipConfig | None:
    """Read ``open_clip_config.json`` of a folder; None where there is none.

    ``quick_gelu`` decides the activation (absent: plain GELU, as in open_clip); heads of the picture tower are
    width / ``head_width``. ``sizes``: those of the weights, which the file must agree with.

    Errors: :class:`UserError` naming the file when it is broken, when it says other sizes, when it holds an option
    that changes the model and is not known here, or another preparation of pictures than Preprocess has.
    Source: the constructor arguments of open_clip's class CLIP and their defaults.
    """
    path = folder / OPEN_CLIP_CONFIG
    if not path.is_file():
        return None
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        model = _known(path, config["model_cfg"], _MODEL, "model_cfg")
        vision = _known(path, model["vision_cfg"], _VISION, "vision_cfg")
        text = _known(path, model["text_cfg"], _TEXT, "text_cfg")
        pictures = _known(path, config.get("preprocess_cfg", {}), {*_PICTURES, "size", "mode"}, "preprocess_cfg")
        _require_agreement(path, model, vision, text, sizes)
        return OpenClipConfig(
            activation="quick_gelu" if model.get("quick_gelu", False) else "gelu",
            vision_heads=_heads(path, sizes.vision_width, sizes.vision_width / vision.get("head_width", HEAD_WIDTH)),
            text_heads=_heads(path, sizes.text_width, float(text.get("heads", TEXT_HEADS))),
            preprocess=_preprocess(path, pictures, sizes),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError) as error:
        raise UserError(
            got=f"{path}, which cannot be read: {type(error).__name__}: {error}",
            expected="model_cfg with vision_cfg and text_cfg, as open_clip writes it",
            do=_DO,
        ) from error


def open_clip_config(
    sizes: ClipSizes, heads: tuple[int, int], activation: str, preprocess: Preprocess
) -> dict[str, Any]:
    """What ``open_clip_config.json`` must say for open_clip to build a model of these sizes: the inverse of reading.

    ``heads``: of pictures and of texts. ``activation``: "quick_gelu" or "gelu", of both towers. The sizes of pictures,
    heads and hidden units are written also where they are open_clip's own defaults.
    """
    vision = {
        "image_size": sizes.image_size, "layers": sizes.vision_layers, "width": sizes.vision_width,
        "head_width": sizes.vision_width // heads[0], "patch_size": sizes.patch_size,
        "mlp_ratio": _ratio(sizes.vision_hidden, sizes.vision_width),
    }  # fmt: skip
    text = {
        "context_length": sizes.context, "vocab_size": sizes.vocabulary, "width": sizes.text_width,
        "heads": heads[1], "layers": sizes.text_layers, "mlp_ratio": _ratio(sizes.text_hidden, sizes.text_width),
    }  # fmt: skip
    model = {
        "embed_dim": sizes.embedding, "quick_gelu": activation == "quick_gelu", "vision_cfg": vision, "text_cfg": text,
    }  # fmt: skip
    pictures = {**_PICTURES, "mean": list(preprocess.mean), "std": list(preprocess.std)}
    return {"model_cfg": model, "preprocess_cfg": pictures}


def _ratio(hidden: int, width: int) -> float:
    """The ratio of which open_clip makes ``int(width * ratio)`` hidden units."""
    ratio = hidden / width
    return ratio if int(width * ratio) == hidden else math.nextafter(ratio, math.inf)


def _heads(path: Path, width: int, heads: float) -> int:
    if heads < 1 or width % heads:
        raise UserError(
            got=f"{path}: {heads:g} attention heads over a width of {width}",
            expected="a number of heads that divides the width",
            do=_DO,
        )
    return int(heads)


def _known(path: Path, values: Mapping[str, Any], known: set[str], part: str) -> Mapping[str, Any]:
    other = sorted(key for key, value in values.items() if key not in known and value not in (None, False))
    if other:
        raise UserError(
            got=f"{path}: {part} with {', '.join(f'{key} = {values[key]!r}' for key in other)}",
            expected=f"no option of open_clip but {', '.join(sorted(known))}: others can change the model",
            do="give a plain CLIP of two transformers",
        )
    return values


def _require_agreement(
    path: Path, model: Mapping[str, Any], vision: Mapping[str, Any], text: Mapping[str, Any], sizes: ClipSizes
) -> None:
    said_and_found = {
        "embed_dim": (model.get("embed_dim"), sizes.embedding),
        "vision_cfg.image_size": (vision.get("image_size"), sizes.image_size),
        "vision_cfg.patch_size": (vision.get("patch_size"), sizes.patch_size),
        "vision_cfg.width": (vision.get("width"), sizes.vision_width),
        "vision_cfg.layers": (vision.get("layers"), sizes.vision_layers),
        "text_cfg.width": (text.get("width"), sizes.text_width),
        "text_cfg.layers": (text.get("layers"), sizes.text_layers),
        "text_cfg.context_length": (text.get("context_length"), sizes.context),
        "text_cfg.vocab_size": (text.get("vocab_size"), sizes.vocabulary),
    }
    for name, (said, found) in said_and_found.items():
        if said not in (None, found, [found, found]):
            raise UserError(got=f"{path}: {name} = {said!r}", expected=f"{found}, the size of the weights", do=_DO)


def _preprocess(path: Path, pictures: Mapping[str, Any], sizes: ClipSizes) -> Preprocess:
    for name in ("interpolation", "resize_mode"):
        if pictures.get(name, _PICTURES[name]) != _PICTURES[name]:
            raise UserError(
                got=f"{path}: {name} = {pictures[name]!r}",
                expected=f"{_PICTURES[name]!r}, the preparation of pictures that is known here",
                do="give a model that prepares its pictures as CLIP does",
            )
    red, green, blue = pictures.get("mean", _PICTURES["mean"])
    spread = pictures.get("std", _PICTURES["std"])
    return Preprocess(sizes.image_size, (red, green, blue), (spread[0], spread[1], spread[2]))
