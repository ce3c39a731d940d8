import itertools

import numpy as np
import pytest

from litotes.data.wordings import HELD_OUT_WORDINGS
from litotes.errors import UserError
from litotes.evaluate.from_objects import (
    NamedPictures,
    choice_from_objects,
    classification_from_objects,
    decisive_pairs,
    lone_names,
)
from tiny import noise_pictures

OBJECTS = (("cat", "boat"), ("dog",), ("cat", "dog"), ("boat", "owl"))
VOCABULARY = ("cat", "dog", "boat", "owl", "key")


def named(objects=OBJECTS, vocabulary=VOCABULARY):
    return NamedPictures(noise_pictures(len(objects)), objects, [vocabulary] * len(objects))


def best_by_trying_all(objects):
    """The most pictures that any choice of classes can leave with exactly one of them."""
    names = sorted({name for some in objects for name in some})
    return max(
        sum(len(set(classes) & set(some)) == 1 for some in objects)
        for k in range(1, len(names) + 1)
        for classes in itertools.combinations(names, k)
    )


def test_each_labelled_picture_shows_its_class_and_no_other():
    rng = np.random.default_rng(0)
    for trial in range(30):
        objects = [
            tuple(rng.permutation([f"k{i}" for i in range(7)])[: rng.integers(1, 4)].tolist()) for _ in range(12)
        ]
        labels = lone_names(objects)
        classes = set(labels.values())
        for i, some in enumerate(objects):
            shown = classes & set(some)
            assert (i in labels) == (len(shown) == 1), trial
            assert len(shown) != 1 or labels[i] in shown
        assert len(labels) >= 0.75 * best_by_trying_all(objects)


def test_equal_gains_go_by_the_alphabet():
    assert lone_names([("b", "a")]) == {0: "a"}
    assert lone_names([("b",), ("a",), ("a", "b")]) == {1: "a", 2: "a"}  # with b as well, one is won and one lost
    assert lone_names([]) == {}


def test_a_name_within_another_is_neither_there_nor_absent():
    # A hot dog is no dog and may be taken for one: its picture is left out where "dog" is a class.
    objects = [("dog",), ("Dogs", "cup"), ("dog",), ("hot dog", "key"), ("owl",)]
    assert lone_names(objects) == {0: "dog", 2: "dog", 4: "owl"}


def test_classification_asks_which_of_the_classes_is_there():
    suite = classification_from_objects("classification", noise_pictures(4), OBJECTS)
    shown = [suite.classnames[label].split(" ")[1] for label in suite.labels]
    for i, name in enumerate(shown):
        row = int(suite.pictures.name(i).removeprefix("folder/p"))
        others = {other.split(" ")[1] for other in suite.classnames} - {name}
        assert name in OBJECTS[row]
        assert others.isdisjoint(OBJECTS[row])
    assert suite.templates == ("a photo of {c}",)
    assert len(suite.classnames) == len(set(suite.labels)) >= 2
    owls = classification_from_objects("classification", noise_pictures(3), [("owl",), ("owl",), ("axe",)])
    assert list(owls.classnames) == ["an axe", "an owl"]


@pytest.mark.parametrize("objects", [(), (("cat",), ("cat",)), (("cat", "dog"),)])
def test_less_than_two_classes_are_no_classification(objects):
    assert classification_from_objects("classification", noise_pictures(len(objects)), objects) is None


def test_choice_asks_three_questions_a_picture():
    suite = choice_from_objects("mcq", named(), np.random.default_rng(0))
    assert list(suite.types) == ["positive", "negative", "hybrid"] * 4
    assert list(suite.image_of_question) == [i for i in range(4) for _ in range(3)]
    for options, answer, kind, sorts in zip(suite.options, suite.correct, suite.types, suite.option_types, strict=True):
        assert sorts[answer] == kind
        assert all(option.startswith("This image ") for option in options)
    assert len(set(suite.correct)) > 1
    again = choice_from_objects("mcq", named(), np.random.default_rng(0))
    assert again.options == suite.options


def test_pairs_leave_out_what_a_single_thing_cannot_be_asked():
    rng = np.random.default_rng(0)
    assert list(decisive_pairs(named(), rng, HELD_OUT_WORDINGS)) == ["absence_absent_over_present"]
    several = decisive_pairs(named((OBJECTS[0], OBJECTS[2])), rng, HELD_OUT_WORDINGS)
    assert list(several) == ["hybrid_absent_over_present", "absence_absent_over_present"]
    for true, false in several.values():
        assert len(true) == len(false) == 2
        assert all(one != other for one, other in zip(true, false, strict=True))


def test_a_picture_with_everything_cannot_be_asked_about():
    with pytest.raises(UserError, match="absent"):
        choice_from_objects("mcq", named((("cat", "dog"),), ("cat", "dog")), np.random.default_rng(0))
