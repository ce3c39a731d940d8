"""A trained backbone in a folder: the weights that it uses or that were changed, and what they belong to."""

import json
import shutil
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

import litotes
from litotes.backbones.preprocess import Preprocess
from litotes.config import record, require_known
from litotes.data.images import sha256_of_file
from litotes.errors import UserError
from litotes.models.blocks import Blocks, block_weights, blocks_said, named_blocks
from litotes.models.matcher import Matcher
from litotes.models.pair_backbone import PairBackbone, unused_parameters
from litotes.models.tensors import save_tensors

WEIGHTS = "pair_backbone.safetensors"
SIDE_FILE = "pair_backbone.json"


class Origin(NamedTuple):
    """What a backbone was trained from: the plain base, and the LoRA adapter that was merged into it before, if any.

    blocks: of a backbone with CLIP's own features, the blocks that may differ from that base, by the training or by
    that adapter; None where a `PairBackbone` was trained.
    """

    base_sha256: str
    adapter_sha256: str | None = None
    blocks: Blocks | None = None


@dataclass(frozen=True)
class PairBackboneRecord:
    """The side file: width of the features, base model before the training, vocabulary, and hash of the weights.

    merged_adapter_sha256: of the LoRA adapter that was merged into the base before the training. Its update is in the
    weights, so that the plain base is all that they need. vision_blocks, text_blocks: where the features are CLIP's
    own, the blocks whose weights are kept, in the words of ``block_indices``; None of a `PairBackbone`.
    """

    dimension: int
    base_sha256: str
    vocabulary_sha256: str
    weights_sha256: str
    tool_version: str = litotes.__version__
    merged_adapter_sha256: str | None = None
    vision_blocks: str | None = None
    text_blocks: str | None = None

    def __post_init__(self) -> None:
        kinds = {type(self.vision_blocks), type(self.text_blocks)}
        if kinds not in ({str}, {type(None)}):
            raise TypeError("the blocks of one tower alone, or blocks that are no text")


def save_pair_backbone(matcher: Matcher, origin: Origin, folder: Path) -> PairBackboneRecord:
    """Write a trained backbone, whole or not at all: ``folder`` is replaced by a complete one.

    origin: what it was trained from. Of ``matcher.pooled`` towers and heads are kept, the layers that they leave out
    are not: those are the base's, which an adapter leaves alone. Of CLIP's own features ``origin.blocks`` are kept.
    Errors: a LoRA adapter is mounted.
    """
    kept = _kept(matcher, origin.blocks)
    if matcher.adapter_sha256:
        raise UserError(
            got="a backbone with a mounted adapter", expected="plain towers", do="merge the adapter before training"
        )
    partial, old = folder.with_name(folder.name + ".partial"), folder.with_name(folder.name + ".old")
    for left_behind in (partial, old):
        shutil.rmtree(left_behind, ignore_errors=True)
    partial.mkdir(parents=True)
    weights = {name: weight.detach().cpu().contiguous() for name, weight in kept.items()}
    save_tensors(weights, partial / WEIGHTS)
    vision, text = blocks_said(matcher.encoder, origin.blocks) if origin.blocks else (None, None)
    side = PairBackboneRecord(
        matcher.dimension, origin.base_sha256, matcher.tokenizer.fingerprint, sha256_of_file(partial / WEIGHTS),
        merged_adapter_sha256=origin.adapter_sha256, vision_blocks=vision, text_blocks=text,
    )  # fmt: skip
    (partial / SIDE_FILE).write_text(json.dumps(record(side), indent=1) + "\n", encoding="utf-8")
    matcher.preprocess.save(partial)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    return side


