"""Which weights move at which rate: groups of parameters, and the optimisers that take them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import torch
from torch import nn

from litotes.errors import UserError
from litotes.models.clip import ClipEncoder
from litotes.train.adamp import AdamP
from litotes.train.checkpoint import trainable

OPTIMIZERS = ("adamw", "adamp", "sgd")
MOMENTUM = 0.9
"""Of "sgd"; without dampening, as torch has it by default."""


@dataclass(frozen=True)
class ParameterGroup:
    """Weights that share a rate.

    name: what a person calls them. weights: their names in the module. lr_factor: of the run's learning rate.
    weight_decay: decoupled; of "sgd" it is added to the gradient. frozen_epochs: passes over the data, from the first,
    in which they do not move.
    """

    name: str
    weights: tuple[str, ...]
    lr_factor: float = 1.0
    weight_decay: float = 0.0
    frozen_epochs: int = 0


@dataclass(frozen=True)
class BackboneRates:
    """Rates of a full backbone against that of what is new on it, as in PCME++'s recipe for CLIP.

    text, image: factor of a tower; default 0.1 and 0.01. layer_decay: per block from the top: of block b = 0 .. n - 1
    the factor is that of its tower times ``layer_decay ** (n - b)``; default 0.7. What is in no block (embeddings,
    norms) takes its tower's factor undecayed. frozen_epochs: of the picture tower; default 2.
    adapter_weight_decay: of what stands outside the backbone; default None, that of the run. PCME++ gives 0 to all
    that is in none of its encoders, which would be the whole adapter.
    """

    text: float = 0.1
    image: float = 0.01
    layer_decay: float = 0.7
    frozen_epochs: int = 2
    adapter_weight_decay: float | None = None

    def __post_init__(self) -> None:
        for name in ("text", "image", "layer_decay"):
            if not 0 < getattr(self, name) <= 1:
                raise UserError(
                    got=f"{name} = {getattr(self, name)}", expected="a factor above 0, at most 1", do=f"correct {name}"
                )
        for name in ("frozen_epochs", "adapter_weight_decay"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise UserError(got=f"{name} = {value}", expected="a number from 0 on", do=f"correct {name}")


def plain_groups(module: nn.Module, weight_decay: float) -> list[ParameterGroup]:
    """All trained weights at one rate; decay on matrices only."""
    weights = trainable(module)
    matrices = tuple(name for name, p in weights.items() if p.ndim >= 2)
    others = tuple(name for name, p in weights.items() if p.ndim < 2)
    return [ParameterGroup("matrices", matrices, weight_decay=weight_decay), ParameterGroup("vectors", others)]


def backbone_groups(
    module: nn.Module, encoder: ClipEncoder, rates: BackboneRates, weight_decay: float, heads: Sequence[nn.Module] = ()
) -> list[ParameterGroup]:
    """The trained weights of a module that holds a CLIP, by tower and block; every one is in exactly one group.

    heads: modules that belong to the backbone and are new, as those of `PairBackbone`; what is in neither tower nor
    head is the adapter. Vectors and scalars (biases, norms, mixture weights) have groups of their own without decay.
    """
    places = _places(encoder, rates) | {id(p): ("heads", 1.0, 0) for head in heads for p in head.parameters()}
    groups: dict[tuple[str, bool], ParameterGroup] = {}
    for name, parameter in trainable(module).items():
        place, factor, frozen = places.get(id(parameter), ("adapter", 1.0, 0))
        decay = weight_decay if place != "adapter" or rates.adapter_weight_decay is None else rates.adapter_weight_decay
        matrix = parameter.ndim >= 2
        group = groups.get((place, matrix))
        weights = (*group.weights, name) if group else (name,)
        title = place if matrix else f"{place}, vectors"
        groups[place, matrix] = ParameterGroup(title, weights, factor, decay if matrix else 0.0, frozen)
    return list(groups.values())


def listing(module: nn.Module, groups: Sequence[ParameterGroup]) -> list[dict[str, object]]:
    """The groups as rows of a table (JSON values), the numbers in each counted instead of named."""
    weights = dict(module.named_parameters())
    return [
        {
            **asdict(group),
            "weights": len(group.weights),
            "numbers": sum(weights[name].numel() for name in group.weights),
        }
        for group in groups
    ]


def new_optimizer(
    module: nn.Module, groups: Sequence[ParameterGroup], kind: str, lr: float, betas: tuple[float, float]
) -> torch.optim.Optimizer:
    """An optimiser (``OPTIMIZERS``) over the groups; each remembers its ``lr_factor``. betas: of the two Adams."""
    weights = dict(module.named_parameters())
    rows = [
        {
            "params": [weights[name] for name in group.weights],
            "weight_decay": group.weight_decay,
            "lr_factor": group.lr_factor,
        }
        for group in groups
    ]
    if kind == "sgd":
        return torch.optim.SGD(rows, lr=lr, momentum=MOMENTUM)
    return (AdamP if kind == "adamp" else torch.optim.AdamW)(rows, lr=lr, betas=betas)


def require_trained(groups: Sequence[ParameterGroup]) -> None:
    """Refuse groups without a weight, or with none that moves from the start."""
    if not any(group.weights for group in groups):
        raise UserError(got="a frozen model", expected="weights to train", do="mount an adapter or free a tower first")
    if all(group.frozen_epochs for group in groups if group.weights):
        raise UserError(
            got="no weight that moves in the first epoch",
            expected="a group without frozen epochs",
            do="set frozen_epochs to 0, or train an adapter beside the backbone",
        )


@contextmanager
def frozen(module: nn.Module, groups: Sequence[ParameterGroup], epoch: int) -> Iterator[None]:
    """Inside, the weights that rest in this epoch (from 0) ask for no gradient, which also saves their backward pass.

    It follows from the epoch alone, so that a resumed run needs no state for it.
    """
    names = [name for group in groups if epoch < group.frozen_epochs for name in group.weights]
    weights = dict(module.named_parameters()) if names else {}
    resting = [weights[name] for name in names]
    for parameter in resting:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in resting:
            parameter.requires_grad_(True)


def _places(encoder: ClipEncoder, rates: BackboneRates) -> dict[int, tuple[str, float, int]]:
    """Of each weight of the towers: the name of its group, its factor and the epochs in which it rests."""
    places: dict[int, tuple[str, float, int]] = {}
    clip = encoder.clip
    for tower, model, projection, factor, epochs in (
        ("image", clip.vision_model, clip.visual_projection, rates.image, rates.frozen_epochs),
        ("text", clip.text_model, clip.text_projection, rates.text, 0),
    ):
        rest = (f"{tower}, outside blocks", factor, epochs)
        places |= {id(p): rest for part in (model, projection) for p in part.parameters()}
        blocks = model.encoder.layers
        for number, block in enumerate(blocks):
            decayed = factor * rates.layer_decay ** (len(blocks) - number)
            places |= {id(p): (f"{tower}, block {number}", decayed, epochs) for p in block.parameters()}
    return places
