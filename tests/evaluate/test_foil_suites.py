import csv
import io
import json

import numpy as np
import pytest
from evaluate_fakes import FakeEncoder, constant_encoder
from PIL import Image
from rich.console import Console

from litotes.data.screening import Screening
from litotes.errors import UserError
from litotes.evaluate.command import evaluate_command
from litotes.evaluate.compare import is_right
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.files import suites_from_files
from litotes.evaluate.foil_files import cc_neg_suite
from litotes.evaluate.foils import Boxes, Foils, Rewordings
from litotes.evaluate.report import write_comparison_report
from litotes.evaluate.suite import run_suites
from litotes.metrics.paired import wilson_interval
from tiny import noise_pictures as pictures
from tiny import tiny_model

IMAGES = {"folder/p0": [1.0, 0.0], "folder/p1": [0.0, 2.0]}
# cosines with p0 and p1: up (1, 0), right (0, 1), both (0.71, 0.71), near (0.8, 0.6), far (-1, 0)
TEXTS = {"up": [3.0, 0.0], "right": [0.0, 1.0], "both": [1.0, 1.0], "near": [4.0, 3.0], "far": [-1.0, 0.0]}
ENCODER = FakeEncoder(IMAGES, TEXTS)


def foils(**changes):
    """Right, wrong, a tie, right."""
    parts = {
        "name": "sugarcrepe", "pictures": pictures(2), "image_of_item": [0, 0, 1, 1],
        "captions": ["up", "both", "both", "right"], "foils": ["both", "near", "both", "far"],
        "groups": {"swap_att": [0], "swap_obj": [1, 2, 3]}, "averaged": True,
    }  # fmt: skip
    return Foils(**(parts | changes))


def rewordings():
    """For p0: (up, near | both) is right in both; (up, both | near) in neither; the third ties in both."""
    captions, second, false = ["up", "up", "near"], ["near", "both", "near"], ["right", "near", "near"]
    groups = {"swap_att": [0, 1], "swap_obj": [2]}
    return Rewordings("sugarcrepe_pp", pictures(1), [0, 0, 0], captions, second, false, groups)


def test_rows_that_stand_twice_in_a_group_are_counted():
    """In splits each is asked once more; where groups overlap or ask all again, the file's rows are counted once."""
    same = {"image_of_item": [0, 0, 1, 0], "captions": ["up", "up", "up", "up"], "foils": ["far", "far", "far", "both"]}
    assert foils(**same, groups={"swap_att": range(4)}).run(ENCODER)["repeated_rows"] == 1
    assert foils(**same, groups={"swap_att": [0, 2], "swap_obj": [1, 3]}).run(ENCODER)["repeated_rows"] == 0
    twice = {key: [*values, *values] for key, values in same.items()}
    groups = {"as_published": range(4), "commas_removed_from_both": range(4, 8)}
    assert foils(**twice, groups=groups, averaged=False).run(ENCODER)["repeated_rows"] == 1
    assert foils(**twice, groups=groups).run(ENCODER)["repeated_rows"] == 2
    again = Rewordings("pp", pictures(1), [0, 0, 0], ["up"] * 3, ["near", "both", "near"], ["far"] * 3, {"a": range(3)})
    assert again.run(ENCODER)["repeated_rows"] == 1
    boxes = Boxes("negrefcocog", pictures(2), ["up"])
    assert boxes.run(ENCODER)["repeated_rows"] == 0
    assert foils().run(ENCODER)["repeated_rows"] == 0


def test_each_group_is_counted_with_its_ties_and_averages_are_named():
    result = foils().run(ENCODER)
    assert result["accuracy"] == {"swap_att": 1, "swap_obj": pytest.approx(1 / 3)}
    assert result["count"] == {"swap_att": 1, "swap_obj": 3}
    assert result["ties"] == {"swap_att": 0, "swap_obj": 1}
    assert result["if_ties_won"] == {"swap_att": 1, "swap_obj": pytest.approx(2 / 3)}
    assert result["averages"] == {"micro": 0.5, "macro": pytest.approx(2 / 3)}
    right = {"swap_att": (1, 1), "swap_obj": (1, 3), "micro": (2, 4)}
    assert result["intervals"] == {key: list(wilson_interval(*counts)) for key, counts in right.items()}
    assert [answer.asked["groups"] for answer in result["answers"]] == [["swap_att"], *[["swap_obj"]] * 3]
    assert [(a.given["chosen"], a.given["tied"]) for a in result["answers"]] == [
        (0, False), (1, False), (1, True), (0, False),
    ]  # fmt: skip


