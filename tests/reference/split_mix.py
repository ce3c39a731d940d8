"""SplitMix64 in Python's whole numbers, and numbers of pairs made from it."""

import math

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(word):
    word &= MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def sequence(seed, count):
    return [mix(seed + (n + 1) * GOLDEN) for n in range(count)]


def pair_halves(seed, use, row, column, words):
    """Two lists of uniform numbers: of the upper and the lower halves of the pair's words."""
    key = mix(mix(mix(mix(seed) + use * GOLDEN) + row * GOLDEN) + column * GOLDEN)
    bits = [mix(key + n * GOLDEN) for n in range(words)]
    return [((word >> 32) + 0.5) / 2**32 for word in bits], [((word % 2**32) + 0.5) / 2**32 for word in bits]


def pair_uniform(seed, row, column, count):
    first, second = pair_halves(seed, 1, row, column, (count + 1) // 2)
    return [*first, *second][:count]


def pair_normal(seed, row, column, count):
    pairs = list(zip(*pair_halves(seed, 2, row, column, (count + 1) // 2), strict=True))
    radii = [math.sqrt(-2 * math.log(first)) for first, _ in pairs]
    turns = [2 * math.pi * second for _, second in pairs]
    both = list(zip(radii, turns, strict=True))
    return [*(r * math.cos(turn) for r, turn in both), *(r * math.sin(turn) for r, turn in both)][:count]
