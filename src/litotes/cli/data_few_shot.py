"""``litotes data few-shot``: a few pictures a class to train on, and base and novel classes."""

from dataclasses import dataclass
from pathlib import Path

from litotes.config import require_numbers
from litotes.errors import UserError


@dataclass(frozen=True)
class Settings:
    """A data set of classes in, tables of a few-shot and base-to-novel run out.

    output: folder to write, not there yet: train.csv, val.csv and test.csv of all classes, the same of base and novel
        classes alone (base-train.csv and so on), and few-shot.json, what was drawn from what. The columns are
        filepath,classname, as train vacsr --classes and evaluate --classification take them
    split: CoOp's split of a data set, a JSON file split_zhou_*.json; in its place --train-data and --test-data
    train_data: folder of class folders, or table with filepath and classname (or label, with --classnames)
    test_data: the same, with the pictures to test on
    val_data: the same, with the pictures to validate on; by default some of --train-data that are not trained on
    classnames: names of class folders that bear ids or numbers, or of such labels, as for litotes evaluate; none by
        default
    shots: pictures of each class to train on; as many, but at most 4, are kept to validate on
    seed: of the draw; papers take 1, 2 and 3
    """

    output: Path
    split: Path | None = None
    train_data: Path | None = None
    test_data: Path | None = None
    val_data: Path | None = None
    classnames: Path | None = None
    shots: int = 16
    seed: int = 1

    def __post_init__(self) -> None:
        require_numbers(self, {"shots": 1, "seed": 0})
        others = {
            "--train-data": self.train_data, "--test-data": self.test_data, "--val-data": self.val_data,
            "--classnames": self.classnames,
        }  # fmt: skip
        given = [option for option, path in others.items() if path is not None]
        if self.split is not None and given:
            raise UserError(
                got=f"--split with {', '.join(given)}",
                expected="one source: a split file, which has all parts and names, or --train-data and --test-data",
                do="leave out one of the two",
            )
        missing = [option for option in ("--train-data", "--test-data") if others[option] is None]
        if self.split is None and missing:
            raise UserError(
                got=f"no {' and no '.join(missing if given else ['--split', *missing])}",
                expected="--split FILE, or both --train-data and --test-data",
                do="add what is missing",
            )


def run(settings: Settings) -> None:
    """Read, draw, write the tables."""
    from litotes.cli.few_shot_tables import run_few_shot

    run_few_shot(settings)
