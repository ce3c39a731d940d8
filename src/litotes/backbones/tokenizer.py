"""Captions to token ids, as the CLIP reference does it, with every end token in its place."""

import hashlib
import html
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import ftfy
import torch
from jaxtyping import Int
from torch import Tensor
from transformers import CLIPTokenizer

from litotes.backbones.vocabulary import (
    WHERE_FROM,
    WORD_END,
    read_published,
    require_published,
    vocabulary_place,
    write_vocabulary,
)
from litotes.errors import UserError

PAD = 0
"""Filler behind the end token: CLIP's own, which is the ordinary token "!" there. It is never attended to by
the end token, and it is set by hand because declaring it as a pad token would change how "!" is read."""

Truncation = Literal["truncate", "refuse"]


def clean(text: str) -> str:
    """Repair and lower-case a caption before it is cut into tokens.

    ftfy.fix_text, html.unescape twice, every run of white space to one blank, ends stripped, lower case.
    ``text``: any string; the result may be empty. Source: the cleaning of the CLIP reference tokenizer, which
    the tokenizer of transformers leaves out (curly quotes and HTML entities then become other tokens).
    """
    fixed = html.unescape(html.unescape(ftfy.fix_text(text)))
    return " ".join(fixed.split()).lower()


class TextTokenizer:
    """Read captions as CLIP's byte-pair tokens, each row from start token to end token.

    ``folder``: holds ``vocab.json`` and ``merges.txt``, or ``tokenizer.json``; or it is the file
    ``bpe_simple_vocab_16e6.txt.gz`` as OpenAI published it, or the name of an installed package that holds that file
    (``vocabulary_place``). ``context_length``: most tokens a row, both specials counted, >= 3. ``truncation``: what
    happens to a caption over it. ``"truncate"`` keeps the first ``context_length`` - 2 tokens and the end token and
    counts the caption in ``truncated``; ``"refuse"`` raises. (The reference refuses by default; benchmarks hold a few
    captions that are too long.)

    Attributes: ``context_length``; ``bos``, ``eos``, the ids of both specials, as the files have them;
    ``vocabulary_size``; ``truncated``, captions cut so far; ``fingerprint``, SHA-256 of vocabulary and
    merges.

    Calling it: n strings -> Int[Tensor, "n length"], int64; ``length`` is that of the longest row, shorter
    rows end in zeros. Edges: no texts give a [0, 2] tensor; an empty caption is start and end token; a
    special token's name inside a caption ("<|endoftext|>", in any case) is read as plain characters, since
    it would otherwise hide the rest of the caption. Errors: :class:`UserError` on missing or incomplete
    files, on a single string in place of a list, on a caption that holds a character the vocabulary cannot
    write, and on a caption that is too long under ``"refuse"``.
    """

    def __init__(self, folder: str | Path, context_length: int, truncation: Truncation = "truncate") -> None:
        if context_length < 3:
            raise UserError(f"context length {context_length}", "at least 3", "take the model's own length")
        if truncation not in get_args(Truncation):
            raise UserError(f"truncation {truncation!r}", "'truncate' or 'refuse'", "name one of the two")
        self._folder = vocabulary_place(folder)
        tokenizer = _load(self._folder)
        self._backend = tokenizer.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()
        # With this the names of special tokens in a caption are cut into pieces like any other text.
        self._backend.encode_special_tokens = True
        self.context_length = context_length
        self.truncation = truncation
        content = json.loads(self._backend.to_str())
        self.bos = _special(self._folder, content, tokenizer.bos_token)
        self.eos = _special(self._folder, content, tokenizer.eos_token)
        self.vocabulary_size: int = self._backend.get_vocab_size(with_added_tokens=True)
        self.truncated = 0
        self.fingerprint = _fingerprint(content)
        _require_made(self._folder, content)

    def __call__(self, texts: Sequence[str]) -> Int[Tensor, "n length"]:
        """Read captions; see the class."""
        if isinstance(texts, str):
            raise UserError("one string", "a list of strings", "put the caption in a list")
        cleaned = [clean(_writable(text)) for text in texts]
        encodings = self._backend.encode_batch(cleaned, add_special_tokens=False)
        rows = [self._row(text, encoding.ids) for text, encoding in zip(texts, encodings, strict=True)]
        length = max((len(row) for row in rows), default=2)
        ids = torch.full((len(rows), length), PAD, dtype=torch.int64)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row, dtype=torch.int64)
        return ids

    def id_of(self, token: str) -> int:
        """The id of a token by its own spelling in the vocabulary ("M" is a byte within a word, "M</w>" ends one).

        Errors: the vocabulary has no such token.
        """
        identity = self._backend.token_to_id(token)
        if identity is None:
            raise UserError(
                f"no token {token!r} in the vocabulary of {self._folder}",
                "a byte-level vocabulary as CLIP's",
                "use the model's own tokenizer files",
            )
        return int(identity)

    def save(self, folder: str | Path) -> None:
        """Copy the vocabulary files into ``folder`` (made when absent), from which the same tokens are read.

        Of OpenAI's one file, ``vocab.json`` and ``merges.txt`` are made.
        """
        if self._folder.is_file():
            write_vocabulary(Path(folder), read_published(self._folder))
            return
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name in ("vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json"):
            source = self._folder / name
            if source.is_file() and source.resolve() != (Path(folder) / name).resolve():
                shutil.copyfile(source, Path(folder) / name)

    def _row(self, text: str, content: list[int]) -> list[int]:
        if self.bos in content or self.eos in content:
            # The unknown token of CLIP is its end token: left in, it would cut the caption without a word.
            raise UserError(
                f"caption {text!r} has a character that the vocabulary in {self._folder} cannot write",
                "a byte-level vocabulary (all 256 bytes, with and without the end of a word)",
                "use the model's own tokenizer files, or train one with litotes",
            )
        room = self.context_length - 2
        if len(content) > room:
            if self.truncation == "refuse":
                raise UserError(
                    f"caption of {len(content)} tokens: {text[:60]!r}...",
                    f"at most {room} tokens besides start and end token",
                    "shorten the caption, or let it be cut and counted (--truncation truncate)",
                )
            self.truncated += 1
        return [self.bos, *content[:room], self.eos]


