"""True and false statements about one picture, from the names of the things in it (beyond the paper)."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from litotes.data.claims import Claim, name_words
from litotes.data.wordings import TRAIN_WORDINGS, Wordings, render
from litotes.errors import UserError

Kind = Literal["positive", "negative", "hybrid"]
KINDS: tuple[Kind, ...] = ("positive", "negative", "hybrid")

JOINT = 0.4
"""Share of false affirmations that also name a present thing ("A and N"); the others name N alone."""

TWIN = 0.5
"""Share of false hybrids that affirm what the true one affirms ("B but no A"), in training statements."""

Allowed = Callable[[str, str], bool]


class Things(NamedTuple):
    """Names that one question is about: ``a`` and ``b`` are in the picture, ``n`` is not.

    ``b`` equals ``a`` where the picture has one thing, or no two that may stand together.
    """

    a: str
    b: str
    n: str


class OptionSet(NamedTuple):
    """One true statement about a picture and three false ones, in the kinds of NegBench.

    ``true`` by ``kind``: positive "A and B", negative "no N", hybrid "B but no N". ``false``, always in this
    order: "N but no B" (or "B but no A"), "N" or "A and N", "no A". ``claims``: what the four say, the true one first.
    """

    true: str
    false: tuple[str, str, str]
    kind: Kind
    claims: tuple[Claim, Claim, Claim, Claim]


class _Said(NamedTuple):
    text: str
    claim: Claim


class StatementPair(NamedTuple):
    """Two statements of one wording: ``true`` denies an absent thing, ``false`` one that is there."""

    true: str
    false: str


def any_pair(first: str, second: str) -> bool:
    """Allow every two things to stand in one question."""
    return True


def choose_things(
    objects: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    allowed: Allowed = any_pair,
) -> Things:
    """Draw two things of the picture and one that is absent.

    ``objects``: names of all things in the picture; a thing that is there but not listed may be taken for
    absent, so the list has to be complete. ``vocabulary``: names to draw the absent thing from, the same
    sequence on every call for the same draws. ``allowed(x, y)``: whether two names may stand in one question
    (to keep pairs apart for evaluation); it must not depend on the order of x and y.

    A name that shares its words with one of the objects is never taken for absent: a picture with a
    christmas tree is not without a tree. Where no two objects are allowed together, b = a. Errors:
    :class:`UserError` when the picture has no objects, or nothing in the vocabulary is absent and allowed.
    """
    names = list(dict.fromkeys(objects))
    if not names:
        raise UserError("a picture without objects", "at least one name", "leave out the picture")
    order = [names[i] for i in rng.permutation(len(names))]
    pairs = ((a, b) for i, a in enumerate(order) for b in order[i + 1 :] if allowed(a, b))
    a, b = next(pairs, (order[0], order[0]))
    present = [name_words(name) for name in names]
    for k in rng.permutation(len(vocabulary)):
        n = vocabulary[k]
        if allowed(a, n) and allowed(b, n) and not _shares(name_words(n), present):
            return Things(a, b, n)
    raise UserError(
        f"no name that is absent from a picture with {', '.join(names)}",
        f"one among the {len(vocabulary)} names of the vocabulary that may stand beside {a} and {b}",
        "list the things of more pictures: at least two different ones must occur, and one of them be absent from each",
    )


def make_options(
    objects: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    allowed: Allowed = any_pair,
    *,
    wordings: Wordings = TRAIN_WORDINGS,
    kind: Kind | None = None,
    joint: float = JOINT,
    twin: float = 0.0,
) -> OptionSet:
    """Make one true and three false statements about a picture.

    Statements of the same sort in one set have the same wording (the true "no N" and the false "no A", for
    example), so that only the names tell true from false; all four end with a full stop or none does.

    ``objects``, ``vocabulary``, ``allowed``: see :func:`choose_things`. ``kind``: of the true statement;
    drawn evenly when None. ``joint``: share of "A and N" among the false affirmations, 0 .. 1. ``twin``: share
    of false hybrids that say "B but no A" instead of "N but no B", 0 .. 1: it affirms what the true hybrid
    affirms, so that only the denied thing tells them apart (none in NegBench, so 0 by default). With b = a
    (see Things) the positive statement names one thing. Errors: as :func:`choose_things`.
    """
    a, b, n = choose_things(objects, vocabulary, rng, allowed)
    drawn: Kind = KINDS[int(rng.integers(len(KINDS)))]
    chosen = drawn if kind is None else kind
    affirmative = int(rng.integers(len(wordings.one)))
    one, two = wordings.one[affirmative], wordings.two[affirmative]
    absence, hybrid = _draw(wordings.absence, rng), _draw(wordings.hybrid, rng)
    stop = bool(rng.random() < 0.5)
    true = {
        "positive": _affirm(one, two, stop, a) if a == b else _affirm(one, two, stop, a, b),
        "negative": _deny(absence, stop, n),
        "hybrid": _deny(hybrid, stop, n, b),
    }
    affirmation = _affirm(one, two, stop, a, n) if rng.random() < joint else _affirm(one, two, stop, n)
    twinned = twin > 0 and a != b and rng.random() < twin
    false_hybrid = _deny(hybrid, stop, a, b) if twinned else _deny(hybrid, stop, b, n)
    false_absence = _deny(absence, stop, a)
    claims = (true[chosen].claim, false_hybrid.claim, affirmation.claim, false_absence.claim)
    return OptionSet(true[chosen].text, (false_hybrid.text, affirmation.text, false_absence.text), chosen, claims)


def absence_pair(
    objects: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    allowed: Allowed = any_pair,
    wordings: Wordings = TRAIN_WORDINGS,
) -> StatementPair:
    """Say "no N" and "no A" in one wording; arguments and errors as :func:`make_options`."""
    things = choose_things(objects, vocabulary, rng, allowed)
    frame = _draw(wordings.absence, rng)
    return StatementPair(render(frame, n=things.n), render(frame, n=things.a))


def hybrid_pair(
    objects: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    allowed: Allowed = any_pair,
    wordings: Wordings = TRAIN_WORDINGS,
) -> StatementPair | None:
    """Say "A but no N" and "A but no B" in one wording; None when no two objects may stand together."""
    a, b, n = choose_things(objects, vocabulary, rng, allowed)
    frame = _draw(wordings.hybrid, rng)
    return None if a == b else StatementPair(render(frame, a=a, n=n), render(frame, a=a, n=b))


def negated_positive(
    objects: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    kind: Literal["absence", "hybrid"],
    allowed: Allowed = any_pair,
) -> str:
    """Make a caption P' that is worded with a negation and true of the picture.

    ``kind``: "absence" says "no N"; "hybrid" says "A but no N", or "A and B but no N" in half of the cases
    where two things may stand together, so that P' still tells pictures apart. Always in the training
    wordings; arguments and errors as :func:`choose_things`.
    """
    a, b, n = choose_things(objects, vocabulary, rng, allowed)
    both = a != b and rng.random() < 0.5
    stop = bool(rng.random() < 0.5)
    if kind == "absence":
        return render(_draw(TRAIN_WORDINGS.absence, rng), stop, n=n)
    frame = _draw(TRAIN_WORDINGS.hybrid, rng)
    return render(frame.replace("{a}", "{a} and {b}") if both else frame, stop, a=a, b=b, n=n)


def _affirm(one: str, two: str, stop: bool, *names: str) -> _Said:
    """Say that one thing, or each of two, is there."""
    frame = one if len(names) == 1 else two
    return _Said(render(frame, stop, **dict(zip("ab", names, strict=False))), Claim(names, ()))


def _deny(frame: str, stop: bool, denied: str, affirmed: str = "") -> _Said:
    """Say that a thing is not there, beside one that is if ``affirmed`` names it."""
    names = {"a": affirmed, "n": denied} if affirmed else {"n": denied}
    return _Said(render(frame, stop, **names), Claim((affirmed,) if affirmed else (), (denied,)))


def _draw(frames: tuple[str, ...], rng: np.random.Generator) -> str:
    return frames[int(rng.integers(len(frames)))]


def _shares(words: frozenset[str], present: list[frozenset[str]]) -> bool:
    return any(words <= other or other <= words for other in present)