def test_groups_may_overlap_and_an_empty_one_has_no_accuracy():
    result = foils(groups={"all": [0, 1, 2, 3], "valid": [0, 3], "none": []}, averaged=False).run(ENCODER)
    assert result["accuracy"] == {"all": 0.5, "valid": 1, "none": None}
    assert result["averages"] == {}
    assert list(result["intervals"]) == ["all", "valid"]
    assert [answer.asked["groups"] for answer in result["answers"]] == [
        ["all", "valid"], ["all"], ["all"], ["all", "valid"]
    ]  # fmt: skip


def test_two_wordings_must_both_beat_the_false_text():
    result = rewordings().run(ENCODER)
    assert result["accuracy"] == {"swap_att, ITT": 0.5, "swap_obj, ITT": 0, "swap_att, TOT": 0.5, "swap_obj, TOT": 0}
    assert result["ties"] == {"swap_att, ITT": 0, "swap_obj, ITT": 1, "swap_att, TOT": 0, "swap_obj, TOT": 1}
    assert [(a.asked["item"], *a.asked["groups"], is_right(a)) for a in result["answers"]] == [
        (0, "swap_att, ITT", True), (1, "swap_att, ITT", False), (2, "swap_obj, ITT", False),
        (0, "swap_att, TOT", True), (1, "swap_att, TOT", False), (2, "swap_obj, TOT", False),
    ]  # fmt: skip
    assert result["averages"] == {
        "micro, ITT": pytest.approx(1 / 3), "macro, ITT": 0.25, "micro, TOT": pytest.approx(1 / 3), "macro, TOT": 0.25,
    }  # fmt: skip


def test_one_phrase_is_asked_of_two_parts():
    parts = {
        f"folder/p{i}": vector
        for i, vector in enumerate([[1.0, 0], [0, 1.0], [1.0, 1.0], [0, 1.0], [1.0, 0], [1.0, 1.0]])
    }
    # true parts p0 p1 p2, others p3 p4 p5: right, wrong, tie
    result = Boxes("negrefcocog", pictures(6), ["up", "up", "up"]).run(FakeEncoder(parts, TEXTS))
    assert result["accuracy"] == {"all": pytest.approx(1 / 3)}
    assert result["ties"] == {"all": 1}
    assert [is_right(answer) for answer in result["answers"]] == [True, False, False]


ALL = [foils(), rewordings(), Boxes("negrefcocog", pictures(2), ["up"])]


def test_a_collapsed_model_scores_zero():
    for result in run_suites(constant_encoder(), ALL).values():
        assert set(result["accuracy"].values()) == {0}
        assert set(result["averages"].values()) <= {0}
        assert result["ties"] == result["count"]
        assert set(result["if_ties_won"].values()) == {1}


@pytest.mark.parametrize("suite", ALL, ids=lambda suite: suite.name)
def test_non_finite_embeddings_stop_the_suite(suite):
    bad = [float("nan"), 1.0]
    for encoder in (
        FakeEncoder({"folder/p0": bad}, TEXTS, default=[1.0, 0]),
        FakeEncoder(IMAGES, {"up": bad}, default=[1.0, 0]),
    ):
        with pytest.raises(UserError, match="NaN"):
            suite.run(encoder)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: foils(captions=["up"]), "4 items, 1 captions"),
        (lambda: foils(image_of_item=[0, 0, 1, 2]), "picture 2 at place 3"),
        (lambda: foils(groups={"swap_att": [4]}), "swap_att: item 4"),
        (lambda: foils(groups={"swap_att": []}), "without items"),
        (lambda: Boxes("b", pictures(3), ["up"]), "3 parts, 2 two for each phrase"),
    ],
)
def test_mistakes_are_found_when_a_suite_is_built(build, message):
    with pytest.raises(UserError, match=message):
        build()


