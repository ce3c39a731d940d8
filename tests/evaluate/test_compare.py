import numpy as np
import pytest
from scipy import stats

from litotes.errors import UserError
from litotes.evaluate.answers import Answer
from litotes.evaluate.compare import Difference, differences
from litotes.evaluate.verdict import in_words, significance

DRAWS = 2000


def choice(item, right, picture=None, **asked):
    asked = {"item": item, "picture": picture or f"p{item}", "right": 0, **asked}
    return Answer(asked, {"chosen": 0 if right else 1})


def both(before, after, **asked):
    """Answers of two models; asked: columns of what was asked."""
    columns = [{key: column[i] for key, column in asked.items()} for i in range(len(before))]
    return ([choice(i, right, **columns[i]) for i, right in enumerate(side)] for side in (before, after))


def drawn(n_pictures, statistic):
    """Quantiles of a statistic over pictures that are drawn again, one draw at a time."""
    draw = np.random.default_rng(9)
    values = [statistic(draw.integers(0, n_pictures, n_pictures)) for _ in range(DRAWS)]
    return tuple(np.quantile(values, [0.025, 0.975]))


def test_multiple_choice_is_compared_in_all_and_by_type():
    draw = np.random.default_rng(0)
    before, after = draw.random(300) < 0.4, draw.random(300) < 0.6
    types = ["positive" if i % 3 else "negative" for i in range(300)]
    first, second = both(before, after, type=types, picture=[f"p{i // 2}" for i in range(300)])
    found = differences({"mcq": first}, {"mcq": second}, {"mcq": {"task": "mcq"}})["mcq"]
    total, negative, positive = found
    assert [part.path for part in found] == [("total",), ("negative",), ("positive",)]
    assert (total.before, total.after, total.n) == (before.mean(), after.mean(), 300)
    only = int((before & ~after).sum()), int((after & ~before).sum())
    assert (total.only_before, total.only_after) == only
    assert total.p == pytest.approx(stats.binomtest(only[0], sum(only)).pvalue)
    change = (after.astype(float) - before).reshape(150, 2).mean(axis=1)
    assert (total.low, total.high) == pytest.approx(drawn(150, lambda some: change[some].mean()), abs=0.008)
    assert (positive.n, positive.after) == (200, after[[i % 3 > 0 for i in range(300)]].mean())
    assert negative.n == 100


def test_groups_of_true_and_false_texts_and_their_averages():
    before, after = [True, False, False, False, True, False], [True, True, False, True, False, False]
    groups = [["a", "all"], ["a", "all"], ["b", "all"], ["b", "all"], ["b", "all"], ["b", "all"]]
    first, second = both(before, after, groups=groups)
    result = {"task": "foils", "averages": {"micro": 0, "macro": 0}}
    found = {part.path: part for part in differences({"x": first}, {"x": second}, {"x": result})["x"]}
    assert (found["accuracy", "a"].before, found["accuracy", "a"].after, found["accuracy", "a"].n) == (0.5, 1, 2)
    assert (found["accuracy", "b"].before, found["accuracy", "b"].after) == (0.25, 0.25)
    macro = found["averages", "macro"]
    assert (macro.before, macro.after) == pytest.approx((np.mean([1 / 2, 1 / 4, 2 / 6]), np.mean([1, 1 / 4, 3 / 6])))
    assert macro.p is None
    assert found["averages", "micro"].n == 12

    change = np.array(after, dtype=float) - np.array(before, dtype=float)
    inside = np.array([[group in some for group in ("a", "b", "all")] for some in groups], dtype=float)

    def mean_of_shares(some):
        counts = inside[some].sum(axis=0)
        return np.mean((change[some] @ inside[some])[counts > 0] / counts[counts > 0])

    assert (macro.low, macro.high) == pytest.approx(drawn(6, mean_of_shares), abs=0.05)


def test_two_tasks_of_one_benchmark_are_averaged_apart():
    first, second = both([True, False], [False, False], groups=[["a, ITT"], ["a, TOT"]])
    result = {"task": "foils", "averages": dict.fromkeys(("micro, ITT", "macro, ITT", "micro, TOT", "macro, TOT"), 0)}
    found = {part.path[-1]: part for part in differences({"x": first}, {"x": second}, {"x": result})["x"]}
    assert {key: (part.before, part.n) for key, part in found.items()} == {
        **dict.fromkeys(("a, ITT", "micro, ITT", "macro, ITT"), (1, 1)),
        **dict.fromkeys(("a, TOT", "micro, TOT", "macro, TOT"), (0, 1)),
    }


def search(way, item, picture, rank):
    return Answer({"way": way, "item": item, "picture": picture}, {"rank": rank})


