"""Karpathy's splits of COCO and Flickr30k: dataset_coco.json and dataset_flickr30k.json."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from litotes.data.tables import read_json
from litotes.errors import UserError

SPLIT = "test"
_Read = TypeVar("_Read")


def test_split(path: Path, file: str, read: Callable[[dict[str, Any]], _Read]) -> list[_Read]:
    """What ``read`` makes of each image of the test split, in the file's order.

    ``file``: the name of the published file, dataset_SET.json, for the messages; a document that says itself that it is
    of another set is refused. ``read`` may raise KeyError or TypeError for a field that is missing or of another kind.

    Errors: :class:`UserError` with the number of the picture in the split for these; no picture of the split.
    """
    content = read_json(path)
    images = content.get("images") if isinstance(content, dict) else None
    chosen = [image for image in images or () if isinstance(image, dict) and image.get("split") == SPLIT]
    own = content.get("dataset", "") if isinstance(content, dict) else ""
    if not chosen or (own and file != f"dataset_{own}.json"):
        raise UserError(
            f"{path}: {'captions of ' + str(own) if chosen else f'no images of the split {SPLIT!r}'}",
            f"Karpathy's {file}",
            "name that file, or a table",
        )
    found = []
    for number, image in enumerate(chosen, start=1):
        try:
            found.append(read(image))
        except (KeyError, TypeError) as error:
            raise UserError(
                f"{path}: picture {number} of the split {SPLIT!r}: {type(error).__name__} {error}",
                f"the fields that {file} has",
                "take the file anew",
            ) from error
    return found


def sentences(image: dict[str, Any]) -> list[dict[str, Any]]:
    """The captions of an image. Errors: TypeError, KeyError where they are no list of objects, or an empty one."""
    found = [of_kind(sentence, dict) for sentence in of_kind(image["sentences"], list)]
    if not found:
        raise TypeError("sentences, of which there are none")
    return found


def of_kind(value: Any, kind: type) -> Any:  # noqa: ANN401 (a part of a JSON document)
    """The value, of just this kind. Errors: TypeError."""
    if type(value) is not kind:
        raise TypeError(f"{value!r:.60} is no {kind.__name__}")
    return value
