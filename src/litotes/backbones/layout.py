"""Which tensors a CLIP in OpenAI's naming has, and its sizes read off their shapes."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from litotes.backbones.families import MASK, Family
from litotes.backbones.fit import Shape
from litotes.errors import UserError


@dataclass(frozen=True)
class ClipSizes:
    """Sizes of both towers.

    Widths, numbers of blocks, hidden units of a block; the side of a picture and of a patch in pixels; the most tokens
    of a text, the rows of the vocabulary; the dimensions of an embedding.
    """

    vision_width: int
    vision_layers: int
    vision_hidden: int
    image_size: int
    patch_size: int
    text_width: int
    text_layers: int
    text_hidden: int
    context: int
    vocabulary: int
    embedding: int

    def __str__(self) -> str:
        return (
            f"pictures of {self.image_size} pixels in patches of {self.patch_size}, {self.vision_layers} blocks of "
            f"{self.vision_width}; texts of {self.context} tokens, {self.text_layers} blocks of {self.text_width}; "
            f"{self.embedding} dimensions"
        )


def read_sizes(path: Path, shapes: Mapping[str, Shape]) -> ClipSizes:
    """The sizes that the shapes of a state dict in OpenAI's naming say.

    Every size is taken from one tensor; whether all others agree is for ``layout`` and ``require_fit`` to say. The
    side of a picture is patch * sqrt(positions - 1). Errors: :class:`UserError` naming the file when such a tensor is
    missing or has another number of axes, or when the positions are no square and one more.

    Source: the constructor arguments that the reference code derives from a state dict.
    """

    def size(name: str, axis: int, axes: int) -> int:
        shape = shapes.get(name)
        if shape is None or len(shape) != axes or min(shape) < 1:
            found = "is missing" if shape is None else f"has shape {shape}"
            raise UserError(
                got=f"{path}: {name} {found}",
                expected=f"a tensor of that name with {axes} axes, as a CLIP of two transformers has it",
                do="give a CLIP model in OpenAI's or open_clip's naming",
            )
        return shape[axis]

    positions, patch = size("visual.positional_embedding", 0, 2), size("visual.conv1.weight", 3, 4)
    grid = math.isqrt(positions - 1)
    if grid * grid != positions - 1 or grid == 0:
        raise UserError(
            got=f"{path}: visual.positional_embedding has {positions} rows",
            expected="a square number of patches, and one row for the class token",
            do="give a CLIP of square pictures",
        )
    return ClipSizes(
        vision_width=size("visual.class_embedding", 0, 1),
        vision_layers=_blocks(shapes, "visual.transformer."),
        vision_hidden=size("visual.transformer.resblocks.0.mlp.c_fc.weight", 0, 2),
        image_size=patch * grid,
        patch_size=patch,
        text_width=size("ln_final.weight", 0, 1),
        text_layers=_blocks(shapes, "transformer."),
        text_hidden=size("transformer.resblocks.0.mlp.c_fc.weight", 0, 2),
        context=size("positional_embedding", 0, 2),
        vocabulary=size("token_embedding.weight", 0, 2),
        embedding=size("text_projection", 1, 2),
    )


def layout(sizes: ClipSizes, family: Family) -> dict[str, Shape]:
    """Name and shape of every tensor of a CLIP of these sizes in OpenAI's naming.

    302 tensors for the ViT-B of OpenAI, 303 of LongCLIP (a second position table), 317 of SmartCLIP (also a mask
    network of one block and a pooling, of the width of the texts).
    """
    vision, text = sizes.vision_width, sizes.text_width
    rows = (sizes.image_size // sizes.patch_size) ** 2 + 1
    shapes: dict[str, Shape] = {
        "logit_scale": (),
        "text_projection": (text, sizes.embedding),
        "token_embedding.weight": (sizes.vocabulary, text),
        "positional_embedding": (sizes.context, text),
        "visual.proj": (vision, sizes.embedding),
        "visual.class_embedding": (vision,),
        "visual.positional_embedding": (rows, vision),
        "visual.conv1.weight": (vision, 3, sizes.patch_size, sizes.patch_size),
        **_norm("visual.ln_pre", vision),
        **_norm("visual.ln_post", vision),
        **_norm("ln_final", text),
    }
    for i in range(sizes.vision_layers):
        shapes |= _block(f"visual.transformer.resblocks.{i}", vision, sizes.vision_hidden)
    for i in range(sizes.text_layers):
        shapes |= _block(f"transformer.resblocks.{i}", text, sizes.text_hidden)
    if family in ("longclip", "smartclip"):
        shapes["positional_embedding_res"] = (sizes.context, text)
    if family == "smartclip":
        shapes |= mask_layout(text)
    return shapes


def mask_layout(width: int) -> dict[str, Shape]:
    """Name and shape of the 14 tensors of SmartCLIP's mask network, for texts of this width."""
    pool = {f"{MASK}attn_pool.attention.weight": (1, width), f"{MASK}attn_pool.attention.bias": (1,)}
    return _block(f"{MASK}resblocks.0", width, 4 * width) | pool


def _blocks(shapes: Mapping[str, Shape], tower: str) -> int:
    """Blocks of a tower. Names must begin with it: those of the mask network end like those of a text block."""
    numbers = (re.match(rf"{re.escape(tower)}resblocks\.(\d+)\.", name) for name in shapes)
    return len({number[1] for number in numbers if number})


def _norm(name: str, width: int) -> dict[str, Shape]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def _block(name: str, width: int, hidden: int) -> dict[str, Shape]:
    return {
        f"{name}.attn.in_proj_weight": (3 * width, width),
        f"{name}.attn.in_proj_bias": (3 * width,),
        f"{name}.attn.out_proj.weight": (width, width),
        f"{name}.attn.out_proj.bias": (width,),
        **_norm(f"{name}.ln_1", width),
        **_norm(f"{name}.ln_2", width),
        f"{name}.mlp.c_fc.weight": (hidden, width),
        f"{name}.mlp.c_fc.bias": (hidden,),
        f"{name}.mlp.c_proj.weight": (width, hidden),
        f"{name}.mlp.c_proj.bias": (width,),
    }
