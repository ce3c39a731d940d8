"""Retrieval on COCO's test set of Karpathy by all its judges: 5K, 1K in five folds with RSUM, CxC, ECCV Caption."""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from litotes.data.coco import CocoCaptions, read_coco_captions
from litotes.data.images import ImageFiles, Pictures
from litotes.data.judgements import CocoJudgements, read_coco_judgements
from litotes.data.screening import Screening
from litotes.errors import UserError
from litotes.evaluate.answers import Answer
from litotes.evaluate.config import USUAL_KS, EvaluateConfig
from litotes.evaluate.counts import by_counts
from litotes.evaluate.doubts import KS, of_both_lists, of_first, similarities, state_of
from litotes.evaluate.features import Encoder
from litotes.evaluate.judged import WAYS, Singles, judge_features, numbered, require_all, require_folds
from litotes.evaluate.shortlisted import of_shortlist
from litotes.evaluate.suite import Identity, Result, Suite, base_name, sha256_of_rows
from litotes.evaluate.watched import Watched, Watching
from litotes.metrics.graded import UNFOUND
from litotes.models.pair_scores import PairScorer
from litotes.models.pair_stream import streamed

_TEST_SET = {"pictures": 5_000, "captions": 25_000}


@final
@dataclass(frozen=True)
class JudgedRetrieval(Suite):
    """Find captions and pictures among all of COCO's test set, judged by COCO itself, CxC and ECCV Caption.

    ``pictures`` and ``image_ids`` [images]; ``captions`` and ``caption_ids`` [texts]: in any order, all that
    ``judgements`` name and no other. Score: the encoder's own, or the logit of ``scorer`` where one is given; ties
    stand against the model. ``run`` gives the keys of
    ``judge_features``: ``coco_5k``, ``coco_1k`` (the mean of five folds), ``rsum`` of the latter in percent, ``cxc``
    and ``eccv``, ``ties`` of the 5K searches, by direction; ``file`` and ``notes``, what must be known of the input;
    and ``answers``, a query each: asked with its ``fold``, given ``rank`` (COCO 5K), ``rank_1k``, and where its judges
    know it ``rank_cxc``, ``rank_eccv``, ``map_at_r`` and ``r_precision``. A rank is that of the best right item, None
    where none is there.

    With a ``scorer`` there is also ``doubt``, what its uncertainty knows, by the same pass over the scores: ``ways`` of
    the searches of COCO 5K, ``firsts`` against the AP@R of ECCV Caption's queries, ``similarities`` of COCO's own pairs
    and of the others, ``diagnostics``; keys as of ``SelectiveRetrieval``.

    Errors: ids that are not those of the judgements, a K above a fold.
    """

    name: str
    pictures: Pictures
    image_ids: Sequence[int]
    captions: Sequence[str]
    caption_ids: Sequence[int]
    judgements: CocoJudgements
    ks: Sequence[int] = USUAL_KS
    notes: Sequence[str] = ()
    scorer: PairScorer | None = None
    task = "judged_retrieval"

    def __post_init__(self) -> None:
        require_all("image", self.image_ids, self.judgements.image_ids, len(self.pictures))
        require_all("caption", self.caption_ids, self.judgements.caption_ids, len(self.captions))
        require_folds(self.judgements, self.ks)

    def identity(self) -> Identity:
        """Rows of picture, image id, caption id and caption in the judgements' order."""
        image = {i: number for number, i in enumerate(self.image_ids)}
        caption = {c: number for number, c in enumerate(self.caption_ids)}
        owner = self.judgements.original.t2i
        rows = (
            (base_name(self.pictures, image[owner[c][0]]), owner[c][0], c, self.captions[caption[c]])
            for c in self.judgements.caption_ids
        )
        return Identity(self.pictures, len(self.captions), sha256_of_rows(rows))

    def run(self, encoder: Encoder) -> Result:
        """Every judge's measure; see the class."""
        images, texts = encoder.encode_images(self.pictures), encoder.encode_texts(self.captions)
        singles: Singles = {way: {} for way in WAYS}
        judge = partial(
            judge_features, images, texts, self.image_ids, self.caption_ids, self.judgements, self.ks, singles=singles
        )
        told: list[str] = []
        if self.scorer is None:
            found: Result = {**judge(encoder.similarity)}
        else:
            owners = self._owners()
            watched = Watched(torch.from_numpy(owners), len(images), max(KS))
            stream = streamed(self.scorer)
            found = {**judge(Watching(stream, watched))}
            found["doubt"] = self._doubt(self.scorer, images, texts, owners, watched, singles)
            found |= of_shortlist(stream)
            told = [*found.pop("notes", []), *found["doubt"].pop("notes", [])]
        source = by_counts("COCO, Karpathy's test set", _TEST_SET, self._counts())
        notes = [*self.notes, *source.notes, *told]
        return {**found, "file": source.file, "notes": notes, "answers": self._answers(singles)}

    def _owners(self) -> np.ndarray:
        """The place of each caption's own image, both in the judgements' order."""
        own = [self.judgements.original.t2i[caption][0] for caption in self.judgements.caption_ids]
        return numbered(self.judgements.image_ids).of(own)

    def _doubt(
        self, scorer: PairScorer, images: Tensor, texts: Tensor, owners: np.ndarray, watched: Watched, singles: Singles
    ) -> Result:
        """What the uncertainty knows of the searches; see the class."""
        ids = {"i2t": self.judgements.image_ids, "t2i": self.judgements.caption_ids}
        images = images[numbered(self.image_ids).of(ids["i2t"])]
        texts = texts[numbered(self.caption_ids).of(ids["t2i"])]
        firsts = watched.firsts()
        doubts = {
            "i2t": scorer.doubts(images, texts[firsts.i2t[:, 0]]),
            "t2i": scorer.doubts(images[firsts.t2i[:, 0]], texts),
        }
        picture = {"i2t": np.arange(len(images)), "t2i": owners}
        ways, asked = {}, {}
        for way, found in singles.items():
            wrong = torch.tensor([found[one]["original"] > 1 for one in ids[way]])
            ways[way] = of_first(doubts[way], wrong, picture[way])
            judged = [(at, found[one]["map_at_r"]) for at, one in enumerate(ids[way]) if "map_at_r" in found[one]]
            places, precision = zip(*judged, strict=True)
            asked[way] = torch.tensor(places), torch.tensor(precision, dtype=torch.float64)
        return {
            "ways": ways,
            "firsts": of_both_lists(scorer, images, texts, firsts, asked),
            **({"similarities": similarities(watched)} if scorer.shortlist is None else {}),
            **state_of(scorer, images, texts, owners.tolist()),
        }

    def _counts(self) -> dict[str, int]:
        return {"pictures": len(self.pictures), "captions": len(self.captions)}

    def _answers(self, singles: Singles) -> list[Answer]:
        """Of each picture, then of each caption, what was found for it; ranks that there are not are left out."""
        owner = self.judgements.original.t2i
        fold_of_image, fold_of_caption = self.judgements.fold_of_image, self.judgements.fold_of_caption
        place = {image: item for item, image in enumerate(self.image_ids)}
        said = []
        for item, image in enumerate(self.image_ids):
            asked: dict[str, Any] = {"way": "i2t", "item": item, "picture": self.pictures.name(item), "id": image}
            asked["fold"] = fold_of_image[image]
            said.append(_answer(asked, singles["i2t"][image]))
        for item, (caption, text) in enumerate(zip(self.caption_ids, self.captions, strict=True)):
            picture = self.pictures.name(place[owner[caption][0]])
            asked = {"way": "t2i", "item": item, "picture": picture, "id": caption, "texts": [text]}
            asked["fold"] = fold_of_caption[caption]
            said.append(_answer(asked, singles["t2i"][caption]))
        return said


