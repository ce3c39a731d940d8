"""LoRA adapters through PEFT: mounting, saving with a side file, strict loading, merging."""

import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from peft import LoraConfig as PeftLoraConfig
from peft import get_peft_model
from peft.tuners.lora import LoraLayer
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from litotes.errors import UserError
from litotes.models.clip import ClipEncoder
from litotes.models.matcher import Matcher
from litotes.models.tensors import save_tensors

ATTENTION = ("q_proj", "k_proj", "v_proj")
ALL_LINEAR = ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")
TOWERS = {"text": ("text",), "vision": ("vision",), "both": ("text", "vision")}
SIDE_FILE = "litotes_adapter.json"
SCALE_FILE = "litotes_logit_scale.safetensors"
_WEIGHTS = "adapter_model.safetensors"
_CONFIG = "adapter_config.json"


@dataclass(frozen=True)
class LoraSettings:
    """Which matrices get a low-rank update, and how large.

    W x becomes W x + s B A x with A [rank, in], B [out, rank], B starting at 0; s = alpha / sqrt(rank) under
    ``rslora`` (CLIP-LoRA's rule, the default) or alpha / rank. towers: "text", "vision" or "both". targets: names of
    linear layers inside a block (``ATTENTION`` or ``ALL_LINEAR``). dropout: on the input of A, in training.
    Source: Hu et al. 2021; defaults of CLIP-LoRA (Zanella & Ben Ayed 2024), which HANCLIP follows.
    """

    towers: str = "both"
    targets: tuple[str, ...] = ATTENTION
    rank: int = 2
    alpha: float = 1.0
    rslora: bool = True
    dropout: float = 0.25

    def __post_init__(self) -> None:
        if self.towers not in TOWERS:
            raise UserError(got=f"towers {self.towers!r}", expected="text, vision or both", do="choose one of these")
        unknown = [target for target in self.targets if target not in ALL_LINEAR]
        if unknown or not self.targets:
            raise UserError(
                got=f"target {unknown[0]!r}, which matches no layer" if unknown else "no targets",
                expected=f"names among {', '.join(ALL_LINEAR)}",
                do="correct the name; one wrong name among right ones would silently adapt less",
            )
        if not (self.rank >= 1 and 0 < self.alpha < math.inf and 0 <= self.dropout < 1):
            raise UserError(
                got=f"rank {self.rank}, alpha {self.alpha}, dropout {self.dropout}",
                expected="a rank of 1 or more, a finite alpha above 0, a dropout from 0 to below 1",
                do="correct the number that is out of its range",
            )

    @property
    def scaling(self) -> float:
        """The factor s on B A."""
        return self.alpha / (math.sqrt(self.rank) if self.rslora else self.rank)


def add_lora(encoder: ClipEncoder, settings: LoraSettings, seed: int = 0) -> int:
    """Mount fresh adapters on the encoder, freeze everything else, and return how many layers are adapted.

    The adapted model equals the base bit for bit before the first step, since B is 0. A is drawn from ``seed``.
    Errors: an adapter is already mounted; another number of adapted layers than blocks times targets.
    """
    _require_bare(encoder)
    blocks = sum(_blocks(encoder, tower) for tower in TOWERS[settings.towers])
    expected = blocks * len(set(settings.targets))
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        # peft asks transformers by a name that is going away there; nothing that a user could change.
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
        torch.manual_seed(seed)
        get_peft_model(encoder.clip, _peft_config(settings))
    mounted = len(adapted_layers(encoder))
    if mounted != expected:
        raise UserError(
            got=f"{mounted} adapted layers",
            expected=f"{expected}: each of {', '.join(settings.targets)} in every block of the {settings.towers} tower",
            do="report this with the model's config.json: its layers are named in another way",
        )
    return mounted


def adapted_layers(encoder: ClipEncoder) -> dict[str, LoraLayer]:
    """Layers that carry an adapter, by module name."""
    return {name: module for name, module in encoder.clip.named_modules() if isinstance(module, LoraLayer)}


