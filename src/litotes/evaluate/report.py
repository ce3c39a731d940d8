"""Models side by side: tables of what changed, as a page for a person and as JSON for a program."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from litotes.evaluate.against import Against
from litotes.evaluate.charts import STROKES
from litotes.evaluate.class_page import class_tables
from litotes.evaluate.compare import Differences
from litotes.evaluate.notes import notes_of_all
from litotes.evaluate.results import write_json, write_text
from litotes.evaluate.rows import Records
from litotes.evaluate.sections import require_same_questions, sections, shared_suites
from litotes.evaluate.uncertainty_page import uncertainties
from litotes.evaluate.verdict import summary


@dataclass(frozen=True)
class Adaptation:
    """How the last model came from the first: sentences, named facts, and (term, last value, SVG) of each loss."""

    outcome: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    curves: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Singles:
    """What is shown of single answers, see ``evaluate.pages``.

    compared: by label, what a model differs in from the first. By suite: told, the same in sentences; charts of its
    figures; wrong, a table a model of what it chose; examples, questions to look at.
    """

    compared: Mapping[str, Differences]
    told: Mapping[str, Sequence[str]]
    charts: Mapping[str, Sequence[Any]]
    wrong: Mapping[str, Sequence[Any]]
    examples: Mapping[str, Any]


_NO_SINGLES = Singles({}, {}, {}, {}, {})


def write_comparison_report(
    path_html: Path,
    path_json: Path,
    records: Records,
    title: str = "Before and after",
    notes: Sequence[str] = (),
    adaptation: Adaptation | None = None,
    singles: Singles = _NO_SINGLES,
    beside: Sequence[Against] = (),
) -> None:
    """Write models side by side: a self-contained page, and all their records as JSON.

    ``records``: by label ("base", "adapted", ...) what ``result_record`` gives; the first is what the others are
    compared with. A suite or figure that one of them lacks shows as a dash. Percent and degrees with one decimal,
    differences in points with their sign. ``notes``: sentences that a reader must know, such as what was not measured;
    those that the records themselves give are added.
    ``singles``: what single answers show. ``beside``: models beside published rows. The JSON holds ``models`` -> label
    -> record, ``notes`` and, where they are given, ``adaptation`` without its pictures, ``differences`` -> label ->
    suite -> those of ``singles``, and ``published`` -> label -> the row, with its ``deviations`` by suite.

    Errors: no record; models that were asked different questions under the same suite's name.
    """
    require_same_questions(records)
    notes = [*notes, *(note for note in notes_of_all(records) if note not in notes)]
    shown = sections(records, singles.compared)
    page = _environment().get_template("comparison.html.j2").render(
        title=title,
        labels=list(records),
        records=records,
        notes=notes,
        adaptation=adaptation,
        sections=shown,
        compared=bool(shared_suites(records)),
        asked_alike=len({frozenset(record["suites"]) for record in records.values()}) == 1,
        verdict=() if adaptation else summary(records, singles.compared),
        strokes=STROKES,
        headlines=any(row.main for section in shown for row in section.rows),
        facts=facts(records),
        singles=singles,
        beside=beside,
        letters=list(zip(ascii_lowercase, dict.fromkeys(one.record["model"] for one in beside), strict=False)),
        uncertainty=uncertainties(records),
        classes=class_tables(records),
    )  # fmt: skip
    told: dict[str, Any] = {}
    if adaptation:
        told["adaptation"] = {"outcome": adaptation.outcome, **dict(adaptation.facts)}
    compared = {
        label: {suite: [part._asdict() for part in parts] for suite, parts in suites.items()}
        for label, suites in singles.compared.items()
    }
    if compared:
        told["differences"] = compared
    if beside:
        told["published"] = {one.label: _published(one) for one in beside}
    write_json(path_json, {"models": dict(records), "notes": list(notes), **told})
    write_text(path_html, page.encode("utf-8", "replace").decode("utf-8"))


_FACTS = {
    "dataset": "Data set",
    "model": "Model",
    "adapter": "Adapter",
    "fingerprint": "Fingerprint",
    "base_sha256": "Base weights",
    "activation": "Activation",
    "precision": "Precision",
    "preprocessing": "Preprocessing",
    "similarity": "Similarity",
    "context_length": "Longest text, in tokens",
    "vocabulary_sha256": "Vocabulary (SHA-256)",
    "prompt": "Prompts",
    "seed": "Seed",
    "split_sha256": "Questions (SHA-256)",
    "n_images": "Pictures",
    "n_texts": "Texts",
    "n_skipped": "Pictures skipped",
    "captions_truncated": "Captions cut",
    "tool_version": "Litotes",
    "wall_s": "Seconds",
}


def _published(beside: Against) -> dict[str, Any]:
    """A published row as it stands in the JSON, with how far off the model is."""
    return {**beside.record, "deviations": {part.suite: [row._asdict() for row in part.rows] for part in beside.tables}}


def facts(records: Records) -> list[tuple[str, list[str]]]:
    """The fields that make the figures traceable, one row a field."""
    return [(label, [_fact(record.get(key)) for record in records.values()]) for key, label in _FACTS.items()]


def _fact(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_fact(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_fact, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def emphasised(text: str) -> Markup:
    """The text for a page, with its figures in bold."""
    figure = r"(?<![#/@\w])(?!95 % interval)([−+]?\d+(?:[.,]\d+)*(?:e-?\d+)?(?: %|°)?)"
    return Markup(re.sub(figure, r"<b>\1</b>", str(escape(text))))  # marked after it was escaped


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("litotes.evaluate"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figures"] = emphasised
    return environment
