"""Pairs of a data set that a model of pairs speaks against: labelled ones that look wrong, others that look right."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from litotes.data.pairs import CaptionedPictures, Codes, KnownPairs, codes
from litotes.errors import UserError
from litotes.evaluate.suspect_order import MissingOrder, missing_order, share_below
from litotes.metrics.correlation import spearman
from litotes.models.pair_scores import SIGMA, TOTAL, PairScorer
from litotes.models.variational import Summary, VariationalAdapter

WRONG: Literal["wrong"] = "wrong"
MISSING: Literal["missing"] = "missing"

_AT_ONCE = 4096
_OWN = 1000
"""Rows of the data, at even steps, that a sigma is compared with."""
FLAT = 0.02
"""p hardly varies where nine in ten labelled pairs are closer together than this, and their logits than the next."""
FLAT_LOGIT = 0.2
_TOO_FEW = 10
REVERSED = -0.8
"""Below it sigma is called the reverse of p."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Suspect:
    """A pair to look at.

    kind: ``wrong``, a pair of the table of low score; ``missing``, one of high score that the table does not have.
    rank: from 1 on in its kind, the most suspect first. row_of_picture, row_of_caption: rows of the data, the same of a
    wrong pair; of a missing one the first that has the picture, by content, and the first that has the caption.
    p: sigmoid(logit), which is no calibrated probability; p_match: that of the scorer's calibration, None without one.
    doubts: as of ``PairScorer.doubts``. p_percentile: how many in a hundred rows of the data have a lower logit;
    sigma_percentile: of a thousand rows at even steps (all, where they are fewer) a lower sigma, None without one.
    """

    kind: Literal["wrong", "missing"]
    rank: int
    row_of_picture: int
    row_of_caption: int
    logit: float
    p: float
    doubts: dict[str, float]
    p_percentile: float
    sigma_percentile: float | None = None
    p_match: float | None = None


@dataclass(frozen=True)
class MissingSearch:
    """How pairs that the table lacks are picked and put in order.

    order: of the list (``missing_order``). shortlist: so many pairs of highest logit are put in that order, at least as
    many as are listed; it changes nothing for ``similarity``.
    """

    order: MissingOrder = "similarity"
    shortlist: int = 0

    def candidates(self, most: int) -> int:
        """Pairs of highest logit that are needed for a list of ``most``."""
        return most if self.order == "similarity" else max(most, self.shortlist)


class _Own(NamedTuple):
    """What the pairs of the table have: the logit of each, and sigma of some at even steps, None without one."""

    logits: Tensor
    sigma: Tensor | None


def suspects(
    data: CaptionedPictures, images: Float[Tensor, "pictures d"], texts: Float[Tensor, "texts d"], scorer: PairScorer,
    most: int, progress: Callable[[int, int], None] = lambda done, total: None, labelled: Tensor | None = None,
    missing: MissingSearch | None = None,
) -> list[Suspect]:  # fmt: skip
    """The ``most`` labelled pairs of lowest logit, one a row of the data, then the ``most`` other pairs of highest.

    images, texts: features of each different picture, by content, and of each different caption, in the order of their
    first rows among ``data.contents()`` and the captions. A pair is labelled if any row has this caption beside a
    picture of this content, so that a copy of a file is no missing pair.

    Which pairs are listed is decided by the logit, of equal ones by the table's order; within the list pairs of equal
    logit stand by falling sigma, where the model has one. missing: another choice and order of the other pairs, for a
    model that has a sigma. All pairs are scored, in blocks; see ``PairScorer.highest`` for the memory. progress: of
    that scoring. labelled: `labelled_logits`, where they are known already. Fewer than ``most`` where there are no
    more. Errors: ``require_sigma``.
    """
    missing = missing or MissingSearch()
    require_sigma(missing.order, has_sigma=isinstance(scorer.model, VariationalAdapter))
    picture, text = data.contents()[data.owners], codes(data.captions)
    known = KnownPairs(picture, text)
    labelled = labelled_logits(data, images, texts, scorer) if labelled is None else labelled
    some = np.linspace(0, len(data) - 1, min(_OWN, len(data))).round().astype(np.int64)
    own = _Own(labelled, scorer.doubts(images[picture[some]], texts[text[some]]).get(SIGMA))
    rows = torch.argsort(labelled, stable=True)[:most].numpy()
    listed = _listed(WRONG, scorer, own, (images[picture[rows]], texts[text[rows]]), (rows, rows))
    found = _ranked(listed, lambda logits, sigma: missing_order(-logits, sigma), most)
    highest = scorer.highest(images, texts, missing.candidates(most), known.between, progress)
    first_of_picture, first_of_text = (np.unique(numbers, return_index=True)[1] for numbers in (picture, text))
    where = first_of_picture[highest.images.numpy()], first_of_text[highest.texts.numpy()]
    listed = _listed(MISSING, scorer, own, (images[highest.images], texts[highest.texts]), where)
    return found + _ranked(listed, partial(missing_order, order=missing.order), most)


