"""Suites whose scores come from a model of pairs in place of the cosine."""

from collections.abc import Sequence
from dataclasses import replace

from litotes.evaluate.coco import JudgedRetrieval
from litotes.evaluate.negation import MultipleChoice
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.selective import SelectiveRetrieval
from litotes.evaluate.suite import Suite
from litotes.models.pair_scores import PairScorer


def scored_by(suites: Sequence[Suite], scorer: PairScorer) -> list[Suite]:
    """The same questions, scored by ``scorer``; behind each retrieval, what the model's uncertainty knows of it.

    suites: of retrieval (COCO's with all judges too, whose uncertainties are not asked) and multiple choice alone.
    """
    scored: list[Suite] = []
    for suite in suites:
        assert isinstance(suite, Retrieval | JudgedRetrieval | MultipleChoice)
        scored.append(replace(suite, scorer=scorer))
        if isinstance(suite, Retrieval):
            tail = suite.name.removeprefix("retrieval") if suite.name.startswith("retrieval") else f"_{suite.name}"
            name = f"selective{tail}"
            scored.append(SelectiveRetrieval(name, suite.pictures, suite.captions, suite.image_of_caption, scorer))
    return scored
