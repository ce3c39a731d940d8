"""``litotes data convert-cc-neg``."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """CC-Neg's own file in, a parquet table out.

    source: ccneg_preprocessed.pt as published; no code in it is run
    output: parquet file to write
    """

    source: Path
    output: Path


def run(settings: Settings) -> None:
    """Convert the pickle once, safely."""
    from litotes.data.cc_neg import convert_cc_neg

    convert_cc_neg(settings.source, settings.output)
    print(f"written to {settings.output}")
