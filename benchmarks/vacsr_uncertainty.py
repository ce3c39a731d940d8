"""Whether any uncertainty of VACSR's adapter knows more of the wrong answers than 1 - p does.

    python benchmarks/vacsr_uncertainty.py [--seeds 3] [--steps 400] [--latent 16] [--test-seed 13] [--output FILE]

On the picture-book world, with one caption a picture as the only label, and all that is true known. Adapters are
trained in several ways on the features of the package's own frozen CLIP. Each search (a caption for its picture, a
picture for its caption) is answered by the first item; it is wrong where the caption is not true of the picture. The
answers are put in order by 1 - p and by each other number, and the areas under their risk-coverage curves compared, in
points of percent, with a 95 % interval over searches drawn again. "with p": a logistic regression of the errors on the
logit and that number, fitted on the validation part. Ways and numbers are all shown on the validation part; what is
best there, by way of search, is then measured once on the test part.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from litotes.demo.recipes import base_matcher
from litotes.demo.vacsr.methods import ADAPTER, LOOP, RIVALS
from litotes.demo.vacsr.truth import Part, part
from litotes.metrics.aurc_difference import AurcDifference, aurc_difference
from litotes.metrics.correlation import partial_spearman
from litotes.metrics.matched import matched_auroc
from litotes.metrics.pair_groups import EASY, HARD, MISSING, by_group, pair_groups
from litotes.models.pair_scores import DOUBT, SIGMA, TOTAL, PairScorer
from litotes.models.pair_spreads import component_spread, drawn_spread, entropy_bound, weight_entropy
from litotes.models.variational import VariationalAdapter, uncertainty
from litotes.objectives.diagnostics import PairDiagnostics, diagnostics
from litotes.objectives.vacsr import VacsrConfig, kl_bound, reconstruction, sigma_negative, sigma_positive
from litotes.train.loop import train
from litotes.train.pair_objectives import PairMethod, PairObjective, new_objective
from litotes.train.pairs import FrozenPairs, PairFeatures, pair_features
from litotes.train.task import Terms

TRAINING, PART, TEST, GROUPED = 4000, 800, 1000, 400
SEEDS = {"training": 11, "fitting": 21, "validation": 12}
DRAWS, BOOTSTRAP = 16, 500
ALONE, WITH_P = "alone", "with p"
_BLOCK = 25


@dataclass(frozen=True)
class Measured:
    """Features of pictures and their captions, and what is true of what."""

    images: Tensor
    texts: Tensor
    relevance: Tensor


@dataclass(frozen=True)
class Answers:
    """First items of searches one way: whether each is wrong, its logit, and numbers of how unsure it is, by name."""

    wrong: Tensor
    logit: Tensor
    doubts: dict[str, Tensor]


@final
class LikelyFalse(PairObjective):
    """VACSR with another target of L_sigma^N where a hard wrong pair is probably a right one without a label.

    Of the wrong pairs of a batch those are likely false negatives whose logit is no lower than the median of the
    batch's labelled pairs. The hardest likely one of each image is fitted with ``target``, the hardest of the others
    with 1 as in the paper, both with half the weight.
    """

    def __init__(self, adapter: VariationalAdapter, target: float, config: VacsrConfig) -> None:
        self._adapter, self._target, self._config = adapter, target, config

    @property
    def module(self) -> VariationalAdapter:
        """The adapter."""
        return self._adapter

    def terms(self, image: Tensor, text: Tensor, positives: Tensor, generator: torch.Generator) -> Terms:
        """The loss alone."""
        sample, config = self._adapter(image, text, generator), self._config
        likely = ~positives & (sample.logits >= sample.logits[positives].median())
        fits = [
            sigma_negative(sample.sampled_log_var, sample.logits, positives | left_out, some)
            for left_out, some in ((~likely, replace(config, negative_target=self._target)), (likely, config))
        ]
        loss = (
            config.recon_weight * reconstruction(sample.logits, positives, config)
            + config.kl_weight * kl_bound(sample.mean, sample.log_var, sample.weights)
            + config.sigma_positive_weight * sigma_positive(sample.sampled_log_var, sample.logits, positives, config)
            + config.sigma_negative_weight * (fits[0] + fits[1]) / 2
        )
        return {"loss": loss}

    @torch.no_grad()
    def diagnose(self, image: Tensor, text: Tensor, positives: Tensor, generator: torch.Generator) -> PairDiagnostics:
        """``objectives.diagnostics`` of one draw."""
        return diagnostics(self._adapter(image, text, generator), positives)


def _plain(method: PairMethod) -> PairObjective:
    return new_objective(method)


def _likely(target: float) -> Callable[[PairMethod], PairObjective]:
    return lambda method: LikelyFalse(VariationalAdapter(method.adapter, seed=method.seed), target, method.vacsr)


PAPER = replace(RIVALS["vacsr"].method, adapter=replace(ADAPTER, latent=16))
"""With half of the demo's latent numbers: that of docs/reproduction.md."""
Training = tuple[PairMethod, Callable[[PairMethod], PairObjective]]
TRAININGS: dict[str, Training] = {
    "paper": (PAPER, _plain),
    "weights of each pair": (replace(PAPER, adapter=replace(PAPER.adapter, mixture="per_pair")), _plain),
    "target 0": (replace(PAPER, vacsr=replace(PAPER.vacsr, negative_target=0.0)), _plain),
    "likely false: 0": (PAPER, _likely(0.0)),
}
"""Ways to train, by what they are called: method, and how its objective is made."""


