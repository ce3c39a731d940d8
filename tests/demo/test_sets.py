"""The evaluation sets of the world, read back against the scenes that they are about.

What training and evaluation share by design: the grammar of plain captions (and with it the sentence "This image
includes a cat."), the phrasing of N and the 26 templates of P', since P' over N is asked in the very form that is
trained; there pictures and pairs of things alone are new. Of statements about absence nothing is shared.
"""

import hashlib
import itertools
import re

import numpy as np
import pytest
from reading import kinds_in, masked, names_held_out_pair, statement, true_of

from litotes.data.templates import TEMPLATES, fill
from litotes.data.wordings import HELD_OUT_WORDINGS, NEGBENCH_WORDINGS, NEW_CUE_WORDINGS, TRAIN_WORDINGS
from litotes.demo.language import web_caption
from litotes.demo.pretraining import tag_words
from litotes.demo.scenes import held_out
from litotes.demo.sets import (
    EVALUATION_SEED,
    NEGATED_RETRIEVAL_FRAMES,
    VALIDATION_SEED,
    allowed_in_training,
    evaluation,
    training_options,
    training_quadruplets,
)
from litotes.demo.things import COLOURS, KINDS
from litotes.demo.world import WorldPictures

COUNT, TRAINED = 250, 600
WORDINGS = {"pairs": NEGBENCH_WORDINGS, "held_out_wordings": HELD_OUT_WORDINGS, "new_cues": NEW_CUE_WORDINGS}
DECISIVE = ("hybrid_absent_over_present", "absence_absent_over_present")


@pytest.fixture(scope="module")
def held():
    return evaluation(COUNT, per_class=3)


@pytest.fixture(scope="module")
def suites(held):
    return {suite.name: suite for suite in held.suites}


@pytest.fixture(scope="module")
def trained():
    return training_quadruplets(TRAINED, 0)


@pytest.fixture(scope="module")
def options(trained):
    return training_options(trained, 0)


def statements(suites):
    """Every evaluation statement with the number of its picture and whether it is said to be true."""
    mcq = suites["mcq"]
    for texts, answer, image in zip(mcq.options, mcq.correct, mcq.image_of_question, strict=True):
        for i, text in enumerate(texts):
            yield text, image, i == answer, NEGBENCH_WORDINGS
    for name, wordings in WORDINGS.items():
        for key in DECISIVE:
            for side, right in zip(suites[name].pairs[key], (True, False), strict=True):
                yield from ((text, image, right, wordings) for image, text in enumerate(side))


def about_absence(suites):
    """Every statement, and every caption with a denial added."""
    return [*(text for text, *_ in statements(suites)), *suites["retrieval_neg"].captions]


def content(pictures, i):
    """Of the pixels, whatever the collection calls its digest."""
    return hashlib.sha256(np.asarray(pictures[i].convert("RGB")).tobytes()).hexdigest()


def test_the_suites_are_those_of_the_report(held, suites):
    assert list(suites) == [
        "mcq", "retrieval", "retrieval_neg", "classification", "pairs", "held_out_wordings", "new_cues", "geometry",
    ]  # fmt: skip
    assert (held.choice, held.geometry) == (suites["mcq"], suites["geometry"])
    assert list(suites["pairs"].pairs) == ["negated_positive_over_negative", *DECISIVE]
    assert list(suites["new_cues"].pairs) == list(suites["held_out_wordings"].pairs) == list(DECISIVE)
    assert len(held.scenes) == len(held.pictures) == COUNT


def test_every_statement_is_as_true_as_it_is_said_to_be(held, suites):
    kinds = [item.scene.kinds for item in held.scenes]
    found = list(statements(suites))
    assert len(found) == COUNT * (3 * 4 + 3 * 2 * 2)
    for text, image, right, wordings in found:
        assert true_of(text, wordings, kinds[image]) == right, (text, kinds[image])


def test_every_statement_and_caption_that_names_two_things_names_a_held_out_pair(suites):
    geometry = suites["geometry"]
    texts = [*about_absence(suites), *geometry.captions, *geometry.negated_positives, *geometry.negatives]
    for text in texts:
        kinds = kinds_in(text)
        assert 1 <= len(kinds) <= 3
        assert all(held_out(a, b) for a, b in itertools.combinations(kinds, 2)), text


