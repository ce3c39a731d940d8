"""Whether a result that was read from a file holds what its tables show, of the right kind and within its range."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from litotes.evaluate.layouts import LAYOUTS
from litotes.evaluate.rows import Measure, value_at

_LARGEST = 1 << 63


class Fault(NamedTuple):
    """What is wrong in a result: where, what stands there, what should."""

    where: str
    found: str
    expected: str


class _Form(NamedTuple):
    """What a value has to be, in words, and whether it is."""

    words: str
    fits: Callable[[Any], bool]


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < _LARGEST if isinstance(value, int) else math.isfinite(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _is_share(value: Any) -> bool:  # noqa: ANN401 (whatever a file holds)
    return _is_number(value) and 0 <= value <= 1


def _is_interval(value: Any) -> bool:  # noqa: ANN401 (whatever a file holds)
    return isinstance(value, list) and len(value) == 2 and all(map(_is_share, value)) and value[0] <= value[1]


def _is_class(value: Any) -> bool:  # noqa: ANN401 (whatever a file holds)
    """Whether a value tells what was answered to the pictures of a class; see ``Classification``."""
    if not isinstance(value, dict) or not all(_is_count(value.get(key)) for key in ("n", "right", "times")):
        return False
    wrong = value["n"] - value["right"]
    named = isinstance(value.get("instead"), str) if wrong else value.get("instead", "") is None
    return value["n"] > 0 and named and (1 <= value["times"] <= wrong if wrong else not value["times"])


_COUNT = _Form("a whole number from 0 on", _is_count)
_SOME = _Form("a whole number from 1 on", lambda value: _is_count(value) and value > 0)
_COUNTS = _Form(
    "a whole number from 0 on, or such numbers by name",
    lambda value: _is_count(value) or (isinstance(value, dict) and all(map(_is_count, value.values()))),
)
_SHARE = _Form("a share from 0 to 1", _is_share)
_SHARE_OR_NONE = _Form("a share from 0 to 1, or null", lambda value: value is None or _is_share(value))
_INTERVAL = _Form("the two ends of an interval, from 0 to 1", lambda value: value is None or _is_interval(value))
_NUMBER = _Form("a number", _is_number)
_RANK = _Form("a number from 1 on", lambda value: _is_number(value) and value >= 1)
_LENGTH = _Form("a number from 0 on", lambda value: _is_number(value) and value >= 0)
_CHANGE = _Form("a difference of two shares, from -1 to 1", lambda value: _is_number(value) and -1 <= value <= 1)
_ANGLE = _Form("degrees from 0 to 180", lambda value: _is_number(value) and 0 <= value <= 180)
_TEXT = _Form("a text", lambda value: isinstance(value, str))
_TEXTS = _Form("a list of texts", lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value))
_BROKEN = _Form(
    "a list of pictures, each with its reason",
    lambda value: (
        isinstance(value, list) and all(isinstance(one, dict) and {"picture", "reason"} <= one.keys() for one in value)
    ),
)
_FLAG = _Form("true or false", lambda value: isinstance(value, bool))
_NAMED = _Form("an object of values by name", lambda value: isinstance(value, dict))
_BY_WAY = _Form(
    "counts of the searches, i2t and t2i",
    lambda value: isinstance(value, dict) and value.keys() <= {"i2t", "t2i"} and all(map(_is_count, value.values())),
)
_BY_CLASS = _Form(
    "by class its n, right, instead and times, no more right or instead than there are",
    lambda value: isinstance(value, dict) and all(map(_is_class, value.values())),
)
_BY_K = _Form(
    "an object of shares by K, whole numbers from 1 on",
    lambda value: isinstance(value, dict) and bool(value) and all(key.isdecimal() and int(key) for key in value),
)

_BY_KIND = {
    "percent": _SHARE, "control": _SHARE, "rsum": _LENGTH, "gap": _CHANGE, "rsum gap": _NUMBER, "length": _LENGTH,
    "degrees": _ANGLE, "rank": _RANK,
}  # fmt: skip
"""What the figures of a kind of ``rows.KINDS`` have to be; of any other, a number."""

_NEEDED: dict[str, dict[str, _Form]] = {
    "mcq": {"n": _SOME, "chance": _SHARE, "total": _SHARE},
    "zeroshot_retrieval": {
        "negated": _FLAG, "n_texts": _COUNT, "n_images": _COUNT, "i2t": _BY_K, "t2i": _BY_K, "i2t.*": _SHARE,
        "t2i.*": _SHARE, "rsum": _LENGTH,
    },
    "judged_retrieval": {
        "n_texts": _COUNT, "n_images": _COUNT, "rsum": _LENGTH,
        **{f"{judge}.{way}": _BY_K for judge in ("coco_5k", "coco_1k", "cxc") for way in ("i2t", "t2i")},
        "eccv.i2t": _NAMED, "eccv.t2i": _NAMED,
    },
    "zeroshot_classification": {
        "n_images": _SOME, "acc1": _SHARE, "acc5": _SHARE_OR_NONE, "mean_per_class_recall": _SHARE_OR_NONE
    },
    "pairs": {"n": _SOME, "ties": _NAMED},
    "foils": {"count": _NAMED, "count.*": _COUNT, "accuracy": _NAMED, "averages": _NAMED, "chance": _SHARE},
    "geometry": {
        "n": _SOME, "radius": _NAMED, "radius_raw": _NAMED, "angles": _NAMED, "norm": _TEXT, "curvature": _NUMBER
    },
    "selective_retrieval": {"ways.i2t": _NAMED, "ways.t2i": _NAMED},
}  # fmt: skip
"""What the layout of a task reads, by its place; "*" is every value there."""

_OPTIONAL: dict[str, _Form] = {
    "n_skipped": _COUNT, "captions_truncated": _COUNT, "model_notes": _TEXTS, "left_out": _NAMED,
    "left_out.of": _COUNT, "left_out.missing": _TEXTS, "left_out.broken": _BROKEN, "left_out.rows": _NAMED,
    "left_out.rows.*": _COUNT,
    "answers": _NAMED, "answers.file": _TEXT, "answers.sha256": _TEXT, "answers.model": _TEXT,
    "answers.pictures": _NAMED, "answers.pictures.*": _TEXT,
}  # fmt: skip
"""What else of a record is read, where its first part is there."""
_MAY_LACK = "answers.pictures"
_OF_SUITE: dict[str, _Form] = {
    "notes": _TEXTS, "captions_without_words": _COUNT, "repeated_rows": _COUNT, "equal_names": _NAMED,
    "equal_options": _COUNT, "unanswerable": _COUNT, "total_if_ties_go_to_first": _SHARE, "if_ties_won": _NAMED,
    "if_ties_won.*": _SHARE_OR_NONE, "file": _TEXT, "class_answers": _BY_CLASS,
    "chance": _SHARE, "chances": _NAMED, "chances.*": _SHARE,
}  # fmt: skip
"""What else of a suite is read, where its first part is there."""
_SEARCHES = ("zeroshot_retrieval", "judged_retrieval")
_GAP = {"i2t": _BY_K, "t2i": _BY_K, "rsum": _NUMBER}
_MISSING = object()
_SHOWN = 40


def fault_in(record: object) -> Fault | None:
    """The first thing in a record that its tables could not show, or could not show truly; None where all is well.

    Every figure that a table takes has to be a number of its kind: shares from 0 to 1, counts whole and not negative,
    angles from 0 to 180 degrees. Other fields may hold what they like.
    """
    if not isinstance(record, Mapping):
        return Fault("", f"is {_shown(record)}", "an object with the results of a model")
    suites = record.get("suites", _MISSING)
    if not isinstance(suites, Mapping) or not suites:
        return _fault("suites", suites, _Form("an object with the result of at least one suite", lambda _: False))
    faults = (fault for name, result in suites.items() for fault in _of_suite(name, result))
    return next(faults, None) or next(_of_record(record), None)


def _of_record(record: Mapping[str, Any]) -> Iterator[Fault]:
    for path, form in _OPTIONAL.items():
        lacking = path.startswith(_MAY_LACK) and value_at(record, tuple(_MAY_LACK.split("."))) is None
        if path.partition(".")[0] in record and not lacking:
            yield from _at(record, path, form, "")
    for name, result in record["suites"].items():
        if not isinstance(result.get("split_sha256"), str):
            yield _fault(f"suites.{name}.split_sha256", result.get("split_sha256", _MISSING), _TEXT)


def _of_suite(name: str, result: Any) -> Iterator[Fault]:  # noqa: ANN401 (whatever a file holds)
    where = f"suites.{name}"
    task = result.get("task", _MISSING) if isinstance(result, Mapping) else None
    if not isinstance(task, str) or task not in LAYOUTS:
        told = _Form(f"one of {', '.join(LAYOUTS)}", lambda _: False)
        yield _fault(f"{where}.task", task, told) if isinstance(result, Mapping) else _fault(where, result, _NAMED)
        return
    counted = {key: _COUNTS for key in result if key == "n" or key.startswith("n_")}
    if result.get("ties") is not None:
        counted["ties"] = _BY_WAY if task in _SEARCHES else _COUNTS
    for path, form in {**counted, **_NEEDED.get(task, {})}.items():
        yield from _at(result, path, form, where)
    for path, form in _OF_SUITE.items():
        if path.partition(".")[0] in result:
            yield from _at(result, path, form, where)
    if isinstance(result.get("gap"), Mapping):
        for path, form in _GAP.items():
            yield from _at(result["gap"], path, form, f"{where}.gap")
    try:
        measures = LAYOUTS[task](name, result)[2]
    except (KeyError, TypeError, ValueError, AttributeError):
        yield Fault(where, "lacks something, or holds something odd", f"the result of a suite of task {task}")
        return
    yield from _of_measures(where, result, measures)
    yield from _of_choices(where, result)


def _of_measures(where: str, result: Mapping[str, Any], measures: Sequence[Measure]) -> Iterator[Fault]:
    for measure in measures:
        value = value_at(result, measure.path)
        form = _BY_KIND.get(measure.kind, _NUMBER)
        if value is not None and not form.fits(value):
            yield _fault(".".join((where, *measure.path)), value, form)
        ends = value_at(result, measure.interval) if measure.interval else None
        if not _INTERVAL.fits(ends):
            yield _fault(".".join((where, *measure.interval)), ends, _INTERVAL)
        if ends is not None:
            yield from _at(result, ".".join(measure.chance), _SHARE, where)


def _of_choices(where: str, result: Mapping[str, Any]) -> Iterator[Fault]:
    """What was chosen wrongly, by type of question: never more than there are questions."""
    if "wrong_by_type" not in result:
        return
    table = result["wrong_by_type"]
    counts = _Form("an object of counts by kind of option", lambda one: isinstance(one, dict) and _COUNTS.fits(one))
    if not isinstance(table, dict):
        yield _fault(f"{where}.wrong_by_type", table, counts)
        return
    for kind, chosen in table.items():
        if not counts.fits(chosen):
            yield _fault(f"{where}.wrong_by_type.{kind}", chosen, counts)
            return
        total = result.get(f"n_{kind}", _MISSING)
        if not _SOME.fits(total):
            yield _fault(f"{where}.n_{kind}", total, _SOME)
        elif sum(chosen.values()) > total:
            yield Fault(f"{where}.wrong_by_type.{kind}", f"counts {sum(chosen.values())}", f"no more than {total}")


def _at(value: Any, path: str, form: _Form, where: str) -> Iterator[Fault]:  # noqa: ANN401 (whatever a file holds)
    """Faults of what stands at a place below a value; "*" is every value there."""
    place = where
    for key in path.split("."):
        if key == "*":
            yield from (_fault(f"{place}.{name}", one, form) for name, one in value.items() if not form.fits(one))
            return
        place = f"{place}.{key}" if place else key
        value = value.get(key, _MISSING) if isinstance(value, Mapping) else _MISSING
        if value is _MISSING:
            break
    if value is _MISSING or not form.fits(value):
        yield _fault(place, value, form)


def _fault(where: str, value: object, form: _Form) -> Fault:
    return Fault(where, "is not there" if value is _MISSING else f"is {_shown(value)}", form.words)


def _shown(value: object) -> str:
    if isinstance(value, Mapping | list):
        return ("an object" if isinstance(value, Mapping) else "a list") + ("" if value else " without anything in it")
    text = json.dumps(value, ensure_ascii=False)
    kind = ", a text" if isinstance(value, str) else ""
    return (text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...") + kind
