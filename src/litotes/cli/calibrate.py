"""``litotes calibrate``: make a probability of what an adapter of pairs says."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from litotes.config import require_numbers
from litotes.errors import UserError


@dataclass(frozen=True)
class Settings:
    """P(match) from the logit of an adapter of pairs, fitted on pairs that it was not trained on.

    One part of the pictures is fitted to, the other tells how far the probabilities were off before and are after. The
    result is kept as calibration.json in the adapter's folder; ``litotes evaluate --pair-adapter`` and ``litotes data
    suspects`` take it from there. No ranking changes but for ties of "isotonic".

    model: what the adapter of pairs was trained on: folder of a CLIP in transformers' layout; or a file of weights of a
        CLIP, LongCLIP, HiMo-CLIP or SmartCLIP (.pt, .safetensors), with --vocabulary
    pair_adapter: folder "pair-adapter" as litotes train vacsr writes it, of any scorer
    data: table (CSV, TSV, JSONL, parquet) with filepath and caption, a caption a row, or NegBench's captions lists, of
        pictures that were not trained on; those that the adapter says it was trained on are refused
    pairs: what the probability is about: "found", what a search among these pictures or captions finds first (it falls
        with the size of the gallery, so give one as large as yours); or "balanced", a caption with its own picture or,
        as often, with another one
    method: "scaling", a temperature and an offset; "temperature" alone; or "isotonic", any rising function, for
        thousands of pairs
    measure_fraction: share of the pictures that is measured on and not fitted to
    seed: of that split, and of the other pictures of "balanced"
    overwrite: replace the calibration that is there
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
    pairs: Literal["found", "balanced"] = "found"
    method: Literal["scaling", "temperature", "isotonic"] = "scaling"
    measure_fraction: float = 0.5
    seed: int = 0
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
        require_numbers(self, {"allow_missing": 0, "workers": 0, "seed": 0})
        if not 0 < self.measure_fraction < 1:
            raise UserError(
                got=f"--measure-fraction {self.measure_fraction}",
                expected="a share above 0 and below 1: some pictures to fit to, others to measure on",
                do="give for instance --measure-fraction 0.5",
            )
        if self.any_base and self.adapter is None:
            raise UserError(
                got="--any-base without --adapter",
                expected="--adapter, since nothing else uses it",
                do="add --adapter, or leave out --any-base",
            )


def run(settings: Settings) -> None:
    """Fit, measure, keep."""
    from litotes.cli.calibrating import run_calibration

    run_calibration(settings)
