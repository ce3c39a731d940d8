"""What ``litotes evaluate`` does: load, measure, print, write."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from litotes.errors import UserError, together
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.features import Progress, silent
from litotes.evaluate.files import suites_from_files
from litotes.evaluate.report import sections
from litotes.evaluate.results import file_name, result_record, write_json
from litotes.evaluate.suite import Suite, run_suites
from litotes.models.clip import local_folder
from litotes.models.features import image_features
from litotes.models.lora import load_adapter, require_adapter_files
from litotes.models.matcher import Matcher, load_matcher
from litotes.places import require_file_place, require_folder_place


def run(config: EvaluateConfig, progress: Progress = silent) -> dict[str, Any]:
    """The record of an evaluation (``result_record``); nothing is printed or written.

    All files are read and all pictures looked for before the model is loaded.

    Errors: those of the files, together with a model or an adapter that is not there; those of model and adapter; a
    device that is not there.
    """
    suites: list[Suite] = together(partial(suites_from_files, config), partial(_require_model, config))[0]
    matcher = _matcher(config)
    encode_images = partial(image_features, matcher, cache=config.cache) if config.cache else None
    results = run_suites(matcher, suites, progress, encode_images)
    return result_record(matcher, results, dataset=config.dataset_name)


def evaluate_command(config: EvaluateConfig, console: Console | None = None) -> Path:
    """Evaluate with a progress bar, print a table in percent, and write the record; returns the file's path."""
    screen = console or Console()
    if config.output:
        require_file_place(config.output)
    else:
        require_folder_place(Path(), "the current folder,")
    if config.cache:
        require_folder_place(config.cache, "--cache")
    with progress_bars(screen) as progress:
        record = run(config, progress)
    print_record(record, screen)
    path = write_json(config.output or Path(file_name(record)), record)
    screen.print(f"written to {path}", highlight=False, soft_wrap=True)
    return path


def print_record(record: Mapping[str, Any], screen: Console) -> None:
    """A table of all figures of a record, and what a reader must know beside them."""
    table = Table(title=f"{record['model']}, {record['pretrained']}, on {record['dataset']}", title_justify="left")
    table.add_column("measure")
    table.add_column("value", justify="right")
    for section in sections({"model": record}):
        table.add_section()
        table.add_row(f"[bold]{section.title}[/bold]", "")
        for row in section.rows:
            table.add_row(f"  {row.label}", row.cells[0].text)
    screen.print(table)
    for note in _notes(record):
        screen.print(f"note: {note}", highlight=False)


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


def _notes(record: Mapping[str, Any]) -> list[str]:
    notes = []
    if record["captions_truncated"]:
        notes.append(f"{record['captions_truncated']} captions were cut to {record['context_length']} tokens")
    for name, result in record["suites"].items():
        if result["task"] == "mcq" and result["ties"]:
            first = 100 * result["total_if_ties_go_to_first"]
            notes.append(f"{name}: {result['ties']} ties, counted as wrong; {first:.1f} % if the first of equals won")
        if result.get("captions_without_words"):
            notes.append(f"{name}: {result['captions_without_words']} captions without words, counted like any other")
        if result.get("equal_names"):
            notes.append(f"{name}: classes of one name cannot be told apart: {', '.join(result['equal_names'])}")
    return notes


def _require_model(config: EvaluateConfig) -> None:
    """Refuse a model or an adapter that is not there; nothing is fetched or loaded."""
    if not config.allow_network:
        local_folder(config.model)
    if config.adapter is not None:
        require_adapter_files(config.adapter)


def _matcher(config: EvaluateConfig) -> Matcher:
    require_device(config.device)
    matcher = load_matcher(
        config.model, device=config.device, truncation=config.truncation, allow_network=config.allow_network
    )
    if config.adapter is not None:
        load_adapter(matcher, config.adapter, any_base=config.any_base)
    return matcher
