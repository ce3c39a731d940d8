"""What a method is to the loop: examples, trainable weights and a loss."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from torch import Tensor, nn

from litotes.train.optim import ParameterGroup, plain_groups

Terms = dict[str, Tensor]
Inputs = TypeVar("Inputs")


class Task(ABC, Generic[Inputs]):
    """A method, seen by the loop: ``len(task)`` examples; ``prepare`` loads some of them; ``terms`` is their loss.

    ``terms`` returns scalars by name; ``"loss"`` is the one that is minimised, the others go into the journal. Each
    is a mean over the items of the batch.
    """

    name: str

    @property
    @abstractmethod
    def module(self) -> nn.Module:
        """The module whose parameters with ``requires_grad`` are trained and saved."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of examples of an epoch."""

    @abstractmethod
    def prepare(self, indices: Sequence[int]) -> Inputs:
        """Inputs of a batch, loaded without touching the model or a global random state (workers call it)."""

    @abstractmethod
    def terms(self, batch: Inputs) -> Terms:
        """The loss and its named parts on a prepared batch."""

    @abstractmethod
    def identity(self) -> dict[str, object]:
        """What a resumed run must share with the first one: data, base model, objective (JSON values)."""

    def prepare_in(self, indices: Sequence[int], epoch: int) -> Inputs:
        """``prepare`` of an epoch (from 0); a task that varies its examples draws by example and epoch alone."""
        return self.prepare(indices)

    def groups(self, weight_decay: float) -> list[ParameterGroup]:
        """The trained weights by rate; of a task that says nothing all at one, with decay on matrices only."""
        return plain_groups(self.module, weight_decay)

    def constrain(self) -> None:
        """Put the weights back into their allowed range after a step (a logit scale, say)."""

    def begin_step(self, step: int) -> None:
        """Called before the terms of step ``step``, counted from 0: for what a method draws or changes by the step."""
