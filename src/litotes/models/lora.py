"""LoRA adapters through PEFT: mounting, saving with a side file, strict loading."""

import json
import re
import warnings
from dataclasses import asdict
from pathlib import Path

import torch
from peft import LoraConfig as PeftLoraConfig
from peft import get_peft_model
from peft.tuners.lora import LoraLayer
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from litotes.backbones.tensor_file import no_safetensors, require_weights
from litotes.errors import UserError
from litotes.models.clip import ClipEncoder
from litotes.models.clip_lora import read_clip_lora
from litotes.models.lora_settings import ALL_LINEAR, TOWERS, LoraSettings, block_indices, describe, layers_said
from litotes.models.matcher import Matcher
from litotes.models.tensors import save_tensors
from litotes.places import require_files

SIDE_FILE = "litotes_adapter.json"
SCALE_FILE = "litotes_logit_scale.safetensors"
_WEIGHTS = "adapter_model.safetensors"
_CONFIG = "adapter_config.json"


def add_lora(encoder: ClipEncoder, settings: LoraSettings, seed: int = 0) -> int:
    """Mount fresh adapters on the encoder, freeze everything else, and return how many layers are adapted.

    The adapted model equals the base bit for bit before the first step, since B is 0. A is drawn from ``seed``.
    Errors: an adapter is already mounted; blocks that a tower lacks; another number of adapted layers than blocks times
    targets.
    """
    _require_bare(encoder)
    pattern = _pattern(encoder, settings)
    expected = sum(map(len, adapted_blocks(encoder, settings).values())) * len(set(settings.targets))
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        # peft asks transformers by a name that is going away there; nothing that a user could change.
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
        torch.manual_seed(seed)
        get_peft_model(encoder.clip, _peft_config(settings, pattern))
    encoder.adapter_factor = settings.scaling
    mounted = len(adapted_layers(encoder))
    if mounted != expected:
        raise UserError(
            got=f"{mounted} adapted layers",
            expected=f"{expected}: each of {', '.join(settings.targets)} in every block that is to be adapted",
            do="report this with the model's config.json: its layers are named in another way",
        )
    return mounted


def adapted_blocks(encoder: ClipEncoder, settings: LoraSettings) -> dict[str, tuple[int, ...]]:
    """The blocks that the settings mean, by tower. Errors: those of ``block_indices``."""
    return {
        tower: block_indices(settings.layers_of(tower), _count(encoder, tower)) for tower in TOWERS[settings.towers]
    }


def adapted_layers(encoder: ClipEncoder) -> dict[str, LoraLayer]:
    """Layers that carry an adapter, by module name."""
    return {name: module for name, module in encoder.clip.named_modules() if isinstance(module, LoraLayer)}


def save_adapter(matcher: Matcher, settings: LoraSettings, folder: Path) -> None:
    """Write the adapter as a PEFT folder, with side files for what PEFT leaves out.

    ``adapter_config.json`` and ``adapter_model.safetensors`` load in any PEFT; ``litotes_adapter.json`` holds the
    fingerprint, sizes, context and activation of the base, its family where it is known, and its picture transform, and
    the logit scale stands in its own safetensors file.
    """
    encoder = matcher.encoder
    if not adapted_layers(encoder):
        raise UserError(got="a model without a mounted adapter", expected="an adapter to save", do="mount one first")
    folder.mkdir(parents=True, exist_ok=True)
    weights = {f"base_model.model.{name}": tensor for name, tensor in _lora_state(encoder).items()}
    save_tensors(weights, folder / _WEIGHTS, metadata={"format": "pt"})
    _peft_config(settings, _pattern(encoder, settings), inference_mode=True).save_pretrained(str(folder))
    scale = encoder.clip.logit_scale.detach().cpu().reshape(1)
    save_tensors({"logit_scale": scale}, folder / SCALE_FILE)
    side = {
        "base_sha256": matcher.base, "base": _base_sizes(encoder), "pictures": matcher.preprocess.to_dict(),
        "lora": asdict(settings), **({"family": matcher.family} if matcher.family else {}),
    }  # fmt: skip
    (folder / SIDE_FILE).write_text(json.dumps(side, indent=1) + "\n")


