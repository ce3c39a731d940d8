"""The answers that stand beside result files, brought together to compare models and to show questions."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from litotes.errors import UserError
from litotes.evaluate.answers import MODELS, Answer, Answers, read_answers, write_answers
from litotes.evaluate.compare import Difference, Differences, differences
from litotes.evaluate.reading import Found
from litotes.evaluate.rows import Record, keys_at, value_at


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

    Answers that are missing, changed, to other questions, or that give other figures than the results are no error: a
    note says why there is no comparison. Measures that one of the two lacks are left out.
    """
    kept = Kept({}, {}, {}, [])
    for label, (record, folder) in found.items():
        told = record.get("answers")
        if told is None:
            kept.notes.append(f"{label} has no answers to single questions, which litotes evaluate keeps.")
            continue
        try:
            said = read_answers(folder, told, told["model"])
        except UserError as error:
            kept.notes.append(f"The answers of {label} cannot be taken: {error.got}.")
            continue
        # of a suite that is not in the record nothing is shown
        kept.answers[label] = {name: answers for name, answers in said.items() if name in record["suites"]}
        odd = [name for name, said in kept.answers[label].items() if not _is_of_suite(said, record["suites"].get(name))]
        for name in odd:
            del kept.answers[label][name]
            kept.notes.append(
                f"The answers of {label} in {name} cannot be taken: they answer questions of another kind."
            )
        for suite, root in told.get("pictures", {}).items():
            kept.roots.setdefault(suite, folder / root)
    first, *others = found
    for label in others:
        if first in kept.answers and label in kept.answers:
            try:
                parts = differences(kept.answers[first], kept.answers[label], found[first].record["suites"])
            except UserError as error:
                kept.notes.append(f"{label} is not compared with {first} question by question: {error.got}.")
                continue
            suites = {
                name: (found[first].record["suites"][name], found[label].record["suites"][name]) for name in parts
            }
            unlike = [name for name, some in parts.items() if not all(_fits(part, *suites[name]) for part in some)]
            if unlike:
                kept.notes.append(
                    f"{label} is not compared with {first} question by question in {', '.join(unlike)}: "
                    "the answers give other figures than the results."
                )
            kept.compared[label] = {
                name: [part for part in some if _is_shared(part, *suites[name])]
                for name, some in parts.items()
                if name not in unlike
            }
    return kept if others else kept._replace(notes=[])


def fresh_answers(
    records: Mapping[str, Record], answers: dict[str, dict[str, list[Answer]]], roots: dict[str, Path]
) -> Kept:
    """The answers of models that were measured just now, by label, and what the others differ in from the first."""
    first, *others = answers
    compared: dict[str, Differences] = {
        label: differences(answers[first], answers[label], records[first]["suites"]) for label in others
    }
    return Kept(answers, roots, compared, [])


def keep_and_compare(
    path: Path,
    records: Mapping[str, Record],
    answers: Mapping[str, dict[str, list[Answer]]],
    roots: dict[str, Path],
) -> tuple[dict[str, dict[str, Any]], Kept]:
    """Write the answers of two models that were measured just now, and compare the second with the first.

    records, answers: by two labels of any kind; in the file of answers the first is "base", the second "adapted".
    Returned are the records by their labels, see ``keep_answers``, and what ``fresh_answers`` gives.
    """
    labels = dict(zip(MODELS, records, strict=True))
    told = keep_answers(
        path,
        {name: records[label] for name, label in labels.items()},
        {name: answers[label] for name, label in labels.items()},
        roots,
    )
    named = {label: told[name] for name, label in labels.items()}
    return named, fresh_answers(named, {label: answers[label] for label in named}, roots)


def keep_answers(
    path: Path, records: Mapping[str, Record], answers: Mapping[str, Answers], roots: Mapping[str, Path]
) -> dict[str, dict[str, Any]]:
    """Write the answers beside the result that ``path`` is to hold, and return its records with where they are.

    records, answers: by "base" and "adapted". roots: by suite, the folder that the names of its pictures start from.
    """
    # pathlib's own relative paths cannot go up and down before Python 3.12
    starts = {suite: Path(os.path.relpath(root, path.parent)).as_posix() for suite, root in roots.items()}
    entry = {**write_answers(path, answers), "pictures": starts}
    return {name: {**record, "answers": {**entry, "model": name}} for name, record in records.items()}


def _is_of_suite(said: Sequence[Answer], result: Record | None) -> bool:
    """Whether answers have what the comparison of their suite's task needs."""
    task = "" if result is None else str(result["task"])
    searched = task in ("zeroshot_retrieval", "judged_retrieval")
    field = {"mcq": "type", "foils": "groups", "pairs": "groups", "judged_retrieval": "fold"}.get(task)
    return all(("rank" in one.given) is searched and (field is None or field in one.asked) for one in said)


def _is_shared(part: Difference, before: Record, after: Record) -> bool:
    """Whether both results have the measure; their rSum is one only where it is a sum of the same recalls."""
    summed = ("coco_1k", "i2t") if "coco_1k" in before else ("i2t",)
    if part.path == ("rsum",) and keys_at(before, summed) != keys_at(after, summed):
        return False
    return value_at(before, part.path) is not None and value_at(after, part.path) is not None


def _fits(part: Difference, before: Record, after: Record) -> bool:
    """Whether the answers give the figures that the results have, as they are printed."""
    if not _is_shared(part, before, after):
        return True
    near = 0.05 if part.path == ("rsum",) else 0.0005
    told = (part.before, value_at(before, part.path)), (part.after, value_at(after, part.path))
    return all(abs(own - figure) <= near for own, figure in told)
