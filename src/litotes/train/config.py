"""Settings of ``litotes pretrain``. Loads nothing heavy, so that the command's help stays quick."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from litotes.config import require_numbers
from litotes.errors import UserError


@dataclass(frozen=True)
class PretrainConfig:
    """What to pretrain on, how large and how long.

    Data:
    train_data: table (CSV, TSV, JSONL, parquet) with filepath and caption; several captions of a picture are
        several rows
    output: folder that receives the tokenizer, the runs and, in its folder ``model``, the result
    images_root: folder that the table's paths start from; by default the table's own
    broken_pictures: "stop" at the first picture that cannot be read, or "skip": every picture is decoded once before
        the run starts, those that cannot be read are listed with the reason, and their rows left out
    allow_missing: how many pictures may be missing; those are listed, and their rows left out

    Sizes:
    image_size: side of the pictures in pixels
    patch_size: side of a patch; divides the image size
    width: of the picture tower
    text_width: of the text tower
    layers: blocks of each tower
    dimension: of the embedding
    vocabulary: ids of the byte-pair tokenizer, at most
    context: tokens of a caption, start and end included

    The run:
    warmup_steps: of the warm-up of the picture tower on the captions' words; 0 leaves it out
    steps: contrastive steps
    batch_size: pairs a step
    lr: peak learning rate
    warmup: steps of rising rate, in each phase; by default 50, or a fifth of a shorter phase
    seed: of weights and order
    device: torch device, cpu by default
    workers: processes that decode pictures
    save_frequency: steps between checkpoints
    resume: go on where the last run in --output stopped
    """

    train_data: Path
    output: Path
    images_root: Path | None = None
    broken_pictures: Literal["stop", "skip"] = "stop"
    allow_missing: int = 0
    image_size: int = 64
    patch_size: int = 16
    width: int = 128
    text_width: int = 128
    layers: int = 4
    dimension: int = 128
    vocabulary: int = 2000
    context: int = 77
    warmup_steps: int = 300
    steps: int = 600
    batch_size: int = 128
    lr: float = 1e-3
    warmup: int | None = None
    seed: int = 0
    device: str = "cpu"
    workers: int = 0
    save_frequency: int = 100
    resume: bool = False

    def __post_init__(self) -> None:
        sizes = ("image_size", "patch_size", "width", "text_width", "layers", "dimension", "context")
        run = {
            "steps": 1,
            "batch_size": 1,
            "warmup_steps": 0,
            "warmup": 0,
            "seed": 0,
            "workers": 0,
            "allow_missing": 0,
            "save_frequency": 0,
        }
        require_numbers(self, {**dict.fromkeys(sizes, 1), **run}, ("lr",))
        if self.image_size % self.patch_size:
            raise UserError(
                got=f"--image-size {self.image_size} and --patch-size {self.patch_size}",
                expected="a patch size that divides the image size",
                do="choose for instance 64 and 16",
            )
        shortest = min(self.steps, self.warmup_steps or self.steps)
        if self.warmup is not None and self.warmup >= shortest:
            raise UserError(
                got=f"--warmup {self.warmup} in a phase of {shortest} steps, whose rate would never reach its peak",
                expected=f"0 to {shortest - 1} (--steps and --warmup-steps are the lengths of the two phases)",
                do="leave out --warmup, or train longer",
            )
