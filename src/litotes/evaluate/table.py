"""All figures of results as a table on the terminal, and in words what must be known of them. Loads no model."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from litotes.data.screening import headline, left_out_notes
from litotes.evaluate.compare import Difference, Differences
from litotes.evaluate.rows import Cell
from litotes.evaluate.sections import sections
from litotes.evaluate.verdict import outcome, significance

_COLOURS = {"better": "green", "worse": "red"}


def print_record(record: Mapping[str, Any], screen: Console) -> None:
    """A table of all figures of a record, beside those of its base where it holds them, and what must be known of it.

    What the base and the adapted model differ in is said in words too.
    """
    records = {"base": record["base"], "adapted": record} if "base" in record else {"value": record}
    without = f", {headline(record)}" if headline(record) else ""
    title = f"{record['model']}, {record['pretrained']}, on {record['dataset']}{without}"
    screen.print(figures_table(records, title, {"adapted": _differences(record)}))
    if "base" in record:
        found = _differences(record)
        for sentence in outcome(record["suites"], record["base"]["suites"], found):
            screen.print(sentence, highlight=False, markup=False)
        for told in significance(records, {"adapted": found}):
            screen.print(f"  {told.sentence}", highlight=False, markup=False)
    for note in _notes_of_all(records):
        screen.print(f"note: {note}", highlight=False, markup=False)


def _differences(record: Mapping[str, Any]) -> Differences:
    """What the record says that its model differs in from the base."""
    return {
        suite: [Difference(**{**part, "path": tuple(part["path"])}) for part in parts]
        for suite, parts in record.get("differences", {}).items()
    }


def figures_table(
    records: Mapping[str, Mapping[str, Any]], title: str, compared: Mapping[str, Differences] | None = None
) -> Table:
    """All figures by section, a column a model; of two or more, the last one's difference from the first.

    ``compared``: as in ``sections``; the 95 % interval stands behind the difference.
    """
    table = Table(title=title, title_justify="left")
    table.add_column("measure")
    for label in records:
        table.add_column(label, justify="right")
    if len(records) > 1:
        table.add_column("difference", justify="right")
    for section in sections(records, compared):
        table.add_section()
        table.add_row(f"[bold]{section.title}[/bold]")
        for row in section.rows:
            last = row.cells[-1]
            colour = _COLOURS.get(last.verdict, "default")
            reach = f" ({last.reach})" if last.reach else ""
            change = [f"[{colour}]{last.difference}[/{colour}]{reach}"] if len(records) > 1 else []
            table.add_row(f"  {row.label}", *(cell.text if change else _alone(cell) for cell in row.cells), *change)
    return table


def _alone(cell: Cell) -> str:
    """A figure with its interval, which has room where one model stands alone."""
    return f"{cell.text} ({cell.interval})" if cell.interval else cell.text


def _notes_of_all(records: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is to be known of all models, and what of one of them with its name."""
    found = {label: _notes(record) for label, record in records.items()}
    common = [note for note in next(iter(found.values())) if all(note in notes for notes in found.values())]
    return [*common, *(f"{label}: {note}" for label, notes in found.items() for note in notes if note not in common)]


def _notes(record: Mapping[str, Any]) -> list[str]:
    notes = [*left_out_notes(record), *record.get("model_notes", ())]
    if record["captions_truncated"]:
        notes.append(f"{record['captions_truncated']} captions were cut to {record['context_length']} tokens")
    for name, result in record["suites"].items():
        if result["task"] == "mcq" and result["ties"]:
            first = 100 * result["total_if_ties_go_to_first"]
            notes.append(f"{name}: {result['ties']} ties, counted as wrong; {first:.1f} % if the first of equals won")
        notes += _foil_ties(name, result) if result["task"] == "foils" else []
        notes += [f"{name}: {note}" for note in result.get("notes", ())]
        if result.get("captions_without_words"):
            notes.append(f"{name}: {result['captions_without_words']} captions without words, counted like any other")
        if result.get("equal_names"):
            notes.append(f"{name}: classes of one name cannot be told apart: {', '.join(result['equal_names'])}")
    return notes


def _foil_ties(name: str, result: Mapping[str, Any]) -> list[str]:
    return [
        f"{name}, {group}: {ties} ties, counted as wrong; {100 * result['if_ties_won'][group]:.1f} % if they were right"
        for group, ties in result["ties"].items()
        if ties
    ]
