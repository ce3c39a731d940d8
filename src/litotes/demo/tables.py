"""The figures of the demo's report as tables, each with what it means and what it does not."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from litotes.demo.narration import DECISIVE, POINTS, Models
from litotes.evaluate.rows import Measure, Row, row_of

RECALL = tuple((way, k) for way in ("i2t", "t2i") for k in ("1", "5", "10"))
"""Ways and K of the retrieval figures, in their order."""


@dataclass(frozen=True)
class Table:
    """Figures of all models: what they mean and what they do not, the share that guessing gets (None: no guess)."""

    title: str
    note: str
    guess: float | None
    rows: tuple[Row, ...]


def tables(models: Models) -> list[Table]:
    """Every table of the page, in its order; rows and tables that no model has figures for are left out."""
    made = [_search(models), _choice(models), *_pairs(models), *_retrieval(models), _classification(models)]
    return [table for table in made if table.rows]


def at_a_glance(models: Models) -> Table:
    """The few figures that the opening speaks of."""
    rows = [
        ("Multiple choice, all questions", ("mcq", "total")),
        ("P′ over N: true negated caption above the false one", ("pairs", "negated_positive_over_negative")),
        ("“no ⟨absent⟩” above “no ⟨present⟩”", ("pairs", DECISIVE[0])),
        ("“A but not ⟨absent⟩” above “A but not ⟨present⟩”", ("pairs", DECISIVE[1])),
    ]
    return Table("", "", None, _rows(models, [Measure(label, path, "percent") for label, path in rows]))


def _search(models: Models) -> Table:
    found = models["base"].get("denial_search", {})
    label = _counted("Right pictures among the first 6", found.get("queries"))
    measures = [
        Measure(label, ("denial_search", "right"), "percent", main=True),
        Measure("First 6 that show the denied thing", ("denial_search", "denied_shown"), "length"),
    ]
    return Table(
        "Search with a “not”, all queries",
        "“a A but no B” for every A and B that stand together in some picture. Right: A is there and B is not. "
        f"A random order gets {100 * found.get('chance', 0):.1f} %. The second row is a share, 0 to 1: fewer is better "
        "only while the first row holds.",
        found.get("chance"),
        _rows(models, measures),
    )


def _choice(models: Models) -> Table:
    kinds = {
        "positive": "Affirmed: “A and B”",
        "negative": "Negated: “not N”",
        "hybrid": "Hybrid: “A but not N”",
    }
    counts: Mapping[str, int] = next((model["mcq"] for model in models.values() if "n" in model["mcq"]), {})
    measures = [
        Measure(_counted(label, counts.get(f"n_{kind}")), ("mcq", kind), "percent") for kind, label in kinds.items()
    ]
    total = Measure(_counted("All questions", counts.get("n")), ("mcq", "total"), "percent", main=True)
    return Table(
        "Multiple choice, by type",
        "Which of four statements is true of the picture? A tie counts as wrong; guessing gets 25 %. The total can "
        "rise without any grasp of “not”: whoever prefers statements that name what is there wins all of Affirmed.",
        0.25,
        _rows(models, [*measures, total]),
    )


def _pairs(models: Models) -> Iterator[Table]:
    order = Measure(
        "P′ over N: true negated caption above the false one", ("pairs", "negated_positive_over_negative"), "percent"
    )
    yield Table(
        "True over false",
        "A true text against a false one; guessing gets 50 %. The first order can be won by telling the templates of "
        "P′ from the wording of N. The other two texts differ in nothing but the thing that is denied, so they need "
        "the “not” itself.",
        0.5,
        _rows(models, [order, *_decisive("pairs", main=True)]),
    )
    yield Table(
        "The same in held-out wordings",
        "The two decisive orders in sentences that no training statement uses, from cue words that it does use (no, "
        "not, without). Only figures above 50 % show more than learnt phrases; under it, the named thing still draws.",
        0.5,
        _rows(models, _decisive("held_out_wordings")),
    )
    yield Table(
        "The same with new cue words",
        "With lacks, missing, absent, free of, nowhere, devoid of, which no training statement uses to deny. Only "
        "figures above 50 % show that denial was carried over from “no” and “not” to other words.",
        0.5,
        _rows(models, _decisive("new_cues")),
    )


def _decisive(suite: str, main: bool = False) -> list[Measure]:
    labels = ("“no ⟨absent⟩” above “no ⟨present⟩”", "“A but not ⟨absent⟩” above “A but not ⟨present⟩”")
    keys = DECISIVE
    return [Measure(label, (suite, key), "percent", main) for label, key in zip(labels, keys, strict=True)]


def _retrieval(models: Models) -> Iterator[Table]:
    notes = {
        "retrieval": (
            "Plain retrieval",
            "Is a picture's own caption among the first K, and the other way round? It shows what was kept of the old "
            "skill and says nothing of negation. Other captions may be true as well, so 100 % is out of reach.",
        ),
        "retrieval_neg": (
            "Retrieval with a denial (Retrieval-Neg)",
            "The same captions with a true “no …” added. A fall against plain retrieval shows how much the denial "
            "disturbs; a model that skips the denial would do well, so a gain alone does not prove that it is "
            "understood.",
        ),
    }
    ways = {"i2t": "Picture → caption", "t2i": "Caption → picture"}
    for suite, (title, note) in notes.items():
        measures = [Measure(f"{ways[way]}, R@{k}", (suite, way, k), "percent") for way, k in RECALL]
        total = Measure("rSum, of 600", (suite, "rsum"), "rsum", main=True)
        yield Table(title, note, None, _rows(models, [*measures, total]))


def _classification(models: Models) -> Table:
    count = models["base"]["classification"].get("n_images")
    acc1 = Measure(_counted("Right kind first", count), ("classification", "acc1"), "percent", main=True)
    return Table(
        "Classification",
        "Pictures of one thing: is “a photo of” its kind the best text? It shows forgetting, which every adaptation "
        "risks, and says nothing of negation.",
        None,
        _rows(models, [acc1]),
    )


def geometry(models: Models) -> tuple[Row, ...]:
    """Mean radii as trained and as encoded, and the two angles."""
    names = {
        "image": "picture I",
        "positive": "caption P",
        "negated_positive": "negated caption P′",
        "negative": "false caption N",
    }
    radii = [Measure(f"Radius of {name}", ("radius", kind), "length") for kind, name in names.items()]
    raw = [Measure(f"As encoded: {letter}", ("radius_raw", kind), "length") for kind, letter in POINTS.items()]
    angles = [
        Measure("Angle at N, between P and P′", ("angles", "at_negative"), "degrees"),
        Measure("Angle at P′, between N and P", ("angles", "at_negated_positive"), "degrees"),
    ]
    return _rows(models, [*radii, *raw, *angles])


def _rows(models: Models, measures: list[Measure]) -> tuple[Row, ...]:
    rows = (row_of(measure, list(models.values())) for measure in measures)
    return tuple(row for row in rows if any(cell.text != "–" for cell in row.cells))


def _counted(label: str, count: int | None) -> str:
    return label if count is None else f"{label} ({count:,})"
