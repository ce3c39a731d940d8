"""Which examples each step sees, and at which learning rate: pure functions of the settings."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from litotes.errors import UserError


def batch_sizes(examples: int, batch: int, drop_last: bool) -> list[int]:
    """Sizes of the batches of one epoch, in order: full ones, then the rest unless ``drop_last``."""
    full, rest = divmod(examples, batch)
    return [batch] * full + ([rest] if rest and not drop_last else [])


def useful_steps(sizes: list[int]) -> int:
    """Steps with more than one pair; the contrastive loss of a single pair is 0 and teaches nothing."""
    return sum(size > 1 for size in sizes)


def require_useful_steps(examples: int, batch: int, drop_last: bool) -> None:
    """Refuse a plan that would end "successfully" with the weights unchanged."""
    sizes = batch_sizes(examples, batch, drop_last)
    if useful_steps(sizes):
        return
    reason = (
        f"{examples} pairs, batch {batch}" + (", drop_last" if drop_last else "") + f": {len(sizes)} steps"
        + (", each with one pair, whose contrastive loss is 0 for ever" if sizes else "")
    )  # fmt: skip
    raise UserError(
        got=reason,
        expected="at least one step with two pairs or more",
        do="give at least two pairs and a batch of two or more (--batch-size)"
        + (", or keep the last batch" if drop_last else ""),
    )


def batch_note(examples: int, batch: int) -> str:
    """What a reader must know of a batch that the data cannot fill; "" where they can."""
    if batch <= examples:
        return ""
    return f"The batch of {batch} is larger than the {examples} examples to train on: every step takes all {examples}."


def epoch_order(examples: int, seed: int, epoch: int) -> np.ndarray:
    """A permutation of the examples that depends on seed and epoch alone, so that a resumed run repeats it."""
    return np.random.default_rng([seed, epoch]).permutation(examples)


def step_seed(seed: int, step: int) -> int:
    """A seed for each step, unlike that of any other seed and step."""
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> np.uint64(1))


@dataclass(frozen=True)
class Batch:
    """The examples of one step. ``step`` counts from 0 over all epochs."""

    step: int
    epoch: int
    indices: tuple[int, ...]


def batches(examples: int, batch: int, drop_last: bool, seed: int, steps: int, start: int = 0) -> Iterator[Batch]:
    """The batches of steps ``start`` to ``steps``, each example once an epoch, in another order each epoch."""
    sizes = batch_sizes(examples, batch, drop_last)
    epoch, skip = divmod(start, len(sizes))
    step = start
    while step < steps:
        order, first = epoch_order(examples, seed, epoch), sum(sizes[:skip])
        for size in sizes[skip:]:
            if step == steps:
                return
            yield Batch(step, epoch, tuple(order[first : first + size].tolist()))
            first, step = first + size, step + 1
        epoch, skip = epoch + 1, 0


def place_in_epoch(batch: Batch, batches_per_epoch: int) -> int:
    """The number of a batch within its epoch, from 0."""
    return batch.step - batch.epoch * batches_per_epoch


def learning_rate(step: int, steps: int, peak: float, warmup: int, schedule: str) -> float:
    """Rate of a step counted from 0: linear warm-up to ``peak``, then a half cosine to 0, or constant.

    Warm-up step s has peak (s + 1) / warmup; after it, cosine is peak (1 + cos(pi (s - warmup) / (steps -
    warmup))) / 2, the rule that open_clip uses. A run shorter than its warm-up only warms up. "step" is constant here:
    ``drops`` says what it is multiplied by.
    """
    if step < warmup:
        return peak * (step + 1) / warmup
    if schedule in ("constant", "step"):
        return peak
    return 0.5 * peak * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def drops(epoch: int, drop_epochs: Sequence[int], drop_factor: float) -> float:
    """Factor of the "step" schedule in an epoch (from 0): ``drop_factor`` for each of the drop epochs that has come."""
    return drop_factor ** sum(epoch >= at for at in drop_epochs)
