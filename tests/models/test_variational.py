"""The variational adapter: sizes, forward pass against plain loops, draws, every reading, edges and mistakes."""

import itertools
import math

import jaxtyping
import pytest
import torch

from litotes.errors import UserError
from litotes.models.variational import (
    AdapterConfig,
    PairDistribution,
    VariationalAdapter,
    gumbel_choice,
    mix,
    parameter_count,
    similarity_vectors,
    uncertainty,
)
from litotes.objectives import match_matrix, sigma_negative, sigma_positive, vacsr
from reference import vacsr as loops

D = 6
TINY = {"features": D, "hidden": 5, "latent": 4, "decoder_hidden": 3}


def features(bi=3, bt=4, d=D, seed=0, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, d, generator=generator, dtype=torch.float64).to(dtype) for n in (bi, bt)]


def adapter(seed=0, dtype=torch.float64, **settings):
    """A tiny adapter whose mixture is not the even one that it starts with."""
    made = VariationalAdapter(AdapterConfig(**{**TINY, **settings}), seed=seed).to(dtype)
    if made.config.mixture == "global":
        with torch.no_grad():
            made.mixture += torch.linspace(-0.5, 0.7, made.config.components)
    return made


def draw(made, *inputs, seed=0):
    return made(*inputs, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mixture": "per_pair", "input_scale": "sqrt_d"},
        {"layout": "per_component", "feature_norm": "none", "norm": "layernorm"},
        {"layout": "separate", "bottleneck": 3, "input_scale": 2.5},
    ],
)
@pytest.mark.parametrize("decoded", ["mixture_mean", "argmax", "mean_of_decoded"])
def test_pairs_alone_have_what_they_have_among_all_pairs(settings, decoded):
    made, (image, text) = adapter(**settings, decoded=decoded), features(4, 4, dtype=torch.float64)
    own = made.logits(image, text, paired=True)
    assert own.shape == (4, 1)
    torch.testing.assert_close(own[:, 0], made.logits(image, text).diagonal(), rtol=0, atol=1e-12)
    every, alone = made.distribution(image, text), made.distribution(image, text, paired=True)
    for part, all_pairs in zip(alone, every, strict=True):
        assert part.shape[:2] == (4, 1)
        torch.testing.assert_close(part[:, 0], all_pairs[range(4), range(4)], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({}, 5_264_419),
        ({"features": 512}, 1_321_507),
        ({"bottleneck": 512}, 5_264_931),
        ({"layout": "per_component", "hidden": 512, "norm": "layernorm", "decoder_hidden": 2048}, 5_258_243),
        ({"layout": "separate", "hidden": 512, "decoder_hidden": 1024}, 5_251_075),
        ({"decoder_hidden": 1024}, 6_298_627),
        ({"components": 1}, 3_165_218),
        ({"mixture": "per_pair"}, 5_264_419 - 2 + 2 * 1025),
    ],
)
def test_a1_the_number_of_parameters(settings, count):
    with torch.device("meta"):
        assert parameter_count(VariationalAdapter(AdapterConfig(**settings))) == count


def test_a23_the_whole_model_of_the_paper_without_idle_heads():
    with torch.device("meta"):
        # Towers, projections to 1024 and pooling of the deterministic ViT-B/32 model.
        assert 151_958_592 + parameter_count(VariationalAdapter()) == 157_223_011


def test_a2_the_vectors_sum_to_the_cosine():
    image, text = features(dtype=torch.float64)
    cosine = torch.nn.functional.cosine_similarity(image[:, None], text[None], dim=-1)
    for scale, factor in ((1.0, 1.0), (2.5, 2.5), ("sqrt_d", D**0.5), ("d", D)):
        vectors = similarity_vectors(3 * image, text / 7, AdapterConfig(features=D, input_scale=scale))
        torch.testing.assert_close(vectors.sum(-1), factor * cosine)
    raw = similarity_vectors(image, text, AdapterConfig(features=D, feature_norm="none"))
    torch.testing.assert_close(raw[1, 2], image[1] * text[2])


def layers(module):
    return module.weight.tolist(), module.bias.tolist()


