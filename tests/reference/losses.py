"""The objectives in plain float64 loops over lists: an oracle that shares nothing with the package."""

import math


def norm(x):
    return math.sqrt(math.fsum(a * a for a in x))


def cosine(x, y):
    length = norm(x) * norm(y)
    return math.fsum(a * b for a, b in zip(x, y, strict=True)) / length if length else 0.0


def minus(x, y):
    return [a - b for a, b in zip(x, y, strict=True)]


def placed(x, treatment, size=None):
    if treatment == "unit":
        return [a / norm(x) for a in x]
    if treatment == "clip":
        return [a * min(1.0, size / norm(x)) for a in x]
    if treatment == "scale":
        return [a / size for a in x]
    return list(x)


def distance(u, w, c=0.1):
    """(2 / sqrt(c)) artanh(sqrt(c) ||(-g(u)) (+) g(w)||), as the paper writes it."""
    x, y = ([math.tanh(math.sqrt(c) * norm(v)) * a / (math.sqrt(c) * norm(v)) for a in v] for v in (u, w))
    xy = -math.fsum(a * b for a, b in zip(x, y, strict=True))
    xx, yy = norm(x) ** 2, norm(y) ** 2
    below = 1 + 2 * c * xy + c * c * xx * yy
    moved = [(-(1 + 2 * c * xy + c * yy) * a + (1 - c * xx) * b) / below for a, b in zip(x, y, strict=True)]
    return 2 / math.sqrt(c) * math.atanh(math.sqrt(c) * norm(moved))


def cross_entropy(scores, target):
    """-log softmax of one row."""
    top = max(scores)
    return top + math.log(math.fsum(math.exp(s - top) for s in scores)) - scores[target]


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def hco(v, p, q, n, measure, tau):
    """Minus the distance, all pairs of the batch, mean; v, p, q, n: lists of placed vectors."""
    rows = range(len(v))

    def s(x, y):
        return -measure(x, y) / tau

    text_image = mean(cross_entropy([s(q[i], v[k]) for k in rows], i) for i in rows)
    image_text = mean(cross_entropy([s(v[i], q[k]) for k in rows] + [s(v[i], n[k]) for k in rows], i) for i in rows)
    text_text = mean(cross_entropy([s(q[i], p[k]) for k in rows] + [s(q[i], n[k]) for k in rows], i) for i in rows)
    return text_image, image_text, text_text


def hco_literal(v, p, q, n, measure, tau, sign):
    """Matched pairs alone in the denominators; sign +1 as printed."""
    rows = range(len(v))

    def s(x, y):
        return sign * measure(x, y) / tau

    image_text = [s(v[k], q[k]) for k in rows]
    image_negative = [s(v[k], n[k]) for k in rows]
    text_text = [s(q[k], p[k]) for k in rows]
    text_negative = [s(q[k], n[k]) for k in rows]
    return (
        mean(cross_entropy(image_text, i) for i in rows),
        mean(cross_entropy(image_text + image_negative, i) for i in rows),
        mean(cross_entropy(text_text + text_negative, i) for i in rows),
    )


def atnl(p, q, n):
    triplets = list(zip(p, q, n, strict=True))
    closing = mean(1 - cosine(minus(a, c), minus(b, c)) for a, b, c in triplets)
    opening = mean(cosine(minus(c, b), minus(a, b)) for a, b, c in triplets)
    return closing, opening


def info_nce(image, text, scale, extra=()):
    """Mean of both directions; extra: further wrong captions of every image."""
    rows = range(len(image))
    to_text = [[scale * cosine(x, y) for y in [*text, *extra]] for x in image]
    to_image = [[scale * cosine(x, y) for x in image] for y in text]
    return (mean(cross_entropy(to_text[i], i) for i in rows) + mean(cross_entropy(to_image[i], i) for i in rows)) / 2


def own_options(image, options, measure, tau):
    """options: for each image a list of vectors, the true one first."""
    return mean(cross_entropy([-measure(x, y) / tau for y in own], 0) for x, own in zip(image, options, strict=True))
