"""What ``litotes evaluate`` does: load, measure, print, write."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from litotes.config import record as record_of
from litotes.data.screening import AllOf, Screening
from litotes.errors import UserError, together
from litotes.evaluate.answers import Answer, Answers, answers_path
from litotes.evaluate.by_pairs import score_named, scored_by
from litotes.evaluate.classification import Classification
from litotes.evaluate.coco import JudgedRetrieval
from litotes.evaluate.compare import differences
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.features import Encoder, Progress, Remembering, silent
from litotes.evaluate.files import picture_roots, suites_from_files
from litotes.evaluate.kept import keep_answers
from litotes.evaluate.placing import Run, put, require_free, run_of
from litotes.evaluate.results import file_name, heading, result_record, write_json
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.suite import Suite, run_suites
from litotes.evaluate.table import print_record
from litotes.models.features import image_features
from litotes.models.loading import load_backbone, require_source
from litotes.models.lora import load_adapter, require_adapter_files
from litotes.models.masking import MaskedMatcher
from litotes.models.matcher import Matcher
from litotes.models.pair_adapter import BACKBONE, load_pair_adapter, read_pair_adapter
from litotes.models.pair_backbone_file import read_pair_backbone
from litotes.models.pair_calibration import load_calibration
from litotes.models.pair_scores import PairScorer, Told
from litotes.places import require_file_place, require_folder_place


def run(config: EvaluateConfig, progress: Progress = silent) -> dict[str, Any]:
    """The record of an evaluation (``result_record``); nothing is printed or written.

    With an adapter it is that of the adapted model and holds, as ``base``, the record of the base on the same
    questions, unless only the adapted one is wanted. The adapter is read first, so that a wrong one is told at once.

    All files are read and all pictures looked for before the model is loaded. Where broken pictures are to be skipped,
    all are decoded once before any is encoded, so that both models are asked the same questions.

    Errors: those of the files, together with a model or an adapter that is not there; those of model and adapter; a
    device that is not there.
    """
    return measure(config, progress).record


class Measured(NamedTuple):
    """The record of an evaluation, and what each model ("base", "adapted") answered to the single questions.

    roots: by suite, the folder that the names of its pictures start from.
    """

    record: dict[str, Any]
    answers: dict[str, Answers]
    roots: dict[str, Path]


def measure(
    config: EvaluateConfig, progress: Progress = silent, ready: Callable[[Encoder, list[Suite]], None] | None = None
) -> Measured:
    """As ``run``, with the single answers. What base and adapted differ in is in the record as ``differences``.

    ``ready``: called when the model is loaded, before anything is encoded; it may refuse.
    """
    screening = Screening(config.broken_pictures, config.allow_missing)
    read = partial(suites_from_files, config, screening)
    suites: list[Suite] = together(read, partial(_require_model, config))[0]
    _require_one_prompt(config, suites)
    matcher = _matcher(config, config.adapter)
    own = matcher.preprocess
    extra, scored = _by_pairs(config, matcher, partial(progress, "pairs"))
    ways = [way.square for way in dict.fromkeys((own, matcher.preprocess))]
    if screening.look(AllOf(ways), config.workers, progress):
        suites = read()
    asked = scored(suites)
    if ready is not None:
        ready(matcher, asked)
    measured = partial(_measured, left_out=screening.record(), config=config, progress=progress)
    model = "base" if config.adapter is None and config.pair_adapter is None else "adapted"
    roots = picture_roots(config, suites)
    record, answers = measured(matcher, suites=asked)
    record |= extra
    if not config.with_base:
        return Measured(record, {model: answers}, roots)
    base, before = measured(_matcher(config, None), suites=suites)
    found = differences(before, answers, record["suites"])
    told = {suite: [part._asdict() for part in parts] for suite, parts in found.items()}
    return Measured({**record, "differences": told, "base": base}, {"base": before, "adapted": answers}, roots)


def _by_pairs(
    config: EvaluateConfig, matcher: Matcher | MaskedMatcher, progress: Told
) -> tuple[dict[str, Any], Callable[[Sequence[Suite]], list[Suite]]]:
    """What the record says of the adapter of pairs, and how suites come to be scored by it; nothing without one."""
    if config.pair_adapter is None or isinstance(matcher, MaskedMatcher):  # never both
        return {}, list
    model, side = load_pair_adapter(config.pair_adapter, matcher)
    whole = ", the backbone trained too" if side.backbone_sha256 else ""
    named = f"{config.pair_adapter} ({side.objective.get('method')} on {side.kind}{whole})"
    matcher.adapter = f"{matcher.adapter}; {named}" if matcher.adapter else named
    told: dict[str, Any] = {"similarity": score_named(config.shortlist), "pair_adapter": record_of(side)}
    if config.shortlist is not None:
        told["shortlist"] = config.shortlist
    if side.backbone_sha256:
        told["pair_backbone"] = record_of(read_pair_backbone(config.pair_adapter / BACKBONE))
    calibration = load_calibration(config.pair_adapter, side.weights_sha256)
    scorer = PairScorer(model, calibration=calibration, shortlist=config.shortlist, progress=progress)
    return told, partial(scored_by, scorer=scorer)


def _measured(
    matcher: Matcher | MaskedMatcher,
    *,
    suites: list[Suite],
    left_out: dict[str, Any],
    config: EvaluateConfig,
    progress: Progress,
) -> tuple[dict[str, Any], dict[str, list[Answer]]]:
    encode_images = partial(image_features, matcher, cache=config.cache) if config.cache else None
    answers: dict[str, list[Answer]] = {}
    results = run_suites(Remembering(matcher, progress, encode_images), suites, answers)
    return result_record(matcher, results, dataset=config.dataset_name, extra=left_out), answers


def evaluate_command(config: EvaluateConfig, console: Console | None = None) -> Path:
    """Evaluate with a progress bar, print a table in percent, and write the record; returns the file's path.

    With ``json`` the record takes the table's place on stdout, in ASCII, and all else goes to stderr.

    Errors, beside those of ``run``: a place that cannot be written to; a result that is there and would be replaced by
    that of another model or other questions, unless ``overwrite`` is set. Where such a result came there during the
    run, this one is kept beside it, and told, before the error.
    """
    screen = console or Console(stderr=config.json)
    if config.output:
        require_file_place(config.output)
    else:
        require_folder_place(Path(), "the current folder,")
    if config.cache:
        require_folder_place(config.cache, "--cache")
    with progress_bars(screen) as progress:
        measured = measure(config, progress, partial(_require_free, config))
    asked = config.output or Path(file_name(measured.record))
    put_to = put(config, asked, run_of(measured.record), partial(_write, measured))
    path = put_to.path
    if config.json:
        sys.stdout.write(json.dumps(put_to.record, indent=1) + "\n")
    else:
        print_record(measured.record, screen)
    screen.print(f"written to {path}, {_answers_told(measured, path)}", highlight=False, soft_wrap=True)
    if put_to.refusal is not None:
        raise put_to.refusal
    return path


def _require_free(config: EvaluateConfig, matcher: Encoder, suites: Sequence[Suite]) -> None:
    """Refuse to replace a result by that of another run, before anything is encoded."""
    named = heading(config.dataset_name, matcher.provenance(), [suite.task for suite in suites])
    asked = {suite.name: suite.identity().split_sha256 for suite in suites}
    ks = {suite.name: set(map(str, suite.ks)) for suite in suites if isinstance(suite, Retrieval | JudgedRetrieval)}
    pairs = read_pair_adapter(config.pair_adapter).weights_sha256 if config.pair_adapter else None
    run = Run(matcher.fingerprint, asked, ks, pairs, config.shortlist)
    require_free(config, config.output or Path(file_name(named)), run)


def _write(measured: Measured, path: Path) -> dict[str, Any]:
    """Write answers and result, and return the record as it was written."""
    record = _with_answers(measured, path)
    write_json(path, record)
    return record


def _with_answers(measured: Measured, path: Path) -> dict[str, Any]:
    """The record that is to be written to ``path``, after its answers were written; it tells where they are."""
    *others, last = measured.answers
    models = {name: measured.record[name] for name in others} | {last: measured.record}
    told = keep_answers(path, models, measured.answers, measured.roots)
    return {**told[last], **{name: told[name] for name in others}}


def _answers_told(measured: Measured, path: Path) -> str:
    """Where the single answers are, and of which suites there are none."""
    kept = next(iter(measured.answers.values()))
    without = [name for name in measured.record["suites"] if not kept.get(name)]
    return f"every answer to {answers_path(path)}" + (f" (none are kept of {', '.join(without)})" if without else "")


def require_device(device: str) -> None:
    """Refuse a device that torch does not have here."""
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        # torch says a missing or misspelt device in either of these ways
        reason = str(error).splitlines()[0]
        raise UserError(
            got=f"device {device!r}: {reason}", expected="a torch device of this machine", do="try --device cpu"
        ) from error


@contextmanager
def progress_bars(screen: Console, heading: str = "") -> Iterator[Progress]:
    """A progress with one bar for pictures and one for texts, each growing with the suites; gone at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    before: dict[str, int] = {}

    with Bars(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(f"{heading}: {what}" if heading else what, total=0)
            bars.update(tasks[what], completed=before.get(what, 0) + done, total=before.get(what, 0) + total)
            if done == total:
                before[what] = before.get(what, 0) + total

        yield show


def _require_model(config: EvaluateConfig) -> None:
    """Refuse a model or an adapter that is not there; nothing is fetched or loaded."""
    require_source(config.model, **_where(config))
    if config.adapter is not None:
        require_adapter_files(config.adapter)
    if config.pair_adapter is not None:
        read_pair_adapter(config.pair_adapter)


def _where(config: EvaluateConfig) -> dict[str, Any]:
    """How the model is to be read."""
    keys = ("vocabulary", "activation", "round_like_reference", "sha256", "allow_network")
    return {key: getattr(config, key) for key in keys}


def _matcher(config: EvaluateConfig, adapter: Path | None) -> Matcher | MaskedMatcher:
    require_device(config.device)
    matcher = load_backbone(config.model, device=config.device, truncation=config.truncation, **_where(config))
    matcher.workers = config.workers
    if adapter is not None:
        load_adapter(matcher, adapter, any_base=config.any_base)
    return MaskedMatcher(matcher) if config.masked else matcher


def _require_one_prompt(config: EvaluateConfig, suites: Sequence[Suite]) -> None:
    """Refuse masked scoring of classes that several prompts describe, each of which would have a mask of its own."""
    for suite in suites:
        if config.masked and isinstance(suite, Classification) and len(suite.templates) > 1:
            raise UserError(
                got=f"--masked with {len(suite.templates)} prompts for each class",
                expected="one prompt, which has one mask",
                do="give --templates with one line, or leave out --masked",
            )
