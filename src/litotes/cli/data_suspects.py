"""``litotes data suspects``: which pairs of a data set to look at."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from litotes.config import require_numbers
from litotes.errors import UserError


@dataclass(frozen=True)
class Settings:
    """Pairs of a table that look wrong, and pairs that it lacks and that look right, by an adapter of pairs.

    model: what the adapter of pairs was trained on: folder of a CLIP in transformers' layout; or a file of weights of a
        CLIP, LongCLIP, HiMo-CLIP or SmartCLIP (.pt, .safetensors), with --vocabulary
    pair_adapter: folder "pair-adapter" as litotes train vacsr writes it, of any scorer
    data: table (CSV, TSV, JSONL, parquet) with filepath and caption, a caption a row, or NegBench's captions lists
    output: CSV file to write: the likely wrong pairs of the table, then the likely missing ones, most suspect first;
        paths and captions as the table has them, so that a spreadsheet has to be told that they are text
    most: how many of either kind are listed
    overwrite: replace the file if it is there
    vocabulary: folder of tokenizer files, or bpe_simple_vocab_16e6.txt.gz, for a model that is a file; none by default
    activation: "quick_gelu" or "gelu", for a file that leaves it open; by default what its family says
    round_like_reference: of a file, round weights to float16 as the reference loaders do; off by default
    sha256: refuse another file, or a folder with another model.safetensors; not checked by default
    adapter: folder of the LoRA adapter that was on the model in that training; none by default
    any_base: take such an adapter that does not name its base model
    images_root: folder that the table's paths start from; by default the table's own
    broken_pictures: "stop" at the first picture that cannot be read, or "skip": every picture is decoded once before
        the run starts, those that cannot be read are listed with the reason, and their rows left out
    allow_missing: how many pictures may be missing; those are listed, and their rows left out
    allow_network: let --model be a hub id that is downloaded
    device: torch device, cpu by default
    workers: processes that decode pictures
    cache: folder that keeps the features for the next run; none by default
    """

    model: Path
    pair_adapter: Path
    data: Path
    output: Path
    most: int = 100
    overwrite: bool = False
    vocabulary: Path | None = None
    activation: Literal["quick_gelu", "gelu"] | None = None
    round_like_reference: bool = False
    sha256: str | None = None
    adapter: Path | None = None
    any_base: bool = False
    images_root: Path | None = None
    broken_pictures: Literal["stop", "skip"] = "stop"
    allow_missing: int = 0
    allow_network: bool = False
    device: str = "cpu"
    workers: int = 0
    cache: Path | None = None

    def __post_init__(self) -> None:
        require_numbers(self, {"most": 1, "allow_missing": 0, "workers": 0})
        if self.any_base and self.adapter is None:
            raise UserError(
                got="--any-base without --adapter",
                expected="--adapter, since nothing else uses it",
                do="add --adapter, or leave out --any-base",
            )


def run(settings: Settings) -> None:
    """Score the pairs and write the list."""
    from litotes.cli.suspecting import run_suspects

    run_suspects(settings)
