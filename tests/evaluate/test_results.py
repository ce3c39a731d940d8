import json

import pytest
from evaluate_fakes import FakeEncoder

from litotes.evaluate.classification import Classification
from litotes.evaluate.geometry import Geometry
from litotes.evaluate.negation import CONTROL_SEED, MultipleChoice, Pairs
from litotes.evaluate.results import file_name, result_record, write_json
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.rows import Cell
from litotes.evaluate.sections import sections
from litotes.evaluate.suite import run_suites
from tiny import noise_pictures as pictures

TEN = pictures(10)
CAPTIONS = [f"c{i}" for i in range(10)]


def all_suites():
    return [
        MultipleChoice("mcq", TEN, [0, 1], [("c0", "c1"), ("c0", "c1")], [0, 1], ["positive", "negative"]),
        Retrieval("retrieval", TEN, CAPTIONS, range(10)),
        Retrieval("retrieval_neg", TEN, CAPTIONS, range(10), negated=True),
        Classification("classification", TEN, range(10), CAPTIONS, ["{c}"]),
        Pairs("pairs", TEN, {"d": (CAPTIONS, CAPTIONS[1:] + CAPTIONS[:1])}),
        Geometry("geometry", TEN, CAPTIONS, CAPTIONS, CAPTIONS),
    ]


def oracle():
    one_hot = {i: [float(i == j) for j in range(10)] for i in range(10)}
    return FakeEncoder({f"folder/p{i}": v for i, v in one_hot.items()}, {f"c{i}": v for i, v in one_hot.items()})


@pytest.fixture(scope="module")
def record():
    encoder = oracle()
    return result_record(encoder, run_suites(encoder, all_suites()), dataset="world", extra={"seed": 7})


def test_metrics_carry_the_names_that_other_tools_use(record):
    recall = {f"{way}_retrieval_recall@{k}": 1.0 for way in ("image", "text") for k in (1, 5, 10)}
    plain = {f"world-{key}": value for key, value in recall.items()}
    recall |= {"image_to_text_median_rank": 1.0, "text_to_image_median_rank": 1.0}
    expected = {
        "world-mcq-total_accuracy": 1.0, "world-mcq-positive_accuracy": 1.0, "world-mcq-negative_accuracy": 1.0,
        "world-mcq-hybrid_accuracy": None, **recall, **plain, "rsum": 600.0,
        **{f"world-negated-{key}": value for key, value in recall.items()}, "world-negated-rsum": 600.0,
        "acc1": 1.0, "acc5": 1.0, "mean_per_class_recall": 1.0, "world-pairs-d": 1.0,
        "world-radius-image": 2.0, "world-radius-positive": 2.0, "world-radius-negated_positive": 2.0,
        "world-radius-negative": 2.0, "world-angle-at_negative": None, "world-angle-at_negated_positive": None,
    }  # fmt: skip
    assert record["metrics"] == pytest.approx(expected)


def test_image_retrieval_is_text_to_image():
    # each caption finds its picture, but the second picture's own caption ranks behind the first's
    encoder = FakeEncoder({"folder/p0": [1.0, 0.0], "folder/p1": [1.0, 0.3]}, {"a": [1.0, -0.5], "b": [1.0, 2.0]})
    suite = Retrieval("retrieval", pictures(2), ["a", "b"], [0, 1], ks=(1,))
    results = run_suites(encoder, [suite])
    assert (results["retrieval"]["t2i"], results["retrieval"]["i2t"]) == ({"1": 1.0}, {"1": 0.5})
    metrics = result_record(encoder, results, dataset="d")["metrics"]
    recall = {"image_retrieval_recall@1": 1.0, "text_retrieval_recall@1": 0.5}
    ranks = {"image_to_text_median_rank": 1.5, "text_to_image_median_rank": 1.0}
    assert metrics == {**recall, **{f"d-{key}": value for key, value in recall.items()}, **ranks, "rsum": 150.0}


