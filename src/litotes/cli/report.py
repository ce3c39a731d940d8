"""``litotes report``."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Results side by side, as a page and as a table on the terminal.

    results: file that litotes evaluate or train wrote, given once for each; the first model is what the others are
        compared with
    published: published row to stand beside them, such as "CLIP B/32 + HANCLIP", one for all models or one for each
        in their order; it has figures for NegBench's own files, and only these are compared; litotes report published
        lists all rows
    output: the page to write; the same as JSON is written beside it
    title: heading of the page
    """

    results: tuple[Path, ...]
    published: tuple[str, ...] = ()
    output: Path = Path("report.html")
    title: str = "Side by side"


def run(settings: Settings) -> None:
    """Read the results, print their table, write the page."""
    from rich.console import Console

    from litotes.errors import UserError
    from litotes.evaluate.against import ELSEWHERE, against
    from litotes.evaluate.kept import kept_answers
    from litotes.evaluate.notes import notes_of_all
    from litotes.evaluate.pages import singles
    from litotes.evaluate.reading import read_results
    from litotes.evaluate.report import write_comparison_report
    from litotes.evaluate.sections import comparable, other_depths
    from litotes.evaluate.table import deviations_table, figures_table
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
    records, lost = comparable({label: result.record for label, result in found.items()})
    found = {label: found[label]._replace(record=dict(record)) for label, record in records.items()}
    kept = kept_answers(found)
    beside = against(records, settings.published)
    notes = [
        *doubles,
        *lost,
        *other_depths(records),
        *notes_of_all(records),
        *kept.notes,
        *([ELSEWHERE] if beside else []),
    ]
    screen, shown = Console(), singles(records, kept, beside)
    screen.print(figures_table(records, settings.title, kept.compared))
    for one in beside:
        screen.print(deviations_table(one))
        screen.print(one.told, highlight=False, markup=False)
    for sentences in shown.told.values():
        for sentence in sentences:
            screen.print(sentence, highlight=False, markup=False)
    for note in notes:
        screen.print(f"note: {note}", highlight=False, markup=False)
    write_comparison_report(page, told, records, settings.title, notes, singles=shown, beside=beside)
    screen.print(f"written to {page} and {told}", highlight=False, soft_wrap=True)
