"""What a model answered to each single question: told by the suites, kept beside a result, read again."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from litotes.data.images import Pictures
from litotes.errors import UserError
from litotes.metrics.choice import chosen_instead
from litotes.places import write_whole

MODELS = ("base", "adapted")
"""The names under which a file of answers holds what a model answered."""
_DIGEST = 16


class Answer(NamedTuple):
    """A question and what a model said to it.

    asked: the same for every model. ``item``, the question's number in its suite, from 0; ``picture`` and
    ``picture_digest``, the first 16 digits of its SHA-256; ``right``, the index of the right answer; ``texts``,
    ``type``, ``groups``, ``way`` where the suite has them. given: ``chosen``, ``tied`` and ``scores`` of a choice
    (``choices``), or ``rank`` of the right item of a search.
    """

    asked: dict[str, Any]
    given: dict[str, Any]


Answers = Mapping[str, Sequence[Answer]]
"""Those of one model by suite."""


def choices(
    scores: Float[Tensor, "questions options"],
    right: Sequence[int],
    asked: Iterable[dict[str, Any]],
    kept: Float[Tensor, "questions kept"] | None = None,
) -> list[Answer]:
    """Answers of questions in which the highest score is the choice.

    ``chosen``: index of the option with the highest score; where the right one is only equal to another, the first
    of these others, so that the answer is right where and only where ``chosen`` is ``right``. ``tied``: whether that is
    so. ``scores``: those of the options, or ``kept`` where that is given, with as many digits as tell two float32
    numbers apart. Errors: those of ``metrics.choice``.
    """
    own = torch.as_tensor(right, dtype=torch.int64, device=scores.device)
    instead = chosen_instead(scores, own)
    chosen = torch.where(instead < 0, own, instead)
    tied = (instead >= 0) & (scores.gather(1, chosen[:, None]) == scores.gather(1, own[:, None])).squeeze(1)
    rows = (scores if kept is None else kept).tolist()
    return [
        Answer({**question, "right": index}, {"chosen": best, "tied": level, "scores": [_short(s) for s in row]})
        for question, index, best, level, row in zip(
            asked, own.tolist(), chosen.tolist(), tied.tolist(), rows, strict=True
        )
    ]


def searches(ranks: Int[Tensor, " queries"], asked: Iterable[dict[str, Any]]) -> list[Answer]:
    """Answers of searches, the rank of the right item from 1; a query of rank 0 has none and is left out."""
    return [Answer(question, {"rank": rank}) for question, rank in zip(asked, ranks.tolist(), strict=True) if rank]


def pictured(pictures: Pictures, index: int) -> dict[str, Any]:
    """What a question says of its picture."""
    return {"picture": pictures.name(index), "picture_digest": pictures.digest(index)[:_DIGEST]}


def is_picture(digest: str, asked: Mapping[str, Any]) -> bool:
    """Whether a picture of this SHA-256 is the one that was asked."""
    return digest[:_DIGEST] == asked.get("picture_digest")


def answers_path(result: Path) -> Path:
    """Where the answers of a result are: beside it, ``NAME.answers.jsonl`` for ``NAME.json``."""
    return result.with_name(result.name.removesuffix(".json") + ".answers.jsonl")


def write_answers(result: Path, models: Mapping[str, Answers]) -> dict[str, Any]:
    """Write the answers of a result's models, whole or not at all, and return what the result says of them.

    models: by "base" and "adapted". One line of JSON a question: ``suite``, what was asked, and what each model gave
    under its name. Returned: ``file``, its ``sha256`` and the number of ``lines``.
    """
    first = next(iter(models.values()))
    lines = []
    for suite, answers in first.items():
        others = [models[name][suite] for name in models]
        for number, answer in enumerate(answers):
            given = {name: said[number].given for name, said in zip(models, others, strict=True)}
            lines.append(json.dumps({"suite": suite, **answer.asked, **given}, ensure_ascii=False, allow_nan=False))
    path, content = answers_path(result), "".join(f"{line}\n" for line in lines).encode("utf-8")
    write_whole(path, content)
    return {"file": path.name, "sha256": hashlib.sha256(content).hexdigest(), "lines": len(lines)}


def read_answers(folder: Path, told: Mapping[str, Any], model: str) -> dict[str, list[Answer]]:
    """The answers of one model of a result in ``folder``; ``told``: what the result says of the file.

    Errors: the file is not there, is another one than the result was written with, or lacks the model.
    """
    path = folder / Path(str(told["file"])).name
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise _lost(f"no file {path}") from None
    except OSError as error:
        raise _lost(f"{path}: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != told["sha256"]:
        raise _lost(f"{path}, changed since its result was written")
    # split at line feeds alone: a caption may hold other characters that end a line
    found: dict[str, list[Answer]] = {}
    for number, line in enumerate(content.decode("utf-8", "replace").removesuffix("\n").split("\n"), 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise _lost(f"{path}, line {number}, which is no JSON") from None
        given = row.get(model) if isinstance(row, dict) else None
        if given is None:
            raise _lost(f"{path} without answers of {model}")
        if not _is_answer(row, given):
            raise _lost(f"{path}, line {number}, which is no answer to a question")
        asked = {key: value for key, value in row.items() if key != "suite" and key not in MODELS}
        found.setdefault(row["suite"], []).append(Answer(asked, given))
    return found


def _is_answer(row: Mapping[str, Any], given: object) -> bool:
    """Whether a line holds what a choice or a search has."""
    if not isinstance(given, Mapping) or not all(isinstance(row.get(key), str) for key in ("suite", "picture")):
        return False
    if "rank" in given:
        return row.get("way") in ("i2t", "t2i") and isinstance(given["rank"], int) and given["rank"] > 0
    scores = given.get("scores")
    numbers = isinstance(scores, list) and all(isinstance(one, int | float) for one in scores)
    return numbers and all(isinstance(one, int) for one in (row.get("right"), given.get("chosen")))


def _short(score: float) -> float:
    return float(f"{score:.9g}")


def _lost(got: str) -> UserError:
    return UserError(
        got=got,
        expected="the file of answers that litotes evaluate wrote beside the result",
        do="keep both files together, or evaluate again",
    )
