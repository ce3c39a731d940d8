"""Tensors against the names and shapes that a model wants of them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from torch import Tensor

from litotes.errors import UserError

Shape = tuple[int, ...]

_NUMBERS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def shape_problems(found: Mapping[str, Shape], wanted: Mapping[str, Shape]) -> list[str]:
    """What keeps tensors from being exactly the wanted ones: missing, without a place, of another shape."""
    missing = [f"{name} is missing" for name in sorted(wanted.keys() - found.keys())]
    extra = [f"{name} has no place in the model" for name in sorted(found.keys() - wanted.keys())]
    return [
        *missing,
        *extra,
        *(
            f"{name} has shape {found[name]} instead of {wanted[name]}"
            for name in sorted(wanted.keys() & found.keys())
            if found[name] != wanted[name]
        ),
    ]


def first_three(problems: list[str]) -> str:
    """Three of many, and how many more there are."""
    more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
    return "; ".join(problems[:3]) + more


def require_fit(path: Path, tensors: Mapping[str, Tensor], wanted: Mapping[str, Shape], model: str) -> None:
    """Refuse tensors unless they are the wanted ones by name and shape, dense floating numbers, all of them finite.

    ``model``: what they should be, for the message. Errors: :class:`UserError` naming the file and the first three
    tensors that do not fit; a tensor of numbers that are no floating ones, or not finite.
    """
    problems = shape_problems({name: tuple(tensor.shape) for name, tensor in tensors.items()}, wanted)
    if problems:
        raise UserError(
            got=f"{path}: {first_three(problems)}",
            expected=f"exactly the weights of {model}",
            do="take the file of the model itself, not one that was shortened, extended or made for another size",
        )
    _require_numbers(path, tensors.items())


def _require_numbers(path: Path, tensors: Iterable[tuple[str, Tensor]]) -> None:
    for name, tensor in tensors:
        if tensor.layout != torch.strided or tensor.dtype not in _NUMBERS or tensor.device.type == "meta":
            kind = f"{tensor.layout} {tensor.dtype}".replace("torch.", "")
            raise UserError(
                got=f"{path}: {name} holds {'no numbers' if tensor.device.type == 'meta' else kind}",
                expected="dense numbers of float16, bfloat16, float32 or float64",
                do="save the model before it is quantised or pruned",
            )
        numbers = tensor.float() if tensor.dtype == torch.float64 else tensor  # finite as they will be used
        if not torch.isfinite(numbers).all():
            what = "NaN" if numbers.isnan().any() else "infinity, or a number beyond float32"
            raise UserError(
                got=f"{path}: {name} holds {what}",
                expected="finite weights",
                do="take another copy or an earlier checkpoint",
            )
