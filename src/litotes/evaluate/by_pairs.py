"""Suites whose scores come from a model of pairs in place of the cosine."""

from collections.abc import Sequence
from dataclasses import replace

from litotes.evaluate.classification import Classification
from litotes.evaluate.coco import JudgedRetrieval
from litotes.evaluate.negation import MultipleChoice
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.selective import SelectiveRetrieval
from litotes.evaluate.suite import Suite
from litotes.models import pair_stream
from litotes.models.pair_scores import PairScorer

LOGIT = "logit of an adapter of pairs"
"""What results call the score, where others have the cosine."""


def score_named(shortlist: int | None) -> str:
    """The same, for the whole record."""
    return LOGIT if shortlist is None else f"{LOGIT}, on a shortlist of {shortlist} by cosine"


def scored_by(suites: Sequence[Suite], scorer: PairScorer) -> list[Suite]:
    """The same questions, scored by ``scorer``; behind each retrieval, what the model's uncertainty knows of it.

    suites: of retrieval, multiple choice and classification alone. COCO's with all judges tells of the uncertainty in
    its own result. A retrieval of more pairs than can be held, or by a shortlist, is not asked for uncertainties, and
    says so.
    """
    scored: list[Suite] = []
    for suite in suites:
        assert isinstance(suite, Retrieval | JudgedRetrieval | MultipleChoice | Classification)
        if not isinstance(suite, Retrieval):
            scored.append(replace(suite, scorer=scorer))
            continue
        pairs = len(suite.pictures) * len(suite.captions)
        told = ""
        if scorer.shortlist is not None:
            told = "uncertainties are not asked with --shortlist: they need the scores of all pairs"
        elif pairs > pair_stream.HELD:
            told = f"uncertainties are not asked: the scores of {pairs:,} pairs are too many to hold"
        if told:
            scored.append(replace(suite, scorer=scorer, remarks=(*suite.remarks, told)))
        else:
            scored += [replace(suite, scorer=scorer), _selective(suite, scorer)]
    return scored


def _selective(suite: Retrieval, scorer: PairScorer) -> SelectiveRetrieval:
    tail = suite.name.removeprefix("retrieval") if suite.name.startswith("retrieval") else f"_{suite.name}"
    return SelectiveRetrieval(f"selective{tail}", suite.pictures, suite.captions, suite.image_of_caption, scorer)
