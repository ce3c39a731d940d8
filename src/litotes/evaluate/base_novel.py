"""Base-to-novel figures: accuracy on both groups of classes and their harmonic mean, by data set and over data sets."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from litotes.data.few_shot import is_plain_path
from litotes.data.images import sha256_of_file
from litotes.data.label_list import is_number
from litotes.data.tables import filled, listed, read_table, title_of
from litotes.errors import UserError
from litotes.evaluate.notes import counted
from litotes.evaluate.reading import read_records

_TASK = "zeroshot_classification"
_COLUMNS = ("dataset", "base", "novel")
_EVALUATED = "a result of litotes evaluate --classification"
ADAPTED, BEFORE = "adapted", "before"
"""What was measured, and beside an adapter the model under it, which results call base; here base are classes."""
_USUAL = 3


class Pair(NamedTuple):
    """Accuracy of one model on the tests of base and of novel classes, as shares."""

    base: float
    novel: float


class Run(NamedTuple):
    """One training: its data set, its seed ("" where none is told), and its figures by model (``ADAPTED``, ``BEFORE``).

    files: of each group the result it was read from, by name and hash. identity: the hashes that tell its model from
    any other. asked: of each group the hash of its questions. told: what must be known of it, in sentences.
    """

    dataset: str
    seed: str
    figures: dict[str, Pair]
    files: dict[str, dict[str, str]]
    identity: dict[str, Any]
    asked: dict[str, str]
    told: list[str]


def harmonic(base: float, novel: float) -> float:
    """H = 2 b n / (b + n) of two accuracies, 0 where both are 0; it leans to the lower one."""
    return 2 * base * novel / (base + novel) if base + novel else 0.0


def summary(runs: Mapping[str, Sequence[Pair]]) -> dict[str, Any]:
    """Figures by data set and over data sets; shares from 0 to 1, nothing rounded.

    runs: by data set the pairs of its runs, at least one.

    ``datasets``, by name: ``base`` and ``novel``, each ``mean`` and sample standard deviation ``sd`` over the runs
    (None of a single one), ``h``, H of these two means, which is what papers print, and ``h_of_runs``, mean and
    deviation of the H of each run. ``average``: ``base`` and ``novel``, plain means over data sets; ``h_of_means``, H
    of these two (CoCoOp, MaPLe, MMA, MMRL, CoPrompt, and zero-shot CLIP beside them), and ``mean_of_h``, the mean of
    the ``h`` above (VACSR). The two differ, and a figure of one rule does not compare with a figure of the other.
    """
    datasets: dict[str, dict[str, Any]] = {}
    for name, pairs in runs.items():
        base, novel = _spread([pair.base for pair in pairs]), _spread([pair.novel for pair in pairs])
        datasets[name] = {
            "base": base,
            "novel": novel,
            "h": harmonic(base["mean"], novel["mean"]),
            "h_of_runs": _spread([harmonic(*pair) for pair in pairs]),
        }
    base_mean, novel_mean = (fmean(one[group]["mean"] for one in datasets.values()) for group in ("base", "novel"))
    average = {
        "base": base_mean,
        "novel": novel_mean,
        "h_of_means": harmonic(base_mean, novel_mean),
        "mean_of_h": fmean(one["h"] for one in datasets.values()),
    }
    return {"datasets": datasets, "average": average}


def _spread(values: Sequence[float]) -> dict[str, Any]:
    return {"mean": fmean(values), "sd": stdev(values) if len(values) > 1 else None}


def read_runs(path: Path) -> list[Run]:
    """The runs of a table with the columns dataset, base and novel, and seed where a data set has several.

    base and novel are result files, by their path from the folder of the table on, of one model.

    Errors: :class:`UserError` with the row (from 1) for a path that leaves that folder; a seed that is no whole number,
    or stands twice for a data set; a file that is no result with one classification; base and novel of two models, of
    two prompts or with a class in common; runs of one data set that were asked other questions, or are of one model.
    """
    table = read_table(path)
    columns = {name: [cell.strip() for cell in filled(table, name)] for name in _COLUMNS}
    seeds = [row[title].strip() for row in table.rows] if (title := title_of(table, "seed")) else [""] * len(table.rows)
    runs: list[Run] = []
    first: dict[tuple[str, str], int] = {}
    for row, (dataset, base, novel, seed) in enumerate(zip(*columns.values(), seeds, strict=True), start=1):
        where = f"{path}, row {row}"
        if seed and not is_number(seed):
            raise UserError(f"{where}: seed {seed!r}", "a whole number, or nothing for a single run", "correct it")
        known = first.setdefault((dataset, str(int(seed)) if seed else ""), row)
        if known != row:
            raise UserError(
                f"{where}: {dataset}, seed {seed or 'none'}, which is row {known} too",
                "one row for each data set and seed",
                "remove one of them, or tell the seeds apart",
            )
        runs.append(_run(where, path.parent, dataset, seed, {"base": base, "novel": novel}))
    _require_comparable(path, runs)
    return runs


def _run(where: str, folder: Path, dataset: str, seed: str, names: Mapping[str, str]) -> Run:
    read = {group: _of_file(f"{where}, {group}", folder, name) for group, name in names.items()}
    files = {group: {"file": name, "sha256": sha256_of_file(folder / name)} for group, name in names.items()}
    records = {group: models[ADAPTED] for group, models in read.items()}
    suites = {group: _suite(f"{where}, {group}", record) for group, record in records.items()}
    identities = {group: _identity(record) for group, record in records.items()}
    if identities["base"] != identities["novel"]:
        differing = [key for key, value in identities["base"].items() if identities["novel"][key] != value]
        raise UserError(
            f"{where}: base and novel of two models, which differ in {', '.join(differing)}",
            "both groups measured of one model and adapter",
            "name the two results of one training",
        )
    if suites["base"].get("templates") != suites["novel"].get("templates"):
        raise UserError(
            f"{where}: base and novel asked with other prompts: {suites['base'].get('templates')} and "
            f"{suites['novel'].get('templates')}",
            "the same prompts for both groups",
            "measure one of them again",
        )
    classes = {group: set(suite["per_class"]) for group, suite in suites.items()}
    common = sorted(classes["base"] & classes["novel"])
    if common:
        raise UserError(
            f"{where}: {counted(len(common), 'class', 'es')} in base and in novel: {listed(common, 5)}",
            "groups without a class in common",
            "measure on base-test.csv and novel-test.csv of litotes data few-shot",
        )
    models = [model for model in (BEFORE, ADAPTED) if all(model in one for one in read.values())]
    figures = {model: Pair(*(_suite(where, read[group][model])["acc1"] for group in names)) for model in models}
    asked = {group: str(suite["split_sha256"]) for group, suite in suites.items()}
    return Run(dataset, seed, figures, files, identities["base"], asked, _told(dataset, seed, records, suites))


def _of_file(where: str, folder: Path, name: str) -> dict[str, dict[str, Any]]:
    """The records of a result by ``ADAPTED`` and, where it is there, ``BEFORE``."""
    if not is_plain_path(name):
        raise UserError(
            f"{where}: the path {name!r}",
            "a path from the folder of the table on, with forward slashes and without ..",
            "put the table into a folder above the results",
        )
    found = read_records([folder / name])
    if set(found) == {"base", "adapted"}:
        return {BEFORE: found["base"], ADAPTED: found["adapted"]}
    if len(found) != 1:
        raise UserError(f"{where}: {name} with the models {', '.join(found)}", _EVALUATED, "name such a result")
    return {ADAPTED: next(iter(found.values()))}


def _suite(where: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """The one classification of a record."""
    found = [suite for suite in record["suites"].values() if suite["task"] == _TASK]
    if len(found) != 1 or not isinstance(found[0].get("per_class"), dict) or "split_sha256" not in found[0]:
        suites = ", ".join(record["suites"]) or "nothing"
        raise UserError(f"{where}: a result of {suites}", f"{_EVALUATED}, with one classification", "measure it so")
    return dict(found[0])


def _identity(record: Mapping[str, Any]) -> dict[str, Any]:
    pairs = record.get("pair_adapter")
    weights = pairs.get("weights_sha256") if isinstance(pairs, Mapping) else None
    return {"fingerprint": record.get("fingerprint"), "pair_adapter": weights, "similarity": record.get("similarity")}


def _told(
    dataset: str, seed: str, records: Mapping[str, Mapping[str, Any]], suites: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """What makes a figure less than it seems: pictures left out, and classes that are answers and have no picture."""
    said = f"{dataset}{f', seed {seed}' if seed else ''}"
    notes = []
    for group, suite in suites.items():
        left = records[group].get("n_skipped", 0)
        if left:
            notes.append(f"{said}: {counted(left, 'picture')} of {group} left out as missing or broken")
        asked, shown = suite.get("n_classes"), len(suite["per_class"])
        if isinstance(asked, int) and asked > shown:
            notes.append(
                f"{said}: {group} was asked among {asked:,} classes, of which {shown:,} have pictures; the protocol "
                "asks among those of the group alone"
            )
    return notes


def _require_comparable(path: Path, runs: Sequence[Run]) -> None:
    """Refuse runs of one data set that were asked other questions, or that are one model."""
    first: dict[str, Run] = {}
    models: dict[tuple[str, ...], Run] = {}
    for run in runs:
        known = first.setdefault(run.dataset, run)
        for group, asked in run.asked.items():
            if asked != known.asked[group]:
                raise UserError(
                    f"{path}: {run.dataset}, {group}: seed {run.seed or 'none'} was asked other questions than seed "
                    f"{known.seed or 'none'}",
                    "one test for all seeds, which draw the pictures to train on alone",
                    "give data sets names of their own, or measure again",
                )
        same = models.setdefault((run.dataset, *map(str, run.identity.values())), run)
        if same is not run:
            raise UserError(
                f"{path}: {run.dataset}: seeds {same.seed or 'none'} and {run.seed or 'none'} are of one model, by its "
                "hash",
                "a training of its own for each seed; one row for a model that was not trained",
                "name the results of the other training, or remove one of the rows",
            )


def by_dataset(runs: Sequence[Run], model: str) -> dict[str, list[Pair]]:
    """The figures of a model by data set, in the order of the runs."""
    found: dict[str, list[Pair]] = {}
    for run in runs:
        found.setdefault(run.dataset, []).append(run.figures[model])
    return found


def models_of(runs: Sequence[Run]) -> list[str]:
    """The models that all runs have figures of: the one before adaptation first, where there is one."""
    return [model for model in (BEFORE, ADAPTED) if all(model in run.figures for run in runs)]


def notes_of(runs: Sequence[Run]) -> list[str]:
    """What must be known of runs, in sentences."""
    counts = Counter(run.dataset for run in runs)
    few = [f"{name} {count}" for name, count in counts.items() if count < _USUAL]
    notes = [note for run in runs for note in run.told]
    if few:
        notes.append(
            f"fewer than three runs, the usual number: {listed(few)}; one run has no spread, and single runs of small "
            "sets (EuroSAT, DTD) differ by points"
        )
    if any(BEFORE in run.figures for run in runs) and BEFORE not in models_of(runs):
        notes.append("figures of the model before adaptation are left out, since not all results have them")
    return notes
