"""``litotes train``: adapt a CLIP model to negation, and prove what changed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from litotes.config import require_numbers
from litotes.errors import UserError

_LEAST = {
    "train_num_samples": 0, "hanclip_weight": 0, "options_weight": 0, "contrast_weight": 0,
    "retention_weight": 0, "mirror_steps": 0, "mirror_weight": 0, "alpha": 0, "lora_rank": 1,
    "epochs": 1, "steps": 1, "batch_size": 1, "warmup": 0, "wd": 0, "accum_freq": 1, "workers": 0, "seed": 0,
    "allow_missing": 0, "save_frequency": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """What to adapt, on what, how, and what to measure before and after.

    Model and data:
    model: folder of a CLIP in transformers' layout; or a file of weights of a CLIP, LongCLIP, HiMo-CLIP or SmartCLIP
        (.pt, .safetensors), with --vocabulary
    vocabulary: folder of tokenizer files, or bpe_simple_vocab_16e6.txt.gz, for a model that is a file; none by default
    activation: "quick_gelu" or "gelu", for a file that leaves it open; by default what its family says
    round_like_reference: of a file, round weights to float16 as the reference loaders do; off by default
    sha256: refuse another file, or a folder with another model.safetensors; not checked by default
    train_data: table (CSV, TSV, JSONL, parquet) with filepath, caption, negated_caption and, at will,
        negated_positive and objects ("cat|boat": all things in the picture); or CC-Neg as converted by
        ``litotes data convert-cc-neg`` (then say --cc-neg)
    output: folder of the run: adapter (or model), checkpoints, journal, config.json, report.html and report.json
    objects_from: where the names of the things in each picture come from: "column", the table's objects, or "captions":
        nouns that the captions of several pictures share, where the table has no such column; what the captions of a
        picture do not mention then counts as absent, which makes some denials untrue
    images_root: folder that the table's paths start from; by default the table's own
    cc_neg: the table is CC-Neg; its last 40,000 rows stay out of training
    remove_commas: for CC-Neg, "negated" removes them from negated captions alone, as its authors do (a cue that
        gives the label away); "both" from all captions
    train_num_samples: quadruplets drawn at random with the seed; 0 takes all (the paper: 20000)
    broken_pictures: "stop" at the first picture that cannot be read, or "skip": every picture is decoded once before
        the run starts, those that cannot be read are listed with the reason, and their rows left out
    allow_missing: how many pictures may be missing; those are listed, and their rows left out
    val_fraction: share of the pictures that is kept out of training and measured, at most 1000 pictures
    allow_network: let --model be a hub id that is downloaded

    The recipe:
    recipe: "hanclip" (the paper), "extended" (own true and false statements of each picture, from an objects
        column or --objects-from captions), or a control: "infonce" (plain fine-tuning), "negatives" (negated captions
        as further negatives)
    hanclip_weight: weight of HCO + alpha ATNL; by default the recipe's (hanclip 1, extended 0.25)
    options_weight: weight of each picture's own statements; by default the recipe's (extended 1)
    contrast_weight: weight of the statements of a batch against all its pictures; by default the recipe's (extended 1)
    retention_weight: weight of InfoNCE on plain captions; by default the recipe's (extended 2.5, infonce 1)
    mirror_steps: steps of a lesson before, on statements and captions alone, that mirrors denied names, at thrice the
        learning rate; 0 leaves it out; by default the recipe's (only extended has one, of 400)
    lesson_share: share of the weights at that lesson's end in those that are kept, 0 to 1; the rest is the end of the
        run; by default the recipe's (extended 0.25)
    mirror_weight: weight, after that lesson, of denials in the directions that it taught; by default the recipe's
        (extended 3)
    alpha: weight of ATNL beside HCO
    temperature: a number, or "model": the backbone's own, which small models trained at another scale need; by
        default the recipe's (the paper's 0.01, extended "model")
    curvature: c of the Poincaré ball
    norm: length of the embeddings before they are placed in the ball
    reading: of the paper's equations: "all_pairs" of a batch in the denominators, or what is printed, for study

    What is trained:
    towers: which of the two; by default the recipe's (text; extended both)
    full: train the towers whole, without an adapter
    lora_rank: of the update; by default the recipe's (2; extended 32)
    lora_alpha: the update is scaled by alpha / sqrt(rank); by default the recipe's (1; extended 11.3)
    lora_dropout: on the input of the update; by default the recipe's (0.25; extended 0)
    lora_targets: "attention" (q, k, v) or "all" linear layers of a block; by default the recipe's (extended all)
    lora_layers: blocks of each adapted tower: "all", "top1", "top2", "top3", thirds ("bottom", "mid", "up"), halves
        ("half-bottom", "half-up"), or numbers from 0 (8-11, or 0,8-11); by default the recipe's (all)
    lora_vision_layers: those of the vision tower, where --towers both gives it others; by default as --lora-layers

    The run:
    epochs: passes over the quadruplets; by default the recipe's (1; extended counts steps)
    steps: at least 1; wins over epochs; by default the recipe's (only extended counts steps)
    batch_size: pairs a step; by default the recipe's (64, extended 32)
    lr: peak learning rate; by default the recipe's (1e-4, extended 1e-3, with --full 5e-6)
    warmup: steps of rising rate; by default the recipe's (200, extended 20), or a tenth of a run that is no longer
    wd: weight decay
    accum_freq: batches whose gradients are averaged before a step of the optimiser
    precision: of the encoders; distances stay in float32
    device: torch device, cpu by default
    workers: processes that decode pictures
    seed: of the choice, the held-out pictures, templates, adapter, order and dropout
    save_frequency: steps between checkpoints
    resume: go on where the last run in --output stopped; of a finished one, measure again and write the report
    cache: folder that keeps the features of a frozen tower for the next run

    What is measured, beside the held-out pictures:
    choice: multiple-choice questions, as for ``litotes evaluate``
    retrieval: captions; without it, those of the held-out pictures
    negated_retrieval: negated captions
    classification: class folders or a table; without it, things of the held-out pictures, if there is an objects
        column or --objects-from captions
    ks: ranks at which recall is counted
    """

    model: Path
    train_data: Path
    output: Path
    vocabulary: Path | None = None
    activation: Literal["quick_gelu", "gelu"] | None = None
    round_like_reference: bool = False
    sha256: str | None = None
    objects_from: Literal["column", "captions"] = "column"
    images_root: Path | None = None
    cc_neg: bool = False
    remove_commas: Literal["none", "negated", "both"] = "none"
    train_num_samples: int = 0
    broken_pictures: Literal["stop", "skip"] = "stop"
    allow_missing: int = 0
    val_fraction: float = 0.1
    allow_network: bool = False
    recipe: Literal["hanclip", "extended", "infonce", "negatives"] = "hanclip"
    hanclip_weight: float | None = None
    options_weight: float | None = None
    contrast_weight: float | None = None
    retention_weight: float | None = None
    mirror_steps: int | None = None
    lesson_share: float | None = None
    mirror_weight: float | None = None
    alpha: float = 1.0
    temperature: float | Literal["model"] | None = None
    curvature: float = 0.1
    norm: Literal["unit", "none", "clip", "scale"] = "unit"
    reading: Literal["all_pairs", "paper_literal", "paper_literal_sign"] = "all_pairs"
    towers: Literal["text", "vision", "both"] | None = None
    full: bool = False
    lora_rank: int | None = None
    lora_alpha: float | None = None
    lora_dropout: float | None = None
    lora_targets: Literal["attention", "all"] | None = None
    lora_layers: str | None = None
    lora_vision_layers: str | None = None
    epochs: int | None = None
    steps: int | None = None
    batch_size: int | None = None
    lr: float | None = None
    warmup: int | None = None
    wd: float = 0.05
    accum_freq: int = 1
    precision: Literal["no", "bf16", "fp16"] = "no"
    device: str = "cpu"
    workers: int = 0
    seed: int = 0
    save_frequency: int = 200
    resume: bool = False
    cache: Path | None = None
    choice: Path | None = None
    retrieval: Path | None = None
    negated_retrieval: Path | None = None
    classification: Path | None = None
    ks: tuple[int, ...] = (1, 5, 10)

    def __post_init__(self) -> None:
        require_numbers(self, _LEAST, ("lr", "curvature", "lora_alpha"))
        self._require_fit()

    def _require_fit(self) -> None:
        """Refuse options that do not go together, and those whose range has an upper end too."""
        if isinstance(self.temperature, float) and not 0 < self.temperature < float("inf"):
            raise UserError(
                got=f"--temperature {self.temperature}",
                expected="a number above 0, or model",
                do="give for instance 0.07",
            )
        if self.lora_dropout is not None and not 0 <= self.lora_dropout < 1:
            raise UserError(
                got=f"--lora-dropout {self.lora_dropout}",
                expected="a share from 0 to below 1",
                do="give for instance 0.25",
            )
        if self.lesson_share is not None and not 0 <= self.lesson_share <= 1:
            raise UserError(
                got=f"--lesson-share {self.lesson_share}", expected="a share from 0 to 1", do="give for instance 0.25"
            )
        if self.save_frequency % self.accum_freq:
            raise UserError(
                got=f"--save-frequency {self.save_frequency} with --accum-freq {self.accum_freq}",
                expected="checkpoints at steps of the optimiser, which come every --accum-freq batches",
                do=f"give --save-frequency {self.accum_freq * max(1, round(self.save_frequency / self.accum_freq))}",
            )
        if self.precision == "fp16" and self.device == "cpu":
            raise UserError(
                got="--precision fp16 on the CPU",
                expected="no or bf16 there",
                do="give --precision bf16, or leave it out",
            )
        if self.remove_commas != "none" and not self.cc_neg:
            raise UserError(
                got=f"--remove-commas {self.remove_commas} without --cc-neg",
                expected="--cc-neg, since only CC-Neg's captions are changed",
                do="add --cc-neg, or leave out --remove-commas",
            )


def run(settings: Settings) -> None:
    """Adapt, evaluate base and adapted, write adapter and report."""
    from litotes.cli.training import run_training

    run_training(settings)
