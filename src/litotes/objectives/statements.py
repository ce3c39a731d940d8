"""Statements of a whole batch against all its pictures, by their truth (beyond the paper)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import softplus

from litotes.errors import UserError
from litotes.geometry.numerics import full_precision, narrow, require_finite, widen
from litotes.objectives.own_options import OwnOptionsConfig
from litotes.objectives.space import all_pairs, place


class StatementTerms(NamedTuple):
    """The two halves of the term; ``loss`` is their sum."""

    pictures: Float[Tensor, ""]
    statements: Float[Tensor, ""]

    @property
    def loss(self) -> Float[Tensor, ""]:
        """Both halves with weight 1."""
        return self.pictures + self.statements


def statement_contrast(
    image: Float[Tensor, "b d"],
    statements: Float[Tensor, "m d"],
    true: Bool[Tensor, "b m"],
    false: Bool[Tensor, "b m"],
    sorts: Int[Tensor, " m"],
    config: OwnOptionsConfig | None = None,
) -> StatementTerms:
    """Bring each statement nearer to every picture of which it is true than to those of which it is false.

    With ``s_ij = -D(v_i, o_j) / tau``, the log-odds loss of a true pair against a set F of false ones is
    ``l(i, j; F) = log(1 + sum_F exp(s_F - s_ij))``.

    - ``statements``: for each statement j, F holds the pictures of which j is false; this is what a search by j ranks.
    - ``pictures``: for each picture i, F holds the statements of the same sort as j that are false of i, so that
      "no <absent>" is weighed against "no <present>" and not against what any word would tell apart.

    Each is averaged over the true pairs of an anchor, then over the anchors that have a true and a false one (for
    ``pictures`` within a sort, then over the sorts). An anchor without both adds nothing, and 0 is the value where no
    anchor is left.

    image: encoder outputs [b, d]; statements: encoder outputs [m, d]; true, false: which statement holds of which
    picture, neither where it is not known; sorts: a number for each statement; config: as for ``own_options``.
    Returns two scalars >= 0. Computed in float64 also under autocast. Raises UserError for NaN or infinite features,
    and for a pair that is both true and false.
    """
    config = config or OwnOptionsConfig()
    require_finite(image=image, statements=statements)
    both = int((true & false).sum())
    if both:
        raise UserError(
            got=f"{both} pairs that are true and false", expected="one of them, or neither", do="check the truth tables"
        )
    with full_precision(image):
        distance = all_pairs(place(widen(image), config), place(widen(statements), config), config)
        scores = -distance / config.numeric_temperature
        columns = [sorts == sort for sort in sorts.unique()]
        by_picture = [_log_odds(scores[:, own], true[:, own], false[:, own]) for own in columns]
        some = [value for value in by_picture if value is not None]
        by_statement = _log_odds(scores.T, true.T, false.T)
        nothing = scores.sum() * 0
        return StatementTerms(
            narrow(torch.stack(some).mean() if some else nothing, image, statements),
            narrow(nothing if by_statement is None else by_statement, image, statements),
        )


def _log_odds(scores: Tensor, true: Tensor, false: Tensor) -> Tensor | None:
    """Mean over rows of the mean over true columns of log(1 + sum over false columns of e^(s_false - s_true))."""
    rows = true.any(1) & false.any(1)
    if not rows.any():
        return None
    scores, true = scores[rows], true[rows]
    rivals = scores.masked_fill(~false[rows], -torch.inf).logsumexp(1, keepdim=True)
    losses = softplus(rivals - scores).masked_fill(~true, 0.0)
    return (losses.sum(1) / true.sum(1)).mean()
