import itertools
import re

import numpy as np
import pytest
from reading import kinds_in, names_held_out_pair

from litotes.demo.language import (
    Caption,
    Phrase,
    absent_kind,
    chatter_words,
    describe,
    describe_pair,
    negate,
    web_caption,
    with_article,
)
from litotes.demo.pretraining import tag_words
from litotes.demo.scenes import Scene, Thing, evaluation_scene, held_out, sample_scene, training_scenes
from litotes.demo.things import COLOURS, KINDS

COUNT = 2500
SCENES = list(itertools.islice(training_scenes(np.random.default_rng(0)), COUNT))
TAGS = tag_words()


def generator(seed=0):
    return np.random.default_rng(seed)


def captions(seed=0):
    rng = generator(seed)
    return [describe(scene, rng) for scene in SCENES]


CAPTIONS = captions()


@pytest.mark.parametrize(
    ("noun", "text"),
    [("owl", "an owl"), ("umbrella", "an umbrella"), ("apple", "an apple"), ("cat", "a cat"), ("red owl", "a red owl"),
     ("anchor", "an anchor"), ("elephant", "an elephant"), ("octopus", "an octopus"), ("blue apple", "a blue apple")],
)  # fmt: skip
def test_articles(noun, text):
    assert with_article(noun) == text
    assert noun.split()[-1] in KINDS


def test_every_article_in_a_caption_fits_the_word_behind_it():
    rng = generator(1)
    texts = [caption.text for caption in CAPTIONS] + [negate(caption, rng) for caption in CAPTIONS]
    texts += [web_caption(scene, rng, TAGS) for scene in SCENES]
    found = re.findall(rf"\b(an?) ({'|'.join((*KINDS, *COLOURS))})\b", " ".join(texts).lower())
    assert len(found) > COUNT
    assert all((article == "an") == (word[0] in "aeiou") for article, word in found)
    assert {word for article, word in found if article == "an"} == {kind for kind in KINDS if kind[0] in "aeiou"}


def test_the_same_seed_gives_the_same_captions():
    first, again, other = (
        [describe(scene, rng) for rng in [generator(seed)] for scene in SCENES[:50]] for seed in (3, 3, 4)
    )
    assert first == again != other


def test_a_caption_names_only_what_is_there_in_its_colour():
    for scene, caption in zip(SCENES, CAPTIONS, strict=True):
        things = {thing.kind: thing.colour for thing in scene.things}
        assert kinds_in(caption.text) == caption.kinds
        assert len(set(caption.kinds)) == len(caption.kinds)
        assert set(caption.kinds) <= set(things)
        for colour, kind in re.findall(rf"\b({'|'.join(COLOURS)}) ({'|'.join(KINDS)})\b", caption.text):
            assert things[kind] == colour


def test_captions_name_one_thing_in_a_quarter_and_colours_in_three_fifths():
    assert np.mean([len(caption.kinds) == 1 for caption in CAPTIONS]) == pytest.approx(0.25, abs=0.03)
    phrases = [piece for caption in CAPTIONS for piece in caption.pieces if isinstance(piece, Phrase)]
    assert np.mean([phrase.colour is not None for phrase in phrases]) == pytest.approx(0.6, abs=0.03)
    assert max(len(caption.kinds) for caption in CAPTIONS) == 3
    assert {caption.pieces[0] for caption in CAPTIONS if isinstance(caption.pieces[0], str)} > {"", "a photo of "}


def test_places_that_a_caption_says_are_true():
    found = {"left": 0, "right": 0, "above": 0, "below": 0, "sides": 0}
    for scene, caption in zip(SCENES, CAPTIONS, strict=True):
        place = {thing.kind: thing for thing in scene.things}
        if len(caption.kinds) != 2:
            continue
        one, other = (place[kind] for kind in caption.kinds)
        text = caption.text
        if sides := re.search(r"on the (left|right) and .* on the (left|right)", text):
            assert set(sides.groups()) == {"left", "right"}
            assert (one.x < other.x) == (sides[1] == "left")
            found["sides"] += 1
        elif side := re.search(r"to the (left|right) of", text):
            assert (one.x < other.x) == (side[1] == "left")
            found[side[1]] += 1
        elif level := re.search(r" (above|below) ", text):
            assert (one.y < other.y) == (level[1] == "above")
            found[level[1]] += 1
    assert min(found.values()) > 20