def by_loops(made, v, t):
    """Means, log-variances and the decoder's layers of a pair."""
    s = loops.similarity(v, t)
    hidden = loops.relu(loops.linear(*layers(made.trunks[0][0]), s))
    means, log_vars = (
        [loops.linear(*layers(head), hidden) for head in heads] for heads in (made.mean_heads, made.log_var_heads)
    )
    return means, log_vars, (layers(made.decoder[0]), layers(made.decoder[2]))


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-12), (torch.float32, 2e-5)])
@pytest.mark.parametrize("choice", ["hard", "soft"])
def test_the_forward_pass_against_loops(dtype, rtol, choice):
    made, (image, text) = adapter(dtype=dtype, choice=choice), features(dtype=dtype)
    sample = draw(made, image, text)
    generator = torch.Generator().manual_seed(0)
    torch.rand(3, 4, 2, generator=generator, dtype=dtype)
    noise = torch.randn(3, 4, 2, 4, generator=generator, dtype=dtype)
    exps = made.mixture.exp()
    torch.testing.assert_close(sample.weights, (exps / exps.sum()).expand(3, 4, 2))
    for i, j in itertools.product(range(3), range(4)):
        means, log_vars, decoder = by_loops(made, image[i].tolist(), text[j].tolist())
        weights = sample.choice[i, j].tolist()
        z = loops.drawn(means, log_vars, weights, noise[i, j].tolist())
        torch.testing.assert_close(sample.mean[i, j], torch.tensor(means, dtype=dtype), rtol=rtol, atol=rtol)
        torch.testing.assert_close(sample.log_var[i, j], torch.tensor(log_vars, dtype=dtype), rtol=rtol, atol=rtol)
        assert sample.sampled_log_var[i, j].tolist() == pytest.approx(loops.mixed(log_vars, weights), rel=rtol)
        assert sample.logits[i, j].item() == pytest.approx(loops.decoded(decoder, z), rel=rtol, abs=rtol)


def test_the_score_without_a_draw_against_loops_and_in_three_readings():
    made, (image, text) = adapter(), features(dtype=torch.float64)
    alpha = made.mixture.softmax(0).tolist()
    readings = {"mixture_mean": made.logits(image, text)}
    readings |= {name: made.logits(image, text, name) for name in ("argmax", "mean_of_decoded")}
    for i, j in itertools.product(range(3), range(4)):
        means, _, decoder = by_loops(made, image[i].tolist(), text[j].tolist())
        expected = {
            "mixture_mean": loops.decoded(decoder, loops.mixed(means, alpha)),
            "argmax": loops.decoded(decoder, means[1]),
            "mean_of_decoded": sum(a * loops.decoded(decoder, m) for a, m in zip(alpha, means, strict=True)),
        }
        for name, value in expected.items():
            assert readings[name][i, j].item() == pytest.approx(value, rel=1e-12, abs=1e-14)


def test_a16_the_readings_of_the_score_agree_where_one_component_is_all():
    made, inputs = adapter(), features(dtype=torch.float64)
    with torch.no_grad():
        made.mixture.copy_(torch.tensor([60.0, -60.0]))
    first = made.logits(*inputs)
    for reading in ("argmax", "mean_of_decoded"):
        torch.testing.assert_close(made.logits(*inputs, reading), first, rtol=1e-12, atol=1e-14)


def test_each_pair_is_by_itself():
    made, (image, text) = adapter(dtype=torch.float32), features()
    for read in (made.logits, lambda v, t: uncertainty(made.distribution(v, t))):
        whole = read(image, text)
        rows = torch.cat([read(image[[i]], text) for i in range(3)])
        columns = torch.cat([read(image, text[[j]]) for j in range(4)], dim=1)
        torch.testing.assert_close(rows, whole, rtol=0, atol=1e-6)
        torch.testing.assert_close(columns, whole, rtol=0, atol=1e-6)


def test_a3_the_mixture_is_one_for_all_pairs_or_one_for_each():
    image, text = features(dtype=torch.float64)
    fixed = adapter().distribution(image, text).weights
    assert (fixed == fixed[0, 0]).all()
    own = adapter(mixture="per_pair").distribution(image, text).weights
    assert own.shape == fixed.shape
    assert (own - own[0, 0]).abs().max() > 1e-3
    torch.testing.assert_close(own.sum(-1), torch.ones(3, 4, dtype=torch.float64))
    assert VariationalAdapter().mixture.softmax(0).tolist() == [0.5, 0.5]


