"""The adapter file of CLIP-LoRA (Zanella & Ben Ayed 2024), read as weights for layers of ours."""

from collections.abc import Collection, Mapping
from pathlib import Path

import torch
from torch import Tensor

from litotes.backbones.tensor_file import read_torch_file
from litotes.errors import UserError
from litotes.models.lora_settings import LAYER_NAMES, TOWERS, LoraSettings, block_indices

_MATRICES = {"q": ("q_proj", "q_proj"), "k": ("k_proj", "k_proj"), "v": ("v_proj", "v_proj"), "o": ("proj", "out_proj")}
"""By the letter of its metadata: the name of a matrix in the file, and of the layer here."""
_FACTORS = {"w_lora_A": "lora_A", "w_lora_B": "lora_B"}
_FACTS = ("r", "alpha", "encoder", "params", "position")


def read_clip_lora(path: Path, blocks: Mapping[str, int]) -> tuple[LoraSettings, dict[tuple[str, str], Tensor]]:
    """Settings and weights of an adapter that CLIP-LoRA saved; weights by layer and "lora_A" or "lora_B".

    The file is ``{weights: {layer_0, ...: {q_proj, k_proj, v_proj, proj: {w_lora_A [r, in], w_lora_B [out, r]}}},
    metadata: {r, alpha, encoder, params, position}}``: adapted blocks are counted through, those of texts before those
    of pictures. ``blocks``: how many each tower of the model has. The update is alpha / sqrt(r) B A, as CLIP-LoRA
    scales it (rank-stabilised); dropout, which is not recorded, is 0. Nothing in the file is run.

    Errors: those of ``read_torch_file``; other entries than these, none of them missing, nothing beside them; facts
    out of their range; matrices that are not finite. Shapes are compared with the model by ``load_adapter``.
    """
    content = _mapping(path, "the file", read_torch_file(path))
    _require_keys(path, "the file", content, ("weights", "metadata"))
    settings, letters = _settings(path, _mapping(path, "metadata", content["metadata"]))
    layers = _mapping(path, "weights", content["weights"])
    places = [
        (tower, block) for tower in TOWERS[settings.towers] for block in block_indices(settings.layers, blocks[tower])
    ]
    _require_keys(path, "weights", layers, [f"layer_{i}" for i in range(len(places))])
    found = {}
    for i, (tower, block) in enumerate(places):
        where = f"layer_{i}"
        layer = _mapping(path, where, layers[where])
        _require_keys(path, where, layer, [_MATRICES[letter][0] for letter in letters])
        for letter in letters:
            theirs, ours = _MATRICES[letter]
            factors = _mapping(path, f"{where}.{theirs}", layer[theirs])
            _require_keys(path, f"{where}.{theirs}", factors, list(_FACTORS))
            for name, factor in _FACTORS.items():
                tensor = _matrix(path, f"{where}.{theirs}.{name}", factors[name])
                found[f"{tower}_model.encoder.layers.{block}.self_attn.{ours}", factor] = tensor
    return settings, found


def _settings(path: Path, facts: Mapping[str, object]) -> tuple[LoraSettings, list[str]]:
    _require_keys(path, "metadata", facts, _FACTS)
    rank, alpha, towers, letters, position = (facts[name] for name in _FACTS)
    sound = {
        "r": type(rank) is int and rank >= 1,
        "alpha": type(alpha) in (int, float),
        "encoder": towers in list(TOWERS),
        "params": isinstance(letters, list | tuple) and bool(letters) and all(x in list(_MATRICES) for x in letters),
        "position": position in list(LAYER_NAMES),
    }
    wrong = [name for name, right in sound.items() if not right]
    if wrong:
        raise _refusal(
            path,
            f"{wrong[0]} = {facts[wrong[0]]!r} in its metadata",
            "r and alpha as numbers, encoder text, vision or both, params among q, k, v and o, position one of "
            + ", ".join(LAYER_NAMES),
        )
    chosen = [letter for letter in _MATRICES if letter in list(letters)]  # type: ignore[call-overload]
    settings = LoraSettings(
        towers=str(towers), targets=tuple(_MATRICES[letter][1] for letter in chosen), rank=int(str(rank)),
        alpha=float(str(alpha)), rslora=True, dropout=0.0, layers=str(position),
    )  # fmt: skip
    return settings, chosen


def _mapping(path: Path, where: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _refusal(path, f"{type(value).__name__} as {where}", "a dictionary there")
    return value


def _require_keys(path: Path, where: str, found: Mapping[str, object], wanted: Collection[str]) -> None:
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    if missing or extra:
        problems = [f"no {missing[0]}"] if missing else []
        problems += [f"an unknown {extra[0]!r}"] if extra else []
        raise _refusal(path, f"{' and '.join(problems)} in {where}", f"{', '.join(wanted)}, and nothing else")


def _matrix(path: Path, where: str, value: object) -> Tensor:
    if not (isinstance(value, Tensor) and value.dim() == 2 and value.is_floating_point()):
        found = f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise _refusal(path, f"{found} as {where}", "a matrix of floating point numbers")
    if not torch.isfinite(value).all():
        raise _refusal(path, f"NaN or infinite numbers in {where}", "finite numbers")
    return value


def _refusal(path: Path, got: str, expected: str) -> UserError:
    return UserError(
        got=f"{path} with {got}",
        expected=f"an adapter as CLIP-LoRA saves it: {expected}",
        do="use the file that CLIP-LoRA wrote, or a PEFT folder; with the model that the adapter was trained on",
    )
