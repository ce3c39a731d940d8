"""Training quadruplets: picture, true caption, negation-worded true caption, false negated caption."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from litotes.data.images import ImageFiles, Pictures, Subset
from litotes.data.tables import CAPTION, IMAGE, NEGATED, Table, column, filled, listed, read_table, title_of
from litotes.data.templates import TEMPLATES, fill
from litotes.errors import UserError


@dataclass(frozen=True)
class Quadruplets:
    """n quadruplets (I, P, P', N) as parallel tuples.

    ``pictures``: n pictures I. ``captions``: P, true of I. ``negated_positives``: P', worded with a negation
    and still true of I. ``negatives``: N, false of I. ``objects``: names of the things in each picture, or
    None when the source does not say.
    """

    pictures: Pictures
    captions: tuple[str, ...]
    negated_positives: tuple[str, ...]
    negatives: tuple[str, ...]
    objects: tuple[tuple[str, ...], ...] | None = None

    def __post_init__(self) -> None:
        parts = (self.captions, self.negated_positives, self.negatives, self.objects)
        lengths = {len(self.pictures), *(len(part) for part in parts if part is not None)}
        if len(lengths) > 1:
            raise ValueError(f"parts of a quadruplet have {sorted(lengths)} entries")

    def __len__(self) -> int:
        return len(self.captions)

    def choose(self, n: int, seed: int) -> "Quadruplets":
        """Draw ``n`` of the quadruplets without replacement.

        The same ``seed`` gives the same choice in the same order, and a smaller ``n`` the beginning of a
        larger one. Errors: :class:`UserError` when ``n`` is not within 1 .. len(self).
        """
        if not 1 <= n <= len(self):
            raise UserError(
                f"{n} quadruplets asked for (--train-num-samples)", f"1 .. {len(self)}", "ask for as many as there are"
            )
        return self.take(np.random.default_rng(seed).permutation(len(self))[:n].tolist())

    def fingerprint(self) -> str:
        """SHA-256 over the names of the pictures and all captions, in order; a resumed run must share it."""
        digest = hashlib.sha256()
        for i in range(len(self)):
            row = (self.pictures.name(i), self.captions[i], self.negated_positives[i], self.negatives[i])
            digest.update(json.dumps(row).encode())
        return digest.hexdigest()

    def contradictions(self) -> list[int]:
        """Places where N says the same as P or P', but for case, blanks and the mark at the end: true and false."""
        texts = zip(self.captions, self.negated_positives, self.negatives, strict=True)
        return [i for i, (p, p_negated, n) in enumerate(texts) if _plain(n) in (_plain(p), _plain(p_negated))]

    def take(self, indices: Sequence[int]) -> "Quadruplets":
        """Return the quadruplets at ``indices``, in that order."""
        return Quadruplets(
            Subset(self.pictures, indices),
            tuple(self.captions[i] for i in indices),
            tuple(self.negated_positives[i] for i in indices),
            tuple(self.negatives[i] for i in indices),
            None if self.objects is None else tuple(self.objects[i] for i in indices),
        )


def from_table(
    path: str | Path, root: str | Path | None = None, seed: int = 0, strip_prefix: str = "", allow_missing: int = 0
) -> Quadruplets:
    """Read quadruplets from a table, see :func:`litotes.data.tables.read_table`.

    Columns: filepath, caption, negated_caption; at will negated_positive and objects ("cat|christmas tree",
    or a JSON list). Where negated_positive is absent or blank, the caption goes into a template drawn for its
    row from ``seed``: the draw depends on seed and row number only.

    ``root``: folder of the pictures (none: the table's own). ``strip_prefix``, ``allow_missing``: see ImageFiles.
    Errors: :class:`UserError` on missing columns, blank captions, negated captions that say the same as a true one
    (both with their rows) and missing pictures.
    """
    table = read_table(path)
    captions, negatives = filled(table, *CAPTION), filled(table, *NEGATED)
    title = title_of(table, "negated_positive")
    given = [row[title] for row in table.rows] if title else [""] * len(captions)
    made = template_captions(captions, seed)
    positives = tuple(mine if own.strip() == "" else own for own, mine in zip(given, made, strict=True))
    title = title_of(table, "objects")
    objects = tuple(_objects(table, i, row[title]) for i, row in enumerate(table.rows, 1)) if title else None
    folder = table.path.parent if root is None else root
    pictures = ImageFiles(column(table, *IMAGE), folder, strip_prefix, allow_missing, table.path)
    data = Quadruplets(pictures, tuple(captions), positives, tuple(negatives), objects)
    same = [i + 1 for i in data.contradictions()]
    if same:
        raise UserError(
            f"{table.path}: {title_of(table, *NEGATED)} says the same as a true caption in {len(same)} rows: "
            f"{listed(same)}",
            "a sentence that is false of the picture, beside the true one (row 1 is the first below the header)",
            "correct or remove these rows",
        )
    return data


def template_captions(captions: Sequence[str], seed: int) -> list[str]:
    """Put every caption into one of the 26 templates, drawn for its position from ``seed``."""
    drawn = np.random.default_rng(seed).integers(len(TEMPLATES), size=len(captions))
    return [fill(TEMPLATES[k], caption) for k, caption in zip(drawn.tolist(), captions, strict=True)]


def _plain(sentence: str) -> str:
    """A sentence without what does not change its meaning: case, outer and doubled blanks, the mark at its end."""
    return " ".join(sentence.casefold().split()).rstrip(".?! ")


def _objects(table: Table, row: int, cell: str) -> tuple[str, ...]:
    names: object = cell.split("|")
    if cell.lstrip().startswith("["):
        try:
            names = json.loads(cell)
        except (ValueError, RecursionError):
            names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UserError(
            f"{table.path}, row {row}: objects {cell[:80]!r}",
            "names parted by | or a JSON list of names",
            "correct the cell",
        )
    if len(names) == 1 and "," in names[0]:
        raise UserError(
            f"{table.path}, row {row}: objects {cell[:80]!r}, one name with a comma in it",
            'names parted by | ("cat|christmas tree")',
            "write | in place of the commas",
        )
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
