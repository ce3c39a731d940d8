"""Pairs of a data set that a model of pairs speaks against: labelled ones that look wrong, others that look right."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from litotes.data.pairs import CaptionedPictures, Codes, KnownPairs, codes
from litotes.models.pair_scores import SIGMA, TOTAL, PairScorer

WRONG: Literal["wrong"] = "wrong"
MISSING: Literal["missing"] = "missing"

_COLUMNS = {SIGMA: "mean_std", TOTAL: TOTAL}
"""What the columns of the uncertainties are called; 1 - p is in the column p."""
_AT_ONCE = 4096


@dataclass(frozen=True)
class Suspect:
    """A pair to look at.

    kind: ``wrong``, a pair of the table of low score; ``missing``, one of high score that the table does not have.
    rank: from 1 on in its kind, the most suspect first. row_of_picture, row_of_caption: rows of the data, the same of a
    wrong pair; of a missing one the first that has the picture, by content, and the first that has the caption.
    p: sigmoid(logit), which is no calibrated probability. doubts: as of ``PairScorer.doubts``.
    """

    kind: Literal["wrong", "missing"]
    rank: int
    row_of_picture: int
    row_of_caption: int
    logit: float
    p: float
    doubts: dict[str, float]


def suspects(
    data: CaptionedPictures, images: Float[Tensor, "pictures d"], texts: Float[Tensor, "texts d"], scorer: PairScorer,
    most: int, progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Suspect]:  # fmt: skip
    """The ``most`` labelled pairs of lowest logit, one a row of the data, then the ``most`` other pairs of highest.

    images, texts: features of each different picture, by content, and of each different caption, in the order of their
    first rows among ``data.contents()`` and the captions. A pair is labelled if any row has this caption beside a
    picture of this content, so that a copy of a file is no missing pair.

    Which pairs are listed is decided by the logit, of equal ones by the table's order; within the list pairs of equal
    logit stand by falling sigma, where the model has one. All pairs are scored, in blocks; see ``PairScorer.highest``
    for the memory. progress: of that scoring. Fewer than ``most`` where there are no more.
    """
    picture, text = data.contents()[data.owners], codes(data.captions)
    known = KnownPairs(picture, text)
    labelled = _paired(scorer, images, texts, picture, text)
    rows = torch.argsort(labelled, stable=True)[:most].numpy()
    found = _ranked(WRONG, scorer, images[picture[rows]], texts[text[rows]], rows, rows)
    highest = scorer.highest(images, texts, most, known.between, progress)
    first_of_picture, first_of_text = (np.unique(numbers, return_index=True)[1] for numbers in (picture, text))
    where = first_of_picture[highest.images.numpy()], first_of_text[highest.texts.numpy()]
    return found + _ranked(MISSING, scorer, images[highest.images], texts[highest.texts], *where)


def suspects_csv(found: Sequence[Suspect], data: CaptionedPictures, places: Sequence[int]) -> bytes:
    """The list as a CSV table in UTF-8.

    Columns: kind, rank, filepath (as the table has it), caption, row_of_picture, row_of_caption, p, logit, and of a
    model with a distribution mean_std and total_variance. places: of each row of the data its place in the table, from
    0 on; the rows of the CSV count the captions of the table from 1 on, its title row aside.
    """
    doubts = [name for name in _COLUMNS if found and name in found[0].doubts]
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator="\n")
    told = ("kind", "rank", "filepath", "caption", "row_of_picture", "row_of_caption", "p", "logit")
    table.writerow([*told, *(_COLUMNS[name] for name in doubts)])
    for one in found:
        name, caption = data.pictures.name(int(data.owners[one.row_of_picture])), data.captions[one.row_of_caption]
        rows = places[one.row_of_picture] + 1, places[one.row_of_caption] + 1
        numbers = (f"{one.p:.6g}", f"{one.logit:.9g}", *(f"{one.doubts[doubt]:.6g}" for doubt in doubts))
        table.writerow([one.kind, one.rank, name, caption, *rows, *numbers])
    return file.getvalue().encode()


def _paired(scorer: PairScorer, images: Tensor, texts: Tensor, picture: Codes, text: Codes) -> Float[Tensor, " rows"]:
    """The logit of each row; rows of one picture and one caption have exactly the same."""
    width = len(texts)
    pairs, row = np.unique(picture * width + text, return_inverse=True)
    parts = np.split(pairs, range(_AT_ONCE, len(pairs), _AT_ONCE))
    logits = [scorer.paired(images[part // width], texts[part % width]) for part in parts]
    return torch.cat(logits)[row]


def _ranked(
    kind: Literal["wrong", "missing"], scorer: PairScorer, images: Tensor, texts: Tensor,
    row_of_picture: Codes, row_of_caption: Codes,
) -> list[Suspect]:  # fmt: skip
    """The pairs (images_i, texts_i) as a list: the most suspect logit first, then the larger sigma, then by rows."""
    if not len(images):
        return []
    logits = scorer.paired(images, texts).double()
    doubts = scorer.doubts(images, texts)
    sigma = doubts.get(SIGMA, torch.zeros_like(logits))
    keys = (row_of_caption, row_of_picture, -sigma.numpy(), (logits if kind == WRONG else -logits).numpy())
    return [
        Suspect(
            kind, rank, int(row_of_picture[i]), int(row_of_caption[i]), float(logits[i]), float(logits[i].sigmoid()),
            {name: float(values[i]) for name, values in doubts.items()},
        )
        for rank, i in enumerate(np.lexsort(keys).tolist(), 1)
    ]  # fmt: skip
