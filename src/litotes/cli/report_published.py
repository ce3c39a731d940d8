"""``litotes report published``."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The rows that --published of litotes report takes, and the files that each has figures for.

    contains: only rows whose name or source holds these letters, in any case; all by default
    """

    contains: str = ""


def run(settings: Settings) -> None:
    """Print a table of the rows."""
    from rich.console import Console
    from rich.table import Table

    from litotes.errors import UserError
    from litotes.evaluate.published import published

    table = Table("name", "figures on NegBench's files", "source")
    wanted = settings.contains.casefold()
    for name, row in published().items():
        if wanted in f"{name} {row['source']}".casefold():
            table.add_row(name, ", ".join(key for key in row if key != "source"), row["source"])
    if not table.rows:
        raise UserError(
            got=f"--contains {settings.contains}, which no published row does",
            expected="letters of a model's name or of a source",
            do="leave it out to see all rows",
        )
    Console().print(table)
