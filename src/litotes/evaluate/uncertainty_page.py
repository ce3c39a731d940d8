"""What a page shows of a model's uncertainty: sentences and charts from a result of ``SelectiveRetrieval``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from litotes.errors import UserError
from litotes.evaluate.charts import Chart
from litotes.evaluate.notes import few_outcomes
from litotes.evaluate.rows import MINUS, Records
from litotes.evaluate.uncertainty_charts import (
    WORDS,
    bins_chart,
    histograms_chart,
    in_deviations,
    in_order,
    reliability_chart,
    risk_coverage_chart,
)

_WAYS = {"i2t": "Picture → caption", "t2i": "Caption → picture"}
_STATE = {
    "log_var": "log-variances from {log_var_min:.2f} to {log_var_max:.2f}, mean {log_var_mean:.2f}",
    "kl": "divergence from the prior, in nats a dimension",
    "weights": "weights of the components",
    "shares": "share of pairs drawn from each",
}


@dataclass(frozen=True)
class Figures:
    """A table: what it holds, how to read it, the heads of its columns, and its rows, a name and a cell a column."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Uncertainty:
    """Of one suite, and of one model or of all together: a heading, what is told in sentences, charts and tables."""

    heading: str
    told: tuple[str, ...]
    charts: tuple[Chart, ...]
    tables: tuple[Figures, ...] = ()


def uncertainties(records: Records) -> dict[str, list[Uncertainty]]:
    """By suite, what each model's result has of its uncertainty; models without any are left out.

    Where several have similarities, these are also laid over each other. Results of earlier versions, without bins and
    curves, have nothing. Errors: details that are not as ``SelectiveRetrieval`` gives them.
    """
    found: dict[str, list[Uncertainty]] = {}
    lying: dict[str, dict[str, Any]] = {}
    for number, (label, record) in enumerate(records.items()):
        for suite, whole in record["suites"].items():
            result = whole if whole.get("task") == "selective_retrieval" else whole.get("doubt")
            if result is not None:
                one, others = _of(result, label, suite, number)
                if one.told or one.charts:
                    found.setdefault(suite, []).append(one)
                if others is not None:
                    lying.setdefault(suite, {})[label] = others
    for suite, by_label in lying.items():
        if len(by_label) > 1:
            found[suite].append(_beside(by_label, suite))
    return found


def _of(result: Mapping[str, Any], label: str, suite: str, number: int) -> tuple[Uncertainty, Any]:
    """What is shown of a model, and where it is known the histogram of its unlabelled pairs in its own deviations."""
    try:
        name, similarities = f"{suite}-{number}", result.get("similarities", {})
        told, charts = _told(result), _charts(result, name)
        if similarities:
            told += _lie(similarities)
            title = "How similarities lie: labelled pairs, and others"
            charts.append(histograms_chart(similarities, title, f"similarities-{name}", "logit"))
        heading = f"What the uncertainty of {label} is worth"
        others = in_deviations(similarities["others"]) if "others" in similarities else None
        return Uncertainty(heading, tuple(told), tuple(charts), tuple(_tables(result))), others
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            got=f"suites.{suite} of {label}, whose uncertainty cannot be shown: {type(error).__name__}: {error}",
            expected="bins, curves and reliability as litotes evaluate writes them",
            do="evaluate the model again",
        ) from error


def _beside(by_label: Mapping[str, Any], suite: str) -> Uncertainty:
    title = "Similarities of pairs without a label, each model's about its own mean"
    chart = histograms_chart(by_label, title, f"similarities-{suite}", "standard deviations from the mean")
    return Uncertainty("How similarities lie, model beside model", (), (chart,))


