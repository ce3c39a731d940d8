"""A CLIP in OpenAI's naming and its forward, written from the description with torch's own attention alone.

Pre-norm blocks, a causal mask over the texts, pooling at the largest id, projections as ``x @ weight``. LongCLIP and
HiMo-CLIP add two position tables through 0/1 masks; SmartCLIP has a mask network besides.
"""

from collections import OrderedDict

import torch
from torch import nn


class QuickGelu(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class Block(nn.Module):
    def __init__(self, width, heads, act, hidden=None):
        super().__init__()
        hidden = hidden or 4 * width
        self.ln_1 = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(OrderedDict(c_fc=nn.Linear(width, hidden), act=act(), c_proj=nn.Linear(hidden, width)))

    def forward(self, x, mask):
        """x [length, n, width]."""
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class Blocks(nn.Module):
    def __init__(self, width, layers, heads, act, hidden=None):
        super().__init__()
        self.resblocks = nn.ModuleList(Block(width, heads, act, hidden) for _ in range(layers))

    def forward(self, x, mask=None):
        x = x.transpose(0, 1)
        for block in self.resblocks:
            x = block(x, mask)
        return x.transpose(0, 1)


class Picture(nn.Module):
    def __init__(self, width, layers, heads, act, side, patch, dimension, hidden):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, patch, patch, bias=False)
        self.class_embedding = nn.Parameter(torch.empty(width))
        self.positional_embedding = nn.Parameter(torch.empty((side // patch) ** 2 + 1, width))
        self.ln_pre = nn.LayerNorm(width)
        self.transformer = Blocks(width, layers, heads, act, hidden)
        self.ln_post = nn.LayerNorm(width)
        self.proj = nn.Parameter(torch.empty(width, dimension))

    def forward(self, pixels):
        patches = self.conv1(pixels).flatten(2).transpose(1, 2)
        first = self.class_embedding.expand(len(pixels), 1, -1)
        x = torch.cat([first, patches], dim=1) + self.positional_embedding
        return self.ln_post(self.transformer(self.ln_pre(x))[:, 0]) @ self.proj


class MaskPool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = nn.Linear(width, 1)

    def forward(self, x):
        """x [n, length, width]: the mean over positions, weighted by one softmax of them."""
        return (self.attention(x).softmax(dim=1) * x).sum(dim=1)


class MaskNetwork(nn.Module):
    def __init__(self, width, heads, act):
        super().__init__()
        self.resblocks = nn.ModuleList([Block(width, heads, act)])
        self.attn_pool = MaskPool(width)

    def forward(self, x):
        """x [n, length, width] to [n, width]; attention both ways, over the padding too."""
        x = x.transpose(0, 1)
        for block in self.resblocks:
            x = block(x, None)
        return self.attn_pool(x.transpose(0, 1))


class ReferenceClip(nn.Module):
    """Both towers. All widths differ unless they must not, so that a missing transpose does not fit."""

    def __init__(
        self,
        *,
        context=77,
        long=False,
        mask=False,
        act=QuickGelu,
        heads=(3, 2),
        width=128,
        dimension=96,
        ids=600,
        hidden=320,
        seed=0,
    ):
        super().__init__()
        vision_heads, text_heads = heads
        self.visual = Picture(192, 3, vision_heads, act, 32, 8, dimension, hidden)
        self.token_embedding = nn.Embedding(ids, width)
        self.positional_embedding = nn.Parameter(torch.empty(context, width))
        if long:
            self.positional_embedding_res = nn.Parameter(torch.empty(context, width))
        self.transformer = Blocks(width, 2, text_heads, act)
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(torch.empty(width, dimension))
        self.logit_scale = nn.Parameter(torch.tensor(4.6))
        if mask:
            self.mask_net = MaskNetwork(width, text_heads, act)
        self.long = long
        self._draw(seed)

    def _draw(self, seed):
        """Every number random, biases, norms and dead rows too."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, tensor in sorted(self.named_parameters()):
                if name == "logit_scale":
                    continue
                spread = tensor.shape[-1] ** -0.5 if tensor.dim() > 1 else 0.3
                tensor.normal_(std=spread, generator=generator)
                if ".ln_" in f".{name}" and name.endswith("weight"):
                    tensor.add_(1)
        self.eval()

    def positions(self):
        if not self.long:
            return self.positional_embedding
        early = (torch.arange(len(self.positional_embedding)) < 20).float()[:, None]
        return self.positional_embedding * early + self.positional_embedding_res * (1 - early)

    def encode_image(self, pixels):
        return self.visual(pixels)

    def text_tokens(self, ids):
        """ids [n, length] to what stands behind the final norm at every position, [n, length, width]."""
        length = ids.shape[1]
        x = self.token_embedding(ids) + self.positions()[:length].to(self.token_embedding.weight.dtype)
        causal = torch.full((length, length), float("-inf")).triu(1)
        return self.ln_final(self.transformer(x, causal))

    def encode_text(self, ids):
        """ids [n, context], padded with 0."""
        return self.text_tokens(ids)[torch.arange(len(ids)), ids.argmax(dim=1)] @ self.text_projection

    def mask_logits(self, ids):
        """SmartCLIP's mask of each text before its threshold, [n, width]."""
        return self.mask_net(self.text_tokens(ids))

    def masked_scores(self, pixels, ids):
        """Cosines [pictures, texts], each picture masked for each text, one pair after the other."""
        images, texts, logits = self.encode_image(pixels), self.encode_text(ids), self.mask_logits(ids)
        scores = torch.empty(len(images), len(texts))
        for i, image in enumerate(images):
            for j, (text, logit) in enumerate(zip(texts, logits, strict=True)):
                kept = torch.where(torch.sigmoid(logit) >= 0.5, image, 0)
                scores[i, j] = kept @ text / (kept.norm() * text.norm())
        return scores

    def forward(self, pixels, ids):
        return self.encode_image(pixels), self.encode_text(ids)


def texts(context, lengths, seed=0):
    """Ids [n, context]: start token, random ids, end token (the largest), zeros."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.zeros(len(lengths), context, dtype=torch.long)
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = torch.randint(1, 598, (length,), generator=generator)
        row[0], row[length - 1] = 598, 599
    return ids
