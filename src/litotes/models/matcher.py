"""The matcher: an encoder with the tokenizer, picture transform and provenance that belong to it."""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

import litotes
from litotes.backbones.preprocess import Preprocess
from litotes.backbones.square import stacked
from litotes.backbones.tokenizer import TextTokenizer, Truncation
from litotes.data.images import Pictures
from litotes.data.processes import in_processes
from litotes.errors import UserError
from litotes.metrics.similarity import COSINE, Similarity
from litotes.models.clip import LEGACY_EOS, ClipEncoder, add_tensors, load_clip, local_folder, quiet_transformers
from litotes.models.pair_backbone import PairBackbone
from litotes.models.state_dict_file import Backbone
from litotes.models.tensors import permit_as_usual

Indices = Sequence[int]
PREPARED_AT_ONCE = 16
"""Pictures that a process prepares in one go."""


class Matcher:
    """What turns pictures and texts into comparable embeddings, and can say exactly what it is.

    ``encode_images`` and ``encode_texts`` give un-normalised float32 embeddings [n, d] without gradient, in eval
    mode. Texts are sorted by length and trimmed to the longest of their batch, which changes nothing but the time.
    Training calls ``encoder`` directly, with ``pixels`` and ``tokenizer`` for its inputs. ``pooled``: where it is set,
    the embeddings are those of its heads on the encoder's tokens, of length 1, instead of CLIP's own. ``notes``: what a
    person should know of a model that was read from a file. ``rounded``: whether its weights were rounded like those of
    the reference loaders, ``file_sha256``: of the file that they came from; None where nobody checked or recorded it.
    ``family``: which kind of file the weights came in (``backbones.families.Family``), None where nobody recorded it.
    ``workers``: processes that decode and prepare pictures for ``encode_images`` while the model computes; with 0, the
    default, that is done in between. The embeddings are the same, bit by bit. The processes stay for the next call
    (``in_processes``). A class of pictures that is defined in the script which was started cannot be sent to them.
    ``similarity``: how its embeddings compare. ``mask_network``: SmartCLIP's, by its own names, which nothing here
    applies (``models.masking``); empty for all others.
    """

    similarity: Similarity = COSINE

    def __init__(self, encoder: ClipEncoder, tokenizer: TextTokenizer, preprocess: Preprocess, name: str) -> None:
        self.encoder = encoder
        self.tokenizer = tokenizer
        self.preprocess = preprocess
        self.name = name
        self.adapter: str | None = None
        self.pooled: PairBackbone | None = None
        self.notes: tuple[str, ...] = ()
        self.rounded: bool | None = None
        self.file_sha256: str | None = None
        self.family: str | None = None
        self.workers = 0
        self.mask_network: Mapping[str, Tensor] = {}

    @property
    def base(self) -> str:
        """sha256 of the base weights as they are now, whatever adapter is mounted on them."""
        return self.encoder.base_fingerprint()

    @property
    def scale(self) -> float:
        """The factor on the cosine that the backbone was trained with."""
        return float(self.encoder.scale.detach())

    def pixels(self, pictures: Pictures, indices: Indices) -> Float[Tensor, "n c h w"]:
        """Preprocessed pictures, stacked."""
        return self.preprocess.normalised(stacked(self.preprocess.square, pictures, indices))

    @torch.no_grad()
    def encode_images(
        self, pictures: Pictures, indices: Indices | None = None, batch_size: int = 128
    ) -> Float[Tensor, "n d"]:
        """Un-normalised embeddings of the pictures (of ``indices`` alone where given), in their order."""
        wanted = range(len(pictures)) if indices is None else indices
        with eval_mode(self._features):
            parts = [
                self._features.image_features(batch.to(self.encoder.device)).float()
                for batch in self._batches(pictures, wanted, batch_size)
            ]
        return torch.cat(parts) if parts else torch.zeros(0, self.dimension)

    def _batches(self, pictures: Pictures, wanted: Indices, size: int) -> Iterator[Float[Tensor, "n c h w"]]:
        """Pixels in batches of ``size``; each is prepared in small parts, so that many processes have work."""
        batches = [_parts(wanted[i : i + size], PREPARED_AT_ONCE) for i in range(0, len(wanted), size)]
        every = [part for parts in batches for part in parts]
        squares = in_processes(partial(stacked, self.preprocess.square, pictures), every, self.workers)
        for parts in batches:
            yield self.preprocess.normalised(np.concatenate(list(itertools.islice(squares, len(parts)))))

    @torch.no_grad()
    def encode_texts(self, texts: Sequence[str], batch_size: int = 256) -> Float[Tensor, "n d"]:
        """Un-normalised embeddings of the texts, in their order; equal texts are encoded once."""
        unique = sorted(set(texts), key=lambda text: (len(text), text))
        if not unique:
            return torch.zeros(0, self.dimension)
        with eval_mode(self._features):
            parts = [
                self._features.text_features(self.tokenizer(unique[i : i + batch_size]).to(self.encoder.device)).float()
                for i in range(0, len(unique), batch_size)
            ]
        row = {text: i for i, text in enumerate(unique)}
        return torch.cat(parts)[[row[text] for text in texts]]

    @property
    def dimension(self) -> int:
        """Length d of an embedding."""
        return self.pooled.dimension if self.pooled else int(self.encoder.clip.config.projection_dim)

    @property
    def _features(self) -> ClipEncoder | PairBackbone:
        """What gives the embeddings."""
        return self.pooled or self.encoder

    @property
    def adapter_sha256(self) -> str | None:
        """sha256 of the weights of the mounted LoRA adapter; None without one."""
        weights = self._lora_weights()
        if not weights:
            return None
        digest = hashlib.sha256()
        add_tensors(digest, weights)
        return digest.hexdigest()

    def _lora_weights(self) -> list[tuple[str, Tensor]]:
        return [pair for pair in sorted(self.encoder.clip.state_dict().items()) if ".lora_" in pair[0]]

    @property
    def fingerprint(self) -> str:
        """sha256 of all that decides an embedding: weights, adapter, activation, vocabulary, context, picture steps."""
        digest = hashlib.sha256(self.base.encode())
        digest.update(json.dumps(self.encoder.decisive, sort_keys=True).encode())
        add_tensors(digest, self._lora_weights())
        add_tensors(digest, sorted(self.pooled.head_state().items()) if self.pooled else ())
        digest.update(f"{self.tokenizer.fingerprint} {self.tokenizer.context_length}".encode())
        digest.update(json.dumps(self.preprocess.to_dict(), sort_keys=True).encode())
        return digest.hexdigest()

    def provenance(self) -> dict[str, object]:
        """The fields that make a number traceable; they go into every result file."""
        return {
            "model": self.name,
            "base_sha256": self.base,
            "file_sha256": self.file_sha256,
            "round_like_reference": self.rounded,
            "model_notes": list(self.notes),
            "adapter": self.adapter,
            "fingerprint": self.fingerprint,
            "similarity": self.similarity.name,
            "activation": self.encoder.activation,
            "precision": "float32",
            **({"pooled_features": self.pooled.dimension} if self.pooled else {}),
            "preprocessing": self.preprocess.to_dict(),
            "context_length": self.tokenizer.context_length,
            "vocabulary_sha256": self.tokenizer.fingerprint,
            "captions_truncated": self.tokenizer.truncated,
            "tool_version": litotes.__version__,
        }

    def save(self, folder: Path) -> None:
        """Write model, tokenizer and picture transform in transformers' layout, so that other tools load it.

        Errors: an adapter is mounted, or tokens are pooled, which this layout cannot hold.
        """
        if any(".lora_" in name for name in self.encoder.clip.state_dict()):
            raise UserError(
                got="a model with a mounted adapter",
                expected="a plain model to save",
                do="save the adapter by itself, or merge it first",
            )
        if self.pooled:
            raise UserError(
                got="a model whose embeddings are pooled from tokens",
                expected="a plain CLIP, since other tools would read its untrained projections",
                do="save it with save_pair_backbone",
            )
        with quiet_transformers():
            self.encoder.clip.save_pretrained(folder)
        for file in folder.glob("*.safetensors"):
            permit_as_usual(file)
        self.tokenizer.save(folder)
        self.preprocess.save(folder)


