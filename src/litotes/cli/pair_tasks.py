"""What ``litotes train vacsr`` trains: a scorer on the features of a frozen model, or the backbone with it."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.cli.pair_data import PairData
from litotes.cli.pair_settings import augmentation_of, rates_of
from litotes.cli.train_vacsr import Settings
from litotes.data.noise import wrong_pairs
from litotes.data.pairs import CaptionedPictures
from litotes.evaluate.features import Progress, Remembering
from litotes.metrics.selective import auroc
from litotes.models.matcher import Matcher
from litotes.models.pair_adapter import PairModel
from litotes.models.pair_backbone_file import Origin
from litotes.models.pair_scores import PairScorer
from litotes.train.backbone_pairs import BackbonePairs, make_blocks_trainable, make_trainable
from litotes.train.pair_objectives import PairMethod, PairObjective
from litotes.train.pairs import FrozenPairs, PairFeatures, pair_features


class Work(NamedTuple):
    """What is trained, and the model as it is after it.

    task: for the loop. origin: what the backbone was trained from; None of a frozen one. untrained: features of the
    training part before any training; None where nobody asks for them. again: the model with what it has encoded, to be
    asked for when the training is done; a trained one begins anew, and tells how far it is. held: features of the
    held-out part, by the backbone as it then is.
    """

    task: FrozenPairs | BackbonePairs
    origin: Origin | None
    untrained: PairFeatures | None
    again: Callable[[Progress], Remembering]
    held: Callable[[], tuple[Float[Tensor, "n d"], Float[Tensor, "m d"]]]


def work_of(
    matcher: Matcher, memory: Remembering, data: PairData, objective: PairObjective, method: PairMethod,
    settings: Settings,
) -> Work:  # fmt: skip
    """The training that the settings ask for; of a backbone that is trained, ``matcher`` is made ready for it.

    memory: the untrained model, with what it has encoded so far. Errors: those of the tasks.
    """
    if settings.backbone == "frozen":
        features = pair_features(matcher, data.training, data.seen, settings.cache)
        held = _encoded(memory, data.held)
        return Work(FrozenPairs(features, objective, method), None, features, lambda _: memory, lambda: held)
    untrained = pair_features(matcher, data.training, data.seen) if data.noise else None
    if settings.full:
        origin = make_trainable(matcher, settings.dimension, preparation=settings.preparation, seed=settings.seed)
    else:
        origin = make_blocks_trainable(matcher, settings.vision_blocks, settings.text_blocks)
    task = BackbonePairs(
        matcher, data.training, objective, method, owners=data.seen, rates=rates_of(settings),
        augmentation=augmentation_of(settings),
    )  # fmt: skip
    return Work(task, origin, untrained, partial(Remembering, matcher), lambda: _encoded(matcher, data.held))


def wrong_pair_auroc(
    model: PairModel, features: PairFeatures, data: PairData, untrained: PairFeatures | None = None
) -> dict[str, float | None]:
    """How often a wrong pair of the training part is less sure than a right one, by each way to say how unsure.

    Also by ``one_minus_cosine`` of the features without any training: ``untrained``, by default ``features`` (of a
    frozen backbone they are the same). None where no pair is wrong, or all are. The mask of wrong pairs is made here,
    after the training.
    """
    wrong = torch.from_numpy(wrong_pairs(data.training.owners, data.seen))
    found = {name: auroc(doubt, wrong) for name, doubt in PairScorer(model).doubts(*_rows(features)).items()}
    images, texts = _rows(untrained or features)
    cosine = torch.nn.functional.cosine_similarity(images.double(), texts.double())
    return {**found, "one_minus_cosine": auroc(1 - cosine, wrong)}


def _rows(features: PairFeatures) -> tuple[Tensor, Tensor]:
    return features.images[features.picture_of_row], features.texts[features.text_of_row]


def _encoded(encoder: Matcher | Remembering, held: CaptionedPictures) -> tuple[Tensor, Tensor]:
    return encoder.encode_images(held.pictures), encoder.encode_texts(held.captions)