LOGITS = torch.tensor([0.3, -0.4, 1.0], dtype=torch.float64)


def test_a4_hard_choices_are_one_hot_and_as_frequent_as_the_mixture_says():
    uniform = torch.rand(40_000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for logits in (LOGITS, LOGITS[:2], LOGITS[:1]):
        k = len(logits)
        for temperature in (0.1, 1.0, 5.0):
            chosen = gumbel_choice(logits.expand(40_000, k), uniform[:, :k], temperature)
            assert ((chosen == 0) | (chosen == 1)).all()
            assert (chosen.sum(-1) == 1).all()
            torch.testing.assert_close(chosen.mean(0), logits.softmax(0), rtol=0, atol=0.01)


def test_a4_soft_choices_are_the_printed_softmax_and_lend_hard_ones_their_gradient():
    uniform = torch.tensor([[0.2, 0.5, 0.9], [0.7, 0.1, 0.3]], dtype=torch.float64)
    logits = LOGITS.expand(2, 3).clone().requires_grad_()
    soft = gumbel_choice(logits, uniform, 0.7, "soft")
    expected = ((LOGITS - (-uniform.log()).log()) / 0.7).exp()
    torch.testing.assert_close(soft, expected / expected.sum(-1, keepdim=True))
    cost = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    (slope,) = torch.autograd.grad((soft * cost).sum(), logits)
    (hard,) = torch.autograd.grad((gumbel_choice(logits, uniform, 0.7) * cost).sum(), logits)
    torch.testing.assert_close(hard, slope)
    assert slope.abs().max() > 0.1


@pytest.mark.parametrize("temperature", [1e-6, 1e-3, 1.0, 1e6])
def test_choices_are_finite_at_the_ends_of_the_uniform_draw(temperature):
    ends = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    for choice in ("hard", "soft"):
        logits = torch.tensor([[0.0, 0.0]]).expand(4, 2).clone().requires_grad_()
        chosen = gumbel_choice(logits, ends, temperature, choice)
        (chosen * torch.tensor([1.0, 2.0])).sum().backward()
        assert chosen.isfinite().all()
        assert logits.grad.isfinite().all()


def test_a_hard_draw_is_of_one_component_and_a_soft_one_mixes():
    made, inputs = adapter(), features(dtype=torch.float64)
    sample = draw(made, *inputs)
    one = sample.log_var.gather(2, sample.choice.argmax(-1)[..., None, None].expand(3, 4, 1, 4)).squeeze(2)
    assert torch.equal(sample.sampled_log_var, one)
    soft = draw(adapter(choice="soft", temperature=2.0), *inputs)
    assert ((soft.choice > 0) & (soft.choice < 1)).all()
    torch.testing.assert_close(soft.choice.sum(-1), torch.ones(3, 4, dtype=torch.float64))


def test_draws_have_the_mean_and_the_variance_of_the_mixture():
    n = 40_000
    generator = torch.Generator().manual_seed(0)
    mean = torch.tensor([[0.5, -1.0], [2.0, 0.0]], dtype=torch.float64).expand(n, 2, 2)
    log_var = torch.tensor([[-1.0, 0.5], [0.3, -2.0]], dtype=torch.float64).expand(n, 2, 2)
    uniform = torch.rand(n, 2, generator=generator, dtype=torch.float64)
    choice = gumbel_choice(LOGITS[:2].expand(n, 2), uniform, 1.0)
    z, _ = mix(mean, log_var, choice, torch.randn(n, 2, 2, generator=generator, dtype=torch.float64))
    pairs = PairDistribution(mean[:1, None], log_var[:1, None], LOGITS[:2].softmax(0).expand(1, 1, 2))
    centre = (pairs.weights[0, 0, :, None] * mean[0]).sum(0)
    torch.testing.assert_close(z.mean(0), centre, rtol=0, atol=0.03)
    total = uncertainty(pairs, "total", "sum_variance").item()
    assert z.var(0).sum().item() == pytest.approx(total, rel=0.03)
    assert total > uncertainty(pairs, "mixture", "sum_variance").item() + 0.1


def test_a5_what_a_head_says_is_the_log_variance_or_its_sigmoid():
    inputs = features(dtype=torch.float64)
    raw = adapter().distribution(*inputs).log_var
    torch.testing.assert_close(adapter(log_var="sigmoid").distribution(*inputs).log_var, raw.sigmoid())
    everywhere = adapter(log_var="log_sigmoid").distribution(*inputs).log_var
    torch.testing.assert_close(everywhere.exp(), raw.sigmoid())


def test_a17_summaries_of_the_uncertainty():
    pairs = adapter(latent=40).distribution(*features(20, 20, dtype=torch.float64))
    means, log_vars, alpha = (x[2, 3].tolist() for x in pairs)
    within = loops.mixed([[math.exp(lv) for lv in row] for row in log_vars], alpha)
    squares = loops.mixed([[m * m for m in row] for row in means], alpha)
    between = [a - b * b for a, b in zip(squares, loops.mixed(means, alpha), strict=True)]
    listed = {
        ("mixture", "mean_std"): loops.mean(math.sqrt(v) for v in within),
        ("mixture", "mean_variance"): loops.mean(within),
        ("mixture", "sum_variance"): math.fsum(within),
        ("argmax", "mean_std"): loops.mean(math.exp(lv / 2) for lv in log_vars[1]),
        ("total", "sum_variance"): math.fsum(within + between),
    }
    for how, expected in listed.items():
        assert uncertainty(pairs, *how)[2, 3].item() == pytest.approx(expected, rel=1e-12)
    ranked = [uncertainty(pairs, summary=name).flatten().argsort() for name in ("mean_variance", "sum_variance")]
    assert torch.equal(*ranked)


@pytest.mark.parametrize(
    "settings",
    [
        {"layout": "per_component"},
        {"layout": "separate", "components": 3},
        {"norm": "layernorm"},
        {"bottleneck": 7},
        {"mixture": "per_pair", "components": 4},
        {"components": 1},
        {"choice": "soft", "temperature": 0.3},
        {"feature_norm": "none", "input_scale": "d"},
        {"log_var": "log_sigmoid"},
    ],
    ids=str,
)
def test_every_layout_and_reading_learns_in_all_its_weights(settings):
    made = adapter(dtype=torch.float32, **settings)
    sample = draw(made, *features())
    k = made.config.components
    assert [tuple(x.shape) for x in sample] == [(3, 4), (3, 4, k, 4), (3, 4, k, 4), (3, 4, k), (3, 4, k), (3, 4, 4)]
    vacsr(sample, match_matrix(["a", "b", "c"], ["a", "a", "b", "c"])).loss.backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad.isfinite().all()
        assert parameter.grad.abs().sum() > 0 or (k == 1 and name == "mixture"), name


def test_separate_trunks_serve_their_own_heads():
    inputs = features(dtype=torch.float64)
    for layout, trunks in (("shared", 1), ("per_component", 2), ("separate", 4)):
        made = adapter(layout=layout)
        assert len(made.trunks) == trunks
        before = made.distribution(*inputs)
        with torch.no_grad():
            made.trunks[-1][0].bias += 1.0
        after = made.distribution(*inputs)
        mean, log_var = ((a - b).abs().amax((0, 1, 3)) > 1e-6 for a, b in zip(before[:2], after[:2], strict=True))
        assert mean.tolist() == [layout == "shared", layout != "separate"]
        assert log_var.tolist() == [layout == "shared", True]


def test_a15_the_decoder_learns_nothing_from_the_variance():
    made = adapter(dtype=torch.float32)
    sample, positives = draw(made, *features()), match_matrix(["a", "b", "c"], ["a", "a", "b", "c"])
    for loss in (sigma_positive, sigma_negative):
        loss(sample.sampled_log_var, sample.logits, positives).backward(retain_graph=True)
    assert all(parameter.grad is None for parameter in [*made.decoder.parameters(), *made.mean_heads.parameters()])
    assert made.log_var_heads[0].weight.grad is not None


def test_the_same_seed_gives_the_same_weights_and_draws():
    inputs = features()
    state = torch.get_rng_state()
    one, other = (draw(adapter(3, torch.float32), *inputs, seed=5) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert not torch.equal(draw(adapter(3, torch.float32), *inputs, seed=6).logits, one.logits)
    assert not torch.equal(draw(adapter(4, torch.float32), *inputs, seed=5).mean, one.mean)
    made = adapter(3, torch.float32)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        first = made(*inputs).logits
        torch.manual_seed(1)
        assert torch.equal(made(*inputs).logits, first)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_features_of_every_type_and_length_give_finite_numbers_and_gradients(dtype):
    made = adapter(dtype=torch.float32)
    for size in (1e-15, 1e-8, 1e-3, 1.0, 1e3):
        image, text = ((size * x).to(dtype) for x in features(dtype=torch.float64))
        image[0] = 0
        image, text = image.requires_grad_(), text.requires_grad_()
        sample = draw(made, image, text)
        (sample.logits.sum() + sample.sampled_log_var.sum() + made.logits(image, text).sum()).backward()
        assert all(x.isfinite().all() and x.dtype == torch.float32 for x in sample)
        # A float16 gradient of a vector of length 1e-8 is out of that type's range.
        assert dtype == torch.float16 or (image.grad.isfinite().all() and text.grad.isfinite().all())


def test_log_variances_stay_within_bounds_with_a_way_back():
    made = adapter(dtype=torch.float32)
    with torch.no_grad():
        made.log_var_heads[0].bias.fill_(1e4)
        made.log_var_heads[1].bias.fill_(-1e4)
    sample = draw(made, *features())
    assert sample.log_var[:, :, 0].eq(10).all()
    assert sample.log_var[:, :, 1].eq(-10).all()
    loss = vacsr(sample, match_matrix(["a", "b", "c"], ["a", "a", "b", "c"])).kl
    loss.backward()
    assert loss.isfinite()
    assert (made.log_var_heads[0].bias.grad > 0).all()
    assert (made.log_var_heads[1].bias.grad < 0).all()


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_under_autocast_only_trunk_and_heads_are_coarser(half):
    made, inputs = adapter(dtype=torch.float32), features()
    plain, ranked, decoded = draw(made, *inputs), made.logits(*inputs), made.decode(torch.ones(3, 4))
    with torch.autocast("cpu", dtype=half):
        cast, again = draw(made, *inputs), made.logits(*inputs)
        assert torch.equal(made.decode(torch.ones(3, 4)), decoded)
    assert torch.equal(again, ranked)
    assert torch.equal(cast.choice, plain.choice)
    for a, b in zip(cast, plain, strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a, b, rtol=0.02, atol=0.02)
    assert not torch.equal(cast.mean, plain.mean)


def test_an_adapter_in_half_precision_still_gives_float32():
    sample = draw(adapter(dtype=torch.bfloat16), *features())
    assert all(x.dtype == torch.float32 for x in sample)


def test_mistakes_are_told():
    made, (image, text) = adapter(dtype=torch.float32), features()
    with pytest.raises(UserError, match=r"text features of shape \(4, 5\)"):
        made(image, text[:, :5])
    with pytest.raises(UserError, match="rows of 6, the width of the adapter"):
        made.logits(features(d=8)[0], text)
    image[1, 2] = float("inf")
    with pytest.raises(UserError, match="image with 1 of 18"):
        made.distribution(image, text)
    with pytest.raises(UserError, match="temperature"):
        gumbel_choice(LOGITS, LOGITS, 0.0)
    for wrong, word in (
        ({"components": 0}, "components = 0"),
        ({"bottleneck": 0}, "bottleneck = 0"),
        ({"temperature": 0.0}, "temperature = 0"),
        ({"input_scale": -1.0}, "input_scale = -1"),
        ({"mixture": "per_pair", "layout": "separate"}, "per_pair"),
    ):
        with pytest.raises(UserError, match=word):
            AdapterConfig(**wrong)


@pytest.mark.parametrize("name", ["layout", "norm", "feature_norm", "mixture", "choice", "log_var", "input_scale"])
def test_an_unknown_reading_is_refused_with_the_known_ones(name, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as in production, where types are not checked
    with pytest.raises(UserError, match=f"{name} = 'other'"):
        AdapterConfig(**{name: "other"})
    made, inputs = adapter(dtype=torch.float32), features()
    with pytest.raises(UserError, match="one of mixture_mean"):
        made.logits(*inputs, "other")
    with pytest.raises(UserError, match="one of mean_std"):
        uncertainty(made.distribution(*inputs), summary="other")
