"""The one training loop: seeds, steps, journal, checkpoints, exact resume."""

import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch.utils.data import DataLoader, Dataset

from litotes.config import require_known
from litotes.errors import UserError
from litotes.train import checkpoint as checkpoints
from litotes.train.journal import Journal
from litotes.train.optim import OPTIMIZERS, ParameterGroup, frozen, new_optimizer, require_trained
from litotes.train.plan import (
    Batch,
    batch_sizes,
    batches,
    drops,
    learning_rate,
    place_in_epoch,
    require_useful_steps,
)
from litotes.train.task import Task

OnStep = Callable[[int], None]
_BAR = 45
"""Columns of a terminal that a run's name, bar, steps and time take."""
SCHEDULES = ("cosine", "constant", "step")
PRECISIONS = ("no", "bf16", "fp16")
_LEAST = {
    "batch_size": 1, "epochs": 1, "steps": 0, "lr": 0, "weight_decay": 0, "warmup": 0, "clip_norm": 0,
    "accumulation": 1, "seed": 0, "save_every": 0, "keep": 1, "workers": 0, "drop_factor": 0, "ramp_epoch": 0,
}  # fmt: skip


@dataclass(frozen=True)
class LoopConfig:
    """How a run goes, whatever the method.

    batch_size: pairs a step, >= 1. epochs: passes over the data; ``steps`` (0: from epochs) overrides it. A step is
    one batch. lr: peak learning rate, > 0. weight_decay: on matrices only, decoupled but for "sgd". betas: of Adam.
    warmup: steps of linear warm-up. schedule: "cosine" to zero, "constant", or "step": times ``drop_factor`` from each
    of the ``drop_epochs`` (from 0) on. ramp_epoch: an epoch (from 0) in which the loss of its batch b = 0 .. n - 1 is
    multiplied by (b + 1) / n, for one that begins with weights that had been frozen; none by default. optimizer:
    "adamw", "adamp" or "sgd" (momentum 0.9). clip_norm: largest gradient norm (0: none).
    accumulation: batches whose gradients are averaged before the optimiser moves; a rest at the end counts as if
    it were whole. precision: "no", or autocast in "bf16" or "fp16" (geometry stays in float32). seed: order of the
    data, dropout. drop_last: leave out a short last batch. save_every: steps between checkpoints (0: only at the
    end), a multiple of accumulation. keep: checkpoints kept, >= 1. workers: processes that decode pictures.
    """

    batch_size: int = 64
    epochs: int = 1
    steps: int = 0
    lr: float = 1e-4
    weight_decay: float = 0.05
    betas: tuple[float, float] = (0.9, 0.999)
    warmup: int = 200
    schedule: str = "cosine"
    drop_epochs: tuple[int, ...] = (15,)
    drop_factor: float = 0.1
    ramp_epoch: int | None = None
    optimizer: str = "adamw"
    clip_norm: float = 1.0
    accumulation: int = 1
    precision: str = "no"
    seed: int = 0
    drop_last: bool = False
    save_every: int = 200
    keep: int = 2
    workers: int = 0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and not least <= value < math.inf:
                raise UserError(
                    got=f"{name} = {value}", expected=f"a number from {least} on", do="choose another value"
                )
        require_known([self.schedule], SCHEDULES, "schedule")
        require_known([self.precision], PRECISIONS, "precision")
        require_known([self.optimizer], OPTIMIZERS, "optimizer")
        if self.lr == 0:
            raise UserError(got="lr = 0", expected="a learning rate above 0", do="choose for instance 1e-4")
        if self.save_every % self.accumulation:
            raise UserError(
                got=f"save_every {self.save_every} with accumulation {self.accumulation}",
                expected="checkpoints at steps of the optimiser",
                do=f"make save_every a multiple of {self.accumulation}",
            )


def total_steps(examples: int, config: LoopConfig) -> int:
    """Steps of the whole run."""
    if config.steps:
        return config.steps
    return config.epochs * len(batch_sizes(examples, config.batch_size, config.drop_last))


