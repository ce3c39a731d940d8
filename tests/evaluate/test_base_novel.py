"""Base-to-novel sums: H, its averages by both rules, tables of runs, and results that do not belong together."""

import json
import math

import pytest

from litotes.errors import UserError
from litotes.evaluate.base_novel import Pair, by_dataset, harmonic, models_of, notes_of, read_runs, summary


def test_h_is_that_of_published_rows():
    # Base, novel and H as printed: zero-shot CLIP's average, and VACSR's averages, whose H by this rule is 80.62.
    assert 100 * harmonic(0.6934, 0.7422) == pytest.approx(71.70, abs=0.005)
    assert 100 * harmonic(0.85738, 0.76075) == pytest.approx(80.618, abs=0.0005)


def test_h_leans_to_the_lower_one_and_is_0_where_one_is():
    assert harmonic(0.5, 0.5) == 0.5
    assert harmonic(1.0, 0.0) == harmonic(0.0, 0.0) == 0.0
    assert harmonic(0.9, 0.3) == harmonic(0.3, 0.9) == pytest.approx(1 / ((1 / 0.9 + 1 / 0.3) / 2))
    assert harmonic(0.9, 0.3) < 0.6


RUNS = {
    "eurosat": [Pair(0.90, 0.60), Pair(0.96, 0.80), Pair(0.93, 0.73)],
    "dtd": [Pair(0.80, 0.64), Pair(0.84, 0.66)],
    "pets": [Pair(0.95, 0.97)],
}


def test_figures_by_data_set_and_both_averages_are_those_of_plain_sums():
    told = summary(RUNS)
    means = {}
    for name, pairs in RUNS.items():
        n, one = len(pairs), told["datasets"][name]
        for group, values in (
            ("base", [base for base, _ in pairs]),
            ("novel", [novel for _, novel in pairs]),
            ("h_of_runs", [2 / (1 / base + 1 / novel) for base, novel in pairs]),
        ):
            mean = sum(values) / n
            assert one[group]["mean"] == pytest.approx(mean, abs=1e-15)
            if n == 1:
                assert one[group]["sd"] is None
            else:
                assert one[group]["sd"] == pytest.approx(math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1)))
        means[name] = (sum(base for base, _ in pairs) / n, sum(novel for _, novel in pairs) / n)
        assert one["h"] == pytest.approx(2 / (1 / means[name][0] + 1 / means[name][1]))
    # A data set counts once, however many runs it has.
    base, novel = (sum(pair[i] for pair in means.values()) / 3 for i in (0, 1))
    average = told["average"]
    assert (average["base"], average["novel"]) == (pytest.approx(base), pytest.approx(novel))
    assert average["h_of_means"] == pytest.approx(2 * base * novel / (base + novel))
    assert average["mean_of_h"] == pytest.approx(sum(2 * b * n / (b + n) for b, n in means.values()) / 3)
    assert abs(average["h_of_means"] - average["mean_of_h"]) > 1e-3


CLASSES = {"base": ("cat", "dog"), "novel": ("emu", "fox", "gnu")}


def record(group, acc1, adapter="a", **suite):
    """A result of one classification, as litotes evaluate writes it."""
    names = CLASSES[group]
    return {
        "model": "m", "pretrained": "p", "dataset": "d", "fingerprint": "f", "split_sha256": group, "similarity": "s",
        "captions_truncated": 0, "n_skipped": 0, "pair_adapter": {"weights_sha256": adapter},
        "suites": {"classification": {
            "task": "zeroshot_classification", "split_sha256": group, "n_images": 10, "acc1": acc1, "acc5": None,
            "mean_per_class_recall": acc1, "per_class": dict.fromkeys(names, acc1), "n_classes": len(names),
            "templates": ["a photo of a {c}."], **suite,
        }},
    }  # fmt: skip


