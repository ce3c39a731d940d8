"""``litotes demo extended``."""

from dataclasses import dataclass
from pathlib import Path

from litotes.config import require_numbers


@dataclass(frozen=True)
class Settings:
    """How the extended adapter that ships with the package is trained again.

    output: folder of the run; the adapter goes into its folder ``adapter``
    seed: of pictures, statements, adapter and order
    quadruplets: pictures to train on
    resume: go on where the last run in --output stopped
    """

    output: Path = Path("runs/extended")
    seed: int = 0
    quadruplets: int = 24_000
    resume: bool = False

    def __post_init__(self) -> None:
        require_numbers(self, {"seed": 0, "quadruplets": 2})


def run(settings: Settings) -> None:
    """Train, write the adapter, and measure it beside the base."""
    from litotes.demo.recipes import EXTENDED_LORA, SINGLE, TRUTHFUL, base_matcher, extended_recipe
    from litotes.demo.run import print_summary, summary
    from litotes.demo.sets import evaluation, training_options, training_quadruplets
    from litotes.models.lora import save_adapter
    from litotes.train.phase import interruptible, require_place
    from litotes.train.recipes import adapt

    recipe = extended_recipe(settings.seed)
    require_place(settings.output, recipe.phases("run"), settings.resume)
    held = evaluation()
    matcher = base_matcher()
    before = summary(matcher, held)
    data = training_quadruplets(settings.quadruplets, settings.seed, TRUTHFUL, SINGLE)
    options = training_options(data, settings.seed)
    with interruptible(settings.output, recipe.phases("run")):
        adapt(matcher, data, recipe, settings.output / "run", options=options, resume=settings.resume)
    save_adapter(matcher, EXTENDED_LORA, settings.output / "adapter")
    print(f"adapter in {settings.output / 'adapter'}")
    print_summary({"base": before, "extended": summary(matcher, held)})
