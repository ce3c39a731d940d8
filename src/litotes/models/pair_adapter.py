"""What gives a pair its score: made by name, kept in a folder with all it belongs to, loaded only where it fits."""

import json
import shutil
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

import litotes
from litotes.config import record, require_known
from litotes.data.images import sha256_of_file
from litotes.errors import UserError
from litotes.models.matcher import Matcher
from litotes.models.pair_backbone_file import Origin, load_pair_backbone, read_pair_backbone, save_pair_backbone
from litotes.models.pair_baselines import CosineLogits, DeterministicAdapter
from litotes.models.pair_calibration import CALIBRATION, load_calibration
from litotes.models.pair_trained_on import TrainedOn, write_trained_on
from litotes.models.tensors import save_tensors
from litotes.models.variational import AdapterConfig, VariationalAdapter
from litotes.objectives.space import require_choice
from litotes.places import require_files

Kind = Literal["variational", "deterministic", "cosine"]
PairModel = VariationalAdapter | DeterministicAdapter | CosineLogits
"""A module with ``logits(image, text)`` of all pairs, [bi, d] and [bt, d] to [bi, bt], or ``paired`` ones to [b, 1]."""

WEIGHTS = "pair_adapter.safetensors"
SIDE_FILE = "pair_adapter.json"
BACKBONE = "backbone"
"""Folder of the backbone within that of the model, where both were trained together."""
FORMAT = 1


def new_pair_model(kind: Kind, config: AdapterConfig, *, seed: int = 0, scale: float = 10.0) -> PairModel:
    """A fresh model of the named kind.

    variational: VACSR's adapter; deterministic: as large, without a distribution; cosine: no adapter, a learned scale
    and bias alone, which start at ``scale`` and ``-scale`` (SigLIP's 10 and -10 by default) and know nothing of config.
    """
    if kind == "cosine":
        return CosineLogits(scale, -scale)
    return (VariationalAdapter if kind == "variational" else DeterministicAdapter)(config, seed=seed)


@dataclass(frozen=True)
class PairAdapterRecord:
    """What a saved model is and what it belongs to: the side file.

    kind, config: what ``new_pair_model`` takes, readings of the paper included. base_sha256: of the backbone's base
    weights. adapter_sha256: of the LoRA adapter (HANCLIP) on it, None without one. features_sha256: of all that decides
    an embedding, vocabulary and picture transform included. objective: what it was trained on, for the reader.
    weights_sha256: of the file of weights beside. backbone_sha256: of the weights of the backbone that was trained with
    it, in the folder ``BACKBONE`` (base_sha256 is then that of its trained towers); None where features were frozen.
    """

    kind: Kind
    config: AdapterConfig
    base_sha256: str
    adapter_sha256: str | None
    features_sha256: str
    objective: dict[str, Any]
    weights_sha256: str
    tool_version: str = litotes.__version__
    format: int = FORMAT
    backbone_sha256: str | None = None


def save_pair_adapter(
    model: PairModel, kind: Kind, config: AdapterConfig, matcher: Matcher, objective: dict[str, Any], folder: Path,
    origin: Origin | None = None, data: TrainedOn | None = None,
) -> PairAdapterRecord:  # fmt: skip
    """Write weights and side file, whole or not at all: ``folder`` is replaced at once by a complete one.

    matcher: the backbone whose features the model was trained on. origin: what that backbone was trained from, where
    it was trained with the model, whole (``matcher.pooled``) or in some blocks; it is then kept in the same folder.
    data: what it was trained on, kept there too where it is given. A calibration of the very same weights stays in the
    folder, one of others goes. Errors: those of ``save_pair_backbone``.
    """
    partial, old = folder.with_name(folder.name + ".partial"), folder.with_name(folder.name + ".old")
    for left_behind in (partial, old):
        shutil.rmtree(left_behind, ignore_errors=True)
    partial.mkdir(parents=True)
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    save_tensors(weights, partial / WEIGHTS)
    backbone = None
    if origin:
        backbone = save_pair_backbone(matcher, origin, partial / BACKBONE).weights_sha256
    side = PairAdapterRecord(
        kind, config, matcher.base, matcher.adapter_sha256, matcher.fingerprint, objective,
        sha256_of_file(partial / WEIGHTS), backbone_sha256=backbone,
    )  # fmt: skip
    (partial / SIDE_FILE).write_text(json.dumps(record(side), indent=1) + "\n", encoding="utf-8")
    if data:
        write_trained_on(data, partial)
    if _calibrated(folder, side.weights_sha256):
        shutil.copy2(folder / CALIBRATION, partial)
    if folder.exists():
        folder.rename(old)
    partial.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    return side


def load_pair_adapter(folder: Path, matcher: Matcher) -> tuple[PairModel, PairAdapterRecord]:
    """The model of a folder, frozen and on the backbone's device, with its side file.

    Where a backbone was trained with it, ``matcher`` is the plain base of that one, and embeds by it afterwards
    (``load_pair_backbone``).

    Errors: files that are missing, cut or of different models; a newer version's settings; another width, base or
    LoRA adapter than those it was trained on, or another vocabulary or picture transform; weights that are missing, of
    another shape, or not finite.
    """
    side = read_pair_adapter(folder)
    if side.backbone_sha256 is None:
        _require_fit(side, matcher, folder)
    model = new_pair_model(side.kind, side.config)
    weights = _weights(folder / WEIGHTS, side.weights_sha256)
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    bad = [name for name, tensor in weights.items() if not torch.isfinite(tensor).all()]
    if wanted != found or bad:
        odd = sorted({name for name, _ in wanted.items() ^ found.items()}) or bad
        raise UserError(
            got=f"{folder / WEIGHTS} with weights that do not fit {SIDE_FILE} or are not finite, {odd[0]} for one",
            expected=f"{len(wanted)} finite tensors of the sizes that {SIDE_FILE} says",
            do="copy both files of the adapter again",
        )
    model.load_state_dict(weights)
    model.requires_grad_(requires_grad=False)
    if side.backbone_sha256:
        load_pair_backbone(folder / BACKBONE, matcher)
        _require_fit(side, matcher, folder)
    return model.eval().to(matcher.encoder.device), side


