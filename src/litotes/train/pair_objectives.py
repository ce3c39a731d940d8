"""The losses that a model of pair scores is trained on, behind one interface: VACSR, the sigmoid loss, InfoNCE."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from litotes.config import record
from litotes.errors import UserError
from litotes.models.pair_adapter import Kind, PairModel, new_pair_model
from litotes.models.pair_noise import PairNoise
from litotes.models.pair_step import MEMORY, vacsr_step
from litotes.models.variational import AdapterConfig, VariationalAdapter
from litotes.objectives.contrastive import Repeats, info_nce_of_scores
from litotes.objectives.diagnostics import PairDiagnostics, diagnostics, joined, named
from litotes.objectives.pairs import PairReduction
from litotes.objectives.sigmoid import sigmoid_loss_of_logits
from litotes.objectives.vacsr import VacsrConfig, VacsrTerms
from litotes.train.plan import epoch_order
from litotes.train.task import Terms

Method = Literal["vacsr", "sigmoid", "infonce"]
Pairing = Literal["batch", "all"]


@dataclass(frozen=True)
class PairMethod:
    """Which loss, on which model of pair scores.

    method: ``vacsr`` (on the variational adapter alone), ``sigmoid`` or ``infonce`` (on the deterministic adapter or on
    the cosine). kind: the model, ``new_pair_model``. adapter: its sizes and readings. vacsr: weights and readings of
    that loss. reduction: of the sigmoid loss. repeats: what InfoNCE does with further right pairs of a row. seed: of
    the fresh weights. scale: where the cosine's learned scale starts. memory: MiB that the graph of a step of VACSR may
    take before it is taken in blocks (``vacsr_step``), which changes results by rounding alone. pairing: the texts that
    the b pictures of a batch are paired with: those of its own rows (b x b pairs), or ``all`` different texts of the
    training part (b x C pairs), for class prompts; not for InfoNCE, whose texts each need a picture (reading A21).
    """

    method: Method = "vacsr"
    kind: Kind = "variational"
    adapter: AdapterConfig = field(default_factory=AdapterConfig)
    vacsr: VacsrConfig = field(default_factory=VacsrConfig)
    reduction: PairReduction = "per_image"
    repeats: Repeats = "masked"
    seed: int = 0
    scale: float = 10.0
    memory: int = MEMORY
    pairing: Pairing = "batch"

    def __post_init__(self) -> None:
        if self.method == "infonce" and self.pairing == "all":
            raise UserError(
                got="infonce with pairs of a picture and all captions",
                expected="a picture for each caption of a batch, which it is to find",
                do="pair within the batch (--pairing batch), or take vacsr or sigmoid",
            )
        if (self.method == "vacsr") != (self.kind == "variational"):
            raise UserError(
                got=f"the method {self.method} on the {self.kind} model",
                expected="vacsr on the variational adapter; sigmoid and infonce on deterministic or cosine",
                do="choose another method, or another model",
            )

    def objective_record(self) -> dict[str, Any]:
        """The settings that count for this method, as JSON values."""
        settings: dict[Method, dict[str, Any]] = {
            "vacsr": {"vacsr": record(self.vacsr)},
            "sigmoid": {"reduction": self.reduction},
            "infonce": {"repeats": self.repeats},
        }
        start = {"scale": self.scale} if self.kind == "cosine" else {}
        pairing = {"pairing": self.pairing} if self.pairing == "all" else {}
        return {"method": self.method, "seed": self.seed, **settings[self.method], **start, **pairing}


class PairObjective(ABC):
    """A model of pair scores and the loss that it is trained on; its classes are final.

    ``module``: what is trained. ``terms`` of features [bi, d] and [bt, d], whose gradient passes on to a backbone where
    one is trained, and positives [bi, bt]: scalars by name, of which ``loss`` is minimised. ``generator``: the source
    of all that is drawn, on the features' device.
    """

    @property
    @abstractmethod
    def module(self) -> PairModel:
        """The model."""

    @abstractmethod
    def terms(
        self,
        image: Float[Tensor, "bi d"],
        text: Float[Tensor, "bt d"],
        positives: Bool[Tensor, "bi bt"],
        generator: torch.Generator,
    ) -> Terms:
        """The loss and what goes into the journal beside it."""

    @abstractmethod
    def diagnose(
        self,
        image: Float[Tensor, "bi d"],
        text: Float[Tensor, "bt d"],
        positives: Bool[Tensor, "bi bt"],
        generator: torch.Generator,
    ) -> PairDiagnostics | None:
        """The state of the distribution on a batch; None for a model without one."""


@final
class VacsrObjective(PairObjective):
    """VACSR: reconstruction, divergence and both sigma terms, with the diagnostics of every step."""

    def __init__(self, adapter: VariationalAdapter, config: VacsrConfig, memory: int = MEMORY) -> None:
        self._adapter, self._config, self._memory = adapter, config, memory

    @property
    def module(self) -> VariationalAdapter:
        """The variational adapter."""
        return self._adapter

    def terms(self, image: Tensor, text: Tensor, positives: Tensor, generator: torch.Generator) -> Terms:
        """All terms of ``objectives.vacsr``, unweighted but ``loss``, and ``objectives.diagnostics`` by name."""
        parts, state = self._step(image, text, positives, generator)
        return {**parts._asdict(), **{name: torch.tensor(value) for name, value in named(state).items()}}

    @torch.no_grad()
    def diagnose(self, image: Tensor, text: Tensor, positives: Tensor, generator: torch.Generator) -> PairDiagnostics:
        """``objectives.diagnostics`` of one draw."""
        return self._step(image, text, positives, generator)[1]

    def _step(
        self, image: Tensor, text: Tensor, positives: Tensor, generator: torch.Generator
    ) -> tuple[VacsrTerms, PairDiagnostics]:
        seen: list[PairDiagnostics] = []
        terms = vacsr_step(
            self._adapter, image, text, positives, self._config, PairNoise.drawn(generator), memory=self._memory,
            on_block=lambda sample, labels: seen.append(diagnostics(sample, labels)),
        )  # fmt: skip
        return terms, joined(seen)


@final
class SigmoidObjective(PairObjective):
    """The sigmoid loss of the model's logits; their scale and bias are the model's own, learned with it."""

    def __init__(self, model: PairModel, reduction: PairReduction) -> None:
        self._model, self._reduction = model, reduction

    @property
    def module(self) -> PairModel:
        """The model."""
        return self._model

    def terms(self, image: Tensor, text: Tensor, positives: Tensor, generator: torch.Generator) -> Terms:
        """The loss; nothing is drawn."""
        logits = self._model.logits(image, text)
        return {"loss": sigmoid_loss_of_logits(logits, positives=positives, reduction=self._reduction)}

    def diagnose(self, image: Tensor, text: Tensor, positives: Tensor, generator: torch.Generator) -> None:
        """None."""


@final
class InfoNceObjective(PairObjective):
    """Symmetric InfoNCE of the model's logits."""

    def __init__(self, model: PairModel, repeats: Repeats) -> None:
        self._model, self._repeats = model, repeats

    @property
    def module(self) -> PairModel:
        """The model."""
        return self._model

    def terms(self, image: Tensor, text: Tensor, positives: Tensor, generator: torch.Generator) -> Terms:
        """The loss; nothing is drawn."""
        logits = self._model.logits(image, text)
        return {"loss": info_nce_of_scores(logits, positives=positives, repeats=self._repeats)}

    def diagnose(self, image: Tensor, text: Tensor, positives: Tensor, generator: torch.Generator) -> None:
        """None."""


def new_objective(method: PairMethod, device: torch.device | str = "cpu") -> PairObjective:
    """A fresh model with its loss, on a device. Errors: those of the model."""
    model = new_pair_model(method.kind, method.adapter, seed=method.seed, scale=method.scale).to(device)
    if isinstance(model, VariationalAdapter):
        return VacsrObjective(model, method.vacsr, method.memory)
    if method.method == "sigmoid":
        return SigmoidObjective(model, method.reduction)
    return InfoNceObjective(model, method.repeats)


def first_batches(
    examples: int, method: PairMethod, batch_size: int, batches: int,
    diagnose: Callable[[int, list[int]], PairDiagnostics | None],
) -> PairDiagnostics | None:  # fmt: skip
    """``diagnose(number, rows)`` of the first batches of a fixed order, joined; None for a model without a state."""
    order = epoch_order(examples, method.seed, 0)
    parts = [
        diagnose(number, order[number * batch_size : (number + 1) * batch_size].tolist())
        for number in range(min(batches, -(-len(order) // batch_size)))
    ]
    known = [part for part in parts if part is not None]
    return joined(known) if known else None
