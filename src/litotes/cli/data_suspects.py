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
        paths and captions as the table has them, so that a spreadsheet has to be told that they are text.
        row_of_picture and row_of_caption count the rows of the table from 1 on, its title row aside; mean_std is sigma,
        total_variance the variance of the whole mixture
    most: how many of either kind are listed
    missing_order: of the likely missing pairs: by "similarity", the highest p first; by "uncertainty", of the pairs of
        highest p those with the highest sigma first; or by the sum of "both" ranks. The last two need an adapter with a
        distribution, and found no more than the first (docs/methods.md, section 8)
    shortlist: how many pairs of highest p are put in the order of --missing-order; by default twice --most
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
    missing_order: Literal["similarity", "uncertainty", "both"] = "similarity"
    shortlist: int | None = None
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
        require_numbers(self, {"most": 1, "shortlist": 1, "allow_missing": 0, "workers": 0})
        for wrong, got, expected, do in (
            (
                self.any_base and self.adapter is None,
                "--any-base without --adapter",
                "--adapter, since nothing else uses it",
                "add --adapter, or leave out --any-base",
            ),
            (
                self.shortlist is not None and self.missing_order == "similarity",
                f"--shortlist {self.shortlist} with --missing-order similarity",
                "another order: by similarity the first pairs are the same, however many are looked at",
                "add --missing-order, or leave out --shortlist",
            ),
            (
                self.shortlist is not None and self.shortlist < self.most,
                f"--shortlist {self.shortlist} for a list of {self.most} pairs",
                "no fewer than are listed",
                f"give --shortlist {self.most} or more, or a smaller --most",
            ),
        ):
            if wrong:
                raise UserError(got=got, expected=expected, do=do)

    @property
    def shortlisted(self) -> int:
        """Pairs of highest p that are put in order, also where none were named."""
        return self.shortlist or 2 * self.most


def run(settings: Settings) -> None:
    """Score the pairs and write the list."""
    from litotes.cli.suspecting import run_suspects

    run_suspects(settings)
