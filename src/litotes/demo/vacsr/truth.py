"""Pictures with one caption each, and of which pictures every caption is true: known, since both were made here."""

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from litotes.data.claims import many_hot
from litotes.data.images import ArrayPictures
from litotes.data.pairs import CaptionedPictures
from litotes.demo.language import Caption, Phrase, describe
from litotes.demo.scenes import Scene, paint_all, training_scenes

Claim = frozenset[str]
"""The things that a caption mentions: "cat", or "red cat" where it says the colour."""

_PLAIN = "plain"
"""A backdrop that no caption speaks of."""
_WHERE = (" above ", " below ", " the left", " the right")


@dataclass(frozen=True)
class Truth:
    """A caption is true of a picture if and only if all that it mentions is there.

    ``claims``: what each caption mentions; ``there``: what can be said of each picture, each thing with and without its
    colour.
    """

    claims: tuple[Claim, ...]
    there: tuple[Claim, ...]

    def relevance(self) -> Bool[Tensor, "pictures captions"]:
        """Whether each caption is true of each picture."""
        names = sorted(set().union(*self.claims, *self.there))
        mentioned, there = many_hot(self.claims, names), many_hot(self.there, names)
        missing = mentioned.astype(np.float32) @ (~there).astype(np.float32).T
        return torch.from_numpy(missing.T == 0)

    def holds(self, owners: np.ndarray) -> Bool[np.ndarray, " captions"]:
        """Whether the i-th caption is true of picture ``owners[i]``."""
        return np.array([claim <= self.there[owner] for claim, owner in zip(self.claims, owners, strict=True)])


@dataclass(frozen=True)
class Part:
    """Pictures and captions, the i-th caption written for the i-th picture, and what is true of what."""

    data: CaptionedPictures
    truth: Truth


def part(name: str, count: int, seed: int) -> Part:
    """``count`` scenes without a held-out pair, each with a caption of one or two of its things.

    name: of the part, which begins the pictures' names. Captions name six in ten colours, no place and no order of the
    things, so that their truth depends on what is there alone. The same for the same seed.
    """
    rng = np.random.default_rng(seed)
    scenes = list(islice(training_scenes(rng), count))
    captions = [_caption(scene, rng) for scene in scenes]
    pictures = ArrayPictures(paint_all(scenes, seed + 1000), [f"{name}-{i:05d}.png" for i in range(count)])
    texts = tuple(caption.text for caption in captions)
    truth = Truth(tuple(_claim(caption) for caption in captions), tuple(_there(scene) for scene in scenes))
    return Part(CaptionedPictures(pictures, texts, np.arange(count)), truth)


def _caption(scene: Scene, rng: np.random.Generator) -> Caption:
    while True:
        caption = describe(replace(scene, backdrop=_PLAIN), rng, mention=int(rng.integers(1, 3)))
        if not any(word in caption.text for word in _WHERE):
            return caption


def _claim(caption: Caption) -> Claim:
    return frozenset(piece.bare for piece in caption.pieces if isinstance(piece, Phrase))


def _there(scene: Scene) -> Claim:
    return frozenset(name for thing in scene.things for name in (thing.kind, f"{thing.colour} {thing.kind}"))