def _writable(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(
            f"caption {text!r} with half a character (a lone surrogate at {error.start})",
            "text that can be written as UTF-8",
            "correct the caption in its file",
        ) from error
    return text


def require_tokenizer_files(folder: Path) -> None:
    """Refuse a folder that holds no vocabulary, without reading it, or a file that is not CLIP's by its hash."""
    folder = vocabulary_place(folder)
    if folder.is_file():
        require_published(folder)
        return
    pair = (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file()
    if not pair and not (folder / "tokenizer.json").is_file():
        raise UserError(
            f"no tokenizer files in {folder}",
            "vocab.json with merges.txt, or tokenizer.json",
            f"copy the model's own tokenizer files there; for --vocabulary, {WHERE_FROM}",
        )


def _load(folder: Path) -> Any:  # noqa: ANN401 (transformers' own class, whose types are not followed)
    require_tokenizer_files(folder)
    if folder.is_file():
        published = read_published(folder)
        return CLIPTokenizer(vocab=published.pieces, merges=published.merges)
    try:
        return CLIPTokenizer.from_pretrained(str(folder), local_files_only=True)
    except Exception as error:  # the tokenizers library raises bare Exception on malformed files
        raise UserError(
            f"tokenizer files in {folder} cannot be read: {error}",
            "files in the form that CLIPTokenizer.save_pretrained writes",
            "copy the model's tokenizer files again",
        ) from error


def _special(folder: Path, content: dict[str, Any], token: str) -> int:
    # Asked of the trained vocabulary: transformers would add a missing special token under an id that the
    # model has no embedding for.
    identity = content["model"]["vocab"].get(token)
    if identity is None:
        raise UserError(
            f"no {token} in the vocabulary of {folder}",
            "a CLIP vocabulary with <|startoftext|> and <|endoftext|>",
            "use the model's own tokenizer files",
        )
    return int(identity)


def _require_made(folder: Path, content: dict[str, Any]) -> None:
    """Refuse a vocabulary with pieces of several characters that no merge makes, as when its merges were cut off."""
    added = {token["content"] for token in content["added_tokens"]}
    made = {"".join(merge) for merge in _merges(content)}
    pieces = [piece for piece in content["model"]["vocab"] if piece not in added and piece not in made]
    unmade = [piece for piece in pieces if len(piece.removesuffix(WORD_END)) > 1]
    if unmade:
        raise UserError(
            f"{len(unmade)} pieces in the vocabulary of {folder} that no merge makes, {unmade[0]!r} the first",
            "the merges of every piece: the file of merges is cut, or of another vocabulary",
            "copy the model's own tokenizer files again, both together",
        )


def _fingerprint(content: dict[str, Any]) -> str:
    model = content["model"]
    vocabulary = sorted(model["vocab"].items(), key=lambda item: item[1])
    record = json.dumps([vocabulary, _merges(content)], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(record.encode("ascii")).hexdigest()


def _merges(content: dict[str, Any]) -> list[list[str]]:
    """The pairs that are merged, in order, however the version of tokenizers writes them."""
    return [merge.split(" ") if isinstance(merge, str) else list(merge) for merge in content["model"]["merges"]]