def save_adapter(matcher: Matcher, settings: LoraSettings, folder: Path) -> None:
    """Write the adapter as a PEFT folder, with side files for what PEFT leaves out.

    ``adapter_config.json`` and ``adapter_model.safetensors`` load in any PEFT; ``litotes_adapter.json`` holds the
    fingerprint, sizes, context and activation of the base, and the logit scale stands in its own safetensors file.
    """
    encoder = matcher.encoder
    if not adapted_layers(encoder):
        raise UserError(got="a model without a mounted adapter", expected="an adapter to save", do="mount one first")
    folder.mkdir(parents=True, exist_ok=True)
    weights = {f"base_model.model.{name}": tensor for name, tensor in _lora_state(encoder).items()}
    save_tensors(weights, folder / _WEIGHTS, metadata={"format": "pt"})
    _peft_config(settings, inference_mode=True).save_pretrained(str(folder))
    scale = encoder.clip.logit_scale.detach().cpu().reshape(1)
    save_tensors({"logit_scale": scale}, folder / SCALE_FILE)
    side = {"base_sha256": matcher.base, "base": _base_sizes(encoder), "lora": asdict(settings)}
    (folder / SIDE_FILE).write_text(json.dumps(side, indent=1) + "\n")


def load_adapter(matcher: Matcher, folder: str | Path, *, any_base: bool = False) -> LoraSettings:
    """Mount a saved adapter for inference and return its settings.

    The adapter must name this base by its hash; one written by another tool names none and needs ``any_base``. Every
    weight of the file must fit a layer and every layer that the adapter names must find its weights: an adapter that
    would load as nothing, or by half, is refused, before the model is touched. The two key prefixes that other tools
    write (``module.`` in front, or no ``base_model.model.``) are understood. Of PEFT's options those of
    ``LoraSettings`` are applied; an adapter that uses another (DoRA, another rank in some layers, ...) is refused.
    """
    folder, encoder = Path(folder), matcher.encoder
    _require_bare(encoder)
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


def merge_adapter(matcher: Matcher, strength: float = 1.0) -> None:
    """Fold the adapter into the base weights in float32: W + strength * s B A; 0 is the base, 1 the adapted model.

    Errors: nothing is mounted, so that merging twice is noticed.
    """
    layers = adapted_layers(matcher.encoder)
    if not layers:
        raise UserError(
            got="a model without a mounted adapter",
            expected="an adapter to merge (a merged one is no longer there)",
            do="load the adapter first, and merge once",
        )
    _dismount(matcher.encoder, strength, {name: _delta(layer) for name, layer in layers.items()})
    matcher.adapter = f"{matcher.adapter}, merged at {strength:g}" if matcher.adapter else f"merged at {strength:g}"


def merge_adapters(
    matcher: Matcher, folders: Sequence[str | Path], strength: float = 1.0, *, any_base: bool = False
) -> None:
    """Fold saved adapters of one base into it in float32: W + strength * sum over i of s_i B_i A_i.

    The logit scale moves by the same sum: l + strength * sum of (l_i - l). ``folders``: each an adapter of the base as
    it is before any of them is merged (``load_adapter``, which reads them one after another); ranks, layers and scaling
    may differ. Edges: no folders change nothing; strength 0 is the base bit for bit.

    Errors: those of ``load_adapter``, for any of them before a weight changes; a folder that is given twice.

    Summed here, since PEFT 0.21's ``add_weighted_adapter`` scales rank-stabilised adapters by sqrt(rank) too much.
    """
    twice = [folder for i, folder in enumerate(folders) if Path(folder).resolve() in map(_resolved, folders[:i])]
    if twice:
        raise UserError(got=f"{twice[0]} twice", expected="each adapter once", do="leave one of them out")
    scale, before = matcher.encoder.clip.logit_scale, matcher.adapter
    own = scale.detach().double()
    moved, sums, names = torch.zeros_like(own), dict[str, Tensor](), list[str]()
    for folder in folders:
        settings = load_adapter(matcher, folder, any_base=any_base)
        names.append(f"{Path(folder).name} ({describe(settings)})")
        for name, layer in adapted_layers(matcher.encoder).items():
            sums[name] = sums[name] + _delta(layer) if name in sums else _delta(layer)
        moved += scale.detach().double() - own
        _dismount(matcher.encoder)
        matcher.adapter = before
        with torch.no_grad():
            scale.copy_(own)
    for name, total in sums.items():
        _add(matcher.encoder.clip.get_submodule(name).weight, total, strength)
    with torch.no_grad():
        scale.copy_(own + strength * moved)
    if names:
        merged = f"{' + '.join(names)}, merged at {strength:g}"
        matcher.adapter = f"{before}; {merged}" if before else merged


