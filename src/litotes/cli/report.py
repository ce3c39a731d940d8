"""``litotes report``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Results side by side, as a page and as a table on the terminal.

    results: file that litotes evaluate or train wrote, given once for each; the first model is what the others are
        compared with
    published: a published row to compare them with instead, such as "CLIP B/32 + HANCLIP"; it has figures for
        NegBench's own files, and only these are compared; litotes report published lists all rows
    output: the page to write; the same as JSON is written beside it
    title: heading of the page
    """

    results: tuple[Path, ...]
    published: str = ""
    output: Path = Path("report.html")
    title: str = "Side by side"


def run(settings: Settings) -> None:
    """Read the results, print their table, write the page."""
    from rich.console import Console

    from litotes.errors import UserError
    from litotes.evaluate.kept import kept_answers
    from litotes.evaluate.pages import singles
    from litotes.evaluate.published import published_record
    from litotes.evaluate.reading import read_results
    from litotes.evaluate.report import write_comparison_report
    from litotes.evaluate.sections import other_depths, require_same_questions
    from litotes.evaluate.table import figures_table
    from litotes.places import require_file_place

    page, told = settings.output, settings.output.with_suffix(".json")
    if page.suffix.lower() not in (".html", ".htm"):
        raise UserError(got=f"--output {page}", expected="the name of a page (.html)", do=f"--output {page}.html")
    if told.resolve() in {path.resolve() for path in settings.results}:
        raise UserError(
            got=f"--output {page}, beside which {told} would be written, one of the results",
            expected="a name that no result has",
            do="name another page",
        )
    for place in (page, told):
        require_file_place(place)
    found, doubles = read_results(settings.results)
    records: dict[str, Any] = {label: result.record for label, result in found.items()}
    require_same_questions(records)
    kept = kept_answers(found)
    notes = kept.notes
    if settings.published:
        asked = {name: result for record in records.values() for name, result in record["suites"].items()}
        row = published_record(settings.published, asked)
        records = {"published figures": row, **records}
        kept = kept._replace(compared={})
        notes = [
            f"The published figures are those of {row['model']} in {row['source']}. "
            "Activation, precision and picture preparation there may differ from those named below."
        ]
    notes = [*doubles, *other_depths(records), *notes]
    screen, shown = Console(), singles(records, kept)
    screen.print(figures_table(records, settings.title, kept.compared))
    for sentences in shown.told.values():
        for sentence in sentences:
            screen.print(sentence, highlight=False, markup=False)
    for note in notes:
        screen.print(f"note: {note}", highlight=False, markup=False)
    write_comparison_report(page, told, records, settings.title, notes, singles=shown)
    screen.print(f"written to {page} and {told}", highlight=False, soft_wrap=True)
