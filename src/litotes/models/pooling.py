"""Generalised pooling of tokens (GPO): a learned weighted sum of each channel's values in descending order."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from litotes.errors import UserError
from litotes.geometry.numerics import at_least_float32, full_precision, require_positive


class GeneralizedPooling(nn.Module):
    """From a set of tokens to one vector, by weights that depend on a value's rank and the number of tokens alone.

    ``out_d = sum_r theta_r(n) x_(r)d``, where x_(1)d >= x_(2)d >= ... are the values of channel d over the n tokens of
    a row, and ``theta(n) = softmax(s(n) / temperature)``, ``s_r(n) = a . (forward_r + backward_r) / 2``, forward and
    backward the states of a bidirectional GRU over the sinusoidal positions 1 .. n. Equal weights give the mean,
    weight on rank 1 the maximum.

    size: of positions and of each direction's state, even; default 32. temperature: > 0, default 0.1. 12,704
    parameters with the default size, drawn as torch draws those of a GRU and a linear layer.
    Under autocast everything here stays in float32 at least.
    Source: Chen et al. 2021, "Learning the Best Pooling Strategy for Visual Semantic Embedding" (VSE-infinity), as used
    by PCME++ (Chun 2024) and so by VACSR. Rows of equal length share their weights, which are computed once.
    """

    def __init__(self, size: int = 32, temperature: float = 0.1) -> None:
        super().__init__()
        require_positive(temperature=temperature)
        self.size = size
        self.temperature = temperature
        self.gru = nn.GRU(size, size, batch_first=True, bidirectional=True)
        self.score = nn.Linear(size, 1, bias=False)

    def forward(self, tokens: Float[Tensor, "n length d"], kept: Bool[Tensor, "n length"]) -> Float[Tensor, "n d"]:
        """The pooled rows; only tokens that are ``kept`` exist, wherever they stand.

        Neither the order of a row's tokens nor what is padded changes the result. Errors: a row without a token.
        """
        lengths = kept.sum(1)
        require_tokens(lengths)
        with full_precision(tokens):
            tokens = at_least_float32(tokens)
            weights = self.weights(lengths).to(tokens.dtype)
            # What is not kept sorts behind everything, and is then taken out of the sum.
            ordered = tokens.masked_fill(~kept.unsqueeze(-1), -math.inf).sort(dim=1, descending=True).values
            ordered = ordered[:, : weights.shape[1]].masked_fill(beyond(lengths, weights.shape[1]).unsqueeze(-1), 0.0)
            return (weights.unsqueeze(1) @ ordered).squeeze(1)

    def weights(self, lengths: Int[Tensor, "n"]) -> Float[Tensor, "n longest"]:
        """``theta`` for rows of so many tokens (1 or more each), zero beyond; every row sums to 1."""
        distinct, row = lengths.unique(return_inverse=True)
        longest = int(distinct[-1])
        weight = self.score.weight
        positions = sinusoidal_positions(longest, self.size).to(weight)
        packed = pack_padded_sequence(
            positions.expand(len(distinct), -1, -1), distinct.cpu(), batch_first=True, enforce_sorted=False
        )
        states, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        forward, backward = states.chunk(2, dim=-1)
        scores = self.score((forward + backward) / 2).squeeze(-1) / self.temperature
        return scores.masked_fill(beyond(distinct, longest), -math.inf).softmax(1)[row]


def sinusoidal_positions(length: int, size: int) -> Float[Tensor, "length size"]:
    """``p_2k = sin(i / 10000^(2k / size))``, ``p_2k+1 = cos`` of the same, for i = 0 .. length - 1; size is even.

    Source: Vaswani et al. 2017, section 3.5.
    """
    rates = torch.exp(-math.log(10000) * torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.arange(length, dtype=torch.float64).unsqueeze(1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def beyond(lengths: Int[Tensor, "n"], longest: int) -> Bool[Tensor, "n longest"]:
    """Where a row has ended: position 0 .. longest - 1 is not below its length."""
    return torch.arange(longest, device=lengths.device) >= lengths.unsqueeze(1)


def require_tokens(lengths: Int[Tensor, "n"]) -> None:
    """Refuse a row without a token, which has no pooled value."""
    empty = (lengths < 1).nonzero().flatten()
    if len(empty):
        raise UserError(
            got=f"no token in row {int(empty[0])} ({len(empty)} of {len(lengths)} rows)",
            expected="one token or more in each row",
            do="keep at least one token of each picture and text",
        )
