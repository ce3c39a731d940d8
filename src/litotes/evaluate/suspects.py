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
FLAT = 0.02
"""p hardly varies where nine in ten labelled pairs are closer together than this, and their logits than the next."""
FLAT_LOGIT = 0.2
_TOO_FEW = 10
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Suspect:
    """A pair to look at.

    kind: ``wrong``, a pair of the table of low score; ``missing``, one of high score that the table does not have.
    rank: from 1 on in its kind, the most suspect first. row_of_picture, row_of_caption: rows of the data, the same of a
    wrong pair; of a missing one the first that has the picture, by content, and the first that has the caption.
    p: sigmoid(logit), which is no calibrated probability; p_match: that of the scorer's calibration, None without one.
    doubts: as of ``PairScorer.doubts``.
    """

    kind: Literal["wrong", "missing"]
    rank: int
    row_of_picture: int
    row_of_caption: int
    logit: float
    p: float
    doubts: dict[str, float]
    p_match: float | None = None


def suspects(
    data: CaptionedPictures, images: Float[Tensor, "pictures d"], texts: Float[Tensor, "texts d"], scorer: PairScorer,
    most: int, progress: Callable[[int, int], None] = lambda done, total: None, labelled: Tensor | None = None,
) -> list[Suspect]:  # fmt: skip
    """The ``most`` labelled pairs of lowest logit, one a row of the data, then the ``most`` other pairs of highest.

    images, texts: features of each different picture, by content, and of each different caption, in the order of their
    first rows among ``data.contents()`` and the captions. A pair is labelled if any row has this caption beside a
    picture of this content, so that a copy of a file is no missing pair.

    Which pairs are listed is decided by the logit, of equal ones by the table's order; within the list pairs of equal
    logit stand by falling sigma, where the model has one. All pairs are scored, in blocks; see ``PairScorer.highest``
    for the memory. progress: of that scoring. labelled: `labelled_logits`, where they are known already. Fewer than
    ``most`` where there are no more.
    """
    picture, text = data.contents()[data.owners], codes(data.captions)
    known = KnownPairs(picture, text)
    labelled = labelled_logits(data, images, texts, scorer) if labelled is None else labelled
    rows = torch.argsort(labelled, stable=True)[:most].numpy()
    found = _ranked(WRONG, scorer, images[picture[rows]], texts[text[rows]], rows, rows)
    highest = scorer.highest(images, texts, most, known.between, progress)
    first_of_picture, first_of_text = (np.unique(numbers, return_index=True)[1] for numbers in (picture, text))
    where = first_of_picture[highest.images.numpy()], first_of_text[highest.texts.numpy()]
    return found + _ranked(MISSING, scorer, images[highest.images], texts[highest.texts], *where)


