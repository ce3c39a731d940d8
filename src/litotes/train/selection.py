"""Keeping the weights of the checkpoint that did best on held-out data."""

import shutil
from collections.abc import Callable
from pathlib import Path

from torch import nn

from litotes.train.checkpoint import WEIGHTS, latest_checkpoint, load_weights, read_progress
from litotes.train.journal import Journal, read_journal

FILE = "selection.jsonl"
BEST = "best"


class Selection:
    """Measures a module whenever a checkpoint is written, and keeps the best weights aside.

    run: folder of the run, which receives ``selection.jsonl`` (step and score) and the folder ``best``. every: steps
    between checkpoints; steps: of the whole run. measure: the score of the module as it is, higher is better; it must
    draw nothing. Of equal scores the earlier stays.

    Pass it as ``on_step``. Before a run is gone on with, ``catch_up`` measures a checkpoint that was written just
    before a stop; so that a stop changes nothing in what is selected.
    """

    def __init__(self, run: Path, module: nn.Module, measure: Callable[[], float], *, every: int, steps: int) -> None:
        self._run, self._module, self._measure = run, module, measure
        self._every, self._steps = every, steps

    def catch_up(self) -> None:
        """Bring the record to the newest checkpoint of a run that was begun; the module then has its weights."""
        newest = latest_checkpoint(self._run)
        if newest is None:
            return
        step = read_progress(newest).step
        Journal(self._run / FILE, step).close()
        if step not in {line["step"] for line in read_journal(self._run / FILE)}:
            load_weights(newest, self._module)
            self(step)

    def __call__(self, done: int) -> None:
        """Measure after step ``done``, if it ends with a checkpoint."""
        if done != self._steps and done % self._every:
            return
        score = self._measure()
        known = [line for line in read_journal(self._run / FILE) if line["step"] < done]
        if not known or score > max(line["score"] for line in known):
            self._keep()
        # Last, so that a stop in between is made good by measuring again.
        journal = Journal(self._run / FILE, done - 1)
        journal.write({"step": done, "score": score})
        journal.close()

    def restore(self) -> tuple[int, float]:
        """Load the best weights into the module; returns their step and score."""
        load_weights(self._run / BEST, self._module)
        lines = read_journal(self._run / FILE)
        best = max(lines, key=lambda line: (line["score"], -line["step"]))
        return best["step"], best["score"]

    def _keep(self) -> None:
        newest = latest_checkpoint(self._run)
        assert newest is not None
        partial, best = self._run / f"{BEST}.partial", self._run / BEST
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        shutil.copy2(newest / WEIGHTS, partial)
        shutil.rmtree(best, ignore_errors=True)
        partial.rename(best)
