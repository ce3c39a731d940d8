"""Which matrices of which blocks get a low-rank update, and how large: settings without PEFT."""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass

from litotes.errors import UserError

ATTENTION = ("q_proj", "k_proj", "v_proj")
ALL_LINEAR = ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")
TOWERS = {"text": ("text",), "vision": ("vision",), "both": ("text", "vision")}

_TOPMOST = {"top1": 1, "top2": 2, "top3": 3}
_PARTS = {"bottom": (0, 3), "mid": (1, 3), "up": (2, 3), "half-bottom": (0, 2), "half-up": (1, 2)}
LAYER_NAMES = ("all", *_TOPMOST, *_PARTS)
"""Names of layer ranges, those of CLIP-LoRA."""

_NUMBERS = re.compile(r"\d{1,18}(-\d{1,18})?(,\d{1,18}(-\d{1,18})?)*")


@dataclass(frozen=True)
class LoraSettings:
    """Which matrices get a low-rank update, and how large.

    W x becomes W x + s B A x with A [rank, in], B [out, rank], B starting at 0; s = alpha / sqrt(rank) under
    ``rslora`` (CLIP-LoRA's rule, the default) or alpha / rank. towers: "text", "vision" or "both". targets: names of
    linear layers inside a block (``ATTENTION`` or ``ALL_LINEAR``). dropout: on the input of A, in training. layers:
    blocks of each adapted tower, by a name or by numbers from 0 (``block_indices``); vision_layers: those of the vision
    tower beside an adapted text tower, None for the same words.
    Source: Hu et al. 2021; defaults of CLIP-LoRA (Zanella & Ben Ayed 2024), which HANCLIP follows.
    """

    towers: str = "both"
    targets: tuple[str, ...] = ATTENTION
    rank: int = 2
    alpha: float = 1.0
    rslora: bool = True
    dropout: float = 0.25
    layers: str = "all"
    vision_layers: str | None = None

    def __post_init__(self) -> None:
        if self.towers not in TOWERS:
            raise UserError(got=f"towers {self.towers!r}", expected="text, vision or both", do="choose one of these")
        unknown = [target for target in self.targets if target not in ALL_LINEAR]
        if unknown or not self.targets:
            raise UserError(
                got=f"target {unknown[0]!r}, which matches no layer" if unknown else "no targets",
                expected=f"names among {', '.join(ALL_LINEAR)}",
                do="correct the name; one wrong name among right ones would silently adapt less",
            )
        if not (self.rank >= 1 and 0 < self.alpha < math.inf and 0 <= self.dropout < 1):
            raise UserError(
                got=f"rank {self.rank}, alpha {self.alpha}, dropout {self.dropout}",
                expected="a rank of 1 or more, a finite alpha above 0, a dropout from 0 to below 1",
                do="correct the number that is out of its range",
            )
        if self.vision_layers is not None and self.towers != "both":
            raise UserError(
                got=f"layers of their own for vision ({self.vision_layers}), of the {self.towers} tower alone",
                expected="them where both towers are adapted",
                do="say the layers of the one tower as layers (--lora-layers), or adapt both",
            )
        for tower in TOWERS[self.towers]:
            require_layers(self.layers_of(tower))

    @property
    def scaling(self) -> float:
        """The factor s on B A."""
        return self.alpha / (math.sqrt(self.rank) if self.rslora else self.rank)

    def layers_of(self, tower: str) -> str:
        """What is said of the blocks of a tower."""
        return self.vision_layers if tower == "vision" and self.vision_layers is not None else self.layers


def describe(settings: LoraSettings) -> str:
    """One line with every setting, and the scaling that follows from them."""
    rule = "rsLoRA" if settings.rslora else "LoRA"
    said = [settings.layers_of(tower) for tower in TOWERS[settings.towers]]
    blocks = ""
    if len(set(said)) > 1:
        blocks = f" (blocks {said[0]} of text, {said[1]} of vision)"
    elif said[0] != "all":
        blocks = f" (blocks {said[0]})"
    return (
        f"{rule} on {'+'.join(settings.targets)} of {settings.towers}{blocks}, rank {settings.rank}, "
        f"alpha {settings.alpha:g}, scaling {settings.scaling:.4f}, dropout {settings.dropout:g}"
    )


def block_indices(layers: str, count: int) -> tuple[int, ...]:
    """The blocks, counted from 0 at the input, that ``layers`` means in a tower of ``count`` blocks, in order.

    "all"; "top1", "top2", "top3": the last ones; "bottom", "mid", "up": a third of the tower each; "half-bottom",
    "half-up": a half each; or numbers, as "8-11" or "0,8-11". Part k of n holds the blocks from floor(k count / n) to
    before floor((k + 1) count / n).

    Errors: a word that is no such name or number; a block that the tower lacks; a part without a block.

    Source: CLIP-LoRA's positions, which are tables for 12 blocks and, of halves, for 24; the same blocks result. It has
    no thirds for 24 blocks and no other depths: here the names mean the same shares of any tower.
    """
    require_layers(layers)
    if layers in LAYER_NAMES:
        found = _named_blocks(layers, count)
    else:
        found = {index for first, last in _pairs(layers) for index in (*range(first, min(last, count)), last)}
    if not found or max(found) >= count:
        raise UserError(
            got=f"layers {layers} of a tower of {count} blocks",
            expected=f"blocks among 0 to {count - 1}" if found else "at least one block",
            do="name blocks that the tower has; the vision tower can have its own (--lora-vision-layers)",
        )
    return tuple(sorted(found))


def layers_said(blocks: Collection[int], count: int) -> str:
    """``blocks`` of a tower of ``count`` in words that ``block_indices`` reads: "all", or numbers as "0,8-11"."""
    ordered = sorted(blocks)
    if ordered == list(range(count)):
        return "all"
    starts = [index for index in ordered if index - 1 not in blocks]
    ends = [index for index in ordered if index + 1 not in blocks]
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


def _named_blocks(name: str, count: int) -> set[int]:
    if name == "all":
        return set(range(count))
    if name in _TOPMOST:
        return set(range(count - _TOPMOST[name], count)) if _TOPMOST[name] <= count else set()
    part, parts = _PARTS[name]
    return set(range(part * count // parts, (part + 1) * count // parts))


def _pairs(layers: str) -> list[tuple[int, int]]:
    ends = [part.split("-") for part in layers.split(",")]
    return [(int(numbers[0]), int(numbers[-1])) for numbers in ends]


def require_layers(layers: str) -> None:
    """Refuse what no tower of any depth could have: ``block_indices`` without a count."""
    if layers in LAYER_NAMES:
        return
    if not _NUMBERS.fullmatch(layers):
        raise UserError(
            got=f"layers {layers!r}",
            expected=f"{', '.join(LAYER_NAMES)}, or numbers of blocks from 0, as 8-11 or 0,8-11",
            do="choose one of these",
        )
    for first, last in _pairs(layers):
        if first > last:
            raise UserError(
                got=f"layers {layers}, with {first}-{last}",
                expected="the lower number of a range first",
                do=f"say {last}-{first}",
            )
