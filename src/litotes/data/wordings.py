"""Wordings of true and false statements about the things in a picture, as data.

A frame is a sentence with places: ``{a}`` and ``{b}`` are filled with "a cat" or "an owl", ``{n:bare}`` with
"cat". Frames of training and of evaluation are disjoint, which a test holds: a model that has only learnt
phrases is told apart from one that has learnt what "not" does.
"""

from typing import NamedTuple

from litotes.data.templates import capitalise

_VOWELS = "aeiou"
_SOUNDS_LIKE_CONSONANT = ("uni", "use", "usa", "uku", "ute", "eu", "ewe", "one", "once")
_SOUNDS_LIKE_VOWEL = ("hour", "honest", "honour", "honor", "heir", "x-ray")
_SINGULAR_IN_S = ("ss", "us", "is", "as", "lens")
_PLURAL = ("people", "children", "men", "women", "cattle", "teeth", "feet", "geese", "mice")
_DETERMINERS = ("a", "an", "the", "some", "two", "three", "several", "many")


class Wordings(NamedTuple):
    """Frames by what they say.

    ``one``: ``{a}`` is there. ``two``: ``{a}`` and ``{b}`` are; ``one[i]`` and ``two[i]`` are the same wording.
    ``absence``: ``{n}`` is not there. ``hybrid``: ``{a}`` is there and ``{n}`` is not.
    """

    one: tuple[str, ...]
    two: tuple[str, ...]
    absence: tuple[str, ...]
    hybrid: tuple[str, ...]


_ABSENCE_SENTENCES = (
    "there is no {n:bare} here",
    "no {n:bare} can be seen",
    "no {n:bare} is part of this scene",
    "not a single {n:bare} is visible",
    "the photo has no {n:bare} in it",
    "the scene does not show {n}",
    "there isn't {n} in this picture",
    "you will not find {n} here",
    "{n} is not in the picture",
    "{n} does not appear",
    "{n} can't be seen anywhere",
    "the image is without {n}",
    "you cannot see {n} here",
    "you would not say that {n} is here",
    "one does not see {n} in this photo",
    "it does not have {n} in it",
    "this is not a photo of {n}",
    "{n} is not visible",
    "{n} isn't part of it",
    "the photo would show no {n:bare}",
)
_HYBRID_SENTENCES = (
    "there is {a} without {n}",
    "there is {a}, but there is no {n:bare}",
    "the scene shows {a} and does not show {n}",
    "the photo has {a} in it but no {n:bare}",
    "here is {a} with no {n:bare} around",
    "{a} can be seen, {n} cannot",
    "there is no {n:bare}, yet {a} can be seen",
    "{n} isn't there, though {a} is",
    "the image is of {a} and without {n}",
    "you can see {a} here, you cannot see {n}",
    "one does not see {n}, one does see {a}",
    "it does have {a} in it, it does not have {n}",
    "this is a photo of {a} and not of {n}",
    "{a} is visible, {n} is not",
    "{n} is not visible, {a} is",
    "no {n:bare} here, though there is {a}",
    "{n} isn't part of it, but {a} is",
    "the photo would show {a} and no {n:bare}",
)
_OPENINGS = ("in this picture ", "here, ", "as you can see, ")


