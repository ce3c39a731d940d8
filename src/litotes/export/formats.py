"""The forms a model leaves in: what each can hold, how it is written, and how it is read again."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from litotes.backbones.fit import require_fit
from litotes.backbones.layout import ClipSizes, mask_layout
from litotes.backbones.open_clip_config import OPEN_CLIP_CONFIG, open_clip_config
from litotes.backbones.openai import to_openai
from litotes.backbones.preprocess import CONFIG_NAME, Preprocess
from litotes.backbones.tensor_file import read_tensor_file
from litotes.errors import UserError
from litotes.export.onnx import IMAGE, TEXT, OnnxTowers, write_onnx
from litotes.models.clip import ClipEncoder
from litotes.models.conversion import MASK_NETWORK
from litotes.models.lora import load_adapter, save_adapter
from litotes.models.lora_settings import LoraSettings
from litotes.models.matcher import Matcher, load_matcher
from litotes.models.state_dict_file import CLIP_VOCABULARY, HEAD_WIDTH, load_state_dict_file
from litotes.models.tensors import save_tensors

Form = Literal["hf", "openai", "open_clip", "onnx", "peft"]

RECORD = "litotes_export.json"
LONG_CONTEXT = 248
"""Tokens of LongCLIP, HiMo-CLIP and SmartCLIP, whose code reads two position tables of that length and no other."""

_OPEN_CLIP_WEIGHTS = "open_clip_model.safetensors"
_NORM_EPSILON = 1e-5


@dataclass(frozen=True)
class Source:
    """A model to be written, with its mask network's file (None: it has none).

    record: where the weights come from, written along. model: its folder. lora: settings of the adapter that is mounted
    on it, for the form that holds the adapter alone; for all others it carries none.
    """

    matcher: Matcher
    mask_file: Path | None
    record: dict[str, str]
    model: Path
    lora: LoraSettings | None = None


@dataclass(frozen=True)
class Kind:
    """One form: what it refuses, how it is written to a path and read from there, and what is said of it.

    ``read`` gives what the written files are as a model; of the source it may take what they do not hold.
    """

    require: Callable[[Matcher], None]
    write: Callable[[Source, Path], None]
    read: Callable[[Path, Source], ClipEncoder | OnnxTowers]
    use: Callable[[Path, Source], str]


def _write_hf(source: Source, folder: Path) -> None:
    source.matcher.save(folder)
    if source.mask_file:
        shutil.copyfile(source.mask_file, folder / MASK_NETWORK)
    (folder / RECORD).write_text(json.dumps(source.record, indent=1) + "\n", encoding="utf-8")


def _write_openai(source: Source, file: Path) -> None:
    encoder = source.matcher.encoder
    tensors = to_openai(encoder.base_state(), two_tables=encoder.context_length == LONG_CONTEXT)
    if source.mask_file:
        mask = read_tensor_file(source.mask_file).tensors
        require_fit(
            source.mask_file, mask, mask_layout(_sizes(source.matcher).text_width), "the mask network of this SmartCLIP"
        )
        tensors |= {name: tensor.contiguous() for name, tensor in mask.items()}
    save_tensors(tensors, file, {"format": "pt", **source.record})


def _write_open_clip(source: Source, folder: Path) -> None:
    matcher = source.matcher
    folder.mkdir()
    tensors = to_openai(matcher.encoder.base_state())
    save_tensors(tensors, folder / _OPEN_CLIP_WEIGHTS, {"format": "pt", **source.record})
    config = open_clip_config(_sizes(matcher), _heads(matcher), matcher.encoder.activation, matcher.preprocess)
    (folder / OPEN_CLIP_CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _sizes(matcher: Matcher) -> ClipSizes:
    """The sizes of the weights, by the configuration; the side of a picture is a whole number of patches."""
    config = matcher.encoder.clip.config
    vision, text = config.vision_config, config.text_config
    return ClipSizes(
        vision_width=vision.hidden_size,
        vision_layers=vision.num_hidden_layers,
        vision_hidden=vision.intermediate_size,
        image_size=vision.image_size // vision.patch_size * vision.patch_size,
        patch_size=vision.patch_size,
        text_width=text.hidden_size,
        text_layers=text.num_hidden_layers,
        text_hidden=text.intermediate_size,
        context=text.max_position_embeddings,
        vocabulary=text.vocab_size,
        embedding=config.projection_dim,
    )


def _heads(matcher: Matcher) -> tuple[int, int]:
    config = matcher.encoder.clip.config
    return config.vision_config.num_attention_heads, config.text_config.num_attention_heads


def _require_openai_names(matcher: Matcher) -> None:
    """What no tool that reads OpenAI's names can be told."""
    config = matcher.encoder.clip.config
    parts = config.vision_config, config.text_config
    if {part.layer_norm_eps for part in parts} != {_NORM_EPSILON}:
        raise UserError(
            got=f"layer_norm_eps {parts[0].layer_norm_eps:g} (pictures) and {parts[1].layer_norm_eps:g} (texts)",
            expected=f"{_NORM_EPSILON:g}, which stands in the code of the tools and in no file",
            do="write it with --format hf",
        )
    if matcher.encoder.activation not in ("quick_gelu", "gelu"):
        raise UserError(
            got=f"the activation {matcher.encoder.activation}",
            expected="quick_gelu or gelu, one for both towers",
            do="write it with --format hf",
        )
    if matcher.preprocess.mode != "paper":
        raise UserError(
            got=f"pictures read in the mode {matcher.preprocess.mode!r}",
            expected="CLIP's own way: no other tool squashes them without smoothing",
            do="write it with --format hf",
        )
    if matcher.preprocess.deviations:
        raise UserError(
            got=f"pictures read otherwise than by the reference ({', '.join(map(str, matcher.preprocess.deviations))})",
            expected="the reference's own way: no other tool reads them so",
            do=f"write it with --format hf, or take picture_deviations out of the model's {CONFIG_NAME}",
        )
    if matcher.tokenizer.eos != config.text_config.vocab_size - 1:
        raise UserError(
            got=f"end token {matcher.tokenizer.eos} among {config.text_config.vocab_size} rows of the vocabulary",
            expected="the last row: the tools read a text at its largest id",
            do="write it with --format hf",
        )


