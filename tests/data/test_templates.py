from collections import Counter

import pytest

from litotes.data.templates import TEMPLATES, Template, capitalise, fill
from litotes.errors import UserError

PLAIN = Template("There is no doubt that {c}.", "")
FIRST = Template("{c} is not absent.", "")
ASKING = Template("Why would it not be true that {c}?", "")


def test_the_twenty_six_in_eight_groups():
    assert len({template.text for template in TEMPLATES}) == len(TEMPLATES) == 26
    assert Counter(template.group for template in TEMPLATES) == {
        "double negation": 3,
        "affirmation by negation": 5,
        "negation of alternatives": 3,
        "evidence": 6,
        "uncertainty": 2,
        "contradiction-free": 2,
        "rhetorical": 2,
        "other": 3,
    }
    assert all(template.text.count("{c}") == 1 for template in TEMPLATES)


@pytest.mark.parametrize(
    "caption, inside",
    [
        ("A dog runs.", "a dog runs"),
        ("a dog runs", "a dog runs"),
        ("  A dog runs . ", "a dog runs"),
        ("A dog runs...", "a dog runs"),
        ("Is this a dog?", "is this a dog"),
        ("What a dog!?", "what a dog"),
        ("A dog runs. It is wet.", "a dog runs. It is wet"),
        ("A", "a"),
        ("TV on a table.", "TV on a table"),
        ("3D letters", "3D letters"),
        ("McDonald with a hat", "McDonald with a hat"),
        ("iPhone on a desk", "iPhone on a desk"),
        ("NASA's rocket", "NASA's rocket"),
        ("I see a dog", "I see a dog"),
        ("I'm a dog", "I'm a dog"),
        ("I’ve a dog", "I’ve a dog"),
        ("In a park", "in a park"),
        ("Paris by day, Paris by night", "Paris by day, Paris by night"),
        ("Two dogs. Two cats.", "two dogs. Two cats"),
        ("A dog and A cat", "a dog and A cat"),
        ("Dogs and cats", "dogs and cats"),
        ("2 dogs", "2 dogs"),
        ('"Stop" on a sign', '"Stop" on a sign'),
        ("Été à la mer", "été à la mer"),
        ("A {c} and {0} in braces", "a {c} and {0} in braces"),
    ],
)
def test_filling(caption, inside):
    assert fill(PLAIN, caption) == f"There is no doubt that {inside}."
    assert fill(ASKING, caption) == f"Why would it not be true that {inside}?"


@pytest.mark.parametrize(
    "caption, wanted",
    [
        ("a dog runs.", "A dog runs is not absent."),
        ("A dog runs", "A dog runs is not absent."),
        ("iPhone on a desk.", "iPhone on a desk is not absent."),
        ("TV!", "TV is not absent."),
        ("2 dogs", "2 dogs is not absent."),
    ],
)
def test_a_template_that_begins_with_the_caption(caption, wanted):
    assert fill(FIRST, caption) == wanted


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_result_is_one_sentence(template):
    sentence = fill(template, "A cat sits on a mat.")
    assert "{" not in sentence and "cat sits on a mat" in sentence
    assert sentence[0].isupper() and sentence[-1] == template.text[-1] and sentence[-2].isalpha()
    assert ".." not in sentence and ".," not in sentence


@pytest.mark.parametrize("caption", ["", "  ", ".", "?!", " ... "])
def test_no_words(caption):
    with pytest.raises(UserError, match="at least one word"):
        fill(PLAIN, caption)


def test_capitalise():
    assert [capitalise(text) for text in ("", "a b", "été", "iPhone x", "1 dog", " x")] == [
        "",
        "A b",
        "Été",
        "iPhone x",
        "1 dog",
        " x",
    ]
