"""The demo's report: one page for a person, and the same figures as JSON for a program."""

import base64
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from litotes.demo import narration
from litotes.demo.narration import NAMES, POINTS, Models
from litotes.demo.plots import disc_svg, view_radius
from litotes.demo.story import Hit, Question, Search, Story
from litotes.demo.tables import RECALL, at_a_glance, geometry, tables
from litotes.errors import UserError
from litotes.evaluate.plots import loss_curves
from litotes.evaluate.report import emphasised, facts
from litotes.evaluate.results import write_json, write_text
from litotes.evaluate.rows import MINUS
from litotes.evaluate.sections import require_same_questions

SUITES = ("mcq", "pairs", "held_out_wordings", "new_cues", "retrieval", "retrieval_neg", "classification")
_PICTURED = ("base", "hanclip", "extended")
_COMPARED = ("base", "extended")
_PER_SEARCH = 6
_REQUIRED: dict[str, tuple[tuple[str, ...], ...]] = {
    "share": (
        *(("mcq", kind) for kind in ("positive", "negative", "hybrid", "total")),
        *((suite, way, k) for suite in ("retrieval", "retrieval_neg") for way, k in RECALL),
        ("classification", "acc1"),
        *(("pairs", key) for key in ("negated_positive_over_negative", *narration.DECISIVE)),
    ),
    "sum": (("retrieval", "rsum"), ("retrieval_neg", "rsum")),
    "length": tuple(("radius", kind) for kind in POINTS),
}
_UPPER = {"share": 1.0, "sum": 600.0, "length": float("inf")}


@dataclass(frozen=True)
class Bar:
    """A score of an option: as printed, and the length of its bar, 0-1."""

    text: str
    length: float


@dataclass(frozen=True)
class OptionView:
    """An option of a question: models that chose it, and a bar for each model that is compared."""

    text: str
    true: bool
    chosen_by: tuple[str, ...]
    bars: dict[str, Bar]


@dataclass(frozen=True)
class QuestionView:
    """A question for the page; ``undecided``: models whose best score is shared by two options."""

    picture: str
    shows: str
    kind: str
    options: tuple[OptionView, ...]
    undecided: tuple[str, ...]


@dataclass(frozen=True)
class SearchView:
    """A query for the page: rows of pictures, and (model, right, shown) of the models without a row."""

    query: str
    rows: dict[str, tuple[tuple[str, Hit], ...]]
    others: tuple[tuple[str, int, int], ...]


def write_report(story: Story, folder: Path) -> Path:
    """Write ``report.json`` and ``report.html`` into ``folder`` and return the path of the page.

    The page needs nothing beside it. Both files are written whole or not at all, the page last. The JSON holds
    ``story.results`` as they are.

    Errors: a figure that the page needs is missing, not a number, or not a fraction of 1 (rsum: of 600 percent);
    models that were asked different questions; points outside the disc. Nothing is written then.
    """
    results = _checked(story.results)
    page = _page(story, results)
    write_json(folder / "report.json", results)
    return write_text(folder / "report.html", page)


def question_view(question: Question) -> QuestionView:
    """What each model chose, and bars of the compared models from their lowest to their highest score.

    A model chooses the option that scores strictly above all others; on a tie it has chosen none.
    """
    chosen: dict[str, int] = {}
    undecided = []
    for name in question.options[0].scores:
        scores = [option.scores[name] for option in question.options]
        if scores.count(max(scores)) == 1:
            chosen[name] = scores.index(max(scores))
        else:
            undecided.append(name)
    compared = [name for name in _COMPARED if name in question.options[0].scores]
    bars = {name: _bars([option.scores[name] for option in question.options]) for name in compared}
    options = tuple(
        OptionView(
            option.text,
            option.true,
            tuple(name for name, choice in chosen.items() if choice == i),
            {name: bars[name][i] for name in compared},
        )
        for i, option in enumerate(question.options)
    )
    return QuestionView(picture_uri(question.picture), question.shows, question.kind, options, tuple(undecided))


def search_view(search: Search) -> SearchView:
    """The first pictures of each model that has a row, and how the other models did."""
    shown = {name: hits[:_PER_SEARCH] for name, hits in search.hits.items()}
    rows = {name: tuple((picture_uri(hit.picture), hit) for hit in shown[name]) for name in _PICTURED if name in shown}
    others = tuple((name, sum(h.right for h in hits), len(hits)) for name, hits in shown.items() if name not in rows)
    return SearchView(search.query, rows, others)


