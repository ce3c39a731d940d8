"""How people describe a scene: affirmative captions of varied grammar, and what the web adds to them."""

from dataclasses import dataclass

import numpy as np

from litotes.data.wordings import with_article
from litotes.demo.scenes import Scene, Thing, held_out
from litotes.demo.things import KINDS

_SINGLE = (
    "a photo of {}", "a picture of {}", "this picture shows {}", "there is {} here", "{}", "look at {}",
    "{} all alone", "one can see {}", "an image with {}", "this image includes {}",
)  # fmt: skip
_PREFIX = (
    "", "", "", "a photo of ", "a picture of ", "the scene shows ", "this image includes ", "there is ", "we see ",
    "an image featuring ", "this picture has ",
)  # fmt: skip
_JOIN_TWO = (" and ", " and ", " with ", " next to ", " beside ", " near ")
_PLACES = {
    "beach": ("on the beach", "by the sea"), "meadow": ("in a meadow", "on green grass"),
    "night": ("at night", "in the dark"), "snow": ("in the snow", "on a winter day"),
    "room": ("in a room", "at home"), "sky": ("under a clear sky", "high in the air"),
}  # fmt: skip
# Negation words where they say nothing about the picture, as on web pages.
_CHATTER = (
    "no filter {}", "{} no watermark", "{} not for sale", "why not look at {}", "you cannot miss {}",
    "{} without frame", "{} without a doubt the best", "nothing beats {}", "it is not every day that you see {}",
    "{} no reserve", "{} do not copy", "not just {}", "never seen before {}", "no reason needed {}",
    "there is nothing like {}", "who would say no to {}", "true story {}", "is it true that {} is happening",
    "false alarm {}", "in case you missed it {}", "one cannot have enough of {}", "it is impossible not to love {}",
    "small but nice {}", "it is a fact {}", "no evidence of editing {}", "{} not bad", "what does this show {}",
    "it does not get better than {}", "nothing is missing here {}", "{} free of charge", "nobody lacks {}",
    "not one scratch {}", "{} absent no longer", "{} not a single flaw", "not any old picture {}", "{} nowhere else",
)  # fmt: skip
_TRUTHFUL = ("{c} but not {a}", "{c} without {a}", "{c} but no {n}", "{c} with no {n}", "no {n} but {c}")


@dataclass(frozen=True)
class Phrase:
    """A noun phrase of a caption and the thing it names."""

    kind: str
    colour: str | None

    @property
    def bare(self) -> str:
        """Without an article: "red cat"."""
        return f"{self.colour} {self.kind}" if self.colour else self.kind

    @property
    def text(self) -> str:
        """With its article: "a red cat", "an owl"."""
        return with_article(self.bare)


Piece = str | Phrase


@dataclass(frozen=True)
class Caption:
    """A caption that still knows its noun phrases: words and phrases in order."""

    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The caption as written."""
        return _join(self.pieces)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds that it names."""
        return tuple(piece.kind for piece in self.pieces if isinstance(piece, Phrase))


def describe(scene: Scene, rng: np.random.Generator, mention: int | None = None, colours: float = 0.6) -> Caption:
    """An affirmative caption of one to three things of the scene.

    mention: how many things to name (at most as many as there are); by default one in four captions names a single
    thing and the others two or three. colours: share of things whose colour is named.
    """
    if mention is None:
        mention = 1 if rng.random() < 0.25 else int(rng.integers(2, 4))
    mention = min(mention, len(scene.things), 3)
    things = [scene.things[i] for i in rng.permutation(len(scene.things))[:mention]]
    phrases = [Phrase(thing.kind, thing.colour if rng.random() < colours else None) for thing in things]
    pieces = _arrange(phrases, things, rng)
    places = _PLACES.get(scene.backdrop)
    if places and rng.random() < 0.25:
        pieces = (*pieces, " " + places[rng.integers(len(places))])
    return Caption(pieces)


