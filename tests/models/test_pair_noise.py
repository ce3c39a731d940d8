"""Random numbers of pairs: against whole numbers of Python, laws of their distribution, independence of the blocks."""

import itertools

import pytest
import torch
from scipy import stats

from litotes.models.pair_noise import PairNoise
from reference import split_mix

SEEDS = [0, 1, -5, 2**63 + 11, 2**70 + 3]


def like(*shape, dtype=torch.float64):
    return torch.empty(*shape, dtype=dtype)


def test_the_reference_gives_the_published_sequence():
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert split_mix.sequence(1234567, 3) == published


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_every_number_against_whole_numbers_of_python(seed, count):
    noise = PairNoise(seed, first_row=3)
    uniform, normal = noise.uniform(like(2, 3, count)), noise.normal(like(2, 3, count))
    for i, j in itertools.product(range(2), range(3)):
        assert uniform[i, j].tolist() == split_mix.pair_uniform(seed, i + 3, j, count)
        expected = split_mix.pair_normal(seed, i + 3, j, count)
        assert normal[i, j].tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_blocks_of_any_size_give_the_numbers_of_the_whole(monkeypatch):
    noise = PairNoise(7)
    for draw in ("uniform", "normal"):
        whole = getattr(noise, draw)(like(9, 5, 2, 3))
        for rows, columns, words in ((1, 5, 2**17), (4, 5, 1), (9, 2, 7)):
            monkeypatch.setattr("litotes.models.pair_noise._WORDS_AT_ONCE", words)
            for start in range(0, 9, rows):
                block = whole[start : start + rows, :columns]
                assert torch.equal(getattr(noise.from_row(start), draw)(torch.empty_like(block)), block)
    assert noise.from_row(2).from_row(3) == PairNoise(7, 5)


def test_the_numbers_are_uniform_and_normal_and_independent():
    noise = PairNoise(11)
    uniform, normal = noise.uniform(like(40, 25, 2, 50)), noise.normal(like(40, 25, 2, 50))
    assert stats.kstest(uniform.flatten().numpy(), "uniform").pvalue > 0.01
    assert stats.kstest(normal.flatten().numpy(), "norm").pvalue > 0.01
    assert 3.5 < normal.abs().max() < 6.77
    others = {
        "the next image": normal.roll(1, 0),
        "the next text": normal.roll(1, 1),
        "the other component": normal.flip(2),
        "the next number": normal.roll(1, 3),
        "the sine beside the cosine": normal.flatten(2).roll(50, 2).view_as(normal),
        "the transposed pair": PairNoise(11).normal(like(40, 40, 2, 50)).transpose(0, 1)[:, :25].roll(1, 0),
        "the next seed": PairNoise(12).normal(normal),
        "the uniform numbers": uniform,
    }
    for name, other in others.items():
        for power in (1, 2):  # of squares too: neither sign nor size is shared
            both = torch.stack([normal.flatten() ** power, other.flatten() ** power])
            assert abs(torch.corrcoef(both)[0, 1]) < 0.013, name  # four standard errors of 100,000


def test_both_float_types_get_the_same_numbers():
    for draw in (PairNoise(3).uniform, PairNoise(3).normal):
        wide, short = draw(like(20, 20, 50)), draw(like(20, 20, 50, dtype=torch.float32))
        assert short.dtype == torch.float32
        # Next to 1 float32 has no number that is as near to it; the radius there is below 4e-4.
        torch.testing.assert_close(short.double(), wide, rtol=1e-5, atol=4e-4)
        assert ((short - wide).abs() < 1e-5).double().mean() > 0.999


def test_drawing_leaves_the_global_generator_alone():
    state = torch.get_rng_state()
    PairNoise(0).normal(like(3, 3, 4))
    assert torch.equal(torch.get_rng_state(), state)


def test_a_generator_draws_the_seed():
    generator = torch.Generator().manual_seed(0)
    one, other = PairNoise.drawn(generator), PairNoise.drawn(generator)
    assert one != other
    assert PairNoise.drawn(generator.manual_seed(0)) == one
