"""Pretraining a small CLIP from scratch: a warm-up on words, then contrastive pairs."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from litotes.data.images import Pictures
from litotes.models.matcher import Matcher
from litotes.objectives.contrastive import info_nce, repeat_matrix
from litotes.train.task import Task, Terms
from litotes.types import Column

Words = Sequence[str]


class WordWarmup(Task[tuple[Tensor, Tensor]]):
    """Teaches the picture tower which words belong to a picture, before any contrast.

    A linear head on the picture embedding predicts the words; the loss is the Kullback-Leibler divergence from the
    uniform distribution over the picture's own words to the head's softmax. A small CLIP that starts contrastive
    training from here learns in minutes what takes it hours from scratch, since each picture brings its own signal
    and none depends on what else is in the batch. Weakly supervised training on caption words is Joulin et al. 2016.

    words: those of each picture, at least one. data: what a resumed run must have been trained on; by default a
    fingerprint of names and words, which takes a pass over all of them. seed: of the head's weights.
    """

    name = "warm-up"

    def __init__(
        self, matcher: Matcher, pictures: Pictures, words: Column[Words], *, data: str | None = None, seed: int = 0
    ) -> None:
        self.matcher = matcher
        self.pictures = pictures
        self.words = words
        self.vocabulary = sorted({word for i in range(len(words)) for word in words[i]})
        self.row = {word: i for i, word in enumerate(self.vocabulary)}
        encoder = matcher.encoder
        encoder.clip.text_model.requires_grad_(False)
        encoder.clip.text_projection.requires_grad_(False)
        encoder.clip.logit_scale.requires_grad_(False)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            head = nn.Linear(matcher.dimension, len(self.vocabulary))
        self._module = nn.ModuleDict({"encoder": encoder, "head": head.to(encoder.device)})
        self._identity = {"base": matcher.base, "data": data or _fingerprint(pictures, words)}

    @property
    def module(self) -> nn.Module:
        """Encoder and word head."""
        return self._module

    def __len__(self) -> int:
        return len(self.pictures)

    def prepare(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Pixels [n, 3, h, w] and targets [n, words], each row summing to 1."""
        targets = torch.zeros(len(indices), len(self.vocabulary))
        for i, index in enumerate(indices):
            own = [self.row[word] for word in dict.fromkeys(self.words[index])]
            targets[i, own] = 1 / len(own)
        return self.matcher.pixels(self.pictures, indices), targets

    def terms(self, batch: tuple[Tensor, Tensor]) -> Terms:
        """The divergence, in nats."""
        pixels, targets = batch
        device = self.matcher.encoder.device
        logits = self._module["head"](self.matcher.encoder.image_features(pixels.to(device)))
        log_predicted = functional.log_softmax(logits.float(), dim=-1)
        return {"loss": functional.kl_div(log_predicted, targets.to(device), reduction="batchmean")}

    def identity(self) -> dict[str, object]:
        """Data, words and starting weights."""
        return {"pictures": len(self.pictures), "words": len(self.vocabulary), **self._identity}

    def release(self) -> None:
        """Make the whole encoder trainable again."""
        self.matcher.encoder.requires_grad_(True)


class Contrastive(Task[tuple[Tensor, Tensor, Tensor]]):
    """CLIP's own training: symmetric InfoNCE with a learned logit scale, both towers trained.

    Pairs of a batch that share a picture or a caption are taken out of each other's denominators (``repeats =
    "masked"``), so that nothing is pushed away from itself. The logit scale is kept within [0, ln 100].

    data: what a resumed run must have been trained on; by default a fingerprint of names and captions.
    """

    name = "pretrain"

    def __init__(self, matcher: Matcher, pictures: Pictures, captions: Column[str], *, data: str | None = None) -> None:
        self.matcher = matcher
        self.pictures = pictures
        self.captions = captions
        matcher.encoder.requires_grad_(True)
        self._identity = {
            "base": matcher.base, "scale": matcher.scale, "data": data or _fingerprint(pictures, captions)
        }  # fmt: skip

    @property
    def module(self) -> nn.Module:
        """The encoder."""
        return self.matcher.encoder

    def __len__(self) -> int:
        return len(self.pictures)

    def prepare(self, indices: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Pixels, token ids and the matrix of repeats."""
        captions = [self.captions[i] for i in indices]
        names = [self.pictures.name(i) for i in indices]
        pixels = self.matcher.pixels(self.pictures, indices)
        return pixels, self.matcher.tokenizer(captions), repeat_matrix(names, captions)

    def terms(self, batch: tuple[Tensor, Tensor, Tensor]) -> Terms:
        """The symmetric loss."""
        pixels, ids, repeats = batch
        encoder = self.matcher.encoder
        image = encoder.image_features(pixels.to(encoder.device)).float()
        text = encoder.text_features(ids.to(encoder.device)).float()
        loss = info_nce(image, text, encoder.scale, positives=repeats, repeats="masked")
        return {"loss": loss, "scale": encoder.scale.detach()}

    def identity(self) -> dict[str, object]:
        """Data and starting weights."""
        return {"pictures": len(self.pictures), **self._identity}

    def constrain(self) -> None:
        """Keep the logit scale where CLIP keeps it."""
        with torch.no_grad():
            self.matcher.encoder.clip.logit_scale.clamp_(0, math.log(100))


def _fingerprint(pictures: Pictures, texts: Column[object]) -> str:
    """sha256 over the names of the pictures and what belongs to each, in order."""
    digest = hashlib.sha256()
    for i in range(len(pictures)):
        digest.update(json.dumps((pictures.name(i), texts[i])).encode())
    return digest.hexdigest()


def content_words(captions: Sequence[str], fewest: int = 3, largest_share: float = 0.2) -> list[tuple[str, ...]]:
    """The telling words of each caption: those in at least ``fewest`` captions and at most a share of them.

    A caption without such a word gets its rarest one, so that every picture has a target.
    """
    split = [tuple(dict.fromkeys(word.strip(".,;:!?\"'").lower() for word in c.split())) for c in captions]
    split = [tuple(word for word in words if word) or ("",) for words in split]
    count = Counter(word for words in split for word in words)
    most = largest_share * len(captions)
    chosen = []
    for words in split:
        telling = tuple(word for word in words if fewest <= count[word] <= most)
        chosen.append(telling or (min(words, key=lambda word: (count[word], word)),))
    return chosen