_GIVEN = {
    "original": "rank",
    "fold": "rank_1k",
    "cxc": "rank_cxc",
    "eccv": "rank_eccv",
    "map_at_r": "map_at_r",
    "r_precision": "r_precision",
}


def _answer(asked: dict[str, Any], found: Mapping[str, Any]) -> Answer:
    given = {name: None if found[key] == UNFOUND else found[key] for key, name in _GIVEN.items() if key in found}
    return Answer(asked, given)


def coco_suite(path: Path, config: EvaluateConfig, screening: Screening) -> JudgedRetrieval:
    """COCO's judges from captions with ids (``data.coco``) and a folder of judgements (``data.judgements``).

    Captions beyond the judged ones (the sixth and seventh of some pictures) are left out and noted. No picture may be
    missing or broken: every fold, gallery and judgement is of the whole set.
    """
    judgements = read_coco_judgements(config.coco_judgements or installed_judgements())
    read = read_coco_captions(path)
    judged = set(judgements.caption_ids)
    kept = [j for j, caption in enumerate(read.caption_ids) if caption in judged]
    root = config.images_root or path.absolute().parent
    pictures = ImageFiles(read.image_paths, root, config.strip_prefix, table=path)
    _require_pairs(path, read, judgements, kept)
    left = screening.select("coco", pictures, [read.image_of_caption[j] for j in kept])
    if len(left.pictures) < len(pictures):
        raise UserError(
            got=f"{path}: {len(pictures) - len(left.pictures)} of {len(pictures)} pictures are missing or broken",
            expected="all pictures of the test set: folds, galleries and judgements are of the whole",
            do="bring the pictures, or leave out --coco",
        )
    more = len(read.captions) - len(kept)
    return JudgedRetrieval(
        name="coco",
        pictures=pictures,
        image_ids=read.image_ids,
        captions=[read.captions[j] for j in kept],
        caption_ids=[read.caption_ids[j] for j in kept],
        judgements=judgements,
        ks=config.ks or USUAL_KS,
        notes=[f"captions that nobody judged, left out: {more}"] if more else [],
    )


def installed_judgements() -> Path:
    """The data of the installed package eccv_caption, which is not imported. Errors: it is not installed."""
    found = importlib.util.find_spec("eccv_caption")
    if found is None or found.origin is None:
        raise UserError(
            got="--coco without --coco-judgements, and no package eccv_caption",
            expected="the judgements of COCO, CxC and ECCV Caption, which are that package's data",
            do="pip install 'litotes[coco]', or give --coco-judgements FOLDER (eccv_caption/data of the wheel)",
        )
    return Path(found.origin).parent / "data"


def _require_pairs(path: Path, read: CocoCaptions, judgements: CocoJudgements, kept: Sequence[int]) -> None:
    """Refuse a judged caption that the file gives to another image than COCO does."""
    for j in kept:
        caption, image = read.caption_ids[j], read.image_ids[read.image_of_caption[j]]
        if judgements.original.t2i[caption] != (image,):
            raise UserError(
                got=f"{path}: caption {caption} with image {image}",
                expected=f"image {judgements.original.t2i[caption][0]}, as COCO has it",
                do="check the ids",
            )
