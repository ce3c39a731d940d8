"""Names of things from captions alone, for tables that do not list what is in each picture."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from litotes.data.quadruplets import Quadruplets
from litotes.data.wordings import is_plural
from litotes.errors import UserError

LEAST_PICTURES = 3
"""Pictures in whose captions a name must stand as a noun does."""

LEAST_SHARE = 0.15
"""Share of a word's places in which it must stand as a noun does; "a sitting area" makes no noun of "sitting"."""

PAIR_SHARE = 0.5
"""Share of the places of a first word after which the second must follow, for the two to be one name."""

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]")
_STOP, _PAUSE = ".", ","
_ENDS = frozenset(".;:!?")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DENIALS = _set("no not without never none neither nor cannot lacks lack lacking nothing nobody nowhere")
_TURNS = _set("but yet though although while whereas")
_DETERMINERS = _set("""
    a an the some several many few both each every another this that these those his her its their my our your
    one two three four five six seven eight nine ten eleven twelve
""")
_LINKS = _set("""
    about above across after against along alongside amid among around as at atop away before behind below beneath
    beside besides between beyond by down during except for from in inside into like near next of off on onto out
    outside over past since through to together toward towards under underneath until up upon via with within
    and or so when where which who whom whose than then because if is are was were be been being am has have had
    having do does did can could will would shall should may might must it he she they we you i them him us me there
    here also very just only too
""")
_FUNCTION = _DETERMINERS | _TURNS | _LINKS
_ADJECTIVES = _set("""
    red green blue yellow orange black white brown grey gray pink purple silver gold golden dark light bright big
    large huge little small tiny tall short long old older elderly new young younger
""")
_PICTURES = _set("""
    photo photograph picture image view scene shot snapshot drawing painting illustration close closeup close-up
    background foreground left right side front back top bottom middle center centre edge end corner part place way
    area distance
""")
_AMOUNTS = _set("""
    ones other others thing things something lot lots bunch couple pair group number variety assortment kind type
    sort piece set row line series collection same different various all most more half first second
""")
_ALWAYS = _set("hand head face arm leg eye foot body hair mouth sky ground floor wall air day time")
_NEVER = _PICTURES | _AMOUNTS | _ALWAYS
_PEOPLE = _set("""
    person persons people man men woman women boy boys girl girls child children kid kids guy guys lady ladies
    gentleman gentlemen someone
""")
_PLURALS = {"feet": "foot", "teeth": "tooth", "geese": "goose", "mice": "mouse"}
_IN_ES = ("s", "x", "z", "ch", "sh", "o")


def names_from_captions(captions: Sequence[Sequence[str]], least: int = LEAST_PICTURES) -> list[tuple[str, ...]]:
    """Name the things that the captions of each picture mention, without a dictionary or a tagger.

    A word stands as a noun does where a determiner or a number comes before it (at most colours and sizes between) and
    a function word, a mark or the end after it: "a red *ball* on the *grass*." It is a name if it stands so in the
    captions of at least ``least`` pictures and in LEAST_SHARE of all its places. Two words that stand so together are
    one name if the first is followed by the second in PAIR_SHARE of its places ("teddy bear", but not "wooden chair"),
    unless the second looks like a verb: no noun by itself, and behind a noun or with the ending -ing or -ed.
    Then every place of a name in a caption counts, with a determiner or not.

    captions: those of each picture, in English. Result: for each picture its names, each once, in the order of their
    first places; none where no caption mentions a name.

    Edges: case is ignored. A plural is folded to its singular where the captions have both; words for people are
    folded to "person", since what one calls a man another calls a person. What follows a denial ("no", "without") up
    to the end of the sentence or a "but" is not mentioned. Never names: colours and sizes, words of pictures and their
    sides, of amounts ("a couple of"), and what is mostly there but seldom mentioned (hand, face, sky, floor). The rule
    knows no meanings: "a dog" and "a puppy" are two things, a denial of one beside the other is untrue.
    """
    texts = _folded([[_words(caption) for caption in some] for some in captions])
    found = _found(texts, least)
    return [tuple(dict.fromkeys(name for words in some for name in _mentioned(words, found))) for some in texts]


def objects_from_captions(data: Quadruplets) -> Quadruplets:
    """Give every quadruplet the names that the true captions P of its picture mention, see ``names_from_captions``.

    All captions of a picture, that is of one path, are taken together. A picture that mentions none keeps an empty
    tuple. Errors: :class:`UserError` when the pictures have objects already, or fewer than two names are found.
    """
    if data.objects is not None:
        raise UserError(
            got="names from captions (--objects-from captions), but an objects column in the table",
            expected="one of the two; a list of objects is more complete than what captions mention",
            do="leave out --objects-from, or take the column out of the table",
        )
    rows: dict[str, list[int]] = defaultdict(list)
    for i in range(len(data)):
        rows[data.pictures.name(i)].append(i)
    names = names_from_captions([[data.captions[i] for i in some] for some in rows.values()])
    different = sorted({name for some in names for name in some})
    if len(different) < 2:
        raise UserError(
            got=f"{len(different)} names in the captions of {len(rows)} pictures {different}",
            expected=f"English captions in which two nouns or more stand after a, the or a number, each in those of "
            f"{LEAST_PICTURES} pictures or more",
            do="add an objects column with the things in each picture, or take the recipe hanclip",
        )
    of_row = {i: found for some, found in zip(rows.values(), names, strict=True) for i in some}
    return replace(data, objects=tuple(of_row[i] for i in range(len(data))))


