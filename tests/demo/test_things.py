"""The picture-book things: complete, clean, of their colour, and told apart by shape alone."""

import itertools

import numpy as np
import pytest
from PIL import Image

from litotes.demo.things import BACKDROPS, COLOURS, KINDS, backdrop, draw
from litotes.demo.things.brush import Brush, Pose
from litotes.demo.things.shapes import corners
from litotes.errors import UserError

SIZE = 32
EVERY = list(itertools.product(KINDS, COLOURS))


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _grey(picture: Image.Image) -> np.ndarray:
    """Return the picture's lightness on mid grey, its mean and contrast removed: form without colour."""
    ground = Image.new("RGBA", picture.size, (128, 128, 128, 255))
    ground.alpha_composite(picture)
    lightness = np.asarray(ground.convert("L"), dtype=np.float64)
    return (lightness - lightness.mean()) / lightness.std()


def _form(picture: Image.Image) -> np.ndarray:
    """Return silhouette and lightness, averaged over 2 x 2 pixels and facing one way, as one vector."""
    alpha = np.asarray(picture.getchannel("A"), dtype=np.float64) / 255
    layers = np.stack([3 * alpha, _grey(picture)])
    left = alpha[:, : SIZE // 2].sum()
    if left < alpha.sum() / 2:
        layers = layers[:, :, ::-1]
    return layers.reshape(2, SIZE // 2, 2, SIZE // 2, 2).mean(axis=(2, 4)).ravel()


@pytest.fixture(scope="module")
def pictures() -> dict[tuple[str, str], Image.Image]:
    return {pair: draw(*pair, SIZE, _rng(seed)) for seed, pair in enumerate(EVERY)}


def test_the_world_has_56_kinds_8_colours_and_6_backdrops() -> None:
    assert len(set(KINDS)) == 56
    assert len(COLOURS) == 8
    assert len(set(BACKDROPS)) == 6


def test_names_are_single_words_and_none_hides_in_another() -> None:
    names = [*KINDS, *COLOURS]
    assert all(name.isalpha() and name.islower() for name in names)
    assert not [(a, b) for a, b in itertools.permutations(names, 2) if a in b]


def test_every_picture_is_rgba_of_the_asked_size(pictures: dict[tuple[str, str], Image.Image]) -> None:
    assert {(picture.mode, picture.size) for picture in pictures.values()} == {("RGBA", (SIZE, SIZE))}


def test_every_thing_fills_a_fair_share_and_never_touches_the_rim(
    pictures: dict[tuple[str, str], Image.Image],
) -> None:
    for pair, picture in pictures.items():
        alpha = np.asarray(picture.getchannel("A"), dtype=np.float64) / 255
        assert 0.15 < alpha.mean() < 0.72, pair
        rim = np.concatenate([alpha[0], alpha[-1], alpha[:, 0], alpha[:, -1]])
        assert rim.max() < 0.5, pair
        wide = (alpha > 0.5).any(axis=0).sum()
        high = (alpha > 0.5).any(axis=1).sum()
        assert max(wide, high) > 0.75 * SIZE, pair


@pytest.mark.parametrize("size", [8, 29, 40, 96])
def test_sizes(size: int) -> None:
    assert draw("cat", "red", size, _rng(0)).size == (size, size)


def test_same_state_same_picture_and_another_state_another() -> None:
    for seed, (kind, colour) in enumerate(EVERY[:: len(COLOURS) + 1]):
        first, again, other = (draw(kind, colour, SIZE, _rng(s)).tobytes() for s in (seed, seed, seed + 1))
        assert first == again
        assert first != other


def test_the_named_colour_leads(pictures: dict[tuple[str, str], Image.Image]) -> None:
    """The commonest named colour among the opaque pixels that are not ink is the thing's own."""
    named = np.array(list(COLOURS.values()), dtype=np.float64)
    right = []
    for (_, colour), picture in pictures.items():
        pixels = np.asarray(picture, dtype=np.float64).reshape(-1, 4)
        shown = pixels[(pixels[:, 3] > 250) & (pixels[:, :3].max(axis=1) > 90), :3]
        nearest = np.linalg.norm(shown[:, None] - named, axis=2).argmin(axis=1)
        right.append(np.bincount(nearest, minlength=len(named)).argmax() == list(COLOURS).index(colour))
    assert np.mean(right) > 0.93


def test_colours_are_far_apart() -> None:
    for first, second in itertools.combinations(COLOURS.values(), 2):
        assert np.linalg.norm(np.subtract(first, second)) > 90


@pytest.fixture(scope="module")
def forms(pictures: dict[tuple[str, str], Image.Image]) -> np.ndarray:
    """Return the form of one example of every kind in every colour, [kinds, colours, features]."""
    return np.array([[_form(pictures[kind, colour]) for colour in COLOURS] for kind in KINDS])


def test_form_alone_tells_the_kinds_apart(forms: np.ndarray) -> None:
    """Without its colour, a new thing most resembles an example of its own kind."""
    colours = itertools.cycle(COLOURS)
    asked = np.array([_form(draw(kind, next(colours), SIZE, _rng(1000 + seed))) for seed, kind in enumerate(KINDS * 2)])
    distance = np.linalg.norm(asked[:, None, None] - forms, axis=-1).min(axis=2)
    hit = distance.argmin(axis=1) == np.arange(len(asked)) % len(KINDS)
    assert hit.mean() > 0.9


def test_mean_forms_differ_in_every_pair(forms: np.ndarray) -> None:
    mean = dict(zip(KINDS, forms.mean(axis=1), strict=True))
    for first, second in itertools.combinations(KINDS, 2):
        assert np.abs(mean[first] - mean[second]).mean() > 0.25, (first, second)


def test_an_area_is_inked_on_all_sides_from_whichever_corner_it_is_drawn() -> None:
    square = [(0.2, 0.1), (0.7, 0.1), (0.7, 0.6), (0.2, 0.6)]
    ways = [way[start:] + way[:start] for way in (square, square[::-1]) for start in range(4)]
    pictures = []
    for way in ways:
        brush = Brush(_rng(0))
        brush.area("body", corners(*way))
        pictures.append(np.asarray(brush.paint(COLOURS["white"], 40, Pose(False, 0.0, 0.8, 1.0)), dtype=np.int64))
    inked = pictures[0]
    opaque = inked[..., 3] > 250
    low, high = np.flatnonzero(opaque.any(axis=0))[[0, -1]]
    for side in (inked[20, low], inked[20, high], inked[low, 20], inked[high, 20]):
        assert side[:3].max() < 140
    assert inked[20, 20, :3].min() > 200
    assert all(np.abs(picture - inked).max() <= 80 for picture in pictures)


@pytest.mark.parametrize("name", BACKDROPS)
def test_backdrops_are_calm_and_varied(name: str) -> None:
    picture = backdrop(name, 80, _rng(0))
    assert (picture.mode, picture.size) == ("RGB", (80, 80))
    pixels = np.asarray(picture, dtype=np.float64)
    assert np.abs(np.diff(pixels, axis=0)).mean() < 6
    assert np.abs(np.diff(pixels, axis=1)).mean() < 6
    assert pixels.std(axis=(0, 1)).max() < 40
    assert picture.tobytes() == backdrop(name, 80, _rng(0)).tobytes()
    assert picture.tobytes() != backdrop(name, 80, _rng(1)).tobytes()


@pytest.mark.parametrize("name", BACKDROPS)
def test_things_of_every_colour_stand_out_from_a_backdrop(name: str) -> None:
    """The ink around a thing is clearly darker than every place it may stand on."""
    lightness = np.asarray(backdrop(name, 80, _rng(2)).convert("L"), dtype=np.float64)
    assert np.percentile(lightness, 1) > 100


def test_unknown_names_and_tiny_sizes_are_refused() -> None:
    with pytest.raises(UserError, match="unicorn"):
        draw("unicorn", "red", SIZE, _rng(0))
    with pytest.raises(UserError, match="mauve"):
        draw("cat", "mauve", SIZE, _rng(0))
    with pytest.raises(UserError, match="7 pixels"):
        draw("cat", "red", 7, _rng(0))
    with pytest.raises(UserError, match="moonbase"):
        backdrop("moonbase", SIZE, _rng(0))