def require_pair_adapter(folder: Path) -> None:
    """Refuse a folder that holds no such model, without reading it."""
    require_files(
        folder, (SIDE_FILE, WEIGHTS), "a folder pair-adapter as litotes train vacsr writes it", "check the path"
    )


def read_pair_adapter(folder: Path) -> PairAdapterRecord:
    """The side file alone. Errors: missing files; no JSON, unknown or missing keys, values out of range.

    Also: a backbone that was trained with the model and is not there, or is another one.
    """
    require_pair_adapter(folder)
    side = _side(folder / SIDE_FILE)
    if side.backbone_sha256 and read_pair_backbone(folder / BACKBONE).weights_sha256 != side.backbone_sha256:
        raise UserError(
            got=f"{folder / BACKBONE}, another backbone than {folder / SIDE_FILE} names",
            expected=f"the one that was trained with it, of SHA-256 {side.backbone_sha256[:12]}",
            do="copy the whole folder again",
        )
    return side


def _side(path: Path) -> PairAdapterRecord:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        needed = [field.name for field in fields(PairAdapterRecord) if field.default is MISSING] + ["format"]
        if not isinstance(values, dict) or not isinstance(values.get("config", {}), dict):
            raise _broken(path, "which is no JSON object with a config in it")
        if absent := [name for name in needed if name not in values]:
            raise _broken(path, f"without {', '.join(absent)}")
        config = values.pop("config")
        if values["format"] != FORMAT:
            raise UserError(
                got=f"{path} of format {values['format']}",
                expected=f"format {FORMAT}, which this version reads",
                do="use the version of litotes that wrote it, or a newer one",
            )
        require_choice("kind", values["kind"], get_args(Kind))
        require_known(values, [field.name for field in fields(PairAdapterRecord)], str(path))
        require_known(config, [field.name for field in fields(AdapterConfig)], str(path))
        return PairAdapterRecord(config=AdapterConfig(**config), **values)
    except ValueError as error:
        raise _broken(path, f"which is no JSON: {error}") from error
    except TypeError as error:
        raise _broken(path, "with a value of another kind than it needs") from error


def _broken(path: Path, problem: str) -> UserError:
    return UserError(
        got=f"{path}, {problem}",
        expected="the side file as litotes train vacsr writes it",
        do="copy the adapter again",
    )


def _calibrated(folder: Path, weights_sha256: str) -> bool:
    """Whether the folder has a calibration of these weights that can be read."""
    try:
        return load_calibration(folder, weights_sha256) is not None
    except UserError:
        return False


def _require_fit(side: PairAdapterRecord, matcher: Matcher, folder: Path) -> None:
    """Refuse another backbone than the one whose features the model learned on."""
    if side.config.features != matcher.dimension:
        raise UserError(
            got=f"{folder}, an adapter for features of {side.config.features} numbers, "
            f"beside a model of {matcher.dimension}",
            expected="a model whose embeddings are as wide as the adapter",
            do="load the model that the adapter was trained on",
        )
    if side.base_sha256 != matcher.base:
        raise UserError(
            got=f"base model {matcher.base[:12]} for an adapter of pairs trained on {side.base_sha256[:12]}",
            expected="the base that it was trained on (a merged model is another base)",
            do="load the adapter's own base",
        )
    if side.adapter_sha256 != matcher.adapter_sha256:
        raise UserError(
            got=f"{_lora(matcher.adapter_sha256)} on the model",
            expected=f"{_lora(side.adapter_sha256)}, as when {folder} was trained",
            do="name that adapter (--adapter)" if side.adapter_sha256 else "leave out --adapter",
        )
    if side.features_sha256 != matcher.fingerprint:
        raise UserError(
            got="the right weights with another activation, vocabulary, context or picture transform than "
            f"{folder} was trained on",
            expected=f"features of SHA-256 {side.features_sha256[:12]} (here {matcher.fingerprint[:12]})",
            do="load the model with its own configuration, tokenizer and preprocessor files; train an adapter of pairs "
            "again that an earlier version of litotes wrote",
        )


def _lora(sha256: str | None) -> str:
    return f"LoRA adapter {sha256[:12]}" if sha256 else "no LoRA adapter"


def _weights(path: Path, sha256: str) -> dict[str, Tensor]:
    content = path.read_bytes()
    if sha256_of_file(path) != sha256:
        raise UserError(
            got=f"{path}, which is not the file that {SIDE_FILE} belongs to (SHA-256 differs)",
            expected="both files of one adapter, whole",
            do="copy both again",
        )
    try:
        return load(content)
    except SafetensorError as error:
        raise UserError(
            got=f"{path}, which cannot be read: {error}", expected="a whole safetensors file", do="copy it again"
        ) from error
