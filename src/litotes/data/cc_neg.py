"""CC-Neg in its published layout: a pickle that is read once, safely, and the split by position."""

import os
import pickle
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from litotes.data.images import ImageFiles, sha256_of_file
from litotes.data.quadruplets import Quadruplets, template_captions
from litotes.data.tables import CAPTION, IMAGE, NEGATED, Table, column, read_table
from litotes.errors import UserError
from litotes.places import require_file_place

TOTAL, TEST_COUNT = 228_246, 40_000
"""The last 40,000 of the 228,246 triples are CC-Neg's test split; training may use the others only."""

PREFIX = "/workspace/datasets/cc3m/"
"""Beginning of every image path in the published file, a folder of its authors' machine."""

RemoveCommas = Literal["none", "negated", "both"]
Split = Literal["train", "test"]

_DO_CONVERT = "download ccneg_preprocessed.pt again, or give a table with filepath, caption, negated_caption"


def from_cc_neg(
    source: str | Path | Table,
    images_root: str | Path,
    *,
    split: Split = "train",
    remove_commas: RemoveCommas = "none",
    count: int | None = None,
    seed: int = 0,
    test_count: int = TEST_COUNT,
    allow_missing: int = 0,
) -> Quadruplets:
    """Read quadruplets from CC-Neg: P its caption, N its negated caption, P' the caption in a template.

    ``source``: ``ccneg_preprocessed.pt``, converted once into a parquet table beside it, or a table made by
    :func:`convert_cc_neg`; or what :func:`cc_neg_table` gives. ``images_root``: the folder that stands for
    ``/workspace/datasets/cc3m``. ``split``: "test" is the last ``test_count`` triples, "train" all before them.
    ``count``: draw that many (the paper: 20,000 for training) before the pictures are looked for; None takes all.
    ``seed``: of that draw and of the templates.

    ``remove_commas``: "negated" deletes every comma from N only, as the published loaders do. That is a cue
    that gives the label away; it serves comparison with their numbers. "both" deletes them from P too.

    Errors: :class:`UserError` on an unreadable or foreign file, on fewer than ``test_count`` + 1 triples, on
    a ``count`` larger than the split, and on more missing pictures than ``allow_missing``. Source: the data set's own
    loaders.
    """
    table = source if isinstance(source, Table) else cc_neg_table(source)
    total = len(table.rows)
    if total <= test_count:
        raise UserError(f"{total} triples in {table.path}", f"more than {test_count}", "use the whole file")
    first, last = (0, total - test_count) if split == "train" else (total - test_count, total)
    chosen = _choose(first, last, count, seed)
    paths, captions, negatives = (column(table, *names) for names in (IMAGE, CAPTION, NEGATED))
    negated = tuple(_commas(negatives[i], remove_commas != "none") for i in chosen)
    positive = tuple(_commas(captions[i], remove_commas == "both") for i in chosen)
    pictures = ImageFiles([paths[i] for i in chosen], images_root, allow_missing=allow_missing, table=table.path)
    return Quadruplets(pictures, positive, tuple(template_captions(positive, seed)), negated)


def cc_neg_table(source: str | Path) -> Table:
    """All triples as a table, see :func:`from_cc_neg`, whose errors for a file are those here."""
    path = Path(source)
    return read_table(_converted(path) if path.suffix.lower() in (".pt", ".pth") else path)


