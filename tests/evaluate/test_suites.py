import math
from dataclasses import replace

import pytest
import torch
from evaluate_fakes import FakeEncoder, constant_encoder

from litotes.errors import UserError
from litotes.evaluate.classification import Classification, fill
from litotes.evaluate.geometry import Geometry
from litotes.evaluate.negation import MultipleChoice, Pairs
from litotes.evaluate.notes import notes_of_all
from litotes.evaluate.retrieval import Retrieval, depths
from litotes.evaluate.suite import run_suites
from litotes.metrics.paired import wilson_interval
from litotes.objectives.space import SpaceConfig
from tiny import noise_pictures as pictures

AXES = [[1.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 3.0]]
CHOICE_IMAGES = {f"folder/p{i}": axis for i, axis in enumerate(AXES)}
CHOICE_VECTORS = [
    [[0.982, 0.1091, 0.1091, 0.1091], [0.407, 0.0904, 0.9044, 0.0904], [0.407, 0.0904, 0.0904, 0.9044]],
    [[0.5427, 2.442, 5.4266, 0.5427], [0.0904, 0.407, 0.0904, 0.9044], [0.1091, 0.982, 0.1091, 0.1091]],
    [[0.0904, 0.0904, 0.407, 0.9044], [0.1091, 0.1091, 0.982, 0.1091], [0.5427, 5.4266, 2.442, 0.5427]],
    [[0.9044, 0.0904, 0.0904, 0.407], [0.5427, 5.4266, 0.5427, 2.442], [0.0904, 0.0904, 0.9044, 0.407]],
]
LAST = [
    [5.5995, 1.2443, 1.2443, 1.2443], [0.2074, 0.9333, 0.2074, 0.2074],
    [0.2074, 0.2074, 0.9333, 0.2074], [0.1091, 0.1091, 0.1091, 0.982],
]  # fmt: skip
OPTIONS = [tuple(f"question {q} option {o}" for o in range(4)) for q in range(4)]
TEXTS = {
    text: vector
    for q, texts in enumerate(OPTIONS)
    for text, vector in zip(texts, [*CHOICE_VECTORS[q], LAST[q]], strict=True)
}
TYPES = ["positive", "hybrid", "hybrid", "positive"]


def choice(**changes):
    parts = {
        "name": "mcq", "pictures": pictures(4), "image_of_question": [0, 1, 2, 3], "options": OPTIONS,
        "correct": [0, 2, 1, 3], "types": TYPES,
    }  # fmt: skip
    return MultipleChoice(**(parts | changes))


def test_choice_normalises_embeddings_of_unequal_length():
    result = choice().run(FakeEncoder(CHOICE_IMAGES, TEXTS))
    assert (result["total"], result["positive"], result["hybrid"]) == (1, 1, 1)
    assert (result["negative"], result["n_negative"], result["n"]) == (None, 0, 4)
    assert result["wrong_by_type"] == {"hybrid": {}, "positive": {}}


def test_choice_counts_what_was_chosen_instead():
    wrong = choice(correct=[1, 2, 0, 3])
    assert wrong.run(FakeEncoder(CHOICE_IMAGES, TEXTS))["wrong_by_type"] == {
        "hybrid": {"option 1": 1}, "positive": {"option 0": 1}
    }  # fmt: skip
    named = choice(correct=[1, 2, 0, 3], option_types=[("affirmed", "b", "c", "d")] * 4)
    assert named.run(FakeEncoder(CHOICE_IMAGES, TEXTS))["wrong_by_type"] == {
        "hybrid": {"b": 1}, "positive": {"affirmed": 1}
    }  # fmt: skip


def test_several_questions_of_one_picture_and_options_in_any_order():
    same = choice(
        image_of_question=[3, 0], options=[OPTIONS[3], OPTIONS[0][::-1]], correct=[3, 3], types=["positive", "negative"]
    )
    assert same.run(FakeEncoder(CHOICE_IMAGES, TEXTS))["total"] == 1


