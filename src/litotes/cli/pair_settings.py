"""From the settings of ``litotes train vacsr`` to a method and a loop; what changes nothing is refused."""

from dataclasses import replace
from typing import Any

from litotes.cli.train_vacsr import UNKNOWN_TO, Settings
from litotes.config import field_names, flag, record
from litotes.data.augment import UNCHANGED, Augmentation
from litotes.errors import UserError
from litotes.models.blocks import block_counts
from litotes.models.clip import ClipEncoder
from litotes.models.lora_settings import block_indices
from litotes.models.pair_adapter import Kind
from litotes.models.variational import AdapterConfig
from litotes.objectives.vacsr import VacsrConfig
from litotes.train.backbone_pairs import BLOCKS_RATES, BLOCKS_RECIPE, RECIPE
from litotes.train.loop import LoopConfig, total_steps
from litotes.train.optim import BackboneRates
from litotes.train.pair_objectives import PairMethod

RISE = 50
"""Steps of rising rate, if not said otherwise."""
CLIP_NORM = 2.0
"""Largest norm of the gradient, as in PCME++, whose framework VACSR trains in."""
_RUNS = {
    "frozen": LoopConfig(batch_size=128, epochs=25, lr=5e-4, weight_decay=1e-4, warmup=0, clip_norm=CLIP_NORM),
    "full": RECIPE,
    "blocks": BLOCKS_RECIPE,
}  # fmt: skip
"""By backbone, the run where nothing else is said."""
_OF_THE_RUN = {"epochs": "epochs", "batch_size": "batch_size", "lr": "lr", "wd": "weight_decay"}
"""Settings that such a run decides where they are not given, and what it calls them."""
_OWN = {
    "temperature": "gumbel_temperature", "choice": "gumbel_choice", "spread": "uncertainty_spread",
    "summary": "uncertainty_summary",
}  # fmt: skip
"""Fields of the adapter's settings that the command calls otherwise."""
_BACKBONES = {
    "frozen": "a frozen backbone",
    "full": "a backbone that is trained whole, whose features change with every step",
    "blocks": "blocks that are trained as they are, at one rate, below features that are CLIP's own",
}


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
    own, frozen = _RUNS[settings.backbone], settings.backbone == "frozen"
    given: dict[str, Any] = {field: getattr(settings, name) for name, field in _OF_THE_RUN.items()}
    loop = replace(
        own, **{field: value for field, value in given.items() if value is not None}, steps=settings.steps or 0,
        warmup=settings.warmup or 0, schedule=settings.rate_schedule, drop_epochs=settings.drop_epochs,
        drop_factor=settings.drop_factor,
        ramp_epoch=settings.frozen_epochs if settings.full and settings.ramp and settings.frozen_epochs else None,
        optimizer=settings.optimizer or own.optimizer, accumulation=settings.accum_freq,
        precision=settings.precision, seed=settings.seed, save_every=settings.save_frequency,
        workers=0 if frozen else settings.workers,
    )  # fmt: skip
    steps = total_steps(examples, loop)
    if settings.warmup is None:
        return replace(loop, warmup=min(RISE, steps // 10) if frozen else 0)
    if settings.warmup >= steps:
        raise UserError(
            got=f"--warmup {settings.warmup} in a run of {steps} steps, whose rate would never reach its peak",
            expected=f"a warm-up shorter than the run: 0 to {steps - 1}",
            do="give a shorter warm-up, or train for longer (--steps, --epochs)",
        )
    return loop


def resolved(settings: Settings) -> dict[str, Any]:
    """The settings as JSON values, with those that the recipe decides."""
    told, own = record(settings), _RUNS[settings.backbone]
    decided = {name: getattr(own, field) for name, field in _OF_THE_RUN.items()}
    if settings.backbone != "frozen":
        rates = rates_of(settings)
        decided |= {"text_rate": rates.text, "image_rate": rates.image}
    return told | {name: value for name, value in decided.items() if told[name] is None}


def require_blocks(encoder: ClipEncoder, settings: Settings) -> None:
    """Refuse blocks that a tower lacks, by the option that names them."""
    if settings.backbone != "blocks":
        return
    for name, count in zip(("vision_blocks", "text_blocks"), block_counts(encoder), strict=True):
        said = getattr(settings, name)
        try:
            block_indices(said, count)
        except UserError as error:
            raise UserError(
                got=f"{flag(name)} {said} of a tower of {count} blocks", expected=error.expected,
                do=f"give {flag(name)} blocks that the tower has, counted from 0 at the input",
            ) from error  # fmt: skip


def rates_of(settings: Settings) -> BackboneRates:
    """The rates of a backbone that is trained."""
    full = BackboneRates(layer_decay=settings.layer_decay, frozen_epochs=settings.frozen_epochs)
    own = BLOCKS_RATES if settings.backbone == "blocks" else full
    return replace(
        own, text=own.text if settings.text_rate is None else settings.text_rate,
        image=own.image if settings.image_rate is None else settings.image_rate,
        adapter_weight_decay=settings.adapter_wd,
    )  # fmt: skip


def augmentation_of(settings: Settings) -> Augmentation:
    """What such a training changes in its examples."""
    if settings.backbone == "blocks":
        return replace(UNCHANGED, flip=settings.flip, area=settings.crop_area if settings.crop_area < 1 else None)
    return Augmentation(**{name: getattr(settings, name) for name in field_names(Augmentation) if name != "area"})


def _refuse_without_effect(settings: Settings, kind: Kind) -> None:
    """Options that the chosen method or model does not know."""
    adapter = [_OWN.get(name, name) for name in field_names(AdapterConfig) if name != "features"]
    groups = (
        (True, UNKNOWN_TO[settings.backbone], _BACKBONES[settings.backbone]),
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
        given = [name for name in names if getattr(settings, name) != getattr(Settings, name)]
        if unused and given:
            knowing = [f"--backbone {one}" for one, unknown in UNKNOWN_TO.items() if not {*given} & {*unknown}]
            other = " or ".join(knowing) if names is UNKNOWN_TO[settings.backbone] and knowing else ""
            raise UserError(
                got=f"{', '.join(map(flag, given))} with {what}",
                expected="options that change something",
                do=f"leave them out, or choose {other or 'another --backbone, --method or --scorer'}",
            )
