"""The demo: evaluate the small CLIP, adapt it in three ways, evaluate again, tell the story."""

import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from rich.console import Console
from rich.table import Table
from torch.nn.functional import normalize

import litotes
from litotes.config import record
from litotes.data.quadruplets import Quadruplets
from litotes.demo.recipes import base_matcher, extended_matcher, hanclip_recipe, infonce_recipe
from litotes.demo.report import write_report
from litotes.demo.searching import denial_search, fits, query
from litotes.demo.sets import Evaluation, evaluation, training_quadruplets
from litotes.demo.story import Disc, Hit, Option, Question, Search, Story
from litotes.errors import UserError
from litotes.evaluate.features import Encoder, Remembering, remembering
from litotes.evaluate.geometry import Geometry
from litotes.evaluate.plots import loss_terms
from litotes.evaluate.suite import run_suites
from litotes.models.matcher import Matcher
from litotes.train.journal import read_journal
from litotes.train.recipes import Recipe, adapt

MODELS = ("base", "infonce", "hanclip", "extended")
MOST_RANK = 10


@dataclass(frozen=True)
class DemoConfig:
    """What the demo does. seed: of the adaptation. pictures: for evaluation. quadruplets: for adaptation."""

    seed: int = 0
    pictures: int = 1000
    quadruplets: int = 6000

    def __post_init__(self) -> None:
        if self.pictures < MOST_RANK or self.quadruplets < 2:
            raise UserError(
                got=f"{self.pictures} pictures (--pictures) and {self.quadruplets} quadruplets (--quadruplets)",
                expected=f"at least {MOST_RANK} pictures, since recall is counted up to there, and 2 quadruplets",
                do="ask for more; 1000 and 6000 give the figures that the documentation speaks of",
            )


def run_demo(folder: Path, config: DemoConfig, say: Callable[[str], None]) -> Path:
    """Do the whole demo and return the path of ``report.html``; ``report.json`` stands beside it in ``folder``.

    say: is told each stage.
    """
    clock = _Clock(say)
    clock.start("drawing pictures")
    held = evaluation(config.pictures)
    data = training_quadruplets(config.quadruplets, config.seed)
    adapted, curves = {"base": base_matcher()}, {}
    for name, recipe in (("infonce", infonce_recipe(config.seed)), ("hanclip", hanclip_recipe(config.seed))):
        clock.start(f"adapting: {name}")
        adapted[name], curves[name] = _adapted(name, recipe, data)
    clock.start("loading the extended adapter")
    adapted["extended"] = extended_matcher()
    models = {name: Remembering(matcher) for name, matcher in adapted.items()}
    results = {}
    for name, model in models.items():
        clock.start(f"evaluating: {name}")
        results[name] = summary(model, held)
    clock.start("choosing examples")
    asked, found = questions(models, held), searches(models, held)
    clock.start("writing the report")
    story = Story(
        results=_results(results, config, clock),
        questions=asked,
        searches=found,
        discs=discs(models, held),
        curves=curves,
    )
    return write_report(story, folder)


def summary(model: Encoder, held: Evaluation) -> dict[str, object]:
    """The figures of one model under the keys of report.json; fractions 0-1, ``rsum`` in percent."""
    memory = remembering(model)
    found = run_suites(memory, held.suites)
    geometry = found["geometry"]
    kept = {name: _plain(found[name]) for name in _KEPT}
    kinds = [item.scene.kinds for item in held.scenes]
    search = denial_search(memory, held.pictures, kinds)
    return {
        **kept,
        **({"denial_search": search} if search else {}),
        "radius": geometry["radius"],
        "radius_raw": geometry["radius_raw"],
        "angles": geometry["angles"],
        **memory.provenance(),
    }


_KEPT = ("mcq", "retrieval", "retrieval_neg", "classification", "pairs", "held_out_wordings", "new_cues")