def convert_cc_neg(source: str | Path, out: str | Path) -> Path:
    """Write the triples of ``ccneg_preprocessed.pt`` as a parquet table and return its path.

    Columns: filepath (without the authors' prefix), caption, negated_caption, in the order of the file, which
    the split depends on. The table records the SHA-256 of the pickle. Of the pickle only dictionaries, lists,
    strings and numbers are read; nothing in it is run. Both known layouts of an annotation are read: nested
    (json.caption, sop_data.negative-prompt) and flat (caption; negative-prompt or negated_caption). The file
    is complete or absent: it is written beside ``out`` and then renamed.

    Errors: :class:`UserError`, with the reason, when the pickle asks for anything else or is not of that
    form, and when ``out`` cannot be written.
    """
    path, target = Path(source), Path(out)
    require_file_place(target)
    content = _load(path)
    paths, annotations = content["image_paths"], content["annotations"]
    columns: dict[str, list[str]] = {"filepath": [], "caption": [], "negated_caption": []}
    for i, (file, annotation) in enumerate(zip(paths, annotations, strict=True)):
        caption = _first(annotation, (("json", "caption"), ("caption",)))
        negated = _first(annotation, _NEGATED_KEYS)
        if not isinstance(file, str) or caption is None or negated is None:
            raise UserError(
                f"{path}, entry {i}: {str(annotation)[:200]}",
                "json.caption and sop_data.negative-prompt, or caption and negative-prompt",
                _DO_CONVERT,
            )
        columns["filepath"].append(file.removeprefix(PREFIX))
        columns["caption"].append(caption)
        columns["negated_caption"].append(negated)
    table = pa.table(columns).replace_schema_metadata({_SOURCE_KEY: sha256_of_file(path)})
    part = target.with_name(target.name + ".part")
    try:
        pq.write_table(table, part)
        os.replace(part, target)  # noqa: PTH105 (atomic on every system)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UserError(f"{target} cannot be written: {error}", "a writable folder", "name another") from error
    return target


_SOURCE_KEY = "litotes.source_sha256"
_NEGATED_KEYS = (
    ("sop_data", "negative-prompt"),
    ("negative-prompt",),
    ("negated_caption",),
    ("negative_caption",),
)


def _converted(path: Path) -> Path:
    """Return the table beside the pickle, made now unless it was made from this very file before."""
    if not path.is_file():
        raise UserError(f"no file {path}", "ccneg_preprocessed.pt", "check the path")
    table = path.with_suffix(".parquet")
    if table.is_file():
        try:
            recorded = (pq.read_schema(table).metadata or {}).get(_SOURCE_KEY.encode(), b"").decode()
        except (pa.ArrowException, OSError):
            recorded = ""
        if recorded == sha256_of_file(path):
            return table
        if not recorded:
            raise UserError(
                f"{table}, which was not made from {path.name} here",
                "that name free for the converted table",
                "move the table away, or give it as the source itself",
            )
    return convert_cc_neg(path, table)


def _load(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UserError(f"no file {path}", "ccneg_preprocessed.pt", "check the path")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, OSError, KeyError) as error:
        raise UserError(
            f"{path} is not read: {_reason(error)}",
            "a file of dictionaries, lists and strings (anything else could run code and is refused)",
            _DO_CONVERT,
        ) from error
    lists = [content.get(key) for key in ("image_paths", "annotations")] if isinstance(content, dict) else []
    if len(lists) != 2 or not all(isinstance(part, list) for part in lists):
        keys = ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise UserError(f"{path} holds: {keys}", "lists image_paths and annotations", _DO_CONVERT)
    if len(content["image_paths"]) != len(content["annotations"]):
        sizes = f"{len(content['image_paths'])} paths, {len(content['annotations'])} annotations"
        raise UserError(f"{path}: {sizes}", "as many of both", _DO_CONVERT)
    return content


def _reason(error: Exception) -> str:
    """Say what the pickle asked for; torch's own message goes on to advise loading it unsafely."""
    asked = re.search(r"GLOBAL (\S+)", str(error))
    return f"it asks for {asked[1]}" if asked else "it is no torch file of plain values"


def _first(annotation: object, keys: tuple[tuple[str, ...], ...]) -> str | None:
    for chain in keys:
        value = annotation
        for key in chain:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            return value
    return None


def _choose(first: int, last: int, count: int | None, seed: int) -> list[int]:
    if count is None:
        return list(range(first, last))
    if not 1 <= count <= last - first:
        raise UserError(
            f"{count} quadruplets asked for (--train-num-samples)",
            f"1 .. {last - first}",
            "ask for as many as there are",
        )
    return (first + np.random.default_rng(seed).permutation(last - first)[:count]).tolist()


def _commas(text: str, remove: bool) -> str:
    return text.replace(",", "") if remove else text
