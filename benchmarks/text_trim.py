"""Text encoding trimmed to the longest caption of the batch, against padded to CLIP's 77 tokens.

    python benchmarks/text_trim.py

The text tower has the size of ViT-B/32 and random weights; 64 captions of 10-20 tokens. Times are medians of a few
repetitions; the last column is the largest difference between the embeddings of both ways.
"""

from functools import partial

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.functional import pad

from common import BOS, EOS, LONGEST, SHORTEST, TINY, captions, is_smoke, median_seconds
from litotes.models.clip import VIT_B_32, new_clip
from litotes.models.lora import add_lora
from litotes.models.lora_settings import LoraSettings

CONTEXT = 77
COUNT, REPEATS = 64, 5
# The picture tower plays no part; a small one costs no time to make.
VISION = {**TINY, "image_size": 32, "patch_size": 16}


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    smoke = is_smoke(arguments, __doc__)
    text = VIT_B_32[1] | (TINY if smoke else {})
    count, repeats = (4, 1) if smoke else (COUNT, REPEATS)
    encoder = new_clip(VISION, text, VIT_B_32[2], eos=EOS, bos=BOS)
    add_lora(encoder, LoraSettings(towers="text", dropout=0.0))
    trimmed = captions(count)
    padded = pad(trimmed, (0, CONTEXT - trimmed.shape[1]))
    table = Table(title=f"{count} captions of {SHORTEST}-{LONGEST} tokens, {torch.get_num_threads()} threads")
    for head in ("what", "padded to 77, ms", "trimmed, ms", "ratio", "difference"):
        table.add_column(head, justify="left" if head == "what" else "right")

    @torch.no_grad()
    def encode(ids: Tensor) -> Tensor:
        return encoder.text_features(ids)

    def train(ids: Tensor) -> Tensor:
        features = encoder.text_features(ids)
        features.square().sum().backward()
        encoder.zero_grad()
        return features.detach()

    for name, action in (("encoding", encode), ("encoding and backward, LoRA", train)):
        slow, fast = (median_seconds(partial(action, ids), repeats) for ids in (padded, trimmed))
        difference = float((action(padded) - action(trimmed)).abs().max())
        table.add_row(name, f"{1000 * slow:.0f}", f"{1000 * fast:.0f}", f"{slow / fast:.1f}", f"{difference:.0e}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
