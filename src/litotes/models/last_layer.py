"""The last block of a tower for the one token that is looked at."""

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers.models.clip.modeling_clip import CLIPEncoderLayer


def first_token(block: CLIPEncoderLayer, tokens: Float[Tensor, "n length w"]) -> Float[Tensor, "n w"]:
    """What a block of transformers' CLIP gives for the first token, without computing it for the others.

    x = tokens;  y = x_0 + out(attention(q(norm1(x_0)), k(norm1(x)), v(norm1(x))));  result = y + mlp(norm2(y))

    The first token of ``block(tokens, None)`` in eval mode, up to rounding, by the same modules, mounted adapters among
    them: of all that other tokens take, keys and values alone are left. No dropout, no mask: every token is seen.
    """
    attention = block.self_attn
    normed = block.layer_norm1(tokens)
    q, k, v = (
        rows.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2)
        for rows in (attention.q_proj(normed[:, 0])[:, None], attention.k_proj(normed), attention.v_proj(normed))
    )
    seen = scaled_dot_product_attention(q, k, v, scale=attention.scale)[:, :, 0].flatten(1)
    first = tokens[:, 0] + attention.out_proj(seen)
    return first + block.mlp(block.layer_norm2(first))