def labelled_logits(
    data: CaptionedPictures, images: Float[Tensor, "pictures d"], texts: Float[Tensor, "texts d"], scorer: PairScorer
) -> Float[Tensor, " rows"]:
    """The logit of each row of the data, features as of `suspects`; equal for rows of one picture and one caption."""
    pairs, row = np.unique(data.contents()[data.owners] * len(texts) + codes(data.captions), return_inverse=True)
    parts = np.split(pairs, range(_AT_ONCE, len(pairs), _AT_ONCE))
    logits = [scorer.paired(images[part // len(texts)], texts[part % len(texts)]) for part in parts]
    return torch.cat(logits)[row]


def flat_note(labelled: Float[Tensor, " rows"]) -> str | None:
    """A sentence where p hardly varies over the labelled pairs, so that a list by it says little; None where it does.

    labelled: their logits. It hardly varies where the p of nine in ten of them (from the 5th to the 95th of a hundred)
    lie within 0.02, and their logits within 0.2, so that a model of small p is not taken for a flat one. Too few to
    tell are ten pairs.
    """
    if len(labelled) <= _TOO_FEW:
        return None
    rising = labelled.double().sort().values
    low, high = (float(rising[round(share * (len(rising) - 1))]) for share in (0.05, 0.95))
    p = [float(torch.sigmoid(torch.tensor(end, dtype=torch.float64))) for end in (low, high)]
    if p[1] - p[0] >= FLAT or high - low >= FLAT_LOGIT:
        return None
    return (
        f"p hardly varies: nine in ten pairs of the table have p from {p[0]:.4f} to {p[1]:.4f}, so that their "
        "order says little; train the adapter for longer, or try one of --method sigmoid --scorer cosine"
    )


def suspects_csv(found: Sequence[Suspect], data: CaptionedPictures, places: Sequence[int]) -> bytes:
    """The list as a CSV table in UTF-8.

    Columns: kind, rank, filepath (as the table has it), caption, row_of_picture, row_of_caption, p, logit, of a
    calibrated model p_match, and of one with a distribution mean_std and total_variance. places: of each row of the
    data its place in the table, from 0 on; the rows of the CSV count the captions of the table from 1 on, its title row
    aside.
    """
    doubts = [name for name in _COLUMNS if found and name in found[0].doubts]
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator="\n")
    told = ("kind", "rank", "filepath", "caption", "row_of_picture", "row_of_caption", "p", "logit")
    calibrated = ["p_match"] if found and found[0].p_match is not None else []
    table.writerow([*told, *calibrated, *(_COLUMNS[name] for name in doubts)])
    for one in found:
        name, caption = data.pictures.name(int(data.owners[one.row_of_picture])), data.captions[one.row_of_caption]
        rows = places[one.row_of_picture] + 1, places[one.row_of_caption] + 1
        match = [f"{one.p_match:.6g}"] if calibrated else []
        numbers = (f"{one.p:.6g}", f"{one.logit:.9g}", *match, *(f"{one.doubts[doubt]:.6g}" for doubt in doubts))
        table.writerow([one.kind, one.rank, name, caption, *rows, *numbers])
    return file.getvalue().encode()


def list_notes(found: Sequence[Suspect], data: CaptionedPictures) -> list[str]:
    """What whoever opens the list must know, in whole sentences: cells that look like formulas, and repeated pairs.

    The cells stay as the table has them, so that a program finds its rows again; a spreadsheet runs what begins with
    =, +, -, @, a tab or a carriage return unless it is told that the column is text.
    """
    notes = []
    cells = [(data.pictures.name(int(data.owners[one.row_of_picture])), data.captions[one.row_of_caption])
             for one in found]  # fmt: skip
    formulas = sum(any(cell.startswith(_FORMULA) for cell in row) for row in cells)
    if formulas:
        which = f"{formulas:,} rows of the list have" if formulas > 1 else "1 row of the list has"
        notes.append(
            f"{which} a caption or a path that begins with =, +, -, @, a tab or a line end: a spreadsheet may take it "
            "for a formula, so import these columns as text"
        )
    picture = data.contents()
    wrong = [one for one in found if one.kind == WRONG]
    pairs = {(int(picture[data.owners[one.row_of_picture]]), data.captions[one.row_of_caption]) for one in wrong}
    if len(pairs) < len(wrong):
        notes.append(
            f"the {len(wrong):,} pairs listed as wrong are {len(pairs):,} different ones: the table has the same "
            "caption beside the same picture more than once, and each of these rows is listed"
        )
    return notes


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
    matches = scorer.calibration(logits).tolist() if scorer.calibration else [None] * len(logits)
    keys = (row_of_caption, row_of_picture, -sigma.numpy(), (logits if kind == WRONG else -logits).numpy())
    return [
        Suspect(
            kind, rank, int(row_of_picture[i]), int(row_of_caption[i]), float(logits[i]), float(logits[i].sigmoid()),
            {name: float(values[i]) for name, values in doubts.items()}, matches[i],
        )
        for rank, i in enumerate(np.lexsort(keys).tolist(), 1)
    ]  # fmt: skip
