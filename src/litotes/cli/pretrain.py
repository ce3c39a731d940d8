"""``litotes pretrain``: a small CLIP from scratch on pictures with captions."""

from litotes.train.config import PretrainConfig as Settings

__all__ = ["Settings", "run"]


def run(settings: Settings) -> None:
    """Pretrain and say where the model is."""
    from litotes.evaluate.command import require_device
    from litotes.train.phase import interruptible
    from litotes.train.scratch import RUNS, pretrain_from_table

    require_device(settings.device)
    with interruptible(settings.output, RUNS):
        folder = pretrain_from_table(settings)
    print(f"model, tokenizer and picture transform are in {folder}")
    print(f"measure it: litotes evaluate --model {folder} --retrieval CAPTIONS.csv")
    print(f"adapt it:   litotes train --model {folder} --train-data QUADRUPLETS.csv --output RUN --temperature model")
