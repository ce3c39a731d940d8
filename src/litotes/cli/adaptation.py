"""What the page of ``litotes train`` says of the adaptation itself: the recipe in words, the run in numbers."""

from collections.abc import Mapping
from pathlib import Path

from litotes.cli.train import Settings
from litotes.config import field_names
from litotes.data.quadruplets import Quadruplets
from litotes.evaluate.compare import Differences
from litotes.evaluate.plots import TERMS, loss_curves, loss_terms
from litotes.evaluate.report import Adaptation
from litotes.evaluate.rows import Records
from litotes.evaluate.verdict import outcome
from litotes.models.lora_settings import describe
from litotes.models.matcher import Matcher
from litotes.objectives.hanclip import HanclipConfig
from litotes.train.journal import read_journal
from litotes.train.loop import LoopConfig, total_steps
from litotes.train.negation import NegationConfig
from litotes.train.recipes import Recipe

_IN_WORDS = {
    "hanclip": "HANCLIP, the recipe of the paper: true captions with a negation in them (P′) are drawn to the picture "
    "and false ones (N) pushed away, in hyperbolic space",
    "extended": "beyond the paper: denied names are mirrored by texts alone, then pictures meet true and false "
    "statements, beside HANCLIP and plain captions",
    "infonce": "a control: plain fine-tuning on pictures and captions",
    "negatives": "a control: negated captions as further false texts of a batch",
}


def adaptation(
    settings: Settings, recipe: Recipe, data: Quadruplets, matcher: Matcher, run: Path, records: Records,
    compared: Mapping[str, Differences],
) -> Adaptation:  # fmt: skip
    """What the page says: the outcome, how it came about, the losses.

    data: what was trained on. run: the folder of the journal. records, compared: of "base" and "adapted", and what the
    latter's single answers differ in.
    """
    *before, lines = [read_journal(run.with_name(name) / "journal.jsonl") for name in recipe.phases(run.name)]
    seconds = sum(line["items"] / line["samples_per_s"] for line in lines if line["samples_per_s"])
    what = describe(recipe.lora) if recipe.lora else f"all weights of {recipe.full}, without an adapter"
    facts = {
        "Recipe": ": ".join(filter(None, (settings.recipe, _IN_WORDS.get(settings.recipe)))),
        "Loss": _loss(recipe.negation),
        **_space(recipe.negation, matcher),
        "What is trained": what,
        **_lesson(recipe),
        **_loop(recipe.loop, len(data)),
        "Time for the steps": f"{seconds:,.0f} s on {settings.device}",
        "Training data": f"{len(data):,} quadruplets of {settings.train_data.name}",
        **_names(settings),
        "Training data (SHA-256)": data.fingerprint(),
        "Seed": str(settings.seed),
    }
    base, adapted = (records[label]["suites"] for label in ("base", "adapted"))
    terms = loss_terms(lines)
    for lesson in before:
        terms |= {name: values for name, values in loss_terms(lesson).items() if name not in terms}
    return Adaptation(
        outcome(adapted, base, compared["adapted"]), tuple(facts.items()), tuple(loss_curves(terms, "run"))
    )


def _names(settings: Settings) -> dict[str, str]:
    """Where the names of things come from, if they are no more than what captions mention."""
    told = "nouns of the captions; what they do not mention counts as absent"
    return {"Things in the pictures": told} if settings.objects_from == "captions" else {}


def _loss(negation: NegationConfig) -> str:
    """The sum with its weights, terms of weight 0 left out."""
    own = f"(HCO + {negation.objective.alpha:g} · ATNL)" if negation.objective.alpha else "HCO"
    names = {**TERMS, "hanclip": own}
    weights = {name: getattr(negation, name) for name in field_names(type(negation))}
    numbers = {name: weight for name, weight in weights.items() if isinstance(weight, int | float) and weight}
    return " + ".join(f"{weight:g} · {names.get(name, name)}" for name, weight in numbers.items())


def _space(negation: NegationConfig, matcher: Matcher) -> dict[str, str]:
    """Temperature and geometry, of which only HCO and ATNL know."""
    if not negation.hanclip:
        return {"Temperature": "the model's own"}
    hco = negation.objective.hco
    return {
        "Temperature": _temperature(negation.objective, matcher),
        "Geometry": f"Poincaré ball of curvature {hco.curvature:g}, norm = {hco.norm}, reading = {hco.reading}",
    }


def _temperature(objective: HanclipConfig, matcher: Matcher) -> str:
    number = objective.with_model_temperature(1 / matcher.scale).hco.numeric_temperature
    return f"{number:.4g}" + (", from the model's own" if objective.hco.temperature == "model" else "")


def _lesson(recipe: Recipe) -> dict[str, str]:
    """The phase before, if the recipe has one."""
    if recipe.lesson is None:
        return {}
    loop = recipe.lesson.loop
    return {
        "Lesson before": f"{loop.steps:,} steps of {loop.batch_size} captions and the statements of their pictures, "
        f"learning rate {loop.lr:g}, by texts alone; {recipe.lesson.share:.0%} of its weights in those that are kept"
    }


def _loop(loop: LoopConfig, examples: int) -> dict[str, str]:
    steps = total_steps(examples, loop)
    batch = min(loop.batch_size, examples)
    end = "then half a cosine to 0" if loop.schedule == "cosine" else "then constant"
    averaged = f", gradients of {loop.accumulation} averaged before the weights move" if loop.accumulation > 1 else ""
    return {
        "Steps": f"{steps:,}, {steps * batch / examples:.3g} passes over the data",
        "Batch": f"{batch}{averaged}",
        "Learning rate": f"{loop.lr:g} at its peak, {loop.warmup} steps of rise, {end}",
        "Weight decay": f"{loop.weight_decay:g}",
        "Precision in training": {"no": "float32"}.get(loop.precision, loop.precision),
    }
