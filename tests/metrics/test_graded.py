import random

import numpy as np
import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.graded import (
    UNFOUND,
    PositiveRanks,
    average_precision_at_r,
    first_ranks,
    graded_scores,
    number_of_positives,
    r_precision,
)
from litotes.metrics.ranked_lists import inside_parts, list_scores, positive_ranks, ranked_lists
from reference.graded import means

# Three images, two captions each, and more positives than the original pairs.
I2T = {1: [13, 15, 11, 12, 14, 16], 2: [11, 13, 14, 16, 15, 12], 3: [16, 15, 11, 12, 13, 14]}
T2I = {11: [1, 2, 3], 12: [2, 1, 3], 13: [1, 3, 2], 14: [2, 1, 3], 15: [3, 2, 1], 16: [1, 2, 3]}
I2T_RIGHT = {1: {11, 12, 13}, 2: {13, 14, 15}, 3: {15, 16}}
T2I_RIGHT = {11: {1}, 12: {1}, 13: {2, 1}, 14: {2}, 15: {3, 2}, 16: {3}}
I2T_PAIRS = {1: [11, 12], 2: [13, 14], 3: [15, 16]}
T2I_PAIRS = {caption: [image] for image, captions in I2T_PAIRS.items() for caption in captions}

RIGHT = {"101": [1, 2, 3], "102": [4], "103": [5, 6], "104": [7, 8, 9, 10, 11], "105": [12, 13]}
RANKED = {
    "101": [1, 20, 3, 2, 21, 22],
    "102": [20, 4, 21, 22, 23, 24],
    "103": [5, 6, 20, 21, 22, 23],
    "104": [20, 7, 8, 21, 9, 10],
    "105": [30, 31, 32, 33, 34, 35],
}
EXPECTED = (40.0, 45.333333, 38.177778)


def percent(ranked, relevant=RIGHT):
    scores, _ = list_scores(ranked, relevant)
    return 100 * scores.recall[1], 100 * scores.r_precision, 100 * scores.map_at_r


def test_the_example_of_three_images_to_the_printed_digits():
    scores, _ = list_scores(I2T, I2T_RIGHT)
    assert (f"{scores.map_at_r:.6f}", f"{scores.r_precision:.6f}", f"{scores.recall[1]:.6f}") == (
        "0.648148",
        "0.777778",
        "0.666667",
    )
    scores, _ = list_scores(T2I, T2I_RIGHT)
    assert (f"{scores.map_at_r:.6f}", f"{scores.r_precision:.6f}", f"{scores.recall[1]:.6f}") == (
        "0.583333",
        "0.583333",
        "0.666667",
    )
    found = positive_ranks(ranked_lists(I2T), I2T_RIGHT).found
    assert average_precision_at_r(found).tolist() == pytest.approx([0.555556, 0.388889, 1], abs=5e-7)
    assert r_precision(found).tolist() == pytest.approx([0.666667, 0.666667, 1], abs=5e-7)
    by_pairs = [list_scores(lists, pairs, (1, 2, 3))[0].recall for lists, pairs in ((I2T, I2T_PAIRS), (T2I, T2I_PAIRS))]
    assert [f"{by_pairs[0][k]:.6f}" for k in (1, 2, 3)] == ["0.333333", "0.666667", "1.000000"]
    assert [f"{by_pairs[1][k]:.6f}" for k in (1, 2, 3)] == ["0.500000", "0.666667", "1.000000"]


def test_a_fold_of_the_gallery_counts_its_own_items_only():
    lists = ranked_lists(I2T)
    whole = positive_ranks(lists, {k: I2T_PAIRS[k] for k in (1, 3)})
    listed = inside_parts(lists, whole, {1: 0, 3: 0}, dict.fromkeys((11, 12, 15, 16), 0))
    assert graded_scores(listed.found).recall[1] == 0.5
    assert listed.listed.tolist() == [4, 4]
    assert listed.found.rank.tolist() == [2, 3, 2, 1]


def test_ids_as_numbers_as_text_and_with_zeros_give_the_same_values():
    assert percent(RANKED) == pytest.approx(EXPECTED, abs=1e-6)
    as_text = {query: list(map(str, ids)) for query, ids in RANKED.items()}
    padded = {query: [f"{i:06}" for i in ids] for query, ids in RANKED.items()}
    arrays = {int(query): np.array(ids, dtype=np.int32) for query, ids in RANKED.items()}
    assert percent(as_text) == percent(padded) == percent(arrays) == percent(RANKED)
    named = {q: [f"cat {i}.jpg" for i in ids] for q, ids in RANKED.items()}
    assert percent(named, {q: {f"cat {i}.jpg" for i in ids} for q, ids in RIGHT.items()}) == percent(RANKED)


def test_each_query_has_its_own_values():
    listed = positive_ranks(ranked_lists(RANKED), RIGHT)
    assert listed.queries == (101, 102, 103, 104, 105)
    assert number_of_positives(listed.found).tolist() == [3, 1, 2, 5, 2]
    assert (first_ranks(listed.found) == 1).tolist() == [True, False, True, False, False]
    assert r_precision(listed.found).tolist() == pytest.approx([2 / 3, 0, 1, 0.6, 0])
    assert average_precision_at_r(listed.found).tolist() == pytest.approx([0.555556, 0, 1, 0.353333, 0], abs=5e-7)


