"""The 26 templates that turn a true caption into a negation-worded sentence that is still true."""

from itertools import pairwise
from typing import NamedTuple

from litotes.errors import UserError


class Template(NamedTuple):
    """One template: ``text`` with the place ``{c}`` for the caption, and the ``group`` it belongs to."""

    text: str
    group: str


_GROUPS: dict[str, tuple[str, ...]] = {
    "double negation": (
        "It is not true that not {c}.",
        "It is not the case that {c} is not happening.",
        "It is not false that {c}.",
    ),
    "affirmation by negation": (
        "There is no doubt that {c}.",
        "One cannot deny that {c}.",
        "It cannot be denied that {c}.",
        "It is not in doubt that {c}.",
        "There is no uncertainty that {c}.",
    ),
    "negation of alternatives": (
        "It is not something else; rather, {c}.",
        "It is not the case that something else is happening; instead, {c}.",
        "Not something else, but {c}.",
    ),
    "evidence": (
        "No evidence suggests that not {c}.",
        "There is nothing indicating that not {c}.",
        "There is no reason to believe that not {c}.",
        "Nothing contradicts the fact that {c}.",
        "No part of the scene suggests that not {c}.",
        "There is no indication against {c}.",
    ),
    "uncertainty": (
        "We cannot say that {c} is not true.",
        "It is not impossible that {c}.",
    ),
    "contradiction-free": (
        "Without any contradiction, {c}.",
        "{c}, without anything suggesting otherwise.",
    ),
    "rhetorical": (
        "Why would it not be true that {c}?",
        "Who would say that {c} is not happening?",
    ),
    "other": (
        "It is not true that the opposite of {c} holds.",
        "It is not the case that {c} never happens.",
        "{c} is not absent.",
    ),
}

TEMPLATES: tuple[Template, ...] = tuple(Template(text, group) for group, texts in _GROUPS.items() for text in texts)
"""In the order of the paper's list. (Its text says "one in twenty templates"; its list has 26, kept here.)"""


def fill(template: Template, caption: str) -> str:
    """Put a caption into a template so that one sentence results.

    The caption loses outer blanks and the full stops, question and exclamation marks at its end. Its first
    letter becomes small, unless the first word looks like a proper noun or an acronym: it is all capitals
    and longer than one letter ("TV", "3D"), has a capital behind its first letter ("McDonald", "iPhone"),
    is "I" (or "I'm", "I've"), or stands with a capital again later in the caption, not after a full stop
    ("Paris at night, Paris by day"). A name that stands only at the beginning ("John rides") cannot be told
    from an ordinary word without a dictionary and becomes small; CLIP's tokenizer lower-cases all of it
    anyway. Where the template begins with the caption, its first letter becomes a capital instead.

    ``template``: one of ``TEMPLATES``. ``caption``: a sentence that is true of the picture. Result: starts
    with a capital letter (if it starts with a letter) and ends as the template does. Errors:
    :class:`UserError` when nothing is left of the caption. Source: spec of HANCLIP, section 1.
    """
    core = caption.strip().rstrip(".?! \t\r\n")
    if not core:
        raise UserError(f"caption {caption!r}", "a caption with at least one word", "fill the caption")
    if template.text.startswith("{c}"):
        return template.text.replace("{c}", capitalise(core))
    return template.text.replace("{c}", _lower_first(core))


def capitalise(sentence: str) -> str:
    """Return the sentence with a capital first letter; words like "iPhone" stay as they are."""
    first = sentence.split(maxsplit=1)[0] if sentence.strip() else ""
    if any(letter.isupper() for letter in first[1:]):
        return sentence
    return sentence[:1].upper() + sentence[1:]


def _lower_first(sentence: str) -> str:
    words = sentence.split()
    return sentence if _keeps_capital(words) else sentence[:1].lower() + sentence[1:]


def _keeps_capital(words: list[str]) -> bool:
    first = words[0].strip("\"'“”‘’(),;:")
    if first == "I" or first.startswith(("I'", "I’")):
        return True
    if any(letter.isupper() for letter in first[1:]):
        return True
    if len(first) < 2 or not first[0].isupper():
        return False
    return any(
        word.strip("\"'“”‘’(),;:.?!") == first and not before.endswith((".", "?", "!"))
        for before, word in pairwise(words)
    )