def main(arguments: list[str] | None = None) -> None:
    """Train, choose on the validation part, measure on the test part, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=LOOP.steps)
    parser.add_argument("--latent", type=int, default=PAPER.adapter.latent, help="latent numbers of the adapters")
    parser.add_argument("--test-seed", type=int, default=13, help="seed of the pictures of the test part")
    parser.add_argument("--trainings", nargs="+", choices=list(TRAININGS), default=list(TRAININGS))
    parser.add_argument("--output", type=Path, help="file that gets a line of JSON for each adapter")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    sizes = (96, 40, 40, 20) if asked.smoke else (TRAINING, PART, TEST, GROUPED)
    seeds, steps = (1, 3) if asked.smoke else (asked.seeds, asked.steps)
    ways = {name: (_sized(method, asked.latent), new) for name, (method, new) in TRAININGS.items()}
    ways = {name: ways[name] for name in asked.trainings}
    draws = 3 if asked.smoke else BOOTSTRAP
    rows, groups = figures(ways, sizes, SEEDS | {"test": asked.test_seed}, seeds, steps, draws, asked.output)
    screen = Console(width=130)
    for way in ("i2t", "t2i"):
        screen.print(by_number([row for row in rows if row["way"] == way], way))
    screen.print(chosen(rows), grouped(groups))


def _sized(method: PairMethod, latent: int | None) -> PairMethod:
    return replace(method, adapter=replace(method.adapter, latent=latent))


def figures(
    ways: dict[str, Training],
    sizes: tuple[int, int, int, int],
    part_seeds: dict[str, int],
    seeds: int,
    steps: int,
    draws: int,
    output: Path | None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All comparisons with 1 - p, on the validation and on the test part, and sigma by groups of pairs.

    ways: to train, by name, as in ``TRAININGS``. output: gets a line of JSON as soon as an adapter is measured.
    """
    counts = dict(zip(part_seeds, (sizes[0], sizes[1], sizes[1], sizes[2]), strict=True))
    matcher = base_matcher()
    parts = {name: part(name, count, part_seeds[name]) for name, count in counts.items()}
    features = pair_features(matcher, parts["training"].data)
    fitting, validation, test = (measured(matcher, parts[name]) for name in ("fitting", "validation", "test"))
    rows, groups = [], []
    for seed in range(seeds):
        for name, (method, objective) in ways.items():
            model = trained(features, replace(method, seed=seed), objective, steps)
            fitted = answers(model, fitting)
            told = {"training": name, "seed": seed}
            new = [
                {**told, "part": where, "way": way, **line}
                for where, some in (("validation", validation), ("test", test))
                for way, found in answers(model, some).items()
                for line in compared(found, fitted[way], draws)
            ]
            groups.append({**told, **by_relevance(model, test, sizes[3])})
            rows += new
            if output:
                with output.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"groups": groups[-1], "rows": new}) + "\n")
    return rows, groups


def measured(matcher: Any, some: Part) -> Measured:
    """A part, encoded."""
    features = pair_features(matcher, some.data)
    return Measured(
        features.images[features.picture_of_row], features.texts[features.text_of_row], some.truth.relevance()
    )


def trained(
    features: PairFeatures, method: PairMethod, new: Callable[[PairMethod], PairObjective], steps: int
) -> VariationalAdapter:
    """The adapter at the end of its run."""
    objective = new(method)
    loop = replace(RIVALS["vacsr"].loop(steps, method.seed), save_every=0)
    with tempfile.TemporaryDirectory() as folder:
        train(FrozenPairs(features, objective, method), loop, Path(folder) / "run", quiet=True)
    assert isinstance(objective.module, VariationalAdapter)
    return objective.module


