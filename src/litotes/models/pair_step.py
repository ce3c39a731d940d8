"""One training step of the variational adapter within a given memory: the batch by blocks of image rows."""

from collections.abc import Callable, Iterator
from itertools import compress

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from litotes.errors import UserError
from litotes.geometry.numerics import full_precision
from litotes.models.pair_noise import PairNoise
from litotes.models.variational import AdapterConfig, VariationalAdapter, require_features
from litotes.objectives.pairs import require_pairs
from litotes.objectives.vacsr import PairSample, VacsrConfig, VacsrTerms, vacsr

MEMORY = 256
"""MiB that the graph of one step may take by default, a batch of 50 at d = 1024; smaller blocks are the faster ones."""

OnBlock = Callable[[PairSample, Tensor], None]


def vacsr_step(
    adapter: VariationalAdapter,
    image: Float[Tensor, "bi _"],
    text: Float[Tensor, "bt _"],
    positives: Bool[Tensor, "rows columns"],
    config: VacsrConfig | None = None,
    noise: PairNoise | None = None,
    *,
    memory: int = MEMORY,
    on_block: OnBlock | None = None,
) -> VacsrTerms:
    """The loss of a batch, as ``vacsr(adapter(image, text, noise), positives, config)``, within ``memory``.

    Every term but for its denominator is a sum over image rows, and the denominators (pairs, positive pairs, images
    with a wrong caption) are known beforehand. So where the graph of the whole batch would be larger than ``memory``,
    blocks of rows are taken one after another: forward, its share of the loss, its gradient, and the graph is let go.
    Nothing is computed twice. Value and gradients are those of the whole batch to rounding, the draws exactly, since
    `PairNoise` gives each pair its own.

    image, text: features [bi, d] and [bt, d], with or without gradient; positives: bool [bi, bt]; config: of the loss;
    noise: of this step, ``PairNoise(0)`` if None; memory: MiB, by `rows_within`, beside weights and their gradients.
    on_block: called with the sample of each block and its positives, for `litotes.objectives.diagnostics`.
    Returns the terms; ``loss`` alone has a gradient, once.

    As one block whatever the memory: ``directions = "both"``, whose hardest images of a caption need all rows at once,
    and float16 autocast, whose gradients need a scale that is known only later.
    Errors: as `VariationalAdapter` and `vacsr`; a memory below one row.
    """
    config, noise = config or VacsrConfig(), noise or PairNoise(0)
    at_once = config.directions == "both" or _in_float16(image)
    rows = len(image) if at_once else rows_within(adapter, len(text), memory)
    if rows >= len(image):
        sample = adapter(image, text, noise)
        if on_block:
            on_block(sample, positives)
        terms = vacsr(sample, positives, config)
        return VacsrTerms(terms.loss, *(term.detach() for term in terms[1:]))
    return _by_blocks(adapter, image, text, positives, config, noise, rows, on_block)


def rows_within(adapter: VariationalAdapter, columns: int, memory: int) -> int:
    """Image rows whose graph, with ``columns`` texts, takes no more than ``memory`` MiB.

    Errors: a memory below one row.
    """
    numbers = numbers_per_pair(adapter.config)
    row = columns * numbers * max(4, next(adapter.parameters()).element_size())
    rows = int(memory * 2**20 // row)
    if rows < 1:
        raise UserError(
            got=f"memory = {memory} MiB for a step with {columns} texts",
            expected=f"at least {-(-row // 2**20)}, what one image row with them takes",
            do="allow more memory, or take a smaller batch",
        )
    return rows


def numbers_per_pair(config: AdapterConfig) -> int:
    """Numbers that the graph of one pair keeps, and those that its backward pass adds at its peak."""
    k, latent, hidden = config.components, config.latent_size, config.hidden_size
    trunks = {"shared": 1, "per_component": k, "separate": 2 * k}[config.layout]
    return trunks * 2 * hidden + 12 * k * latent


def _by_blocks(
    adapter: VariationalAdapter,
    image: Tensor,
    text: Tensor,
    positives: Tensor,
    config: VacsrConfig,
    noise: PairNoise,
    rows: int,
    on_block: OnBlock | None,
) -> VacsrTerms:
    require_features(image, text, adapter.config)
    require_pairs(torch.zeros(len(image), len(text)), positives)
    inputs = (image, text, *adapter.parameters())
    # Graphs of blocks end at these copies, so that none reaches back into the encoders.
    leaves = [features.detach().requires_grad_(features.requires_grad) for features in (image, text)]
    wanted = [leaf.requires_grad and torch.is_grad_enabled() for leaf in (*leaves, *adapter.parameters())]
    learning = list(compress((*leaves, *adapter.parameters()), wanted))
    gradients = [torch.zeros_like(leaf) for leaf in learning]
    weights = (config.recon_weight, config.kl_weight, config.sigma_positive_weight, config.sigma_negative_weight)
    totals = [torch.zeros(()), torch.zeros(()), torch.zeros(()), torch.zeros(())]

    def one_block(at: slice, shares: tuple[float, ...]) -> tuple[list[Tensor], tuple[Tensor, ...]]:
        """Its part of each term, and the gradients; all else of it is let go on return."""
        sample = adapter(leaves[0][at], leaves[1], noise.from_row(at.start))
        if on_block:
            on_block(PairSample(*(part.detach() for part in sample)), positives[at])
        parts = [share * term for share, term in zip(shares, vacsr(sample, positives[at], config)[1:], strict=True)]
        if not learning:
            return parts, ()
        loss = torch.stack([weight * part for weight, part in zip(weights, parts, strict=True)]).sum()
        with full_precision(image):
            return [part.detach() for part in parts], torch.autograd.grad(loss, learning)

    for at, shares in _blocks(positives, rows):
        parts, found = one_block(at, shares)
        totals = [total.to(part) + part for total, part in zip(totals, parts, strict=True)]
        for gradient, more in zip(gradients, found, strict=True):
            gradient.add_(more)
    loss = torch.stack([weight * total for weight, total in zip(weights, totals, strict=True)]).sum()
    if learning:
        loss = _WithGradients.apply(loss, gradients, *compress(inputs, wanted))
    return VacsrTerms(loss, *totals)


def _blocks(positives: Tensor, rows: int) -> Iterator[tuple[slice, tuple[float, float, float, float]]]:
    """Rows of each block, and its share of the denominators of the four terms."""
    every, right = [1] * len(positives), positives.sum(1).tolist()
    counts = (every, every, right, (~positives).any(1).tolist())
    for start in range(0, len(positives), rows):
        at = slice(start, start + rows)
        recon, kl, positive, negative = (sum(count[at]) / max(1, sum(count)) for count in counts)
        yield at, (recon, kl, positive, negative)


def _in_float16(features: Tensor) -> bool:
    device = features.device.type
    return torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.float16


class _WithGradients(torch.autograd.Function):
    """A number whose gradients are known."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx, value: Tensor, gradients: list[Tensor], *inputs: Tensor
    ) -> Tensor:
        ctx.save_for_backward(*gradients)
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: torch.autograd.function.BackwardCFunction, grad: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *(grad.to(gradient) * gradient for gradient in ctx.saved_tensors)