def _resolved(folder: str | Path) -> Path:
    return Path(folder).resolve()


def _delta(layer: LoraLayer) -> Tensor:
    """The update s B A of a mounted adapter, in float32."""
    return layer.get_delta_weight("default").detach().float()


@torch.no_grad()
def _add(weight: Tensor, delta: Tensor, strength: float) -> None:
    if strength:  # a sum with 0 would turn a weight of -0 to 0, and so the hash of the base
        weight.copy_((weight.float() + strength * delta).to(weight.dtype))


def _dismount(encoder: ClipEncoder, strength: float = 0.0, deltas: Mapping[str, Tensor] | None = None) -> None:
    """Put the plain layers back, with ``deltas`` added to them where given."""
    for name, layer in adapted_layers(encoder).items():
        base = layer.get_base_layer()
        if deltas is not None:
            _add(base.weight, deltas[name], strength)
        parent, _, leaf = name.rpartition(".")
        setattr(encoder.clip.get_submodule(parent), leaf, base)
    # peft would take the plain model for an adapted one.
    del encoder.clip.peft_config


def describe(settings: LoraSettings) -> str:
    """One line with every setting, and the scaling that follows from them."""
    rule = "rsLoRA" if settings.rslora else "LoRA"
    return (
        f"{rule} on {'+'.join(settings.targets)} of {settings.towers}, rank {settings.rank}, "
        f"alpha {settings.alpha:g}, scaling {settings.scaling:.4f}, dropout {settings.dropout:g}"
    )


def _require_bare(encoder: ClipEncoder) -> None:
    if adapted_layers(encoder):
        raise UserError(
            got="a model that already carries an adapter",
            expected="a base model",
            do="load the base again, or merge the adapter first",
        )


def _blocks(encoder: ClipEncoder, tower: str) -> int:
    return int(getattr(encoder.clip.config, f"{tower}_config").num_hidden_layers)


def _peft_config(settings: LoraSettings, inference_mode: bool = False) -> PeftLoraConfig:
    pattern = rf"({'|'.join(TOWERS[settings.towers])})_model\.encoder\.layers\.\d+\..*\.({'|'.join(settings.targets)})"
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
        "text_layers": _blocks(encoder, "text"), "vision_layers": _blocks(encoder, "vision"),
        "context_length": encoder.context_length, "image_size": encoder.image_size, "activation": encoder.activation,
    }  # fmt: skip


def require_adapter_files(folder: Path) -> None:
    """Refuse a folder that holds no adapter, without reading it."""
    missing = [name for name in (_CONFIG, _WEIGHTS) if not (folder / name).is_file()]
    if missing:
        raise UserError(
            got=f"{folder} without {' and '.join(missing)}",
            expected="an adapter folder as PEFT writes it",
            do="check the path of the adapter",
        )


