"""Checkpoints as safetensors and JSON, written whole or not at all."""

import json
import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.amp import GradScaler

from litotes.errors import UserError
from litotes.models.tensors import save_tensors

PREFIX = "checkpoint-"
PARTIAL = ".partial"
WEIGHTS = "weights.safetensors"


@dataclass(frozen=True)
class Progress:
    """Where a run stands: steps done, and the settings that it may only be resumed with."""

    step: int
    settings: dict[str, object]


def trainable(module: nn.Module) -> dict[str, nn.Parameter]:
    """Parameters that are trained, by name."""
    return {name: p for name, p in module.named_parameters() if p.requires_grad}


def save_checkpoint(
    run: Path, module: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress, scaler: GradScaler | None = None
) -> Path:
    """Write ``checkpoint-STEP``: trained weights, optimiser state, random state and settings.

    ``scaler``: of mixed precision in float16, whose scale is part of the state. Everything goes into a ``.partial``
    folder that is flushed and then renamed, so a folder without that suffix is always whole, whenever the process is
    killed.
    """
    final = run / f"{PREFIX}{progress.step:06d}"
    partial = final.with_name(final.name + PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    weights = trainable(module)
    save_tensors({name: p.detach().cpu().contiguous() for name, p in weights.items()}, partial / WEIGHTS)
    save_tensors(_optimizer_state(weights, optimizer) | _torch_random_state(), partial / "state.safetensors")
    state = {
        "step": progress.step,
        "settings": progress.settings,
        "random": _python_random_state(),
        "scaler": scaler.state_dict() if scaler else None,
    }
    (partial / "state.json").write_text(json.dumps(state, indent=1))
    for file in partial.iterdir():
        _flush(file)
    _flush(partial)
    shutil.rmtree(final, ignore_errors=True)
    partial.rename(final)
    _flush(run)
    return final


def latest_checkpoint(run: Path) -> Path | None:
    """The whole checkpoint with the most steps; half-written ones do not count."""
    whole = _whole(run)
    return whole[-1] if whole else None


def read_progress(folder: Path) -> Progress:
    """Step and settings of a checkpoint, without its tensors."""
    state = json.loads((folder / "state.json").read_text())
    return Progress(state["step"], state["settings"])


def load_checkpoint(
    folder: Path, module: nn.Module, optimizer: torch.optim.Optimizer, scaler: GradScaler | None = None
) -> Progress:
    """Restore weights, optimiser, random state and loss scale; names and shapes must match exactly."""
    state = json.loads((folder / "state.json").read_text())
    tensors = load_file(folder / "state.safetensors")
    load_weights(folder, module)
    _restore_optimizer(trainable(module), optimizer, tensors)
    _restore_random_state(state["random"], tensors)
    if scaler and state["scaler"]:
        scaler.load_state_dict(state["scaler"])
    return Progress(state["step"], state["settings"])


def load_weights(folder: Path, module: nn.Module) -> None:
    """Restore the trained weights alone."""
    saved = _saved_weights(folder, module)
    with torch.no_grad():
        for name, parameter in trainable(module).items():
            parameter.copy_(saved[name])


def mix_weights(folder: Path, module: nn.Module, share: float) -> None:
    """Move the trained weights to the share 0 .. 1 of the way from where they are to those of a checkpoint."""
    saved = _saved_weights(folder, module)
    with torch.no_grad():
        for name, parameter in trainable(module).items():
            parameter.lerp_(saved[name].to(parameter), share)


def _saved_weights(folder: Path, module: nn.Module) -> dict[str, torch.Tensor]:
    """The weights of a checkpoint, if they are those that the module trains."""
    saved, wanted = load_file(folder / WEIGHTS), trainable(module)
    shapes = {name: p.shape for name, p in saved.items()}, {name: p.shape for name, p in wanted.items()}
    if shapes[0] != shapes[1]:
        odd = sorted({name for name, _ in shapes[0].items() ^ shapes[1].items()})
        raise UserError(
            got=f"{folder} with other trained weights ({odd[0]} and {len(odd) - 1} more differ)",
            expected=f"the {len(wanted)} weights that this run trains, with their shapes",
            do="resume with the settings of the first run",
        )
    return saved


def require_same_settings(folder: Path, saved: dict[str, object], now: dict[str, object]) -> None:
    """Refuse to resume with other settings, naming each that differs."""
    then = json.loads(json.dumps(saved))
    current = json.loads(json.dumps(now))
    odd = [key for key in sorted(then.keys() | current.keys()) if then.get(key) != current.get(key)]
    if odd:
        raise UserError(
            got="; ".join(f"{key} = {current.get(key)} (was {then.get(key)})" for key in odd),
            expected=f"the settings of the run in {folder.parent}",
            do="resume with the same settings, or start a new run in another folder",
        )


def prune(run: Path, keep: int) -> None:
    """Delete all but the newest ``keep`` (1 or more) whole checkpoints, and what an interrupted save left behind."""
    for old in [*_whole(run)[:-keep], *run.glob(f"{PREFIX}*{PARTIAL}")]:
        shutil.rmtree(old)


def _whole(run: Path) -> list[Path]:
    """Checkpoints whose last act, the renaming, was done, fewest steps first."""
    names = [path for path in run.glob(f"{PREFIX}*") if path.name.removeprefix(PREFIX).isdigit()]
    return sorted(names, key=lambda path: int(path.name.removeprefix(PREFIX)))


def _optimizer_state(weights: dict[str, nn.Parameter], optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    tensors = {}
    for name, parameter in weights.items():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer/{key}/{name}"] = torch.as_tensor(value).detach().cpu().clone()
    return tensors


def _restore_optimizer(
    weights: dict[str, nn.Parameter], optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    optimizer.state.clear()
    for path, value in tensors.items():
        kind, _, rest = path.partition("/")
        if kind != "optimizer":
            continue
        key, _, name = rest.partition("/")
        parameter = weights[name]
        # Adam counts its steps in a CPU scalar; the moments live where the parameter lives.
        optimizer.state[parameter][key] = value if key == "step" else value.to(parameter.device)


def _torch_random_state() -> dict[str, Tensor]:
    states = {"random/torch": torch.get_rng_state()}
    for i in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        states[f"random/cuda/{i}"] = torch.cuda.get_rng_state(i)
    return states


def _python_random_state() -> dict[str, object]:
    state = np.random.get_state(legacy=False)
    return {
        "python": random.getstate(),
        "numpy": {**state, "state": {"key": state["state"]["key"].tolist(), "pos": int(state["state"]["pos"])}},
    }


def _restore_random_state(saved: dict, tensors: dict[str, Tensor]) -> None:
    version, internal, gauss = saved["python"]
    random.setstate((version, tuple(internal), gauss))
    state = saved["numpy"]
    np.random.set_state({**state, "state": {**state["state"], "key": np.array(state["state"]["key"], dtype=np.uint32)}})
    torch.set_rng_state(tensors["random/torch"])
    for path, state in tensors.items():
        if path.startswith("random/cuda/") and torch.cuda.is_available():
            torch.cuda.set_rng_state(state, int(path.rsplit("/", 1)[1]))


def _flush(path: Path) -> None:
    """Onto the disc; Windows offers this neither for folders nor for files opened to read."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
