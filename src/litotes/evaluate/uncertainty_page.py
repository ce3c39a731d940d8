"""What a page shows of a model's uncertainty: sentences and charts from a result of ``SelectiveRetrieval``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from litotes.errors import UserError
from litotes.evaluate.charts import Chart
from litotes.evaluate.rows import MINUS, Records
from litotes.evaluate.uncertainty_charts import WORDS, bins_chart, in_order, reliability_chart, risk_coverage_chart

_WAYS = {"i2t": "Picture → caption", "t2i": "Caption → picture"}
_STATE = {
    "log_var": "log-variances from {log_var_min:.2f} to {log_var_max:.2f}, mean {log_var_mean:.2f}",
    "kl": "divergence from the prior, in nats a dimension",
    "weights": "weights of the components",
    "shares": "share of pairs drawn from each",
}


@dataclass(frozen=True)
class Uncertainty:
    """Of one model and one suite: ``label``, what is told in sentences, and charts."""

    label: str
    told: tuple[str, ...]
    charts: tuple[Chart, ...]


def uncertainties(records: Records) -> dict[str, list[Uncertainty]]:
    """By suite, what each model's result has of its uncertainty; models without any are left out.

    Results of earlier versions, without bins and curves, have nothing. Errors: details that are not as
    ``SelectiveRetrieval`` gives them.
    """
    found: dict[str, list[Uncertainty]] = {}
    for number, (label, record) in enumerate(records.items()):
        for suite, result in record["suites"].items():
            if result.get("task") == "selective_retrieval":
                one = _of(result, label, suite, number)
                if one.told or one.charts:
                    found.setdefault(suite, []).append(one)
    return found


def _of(result: Mapping[str, Any], label: str, suite: str, number: int) -> Uncertainty:
    try:
        return Uncertainty(label, tuple(_told(result)), tuple(_charts(result, f"{suite}-{number}")))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            got=f"suites.{suite} of {label}, whose uncertainty cannot be shown: {type(error).__name__}: {error}",
            expected="bins, curves and reliability as litotes evaluate writes them",
            do="evaluate the model again",
        ) from error


def _told(result: Mapping[str, Any]) -> list[str]:
    lines = [
        _compared(words, name, values["less_one_minus_p"])
        for way, words in _WAYS.items()
        for name, values in in_order(result["ways"][way]).items()
        if "less_one_minus_p" in values
    ]
    if "diagnostics" in result:
        lines.append(_state(result["diagnostics"]))
    return lines


def _compared(way: str, name: str, less: Mapping[str, float]) -> str:
    difference, low, high = (_points(less[key]) for key in ("difference", "low", "high"))
    verdict = "no better and no worse than 1 − p, as far as chance allows to tell"
    if less["high"] < 0:
        verdict = "better than 1 − p"
    elif less["low"] > 0:
        verdict = "worse than 1 − p"
    return f"{way}: the order by {WORDS[name]} is {verdict}: AURC {difference} points, 95 % interval {low} to {high}."


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
        correlations = ", ".join(
            f"{_number(part['pearson_by_uncertainty'])} by {WORDS[key]}" for key, part in bins.items()
        )
        charts.append(
            bins_chart(
                {key: part["quality"] for key, part in bins.items()},
                f"{words}: R@1 by ten bins of uncertainty; Pearson {correlations}", f"bins-{way}-{name}",
            )
        )  # fmt: skip
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