def answers(model: VariationalAdapter, some: Measured) -> dict[str, Answers]:
    """The first items of all searches, both ways."""
    scores = PairScorer(model).scores(some.images, some.texts)
    every = torch.arange(len(scores))
    found = {}
    for way, table, truth in (("i2t", scores, some.relevance), ("t2i", scores.T, some.relevance.T)):
        best = table.topk(2, dim=1)
        first = best.indices[:, 0]
        images, texts = (some.images, some.texts[first]) if way == "i2t" else (some.images[first], some.texts)
        doubts = numbers(model, images, texts)
        doubts["distance to the second"] = (best.values[:, 1] - best.values[:, 0]).double()
        found[way] = Answers(~truth[every, first], best.values[:, 0].double(), doubts)
    return found


@torch.no_grad()
def numbers(model: VariationalAdapter, images: Tensor, texts: Tensor) -> dict[str, Tensor]:
    """All that is tried, for the pairs (images_i, texts_i), higher where less sure."""
    generator = torch.Generator().manual_seed(0)
    found: dict[str, list[Tensor]] = {}
    for start in range(0, len(images), _BLOCK):
        image, text = images[start : start + _BLOCK], texts[start : start + _BLOCK]
        pairs = model.distribution(image, text)
        drawn = drawn_spread(model, image, text, DRAWS, generator)
        some = {
            DOUBT: torch.sigmoid(-model.logits(image, text).double()),
            SIGMA: uncertainty(pairs),
            TOTAL: uncertainty(pairs, "total", "mean_variance"),
            "spread of components": component_spread(pairs),
            "entropy of weights": weight_entropy(pairs),
            "entropy of mixture": entropy_bound(pairs),
            "deviation of drawn logits": drawn["logit_std"],
            "deviation of drawn p": drawn["p_std"],
            "1 - mean drawn p": drawn["doubt"],
        }
        for name, matrix in some.items():
            found.setdefault(name, []).append(matrix.diagonal().double())
    return {name: torch.cat(parts) for name, parts in found.items()}


def compared(found: Answers, fitted: Answers, draws: int) -> list[dict[str, Any]]:
    """Each number against 1 - p on some answers: alone, and with p as fitted on other answers."""
    lines = []
    for name, doubt in found.doubts.items():
        if name == DOUBT:
            continue
        weights = logistic(_columns(fitted, name, fitted), fitted.wrong)
        joint = _columns(found, name, fitted) @ weights
        for how, order in ((ALONE, doubt), (WITH_P, joint)):
            told = aurc_difference(order, found.doubts[DOUBT], found.wrong, draws=draws)
            lines.append({"number": name, "how": how, "error": float(found.wrong.double().mean()), **_flat(told)})
    return lines


def _flat(told: AurcDifference) -> dict[str, float]:
    return {
        "aurc": told.first, "aurc_one_minus_p": told.second, "difference": told.difference,
        "low": told.interval.low, "high": told.interval.high,
    }  # fmt: skip


def _columns(some: Answers, name: str, fitted: Answers) -> Tensor:
    """1, the logit, and a number in units of the fitting part; a number of one value throughout says nothing."""
    middle, width = fitted.doubts[name].mean(), fitted.doubts[name].std()
    unit = (some.doubts[name] - middle) / width if width > 1e-9 else torch.zeros_like(some.logit)
    return torch.stack([torch.ones_like(some.logit), some.logit, unit], dim=1)


def logistic(columns: Tensor, wrong: Tensor, steps: int = 50) -> Tensor:
    """Weights of the log-odds of an error, by Newton's method, with a ridge that only decides what data leave open."""
    weights = torch.zeros(columns.shape[1], dtype=torch.float64)
    for _ in range(steps):
        p = torch.sigmoid(columns @ weights)
        slope = columns.T @ (p - wrong.double()) + 1e-3 * weights
        bend = (columns * (p * (1 - p))[:, None]).T @ columns + 1e-3 * torch.eye(len(weights), dtype=torch.float64)
        weights = weights - torch.linalg.solve(bend, slope)
    return weights


