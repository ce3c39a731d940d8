"""Training some blocks of the towers as they are, and nothing else of them."""

from collections.abc import Iterable
from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from litotes.models.clip import ClipEncoder
from litotes.models.lora_settings import block_indices, layers_said


class Blocks(NamedTuple):
    """Blocks of each tower, counted from 0 at the input, in order."""

    vision: tuple[int, ...]
    text: tuple[int, ...]


class OwnFeatures(nn.Module):
    """A CLIP's own projected features, un-normalised, as what a model of pair scores is trained on.

    Class token and end token, final norms and projections, as ``ClipEncoder`` gives them: nothing is new. Each
    different text of a batch is encoded once. encoder: taken over, not copied; what of it is trained is for the caller
    to say (``train_blocks``).
    """

    def __init__(self, encoder: ClipEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.dimension = int(encoder.clip.config.projection_dim)

    @property
    def heads(self) -> tuple[nn.Module, ...]:
        """What is new on the towers: nothing."""
        return ()

    def forward(
        self,
        pixels: Float[Tensor, "n c h w"],
        ids: Int[Tensor, "m length"],
        kept: Bool[Tensor, "n tokens"] | None = None,
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "m d"]]:
        """Features of pictures and of texts. Errors: tokens that are not ``kept``, since none is pooled here."""
        if kept is not None and not kept.all():
            raise ValueError("tokens are left out of a pooling, and CLIP's own features have none")
        different, place = ids.unique(dim=0, return_inverse=True)
        return self.encoder.image_features(pixels), self.encoder.text_features(different)[place]


def train_blocks(encoder: ClipEncoder, vision: str = "0-1", text: str = "0-2") -> list[str]:
    """Free these blocks of each tower, freeze everything else, and return the names of the weights that are trained.

    vision, text: blocks counted from 0 at the input, in the words of ``block_indices`` ("0-1", "top2", "all"). The
    defaults are VACSR's for data of other distributions: "the first two layers of the image encoder and the first
    three of the text encoder", read as the lowest ones (A22); "top2" and "top3" are the other reading.
    Errors: a word that is no such name or number; a block that the tower lacks; either leaves the encoder as it was.
    """
    chosen = block_weights(encoder, named_blocks(encoder, vision, text))
    encoder.requires_grad_(False)
    for weight in chosen.values():
        weight.requires_grad_(True)
    return list(chosen)


def named_blocks(encoder: ClipEncoder, vision: str, text: str) -> Blocks:
    """The blocks that these words mean. Errors: those of ``block_indices``."""
    pictures, texts = block_counts(encoder)
    return Blocks(block_indices(vision, pictures), block_indices(text, texts))


def block_counts(encoder: ClipEncoder) -> tuple[int, int]:
    """How many blocks the picture tower and the text tower have."""
    clip = encoder.clip
    return len(clip.vision_model.encoder.layers), len(clip.text_model.encoder.layers)


def trained_blocks(encoder: ClipEncoder) -> Blocks:
    """The blocks of which some weight is trained."""
    return _blocks_of(name for name, weight in encoder.named_parameters() if weight.requires_grad)


def blocks_with(names: Iterable[str], blocks: Blocks) -> Blocks:
    """``blocks`` and those that have one of the named weights or layers."""
    others = _blocks_of(names)
    return Blocks(*(tuple(sorted({*a, *b})) for a, b in zip(blocks, others, strict=True)))


def block_weights(encoder: ClipEncoder, blocks: Blocks) -> dict[str, nn.Parameter]:
    """All weights of these blocks, by their names in the encoder."""
    wanted = {(tower, block) for tower in Blocks._fields for block in getattr(blocks, tower)}
    return {name: weight for name, weight in encoder.named_parameters() if _place(name) in wanted}


def blocks_said(encoder: ClipEncoder, blocks: Blocks) -> tuple[str, str]:
    """The blocks of the picture tower and of the text tower in words that ``block_indices`` reads."""
    vision, text = (layers_said(chosen, count) for chosen, count in zip(blocks, block_counts(encoder), strict=True))
    return vision, text


def _blocks_of(names: Iterable[str]) -> Blocks:
    places = {place for name in names if (place := _place(name))}
    return Blocks(*(tuple(sorted(block for of, block in places if of == tower)) for tower in Blocks._fields))


def _place(name: str) -> tuple[str, int] | None:
    """Tower and block that a weight or a layer stands in, by its name; None outside the blocks."""
    for tower in Blocks._fields:
        _, found, rest = name.partition(f"{tower}_model.encoder.layers.")
        if found:
            return tower, int(rest.partition(".")[0])
    return None