def _opened(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences, and each of them after each of the openings."""
    return (*sentences, *(opening + sentence for opening in _OPENINGS for sentence in sentences))


TRAIN_WORDINGS = Wordings(
    one=(
        "a photo of {a}",
        "there is {a}",
        "a picture with {a}",
        "{a} can be seen",
        "the scene shows {a}",
        "here is {a}",
    ),
    two=(
        "a photo of {a} and {b}",
        "there is {a} and also {b}",
        "a picture with {a} and with {b}",
        "{a} can be seen together with {b}",
        "the scene shows {a} as well as {b}",
        "here is {a} along with {b}",
    ),
    absence=(
        *_opened(_ABSENCE_SENTENCES),
        "a photo without {n}",
        "a view without any {n:bare}",
        "a picture with no {n:bare}",
        "no {n:bare}",
        "not {n}",
        "no {n:bare} anywhere in it",
        "the image is one with no {n:bare}",
        "without any {n:bare} at all",
    ),
    hybrid=(
        *_opened(_HYBRID_SENTENCES),
        "a photo of {a}, not of {n}",
        "a picture with {a} and no {n:bare}",
        "no {n:bare}, but {a}",
        "not {n} but {a}",
        "without {n}, but with {a}",
        "a scene without {n} that does have {a}",
        "{a}, no {n:bare}",
        "{a}, not {n}",
        "{a} without any {n:bare} at all",
        "{a} and no {n:bare} anywhere",
    ),
)
"""The only wordings that training statements use. Their cues are no, not, n't and without."""

NEGBENCH_WORDINGS = Wordings(
    one=("This image includes {a}.",),
    two=("This image includes {a} and {b}.",),
    absence=("This image does not include {n}.",),
    hybrid=("This image includes {a} but not {n}.",),
)
"""NegBench's own templates of a multiple-choice option. For evaluation only."""

HELD_OUT_WORDINGS = Wordings(
    one=("one can make out {a}", "the camera caught {a}"),
    two=("one can make out {a} and {b}", "the camera caught {a} and {b}"),
    absence=(
        "not one {n:bare} is to be found",
        "one looks for {n} without success",
        "at no point does {n} come into view",
        "this place holds no {n:bare} at all",
        "the camera did not catch {n}",
        "no trace of {n} in the whole frame",
        "the viewer would not come across {n}",
        "all of this goes without {n}",
    ),
    hybrid=(
        "{a} is here, yet there is not one {n:bare} to be seen",
        "one can make out {a}, with no sign of {n}",
        "the camera caught {a} and did not catch {n}",
        "not one {n:bare} in view, while {a} is plain to see",
        "this place holds {a} without holding {n}",
        "{a} came into view, {n} did not",
        "no trace of {n} beside {a}",
        "for all that {a} is in the frame, there was no {n:bare} to find",
    ),
)
"""Frames that training never uses, built from the cue words that it does use. For evaluation only."""

NEW_CUE_WORDINGS = Wordings(
    one=("one can make out {a}", "the camera caught {a}"),
    two=("one can make out {a} and {b}", "the camera caught {a} and {b}"),
    absence=(
        "this picture lacks {n}",
        "{n} is missing from the scene",
        "{n} is absent",
        "a view free of any {n:bare}",
        "{n} is nowhere to be seen",
        "the picture is devoid of any {n:bare}",
    ),
    hybrid=(
        "a photo of {a} that lacks {n}",
        "there is {a}, while {n} is missing",
        "{a} is present and {n} is absent",
        "a scene with {a}, free of any {n:bare}",
        "{a} can be seen, {n} nowhere",
        "{a} in a picture devoid of any {n:bare}",
    ),
)
"""Frames whose cue words (lacks, missing, absent, free of, nowhere, devoid of) training never shows."""


class _Noun:
    """A name that writes itself with its article, or bare under the format ``:bare``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __format__(self, spec: str) -> str:
        return bare(self._name) if spec == "bare" else with_article(self._name)


def with_article(name: str) -> str:
    """Return "a cat", "an owl", "scissors".

    Left without an article: plurals (by a plain rule: an ending in s that is not ss, us, is, as; and a few
    irregular ones) and names that bring a determiner ("a pair of scissors", "the moon"). Sound, not
    spelling, chooses between a and an as far as a short list goes ("a unicycle", "an hour").
    """
    words = name.strip().split()
    if not words or words[0].lower() in _DETERMINERS or is_plural(words[-1].lower()):
        return name.strip()
    first = words[0].lower()
    vowel = first[0] in _VOWELS and not first.startswith(_SOUNDS_LIKE_CONSONANT)
    return f"{'an' if vowel or first.startswith(_SOUNDS_LIKE_VOWEL) else 'a'} {name.strip()}"


def bare(name: str) -> str:
    """Return the name without a determiner in front: "cat", "pair of scissors"."""
    words = name.strip().split()
    return " ".join(words[1:]) if len(words) > 1 and words[0].lower() in _DETERMINERS else name.strip()


def render(frame: str, stop: bool = False, **names: str) -> str:
    """Fill the places of a frame with names and begin it with a capital letter.

    ``names``: a, b, n as the frame asks. ``stop``: end with a full stop unless the frame has one.
    """
    sentence = capitalise(frame.format(**{place: _Noun(name) for place, name in names.items()}))
    return sentence + "." if stop and not sentence.endswith(".") else sentence


def is_plural(word: str) -> bool:
    """Whether a lower-case word looks like a plural, see :func:`with_article`."""
    return word in _PLURAL or (len(word) > 2 and word.endswith("s") and not word.endswith(_SINGULAR_IN_S))
