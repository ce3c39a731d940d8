"""CLIP's vocabulary as files: transformers' pair, and the one file that OpenAI published."""

import gzip
import json
from pathlib import Path
from typing import NamedTuple

from tokenizers.pre_tokenizers import ByteLevel

from litotes.data.images import sha256_of_file
from litotes.errors import UserError

WORD_END = "</w>"
BOS, EOS = "<|startoftext|>", "<|endoftext|>"

PUBLISHED_SHA256 = "924691ac288e54409236115652ad4aa250f48203de50a9e4722a6ecd48d6804a"
"""Of bpe_simple_vocab_16e6.txt.gz, as the packages clip and open_clip hold it."""

PUBLISHED_MERGES = 49408 - 2 * 256 - 2
"""Of the file's merges CLIP uses the first ones, as many as make 49408 pieces with the bytes and both specials."""

WHERE_FROM = (
    "name a folder with vocab.json and merges.txt (those of openai/clip-vit-base-patch32 serve all four families), or "
    "the file bpe_simple_vocab_16e6.txt.gz: it lies in the installed package clip or open_clip, or in the wheel (a zip "
    "archive) that `pip download --no-deps open_clip_torch` fetches on another machine"
)


class Vocabulary(NamedTuple):
    """Every piece with its id, and the pairs that are merged, in order."""

    pieces: dict[str, int]
    merges: list[tuple[str, str]]


def byte_alphabet() -> list[str]:
    """Return the 256 printable stand-ins of the bytes in CLIP's order, "!" first.

    Printable bytes stand for themselves and come first; the others were given characters from 256 on, in
    the order of the bytes, so the order of the code points is CLIP's order.
    """
    return sorted(ByteLevel.alphabet())


def write_vocabulary(folder: Path, vocabulary: Vocabulary) -> None:
    """Write ``vocab.json`` and ``merges.txt`` into ``folder`` (made when absent)."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in vocabulary.merges)]
    (folder / "vocab.json").write_text(json.dumps(vocabulary.pieces, ensure_ascii=False), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def require_published(path: Path) -> None:
    """Refuse a file that is not, byte for byte, OpenAI's ``bpe_simple_vocab_16e6.txt.gz``."""
    found = sha256_of_file(path)
    if found != PUBLISHED_SHA256:
        raise UserError(
            f"{path} with sha256 {found}, named as the vocabulary",
            f"a folder of tokenizer files, or bpe_simple_vocab_16e6.txt.gz with sha256 {PUBLISHED_SHA256}",
            WHERE_FROM,
        )


def read_published(path: Path) -> Vocabulary:
    """CLIP's vocabulary from OpenAI's ``bpe_simple_vocab_16e6.txt.gz``, which is checked by its hash first.

    The file has a line of heading, then one merge a line. Ids: the 256 bytes, the same with the end of a word, what
    each merge makes, start and end token. Errors: :class:`UserError` on any other file.
    """
    require_published(path)
    lines = gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")
    merges = [(left, right) for left, right in map(str.split, lines[1 : 1 + PUBLISHED_MERGES])]
    alphabet = byte_alphabet()
    made = [left + right for left, right in merges]
    pieces = [*alphabet, *(byte + WORD_END for byte in alphabet), *made, BOS, EOS]
    return Vocabulary({piece: i for i, piece in enumerate(pieces)}, merges)
