"""Texts and pictures a second: Litotes against transformers' own call and, where it is installed, open_clip.

    python benchmarks/encode.py [--size ViT-B/32] [--of pictures]

Random weights of the sizes of ViT-B/32 and ViT-L/14, the same for transformers and Litotes. Texts are captions of 10-20
tokens. transformers gets them as its documentation shows, ``tokenizer(..., padding="max_length")`` at
the model's whole context and ``get_text_features``; pictures, JPEG files of 640 x 480, are opened with Pillow and go
through ``CLIPImageProcessor`` and ``get_image_features``. Litotes gets the same lists in the same batches, tokenizing,
decoding and preparing included, pictures without and with processes that decode. These are started before the turns,
as they are once in a run, and the row says how long that took. All ways of a model and kind take turns, in order and
then the other way round; turns last a few seconds at most, since a machine's speed drifts by a tenth within a minute
even when it does nothing else. Speed is from the median time; a ratio is the median of the turns' ratios, with their
quartiles. Difference: the largest between an embedding of transformers and of Litotes, in units of the largest number
in it. Pictures at ViT-L/14 take about five minutes on two such cores, pictures at ViT-B/32 two, all texts six.
"""

import argparse
import importlib
import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table
from torch import Tensor
from transformers import CLIPImageProcessor, CLIPModel, CLIPTokenizer

from common import LONGEST, SHORTEST, TINY
from litotes.backbones.preprocess import CLIP_MEAN, CLIP_STD, Preprocess
from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.data.images import ImageFiles
from litotes.data.processes import end_processes, in_processes
from litotes.models.clip import VIT_B_32, new_clip
from litotes.models.matcher import Matcher

WORDS = [
    "a",
    "the",
    "two",
    "red",
    "old",
    "dog",
    "cat",
    "street",
    "car",
    "tree",
    "man",
    "on",
    "in",
    "with",
    "near",
    "no",
]
TURNS = 24


class Size(NamedTuple):
    """A model and how much of each it is given: texts by context and pictures of one turn, batch."""

    name: str
    vision: dict[str, int]
    text: dict[str, int]
    dimension: int
    texts: dict[int, int]
    pictures: int
    batch: int


