"""Adapters folded into the weights of their base, one or several."""

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from litotes.errors import UserError
from litotes.models.lora import adapted_layers, dismount, load_adapter, updates
from litotes.models.lora_settings import describe
from litotes.models.matcher import Matcher


def merge_adapter(matcher: Matcher, strength: float = 1.0) -> None:
    """Fold the adapter into the base weights in float32: W + strength * s B A; 0 is the base, 1 the adapted model.

    Errors: nothing is mounted, so that merging twice is noticed; a strength that is not finite.
    """
    _require_finite(strength)
    if not adapted_layers(matcher.encoder):
        raise UserError(
            got="a model without a mounted adapter",
            expected="an adapter to merge (a merged one is no longer there)",
            do="load the adapter first, and merge once",
        )
    deltas = updates(matcher.encoder)
    dismount(matcher.encoder)
    _add(matcher, deltas, strength)
    matcher.adapter = f"{matcher.adapter}, merged at {strength:g}" if matcher.adapter else f"merged at {strength:g}"


def merge_adapters(
    matcher: Matcher, folders: Sequence[str | Path], strength: float = 1.0, *, any_base: bool = False
) -> None:
    """Fold saved adapters of one base into it in float32: W + strength * sum over i of s_i B_i A_i.

    The logit scale moves by the same sum: l + strength * sum of (l_i - l). ``folders``: each an adapter of the base as
    it is before any of them is merged (``load_adapter``, which reads them one after another); ranks, layers and scaling
    may differ. Edges: no folders change nothing; strength 0 is the base bit for bit.

    Errors: those of ``load_adapter``, for any of them before a weight changes; a folder that is given twice; a strength
    that is not finite.

    Summed here, since PEFT 0.21's ``add_weighted_adapter`` scales rank-stabilised adapters by sqrt(rank) too much.
    """
    _require_finite(strength)
    twice = [folder for i, folder in enumerate(folders) if Path(folder).resolve() in map(_resolved, folders[:i])]
    if twice:
        raise UserError(got=f"{twice[0]} twice", expected="each adapter once", do="leave one of them out")
    scale, before = matcher.encoder.clip.logit_scale, matcher.adapter
    own = scale.detach().double()
    moved, sums, names = torch.zeros_like(own), dict[str, Tensor](), list[str]()
    for folder in folders:
        settings = load_adapter(matcher, folder, any_base=any_base)
        names.append(f"{Path(folder).name} ({describe(settings)})")
        for name, delta in updates(matcher.encoder).items():
            sums[name] = sums[name] + delta if name in sums else delta
        moved += scale.detach().double() - own
        dismount(matcher.encoder)
        matcher.adapter = before
        with torch.no_grad():
            scale.copy_(own)
    _add(matcher, sums, strength)
    with torch.no_grad():
        scale.copy_(own + strength * moved)
    if names:
        merged = f"{' + '.join(names)}, merged at {strength:g}"
        matcher.adapter = f"{before}; {merged}" if before else merged


def _require_finite(strength: float) -> None:
    if not math.isfinite(strength):
        raise UserError(
            got=f"strength {strength}",
            expected="a finite number: 0 is the base, 1 the adapted model",
            do="give for instance 0.5",
        )


def _resolved(folder: str | Path) -> Path:
    return Path(folder).resolve()


@torch.no_grad()
def _add(matcher: Matcher, deltas: dict[str, Tensor], strength: float) -> None:
    if not strength:  # a sum with 0 would turn a weight of -0 to 0, and so the hash of the base
        return
    for name, delta in deltas.items():
        weight = matcher.encoder.clip.get_submodule(name).weight
        weight.copy_((weight.float() + strength * delta).to(weight.dtype))
