"""Negation training on quadruplets: HANCLIP, its controls, and the extended recipe."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from litotes.data.claims import truth
from litotes.data.quadruplets import Quadruplets
from litotes.data.statements import OptionSet
from litotes.errors import UserError
from litotes.models.features import image_features, is_frozen, text_features
from litotes.models.matcher import Matcher
from litotes.objectives.contrastive import info_nce, negative_info_nce, repeat_matrix
from litotes.objectives.hanclip import HanclipConfig, hanclip
from litotes.objectives.mirror import turning
from litotes.objectives.own_options import OwnOptionsConfig, own_options
from litotes.objectives.statements import statement_contrast
from litotes.train.task import Task, Terms

STATEMENTS = 4


@dataclass(frozen=True)
class NegationConfig:
    """Weights of the terms of a negation run; a term of weight 0 is not computed.

    hanclip: HCO + alpha ATNL (``objective`` holds their settings), 1 in the paper. options: each picture's own true
    statement against its three false ones, beyond the paper. contrast: the statements of a whole batch against all
    its pictures, by what the objects of each make true and false, beyond the paper too. mirror: the denials among
    these statements in the directions that the lesson before taught. retention: InfoNCE of pictures and their captions
    P, which keeps what the model knew; alone it is the control of plain fine-tuning. negatives: InfoNCE with N as
    further text negatives and without P', the control in the manner of CoN-CLIP. own: settings of ``options`` and
    ``contrast``.
    """

    hanclip: float = 1.0
    options: float = 0.0
    contrast: float = 0.0
    mirror: float = 0.0
    retention: float = 0.0
    negatives: float = 0.0
    objective: HanclipConfig = field(default_factory=HanclipConfig)
    own: OwnOptionsConfig = field(default_factory=OwnOptionsConfig)

    def needed(self) -> tuple[str, ...]:
        """Which texts of a quadruplet a batch has to encode, in order."""
        texts = []
        if self.hanclip or self.retention or self.negatives:
            texts.append("captions")
        if self.hanclip:
            texts.append("negated_positives")
        if self.hanclip or self.negatives:
            texts.append("negatives")
        if self.states:
            texts.append("options")
        return tuple(texts)

    @property
    def states(self) -> bool:
        """Whether pictures need statements of their own."""
        return bool(self.options or self.contrast or self.mirror)


@dataclass(frozen=True)
class _Batch:
    """Inputs of a step: rows of the data, pixels or None where pictures are cached, ids or None where texts are.

    claims: for the contrast of statements, which is true and which false of which picture, and the sort of each.
    denials: for mirrored names, which statements deny, and the directions of these.
    """

    rows: Tensor
    pixels: Tensor | None
    ids: Tensor | None
    repeats: Tensor
    claims: tuple[Tensor, Tensor, Tensor] | None
    denials: tuple[Tensor, Tensor] | None


class Negation(Task[_Batch]):
    """The losses of ``NegationConfig`` on quadruplets, for whatever part of the encoder is trainable.

    The features of a frozen tower are computed once, in eval mode, and kept (in ``cache``, a folder, where given).
    ``options``: one set of statements a picture, needed when their weight is not 0. ``targets``: their directions
    [n, 4, d], from the lesson before, needed when the mirror has a weight. ``trained``: what of the model is
    trained and how (the adapter's settings), for the check of a resumed run.
    """

    name = "negation"

    def __init__(
        self, matcher: Matcher, data: Quadruplets, config: NegationConfig, *,
        options: Sequence[OptionSet] | None = None, targets: Tensor | None = None, cache: Path | None = None,
        trained: str = "",
    ) -> None:  # fmt: skip
        if config.states and (options is None or len(options) != len(data)):
            raise UserError(
                got="no statements" if options is None else f"{len(options)} statement sets for {len(data)} pictures",
                expected="one set of own statements for each picture, since a term needs them",
                do="give a table with an objects column, or set the weights of options, contrast and mirror to 0",
            )
        if config.contrast and data.objects is None:
            raise UserError(
                got="no objects of the pictures",
                expected="the names of all things in each, which tell what statements of other pictures are true of it",
                do="give a table with an objects column, or set the weight of the contrast to 0",
            )
        if config.mirror and targets is None:
            raise UserError(
                got="no directions of the statements",
                expected="those of the lesson before, since their weight is not 0",
                do="give targets, or set the weight of the mirror to 0",
            )
        if not config.needed():
            raise UserError(got="every weight 0", expected="a term to train", do="set one weight above 0")
        self.matcher = matcher
        self.data = data
        self.config = _resolved(config, matcher)
        self.trained = trained
        self.options = options
        self.targets = targets
        self.texts = _texts(data, options, config.needed())
        pictures_frozen, texts_frozen = is_frozen(matcher, "vision"), is_frozen(matcher, "text")
        if pictures_frozen and texts_frozen:
            raise UserError(got="a frozen encoder", expected="trainable weights", do="mount an adapter first")
        self.images = image_features(matcher, data.pictures, cache) if pictures_frozen else None
        self.encoded = self._encode_all(cache) if texts_frozen else None

    @property
    def module(self) -> nn.Module:
        """The encoder."""
        return self.matcher.encoder

    def __len__(self) -> int:
        return len(self.data)

    def prepare(self, indices: Sequence[int]) -> _Batch:
        """Pixels and token ids of what is not cached."""
        rows = list(indices)
        pixels = None if self.images is not None else self.matcher.pixels(self.data.pictures, rows)
        ids = None
        if self.encoded is None:
            ids = self.matcher.tokenizer([text for column in self.texts for i in rows for text in column[i]])
        names = [self.data.pictures.name(i) for i in rows]
        repeats = repeat_matrix(names, [self.data.captions[i] for i in rows])
        return _Batch(torch.tensor(rows), pixels, ids, repeats, self._claims(rows), self._denials(rows))

    def terms(self, batch: _Batch) -> Terms:
        """The weighted sum and each of its parts."""
        image, text = self._features(batch)
        config, scale = self.config, self.matcher.encoder.scale
        terms: Terms = {}
        loss = image.new_zeros(())
        if config.hanclip:
            paper = hanclip(image, text["captions"], text["negated_positives"], text["negatives"], config.objective)
            terms |= {"hco": paper.hco, "atnl": paper.atnl}
            loss = loss + config.hanclip * paper.loss
        if config.options:
            terms["options"] = own_options(image, text["options"], config.own)
            loss = loss + config.options * terms["options"]
        if batch.claims:
            true, false, sorts = (table.to(image.device) for table in batch.claims)
            parts = statement_contrast(image, text["options"].flatten(0, 1), true, false, sorts, config.own)
            terms |= {"by_picture": parts.pictures, "by_statement": parts.statements}
            loss = loss + config.contrast * parts.loss
        if batch.denials is not None:
            denied, directions = batch.denials
            terms["mirror"] = turning(text["options"][denied], directions.to(image.device))
            loss = loss + config.mirror * terms["mirror"]
        if config.retention:
            terms["retention"] = info_nce(image, text["captions"], scale, positives=batch.repeats, repeats="masked")
            loss = loss + config.retention * terms["retention"]
        if config.negatives:
            terms["negatives"] = negative_info_nce(
                image, text["captions"], text["negatives"], scale, positives=batch.repeats, repeats="masked"
            )
            loss = loss + config.negatives * terms["negatives"]
        return {"loss": loss, **terms}

    def identity(self) -> dict[str, object]:
        """Base, what is trained of it, data, texts and objective."""
        return {
            "base": self.matcher.base,
            "scale": self.matcher.scale,
            "trained": self.trained,
            "data": self.data.fingerprint(),
            "texts": hashlib.sha256(json.dumps(self.texts).encode()).hexdigest(),
            "objective": asdict(self.config),
        }

    def _claims(self, rows: list[int]) -> tuple[Tensor, Tensor, Tensor] | None:
        if not self.config.contrast or self.options is None or self.data.objects is None:
            return None
        claims = [claim for i in rows for claim in self.options[i].claims]
        tables = truth(claims, [self.data.objects[i] for i in rows])
        sorts = torch.tensor([claim.sort for claim in claims])
        return torch.from_numpy(tables.true), torch.from_numpy(tables.false), sorts

    def _denials(self, rows: list[int]) -> tuple[Tensor, Tensor] | None:
        if not self.config.mirror or self.options is None or self.targets is None:
            return None
        denied = torch.tensor([[bool(claim.denied) for claim in self.options[i].claims] for i in rows])
        return denied, self.targets[rows][denied]

    def _features(self, batch: _Batch) -> tuple[Float[Tensor, "b d"], dict[str, Tensor]]:
        encoder, needed = self.matcher.encoder, self.config.needed()
        count = len(batch.rows)
        if batch.pixels is not None:
            image = encoder.image_features(batch.pixels.to(encoder.device)).float()
        elif self.images is not None:
            image = self.images[batch.rows].to(encoder.device)
        if self.encoded is not None:
            flat = [column[batch.rows].to(encoder.device) for column in self.encoded]
        elif batch.ids is not None:
            sizes = [count * (STATEMENTS if name == "options" else 1) for name in needed]
            rows = encoder.grouped_text_features(batch.ids.to(encoder.device)).float().split(sizes)
            flat = [
                part.view(count, STATEMENTS, -1) if name == "options" else part
                for name, part in zip(needed, rows, strict=True)
            ]
        return image, dict(zip(needed, flat, strict=True))

    def _encode_all(self, cache: Path | None) -> list[Tensor]:
        columns = []
        for name, column in zip(self.config.needed(), self.texts, strict=True):
            flat = text_features(self.matcher, [text for texts in column for text in texts], cache)
            columns.append(flat.view(len(column), STATEMENTS, -1) if name == "options" else flat)
        return columns


def _texts(
    data: Quadruplets, options: Sequence[OptionSet] | None, needed: tuple[str, ...]
) -> list[list[tuple[str, ...]]]:
    """One column for each kind of text that is needed: the texts of each picture, the true statement first."""
    columns: dict[str, list[tuple[str, ...]]] = {
        name: [(text,) for text in getattr(data, name)] for name in ("captions", "negated_positives", "negatives")
    }
    columns["options"] = [(own.true, *own.false) for own in options or ()]
    return [columns[name] for name in needed]


def _resolved(config: NegationConfig, matcher: Matcher) -> NegationConfig:
    """The configuration with ``temperature = "model"`` replaced by the number it means for this backbone."""
    temperature = 1 / matcher.scale
    objective = config.objective.with_model_temperature(temperature)
    return replace(config, objective=objective, own=config.own.with_model_temperature(temperature))