def test_equal_options_tie_and_are_told():
    options = [("a", "b", "a"), ("b", "a", "c")]
    encoder = FakeEncoder({}, {"a": [1.0, 0.1], "b": [0.0, 1.0], "c": [0.1, 0.9]}, default=[1.0, 0.0])
    result = choice(image_of_question=[0, 1], options=options, correct=[0, 1], types=["negative"] * 2).run(encoder)
    assert (result["total"], result["ties"], result["equal_options"], result["unanswerable"]) == (0.5, 1, 1, 1)
    assert result["total_if_ties_go_to_first"] == 1
    false = [("a", "b", "b"), ("b", "a", "a")]  # false options of one wording take no answer away
    result = choice(image_of_question=[0, 1], options=false, correct=[0, 0], types=["negative"] * 2).run(encoder)
    assert (result["equal_options"], result["unanswerable"]) == (2, 0)


def test_a_collapsed_model_scores_zero_everywhere():
    suites = [
        choice(correct=[0] * 4),
        Retrieval("retrieval", pictures(12), [f"c{i}" for i in range(24)], [i % 12 for i in range(24)]),
        Classification("classification", pictures(6), [0, 1, 2, 0, 1, 2], ["cat", "dog", "cup"]),
        Pairs("pairs", pictures(5), {"true_over_false": (["t"] * 5, ["f"] * 5)}),
    ]
    results = run_suites(constant_encoder(), suites)
    assert results["mcq"]["total"] == 0
    assert results["mcq"]["total_if_ties_go_to_first"] == 1
    assert results["retrieval"]["rsum"] == 0
    assert results["classification"]["acc1"] == 0
    assert results["classification"]["mean_per_class_recall"] == 0
    assert results["pairs"]["true_over_false"] == 0
    assert results["pairs"]["ties"] == {"true_over_false": 5}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(
    "suite",
    [
        choice(),
        Retrieval("retrieval", pictures(3), ["a", "b", "c"], [0, 1, 2], ks=(1,)),
        Classification("classification", pictures(3), [0, 1, 1], ["a", "b"]),
        Pairs("pairs", pictures(2), {"d": (["a", "b"], ["c", "d"])}),
        Geometry("geometry", pictures(2), ["a", "b"], ["c", "d"], ["e", "f"]),
    ],
    ids=lambda suite: suite.name,
)
def test_non_finite_embeddings_stop_every_suite(suite, value):
    for encoder in (
        FakeEncoder({"folder/p1": [value, 1.0, 0, 0]}, {}, default=[1.0, 0, 0, 0]),
        FakeEncoder(
            {}, {text: [value, 1.0, 0, 0] for text in ("b", OPTIONS[1][2], "a photo of a b.")}, default=[1.0, 0, 0, 0]
        ),
    ):
        with pytest.raises(UserError, match="NaN"):
            suite.run(encoder)


def test_retrieval_gives_string_keys_and_both_ways():
    # picture i and its captions point the same way, except that caption 2 is nearer to picture 0
    images = {f"folder/p{i}": torch.eye(3)[i].tolist() for i in range(3)}
    texts = {"a": [1.0, 0, 0], "a again": [2.0, 0.1, 0], "b": [0, 1.0, 0.1], "c": [0.9, 0, 0.5]}
    suite = Retrieval("retrieval", pictures(3), ["a", "c", "b", "a again"], [0, 2, 1, 0], ks=(1, 2))
    result = suite.run(FakeEncoder(images, texts))
    assert result["i2t"] == {"1": 1.0, "2": 1.0}
    assert result["t2i"] == {"1": 0.75, "2": 1.0}
    assert result["rsum"] == pytest.approx(375)
    assert result["median_rank"] == {"i2t": 1.0, "t2i": 1.0}
    assert result["n_images_with_captions"] == 3


