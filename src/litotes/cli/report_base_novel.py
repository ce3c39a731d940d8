"""``litotes report base-novel``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table


@dataclass(frozen=True)
class Settings:
    """Accuracy on base and novel classes and their harmonic mean H, by data set and on average.

    runs: table (CSV, TSV, JSONL, parquet) with a row for each training: dataset, seed, base and novel. The last two are
        results of litotes evaluate on base-test.csv and novel-test.csv, by their path from the table's folder on; seed
        may be left empty where a data set has one row
    output: JSON file to write: all figures in full, and which results they are of
    """

    runs: Path
    output: Path = Path("base-novel.json")


def run(settings: Settings) -> None:
    """Read the results, print the table, write the figures."""
    from rich.console import Console

    import litotes
    from litotes.errors import UserError
    from litotes.evaluate.base_novel import ADAPTED, BEFORE, by_dataset, models_of, notes_of, read_runs, summary
    from litotes.evaluate.results import write_json
    from litotes.places import require_file_place

    require_file_place(settings.output)
    runs = read_runs(settings.runs)
    inputs = {settings.runs.resolve()}
    inputs |= {(settings.runs.parent / one["file"]).resolve() for run in runs for one in run.files.values()}
    if settings.output.resolve() in inputs:
        raise UserError(
            got=f"--output {settings.output}, which is one of the inputs",
            expected="a file of its own",
            do="name another one",
        )
    found = {model: summary(by_dataset(runs, model)) for model in models_of(runs)}
    notes = notes_of(runs)
    screen = Console()
    titles = {BEFORE: "Before adaptation", ADAPTED: "Adapted" if len(found) > 1 else "Base and novel classes"}
    for model, figures in found.items():
        screen.print(_table(titles[model], figures))
    for note in (_RULES, *notes):
        screen.print(f"note: {note}", highlight=False, soft_wrap=True, markup=False)
    told = [
        {"dataset": run.dataset, "seed": run.seed or None, **run.files, **run.identity, "acc1": {
            model: pair._asdict() for model, pair in run.figures.items()}}
        for run in runs
    ]  # fmt: skip
    write_json(settings.output, {"models": found, "runs": told, "notes": notes, "tool_version": litotes.__version__})
    screen.print(f"written to {settings.output}", highlight=False, soft_wrap=True, markup=False)


_RULES = (
    "± is the sample standard deviation over the runs; H of a data set is that of its mean base and mean novel, its ± "
    "that of the runs' own H. Papers average H over data sets by either of the two rules at the end"
)


def _table(title: str, found: "Mapping[str, Any]") -> "Table":
    """A row a data set, and of several the average by both rules: base, novel and H in percent."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=f"{title}, accuracy in percent", title_justify="left")
    shown.add_column("data set")
    for heading in ("base", "novel", "H"):
        shown.add_column(heading, justify="right")
    for name, row in found["datasets"].items():
        spread = row["h_of_runs"]["sd"]
        shown.add_row(Text(name), *(_percent(**row[group]) for group in ("base", "novel")), _percent(row["h"], spread))
    shown.add_section()
    average = found["average"]
    rules = (("average, H of means", "h_of_means"), ("average, mean of H", "mean_of_h"))
    for rule, key in rules if len(found["datasets"]) > 1 else ():
        shown.add_row(rule, *(_percent(average[part]) for part in ("base", "novel", key)))
    return shown


def _percent(mean: float, sd: float | None = None) -> str:
    return f"{100 * mean:.2f}" + ("" if sd is None else f" ± {100 * sd:.2f}")
