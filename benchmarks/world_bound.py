"""What the pictures of the picture-book world allow: how much of the negation questions a supervised read-out solves.

    python benchmarks/world_bound.py

No text tower takes part. From the picture embeddings of a model, one logistic regression a kind, fitted on labelled
training pictures, tells how likely the kind is there. A statement is then scored by these log-odds: their sum over what
it affirms and over what it denies, each with a weight, and a constant, by the form of the statement (one thing, two
things, a denial, both in one). The weights are fitted on questions of the very format, about other pictures. A text
tower that gives each statement one vector, as CLIP does, can do no better by this route: the score of a statement is
linear in the picture's embedding. It is not a strict bound, since the embedding of pictures itself may be trained.
"""

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, normalize

from common import is_smoke
from litotes.data.claims import Claim, many_hot
from litotes.data.images import Pictures
from litotes.data.statements import KINDS as TYPES
from litotes.data.statements import make_options
from litotes.data.wordings import NEGBENCH_WORDINGS
from litotes.demo.recipes import base_matcher, extended_matcher
from litotes.demo.scenes import held_out
from litotes.demo.sets import Evaluation, evaluation, training_quadruplets
from litotes.demo.things import KINDS
from litotes.models.matcher import Matcher

TRAINING, EVALUATION, STEPS = 16_000, 1_000, 1_500
FITTING_SEED = 77


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    smoke = is_smoke(arguments, __doc__)
    training, count, steps = (64, 12, 5) if smoke else (TRAINING, EVALUATION, STEPS)
    labelled = training_quadruplets(training, seed=FITTING_SEED, single=0.25)
    shown = torch.from_numpy(many_hot(labelled.objects or (), KINDS)).float()
    held, fitting = evaluation(count, 1), evaluation(count, 1, FITTING_SEED)
    table = Table(title=f"right answers in percent, {count} pictures; read-out fitted on {training} labelled pictures")
    for head in ("picture embeddings", "Affirmed", "Negated", "Hybrid", "total", "no absent over no present"):
        table.add_column(head, justify="left" if head.startswith("picture") else "right")
    for name, matcher in (("base", base_matcher()), ("extended, as shipped", extended_matcher())):
        weights, bias = read_out(embedded(matcher, labelled.pictures), shown, steps)
        odds, fitting_odds = (embedded(matcher, some.pictures) @ weights + bias for some in (held, fitting))
        right = answered(terms(held, odds), fit(terms(fitting, fitting_odds)))
        shares = (*right.mean(0).tolist(), float(right.mean()), order(held, odds))
        table.add_row(name, *(f"{100 * share:.1f}" for share in shares))
    Console(width=110).print(table)


def embedded(matcher: Matcher, pictures: Pictures) -> Tensor:
    """Unit embeddings of pictures."""
    return normalize(matcher.encode_images(pictures), dim=-1)


def read_out(pictures: Tensor, shown: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """Weights [d, kinds] and bias of the log-odds that a picture shows a kind."""
    torch.manual_seed(0)
    weights = torch.zeros(pictures.shape[1], shown.shape[1], requires_grad=True)
    bias = torch.full((shown.shape[1],), -3.0, requires_grad=True)
    optimizer = torch.optim.Adam([weights, bias], lr=0.1)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, steps)
    for _ in range(steps):
        rows = torch.randint(len(pictures), (2048,))
        loss = binary_cross_entropy_with_logits(pictures[rows] @ weights + bias, shown[rows]) * shown.shape[1]
        optimizer.zero_grad()
        (loss + 2e-6 * weights.square().sum()).backward()
        optimizer.step()
        schedule.step()
    return weights.detach(), bias.detach()


def terms(held: Evaluation, odds: Tensor) -> Tensor:
    """What a score is made of, [pictures, types, options, 12]; option 0 is the true one.

    Of the 12, three belong to each form of statement: the sum over affirmed and over denied things, and 1.
    """
    rng = np.random.default_rng(0)
    rows = []
    for i, item in enumerate(held.scenes):
        for kind in TYPES:
            made = make_options(
                item.present, (item.absent,), rng, held_out, wordings=NEGBENCH_WORDINGS, kind=kind, joint=0.0
            )
            rows.append(torch.stack([_terms_of(claim, odds[i]) for claim in made.claims]))
    return torch.stack(rows).view(len(held.scenes), len(TYPES), 4, 12)


def _terms_of(claim: Claim, odds: Tensor) -> Tensor:
    form = claim.sort if claim.denied else len(claim.affirmed) - 1
    sums = [odds[[KINDS.index(name) for name in names]].sum() for names in claim]
    found = torch.zeros(4, 3)
    found[form] = torch.stack([*sums, torch.tensor(1.0)])
    return found.flatten()


def fit(questions: Tensor) -> Tensor:
    """Weights [12] of the parts of a score, by logistic regression on the right answers."""
    flat = questions.flatten(0, 1)
    weights = torch.zeros(flat.shape[-1], requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=1_000, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = cross_entropy(flat @ weights, torch.zeros(len(flat), dtype=torch.long)) + 1e-4 * weights.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return weights.detach()


def answered(questions: Tensor, weights: Tensor) -> Tensor:
    """Whether the true option has the highest score, [pictures, types]."""
    return ((questions @ weights).argmax(-1) == 0).float()


def order(held: Evaluation, odds: Tensor) -> float:
    """Share of (present, absent) pairs of kinds in which the absent one has the lower log-odds."""
    lower = [
        float(odds[i, KINDS.index(item.absent)] < odds[i, KINDS.index(name)])
        for i, item in enumerate(held.scenes)
        for name in item.present
    ]
    return float(np.mean(lower))


if __name__ == "__main__":
    main()