def load_pair_backbone(folder: Path, matcher: Matcher) -> PairBackboneRecord:
    """Put the backbone of a folder on the base model that it was trained from; ``matcher`` then embeds by it.

    Its towers take the trained weights, its picture transform the saved one; ``matcher.pooled`` is set where tokens
    are pooled, and None where the features are CLIP's own. Everything is checked before a weight is changed. Errors:
    files that are missing, cut or of different models; another base or vocabulary; a mounted adapter; blocks that the
    base lacks; weights of other names or shapes, or not finite.
    """
    side = read_pair_backbone(folder)
    preprocess = Preprocess.from_config(folder)
    _require_base(side, matcher, folder)
    backbone, wanted = _trained(side, matcher)
    found = _weights(folder / WEIGHTS, side)
    shapes = [{name: tuple(tensor.shape) for name, tensor in part.items()} for part in (wanted, found)]
    odd = sorted({name for name, _ in shapes[0].items() ^ shapes[1].items()}) or [
        name for name, tensor in found.items() if not torch.isfinite(tensor).all()
    ]
    if odd:
        raise UserError(
            got=f"{folder / WEIGHTS} with weights that do not fit the base or are not finite, {odd[0]} for one",
            expected=f"{len(wanted)} finite tensors of the base's sizes",
            do="copy the folder again",
        )
    with torch.no_grad():
        for name, weight in wanted.items():
            weight.copy_(found[name])
    matcher.pooled, matcher.preprocess = backbone.eval() if backbone else None, preprocess
    return side


def read_pair_backbone(folder: Path) -> PairBackboneRecord:
    """The side file alone. Errors: missing files; no JSON, unknown or missing keys."""
    missing = [name for name in (SIDE_FILE, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        raise UserError(
            got=f"{folder} without {' and '.join(missing)}",
            expected="a folder as litotes train vacsr writes it",
            do="check the path",
        )
    path = folder / SIDE_FILE
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        require_known(values, [field.name for field in fields(PairBackboneRecord)], str(path))
        return PairBackboneRecord(**values)
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(
            got=f"{path}: {error}", expected="the side file as litotes train vacsr writes it", do="copy it again"
        ) from error


def used_weights(backbone: PairBackbone) -> dict[str, torch.nn.Parameter]:
    """The parameters that the features depend on, by name."""
    unused = {id(parameter) for parameter in unused_parameters(backbone.encoder)}
    return {name: parameter for name, parameter in backbone.named_parameters() if id(parameter) not in unused}


def _kept(matcher: Matcher, blocks: Blocks | None) -> dict[str, torch.nn.Parameter]:
    """The weights of a trained backbone that are kept."""
    if blocks is not None:
        return block_weights(matcher.encoder, blocks)
    if matcher.pooled is None:
        raise ValueError("neither matcher.pooled nor blocks that were trained: there is no backbone to save")
    return used_weights(matcher.pooled)


def _trained(side: PairBackboneRecord, matcher: Matcher) -> tuple[PairBackbone | None, dict[str, torch.nn.Parameter]]:
    """The heads on the tokens, where there are some, and the weights of the model that a folder brings."""
    if side.vision_blocks is not None and side.text_blocks is not None:
        blocks = named_blocks(matcher.encoder, side.vision_blocks, side.text_blocks)
        return None, block_weights(matcher.encoder, blocks)
    backbone = PairBackbone(matcher.encoder, side.dimension)
    return backbone, used_weights(backbone)


def _require_base(side: PairBackboneRecord, matcher: Matcher, folder: Path) -> None:
    if matcher.adapter_sha256:
        raise UserError(
            got="a model with a mounted adapter",
            expected=f"the plain base of {folder}: an adapter that it was trained on top of is in its weights",
            do="leave out --adapter",
        )
    if side.base_sha256 != matcher.base:
        raise UserError(
            got=f"base model {matcher.base[:12]} for a backbone that was trained from {side.base_sha256[:12]}",
            expected="the base that it was trained from, untrained",
            do="load that model",
        )
    if side.vocabulary_sha256 != matcher.tokenizer.fingerprint:
        raise UserError(
            got="another vocabulary than the backbone was trained with",
            expected=f"vocabulary {side.vocabulary_sha256[:12]} (here {matcher.tokenizer.fingerprint[:12]})",
            do="load the model with its own tokenizer files",
        )


def _weights(path: Path, side: PairBackboneRecord) -> dict[str, torch.Tensor]:
    if sha256_of_file(path) != side.weights_sha256:
        raise UserError(
            got=f"{path}, which is not the file that {SIDE_FILE} belongs to (SHA-256 differs)",
            expected="all files of one backbone, whole",
            do="copy the folder again",
        )
    try:
        return load_file(path)
    except SafetensorError as error:
        raise UserError(
            got=f"{path}, which cannot be read: {error}", expected="a whole safetensors file", do="copy it again"
        ) from error
