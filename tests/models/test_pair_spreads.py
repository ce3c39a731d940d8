"""Further numbers of a pair's distribution against plain loops and against draws."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.models.pair_spreads import component_spread, drawn_spread, entropy_bound, weight_entropy
from litotes.models.variational import AdapterConfig, PairDistribution, VariationalAdapter, uncertainty


def distribution(k=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = (2, 4, k, 5)
    weights = torch.rand(shape[:-1], generator=generator).softmax(-1)
    return PairDistribution(torch.randn(shape, generator=generator), torch.randn(shape, generator=generator), weights)


@pytest.mark.parametrize("k", [1, 3])
def test_each_is_its_formula(k):
    pairs = distribution(k)
    found = [call(pairs) for call in (component_spread, weight_entropy, entropy_bound)]
    for i in range(2):
        for j in range(4):
            alpha, mu, lv = (part[i, j].tolist() for part in (pairs.weights, pairs.mean, pairs.log_var))
            spread = []
            for d in range(5):
                centre = sum(a * m[d] for a, m in zip(alpha, mu, strict=True))
                spread.append(sum(a * (m[d] - centre) ** 2 for a, m in zip(alpha, mu, strict=True)))
            choice = -sum(a * math.log(a) for a in alpha)
            each = [sum(0.5 * math.log(2 * math.pi * math.e * math.exp(v)) for v in row) for row in lv]
            bound = choice + sum(a * h for a, h in zip(alpha, each, strict=True))
            expected = (sum(spread) / 5, choice, bound)
            assert [float(part[i, j]) for part in found] == pytest.approx(expected, abs=1e-5)


def test_the_total_variance_is_what_is_within_and_between_the_components():
    pairs = distribution()
    within = uncertainty(pairs, "mixture", "mean_variance")
    assert torch.allclose(uncertainty(pairs, "total", "mean_variance"), within + component_spread(pairs), atol=1e-5)


def test_the_bound_is_reached_far_apart_and_too_high_by_the_choice_where_components_coincide():
    pairs = distribution(2)
    together = pairs._replace(
        mean=pairs.mean[:, :, :1].expand_as(pairs.mean), log_var=pairs.log_var[:, :, :1].expand_as(pairs.log_var)
    )
    alone = 0.5 * (math.log(2 * math.pi * math.e) + together.log_var[:, :, 0]).sum(-1)
    assert torch.allclose(entropy_bound(together), alone + weight_entropy(together), atol=1e-5)


def test_draws_have_the_spread_of_the_distribution_and_repeat():
    model = VariationalAdapter(AdapterConfig(features=6, hidden=8, latent=5, decoder_hidden=4), seed=1)
    generator = torch.Generator().manual_seed(0)
    image, text = torch.randn(2, 3, 6, generator=generator)
    found = drawn_spread(model, image, text, 1000, torch.Generator().manual_seed(1))
    with torch.no_grad():
        logits = torch.stack(
            [model(image, text, torch.Generator().manual_seed(s)).logits for s in range(1000)]
        ).double()
    assert torch.allclose(found["logit_std"], logits.std(0), rtol=0.15)
    assert torch.allclose(found["p_std"], logits.sigmoid().std(0), rtol=0.15)
    assert torch.allclose(found["doubt"], 1 - logits.sigmoid().mean(0), atol=0.02)
    few = [drawn_spread(model, image, text, 3, torch.Generator().manual_seed(7))["p_std"] for _ in range(2)]
    assert torch.equal(*few)
    with pytest.raises(UserError, match="1 draws"):
        drawn_spread(model, image, text, 1, generator)