def questions(models: Mapping[str, Encoder], held: Evaluation, each: int = 2) -> tuple[Question, ...]:
    """The first multiple-choice questions with every model's scores, ``each`` of each type, every one on its picture.

    They are taken by their place and not by how a model answers.
    """
    suite = held.choice
    rows = [
        row
        for k, wanted in enumerate(("positive", "negative", "hybrid"))
        for row in [i for i, kind in enumerate(suite.types) if kind == wanted][k * each : (k + 1) * each]
    ]
    images = [suite.image_of_question[row] for row in rows]
    scores = {}
    for name, model in models.items():
        picture = normalize(model.encode_images(suite.pictures, images), dim=-1)
        text = normalize(model.encode_texts([option for row in rows for option in suite.options[row]]), dim=-1)
        scores[name] = torch.einsum("qd,qod->qo", picture, text.view(len(rows), -1, text.shape[1]))
    return tuple(
        Question(
            suite.pictures[image],
            suite.types[row],
            tuple(
                Option(option, o == suite.correct[row], {name: float(scores[name][q, o]) for name in scores})
                for o, option in enumerate(suite.options[row])
            ),
            _shown(held, image),
        )
        for q, (row, image) in enumerate(zip(rows, images, strict=True))
    )


def searches(models: Mapping[str, Encoder], held: Evaluation, best: int = 6) -> tuple[Search, ...]:
    """Queries with a negation over all held-out pictures, with the best pictures by each model."""
    kinds = [item.scene.kinds for item in held.scenes]
    asked = _commonest_pairs(kinds)
    queries = [query(wanted, unwanted) for wanted, unwanted in asked]
    hits: dict[str, dict[str, tuple[Hit, ...]]] = {text: {} for text in queries}
    for name, model in models.items():
        images = normalize(model.encode_images(held.pictures), dim=-1)
        texts = normalize(model.encode_texts(queries), dim=-1)
        for text, (wanted, unwanted), order in zip(
            queries, asked, (texts @ images.T).argsort(dim=-1, descending=True)[:, :best].tolist(), strict=True
        ):
            hits[text][name] = tuple(
                Hit(held.pictures[i], fits(kinds[i], wanted, unwanted), _shown(held, i)) for i in order
            )
    return tuple(Search(text, found) for text, found in hits.items())


def discs(models: Mapping[str, Encoder], held: Evaluation, count: int = 150) -> dict[str, Disc]:
    """Quadruplets of each model in two dimensions: the plane that holds most of the first model's.

    Vectors are divided by the mean length of the pictures' (the "scale" treatment), since unit vectors would all lie
    on one circle; the point of a vector u is tanh(sqrt(c) ||u||) along its direction in the plane, c = 0.1.
    """
    plane = None
    found = {}
    for name, model in models.items():
        vectors = _quadruplet_vectors(model, held.geometry, min(count, len(held.pictures)))
        if plane is None:
            plane = torch.linalg.svd(torch.cat(list(vectors.values())), full_matrices=False).Vh[:2]
        found[name] = Disc({kind: _in_disc(some, plane) for kind, some in vectors.items()})
    return found


def _quadruplet_vectors(model: Encoder, suite: Geometry, count: int) -> dict[str, torch.Tensor]:
    vectors = {
        "image": model.encode_images(suite.pictures, range(count)),
        "positive": model.encode_texts(suite.captions[:count]),
        "negated_positive": model.encode_texts(suite.negated_positives[:count]),
        "negative": model.encode_texts(suite.negatives[:count]),
    }
    scale = vectors["image"].norm(dim=-1).mean()
    return {kind: some / scale for kind, some in vectors.items()}


def _in_disc(vectors: torch.Tensor, plane: torch.Tensor) -> np.ndarray:
    direction = normalize(vectors @ plane.T, dim=-1)
    return (direction * torch.tanh(0.1**0.5 * vectors.norm(dim=-1, keepdim=True))).numpy()


def _shown(held: Evaluation, index: int) -> str:
    """What is in a picture, for readers who do not see it."""
    return ", ".join(f"{thing.colour} {thing.kind}" for thing in held.scenes[index].scene.things)


