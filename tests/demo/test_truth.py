import re
from itertools import islice

import numpy as np
import pytest

from litotes.demo.scenes import training_scenes
from litotes.demo.things import COLOURS, KINDS
from litotes.demo.vacsr.truth import part

COUNT, SEED = 40, 5


@pytest.fixture(scope="module")
def made():
    return part("p", COUNT, SEED)


def mentioned(caption):
    """Every (colour or None, kind) that a caption names, read off its words."""
    words = re.findall(r"[a-z]+", caption)
    return [
        (words[i - 1] if i and words[i - 1] in COLOURS else None, word) for i, word in enumerate(words) if word in KINDS
    ]


def is_true(caption, scene):
    return all(
        any(thing.kind == kind and colour in (None, thing.colour) for thing in scene.things)
        for colour, kind in mentioned(caption)
    )


def test_a_caption_is_true_of_the_pictures_that_show_all_it_names(made):
    scenes = list(islice(training_scenes(np.random.default_rng(SEED)), COUNT))
    wanted = [[is_true(caption, scene) for caption in made.data.captions] for scene in scenes]
    relevance = made.truth.relevance()
    assert relevance.tolist() == wanted
    assert relevance.diagonal().all()
    assert 0 < relevance.float().mean() < 0.2
    owners = np.random.default_rng(0).permutation(COUNT)
    assert made.truth.holds(owners).tolist() == [wanted[owner][i] for i, owner in enumerate(owners)]


def test_captions_speak_of_one_or_two_things_and_of_no_place(made):
    captions = made.data.captions
    counts = {len(mentioned(caption)) for caption in captions}
    assert counts == {1, 2}
    assert not [caption for caption in captions if re.search(r"\b(left|right|above|below|beach|snow|room)\b", caption)]


def test_a_part_is_the_same_for_the_same_seed_only():
    first, again, other = part("p", 5, 1), part("p", 5, 1), part("p", 5, 2)
    assert first.data.captions == again.data.captions != other.data.captions
    assert first.data.fingerprint() == again.data.fingerprint() != other.data.fingerprint()
