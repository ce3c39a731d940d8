"""InfoNCE over a batch of pairs, with a named treatment of repeated pictures and captions."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from litotes.errors import UserError
from litotes.geometry.numerics import at_least_float32, direction, full_precision, require_finite
from litotes.objectives.pairs import codes
from litotes.objectives.space import require_choice

Repeats = Literal["plain", "masked", "uniform"]


class RepeatCounts(NamedTuple):
    """Rows of a batch that are not the first with their picture, or with their caption."""

    images: int
    captions: int


def repeat_matrix(image_ids: Sequence[str], captions: Sequence[str]) -> Bool[Tensor, "b b"]:
    """Which captions of a batch are right for which pictures because a picture or a caption is repeated.

    ``[i, j] = (image_ids[i] == image_ids[j]) or (captions[i] == captions[j])``, by exact text.

    image_ids, captions: b strings each, row i of one pair. Returns bool [b, b], symmetric, true on the diagonal.
    Not transitive: two captions of one picture are no reason to hold their other pictures for the same.
    """
    if len(image_ids) != len(captions):
        raise UserError(
            got=f"{len(image_ids)} image ids and {len(captions)} captions",
            expected="one of each per pair",
            do="give two sequences of the same length",
        )
    images, texts = codes(image_ids), codes(captions)
    return (images[:, None] == images) | (texts[:, None] == texts)


def count_repeats(image_ids: Sequence[str], captions: Sequence[str]) -> RepeatCounts:
    """How many rows repeat an earlier picture or an earlier caption of the batch, for the journal."""
    return RepeatCounts(len(image_ids) - len(set(image_ids)), len(captions) - len(set(captions)))


def info_nce(
    image: Float[Tensor, "b d"],
    text: Float[Tensor, "b d"],
    scale: float | Float[Tensor, ""],
    *,
    positives: Bool[Tensor, "b b"] | None = None,
    repeats: Repeats = "plain",
) -> Float[Tensor, ""]:
    """Symmetric InfoNCE of CLIP: each picture finds its caption in the batch, each caption its picture.

    ``mean of CE(S, target) and CE(S^T, target)``, ``S_ij = scale * cos(image_i, text_j)``.

    image, text: encoder outputs [b, d], un-normalised; scale: the inverse temperature, 1 / cosine, a number or a
    learned scalar; positives: which pairs are right (`repeat_matrix`), needed for all but ``plain``.
    repeats: ``plain``: the diagonal is the target and every other pair is pushed away, repeats included (CLIP);
    ``masked``: other positives leave the denominator; ``uniform``: the target is spread evenly over the positives of
    the row. Returns a scalar >= 0 in natural logarithms; a batch of one gives exactly 0 with zero gradient. Computed
    in float32 at least, also under autocast. Raises UserError for NaN or infinite features, a missing or wrongly
    shaped ``positives``, one with a false diagonal.
    Source: Radford et al. 2021; ``uniform`` is the supervised form of Khosla et al. 2020, L_out.
    """
    return _both_ways(scaled_cosines(image, text, scale), positives, repeats)


def info_nce_of_scores(
    scores: Float[Tensor, "b b"], *, positives: Bool[Tensor, "b b"] | None = None, repeats: Repeats = "plain"
) -> Float[Tensor, ""]:
    """`info_nce` of any scores: the logits of an adapter, or cosines times their scale.

    scores: [b, b], image rows, text columns, higher is better, without unit; the rest and the result as in `info_nce`.
    Raises UserError for NaN or infinite scores, and for ``positives`` as there.
    """
    require_finite(scores=scores)
    return _both_ways(at_least_float32(scores), positives, repeats)


def negative_info_nce(
    image: Float[Tensor, "b d"],
    text: Float[Tensor, "b d"],
    negative: Float[Tensor, "n d"],
    scale: float | Float[Tensor, ""],
    *,
    positives: Bool[Tensor, "b b"] | None = None,
    repeats: Repeats = "plain",
) -> Float[Tensor, ""]:
    """InfoNCE with true negatives as further wrong captions of every picture: the control without P'.

    ``mean of CE([S, S_neg], target) and CE(S^T, target)``, ``S_neg = scale * cos(image_i, negative_k)``.

    negative: encoder outputs [n, d] of captions that are false of their own picture; the rest as in `info_nce`.
    Returns a scalar >= 0. Source: in the manner of CoN-CLIP (Singh et al. 2024), used as an ablation of HANCLIP; here
    the two directions are averaged as in `info_nce`, and every picture meets the negatives of the whole batch.
    """
    scores = scaled_cosines(image, text, scale)
    wrong = scaled_cosines(image, negative, scale)
    known = _checked(positives, repeats, len(image))
    padded = torch.cat([known, torch.zeros_like(wrong, dtype=torch.bool, device=known.device)], dim=1)
    both = torch.cat([scores, wrong], dim=1)
    return (_rows(both, padded, repeats) + _rows(scores.T, known.T, repeats)) / 2


def scaled_cosines(
    image: Float[Tensor, "n d"],
    text: Float[Tensor, "m d"],
    scale: float | Float[Tensor, ""],
    *,
    paired: bool = False,
) -> Float[Tensor, "n _"]:
    """``scale * cos(image_i, text_j)`` of all pairs, in float32 at least; the cosine of a zero vector is 0.

    image, text: encoder outputs [n, d] and [m, d], un-normalised. paired: of the pairs (image_i, text_i) alone, [n, 1].
    Raises UserError for NaN or infinite features.
    """
    require_finite(image=image, text=text)
    with full_precision(image):
        image, text = direction(at_least_float32(image)), direction(at_least_float32(text))
        return scale * ((image * text).sum(1, keepdim=True) if paired else image @ text.T)


def _both_ways(scores: Tensor, positives: Tensor | None, repeats: Repeats) -> Tensor:
    known = _checked(positives, repeats, len(scores))
    return (_rows(scores, known, repeats) + _rows(scores.T, known.T, repeats)) / 2


def _checked(positives: Tensor | None, repeats: Repeats, size: int) -> Tensor:
    require_choice("repeats", repeats, get_args(Repeats))
    if positives is None:
        if repeats != "plain":
            raise UserError(
                got=f'repeats = "{repeats}" without positives',
                expected="the matrix of right pairs",
                do='pass positives=repeat_matrix(image_ids, captions), or choose repeats="plain"',
            )
        return torch.eye(size, dtype=torch.bool)
    if positives.shape != (size, size) or not bool(positives.diagonal().all()):
        raise UserError(
            got=f"positives of shape {tuple(positives.shape)}, {int(positives.diagonal().sum())} true on the diagonal",
            expected=f"shape ({size}, {size}), true on the diagonal: each picture's own caption is right",
            do="build it with repeat_matrix(image_ids, captions)",
        )
    return positives


def _rows(scores: Tensor, positives: Tensor, repeats: Repeats) -> Tensor:
    positives = positives.to(scores.device)
    with full_precision(scores):
        if repeats == "uniform":
            share = positives.to(scores.dtype) / positives.sum(1, keepdim=True)
            return cross_entropy(scores, share)
        if repeats == "masked":
            others = positives.clone()
            others.fill_diagonal_(fill_value=False)
            scores = scores.masked_fill(others, -torch.inf)
        return cross_entropy(scores, torch.arange(len(scores), device=scores.device))
