"""The work of ``litotes train vacsr``: from settings to an adapter of pairs and its report."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from rich.console import Console

from litotes.cli.pair_data import PairData, load_data
from litotes.cli.pair_report import BEFORE, RUN, Trained, opening, selection_notes, show, signs, write_page
from litotes.cli.pair_settings import loop_of, method_of
from litotes.cli.train_vacsr import Settings
from litotes.config import flag, record
from litotes.data.noise import save_noise, wrong_pairs
from litotes.data.pairs import CaptionedPictures
from litotes.data.screening import Screening, left_out_notes
from litotes.errors import together
from litotes.evaluate.by_pairs import scored_by
from litotes.evaluate.command import progress_bars, require_device
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.features import Remembering
from litotes.evaluate.files import retrieval_suite
from litotes.evaluate.results import result_record, write_json
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.suite import Suite, run_suites
from litotes.metrics.ranking import ranks, recalls
from litotes.metrics.selective import auroc
from litotes.models.loading import load_backbone, require_source
from litotes.models.lora import load_adapter, require_adapter_files
from litotes.models.pair_adapter import PairModel, save_pair_adapter
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import parameter_count
from litotes.objectives.diagnostics import named
from litotes.places import require_folder_place
from litotes.train.checkpoint import require_same_settings
from litotes.train.loop import LoopConfig, total_steps
from litotes.train.pair_objectives import new_objective
from litotes.train.pairs import FrozenPairs, PairFeatures, pair_features
from litotes.train.phase import interruptible, require_place, run_phase
from litotes.train.plan import batch_note, require_useful_steps
from litotes.train.selection import Selection

_WHERE = ("vocabulary", "activation", "round_like_reference", "sha256", "allow_network")
_MAY_CHANGE = {
    "output", "resume", "cache", "device", "retrieval", "ks", "model", "vocabulary", "train_data", "images_root",
    "val_data", "adapter", "noise_index", "allow_network", "workers", "broken_pictures", "allow_missing",
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
    with progress_bars(screen) as progress:
        found = screening.look(matcher.preprocess.square, settings.workers, progress)
    data, loop, suite = _planned(settings, screening) if found else planned
    left_out = screening.record()
    if settings.adapter:
        load_adapter(matcher, settings.adapter, any_base=settings.any_base)
    method = method_of(settings, matcher.dimension, matcher.scale)
    objective = new_objective(method, settings.device)
    trained = Trained(data, loop, method, parameter_count(objective.module))
    notes = [*left_out_notes(left_out), *filter(None, [batch_note(len(data.training), loop.batch_size)])]
    screen.print(opening(trained), highlight=False, soft_wrap=True)
    for note in (*matcher.notes, *notes):
        screen.print(f"note: {note}", highlight=False, markup=False)
    write_json(settings.output / "config.json", {"settings": record(settings), "noise": data.noise})
    save_noise(settings.output / "noise.npy", data.seen)
    with progress_bars(screen, "encoding") as progress:
        memory = Remembering(matcher, progress)
        before = _measured(memory, [suite], settings) | left_out
        held = memory.encode_images(data.held.pictures), memory.encode_texts(data.held.captions)
    features = pair_features(matcher, data.training, data.seen, settings.cache)
    task = FrozenPairs(features, objective, method)
    kept = _train(task, loop, held, data.held, settings)
    folder = settings.output / "pair-adapter"
    side = save_pair_adapter(objective.module, method.kind, method.adapter, matcher, method.objective_record(), folder)
    state = task.diagnose(loop.batch_size)
    scorer = PairScorer(objective.module)
    after = _measured(memory, scored_by([suite], scorer), settings) | left_out | {
        "pretrained": f"{folder} ({method.method} on {method.kind})", "pair_adapter": record(side), "kept": kept,
    }  # fmt: skip
    if state:
        after |= {"diagnostics": named(state), "signs": signs(state)}
    if data.noise:
        after |= {"noise": data.noise, "wrong_pairs": wrong_pair_auroc(objective.module, features, data)}
    records = {BEFORE: before, settings.method: after}
    notes += [*signs(state), *selection_notes(settings)]
    write_page(records, notes, trained, settings)
    show(records, notes, screen)
    screen.print(f"adapter  {folder}\nreport   {settings.output / 'report.html'}", highlight=False, soft_wrap=True)


def _require_places(settings: Settings) -> None:
    """Refuse a device, a place or a setting that will not do, before a file is read."""
    require_device(settings.device)
    require_place(settings.output, (RUN,), settings.resume)
    if settings.cache:
        require_folder_place(settings.cache, "--cache")
    method_of(settings, features=1)
    _require_unchanged(settings)


def _planned(settings: Settings, screening: Screening) -> tuple[PairData, LoopConfig, Retrieval]:
    """The data, the loop and what is measured, over the pictures that can be used; nothing is loaded or encoded."""
    where: dict[str, Any] = {key: getattr(settings, key) for key in _WHERE}
    data, suite, *_ = together(
        partial(load_data, settings, screening), partial(_file_suite, settings, screening),
        partial(require_source, settings.model, **where),
        *([partial(require_adapter_files, settings.adapter)] if settings.adapter else []),
    )  # fmt: skip
    require_useful_steps(len(data.training), settings.batch_size, drop_last=False)
    return data, loop_of(settings, len(data.training)), suite or _held_suite(data.held, settings)


def wrong_pair_auroc(model: PairModel, features: PairFeatures, data: PairData) -> dict[str, float | None]:
    """How often a wrong pair of the training part is less sure than a right one, by each way to say how unsure.

    Also by ``one_minus_cosine`` of the features, without any training. None where no pair is wrong, or all are. The
    mask of wrong pairs is made here, after the training.
    """
    wrong = torch.from_numpy(wrong_pairs(data.training.owners, data.seen))
    images, texts = features.images[features.picture_of_row], features.texts[features.text_of_row]
    found = {name: auroc(doubt, wrong) for name, doubt in PairScorer(model).doubts(images, texts).items()}
    cosine = torch.nn.functional.cosine_similarity(images.double(), texts.double())
    return {**found, "one_minus_cosine": auroc(1 - cosine, wrong)}


def _train(
    task: FrozenPairs, loop: LoopConfig, held: tuple[torch.Tensor, torch.Tensor], pairs: CaptionedPictures,
    settings: Settings,
) -> dict[str, object]:  # fmt: skip
    """Bring the run to its end, and the weights to those that are kept; says which.

    held, pairs: features and captions of the validation pictures.
    """
    run, steps = settings.output / RUN, total_steps(len(task), loop)
    if settings.select == "last":
        run_phase(task, run, loop, resume=settings.resume)
        return {"step": steps}
    owners, ks = pairs.owners.tolist(), _possible(settings.ks, pairs)

    def rsum() -> float:
        return recalls(ranks(PairScorer(task.module).scores(*held), owners), ks)["rsum"]

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


def _file_suite(settings: Settings, screening: Screening) -> Retrieval | None:
    if settings.retrieval is None:
        return None
    config = EvaluateConfig(
        model=settings.model, retrieval=settings.retrieval, ks=settings.ks, images_root=settings.images_root,
        allow_missing=settings.allow_missing,
    )  # fmt: skip
    return retrieval_suite(settings.retrieval, config, screening)


def _measured(memory: Remembering, suites: list[Suite], settings: Settings) -> dict[str, Any]:
    return result_record(memory, run_suites(memory, suites), dataset=settings.train_data.stem) | {"seed": settings.seed}


def _require_unchanged(settings: Settings) -> None:
    """Refuse to go on with other settings than config.json records of the run, if it is there."""
    path = settings.output / "config.json"
    if path.is_file() and settings.resume:
        before = json.loads(path.read_text(encoding="utf-8"))["settings"]
        require_same_settings(path, _decisive(before), _decisive(record(settings)))


def _decisive(settings: Mapping[str, object]) -> dict[str, object]:
    return {flag(key): value for key, value in settings.items() if key not in _MAY_CHANGE}
