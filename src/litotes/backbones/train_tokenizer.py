"""Learn a byte-pair vocabulary in CLIP's own form, for a model that is pretrained from nothing."""

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from transformers import CLIPTokenizer

from litotes.backbones.tokenizer import clean
from litotes.backbones.vocabulary import BOS, EOS, WORD_END, Vocabulary, byte_alphabet, write_vocabulary
from litotes.errors import UserError

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
    alphabet = byte_alphabet()
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
    write_vocabulary(Path(folder), Vocabulary(vocabulary, merges))
    return len(vocabulary)


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
