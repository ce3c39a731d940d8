"""What ``litotes train vacsr`` tells: what is about to be done, the figures before and after, the page."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from litotes.cli.pair_data import PairData
from litotes.cli.pair_settings import augmentation_of, rates_of
from litotes.cli.train_vacsr import Settings
from litotes.data.augment import UNCHANGED
from litotes.evaluate.compare import Differences
from litotes.evaluate.kept import Kept
from litotes.evaluate.pages import singles
from litotes.evaluate.plots import loss_curves, loss_terms
from litotes.evaluate.report import Adaptation, write_comparison_report
from litotes.evaluate.table import figures_table
from litotes.evaluate.verdict import outcome, significance
from litotes.models.variational import AdapterConfig
from litotes.objectives.vacsr import VacsrConfig, VacsrTerms
from litotes.train.journal import read_journal
from litotes.train.loop import LoopConfig, total_steps
from litotes.train.optim import MOMENTUM
from litotes.train.pair_objectives import PairMethod
from litotes.train.plan import batch_sizes

Records = Mapping[str, Mapping[str, Any]]
RUN = "run"
BEFORE = "cosine"
"""What the model is compared with: the cosine of the same features."""
_IN_WORDS = {
    "variational": "VACSR's variational adapter",
    "deterministic": "a deterministic adapter of the same size",
    "cosine": "the cosine with a learned scale and bias",
}
_TRAINED_WITH = {
    "frozen": "on the features of the frozen model", "full": "trained with the backbone",
    "blocks": "trained with some blocks of the backbone",
}  # fmt: skip
_SCORER = {"frozen": "What is trained", "full": "The scorer", "blocks": "The scorer"}
_DOUBTS = {
    "sigma": "σ", "total_variance": "total variance", "one_minus_p": "1 − p", "one_minus_cosine": "1 − cosine"
}  # fmt: skip


class Trained(NamedTuple):
    """What was trained, on what and how, for the page.

    parameters: of the model of pair scores. groups: the trained weights by rate, as of ``optim.listing``.
    """

    data: PairData
    loop: LoopConfig
    method: PairMethod
    parameters: int
    groups: Sequence[Mapping[str, Any]] = ()


def opening(trained: Trained, settings: Settings) -> str:
    """What is about to be done, in a few lines."""
    data, method = trained.data, trained.method
    lines = [
        f"{len(data.training):,} captions of {len(data.training.pictures):,} pictures to train on, "
        f"{len(data.held):,} of {len(data.held.pictures):,} held out",
        f"{method.method} on {_IN_WORDS[method.kind]}: {trained.parameters:,} weights" + _beside(settings),
    ]
    return "\n".join([*lines, *([f"noise: {_noise_in_words(data.noise)}"] if data.noise else [])])


def _beside(settings: Settings) -> str:
    """What of the model is trained with the scorer, as the end of a sentence."""
    if settings.backbone == "blocks":
        return f", and {_blocks(settings)}"
    return f", and both towers, their tokens pooled into {settings.dimension:,} numbers" if settings.full else ""


def _blocks(settings: Settings) -> str:
    return f"blocks {settings.vision_blocks} of the picture tower and {settings.text_blocks} of the text tower"


def rest_note(trained: Trained, settings: Settings) -> str:
    """What a reader must know of a run that ends before its picture tower wakes; "" of any other."""
    loop, examples = trained.loop, len(trained.data.training)
    resting = settings.frozen_epochs * len(batch_sizes(examples, loop.batch_size, loop.drop_last))
    if not settings.full or total_steps(examples, loop) > resting:
        return ""
    return (
        f"The picture tower does not move: it rests for {resting:,} steps (--frozen-epochs {settings.frozen_epochs}), "
        f"and the run has {total_steps(examples, loop):,}."
    )


def worse_note(records: Records, trained: Trained, backbone: str = "frozen") -> str:
    """What a reader must know of an adapter that finds less than the cosine; "" of any other."""
    before, after = (_found(record["suites"]) for record in records.values())
    if after >= before or trained.method.kind == "cosine":
        return ""
    data, loop = trained.data.training, trained.loop
    slow = (
        "SGD moves a new adapter slowly: --optimizer adamw, with a low --text-rate and --image-rate where blocks are "
        "trained, learns in fewer steps. "
    )
    return (
        f"It finds less than the cosine it is compared with. A new adapter knows nothing at first, and had "
        f"{total_steps(len(data), loop):,} steps on {len(data):,} captions: it needs thousands of captions and "
        f"hundreds of steps (--steps). {slow if loop.optimizer == 'sgd' else ''}With few, --method sigmoid --scorer "
        f"cosine learns a probability and {'keeps' if backbone == 'frozen' else 'begins at'} the cosine's order."
    )


def _found(suites: Mapping[str, Any]) -> float:
    """How much is found: rSum, or where classes are measured the share of pictures that are put right."""
    classes = suites.get("classification", {}).get("acc1", 0.0)
    return float(suites.get("retrieval", {}).get("rsum", classes))


def selection_notes(settings: Settings) -> list[str]:
    """What a reader must know where the step was chosen on the pictures that are measured."""
    if settings.select == "last" or settings.retrieval:
        return []
    return [
        "The step was selected on the pictures that are measured here, so that the figures are a little too good; "
        "other captions can be given as --retrieval."
    ]


def write_page(
    page: Path, records: Records, kept: Kept, notes: Sequence[str], trained: Trained, settings: Settings
) -> None:
    """The page and its JSON: figures before and after with what their answers show, method and data, the losses."""
    after = list(records.values())[-1]
    told = Adaptation(
        _outcome(records, kept.compared), tuple(_facts(after, trained, settings)), tuple(_curves(settings))
    )
    write_comparison_report(
        page, page.with_suffix(".json"), records, title="How likely, and how sure",
        notes=[*_wrong_pairs(after), *notes], adaptation=told, singles=singles(records, kept),
    )  # fmt: skip


def show(records: Records, compared: Mapping[str, Differences], notes: Sequence[str], screen: Console) -> None:
    """All figures before and after, how far chance could reach, what is known of wrong pairs, and the notes."""
    screen.print(figures_table(records, "before and after", compared))
    sentences = [f"  {told.sentence}" for told in significance(records, compared)]
    after = list(records.values())[-1]
    for sentence in (*_outcome(records, compared), *sentences, *_wrong_pairs(after)):
        screen.print(sentence, highlight=False, markup=False)
    for note in notes:
        screen.print(f"note: {note}", highlight=False, markup=False)


def _outcome(records: Records, compared: Mapping[str, Differences]) -> tuple[str, ...]:
    before, after = records
    return outcome(records[after]["suites"], records[before]["suites"], compared[after])


def _facts(after: Mapping[str, Any], trained: Trained, settings: Settings) -> list[tuple[str, str]]:
    data, loop, method, parameters, _ = trained
    steps = total_steps(len(data.training), loop)
    momentum = f" with momentum {MOMENTUM:g}" if loop.optimizer == "sgd" else ""
    return [
        ("Method", f"{method.method} on {_IN_WORDS[method.kind]}, "
                   + _TRAINED_WITH[settings.backbone]),
        (_SCORER[settings.backbone], f"{parameters:,} weights{_other_than_default(method.adapter, AdapterConfig())}"),
        *_backbone(trained, settings),
        *([("Loss", _loss(method.vacsr))] if method.method == "vacsr" else []),
        ("Steps", f"{steps:,}, {steps * min(loop.batch_size, len(data.training)) / len(data.training):.3g} passes over "
                  f"the data; kept: step {after['kept']['step']:,}"),
        ("Batch", f"{min(loop.batch_size, len(data.training))} captions, "
                  + (f"each picture with all {len(set(data.training.captions)):,} prompts of the training part"
                     if method.pairing == "all" else "all pairs of a batch")),
        ("Learning rate", f"{loop.lr:g} at its peak, {loop.warmup} steps of rise, then {_schedule(loop)}"),
        ("Optimiser", f"{loop.optimizer}{momentum}, weight decay {loop.weight_decay:g}"),
        ("Training data", f"{len(data.training):,} captions of {len(data.training.pictures):,} pictures of "
                          f"{settings.train_data.name}"),
        ("Training data (SHA-256)", data.training.fingerprint()),
        ("Noise", f"{_noise_in_words(data.noise)}; SHA-256 {data.noise['noise_sha256']}" if data.noise else "none"),
        ("Seed", str(settings.seed)),
    ]  # fmt: skip


def _backbone(trained: Trained, settings: Settings) -> list[tuple[str, str]]:
    """What is told of a backbone that was trained."""
    if settings.backbone == "frozen":
        return []
    numbers = sum(row["numbers"] for row in trained.groups) - trained.parameters
    rates = rates_of(settings)
    if settings.backbone == "blocks":
        return [
            ("The backbone", f"{numbers:,} weights of {_blocks(settings)}; all else as it was, and the features CLIP's "
                             "own"),
            ("Its rates", f"of the learning rate {rates.text:g} (text tower) and {rates.image:g} (picture tower)"),
            ("Changed in training", _changes(settings)),
        ]  # fmt: skip
    passes = "pass" if settings.frozen_epochs == 1 else f"{settings.frozen_epochs} passes"
    rest = f"; the picture tower at rest in the first {passes}" if settings.frozen_epochs else ""
    ramp = ", then the loss raised over one pass" if trained.loop.ramp_epoch else ""
    pictures = {
        "pcmepp": "squashed to a square, ImageNet's mean and deviation, as in PCME++",
        "model": "as the model prepares them",
    }
    return [
        ("The backbone", f"{numbers:,} weights of both towers and their heads, tokens pooled into "
                         f"{settings.dimension:,} numbers"),
        ("Its rates", f"of the learning rate {rates.text:g} (text tower) and {rates.image:g} (picture "
                      f"tower), times {settings.layer_decay:g} for each block from the top{rest}{ramp}"),
        ("Pictures", pictures[settings.preparation]),
        ("Changed in training", _changes(settings)),
    ]  # fmt: skip


def _changes(settings: Settings) -> str:
    changes = augmentation_of(settings)
    if changes == UNCHANGED:
        return "nothing"
    if settings.backbone == "blocks":
        area = f"crops of {changes.area:.0%} of the area or more, stretched to a square; " if changes.area else ""
        return f"{area}{changes.flip:.0%} of the pictures mirrored"
    return (
        f"crops of {settings.crop:.0%} of a side or more, {settings.flip:.0%} mirrored; {settings.touched:.0%} of a "
        f"caption's tokens altered; of {settings.token_chance:.0%} of the pictures up to {settings.token_part:.0%} of "
        "the tokens not pooled"
    )


def _schedule(loop: LoopConfig) -> str:
    drops = f"constant, times {loop.drop_factor:g} from each of the passes {', '.join(map(str, loop.drop_epochs))} on"
    return {"cosine": "half a cosine to 0", "constant": "constant", "step": drops}[loop.schedule]


def _loss(config: VacsrConfig) -> str:
    weights = {
        "reconstruction": config.recon_weight, "divergence": config.kl_weight,
        "σ at right pairs": config.sigma_positive_weight, "σ at hard wrong pairs": config.sigma_negative_weight,
    }  # fmt: skip
    told = " + ".join(f"{weight:g} · {name}" for name, weight in weights.items() if weight)
    return told + _other_than_default(config, VacsrConfig(), skipped=("weight",))


def _other_than_default(config: Any, default: Any, skipped: Sequence[str] = ()) -> str:  # noqa: ANN401 (a dataclass)
    """The settings of a dataclass that are not its defaults, as the end of a sentence."""
    odd = [
        f"{field.name} {getattr(config, field.name)}"
        for field in fields(config)
        if getattr(config, field.name) != getattr(default, field.name)
        and not field.name.endswith(tuple(skipped) or "?")
    ]
    return f"; {', '.join(odd)}" if odd else ""


def _curves(settings: Settings) -> list[tuple[str, str, str]]:
    """The losses alone: what else stands in the journal is for who looks closer."""
    kept = {"step", "items", *VacsrTerms._fields}
    lines = [
        {key: value for key, value in line.items() if key in kept}
        for line in read_journal(settings.output / RUN / "journal.jsonl")
    ]
    return list(loss_curves(loss_terms(lines), RUN))


def _noise_in_words(noise: Mapping[str, Any]) -> str:
    return (
        f"{noise['n_wrong']:,} of {noise['n_captions']:,} captions on a wrong picture ({noise['effective_ratio']:.1%})"
    )


def _wrong_pairs(after: Mapping[str, Any]) -> list[str]:
    """How well the wrong pairs of the training part are told from the right ones."""
    if "wrong_pairs" not in after:
        return []
    told = [f"{value:.3f} by {_DOUBTS[name]}" for name, value in after["wrong_pairs"].items() if value is not None]
    return [
        "Wrong pairs of the training part against right ones, AUROC: "
        + (", ".join(told) + " (0.5 says nothing)." if told else "not defined, since all are right or all are wrong.")
    ]
