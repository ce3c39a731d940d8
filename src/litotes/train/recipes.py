"""Named recipes: which terms, which part of the model, at which rate."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from litotes.data.quadruplets import Quadruplets
from litotes.data.statements import OptionSet
from litotes.errors import UserError
from litotes.models.lora import add_lora
from litotes.models.lora_settings import ALL_LINEAR, TOWERS, LoraSettings, describe
from litotes.models.matcher import Matcher
from litotes.objectives.hanclip import HanclipConfig
from litotes.objectives.hco import HcoConfig
from litotes.objectives.mirror import MirrorConfig
from litotes.train.checkpoint import mix_weights
from litotes.train.loop import LoopConfig, OnStep
from litotes.train.mirror import Mirror
from litotes.train.negation import Negation, NegationConfig
from litotes.train.phase import run_phase

FULL_RATE = 5e-6
"""Peak learning rate of full fine-tuning in the paper."""
LESSON_RATE = 3
"""Peak learning rate of a lesson, in that of the run after it."""
EXTENDED_LORA = LoraSettings(towers="both", targets=ALL_LINEAR, rank=32, alpha=11.3, dropout=0.0)


@dataclass(frozen=True)
class Lesson:
    """What the text tower learns first, from the names of things alone.

    share: of the weights at the lesson's end in those that are kept, 0 .. 1; the rest is the end of the run after it.
    The run forgets some of the lesson, and the mean of both is better than either (Wortsman et al. 2022, "Robust
    fine-tuning of zero-shot models", between a model before and after).
    """

    mirror: MirrorConfig
    loop: LoopConfig
    share: float = 0.25

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UserError(got=f"share {self.share} of the lesson", expected="0 to 1", do="give for instance 0.25")


@dataclass(frozen=True)
class Recipe:
    """A way to adapt a model: the loss, the loop, and the adapter (or ``full``: the towers to train whole).

    Exactly one of ``lora`` and ``full`` ("text", "vision" or "both") is given. ``lesson``: a phase before, if any.
    """

    negation: NegationConfig
    loop: LoopConfig
    lora: LoraSettings | None = field(default_factory=LoraSettings)
    full: str | None = None
    lesson: Lesson | None = None

    def __post_init__(self) -> None:
        if self.negation.mirror and self.lesson is None:
            raise UserError(
                got=f"weight {self.negation.mirror:g} of mirrored names without the lesson that teaches them",
                expected="a lesson before the run",
                do="give it steps (--mirror-steps), or set the weight to 0",
            )

    @property
    def states(self) -> bool:
        """Whether it needs statements of each picture."""
        return self.negation.states or self.lesson is not None

    def phases(self, run: str) -> tuple[str, ...]:
        """Names of the folders of its runs, in their order, if the last is called ``run``."""
        return (f"{run}-lesson", run) if self.lesson else (run,)


MIRROR = Lesson(MirrorConfig(), LoopConfig(batch_size=32, steps=400, lr=3e-3, warmup=20))
"""The lesson of the extended recipe: 400 steps of 32 captions and 128 statements."""


def paper_hanclip(towers: str = "text") -> Recipe:
    """HANCLIP as the paper trains it: 20,000 quadruplets, one epoch, batch 64, LoRA on q, k, v.

    Learning rate 1e-4 for LoRA (``FULL_RATE`` for full fine-tuning): the paper's two rates in their usual order.
    Source: HANCLIP section 4 and CLIP-LoRA.
    """
    return Recipe(NegationConfig(), LoopConfig(), LoraSettings(towers=towers))


def extended(steps: int = 800) -> Recipe:
    """Beyond the paper: a lesson of mirrored names; then own options, statements of the batch, HCO and ATNL, P kept.

    LoRA on all linear layers of both towers.
    """
    negation = NegationConfig(
        hanclip=0.25, options=1.0, contrast=1.0, mirror=3.0, retention=2.5,
        objective=HanclipConfig(hco=HcoConfig(temperature="model")),
    )  # fmt: skip
    return Recipe(negation, LoopConfig(batch_size=32, steps=steps, lr=1e-3, warmup=20), EXTENDED_LORA, lesson=MIRROR)


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

    With ``resume``, a run is begun, gone on with or, when it is finished, loaded. A lesson is a run of its own, in the
    folder ``<run>-lesson`` beside; its share is mixed into the weights in memory, not into the checkpoint. Errors:
    those of ``LoraSettings``, ``Mirror``, ``Negation`` and ``run_phase``.
    """
    trained = make_trainable(matcher, recipe)
    targets = None
    if recipe.lesson:
        mirror = Mirror(matcher, data.captions, options or (), recipe.lesson.mirror, cache=cache, trained=trained)
        targets = mirror.targets
        place = run.with_name(recipe.phases(run.name)[0])
        learnt = run_phase(mirror, place, recipe.lesson.loop, resume=resume, on_step=on_step, quiet=quiet)
    task = Negation(matcher, data, recipe.negation, options=options, targets=targets, cache=cache, trained=trained)
    checkpoint = run_phase(task, run, recipe.loop, resume=resume, on_step=on_step, quiet=quiet)
    if recipe.lesson:
        mix_weights(learnt, matcher.encoder, recipe.lesson.share)
    matcher.adapter = None if recipe.lora is None else f"{run.name}, in memory ({trained})"
    return checkpoint
