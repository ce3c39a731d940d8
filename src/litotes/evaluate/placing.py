"""Where a result goes: never over that of another run, neither before the work nor when it is written."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from litotes.errors import UserError
from litotes.evaluate.answers import answers_path
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.reading import is_result, is_same_run, ks_of
from litotes.places import alone_in, require_file_place


class Run(NamedTuple):
    """What makes two runs the same: model, questions, ranks of the recall, adapter of pairs, shortlist.

    fingerprint: of the model. asked: hash of the questions by suite. ks: ranks by suite, of those that have any.
    pairs: SHA-256 of the weights of the adapter, None without one. shortlist: its ``--shortlist``, None of all pairs.
    """

    fingerprint: str
    asked: Mapping[str, str]
    ks: Mapping[str, set[str]]
    pairs: str | None
    shortlist: int | None = None


class Put(NamedTuple):
    """Where a result went, its record as it was written, and what to tell where that is not the place asked for."""

    path: Path
    record: dict[str, Any]
    refusal: UserError | None = None


def run_of(record: Mapping[str, Any]) -> Run:
    """The run that a record is the result of."""
    asked = {name: str(result["split_sha256"]) for name, result in record["suites"].items()}
    pairs = record.get("pair_adapter", {}).get("weights_sha256")
    return Run(record["fingerprint"], asked, ks_of(record["suites"]), pairs, record.get("shortlist"))


def require_free(config: EvaluateConfig, path: Path, run: Run) -> None:
    """Refuse a place whose result is not of this run, unless it may be replaced, and one that holds anything else."""
    require_file_place(answers_path(path), "the answers beside --output,")
    there = [file for file in (path, answers_path(path)) if file.exists()]
    same = is_same_run(path, run.fingerprint, run.asked, run.ks, config.with_base, run.pairs, run.shortlist)
    foreign = [file for file in there if file.resolve() in _inputs(config) or (file == path and not is_result(path))]
    if foreign:
        raise UserError(
            got=f"--output {path}: {foreign[0]} is there, and is no result of litotes evaluate",
            expected="a name that is free, or that of a result",
            do="name another file as --output, or delete that one",
        )
    if there and not config.overwrite and not same:
        raise UserError(
            got=f"--output {path}: {there[0]} is there, not of this run",
            expected="a name that is free, or the result of the same models on the same questions, in the same way "
            "(--ks, --shortlist)",
            do="name another file as --output, or add --overwrite to replace it",
        )


def put(config: EvaluateConfig, path: Path, run: Run, write: Callable[[Path], dict[str, Any]]) -> Put:
    """Have a result written to ``path`` or, where something came there during the run, to a free name beside it.

    write: writes result and answers, given the place of the former, and returns the record. Other runs that end in the
    same folder wait for it, so that what is found there is whole and stays. Errors: those of ``write``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone_in(path.parent):
        try:
            require_free(config, path, run)
        except UserError as error:
            free = _free_beside(path)
            refusal = UserError(
                got=f"{error.got}: it came there while this run measured",
                expected=error.expected,
                do=f"nothing is lost: that file is as it was, and the result of this run is kept in {free}",
            )
            return Put(free, write(free), refusal)
        return Put(path, write(path))


def _free_beside(path: Path) -> Path:
    """NAME-2.json for NAME.json, or the next number of which neither a result nor answers are there."""
    number = 2
    while True:
        free = path.with_name(f"{path.name.removesuffix('.json')}-{number}.json")
        if not free.exists() and not answers_path(free).exists():
            return free
        number += 1


def _inputs(config: EvaluateConfig) -> list[Path]:
    """Files and folders that an evaluation reads, where links lead."""
    named = (config.model, config.adapter, config.vocabulary, config.classnames, config.templates)
    return [Path(path).resolve() for path in (*named, *config.files.values()) if path is not None]
