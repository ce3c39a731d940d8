"""Learn a byte-pair vocabulary in CLIP's own form, for a model that is pretrained from nothing."""

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import CLIPTokenizer

from litotes.backbones.tokenizer import clean
from litotes.errors import UserError

WORD_END = "</w>"
BOS, EOS = "<|startoftext|>", "<|endoftext|>"
SMALLEST = 2 * 256 + 2
"""Every byte, every byte at the end of a word, and the two specials."""


def train_tokenizer(texts: Iterable[str], vocabulary_size: int, folder: str | Path) -> int:
    """Learn merges from captions, write ``vocab.json`` and ``merges.txt``, return the vocabulary's real size.

    The layout is CLIP's: 256 bytes (id 0 is "!"), the same 256 with "</w>", the merged pieces in the order
    they were learnt, then <|startoftext|> and <|endoftext|>, which are the two last ids. Whatever a caption
    holds can therefore be written, and no piece is ever unknown.

    ``texts``: captions as they will be read (cleaned here the same way). ``vocabulary_size``: ids at most,
    >= 514; few or short texts give fewer. ``folder``: made when absent. The same texts give the same files.
    Errors: :class:`UserError` on a smaller ``vocabulary_size`` or when there is not one text.

    Source: byte-pair encoding as in CLIP (Radford et al. 2021); merges are counted within the pieces of
    CLIP's own splitting rule, which is taken from transformers' CLIPTokenizer and so cannot differ from its
    reading.
    """
    if vocabulary_size < SMALLEST:
        raise UserError(
            f"vocabulary of {vocabulary_size} (--vocabulary)", f"at least {SMALLEST}", "ask for a larger one"
        )
    captions = [clean(text) for text in texts]
    if not any(captions):
        raise UserError("no text to learn from", "at least one caption", "check the caption column")
    alphabet = _byte_alphabet()
    vocabulary = {piece: i for i, piece in enumerate([*alphabet, *(byte + WORD_END for byte in alphabet)])}
    merges = []
    for left, right in _learn(captions, vocabulary_size, list(vocabulary)):
        if left + right not in vocabulary:
            if len(vocabulary) >= vocabulary_size - 2:
                break
            vocabulary[left + right] = len(vocabulary)
        merges.append((left, right))
    vocabulary[BOS] = len(vocabulary)
    vocabulary[EOS] = len(vocabulary)
    _write(Path(folder), vocabulary, merges)
    return len(vocabulary)


def _byte_alphabet() -> list[str]:
    """Return the 256 printable stand-ins of the bytes in CLIP's order, "!" first.

    Printable bytes stand for themselves and come first; the others were given characters from 256 on, in
    the order of the bytes, so the order of the code points is CLIP's order.
    """
    return sorted(ByteLevel.alphabet())


def _learn(captions: list[str], vocabulary_size: int, alphabet: list[str]) -> list[tuple[str, str]]:
    reader = CLIPTokenizer(vocab={BOS: 0, EOS: 1}, merges=[]).backend_tokenizer
    learner = Tokenizer(BPE(end_of_word_suffix=WORD_END))
    learner.normalizer = reader.normalizer
    learner.pre_tokenizer = reader.pre_tokenizer
    # Given as special tokens, the alphabet has fixed ids; left to the trainer, it would be numbered in the
    # order of a hash table, and equally frequent pairs would be merged in another order on every run.
    trainer = BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=alphabet,
        end_of_word_suffix=WORD_END,
        show_progress=False,
        min_frequency=2,
    )
    learner.train_from_iterator(captions, trainer)
    merges = json.loads(learner.to_str())["model"]["merges"]
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
    return [(left, right) for left, right in pairs]


def _write(folder: Path, vocabulary: dict[str, int], merges: list[tuple[str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in merges)]
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
