"""Names of things from captions: the rule by hand-made captions, its edges, and what is said of it."""

import numpy as np
import pytest

from litotes.data.images import ArrayPictures
from litotes.data.nouns import names_from_captions, names_note, objects_from_captions
from litotes.data.quadruplets import Quadruplets
from litotes.errors import UserError


def names(*captions, least=2):
    """Names of pictures with one caption each."""
    return names_from_captions([[caption] for caption in captions], least)


def quadruplets(*rows):
    """Rows of the name of a picture and a caption."""
    paths, captions = zip(*rows, strict=True)
    pictures = ArrayPictures(np.zeros((len(rows), 1, 1, 3), dtype=np.uint8), paths)
    return Quadruplets(pictures, captions, captions, tuple(f"no {caption}" for caption in captions))


def test_a_noun_stands_between_a_determiner_and_a_break():
    assert names("A dog on the grass.", "the dog is on grass", "Grass and a dog", "the grass") == [
        ("dog", "grass"), ("dog", "grass"), ("grass", "dog"), ("grass",),
    ]  # fmt: skip


def test_colours_and_sizes_may_come_between_and_are_no_names():
    found = names("a large red ball", "the small ball, 2 kites", "two old kites. an orange", "the orange and a red")
    assert found == [("ball",), ("ball", "kites"), ("kites",), ()]


def test_a_name_is_shared_by_the_captions_of_enough_pictures():
    captions = ["a dog with a cat", "a dog and a cat", "the dog"]
    assert names(*captions, least=3) == [("dog",), ("dog",), ("dog",)]
    assert names(*captions, least=2) == [("dog", "cat"), ("dog", "cat"), ("dog",)]
    # Captions of one picture are one picture, and its names are those of all of them.
    assert names_from_captions([["a dog", "a dog", "a dog"], ["a cat", "by a tree"], ["a cat", "the tree"]], 2) == [
        (), ("cat", "tree"), ("cat", "tree"),
    ]  # fmt: skip


def test_a_word_that_seldom_stands_as_a_noun_is_none():
    rare = ["a sitting", "the sitting by a cat"]  # 2 of 20 places, and of 10
    assert names(*["the cat is sitting"] * 18, *rare)[-1] == ("cat",)
    assert names(*["the cat is sitting"] * 8, *rare)[-1] == ("sitting", "cat")


def test_a_verb_behind_a_noun_is_no_part_of_its_name():
    assert names(*["the cat sits"] * 3, "a cat", "the cat") == [("cat",)] * 5
    assert names(*["the cat sitting"] * 3) == [()] * 3  # never "cat sitting", and no cat stands alone
    assert names(*["a twin bed"] * 3, "the bed", "a bed") == [("twin bed",)] * 3 + [("bed",)] * 2


def test_adjectives_are_no_names_and_words_that_belong_together_are_one():
    captions = ["a teddy bear", "the teddy bear on a chair", "a wooden chair", "a wooden table", "the table", "a bear"]
    found = names(*captions, "the bear", "the chair by a table")
    assert found == [
        ("teddy bear",), ("teddy bear", "chair"), ("chair",), ("table",), ("table",), ("bear",), ("bear",),
        ("chair", "table"),
    ]  # fmt: skip


def test_a_word_that_goes_before_many_nouns_belongs_to_none():
    things = ["chair", "table", "box"]
    often = [f"a wooden {thing}" for thing in things for _ in range(2)]
    assert names(*often, *(f"the {thing}" for thing in things for _ in range(2)))[:6:2] == [
        ("chair",), ("table",), ("box",),
    ]  # fmt: skip
    assert names(*["a shiny green"] * 3) == [()] * 3  # a colour is no second word


def test_every_mention_of_a_name_counts():
    assert names("a horse", "the horse", "horse riding by two horses")[2] == ("horse",)


@pytest.mark.parametrize(
    ("plural", "singular"),
    [("dogs", "dog"), ("buses", "bus"), ("ponies", "pony"), ("shelves", "shelf"), ("knives", "knife"),
     ("geese", "goose"), ("boxes", "box"), ("horses", "horse"), ("zebras", "zebra")],
)  # fmt: skip
def test_a_plural_is_folded_where_both_occur(plural, singular):
    assert names(f"two {plural}", f"some {plural}", f"a {singular}") == [(singular,)] * 3
    assert names(f"two {plural}", f"some {plural}") == [(plural,)] * 2