@pytest.mark.parametrize(
    ("n_pictures", "owners", "ks", "told"),
    [
        (11, list(range(11)), (1, 5, 10), None),
        (10, list(range(10)), (1, 5), "R@10 left out: with 10 pictures"),
        (5, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], (1,), "R@5 and R@10 left out: with 5 pictures"),
        (3, [0, 1, 2] * 5, (1,), "R@5 and R@10 left out: with 3 pictures"),
        # of nine captions three are picture 0's, so that at worst the other six stand before the first of them
        (20, [0, 0, 0, 1, 1, 1, 2, 2, 2], (1, 5), "R@10 left out: with 9 captions"),
        (1, [0], (1,), "R@5 and R@10 left out: with 1 picture"),
    ],
)
def test_without_ks_those_that_no_model_can_miss_are_left_out_and_told(n_pictures, owners, ks, told):
    """Against all rankings there are: the worst model of all misses at every K that is left, R@1 aside."""
    found = depths(None, n_pictures, owners)
    assert found.ks == ks
    assert [note.partition(",")[0] for note in found.notes] == ([told] if told else [])
    assert all(f"(--ks asks for other K, up to {min(n_pictures, len(owners))} here)" in note for note in found.notes)
    n_rivals = {"i2t": [len(owners) - owners.count(own) for own in set(owners)], "t2i": [n_pictures - 1]}
    for k in ks[1:]:
        assert all(max(rivals) >= k for rivals in n_rivals.values())
    for k in {1, 5, 10} - set(ks):
        assert any(max(rivals) < k for rivals in n_rivals.values())


def test_ks_that_were_asked_for_are_never_changed():
    assert depths((10, 50), 5, [0, 1, 2, 3, 4]) == ((10, 50), [])


def test_a_recall_that_no_model_can_miss_is_told():
    """The first four of eight captions can all be the other picture's, the first five cannot."""
    suite = Retrieval("retrieval", pictures(3), ["a", "b", "c", "d"], [0, 1, 2, 1], ks=(1, 2, 3))
    encoder = FakeEncoder({f"folder/p{i}": torch.eye(3)[i].tolist() for i in range(3)}, {}, default=[1.0, 0, 0])
    assert suite.run(encoder)["notes"] == [
        "caption → picture, R@3 is 100 % whatever the model: the first 3 of 3 pictures always hold a right one"
    ]
    assert "notes" not in replace(suite, ks=(1, 2)).run(encoder)
    with pytest.raises(UserError, match="retrieval: recall at K = 5 over 4 images"):
        Retrieval("retrieval", pictures(4), [*"abcdefgh"], [0] * 4 + [1] * 4, ks=(5,))
    wide = Retrieval("retrieval", pictures(5), [*"abcdefgh"], [0] * 4 + [1] * 4, ks=(4, 5))
    assert [note.split(" is ")[0] for note in wide.run(encoder)["notes"]] == [
        "picture → caption, R@5", "caption → picture, R@5"
    ]  # fmt: skip


def test_rows_that_stand_twice_are_counted_and_told():
    retrieval = Retrieval("retrieval", pictures(3), ["a", "b", "a", "a"], [0, 1, 0, 2], ks=(1,))
    question = (("a", "b"), 0, "positive")
    asked = [(0, *question), (1, *question), (0, *question), (0, ("a", "b"), 1, "positive")]
    images, options, right, types = (list(part) for part in zip(*asked, strict=True))
    encoder = FakeEncoder({}, {"b": [0.0, 1.0]}, default=[1.0, 0.0])
    results = run_suites(encoder, [retrieval, MultipleChoice("mcq", pictures(3), images, options, right, types)])
    assert [results[name]["repeated_rows"] for name in ("retrieval", "mcq")] == [1, 1]
    notes = notes_of_all({"value": {"suites": results}})
    assert {f"{name}: 1 row repeats an earlier one; each counts" for name in results} <= set(notes)


def test_prompts_and_numbers_of_classes_that_mislead_are_told():
    def notes(names, *templates):
        suite = Classification("classification", pictures(2), [0, 1], names, templates)
        return suite.run(FakeEncoder({}, {}, default=[1.0, 0.0]))["notes"]

    bare = "2 of 3 classes are asked for by a single word, such as “cat”"
    assert [note.partition(", without")[0] for note in notes(["cat", "polar_bear", "dog"], "{c}")] == [bare]
    assert len(notes(["cat", "dog"], "a photo of a {c}.", "{}")) == 1
    assert notes(["a cat", "a dog"], "{c}") == notes(["cat", "dog"], "a {c}") == []
    assert "called by numbers" in notes(["0", "1"], "a photo of a {c}.")[0]
    told = "1 of 2 classes is called by a number, such as “0”, and so in the prompts; the others are not"
    assert notes(["a cat", "0"], "a photo of a {c}.") == [told]
    assert "acc5 is 100 % whatever the model" in notes([*"abcde"], "a {c}")[0]


