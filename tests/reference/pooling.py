"""Generalised pooling in plain float64 loops over lists: an oracle that shares nothing with the package."""

import math


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def affine(weight, bias, x):
    return [math.fsum(a * b for a, b in zip(row, x, strict=True)) + c for row, c in zip(weight, bias, strict=True)]


def positions(length, size):
    rows = []
    for i in range(length):
        row = []
        for k in range(size):
            angle = i / 10000 ** ((k - k % 2) / size)
            row.append(math.cos(angle) if k % 2 else math.sin(angle))
        rows.append(row)
    return rows


def gru(inputs, w_in, w_state, b_in, b_state):
    """States of one direction; the three gates stand one under the other: reset, update, new."""
    size = len(w_state[0])
    state, states = [0.0] * size, []
    for x in inputs:
        from_input, from_state = affine(w_in, b_in, x), affine(w_state, b_state, state)
        reset = [sigmoid(from_input[i] + from_state[i]) for i in range(size)]
        update = [sigmoid(from_input[size + i] + from_state[size + i]) for i in range(size)]
        new = [math.tanh(from_input[2 * size + i] + reset[i] * from_state[2 * size + i]) for i in range(size)]
        state = [(1 - update[i]) * new[i] + update[i] * state[i] for i in range(size)]
        states.append(state)
    return states


def rank_weights(length, size, forward, backward, score, temperature=0.1):
    """forward, backward: (w_in, w_state, b_in, b_state) of a direction; score: the vector a."""
    inputs = positions(length, size)
    there, back = gru(inputs, *forward), gru(inputs[::-1], *backward)[::-1]
    scores = [
        math.fsum(a * (f + b) / 2 for a, f, b in zip(score, there[r], back[r], strict=True)) / temperature
        for r in range(length)
    ]
    top = max(scores)
    shares = [math.exp(s - top) for s in scores]
    return [share / math.fsum(shares) for share in shares]


def pooled(tokens, weights):
    """tokens: the n rows that exist; weights: n numbers."""
    channels = [sorted(channel, reverse=True) for channel in zip(*tokens, strict=True)]
    return [math.fsum(w * x for w, x in zip(weights, channel, strict=True)) for channel in channels]