def train(
    task: Task,
    config: LoopConfig,
    run: Path,
    *,
    resume: bool = False,
    on_step: OnStep | None = None,
    quiet: bool = False,
) -> Path:
    """Train ``task`` and return its last checkpoint.

    ``run`` receives ``journal.jsonl`` and ``checkpoint-STEP`` folders. With ``resume`` the newest whole checkpoint is
    continued: same order, same rates, same random numbers, so that on one CPU thread every later bit is the same as
    without the stop. ``on_step(steps done)`` is called after each step.

    Errors (``UserError``): a plan without a useful step; nothing to train; a folder that already holds a run, without
    ``resume``; nothing to resume; other settings than the first run's; a run that is already finished; a loss or a
    gradient that is not finite; several processes.
    """  # fmt: skip
    require_useful_steps(len(task), config.batch_size, config.drop_last)
    steps = total_steps(len(task), config)
    settings = run_settings(task, config)
    state = _start(run, settings, steps, resume)
    accelerator = _accelerator(task, config)
    seed_everything(config.seed)
    groups = task.groups(config.weight_decay)
    require_trained(groups)
    optimizer = accelerator.prepare(new_optimizer(task.module, groups, config.optimizer, config.lr, config.betas))
    start = 0
    if state:
        start = checkpoints.load_checkpoint(state, task.module, optimizer.optimizer, accelerator.scaler).step
    run.mkdir(parents=True, exist_ok=True)
    checkpoints.prune(run, config.keep)
    journal = Journal(run / "journal.jsonl", start)
    task.module.train()
    try:
        with _progress_bar(quiet) as bar:
            shown = bar.add_task(task.name, total=steps, completed=start, note="")
            for batch, inputs in _inputs(task, config, steps, start):
                line = _step(task, accelerator, optimizer, groups, config, steps, batch, inputs)
                journal.write(line)
                bar.update(shown, advance=1, note=_note(line, bar.console.width - _BAR))
                done = batch.step + 1
                if done == steps or (config.save_every and done % config.save_every == 0):
                    progress = checkpoints.Progress(done, settings)
                    last = checkpoints.save_checkpoint(
                        run, task.module, optimizer.optimizer, progress, accelerator.scaler
                    )
                    checkpoints.prune(run, config.keep)
                if on_step:
                    on_step(done)
    finally:
        journal.close()
        task.module.eval()
    return last


def require_new(run: Path) -> None:
    """Refuse a folder that already holds a run, so that nothing is overwritten."""
    if checkpoints.latest_checkpoint(run) or (run / "journal.jsonl").exists():
        raise UserError(
            got=f"{run}, which already holds a run",
            expected="a new folder",
            do="add --resume to continue that run, or choose another folder",
        )


def run_settings(task: Task, config: LoopConfig) -> dict[str, object]:
    """What a resumed run must share with the first one, by name (JSON values)."""
    fixed = {k: v for k, v in asdict(config).items() if k not in ("save_every", "keep", "workers")}
    return {
        **fixed,
        "betas": list(config.betas),
        "drop_epochs": list(config.drop_epochs),
        "processes": 1,
        "task": task.name,
        **task.identity(),
    }