def test_the_split_hash_knows_what_is_asked():
    hashes = {suite.identity().split_sha256 for suite in ALL}
    hashes |= {foils(foils=["both", "near", "both", "up"]).identity().split_sha256}
    hashes |= {foils(groups={"swap_att": [0, 1], "swap_obj": [2, 3]}).identity().split_sha256}
    assert len(hashes) == 5


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """One file of each benchmark over three pictures."""
    folder = tmp_path_factory.mktemp("pairs")
    generator = np.random.default_rng(0)
    for i in range(3):
        Image.fromarray(generator.integers(0, 256, (40, 48, 3), dtype=np.uint8)).save(folder / f"{i}.png")
    valse = {
        str(i): {"image_file": f"{i}.png", "caption": "no dog", "foil": "a dog", "mturk": {"caption": 3 - i}}
        for i in range(3)
    }
    (folder / "existence.json").write_text(json.dumps(valse))
    for split in ("crepe/swap_att", "crepe/add_obj"):
        (folder / split).parent.mkdir(exist_ok=True)
        rows = {"0": {"filename": "0.png", "caption": "a cat and a dog", "negative_caption": "a dog and a cat"}}
        (folder / f"{split}.json").write_text(json.dumps(rows))
    boxes = [[0, 0, 20, 20], [20, 10, 28, 30]]
    row = {"image": "1.png", "phrase": "the cat without a dog", "ref_bbox": boxes[0], "bbox_list": boxes}
    (folder / "NegRefCOCOg.json").write_text(json.dumps([row, row | {"phrase": "no cat"}]))
    with (folder / "cc.csv").open("w", newline="") as file:
        rows = [[f"{i % 3}.png", f"a cat, a dog {i}", f"a cat, but no dog {i}"] for i in range(5)]
        csv.writer(file).writerows([["filepath", "caption", "negated_caption"], *rows])
    return folder


def test_the_last_triples_of_cc_neg_are_asked_with_and_without_the_cue_of_commas(data):
    suite = cc_neg_suite(data / "cc.csv", EvaluateConfig(model=data, cc_neg=data / "cc.csv"), Screening(), test_count=2)
    assert suite.captions == ["a cat, a dog 3", "a cat, a dog 4", "a cat a dog 3", "a cat a dog 4"]
    assert suite.foils == ["a cat but no dog 3", "a cat but no dog 4"] * 2
    assert [suite.pictures.name(i) for i in suite.image_of_item] == ["0.png", "1.png"] * 2
    assert {name: list(items) for name, items in suite.groups.items()} == {
        "as_published": [0, 1], "commas_removed_from_both": [2, 3],
    }  # fmt: skip
    with pytest.raises(UserError, match="5 triples"):
        suites_from_files(EvaluateConfig(model=data, cc_neg=data / "cc.csv"))


def test_the_command_shows_and_writes_every_benchmark(data, tmp_path):
    model = tiny_model(tmp_path / "tiny", ["a cat and a dog", "no dog", "the cat without a dog"])
    files = {"valse": "existence.json", "sugarcrepe": "crepe", "negrefcocog": "NegRefCOCOg.json"}
    config = EvaluateConfig(
        model=model, images_root=data, output=tmp_path / "r.json", **{key: data / name for key, name in files.items()}
    )
    text = io.StringIO()
    evaluate_command(config, Console(file=text, width=110))
    record = json.loads((tmp_path / "r.json").read_text())
    assert list(record["suites"]) == list(files)
    suites = record["suites"]
    assert suites["valse"]["count"] == {"all": 3, "valid": 2}
    assert suites["sugarcrepe"]["count"] == {"add_obj": 1, "swap_att": 1}
    assert suites["negrefcocog"]["count"] == {"all": 2}
    for name, label in (("valse", "valid"), ("negrefcocog", "all")):
        assert record["metrics"][f"{config.dataset_name}-{name}-{label}"] == suites[name]["accuracy"][label]
    shown = text.getvalue()
    for words in ("VALSE, valid, 2", "SugarCrepe, mean of the splits (macro)", "over all items (micro)", "NegRefCOCOg"):
        assert words in shown
    write_comparison_report(tmp_path / "p.html", tmp_path / "p.json", {"base": record, "adapted": record})
    page = (tmp_path / "p.html").read_text()
    assert "VALSE, valid, 2" in page
    assert "NegRefCOCOg, all, 2" in page


def test_missing_pictures_are_told_before_a_model_is_loaded(data, tmp_path):
    config = EvaluateConfig(model=tmp_path, negrefcocog=data / "NegRefCOCOg.json", images_root=tmp_path)
    with pytest.raises(UserError, match="1 of 1 pictures are missing"):
        suites_from_files(config)


def test_the_true_boxes_come_before_the_others(data):
    (suite,) = suites_from_files(EvaluateConfig(model=data, negrefcocog=data / "NegRefCOCOg.json"))
    assert [suite.parts[i].size for i in range(4)] == [(20, 20), (20, 20), (28, 30), (28, 30)]