def picture_uri(picture: Image.Image) -> str:
    """The picture as a PNG inside a data URI."""
    buffer = io.BytesIO()
    picture.convert("RGB").save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def _page(story: Story, results: dict[str, Any]) -> str:
    models: Models = results["models"]
    view = view_radius(story.discs)
    return _environment().get_template("report.html.j2").render(
        names={name: NAMES.get(name, name) for name in models},
        lead=narration.lead(models),
        price=narration.price(models),
        cover=_cover(story),
        glance=at_a_glance(models),
        searches=[search_view(search) for search in story.searches],
        questions=[question_view(question) for question in story.questions],
        tables=tables(models),
        discs={name: Markup(disc_svg(disc, view, f"{i}")) for i, (name, disc) in enumerate(story.discs.items())},
        zoomed=view < 1,
        points=POINTS,
        geometry=geometry(models),
        radius_note=narration.radius_note(models),
        angle_note=narration.angle_note(models),
        curves={run: loss_curves(terms, str(r)) for r, (run, terms) in enumerate(story.curves.items())},
        untrained=[name for name in models if name != "base" and name not in story.curves],
        facts=[fact for fact in facts(models) if set(fact[1]) != {"–"}],
        sets=_sets(models["base"]),
        honesty=list(lines(results.get("honesty", {}))),
        settings=list(lines(results.get("settings", {}))),
        timings={str(stage): float(seconds) for stage, seconds in results.get("timings", {}).items()},
    )  # fmt: skip


def _cover(story: Story) -> list[tuple[str, str]]:
    """Up to three pictures for the head of the page, each with what it shows."""
    shown = [(question.picture, question.shows) for question in story.questions]
    shown += [(hit.picture, hit.shows) for search in story.searches for hits in search.hits.values() for hit in hits]
    different = {picture.tobytes(): (picture, shows) for picture, shows in shown}
    return [(picture_uri(picture), shows or "A picture of the world") for picture, shows in different.values()][:3]


def _bars(scores: list[float]) -> list[Bar]:
    """Bars from the lowest score, which keeps a stub, to the highest."""
    low, span = min(scores), max(scores) - min(scores)
    return [
        Bar(f"{score:.3f}".replace("-", MINUS), 0.06 + 0.94 * ((score - low) / span if span else 0.0))
        for score in scores
    ]


def _sets(model: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Name, pictures, texts and hash of each set of questions, where the suite recorded them."""
    found = [(suite, model[suite]) for suite in SUITES if "split_sha256" in model.get(suite, {})]
    return [
        (suite.replace("_", " "), *(_shown(result.get(key)) for key in ("n_images", "n_texts", "split_sha256")))
        for suite, result in found
    ]


def lines(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Nested tables as lines of (dotted name, value)."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from lines(part, f"{path} · {key}" if path else str(key))
    else:
        yield path.replace("_", " "), _shown(value)


def _shown(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(_shown, value)) if isinstance(value, list) else str(value)


def _checked(results: Mapping[str, object]) -> dict[str, Any]:
    """The results as JSON gives them back (keys are texts), with everything that the page needs."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(results, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UserError(
            got=f"results that JSON cannot hold: {error}",
            expected="plain numbers, texts, lists and tables, all numbers finite",
            do="turn arrays and tensors into Python numbers first",
        ) from error
    models = plain.get("models", {})
    wrong = [f"models.{name}" for name in NAMES if name not in models]
    wrong += [problem for name, model in models.items() for problem in _problems(model, f"models.{name}")]
    if wrong:
        raise UserError(
            got="results with these figures missing or out of range: " + ", ".join(wrong),
            expected=f"models {', '.join(NAMES)}, each with shares between 0 and 1 and rsum between 0 and 600",
            do="evaluate every model on every suite of the demo",
        )
    require_same_questions({name: {"suites": _asked(model)} for name, model in models.items()})
    # The models that every report has come first, in the order of the story.
    plain["models"] = {name: models[name] for name in (*NAMES, *(name for name in models if name not in NAMES))}
    return plain


def _problems(model: Mapping[str, Any], where: str) -> Iterator[str]:
    for kind, paths in _REQUIRED.items():
        for path in paths:
            value: Any = model
            for key in path:
                value = value.get(key) if isinstance(value, Mapping) else None
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _UPPER[kind]:
                yield f"{where}.{'.'.join(path)}"


def _asked(model: Mapping[str, Any]) -> dict[str, Any]:
    return {suite: model[suite] for suite in SUITES if "split_sha256" in model.get(suite, {})}


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("litotes.demo"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figures"] = emphasised
    return environment
