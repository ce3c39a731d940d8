"""Named recipes: which terms, which part of the model, at which rate."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from litotes.data.quadruplets import Quadruplets
from litotes.data.statements import OptionSet
from litotes.errors import UserError
from litotes.models.lora import ALL_LINEAR, TOWERS, LoraSettings, add_lora, describe
from litotes.models.matcher import Matcher
from litotes.objectives.hanclip import HanclipConfig
from litotes.objectives.hco import HcoConfig
from litotes.train.loop import LoopConfig, OnStep
from litotes.train.negation import Negation, NegationConfig
from litotes.train.phase import run_phase

FULL_RATE = 5e-6
"""Peak learning rate of full fine-tuning in the paper."""
EXTENDED_LORA = LoraSettings(towers="both", targets=ALL_LINEAR, rank=16, alpha=8.0, dropout=0.0)


@dataclass(frozen=True)
class Recipe:
    """A way to adapt a model: the loss, the loop, and the adapter (or ``full``: the towers to train whole).

    Exactly one of ``lora`` and ``full`` ("text", "vision" or "both") is given.
    """

    negation: NegationConfig
    loop: LoopConfig
    lora: LoraSettings | None = field(default_factory=LoraSettings)
    full: str | None = None


def paper_hanclip(towers: str = "text") -> Recipe:
    """HANCLIP as the paper trains it: 20,000 quadruplets, one epoch, batch 64, LoRA on q, k, v.

    Learning rate 1e-4 for LoRA (``FULL_RATE`` for full fine-tuning): the paper's two rates in their usual order.
    Source: HANCLIP section 4 and CLIP-LoRA.
    """
    return Recipe(NegationConfig(), LoopConfig(), LoraSettings(towers=towers))


def extended(steps: int = 1000) -> Recipe:
    """Beyond the paper: own options 2, HCO and ATNL 0.3, retention 1.5; LoRA on all linear layers of both towers."""
    negation = NegationConfig(
        hanclip=0.3, options=2.0, retention=1.5, objective=HanclipConfig(hco=HcoConfig(temperature="model"))
    )
    return Recipe(negation, LoopConfig(steps=steps, lr=2e-3, warmup=20), EXTENDED_LORA)


def infonce(towers: str = "text") -> Recipe:
    """The control of plain fine-tuning: InfoNCE on pictures and captions P, all else as ``paper_hanclip``."""
    return Recipe(NegationConfig(hanclip=0.0, retention=1.0), LoopConfig(), LoraSettings(towers=towers))


def negatives(towers: str = "text") -> Recipe:
    """The control in the manner of CoN-CLIP: InfoNCE with N as further text negatives, without P'."""
    return Recipe(NegationConfig(hanclip=0.0, negatives=1.0), LoopConfig(), LoraSettings(towers=towers))


RECIPES: dict[str, Callable[[], Recipe]] = {
    "hanclip": paper_hanclip, "extended": extended, "infonce": infonce, "negatives": negatives,
}  # fmt: skip
"""Recipes by the name that a user says."""


def make_trainable(matcher: Matcher, recipe: Recipe) -> str:
    """Mount the recipe's adapter, or free the towers that are trained whole; returns what was done, in a line.

    The logit scale stays frozen.
    """
    encoder = matcher.encoder
    if (recipe.lora is None) == (recipe.full is None):
        raise UserError(got="both or neither of lora and full", expected="one of them", do="choose one")
    if recipe.lora is not None:
        add_lora(encoder, recipe.lora, seed=recipe.loop.seed)
        return describe(recipe.lora)
    if recipe.full not in TOWERS:
        raise UserError(got=f"full = {recipe.full!r}", expected="text, vision or both", do="choose one of these")
    encoder.requires_grad_(False)
    for tower in TOWERS[recipe.full]:
        getattr(encoder.clip, f"{tower}_model").requires_grad_(True)
        projection = encoder.clip.text_projection if tower == "text" else encoder.clip.visual_projection
        projection.requires_grad_(True)
    return f"all weights of {recipe.full}"


def adapt(  # noqa: PLR0913 (keywords that are passed on as they are)
    matcher: Matcher, data: Quadruplets, recipe: Recipe, run: Path, *, options: list[OptionSet] | None = None,
    cache: Path | None = None, resume: bool = False, on_step: OnStep | None = None, quiet: bool = False,
) -> Path:  # fmt: skip
    """Adapt ``matcher`` in place by the recipe and return the last checkpoint.

    With ``resume``, a run is begun, gone on with or, when it is finished, loaded. Errors: those of ``LoraSettings``,
    ``Negation`` and ``run_phase``.
    """
    trained = make_trainable(matcher, recipe)
    task = Negation(matcher, data, recipe.negation, options=options, cache=cache, trained=trained)
    checkpoint = run_phase(task, run, recipe.loop, resume=resume, on_step=on_step, quiet=quiet)
    matcher.adapter = None if recipe.lora is None else f"{run.name}, in memory ({trained})"
    return checkpoint
