import torch
from torch import nn

from litotes.models.last_layer import first_token
from litotes.models.lora import adapted_layers, add_lora
from litotes.models.lora_settings import ALL_LINEAR, LoraSettings
from tiny import FileClip


def with_updates(encoder):
    """With a LoRA adapter on every linear layer of both towers that changes what they compute."""
    add_lora(encoder, LoraSettings(towers="both", targets=ALL_LINEAR, rank=2, dropout=0.5))
    torch.manual_seed(0)
    for layer in adapted_layers(encoder).values():
        nn.init.normal_(layer.lora_B["default"].weight, std=0.1)
    return encoder.eval()


def test_the_first_token_alone_is_that_of_the_whole_block_with_its_gradients_and_adapters():
    torch.manual_seed(1)
    tokens = torch.randn(3, 7, 32, dtype=torch.float64)
    outputs = []
    for encoder in (FileClip.encoder(), with_updates(FileClip.encoder())):
        block = encoder.double().clip.vision_model.encoder.layers[-1]
        one, every = tokens.clone().requires_grad_(), tokens.clone().requires_grad_()
        first, whole = first_token(block, one), block(every, None)[:, 0]
        assert (first - whole).abs().max() < 1e-12
        direction = torch.randn(whole.shape)
        (first * direction).sum().backward()
        (whole * direction).sum().backward()
        assert (one.grad - every.grad).abs().max() < 1e-12
        assert every.grad.abs().max() > 1
        outputs.append(first)
    assert (outputs[0] - outputs[1]).abs().max() > 0.1


def test_pictures_are_embedded_by_it_where_nothing_is_learnt_and_by_whole_blocks_in_training():
    encoder = with_updates(FileClip.encoder())
    lengths = []
    encoder.clip.vision_model.encoder.layers[-1].mlp.register_forward_hook(
        lambda module, given, output: lengths.append(given[0].numel() // (6 * 32))
    )
    pixels = FileClip.pixels()
    whole = encoder.image_features(pixels)
    with torch.no_grad():
        short = encoder.image_features(pixels)
        encoder.train()
        encoder.image_features(pixels)
    assert lengths == [encoder.image_token_count, 1, encoder.image_token_count]
    assert (short - whole).abs().max() < 1e-6 * whole.abs().max()
    assert whole.requires_grad and not short.requires_grad
