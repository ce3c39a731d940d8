"""What training changes in its examples: shares, places and counts as stated, and draws by example and epoch alone."""

from collections import Counter

import numpy as np
import pytest

from litotes.data.augment import altered_ids, area_box, crop_box, example_rng, kept_tokens


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


def shape_of(box):
    left, top, right, bottom = box
    return right - left, bottom - top


def test_area_crops_have_the_stated_shares_and_shapes_and_stand_anywhere_within():
    boxes = [area_box(1200, 1000, rng) for rng in rngs(4000, "picture")]
    assert all(0 <= box[0] < box[2] <= 1200 and 0 <= box[1] < box[3] <= 1000 for box in boxes)
    sides = np.array([shape_of(box) for box in boxes], dtype=float)
    shares, shapes = sides.prod(1) / 1.2e6, sides[:, 0] / sides[:, 1]
    assert 0.079 < shares.min() < 0.085
    assert 0.97 < shares.max() <= 1
    assert 0.745 < shapes.min() < 0.76
    assert 1.32 < shapes.max() < 1.342
    # Below a share at which every shape fits, both draws stand as they came: shares uniform, logarithms of shapes too.
    free = shares < 0.6
    tenths = np.histogram(shares[free], np.linspace(0.08, 0.6, 11))[0] / free.sum()
    assert tenths == pytest.approx(np.full(10, 0.1), abs=0.025)
    tenths = np.histogram(np.log(shapes[free]), np.linspace(np.log(0.75), np.log(4 / 3), 11))[0] / free.sum()
    assert tenths == pytest.approx(np.full(10, 0.1), abs=0.025)
    places = [left / (1200 - right + left) for left, _, right, _ in boxes if right - left < 1100]
    assert np.mean(places) == pytest.approx(0.5, abs=0.02)
    assert min(places) < 0.01
    assert max(places) > 0.99


class Told(np.random.Generator):
    """A source of numbers that gives what it is told, each a share 0 .. 1 of its range."""

    def __init__(self, *numbers):
        super().__init__(np.random.PCG64(0))
        self.numbers = list(numbers)

    def uniform(self, low, high):
        return low + (high - low) * self.numbers.pop(0)

    def integers(self, most):
        return int(self.numbers.pop(0) * (most - 1))


def test_an_area_crop_is_the_one_that_its_four_numbers_say():
    # The middle of 0.5 .. 1 of 100 x 100 at the middle shape, 1, is a square of sqrt(0.75) = 0.866 of a side.
    assert area_box(100, 100, Told(0.5, 0.5, 0, 0), 0.5) == (0, 0, 87, 87)
    assert area_box(100, 100, Told(0.5, 0.5, 1, 0), 0.5) == (13, 0, 100, 87)
    # The widest shape at the whole area does not fit a square; the next draw does: 0.25 of it at 3 : 4 is 43.3 x 57.7.
    rng = Told(1, 1, 0, 0, 0, 1)
    assert area_box(100, 100, rng, 0.25) == (0, 100 - 58, 43, 100)
    assert rng.numbers == []


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        ((100, 100), (0, 0, 100, 100)),
        ((120, 100), (0, 0, 120, 100)),
        ((300, 90), (90, 0, 210, 90)),
        ((90, 300), (0, 90, 90, 210)),
        ((1, 9), (0, 4, 1, 5)),
    ],
)
def test_where_ten_crops_do_not_fit_the_middle_is_taken_at_a_shape_within_the_limits(size, wanted):
    never = Told(*[1, 0.5 if max(size) > 2 * min(size) else 0 if size[0] > size[1] else 1] * 10)
    assert area_box(*size, never, 1.0) == wanted
    assert never.numbers == []


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (2, 1), (640, 3)])
def test_an_area_crop_of_the_smallest_pictures_has_a_pixel(size):
    for rng in rngs(50, "picture"):
        left, top, right, bottom = area_box(*size, rng)
        assert 0 <= left < right <= size[0]
        assert 0 <= top < bottom <= size[1]


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