def _lie(similarities: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Range, middle and lean of the similarities of each group."""
    words = {"labelled": "labelled pairs", "others": "pairs without a label"}
    lines = []
    for name, part in similarities.items():
        low, median, mean, high = (f"{part[key]:.3g}" for key in ("lowest", "median", "mean", "highest"))
        lean = part["skewness"]
        tail = "" if not lean else f", the long tail to the {'right' if lean > 0 else 'left'} (skewness {lean:+.2f})"
        lines.append(
            f"Logits of {part['pairs']:,} {words[name]}: {low} to {high}, median {median}, mean {mean}{tail}.".replace(
                " -", f" {MINUS}"
            ).replace("(skewness -", f"(skewness {MINUS}")
        )
    return lines


def _tables(result: Mapping[str, Any]) -> list[Figures]:
    return [*_correlations(result), *_firsts(result)]


def _correlations(result: Mapping[str, Any]) -> list[Figures]:
    """How R@1 goes with the uncertainty over the ten bins, in all that the paper's correlations can mean (A19)."""
    rows = [
        (
            f"{words}, {WORDS[name]}",
            tuple(_number(values["bins"][key]) for key in ("pearson_by_uncertainty", "pearson_by_index", "spearman")),
        )
        for way, words in _WAYS.items()
        for name, values in in_order(result["ways"][way]).items()
        if "bins" in values
    ]
    note = (
        "Over ten bins of equal count; nearer to −1 is better. Of ten numbers without any relation one in twenty has a "
        "correlation beyond ±0.63."
    )
    heads = "Pearson with mean uncertainty", "Pearson with number of bin", "Spearman"
    return [Figures("R@1 by ten bins of uncertainty", note, heads, tuple(rows))] if rows else []


def _firsts(result: Mapping[str, Any]) -> list[Figures]:
    """The uncertainty of the K first items against the AP@R of the searches (Table 10 of VACSR)."""
    firsts = result.get("firsts", {})
    if not firsts:
        return []
    names = [name for name in in_order(firsts["i2t"]) if name != "total_variance"]
    rows = []
    for way, words in _WAYS.items():
        found = firsts[way]
        for k in found[names[0]]:
            cells = [
                text
                for part in (found[name][k] for name in names)
                for text in (f"{part['mean']:.3f}", _number(part["pearson"]), _number(part["spearman"]))
            ]
            rows.append((f"{words}, K = {k}", (f"{100 * found['map_at_r']:.1f} %", *cells)))
    heads = (f"{head} {WORDS[name]}" for name in names for head in ("mean", "Pearson", "Spearman"))
    note = (
        "Mean uncertainty of the K items that a search finds first, and how it goes with the AP@R of the search, over "
        f"{firsts['i2t']['n']:,} and {firsts['t2i']['n']:,} searches: −1 where the more uncertain list is always the "
        "worse one, 0 where it says nothing."
    )
    return [Figures("Uncertainty of the K first against mAP@R", note, ("mAP@R", *heads), tuple(rows))]


def _told(result: Mapping[str, Any]) -> list[str]:
    lines = [
        _compared(words, name, values["less_one_minus_p"], few_outcomes(result["ways"][way]))
        for way, words in _WAYS.items()
        for name, values in in_order(result["ways"][way]).items()
        if "less_one_minus_p" in values
    ]
    if "diagnostics" in result:
        lines.append(_state(result["diagnostics"]))
    return lines


def _compared(way: str, name: str, less: Mapping[str, float], few: str) -> str:
    difference, low, high = (_points(less[key]) for key in ("difference", "low", "high"))
    verdict = "no better and no worse than 1 − p, as far as chance allows to tell"
    if less["high"] < 0:
        verdict = "better than 1 − p"
    elif less["low"] > 0:
        verdict = "worse than 1 − p"
    rests = f" This rests on few searches: {few}." if few else ""
    reach = f"AURC {difference} points, 95 % interval {low} to {high}"
    return f"{way}: the order by {WORDS[name]} is {verdict}: {reach}.{rests}"


def _state(found: Mapping[str, float]) -> str:
    parts = [_STATE["log_var"].format(**found).replace(" -", f" {MINUS}")]
    for key in ("kl", "weights", "shares"):
        values = [found[f"{key}_{k}"] for k in range(len(found)) if f"{key}_{k}" in found]
        parts.append(f"{_STATE[key]}: {', '.join(f'{value:.3g}' for value in values)}")
    return f"The distribution: {'; '.join(parts)}."


def _charts(result: Mapping[str, Any], name: str) -> list[Chart]:
    charts = []
    for way, words in _WAYS.items():
        told = {key: values for key, values in in_order(result["ways"][way]).items() if "bins" in values}
        if not told:
            continue
        bins = {key: values["bins"] for key, values in told.items()}
        qualities = {key: part["quality"] for key, part in bins.items()}
        charts.append(bins_chart(qualities, f"{words}: R@1 by ten bins of uncertainty", f"bins-{way}-{name}"))
        curves = {key: (values["curve"]["coverage"], values["curve"]["risk"]) for key, values in told.items()}
        charts.append(
            risk_coverage_chart(curves, f"{words}: error where only the surest are answered", f"risk-{way}-{name}")
        )
    reliable = result.get("reliability")
    if reliable:
        shown = {key: reliable[key] for key in ("p", "calibrated") if key in reliable}
        about = {"found": "what searches find first", "balanced": "pairs of which half are right"}
        title = f"Right by stated probability, of {about[reliable['population']]}"
        charts.append(reliability_chart(shown, title, f"reliability-{name}"))
    return charts


def _points(value: float) -> str:
    return f"{100 * value:+.2f}".replace("-", MINUS)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", MINUS)
