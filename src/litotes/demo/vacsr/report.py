"""The page of the demo of pairs, and the same figures as JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from litotes.demo.report import lines
from litotes.demo.vacsr.methods import COSINE, LABELS
from litotes.demo.vacsr.plots import noise_svg, similarity_charts
from litotes.demo.vacsr.summary import noises
from litotes.demo.vacsr.tables import WAYS, percent, tables
from litotes.demo.vacsr.words import ASKED_AT, lead
from litotes.evaluate.report import emphasised
from litotes.evaluate.results import write_json, write_text


def write_pair_report(results: Mapping[str, Any], folder: Path) -> Path:
    """Write ``report.json`` and ``report.html`` into ``folder``, each whole or not at all, and return the page's path.

    results: ``rows`` (as of ``train_row`` and ``cosine_row``), ``settings`` and ``honesty``, in JSON values. The page
    needs nothing beside it.
    """
    page = _page(results)
    write_json(folder / "report.json", dict(results))
    return write_text(folder / "report.html", page)


def _page(results: Mapping[str, Any]) -> str:
    rows = results["rows"]
    shown = ASKED_AT if ASKED_AT in noises(rows) else next(iter(noises(rows)), 0.0)
    compared = {name: label for name, label in LABELS.items() if name != "no_sigma"}
    environment = Environment(
        loader=PackageLoader("litotes.demo"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["figures"] = emphasised
    return environment.get_template("pairs.html.j2").render(
        lead=lead(rows, LABELS),
        charts={arrow: Markup(noise_svg(rows, compared, way)) for way, arrow in WAYS.items()},
        lying=similarity_charts(rows, compared, shown),
        lying_at=percent(shown),
        tables=tables(rows, LABELS),
        cosine=LABELS[COSINE],
        honesty=list(lines(results["honesty"])),
        settings=list(lines(results["settings"])),
    )
