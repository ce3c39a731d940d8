"""Which pictures an adapter of pairs was trained on, kept beside it, so that it is not judged by them."""

import json
from dataclasses import dataclass
from pathlib import Path

from litotes.data.pairs import CaptionedPictures
from litotes.data.tables import listed
from litotes.errors import UserError

TRAINED_ON = "trained_on.json"
_DIGITS = 16


@dataclass(frozen=True)
class TrainedOn:
    """The data of a training, without the pictures themselves.

    split_sha256: ``CaptionedPictures.fingerprint``. captions: how many. pictures: the first 16 digits of the SHA-256 of
    each different picture's content.
    """

    split_sha256: str
    captions: int
    pictures: frozenset[str]


def trained_on(data: CaptionedPictures) -> TrainedOn:
    """What is kept of these data."""
    digests = frozenset(data.pictures.digest(i)[:_DIGITS] for i in range(len(data.pictures)))
    return TrainedOn(data.fingerprint(), len(data), digests)


def write_trained_on(found: TrainedOn, folder: Path) -> None:
    """Write it into the folder of an adapter, a picture a line."""
    values = {"split_sha256": found.split_sha256, "captions": found.captions, "pictures": sorted(found.pictures)}
    (folder / TRAINED_ON).write_text(json.dumps(values, indent=0) + "\n", encoding="utf-8")


def read_trained_on(folder: Path) -> TrainedOn | None:
    """What is kept in the folder of an adapter; None where nothing is. Errors: a file that is not of this form."""
    path = folder / TRAINED_ON
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        pictures = values["pictures"]
        if not isinstance(pictures, list) or not all(isinstance(one, str) for one in pictures):
            raise TypeError("pictures that are no list of digests")
        return TrainedOn(str(values["split_sha256"]), int(values["captions"]), frozenset(pictures))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            got=f"{path}, which does not tell which pictures the adapter was trained on",
            expected="the file as litotes train vacsr writes it",
            do="copy the adapter again",
        ) from error


def require_untrained(data: CaptionedPictures, folder: Path) -> None:
    """Refuse pictures that the adapter in ``folder`` was trained on, by content, where that is known."""
    known = read_trained_on(folder)
    if known is None:
        return
    count = len(data.pictures)
    seen = [data.pictures.name(i) for i in range(count) if data.pictures.digest(i)[:_DIGITS] in known.pictures]
    if seen:
        whole = ": the very table" if data.fingerprint() == known.split_sha256 else ""
        raise UserError(
            got=f"{len(seen):,} of {count:,} pictures that {folder} was trained on{whole}: {listed(seen)}",
            expected="pictures that it was not trained on, by content: of the others it is too sure",
            do="give other pictures, such as those that were held out",
        )