def test_pictures_without_a_caption_are_distractors_only():
    suite = Retrieval("retrieval", pictures(3), ["a"], [0], ks=(1,))
    encoder = FakeEncoder({"folder/p0": [1.0, 0.5], "folder/p1": [1.0, 0], "folder/p2": [0, 1.0]}, {"a": [1.0, 0]})
    result = suite.run(encoder)
    assert (result["i2t"], result["t2i"], result["n_images_with_captions"]) == ({"1": 1.0}, {"1": 0.0}, 1)


def test_classification_averages_unit_prompts():
    # the long embedding of the first template would win if embeddings were averaged before they are made unit
    texts = {
        "a cat": [100.0, 0.0], "no cat": [0.0, 1.0], "a dog": [1.0, 0.2], "no dog": [1.0, -0.2],
    }  # fmt: skip
    images = {"folder/p0": [1.0, 1.0], "folder/p1": [1.0, 0.0]}
    suite = Classification("classification", pictures(2), [0, 1], ["cat", "dog"], ["a {c}", "no {}"])
    result = suite.run(FakeEncoder(images, texts))
    assert (result["acc1"], result["acc5"], result["mean_per_class_recall"]) == (1.0, None, 1.0)
    torch.testing.assert_close(
        suite.class_embeddings(FakeEncoder(images, texts)), torch.tensor([[math.sqrt(0.5)] * 2, [1.0, 0.0]])
    )


