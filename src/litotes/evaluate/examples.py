"""Questions of a suite to look at: drawn by a seed from those whose answers changed, never picked."""

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from litotes.data.images import UNREADABLE
from litotes.evaluate.answers import Answer, Answers, is_picture
from litotes.evaluate.compare import is_right
from litotes.evaluate.rows import MINUS

SEED, PER_GROUP = 0, 3
_SIDE = 240


@dataclass(frozen=True)
class OptionView:
    """A text that was scored: whether it is the true one; each model's score as printed, and whether it chose it."""

    text: str
    true: bool
    scores: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Example:
    """A question: ``picture`` as a data URI, "" where it is not there; what it is called; its kind; its options."""

    picture: str
    name: str
    kind: str
    options: tuple[OptionView, ...]


@dataclass(frozen=True)
class Group:
    """Some of the ``total`` questions of which ``title`` holds."""

    title: str
    total: int
    shown: tuple[Example, ...]


@dataclass(frozen=True)
class Examples:
    """Questions of one suite, the labels of the models whose scores stand beside them, whether pictures are missing."""

    labels: tuple[str, ...]
    groups: tuple[Group, ...]
    pictures_missing: bool
    seed: int = SEED


def examples(answers: Mapping[str, Answers], suite: str, root: Path | None) -> Examples | None:
    """Questions whose answers changed between the first and the last model, and such as both got wrong.

    answers: by label and suite. root: folder that the names of the pictures start from. Of one model alone: wrong and
    right answers. From each group ``PER_GROUP`` questions are drawn without repetition, with ``SEED``. Pictures are
    shown where they are still what was asked, by their hash.

    None where the suite has no answers, or its questions are no choice among texts (searches, classes, boxes).
    """
    labels = [label for label, said in answers.items() if said.get(suite)]
    labels = labels if len(labels) < 2 else [labels[0], labels[-1]]
    models = [answers[label][suite] for label in labels]
    if not models or not _is_choice(models[0][0]) or len({len(said) for said in models}) > 1:
        return None
    right = np.array([[is_right(answer) for answer in said] for said in models])
    groups = []
    for number, (title, members) in enumerate(_groups(labels, right)):
        order = np.random.default_rng([SEED, number]).permutation(np.flatnonzero(members))
        shown = [_example([said[i] for said in models], root) for i in order[:PER_GROUP]]
        groups.append(Group(title, int(members.sum()), tuple(shown)))
    missing = any(not example.picture for group in groups for example in group.shown)
    return Examples(tuple(labels), tuple(groups), missing)


def thumbnail(path: Path, asked: Mapping[str, object]) -> str:
    """The picture, made small, as a data URI; "" where the file is not there, no picture, or not the one asked."""
    try:
        content = path.read_bytes()
        if not is_picture(hashlib.sha256(content).hexdigest(), asked):
            return ""
        with Image.open(io.BytesIO(content)) as picture:
            small = picture.convert("RGB")
    except UNREADABLE:
        return ""
    small.thumbnail((_SIDE, _SIDE))
    buffer = io.BytesIO()
    small.save(buffer, format="JPEG", quality=82)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def _groups(labels: Sequence[str], right: np.ndarray) -> list[tuple[str, np.ndarray]]:
    if len(labels) == 1:
        return [("Wrong", ~right[0]), ("Right", right[0])]
    first, last = labels
    return [
        (f"Wrong with {first}, right with {last}", ~right[0] & right[1]),
        (f"Right with {first}, wrong with {last}", right[0] & ~right[1]),
        ("Wrong with both", ~right[0] & ~right[1]),
    ]


def _example(said: Sequence[Answer], root: Path | None) -> Example:
    asked = said[0].asked
    options = [
        OptionView(
            text,
            option == asked["right"],
            tuple((_printed(answer.given["scores"][option]), answer.given["chosen"] == option) for answer in said),
        )
        for option, text in enumerate(asked["texts"])
    ]
    name = str(asked["picture"])
    kind = asked.get("type") or ", ".join(asked.get("groups", ()))
    return Example(thumbnail(root / name, asked) if root else "", name, kind, tuple(options))


def _printed(score: float) -> str:
    return f"{score:.3f}".replace("-", MINUS)


def _is_choice(answer: Answer) -> bool:
    return len(answer.asked.get("texts", ())) == len(answer.given.get("scores", ())) > 1
