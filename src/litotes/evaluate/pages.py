"""What a page shows of single answers: comparisons, charts, what was chosen wrongly, questions to look at."""

from collections.abc import Sequence

from litotes.evaluate.against import Against
from litotes.evaluate.charts import Chart, interval_bars, recall_curves, wrong_choices
from litotes.evaluate.examples import examples
from litotes.evaluate.kept import Kept
from litotes.evaluate.report import Singles
from litotes.evaluate.rows import Records, depths_of
from litotes.evaluate.sections import sections
from litotes.evaluate.verdict import significance


def singles(records: Records, kept: Kept, beside: Sequence[Against] = ()) -> Singles:
    """All that can be shown of these models; a suite of which nothing can be shown is left out.

    beside: published rows whose figures stand in the charts too.
    """
    published = {one.record["model"]: one.record for one in beside}
    charts: dict[str, list[Chart]] = {}
    wrong, questions = {}, {}
    for section in sections(records):
        suite = section.suite
        bars = interval_bars(section, records, published)
        searches = {label: said[suite] for label, said in kept.answers.items() if _is_search(said.get(suite))}
        rows = [record["suites"][suite] for record in published.values() if suite in record["suites"]]
        curves = recall_curves(searches, list(records), _depths(records, suite), suite, rows) if searches else []
        charts[suite] = [*([bars] if bars else []), *curves]
        tables = (wrong_choices(record["suites"].get(suite, {}), label) for label, record in records.items())
        wrong[suite] = [table for table in tables if table]
        questions[suite] = examples(kept.answers, suite, kept.roots.get(suite))
    told: dict[str, list[str]] = {}
    for part in significance(records, kept.compared):
        told.setdefault(part.suite, []).append(f"{part.label}, {part.sentence}" if len(records) > 2 else part.sentence)
    return Singles(kept.compared, told, charts, wrong, {suite: found for suite, found in questions.items() if found})


def _depths(records: Records, suite: str) -> list[int]:
    """Every K that a model was searched with."""
    asked = (record["suites"].get(suite, {}) for record in records.values())
    return sorted({k for result in asked for k in depths_of(result)})


def _is_search(said: object) -> bool:
    return isinstance(said, list) and bool(said) and "rank" in said[0].given