def _read_config(folder: Path) -> dict:
    require_adapter_files(folder)
    config = _json(folder / _CONFIG)
    if config.get("peft_type") != "LORA":
        raise UserError(
            got=f"an adapter of type {config.get('peft_type')!r}", expected="LORA", do="give a LoRA adapter"
        )
    other = [f"{key} = {config[key]!r}" for key in _NOT_APPLIED if config.get(key) not in (None, False, "none", {}, [])]
    if other:
        raise UserError(
            got=f"{folder / _CONFIG} with {', '.join(other)}",
            expected="plain LoRA: one rank, one alpha, whole blocks",
            do="merge the adapter into its base with PEFT, and use the merged model",
        )
    return config


_NOT_APPLIED = (
    "alpha_pattern", "rank_pattern", "use_dora", "use_qalora", "use_bdlora", "lora_bias", "bias", "fan_in_fan_out",
    "modules_to_save", "layers_to_transform", "layer_replication", "exclude_modules", "target_parameters",
    "trainable_token_indices", "alora_invocation_tokens",
)  # fmt: skip
"""Options of PEFT that change what an adapter does and that are not applied here."""


def _json(path: Path) -> dict:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(got=f"{path}: {error}", expected="valid JSON", do="copy the adapter again") from error
    if not isinstance(values, dict):
        raise UserError(got=f"{path} without keys", expected="a JSON object", do="copy the adapter again")
    return values


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except SafetensorError as error:
        raise UserError(
            got=f"{path}, which cannot be read: {error}", expected="a whole safetensors file", do="copy it again"
        ) from error


def _require_base(matcher: Matcher, config: dict, folder: Path, any_base: bool) -> None:
    side = folder / SIDE_FILE
    if not side.is_file():
        if any_base:
            return
        raise UserError(
            got=f"{folder}, an adapter without {SIDE_FILE}, so of an unknown base",
            expected="an adapter that names its base by hash",
            do="say any_base (--any-base) if you are sure that it belongs to this model",
        )
    record = _json(side)
    if record["base_sha256"] != matcher.base:
        raise UserError(
            got=f"base model {matcher.base[:12]} for an adapter trained on {record['base_sha256'][:12]}",
            expected="the base that the adapter was trained on (a merged model is another base)",
            do="load the adapter's own base; --any-base is for adapters that name none",
        )
    for ours, theirs in (("rank", "r"), ("alpha", "lora_alpha"), ("rslora", "use_rslora")):
        if record["lora"][ours] != config[theirs]:
            raise UserError(
                got=f"{theirs} = {config[theirs]} in {_CONFIG}, {ours} = {record['lora'][ours]} in {SIDE_FILE}",
                expected="the same number in both files",
                do="undo the change in one of the files",
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
    layers = _named_layers(encoder, config.get("target_modules")) or {layer for layer, _ in weights}
    towers = {layer.split("_model.")[0] for layer in layers}
    names = {layer.rsplit(".", 1)[1] for layer in layers}
    return LoraSettings(
        towers="both" if len(towers) == 2 else towers.pop(),
        targets=tuple(sorted(names, key=lambda name: ALL_LINEAR.index(name) if name in ALL_LINEAR else -1)),
        rank=int(config["r"]),
        alpha=float(config["lora_alpha"]),
        rslora=bool(config.get("use_rslora", False)),
        dropout=float(config.get("lora_dropout", 0.0)),
    )


def _named_layers(encoder: ClipEncoder, targets: object) -> set[str]:
    """Layers that a list of target names means in PEFT: those whose path ends in one; a pattern is not run.

    A pattern in a file from elsewhere could keep the machine busy for ever. The file's own weights then say what is
    adapted, and blocks still have to be complete.
    """
    if not isinstance(targets, list):
        return set()
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
    return found


def _require_complete(
    encoder: ClipEncoder, settings: LoraSettings, weights: dict[tuple[str, str], Tensor], folder: Path
) -> None:
    wanted: dict[tuple[str, str], tuple[int, ...]] = {}
    for name, module in encoder.clip.named_modules():
        tower, leaf = name.split("_model.")[0], name.rsplit(".", 1)[-1]
        if isinstance(module, torch.nn.Linear) and tower in TOWERS[settings.towers] and leaf in settings.targets:
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