def load_adapter(matcher: Matcher, folder: str | Path, *, any_base: bool = False) -> LoraSettings:
    """Mount a saved adapter, a PEFT folder or CLIP-LoRA's own file, for inference and return its settings.

    The adapter must name this base by its hash, and its context, activation and picture transform where it says them
    (adapters of version 0.1.0 say no picture transform); one written by another tool names none and needs ``any_base``.
    Every
    weight of the file must fit a layer and every layer that the adapter names must find its weights: an adapter that
    would load as nothing, or by half, is refused, before the model is touched. The two key prefixes that other tools
    write (``module.`` in front, or no ``base_model.model.``) are understood. Of PEFT's options those of
    ``LoraSettings`` are applied; an adapter that uses another (DoRA, another rank in some layers, ...) is refused.
    A file of CLIP-LoRA (``read_clip_lora``) names no base, so it needs ``any_base``.
    """
    folder, encoder = Path(folder), matcher.encoder
    _require_bare(encoder)
    if folder.is_file():
        _require_any_base(folder, any_base)
        settings, weights = read_clip_lora(folder, {tower: _count(encoder, tower) for tower in TOWERS["both"]})
    else:
        config = _read_config(folder)
        _require_base(matcher, config, folder, any_base)
        weights = _read_weights(folder)
        settings = _settings_of(encoder, config, weights, folder)
    _require_complete(encoder, settings, weights, folder)
    add_lora(encoder, settings)
    layers = adapted_layers(encoder)
    with torch.no_grad():
        for (layer, matrix), tensor in weights.items():
            getattr(layers[layer], matrix)["default"].weight.copy_(tensor.float())
        if (folder / SCALE_FILE).is_file():
            encoder.clip.logit_scale.copy_(_tensors(folder / SCALE_FILE)["logit_scale"][0])
    encoder.requires_grad_(False)
    encoder.eval()
    loaded = f"{folder.name} ({describe(settings)})"
    matcher.adapter = f"{matcher.adapter}; {loaded}" if matcher.adapter else loaded
    return settings


def updates(encoder: ClipEncoder) -> dict[str, Tensor]:
    """The update s B A of every adapted layer, in float32, by module name."""
    return {name: layer.get_delta_weight("default").detach().float() for name, layer in adapted_layers(encoder).items()}


def dismount(encoder: ClipEncoder) -> None:
    """Put the plain layers back, as they were before the adapter was mounted."""
    for name, layer in adapted_layers(encoder).items():
        parent, _, leaf = name.rpartition(".")
        setattr(encoder.clip.get_submodule(parent), leaf, layer.get_base_layer())
    encoder.adapter_factor = None
    # peft would take the plain model for an adapted one.
    del encoder.clip.peft_config


def _require_bare(encoder: ClipEncoder) -> None:
    if adapted_layers(encoder):
        raise UserError(
            got="a model that already carries an adapter",
            expected="a base model",
            do="load the base again, or merge the adapter first",
        )


def _count(encoder: ClipEncoder, tower: str) -> int:
    return int(getattr(encoder.clip.config, f"{tower}_config").num_hidden_layers)


def _pattern(encoder: ClipEncoder, settings: LoraSettings) -> str:
    """The adapted layers as PEFT takes them: a pattern that a module's whole name must match."""
    towers = []
    for tower, blocks in adapted_blocks(encoder, settings).items():
        every = len(blocks) == _count(encoder, tower)
        numbers = r"\d+" if every else f"({'|'.join(map(str, blocks))})"
        towers.append(rf"{tower}_model\.encoder\.layers\.{numbers}")
    return rf"({'|'.join(towers)})\..*\.({'|'.join(settings.targets)})"


def _peft_config(settings: LoraSettings, pattern: str, inference_mode: bool = False) -> PeftLoraConfig:
    return PeftLoraConfig(
        r=settings.rank, lora_alpha=settings.alpha, use_rslora=settings.rslora, lora_dropout=settings.dropout,
        target_modules=pattern, bias="none", inference_mode=inference_mode,
    )  # fmt: skip


