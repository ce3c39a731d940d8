"""``litotes demo pretrain``."""

from dataclasses import dataclass
from pathlib import Path

from litotes.config import require_numbers


@dataclass(frozen=True)
class Settings:
    """How the demo's small CLIP is pretrained again, from nothing.

    output: folder of the run; the model goes into its folders ``model`` and, in float16, ``half``
    seed: of weights, pictures and captions
    warmup_steps: of the first phase, on what is in a picture
    steps: of the second phase, on pictures and captions
    workers: processes that draw pictures
    resume: go on where the last run in --output stopped
    """

    output: Path = Path("runs/picture-book")
    seed: int = 0
    warmup_steps: int = 1300
    steps: int = 1000
    workers: int = 1
    resume: bool = False

    def __post_init__(self) -> None:
        require_numbers(self, {"seed": 0, "warmup_steps": 1, "steps": 1, "workers": 0})


def run(settings: Settings) -> None:
    """Pretrain, write the model, and measure it."""
    from litotes.demo.pretraining import PretrainPlan, pretrain, save_half
    from litotes.demo.run import print_summary, summary
    from litotes.demo.sets import evaluation
    from litotes.train.phase import interruptible, require_place

    runs = ("warmup", "contrastive")
    require_place(settings.output, runs, settings.resume)
    plan = PretrainPlan(settings.warmup_steps, settings.steps, seed=settings.seed, workers=settings.workers)
    with interruptible(settings.output, runs):
        matcher = pretrain(settings.output, plan, resume=settings.resume)
    save_half(matcher, settings.output / "half")
    print(f"model in {settings.output / 'model'}, in float16 in {settings.output / 'half'}")
    print_summary({"base": summary(matcher, evaluation())})