def test_the_record_has_the_top_level_of_clip_benchmark_and_the_honest_fields(record):
    assert (record["dataset"], record["model"], record["pretrained"], record["language"]) == (
        "world",
        "fake",
        "base",
        "en",
    )
    assert record["task"] == "mcq+zeroshot_retrieval+zeroshot_classification+pairs+geometry"
    assert record["prompt"] == ["{c}"]
    assert record["seed"] == 7
    assert (record["n_images"], record["n_texts"], record["n_skipped"]) == (10, 4 + 10 + 10 + 10 + 20 + 30, 0)
    fields = "adapter activation precision split_sha256 captions_truncated tool_version wall_s fingerprint"
    assert set(fields.split()) <= record.keys()
    assert {result["file"] for result in record["suites"].values()} == {"yours"}


def test_the_seed_is_that_of_the_controls():
    encoder = oracle()
    results = run_suites(encoder, all_suites())
    assert result_record(encoder, results, dataset="d")["seed"] == CONTROL_SEED == 0
    del results["mcq"]
    assert result_record(encoder, results, dataset="d")["seed"] is None


def test_the_gap_is_what_negated_captions_lose_on_the_same_pictures():
    encoder = oracle()
    shifted = CAPTIONS[1:] + CAPTIONS[:1]
    plain, negated = (
        Retrieval("retrieval", TEN, CAPTIONS, range(10)),
        Retrieval("retrieval_neg", TEN, [*shifted[:5], *CAPTIONS[5:]], range(10), negated=True),
    )
    record = result_record(encoder, run_suites(encoder, [plain, negated]), dataset="d")
    found = record["suites"]["retrieval_neg"]
    assert found["gap"]["t2i"]["1"] == found["t2i"]["1"] - 1 == -0.5
    assert found["gap"]["rsum"] == found["rsum"] - 600
    rows = {row.label: row.cells[0] for s in sections({"": record}) for row in s.rows if "Gap" in row.label}
    assert len(rows) == 7
    assert rows["Gap to plain captions, Caption → picture, R@1"] == Cell("−50.0", None, "", "")
    assert "gap" not in record["suites"]["retrieval"]
    fewer = Retrieval("retrieval_neg", TEN, CAPTIONS[:9], range(9), ks=(1,), negated=True)
    assert (
        "gap" not in result_record(encoder, run_suites(encoder, [plain, fewer]), dataset="d")["suites"]["retrieval_neg"]
    )


def test_the_split_hash_depends_on_every_suite():
    encoder = oracle()
    results = run_suites(encoder, all_suites())
    alone = result_record(encoder, {"pairs": results["pairs"]}, dataset="d")
    assert alone["split_sha256"] == results["pairs"]["split_sha256"]
    both = result_record(encoder, {name: results[name] for name in ("pairs", "mcq")}, dataset="d")
    turned = result_record(encoder, {name: results[name] for name in ("mcq", "pairs")}, dataset="d")
    assert both["split_sha256"] == turned["split_sha256"] not in {r["split_sha256"] for r in results.values()}


def test_two_suites_of_one_task_keep_their_figures_apart():
    encoder = oracle()
    suites = [Pairs("first", TEN, {"d": (CAPTIONS, CAPTIONS)}), Pairs("second", TEN, {"d": (CAPTIONS, ["c0"] * 10)})]
    metrics = result_record(encoder, run_suites(encoder, suites), dataset="w")["metrics"]
    assert metrics == {"w-pairs-d": 0.0, "second-w-pairs-d": 0.9}


def test_json_is_written_whole_and_without_nan(record, tmp_path):
    path = write_json(tmp_path / "new" / "record.json", record)
    assert json.loads(path.read_text()) == json.loads(json.dumps(record))
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, {"value": float("nan")})
    assert json.loads(path.read_text())["dataset"] == "world"
    assert [file.name for file in path.parent.iterdir()] == ["record.json"]


def test_what_cannot_be_written_leaves_nothing_and_bears_the_users_name(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match=f"{tmp_path / 'taken'}'$"):
        write_json(tmp_path / "taken", {})
    assert [path.name for path in tmp_path.rglob("*")] == ["taken"]


def test_the_usual_file_name_holds_no_path(record):
    assert file_name(record) == "world_base_fake_en_mcq+zeroshot_retrieval+zeroshot_classification+pairs+geometry.json"
    odd = {"dataset": "a/b", "pretrained": "my adapter (rsLoRA)", "model": "../x", "language": "en", "task": "mcq"}
    assert file_name(odd) == "a-b_my-adapter_..-x_en_mcq.json"
