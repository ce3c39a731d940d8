"""A CLIP's tokens pooled into one space: the paper's sizes, what is trained, true lengths, the towers' own tokens."""

import pytest
import torch

from litotes.errors import UserError
from litotes.models.clip import VIT_B_32, new_clip, text_lengths
from litotes.models.pair_backbone import PairBackbone, TokenHead, unused_parameters
from litotes.models.variational import VariationalAdapter, parameter_count
from tiny import FileClip, noise_pictures, tiny_matcher


def trained(module):
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


@pytest.fixture
def matcher(tmp_path):
    return tiny_matcher(tmp_path, ["a red square", "two squares and a small blue circle"], layers=2)


@pytest.mark.parametrize(
    ("patch", "count"),
    # Patches of 16: 197 positions instead of 50, 3 * 16 * 16 numbers a patch instead of 3 * 32 * 32.
    [(32, 151_958_592), (16, 151_958_592 + 147 * 768 - 3 * 768 * (32**2 - 16**2))],
)
def test_the_trained_parameters_of_vit_b_are_as_many_as_specified(patch, count):
    vision, text, projection = VIT_B_32
    with torch.device("meta"):
        encoder = new_clip({**vision, "patch_size": patch}, text, projection, eos=49407, bos=49406)
        backbone, adapter = PairBackbone(encoder), VariationalAdapter()
    assert trained(backbone) == count
    assert trained(backbone.encoder.clip.vision_model) == count - 151_958_592 + 87_454_464
    assert trained(backbone.encoder.clip.text_model) == 63_165_952
    assert parameter_count(backbone.image_head) == 787_456 + 12_704
    assert parameter_count(backbone.text_head) == 525_312 + 12_704
    if patch == 32:
        assert trained(backbone) + trained(adapter) == 157_223_011


def test_everything_that_is_trained_gets_a_gradient_and_the_rest_none(matcher):
    backbone = PairBackbone(matcher.encoder, 10)
    pixels = matcher.pixels(noise_pictures(3), range(3))
    ids = matcher.tokenizer(["a red square", "two squares", "a small blue circle"])
    image, text = backbone(pixels, ids)
    assert image.shape == text.shape == (3, 10)
    assert torch.allclose(image.norm(dim=1), torch.ones(3)) and torch.allclose(text.norm(dim=1), torch.ones(3))
    (image * text).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in backbone.parameters() if p.requires_grad)
    assert all(p.grad is None for p in unused_parameters(matcher.encoder))


def test_a_text_is_the_same_in_any_batch_and_padded_at_will(matcher):
    backbone = PairBackbone(matcher.encoder, 10).eval()
    texts = ["a red square", "two squares and a small blue circle", ""]
    together = backbone.text_features(matcher.tokenizer(texts))
    for i, text in enumerate(texts):
        alone = matcher.tokenizer([text])
        assert torch.allclose(backbone.text_features(alone)[0], together[i], atol=1e-6)
        wide = torch.nn.functional.pad(alone, (0, 16 - alone.shape[1]))
        assert torch.allclose(backbone.text_features(wide)[0], together[i], atol=1e-6)


def test_dropped_tokens_are_as_if_they_were_not_there(matcher):
    backbone = PairBackbone(matcher.encoder, 10).eval()
    pixels = matcher.pixels(noise_pictures(2), range(2))
    tokens = matcher.encoder.image_tokens(pixels)
    assert tokens.shape == (2, 5, 32)
    kept = torch.tensor([[True, False, True, True, False], [True] * 5])
    out = backbone.image_features(pixels, kept)
    assert torch.allclose(out[0], backbone.image_head(tokens[:1, [0, 2, 3]], torch.ones(1, 3, dtype=torch.bool))[0])
    assert torch.allclose(out[1], backbone.image_features(pixels)[1])
    assert not torch.allclose(out[0], backbone.image_features(pixels)[0])


def test_tokens_lead_to_clips_own_embeddings_by_the_layers_left_out():
    encoder = FileClip.encoder()
    clip, pixels, ids = encoder.clip, FileClip.pixels(), FileClip.ids()
    with torch.no_grad():
        first = clip.vision_model.post_layernorm(encoder.image_tokens(pixels)[:, 0])
        assert torch.allclose(clip.visual_projection(first), encoder.image_features(pixels), atol=1e-6)
        last = encoder.text_tokens(ids)[torch.arange(len(ids)), text_lengths(ids) - 1]
        assert torch.allclose(clip.text_projection(last), encoder.text_features(ids), atol=1e-6)
    assert text_lengths(ids).tolist() == [max(i for i, token in enumerate(row) if token) + 1 for row in ids.tolist()]


def test_heads_begin_as_specified_and_by_the_seed_alone(matcher):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, other, third = (PairBackbone(matcher.encoder, 10, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    for a, b in zip(one.image_head.parameters(), other.image_head.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(one.text_head.linear.weight, third.text_head.linear.weight)
    weight = one.image_head.linear.weight
    bound = (6 / (32 + 10)) ** 0.5
    assert torch.equal(one.image_head.linear.bias, torch.zeros(10))
    assert 0.95 * bound < weight.abs().max() <= bound


def test_a_zero_vector_stays_zero_and_a_tiny_one_is_divided_by_its_length_and_the_floor():
    head = TokenHead(2, 2).double()
    with torch.no_grad():
        head.linear.weight.copy_(torch.eye(2))
        head.linear.bias.zero_()
    tokens = torch.tensor([[[0.0, 0.0]], [[3e-8, 4e-8]]], dtype=torch.float64, requires_grad=True)
    out = head(tokens, torch.ones(2, 1, dtype=torch.bool))
    assert out.tolist() == [[0.0, 0.0], pytest.approx([3 / 6, 4 / 6])]
    out.sum().backward()
    assert tokens.grad.isfinite().all()


def test_no_dimension_is_refused(matcher):
    with pytest.raises(UserError, match="dimension = 0"):
        PairBackbone(matcher.encoder, 0)
