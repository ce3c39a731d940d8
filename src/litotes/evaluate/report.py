"""Models side by side: tables of what changed, as a page for a person and as JSON for a program."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from litotes.errors import UserError
from litotes.evaluate.compare import Difference, Differences, is_beyond_chance
from litotes.evaluate.results import write_json, write_text

Record = Mapping[str, Any]
Records = Mapping[str, Record]

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Cell:
    """A figure of one model: ``text`` as printed; ``bar``, its share of the whole row's scale, 0-1 or None.

    ``difference``: from the first model, as printed ("" for the first model itself); ``verdict``: "better", "worse",
    "same", "unsure" where chance could bring the difference or nobody knows whether it could, or "" where neither
    direction is better.
    ``reach``: the 95 % interval of the difference, as printed, where both models' answers are there; ``interval``:
    Wilson's of the figure itself, where it is a share with one.
    """

    text: str
    bar: float | None
    difference: str
    verdict: str
    reach: str = ""
    interval: str = ""


@dataclass(frozen=True)
class Row:
    """One measure, one cell a model. ``main`` marks the measures that a headline takes.

    ``path``, ``interval``: places of the figure and of its interval in a suite's result.
    """

    label: str
    cells: tuple[Cell, ...]
    main: bool = False
    path: tuple[str, ...] = ()
    interval: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """A suite: title, one sentence on how to read it, rows, the name it has in the results."""

    title: str
    note: str
    rows: tuple[Row, ...]
    suite: str = ""


@dataclass(frozen=True)
class Measure:
    """A figure to be found in a suite's result, and how it is printed; ``interval``: where that of a share is.

    ``n``: questions that a share is of, None where it is no plain share. ``summed``: where the parts of a sum are,
    which can be compared only with a sum of the same parts.
    """

    label: str
    path: tuple[str, ...]
    kind: str
    main: bool = False
    interval: tuple[str, ...] = ()
    n: int | None = None
    summed: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Kind:
    """How figures of a kind are printed: factor, unit, full scale of the bar, whether more is better, the sign."""

    factor: float
    unit: str
    scale: float | None
    judged: bool
    signed: bool = False


_KINDS = {
    "percent": _Kind(100.0, " %", 100.0, True),
    "control": _Kind(100.0, " %", 100.0, False),
    "rsum": _Kind(1.0, "", 600.0, True),
    "gap": _Kind(100.0, "", 100.0, True, signed=True),
    "rsum gap": _Kind(1.0, "", 600.0, True, signed=True),
    "length": _Kind(1.0, "", None, False),
    "degrees": _Kind(1.0, "°", None, False),
}


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
) -> None:
    """Write models side by side: a self-contained page, and all their records as JSON.

    ``records``: by label ("base", "adapted", ...) what ``result_record`` gives; the first is what the others are
    compared with. A suite or figure that one of them lacks shows as a dash. Percent and degrees with one decimal,
    differences in points with their sign. ``notes``: sentences that a reader must know, such as what was not measured.
    ``singles``: what single answers show. The JSON holds ``models`` -> label -> record, ``notes`` and, where they are
    given, ``adaptation`` without its pictures and ``differences`` -> label -> suite -> those of ``singles``.

    Errors: no record; models that were asked different questions under the same suite's name.
    """
    require_same_questions(records)
    shown = sections(records, singles.compared)
    page = _environment().get_template("comparison.html.j2").render(
        title=title,
        labels=list(records),
        records=records,
        notes=notes,
        adaptation=adaptation,
        sections=shown,
        headlines=[row for section in shown for row in section.rows if row.main],
        facts=facts(records),
        singles=singles,
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
    write_json(path_json, {"models": dict(records), "notes": list(notes), **told})
    write_text(path_html, page)


def sections(records: Records, compared: Mapping[str, Differences] | None = None) -> list[Section]:
    """All suites of all records as tables, in the order of their first appearance.

    ``compared``: by label, what a model differs in from the first, where the answers of both are there.
    """
    names = dict.fromkeys(name for record in records.values() for name in record["suites"])
    return [_section(name, records, compared or {}) for name in names]


def _section(name: str, records: Records, compared: Mapping[str, Differences]) -> Section:
    results = [record["suites"].get(name) for record in records.values()]
    asked: Record = {}
    for result in results:
        asked = _union(asked, result or {})
    title, note, measures = _LAYOUTS[asked["task"]](name, asked)
    found = [{part.path: part for part in compared.get(label, {}).get(name, ())} for label in records]
    rows = (_without_chance(row_of(measure, results), measure, results, found) for measure in measures)
    return Section(title, note, tuple(rows), name)


def _union(first: Record, second: Record) -> Record:
    """All that stands in either of two results, at any depth; of what stands in both, the first's."""
    both = dict(first)
    for key, value in second.items():
        known = both.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            both[key] = _union(known, value)
        elif known is None:
            both[key] = value
    return both


