"""Pictures and their captions, any number a picture: read, split by picture, and known by content."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int

from litotes.data.images import ImageFiles, Pictures, Subset
from litotes.data.negbench import read_retrieval
from litotes.data.screening import Screening
from litotes.data.tables import is_blank, listed
from litotes.errors import UserError

Codes = Int[np.ndarray, " n"]


@dataclass(frozen=True)
class CaptionedPictures:
    """Pictures, and for each caption the place of its picture among them.

    ``pictures``: each path once, in the order of the table. ``captions``, ``owners``: parallel, a row a caption, in
    the order of the table; owners are int64, 0 .. len(pictures) - 1.
    """

    pictures: Pictures
    captions: tuple[str, ...]
    owners: Codes

    def __len__(self) -> int:
        return len(self.captions)

    def contents(self) -> Codes:
        """A number for each picture, equal for pictures of equal content (whose files may have other names)."""
        return codes([self.pictures.digest(i) for i in range(len(self.pictures))])

    def of_pictures(self, chosen: Sequence[int]) -> "CaptionedPictures":
        """These pictures alone, with all their captions; both keep their order."""
        kept = sorted(chosen)
        place = np.full(len(self.pictures), -1)
        place[kept] = np.arange(len(kept))
        rows = np.flatnonzero(place[self.owners] >= 0)
        captions = tuple(self.captions[row] for row in rows)
        return CaptionedPictures(Subset(self.pictures, kept), captions, place[self.owners[rows]])

    def fingerprint(self) -> str:
        """SHA-256 over the rows: content of the picture, caption."""
        digests = [self.pictures.digest(i) for i in range(len(self.pictures))]
        digest = hashlib.sha256()
        for caption, owner in zip(self.captions, self.owners.tolist(), strict=True):
            digest.update(f"{digests[owner]} {len(caption)}:{caption}\n".encode())
        return digest.hexdigest()


def codes(names: Sequence[str]) -> Codes:
    """The same number for the same name, counted from 0 in the order of their first appearance."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def read_pairs(
    path: Path, root: Path | None = None, screening: Screening | None = None, what: str = "train_data"
) -> CaptionedPictures:
    """Read a table of pictures and captions: one caption a row, or NegBench's lists (``read_retrieval``).

    root: folder of the pictures; by default the table's own. screening: what becomes of missing and broken pictures,
    under the table's name ``what``; by default the first stops. Errors: those of the table and the screening; a picture
    without captions, captions without a word or without a picture.
    """
    return read_placed_pairs(path, root, screening, what)[0]


def read_placed_pairs(
    path: Path, root: Path | None = None, screening: Screening | None = None, what: str = "train_data"
) -> tuple[CaptionedPictures, list[int]]:
    """As ``read_pairs``, and for each caption that is left its place among all captions of the table, from 0 on."""
    screening = screening or Screening()
    table = read_retrieval(path)
    blank = [row for row, text in enumerate(table.captions, 1) if is_blank(text)]
    if blank:
        raise UserError(
            got=f"{path}: {len(blank)} captions without words, the {listed(blank)}. of the table",
            expected="at least one word in every caption",
            do="fill these captions, or take them out of the table",
        )
    folder = root or path.absolute().parent
    pictures = ImageFiles(table.image_paths, folder, allow_missing=screening.allow_missing, table=path)
    left = screening.select(what, pictures, table.image_of_caption)
    owners = np.array(left.image_of_row, dtype=np.int64)
    return CaptionedPictures(left.pictures, tuple(left.of(table.captions)), owners), left.rows


def split_by_picture(
    data: CaptionedPictures, fraction: float, seed: int, most: int
) -> tuple[CaptionedPictures, CaptionedPictures]:
    """A part to train on and a held-out part; pictures of equal content fall on the same side, with all captions.

    fraction: share of the different pictures to hold out, above 0 and below 1; at most ``most`` of them. Errors: a
    fraction that leaves no picture on one of the sides.
    """
    contents = data.contents()
    different = int(contents.max()) + 1
    count = min(most, round(fraction * different)) if 0 < fraction < 1 else 0
    if not 0 < count < different:
        raise UserError(
            got=f"--val-fraction {fraction} of {different} different pictures",
            expected="a fraction between 0 and 1 that leaves at least one picture on either side",
            do="give another fraction, or more pictures",
        )
    held = np.isin(contents, np.random.default_rng([seed, 7]).permutation(different)[:count])
    return data.of_pictures(np.flatnonzero(~held).tolist()), data.of_pictures(np.flatnonzero(held).tolist())


def require_disjoint(training: CaptionedPictures, held: CaptionedPictures) -> None:
    """Refuse a picture, by content, that stands on both sides."""
    seen = {training.pictures.digest(i) for i in range(len(training.pictures))}
    both = [held.pictures.name(i) for i in range(len(held.pictures)) if held.pictures.digest(i) in seen]
    if both:
        said = (
            "1 picture to validate on that is" if len(both) == 1 else f"{len(both):,} pictures to validate on that are"
        )
        raise UserError(
            got=f"{said} trained on too: {listed(both)}",
            expected="other pictures, by content",
            do="take them out of one of the tables",
        )


class KnownPairs:
    """Which captions a table says of which pictures, in whatever row: what counts as right in a batch.

    ``pictures``, ``texts``: a number for each row of the table, equal for equal contents and equal captions.
    """

    def __init__(self, pictures: Codes, texts: Codes) -> None:
        self._pictures, self._texts = pictures, texts
        self._width = int(texts.max()) + 1
        self._known = np.unique(pictures * self._width + texts)

    def matrix(self, rows: Sequence[int]) -> Bool[np.ndarray, "b b"]:
        """For rows of the table, whether the picture of row i has the caption of row j in any row; the diagonal has.

        Several captions of a picture, repeated pictures and repeated captions all match.
        """
        chosen = list(rows)
        return self.between(self._pictures[chosen], self._texts[chosen])

    def between(self, pictures: Int[np.ndarray, " p"], texts: Int[np.ndarray, " t"]) -> Bool[np.ndarray, "p t"]:
        """Whether the table says caption ``texts[j]`` of picture ``pictures[i]``, by the numbers it was made with."""
        asked = pictures[:, None] * self._width + texts
        place = np.searchsorted(self._known, asked).clip(max=len(self._known) - 1)
        return self._known[place] == asked

    def count_wrong(self) -> int:
        """How many pairs of a picture and a caption of the table it does not say in any row."""
        return len(np.unique(self._pictures)) * len(np.unique(self._texts)) - len(self._known)

    def require_wrong_pair(self) -> None:
        """Refuse a table that says every caption of every picture, of which nothing can be learnt."""
        if not self.count_wrong():
            raise UserError(
                got=f"{len(self._pictures)} pairs of which every caption is right for every picture",
                expected="at least two pictures with captions of their own",
                do="give more pictures, with captions that tell them apart",
            )
