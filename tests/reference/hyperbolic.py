"""The Poincaré ball in eighty digits or more and plain loops: an oracle that shares nothing with the package."""

import mpmath

mpmath.mp.dps = 80


def numbers(vector):
    return [mpmath.mpf(float(x)) for x in vector]


def inner(x, y):
    return mpmath.fsum(a * b for a, b in zip(x, y, strict=True))


def norm(x):
    return mpmath.sqrt(inner(x, x))


def exp0(tangent, c):
    a = numbers(tangent)
    reach = mpmath.sqrt(c) * norm(a)
    return [mpmath.tanh(reach) * x / reach for x in a] if reach else a


def mobius_add(x, y, c):
    xy, xx, yy = inner(x, y), inner(x, x), inner(y, y)
    below = 1 + 2 * c * xy + c**2 * xx * yy
    return [((1 + 2 * c * xy + c * yy) * a + (1 - c * xx) * b) / below for a, b in zip(x, y, strict=True)]


def mobius_distance(x, y, c):
    """The printed formula, (2 / sqrt(c)) artanh(sqrt(c) ||(-x) (+) y||), on points given as floats."""
    x, y, c = numbers(x), numbers(y), mpmath.mpf(c)
    moved = mobius_add([-a for a in x], y, c)
    return float(2 / mpmath.sqrt(c) * mpmath.atanh(mpmath.sqrt(c) * norm(moved)))


def tangent_distance(u, w, c):
    """The law of cosines of the hyperbolic plane, on tangent vectors given as floats."""
    u, w, c = numbers(u), numbers(w), mpmath.mpf(c)
    root = mpmath.sqrt(c)
    a, b = 2 * root * norm(u), 2 * root * norm(w)
    with mpmath.workdps(80 + int(a + b) // 2):  # exp(a + b) meets 1 - cos
        cosine = inner(u, w) / (norm(u) * norm(w)) if a and b else mpmath.mpf(0)
        # cosh a cosh b - sinh a sinh b cos, as a sum of positive terms
        cosh = (mpmath.cosh(a - b) * (1 + cosine) + mpmath.cosh(a + b) * (1 - cosine)) / 2
        return float(mpmath.acosh(max(cosh, mpmath.mpf(1))) / root)