def _parts(indices: Indices, size: int) -> list[Indices]:
    return [indices[i : i + size] for i in range(0, len(indices), size)]


@contextmanager
def eval_mode(encoder: ClipEncoder | PairBackbone) -> Iterator[None]:
    """Switches dropout off inside a block and restores the mode after it."""
    was_training = encoder.training
    encoder.eval()
    try:
        yield
    finally:
        encoder.train(was_training)


def load_matcher(
    source: str | Path, *, device: str = "cpu", truncation: Truncation = "truncate", allow_network: bool = False
) -> Matcher:
    """A matcher from one folder that holds model, tokenizer and picture transform.

    Errors: those of ``load_clip``, ``TextTokenizer`` and ``Preprocess.from_config``; a tokenizer or a picture size that
    belongs to another model.
    """
    folder = local_folder(source, allow_network)
    encoder = load_clip(folder, device=device)
    tokenizer = TextTokenizer(folder, encoder.context_length, truncation=truncation)
    preprocess = Preprocess.from_config(folder)
    _require_fit(encoder, tokenizer, preprocess, folder)
    return Matcher(encoder, tokenizer, preprocess, name=Path(source).name)


def matcher_of_file(
    backbone: Backbone, vocabulary: str | Path, name: str, *, truncation: Truncation = "truncate"
) -> Matcher:
    """A matcher of a backbone that was read from a file, which holds no vocabulary, with that of a folder.

    ``vocabulary``: a folder with tokenizer files. The backbone's notes go along. Errors: those of ``TextTokenizer``; a
    vocabulary that is larger than the model's, or whose end token is not the model's.
    """
    tokenizer = TextTokenizer(vocabulary, backbone.encoder.context_length, truncation=truncation)
    _require_fit(backbone.encoder, tokenizer, backbone.preprocess, Path(vocabulary))
    matcher = Matcher(backbone.encoder, tokenizer, backbone.preprocess, name)
    matcher.notes, matcher.mask_network, matcher.family = backbone.notes, backbone.mask_network, backbone.family
    return matcher


def _require_fit(encoder: ClipEncoder, tokenizer: TextTokenizer, preprocess: Preprocess, folder: Path) -> None:
    """Refuse parts that would run together and give wrong embeddings, or stop in the middle of a run."""
    text = encoder.clip.config.text_config
    # Configurations before transformers 4.24 say 2, which means "the largest id of the row".
    end = tokenizer.vocabulary_size - 1 if text.eos_token_id == LEGACY_EOS else text.eos_token_id
    if tokenizer.eos != end or tokenizer.vocabulary_size > text.vocab_size:
        raise UserError(
            got=f"a vocabulary of {tokenizer.vocabulary_size} with end token {tokenizer.eos} in {folder}",
            expected=f"at most {text.vocab_size} ids and end token {end}, as the model's config.json says",
            do="copy the tokenizer files that belong to this model",
        )
    if preprocess.size != encoder.image_size:
        raise UserError(
            got=f"pictures of {preprocess.size} pixels by preprocessor_config.json in {folder}",
            expected=f"{encoder.image_size} pixels, the model's own size",
            do="copy the preprocessor_config.json that belongs to this model",
        )
