"""Results as a record that other tools merge: CLIP_benchmark's shape and names, with the fields that make it honest."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from litotes.data.negbench import recognise
from litotes.evaluate.features import Encoder
from litotes.evaluate.suite import Result
from litotes.places import write_whole

Metrics = dict[str, float | None]
_DIRECTIONS = {"i2t": "image_to_text", "t2i": "text_to_image"}


def result_record(
    matcher: Encoder, results: Mapping[str, Result], *, dataset: str, extra: Mapping[str, object] | None = None
) -> dict[str, Any]:
    """One record of a run of suites on one model, ready for ``write_json``.

    Top level: CLIP_benchmark's ``dataset``, ``model``, ``pretrained`` (the adapter, or "base"), ``task``,
    ``language``, ``metrics`` (flat, ``flat_metrics``), so that ``clip_benchmark build *.json`` merges it; the model's
    ``provenance()``; ``prompt`` (templates of the classification), ``seed`` (of what a suite draws at random, its
    controls; None where nothing is drawn),
    ``split_sha256`` (of the suite; of several, SHA-256 over their sorted names and hashes), ``n_images`` (each
    picture set counted once), ``n_texts``, ``n_skipped``, ``captions_truncated``, ``wall_s``; and ``suites``, the full
    result of each, with ``file`` for whether it is a published one, by its hash where a suite does not tell itself.
    Where plain and negated captions of the same pictures were searched, as many of both, the latter's result has
    ``gap``: its recalls and rSum less the former's. ``extra`` is added on top and may overwrite.
    """
    suites: dict[str, dict[str, Any]] = {
        name: {"file": recognise(str(result["split_sha256"])), **result} for name, result in results.items()
    }
    _add_gap(suites)
    provenance = matcher.provenance()
    sets = {result["pictures_sha256"]: result["n_images"] for result in suites.values()}
    return {
        **heading(dataset, provenance, [str(result["task"]) for result in suites.values()]),
        "metrics": flat_metrics(dataset, suites),
        **provenance,
        "seed": next((result["seed"] for result in suites.values() if "seed" in result), None),
        "prompt": next((result["templates"] for result in suites.values() if "templates" in result), None),
        "split_sha256": _split({name: str(result["split_sha256"]) for name, result in suites.items()}),
        "n_images": sum(sets.values()),
        "n_texts": sum(result["n_texts"] for result in suites.values()),
        "n_skipped": 0,
        "captions_truncated": sum(result["captions_truncated"] for result in suites.values()),
        "wall_s": round(sum(result["wall_s"] for result in suites.values()), 3),
        "suites": suites,
        **(extra or {}),
    }


def heading(dataset: str, provenance: Mapping[str, object], tasks: Sequence[str]) -> dict[str, object]:
    """The fields of a record that name its file (``file_name``)."""
    return {
        "dataset": dataset,
        "model": provenance.get("model"),
        "pretrained": provenance.get("adapter") or "base",
        "task": "+".join(dict.fromkeys(tasks)),
        "language": "en",
    }


def _add_gap(suites: Mapping[str, dict[str, Any]]) -> None:
    """What negation costs a search: see ``result_record``."""
    plain, negated = suites.get("retrieval"), suites.get("retrieval_neg")
    same = ("pictures_sha256", "n_images", "n_texts")
    if plain and negated and all(plain[key] == negated[key] for key in same):
        negated["gap"] = {
            way: {k: share - plain[way][k] for k, share in negated[way].items()} for way in ("i2t", "t2i")
        } | {"rsum": negated["rsum"] - plain["rsum"]}


def flat_metrics(dataset: str, suites: Mapping[str, Mapping[str, Any]]) -> Metrics:
    """Metrics of all suites under the names that the benchmarks' own tools use; fractions 0-1, ``rsum`` in percent.

    ``acc1``, ``mean_per_class_recall``; ``image_retrieval_recall@K`` (text -> image) and ``text_retrieval_recall@K``
    (image -> text); open_clip's ``image_to_text_median_rank`` and ``text_to_image_median_rank`` (the mean of the middle
    two ranks where their number is even, which open_clip rounds down); NegBench's ``<dataset>-mcq-total_accuracy``,
    ``<dataset>-image_retrieval_recall@K`` (the same figure once more, not of protocols that have a name) and
    ``<dataset>-negated-image_retrieval_recall@K``; before all names of negated searches stands ``<dataset>-negated-``.
    Two suites of one task: the later one's names begin with the suite's name.
    """
    metrics: Metrics = {}
    for name, result in suites.items():
        for key, value in _NAMES[str(result["task"])](dataset, result).items():
            metrics[key if key not in metrics else f"{name}-{key}"] = value
    return metrics


def write_json(path: Path, record: object) -> Path:
    """Write JSON whole or not at all (``write_whole``). JSON has no NaN, so it is refused."""
    text = json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    return write_text(path, text)


def write_text(path: Path, text: str) -> Path:
    """Write a text in UTF-8 whole or not at all (``write_whole``), and return where it is."""
    write_whole(path, text.encode("utf-8"))
    return path


def file_name(record: Mapping[str, object]) -> str:
    """CLIP_benchmark's name of a result file: ``{dataset}_{pretrained}_{model}_{language}_{task}.json``."""
    parts = (str(record[key]) for key in ("dataset", "pretrained", "model", "language", "task"))
    joined = "_".join(part.split(" (")[0] for part in parts)
    return "".join(c if c.isalnum() or c in "-_.+" else "-" for c in joined) + ".json"