SIZES = (
    Size("ViT-B/32", *VIT_B_32, {77: 32, 248: 16}, 16, 16),
    Size(
        "ViT-L/14",
        {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
         "image_size": 224, "patch_size": 14},
        {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
         "vocab_size": 49408},
        768, {77: 8, 248: 8}, 2, 4,
    ),
)  # fmt: skip
ASKED = {77: 3.0, 248: 8.0}


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--size", choices=[size.name for size in SIZES], help="this one alone")
    parser.add_argument("--of", choices=["texts", "pictures"], help="these alone")
    asked = parser.parse_args(arguments)
    workers = 1 if asked.smoke else os.cpu_count() or 1
    table = Table(title=f"{torch.get_num_threads()} threads, {os.cpu_count()} cores, {workers} processes that decode")
    for head in ("what", "transformers /s", "open_clip /s", "Litotes /s", "ratio", "asked", "difference"):
        table.add_column(head, justify="left" if head == "what" else "right")
    for size in map(_tiny, SIZES) if asked.smoke else SIZES:
        if asked.size not in (None, size.name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            for row in text_rows(size, Path(folder)) if asked.of != "pictures" else ():
                table.add_row(*row)
            for row in picture_rows(size, Path(folder), workers) if asked.of != "texts" else ():
                table.add_row(*row)
    Console(width=140).print(table)


def _tiny(size: Size) -> Size:
    return size._replace(
        vision=size.vision | TINY, text=size.text | TINY, dimension=16, texts={77: 4, 248: 4}, pictures=3, batch=2
    )


def text_rows(size: Size, folder: Path) -> Iterator[tuple[str, ...]]:
    """One row a context."""
    for context, count in size.texts.items():
        texts = captions(count)
        matcher = random_matcher(size, context, folder / str(context))
        clip, theirs = plain_clip(matcher), CLIPTokenizer.from_pretrained(folder / str(context))
        lengths = (matcher.tokenizer(texts) != 0).sum(1)
        if not SHORTEST <= int(lengths.min()) <= int(lengths.max()) <= LONGEST:
            raise RuntimeError(f"captions of {lengths.min()} to {lengths.max()} tokens")

        def transformers(
            texts: Sequence[str], theirs: Any = theirs, clip: CLIPModel = clip, n: int = context
        ) -> Tensor:
            ids = theirs(list(texts), padding="max_length", truncation=True, max_length=n, return_tensors="pt")
            return clip.get_text_features(**ids).pooler_output

        def litotes(matcher: Matcher = matcher, texts: Sequence[str] = texts) -> Tensor:
            return matcher.encode_texts(texts, batch_size=size.batch)

        ways = {"transformers": in_batches(transformers, texts, size.batch), "litotes": litotes}
        if other := open_clip_model(size, context):
            module, model = other
            read = module.SimpleTokenizer(context_length=context)
            ways["open_clip"] = in_batches(
                lambda part, r=read, m=model: m.encode_text(r(list(part))), texts, size.batch
            )
        yield from compared(f"{size.name}, texts at context {context}", count, ways, ASKED[context])


def picture_rows(size: Size, folder: Path, workers: int) -> Iterator[tuple[str, ...]]:
    """One row of decoding and preparing alone; with the tower, one without and one with processes that decode."""
    count = size.pictures
    names = [f"{i}.jpg" for i in range(count)]
    generator = np.random.default_rng(0)
    for name in names:
        coarse = generator.integers(0, 256, (30, 40, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((640, 480), Image.Resampling.BICUBIC).save(folder / name, quality=90)
    matcher = random_matcher(size, 77, folder / "pictures")
    files, side = ImageFiles(names, folder), size.vision["image_size"]
    processor = CLIPImageProcessor(size={"shortest_edge": side}, crop_size=side)

    def pixels(part: Sequence[str]) -> Tensor:
        return processor(images=[Image.open(folder / name) for name in part], return_tensors="pt").pixel_values

    clip = plain_clip(matcher)

    def transformers(part: Sequence[str]) -> Tensor:
        return clip.get_image_features(pixel_values=pixels(part)).pooler_output

    alone = {
        "transformers": in_batches(pixels, names, size.batch),
        "litotes": lambda: matcher.pixels(files, range(len(files))),
    }
    yield from compared(f"{size.name}, {count} pictures prepared alone", count, alone, 1.0)
    ways = {"transformers": in_batches(transformers, names, size.batch)}
    if other := open_clip_model(size, 77):
        module, model = other
        transform = module.image_transform(side, is_train=False, mean=CLIP_MEAN, std=CLIP_STD)

        def open_clip(part: Sequence[str]) -> Tensor:
            return model.encode_image(torch.stack([transform(Image.open(folder / name)) for name in part]))

        ways["open_clip"] = in_batches(open_clip, names, size.batch)

    def litotes(processes: int) -> Tensor:
        matcher.workers = processes
        return matcher.encode_images(files, batch_size=size.batch)

    started = f"{workers} processes (start {seconds_to_start(workers):.1f} s)"
    ways |= {"litotes, no process": lambda: litotes(0), f"litotes, {started}": lambda: litotes(workers)}
    yield from compared(f"{size.name}, {count} pictures", count, ways, 1.0)


def seconds_to_start(workers: int) -> float:
    """Seconds until ``workers`` processes that decode have done something; they stay."""
    end_processes()
    start = time.perf_counter()
    list(in_processes(Preprocess(224).square, [Image.new("RGB", (640, 480))] * workers, workers))
    return time.perf_counter() - start


def compared(what: str, count: int, ways: dict[str, Callable[[], Tensor]], asked: float) -> Iterator[tuple[str, ...]]:
    """A row for each way of Litotes: items a second, ratio to transformers, what was asked, the difference."""
    found: dict[str, Tensor] = {}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(TURNS):
        for name in ways if turn % 2 == 0 else reversed(ways):
            start = time.perf_counter()
            found[name] = ways[name]()
            seconds[name].append(time.perf_counter() - start)
            print(f"{what}: {name}, turn {turn + 1} of {TURNS}: {seconds[name][-1]:.2f} s", file=sys.stderr)
    speed = {name: f"{count / median(times):.2f}" for name, times in seconds.items()}
    reference = found["transformers"]
    for name in (name for name in ways if name.startswith("litotes")):
        ratios = [theirs / ours for theirs, ours in zip(seconds["transformers"], seconds[name], strict=True)]
        lower, _, upper = quantiles(ratios, n=4)
        difference = (reference - found[name]).abs().max() / reference.abs().max()
        yield (
            what + name.removeprefix("litotes"), speed["transformers"], speed.get("open_clip", "–"), speed[name],
            f"{median(ratios):.2f} ({lower:.2f}–{upper:.2f})", f"{asked:g}", f"{float(difference):.0e}",
        )  # fmt: skip


def in_batches(encode: Callable[[Sequence[str]], Tensor], items: Sequence[str], size: int) -> Callable[[], Tensor]:
    """All items through ``encode``, ``size`` at a time, in their order."""

    @torch.inference_mode()
    def run() -> Tensor:
        return torch.cat([encode(items[i : i + size]) for i in range(0, len(items), size)])

    return run


def captions(count: int) -> list[str]:
    """Different captions of SHORTEST to LONGEST tokens, start and end among them."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(SHORTEST - 2, LONGEST - 2, count, endpoint=True)
    return [" ".join(generator.choice(WORDS, length)) for length in lengths]


def random_matcher(size: Size, context: int, folder: Path) -> Matcher:
    """The model with random weights, and a vocabulary in which every word is one token."""
    train_tokenizer(WORDS * 4, 1000, folder)
    tokenizer = TextTokenizer(folder, context)
    text = size.text | {"max_position_embeddings": context}
    encoder = new_clip(size.vision, text, size.dimension, eos=tokenizer.eos, bos=tokenizer.bos)
    encoder.eval()
    return Matcher(encoder, tokenizer, Preprocess(size.vision["image_size"]), size.name)


def plain_clip(matcher: Matcher) -> CLIPModel:
    """The same weights in transformers' own model, of which nothing is changed."""
    clip = CLIPModel(matcher.encoder.clip.config).eval()
    clip.load_state_dict(matcher.encoder.clip.state_dict())
    return clip


def open_clip_model(size: Size, context: int) -> tuple[Any, torch.nn.Module] | None:
    """The package and a model of that size with random weights of its own; None where it is not installed."""
    if importlib.util.find_spec("open_clip") is None:
        return None
    open_clip = importlib.import_module("open_clip")
    vision, text = size.vision, size.text
    model = open_clip.model.CLIP(
        size.dimension,
        {"layers": vision["num_hidden_layers"], "width": vision["hidden_size"], "patch_size": vision["patch_size"],
         "image_size": vision["image_size"], "head_width": vision["hidden_size"] // vision["num_attention_heads"]},
        {"context_length": context, "vocab_size": text["vocab_size"], "width": text["hidden_size"],
         "heads": text["num_attention_heads"], "layers": text["num_hidden_layers"]},
        quick_gelu=True,
    )  # fmt: skip
    return open_clip, model.eval()


if __name__ == "__main__":
    main()
