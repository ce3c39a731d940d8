"""What must be known of results besides their figures: what is left out, cut, tied, or cannot be told apart."""

from collections.abc import Mapping
from typing import Any

from litotes.data.screening import left_out_notes
from litotes.evaluate.rows import Record, Records

FEW = 5
"""Right or wrong answers below which it is told how few an uncertainty was judged by."""


def notes_of_all(records: Records) -> list[str]:
    """What is to be known of all models, and what of one of them with its name, in sentences."""
    found = {label: _notes(record) for label, record in records.items()}
    common = [note for note in next(iter(found.values())) if all(note in notes for notes in found.values())]
    return [*common, *(f"{label}: {note}" for label, notes in found.items() for note in notes if note not in common)]


def _notes(record: Record) -> list[str]:
    notes = [*left_out_notes(record), *record.get("model_notes", ())]
    if record.get("captions_truncated"):
        to = f" to {record['context_length']} tokens" if "context_length" in record else ""
        cut = record["captions_truncated"]
        notes.append(f"{counted(cut, 'caption')} {'was' if cut == 1 else 'were'} cut{to}")
    for name, result in record["suites"].items():
        notes += _search_ties(name, result) if result["task"] in _SEARCHES else _ties(name, result)
        if result.get("equal_options"):
            notes.append(_equal_options(name, result))
        notes += [f"{name}: {note}" for note in (*result.get("notes", ()), *_few(result))]
        if result.get("captions_without_words"):
            blank = counted(result["captions_without_words"], "caption")
            notes.append(f"{name}: {blank} without words, counted like any other")
        if result.get("repeated_rows"):
            rows = result["repeated_rows"]
            notes.append(f"{name}: {counted(rows, 'row')} repeat{'s' if rows == 1 else ''} an earlier one; each counts")
        if result.get("equal_names"):
            notes.append(f"{name}: classes of one name cannot be told apart: {', '.join(result['equal_names'])}")
    return notes


def counted(count: int, what: str, more: str = "s") -> str:
    """A number of things, "1 search" or "2 searches"; ``more``: what the word ends in where they are several."""
    return f"{count:,} {what}" + ("" if count == 1 else more)


_SEARCHES = {"zeroshot_retrieval", "judged_retrieval"}


def few_outcomes(told: Mapping[str, Any]) -> str:
    """Of searches one way, which outcome there is less than five times, as "only 4 of 60 are right"; "" where none is.

    told: ``n`` and ``error``, the share of them that went wrong; "" where it lacks either.
    """
    n, error = told.get("n"), told.get("error")
    if not isinstance(n, int) or not isinstance(error, int | float):
        return ""
    wrong = round(n * error)
    count, word = min((n - wrong, "right"), (wrong, "wrong"))
    return f"only {count} of {n:,} {'is' if count == 1 else 'are'} {word}" if count < FEW else ""


def _few(result: Record) -> list[str]:
    """That what is said of an uncertainty rests on a few answers, where it does."""
    if result["task"] != "selective_retrieval":
        return []
    words = {"i2t": "Picture → caption", "t2i": "Caption → picture"}
    found = {words[way]: few_outcomes(told) for way, told in result["ways"].items() if way in words}
    return [f"{way}: {few}, so that AURC and AUROC say little" for way, few in found.items() if few]


def _search_ties(name: str, result: Record) -> list[str]:
    what = {"i2t": "for a picture's captions", "t2i": "for a caption's picture"}
    return [
        f"{name}: in {counted(count, 'search', 'es')} {what[way]} the best right item ties with a wrong one, "
        "and is put behind it"
        for way, count in (result.get("ties") or {}).items()
        if count
    ]


def _equal_options(name: str, result: Record) -> str:
    lost = result.get("unanswerable", 0)
    told = f", {lost} of them with the true one, which no model can answer" if lost else ""
    count = result["equal_options"]
    have = "has" if count == 1 else "have"
    return f"{name}: {counted(count, 'question')} {have} two options of the same wording{told}"


def _ties(name: str, result: Record) -> list[str]:
    """How many ties there are, and what the figure would be if they were right, where that is known."""
    ties, won = result.get("ties", 0), result.get("if_ties_won", {})
    if isinstance(ties, Mapping):
        return [_tied(f"{name}, {group}", count, won.get(group), "they were right") for group, count in ties.items()
                if count]  # fmt: skip
    first = result.get("total_if_ties_go_to_first")
    return [_tied(name, ties, first, "the first of equals won")] if ties else []


def _tied(name: str, count: int, share: float | None, how: str) -> str:
    known = "" if share is None else f"; {100 * share:.1f} % if {how}"
    return f"{name}: {counted(count, 'tie')}, counted as wrong{known}"
