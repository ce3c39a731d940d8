"""The work of ``litotes train``: from settings to adapter and report."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from litotes.cli.adaptation import adaptation
from litotes.cli.measuring import Questions, evaluated, geometry_suite, print_comparison, report_suites
from litotes.cli.train import Settings
from litotes.config import field_names, flag, flatten, record
from litotes.data.cc_neg import from_cc_neg
from litotes.data.nouns import names_note, objects_from_captions
from litotes.data.quadruplets import Quadruplets, from_table
from litotes.data.screening import Screening, left_out_notes
from litotes.data.statements import TWIN, OptionSet, make_options
from litotes.data.tables import listed
from litotes.errors import UserError, together
from litotes.evaluate.command import progress_bars, require_device
from litotes.evaluate.kept import keep_and_compare
from litotes.evaluate.notes import notes_of_all
from litotes.evaluate.pages import singles
from litotes.evaluate.report import write_comparison_report
from litotes.evaluate.results import write_json
from litotes.models.loading import load_backbone, require_source
from litotes.models.lora import adapted_blocks, save_adapter
from litotes.models.lora_settings import ALL_LINEAR, ATTENTION, LoraSettings, describe
from litotes.models.matcher import Matcher
from litotes.objectives.hanclip import HanclipConfig
from litotes.places import require_folder_place
from litotes.train.checkpoint import require_same_settings
from litotes.train.loop import LoopConfig, total_steps
from litotes.train.negation import NegationConfig
from litotes.train.phase import interruptible, require_place
from litotes.train.plan import batch_note, require_useful_steps
from litotes.train.recipes import FULL_RATE, LESSON_RATE, MIRROR, RECIPES, Lesson, Recipe, adapt

MOST_VALIDATION = 1000
RUN = "run"
_DATA = ("objects_from", "cc_neg", "remove_commas", "train_num_samples", "val_fraction", "seed")
_WHERE = ("vocabulary", "activation", "round_like_reference", "sha256", "allow_network")
_MAY_CHANGE = ("loop.save_every", "loop.keep", "loop.workers")

_SAID = {
    "loop.accumulation": "--accum-freq", "loop.batch_size": "--batch-size", "loop.epochs": "--epochs",
    "loop.lr": "--lr", "loop.precision": "--precision",
    "loop.seed": "--seed", "loop.steps": "--steps", "loop.warmup": "--warmup",
    "loop.weight_decay": "--wd", "negation.hanclip": "--hanclip-weight", "negation.options": "--options-weight",
    "negation.contrast": "--contrast-weight", "negation.mirror": "--mirror-weight",
    "negation.retention": "--retention-weight",
    "lesson.loop.steps": "--mirror-steps", "lesson.share": "--lesson-share", "negation.objective.alpha": "--alpha",
    "negation.objective.hco.curvature": "--curvature", "negation.objective.hco.norm": "--norm",
    "negation.objective.hco.reading": "--reading", "negation.objective.hco.temperature": "--temperature",
    "lora.towers": "--towers", "lora.rank": "--lora-rank", "lora.alpha": "--lora-alpha",
    "lora.dropout": "--lora-dropout", "lora.targets": "--lora-targets", "lora.layers": "--lora-layers",
    "lora.vision_layers": "--lora-vision-layers", "full": "--full",
}  # fmt: skip
"""Settings of a recipe that an option of the command says."""


def run_training(settings: Settings) -> None:
    """Adapt, measure before and after, write adapter and report; an interrupt says what is saved."""
    recipe = recipe_of(settings)
    with interruptible(settings.output, recipe.phases(RUN)):
        _run_training(settings, recipe, Console())


def _run_training(settings: Settings, recipe: Recipe, screen: Console) -> None:
    """Everything is read and checked before the model is loaded; the report is written last."""
    require_device(settings.device)
    require_place(settings.output, recipe.phases(RUN), settings.resume)
    if settings.cache:
        require_folder_place(settings.cache, "--cache")
    recorded = {"settings": record(settings), "recipe": record(recipe)}
    require_unchanged(settings.output / "config.json", recorded)
    where: dict[str, Any] = {key: getattr(settings, key) for key in _WHERE}
    screening = Screening(settings.broken_pictures, settings.allow_missing)
    find_model = partial(require_source, settings.model, **where)
    planned = _planned(settings, recipe, screening, find_model)
    matcher = load_backbone(settings.model, device=settings.device, **where)
    if recipe.lora:
        adapted_blocks(matcher.encoder, recipe.lora)  # refuses those that a tower lacks
    matcher.workers = settings.workers
    with progress_bars(screen) as progress:
        found = screening.look(matcher.preprocess.square, settings.workers, progress)
    train_part, held, recipe, options, questions, warnings = (
        _planned(settings, recipe, screening, find_model) if found else planned
    )
    write_json(settings.output / "config.json", recorded)
    recipe = scaled(recipe, matcher, train_part)
    suites = [*questions.suites, geometry_suite(held, recipe)]
    screen.print(_opening(train_part, held, recipe, settings), highlight=False, soft_wrap=True)
    for warning in (*matcher.notes, *warnings):
        screen.print(f"note: {warning}", highlight=False, markup=False)
    extra: dict[str, object] = {"seed": settings.seed, "recipe": settings.recipe, **screening.record()}
    if settings.objects_from == "captions":
        extra["objects_from"] = "captions"
    base, before = evaluated("measuring base", matcher, suites, settings, screen)
    base |= extra
    adapt(
        matcher, train_part, recipe, settings.output / RUN, options=options, cache=settings.cache,
        resume=settings.resume,
    )  # fmt: skip
    saved = save(matcher, recipe, settings.output)
    if recipe.full:
        extra["pretrained"] = f"all weights of {recipe.full} tuned"
    adapted, after = evaluated("measuring adapted", matcher, suites, settings, screen)
    page = settings.output / "report.html"
    records, kept = keep_and_compare(
        page.with_suffix(".json"), {"base": base, "adapted": adapted | extra}, {"base": before, "adapted": after},
        questions.roots,
    )  # fmt: skip
    told = adaptation(settings, recipe, train_part, matcher, settings.output / RUN, records, kept.compared)
    write_comparison_report(
        page, page.with_suffix(".json"), records, title="What the adaptation changed",
        notes=[*warnings, *questions.notes], adaptation=told, singles=singles(records, kept),
    )  # fmt: skip
    unsaid = [note for note in notes_of_all(records) if note not in warnings]
    print_comparison(records, kept.compared, told.outcome, [*questions.notes, *unsaid], screen)
    screen.print(f"{saved.name:<8} {saved}\nreport   {page}", highlight=False, soft_wrap=True)


class _Planned(NamedTuple):
    """What a run is about to do: with what it trains and measures, and what a reader must know of that."""

    train_part: Quadruplets
    held: Quadruplets
    recipe: Recipe
    options: list[OptionSet] | None
    questions: Questions
    warnings: list[str]


def _planned(settings: Settings, recipe: Recipe, screening: Screening, find_model: Callable[[], None]) -> _Planned:
    """Everything that is read, checked and drawn before the model is loaded, over the pictures that can be used."""
    data = load_data(settings, screening)
    train_part, held = split(data, settings.val_fraction, settings.seed)
    notes: list[str] = []
    if settings.objects_from == "captions":
        train_part, notes = named_part(data, train_part, recipe.states)
    require_useful_steps(len(train_part), recipe.loop.batch_size, recipe.loop.drop_last)
    recipe = with_reachable_rate(recipe, len(train_part), settings)
    options = own_statements(train_part, settings) if recipe.states else None
    questions: Questions = together(partial(report_suites, data, held, settings, screening), find_model)[0]
    notes += [*left_out_notes(screening.record()), *data_notes(train_part, recipe.loop.batch_size)]
    return _Planned(train_part, held, recipe, options, questions, notes)


def require_unchanged(path: Path, recorded: dict[str, dict[str, object]]) -> None:
    """Refuse to go on with another recipe or choice of data than ``path`` records of the run, if it is there.

    Model, pictures and texts are compared by content when the run goes on.
    """
    if not path.is_file():
        return
    before = json.loads(path.read_text(encoding="utf-8"))
    require_same_settings(path, _decisive(before), _decisive(recorded))


def _decisive(recorded: dict[str, dict[str, object]]) -> dict[str, object]:
    """What the outcome depends on, by the option that says it where there is one."""
    recipe = {key: value for key, value in flatten(recorded["recipe"]).items() if key not in _MAY_CHANGE}
    said = {_SAID.get(key, key): value for key, value in recipe.items()}
    return {**said, **{flag(key): recorded["settings"].get(key, getattr(Settings, key)) for key in _DATA}}


def load_data(settings: Settings, screening: Screening) -> Quadruplets:
    """The quadruplets that the settings name, drawn down to ``train_num_samples``, over pictures that can be used.

    Those of other pictures are left out after the draw, so that no row takes the place of another.
    A published table is taken as it is, own ones are refused where N says the same as a true caption. Names are
    looked for in all captions of an own table, and in those drawn from a published one.
    """
    if settings.cc_neg:
        data = from_cc_neg(
            settings.train_data, settings.images_root or settings.train_data.parent,
            remove_commas=settings.remove_commas, count=settings.train_num_samples or None, seed=settings.seed,
            allow_missing=settings.allow_missing,
        )  # fmt: skip
    else:
        data = from_table(
            settings.train_data, settings.images_root, seed=settings.seed, allow_missing=settings.allow_missing
        )
    if settings.objects_from == "captions":
        data = objects_from_captions(data)
    drawn = settings.cc_neg or not settings.train_num_samples
    data = data if drawn else data.choose(settings.train_num_samples, settings.seed)
    left = screening.select("train_data", data.pictures, range(len(data)))
    return data if len(left.rows) == len(data) else data.take(left.rows)


def data_notes(data: Quadruplets, batch: int) -> list[str]:
    """What a reader must know of the data that the model is adapted on, in whole sentences."""
    same = len(data.contradictions())
    contradictions = f"{same} of {len(data)} negated captions say the same as a true caption of their picture."
    return [note for note in (batch_note(len(data), batch), contradictions if same else "") if note]


def split(data: Quadruplets, fraction: float, seed: int) -> tuple[Quadruplets, Quadruplets]:
    """Training part and held-out part; all rows of a picture fall on the same side."""
    names = sorted({data.pictures.name(i) for i in range(len(data))})
    count = min(MOST_VALIDATION, round(fraction * len(names))) if 0 < fraction < 1 else 0
    if not 0 < count < len(names):
        raise UserError(
            got=f"--val-fraction {fraction} of {len(names)} pictures",
            expected="a fraction between 0 and 1 that leaves at least one picture on either side",
            do="give another fraction, or more pictures",
        )
    kept_out = {names[i] for i in np.random.default_rng([seed, 7]).permutation(len(names))[:count]}
    sides: tuple[list[int], list[int]] = ([], [])
    for i in range(len(data)):
        sides[data.pictures.name(i) in kept_out].append(i)
    return data.take(sides[False]), data.take(sides[True])


def named_part(data: Quadruplets, train_part: Quadruplets, needed: bool) -> tuple[Quadruplets, list[str]]:
    """The part to train on, and what a reader must know of names that were taken from captions.

    needed: pictures without a name are left out, since nothing can be said of them. The held-out part keeps its own,
    so that it is the same for every recipe.
    """
    rows = [i for i, names in enumerate(train_part.objects or ()) if names or not needed]
    without = len(train_part) - len(rows)
    left_out = (
        f"{without:,} of {len(train_part):,} quadruplets to train on are left out, since the captions of their "
        "pictures mention none of these names."
    )
    return train_part.take(rows), [names_note(data), *([left_out] if without else [])]


def own_statements(data: Quadruplets, settings: Settings) -> list[OptionSet]:
    """True and false statements of each picture, from the names of its things."""
    if data.objects is None:
        raise UserError(
            got=f"{settings.train_data} without an objects column",
            expected='the things in each picture ("cat|boat"), from which true and false statements are made',
            do="add the column, take the recipe hanclip, or say that nouns of the captions will do (--objects-from "
            "captions), though what they do not mention then counts as absent",
        )
    blank = [data.pictures.name(i) for i, objects in enumerate(data.objects) if not objects]
    if blank:
        raise UserError(
            got=f"{len(blank)} pictures without objects: {listed(blank)}",
            expected="the name of at least one thing in every picture",
            do="fill the column in these rows, or leave them out",
        )
    vocabulary = sorted({name for objects in data.objects for name in objects})
    rng = np.random.default_rng([settings.seed, 2])
    return [make_options(objects, vocabulary, rng, twin=TWIN) for objects in data.objects]


def recipe_of(settings: Settings) -> Recipe:
    """The named recipe with everything that the settings say otherwise."""
    recipe = RECIPES[settings.recipe]()
    loop = _loop(recipe, settings)
    changed = replace(recipe, negation=_negation(recipe, settings), loop=loop, lesson=_lesson(recipe, loop, settings))
    if not changed.negation.needed():
        raise UserError(got="every weight 0", expected="a term to train", do="set one weight above 0")
    if not changed.negation.hanclip:
        _refuse_hanclip_options(settings)
    towers = settings.towers or (recipe.lora.towers if recipe.lora else "both")
    if settings.full:
        _refuse_adapter_options(settings)
        return replace(changed, lora=None, full=towers)
    return replace(changed, lora=_lora(recipe.lora or LoraSettings(), towers, settings))


def _negation(recipe: Recipe, settings: Settings) -> NegationConfig:
    given = {"hanclip": settings.hanclip_weight, "options": settings.options_weight,
             "contrast": settings.contrast_weight, "retention": settings.retention_weight,
             "mirror": 0.0 if settings.mirror_steps == 0 else settings.mirror_weight}  # fmt: skip
    weights: dict[str, Any] = {name: weight for name, weight in given.items() if weight is not None}
    temperature = recipe.negation.objective.hco.temperature if settings.temperature is None else settings.temperature
    # Under "scale" the length is measured on the model when it is loaded.
    hco = replace(
        recipe.negation.objective.hco, curvature=settings.curvature, temperature=temperature, norm=settings.norm,
        reading=settings.reading, image_norm=1.0 if settings.norm == "scale" else None,
    )  # fmt: skip
    return replace(recipe.negation, objective=HanclipConfig(hco, settings.alpha), **weights)


def _loop(recipe: Recipe, settings: Settings) -> LoopConfig:
    loop = recipe.loop
    rate = FULL_RATE if settings.full else loop.lr
    steps = settings.steps if settings.steps is not None else 0 if settings.epochs is not None else loop.steps
    return replace(
        loop, batch_size=settings.batch_size or loop.batch_size,
        epochs=loop.epochs if settings.epochs is None else settings.epochs,
        steps=steps, lr=rate if settings.lr is None else settings.lr, weight_decay=settings.wd,
        warmup=loop.warmup if settings.warmup is None else settings.warmup, accumulation=settings.accum_freq,
        precision=settings.precision, seed=settings.seed, save_every=settings.save_frequency,
        workers=settings.workers,
    )  # fmt: skip


def _lesson(recipe: Recipe, loop: LoopConfig, settings: Settings) -> Lesson | None:
    """The recipe's lesson, or the default one where it has none, at thrice the run's rate and else as the run goes."""
    if settings.mirror_steps == 0 or (settings.mirror_steps is None and recipe.lesson is None):
        return None
    lesson = recipe.lesson or MIRROR
    steps = lesson.loop.steps if settings.mirror_steps is None else settings.mirror_steps
    return replace(
        lesson, share=lesson.share if settings.lesson_share is None else settings.lesson_share,
        loop=replace(
            lesson.loop, steps=steps, lr=LESSON_RATE * loop.lr, warmup=min(lesson.loop.warmup, steps // 10),
            batch_size=loop.batch_size,
            precision=loop.precision, seed=loop.seed, save_every=loop.save_every, accumulation=loop.accumulation,
        ),
    )  # fmt: skip


def with_reachable_rate(recipe: Recipe, examples: int, settings: Settings) -> Recipe:
    """The recipe with a warm-up that ends before the run does, so that the peak rate is reached.

    A warm-up of the recipe's own is shortened to a tenth of the run; one that the user asked for is refused.
    """
    steps, warmup = total_steps(examples, recipe.loop), recipe.loop.warmup
    if warmup < steps:
        return recipe
    if settings.warmup is not None:
        raise UserError(
            got=f"--warmup {warmup} in a run of {steps} steps, whose rate would never reach its peak",
            expected=f"a warm-up shorter than the run: 0 to {steps - 1}",
            do="give a shorter warm-up, or train for longer (--steps, --epochs)",
        )
    return replace(recipe, loop=replace(recipe.loop, warmup=steps // 10))


def _lora(lora: LoraSettings, towers: str, settings: Settings) -> LoraSettings:
    targets = {None: lora.targets, "attention": ATTENTION, "all": ALL_LINEAR}[settings.lora_targets]
    return replace(
        lora, towers=towers, targets=targets,
        rank=lora.rank if settings.lora_rank is None else settings.lora_rank,
        alpha=lora.alpha if settings.lora_alpha is None else settings.lora_alpha,
        dropout=lora.dropout if settings.lora_dropout is None else settings.lora_dropout,
        layers=lora.layers if settings.lora_layers is None else settings.lora_layers,
        vision_layers=lora.vision_layers if settings.lora_vision_layers is None else settings.lora_vision_layers,
    )  # fmt: skip


def _refuse_hanclip_options(settings: Settings) -> None:
    """Options that would change nothing; curvature and norm still place the points of the report."""
    given = _given(settings, ("alpha", "temperature", "reading"))
    if given:
        raise UserError(
            got=f"{', '.join(given)} with a loss that has neither HCO nor ATNL (recipe {settings.recipe})",
            expected="settings of terms that are computed",
            do="leave out these options, or give --hanclip-weight a number above 0",
        )


def _given(settings: Settings, names: tuple[str, ...]) -> list[str]:
    """Those of the options that were given another value than their default."""
    return [flag(name) for name in names if getattr(settings, name) != getattr(Settings, name)]


def _refuse_adapter_options(settings: Settings) -> None:
    given = _given(settings, tuple(name for name in field_names(Settings) if name.startswith("lora_")))
    if given:
        raise UserError(
            got=f"--full with {', '.join(given)}",
            expected="either whole towers or an adapter",
            do="leave out --full, or the options of the adapter",
        )


def scaled(recipe: Recipe, matcher: Matcher, data: Quadruplets, sample: int = 256) -> Recipe:
    """For ``norm = "scale"``: the mean length of the base's picture embeddings, measured on a few pictures."""
    hco = recipe.negation.objective.hco
    if hco.norm != "scale":
        return recipe
    length = float(matcher.encode_images(data.pictures, range(min(sample, len(data)))).norm(dim=-1).mean())
    measured = replace(recipe.negation.objective, hco=replace(hco, image_norm=length))
    return replace(recipe, negation=replace(recipe.negation, objective=measured))


def save(matcher: Matcher, recipe: Recipe, output: Path) -> Path:
    """Write the adapter, or the whole model where the towers were trained whole, and return its folder."""
    if recipe.lora is None:
        matcher.save(output / "model")
        return output / "model"
    save_adapter(matcher, recipe.lora, output / "adapter")
    matcher.adapter = f"{output / 'adapter'} ({describe(recipe.lora)})"
    return output / "adapter"


def _opening(train_part: Quadruplets, held: Quadruplets, recipe: Recipe, settings: Settings) -> str:
    """What is about to be done, in two lines."""
    what = f"all weights of {recipe.full}" if recipe.lora is None else describe(recipe.lora)
    return f"{len(train_part):,} quadruplets to train on, {len(held):,} held out\nrecipe {settings.recipe}: {what}"