def test_multiple_choice_has_negbenchs_form(suites):
    mcq = suites["mcq"]
    assert [mcq.types.count(kind) for kind in ("positive", "negative", "hybrid")] == [COUNT] * 3
    places = np.bincount(mcq.correct, minlength=4) / len(mcq.correct)
    assert np.allclose(places, 0.25, atol=0.06)
    forms = {"positive": {(2, 0), (1, 0)}, "negative": {(0, 1)}, "hybrid": {(1, 1)}}
    for texts, answer, kind, sorts in zip(mcq.options, mcq.correct, mcq.types, mcq.option_types, strict=True):
        assert sorts[answer] == kind
        assert sorted(sorts[:answer] + sorts[answer + 1 :]) == ["hybrid", "negative", "positive"]
        for text, sort in zip(texts, sorts, strict=True):
            there, absent = statement(text, NEGBENCH_WORDINGS)
            assert (len(there), len(absent)) in forms[sort], text
        assert len(set(texts)) == 4
        assert len(statement(texts[answer], NEGBENCH_WORDINGS)[0]) == {"positive": 2, "negative": 0, "hybrid": 1}[kind]


def test_the_two_texts_of_a_decisive_pair_differ_in_the_denied_thing_alone(held, suites):
    for name in WORDINGS:
        for key in DECISIVE:
            for true, false, item in zip(*suites[name].pairs[key], held.scenes, strict=True):
                assert masked(true) == masked(false)
                extra, other = set(kinds_in(true)) - set(kinds_in(false)), set(kinds_in(false)) - set(kinds_in(true))
                assert extra == {item.absent}
                assert other < set(item.present)


def test_retrieval_captions_belong_to_their_pictures_and_the_denied_kind_is_absent(held, suites):
    plain, negated = suites["retrieval"], suites["retrieval_neg"]
    assert plain.image_of_caption == negated.image_of_caption == tuple(range(COUNT))
    assert negated.negated and not plain.negated
    frames = set()
    for item, caption, denying in zip(held.scenes, plain.captions, negated.captions, strict=True):
        things = {thing.kind: thing.colour for thing in item.scene.things}
        assert set(kinds_in(caption)) == set(item.present)
        for colour, kind in re.findall(rf"\b({'|'.join(COLOURS)}) ({'|'.join(KINDS)})\b", caption):
            assert things[kind] == colour
        assert item.absent not in things
        assert denying.replace(caption, "{c}").count(item.absent) == 1
        frames.add(denying.replace(caption, "{c}").replace(item.absent, "{n}"))
    assert frames == set(NEGATED_RETRIEVAL_FRAMES)


def test_quadruplets_of_the_geometry_are_one_caption_worded_three_ways(held, suites, trained):
    geometry = suites["geometry"]
    assert geometry.captions == suites["retrieval"].captions
    assert suites["pairs"].pairs["negated_positive_over_negative"] == (geometry.negated_positives, geometry.negatives)
    for parts in (geometry, trained):
        rows = zip(parts.captions, parts.negated_positives, parts.negatives, strict=True)
        for p, negated_positive, negative in rows:
            assert negated_positive in {fill(template, p) for template in TEMPLATES}
            assert kinds_in(negative) == kinds_in(p)
            denied = re.findall(rf"\b(?:not|no|without) (?:an? )?(?:\w+ )?({'|'.join(KINDS)})\b", negative)
            assert len(denied) == 1
            assert denied[0] in kinds_in(p)


def test_classification_shows_each_kind_alone_as_often(suites):
    classification = suites["classification"]
    assert np.bincount(classification.labels).tolist() == [3] * len(KINDS)
    assert [name.split()[-1] for name in classification.classnames] == list(KINDS)
    assert classification.classnames[KINDS.index("owl")] == "an owl"
    assert len(classification.pictures) == 3 * len(KINDS)


def test_training_texts_are_true_or_false_as_they_should_be_and_name_no_held_out_pair(trained, options):
    assert len(options) == len(trained) == TRAINED
    named = set()
    for i, (kinds, made) in enumerate(zip(trained.objects, options, strict=True)):
        assert 2 <= len(kinds) <= 4
        assert set(kinds_in(trained.captions[i])) <= set(kinds)
        assert true_of(made.true, TRAIN_WORDINGS, kinds), (made.true, kinds)
        assert not any(true_of(text, TRAIN_WORDINGS, kinds) for text in made.false), (made.false, kinds)
        texts = (trained.captions[i], trained.negated_positives[i], trained.negatives[i], made.true, *made.false)
        assert not any(names_held_out_pair(text) for text in texts)
        named.add(made.kind)
    assert named == {"positive", "negative", "hybrid"}
    assert allowed_in_training("cat", "dog") == (not held_out("cat", "dog"))


