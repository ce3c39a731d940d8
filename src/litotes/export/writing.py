"""From a model and an adapter to one thing on disk that was read again and gives the same embeddings."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

import litotes
from litotes.errors import UserError
from litotes.export.formats import KINDS, Form, Source
from litotes.export.onnx import OnnxTowers, require_onnx
from litotes.models.clip import ClipEncoder
from litotes.models.conversion import MASK_NETWORK
from litotes.models.loading import load_backbone
from litotes.models.lora import load_adapter
from litotes.models.matcher import Matcher
from litotes.models.merging import merge_adapters
from litotes.models.state_dict_file import ACTIVATION
from litotes.places import require_folder_place, whole_or_nothing

TOLERANCE = 1e-5
"""Largest difference of an embedding's numbers between the model and what is read again."""

_LENGTHS = (2, 10, 20, 21, 77)
_SUFFIX = ".safetensors"


@dataclass(frozen=True)
class Exported:
    """Largest differences of what was read again, over pictures and over texts; what to know; the line to use it."""

    image_difference: float
    text_difference: float
    notes: tuple[str, ...]
    use: str


def export(
    model: str | Path,
    output: str | Path,
    form: Form,
    *,
    adapters: Sequence[str | Path] = (),
    alpha: float = 1.0,
    any_base: bool = False,
) -> Exported:
    """Write a model, with adapters merged into it, in a form that other tools read, and read it again.

    Weights become W + alpha * s B A in float32, s B A summed over the adapters, and the logit scale lies as far between
    that of the base and that of the adapter (``merge_adapters``): 0 is the base, 1 the adapted model, between them some
    of what was learnt against some of what was forgotten. ``form``: "hf", a folder in transformers' layout with
    tokenizer and picture transform; "openai", one safetensors file under the names of CLIP, or of LongCLIP where the
    model has 248 tokens, with the mask network of a SmartCLIP; "open_clip", a folder of weights and
    ``open_clip_config.json``; "onnx", a folder with a graph of each tower (``write_onnx``), tokenizer and transform;
    "peft", the one adapter alone, as a PEFT folder that names the model by its hash (``save_adapter``), whichever form
    it had (``load_adapter``).

    What was written is read again by the reader of its form, onnxruntime for "onnx"; its embeddings of fixed random
    pictures and of texts of 2, 10, 20, 21, 77 and all tokens, together and each alone, must be those of the model
    within ``TOLERANCE``. ``output`` appears under its name
    only after that. Nothing is fetched.

    Errors: ``output`` is there already or cannot be written; those of model and adapter; ``alpha`` outside 0 to 1, or
    without an adapter; "peft" with an ``alpha`` or with another number of adapters than one; a model that the form
    cannot express; a package that it needs (``require_onnx``); another embedding when read again.
    """
    output, folder = Path(output), Path(model)
    _require_folder(folder)
    _require_sense(output, form, adapters, alpha, any_base)
    matcher, lora = load_backbone(folder), None
    if form == "peft":
        lora = load_adapter(matcher, adapters[0], any_base=any_base)
    else:
        merge_adapters(matcher, adapters, alpha, any_base=any_base)
    mask_file = folder / MASK_NETWORK if (folder / MASK_NETWORK).is_file() else None
    kind, source = KINDS[form], Source(matcher, mask_file, _record(matcher), folder, lora)
    kind.require(matcher)
    with whole_or_nothing(output) as partial:
        kind.write(source, partial)
        images, texts = differences(matcher, kind.read(partial, source))
        if not max(images, texts) <= TOLERANCE:
            raise UserError(
                got=f"embeddings that differ by {images:.1e} (pictures) and {texts:.1e} (texts) when read again",
                expected=f"at most {TOLERANCE:g}",
                do="report this with the model's config.json; nothing was kept",
            )
    return Exported(images, texts, _notes(source, form, bool(adapters)), kind.use(output, source))


@torch.no_grad()
def differences(matcher: Matcher, encoder: ClipEncoder | OnnxTowers) -> tuple[float, float]:
    """Largest absolute difference of the un-normalised embeddings of two encoders, over pictures and over texts.

    Texts of the model are padded to the context and those of ``encoder`` are so too, and also each alone, without
    padding: both must give the same.
    """
    size = matcher.encoder.image_size
    pixels = torch.randn(4, 3, size, size, generator=torch.Generator().manual_seed(0))
    ids = probe_texts(matcher)
    images = matcher.encoder.image_features(pixels) - encoder.image_features(pixels)
    wanted = matcher.encoder.text_features(ids)
    lengths = ids.shape[1] - (ids != 0).flip(1).int().argmax(dim=1)
    alone = torch.cat([encoder.text_features(row[None, :n]) for row, n in zip(ids, lengths.tolist(), strict=True)])
    texts = torch.stack([encoder.text_features(ids), alone]) - wanted
    return images.abs().max().item(), texts.abs().max().item()