def by_relevance(model: VariationalAdapter, some: Measured, count: int) -> dict[str, Any]:
    """Sigma by group of pairs among the first pictures and captions, and whether it tells missing from wrong ones."""
    images, texts, relevance = some.images[:count], some.texts[:count], some.relevance[:count, :count]
    scorer = PairScorer(model)
    scores, doubts = scorer.scores(images, texts), scorer.all_doubts(images, texts)
    groups = pair_groups(scores, torch.eye(count, dtype=torch.bool), relevance, hardest=5)
    asked = groups[MISSING] | groups[HARD] | groups[EASY]
    told = {
        name: matched_auroc(doubts[name][asked], groups[MISSING][asked], scores[asked], bins=50).auroc
        for name in (SIGMA, TOTAL, DOUBT)
    }
    untrue = (~relevance).double()
    return {
        "sigma": {name: summary._asdict() for name, summary in by_group(doubts[SIGMA], groups).items()},
        "p": {name: summary._asdict() for name, summary in by_group(1 - doubts[DOUBT], groups).items()},
        "missing_over_wrong_at_equal_p": told,
        "partial_spearman_with_untrue": partial_spearman(
            doubts[SIGMA].flatten(), untrue.flatten(), doubts[DOUBT].flatten()
        ),
    }


def by_number(rows: list[dict[str, Any]], way: str) -> Table:
    """Differences of AURC on the validation part, in points, mean over the seeds."""
    some = [row for row in rows if row["part"] == "validation"]
    table = Table(title=f"{way}, validation: AURC less that of 1 - p, in points of percent (below 0 is better)")
    trainings = list(dict.fromkeys(row["training"] for row in some))
    for head in ("number", *trainings):
        table.add_column(head, justify="left" if head == "number" else "right")
    base = [_mean(some, "aurc_one_minus_p", training=training) for training in trainings]
    table.add_row("AURC of 1 - p itself", *(f"{100 * value:.1f}" for value in base))
    for name in dict.fromkeys(row["number"] for row in some):
        for how in (ALONE, WITH_P):
            cells = [_mean(some, "difference", training=training, number=name, how=how) for training in trainings]
            table.add_row(f"{name}, {how}", *(f"{100 * value:+.2f}" for value in cells))
    return table


def chosen(rows: list[dict[str, Any]]) -> Table:
    """What was best on the validation part, for each way of search and of training, measured on the test part."""
    table = Table(title="Test: what was best on the validation part, AURC less that of 1 - p, in points of percent")
    for head in ("search", "training", "number", "AURC of 1 - p", "difference by seed, with 95 % intervals"):
        table.add_column(head)
    for way in ("i2t", "t2i"):
        for training in dict.fromkeys(row["training"] for row in rows):
            some = [row for row in rows if row["way"] == way and row["training"] == training]
            seen = [row for row in some if row["part"] == "validation"]
            best = min(
                {(row["number"], row["how"]) for row in seen},
                key=lambda pick, seen=seen: _mean(seen, "difference", number=pick[0], how=pick[1]),
            )
            told = [row for row in some if row["part"] == "test" and (row["number"], row["how"]) == best]
            cells = ", ".join(
                f"{100 * row['difference']:+.2f} ({100 * row['low']:+.2f} to {100 * row['high']:+.2f})" for row in told
            )
            base = sum(row["aurc_one_minus_p"] for row in told) / len(told)
            table.add_row(way, training, ", ".join(best), f"{100 * base:.1f}", cells)
    return table


def grouped(groups: list[dict[str, Any]]) -> Table:
    """Sigma by group, and AUROC of missing pairs over wrong ones at equal p."""
    table = Table(title="Test: median sigma (and p) by group; AUROC of missing over wrong pairs at equal p")
    for head in ("training", "seed", "labelled", "missing", "hard", "easy", "by sigma", "by 1 - p", "partial"):
        table.add_column(head)
    for row in groups:
        cells = [
            f"{row['sigma'][name]['median']:.3g} ({row['p'][name]['median']:.2g})"
            for name in ("labelled", MISSING, HARD, EASY)
        ]
        told = row["missing_over_wrong_at_equal_p"]
        partial = row["partial_spearman_with_untrue"]
        table.add_row(
            row["training"], str(row["seed"]), *cells, f"{told[SIGMA]:.3f}", f"{told[DOUBT]:.3f}",
            "-" if partial is None else f"{partial:+.3f}",
        )  # fmt: skip
    return table


def _mean(rows: list[dict[str, Any]], key: str, **wanted: str) -> float:
    values = [row[key] for row in rows if all(row[name] == value for name, value in wanted.items())]
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
