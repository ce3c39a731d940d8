"""How similarities lie: shares by equal steps, and the moments that tell which way they lean."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import refuse_non_finite


class Histogram(NamedTuple):
    """edges [bins + 1]: of equal steps; shares [bins]: of all values, a value at an inner edge in the step above it.

    below, above: shares of the values outside the edges. pairs, lowest, median, mean, highest: of all values.
    deviation: root of mean (x - mean)^2. skewness: mean ((x - mean)/deviation)^3, above 0 with the long tail to the
    right, None where all values are equal.
    """

    edges: Float[Tensor, " edges"]
    shares: Float[Tensor, " bins"]
    below: float
    above: float
    pairs: int
    lowest: float
    median: float
    mean: float
    highest: float
    deviation: float
    skewness: float | None


def histogram(values: Tensor, bins: int = 50, low: float | None = None, high: float | None = None) -> Histogram:
    """The histogram of any numbers, such as the similarities of all pairs, or of the right ones; in float64.

    values: of any shape. low, high: where the steps begin and end, by default the least and the largest value (half
    a unit either way where these are equal); the same for several groups that are drawn over each other. The median of
    an even number of values is the mean of the two in the middle. Errors: no value, values that are not finite, bins
    below 1, high not above low. Source: VACSR (arXiv 2605.30968), Figure 6, similarities of three losses.
    """
    refuse_non_finite(values, "values")
    rising = values.detach().cpu().flatten().to(torch.float64).sort().values
    if not len(rising) or bins < 1:
        raise UserError(got=f"{len(rising)} values in {bins} bins", expected="at least one of both", do="give some")
    lowest, highest = float(rising[0]), float(rising[-1])
    start, stop = lowest if low is None else low, highest if high is None else high
    if start == stop and low is None and high is None:
        start, stop = start - 0.5, stop + 0.5
    if not stop > start:
        raise UserError(got=f"bins from {start} to {stop}", expected="an end above the beginning", do="correct them")
    edges = torch.linspace(start, stop, bins + 1, dtype=torch.float64)
    edges[-1] = stop
    below = torch.searchsorted(rising, edges)  # of values at an edge none counts yet
    below[-1] = torch.searchsorted(rising, edges[-1:], right=True)[0]
    centre, n = rising.mean(), len(rising)
    spread = (rising - centre).square().mean().sqrt()
    skewness = float(((rising - centre) / spread).pow(3).mean()) if lowest < highest else None
    median = float((rising[(n - 1) // 2] + rising[n // 2]) / 2)
    return Histogram(
        edges, below.diff() / n, int(below[0]) / n, (n - int(below[-1])) / n, n, lowest, median, float(centre), highest,
        float(spread), skewness,
    )  # fmt: skip
