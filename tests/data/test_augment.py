"""What training changes in its examples: shares, places and counts as stated, and draws by example and epoch alone."""

from collections import Counter

import numpy as np
import pytest

from litotes.data.augment import altered_ids, crop_box, example_rng, kept_tokens


def rngs(n, part="caption", seed=0):
    return [example_rng(seed, 0, i, part) for i in range(n)]


def test_draws_depend_on_seed_epoch_example_and_part_alone():
    places = [(0, 0, 0, "picture"), (1, 0, 0, "picture"), (0, 1, 0, "picture"), (0, 0, 1, "picture")]
    places += [(0, 0, 0, "caption"), (0, 0, 0, "tokens")]
    first = [example_rng(*place).random(4).tolist() for place in places]
    np.random.seed(5)
    assert [example_rng(*place).random(4).tolist() for place in places[::-1]] == first[::-1]
    assert len({tuple(row) for row in first}) == len(places)


def test_crops_have_sides_of_the_stated_share_and_stand_anywhere_within():
    boxes = [crop_box(100, 50, rng) for rng in rngs(3000)]
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= 100
        assert 0 <= top < bottom <= 50
        assert 60 <= right - left <= 100
        assert (bottom - top) == int((right - left) / 2) or abs((bottom - top) - (right - left) / 2) < 1
    sides = [right - left for left, _, right, _ in boxes]
    assert np.mean(sides) == pytest.approx(79.5, abs=0.7)
    assert min(sides) == 60
    free = [(left / (100 - right + left), right) for left, _, right, _ in boxes if right - left < 90]
    assert np.mean([at for at, _ in free]) == pytest.approx(0.5, abs=0.02)
    assert max(right for _, right in free) == 100  # the last place is reached too


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (2, 1)])
def test_a_crop_of_the_smallest_pictures_has_a_pixel(size):
    for rng in rngs(50):
        left, top, right, bottom = crop_box(*size, rng)
        assert right > left >= 0
        assert bottom > top >= 0


def test_tokens_are_masked_exchanged_and_left_out_in_the_stated_shares():
    ids = [98, *range(10, 60), 99]
    kinds, exchanged = Counter(), Counter()
    for rng in rngs(2000):
        out = altered_ids(ids, 7, range(100, 120), rng)
        assert (out[0], out[-1]) == (98, 99)
        inner = out[1:-1]
        kept = [i for i in inner if 10 <= i < 60]
        assert kept == sorted(set(kept))
        kinds.update(masked=inner.count(7), exchanged=sum(i >= 100 for i in inner), kept=len(kept))
        kinds.update(gone=50 - len(inner))
        exchanged.update(i for i in inner if i >= 100)
    total = 2000 * 50
    wanted = {"masked": 0.1, "exchanged": 0.02, "gone": 0.08, "kept": 0.8}
    for kind, share in wanted.items():
        assert kinds[kind] / total == pytest.approx(share, abs=5 * (share * (1 - share) / total) ** 0.5)
    assert set(exchanged) == set(range(100, 120))
    assert max(exchanged.values()) < 2 * min(exchanged.values())


def test_untouched_and_empty_captions_stay():
    rng = np.random.default_rng(0)
    assert altered_ids([1, 2, 3, 9], 7, range(5), rng, touched=1e-9) == [1, 2, 3, 9]
    assert altered_ids([1, 9], 7, range(5), rng, touched=1.0) == [1, 9]
    everything = [altered_ids([1, 2, 9], 7, [5], r, touched=1.0) for r in rngs(200)]
    assert {tuple(row) for row in everything} == {(1, 7, 9), (1, 5, 9), (1, 9)}


def test_four_pictures_of_five_lose_a_part_of_their_tokens_and_never_more_than_a_fifth():
    lost = [50 - kept_tokens(50, rng).sum() for rng in rngs(4000, "tokens")]
    assert max(lost) == 9  # floor of less than 20 %
    assert min(n for n in lost if n) == 2
    assert np.mean([n == 0 for n in lost]) == pytest.approx(0.2, abs=0.02)
    assert np.mean([n for n in lost if n]) == pytest.approx(5.5, abs=0.1)
    places = np.mean([~kept_tokens(50, rng) for rng in rngs(4000, "tokens", seed=1)], axis=0)
    assert places.min() > 0.7 * places.max()  # the class token like any other
    assert all(kept_tokens(5, rng).all() for rng in rngs(100))
    assert kept_tokens(1, np.random.default_rng(0)).all()
