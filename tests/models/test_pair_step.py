"""A training step by blocks of rows: value and gradients of the whole batch, the draws of each pair, its memory."""

import jaxtyping
import pytest
import torch

from litotes.errors import UserError
from litotes.models import pair_step
from litotes.models.pair_noise import PairNoise
from litotes.models.pair_step import numbers_per_pair, rows_within, vacsr_step
from litotes.models.variational import AdapterConfig, VariationalAdapter
from litotes.objectives import VacsrConfig, match_matrix, vacsr
from litotes.objectives.diagnostics import diagnostics, joined, named
from live_bytes import LiveBytes

D = 6
NOISE = PairNoise(5)
# Repeated pictures, a picture without a caption, a caption without a picture, and a picture that every caption fits.
IMAGES, TEXTS = ["a", "b", "a", "c", "e", "all", "b"], ["a", "a", "b", "c", "z"]
POSITIVES = match_matrix(IMAGES, TEXTS) | torch.tensor([name == "all" for name in IMAGES])[:, None]


def adapter(dtype=torch.float64, **settings):
    sizes = {"features": D, "hidden": 5, "latent": 4, "decoder_hidden": 3}
    made = VariationalAdapter(AdapterConfig(**{**sizes, **settings}), seed=1).to(dtype)
    if made.config.mixture == "global":
        with torch.no_grad():
            made.mixture += torch.linspace(-0.5, 0.7, made.config.components)
    return made


def features(bi=7, bt=5, d=D, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(n, d, generator=generator, dtype=torch.float64).to(dtype).requires_grad_() for n in (bi, bt)]


def whole(made, image, text, positives=POSITIVES, config=None):
    return vacsr(made(image, text, NOISE), positives, config)


def by_rows(monkeypatch, rows, *args, **kwargs):
    """The step with so many rows to a block."""
    with monkeypatch.context() as patch:
        patch.setattr(pair_step, "rows_within", lambda *_: rows)
        return vacsr_step(*args, noise=NOISE, **kwargs)


def slopes(loss, made, *inputs):
    return torch.autograd.grad(loss, (*inputs, *made.parameters()), allow_unused=True)


