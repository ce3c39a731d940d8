"""Where pictures, captions and their negations lie: radii in the ball, and the two angles of ATNL."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from torch import Tensor

from litotes.data.images import Pictures
from litotes.evaluate.features import Encoder
from litotes.evaluate.suite import Identity, Result, Suite, base_name, require_parallel, sha256_of_rows
from litotes.geometry.ball import tangent_radius
from litotes.metrics.checks import refuse_non_finite
from litotes.objectives.atnl import angles
from litotes.objectives.space import SpaceConfig, place


@final
@dataclass(frozen=True)
class Geometry(Suite):
    """Mean hyperbolic radius of I, P, P' and N, and the mean angles at N and at P'.

    radius(u) = 2 ||u||, the distance of exp0(u) from the origin, the same at every curvature; u is the embedding as
    the objective's ``space`` places it (``norm``). With ``unit`` every radius is 2 and with a binding ``clip`` twice
    the cap, so only ``radius_raw``, from the embedding as encoded, can then differ.
    angle at N: between p - n and p' - n; angle at P': between n - p' and p - p' (degrees; the two angles that ATNL
    closes and opens), of the placed embeddings as in the loss, and ``angles_raw`` of those as encoded.

    ``captions`` P, ``negated_positives`` P', ``negatives`` N: one of each for every picture.

    ``run`` gives ``radius``, ``radius_raw`` (``image``, ``positive``, ``negated_positive``, ``negative``),
    ``angles``, ``angles_raw`` (``at_negative``, ``at_negated_positive``, None where no quadruplet has one; and
    ``undefined``, quadruplets in which two of P, P', N coincide), ``norm``, ``curvature`` and ``n``.

    Errors: lists of unequal length; embeddings that are not finite.
    """

    name: str
    pictures: Pictures
    captions: Sequence[str]
    negated_positives: Sequence[str]
    negatives: Sequence[str]
    space: SpaceConfig = field(default_factory=SpaceConfig)
    task = "geometry"

    def __post_init__(self) -> None:
        require_parallel(
            self.name,
            pictures=len(self.pictures),
            captions=len(self.captions),
            negated_positives=len(self.negated_positives),
            negatives=len(self.negatives),
        )

    def identity(self) -> Identity:
        """Rows of picture, P, P' and N."""
        rows = zip(self.captions, self.negated_positives, self.negatives, strict=True)
        digest = sha256_of_rows((base_name(self.pictures, i), *texts) for i, texts in enumerate(rows))
        return Identity(self.pictures, 3 * len(self.captions), digest)

    def run(self, encoder: Encoder) -> Result:
        """Radii and angles; see the class."""
        encoded = {
            "image": encoder.encode_images(self.pictures),
            "positive": encoder.encode_texts(self.captions),
            "negated_positive": encoder.encode_texts(self.negated_positives),
            "negative": encoder.encode_texts(self.negatives),
        }
        for kind, embeddings in encoded.items():
            refuse_non_finite(embeddings, f"embeddings of {kind.replace('_', ' ')}")
        placed = {kind: place(embeddings, self.space) for kind, embeddings in encoded.items()}
        return {
            "radius": _radii(placed),
            "radius_raw": _radii(encoded),
            "angles": _angles(placed),
            "angles_raw": _angles(encoded),
            "norm": self.space.norm,
            "curvature": self.space.curvature,
            "n": len(self.captions),
        }


def _radii(vectors: dict[str, Tensor]) -> dict[str, float]:
    return {kind: float(tangent_radius(tangent).double().mean()) for kind, tangent in vectors.items()}


def _angles(vectors: dict[str, Tensor]) -> dict[str, float | int | None]:
    found = angles(vectors["positive"], vectors["negated_positive"], vectors["negative"])
    means = {"at_negative": found.at_negative, "at_negated_positive": found.at_negated_positive}
    known = {key: None if math.isnan(degrees) else degrees for key, degrees in means.items()}
    return {**known, "undefined": found.undefined}