def test_no_training_statement_has_the_wording_of_an_evaluation_statement(suites, trained, options):
    asked = {masked(text) for text in about_absence(suites)}
    own = {masked(text) for made in options for text in (made.true, *made.false)}
    denying = {masked(text) for text in trained.negatives}
    assert min(len(asked), len(own), len(denying)) >= 40
    assert own.isdisjoint(asked)
    assert denying.isdisjoint(asked)
    # Plain captions are of one grammar everywhere; no caption of training denies anything.
    shared = {masked(text) for text in trained.captions} & asked
    assert shared <= {"this image includes X", "this image includes X and X"}
    assert {masked(text) for text in trained.negated_positives}.isdisjoint(asked)


def test_frames_of_evaluation_are_no_frames_of_training():
    def frames(wordings):
        return {masked(re.sub(r"{\w+(:bare)?}", "cat", frame)) for part in wordings for frame in part}

    for wordings in WORDINGS.values():
        assert frames(wordings).isdisjoint(frames(TRAIN_WORDINGS))
    denying = {masked(frame.format(n="cat", c="a dog and a cat")) for frame in NEGATED_RETRIEVAL_FRAMES}
    assert denying.isdisjoint(frames(TRAIN_WORDINGS))


def test_what_pretraining_saw_of_the_evaluations_denials_is_what_the_web_says(suites):
    # The base has read such sentences as it has read the web: one caption in ten truly denies something.
    world, tags, rng = WorldPictures(12, 4000), tag_words(), np.random.default_rng(0)
    seen = {masked(web_caption(world.scene(i)[0], rng, tags)) for i in range(4000)}
    asked = {masked(text) for text in about_absence(suites)}
    shared = {text for text in seen & asked if re.search(r"\b(not|no)\b", text)}
    assert all(re.search(r" but (not|no) X$", text) for text in shared)
    new = {masked(text) for name in ("held_out_wordings", "new_cues") for key in DECISIVE
           for side in suites[name].pairs[key] for text in side}  # fmt: skip
    assert new.isdisjoint(seen)


def test_no_picture_of_evaluation_is_drawn_for_training(held, suites, trained):
    asked = {content(held.pictures, i) for i in range(COUNT)}
    single = {content(suites["classification"].pictures, i) for i in range(3 * len(KINDS))}
    validation = evaluation(100, per_class=1, seed=VALIDATION_SEED)
    chosen_by = {content(validation.pictures, i) for i in range(100)}
    assert (len(asked), len(single), len(chosen_by)) == (COUNT, 3 * len(KINDS), 100)
    assert asked.isdisjoint(chosen_by)
    evaluated = asked | single | chosen_by
    for seed in (0, 1, 2, EVALUATION_SEED, VALIDATION_SEED):
        data = trained if seed == 0 else training_quadruplets(150, seed)
        assert evaluated.isdisjoint(content(data.pictures, i) for i in range(len(data)))
    singles = training_quadruplets(60, 0, single=1.0)
    assert {len(objects) for objects in singles.objects} == {1}
    assert evaluated.isdisjoint(content(singles.pictures, i) for i in range(len(singles)))
    for seed, alone in ((11, 0.6), (12, 0.3), (21, 0.6), (22, 0.3)):
        world = WorldPictures(seed, 250, alone)
        assert evaluated.isdisjoint(content(world, i) for i in range(250))


def test_everything_is_a_function_of_its_seed(held, suites, trained, options):
    again = evaluation(40, per_class=1)
    assert [again.pictures.digest(i) for i in range(40)] != [held.pictures.digest(i) for i in range(1, 41)]
    same, other = evaluation(40, per_class=1), evaluation(40, per_class=1, seed=7)
    for one, two, three in zip(again.suites, same.suites, other.suites, strict=True):
        asked = [suite.identity() for suite in (one, two, three)]
        hashes = [(item.split_sha256, [item.pictures.digest(i) for i in range(40)]) for item in asked]
        assert hashes[0] == hashes[1] != hashes[2]
    assert training_quadruplets(30, 4).fingerprint() == training_quadruplets(30, 4).fingerprint()
    mixed = training_quadruplets(150, 0, single=0.4)
    alone = [len(objects) == 1 for objects in mixed.objects]
    assert 40 <= sum(alone) <= 80
    assert all(one or mixed.objects[i] == trained.objects[i] for i, one in enumerate(alone))
    few, more = training_quadruplets(30, 0), trained.take(range(30))
    assert few.captions != training_quadruplets(30, 1).captions
    assert few.objects == more.objects
    assert training_options(trained, 0) == options != training_options(trained, 1)