def assert_same(found, expected, made, inputs, tolerance=1e-12):
    torch.testing.assert_close(tuple(found), tuple(expected), rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(
        slopes(found.loss, made, *inputs), slopes(expected.loss, made, *inputs), rtol=tolerance, atol=tolerance
    )


LAYOUTS = [
    {},
    {"layout": "per_component"},
    {"layout": "separate", "components": 3},
    {"norm": "layernorm"},
    {"bottleneck": 7},
    {"mixture": "per_pair", "components": 4},
    {"components": 1},
    {"choice": "soft", "temperature": 0.3},
    {"feature_norm": "none", "input_scale": "d"},
    {"log_var": "log_sigmoid"},
    {"log_var": "sigmoid"},
]
LOSSES = [
    {"recon_gradient": "exact", "recon_reduction": "per_image"},
    {"kl_reduction": "sum", "kl_weight": 0.3},
    {"variance": "exp", "denominator": "std", "log_term": "log_var"},
    {"variance": "sigmoid_std", "aggregation": "sum"},
    {"aggregation": "first", "stop_gradient": False},
    {"hard_negatives": 3, "negative_target": 0.4},
    {"hardest": "bracket"},
    {"recon_weight": 0.7, "sigma_positive_weight": 0.0, "sigma_negative_weight": 2.0},
    {"directions": "both"},
]


@pytest.mark.parametrize("rows", [1, 3, 7, 100])
@pytest.mark.parametrize("settings", LAYOUTS, ids=str)
def test_every_layout_by_blocks_is_the_whole(settings, rows, monkeypatch):
    made, inputs = adapter(**settings), features()
    assert_same(by_rows(monkeypatch, rows, made, *inputs, POSITIVES), whole(made, *inputs), made, inputs)


@pytest.mark.parametrize("rows", [1, 3, 7])
@pytest.mark.parametrize("settings", LOSSES, ids=str)
def test_every_reading_of_the_losses_by_blocks_is_the_whole(settings, rows, monkeypatch):
    made, inputs, config = adapter(), features(), VacsrConfig(**settings)
    found = by_rows(monkeypatch, rows, made, *inputs, POSITIVES, config)
    assert_same(found, whole(made, *inputs, config=config), made, inputs)


def test_terms_without_a_pair_are_0(monkeypatch):
    made, inputs = adapter(), features()
    for positives in (torch.ones(7, 5, dtype=torch.bool), torch.zeros(7, 5, dtype=torch.bool)):
        found = by_rows(monkeypatch, 2, made, *inputs, positives)
        assert (found.sigma_negative if positives.all() else found.sigma_positive) == 0
        assert_same(found, whole(made, *inputs, positives), made, inputs)


def test_float32_differs_by_rounding_alone(monkeypatch):
    made, inputs = adapter(torch.float32), features(dtype=torch.float32)
    found = by_rows(monkeypatch, 2, made, *inputs, POSITIVES)
    assert all(term.dtype == torch.float32 for term in found)
    assert_same(found, whole(made, *inputs), made, inputs, 1e-5)


def test_the_draws_are_the_same_in_blocks_of_any_size(monkeypatch):
    made, inputs = adapter(), features()
    expected = made(*inputs, NOISE)
    for rows in (1, 2, 6, 7):
        seen = []
        by_rows(monkeypatch, rows, made, *inputs, POSITIVES, on_block=lambda *block, seen=seen: seen.append(block))
        assert torch.equal(torch.cat([positives for _, positives in seen]), POSITIVES)
        assert torch.equal(torch.cat([sample.choice for sample, _ in seen]), expected.choice)
        for name in ("logits", "log_var"):
            found = torch.cat([getattr(sample, name) for sample, _ in seen])
            torch.testing.assert_close(found, getattr(expected, name), rtol=1e-13, atol=1e-13)
        together = named(joined([diagnostics(*block) for block in seen]))
        assert together == pytest.approx(named(diagnostics(expected, POSITIVES)), rel=1e-12)


def test_a_step_repeats_itself_and_another_seed_does_not(monkeypatch):
    made, inputs = adapter(), features()
    one, again = (by_rows(monkeypatch, 3, made, *inputs, POSITIVES).loss for _ in range(2))
    assert torch.equal(one, again)
    assert not torch.equal(vacsr_step(made, *inputs, POSITIVES, noise=PairNoise(6)).loss, one)


def test_the_loss_passes_on_what_stands_behind_the_features_and_before_the_loss(monkeypatch):
    made, (image, text) = adapter(), features()
    encoder = torch.linspace(0.5, 1.5, D, dtype=torch.float64).requires_grad_()
    results = []
    for step in (whole, lambda *args: by_rows(monkeypatch, 2, *args, POSITIVES)):
        loss = (3 * step(made, image * encoder, text.tanh()).loss).square()
        results.append(torch.autograd.grad(loss, (encoder, image, text, made.trunks[0][0].weight)))
    torch.testing.assert_close(*results, rtol=1e-12, atol=1e-12)


def test_frozen_sides_and_weights_get_no_gradient(monkeypatch):
    made, (image, text) = adapter(), features()
    made.decoder.requires_grad_(requires_grad=False)
    by_rows(monkeypatch, 2, made, image.detach(), text, POSITIVES).loss.backward()
    assert image.grad is None
    assert made.decoder[0].weight.grad is None
    expected = torch.autograd.grad(whole(made, image, text).loss, (text, made.mixture))
    torch.testing.assert_close((text.grad, made.mixture.grad), expected, rtol=1e-12, atol=1e-12)


def test_without_gradient_there_is_the_value_alone(monkeypatch):
    made, inputs = adapter(), features()
    with torch.no_grad():
        found = by_rows(monkeypatch, 2, made, *inputs, POSITIVES)
    assert not found.loss.requires_grad
    torch.testing.assert_close(tuple(found), tuple(whole(made, *inputs)), rtol=1e-12, atol=1e-12)
    by_rows(monkeypatch, 2, made, *inputs, POSITIVES)
    assert all(x.grad is None for x in (*inputs, *made.parameters()))


@pytest.mark.parametrize(("half", "blocks"), [(torch.bfloat16, 4), (torch.float16, 1)])
def test_under_autocast_blocks_are_taken_unless_gradients_need_a_scale(half, blocks, monkeypatch):
    made, inputs, seen = adapter(torch.float32), features(dtype=torch.float32), []
    with torch.autocast("cpu", dtype=half):
        found = by_rows(monkeypatch, 2, made, *inputs, POSITIVES, on_block=lambda *block: seen.append(block))
        expected = whole(made, *inputs)
    assert len(seen) == blocks
    assert_same(found, expected, made, inputs, 0.03)


@pytest.mark.parametrize("settings", LAYOUTS[:7], ids=str)
def test_the_planned_memory_is_that_of_the_step(settings):
    size = {"features": 64, "hidden": None, "latent": None, "decoder_hidden": 4}
    made = adapter(torch.float32, **size, **settings)
    inputs, positives = features(48, 48, 64, torch.float32), torch.eye(48, dtype=torch.bool)
    with LiveBytes() as live:
        whole(made, *inputs, positives).loss.backward()
    planned = 4 * 48 * 48 * numbers_per_pair(made.config)
    assert 0.8 < live.peak / planned < 1.05


def test_blocks_take_less_memory_and_a_larger_batch_no_more():
    made = adapter(torch.float32, features=64, hidden=None, latent=None)
    peaks = {}
    for size, memory in ((64, 1000), (64, 3), (32, 3)):
        inputs, positives = features(size, size, 64, torch.float32), torch.eye(size, dtype=torch.bool)
        with LiveBytes() as live:
            vacsr_step(made, *inputs, positives, memory=memory).loss.backward()
        peaks[size, memory] = live.peak / 2**20
    assert peaks[64, 1000] > 20
    assert 1 < peaks[32, 3] < 3.5
    assert 1 < peaks[64, 3] < 3.5


def test_the_rows_of_a_block_follow_from_the_memory():
    made = VariationalAdapter(AdapterConfig(features=1024))
    assert rows_within(made, 256, 1024) == 39
    assert rows_within(made.double(), 256, 1024) == 19
    with pytest.raises(UserError, match="memory = 25 MiB for a step with 256 texts"):
        rows_within(made.float(), 256, 25)


def test_mistakes_are_told_before_the_first_block(monkeypatch):
    made, (image, text) = adapter(), features()
    seen = []
    with pytest.raises(UserError, match="positives of shape"):
        by_rows(monkeypatch, 2, made, image, text, POSITIVES[:, :4], on_block=lambda *block: seen.append(block))
    with monkeypatch.context() as patch:
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as in production, where types are not checked
        with pytest.raises(UserError, match=r"torch\.bool"):
            by_rows(monkeypatch, 2, made, image, text, POSITIVES.double())
    with pytest.raises(UserError, match="text features of shape"):
        by_rows(monkeypatch, 2, made, image, text[:, :3], POSITIVES)
    broken = image.detach().clone()
    broken[6, 0] = torch.nan
    with pytest.raises(UserError, match="image with 1 of 42"):
        by_rows(monkeypatch, 2, made, broken, text, POSITIVES, on_block=lambda *block: seen.append(block))
    assert not seen