def probe_texts(matcher: Matcher) -> Int[Tensor, "n context"]:
    """Rows of random ids, from the start token to the end token, of several lengths up to the context, then zeros."""
    tokenizer, context = matcher.tokenizer, matcher.encoder.context_length
    ordinary = torch.tensor([i for i in range(1, tokenizer.vocabulary_size) if i not in (tokenizer.bos, tokenizer.eos)])
    lengths = [length for length in _LENGTHS if length < context] + [context]
    ids = torch.zeros(len(lengths), context, dtype=torch.long)
    generator = torch.Generator().manual_seed(0)
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = ordinary[torch.randint(len(ordinary), (length,), generator=generator)]
        row[0], row[length - 1] = tokenizer.bos, tokenizer.eos
    return ids


def _require_folder(model: Path) -> None:
    if not model.is_dir():
        raise UserError(
            got=f"--model {model}, which is {'a file' if model.exists() else 'not there'}",
            expected="a model folder",
            do="turn a file into a folder first: litotes convert" if model.exists() else "check the path",
        )


def _require_sense(output: Path, form: Form, adapters: Sequence[str | Path], alpha: float, any_base: bool) -> None:
    if os.path.lexists(output):
        raise UserError(got=f"--output {output}, which is there already", expected="a new name", do="name another one")
    if form == "openai" and output.suffix != _SUFFIX:
        raise UserError(
            got=f"--output {output} for --format openai",
            expected=f"a file name that ends in {_SUFFIX}",
            do=f"say --output {output.with_suffix(_SUFFIX)}",
        )
    if form == "onnx":
        require_onnx()
    require_folder_place(output.parent)
    if not 0 <= alpha <= 1:
        raise UserError(
            got=f"--alpha {alpha:g}, which is "
            + (f"{'below' if alpha < 0 else 'above'} its range" if math.isfinite(alpha) else "no finite number"),
            expected="a number from 0, the base, to 1, the adapted model",
            do="give for instance --alpha 0.5 for half-way, or leave it out for 1",
        )
    for option, given in (("--alpha", alpha != 1), ("--any-base", any_base)):
        if given and not adapters:
            raise UserError(
                got=f"{option} without --adapter",
                expected=f"--adapter, since nothing else uses {option}",
                do=f"add --adapter, or leave out {option}",
            )
    if form == "peft":
        _require_one_adapter(adapters, alpha)


def _require_one_adapter(adapters: Sequence[str | Path], alpha: float) -> None:
    """What a PEFT folder holds: one update as it is."""
    if len(adapters) != 1:
        raise UserError(
            got=f"--format peft with {len(adapters) or 'no'} adapter{'s' * (len(adapters) > 1)}",
            expected="one --adapter, which is written by itself",
            do="write the sum merged into the model (--format hf)" if adapters else "add --adapter",
        )
    if alpha != 1:
        raise UserError(
            got=f"--format peft with --alpha {alpha:g}",
            expected="the adapter as it is",
            do="leave out --alpha, or write the model with part of it merged (--format hf)",
        )


def _record(matcher: Matcher) -> dict[str, str]:
    return {
        "model": matcher.name,
        "weights_sha256": matcher.base,
        "adapter": matcher.adapter or "none",
        ACTIVATION: matcher.encoder.activation,
        "tool_version": litotes.__version__,
    }


def _notes(source: Source, form: Form, adapted: bool) -> tuple[str, ...]:
    notes = []
    if source.matcher.adapter:
        notes.append(f"adapter: {source.matcher.adapter}")
    if source.mask_file and form == "peft":
        pass  # the base keeps it
    elif source.mask_file and form in ("open_clip", "onnx"):
        notes.append(f"the mask network of SmartCLIP is left out: {form} has no place for it")
    elif source.mask_file:
        notes.append("the mask network of SmartCLIP goes along" + (", as it was for the base" if adapted else ""))
    if source.mask_file:
        notes.append("SmartCLIP's weights are CC-BY-NC-4.0, and so is what is made of them")
    return tuple(notes)
