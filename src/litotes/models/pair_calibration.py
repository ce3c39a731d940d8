"""What makes a probability of a pair's logit: fitted to outcomes, kept as JSON beside the adapter it belongs to."""

import json
import math
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from jaxtyping import Bool, Float
from torch import Tensor

import litotes
from litotes.config import require_known
from litotes.errors import UserError
from litotes.metrics.answered_pairs import Population
from litotes.metrics.calibrators import Isotonic, Scaling, fit_isotonic, fit_scaling
from litotes.objectives.space import require_choice
from litotes.places import write_whole

Method = Literal["scaling", "temperature", "isotonic"]
CALIBRATION = "calibration.json"
FORMAT = 1


@dataclass(frozen=True)
class PairCalibration:
    """P(match) of a logit, and of which pairs.

    method, calibrator: ``scaling``: sigmoid(l / T + b); ``temperature``: the same with b = 0; ``isotonic``: any rising
    function. population: what the probability is about (`answered_pairs`). weights_sha256: of the adapter whose logits
    it is for. fitted_on: what is told of the pairs it was fitted to, and how it fared on others.
    """

    method: Method
    calibrator: Scaling | Isotonic
    population: Population
    weights_sha256: str
    fitted_on: dict[str, Any] = field(default_factory=dict)

    def __call__(self, logits: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
        """Probabilities of logits, in float64."""
        return self.calibrator(logits)


def fit_calibrator(method: Method, logits: Float[Tensor, " n"], right: Bool[Tensor, " n"]) -> Scaling | Isotonic:
    """The calibrator of a method, fitted. Errors: those of ``fit_scaling`` and ``fit_isotonic``."""
    if method == "isotonic":
        return fit_isotonic(logits, right)
    return fit_scaling(logits, right, offset=method == "scaling")


def save_calibration(found: PairCalibration, folder: Path) -> Path:
    """Write it into the folder of its adapter, whole or not at all; one that is there is replaced."""
    numbers = (
        {"scores": list(found.calibrator.scores), "probabilities": list(found.calibrator.probabilities)}
        if isinstance(found.calibrator, Isotonic)
        else {"temperature": found.calibrator.temperature, "offset": found.calibrator.offset}
    )
    text = json.dumps(
        {"format": FORMAT, "method": found.method, **numbers, "population": found.population,
         "weights_sha256": found.weights_sha256, "fitted_on": found.fitted_on, "tool_version": litotes.__version__},
        indent=1, allow_nan=False,
    )  # fmt: skip
    write_whole(folder / CALIBRATION, (text + "\n").encode())
    return folder / CALIBRATION


def load_calibration(folder: Path, weights_sha256: str) -> PairCalibration | None:
    """The calibration in the folder of an adapter; None where there is none.

    weights_sha256: of the adapter's weights. Errors: no JSON, unknown or missing keys, numbers out of range; a
    calibration of other weights.
    """
    path = folder / CALIBRATION
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        found = _read(values, path)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        absent = f"without {error.args[0]}" if isinstance(error, KeyError) else ""
        raise UserError(
            got=f"{path} {absent}" if absent else f"{path}, which is no whole calibration: {error}",
            expected="the file as litotes calibrate writes it",
            do="run litotes calibrate again, or delete it",
        ) from error
    if found.weights_sha256 != weights_sha256:
        raise UserError(
            got=f"{path}, fitted to an adapter of weights {found.weights_sha256[:12]}, beside weights "
            f"{weights_sha256[:12]}",
            expected="the calibration of this very adapter",
            do="run litotes calibrate again, or delete it",
        )
    return found


def _read(values: dict[str, Any], path: Path) -> PairCalibration:
    method = values["method"]
    require_choice("method", method, get_args(Method))
    require_choice("population", values["population"], get_args(Population))
    own = ("scores", "probabilities") if method == "isotonic" else ("temperature", "offset")
    known = ("format", "method", *own, "population", "weights_sha256", "fitted_on", "tool_version")
    require_known(values, known, str(path))
    if values["format"] != FORMAT:
        raise ValueError(f"format {values['format']}, where this version reads {FORMAT}")
    calibrator: Scaling | Isotonic
    if method == "isotonic":
        calibrator = Isotonic(tuple(map(float, values["scores"])), tuple(map(float, values["probabilities"])))
        _require_rising(calibrator)
    else:
        calibrator = Scaling(float(values["temperature"]), float(values["offset"]))
        if not (calibrator.temperature > 0 and math.isfinite(calibrator.temperature + calibrator.offset)):
            raise ValueError(f"temperature {calibrator.temperature}, offset {calibrator.offset}")
    return PairCalibration(method, calibrator, values["population"], str(values["weights_sha256"]), values["fitted_on"])


def _require_rising(found: Isotonic) -> None:
    x, y = found.scores, found.probabilities
    rising = all(a < b for a, b in pairwise(x)) and all(a <= b for a, b in pairwise(y))
    if not x or len(x) != len(y) or not rising or not 0 <= y[0] <= y[-1] <= 1 or not math.isfinite(x[0] + x[-1]):
        raise ValueError("scores that do not rise, or probabilities that fall or are outside [0, 1]")
