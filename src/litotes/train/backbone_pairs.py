"""Training a model of pair scores together with the backbone under it: VACSR's recipes for retrieval and classes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from litotes.backbones.preprocess import Preprocess, pcmepp
from litotes.backbones.square import cropped_square
from litotes.backbones.squash import random_crop
from litotes.config import record
from litotes.data.augment import UNCHANGED, Augmentation, altered_ids, example_rng, kept_tokens
from litotes.data.noise import noise_sha256
from litotes.data.pairs import CaptionedPictures, Codes, KnownPairs, codes
from litotes.errors import UserError
from litotes.models.blocks import OwnFeatures, blocks_said, blocks_with, named_blocks, train_blocks, trained_blocks
from litotes.models.clip import text_lengths
from litotes.models.lora import adapted_layers
from litotes.models.matcher import Matcher
from litotes.models.merging import merge_adapter
from litotes.models.pair_adapter import PairModel
from litotes.models.pair_backbone import PairBackbone
from litotes.models.pair_backbone_file import Origin
from litotes.objectives.diagnostics import PairDiagnostics
from litotes.objectives.space import require_choice
from litotes.train.loop import LoopConfig
from litotes.train.optim import BackboneRates, ParameterGroup, backbone_groups
from litotes.train.pair_objectives import PairMethod, PairObjective, first_batches
from litotes.train.plan import step_seed
from litotes.train.task import Task, Terms

RECIPE = LoopConfig(
    batch_size=128, epochs=25, lr=5e-4, weight_decay=1e-4, warmup=0, schedule="step", drop_epochs=(15,),
    ramp_epoch=2, optimizer="adamp", clip_norm=2.0,
)  # fmt: skip
"""VACSR's run on COCO: what the paper states, and what it inherits from PCME++'s published configuration.

The picture tower rests in epochs 0 and 1 (``BackboneRates``), and in epoch 2 the loss is ramped up."""

BLOCKS_RECIPE = LoopConfig(
    batch_size=16, epochs=5, lr=0.0015, weight_decay=5e-4, warmup=0, schedule="cosine", optimizer="sgd", clip_norm=0.0,
)  # fmt: skip
"""VACSR's runs on classes of other distributions: what it states, and what it takes over from MMA's configuration.

128 pictures a batch on ImageNet and SUN397, 5 on EuroSAT. The rate falls at each step; in MMA's code at each epoch."""
BLOCKS_RATES = BackboneRates(text=1.0, image=1.0, layer_decay=1.0, frozen_epochs=0)
"""Of those runs: one rate for all that is trained."""

Preparation = Literal["pcmepp", "model"]


def make_trainable(
    matcher: Matcher, dimension: int = 1024, *, preparation: Preparation = "pcmepp", seed: int = 0
) -> Origin:
    """Make a model's whole backbone ready to be trained with ``BackbonePairs``; returns what it starts from.

    A mounted LoRA adapter is first merged into the weights in float32; ``matcher.pooled`` is then a fresh
    `PairBackbone` of ``dimension``, its heads drawn from ``seed``, and all weights that it uses are free. preparation
    of pictures: "pcmepp", that of the recipe, at the model's size and with its picture deviations; "model", as it is.
    """
    require_choice("preparation", preparation, get_args(Preparation))
    origin = Origin(matcher.base, matcher.adapter_sha256)
    if origin.adapter_sha256:
        merge_adapter(matcher)
    matcher.encoder.requires_grad_(requires_grad=True)
    matcher.pooled = PairBackbone(matcher.encoder, dimension, seed=seed)
    if preparation == "pcmepp":
        matcher.preprocess = recipe_pictures(matcher.preprocess)
    return origin


def make_blocks_trainable(matcher: Matcher, vision: str = "0-1", text: str = "0-2") -> Origin:
    """Make some blocks of a model ready to be trained with ``BackbonePairs``; returns what they start from.

    A mounted LoRA adapter is first merged into the weights in float32. The features stay CLIP's own, and so does the
    preparation of pictures; what is trained is said as in ``train_blocks``. Errors: those of ``train_blocks``, before
    anything is changed.
    """
    chosen = named_blocks(matcher.encoder, vision, text)
    changed = blocks_with(adapted_layers(matcher.encoder), chosen)
    origin = Origin(matcher.base, matcher.adapter_sha256, changed)
    if origin.adapter_sha256:
        merge_adapter(matcher)
    train_blocks(matcher.encoder, vision, text)
    matcher.pooled = None
    return origin


