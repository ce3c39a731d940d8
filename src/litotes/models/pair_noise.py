"""Random numbers for pairs that depend on the pair alone, not on how many are drawn at once or in which order."""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
"""Increment, and shifts with factors, of SplitMix64."""

_UNIFORM, _NORMAL = 1, 2
_WORDS_AT_ONCE = 2**17
"""Words made at once: 1 MiB, which stays in the cache of a core."""


@dataclass(frozen=True)
class PairNoise:
    """Uniform and normal numbers of each pair: a function of seed, image row, text column and place alone.

    ``bits = mix(key(seed, use, i, j) + n * golden)`` mod 2^64 for the n-th word of pair (i, j), with mix and golden of
    SplitMix64; the halves of a word make two uniform numbers, or, by Box and Muller, two normal ones. So a batch may
    be taken in any blocks of rows and each pair still gets its own numbers. They are the same on every device and in
    float32 and float64, to the rounding of a logarithm and a cosine.

    seed: any whole number, another one for each step of a training (its last 64 bits count). first_row: the row of the
    batch at which a block begins. 32 bits a number: no normal is beyond 6.77. Source: Steele, Lea and Flood 2014
    (SplitMix64, entered at any place of its sequence); Box and Muller 1958. In tensor operations, since torch's own
    generators cannot be entered at a place.
    """

    seed: int
    first_row: int = 0

    @classmethod
    def drawn(cls, generator: torch.Generator) -> "PairNoise":
        """With a seed that the generator draws."""
        return cls(int(torch.randint(2**63 - 1, (1,), generator=generator, device=generator.device)))

    def from_row(self, row: int) -> "PairNoise":
        """The numbers of the block that begins ``row`` rows further down."""
        return replace(self, first_row=self.first_row + row)

    def uniform(self, like: Float[Tensor, "bi bt *rest"]) -> Float[Tensor, "bi bt *rest"]:
        """Numbers from 0 to 1, of the shape, type and device of ``like``; only float32 rounds any to 1."""
        return self._filled(like, _UNIFORM)

    def normal(self, like: Float[Tensor, "bi bt *rest"]) -> Float[Tensor, "bi bt *rest"]:
        """Standard normal numbers, of the shape, type and device of ``like``."""
        return self._filled(like, _NORMAL)

    @torch.no_grad()
    def _filled(self, like: Tensor, use: int) -> Tensor:
        rows, columns, *rest = like.shape
        numbers = math.prod(rest)
        words = -(-numbers // 2)
        keys = self._keys(rows, columns, use, like.device).flatten()
        steps = torch.arange(words, device=like.device) * _signed(_GOLDEN)
        result = torch.empty(len(keys), numbers, dtype=like.dtype, device=like.device)
        for part in torch.arange(len(keys)).split(max(1, _WORDS_AT_ONCE // words)):
            at = slice(int(part[0]), int(part[-1]) + 1)
            first, second = _halves(_mixed(keys[at, None] + steps), like.dtype)
            if use == _NORMAL:
                first, second = _box_muller(first, second)
            result[at, :words] = first
            result[at, words:] = second[:, : numbers - words]
        return result.view(like.shape)

    def _keys(self, rows: int, columns: int, use: int, device: torch.device) -> Int[Tensor, "bi bt"]:
        start = torch.tensor([_signed(self.seed), _signed(use * _GOLDEN)], device=device)
        start = _mixed(_mixed(start[:1]) + start[1:])
        row = torch.arange(self.first_row, self.first_row + rows, device=device).unsqueeze(1)
        column = torch.arange(columns, device=device)
        return _mixed(_mixed(start + row * _signed(_GOLDEN)) + column * _signed(_GOLDEN))


def _mixed(word: Tensor) -> Tensor:
    """SplitMix64's mixing function; overwrites its input. int64 products wrap, and shifts have to lose their sign."""
    for shift, factor in _ROUNDS:
        word ^= (word >> shift) & ((1 << (64 - shift)) - 1)
        word *= _signed(factor)
    return word


def _halves(word: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Two uniform numbers of each word, in the middles of 2^32 intervals; overwrites its input."""
    low = (word & 0xFFFFFFFF).to(dtype)
    high = word.bitwise_right_shift_(32).bitwise_and_(0xFFFFFFFF).to(dtype)
    return high.add_(0.5).mul_(2.0**-32), low.add_(0.5).mul_(2.0**-32)


def _box_muller(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Two normal numbers of two uniform ones; overwrites its inputs."""
    radius, angle = first.log_().mul_(-2).sqrt_(), second.mul_(2 * math.pi)
    return angle.cos().mul_(radius), angle.sin_().mul_(radius)


def _signed(word: int) -> int:
    """The number from -2^63 to 2^63 - 1 that has the last 64 bits of ``word``."""
    return (word + 2**63) % 2**64 - 2**63
