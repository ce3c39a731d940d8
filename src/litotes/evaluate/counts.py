"""Whether a file has as many of everything as the published one: all that can be told where its hash is not known."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Source(NamedTuple):
    """What a result says of its file: ``file``, "published counts: NAME" or "yours"; and what must be known of it."""

    file: str
    notes: tuple[str, ...] = ()


def by_counts(name: str, published: Mapping[str, int], found: Mapping[str, int]) -> Source:
    """Whose a file is, by what is counted in it: how many the published one has, and how many there are here.

    Of another file the note says in what it differs.
    """
    if dict(found) == dict(published):
        return Source(f"published counts: {name}")
    return Source(
        "yours", (f"not {name} as published: {_told(found, published)} here, {_told(published, found)} there",)
    )


def told_of(source: Source | None, further: Sequence[str] = ()) -> dict[str, object]:
    """The fields of a result, ``further`` notes behind those of the source; none where nothing is known."""
    if source is None:
        return {"notes": list(further)} if further else {}
    return {"file": source.file, "notes": [*source.notes, *further]}


def _told(counts: Mapping[str, int], other: Mapping[str, int]) -> str:
    """The counts in which the two differ."""
    differing = (key for key in {**other, **counts} if counts.get(key) != other.get(key))
    return ", ".join(f"{counts.get(key, 0):,} {key}" for key in differing)
