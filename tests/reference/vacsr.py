"""VACSR in plain float64 loops over lists: an oracle that shares nothing with the package."""

import math

from reference.losses import cosine, mean, norm


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def linear(weight, bias, x):
    return [math.fsum(a * b for a, b in zip(row, x, strict=True)) + c for row, c in zip(weight, bias, strict=True)]


def relu(x):
    return [max(a, 0.0) for a in x]


def unit(x):
    return [a / norm(x) for a in x]


def similarity(v, t):
    return [a * b for a, b in zip(unit(v), unit(t), strict=True)]


def decoded(layers, z):
    """layers: (W, b) of the decoder's two linear layers."""
    return linear(*layers[1], relu(linear(*layers[0], z)))[0]


def mixed(vectors, weights):
    """sum_k w_k x_k."""
    return [math.fsum(w * a for w, a in zip(weights, at, strict=True)) for at in zip(*vectors, strict=True)]


def drawn(mean_vectors, log_vars, choice, noise):
    samples = [
        [m + math.exp(lv / 2) * e for m, lv, e in zip(*component, strict=True)]
        for component in zip(mean_vectors, log_vars, noise, strict=True)
    ]
    return mixed(samples, choice)


def recon(logits, labels):
    pairs = [(x, y) for row in zip(logits, labels, strict=True) for x, y in zip(*row, strict=True)]
    return mean((y - sigmoid(x)) ** 2 for x, y in pairs) / 2


def kl_of_component(mu, lv):
    """Over the dimensions, one number each."""
    return [(m * m + math.exp(v) - 1 - v) / 2 for m, v in zip(mu, lv, strict=True)]


def kl(means, log_vars, weights):
    """Nested lists [bi][bt][K][d] and [bi][bt][K]."""
    pairs = [
        math.fsum(a * mean(kl_of_component(mu, lv)) for a, mu, lv in zip(alpha, mus, lvs, strict=True))
        for rows in zip(means, log_vars, weights, strict=True)
        for mus, lvs, alpha in zip(*rows, strict=True)
    ]
    return mean(pairs)


def element(log_var, r):
    return mean(r * r / (2 * sigmoid(lv)) + math.log(sigmoid(lv)) / 2 for lv in log_var)


def sigma_positive(log_vars, logits, labels):
    return mean(
        element(log_vars[i][j], 1 - sigmoid(logits[i][j]))
        for i, row in enumerate(labels)
        for j, y in enumerate(row)
        if y
    )


def sigma_negative(log_vars, logits, labels, count=1, target=1.0):
    rows = []
    for i, row in enumerate(labels):
        wrong = sorted((j for j, y in enumerate(row) if not y), key=lambda j: -logits[i][j])[:count]
        if wrong:
            rows.append(mean(element(log_vars[i][j], target - sigmoid(logits[i][j])) for j in wrong))
    return mean(rows)


def sigmoid_loss(image, text, scale, bias, labels):
    """Summed over the captions, averaged over the images."""
    rows = []
    for i, v in enumerate(image):
        logits = [scale * cosine(v, t) + bias for t in text]
        rows.append(-math.fsum(math.log(sigmoid(x if y else -x)) for x, y in zip(logits, labels[i], strict=True)))
    return mean(rows)
