"""How right names from captions are, on tables that list the things in each picture too.

    python benchmarks/caption_names.py TABLE ...

A table has a column filepath, caption or captions (a list) and objects or positive_objects (a list, or names parted by
|). No picture is opened. Printed for each table: the names that were found; of these names the shares

- of (picture, name taken for absent) in which the name is absent by the list, "denials", beside the share that any name
  has, whatever the captions say, "by chance"; and the name whose denials are least often right, by itself;
- of (picture, listed name) in which the captions mention it, "mentioned";
- of (picture, name from the captions) in which it is listed, "listed".

A name that shares its words with a listed one counts as listed, as in training. Only names that the lists of the table
use are judged, since the lists say nothing of others.
"""

import argparse
import ast
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from litotes.data.claims import many_hot, overlapping
from litotes.data.nouns import names_from_captions
from litotes.data.tables import Table, column, read_table


class Shares(NamedTuple):
    """``judged``: names that captions and lists have in common. ``worst``: the one whose denials are least often right.

    The others are shares, see above; ``worst_denials`` is that of the worst name.
    """

    judged: int
    denials: float
    chance: float
    mentioned: float
    listed: float
    worst: str
    worst_denials: float


def several(cell: str) -> list[str]:
    """The texts of a cell: of a list, of names parted by |, or the cell itself."""
    parts = ast.literal_eval(cell) if cell.startswith("[") else cell.split("|")
    return [part.strip() for part in parts if part.strip()]


def pooled(table: Table, *names: str) -> list[list[str]]:
    """By picture, the texts of a column in all its rows."""
    texts: dict[str, list[str]] = {}
    for path, cell in zip(column(table, "filepath"), column(table, *names), strict=True):
        texts.setdefault(path, []).extend(several(cell))
    return list(texts.values())


def shares(found: Sequence[Sequence[str]], listed: Sequence[Sequence[str]]) -> Shares:
    """Compare names from captions with the lists, picture by picture."""
    names = sorted({name for some in (*found, *listed) for name in some})
    near = np.zeros((len(names), len(names)), dtype=bool)
    for i, j in overlapping(names):
        near[i, j] = True
    said, there = many_hot(found, names), many_hot(listed, names)
    # A name is judged if the captions use it and the lists have one with its words.
    judged = said.any(0) & (there.any(0) @ near)
    absent, present = ~(said @ near)[:, judged], (there @ near)[:, judged]
    asked = there & (said.any(0) @ near)
    right = 1 - (absent & present).sum(0) / absent.sum(0).clip(1)
    worst = int(right.argmin())
    return Shares(
        int(judged.sum()), (~present)[absent].mean(), (~present).mean(),
        (said @ near)[asked].mean(), present[said[:, judged]].mean(),
        names[np.flatnonzero(judged)[worst]], right[worst],
    )  # fmt: skip


def main() -> None:
    """Print a paragraph for each table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path, nargs="+", metavar="TABLE")
    parser.add_argument("--captions", type=int, default=None, help="take only the first captions of each picture")
    chosen = parser.parse_args()
    for path in chosen.tables:
        table = read_table(path)
        captions = [some[: chosen.captions] for some in pooled(table, "captions", "caption")]
        found = names_from_captions(captions)
        result = shares(found, pooled(table, "objects", "positive_objects"))
        sizes = [len(some) for some in found]
        print(
            f"{path.name}: {len({name for some in found for name in some})} names, {np.mean(sizes):.2f} a picture; of "
            f"{len(sizes)} pictures {sizes.count(0)} without a name, {sizes.count(1)} with one. {result.judged} names "
            f"judged: denials {result.denials:.1%} right (by chance {result.chance:.1%}; of {result.worst} "
            f"{result.worst_denials:.1%}), mentioned {result.mentioned:.1%}, listed {result.listed:.1%}"
        )


if __name__ == "__main__":
    main()