@pytest.fixture
def table(tmp_path):
    """Write a table of runs and the results in it: (data set, seed, base record, novel record) a row."""

    def write(*rows, folder="results"):
        (tmp_path / folder).mkdir(exist_ok=True)
        lines = ["dataset,seed,base,novel"]
        for i, (dataset, seed, *records) in enumerate(rows):
            names = []
            for group, content in zip(("base", "novel"), records, strict=True):
                names.append(content if isinstance(content, str) else f"{folder}/{i}-{group}.json")
                if not isinstance(content, str):
                    (tmp_path / names[-1]).write_text(json.dumps(content))
            lines.append(",".join((dataset, seed, *names)))
        (tmp_path / "runs.csv").write_text("\n".join(lines) + "\n")
        return tmp_path / "runs.csv"

    return write


def test_runs_are_read_with_the_model_before_where_all_have_it(table):
    both = [record(group, acc, "b") | {"base": record(group, acc - 0.2)}
            for group, acc in (("base", 0.9), ("novel", 0.7))]  # fmt: skip
    path = table(("d", "1", *both), ("d", "02", record("base", 0.8), record("novel", 0.6)))
    runs = read_runs(path)
    assert [run.seed for run in runs] == ["1", "02"]
    assert runs[0].figures == {"before": pytest.approx((0.7, 0.5)), "adapted": (0.9, 0.7)}
    assert by_dataset(runs, "adapted") == {"d": [(0.9, 0.7), (0.8, 0.6)]}
    assert models_of(runs) == ["adapted"] and models_of(runs[:1]) == ["before", "adapted"]
    assert "before adaptation are left out" in notes_of(runs)[-1]
    assert "fewer than three runs, the usual number: d 2" in notes_of(runs)[0]


def test_what_makes_a_figure_less_than_it_seems_is_told(table):
    left = record("base", 0.9) | {"n_skipped": 2}
    runs = read_runs(table(("d", "1", left, record("novel", 0.5, n_classes=5))))
    assert runs[0].told == [
        "d, seed 1: 2 pictures of base left out as missing or broken",
        "d, seed 1: novel was asked among 5 classes, of which 3 have pictures; the protocol asks among those of the "
        "group alone",
    ]
    assert notes_of(runs)[:2] == runs[0].told


BASE, NOVEL = record("base", 0.9), record("novel", 0.7)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([("d", "1", BASE, record("novel", 0.7, "b"))], "of two models, which differ in pair_adapter"),
        ([("d", "1", BASE, BASE)], "2 classes in base and in novel: cat, dog"),
        ([("d", "1", BASE, record("novel", 0.7, templates=["{c}"]))], "asked with other prompts"),
        ([("d", "1", BASE, NOVEL), ("d", "01", BASE, NOVEL)], "row 2: d, seed 01, which is row 1 too"),
        ([("d", "one", BASE, NOVEL)], "row 1: seed 'one'"),
        ([("d", "1", BASE, NOVEL), ("d", "2", BASE, NOVEL)], "d: seeds 1 and 2 are of one model"),
        (
            [("d", "1", BASE, NOVEL), ("d", "2", record("base", 0.8, "b", split_sha256="x"), record("novel", 1, "b"))],
            "d, base: seed 2 was asked other questions than seed 1",
        ),
        ([("d", "1", "../base.json", NOVEL)], "row 1, base: the path '../base.json'"),
        ([("d", "1", "none.json", NOVEL)], "none.json"),
        ([("", "1", BASE, NOVEL)], "column dataset has no words"),
        ([("d", "1", record("base", 1.5), NOVEL)], "a share from 0 to 1"),
        ([("d", "1", record("base", 0.5, per_class=None), NOVEL)], "with one classification"),
        ([("d", "1", {"models": {"x": BASE, "y": record("base", 0.8, "b")}}, NOVEL)], "with the models x, y"),
    ],
)  # fmt: skip
def test_results_that_do_not_belong_together_are_refused_with_the_row(rows, told, table):
    with pytest.raises(UserError) as refused:
        read_runs(table(*rows))
    assert told in str(refused.value)


def test_a_model_that_was_not_trained_has_one_row_a_data_set(table):
    runs = read_runs(table(("c", "", BASE, NOVEL), ("d", "", BASE, NOVEL)))
    assert list(summary(by_dataset(runs, "adapted"))["datasets"]) == ["c", "d"]
