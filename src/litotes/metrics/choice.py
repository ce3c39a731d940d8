"""Multiple choice and pairs: the right text must score strictly above every other one."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import as_indices, refuse_non_finite

QUESTION_TYPES = ("positive", "negative", "hybrid")
_RESERVED = ("total", "ties", "total_ties_to_first")


def choice_accuracy(
    scores: Float[Tensor, "questions options"],
    correct: Tensor | Sequence[int],
    types: Sequence[str],
    expected_types: Sequence[str] = QUESTION_TYPES,
) -> dict[str, float | int | None]:
    """Accuracy of multiple-choice questions, over all of them and for each type.

    accuracy = #{ q : s[q, correct_q] > s[q, o] for every o != correct_q } / questions

    ``scores`` s [questions, options]: higher is better. ``correct`` [questions]: index of the right option, anywhere.
    ``types`` [questions]: ``positive``, ``negative``, ``hybrid`` or any other word. ``expected_types`` have their
    keys in any case.

    Returns ``total`` (over all questions alike, as NegBench's ``total_accuracy``); each type's accuracy, None where it
    has no question; ``n_<type>``; ``ties``, the questions whose right option shares the highest score;
    ``total_ties_to_first``, the value of a first-maximum argmax as in NegBench's own evaluation. Constant scores give
    0 here and as much as 1 there, since in its files the right option stands first. Fractions 0-1.

    Errors: non-finite scores, no question, fewer than two options, indices out of range, a type with a reserved name.
    Source: NegBench's evaluation; deviation: ties are wrong.
    """
    n_questions, n_options = scores.shape
    if n_questions == 0 or n_options < 2 or len(types) != n_questions:
        raise UserError(
            got=f"{n_questions} questions of {n_options} options with {len(types)} types",
            expected="at least one question, two options and one type a question",
            do="check the file of questions",
        )
    refuse_non_finite(scores)
    right = as_indices(correct, n_questions, n_options, "correct").to(scores.device)
    kinds = list(dict.fromkeys([*expected_types, *types]))
    for kind in kinds:
        if kind in _RESERVED or kind.startswith("n_"):
            raise UserError(got=f"question type {kind!r}", expected="a word that is no result's name", do="rename it")
    won = strictly_best(scores, right)
    own = scores.gather(1, right[:, None])
    others = scores.masked_fill(_one_hot(right, n_options), -torch.inf)
    tied = own.squeeze(1) == others.amax(dim=1)
    earlier = torch.arange(n_options, device=scores.device) < right[:, None]
    first = ~((scores > own) | ((scores == own) & earlier)).any(dim=1)
    result: dict[str, float | int | None] = {"total": int(won.sum()) / n_questions}
    for kind in kinds:
        members = torch.tensor([t == kind for t in types], device=scores.device)
        count = int(members.sum())
        result[kind] = int((won & members).sum()) / count if count else None
        result[f"n_{kind}"] = count
    return result | {"ties": int(tied.sum()), "total_ties_to_first": int(first.sum()) / n_questions}


def strictly_best(scores: Float[Tensor, "questions options"], correct: Tensor) -> Tensor:
    """For each question, whether the right option is strictly above all others; bool [questions]."""
    others = scores.masked_fill(_one_hot(correct, scores.shape[1]), -torch.inf).amax(dim=1)
    return scores.gather(1, correct[:, None]).squeeze(1) > others


def chosen_instead(scores: Float[Tensor, "questions options"], correct: Tensor | Sequence[int]) -> Tensor:
    """The option that beat or equalled the right one; -1 where the question was answered rightly; int64 [questions].

    Of several equal wrong options the first is named.
    """
    refuse_non_finite(scores)
    right = as_indices(correct, len(scores), scores.shape[1], "correct").to(scores.device)
    others = scores.masked_fill(_one_hot(right, scores.shape[1]), -torch.inf)
    best = others.amax(dim=1, keepdim=True)
    # argmax does not promise the first of several maxima, so the smallest index among them is taken
    places = torch.arange(scores.shape[1], device=scores.device).expand_as(scores)
    first = places.masked_fill(others < best, scores.shape[1]).amin(dim=1)
    return torch.where(strictly_best(scores, right), -1, first)


def pair_accuracy(first: Float[Tensor, " pairs"], second: Float[Tensor, " _"]) -> float:
    """Share of pairs in which the first score is strictly above the second; equal scores are misses.

    accuracy = #{ i : first_i > second_i } / pairs, a fraction 0-1; guessing gives 0.5 and a constant 0.

    Errors: non-finite scores, no pair, unequal lengths. As in SugarCrepe and VALSE; CC-Neg's own evaluation counts a
    tie as right.
    """
    if not len(first) or len(first) != len(second):
        raise UserError(
            got=f"{len(first)} and {len(second)} scores", expected="as many of both, at least one", do="check the pairs"
        )
    refuse_non_finite(first)
    refuse_non_finite(second)
    return int((first > second).sum()) / len(first)


def _one_hot(indices: Tensor, width: int) -> Tensor:
    return torch.arange(width, device=indices.device) == indices[:, None]
