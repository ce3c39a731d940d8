"""Which kind of CLIP a state dict is, by its names."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from torch import Tensor

from litotes.backbones.tensor_file import TensorFile
from litotes.errors import UserError

Family = Literal["openai", "clip", "custom_text_clip", "longclip", "smartclip"]

FAMILY_NAMES: dict[Family, str] = {
    "openai": "OpenAI's CLIP",
    "clip": "a CLIP in OpenAI's naming (OpenAI's own weights and open_clip's class CLIP have the same names)",
    "custom_text_clip": "open_clip's CustomTextCLIP",
    "longclip": "LongCLIP or HiMo-CLIP (both have the same names)",
    "smartclip": "SmartCLIP",
}

MASK = "mask_net."
"""Before the names of SmartCLIP's mask network."""

_TEXT = "text."
_SCRIPT_SIZES = ("input_resolution", "context_length", "vocab_size")
"""Whole numbers that OpenAI's archives hold beside the weights."""

_OTHERS = {
    "text_model.": (
        "a model in transformers' naming",
        "put it as model.safetensors into a folder with its config.json, and give the folder",
    ),
    "visual.layer1.": ("a CLIP whose picture tower is a ResNet", "give a CLIP of two transformers (ViT)"),
    "visual.trunk.": ("an open_clip model with a picture tower of timm", "give one with open_clip's own ViT"),
    "text.transformer.embeddings.": (
        "an open_clip model with a text tower of transformers",
        "give one with open_clip's own text tower",
    ),
    "base_model.model.": ("a PEFT adapter", "give its folder as --adapter, and the base as --model"),
}


@dataclass(frozen=True)
class NamedWeights:
    """A state dict under OpenAI's names, with its ``family``; ``announced`` are the sizes that an archive states."""

    family: Family
    tensors: dict[str, Tensor]
    announced: Mapping[str, int]


def name_weights(file: TensorFile) -> NamedWeights:
    """Tell the family from the names and bring all names to OpenAI's form.

    A second position table marks LongCLIP (HiMo-CLIP saves the same names), a mask network SmartCLIP, names that
    begin with ``text.`` open_clip's CustomTextCLIP, and three whole numbers beside the weights OpenAI's own archives.
    The rest is ``clip``. Nothing is dropped but the three numbers, which come back as ``announced``.

    Errors: :class:`UserError` naming the file when the names are those of another kind of model, or when one of them
    occurs with and without ``text.``.
    """
    _require_openai_like(file.path, file.tensors)
    tensors = dict(file.tensors)
    announced = {name: _whole(file.path, name, tensors.pop(name)) for name in _SCRIPT_SIZES if name in tensors}
    if any(name.startswith(_TEXT) for name in tensors):
        twice = [name for name in tensors if name.startswith(_TEXT) and name.removeprefix(_TEXT) in tensors]
        if twice:
            raise UserError(
                got=f"{file.path} with both {twice[0]} and {twice[0].removeprefix(_TEXT)}",
                expected="the texts' weights once",
                do="save the state dict of one model",
            )
        renamed = {name.removeprefix(_TEXT): tensor for name, tensor in tensors.items()}
        return NamedWeights("custom_text_clip", renamed, announced)
    return NamedWeights(_family(tensors, bool(announced)), tensors, announced)


def _family(tensors: Mapping[str, Tensor], archive: bool) -> Family:
    if any(name.startswith(MASK) for name in tensors):
        return "smartclip"
    if "positional_embedding_res" in tensors:
        return "longclip"
    return "openai" if archive else "clip"


def _require_openai_like(path: Path, tensors: Mapping[str, Tensor]) -> None:
    for start, (kind, do) in _OTHERS.items():
        if any(name.startswith(start) for name in tensors):
            raise UserError(got=f"{path}, {kind}", expected="a CLIP in OpenAI's or open_clip's naming", do=do)
    if not any(name.startswith("visual.") for name in tensors):
        raise UserError(
            got=f"{path} with {', '.join(sorted(tensors)[:3])}{' ...' if len(tensors) > 3 else ''}",
            expected="a CLIP in OpenAI's or open_clip's naming (visual.conv1.weight, text_projection, ...)",
            do="give the file of a whole model, both towers in it",
        )


def _whole(path: Path, name: str, tensor: Tensor) -> int:
    if tensor.numel() != 1 or tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        raise UserError(
            got=f"{path}: {name} is no whole number",
            expected="one size, as OpenAI's archives hold it",
            do="take the file of the model itself",
        )
    return int(tensor)
