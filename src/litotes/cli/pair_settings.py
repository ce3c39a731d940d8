"""From the settings of ``litotes train vacsr`` to a method and a loop; what changes nothing is refused."""

from dataclasses import replace

from litotes.cli.train_vacsr import FULL_ALONE, Settings
from litotes.config import field_names, flag
from litotes.data.augment import Augmentation
from litotes.errors import UserError
from litotes.models.pair_adapter import Kind
from litotes.models.variational import AdapterConfig
from litotes.objectives.vacsr import VacsrConfig
from litotes.train.backbone_pairs import RECIPE
from litotes.train.loop import LoopConfig, total_steps
from litotes.train.optim import BackboneRates
from litotes.train.pair_objectives import PairMethod

RISE = 50
"""Steps of rising rate, if not said otherwise."""
CLIP_NORM = 2.0
"""Largest norm of the gradient, as in PCME++, whose framework VACSR trains in."""
_OWN = {
    "temperature": "gumbel_temperature", "choice": "gumbel_choice", "spread": "uncertainty_spread",
    "summary": "uncertainty_summary",
}  # fmt: skip
"""Fields of the adapter's settings that the command calls otherwise."""


def kind_of(settings: Settings) -> Kind:
    """What gives a pair its score: as asked, or the method's own."""
    return settings.scorer or ("variational" if settings.method == "vacsr" else "deterministic")


def method_of(settings: Settings, features: int, scale: float = 10.0) -> PairMethod:
    """The method for features of a width. scale: where InfoNCE's learned scale on the cosine starts (full: at 10).

    Errors: values out of range or that do not go together; options of another method or model than the chosen.
    """
    kind = kind_of(settings)
    sizes = {name: getattr(settings, _OWN.get(name, name)) for name in field_names(AdapterConfig) if name != "features"}
    losses = {name: getattr(settings, name) for name in field_names(VacsrConfig)}
    _refuse_without_effect(settings, kind)
    return PairMethod(
        settings.method, kind, AdapterConfig(features, **sizes), VacsrConfig(**losses),
        reduction=settings.sigmoid_reduction, repeats=settings.repeats, memory=settings.step_memory,
        pairing=settings.pairing or ("all" if settings.of_classes and settings.method != "infonce" else "batch"),
        seed=settings.seed, scale=scale if settings.method == "infonce" and not settings.full else 10.0,
    )  # fmt: skip


def loop_of(settings: Settings, examples: int) -> LoopConfig:
    """The loop for a number of captions to train on. Errors: a warm-up that does not end before the run."""
    full = settings.full
    loop = LoopConfig(
        batch_size=settings.batch_size, epochs=settings.epochs, steps=settings.steps or 0, lr=settings.lr,
        weight_decay=settings.wd, warmup=settings.warmup or 0, schedule=settings.rate_schedule,
        drop_epochs=settings.drop_epochs, drop_factor=settings.drop_factor,
        ramp_epoch=settings.frozen_epochs if full and settings.ramp and settings.frozen_epochs else None,
        optimizer=settings.optimizer or (RECIPE.optimizer if full else "adamw"),
        clip_norm=CLIP_NORM, accumulation=settings.accum_freq, precision=settings.precision, seed=settings.seed,
        save_every=settings.save_frequency, workers=settings.workers if full else 0,
    )  # fmt: skip
    steps = total_steps(examples, loop)
    if settings.warmup is None:
        return replace(loop, warmup=0 if full else min(RISE, steps // 10))
    if settings.warmup >= steps:
        raise UserError(
            got=f"--warmup {settings.warmup} in a run of {steps} steps, whose rate would never reach its peak",
            expected=f"a warm-up shorter than the run: 0 to {steps - 1}",
            do="give a shorter warm-up, or train for longer (--steps, --epochs)",
        )
    return loop


def rates_of(settings: Settings) -> BackboneRates:
    """The rates of a backbone that is trained whole."""
    return BackboneRates(
        settings.text_rate, settings.image_rate, settings.layer_decay, settings.frozen_epochs, settings.adapter_wd
    )


def augmentation_of(settings: Settings) -> Augmentation:
    """What such a training changes in its examples."""
    return Augmentation(**{name: getattr(settings, name) for name in field_names(Augmentation)})


def _refuse_without_effect(settings: Settings, kind: Kind) -> None:
    """Options that the chosen method or model does not know."""
    adapter = [_OWN.get(name, name) for name in field_names(AdapterConfig) if name != "features"]
    groups = (
        (not settings.full, FULL_ALONE, "a frozen backbone"),
        (settings.full, ["cache"], "a backbone that is trained, whose features change with every step"),
        (settings.full and not settings.frozen_epochs, ["ramp"], "a picture tower that never rests"),
        (settings.method != "vacsr", [*field_names(VacsrConfig), "step_memory"], f"the method {settings.method}"),
        (settings.method != "sigmoid", ["sigmoid_reduction"], f"the method {settings.method}"),
        (settings.method != "infonce", ["repeats"], f"the method {settings.method}"),
        (kind == "cosine", adapter, "no adapter"),
        (
            kind == "deterministic",
            [
                "mixture",
                "gumbel_choice",
                "gumbel_temperature",
                "log_var",
                "decoded",
                "uncertainty_spread",
                "uncertainty_summary",
            ],
            "an adapter without a distribution",
        ),
    )
    for unused, names, what in groups:
        given = [flag(name) for name in names if getattr(settings, name) != getattr(Settings, name)]
        if unused and given:
            raise UserError(
                got=f"{', '.join(given)} with {what}",
                expected="options that change something",
                do="leave them out, or choose another --backbone, --method or --scorer",
            )