def test_recall_is_compared_over_pictures_with_all_their_captions():
    draw = np.random.default_rng(3)
    owners = np.repeat(np.arange(80), draw.integers(1, 4, 80))
    ranks = {way: draw.integers(1, 8, (2, n)) for way, n in (("i2t", 80), ("t2i", len(owners)))}
    ranks["t2i"][1] = np.maximum(ranks["t2i"][1] - 1, 1)
    sides = [
        [search("i2t", i, f"p{i}", int(rank)) for i, rank in enumerate(ranks["i2t"][m])]
        + [search("t2i", j, f"p{owners[j]}", int(rank)) for j, rank in enumerate(ranks["t2i"][m])]
        for m in (0, 1)
    ]
    result = {"task": "zeroshot_retrieval", "i2t": {"1": 0, "3": 0}, "t2i": {"1": 0, "3": 0}}
    found = {p.path: p for p in differences({"r": sides[0]}, {"r": sides[1]}, {"r": result})["r"]}
    hit = {(way, k): (ranks[way] <= int(k)).astype(float) for way in ranks for k in ("1", "3")}
    for key, both_models in hit.items():
        assert (found[key].before, found[key].after) == pytest.approx(tuple(both_models.mean(axis=1)))
        assert found[key].p is None
    rsum = found["rsum",]
    assert (rsum.before, rsum.after) == pytest.approx(tuple(100 * sum(h.mean(axis=1) for h in hit.values())))
    captions = [np.flatnonzero(owners == i) for i in range(80)]

    def change(some):
        chosen = {"i2t": some, "t2i": np.concatenate([captions[i] for i in some])}
        return 100 * sum(np.diff(h[:, chosen[way]].mean(axis=1))[0] for (way, _), h in hit.items())

    assert (rsum.low, rsum.high) == pytest.approx(drawn(80, change), abs=4)
    assert rsum.low > -40


def test_equal_answers_differ_in_nothing():
    first, second = both([True, False], [True, False])
    (part,) = differences({"c": first}, {"c": second}, {"c": {"task": "zeroshot_classification"}})["c"]
    assert part == Difference(("acc1",), 2, 0.5, 0.5, 0, 0, 1.0, 0, 0)


def test_pairs_of_texts_are_compared_one_diagnostic_at_a_time():
    before, after = [True, False, False, False, True], [True, True, False, True, False]
    first, second = both(before, after, groups=[["p"], ["p"], ["p"], ["q"], ["q"]])
    p, q = differences({"x": first}, {"x": second}, {"x": {"task": "pairs"}})["x"]
    assert (p.path, p.n, p.before, p.after) == (("p",), 3, pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert (q.path, q.n, q.only_before, q.only_after) == (("q",), 2, 1, 1)


@pytest.mark.parametrize(("more", "p", "sure"), [(5, 0.0625, False), (6, 0.03125, True)])
def test_few_answers_that_differ_are_no_evidence_though_their_interval_leaves_out_zero(more, p, sure):
    first, second = both([False] * 20, [i < more for i in range(20)])
    (part,) = differences({"c": first}, {"c": second}, {"c": {"task": "zeroshot_classification"}})["c"]
    assert part.p == pytest.approx(p) and part.low > 0
    assert part.beyond_chance is sure
    assert ("which may be chance" in in_words("All", part)) is not sure


def test_a_measure_without_p_is_beyond_chance_by_its_interval():
    usual = Difference(("rsum",), 9, 300, 320, 1.0, 40.0)
    assert usual.beyond_chance and not usual._replace(low=-1.0).beyond_chance


def test_answers_to_other_questions_are_refused():
    first, second = both([True, False], [True, False])
    with pytest.raises(UserError, match="answers to other questions in c"):
        differences({"c": first}, {"c": second[:1]}, {"c": {"task": "zeroshot_classification"}})
    assert differences({"c": first}, {}, {"c": {"task": "zeroshot_classification"}}) == {}
    assert differences({"c": first}, {"c": second}, {"c": {"task": "unknown"}}) == {}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "All: better by 3.1 points, 95 % interval 2.0 to 4.2. If both were equally good, chance would give so "
             "large a difference once in 10,000 (McNemar, p = 0.0001)."),
        ({"after": 0.169, "low": -0.042, "high": -0.02, "p": 0.013},
         "All: worse by 3.1 points, 95 % interval 2.0 to 4.2. If both were equally good, chance would give so large a "
         "difference once in 77 (McNemar, p = 0.013)."),
        ({"low": -0.01, "p": 0.44}, "All: +3.1 points, which may be chance: 95 % interval −1.0 to +4.2. If both were "
         "equally good, chance would give so large a difference about 4 times in 10 (McNemar, p = 0.44)."),
        ({"p": 1e-40}, "All: better by 3.1 points, 95 % interval 2.0 to 4.2. If both were equally good, chance would "
         "give so large a difference less than once in 1,000,000,000 (McNemar, p < 1e-9)."),
        ({"path": ("rsum",), "before": 300, "after": 312.34, "low": 5, "high": 20, "p": None},
         "All: better by 12.3 points, 95 % interval 5.0 to 20.0."),
    ],
)  # fmt: skip
def test_a_difference_is_told_in_words(changes, told):
    usual = Difference(("total",), 1000, 0.2, 0.231, 0.02, 0.042, 1e-4, 10, 41)
    assert in_words("All", usual._replace(**changes)) == told


def test_main_measures_are_told_of_each_model():
    result = {"task": "foils", "split_sha256": "s", "averages": {}, "count": {"all": 4}, "chance": 0.5,
              "accuracy": {"all": 0.5}}  # fmt: skip
    records = {"base": {"suites": {"valse": result}}, "adapted": {"suites": {"valse": result}}}
    part = Difference(("accuracy", "all"), 4, 0.5, 0.5, -0.1, 0.1, 1.0, 0, 0)
    told = significance(records, {"adapted": {"valse": [part]}})
    ((suite, label, sentence),) = told
    assert (suite, label) == ("valse", "adapted")
    assert sentence.startswith("VALSE, all, 4: ±0.0 points, which may be chance")
    assert significance(records, {"adapted": {}}) == []