def _without_chance(
    row: Row, measure: Measure, results: Sequence[Record | None], found: Sequence[Mapping[tuple[str, ...], Difference]]
) -> Row:
    """The row with the intervals of its differences, and no verdict on what chance could bring.

    ``found``: by path, what each model's answers differ in from the first's. Without any, a share must differ by more
    than 1.96 standard deviations. No verdict where nobody knows how far chance could reach.
    """
    kind, cells = _KINDS[measure.kind], []
    for cell, result, parts in zip(row.cells, results, found, strict=True):
        part = parts.get(measure.path)
        if not cell.difference:
            cells.append(cell)
            continue
        if part is not None:
            known = not part.low <= 0 <= part.high
        else:
            before, after = (_number_at(one, measure.path) for one in (results[0], result))
            known = not parts and _is_sure(before, after, measure.n)
        reach = f"{signed(kind.factor * part.low)} to {signed(kind.factor * part.high)}" if part else ""
        unsure = cell.verdict in ("better", "worse") and not known
        cells.append(replace(cell, reach=reach, verdict="unsure" if unsure else cell.verdict))
    return replace(row, cells=tuple(cells))


def _is_sure(before: float | None, after: float | None, count: int | None) -> bool:
    """Whether two shares are there, and differ by more than chance in as many questions."""
    return before is not None and after is not None and bool(count) and is_beyond_chance(before, after, count or 0)


def other_depths(records: Records) -> list[str]:
    """Why rSum is not compared, a sentence for each model that was searched to other depths than the first."""
    label, first = next(iter(records.items()))
    told = []
    for other, record in records.items():
        for name, result in record["suites"].items():
            known = first["suites"].get(name)
            if known is None or _parts(known, ("i2t",)) == _parts(result, ("i2t",)):
                continue
            ours, theirs = (", ".join(sorted(one["i2t"], key=int)) for one in (result, known))
            told.append(
                f"{name}: {other} was searched with K = {ours} and {label} with K = {theirs}, so that their rSum are "
                "sums of other recalls and are not compared."
            )
    return told


def _parts(result: Record | None, path: tuple[str, ...]) -> set[str]:
    value = value_at(result, path)
    return set(value) if isinstance(value, Mapping) else set()


def row_of(measure: Measure, results: list[Record | None]) -> Row:
    """One measure of several models, the first being what the others are compared with.

    A sum of other parts than the first model's has no difference.
    """
    values = [_number_at(result, measure.path) for result in results]
    kind = _KINDS[measure.kind]
    scale = kind.scale or max((abs(value) for value in values if value is not None), default=0.0) or 1.0
    parts = [_parts(result, measure.summed) if measure.summed else set() for result in results]
    cells = [
        _cell(value, values[0] if i and parts[i] == parts[0] else None, kind, scale) for i, value in enumerate(values)
    ]
    if measure.interval:
        ends = [value_at(result, measure.interval) for result in results]
        cells = [replace(cell, interval=_ends(pair)) for cell, pair in zip(cells, ends, strict=True)]
    return Row(measure.label, tuple(cells), measure.main, measure.path, measure.interval)


def _ends(interval: Sequence[float] | None) -> str:
    return "" if interval is None else "–".join(f"{100 * end:.1f}" for end in interval)


