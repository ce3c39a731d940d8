"""Reading the world's sentences back, by their frames: what they say is there, and what they say is not."""

import re

from litotes.demo.scenes import held_out
from litotes.demo.things import COLOURS, KINDS

THING = rf"(?:an? )?(?:(?:{'|'.join(COLOURS)}) )?(?:{'|'.join(KINDS)})"


def kinds_in(text):
    """Kinds that a text names, in order."""
    return tuple(word for word in re.findall(r"[a-z]+", text.lower()) if word in KINDS)


def names_held_out_pair(text):
    """Whether two of the kinds that a text names are kept for evaluation."""
    kinds = kinds_in(text)
    return any(held_out(a, b) for i, a in enumerate(kinds) for b in kinds[:i] if a != b)


def masked(text):
    """The wording alone: every thing is X, whatever its article and colour; no capital, no full stop at the end."""
    return re.sub(rf"\b{THING}\b", "X", text.lower()).rstrip(".")


def statement(text, wordings):
    """(kinds said to be there, kinds said not to be) of a statement in one of the frames; fails where none fits."""
    for frame in (*wordings.two, *wordings.one, *wordings.hybrid, *wordings.absence):
        pattern = re.escape(frame.rstrip(".").lower())
        for place in ("a", "b", "n"):
            for written in (f"{{{place}}}", f"{{{place}:bare}}"):
                article = "" if written.endswith(":bare}") else "an? "
                pattern = pattern.replace(re.escape(written), rf"{article}(?P<{place}>{'|'.join(KINDS)})")
        found = re.fullmatch(pattern, text.lower().rstrip("."))
        if found:
            named = found.groupdict()
            return {named[p] for p in ("a", "b") if p in named}, {named[p] for p in ("n",) if p in named}
    raise AssertionError(f"no frame fits {text!r}")


def true_of(text, wordings, kinds):
    """Whether a statement is true of a picture with these kinds and no others."""
    there, absent = statement(text, wordings)
    return there <= set(kinds) and not absent & set(kinds)
