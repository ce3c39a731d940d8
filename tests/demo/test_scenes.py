import itertools

import numpy as np
import pytest

from litotes.demo.scenes import (
    SIDE,
    USUAL_COLOURS,
    Scene,
    evaluation_scene,
    held_out,
    paint,
    paint_all,
    sample_scene,
    training_scenes,
)
from litotes.demo.things import BACKDROPS, COLOURS, KINDS
from litotes.demo.world import WorldCaptions, WorldPictures


def generator(seed=0):
    return np.random.default_rng(seed)


def drawn(count, seed=0):
    return list(itertools.islice(training_scenes(generator(seed)), count))


def evaluated(count, seed=0):
    rng = generator(seed)
    return [evaluation_scene(rng) for _ in range(count)]


def singles(seed=0):
    rng = generator(seed)
    return [sample_scene(rng, (kind,)) for kind in KINDS]


EVERY = [*drawn(300), *(item.scene for item in evaluated(300)), *singles(), *singles(1)]


def test_a_fifth_of_all_pairs_is_held_out_whatever_their_order():
    pairs = list(itertools.combinations(KINDS, 2))
    assert 0.17 < np.mean([held_out(a, b) for a, b in pairs]) < 0.23
    assert all(held_out(a, b) == held_out(b, a) for a, b in pairs)
    # Every kind can be asked about with two others.
    assert all(sum(held_out(kind, other) for other in KINDS if other != kind) >= 3 for kind in KINDS)


def test_every_thing_stands_inside_the_picture_and_no_kind_stands_twice():
    for scene in EVERY:
        assert len(set(scene.kinds)) == len(scene.kinds) <= 4
        assert scene.backdrop in BACKDROPS
        for thing in scene.things:
            assert thing.kind in KINDS
            assert thing.colour in COLOURS
            assert thing.side / 2 <= min(thing.x, thing.y)
            assert max(thing.x, thing.y) <= SIDE - thing.side / 2


def test_things_of_a_picture_do_not_hide_each_other():
    for scene in EVERY:
        for one, other in itertools.combinations(scene.things, 2):
            apart = max(abs(one.x - other.x), abs(one.y - other.y))
            assert apart > 0.6 * (one.side + other.side) / 2


def test_training_scenes_show_two_to_four_things_and_never_a_held_out_pair():
    scenes = drawn(1500, seed=3)
    counts = np.bincount([len(scene.things) for scene in scenes], minlength=5) / len(scenes)
    assert np.allclose(counts, [0, 0, 0.4, 0.4, 0.2], atol=0.05)
    assert not any(held_out(a, b) for scene in scenes for a, b in itertools.combinations(scene.kinds, 2))
    assert {kind for scene in scenes for kind in scene.kinds} == set(KINDS)


def test_evaluation_scenes_name_held_out_pairs_alone_and_an_absent_kind():
    items = evaluated(500, seed=4)
    for item in items:
        first, second = item.present
        assert item.scene.kinds[:2] == item.present
        assert item.absent not in item.scene.kinds
        assert held_out(first, second) and held_out(first, item.absent) and held_out(second, item.absent)
    # Some kinds are in few triples of pairwise held-out kinds, so not every one is asked about as often.
    assert len({item.absent for item in items}) > 0.85 * len(KINDS)
    assert len({kind for item in items for kind in item.present}) > 0.9 * len(KINDS)


def test_half_of_the_things_have_their_usual_colour():
    usual = {kind: colour for colour, kinds in USUAL_COLOURS.items() for kind in kinds.split()}
    assert set(usual) == set(KINDS)
    assert set(USUAL_COLOURS) == set(COLOURS)
    things = [thing for scene in drawn(800) for thing in scene.things]
    share = np.mean([thing.colour == usual[thing.kind] for thing in things])
    assert share == pytest.approx(0.5 + 0.5 / len(COLOURS), abs=0.03)


def test_the_same_seed_gives_the_same_scenes_and_pictures():
    assert drawn(20, seed=5) == drawn(20, seed=5) != drawn(20, seed=6)
    assert evaluated(20, seed=5) == evaluated(20, seed=5) != evaluated(20, seed=6)
    scenes = drawn(12, seed=5)
    first, second, other = (paint_all(scenes, seed) for seed in (1, 1, 2))
    assert first.dtype == np.uint8
    assert first.shape == (12, SIDE, SIDE, 3)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_painting_tells_how_far_it_is():
    told = []
    paint_all(drawn(3), 0, told.append)
    assert told == [1, 2, 3]


def test_a_thing_changes_the_picture_where_it_stands_and_nowhere_else():
    for i, scene in enumerate([*drawn(40, seed=7), *singles(2)]):
        # The backdrop is chosen first, so the same seed paints it alone.
        whole, bare = paint(scene, generator(i)), paint(Scene(scene.backdrop, ()), generator(i))
        changed = np.any(whole != bare, axis=-1)
        inside = np.zeros_like(changed)
        for thing in scene.things:
            left, top = round(thing.x - thing.side / 2), round(thing.y - thing.side / 2)
            box = (slice(max(top, 0), top + thing.side), slice(max(left, 0), left + thing.side))
            inside[box] = True
            assert changed[box].mean() > 0.08, thing
        assert not changed[~inside].any()


def test_the_endless_world_is_a_function_of_seed_and_number():
    pictures, same, other = WorldPictures(3, 100), WorldPictures(3, 5000), WorldPictures(4, 100)
    for i in (0, 7, 99):
        assert pictures.scene(i)[0] == same.scene(i)[0] != other.scene(i)[0]
        assert pictures[i].tobytes() == same[i].tobytes() != other[i].tobytes()
        assert pictures.digest(i) == same.digest(i) != other.digest(i)
    assert pictures.digest(0) != WorldPictures(3, 100, single=0.9).digest(0)
    assert len({pictures.name(i) for i in range(100)}) == 100
    for outside in (-1, 100):
        with pytest.raises(IndexError):
            pictures[outside]


def test_the_endless_world_shows_single_things_as_often_as_asked_and_no_held_out_pair():
    for single in (0.0, 0.3, 0.6):
        world = WorldPictures(9, 400, single)
        scenes = [world.scene(i)[0] for i in range(400)]
        assert np.mean([len(scene.things) == 1 for scene in scenes]) == pytest.approx(single, abs=0.07)
        assert not any(held_out(a, b) for scene in scenes for a, b in itertools.combinations(scene.kinds, 2))


def test_captions_of_the_endless_world_belong_to_their_pictures():
    captions = WorldCaptions(WorldPictures(5, 50), ("no",))
    again = WorldCaptions(WorldPictures(5, 50), ("no",))
    assert [captions[i] for i in range(50)] == [again[i] for i in range(50)]
    assert len(set(captions[i] for i in range(50))) > 40