def signed(value: float, decimals: int = 1) -> str:
    """A change with its sign, a minus as long as the plus; "±0.0" where nothing is left of it."""
    rounded = round(value, decimals)
    return f"{rounded:+.{decimals}f}".replace("-", MINUS) if rounded else f"±{0:.{decimals}f}"


def _cell(value: float | None, base: float | None, kind: _Kind, scale: float) -> Cell:
    if value is None:
        return Cell("–", None, "", "")
    shown = kind.factor * value
    decimals = 2 if kind.unit == "" and kind.scale is None else 1
    text = f"{shown:.{decimals}f}{kind.unit}".replace("-", MINUS)
    bar = None if kind.signed else min(max(shown / scale, 0.0), 1.0)
    text = signed(shown, decimals) if kind.signed else text
    if base is None:
        return Cell(text, bar, "", "")
    change = round(shown - kind.factor * base, decimals)
    difference = signed(change, decimals)
    verdict = ("better" if change > 0 else "worse" if change < 0 else "same") if kind.judged else ""
    return Cell(text, bar, difference, verdict)


def _number_at(result: Record | None, path: tuple[str, ...]) -> float | None:
    value = value_at(result, path)
    return None if value is None else float(value)


def value_at(result: Record | None, path: tuple[str, ...]) -> Any:  # noqa: ANN401 (whatever a result holds)
    """What stands at a place of a result; None where nothing does."""
    value: Any = result
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _mcq(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    words = {"positive": "Affirmed (“A and B”)", "negative": "Negated (“no N”)", "hybrid": "Hybrid (“A but not N”)"}
    kinds = [key[2:] for key in result if key.startswith("n_") and key[2:] in result and result[key]]
    rows = [
        Measure(
            f"{words.get(kind, kind)}, {result[f'n_{kind}']:,}",
            (kind,),
            "percent",
            interval=("intervals", kind),
            n=result[f"n_{kind}"],
        )
        for kind in kinds
    ]
    total = Measure(
        f"Multiple choice, all {result['n']:,}", ("total",), "percent", main=True,
        interval=("interval",), n=result["n"],
    )  # fmt: skip
    note = (
        f"Which of the captions is true of the picture? Guessing gives {100 * result['chance']:.1f} %. "
        "The true one must score strictly above every other."
    )
    controls = [
        Measure(label, ("controls", key), "control")
        for key, label in _CONTROLS.items()
        if result.get("controls", {}).get(key) is not None
    ]
    if "interval" in result:
        note += _INTERVALS
    return _titled("Multiple choice on negation", name, "mcq"), note, [*rows, total, *controls]


_INTERVALS = " Beside a share stands its 95 % interval (Wilson)."
_CONTROLS = {
    "another_picture": "Control: all, asked of another picture",
    "no_picture": "Control: all, asked of no picture (their mean)",
}


def _retrieval(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    ways = (("i2t", "Picture → caption"), ("t2i", "Caption → picture"))
    rows = [
        Measure(f"{label}, R@{k}", (way, k), "percent") for way, label in ways for k in sorted(result[way], key=int)
    ]
    about = "negated captions" if result["negated"] else "plain captions"
    total = Measure(f"Retrieval, {about}: rSum", ("rsum",), "rsum", main=True, summed=("i2t",))
    note = (
        f"{result['n_texts']:,} {about}, {result['n_images']:,} pictures: is the right one among the first K? "
        "rSum is the sum of these percentages."
    )
    gap = []
    if "gap" in result:
        gap = [Measure(f"Gap to plain captions, {label}, R@{k}", ("gap", way, k), "gap")
               for way, label in ways for k in sorted(result["gap"][way], key=int)]  # fmt: skip
        gap.append(Measure("Gap to plain captions: rSum", ("gap", "rsum"), "rsum gap", summed=("gap", "i2t")))
        note += " The gap is what the denial costs: negated less plain captions of the same pictures."
    title = "Retrieval with negated captions" if result["negated"] else "Retrieval"
    return _titled(title, name, "retrieval_neg" if result["negated"] else "retrieval"), note, [*rows, total, *gap]


def _judged(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    ways = (("i2t", "picture → caption"), ("t2i", "caption → picture"))
    judges = (("coco_5k", "COCO 5K"), ("coco_1k", "COCO 1K, mean of five folds"), ("cxc", "CxC"))
    rows = [
        Measure(f"{label}, {words}, R@{k}", (key, way, k), "percent")
        for key, label in judges
        for way, words in ways
        for k in result[key][way]
    ]
    graded = (("map_at_r", "mAP@R"), ("r_precision", "R-Precision"), ("r1", "R@1"))
    rows += [Measure(f"ECCV Caption, {words}, {label}", ("eccv", way, key), "percent")
             for key, label in graded for way, words in ways]  # fmt: skip
    total = Measure("COCO 1K: rSum", ("rsum",), "rsum", main=True)
    note = (
        f"COCO's test set of Karpathy, {result['n_images']:,} pictures and {result['n_texts']:,} captions, by three "
        "groups of judges. CxC and ECCV Caption know more right pairs than COCO's own five a picture."
    )
    return _titled("Retrieval by COCO's judges", name, "coco"), note, [*rows, total]


def _classification(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    rows = [
        Measure("Zero-shot classification: right class first", ("acc1",), "percent", main=True, n=result["n_images"]),
        Measure("Right class among the first five", ("acc5",), "percent", n=result["n_images"]),
        Measure("Mean recall of the classes", ("mean_per_class_recall",), "percent"),
    ]
    note = f"{result['n_images']:,} pictures. What an adaptation to negation could make the model forget."
    kept = [row for row in rows if result[row.path[0]] is not None]
    return _titled("Zero-shot classification", name, "classification"), note, kept


def _pairs(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    words = {
        "negated_positive_over_negative": "P′ above N: true negated caption above false one",
        "absence_absent_over_present": "“no <absent>” above “no <present>”",
        "hybrid_absent_over_present": "“A but not <absent>” above “A but not <present>”",
    }
    keys = sorted(result["ties"], key=lambda key: list(words).index(key) if key in words else len(words))
    rows = [Measure(words.get(key, key), (key,), "percent", main=True, n=result["n"]) for key in keys]
    note = f"A true text against a false one, {result['n']:,} pictures. Guessing gives 50.0 %."
    if "negated_positive_over_negative" in result["ties"]:
        note += " P′ above N can be won by telling the templates of P′ from the wording of N: no proof of negation."
    if {"hybrid_absent_over_present", "absence_absent_over_present"} & result["ties"].keys():
        note += " The orders with <absent> differ in nothing but the thing denied, so they need the “not” itself."
    held_out = name == "held_out_wordings"
    title = (
        "True over false, in wordings that no training uses" if held_out else _titled("True over false", name, "pairs")
    )
    return title, note, rows


_FOILS = {
    "valse": "VALSE: true over false text",
    "sugarcrepe": "SugarCrepe: true over false text",
    "sugarcrepe_pp": "SugarCrepe++: two wordings of a true text over a false one",
    "negrefcocog": "NegRefCOCOg: the part of the picture that the phrase means",
    "cc_neg": "CC-Neg: true over negated caption",
}
_FOIL_NOTES = {
    "valse": " Valid are the records where two of three people chose the true text.",
    "sugarcrepe": " It asks for composition and for what was forgotten; hardly any of it is negation.",
    "sugarcrepe_pp": " ITT: both above the false one for the picture; TOT: nearer to each other than either to it.",
    "cc_neg": " The negated caption is always the false one, so whoever dislikes “not” wins: no proof of negation.",
}


def _foils(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    title = _FOILS.get(name, name)
    short = title.partition(":")[0]
    rows = []
    for group, count in result["count"].items():
        words = f"{group.replace('_', ' ')}, {count:,}"
        alone = not result["averages"]
        label = f"{short}, {words}" if alone else words
        rows.append(Measure(label, ("accuracy", group), "percent", main=alone, interval=("intervals", group), n=count))
    for key in result["averages"]:
        kind, *task = key.split(", ")
        words = {"micro": "over all items (micro)", "macro": "mean of the splits (macro)"}[kind]
        label = ", ".join([short, *task, words])
        rows.append(Measure(label, ("averages", key), "percent", main=kind == "macro", interval=("intervals", key)))
    note = f"Guessing gives {100 * result['chance']:.1f} %; equal scores are wrong.{_FOIL_NOTES.get(name, '')}"
    if "intervals" in result:
        note += _INTERVALS
    return title, note, rows


def _geometry(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    kinds = {
        "image": "picture I",
        "positive": "caption P",
        "negated_positive": "negated positive P′",
        "negative": "negative N",
    }
    placed = [Measure(f"Radius of {label}", ("radius", kind), "length") for kind, label in kinds.items()]
    raw = [Measure(f"Radius of {label}, as encoded", ("radius_raw", kind), "length") for kind, label in kinds.items()]
    corners = [
        Measure("Angle at N, between P and P′", ("angles", "at_negative"), "degrees"),
        Measure("Angle at P′, between N and P", ("angles", "at_negated_positive"), "degrees"),
    ]
    note = (
        f"Mean hyperbolic radius and mean angles over {result['n']:,} quadruplets, embeddings placed as in training "
        f"(norm = {result['norm']}, curvature {result['curvature']:g})."
    )
    if result["norm"] == "unit":
        note += " With unit norm every placed radius is 2, so only the radii as encoded can differ."
    return _titled("Geometry", name, "geometry"), note, [*placed, *raw, *corners]


def _selective(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    ways = {"i2t": "Picture → caption", "t2i": "Caption → picture"}
    told = {"sigma": "σ", "total_variance": "total variance", "one_minus_p": "1 − p"}
    rows = []
    for way, label in ways.items():
        known = [key for key in told if key in result["ways"][way]]
        rows.append(Measure(f"{label}, wrong at rank 1", ("ways", way, "error"), "control"))
        rows += [Measure(f"{label}, AURC by {told[key]}", ("ways", way, key, "aurc"), "control") for key in known]
        rows += [Measure(f"{label}, AUROC by {told[key]}", ("ways", way, key, "auroc"), "control") for key in known]
    note = (
        "Does the model know which searches go wrong? AURC is the mean error when only the surest are answered, over "
        "all shares of answers: a random order has the error itself. AUROC is 50.0 % for an uncertainty that says "
        "nothing. σ is worth something only beyond 1 − p."
    )
    return _titled("Answering only where sure", name, "selective"), note, rows


_LAYOUTS: dict[str, Callable[[str, Record], tuple[str, str, list[Measure]]]] = {
    "mcq": _mcq,
    "zeroshot_retrieval": _retrieval,
    "judged_retrieval": _judged,
    "zeroshot_classification": _classification,
    "pairs": _pairs,
    "foils": _foils,
    "geometry": _geometry,
    "selective_retrieval": _selective,
}
"""How the results of each task are laid out."""


def has_layout(result: Record) -> bool:
    """Whether there is a table for a suite's result."""
    return result.get("task") in _LAYOUTS


def _titled(title: str, name: str, usual: str) -> str:
    return title if name == usual else f"{title}: {name}"


_FACTS = {
    "model": "Model",
    "adapter": "Adapter",
    "fingerprint": "Fingerprint",
    "base_sha256": "Base weights",
    "activation": "Activation",
    "precision": "Precision",
    "preprocessing": "Preprocessing",
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


def require_same_questions(records: Records) -> None:
    """Refuse models that were asked different questions under one suite's name."""
    if not records:
        raise UserError(got="no model to report", expected="at least one", do="evaluate a model first")
    asked: dict[str, tuple[str, str]] = {}
    for label, record in records.items():
        for name, result in record["suites"].items():
            known, digest = asked.setdefault(name, (label, result["split_sha256"]))
            if digest != result["split_sha256"]:
                raise UserError(
                    got=f"suite {name} with other questions for {label} than for {known}",
                    expected="the same questions, so that the figures can be compared",
                    do="evaluate both models on the same files",
                )


def emphasised(text: str) -> Markup:
    """The text for a page, with its figures in bold."""
    marked = re.sub(r"(?<![#\w])([−+]?\d+(?:[.,]\d+)*(?: %|°)?)", r"<b>\1</b>", str(escape(text)))
    return Markup(marked)  # escaped one line above


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
