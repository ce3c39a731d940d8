"""Retrieval protocols with a name, so that a figure tells which of several of one data set it is of."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from litotes.data.flickr import read_flickr30k_test, read_flickr30k_tokens
from litotes.data.images import ImageFiles
from litotes.data.long_captions import read_sharegpt4v, read_urban1k
from litotes.data.negbench import RetrievalCaptions
from litotes.data.screening import Screening
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.counts import Source, by_counts
from litotes.evaluate.retrieval import Retrieval, depths

FLICKR_PICTURES = "flickr30k-images"
"""Folder beside the captions in which Flickr30k's pictures lie, as they are unpacked."""


@dataclass(frozen=True)
class Protocol:
    """What is searched under a name: how many pictures, and how many captions each of them has."""

    title: str
    pictures: int
    captions_each: int
    read: Callable[[Path], tuple[RetrievalCaptions, list[str]]]


PROTOCOLS = {
    "flickr30k": Protocol("Flickr30k, 1K test", 1_000, 5, lambda path: (read_flickr30k_test(path), [])),
    "flickr30k_31k": Protocol("Flickr30k, all 31K", 31_783, 5, lambda path: (read_flickr30k_tokens(path), [])),
    "urban1k": Protocol("Urban1k", 1_000, 1, read_urban1k),
    "sharegpt4v_1k": Protocol("ShareGPT4V, first 1K", 1_000, 1, lambda path: (read_sharegpt4v(path), [])),
}
"""By the name that the suite has in results."""


def protocol_suite(name: str, path: Path, config: EvaluateConfig, screening: Screening) -> Retrieval:
    """Retrieval both ways by a protocol of ``PROTOCOLS``, from its file or folder as published.

    Every caption is a query over all pictures of the protocol, every picture one over all captions. Captions are never
    left out for having no words, since the figures are to be comparable; they are counted. ``protocol`` in the result
    is the name, ``file`` whether the counts are those of the protocol, and ``notes`` say in what they differ.

    Errors: those of the readers (``data.flickr``, ``data.long_captions``); missing pictures.
    """
    protocol = PROTOCOLS[name]
    read, notes = protocol.read(path)
    left = screening.select(
        name,
        ImageFiles(read.image_paths, _root(path, read, config), config.strip_prefix, config.allow_missing, path),
        read.image_of_caption,
    )
    ks, told = depths(config.ks, len(left.pictures), left.image_of_row)
    suite = Retrieval(name, left.pictures, left.of(read.captions), left.image_of_row, ks, remarks=told)
    each = protocol.captions_each
    full = f"pictures with {each} {'caption' if each == 1 else 'captions'}"
    published = {"pictures": protocol.pictures, "captions": protocol.pictures * each, full: protocol.pictures}
    captions_of = Counter(suite.image_of_caption).values()
    found = {"pictures": len(suite.pictures), "captions": len(suite.captions), full: list(captions_of).count(each)}
    source = by_counts(protocol.title, published, found)
    return replace(suite, protocol=protocol.title, source=Source(source.file, (*notes, *source.notes)))


def _root(path: Path, read: RetrievalCaptions, config: EvaluateConfig) -> Path:
    """Folder of the pictures: as told, or the captions' own, or of bare names the one that Flickr30k unpacks into."""
    own = path if path.is_dir() else path.absolute().parent
    bare = not any("/" in name for name in read.image_paths)
    usual = own / FLICKR_PICTURES
    return config.images_root or (usual if bare and usual.is_dir() else own)
