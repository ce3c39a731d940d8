"""Training a model of pair scores on the features of a frozen backbone."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from litotes.config import record
from litotes.data.images import Subset
from litotes.data.noise import noise_sha256
from litotes.data.pairs import CaptionedPictures, Codes, KnownPairs, codes
from litotes.data.tables import listed
from litotes.errors import UserError
from litotes.models.features import image_features, text_features
from litotes.models.matcher import Matcher
from litotes.models.pair_adapter import PairModel
from litotes.objectives.diagnostics import PairDiagnostics
from litotes.train.pair_objectives import PairMethod, PairObjective, first_batches
from litotes.train.plan import step_seed
from litotes.train.task import Task, Terms


class PairBatch(NamedTuple):
    """Features of the pictures of b rows and of t texts, and which of them belong together.

    The texts are the captions of these rows (t = b), or all different ones of the data (``PairMethod.pairing``).
    """

    images: Float[Tensor, "b d"]
    texts: Float[Tensor, "t d"]
    positives: Bool[Tensor, "b t"]


@dataclass(frozen=True)
class PairFeatures:
    """Features of pictures and captions, each content and each wording once, and the rows of a table over them.

    ``images`` [pictures, d], ``texts`` [texts, d]: un-normalised, as the frozen backbone gives them.
    ``picture_of_row``, ``text_of_row`` [rows]: places among them. ``features_sha256``: the backbone's fingerprint.
    ``rows_sha256``: which captions stand beside which pictures.
    """

    images: Float[Tensor, "pictures d"]
    texts: Float[Tensor, "texts d"]
    picture_of_row: Int[np.ndarray, " rows"]
    text_of_row: Int[np.ndarray, " rows"]
    features_sha256: str
    rows_sha256: str

    def __len__(self) -> int:
        return len(self.text_of_row)


def pair_features(
    matcher: Matcher, data: CaptionedPictures, owners: Codes | None = None, cache: Path | None = None
) -> PairFeatures:
    """Encode every different picture and every different caption once, with the backbone as it is.

    owners: the picture of each caption as the training is to see it (``data.noise``); by default the data's own.
    cache: folder that keeps the features for the next run. Errors: features that are not finite, with the names of
    their pictures or captions.
    """
    seen = data.owners if owners is None else owners
    contents = data.contents()
    first = np.unique(contents, return_index=True)[1]
    texts = list(dict.fromkeys(data.captions))
    images = image_features(matcher, Subset(data.pictures, first.tolist()), cache).cpu()
    encoded = text_features(matcher, texts, cache).cpu()
    _require_finite("pictures", images, [data.pictures.name(int(i)) for i in first])
    _require_finite("captions", encoded, texts)
    rows = f"{data.fingerprint()} {noise_sha256(seen)}"
    return PairFeatures(
        images, encoded, contents[seen], codes(data.captions), matcher.fingerprint,
        hashlib.sha256(rows.encode()).hexdigest(),
    )  # fmt: skip


class FrozenPairs(Task[PairBatch]):
    """Rows of pictures and captions, by features that were computed once; the model of pair scores alone is trained.

    A batch holds b rows, with all b x b pairs of their pictures and captions, or with all captions of the data for each
    picture (``PairMethod.pairing``). A pair is right if the data says so in
    any row, also outside the batch: several captions of a picture, pictures of equal content and equal captions are
    never taken for wrong. What is drawn in step s depends on the seed and on s alone, so that a resumed run repeats it.

    data: of what the training may see; with noise, of the shuffled pairs alone. method, objective: what is trained and
    recorded. Errors: data without any wrong pair; pictures or captions whose features are all the same.
    """

    def __init__(self, data: PairFeatures, objective: PairObjective, method: PairMethod) -> None:
        self.name = method.method
        self._data, self._objective, self._method = data, objective, method
        self._known = KnownPairs(data.picture_of_row, data.text_of_row)
        self._known.require_wrong_pair()
        for what, features in (("pictures", data.images), ("captions", data.texts)):
            if torch.equal(features, features[:1].expand_as(features)):
                raise UserError(
                    got=f"{len(features)} different {what} with one and the same features",
                    expected="a model that tells them apart",
                    do="look at the model with litotes doctor",
                )
        device = next(objective.module.parameters()).device
        self._images, self._texts = data.images.to(device), data.texts.to(device)
        self._generator = torch.Generator(device=device)
        self.begin_step(0)

    @property
    def module(self) -> PairModel:
        """The model of pair scores, which is all that is trained."""
        return self._objective.module

    @property
    def scorer(self) -> PairModel:
        """The model of pair scores."""
        return self._objective.module

    def __len__(self) -> int:
        return len(self._data)

    def prepare(self, indices: Sequence[int]) -> PairBatch:
        """The features of some rows."""
        pictures = self._data.picture_of_row[list(indices)]
        texts = np.arange(len(self._texts))
        if self._method.pairing == "batch":
            texts = self._data.text_of_row[list(indices)]
        device = self._images.device
        return PairBatch(
            self._images[torch.as_tensor(pictures, device=device)],
            self._texts[torch.as_tensor(texts, device=device)],
            torch.from_numpy(self._known.between(pictures, texts)).to(device),
        )

    def terms(self, batch: PairBatch) -> Terms:
        """The loss, its parts, and the state of the distribution."""
        return self._objective.terms(batch.images, batch.texts, batch.positives, self._generator)

    def begin_step(self, step: int) -> None:
        """Put the source of what is drawn to where step ``step`` begins."""
        self._generator.manual_seed(step_seed(self._method.seed, step))

    def identity(self) -> dict[str, object]:
        """Features, rows, model and loss."""
        return {
            "features": self._data.features_sha256,
            "rows": self._data.rows_sha256,
            "kind": self._method.kind,
            "adapter": record(self._method.adapter),
            "objective": self._method.objective_record(),
        }

    def diagnose(self, batch_size: int, batches: int = 8) -> PairDiagnostics | None:
        """The state of the distribution on the first batches of a fixed order; None for a model without one."""

        def one(number: int, rows: list[int]) -> PairDiagnostics | None:
            batch = self.prepare(rows)
            self.begin_step(number)
            return self._objective.diagnose(batch.images, batch.texts, batch.positives, self._generator)

        return first_batches(len(self), self._method, batch_size, batches, one)


def _require_finite(what: str, features: Tensor, names: Sequence[str]) -> None:
    bad = [name for name, fine in zip(names, features.isfinite().all(dim=1).tolist(), strict=True) if not fine]
    if bad:
        raise UserError(
            got=f"features that are not finite, of {len(bad)} of {len(names)} {what}: {listed(bad, 5)}",
            expected="finite numbers",
            do="look at the model with litotes doctor, and at these inputs",
        )