def _lora_state(encoder: ClipEncoder) -> dict[str, Tensor]:
    state = {}
    for name, tensor in encoder.clip.state_dict().items():
        if ".lora_" in name:
            state[name.replace(".default.", ".")] = tensor.detach().cpu().contiguous()
    return state


def _base_sizes(encoder: ClipEncoder) -> dict[str, object]:
    return {
        "text_layers": _count(encoder, "text"), "vision_layers": _count(encoder, "vision"),
        "text_heads": encoder.text_heads, "vision_heads": encoder.vision_heads,
        "context_length": encoder.context_length, "image_size": encoder.image_size, "activation": encoder.activation,
    }  # fmt: skip


def require_adapter_files(folder: Path) -> None:
    """Refuse a folder that holds no adapter, without reading it; a file can be one of CLIP-LoRA."""
    if folder.is_file():
        return
    wanted = "an adapter: a folder as PEFT writes it, or CLIP-LoRA's own file"
    require_files(folder, (_CONFIG, _WEIGHTS), wanted, "check the path of the adapter")


def _read_config(folder: Path) -> dict:
    require_adapter_files(folder)
    config = _json(folder / _CONFIG)
    if config.get("peft_type") != "LORA":
        raise UserError(
            got=f"an adapter of type {config.get('peft_type')!r}", expected="LORA", do="give a LoRA adapter"
        )
    refused = _NOT_APPLIED if isinstance(config.get("target_modules"), list) else (*_NOT_APPLIED, _SOME_BLOCKS)
    other = [f"{key} = {config[key]!r}" for key in refused if config.get(key) not in (None, False, "none", {}, [])]
    if config.get("layers_pattern") not in (None, "", [], "layers", ["layers"]):
        other.append(f"layers_pattern = {config['layers_pattern']!r}")
    if other:
        raise UserError(
            got=f"{folder / _CONFIG} with {', '.join(other)}",
            expected="plain LoRA: one rank, one alpha, the same targets in all adapted blocks of a tower",
            do="merge the adapter into its base with PEFT, and use the merged model",
        )
    return config


_NOT_APPLIED = (
    "alpha_pattern", "rank_pattern", "use_dora", "use_qalora", "use_bdlora", "lora_bias", "bias", "fan_in_fan_out",
    "modules_to_save", "layer_replication", "exclude_modules", "target_parameters",
    "trainable_token_indices", "alora_invocation_tokens",
)  # fmt: skip
"""Options of PEFT that change what an adapter does and that are not applied here."""
_SOME_BLOCKS = "layers_to_transform"
"""Blocks beside a list of target names."""


def _json(path: Path) -> dict:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(got=f"{path}: {error}", expected="valid JSON", do="copy the adapter again") from error
    if not isinstance(values, dict):
        raise UserError(got=f"{path} without keys", expected="a JSON object", do="copy the adapter again")
    return values


def _tensors(path: Path) -> dict[str, Tensor]:
    require_weights(path)
    try:
        return load_file(path)
    except SafetensorError as error:
        raise no_safetensors(path, error) from error


def _require_any_base(adapter: Path, any_base: bool) -> None:
    if not any_base:
        raise UserError(
            got=f"{adapter}, an adapter without {SIDE_FILE}, so of an unknown base",
            expected="an adapter that names its base by hash",
            do="say any_base (--any-base) if you are sure that it belongs to this model; litotes export --format peft "
            "writes it with the base's name",
        )