def seed_everything(seed: int) -> None:
    """Seed Python, NumPy and torch."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def _accelerator(task: Task, config: LoopConfig) -> Accelerator:
    """Mixed precision on the device where the weights are."""
    device = next(task.module.parameters()).device.type
    if config.precision == "fp16" and device == "cpu":
        raise UserError(got="precision fp16 on the CPU", expected="no or bf16 there", do="choose one of these")
    # accelerate keeps one state for the whole process; a second run may want another precision.
    AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = Accelerator(mixed_precision=config.precision, cpu=device == "cpu")
    if accelerator.num_processes > 1:
        raise UserError(
            got=f"{accelerator.num_processes} processes",
            expected="one: the losses do not gather their batches over processes yet",
            do="start the command by itself, without accelerate launch or torchrun",
        )
    return accelerator


def _start(run: Path, settings: dict[str, object], steps: int, resume: bool) -> Path | None:
    """The checkpoint to go on from; refuses to overwrite a run or to continue one that does not fit."""
    folder = checkpoints.latest_checkpoint(run)
    if not resume:
        require_new(run)
        return None
    if not run.exists():
        raise UserError(got=f"{run}, which is not there", expected="the folder of a run", do="check the path")
    if folder is None:
        return None
    saved = checkpoints.read_progress(folder)
    checkpoints.require_same_settings(folder, saved.settings, settings)
    if saved.step >= steps:
        raise UserError(
            got=f"{run}, which is finished ({saved.step} of {steps} steps)",
            expected="an unfinished run",
            do="evaluate it as it is, or start a new run with more steps in another folder",
        )
    return folder


def _step(
    task: Task, accelerator: Accelerator, optimizer: torch.optim.Optimizer, groups: list[ParameterGroup],
    config: LoopConfig, steps: int, batch: Batch, inputs: object,
) -> dict[str, object]:  # fmt: skip
    begun = time.perf_counter()
    rate = _rate(batch, steps, config)
    for row in optimizer.param_groups:
        row["lr"] = rate * row["lr_factor"]
    with frozen(task.module, groups, batch.epoch):
        values = _backward(task, accelerator, config, batch, inputs)
    if (batch.step + 1) % config.accumulation == 0 or batch.step + 1 == steps:
        weights = list(checkpoints.trainable(task.module).values())
        norm = accelerator.clip_grad_norm_(weights, config.clip_norm or math.inf)
        # In float16 the scaler expects such gradients now and then, and leaves the step out.
        if accelerator.scaler is None:
            _require_finite("gradient norm", float(norm), values, batch)
        optimizer.step()
        optimizer.zero_grad()
        task.constrain()
    speed = len(batch.indices) / (time.perf_counter() - begun)
    place = {"step": batch.step + 1, "epoch": batch.epoch, "items": len(batch.indices), "lr": rate}
    return {**place, **values, "samples_per_s": round(speed, 1)}


def _rate(batch: Batch, steps: int, config: LoopConfig) -> float:
    rate = learning_rate(batch.step, steps, config.lr, config.warmup, config.schedule)
    if config.schedule == "step":
        rate *= drops(batch.epoch, config.drop_epochs, config.drop_factor)
    return rate


def _backward(
    task: Task, accelerator: Accelerator, config: LoopConfig, batch: Batch, inputs: object
) -> dict[str, float]:
    """The terms of a batch as they are, their gradients added up for the optimiser."""
    task.begin_step(batch.step)
    with accelerator.autocast():
        terms = task.terms(inputs)
    values = {name: float(value.detach()) for name, value in terms.items()}
    _require_finite("loss", values["loss"], values, batch)
    loss = terms["loss"]
    if batch.epoch == config.ramp_epoch:
        count = len(batch_sizes(len(task), config.batch_size, config.drop_last))
        loss = loss * ((place_in_epoch(batch, count) + 1) / count)
    accelerator.backward(loss / config.accumulation)
    return values


def _require_finite(what: str, value: float, terms: dict[str, float], batch: Batch) -> None:
    if not math.isfinite(value):
        raise UserError(
            got=f"{what} {value} at step {batch.step + 1} (terms: {terms})",
            expected=f"a finite {what}",
            do="lower the learning rate, or check the pictures and captions of this batch: "
            f"examples {list(batch.indices[:8])}",
        )


class _BatchInputs(Dataset):
    """Prepares whole batches, so that worker processes decode while the model works."""

    def __init__(self, task: Task, plan: list[Batch]) -> None:
        self.task = task
        self.plan = plan

    def __len__(self) -> int:
        return len(self.plan)

    def __getitem__(self, index: int) -> object:
        batch = self.plan[index]
        try:
            return self.task.prepare_in(batch.indices, batch.epoch)
        except UserError as error:
            return error  # the loader would make a RuntimeError of it on its way out of a process


def _as_it_is(inputs: object) -> object:
    """The loader would turn tuples into lists."""
    return inputs


def _inputs(task: Task, config: LoopConfig, steps: int, start: int) -> Iterator[tuple[Batch, object]]:
    plan = list(batches(len(task), config.batch_size, config.drop_last, config.seed, steps, start))
    # The loader draws its workers' seed from a generator of its own: the global random state stays the run's.
    loader = DataLoader(
        _BatchInputs(task, plan), batch_size=None, num_workers=config.workers, collate_fn=_as_it_is,
        generator=torch.Generator().manual_seed(config.seed),
    )  # fmt: skip
    for batch, inputs in zip(plan, loader, strict=True):
        if isinstance(inputs, UserError):
            raise inputs
        yield batch, inputs


def _progress_bar(quiet: bool) -> Progress:
    return Progress(
        TextColumn("[bold]{task.description}"), BarColumn(bar_width=12), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"), disable=quiet,
    )  # fmt: skip


def _note(line: dict, width: int) -> str:
    """The speed, the loss and, as far as ``width`` columns hold them, its terms."""
    terms = {k: v for k, v in line.items() if k not in ("step", "epoch", "items", "lr", "samples_per_s")}
    note = f"{line['samples_per_s']:.0f} samples/s"
    for part in (f"{name} {value:.3f}" for name, value in terms.items()):
        if len(note) + 2 + len(part) > width:
            break
        note += f"  {part}"
    return note
