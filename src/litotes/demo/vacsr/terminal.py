"""The main figures and the words of the comparison in a terminal."""

import rich.table
from rich.console import Console

from litotes.demo.vacsr.methods import LABELS
from litotes.demo.vacsr.summary import Rows
from litotes.demo.vacsr.tables import overview
from litotes.demo.vacsr.words import lead


def print_overview(rows: Rows, screen: Console) -> None:
    """The main figures in tables that a terminal of 80 columns holds, then the words that the page opens with."""
    for table in overview(rows, LABELS):
        shown = rich.table.Table(title=table.title, title_justify="left")
        shown.add_column("")
        for column in table.columns:
            shown.add_column(column, justify="right", no_wrap=True)
        for label, cells in table.rows:
            shown.add_row(label, *cells)
        screen.print(shown)
    for paragraph in lead(rows, LABELS):
        screen.print(paragraph, highlight=False)