def test_shares_of_classes_have_intervals_over_the_pictures_and_the_level_of_guessing():
    names = ["a", "b", "c", "d", "e", "f"]
    texts = {f"the {name}": [math.cos(0.1 * i), math.sin(0.1 * i)] for i, name in enumerate(names)}
    # all pictures lie at a, and f is the furthest from it: one right first, two of three among the first five
    images = {f"folder/p{i}": [1.0, 0.0] for i in range(3)}
    suite = Classification("classification", pictures(3), [0, 3, 5], names, ["the {c}"])
    result = suite.run(FakeEncoder(images, texts))
    assert (result["acc1"], result["acc5"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert (result["chance"], result["chances"]) == (1 / 6, {"acc5": 5 / 6})
    assert result["interval"] == list(wilson_interval(1, 3))
    assert result["intervals"] == {"acc5": list(wilson_interval(2, 3))}
    # Wilson's interval of 1 in 3, as tables have it
    assert result["interval"] == pytest.approx([0.0615, 0.7923], abs=1e-4)
    few = Classification("classification", pictures(1), [0], ["a", "b"], ["the {c}"]).run(FakeEncoder(images, texts))
    assert (few["acc5"], few["intervals"], few["chance"], few["chances"]) == (None, {}, 0.5, {})


def test_classes_of_one_name_tie_and_are_told():
    vectors = {"a photo of a missile.": [1.0, 0], "a photo of a ice cream.": [0, 1.0]}
    images = {"folder/p0": [1.0, 0], "folder/p1": [1.0, 0], "folder/p2": [0, 1.0]}
    suite = Classification("classification", pictures(3), [0, 1, 2], ["missile", "missile", "ice_cream"])
    result = suite.run(FakeEncoder(images, vectors))
    assert result["equal_names"] == {"missile": [0, 1]}
    assert result["acc1"] == pytest.approx(1 / 3)
    assert result["per_class"] == {"missile #0": 0.0, "missile #1": 0.0, "ice_cream": 1.0}
    assert result["class_answers"] == {
        "missile #0": {"n": 1, "right": 0, "instead": "missile #1", "times": 1},
        "missile #1": {"n": 1, "right": 0, "instead": "missile #0", "times": 1},
        "ice_cream": {"n": 1, "right": 1, "instead": None, "times": 0},
    }


def test_prompts_say_underscores_as_spaces_and_leave_other_braces_alone():
    assert fill("a {c} in {braces}", "jack-o'-lantern {odd}") == "a jack-o'-lantern {odd} in {braces}"
    assert fill("{}", "african_elephant") == "african elephant"


def test_pairs_are_counted_by_diagnostic():
    encoder = FakeEncoder({}, {"good": [1.0, 0.1], "fair": [1.0, 0.5], "bad": [0.0, 1.0]}, default=[1.0, 0.0])
    suite = Pairs(
        "pairs",
        pictures(2),
        {"first": (["good", "bad"], ["bad", "good"]), "second": (["fair", "good"], ["bad", "good"])},
    )
    result = suite.run(encoder)
    assert (result["first"], result["second"], result["ties"], result["n"]) == (0.5, 0.5, {"first": 0, "second": 1}, 2)


def test_geometry_gives_radii_and_angles():
    # P at the origin's right, N above it: a right angle at P' = (0, 0) and 45 degrees at N
    encoder = FakeEncoder({}, {"p": [2.0, 0.0], "q": [0.0, 0.0], "n": [0.0, 2.0]}, default=[3.0, 4.0])
    suite = Geometry("geometry", pictures(2), ["p", "p"], ["q", "q"], ["n", "n"], SpaceConfig(norm="none"))
    result = suite.run(encoder)
    assert result["radius"] == {"image": 10.0, "positive": 4.0, "negated_positive": 0.0, "negative": 4.0}
    assert result["radius"] == result["radius_raw"]
    assert result["angles"]["at_negative"] == pytest.approx(45, abs=1e-4)
    assert result["angles"]["at_negated_positive"] == pytest.approx(90, abs=1e-4)
    unit = Geometry("geometry", pictures(2), ["p", "p"], ["q", "q"], ["n", "n"]).run(encoder)
    assert unit["radius"] == {"image": 2.0, "positive": 2.0, "negated_positive": 0.0, "negative": 2.0}
    assert unit["radius_raw"] == result["radius_raw"]


def test_geometry_without_a_triangle_has_no_angle():
    result = Geometry("geometry", pictures(1), ["p"], ["p"], ["n"]).run(FakeEncoder({}, {}, default=[1.0, 0.0]))
    assert result["angles"] == {"at_negative": None, "at_negated_positive": None, "undefined": 1}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: choice(types=["positive"]), "4 answers, 1 types"),
        (lambda: choice(image_of_question=[0, 1, 2, 4]), "picture 4 at place 3"),
        (lambda: choice(correct=[0, -1, 0, 0]), "answer -1 at place 1"),
        (lambda: choice(options=[*OPTIONS[:3], ("a", "b")]), r"question 3 with options \['a', 'b'\]"),
        (lambda: choice(options=[*OPTIONS[:3], ("a", "b", " ", "d")]), "question 3"),
        (lambda: choice(options=[("a",)] * 4, correct=[0] * 4), "question 0"),
        (lambda: Retrieval("r", pictures(12), ["a"] * 12, [0] * 11), "12 captions, 11 pictures of captions"),
        (lambda: Retrieval("r", pictures(12), [], []), "0 captions"),
        (lambda: Retrieval("r", pictures(12), ["a"] * 12, [12] * 12), "picture 12 at place 0"),
        (lambda: Retrieval("r", pictures(9), ["a"] * 12, [0] * 12), "K = 10 over 9 images"),
        (lambda: Classification("c", pictures(2), [0], ["a"]), "2 pictures, 1 labels"),
        (lambda: Classification("c", pictures(2), [0, 1], ["a"]), "label 1 at place 1"),
        (lambda: Classification("c", pictures(2), [0, 0], ["a", " "]), "class 1 without a name"),
        (lambda: Classification("c", pictures(2), [0, 0], ["a"]), "1 class, "),
        (lambda: Classification("c", pictures(2), [0, 0], ["a"], ["a photo"]), "template 'a photo'"),
        (lambda: Classification("c", pictures(2), [0, 0], ["a"], []), "template ''"),
        (lambda: Pairs("p", pictures(2), {}), "diagnostics"),
        (lambda: Pairs("p", pictures(2), {"n": (["a", "b"], ["c", "d"])}), "diagnostics"),
        (lambda: Pairs("p", pictures(2), {"d": (["a"], ["c", "d"])}), "2 pictures, 1 true texts"),
        (lambda: Geometry("g", pictures(2), ["a", "b"], ["a"], ["a", "b"]), "1 negated positives"),
    ],
)
def test_mistakes_are_found_when_a_suite_is_built(build, message):
    with pytest.raises(UserError, match=message):
        build()
