"""SmartCLIP's mask network, and a model whose pictures are masked by it for each text."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from litotes.backbones.families import MASK
from litotes.backbones.fit import require_fit
from litotes.backbones.layout import mask_layout
from litotes.data.images import Pictures
from litotes.errors import UserError
from litotes.metrics.similarity import MASKED_COSINE
from litotes.models.clip import add_tensors
from litotes.models.matcher import Indices, Matcher, eval_mode
from litotes.models.state_dict_file import MASK_ASIDE

_NORM_EPSILON = 1e-5
_SLOPE = 1.702
"""Of quick-GELU, SmartCLIP's activation also in this block."""


def mask_logits(tokens: Float[Tensor, "n length w"], weights: Mapping[str, Tensor], heads: int) -> Float[Tensor, "n w"]:
    """Which dimensions of a picture a text is about, before sigmoid and threshold.

    x = tokens + attention(norm(tokens));  y = x + mlp(norm(x));  a = softmax over positions of (y w_a + b_a);
    logits = sum over positions of a * y

    ``tokens`` [n, length, w]: what the text tower gives for every position behind its final norm, the padding
    included. Attention sees all positions both ways, so that the padding counts: SmartCLIP's texts have 248 positions,
    filled with id 0. ``weights``: the 14 tensors by SmartCLIP's own names. ``heads``: those of the text tower.

    Source: SmartCLIP (mask network of its code; quick-GELU, norms with epsilon 1e-5).
    """

    def linear(x: Tensor, name: str) -> Tensor:
        return functional.linear(x, weights[f"{MASK}{name}.weight"], weights[f"{MASK}{name}.bias"])

    def norm(x: Tensor, name: str) -> Tensor:
        scale, shift = weights[f"{MASK}{name}.weight"], weights[f"{MASK}{name}.bias"]
        return functional.layer_norm(x, scale.shape, scale, shift, _NORM_EPSILON)

    block = "resblocks.0"
    inner = functional.linear(
        norm(tokens, f"{block}.ln_1"),
        weights[f"{MASK}{block}.attn.in_proj_weight"],
        weights[f"{MASK}{block}.attn.in_proj_bias"],
    )
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in inner.chunk(3, dim=-1))
    attended = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    x = tokens + linear(attended, f"{block}.attn.out_proj")
    hidden = linear(norm(x, f"{block}.ln_2"), f"{block}.mlp.c_fc")
    y = x + linear(hidden * torch.sigmoid(_SLOPE * hidden), f"{block}.mlp.c_proj")
    return (linear(y, "attn_pool.attention").softmax(dim=1) * y).sum(dim=1)


def hard_mask(logits: Float[Tensor, "n w"]) -> Float[Tensor, "n w"]:
    """1 where sigmoid(logit) is at least 0.5, else 0, as SmartCLIP decides it."""
    return (torch.sigmoid(logits) >= 0.5).to(logits.dtype)


class MaskedMatcher:
    """A SmartCLIP that compares each picture with a text by the dimensions that the text's mask keeps.

    Pictures are encoded as by ``matcher``. A text's row is its un-normalised embedding, then its mask of 0 and 1:
    [n, 2 d], for ``MASKED_COSINE``. Every text is padded with id 0 to the model's whole context (248), since masks
    depend on the padding: trimmed to the longest of a batch, or filled otherwise, some bits differ. Features do not.

    With an adapter mounted the network sees the adapted text tower; it was trained on that of the base. Its masks over
    all texts so far are counted in ``provenance``: ``mask_kept``, mean share of dimensions kept (None before the first
    text), and ``masks_empty``, texts that score 0 with every picture.

    Errors: :class:`UserError` for a model without a mask network, or whose embeddings have another width than its
    texts, so that no mask fits them. Source: SmartCLIP; see ``mask_logits`` and ``MaskedCosine``.
    """

    similarity = MASKED_COSINE

    def __init__(self, matcher: Matcher) -> None:
        require_mask_network(matcher)
        self.matcher = matcher
        self.weights = {
            name: tensor.float().to(matcher.encoder.device) for name, tensor in matcher.mask_network.items()
        }
        self.preprocess = matcher.preprocess
        self._kept, self._texts, self._empty = 0.0, 0, 0

    def encode_images(
        self, pictures: Pictures, indices: Indices | None = None, batch_size: int = 128
    ) -> Float[Tensor, "n d"]:
        """Those of the model."""
        return self.matcher.encode_images(pictures, indices, batch_size)

    @torch.no_grad()
    def encode_texts(self, texts: Sequence[str], batch_size: int = 32) -> Float[Tensor, "n e"]:
        """Embeddings and masks of the texts, in their order; equal texts are encoded once."""
        unique = list(dict.fromkeys(texts))
        if not unique:
            return torch.zeros(0, 2 * self.matcher.dimension)
        with eval_mode(self.matcher.encoder):
            rows = torch.cat([self._rows(unique[i : i + batch_size]) for i in range(0, len(unique), batch_size)])
        row = {text: i for i, text in enumerate(unique)}
        return rows[[row[text] for text in texts]]

    def _rows(self, texts: Sequence[str]) -> Tensor:
        encoder = self.matcher.encoder
        ids = self.matcher.tokenizer(texts)
        padded = functional.pad(ids, (0, encoder.context_length - ids.shape[1]))
        features, tokens = encoder.text_features_and_tokens(padded.to(encoder.device))
        mask = hard_mask(mask_logits(tokens, self.weights, encoder.text_heads))
        self._texts += len(texts)
        self._kept += float(mask.mean(dim=-1).double().sum())
        self._empty += int((mask.sum(dim=-1) == 0).sum())
        return torch.cat([features.float(), mask.float()], dim=-1)

    @property
    def fingerprint(self) -> str:
        """sha256 of all that decides a score: the model's, and the mask network."""
        digest = hashlib.sha256(self.matcher.fingerprint.encode())
        add_tensors(digest, sorted(self.weights.items()))
        return digest.hexdigest()

    def provenance(self) -> dict[str, object]:
        """That of the model, with what the masks change."""
        return {
            **self.matcher.provenance(),
            "fingerprint": self.fingerprint,
            "model_notes": [*(note for note in self.matcher.notes if note != MASK_ASIDE), self._note()],
            "similarity": self.similarity.name,
            "mask_kept": self._kept / self._texts if self._texts else None,
            "masks_empty": self._empty,
        }

    def _note(self) -> str:
        kept = f"; {self._kept / self._texts:.0%} of the dimensions are kept on average" if self._texts else ""
        empty = f"; {self._empty} texts keep none and score 0" if self._empty else ""
        adapted = ", which was trained on the texts of the base" if self.matcher.adapter else ""
        return f"pictures are masked for each text by SmartCLIP's mask network{adapted}{kept}{empty}"


def require_mask_network(matcher: Matcher) -> None:
    """Refuse a model without a mask network that fits it."""
    width, dimension = matcher.encoder.token_widths[1], matcher.dimension
    if not matcher.mask_network or matcher.pooled:  # pooled tokens lie in a space that no mask is of
        raise UserError(
            got=f"masked scoring (--masked) with {matcher.name}, a model without a mask network",
            expected="a SmartCLIP: its own file, or the folder that litotes convert makes of it",
            do="leave out --masked, or name such a model",
        )
    if width != dimension:
        raise UserError(
            got=f"masks of {width} dimensions for embeddings of {dimension} in {matcher.name}",
            expected="texts as wide as the embeddings, as in SmartCLIP's own models",
            do="leave out --masked",
        )
    require_fit(Path(matcher.name), matcher.mask_network, mask_layout(width), "the mask network of this SmartCLIP")