def require_sigma(order: MissingOrder, *, has_sigma: bool) -> None:
    """Refuse an order by sigma of a model that has none."""
    if order != "similarity" and not has_sigma:
        raise UserError(
            got=f"--missing-order {order} with an adapter that knows no uncertainty but 1 - p",
            expected="--missing-order similarity, or the variational adapter",
            do="leave out --missing-order, or train an adapter with litotes train vacsr --method vacsr",
        )


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


def suspects_csv(
    found: Sequence[Suspect], data: CaptionedPictures, places: Sequence[int], summary: Summary = "mean_std"
) -> bytes:
    """The list as a CSV table in UTF-8.

    Columns: kind, rank, filepath (as the table has it), caption, row_of_picture, row_of_caption, p, logit,
    p_percentile, of a calibrated model p_match, and of one with a distribution mean_std, total_variance and
    mean_std_percentile. places: of each row of the data its place in the table, from 0 on; the rows of the CSV count
    the captions of the table from 1 on, its title row aside. summary: what sigma is, and its columns are called.
    """
    file = io.StringIO(newline="")
    table = csv.writer(file, lineterminator="\n")
    told = ("kind", "rank", "filepath", "caption", "row_of_picture", "row_of_caption")
    table.writerow([*told, *(_numbers(found[0], summary) if found else ())])
    for one in found:
        name, caption = data.pictures.name(int(data.owners[one.row_of_picture])), data.captions[one.row_of_caption]
        rows = places[one.row_of_picture] + 1, places[one.row_of_caption] + 1
        table.writerow([one.kind, one.rank, name, caption, *rows, *_numbers(one, summary).values()])
    return file.getvalue().encode()


def _numbers(one: Suspect, summary: str) -> dict[str, str]:
    """The columns of numbers of a row, by name."""
    said = {"p": f"{one.p:.6g}", "logit": f"{one.logit:.9g}", "p_percentile": f"{one.p_percentile:.4g}"}
    if one.p_match is not None:
        said["p_match"] = f"{one.p_match:.6g}"
    columns = {SIGMA: summary, TOTAL: TOTAL}
    said |= {column: f"{one.doubts[name]:.6g}" for name, column in columns.items() if name in one.doubts}
    if one.sigma_percentile is not None:
        said[f"{summary}_percentile"] = f"{one.sigma_percentile:.4g}"
    return said


def order_note(found: Sequence[Suspect], order: MissingOrder) -> str | None:
    """A sentence where sigma puts the missing pairs nearly in the reverse order of p, so that the least alike lead.

    Nearly: Spearman's correlation of sigma and logit over the listed missing pairs is -0.8 or lower. None where it is
    not, for an order that is not of sigma alone, and for ten pairs or fewer.
    """
    listed = [one for one in found if one.kind == MISSING]
    if order != "uncertainty" or len(listed) <= _TOO_FEW:
        return None
    sigma, logit = (torch.tensor(row) for row in zip(*((one.doubts[SIGMA], one.logit) for one in listed), strict=True))
    tie = spearman(sigma, logit)
    if tie is None or tie > REVERSED:
        return None
    return (
        f"among the missing pairs listed, sigma is nearly the reverse of p (Spearman {tie:.2f}): by it the pairs come "
        "first that look least like belonging together of those it was to put in order; --missing-order similarity "
        "lists those that look most like it"
    )


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
            "caption beside the same picture, by content, more than once, and each of these rows is listed"
        )
    return notes


def _listed(
    kind: Literal["wrong", "missing"], scorer: PairScorer, own: _Own, features: tuple[Tensor, Tensor],
    rows: tuple[Codes, Codes],
) -> list[Suspect]:  # fmt: skip
    """All that is known of the pairs (images_i, texts_i), as they are given. rows: of their pictures and captions."""
    if not len(rows[0]):
        return []
    logits = scorer.paired(*features).double()
    doubts = scorer.doubts(*features)
    matches = scorer.calibration(logits).tolist() if scorer.calibration else [None] * len(logits)
    places = (100 * share_below(logits, own.logits)).tolist()
    unsure = [None] * len(logits) if own.sigma is None else (100 * share_below(doubts[SIGMA], own.sigma)).tolist()
    return [
        Suspect(
            kind, i + 1, int(rows[0][i]), int(rows[1][i]), float(logits[i]), float(logits[i].sigmoid()),
            {name: float(values[i]) for name, values in doubts.items()}, places[i], unsure[i], matches[i],
        )
        for i in range(len(logits))
    ]  # fmt: skip


def _ranked(listed: Sequence[Suspect], order: Callable[[Tensor, Tensor], Tensor], most: int) -> list[Suspect]:
    """The first ``most`` of the list in an order of logits and sigma, which is 0 of a model without one."""
    logits = torch.tensor([one.logit for one in listed], dtype=torch.float64)
    sigma = torch.tensor([one.doubts.get(SIGMA, 0.0) for one in listed], dtype=torch.float64)
    places = order(logits, sigma).tolist()[:most]
    return [replace(listed[place], rank=rank) for rank, place in enumerate(places, 1)]