def recipe_pictures(own: Preprocess) -> Preprocess:
    """The recipe's preparation of pictures at a model's own size, and with its picture deviations."""
    return replace(pcmepp(own.size), deviations=own.deviations)


class RawPairBatch(NamedTuple):
    """Pixels of b rows, token ids of t texts, which image tokens are pooled, which pictures and texts belong together.

    The texts are the captions of these rows (t = b), or all different ones of the data (``PairMethod.pairing``).
    """

    pixels: Float[Tensor, "b c h w"]
    ids: Int[Tensor, "t length"]
    kept: Bool[Tensor, "b tokens"]
    positives: Bool[Tensor, "b t"]


class BackbonePairs(Task[RawPairBatch]):
    """Rows of pictures and captions; the model of pair scores and the backbone that gives its features are trained.

    A batch holds b rows, with all b x b pairs of their pictures and captions, or with all captions of the data for each
    picture, which are then never altered; what counts as right is as in ``FrozenPairs``. In an epoch each row is
    changed by ``augmentation``, drawn by seed, epoch and row alone, and what the loss draws depends on seed and step
    alone: neither worker processes nor a resumed run change a draw.

    matcher: its ``pooled`` is the backbone, and its picture transform ``pcmepp`` in the recipe; without it the features
    are CLIP's own (``make_blocks_trainable``), and no token can be left out of them. owners: the picture of each
    caption as the training is to see it (``data.noise``); by default the data's own. rates: of the towers against the
    run's, and how long the picture tower rests. method: what ``objective`` was made of; its seed is that of all draws.
    Errors: an adapter of another width than the backbone's features; data without any wrong pair; dropped tokens where
    none is pooled.
    """

    def __init__(
        self, matcher: Matcher, data: CaptionedPictures, objective: PairObjective, method: PairMethod, *,
        owners: Codes | None = None, rates: BackboneRates | None = None, augmentation: Augmentation | None = None,
    ) -> None:  # fmt: skip
        backbone = matcher.pooled or OwnFeatures(matcher.encoder)
        if method.kind != "cosine" and method.adapter.features != backbone.dimension:
            raise UserError(
                got=f"an adapter for features of {method.adapter.features} numbers on a backbone of "
                f"{backbone.dimension}",
                expected="one and the same width",
                do="give both the same number of features",
            )
        self.name = method.method
        self._matcher, self._backbone, self._data = matcher, backbone, data
        self._objective, self._method = objective, method
        self._rates = rates or BackboneRates()
        self._augmentation = augmentation or Augmentation()
        if matcher.pooled is None and self._augmentation.token_chance:
            raise UserError(
                got=f"token_chance = {self._augmentation.token_chance} with CLIP's own features, which pool no tokens",
                expected="token_chance = 0 with them",
                do="set it, or set matcher.pooled to the backbone that is to be trained",
            )
        self._seen = data.owners if owners is None else owners
        self._pictures, self._texts = data.contents()[self._seen], codes(data.captions)
        self._known = KnownPairs(self._pictures, self._texts)
        self._known.require_wrong_pair()
        tokenizer = matcher.tokenizer
        self._prompts = tokenizer(list(dict.fromkeys(data.captions)) if method.pairing == "all" else [])
        self._mask = tokenizer.id_of("M")
        self._words = [i for i in range(tokenizer.vocabulary_size) if i not in (tokenizer.bos, tokenizer.eos)]
        self._module = nn.ModuleDict({"backbone": backbone, "adapter": objective.module})
        self._generator = torch.Generator(device=matcher.encoder.device)
        # Of the weights as they are now: training changes them, and a resumed run starts from these.
        self.base, self._start = matcher.base, matcher.fingerprint
        self.begin_step(0)

    @property
    def module(self) -> nn.Module:
        """Backbone and model of pair scores."""
        return self._module

    @property
    def scorer(self) -> PairModel:
        """The model of pair scores."""
        return self._objective.module

    def __len__(self) -> int:
        return len(self._data)

    def prepare(self, indices: Sequence[int]) -> RawPairBatch:
        """Some rows as they are."""
        return self._prepared(indices, 0, UNCHANGED)

    def prepare_in(self, indices: Sequence[int], epoch: int) -> RawPairBatch:
        """Some rows as training sees them in an epoch."""
        return self._prepared(indices, epoch, self._augmentation)

    def terms(self, batch: RawPairBatch) -> Terms:
        """The loss, its parts, and the state of the distribution."""
        device = self._matcher.encoder.device
        image, text = self._backbone(batch.pixels.to(device), batch.ids.to(device), batch.kept.to(device))
        return self._objective.terms(image, text, batch.positives.to(device), self._generator)

    def begin_step(self, step: int) -> None:
        """Put the source of what the loss draws to where step ``step`` begins."""
        self._generator.manual_seed(step_seed(self._method.seed, step))

    def groups(self, weight_decay: float) -> list[ParameterGroup]:
        """By tower and block, heads and adapter."""
        backbone = self._backbone
        return backbone_groups(self._module, backbone.encoder, self._rates, weight_decay, backbone.heads)

    def identity(self) -> dict[str, object]:
        """Backbone as it was at the start, rows, changes, rates, model and loss; of CLIP's own features the blocks."""
        encoder, changes = self._backbone.encoder, record(self._augmentation)
        own = isinstance(self._backbone, OwnFeatures)
        return {
            "model": self._start,
            "rows": f"{self._data.fingerprint()} {noise_sha256(self._seen)}",
            "augmentation": {name: value for name, value in changes.items() if value is not None},
            "rates": record(self._rates),
            "kind": self._method.kind,
            "adapter": record(self._method.adapter),
            "objective": self._method.objective_record(),
            **({"blocks": list(blocks_said(encoder, trained_blocks(encoder)))} if own else {}),
        }

    @torch.no_grad()
    def diagnose(self, batch_size: int, batches: int = 8) -> PairDiagnostics | None:
        """The state of the distribution on the first batches of a fixed order, their rows as they are.

        None for a model without a distribution.
        """

        def one(number: int, rows: list[int]) -> PairDiagnostics | None:
            batch, device = self.prepare(rows), self._matcher.encoder.device
            image, text = self._backbone(batch.pixels.to(device), batch.ids.to(device))
            self.begin_step(number)
            return self._objective.diagnose(image, text, batch.positives.to(device), self._generator)

        return first_batches(len(self), self._method, batch_size, batches, one)

    def _prepared(self, indices: Sequence[int], epoch: int, changes: Augmentation) -> RawPairBatch:
        rows = list(indices)
        pixels = torch.stack([self._pixels(row, epoch, changes) for row in rows])
        count, seed = self._matcher.encoder.image_token_count, self._method.seed
        kept = [
            kept_tokens(count, example_rng(seed, epoch, row, "tokens"), changes.token_chance, changes.token_part)
            for row in rows
        ]
        if self._method.pairing == "all":
            ids = self._prompts
            positives = self._known.between(self._pictures[rows], np.arange(len(ids)))
        else:
            ids, positives = self._ids(rows, epoch, changes), self._known.matrix(rows)
        return RawPairBatch(pixels, ids, torch.from_numpy(np.stack(kept)), torch.from_numpy(positives))

    def _pixels(self, row: int, epoch: int, changes: Augmentation) -> Float[Tensor, "c h w"]:
        rng, own = example_rng(self._method.seed, epoch, row, "picture"), self._matcher.preprocess
        picture = self._data.pictures[int(self._seen[row])]
        if changes.area is None:
            pixels = own(random_crop(picture, rng, changes.crop))
        else:
            square = cropped_square(picture, own.size, rng, changes.area, own.deviations)
            pixels = own.normalised(square[None])[0]
        return pixels.flip(-1) if rng.random() < changes.flip else pixels

    def _ids(self, rows: list[int], epoch: int, changes: Augmentation) -> Int[Tensor, "b length"]:
        whole = self._matcher.tokenizer([self._data.captions[row] for row in rows])
        changed = [
            altered_ids(
                ids[:length].tolist(), self._mask, self._words,
                example_rng(self._method.seed, epoch, row, "caption"), changes.touched,
            )
            for row, ids, length in zip(rows, whole, text_lengths(whole).tolist(), strict=True)
        ]  # fmt: skip
        padded = torch.zeros(len(rows), max(map(len, changed)), dtype=whole.dtype)
        for place, ids in enumerate(changed):
            padded[place, : len(ids)] = torch.tensor(ids)
        return padded
