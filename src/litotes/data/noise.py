"""Noisy correspondence: a training set in which a stated share of the captions hangs on the wrong picture."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Int
from numpy.typing import ArrayLike

from litotes.data.arrays import read_whole_numbers
from litotes.errors import UserError
from litotes.places import write_whole

Unit = Literal["caption", "image"]
Owners = Int[np.ndarray, "captions"]


@dataclass(frozen=True)
class Noise:
    """How much of a training set is shuffled, and what.

    ratio: share of the units that are shuffled among themselves, 0-1 (0.2 and 0.5 in the papers)
    unit: "caption" shuffles single captions; "image" whole pictures, so that all captions of one go wrong together,
        which is harder
    seed: of the choice and of the shuffle; nothing else is drawn from it
    """

    ratio: float
    unit: Unit = "caption"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.ratio <= 1:
            raise UserError(got=f"noise ratio {self.ratio}", expected="a share from 0 to 1", do="0.2 is one in five")
        if self.unit not in get_args(Unit):
            raise UserError(got=f"noise unit {self.unit!r}", expected="'caption' or 'image'", do="name one of the two")
        if self.seed < 0:
            raise UserError(got=f"noise seed {self.seed}", expected="0 or more", do="choose another seed")


def shuffled(owners: ArrayLike, noise: Noise) -> Owners:
    """The picture of each caption after the noise: all that a training run gets to see.

    Of N units (captions, or the pictures that have any), floor(ratio N) are chosen without replacement, and their
    pictures are permuted among them. No derangement is forced, as in the papers: some units keep their picture, about
    one of a whole set for single captions. ``owners``: index of the picture of each caption, 0 or more; result: int64
    [captions].

    Source: the law of PCME++ and of NCR (unit "caption") and of DECL (unit "image"), which draw from an unseeded
    generator; here the draw depends on ``noise.seed`` alone and is the same on every process.

    Errors: those of ``owners``.
    """
    clean = _owners(owners, "the pictures of the captions")
    rng = np.random.default_rng(noise.seed)
    if noise.unit == "caption":
        return _permuted(clean, noise.ratio, rng)
    images, place = np.unique(clean, return_inverse=True)
    return _permuted(images, noise.ratio, rng)[place]


def _permuted(items: Owners, ratio: float, rng: np.random.Generator) -> Owners:
    chosen = rng.choice(len(items), _floor(ratio, len(items)), replace=False)
    result = items.copy()
    result[chosen] = items[rng.permutation(chosen)]
    return result


def _floor(ratio: float, count: int) -> int:
    """floor(ratio * count), where 0.29 of 100 is 29 although 0.29 * 100 is a little less in floating point."""
    exact = ratio * count
    return round(exact) if abs(exact - round(exact)) < 1e-9 * max(1, count) else int(exact)


def wrong_pairs(owners: ArrayLike, noisy: ArrayLike) -> Bool[np.ndarray, "captions"]:
    """Which captions hang on a wrong picture: for measuring after a training, which must never see it.

    A caption that was shuffled and came back to its own picture is right. Errors: those of both; other lengths.
    """
    clean, other = _owners(owners, "the clean pictures"), _owners(noisy, "the shuffled pictures")
    if len(clean) != len(other):
        raise UserError(
            got=f"{len(other)} shuffled captions of {len(clean)}", expected="one for each", do="take those of one set"
        )
    return clean != other


def noise_record(owners: ArrayLike, noisy: ArrayLike) -> dict[str, object]:
    """What a run says of its noise: number and share of the captions that are wrong, and the hash of the assignment."""
    wrong = wrong_pairs(owners, noisy)
    return {
        "n_captions": len(wrong),
        "n_wrong": int(wrong.sum()),
        "effective_ratio": float(wrong.mean()),
        "noise_sha256": noise_sha256(noisy),
    }


def noise_sha256(noisy: ArrayLike) -> str:
    """SHA-256 of the assignment (little-endian int64, in the captions' order), whatever file it stands in."""
    return hashlib.sha256(_owners(noisy, "the shuffled pictures").astype("<i8").tobytes()).hexdigest()


def save_noise(path: Path, noisy: ArrayLike) -> str:
    """Write an assignment as NCR and BiCro do: a ``.npy`` of int64, the picture's index of each caption.

    Whole or not at all. Returns ``noise_sha256``. Errors: those of the assignment; ``OSError``.
    """
    array = _owners(noisy, "the shuffled pictures")
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    write_whole(path, buffer.getvalue())
    return noise_sha256(array)


def load_noise(path: Path, *, captions: int, images: int, sha256: str = "") -> Owners:
    """An assignment from a ``.npy`` of NCR, BiCro or ``save_noise``; nothing in the file is run.

    ``captions``, ``images``: sizes of the training set that it must fit; ``sha256``: ``noise_sha256`` that it must
    have, where it is given.

    Errors: no such file, none of these files, another number of captions, a picture that is not there, another hash.
    """
    array = read_whole_numbers(path, "the picture of each caption")
    if len(array) != captions:
        raise UserError(
            got=f"{path} with {len(array):,} captions",
            expected=f"{captions:,}, as in the training set",
            do="take the file that was drawn for this set, captions in this order",
        )
    if captions and not 0 <= int(array.min()) <= int(array.max()) < images:
        raise UserError(
            got=f"{path} with pictures {int(array.min())} to {int(array.max())}",
            expected=f"0 to {images - 1}: the training set has {images:,} pictures",
            do="take the file that was drawn for this set",
        )
    noisy = array.astype(np.int64)
    if sha256 and noise_sha256(noisy) != sha256.lower():
        raise UserError(
            got=f"{path} with SHA-256 {noise_sha256(noisy)}",
            expected=sha256.lower(),
            do="take the file of the run that is to be repeated",
        )
    return noisy


def _owners(values: ArrayLike, what: str) -> Owners:
    array = np.asarray(values)
    if array.ndim != 1 or (len(array) and array.dtype.kind not in "iu") or (len(array) and int(array.min()) < 0):
        raise UserError(
            got=f"{what}: {array.dtype} of shape {array.shape}",
            expected="one index of a picture for each caption, 0 or more",
            do="count the pictures from 0",
        )
    return array.astype(np.int64)
