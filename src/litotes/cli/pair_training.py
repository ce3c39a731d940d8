"""The work of ``litotes train vacsr``: from settings to an adapter of pairs and its report."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image
from rich.console import Console

from litotes.backbones.preprocess import Preprocess
from litotes.cli.class_pairs import class_suite
from litotes.cli.pair_data import PairData, load_data
from litotes.cli.pair_report import (
    BEFORE,
    RUN,
    Trained,
    opening,
    rest_note,
    selection_notes,
    show,
    worse_note,
    write_page,
)
from litotes.cli.pair_settings import loop_of, method_of, require_blocks, resolved
from litotes.cli.pair_tasks import Work, work_of, wrong_pair_auroc
from litotes.cli.train_vacsr import Settings
from litotes.config import flag, record
from litotes.data.noise import save_noise
from litotes.data.pairs import CaptionedPictures
from litotes.data.screening import AllOf, Screening, left_out_notes
from litotes.errors import together
from litotes.evaluate.answers import Answer
from litotes.evaluate.by_pairs import LOGIT, scored_by
from litotes.evaluate.command import progress_bars, require_device
from litotes.evaluate.config import EvaluateConfig, named_ks
from litotes.evaluate.features import Remembering
from litotes.evaluate.files import choice_suite, negated_retrieval_suite, picture_roots, retrieval_suite
from litotes.evaluate.kept import keep_and_compare
from litotes.evaluate.results import result_record, write_json
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.suite import Suite, run_suites
from litotes.metrics.ranking import ranks, recalls
from litotes.models.loading import load_backbone, require_source
from litotes.models.lora import load_adapter, require_adapter_files
from litotes.models.matcher import Matcher
from litotes.models.pair_adapter import BACKBONE, save_pair_adapter
from litotes.models.pair_backbone_file import read_pair_backbone
from litotes.models.pair_scores import PairScorer
from litotes.models.pair_trained_on import trained_on
from litotes.models.variational import parameter_count
from litotes.objectives.diagnostics import named, signs
from litotes.places import require_folder_place
from litotes.train.backbone_pairs import recipe_pictures
from litotes.train.checkpoint import require_same_settings
from litotes.train.loop import LoopConfig, total_steps
from litotes.train.optim import listing
from litotes.train.pair_objectives import new_objective
from litotes.train.pairs import pair_features
from litotes.train.phase import interruptible, require_place, run_phase
from litotes.train.plan import batch_note, require_useful_steps
from litotes.train.selection import Selection

FOLDER = "pair-adapter"
"""What is trained, in the folder of the run."""
_WHERE = ("vocabulary", "activation", "round_like_reference", "sha256", "allow_network")
_MAY_CHANGE = {
    "output", "resume", "cache", "device", "choice", "retrieval", "negated_retrieval", "ks", "model", "vocabulary",
    "train_data", "images_root", "val_data", "classnames", "adapter", "noise_index", "allow_network", "workers",
    "broken_pictures", "allow_missing",
}  # fmt: skip
"""Settings that a resumed run may have otherwise; of files and models the content is compared."""


def run_pair_training(settings: Settings) -> None:
    """Train, measure before and after, write adapter and report; an interrupt says what is saved."""
    with interruptible(settings.output, (RUN,)):
        _run(settings, Console())


def _run(settings: Settings, screen: Console) -> None:
    """Everything is read and checked before the model is loaded; the report is written last."""
    _require_places(settings)
    screening = Screening(settings.broken_pictures, settings.allow_missing)
    planned = _planned(settings, screening)
    where: dict[str, Any] = {key: getattr(settings, key) for key in _WHERE}
    matcher = load_backbone(settings.model, device=settings.device, **where)
    matcher.workers = settings.workers
    require_blocks(matcher.encoder, settings)
    with progress_bars(screen) as progress:
        found = screening.look(AllOf(_transforms(matcher.preprocess, settings)), settings.workers, progress)
    data, loop, suites = _planned(settings, screening) if found else planned
    left_out = screening.record()
    if settings.adapter:
        load_adapter(matcher, settings.adapter, any_base=settings.any_base)
    method = method_of(settings, settings.dimension if settings.full else matcher.dimension, matcher.scale)
    objective = new_objective(method, settings.device)
    trained = Trained(data, loop, method, parameter_count(objective.module))
    told = batch_note(len(data.training), loop.batch_size), rest_note(trained, settings)
    notes = [*left_out_notes(left_out), *filter(None, told)]
    screen.print(opening(trained, settings), highlight=False, soft_wrap=True)
    for note in (*matcher.notes, *notes):
        screen.print(f"note: {note}", highlight=False, markup=False)
    write_json(settings.output / "config.json", {"settings": resolved(settings), "noise": data.noise})
    save_noise(settings.output / "noise.npy", data.seen)
    with progress_bars(screen, "encoding") as progress:
        memory = Remembering(matcher, progress)
        before, said_before = _measured(memory, suites, settings)
        work = work_of(matcher, memory, data, objective, method, settings)
    kept = _train(work, loop, data.held, settings)
    after, said_after = _after(work, matcher, trained, suites, settings, screen)
    notes += [*after.get("signs", ()), *selection_notes(settings)]
    groups = listing(work.task.module, work.task.groups(loop.weight_decay))
    page = settings.output / "report.html"
    records, answers = keep_and_compare(
        page.with_suffix(".json"), {BEFORE: before | left_out, settings.method: after | left_out | {"kept": kept}},
        {BEFORE: said_before, settings.method: said_after}, _roots(settings, suites),
    )  # fmt: skip
    notes += filter(None, [worse_note(records, trained, settings.backbone)])
    write_page(page, records, answers, notes, trained._replace(groups=groups), settings)
    show(records, answers.compared, notes, screen)
    for what, where_to in (("adapter", settings.output / FOLDER), ("report", page)):
        screen.print(f"{what:<8} {where_to}", highlight=False, soft_wrap=True)


def _after(
    work: Work, matcher: Matcher, trained: Trained, suites: list[Suite], settings: Settings, screen: Console
) -> tuple[dict[str, Any], dict[str, list[Answer]]]:
    """Keep what was trained, measure it, and tell what is known of it; with its single answers."""
    folder, method, data, scorer = settings.output / FOLDER, trained.method, trained.data, work.task.scorer
    side = save_pair_adapter(
        scorer, method.kind, method.adapter, matcher, method.objective_record(), folder, work.origin,
        trained_on(data.training),
    )  # fmt: skip
    whole = ", the backbone trained too" if work.origin else ""
    with progress_bars(screen, "measuring") as progress:
        after, said = _measured(work.again(progress), scored_by(suites, PairScorer(scorer)), settings)
    after |= {
        "pretrained": f"{folder} ({method.method} on {method.kind}{whole})", "similarity": LOGIT,
        "pair_adapter": record(side),
    }  # fmt: skip
    if work.origin:
        after["pair_backbone"] = record(read_pair_backbone(folder / BACKBONE))
    state = work.task.diagnose(trained.loop.batch_size)
    if state:
        after |= {"diagnostics": named(state), "signs": signs(state)}
    if data.noise and work.untrained:
        features = pair_features(matcher, data.training, data.seen) if work.origin else work.untrained
        told = wrong_pair_auroc(scorer, features, data, work.untrained)
        after |= {"noise": data.noise, "wrong_pairs": told}
    return after, said


def _require_places(settings: Settings) -> None:
    """Refuse a device, a place or a setting that will not do, before a file is read."""
    require_device(settings.device)
    require_place(settings.output, (RUN,), settings.resume)
    if settings.cache:
        require_folder_place(settings.cache, "--cache")
    method_of(settings, settings.dimension if settings.full else 1)
    _require_unchanged(settings)


def _planned(settings: Settings, screening: Screening) -> tuple[PairData, LoopConfig, list[Suite]]:
    """The data, the loop and what is measured, over the pictures that can be used; nothing is loaded or encoded."""
    where: dict[str, Any] = {key: getattr(settings, key) for key in _WHERE}
    data, asked, *_ = together(
        partial(load_data, settings, screening), partial(_file_suites, settings, screening),
        partial(require_source, settings.model, **where),
        *([partial(require_adapter_files, settings.adapter)] if settings.adapter else []),
    )  # fmt: skip
    loop = loop_of(settings, len(data.training))
    require_useful_steps(len(data.training), loop.batch_size, drop_last=False)
    own = class_suite(data.held, data.training, settings) if settings.of_classes else _held_suite(data.held, settings)
    suites: dict[str, Suite] = {own.name: own} | {suite.name: suite for suite in asked}
    return data, loop, list(suites.values())


def _train(work: Work, loop: LoopConfig, held: CaptionedPictures, settings: Settings) -> dict[str, object]:
    """Bring the run to its end, and the weights to those that are kept; says which."""
    task = work.task
    run, steps = settings.output / RUN, total_steps(len(task), loop)
    if settings.select == "last":
        run_phase(task, run, loop, resume=settings.resume)
        return {"step": steps}
    owners, ks = held.owners.tolist(), _possible(settings.ks, held)

    def rsum() -> float:
        return recalls(ranks(PairScorer(task.scorer).scores(*work.held()), owners), ks)["rsum"]

    selection = Selection(run, task.module, rsum, every=loop.save_every, steps=steps)
    if settings.resume:
        selection.catch_up()
    run_phase(task, run, loop, resume=settings.resume, on_step=selection)
    step, score = selection.restore()
    return {"step": step, "validation_rsum": score}


def _possible(ks: tuple[int, ...], held: CaptionedPictures) -> tuple[int, ...]:
    """The ranks that both galleries of the held-out part have; the first alone where none is."""
    return tuple(k for k in ks if k <= min(len(held.pictures), len(held))) or (1,)


def _held_suite(held: CaptionedPictures, settings: Settings) -> Retrieval:
    return Retrieval("retrieval", held.pictures, held.captions, held.owners.tolist(), _possible(settings.ks, held))


def _file_suites(settings: Settings, screening: Screening) -> list[Suite]:
    """What is asked of the files that were named."""
    config = _asked_files(settings)
    if config is None:
        return []
    readers: list[tuple[Callable[..., Suite], Path | None]] = [
        (choice_suite, settings.choice), (retrieval_suite, settings.retrieval),
        (negated_retrieval_suite, settings.negated_retrieval),
    ]  # fmt: skip
    return together(*(partial(read, path, config, screening) for read, path in readers if path))


def _asked_files(settings: Settings) -> EvaluateConfig | None:
    """The files that are asked, as ``litotes evaluate`` would; None where none is named."""
    if not (settings.choice or settings.retrieval or settings.negated_retrieval):
        return None
    return EvaluateConfig(
        model=settings.model, choice=settings.choice, retrieval=settings.retrieval,
        negated_retrieval=settings.negated_retrieval, ks=named_ks(settings.ks),
        images_root=settings.images_root, allow_missing=settings.allow_missing,
    )  # fmt: skip


def _roots(settings: Settings, suites: Sequence[Suite]) -> dict[str, Path]:
    """By suite, the folder that the names of its pictures start from."""
    config = _asked_files(settings)
    named = {} if config is None else picture_roots(config, [suite for suite in suites if suite.name in config.files])
    table = settings.val_data or settings.train_data
    own = table if table.is_dir() else settings.images_root or table.parent
    return {"classification" if settings.of_classes else "retrieval": own} | named


def _transforms(own: Preprocess, settings: Settings) -> list[Callable[[Image.Image], object]]:
    """All that is done to pictures in the run: by the model as it is and, where it is another, by the trained one."""
    recipe = settings.full and settings.preparation == "pcmepp"
    return [way.square for way in ([own, recipe_pictures(own)] if recipe else [own])]


def _measured(
    memory: Remembering, suites: list[Suite], settings: Settings
) -> tuple[dict[str, Any], dict[str, list[Answer]]]:
    """The result record, and the single answers by suite."""
    answers: dict[str, list[Answer]] = {}
    results = run_suites(memory, suites, answers)
    return result_record(memory, results, dataset=settings.train_data.stem) | {"seed": settings.seed}, answers


def _require_unchanged(settings: Settings) -> None:
    """Refuse to go on with other settings than config.json records of the run, if it is there."""
    path = settings.output / "config.json"
    if path.is_file() and settings.resume:
        before = json.loads(path.read_text(encoding="utf-8"))["settings"]
        require_same_settings(path, _decisive(before), _decisive(resolved(settings)))


def _decisive(settings: Mapping[str, object]) -> dict[str, object]:
    return {flag(key): value for key, value in settings.items() if key not in _MAY_CHANGE}
