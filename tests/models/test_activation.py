"""Quick-GELU in one new tensor: the plain formula's values, its gradients, and a model that has it throughout."""

import pytest
import torch
from transformers import CLIPModel
from transformers.activations import QuickGELUActivation

from litotes.models.activation import QuickGelu, spare_memory
from litotes.models.clip import new_clip

EDGES = (0.0, -0.0, 1e-30, -1e-30, 60.0, -60.0, 1e30, -1e30)


def plain(x):
    return x / (1 + torch.exp(-1.702 * x.double()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_values_are_those_of_the_formula_and_the_input_is_left_alone(dtype):
    x = torch.cat([torch.randn(3, 70, generator=torch.Generator().manual_seed(0)).flatten(), torch.tensor(EDGES)])
    x = (x * 3).to(dtype)
    before = x.clone()
    with torch.no_grad():
        found = QuickGelu()(x)
    finite = x.isfinite()
    bound = {torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(dtype, 1e-6)
    assert torch.equal(x, before)
    assert found.dtype == dtype
    torch.testing.assert_close(found[finite].double(), plain(x[finite]).double(), rtol=bound, atol=bound)


def test_where_something_is_learnt_it_is_the_plain_formula_to_the_bit_with_its_gradient():
    x = torch.randn(40, 16, generator=torch.Generator().manual_seed(1), requires_grad=True)
    other = x.detach().clone().requires_grad_()
    ours, theirs = QuickGelu()(x), QuickGELUActivation()(other)
    assert torch.equal(ours, theirs)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    assert torch.equal(x.grad, other.grad)


def test_every_block_of_a_model_has_it_and_embeds_as_transformers_own():
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 2}
    vision, text = {"image_size": 32, "patch_size": 8}, {"max_position_embeddings": 12, "vocab_size": 40}
    encoder = new_clip(sizes | vision, sizes | text, 16, eos=39, bos=38)
    blocks = [*encoder.clip.vision_model.encoder.layers, *encoder.clip.text_model.encoder.layers]
    assert len(blocks) == 6
    assert all(isinstance(block.mlp.activation_fn, QuickGelu) for block in blocks)
    clip = CLIPModel(encoder.clip.config).eval()
    clip.load_state_dict(encoder.clip.state_dict())
    pixels = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(2))
    ids = torch.tensor([[38, 5, 6, 39], [38, 7, 39, 0]])
    with torch.no_grad():
        theirs = clip.get_image_features(pixel_values=pixels).pooler_output
        torch.testing.assert_close(encoder.image_features(pixels), theirs, rtol=0, atol=2e-6)
        torch.testing.assert_close(
            encoder.text_features(ids), clip.get_text_features(input_ids=ids).pooler_output, rtol=0, atol=2e-6
        )


def test_another_activation_is_left_as_it_is():
    model = torch.nn.Sequential(torch.nn.GELU(), QuickGELUActivation())
    spare_memory(model)
    assert [type(module) for module in model] == [torch.nn.GELU, QuickGelu]