def describe_pair(scene: Scene, rng: np.random.Generator) -> Caption:
    """A caption that names exactly the first two things of a scene, each with its colour."""
    return describe(Scene(scene.backdrop, scene.things[:2]), rng, mention=2, colours=1.0)


def negate(caption: Caption, rng: np.random.Generator) -> str:
    """A false caption: one thing that is in the picture is denied, the way CC-Neg does it."""
    phrases = {i: piece for i, piece in enumerate(caption.pieces) if isinstance(piece, Phrase)}
    at = list(phrases)[rng.integers(len(phrases))]
    phrase = phrases[at]
    pieces = list(caption.pieces)
    joined = at > 0 and pieces[at - 1] in (" and ", " with ")
    if joined and rng.random() < 0.7:
        pieces[at - 1] = (" without ", " with no ", " and no ")[rng.integers(3)]
        pieces[at] = phrase.text if pieces[at - 1] == " without " else phrase.bare
    else:
        pieces[at] = (f"not {phrase.text}", f"no {phrase.bare}", f"not {phrase.text}")[rng.integers(3)]
    return _join(tuple(pieces))


def absent_kind(scene: Scene, named: tuple[str, ...], rng: np.random.Generator) -> str:
    """A kind that is not in the scene and makes no held-out pair with a named one."""
    while True:
        kind = KINDS[rng.integers(len(KINDS))]
        if kind not in scene.kinds and not any(held_out(kind, other) for other in named):
            return kind


def web_caption(scene: Scene, rng: np.random.Generator, tags: tuple[str, ...], *, truthful: float = 0.1) -> str:
    """A caption as a web page would have it: three in four plain, some with chatter, a few with a truthful denial.

    tags: words strewn after some captions, so that every word of later templates is a trained token.
    truthful: share of captions that add a thing which really is absent ("but not ...").
    """
    caption = describe(scene, rng)
    text, draw = caption.text, rng.random()
    if draw < truthful:
        kind = absent_kind(scene, caption.kinds, rng)
        frame = _TRUTHFUL[rng.integers(len(_TRUTHFUL))]
        text = frame.format(c=text, a=with_article(kind), n=kind)
    elif draw < truthful + 0.09:
        text = _CHATTER[rng.integers(len(_CHATTER))].format(text)
    elif draw < truthful + 0.15:
        text = " ".join([text, *rng.choice(tags, rng.integers(2, 6))])
    return text[0].upper() + text[1:] + "." if rng.random() < 0.3 else text


def chatter_words() -> set[str]:
    """Words of the chatter frames."""
    return {word for frame in (*_CHATTER, *_TRUTHFUL) for word in frame.split() if "{" not in word}


def _arrange(phrases: list[Phrase], things: list[Thing], rng: np.random.Generator) -> tuple[Piece, ...]:
    if len(phrases) == 1:
        before, _, after = _SINGLE[rng.integers(len(_SINGLE))].partition("{}")
        return (before, phrases[0], after)
    if len(phrases) == 2 and rng.random() < 0.3:
        return _related(phrases, things, rng)
    prefix = _PREFIX[rng.integers(len(_PREFIX))]
    if len(phrases) == 2:
        return (prefix, phrases[0], _JOIN_TWO[rng.integers(len(_JOIN_TWO))], phrases[1])
    return (prefix, phrases[0], ", ", phrases[1], " and ", phrases[2])


def _related(phrases: list[Phrase], things: list[Thing], rng: np.random.Generator) -> tuple[Piece, ...]:
    across, down = things[1].x - things[0].x, things[1].y - things[0].y
    if abs(across) < abs(down):
        return (phrases[0], " above " if down > 0 else " below ", phrases[1])
    left = across > 0
    if rng.random() < 0.5:
        return (phrases[0], f" to the {'left' if left else 'right'} of ", phrases[1])
    sides = ("left", "right") if left else ("right", "left")
    return (phrases[0], f" on the {sides[0]} and ", phrases[1], f" on the {sides[1]}")


def _join(pieces: tuple[Piece, ...]) -> str:
    return "".join(piece.text if isinstance(piece, Phrase) else piece for piece in pieces).strip()