def _require_openai_code(matcher: Matcher) -> None:
    """Beside the names: what the code of CLIP and LongCLIP fixes and a file cannot say otherwise."""
    _require_openai_names(matcher)
    sizes = _sizes(matcher)
    wanted = sizes.vision_width / HEAD_WIDTH, sizes.text_width / HEAD_WIDTH
    hidden = (sizes.vision_hidden, 4 * sizes.vision_width), (sizes.text_hidden, 4 * sizes.text_width)
    problem = ""
    if matcher.encoder.activation != "quick_gelu":
        problem = f"the activation {matcher.encoder.activation} (quick_gelu)"
    elif _heads(matcher) != wanted:
        heads = _heads(matcher)
        problem = f"{heads[0]} and {heads[1]} attention heads ({wanted[0]:g} and {wanted[1]:g})"
    elif any(found != four_times for found, four_times in hidden):
        problem = f"{hidden[0][0]} and {hidden[1][0]} hidden units ({hidden[0][1]} and {hidden[1][1]})"
    elif matcher.preprocess != Preprocess(size=sizes.image_size):
        problem = "another mean or deviation of pictures (CLIP's own)"
    if problem:
        raise UserError(
            got=f"a model with {problem}",
            expected="what stands in brackets, since the code of CLIP and LongCLIP takes it for granted",
            do="write it with --format open_clip, whose configuration can say it, or --format hf",
        )


def _write_onnx(source: Source, folder: Path) -> None:
    write_onnx(source.matcher, folder, source.record)


def _write_peft(source: Source, folder: Path) -> None:
    if source.lora is None:
        raise ValueError("a source without a mounted adapter")
    save_adapter(source.matcher, source.lora, folder)
    (folder / RECORD).write_text(json.dumps(source.record, indent=1) + "\n", encoding="utf-8")


def _read_peft(folder: Path, source: Source) -> ClipEncoder:
    matcher = load_matcher(source.model)
    load_adapter(matcher, folder)
    return matcher.encoder


def _use_peft(folder: Path, source: Source) -> str:
    return (
        f'peft.PeftModel.from_pretrained(transformers.CLIPModel.from_pretrained("{source.model}"), "{folder}"), '
        f"or litotes evaluate --model {source.model} --adapter {folder} ..."
    )


def _use_onnx(folder: Path, _: Source) -> str:
    return (
        f'onnxruntime.InferenceSession("{folder / TEXT}").run(None, {{"input_ids": ids}}), ids padded with 0 and not '
        f'with the end token; and "{folder / IMAGE}" with pixel_values'
    )


def _use_hf(folder: Path, _: Source) -> str:
    return f'transformers.CLIPModel.from_pretrained("{folder}"), or litotes evaluate --model {folder} ...'


def _use_openai(file: Path, source: Source) -> str:
    pt = file.with_suffix(".pt")
    saved = f'torch.save(safetensors.torch.load_file("{file}"), "{pt}"), then '
    if source.mask_file:
        return saved + "load that file with SmartCLIP's code"
    long = source.matcher.encoder.context_length == LONG_CONTEXT
    return saved + f'{"longclip" if long else "clip"}.load("{pt}", device="cpu")'


def _use_open_clip(folder: Path, source: Source) -> str:
    line = f'open_clip.create_model_and_transforms("local-dir:{folder}")'
    if source.matcher.encoder.clip.config.text_config.vocab_size == CLIP_VOCABULARY:
        return line + f', open_clip.get_tokenizer("local-dir:{folder}")'
    return line + "; the vocabulary is not CLIP's: keep this model's own tokenizer"


KINDS: dict[Form, Kind] = {
    "hf": Kind(lambda _: None, _write_hf, lambda folder, _: load_matcher(folder).encoder, _use_hf),
    "openai": Kind(
        _require_openai_code,
        _write_openai,
        lambda file, _: load_state_dict_file(file).encoder,
        _use_openai,
    ),
    "open_clip": Kind(
        _require_openai_names,
        _write_open_clip,
        lambda folder, _: load_state_dict_file(folder / _OPEN_CLIP_WEIGHTS).encoder,
        _use_open_clip,
    ),
    "onnx": Kind(lambda _: None, _write_onnx, lambda folder, _: OnnxTowers(folder), _use_onnx),
    "peft": Kind(lambda _: None, _write_peft, _read_peft, _use_peft),
}
