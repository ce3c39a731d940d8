"""AdamP in plain float64 loops: an oracle that shares nothing with the package."""

import math


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def length(a):
    return math.sqrt(dot(a, a))


def cosine(a, b):
    both = length(a) * length(b)
    return dot(a, b) / both if both else 0.0


def cut(values, rows):
    size = len(values) // rows
    return [values[i * size : (i + 1) * size] for i in range(rows)]


def steps(weight, gradients, rows, *, lr, betas=(0.9, 0.999), eps=1e-8, decay=0.0, delta=0.1, ratio=0.1):
    """The weight after each step; weight and gradients are flat lists, rows 0 for a vector, and how each was split."""
    w, m, s = list(weight), [0.0] * len(weight), [0.0] * len(weight)
    path, splits = [], []
    for t, grad in enumerate(gradients, 1):
        m = [betas[0] * a + (1 - betas[0]) * g for a, g in zip(m, grad, strict=True)]
        s = [betas[1] * a + (1 - betas[1]) * g * g for a, g in zip(s, grad, strict=True)]
        p = [(a / (1 - betas[0] ** t)) / (math.sqrt(b / (1 - betas[1] ** t)) + eps) for a, b in zip(m, s, strict=True)]
        split = 0
        for candidate in [rows, 1] if rows else []:
            pairs = zip(cut(w, candidate), cut(grad, candidate), strict=True)
            if all(abs(cosine(a, g)) < delta / math.sqrt(len(a)) for a, g in pairs):
                split = candidate
                break
        if split:
            flat = []
            for part, move in zip(cut(w, split), cut(p, split), strict=True):
                along = dot(part, move) / dot(part, part)
                flat += [b - along * a for a, b in zip(part, move, strict=True)]
            p = flat
        shrink = 1 - lr * decay * (ratio if split else 1)
        w = [shrink * a - lr * b for a, b in zip(w, p, strict=True)]
        path.append(list(w))
        splits.append(split)
    return path, splits