def _require_base(matcher: Matcher, config: dict, folder: Path, any_base: bool) -> None:
    side = folder / SIDE_FILE
    if not side.is_file():
        _require_any_base(folder, any_base)
        return
    record = _json(side)
    odd = [key for key, kind in _SIDE.items() if not isinstance(record.get(key, kind()), kind)]
    missing = [key for key in ("base_sha256", "base", "lora") if key not in record]
    if odd or missing:
        raise UserError(
            got=f"{side} with {', '.join(odd + missing)} missing or of another kind",
            expected=f"the {SIDE_FILE} that was saved with the adapter",
            do="copy the adapter again",
        )
    if record["base_sha256"] != matcher.base:
        raise UserError(
            got=f"base model {matcher.base[:12]} for an adapter trained on {record['base_sha256'][:12]}",
            expected="the base that the adapter was trained on"
            + (f", of the family {record['family']}" if "family" in record else "")
            + " (a merged model is another base)",
            do="load the adapter's own base; --any-base is for adapters that name none",
        )
    _require_same_use(matcher, record)
    for ours, theirs in (("rank", "r"), ("alpha", "lora_alpha"), ("rslora", "use_rslora")):
        if record["lora"].get(ours) != config[theirs]:
            raise UserError(
                got=f"{theirs} = {config[theirs]} in {_CONFIG}, {ours} = {record['lora'].get(ours)} in {SIDE_FILE}",
                expected="the same number in both files",
                do="undo the change in one of the files",
            )


_SIDE = {"base_sha256": str, "base": dict, "pictures": dict, "lora": dict, "family": str}


def _require_same_use(matcher: Matcher, record: dict) -> None:
    """Refuse equal weights that are used otherwise than when the adapter was trained."""
    now = _base_sizes(matcher.encoder) | matcher.preprocess.to_dict()
    before = record["base"] | record.get("pictures", {})
    names = {*before, *now} if "pictures" in record else {*record["base"]}
    other = sorted(name for name in names if before.get(name) != now.get(name))
    if other:
        raise UserError(
            got="; ".join(f"{name} = {now.get(name)!r}" for name in other),
            expected=f"as the adapter was trained: {'; '.join(f'{name} = {before.get(name)!r}' for name in other)}",
            do="use the folder of the base model that the adapter was trained with, as it was then",
        )


_KEY = re.compile(
    r"(?:module\.)?(?:base_model\.model\.)?(?P<layer>(?:text|vision)_model\.[\w.]+)\.(?P<matrix>lora_[AB])\.weight"
)


def _read_weights(folder: Path) -> dict[tuple[str, str], Tensor]:
    weights = {}
    for key, tensor in _tensors(folder / _WEIGHTS).items():
        match = _KEY.fullmatch(key)
        if match is None or not torch.isfinite(tensor).all():
            raise UserError(
                got=f"{key!r} in {folder / _WEIGHTS}" + ("" if match is None else " with NaN or infinite numbers"),
                expected="finite lora_A.weight and lora_B.weight of layers of the text or vision tower",
                do="export the adapter from PEFT again",
            )
        weights[match["layer"], match["matrix"]] = tensor
    return weights


def _settings_of(
    encoder: ClipEncoder, config: dict, weights: dict[tuple[str, str], Tensor], folder: Path
) -> LoraSettings:
    ranks = {int(t.shape[0] if matrix == "lora_A" else t.shape[1]) for (_, matrix), t in weights.items()}
    if ranks != {config.get("r")}:
        raise UserError(
            got=f"weights of rank {', '.join(map(str, sorted(ranks)))} beside a config that says {config.get('r')}",
            expected="one and the same rank",
            do=f"use the {_CONFIG} that belongs to these weights in {folder}",
        )
    targets = config.get("target_modules")
    named = _named_layers(encoder, targets, config.get(_SOME_BLOCKS)) if isinstance(targets, list) else set()
    layers = named or {layer for layer, _ in weights}
    towers = [tower for tower in TOWERS["both"] if any(layer.startswith(f"{tower}_model.") for layer in layers)]
    said = []
    for tower in towers:
        count = _count(encoder, tower)
        of_list = {_block(layer) for layer in named if layer.startswith(f"{tower}_model.")}
        said.append(layers_said(of_list or _pattern_blocks(targets, tower) or range(count), count))
    names = {layer.rsplit(".", 1)[1] for layer in layers}
    return LoraSettings(
        towers="both" if len(towers) == 2 else towers[0],
        targets=tuple(sorted(names, key=lambda name: ALL_LINEAR.index(name) if name in ALL_LINEAR else -1)),
        rank=int(config["r"]),
        alpha=float(config["lora_alpha"]),
        rslora=bool(config.get("use_rslora", False)),
        dropout=float(config.get("lora_dropout", 0.0)),
        layers=said[0],
        vision_layers=said[1] if len(set(said)) == 2 else None,
    )


