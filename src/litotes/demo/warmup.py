"""The warm-up of the demo's picture tower: what is in a picture, and where."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from litotes.demo.scenes import SIDE, Scene
from litotes.demo.things import COLOURS, KINDS
from litotes.demo.world import WorldPictures
from litotes.models.matcher import Matcher
from litotes.train.task import Task, Terms

NOTHING = -1
_REACH = 0.42


class _Batch(NamedTuple):
    """Pixels, shares of the labels of each picture, and the kind under each patch or NOTHING."""

    pixels: Float[Tensor, "n 3 h w"]
    shares: Float[Tensor, "n labels"]
    under: Int[Tensor, "n patches"]


class SceneWarmup(Task[_Batch]):
    """Teaches the picture tower kinds and colours before it meets captions.

    Two linear heads: one on the embedding, for the kinds and the coloured kinds of the picture (divergence from the
    uniform distribution over them); one on each patch, for the kind that covers the patch's centre (cross entropy,
    patches of the backdrop left out). The world is drawn, so it knows where its things stand; shapes that are the
    same in every colour took several times as many steps without the second head. Both heads are thrown away.
    """

    name = "warm-up"

    def __init__(self, matcher: Matcher, pictures: WorldPictures, seed: int = 0) -> None:
        self.matcher = matcher
        self.pictures = pictures
        clip = matcher.encoder.clip
        matcher.encoder.requires_grad_(False)
        clip.vision_model.requires_grad_(True)
        clip.visual_projection.requires_grad_(True)
        self.labels = {label: i for i, label in enumerate((*KINDS, *(f"{c} {k}" for c in COLOURS for k in KINDS)))}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            heads = {
                "whole": nn.Linear(matcher.dimension, len(self.labels)),
                "patch": nn.Linear(clip.config.vision_config.hidden_size, len(KINDS)),
            }
        self._module = nn.ModuleDict({"encoder": matcher.encoder, **heads})

    @property
    def module(self) -> nn.Module:
        """Encoder and heads."""
        return self._module

    def __len__(self) -> int:
        return len(self.pictures)

    def prepare(self, indices: Sequence[int]) -> _Batch:
        """Draw the pictures and read the labels off their scenes."""
        scenes = [self.pictures.scene(i)[0] for i in indices]
        shares = torch.zeros(len(scenes), len(self.labels))
        for i, scene in enumerate(scenes):
            own = [*scene.kinds, *(f"{thing.colour} {thing.kind}" for thing in scene.things)]
            shares[i, [self.labels[label] for label in own]] = 1 / len(own)
        patch = int(self.matcher.encoder.clip.config.vision_config.patch_size)
        under = torch.stack([_kinds_under(scene, patch) for scene in scenes])
        return _Batch(self.matcher.pixels(self.pictures, indices), shares, under)

    def terms(self, batch: _Batch) -> Terms:
        """The two losses, and the share of pictures whose likeliest label is right."""
        clip = self.matcher.encoder.clip
        seen = clip.vision_model(pixel_values=batch.pixels.to(self.matcher.encoder.device))
        whole = self._module["whole"](clip.visual_projection(seen.pooler_output)).float()
        shares, under = batch.shares.to(whole.device), batch.under.to(whole.device)
        patches = self._module["patch"](seen.last_hidden_state[:, 1:]).float()
        named = functional.kl_div(functional.log_softmax(whole, dim=-1), shares, reduction="batchmean")
        placed = functional.cross_entropy(patches[under != NOTHING], under[under != NOTHING])
        right = (shares.gather(1, whole.argmax(dim=1, keepdim=True)) > 0).float().mean()
        return {"loss": named + placed, "named": named, "placed": placed, "right": right}

    def identity(self) -> dict[str, object]:
        """Base and pictures."""
        return {"base": self.matcher.base, "data": repr(self.pictures)}

    def release(self) -> None:
        """Make the whole encoder trainable again."""
        self.matcher.encoder.requires_grad_(True)


def _kinds_under(scene: Scene, patch: int) -> Int[Tensor, "patches"]:
    """Index of the kind that covers the centre of each patch, row by row, or NOTHING."""
    centres = np.arange(patch / 2, SIDE, patch)
    across, down = np.meshgrid(centres, centres)
    under = np.full(across.shape, NOTHING)
    for thing in scene.things:
        near = (across - thing.x) ** 2 + (down - thing.y) ** 2 < (_REACH * thing.side) ** 2
        under[near] = KINDS.index(thing.kind)
    return torch.from_numpy(under.ravel())
