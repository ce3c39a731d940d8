"""CLIP's vocabulary as files: transformers' pair, and the one file that OpenAI published."""

import gzip
import json
from importlib.util import find_spec
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

PUBLISHED_NAME = "bpe_simple_vocab_16e6.txt.gz"
PACKAGES = ("clip", "open_clip")
"""Packages that hold the published file."""

WHERE_FROM = (
    "name a folder with vocab.json and merges.txt (those of openai/clip-vit-base-patch32 serve all four families), or "
    f"the file {PUBLISHED_NAME}: where the package clip or open_clip is installed, that name finds it there "
    "(--vocabulary open_clip); it is also in the wheel (a zip archive) that `pip download --no-deps open_clip_torch` "
    "fetches on another machine"
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


def vocabulary_place(said: str | Path) -> Path:
    """Where the vocabulary lies that a person names: that path or, of a name in ``PACKAGES``, the file inside it.

    A path that is there is always meant as such. The package is found and not imported. Errors: it is not installed,
    or is another one of that name.
    """
    name = str(said)
    if name not in PACKAGES or Path(name).exists():
        return Path(said)
    spec = find_spec(name)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / PUBLISHED_NAME).is_file():
            return Path(folder) / PUBLISHED_NAME
    found = f"whose package has no {PUBLISHED_NAME}" if spec else "which is no path, and no package that is installed"
    raise UserError(f"vocabulary {name}, {found}", "a folder, a file, or an installed package of CLIP", WHERE_FROM)


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