def test_a_list_shorter_than_r_is_divided_by_r():
    short = {query: ids[:2] for query, ids in RANKED.items()}
    assert percent(short) == pytest.approx((40.0, 30.666667, 28.666667), abs=1e-6)
    assert percent(RANKED | {"105": []}) == pytest.approx(EXPECTED, abs=1e-6)


def test_what_is_left_out_is_told():
    scores, listed = list_scores(RANKED | {"999": [1, 2]}, RIGHT | {"106": []})
    assert 100 * scores.map_at_r == pytest.approx(EXPECTED[2], abs=1e-6)
    assert listed.without_positives == 1
    assert any("not asked" in note and "999" in note for note in listed.notes)
    assert any("without a right item" in note and "106" in note for note in listed.notes)
    assert list_scores(RANKED, RIGHT)[1].notes == ()


@pytest.mark.parametrize(
    "ranked, relevant, message",
    [
        (RANKED | {"102": [20, 20, 4]}, RIGHT, "query 102 lists the item 20 twice"),
        (RANKED | {"102": ["20", "0020", 4]}, RIGHT, "twice"),
        (RANKED | {"102": ["a", "b", "a"]}, RIGHT, "'a' twice"),
        ({q: ids for q, ids in RANKED.items() if q != "104"}, RIGHT, "no ranked list for 1 of 5 queries: 104"),
        (RANKED | {101: [1]}, RIGHT, "the query 101 twice"),
        ({q: [f"{i}.jpg" for i in ids] for q, ids in RANKED.items()}, RIGHT, r"ids like '1.jpg'"),
        (RANKED, {q: [f"{i}.jpg" for i in ids] for q, ids in RIGHT.items()}, "ids like 1\n"),
        (RANKED | {"102": [4.0]}, RIGHT, "the id .*4.0"),
        (RANKED | {"102": [-4]}, RIGHT, "the id -4"),
        (RANKED | {"102": [True]}, RIGHT, "the id True"),
        (RANKED | {"102": ["9" * 20, "a"]}, RIGHT, "the id '9{20}'"),
        (RANKED | {"9" * 5000: [1]}, RIGHT, "the id '99"),
        (RANKED | {"102": [[1], [2, 3]]}, RIGHT, r"the id \[1\]"),
        (RANKED | {"102": "4"}, RIGHT, "a list of ids"),
        (RANKED | {"102": None}, RIGHT, "a list of ids"),
        ({}, RIGHT, "no ranked list"),
        (RANKED, {}, "no query with a right item"),
        (RANKED, {"101": None}, "a list of ids"),
        (RANKED, {"101": []}, "no query with a right item"),
    ],
)
def test_unsound_lists_are_refused(ranked, relevant, message):
    with pytest.raises(UserError, match=message):
        list_scores(ranked, relevant)


def test_lists_that_never_meet_their_judgements_are_told():
    assert "no right item stands in any list" in list_scores({1: [5]}, {1: [6]})[1].notes[0]


@pytest.mark.parametrize("seed", range(20))
def test_means_follow_the_definition(seed):
    draw = random.Random(seed)
    items = draw.sample(range(10**12), 40)
    ranked = {query: draw.sample(items, draw.randint(1, 40)) for query in range(12)}
    relevant = {query: draw.sample(items, draw.randint(0, 12)) for query in range(10)} | {11: [items[0]]}
    scores, listed = list_scores(ranked, relevant, (1, 3, 10))
    recall, precision, average = means(ranked, relevant, (1, 3, 10))
    assert scores.recall == pytest.approx(recall, abs=1e-12)
    assert scores.r_precision == pytest.approx(precision, abs=1e-12)
    assert scores.map_at_r == pytest.approx(average, abs=1e-12)
    assert listed.without_positives == sum(not right for right in relevant.values())


def test_a_positive_that_nothing_holds_still_counts_in_r():
    found = PositiveRanks(torch.tensor([0, 0]), torch.tensor([UNFOUND, 1]))
    assert graded_scores(found, (1,)) == ({1: 1.0}, 0.5, 0.5)


@pytest.mark.parametrize("ks", [(), (0,), (1, 1)])
def test_ranks_that_mean_nothing_are_refused(ks):
    with pytest.raises(UserError, match="K ="):
        graded_scores(PositiveRanks(torch.tensor([0]), torch.tensor([1])), ks)


@pytest.mark.parametrize("spread", [1, 10**9])
def test_ranks_inside_parts_are_those_of_the_lists_without_the_rest(spread):
    draw = random.Random(spread)
    items = [spread * i for i in range(30)]
    ranked = {f"q{query}": draw.sample(items, draw.randint(1, 30)) for query in range(9)}
    relevant = {query: draw.sample(items, draw.randint(1, 8)) for query in ranked}
    query_parts = {query: draw.randrange(3) for query in ranked}
    item_parts = {item: draw.randrange(3) for item in items[:25]}
    lists = ranked_lists(ranked)
    found = inside_parts(lists, positive_ranks(lists, relevant), query_parts, item_parts)
    expected, lengths = [], []
    for query, right in relevant.items():
        own = [item for item in ranked[query] if item_parts.get(item) == query_parts[query]]
        expected += [own.index(item) + 1 if item in own else UNFOUND for item in sorted(right)]
        lengths.append(len(own))
    assert found.found.rank.tolist() == expected
    assert found.listed.tolist() == lengths
    with pytest.raises(UserError, match="no part for 1 queries: q3"):
        query_parts.pop("q3")
        inside_parts(lists, positive_ranks(lists, relevant), query_parts, item_parts)
