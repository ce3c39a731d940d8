"""What a model is, whether it answers as a model must, and what is odd about it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from litotes.backbones.openai import KEPT_POSITIONS
from litotes.backbones.preprocess import CLIP_MEAN, CLIP_STD
from litotes.data.images import ArrayPictures
from litotes.models.clip import LEGACY_EOS
from litotes.models.matcher import Matcher
from litotes.models.state_dict_file import CLIP_VOCABULARY, HEAD_WIDTH, LARGEST_SCALE

LONG_CONTEXT, STRETCH = 248, 4
QUICK_FAMILIES = ("openai", "longclip", "smartclip")
OPENAI_SIZES = {
    (768, 12, 32, 512, 12, 512): "ViT-B/32",
    (768, 12, 16, 512, 12, 512): "ViT-B/16",
    (1024, 24, 14, 768, 12, 768): "ViT-L/14",
}
"""Width, layers and patch of pictures; width and layers of texts; length of an embedding."""

SAME = 1e-5
"""Largest difference of two embeddings of one input, as a share of their length."""
STRAIGHT, RELATED = 1e-3, 0.5

TEXTS = (
    "a red circle on a white background",
    "a blue square on a white background",
    "a white background and no circle",
    "a photo of a cat that sleeps on an old wooden chair beside a window, with a garden and two trees behind it",
)
"""Texts of the check, the last longer than 20 tokens."""


@dataclass(frozen=True)
class Tower:
    """Sizes of the transformer of pictures or of texts."""

    width: int
    layers: int
    heads: int


@dataclass(frozen=True)
class Facts:
    """What of a model decides whether it is odd.

    ``family``: as ``litotes convert`` recorded it, None where nobody did. ``eos``: end token of the configuration.
    ``straightness``, ``relatedness``: see ``straightness`` and ``relatedness``; None for a context other than 248.
    """

    family: str | None
    vision: Tower
    text: Tower
    image_size: int
    patch: int
    context: int
    vocabulary: int
    tokens: int
    embedding: int
    activation: str
    eos: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    log_scale: float
    straightness: float | None
    relatedness: float | None

    @property
    def size_name(self) -> str | None:
        """OpenAI's model with just these sizes, heads and vocabulary, if there is one."""
        sizes = (self.vision.width, self.vision.layers, self.patch, self.text.width, self.text.layers, self.embedding)
        usual = all(tower.heads * HEAD_WIDTH == tower.width for tower in (self.vision, self.text))
        return OPENAI_SIZES.get(sizes) if usual and self.vocabulary == CLIP_VOCABULARY else None


class Check(NamedTuple):
    """One thing that must hold: what, whether it does, and the number that says so."""

    what: str
    passed: bool
    found: str


class Answers(NamedTuple):
    """Outcome of the checks, and the cosines of the drawn pictures (rows) with the texts (columns)."""

    checks: list[Check]
    cosines: Float[Tensor, "pictures texts"]


def facts_of(matcher: Matcher, family: str | None = None) -> Facts:
    """The facts of a loaded model."""
    encoder, config = matcher.encoder, matcher.encoder.clip.config
    table = encoder.base_state()["text_model.embeddings.position_embedding.weight"]
    long = len(table) == LONG_CONTEXT
    return Facts(
        family=family,
        vision=_tower(config.vision_config),
        text=_tower(config.text_config),
        image_size=encoder.image_size,
        patch=int(config.vision_config.patch_size),
        context=encoder.context_length,
        vocabulary=int(config.text_config.vocab_size),
        tokens=matcher.tokenizer.vocabulary_size,
        embedding=matcher.dimension,
        activation=encoder.activation,
        eos=int(config.text_config.eos_token_id),
        mean=matcher.preprocess.mean,
        std=matcher.preprocess.std,
        log_scale=float(encoder.clip.logit_scale.detach()),
        straightness=straightness(table) if long else None,
        relatedness=relatedness(table) if long else None,
    )


def straightness(table: Float[Tensor, "positions width"]) -> float:
    """How far the rows from 20 on are from straight lines between every fourth of them, as a share of their size.

    r[20 + 4k + m] against (1 - m/4) r[20 + 4k] + (m/4) r[24 + 4k], m = 1, 2, 3: root mean square of the difference over
    that of the rows; 0 for a table as LongCLIP's stretch from 77 positions makes it, up to its rounding (float16: below
    1e-3). Rows after the last whole quarter are left out.
    """
    rows = table[KEPT_POSITIONS:].detach().double()
    knots = rows[::STRETCH]
    share = torch.arange(1, STRETCH, dtype=rows.dtype, device=rows.device).view(1, -1, 1) / STRETCH
    lines = (1 - share) * knots[:-1, None] + share * knots[1:, None]
    between = rows[: (len(knots) - 1) * STRETCH].unflatten(0, (-1, STRETCH))[:, 1:]
    size = between.square().mean().sqrt()
    return float((between - lines).square().mean().sqrt() / size) if size > 0 else 0.0


def relatedness(table: Float[Tensor, "positions width"]) -> float:
    """Mean cosine of neighbouring rows from 20 on.

    Rows drawn at random have about 0. A stretch by four, of whatever rows that are not opposed, has above 0.9: even
    between two rows at right angles the four steps have 0.95, 0.89, 0.89 and 0.95.
    """
    rows = torch.nn.functional.normalize(table[KEPT_POSITIONS:].detach().double(), dim=-1)
    return float((rows[1:] * rows[:-1]).sum(dim=-1).mean())


def oddities(facts: Facts) -> list[str]:
    """What a person should look at, in whole sentences that say no more than the numbers show."""
    return [sentence for rule in _RULES for sentence in rule(facts)]


