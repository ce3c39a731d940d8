"""Share of a training step that is spent in the objectives, with towers of the size of ViT-B/32.

    python benchmarks/objectives_share.py

One step of 64 quadruplets: forward and backward of the encoder (random weights, LoRA on q, k, v), and forward and
backward of the objectives on the same features. Captions have 10-20 tokens. Times are medians of a few repetitions.
"""

from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.functional import normalize

from common import BOS, EOS, TINY, captions, is_smoke, median_seconds
from litotes.models.clip import VIT_B_32, Sizes, new_clip
from litotes.models.lora import add_lora
from litotes.models.lora_settings import LoraSettings
from litotes.objectives.contrastive import info_nce
from litotes.objectives.hanclip import hanclip
from litotes.objectives.mirror import turning
from litotes.objectives.own_options import own_options
from litotes.objectives.statements import statement_contrast
from litotes.train.negation import STATEMENTS
from litotes.train.recipes import extended

BATCH, REPEATS = 64, 3
SMALL = ({**VIT_B_32[0], **TINY, "image_size": 64}, {**VIT_B_32[1], **TINY}, 16)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    smoke = is_smoke(arguments, __doc__)
    sizes, batch, repeats = (SMALL, 4, 1) if smoke else (VIT_B_32, BATCH, REPEATS)
    table = Table(title=f"a step of {batch} quadruplets, {torch.get_num_threads()} threads")
    for head in ("what is trained, and on which terms", "encoder, ms", "objectives, ms", "share"):
        table.add_column(head, justify="left" if head.startswith("what") else "right")
    for name, towers, texts, loss in (
        ("text tower, pictures cached: HCO + ATNL", "text", 3, hanclip_loss),
        ("both towers: HCO + ATNL", "both", 3, hanclip_loss),
        ("both towers: all terms of the extended recipe", "both", 3 + STATEMENTS, extended_loss),
    ):
        encoder_s, objective_s = measure(sizes, towers, batch, texts, loss, repeats)
        share = objective_s / (encoder_s + objective_s)
        table.add_row(name, f"{1000 * encoder_s:.0f}", f"{1000 * objective_s:.1f}", f"{100 * share:.2f} %")
    Console(width=110).print(table)


def measure(
    sizes: tuple[Sizes, Sizes, int],
    towers: str,
    batch: int,
    texts: int,
    loss: Callable[[Tensor, Tensor, float], Tensor],
    repeats: int,
) -> tuple[float, float]:
    """Seconds of the encoder and of the objectives in one step."""
    encoder = new_clip(*sizes, eos=EOS, bos=BOS)
    add_lora(encoder, LoraSettings(towers=towers))
    encoder.train()
    generator = torch.Generator().manual_seed(0)
    side = encoder.image_size
    pixels = torch.randn(batch, 3, side, side, generator=generator) if towers == "both" else None
    ids = captions(batch * texts)
    image = torch.randn(batch, sizes[2], generator=generator)
    text = torch.randn(texts, batch, sizes[2], generator=generator)
    scale = float(encoder.scale.detach())

    def encode() -> None:
        total = encoder.grouped_text_features(ids).sum()
        if pixels is not None:
            total = total + encoder.image_features(pixels).sum()
        total.backward()
        encoder.zero_grad()

    def objectives() -> None:
        leaves = image.clone().requires_grad_(), text.clone().requires_grad_()
        loss(*leaves, scale).backward()

    return median_seconds(encode, repeats), median_seconds(objectives, repeats)


def hanclip_loss(image: Tensor, text: Tensor, scale: float) -> Tensor:
    """The paper's loss on P, P' and N."""
    return hanclip(image, *text[:3]).loss


def extended_loss(image: Tensor, text: Tensor, scale: float) -> Tensor:
    """All terms of the extended recipe: P, P' and N, and four statements about each picture, half of them denials.

    A third of the pairs of a picture and a statement is true, a third false.
    """
    weights, statements = extended().negation, text[3:].transpose(0, 1)
    flat = statements.flatten(0, 1)
    number = torch.arange(len(flat))
    known = (torch.arange(len(image)).unsqueeze(1) + number) % 3
    contrast = statement_contrast(image, flat, known == 0, known == 1, number % 3)
    denials = flat[::2]
    return (
        weights.hanclip * hanclip(image, *text[:3]).loss
        + weights.options * own_options(image, statements)
        + weights.contrast * contrast.loss
        + weights.mirror * turning(denials, normalize(denials.detach().flip(0), dim=-1))
        + weights.retention * info_nce(image, text[0], scale)
    )


if __name__ == "__main__":
    main()
