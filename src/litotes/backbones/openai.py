"""From OpenAI's names to transformers', and back: the same numbers in other places."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import final

import torch
from torch import Tensor

from litotes.backbones.families import MASK
from litotes.errors import UserError

KEPT_POSITIONS = 20
"""Rows that LongCLIP took over from CLIP: its forward adds them from the first table, all others from the second."""

_PLACES = {
    "logit_scale": "logit_scale",
    "token_embedding.weight": "text_model.embeddings.token_embedding.weight",
    "positional_embedding": "text_model.embeddings.position_embedding.weight",
    "ln_final.weight": "text_model.final_layer_norm.weight",
    "ln_final.bias": "text_model.final_layer_norm.bias",
    "visual.class_embedding": "vision_model.embeddings.class_embedding",
    "visual.positional_embedding": "vision_model.embeddings.position_embedding.weight",
    "visual.conv1.weight": "vision_model.embeddings.patch_embedding.weight",
    "visual.ln_pre.weight": "vision_model.pre_layrnorm.weight",
    "visual.ln_pre.bias": "vision_model.pre_layrnorm.bias",
    "visual.ln_post.weight": "vision_model.post_layernorm.weight",
    "visual.ln_post.bias": "vision_model.post_layernorm.bias",
}
_PROJECTIONS = {"text_projection": "text_projection.weight", "visual.proj": "visual_projection.weight"}
_BLOCK = {
    "ln_1": "layer_norm1",
    "ln_2": "layer_norm2",
    "attn.out_proj": "self_attn.out_proj",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
}
_TOWERS = {"visual.transformer.resblocks.": "vision_model", "transformer.resblocks.": "text_model"}
_FROM_PLACES, _FROM_PROJECTIONS, _FROM_BLOCK, _FROM_TOWERS = (
    {theirs: openai for openai, theirs in names.items()} for names in (_PLACES, _PROJECTIONS, _BLOCK, _TOWERS)
)


def to_hf(tensors: Mapping[str, Tensor], copied: Callable[[str], None] | None = None) -> dict[str, Tensor]:
    """The weights of transformers' CLIPModel from a state dict in OpenAI's naming, copied, in float32.

    Projections are transposed ([width, d] to [d, width]); ``in_proj`` is cut into three equal parts in the order q, k,
    v; two position tables become one (``merged_positions``); everything else keeps its shape. The mask network of
    SmartCLIP has no place there and is left to the caller (names with ``MASK``). float16, bfloat16 and float64
    are rounded or widened to float32.

    ``tensors``: exactly those of a layout (``require_fit``), any other name is a KeyError. ``copied``: called with the
    name of each tensor that is not needed any more, and may take it away. Edges: q, k and v own their memory, so that
    nothing keeps the file mapped.
    """
    weights: dict[str, Tensor] = {}
    for name in list(tensors):
        if name.startswith(MASK) or name == "positional_embedding_res":
            continue
        tensor = tensors[name]
        if name == "positional_embedding" and "positional_embedding_res" in tensors:
            tensor = merged_positions(tensor, tensors["positional_embedding_res"])
        if name in _PROJECTIONS:
            weights[_PROJECTIONS[name]] = _own(tensor.T)
        elif name in _PLACES:
            weights[_PLACES[name]] = _own(tensor)
        else:
            weights |= _in_block(name, tensor)
        if copied:
            copied(name)
    return weights


def to_openai(weights: Mapping[str, Tensor], *, two_tables: bool = False) -> dict[str, Tensor]:
    """A state dict in OpenAI's naming from the weights of transformers' CLIPModel: the inverse of ``to_hf``.

    Projections are transposed back, q, k and v stacked in this order to ``in_proj``. ``two_tables``: LongCLIP's form,
    the position table written whole under both of its names, so that each forward finds the rows it reads; otherwise
    under the one of CLIP (and of open_clip, for any length).

    ``weights``: exactly those of a CLIPModel, any other name is a KeyError. Edges: ``to_openai(to_hf(tensors))`` is
    ``tensors`` bit for bit, but for the dead rows of two tables, which then hold the live ones of the other. All
    tensors are contiguous copies in float32.
    """
    tensors: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if name in _FROM_PROJECTIONS:
            tensors[_FROM_PROJECTIONS[name]] = _own(tensor.T)
        elif name in _FROM_PLACES:
            tensors[_FROM_PLACES[name]] = _own(tensor)
        else:
            tensors |= _out_of_block(name, weights)
    if two_tables:
        tensors["positional_embedding_res"] = tensors["positional_embedding"].clone()
    return tensors


def merged_positions(first: Tensor, second: Tensor) -> Tensor:
    """One position table [rows, width] from LongCLIP's two: rows 0 to 19 of the first, all others of the second.

    The rest of both tables is dead: no forward reads it. Copying the first alone, as converters do, is right for texts
    up to 20 tokens and wrong beyond.
    """
    return torch.cat([first[:KEPT_POSITIONS], second[KEPT_POSITIONS:]])


def rounded_like_reference(path: Path, tensors: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The weights as the reference loaders leave them, whatever number type the file has.

    Convolution, linear and attention weights and both projections are rounded to float16; norms, embeddings, positions
    and the scale are untouched. Each is rounded when it is asked for, so that no second set of weights is made;
    ``tensors`` is looked into then.

    Published results of these families were measured with such weights. Errors: :class:`UserError` naming the file
    where a number is too large for float16.
    """
    for name in filter(_halved, tensors):
        if not torch.isfinite(torch.stack(tensors[name].aminmax()).half()).all():
            raise UserError(
                got=f"{path}: {name} with a number above 65504",
                expected="weights that float16 can hold, since they are to be rounded like the reference",
                do="load it without round_like_reference",
            )
    return _Rounded(tensors)


