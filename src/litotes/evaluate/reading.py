"""Result files, read again."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from litotes import __version__
from litotes.data.tables import read_json
from litotes.errors import UserError
from litotes.evaluate.checking import Fault, fault_in

MAX_BYTES = 1 << 28
_RESULT = "the JSON that litotes evaluate writes, or the report.json of litotes train"
_DO = "name a result file, or measure again"
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Found(NamedTuple):
    """A model's record, and the folder of the file that it stands in."""

    record: dict[str, Any]
    folder: Path


class Results(NamedTuple):
    """What result files hold: by label the models, and in sentences what must be known of models that seem the same."""

    found: dict[str, Found]
    notes: list[str]


def read_records(paths: Sequence[Path]) -> dict[str, dict[str, Any]]:
    """The records of result files by label; see ``read_results``."""
    return {label: found.record for label, found in read_results(paths).found.items()}


def read_results(paths: Sequence[Path]) -> Results:
    """The records of result files by label, in the order of the files; a base before what was adapted from it.

    ``paths``: what ``litotes evaluate`` wrote, or the report.json of ``litotes train``. Labels: of one file "base" and
    "adapted", or the file's name where it holds one model; of several, the name of each file without its ending (of a
    report.json, that of its folder), and "NAME: base" for the base that it holds besides. A model that stands in
    several files is shown once where its figures and all that decides them are the same, and a note says so; where
    anything differs, each is a model of its own.

    Errors: a file that is not there, is no JSON, or no whole result; two files of one name.
    """
    found: dict[str, Found] = {}
    notes: list[str] = []
    for path in paths:
        for label, record in _models(path).items():
            name = (label or _name(path)) if len(paths) == 1 else _label(path, label)
            if name in found:
                raise UserError(
                    got=f"two results named {name}, the second in {path}",
                    expected="every file with a name of its own, since the names head the columns",
                    do="rename one of them",
                )
            differing = {known: _differing(record, other.record) for known, other in found.items()}
            same = next((known for known, fields in differing.items() if fields == []), None)
            if same is None:
                notes += [
                    f"{known} and {name} have one fingerprint and the same questions, but differ in "
                    f"{', '.join(fields)}."
                    for known, fields in differing.items()
                    if fields and not _ADAPTERS & set(fields)
                ]
                found[name] = Found(record, path.parent)
            else:
                notes.append(f"{name} holds the same figures as {same}, shown once.")
                if "answers" not in found[same].record:
                    found[same] = Found(record, path.parent)
    return Results(found, notes)


def is_same_run(
    path: Path, fingerprint: str, asked: Mapping[str, str], ks: Mapping[str, set[str]], with_base: bool,
    pair_adapter: str | None = None, shortlist: int | None = None,
) -> bool:  # fmt: skip
    """Whether a file holds the result of the same model on the same questions, asked in the same way.

    fingerprint: of the model. asked: the hash of the questions by suite. ks: ranks of the recall, by suite (``ks_of``).
    with_base: whether the base is measured too. pair_adapter: hash of the weights of an adapter of pairs. shortlist:
    how many items of a search it was asked of, None for all.
    """
    try:
        content = _json(path)
        suites = content["suites"]
        return (
            content["fingerprint"] == fingerprint
            and {name: result["split_sha256"] for name, result in suites.items()} == asked
            and ks_of(suites) == ks
            and ("base" in content) == with_base
            and content.get("pair_adapter", {}).get("weights_sha256") == pair_adapter
            and content.get("shortlist") == shortlist
        )
    except (UserError, KeyError, TypeError, AttributeError):
        return False


def ks_of(suites: Mapping[str, Any]) -> dict[str, set[str]]:
    """Ranks at which recall was counted, by suite, of the results that have any; as texts, as the results have them."""
    found = {name: result.get("coco_5k", result).get("i2t") for name, result in suites.items()}
    return {name: set(by_k) for name, by_k in found.items() if by_k is not None}


def is_result(path: Path) -> bool:
    """Whether a file is a result, of whatever run: JSON with suites and the model's fingerprint."""
    try:
        return {"suites", "fingerprint"} <= _json(path).keys()
    except (UserError, OSError, AttributeError):
        return False


def _label(path: Path, label: str) -> str:
    return _name(path) if label in ("", "adapted") else f"{_name(path)}: {label}"


def _name(path: Path) -> str:
    return path.absolute().parent.name if path.stem == "report" else path.stem


def _models(path: Path) -> dict[str, dict[str, Any]]:
    """Records of one file by label; "" is the label of a model alone."""
    content = _json(path)
    if "models" in content:
        models = content["models"]
    elif "base" in content:
        models = {"base": content["base"], "adapted": {k: v for k, v in content.items() if k != "base"}}
    else:
        models = {"": content}
    if not isinstance(models, Mapping) or not models:
        raise _no_result(path, "models without the record of a model in it")
    for label, record in models.items():
        fault = fault_in(record)
        if fault is not None:
            raise _odd_result(path, label, fault, record)
    return {_printable(label): _printable(record) for label, record in models.items()}


def _odd_result(path: Path, label: str, fault: Fault, record: object) -> UserError:
    """What is wrong in a record of a result, and whether another version wrote it."""
    version = record.get("tool_version") if isinstance(record, Mapping) else None
    other = isinstance(version, str) and version != __version__
    return UserError(
        got=f"{path}: {f'{label}: ' if label else ''}{fault.where} {fault.found}".replace("  ", " "),
        expected=fault.expected,
        do=f"measure again with this Litotes ({__version__}); the file is of {version}"
        if other
        else "take the file as litotes evaluate or train wrote it, or measure again",
    )


def _printable(value: Any) -> Any:  # noqa: ANN401 (whatever a file holds)
    """The same with a mark in the place of characters that steer a terminal or turn text round, or that are none."""
    if isinstance(value, str):
        return _STEERING.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, Mapping):
        return {_printable(key): _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list) else value


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.is_dir():
            there = path / "report.json"
            raise UserError(f"{path}, which is a folder", _RESULT, f"name a file in it, such as {there}")
        if path.stat().st_size > MAX_BYTES:
            raise _no_result(path, f"{path.stat().st_size:,} bytes, where {MAX_BYTES:,} are the most")
        content = read_json(path, _RESULT, _DO)
    except FileNotFoundError:
        raise UserError(
            got=f"no file {path}", expected="a result of litotes evaluate or train", do="check the path"
        ) from None
    except OSError as error:
        raise UserError(
            got=f"{path}: {error.strerror}", expected="a file that can be read", do="check the path and its permissions"
        ) from error
    if not isinstance(content, Mapping):
        raise _no_result(path, f"{'a list' if isinstance(content, list) else 'a single value'}, no object")
    return dict(content)


def _no_result(path: Path, found: str) -> UserError:
    return UserError(f"{path}: {found}", _RESULT, _DO)


_ADAPTERS = {"adapter", "pair_adapter"}
_ASIDE = {"answers", "base", "differences", "wall_s", "seed", "recipe"}
"""Fields that decide no figure. The seed of what a suite draws stands in the suite's own result."""


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str] | None:
    """The fields in which two records of one fingerprint on the same questions differ; None for any other two."""
    if any(key not in one or one[key] != other.get(key) for key in ("fingerprint", "split_sha256")):
        return None
    fields = [key for key in dict.fromkeys([*one, *other]) if key not in _ASIDE and key != "suites"]
    differing = [key for key in fields if one.get(key) != other.get(key)]
    return [*differing, *(["figures"] if _figures(one) != _figures(other) else [])]


def _figures(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: {k: v for k, v in result.items() if k != "wall_s"} for name, result in record["suites"].items()}