@pytest.mark.parametrize(
    ("word", "stem"), [("bus", "bu"), ("glass", "glas"), ("gas", "ga"), ("shorts", "short"), ("clothes", "cloth")]
)
def test_what_only_looks_like_a_plural_is_left(word, stem):
    assert names(f"the {word}", f"the {word}", f"it {stem} there") == [(word,), (word,), ()]
    assert names("a doe", "the doe", "it does")[2] == ()


def test_a_person_is_whom_another_calls_a_man():
    assert names("a man and a woman", "two people", "the children", "three boys") == [("person",)] * 4


def test_what_is_denied_is_not_mentioned():
    known = ["a hat", "the hat", "a dog", "the dog"]
    denied = {
        "a dog without a hat": ("dog",), "a dog with no hat, no dog": ("dog",), "not a hat but a dog": ("dog",),
        "There is no hat. The dog.": ("dog",), "the dog isn't in a hat": ("dog",), "no dog; a hat": ("hat",),
        "the dog doesn’t wear a hat": ("dog",), "no hat, the dog": (),
    }  # fmt: skip
    assert names(*known, *denied)[4:] == [*list(denied.values())[:5], ("hat",), *list(denied.values())[6:]]


def test_words_of_pictures_sides_and_amounts_are_no_names():
    captions = ["a photo of a couple of cats", "the left side of the cats", "an image, the background, the cats"]
    assert names(*captions, "the photos, the left, the photos, the couple, the images, a side")[-2:] == [("cats",), ()]
    assert names("the photos", "the photos") == [(), ()]  # also where no caption has the singular


def test_marks_possessives_case_and_other_scripts():
    assert names("The DOG's house!", "A Dog", "(the house)", "a house; the dog’s") == [
        ("dog", "house"), ("dog",), ("house",), ("house", "dog"),
    ]  # fmt: skip
    assert names("", "...", "  ", "собака на траве", "the café", "a café") == [(), (), (), (), ("café",), ("café",)]
    assert names_from_captions([]) == []


def test_rows_of_one_picture_share_their_names():
    data = quadruplets(
        ("1.png", "a dog"), ("2.png", "a cat"), ("1.png", "by a tree"), ("3.png", "a dog, a tree"),
        ("4.png", "the dog"), ("5.png", "a tree"), ("6.png", "nothing of this"),
    )  # fmt: skip
    both = ("dog", "tree")
    named = objects_from_captions(data)
    assert named.objects == (both, (), both, both, ("dog",), ("tree",), ())
    assert (named.captions, named.fingerprint()) == (data.captions, data.fingerprint())
    assert names_note(named) == (
        "The things in the pictures are nouns of the captions (--objects-from captions): 2 names, 1.0 a picture; most "
        "often dog 3, tree 3. Of 6 pictures, 2 have no name and 2 only one. What the captions do not mention counts as "
        "absent: some of the denials that are made of these names, to learn from and to measure by, are untrue."
    )


def test_the_ten_most_frequent_are_told():
    captions = [f"a {letter}-box" for letter in "abcdefghijkl" for _ in range(3)] + ["the l-box"]
    note = names_note(objects_from_captions(quadruplets(*((str(i), text) for i, text in enumerate(captions)))))
    assert "12 names" in note
    assert "most often l-box 4, a-box 3, b-box 3," in note
    assert "i-box 3. Of 37 pictures" in note


def test_too_few_names_and_two_sources_are_refused():
    rows = [(f"{i}.png", "a dog") for i in range(3)]
    with pytest.raises(UserError, match=r"1 names in the captions of 3 pictures \['dog'\]") as told:
        objects_from_captions(
            quadruplets(
                *rows,
            )
        )
    assert "add an objects column" in told.value.do
    with pytest.raises(UserError, match="0 names in the captions of 2 pictures"):
        objects_from_captions(quadruplets(("1.png", "ein Hund"), ("2.png", "ein Hund")))
    named = objects_from_captions(quadruplets(*rows, *((path, "the cat") for path, _ in rows)))
    assert named.objects == (("dog", "cat"),) * 6
    with pytest.raises(UserError, match="an objects column in the table"):
        objects_from_captions(named)