def _split(hashes: Mapping[str, str]) -> str:
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    return hashlib.sha256(
        "\n".join(f"{name}\t{digest}" for name, digest in sorted(hashes.items())).encode()
    ).hexdigest()


def _mcq(dataset: str, result: Mapping[str, Any]) -> Metrics:
    kinds = [key.removeprefix("n_") for key in result if key.startswith("n_") and key.removeprefix("n_") in result]
    return {f"{dataset}-mcq-{kind}_accuracy": result[kind] for kind in ("total", *kinds)}


def _retrieval(dataset: str, result: Mapping[str, Any]) -> Metrics:
    prefix = f"{dataset}-negated-" if result["negated"] else ""
    ways = {"image": result["t2i"], "text": result["i2t"]}
    recall = {f"{way}_retrieval_recall@{k}": v for way, shares in ways.items() for k, v in shares.items()}
    ranks = {f"{words}_median_rank": result["median_rank"][way] for way, words in _DIRECTIONS.items()}
    named = {f"{prefix}{key}": value for key, value in {**recall, **ranks, "rsum": result["rsum"]}.items()}
    negbench = not result["negated"] and "protocol" not in result
    return {**named, **({f"{dataset}-{key}": value for key, value in recall.items()} if negbench else {})}


def _judged(dataset: str, result: Mapping[str, Any]) -> Metrics:
    """The names of eccv_caption; the direction at the end."""
    recalls = ((name, way, by_k) for name in ("coco_1k", "coco_5k", "cxc") for way, by_k in result[name].items())
    found = {f"{dataset}-{name}_r{k}-{way}": share for name, way, by_k in recalls for k, share in by_k.items()}
    names = {"r1": "eccv_r1", "map_at_r": "eccv_map_at_r", "r_precision": "eccv_rprecision"}
    eccv = {f"{dataset}-{names[key]}-{way}": s for way, values in result["eccv"].items() for key, s in values.items()}
    return {**found, **eccv, f"{dataset}-coco_1k-rsum": result["rsum"]}


def _classification(dataset: str, result: Mapping[str, Any]) -> Metrics:
    return {key: result[key] for key in ("acc1", "acc5", "mean_per_class_recall") if result[key] is not None}


def _pairs(dataset: str, result: Mapping[str, Any]) -> Metrics:
    return {f"{dataset}-pairs-{key}": result[key] for key in result["ties"]}


def _foils(dataset: str, result: Mapping[str, Any]) -> Metrics:
    shares = {**result["accuracy"], **result["averages"]}
    prefix = f"{dataset}-{result['benchmark']}"
    return {f"{prefix}-{key.replace(', ', '-')}": share for key, share in shares.items()}


def _geometry(dataset: str, result: Mapping[str, Any]) -> Metrics:
    radii = {f"{dataset}-radius-{kind}": radius for kind, radius in result["radius"].items()}
    angles = {
        f"{dataset}-angle-{corner}": result["angles"][corner] for corner in ("at_negative", "at_negated_positive")
    }
    return {key: value for key, value in (radii | angles).items() if value is None or math.isfinite(value)}


def _selective(dataset: str, result: Mapping[str, Any]) -> Metrics:
    ways = {"image": result["ways"]["t2i"], "text": result["ways"]["i2t"]}
    return {
        f"{dataset}-{way}_retrieval-aurc-by-{name}": told["aurc"]
        for way, values in ways.items()
        for name, told in values.items()
        if isinstance(told, Mapping)
    }


_NAMES: dict[str, Callable[[str, Mapping[str, Any]], Metrics]] = {
    "mcq": _mcq,
    "zeroshot_retrieval": _retrieval,
    "judged_retrieval": _judged,
    "zeroshot_classification": _classification,
    "pairs": _pairs,
    "foils": _foils,
    "geometry": _geometry,
    "selective_retrieval": _selective,
}
"""How the metrics of each task are named outside."""