def names_note(data: Quadruplets) -> str:
    """Say what names the captions gave: how many, how many a picture, the most frequent, pictures with few.

    data: with names as by ``objects_from_captions``.
    """
    by_picture = {data.pictures.name(i): some for i, some in enumerate(data.objects or ())}
    counts = Counter(name for some in by_picture.values() for name in some)
    sizes = Counter(len(some) for some in by_picture.values())
    often = ", ".join(f"{name} {n:,}" for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:10])
    return (
        f"The things in the pictures are nouns of the captions (--objects-from captions): {len(counts):,} names, "
        f"{counts.total() / len(by_picture):.1f} a picture; most often {often}. Of {len(by_picture):,} pictures, "
        f"{sizes[0]:,} have no name and {sizes[1]:,} only one. What the captions do not mention counts as absent: some "
        "of the denials that are made of these names, to learn from and to measure by, are untrue."
    )


class _Found(NamedTuple):
    nouns: set[str]
    pairs: set[tuple[str, str]]


def _words(caption: str) -> list[str]:
    """Lower-case words, a stop or a pause for marks and for every denied word, and a stop at the end."""
    words = []
    denied = False
    for word in _WORD.findall(caption.lower().replace("’", "'")):
        if not word[0].isalnum():
            denied = denied and word not in _ENDS
            words.append(_STOP if word in _ENDS else _PAUSE)
            continue
        denied = (denied or word in _DENIALS or word.endswith("n't")) and word not in _TURNS
        words.append(_PAUSE if denied else word.removesuffix("'s"))
    return [*words, _STOP]


def _folded(texts: list[list[list[str]]]) -> list[list[list[str]]]:
    """Plurals as the singular that stands somewhere in the texts; words for people as "person"."""
    known = {word for some in texts for words in some for word in words}
    fold = {word: _fold(word, known) for word in known}
    return [[[fold[word] for word in words] for words in some] for some in texts]


def _fold(word: str, known: set[str]) -> str:
    if word in _PEOPLE:
        return "person"
    plural = is_plural(word) or (len(word) > 4 and word.endswith("as"))
    if _is_break(word) or not plural:
        return word
    return next((one for one in _singulars(word) if one in known - _ADJECTIVES), word)


def _singulars(plural: str) -> Iterator[str]:
    """What the plural may be of, the likeliest first."""
    yield _PLURALS.get(plural, plural[:-1])
    if plural.endswith("es") and plural[:-2].endswith(_IN_ES):
        yield plural[:-2]
    if plural.endswith("ies"):
        yield plural[:-3] + "y"
    if plural.endswith("ves"):
        yield from (plural[:-3] + "f", plural[:-3] + "fe")


def _found(texts: list[list[list[str]]], least: int) -> _Found:
    """Nouns, and pairs of words that are one name, of all texts."""
    places: Counter[str] = Counter()
    following: Counter[tuple[str, str]] = Counter()
    alone: dict[str, list[int]] = defaultdict(list)
    together: dict[tuple[str, str], list[int]] = defaultdict(list)
    for picture, some in enumerate(texts):
        for words in some:
            places.update(words)
            following.update(pairwise(words))
            for phrase in _phrases(words):
                if len(phrase) == 1:
                    alone[phrase[0]].append(picture)
                elif len(phrase) == 2:
                    together[phrase[0], phrase[1]].append(picture)
    nouns = {
        word
        for word, pictures in alone.items()
        if len(set(pictures)) >= least and len(pictures) >= LEAST_SHARE * places[word] and _may_name(word)
    }
    pairs = {
        pair
        for pair, pictures in together.items()
        if len(set(pictures)) >= least and following[pair] >= PAIR_SHARE * places[pair[0]] and _may_pair(*pair, nouns)
    }
    return _Found(nouns, pairs)


def _phrases(words: list[str]) -> Iterator[list[str]]:
    """The words after each determiner and the colours and sizes behind it, up to the next break."""
    for i, word in enumerate(words):
        if word in _DETERMINERS or word.isdigit():
            begin = i + 1
            while words[begin] in _ADJECTIVES:
                begin += 1
            end = begin
            while not _is_break(words[end]):
                end += 1
            yield words[begin:end]


def _is_break(word: str) -> bool:
    return word in _FUNCTION or word.isdigit() or not word[0].isalnum()


def _may_name(word: str) -> bool:
    return len(word) > 1 and word not in _ADJECTIVES and _NEVER.isdisjoint((word, word.removesuffix("s")))


def _may_pair(first: str, second: str, nouns: set[str]) -> bool:
    """Whether the second word can be what the first one is about, and is no verb behind it."""
    verb = second not in nouns and (first in nouns or second.endswith(("ing", "ed")))
    return _may_name(first) and _may_name(second) and not verb


def _mentioned(words: list[str], found: _Found) -> Iterator[str]:
    """The names in a caption in their order; the words of a pair are not named alone."""
    i = 0
    while i < len(words):
        pair = tuple(words[i : i + 2])
        if pair in found.pairs:
            yield " ".join(pair)
        elif words[i] in found.nouns:
            yield words[i]
        i += 2 if pair in found.pairs else 1