def _commonest_pairs(kinds: list[tuple[str, ...]], count: int = 4) -> list[tuple[str, str]]:
    """The pairs of things, wanted and unwanted, that stand together most often, no thing twice.

    Only pictures with both can tell whether the unwanted one counts against a picture.
    """
    together = Counter((a, b) for some in kinds for a in some[:2] for b in some[:2] if a != b)
    pairs: list[tuple[str, str]] = []
    for pair, _ in together.most_common():
        if not set(pair) & {kind for taken in pairs for kind in taken}:
            pairs.append(pair)
    return pairs[:count]


def print_summary(models: dict[str, Any]) -> None:
    """The headline figures of some models as a table, in percent."""
    table = Table()
    table.add_column("measure")
    for name in models:
        table.add_column(name, justify="right")
    for label, path in _HEADLINES.items():
        cells = []
        for figures in models.values():
            value = figures.get(path[0]) and float(reduce(getitem, path, figures))
            cells.append("–" if value is None else f"{value if path[-1] == 'rsum' else 100 * value:.1f}")
        table.add_row(label, *cells)
    Console().print(table)


_HEADLINES = {
    'search "a A but no B", right in the first 6': ("denial_search", "right"),
    "multiple choice, affirmed": ("mcq", "positive"),
    "multiple choice, negated": ("mcq", "negative"),
    "multiple choice, hybrid": ("mcq", "hybrid"),
    "multiple choice": ("mcq", "total"),
    "P' over N": ("pairs", "negated_positive_over_negative"),
    '"no <absent>" over "<present>"': ("pairs", "absence_absent_over_present"),
    '"A but not <absent>" over "<present>"': ("pairs", "hybrid_absent_over_present"),
    'held-out wordings, "no"': ("held_out_wordings", "absence_absent_over_present"),
    'held-out wordings, "A but not"': ("held_out_wordings", "hybrid_absent_over_present"),
    "retrieval, image to text R@1": ("retrieval", "i2t", "1"),
    "retrieval, text to image R@1": ("retrieval", "t2i", "1"),
    "retrieval, rSum": ("retrieval", "rsum"),
    "Retrieval-Neg, rSum": ("retrieval_neg", "rsum"),
    "classification": ("classification", "acc1"),
}
"""By label the place of a figure, in the order of the page's tables."""


def _adapted(name: str, recipe: Recipe, data: Quadruplets) -> tuple[Matcher, dict[str, list[float]]]:
    """The adapted model, and its loss curves by term."""
    matcher = base_matcher()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / name
        adapt(matcher, data, recipe, run)
        return matcher, loss_terms(read_journal(run / "journal.jsonl"))


def _plain(result: dict) -> dict[str, object]:
    return {key: value for key, value in result.items() if key not in ("per_class", "class_answers", "wall_s")}


def _results(models: dict, config: DemoConfig, clock: "_Clock") -> dict[str, object]:
    return {
        "models": models,
        "settings": {
            "demo": record(config),
            "hanclip": record(hanclip_recipe(config.seed)),
            "infonce": record(infonce_recipe(config.seed)),
        },
        "timings": clock.seconds,
        "honesty": {
            "tool_version": litotes.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "threads": torch.get_num_threads(),
            "seed": config.seed,
            "peak_memory_mb": _peak_memory_mb(),
            "pictures_for_evaluation": config.pictures,
            "quadruplets_for_adaptation": config.quadruplets,
            "skipped_images": 0,
        },
    }


def _peak_memory_mb() -> int | None:
    """The most memory that the process had, where the system tells (Linux and macOS)."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 (Windows has no such module)

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024**2 if sys.platform == "darwin" else 1024)


class _Clock:
    """Seconds by stage."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.seconds: dict[str, float] = {}
        self._stage, self._begun = "", time.perf_counter()

    def start(self, stage: str) -> None:
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = round(now - self._begun, 1)
        self._stage, self._begun = stage, now
        self.say(stage)
