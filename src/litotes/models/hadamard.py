"""A linear layer on the products of all images and texts that never keeps the products."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from litotes.geometry.numerics import full_precision

_NUMBERS_AT_ONCE = 2**22
"""Numbers of the products that exist at once: 16 MiB in float32."""


def hadamard_linear(
    image: Float[Tensor, "bi d"],
    text: Float[Tensor, "bt d"],
    weight: Float[Tensor, "h d"],
    bias: Float[Tensor, " h"],
) -> Float[Tensor, "bi bt h"]:
    """``W (v_i * t_j) + b`` of all pairs, with a gradient that keeps v and t in place of the bi x bt x d products.

    image, text: v [bi, d] and t [bt, d], in the type the products are taken in; weight, bias: W [h, d] and b [h].
    Returns [bi, bt, h], in autocast's type under autocast. Products are made by blocks of rows, 2^22 numbers or one
    row at once, and made again in the backward pass: one elementwise product more, and no matrix product more, than
    the plain layer. An input that needs no gradient costs none: with neither image nor text, the matrix product for
    the products' gradient is left out. Equal to ``linear(v[:, None] * t[None], W, b)`` to rounding; once
    differentiable.
    """
    return _HadamardLinear.apply(image, text, weight, bias)


class _HadamardLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx, image: Tensor, text: Tensor, weight: Tensor, bias: Tensor
    ) -> Tensor:
        ctx.save_for_backward(image, text, weight)
        blocks = [linear(_products(rows, text).to(weight), weight, bias) for rows in _parts(image, text)]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)

    @staticmethod
    @once_differentiable
    def backward(ctx: torch.autograd.function.BackwardCFunction, grad: Tensor) -> tuple[Tensor | None, ...]:
        image, text, weight = list(ctx.saved_tensors)
        need_image, need_text, need_weight, need_bias = list(ctx.needs_input_grad)
        of_image = torch.empty_like(image) if need_image else None
        of_text = torch.zeros_like(text) if need_text else None
        of_weight = torch.zeros_like(weight) if need_weight else None
        of_bias = grad.sum((0, 1)).to(weight) if need_bias else None
        first = 0
        with full_precision(image):
            for rows in _parts(image, text):
                at = slice(first, first := first + len(rows))
                if of_weight is not None:
                    products = _products(rows, text).to(grad)
                    of_weight += grad[at].flatten(0, 1).T @ products.flatten(0, 1)
                if of_image is None and of_text is None:
                    continue
                of_products = (grad[at] @ weight.to(grad)).to(image)
                if of_image is not None:
                    of_image[at] = (of_products * text).sum(1)
                if of_text is not None:
                    of_text += (of_products * rows.unsqueeze(1)).sum(0)
        return of_image, of_text, of_weight, of_bias


def _products(image: Tensor, text: Tensor) -> Tensor:
    return image.unsqueeze(1) * text.unsqueeze(0)


def _parts(image: Tensor, text: Tensor) -> tuple[Tensor, ...]:
    """Blocks of rows whose products with all texts fit the limit, one row at least."""
    return image.split(max(1, _NUMBERS_AT_ONCE // max(1, text.numel())))
