"""Tiny models and pictures for tests: random weights, a trained tokenizer, a picture transform."""

import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from litotes.backbones.preprocess import Preprocess
from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.data.images import ArrayPictures
from litotes.models.clip import load_clip, new_clip
from litotes.models.matcher import Matcher

FILES = Path(__file__).parent / "files"
SIDE, CONTEXT, DIMENSION = 32, 16, 24
WIDTHS = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2}


def tiny_matcher(folder, texts, *, layers=1, seed=0):
    """A CLIP of 32 dimensions with random weights, and a tokenizer trained on the texts in ``folder``."""
    size = train_tokenizer(texts, 700, folder)
    blocks = {**WIDTHS, "num_hidden_layers": layers}
    encoder = new_clip(
        {**blocks, "image_size": SIDE, "patch_size": 16},
        {**blocks, "max_position_embeddings": CONTEXT, "vocab_size": size},
        DIMENSION,
        eos=size - 1,
        bos=size - 2,
        seed=seed,
    )
    return Matcher(encoder, TextTokenizer(folder, CONTEXT), Preprocess(size=SIDE), "tiny")


def tiny_model(folder, texts, **options):
    """Write such a model in transformers' layout; returns the folder."""
    tiny_matcher(folder, texts, **options).save(folder)
    return folder


def noise_pictures(n, size=SIDE, seed=0, folder="folder/"):
    """``n`` different pictures of noise, named p0, p1, ..."""
    pixels = np.random.default_rng(seed).integers(0, 256, (n, size, size, 3), dtype=np.uint8)
    return ArrayPictures(pixels, [f"{folder}p{i}" for i in range(n)])


class FileClip:
    """The tiny CLIP of tests/files with its six pictures and six captions (as ids): numbers drawn once and kept."""

    folder = FILES / "tiny_clip"

    @classmethod
    def encoder(cls):
        return load_clip(cls.folder)

    @classmethod
    def matcher(cls):
        return Matcher(cls.encoder(), _byte_tokenizer(), Preprocess(size=32), "tiny_clip")

    @classmethod
    def pixels(cls):
        transform = Preprocess(size=32)
        return torch.stack([transform(Image.open(cls.folder / f"img_{i}.png")) for i in range(6)])

    @classmethod
    def ids(cls):
        rows = json.loads((cls.folder / "token_ids.json").read_text())
        padded = [row + [0] * (max(map(len, rows)) - len(row)) for row in rows]
        return torch.tensor(padded)

    @classmethod
    def logits(cls, encoder):
        """logits_per_image [6, 6]."""
        with torch.no_grad():
            image, text = encoder.image_features(cls.pixels()), encoder.text_features(cls.ids())
        image, text = (x / x.norm(dim=-1, keepdim=True) for x in (image, text))
        return encoder.scale.detach() * image @ text.T


@cache
def _byte_tokenizer():
    """Any tokenizer: where it stands the captions are given as ids."""
    with tempfile.TemporaryDirectory() as folder:
        train_tokenizer(["a"], 514, folder)
        return TextTokenizer(folder, 77)
