import pytest

from drawn_results import choice, record, retrieval
from litotes.errors import UserError
from litotes.evaluate.against import against
from litotes.evaluate.published import published


def measured(**kinds):
    """A model that was asked NegBench's questions on COCO, with an interval of two points about every share."""
    mcq = choice(0.4) | kinds
    shares = {kind: mcq[kind] for kind in ("positive", "negative", "hybrid")}
    mcq["intervals"] = {kind: [share - 0.02, share + 0.02] for kind, share in shares.items()}
    return {"suites": {"mcq": mcq | {"interval": [0.38, 0.42]}}}


def test_every_figure_has_its_deviation_and_whether_chance_explains_it():
    (found,) = against({"own": measured(positive=0.70, negative=0.05, hybrid=0.40)}, ["CLIP B/32"])
    assert (found.label, found.record["model"]) == ("own", "CLIP B/32")
    (table,) = found.tables
    assert [(row.published, row.own, row.difference, row.inside) for row in table.rows] == [
        ("69.2 %", "70.0 %", "+0.8", True),
        ("6.9 %", "5.0 %", "\N{MINUS SIGN}1.9", True),
        ("39.5 %", "40.0 %", "+0.5", True),
        ("39.4 %", "40.0 %", "+0.6", True),
    ]
    mean = (0.76 + 1.90 + 0.54 + 0.60) / 4
    assert found.told == (
        f"4 shares beside CLIP B/32 (HANCLIP, Table 1): {mean:.1f} points off in the mean, at most "
        "\N{MINUS SIGN}1.9 (Negated (“no N”), 1,870). The published figure lies in our 95 % interval in 4 of 4 shares "
        "with one."
    )
    (far,) = against({"own": measured(negative=0.10)}, ["CLIP B/32"])
    assert [row.inside for row in far.tables[0].rows] == [False, False, True, True]


BACKBONES = [name for name in published() if name.endswith("+ HANCLIP") or f"{name} + HANCLIP" in published()]


def test_eight_backbones_have_a_row_before_and_after():
    assert len(BACKBONES) == 16


@pytest.mark.parametrize("name", BACKBONES)
def test_a_model_with_the_published_figures_of_any_backbone_is_off_by_nothing(name):
    row = published()[name]
    mcq = choice(0.0) | {kind: share / 100 for kind, share in row["COCO MCQ rephrased"].items()}
    figures = row["COCO retrieval negated rephrased"]
    ways = {way: {k: share / 100 for k, share in figures[way].items()} for way in ("i2t", "t2i")}
    own = {"suites": {"mcq": mcq, "retrieval_neg": retrieval(0.0) | ways | {"rsum": figures["rsum"]}}}
    (found,) = against({"own": own}, [name])
    assert [row.difference for table in found.tables for row in table.rows] == ["±0.0"] * (4 + 7)
    assert found.told.startswith("10 shares beside")


def test_one_row_stands_beside_all_models_and_several_each_beside_their_own():
    models = {"base": record("b", 0.4), "adapted": record("x", 0.5)}
    assert against(models, ()) == []
    assert [one.record["model"] for one in against(models, ["CLIP B/16"])] == ["CLIP B/16"] * 2
    both = against(models, ["CLIP B/16", "CLIP B/16 + HANCLIP"])
    assert [(one.label, one.record["model"]) for one in both] == [
        ("base", "CLIP B/16"), ("adapted", "CLIP B/16 + HANCLIP")
    ]  # fmt: skip
    with pytest.raises(UserError, match="3 rows for 2 models"):
        against(models, ["CLIP B/16"] * 3)
