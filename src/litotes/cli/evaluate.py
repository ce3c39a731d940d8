"""``litotes evaluate``."""

from litotes.evaluate.config import EvaluateConfig as Settings

__all__ = ["Settings", "run"]


def run(settings: Settings) -> None:
    """Measure the model, print the table, write the result."""
    from litotes.evaluate.command import evaluate_command

    evaluate_command(settings)
