"""What the demo's report shows: plain data, filled by the run and drawn by the report."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

Numbers = dict[str, object]


@dataclass(frozen=True)
class Option:
    """A statement about a picture, whether it is true, and the cosine that each model gives the pair."""

    text: str
    true: bool
    scores: dict[str, float]


@dataclass(frozen=True)
class Question:
    """One multiple-choice question: a picture, its options, and the type (positive, negative or hybrid).

    shows: what is in the picture, for a reader who cannot see it.
    """

    picture: Image.Image
    kind: str
    options: tuple[Option, ...]
    shows: str = ""


@dataclass(frozen=True)
class Hit:
    """A picture that a search returned, whether the query is true of it, and in words what it shows."""

    picture: Image.Image
    right: bool
    shows: str = ""


@dataclass(frozen=True)
class Search:
    """A query with a negation, and the best pictures by each model, best first."""

    query: str
    hits: dict[str, tuple[Hit, ...]]


@dataclass(frozen=True)
class Disc:
    """A model's quadruplets in the Poincaré disc: points [n, 2] of norm below 1 for each of the four kinds."""

    points: dict[str, np.ndarray]


@dataclass(frozen=True)
class Story:
    """Everything the report is made of.

    results: the content of report.json; ``results["models"]`` has ``base``, ``infonce``, ``hanclip`` and
    ``extended``. questions, searches: for people. discs: by model. curves: by run, then by term, one value a step.
    """

    results: dict[str, object]
    questions: tuple[Question, ...]
    searches: tuple[Search, ...]
    discs: dict[str, Disc]
    curves: dict[str, dict[str, list[float]]]