def drawn_pictures() -> ArrayPictures:
    """A red circle and a blue square on white, 320 x 240."""
    pixels = np.full((2, 240, 320, 3), 255, dtype=np.uint8)
    y, x = np.mgrid[:240, :320]
    pixels[0][(x - 160) ** 2 + (y - 120) ** 2 < 70**2] = (210, 30, 30)
    pixels[1][(abs(x - 160) < 65) & (abs(y - 120) < 65)] = (30, 60, 210)
    return ArrayPictures(pixels, ["red circle", "blue square"])


def ask(matcher: Matcher) -> Answers:
    """Encode the drawn pictures and the texts, together, again, and one by one.

    Checked: every number is finite and no embedding is 0; a second time gives the same, and so does encoding alone (to
    1e-5 of the length); different inputs give different embeddings, which a lost end token for instance prevents.
    """
    pictures, texts = drawn_pictures(), list(TEXTS)
    images, words = matcher.encode_images(pictures), matcher.encode_texts(texts)
    both = {"pictures": images, "texts": words}
    again = {"pictures": matcher.encode_images(pictures), "texts": matcher.encode_texts(texts)}
    alone = {
        "pictures": torch.cat([matcher.encode_images(pictures, [i]) for i in range(len(pictures))]),
        "texts": torch.cat([matcher.encode_texts([text]) for text in texts]),
    }
    checks = []
    for kind, rows in both.items():
        sound = bool(torch.isfinite(rows).all() and (rows.norm(dim=-1) > 0).all())
        checks.append(Check(f"{kind} have finite embeddings", sound, _lengths(rows)))
        for what, other in ((f"{kind} a second time are the same", again), (f"{kind} alone are the same", alone)):
            off = _difference(rows, other[kind])
            checks.append(Check(what, off <= SAME, f"difference {off:.1e}"))
        near = _nearest(rows)
        checks.append(Check(f"different {kind} differ", near < 1 - SAME, f"largest cosine {near:.4f}"))
    unit = torch.nn.functional.normalize
    return Answers(checks, unit(images, dim=-1) @ unit(words, dim=-1).T)


def _lengths(rows: Tensor) -> str:
    lengths = rows.norm(dim=-1)
    return f"lengths {lengths.min():.3g} to {lengths.max():.3g}"


def _difference(rows: Tensor, others: Tensor) -> float:
    return float(((rows - others).norm(dim=-1) / rows.norm(dim=-1)).max())


def _nearest(rows: Tensor) -> float:
    unit = torch.nn.functional.normalize(rows.double(), dim=-1)
    return float((unit @ unit.T - 2 * torch.eye(len(rows), dtype=unit.dtype, device=unit.device)).max())


def _tower(config: Any) -> Tower:  # noqa: ANN401 (transformers' own class, whose types are not followed)
    return Tower(config.hidden_size, config.num_hidden_layers, config.num_attention_heads)


def _activation(facts: Facts) -> list[str]:
    if facts.activation == "quick_gelu":
        return []
    if facts.family in QUICK_FAMILIES:
        return [f"activation {facts.activation}, but the weights are from a file of family {facts.family}: quick_gelu."]
    if facts.context == LONG_CONTEXT:
        return [
            f"activation {facts.activation} with 248 positions: LongCLIP, SmartCLIP and HiMo-CLIP have quick_gelu. "
            "Nothing in the weights tells; compare figures under both."
        ]
    if facts.size_name:
        return [
            f"activation {facts.activation} with the sizes and heads of OpenAI's {facts.size_name}: right for models "
            "that were trained so, as some of open_clip's; wrong for weights that descend from OpenAI's (quick_gelu). "
            "Nothing in the weights tells; compare figures under both."
        ]
    return []


def _positions(facts: Facts) -> list[str]:
    if facts.straightness is None or facts.relatedness is None:
        return []
    if facts.straightness < STRAIGHT:
        return [
            "positions 20 to 247 lie on straight lines between every fourth of them (off by "
            f"{facts.straightness:.1e} of their size), as a stretch from 77 positions leaves them before any training, "
            "and as the unused rows of a LongCLIP may be when positional_embedding_res was dropped in a conversion. "
            "Texts above 20 tokens cannot be trusted; if this was a LongCLIP, convert its own file (litotes convert)."
        ]
    if facts.relatedness < RELATED:
        return [
            f"neighbours among positions 20 to 247 are hardly alike (mean cosine {facts.relatedness:.2f}; a table "
            "stretched from 77 has above 0.9): they may never have been stretched or trained, as when a loader filled "
            "up a shorter table at random."
        ]
    return []


def _end_token(facts: Facts) -> list[str]:
    if facts.eos != LEGACY_EOS:
        return []
    return [
        "eos_token_id 2 in config.json, an old configuration: texts are pooled at their largest id. That is the end "
        f"token here ({facts.tokens - 1}), and would not be with tokens added after it."
    ]


def _pictures(facts: Facts) -> list[str]:
    found = (facts.mean, facts.std)
    usual = (CLIP_MEAN, CLIP_STD)
    if np.allclose(found, usual, atol=1e-6):
        return []
    return [f"pictures are normalised by mean {facts.mean} and std {facts.std}, which are not CLIP's."]


def _others(facts: Facts) -> list[str]:
    said = []
    if facts.tokens < facts.vocabulary:
        said.append(f"the vocabulary has {facts.tokens} tokens, the model {facts.vocabulary}: some are never used.")
    if facts.log_scale > LARGEST_SCALE:
        said.append(f"the logit scale is exp({facts.log_scale:.2f}), above CLIP's limit of 100.")
    return said


_RULES: tuple[Callable[[Facts], list[str]], ...] = (_activation, _positions, _end_token, _pictures, _others)
