"""All figures of results as a table on the terminal, and in words what must be known of them. Loads no model."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from litotes.data.screening import headline
from litotes.evaluate.against import Against
from litotes.evaluate.compare import Difference, Differences
from litotes.evaluate.notes import notes_of_all
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
    for note in notes_of_all(records):
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
    """All figures by section, a column a model; the last one's difference from the first, where a row has one.

    ``compared``: as in ``sections``; the 95 % interval stands behind the difference. Names from files are written as
    they are, and what is left out stands below the title of the suite that it is left out of.
    """
    table = Table(title=Text(title), title_justify="left")
    table.add_column("measure")
    for label in records:
        table.add_column(Text(label), justify="right")
    shown = sections(records, compared)
    has_differences = any(section.compared[-1] for section in shown if section.rows)
    if has_differences:
        table.add_column("difference", justify="right")
    for section in shown:
        table.add_section()
        table.add_row(Text(section.title, style="bold"))
        for sentence in section.left_out:
            table.add_row(Text(sentence, style="italic"))
        for row in section.rows:
            last = row.cells[-1]
            reach = f" ({last.reach})" if last.reach else ""
            change = [Text.assemble((last.difference, _COLOURS.get(last.verdict, "default")), reach)]
            figures = [cell.text if len(records) > 1 else _alone(cell) for cell in row.cells]
            table.add_row(Text(f"  {row.label}"), *figures, *(change if has_differences else []))
    return table


def deviations_table(beside: Against) -> Table:
    """A model beside a published row: both figures, the difference, whether the interval holds the published one."""
    table = Table(title=Text(f"{beside.label} beside {beside.record['model']}, published"), title_justify="left")
    table.add_column("measure")
    for name in ("published", beside.label, "deviation", "inside"):
        table.add_column(Text(name), justify="right")
    for part in beside.tables:
        table.add_section()
        table.add_row(Text(part.title, style="bold"))
        for row in part.rows:
            inside = {None: "", True: "yes", False: "no"}[row.inside]
            table.add_row(Text(f"  {row.label}"), row.published, row.own, row.difference, inside)
    return table


def _alone(cell: Cell) -> str:
    """A figure with its interval, which has room where one model stands alone."""
    return f"{cell.text} ({cell.interval})" if cell.interval else cell.text
