"""A CLIP model as VACSR's retrieval recipe takes it: all tokens of both towers, pooled into one space."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from litotes.errors import UserError
from litotes.geometry.numerics import LENGTH_FLOOR, full_precision, safe_norm
from litotes.models.clip import ClipEncoder, text_lengths
from litotes.models.pooling import GeneralizedPooling, beyond


class TokenHead(nn.Module):
    """Tokens to one vector of length 1: a linear layer on each, generalised pooling, division by ``||x|| + 1e-8``.

    width, dimension: of a token, and of the result.
    """

    def __init__(self, width: int, dimension: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, dimension)
        self.pool = GeneralizedPooling()

    def forward(self, tokens: Float[Tensor, "n length w"], kept: Bool[Tensor, "n length"]) -> Float[Tensor, "n d"]:
        """Pooled features of the tokens that are ``kept``; float32 at least."""
        pooled = self.pool(self.linear(tokens), kept)
        with full_precision(pooled):
            return pooled / (safe_norm(pooled).unsqueeze(-1) + LENGTH_FLOOR)


class PairBackbone(nn.Module):
    """Both towers of a CLIP without their projections, each with a head of its own: features of length 1.

    image: all tokens of the last block (1 + patches), without the final norm; text: all tokens behind the final norm,
    start to end token. Each through a linear layer to ``dimension`` and generalised pooling (`TokenHead`).

    encoder: taken over, not copied; what is not used of it (both projections, the picture tower's final norm, the logit
    scale) is frozen, so that the trainable parameters are those of the recipe: 151,958,592 for ViT-B/32 at the default
    1024. Image linear: Xavier-uniform with zero bias, all else as torch draws it, from ``seed``.
    Source: VACSR (arXiv 2605.30968) names PCME++'s framework; the path is that of PCME++ (Chun 2024) without its
    variance branch. Pooling at the true length also where the batch is padded.
    """

    def __init__(self, encoder: ClipEncoder, dimension: int = 1024, *, seed: int = 0) -> None:
        super().__init__()
        if dimension < 1:
            raise UserError(got=f"dimension = {dimension}", expected="a whole number from 1 on", do="give 1024")
        self.encoder = encoder
        self.dimension = dimension
        image_width, text_width = encoder.token_widths
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.image_head = TokenHead(image_width, dimension)
            self.text_head = TokenHead(text_width, dimension)
            nn.init.xavier_uniform_(self.image_head.linear.weight)
            nn.init.zeros_(self.image_head.linear.bias)
        for head in (self.image_head, self.text_head):
            head.to(encoder.device)
        for unused in unused_parameters(encoder):
            unused.requires_grad_(False)

    @property
    def heads(self) -> tuple[nn.Module, ...]:
        """What is new on the towers."""
        return self.image_head, self.text_head

    def head_state(self) -> dict[str, Tensor]:
        """Weights of both heads, by name."""
        return {name: tensor for name, tensor in self.state_dict().items() if not name.startswith("encoder.")}

    def image_features(
        self, pixels: Float[Tensor, "n c h w"], kept: Bool[Tensor, "n length"] | None = None
    ) -> Float[Tensor, "n d"]:
        """Features of pictures, of length 1. ``kept``: which tokens are pooled (training drops some); default all."""
        tokens = self.encoder.image_tokens(pixels)
        if kept is None:
            kept = torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
        return self.image_head(tokens, kept)

    def text_features(self, ids: Int[Tensor, "n length"]) -> Float[Tensor, "n d"]:
        """Features of texts, of length 1; ids are padded with 0 behind the end token."""
        return self.text_head(self.encoder.text_tokens(ids), ~beyond(text_lengths(ids), ids.shape[1]))

    def forward(
        self,
        pixels: Float[Tensor, "n c h w"],
        ids: Int[Tensor, "m length"],
        kept: Bool[Tensor, "n tokens"] | None = None,
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "m d"]]:
        """Features of pictures and of texts."""
        return self.image_features(pixels, kept), self.text_features(ids)


def unused_parameters(encoder: ClipEncoder) -> list[nn.Parameter]:
    """What of a CLIP no token feature depends on."""
    clip = encoder.clip
    modules = (clip.visual_projection, clip.text_projection, clip.vision_model.post_layernorm)
    return [*(p for module in modules for p in module.parameters()), clip.logit_scale]
