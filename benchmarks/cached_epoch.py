"""An epoch of adapting the text tower, with the pictures' features cached and without.

    python benchmarks/cached_epoch.py

Towers of the sizes of ViT-B/32 and ViT-B/16 with random weights; 32 quadruplets of JPEG pictures (640 x 480) and
captions of 10-20 tokens; LoRA on q, k, v of the text tower, so that the picture tower is frozen. Without a cache each
epoch decodes and encodes every picture again. One epoch of each is timed, and the pass that fills the cache, which is
paid once. The ratio is 1 + (time of a picture) / (time of its texts, forward and backward): it grows with the picture
tower and falls with the number of texts a picture.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table

from common import TINY, is_smoke
from litotes.backbones.preprocess import Preprocess
from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.data.images import ImageFiles
from litotes.data.quadruplets import Quadruplets
from litotes.models.clip import VIT_B_32, new_clip
from litotes.models.lora import add_lora
from litotes.models.lora_settings import LoraSettings
from litotes.models.matcher import Matcher
from litotes.train.loop import LoopConfig, train
from litotes.train.negation import Negation, NegationConfig

COUNT, BATCH = 32, 32
WIDTH, HEIGHT = 640, 480
WORDS = ("red", "small", "old", "cat", "boat", "tree", "house", "street", "woman", "dog", "table", "hat", "river")

HANCLIP = "HCO + ATNL (three texts)", NegationConfig()
INFONCE = "InfoNCE (one text)", NegationConfig(hanclip=0.0, retention=1.0)


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    smoke = is_smoke(arguments, __doc__)
    count, batch = (4, 2) if smoke else (COUNT, BATCH)
    table = Table(title=f"an epoch of {count} quadruplets in batches of {batch}, {torch.get_num_threads()} threads")
    for head in ("picture tower, and terms", "fill the cache, s", "epoch without, s", "epoch with, s", "ratio"):
        table.add_column(head, justify="left" if head.startswith("picture") else "right")
    rows = (("ViT-B/32", 32, HANCLIP), ("ViT-B/32", 32, INFONCE), ("ViT-B/16", 16, HANCLIP), ("ViT-B/16", 16, INFONCE))
    with tempfile.TemporaryDirectory() as folder:
        data = quadruplets(Path(folder) / "pictures", count)
        for i, (tower, patch, (terms, config)) in enumerate(rows):
            matcher = text_adapted(Path(folder) / "tokenizer", data, patch, smoke)
            begun = time.perf_counter()
            task = Negation(matcher, data, config)
            fill = time.perf_counter() - begun
            cached = epoch_seconds(task, Path(folder) / f"{i} with", batch)
            task.images = None
            without = epoch_seconds(task, Path(folder) / f"{i} without", batch)
            figures = f"{fill:.1f}", f"{without:.1f}", f"{cached:.1f}", f"{without / cached:.1f}"
            table.add_row(f"{tower}, {terms}", *figures)
    Console(width=110).print(table)


def epoch_seconds(task: Negation, run: Path, batch: int) -> float:
    """Seconds of one epoch in the training loop."""
    begun = time.perf_counter()
    train(task, LoopConfig(batch_size=batch, save_every=0), run, quiet=True)
    return time.perf_counter() - begun


def text_adapted(folder: Path, data: Quadruplets, patch: int, smoke: bool) -> Matcher:
    """A CLIP with an adapter on its text tower; its vocabulary is that of the captions, which costs no time."""
    size = train_tokenizer([*data.captions, *data.negated_positives, *data.negatives], 2000, folder)
    vision, text, dimension = VIT_B_32
    vision = {**vision, "patch_size": patch}
    if smoke:
        vision, text = {**vision, **TINY, "image_size": 64}, {**text, **TINY}
    encoder = new_clip(vision, {**text, "vocab_size": size}, dimension, eos=size - 1, bos=size - 2)
    add_lora(encoder, LoraSettings(towers="text"))
    return Matcher(encoder, TextTokenizer(folder, encoder.context_length), Preprocess(encoder.image_size), "random")


def quadruplets(folder: Path, count: int) -> Quadruplets:
    """Pictures of coloured clouds and captions of random words."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for i in range(count):
        clouds = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        clouds.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC).save(folder / f"{i}.jpg", quality=90)
    captions = tuple(" ".join(rng.choice(WORDS, rng.integers(8, 13)).tolist()) for _ in range(count))
    return Quadruplets(
        ImageFiles([f"{i}.jpg" for i in range(count)], folder),
        captions,
        tuple(f"this is not {caption}" for caption in captions),
        tuple(f"{caption} and no {WORDS[i % len(WORDS)]}" for i, caption in enumerate(captions)),
    )


if __name__ == "__main__":
    main()
