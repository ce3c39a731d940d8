"""The answers that stand beside result files, brought together to compare models and to show questions."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from litotes.errors import UserError
from litotes.evaluate.answers import Answer, read_answers
from litotes.evaluate.compare import Differences, differences
from litotes.evaluate.reading import Found


class Kept(NamedTuple):
    """What is there of the models' single answers.

    answers: by label and suite. roots: by suite, the folder that the names of its pictures start from. compared: by
    label, what a model differs in from the first one. notes: why a model could not be compared, in sentences.
    """

    answers: dict[str, dict[str, list[Answer]]]
    roots: dict[str, Path]
    compared: dict[str, Differences]
    notes: list[str]


def kept_answers(found: Mapping[str, Found]) -> Kept:
    """Read the answers of all models that have them, and compare each model with the first by them.

    Answers that are missing, changed, or to other questions are no error: a note says why there is no comparison.
    """
    kept = Kept({}, {}, {}, [])
    for label, (record, folder) in found.items():
        told = record.get("answers")
        if told is None:
            kept.notes.append(f"{label} has no answers to single questions, which litotes evaluate keeps.")
            continue
        try:
            kept.answers[label] = read_answers(folder, told, told["model"])
        except (UserError, ValueError, KeyError, TypeError) as error:
            reason = error.got if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            kept.notes.append(f"The answers of {label} cannot be taken: {reason}.")
            continue
        for suite, root in told.get("pictures", {}).items():
            kept.roots.setdefault(suite, folder / root)
    first, *others = found
    for label in others:
        if first in kept.answers and label in kept.answers:
            try:
                kept.compared[label] = differences(
                    kept.answers[first], kept.answers[label], found[first].record["suites"]
                )
            except UserError as error:
                kept.notes.append(f"{label} is not compared with {first} question by question: {error.got}.")
    return kept if others else kept._replace(notes=[])