def _block(layer: str) -> int:
    """The block of a layer, by its name: text_model.encoder.layers.3.self_attn.q_proj is in block 3."""
    return int(layer.split(".encoder.layers.")[1].split(".", maxsplit=1)[0])


_BLOCKS_IN_PATTERN = re.compile(
    r"(?P<towers>text|vision|\(text\|vision\)|\(vision\|text\))_model\\\.encoder\\\.layers\\\."
    r"(?P<numbers>\d+|\(\d+(?:\|\d+)*\))(?=\\\.|\||\))"
)


def _pattern_blocks(pattern: object, tower: str) -> set[int]:
    """The blocks of a tower that a pattern lists by number, as those written here do; empty where it lists none.

    A pattern is read and never run: one in a file from elsewhere could keep the machine busy for ever.
    """
    found: set[int] = set()
    for match in _BLOCKS_IN_PATTERN.finditer(str(pattern)):
        if tower in match["towers"]:
            found |= set(map(int, re.findall(r"\d+", match["numbers"])))
    return found


def _named_layers(encoder: ClipEncoder, targets: list, some_blocks: object) -> set[str]:
    """Layers that a list of target names means in PEFT: those whose path ends in one.

    ``some_blocks``: layers_to_transform, the number of the blocks that are meant, one or a list; all without it.
    """
    linear = [name for name, module in encoder.clip.named_modules() if isinstance(module, torch.nn.Linear)]
    found: set[str] = set()
    for target in targets:
        matching = {name for name in linear if name == target or name.endswith(f".{target}")}
        if not matching:
            raise UserError(
                got=f"target module {target!r}, which matches no layer of this model",
                expected="names of its layers, such as q_proj",
                do="use the adapter on the model it was trained on",
            )
        found |= matching
    outside = sorted(name for name in found if "_model.encoder.layers." not in name)
    if outside:
        raise UserError(
            got=f"target modules that take in {outside[0]}",
            expected="layers inside the blocks of the towers",
            do="merge the adapter into its base with PEFT, and use the merged model",
        )
    if some_blocks in (None, []):
        return found
    wanted = some_blocks if isinstance(some_blocks, list) else [some_blocks]
    kept = {layer for layer in found if _block(layer) in wanted}
    there = [_block(layer) for layer in kept]
    if any(block not in there for block in wanted):
        raise UserError(
            got=f"{_SOME_BLOCKS} = {some_blocks!r}, more blocks than this model has",
            expected="numbers of its blocks",
            do="use the adapter on the model it was trained on",
        )
    return kept


def _require_complete(
    encoder: ClipEncoder, settings: LoraSettings, weights: dict[tuple[str, str], Tensor], folder: Path
) -> None:
    wanted: dict[tuple[str, str], tuple[int, ...]] = {}
    blocks = adapted_blocks(encoder, settings)
    for name, module in encoder.clip.named_modules():
        tower, leaf = name.split("_model.")[0], name.rsplit(".", 1)[-1]
        if not isinstance(module, torch.nn.Linear) or ".encoder.layers." not in name:
            continue
        if _block(name) in blocks.get(tower, ()) and leaf in settings.targets:
            wanted[name, "lora_A"] = (settings.rank, module.in_features)
            wanted[name, "lora_B"] = (module.out_features, settings.rank)
    if wanted.keys() != weights.keys():
        missing, extra = sorted(wanted.keys() - weights.keys()), sorted(weights.keys() - wanted.keys())
        first = ".".join((missing or extra)[0])
        raise UserError(
            got=f"{folder} with {len(missing)} weights missing and {len(extra)} without a layer, {first} for one",
            expected=f"lora_A and lora_B for each of {len(wanted) // 2} adapted layers",
            do="use the complete adapter, on the model it was trained on",
        )
    for (layer, matrix), shape in wanted.items():
        if tuple(weights[layer, matrix].shape) != shape:
            raise UserError(
                got=f"{layer}.{matrix} of shape {tuple(weights[layer, matrix].shape)}",
                expected=f"{shape}",
                do="use the adapter on the model it was trained on",
            )
