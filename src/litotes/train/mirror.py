"""The lesson before the extended recipe: denied names are mirrored, by texts alone."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from litotes.data.claims import Claim, many_hot
from litotes.data.statements import OptionSet
from litotes.data.wordings import with_article
from litotes.errors import UserError
from litotes.models.features import is_frozen, text_features
from litotes.models.matcher import Matcher
from litotes.objectives.mirror import MirrorConfig, mirror_targets, turning
from litotes.train.task import Task, Terms

NAME_FRAME = "a photo of {}"


def statement_targets(
    matcher: Matcher, options: Sequence[OptionSet], config: MirrorConfig, cache: Path | None = None
) -> Float[Tensor, "n k d"]:
    """Directions of the statements of each picture, the true one first, from names as ``matcher`` embeds them now."""
    claims = [claim for own in options for claim in own.claims]
    names = sorted({name for claim in claims for part in claim for name in part})
    embedded = text_features(matcher, [NAME_FRAME.format(with_article(name)) for name in names], cache).float()
    affirmed, denied = (
        torch.from_numpy(many_hot([getattr(claim, part) for claim in claims], names)) for part in Claim._fields
    )
    return mirror_targets(embedded, affirmed, denied, config).view(len(options), -1, embedded.shape[1])


@dataclass(frozen=True)
class _Batch:
    """Token ids of statements, then captions; the directions that they should have."""

    ids: Tensor
    targets: Tensor
    statements: int


class Mirror(Task[_Batch]):
    """Statements to the directions that ``mirror_targets`` gives them, captions to where the base has them.

    Needs no picture. An example is a row of the data: the four statements of its picture and its caption. The base's
    embeddings of captions and names ("a photo of a cat") are computed once, before the first step. ``trained``: as for
    ``Negation``.
    """

    name = "mirror"

    def __init__(
        self, matcher: Matcher, captions: Sequence[str], options: Sequence[OptionSet], config: MirrorConfig, *,
        cache: Path | None = None, trained: str = "",
    ) -> None:  # fmt: skip
        if len(options) != len(captions):
            raise UserError(
                got=f"{len(options)} statement sets for {len(captions)} captions",
                expected="one set for each caption",
                do="make the statements from the same table",
            )
        if is_frozen(matcher, "text"):
            raise UserError(
                got="a frozen text tower",
                expected="one that is trained, since denied names are mirrored by texts alone",
                do="adapt the text tower too, or leave out this lesson (--mirror-steps 0)",
            )
        self.matcher, self.config, self.trained = matcher, config, trained
        self.captions, self.options = captions, options
        self.targets = statement_targets(matcher, options, config, cache)
        self.kept = normalize(text_features(matcher, captions, cache).float(), dim=-1)

    @property
    def module(self) -> nn.Module:
        """The encoder."""
        return self.matcher.encoder

    def __len__(self) -> int:
        return len(self.captions)

    def prepare(self, indices: Sequence[int]) -> _Batch:
        """Ids and directions of the statements and captions of some rows."""
        rows = list(indices)
        statements = [text for i in rows for text in (self.options[i].true, *self.options[i].false)]
        ids = self.matcher.tokenizer([*statements, *(self.captions[i] for i in rows)])
        return _Batch(ids, torch.cat([self.targets[rows].flatten(0, 1), self.kept[rows]]), len(statements))

    def terms(self, batch: _Batch) -> Terms:
        """The mirrored statements and the kept captions."""
        encoder = self.matcher.encoder
        texts = encoder.grouped_text_features(batch.ids.to(encoder.device)).float()
        targets = batch.targets.to(texts.device)
        mirror = turning(texts[: batch.statements], targets[: batch.statements])
        keep = turning(texts[batch.statements :], targets[batch.statements :])
        return {"loss": mirror + self.config.keep * keep, "mirror": mirror, "keep": keep}

    def identity(self) -> dict[str, object]:
        """Base, what is trained of it, texts and settings."""
        texts = [(own.true, *own.false, caption) for own, caption in zip(self.options, self.captions, strict=True)]
        return {
            "base": self.matcher.base,
            "trained": self.trained,
            "texts": hashlib.sha256(json.dumps(texts).encode()).hexdigest(),
            "objective": asdict(self.config),
        }