def test_a_caption_for_evaluation_names_its_two_things_in_any_order():
    rng = generator(2)
    items = [evaluation_scene(rng) for _ in range(300)]
    named = [describe_pair(item.scene, rng).kinds for item in items]
    assert all(set(kinds) == set(item.present) for kinds, item in zip(named, items, strict=True))
    first = [kinds[0] == item.present[0] for kinds, item in zip(named, items, strict=True)]
    assert 0.35 < np.mean(first) < 0.65


def test_a_negated_caption_denies_one_thing_that_is_there():
    rng = generator(3)
    denial = re.compile(rf"\b(?:without|not|no) (?:an? )?(?:(?:{'|'.join(COLOURS)}) )?({'|'.join(KINDS)})\b")
    ways = set()
    for caption in CAPTIONS:
        text = negate(caption, rng)
        denied = denial.findall(text)
        assert len(denied) == 1, text
        assert kinds_in(text) == caption.kinds
        ways.add(re.search(rf"(and no|with no|without|not|no) (?=[^,]*\b{denied[0]}\b)", text)[1])
        assert not denial.search(caption.text)
    assert ways == {"and no", "with no", "without", "not", "no"}


def test_an_absent_kind_is_absent_and_makes_no_held_out_pair():
    rng = generator(4)
    for scene in SCENES[:500]:
        named = scene.kinds[:2]
        kind = absent_kind(scene, named, rng)
        assert kind not in scene.kinds
        assert not any(held_out(kind, other) for other in named)


def test_web_captions_are_plain_but_for_a_tenth_of_true_denials_and_a_seventh_of_chatter():
    counts = {"plain": 0, "denying": 0, "chatter or tags": 0}
    for i, scene in enumerate(SCENES):
        text = web_caption(scene, generator(i), TAGS)
        plain = describe(scene, generator(i))
        absent = set(kinds_in(text)) - set(plain.kinds)
        if absent:
            counts["denying"] += 1
            assert len(absent) == 1
            assert not absent & set(scene.kinds)
            assert re.search(rf"\b(but not|but no|without|with no|no) (an? )?{absent.pop()}\b", text.lower())
        elif text.lower().rstrip(".") == plain.text.lower():
            counts["plain"] += 1
        else:
            counts["chatter or tags"] += 1
            assert plain.text in text.lower()
    shares = {kind: count / COUNT for kind, count in counts.items()}
    assert shares == pytest.approx({"plain": 0.75, "denying": 0.1, "chatter or tags": 0.15}, abs=0.02)


def test_the_share_of_denials_can_be_chosen():
    assert all(kinds_in(web_caption(s, generator(i), TAGS, truthful=0.0)) == describe(s, generator(i)).kinds
               for i, s in enumerate(SCENES[:300]))  # fmt: skip
    denying = [web_caption(s, generator(i), TAGS, truthful=1.0) for i, s in enumerate(SCENES[:300])]
    assert all(set(kinds_in(text)) - set(scene.kinds) for text, scene in zip(denying, SCENES, strict=False))


def test_no_training_text_names_a_held_out_pair():
    rng = generator(5)
    for scene, caption in zip(SCENES, CAPTIONS, strict=True):
        for text in (caption.text, negate(caption, rng), web_caption(scene, rng, TAGS)):
            assert not names_held_out_pair(text), text


def test_words_strewn_among_captions_are_no_things():
    assert set(KINDS).isdisjoint(TAGS)
    assert set(KINDS).isdisjoint(chatter_words())
    assert {"not", "no", "without", "doubt", "contradiction", "lacks", "absent", "devoid"} <= set(TAGS)
    assert not any("{" in word for word in (*TAGS, *chatter_words()))


def test_a_caption_of_a_single_thing():
    scene = Scene("meadow", (Thing("owl", "blue", 40.0, 40.0, 40),))
    texts = {describe(scene, generator(i), mention=3, colours=1.0).text for i in range(60)}
    assert all("a blue owl" in text for text in texts)
    assert {text for text in texts if text.endswith(("in a meadow", "on green grass"))} < texts
    bare = {describe(scene, generator(i), colours=0.0).text for i in range(20)}
    assert all("an owl" in text for text in bare)
    assert Caption(("a photo of ", Phrase("owl", None))).text == "a photo of an owl"


def test_scenes_of_one_kind_are_as_asked():
    assert sample_scene(generator(), ("cat",)).kinds == ("cat",)
