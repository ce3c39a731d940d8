"""A phase of a run: trained, gone on with, or, when it was finished before, only read back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from litotes.errors import UserError
from litotes.places import require_folder_place
from litotes.train.checkpoint import latest_checkpoint, load_weights, read_progress, require_same_settings
from litotes.train.loop import LoopConfig, OnStep, require_new, run_settings, total_steps, train
from litotes.train.task import Task


def require_place(output: Path, runs: tuple[str, ...], resume: bool) -> None:
    """Refuse, before anything is done, a place for a run that is none, to write over a run, or to go on where none is.

    output: folder of the whole, not there yet or one that can be written to. runs: names of the folders of the runs
    within it.
    """
    require_folder_place(output)
    if resume and not output.is_dir():
        raise UserError(
            got=f"{output}, which is not there, to go on in",
            expected="the output folder of the run that was stopped",
            do="check the path, or leave out --resume to begin",
        )
    for run in runs:
        if not resume:
            require_new(output / run)


@contextmanager
def interruptible(output: Path, runs: tuple[str, ...]) -> Iterator[None]:
    """Lets an interrupt of the work inside say what is saved and how to go on; arguments as for ``require_place``."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(_standing(output, runs)) from stop


def _standing(output: Path, runs: tuple[str, ...]) -> str:
    if not output.is_dir():
        return "nothing is saved yet; give the same command again"
    saved = [folder for run in runs if (folder := latest_checkpoint(output / run))]
    if not saved:
        return "no step is saved yet (--save-frequency); the same command with --resume begins again"
    step = read_progress(saved[-1]).step
    return f"step {step} is saved in {saved[-1]}; the same command with --resume goes on from there"


def run_phase(
    task: Task, run: Path, loop: LoopConfig, *, resume: bool = False, on_step: OnStep | None = None,
    quiet: bool = False,
) -> Path:  # fmt: skip
    """Bring ``task`` to the end of its run and return the last checkpoint.

    With ``resume``, a run that was never begun is begun, a stopped one goes on, and of a finished one the weights are
    loaded: what comes after the training can then be done again. Without, the folder must be new.

    Errors: those of ``train``; a finished run of other settings.
    """
    done = latest_checkpoint(run) if resume else None
    if done:
        saved = read_progress(done)
        require_same_settings(done, saved.settings, run_settings(task, loop))
        if saved.step == total_steps(len(task), loop):
            load_weights(done, task.module)
            task.module.eval()
            return done
    return train(task, loop, run, resume=resume and run.exists(), on_step=on_step, quiet=quiet)