@final
class _Rounded(Mapping[str, Tensor]):
    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name].half().float() if _halved(name) else self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)


def _halved(name: str) -> bool:
    parts = (".attn.in_proj_", ".attn.out_proj.", ".mlp.c_fc.", ".mlp.c_proj.", ".attn_pool.attention.")
    return name in (*_PROJECTIONS, "visual.conv1.weight") or any(part in name for part in parts)


def _in_block(name: str, tensor: Tensor) -> dict[str, Tensor]:
    """One tensor of a block under its name in transformers; three (q, k, v) for an ``in_proj``."""
    start = next(start for start in _TOWERS if name.startswith(start))
    number, _, inner = name.removeprefix(start).partition(".")
    layer = f"{_TOWERS[start]}.encoder.layers.{number}"
    if inner.startswith("attn.in_proj_"):
        kind = inner.removeprefix("attn.in_proj_")
        return {
            f"{layer}.self_attn.{part}_proj.{kind}": _own(rows)
            for part, rows in zip("qkv", tensor.chunk(3), strict=True)
        }
    module, _, kind = inner.rpartition(".")
    return {f"{layer}.{_BLOCK[module]}.{kind}": _own(tensor)}


def _out_of_block(name: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """One tensor of a block under OpenAI's name; for that of q the whole ``in_proj``, for k and v nothing more."""
    tower, _, rest = name.partition(".encoder.layers.")
    number, _, inner = rest.partition(".")
    module, _, kind = inner.rpartition(".")
    block = f"{_FROM_TOWERS[tower]}{number}"
    if module in _FROM_BLOCK:
        return {f"{block}.{_FROM_BLOCK[module]}.{kind}": _own(weights[name])}
    parts = [f"{tower}.encoder.layers.{number}.self_attn.{part}_proj.{kind}" for part in "qkv"]
    if name not in parts:
        raise KeyError(name)
    # Written once, when q is met.
    return {f"{block}.attn.in_proj_{kind}": _own(torch.cat([weights[p] for p in parts]))} if name == parts[0] else {}


def _own(tensor: Tensor) -> Tensor:
    """A contiguous float32 copy that shares nothing with the file."""
    return torch.empty(tensor.shape, dtype=torch.float32).copy_(tensor.detach())
