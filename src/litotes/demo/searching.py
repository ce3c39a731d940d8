"""Search with a denial, counted over every query that the held-out pictures allow."""

from collections.abc import Sequence

import torch
from torch.nn.functional import normalize

from litotes.data.images import Pictures
from litotes.data.wordings import with_article
from litotes.evaluate.features import Encoder

FIRST = 6
_Kinds = Sequence[tuple[str, ...]]


def query(wanted: str, denied: str) -> str:
    """What a person types: "a cup but no tree"."""
    return f"{with_article(wanted)} but no {denied}"


def fits(kinds: tuple[str, ...], wanted: str, denied: str) -> bool:
    """Whether the query is true of a picture of these kinds."""
    return wanted in kinds and denied not in kinds


def searchable_pairs(kinds: _Kinds, first: int = FIRST) -> list[tuple[str, str]]:
    """Pairs (wanted, denied) that stand together in a picture, with at least ``first`` pictures that fit.

    Only where a picture holds both can a search show whether the denied thing counts against it.
    """
    pairs = sorted({(a, b) for some in kinds for a in some for b in some if a != b})
    return [pair for pair in pairs if sum(fits(some, *pair) for some in kinds) >= first]


def denial_search(encoder: Encoder, pictures: Pictures, kinds: _Kinds) -> dict[str, float | int] | None:
    """Share of right pictures among the first ``FIRST`` of each query "a A but no B", over all searchable pairs.

    kinds: what each picture shows. A picture is right if A is in it and B is not. ``right``: mean over the queries,
    0-1. ``denied_shown``: share of the first pictures that show B, the mistake of a model that runs after the denied
    thing. ``chance``: what a random order gets. ``queries``: how many. None where the pictures are too few for a
    single query.
    """
    pairs = searchable_pairs(kinds)
    if not pairs:
        return None
    texts = normalize(encoder.encode_texts([query(*pair) for pair in pairs]), dim=-1)
    images = normalize(encoder.encode_images(pictures), dim=-1)
    found = (texts @ images.T).topk(FIRST, dim=1).indices.tolist()
    right = [[fits(kinds[i], *pair) for i in row] for pair, row in zip(pairs, found, strict=True)]
    denied = [[pair[1] in kinds[i] for i in row] for pair, row in zip(pairs, found, strict=True)]
    chance = [[fits(some, *pair) for some in kinds] for pair in pairs]
    return {"right": _mean(right), "denied_shown": _mean(denied), "chance": _mean(chance), "queries": len(pairs)}


def _mean(rows: list[list[bool]]) -> float:
    return float(torch.tensor(rows, dtype=torch.float64).mean())
