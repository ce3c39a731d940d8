"""What VACSR is compared with: the same question to each, as large an adapter, scores that learn."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.models.pair_baselines import CosineLogits, DeterministicAdapter, equal_width
from litotes.models.variational import AdapterConfig, VariationalAdapter, parameter_count
from litotes.objectives import info_nce_of_scores, match_matrix, reconstruction, sigmoid_loss, sigmoid_loss_of_logits
from reference import vacsr as loops

TINY = AdapterConfig(features=6, latent=4, decoder_hidden=3)
POSITIVES = match_matrix(["a", "b", "a"], ["a", "b", "a"])


def features(dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(3, 6, generator=generator, dtype=torch.float64).to(dtype) for _ in range(2)]


@pytest.mark.parametrize(
    ("settings", "width", "count"),
    [({}, 2561, 5_264_930), ({"features": 512}, 1281, 1_321_762), ({"norm": "layernorm", "features": 512}, 1279, None)],
)
def test_the_deterministic_adapter_is_as_large(settings, width, count):
    config = AdapterConfig(**settings)
    assert equal_width(config) == width
    with torch.device("meta"):
        own, other = parameter_count(DeterministicAdapter(config)), parameter_count(VariationalAdapter(config))
    assert count in (own, None)
    assert abs(own - other) <= config.features + 1


def test_the_deterministic_score_against_loops():
    made = DeterministicAdapter(TINY, seed=1).double()
    image, text = features(torch.float64)
    found = made.logits(image, text)
    trunk, head, first, last = (
        (x.weight.tolist(), x.bias.tolist()) for x in (made.trunk[0], made.head, made.decoder[0], made.decoder[2])
    )
    for i in range(3):
        for j in range(3):
            hidden = loops.relu(loops.linear(*trunk, loops.similarity(image[i].tolist(), text[j].tolist())))
            expected = loops.decoded((first, last), loops.linear(*head, hidden))
            assert found[i, j].item() == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_cosines_with_a_learned_scale_and_bias():
    made = CosineLogits()
    image, text = features()
    plain = torch.nn.functional.cosine_similarity(image[:, None], text[None], dim=-1)
    torch.testing.assert_close(made.logits(image, text), 10 * plain - 10)
    by_features = sigmoid_loss(image, text, 10.0, -10.0, positives=POSITIVES)
    torch.testing.assert_close(sigmoid_loss_of_logits(made.logits(image, text), positives=POSITIVES), by_features)


MODELS = {
    "cosine": CosineLogits,
    "deterministic": lambda: DeterministicAdapter(TINY),
    "variational": lambda: VariationalAdapter(TINY),
}
LOSSES = {
    "info_nce": lambda logits: info_nce_of_scores(logits, positives=POSITIVES, repeats="uniform"),
    "sigmoid": lambda logits: sigmoid_loss_of_logits(logits, positives=POSITIVES),
    "reconstruction": lambda logits: reconstruction(logits, POSITIVES),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_model_is_asked_alike_and_learns_by_every_loss(model, loss):
    made = MODELS[model]()
    image, text = (x.requires_grad_() for x in features())
    value = LOSSES[loss](made.logits(image, text))
    value.backward()
    assert value.isfinite()
    assert image.grad.isfinite().all()
    assert sum(p.grad.abs().sum() for p in made.parameters() if p.grad is not None) > 0


def test_weights_come_from_the_seed():
    one, same, other = (DeterministicAdapter(TINY, seed=s).logits(*features()) for s in (1, 1, 2))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_under_autocast_the_scores_are_float32(half):
    for make in MODELS.values():
        made = make()
        plain = made.logits(*features())
        with torch.autocast("cpu", dtype=half):
            cast = made.logits(*features())
        assert cast.dtype == torch.float32
        torch.testing.assert_close(cast, plain, rtol=0.02, atol=0.02)


def test_mistakes_are_told():
    with pytest.raises(UserError, match="bottleneck = 3"):
        DeterministicAdapter(AdapterConfig(features=6, bottleneck=3))
    with pytest.raises(UserError, match="scale = 0"):
        CosineLogits(scale=0.0)
    image, text = features()
    with pytest.raises(UserError, match="width of the adapter"):
        DeterministicAdapter(TINY).logits(image[:, :5], text)
    image[0, 0] = math.nan
    for make in MODELS.values():
        with pytest.raises(UserError, match="image with 1 of 18"):
            make().logits(image, text)
