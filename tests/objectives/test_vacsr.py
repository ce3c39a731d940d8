"""The losses of VACSR: against plain loops, the listed figures, every reading of the paper, edges and mistakes."""

import math

import jaxtyping
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from litotes.errors import UserError
from litotes.objectives import (
    PairSample,
    VacsrConfig,
    hardest_negatives,
    kl_bound,
    match_matrix,
    paper_weights,
    reconstruction,
    sigma_negative,
    sigma_positive,
    vacsr,
)
from reference import vacsr as loops

# Two captions of one picture, one picture twice, and a caption whose picture is not in the batch.
POSITIVES = match_matrix(["a", "b", "a", "c"], ["a", "a", "b", "c", "z"])
LABELS = POSITIVES.tolist()
OPEN = torch.tensor([[True, False, False, False]])


def drawn(bi=4, bt=5, k=2, d=3, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    choice = torch.nn.functional.one_hot(normal(bi, bt, k).argmax(-1), k).double()
    mean, log_var = normal(bi, bt, k, d), normal(bi, bt, k, d)
    sampled = (choice.unsqueeze(-1) * log_var).sum(-2)
    weights = normal(bi, bt, k).softmax(-1)
    return PairSample(*(x.to(dtype) for x in (3 * normal(bi, bt), mean, log_var, weights, choice, sampled)))


def leaves(sample):
    """The same numbers as leaves of a graph."""
    return PairSample(*(x.clone().requires_grad_() for x in sample))


def logit(p):
    return math.log(p / (1 - p))


def rows(*numbers):
    return torch.tensor([numbers], dtype=torch.float64)


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
def test_every_term_against_loops(dtype, rtol):
    sample = drawn(dtype=dtype)
    config = VacsrConfig(
        recon_weight=0.7, kl_weight=0.3, sigma_positive_weight=1.1, sigma_negative_weight=0.2, hard_negatives=2
    )
    found = vacsr(sample, POSITIVES, config)
    logits, log_var = sample.logits.tolist(), sample.sampled_log_var.tolist()
    expected = (
        loops.recon(logits, LABELS),
        loops.kl(sample.mean.tolist(), sample.log_var.tolist(), sample.weights.tolist()),
        loops.sigma_positive(log_var, logits, LABELS),
        loops.sigma_negative(log_var, logits, LABELS, count=2),
    )
    assert found[1:] == pytest.approx(expected, rel=rtol)
    weighted = math.fsum(w * x for w, x in zip((0.7, 0.3, 1.1, 0.2), expected, strict=True))
    assert found.loss.item() == pytest.approx(weighted, rel=rtol)
    assert all(term.dtype == dtype for term in found)


def test_the_default_weights_are_the_papers():
    found = vacsr(drawn(), POSITIVES)
    total = found.recon + 0.0005 * found.kl + found.sigma_positive + found.sigma_negative
    assert found.loss.item() == pytest.approx(total.item(), rel=1e-14)
    assert found.sigma_negative.item() == pytest.approx(
        loops.sigma_negative(drawn().sampled_log_var.tolist(), drawn().logits.tolist(), LABELS), rel=1e-12
    )


def test_gradients_of_the_whole_loss_are_its_slopes():
    sample, positives = drawn(2, 3, d=2), POSITIVES[:2, 1:4]
    config = VacsrConfig(recon_gradient="exact", stop_gradient=False, hard_negatives=2, directions="both")

    def loss(logits, mean, log_var, weights, sampled):
        return vacsr(PairSample(logits, mean, log_var, weights, sample.choice, sampled), positives, config).loss

    inputs = [x.clone().requires_grad_() for x in (*sample[:4], sample.sampled_log_var)]
    assert torch.autograd.gradcheck(loss, inputs, fast_mode=True)


def test_the_straight_through_gradient_is_that_of_cross_entropy():
    # A10 with it: the mean over all pairs.
    logits = (4 * drawn(8, 8).logits).requires_grad_()
    positives = torch.eye(8, dtype=torch.bool)
    reconstruction(logits, positives).backward()
    twin = logits.detach().clone().requires_grad_()
    binary_cross_entropy_with_logits(twin, positives.double()).backward()
    torch.testing.assert_close(logits.grad, twin.grad, rtol=0, atol=1e-15)
    plain = logits.detach().clone().requires_grad_()
    exact = reconstruction(plain, positives, VacsrConfig(recon_gradient="exact"))
    exact.backward()
    assert exact.item() == reconstruction(logits, positives).item()
    assert (plain.grad - twin.grad).abs().max() * 64 > 0.5


def test_a10_sum_over_the_captions_of_an_image():
    logits = drawn().logits
    mean, summed = (reconstruction(logits, POSITIVES, VacsrConfig(recon_reduction=r)) for r in ("mean", "per_image"))
    assert summed.item() == pytest.approx(5 * mean.item(), rel=1e-14)


# The listed mixture: two components in two dimensions.
MU = torch.tensor([[[[0.0, 2.0], [1.0, -1.0]]]], dtype=torch.float64)
LV = torch.tensor([[[[0.0, -1.0], [0.5, 0.2]]]], dtype=torch.float64)
ALPHA = torch.tensor([[[0.3, 0.7]]], dtype=torch.float64)


def test_the_listed_divergences_and_their_bound():
    for k, listed in enumerate((2.18394, 1.08506)):
        one = kl_bound(MU[:, :, [k]], LV[:, :, [k]], torch.ones(1, 1, 1, dtype=torch.float64), "sum")
        assert one.item() == pytest.approx(listed, abs=6e-6)
    assert kl_bound(MU, LV, ALPHA, "sum").item() == pytest.approx(1.414725, abs=6e-7)
    assert kl_bound(MU, LV, ALPHA, "mean").item() == pytest.approx(1.414725 / 2, abs=6e-7)


def test_the_bound_is_above_the_divergence_by_monte_carlo():
    def estimate(mu, lv, alpha, draws=200_000):
        generator = torch.Generator().manual_seed(1)
        component = torch.multinomial(alpha, draws, replacement=True, generator=generator)
        noise = torch.randn(draws, mu.shape[-1], generator=generator, dtype=torch.float64)
        x = mu[component] + (lv[component] / 2).exp() * noise
        density = torch.distributions.Normal(mu, (lv / 2).exp()).log_prob(x.unsqueeze(1)).sum(-1)
        prior = torch.distributions.Normal(0.0, 1.0).log_prob(x).sum(-1)
        return ((density + alpha.log()).logsumexp(-1) - prior).mean().item()

    assert estimate(MU[0, 0], LV[0, 0], ALPHA[0, 0]) == pytest.approx(0.895, abs=0.01)
    sample = drawn(2, 2)
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        at = slice(i, i + 1), slice(j, j + 1)
        bound = kl_bound(sample.mean[at], sample.log_var[at], sample.weights[at], "sum").item()
        assert bound > estimate(sample.mean[i, j], sample.log_var[i, j], sample.weights[i, j], 20_000)


def test_equal_components_reach_the_bound():
    # One Gaussian named twice: the divergence itself, by torch's own formula.
    mu, lv = MU[:, :, [0, 0]], LV[:, :, [0, 0]]
    normal = torch.distributions.Normal(mu[0, 0, 0], (lv[0, 0, 0] / 2).exp())
    exact = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0)).sum()
    assert kl_bound(mu, lv, ALPHA, "sum").item() == pytest.approx(exact.item(), rel=1e-12)


def test_a9_the_divergence_is_a_mean_over_dimensions():
    shape = (2, 3, 2, 7)
    zero, one, half = torch.zeros(shape), torch.ones(shape), torch.full(shape[:3], 0.5)
    assert kl_bound(zero, zero, half).item() == 0
    assert kl_bound(one, zero, half).item() == 0.5
    assert kl_bound(one, zero, half, "sum").item() == 3.5


@pytest.mark.parametrize("lv", [1e-15, 1e-8, -1e-8, 1e-4])
def test_the_divergence_of_a_variance_near_one_keeps_its_digits(lv):
    shape = (1, 1, 1, 1)
    found = kl_bound(torch.zeros(shape), torch.full(shape, lv), torch.ones(shape[:3])).item()
    assert found >= 0
    assert found == pytest.approx(lv * lv / 4, rel=1e-2, abs=1e-16)


def fitted(p, config, loss=sigma_positive, positives=OPEN[:, :1]):
    """The lv at which L_sigma is least for a pair of score p, by bisection of its slope."""
    low, high = -9.9, 9.9
    for _ in range(40):
        lv = torch.full((1, positives.shape[1], 1), (low + high) / 2, dtype=torch.float64, requires_grad=True)
        logits = torch.full(positives.shape, logit(p), dtype=torch.float64)
        loss(lv, logits, positives, config).backward()
        low, high = (low, lv.flatten()[0].item()) if lv.grad.sum() > 0 else (lv.flatten()[0].item(), high)
    return low


@pytest.mark.parametrize(
    ("readings", "listed"),
    [
        ({}, -2.3136),  # A5 (i), logit(0.09)
        ({"variance": "exp"}, -2.4079),
        ({"variance": "sigmoid_std"}, -0.8473),
        ({"variance": "exp", "denominator": "std"}, -6.2022),  # A6
        ({"denominator": "std"}, logit((0.09 / 2) ** 2)),
        ({"log_term": "log_var"}, math.log(0.09)),  # A7
        ({"variance": "exp", "log_term": "log_var"}, -2.4079),
    ],
)
def test_a5_a6_a7_where_the_variance_is_least(readings, listed):
    assert fitted(0.7, VacsrConfig(**readings)) == pytest.approx(listed, abs=6e-5)


def test_a5_a_sigmoid_in_every_place_is_the_same_inside_this_loss():
    sample = drawn()
    everywhere = torch.nn.functional.logsigmoid(sample.sampled_log_var)
    found = sigma_positive(everywhere, sample.logits, POSITIVES, VacsrConfig(variance="exp"))
    torch.testing.assert_close(found, sigma_positive(sample.sampled_log_var, sample.logits, POSITIVES))


def test_a8_elementwise_mean_sum_or_variance_first():
    logits, positives = rows(0.3), OPEN[:, :1]
    equal = torch.full((1, 1, 4), -0.7, dtype=torch.float64)
    single = torch.full((1, 1, 1), -0.7, dtype=torch.float64, requires_grad=True)
    sigma_positive(single, logits, positives).backward()
    for aggregation, share in (("elementwise", 1 / 4), ("sum", 1.0), ("first", 1 / 4)):
        lv = equal.clone().requires_grad_()
        sigma_positive(lv, logits, positives, VacsrConfig(aggregation=aggregation)).backward()
        torch.testing.assert_close(lv.grad.flatten(), (share * single.grad).flatten().expand(4))
    # Unequal ones: each has its own best place, or only their mean variance has.
    lv = torch.tensor([[[0.0, math.log(3.0)]]], dtype=torch.float64)
    found = sigma_positive(lv, logits, positives, VacsrConfig(aggregation="first"))
    assert found.item() == pytest.approx(loops.element([math.log(2.0)], 1 - loops.sigmoid(0.3)), rel=1e-12)
    found = sigma_positive(lv, logits, positives)
    assert found.item() == pytest.approx(loops.element(lv[0, 0].tolist(), 1 - loops.sigmoid(0.3)), rel=1e-12)


# The listed choice of a hard negative: p = .9 | .8 .1 .02.
P = rows(*(logit(p) for p in (0.9, 0.8, 0.1, 0.02)))
S2 = rows(*(logit(s) for s in (0.02, 0.05, 0.5, 0.9))).unsqueeze(-1)


def test_a11_the_hardest_negative_is_the_most_similar():
    assert sigma_positive(S2, P, OPEN).item() == pytest.approx(-1.706, abs=6e-4)
    assert sigma_negative(S2, P, OPEN).item() == pytest.approx(-1.0979, abs=6e-5)
    literal = sigma_negative(S2, P, OPEN, VacsrConfig(hardest="bracket"))
    assert literal.item() == pytest.approx(0.4809, abs=6e-5)
    two = sigma_negative(S2, P, OPEN, VacsrConfig(hard_negatives=2))
    assert two.item() == pytest.approx((-1.0979 + 0.4634) / 2, abs=6e-5)


def test_the_choice_is_by_the_logit_where_the_score_is_saturated():
    scores = torch.tensor([[90.0, 60.0, 70.0, 65.0]])
    assert scores.sigmoid()[0, 1] == scores.sigmoid()[0, 2]
    row, column = hardest_negatives(scores, ~OPEN, 2)
    assert row.tolist() == [0, 0]
    assert column.tolist() == [2, 3]
    log_var = torch.arange(4.0)[None, :, None]
    assert sigma_negative(log_var, scores, OPEN).item() == pytest.approx(math.log(loops.sigmoid(2.0)) / 2)


def test_equal_scores_go_in_order_and_rows_give_what_they_have():
    wrong = torch.tensor([[True, True, True], [False, True, False], [False, False, False]])
    row, column = hardest_negatives(torch.zeros(3, 3), wrong, 2)
    assert row.tolist() == [0, 0, 1]
    assert column.tolist() == [0, 1, 1]


def test_a12_hardest_captions_of_images_or_both_ways():
    sample = drawn()
    turned = [sample.sampled_log_var.transpose(0, 1), sample.logits.T, POSITIVES.T]
    one, other = sigma_negative(sample.sampled_log_var, sample.logits, POSITIVES), sigma_negative(*turned)
    both = VacsrConfig(directions="both")
    found = sigma_negative(sample.sampled_log_var, sample.logits, POSITIVES, both)
    assert abs(one - other) > 0.01
    assert found.item() == pytest.approx(((one + other) / 2).item(), rel=1e-12)
    assert sigma_negative(*turned, both).item() == pytest.approx(found.item(), rel=1e-12)


def test_the_order_of_images_and_captions_does_not_matter():
    sample = drawn()
    image, text = torch.tensor([2, 0, 3, 1]), torch.tensor([4, 2, 0, 1, 3])
    moved = PairSample(*(x[image][:, text] for x in sample))
    for config in (None, VacsrConfig(directions="both", hard_negatives=2), VacsrConfig(hardest="bracket")):
        expected = vacsr(sample, POSITIVES, config)
        found = vacsr(moved, POSITIVES[image][:, text], config)
        torch.testing.assert_close(torch.stack(found), torch.stack(expected), rtol=1e-12, atol=0)


def test_a13_a_more_similar_negative_gets_less_variance():
    pair = torch.tensor([[False]])
    fits = [fitted(p, VacsrConfig(), sigma_negative, pair) for p in (0.1, 0.5, 0.9)]
    assert fits == sorted(fits, reverse=True)
    assert fits[1] == pytest.approx(logit(0.25), abs=1e-6)
    zero = [fitted(p, VacsrConfig(negative_target=0.0), sigma_negative, pair) for p in (0.1, 0.5, 0.9)]
    assert zero == sorted(zero)
    assert zero[2] == pytest.approx(logit(0.81), abs=1e-6)


def test_a14_two_ways_to_attach_the_papers_weights():
    assert paper_weights() == paper_weights(reading="equation_13") == VacsrConfig()
    assert paper_weights(0.1, 2.0, 3.0) == VacsrConfig(
        kl_weight=0.1, sigma_positive_weight=2.0, sigma_negative_weight=6.0
    )
    assert paper_weights(0.1, 2.0, 3.0, "equation_13") == VacsrConfig(
        recon_weight=2.0, kl_weight=0.1, sigma_positive_weight=6.0, sigma_negative_weight=6.0
    )
    for reading, learns in (("appendix", True), ("equation_13", False)):
        sample = leaves(drawn())
        vacsr(sample, POSITIVES, paper_weights(beta=0.0, reading=reading)).loss.backward()
        assert bool(sample.logits.grad.abs().sum() > 0) == learns


def test_a15_scores_learn_nothing_from_the_variance():
    for loss in (sigma_positive, sigma_negative):
        sample = leaves(drawn())
        loss(sample.sampled_log_var, sample.logits, POSITIVES).backward()
        assert sample.logits.grad is None
        loss(sample.sampled_log_var, sample.logits, POSITIVES, VacsrConfig(stop_gradient=False)).backward()
        assert sample.logits.grad.abs().sum() > 0


def test_a20_positives_are_by_picture_and_not_the_diagonal():
    sample = drawn(3, 3)
    repeated = match_matrix(["x", "y", "x"], ["x", "y", "x"])
    logits, log_var = sample.logits.tolist(), sample.sampled_log_var.tolist()
    found, diagonal = vacsr(sample, repeated), vacsr(sample, torch.eye(3, dtype=torch.bool))
    assert found.sigma_positive.item() == pytest.approx(loops.sigma_positive(log_var, logits, repeated.tolist()))
    assert found.sigma_negative.item() == pytest.approx(loops.sigma_negative(log_var, logits, repeated.tolist()))
    assert found.recon.item() == pytest.approx(loops.recon(logits, repeated.tolist()))
    assert all(abs(a - b) > 1e-4 for a, b in zip(found[3:], diagonal[3:], strict=True))
    assert abs(found.recon - diagonal.recon) > 1e-4


@pytest.mark.parametrize("label", [True, False])
def test_a_batch_of_one_and_all_or_no_pairs_positive(label):
    for bi, bt in ((1, 1), (1, 4), (4, 1), (3, 3)):
        sample = leaves(drawn(bi, bt))
        found = vacsr(sample, torch.full((bi, bt), label), VacsrConfig(hard_negatives=3, directions="both"))
        found.loss.backward()
        assert all(term.isfinite() for term in found)
        assert (found.sigma_negative if label else found.sigma_positive).item() == 0
        assert sample.sampled_log_var.grad.isfinite().all()
        assert sample.logits.grad.isfinite().all()


def test_without_a_pair_the_gradient_is_zero():
    for loss, label in ((sigma_positive, False), (sigma_negative, True)):
        sample = leaves(drawn())
        loss(sample.sampled_log_var, sample.logits, torch.full((4, 5), label)).backward()
        assert sample.sampled_log_var.grad.abs().sum() == 0


def test_an_image_without_a_wrong_caption_is_left_out():
    positives = POSITIVES.clone()
    positives[1] = True
    sample = drawn()
    logits, log_var = sample.logits.tolist(), sample.sampled_log_var.tolist()
    found = sigma_negative(sample.sampled_log_var, sample.logits, positives, VacsrConfig(hard_negatives=4))
    assert found.item() == pytest.approx(loops.sigma_negative(log_var, logits, positives.tolist(), 4), rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("variance", ["sigmoid", "exp", "sigmoid_std"])
def test_values_and_gradients_are_finite_at_every_magnitude(dtype, variance):
    config = VacsrConfig(variance=variance, stop_gradient=False, directions="both")
    # sigmoid(lv)^2 has slopes of 1e8, out of the range of a float16 gradient.
    magnitudes = (1e-15, 1e-8, 1e-3, 1.0) + (1e3,) * (variance != "sigmoid_std" or dtype != torch.float16)
    for size in magnitudes:
        normal = drawn(dtype=dtype)
        sizes = {"logits": size, "mean": min(size, 30.0), "log_var": min(size, 3.0), "sampled_log_var": size}
        sample = leaves(normal._replace(**{name: factor * getattr(normal, name) for name, factor in sizes.items()}))
        found = vacsr(sample, POSITIVES, config)
        found.loss.backward()
        assert all(term.isfinite() for term in found)
        assert found.loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert all(x.grad is None or x.grad.isfinite().all() for x in sample)


def test_a_variance_out_of_bounds_still_finds_its_way_back():
    # Far too small for a residual of 0.7, and far too large for one of 1e-3.
    for lv, p, way in ((-1e3, 0.3, -1), (1e3, 0.999, 1)):
        sampled = torch.full((1, 1, 2), lv, requires_grad=True)
        found = sigma_positive(sampled, torch.tensor([[logit(p)]]), OPEN[:, :1])
        found.backward()
        assert found.item() == pytest.approx(loops.element([math.copysign(10, lv)], 1 - p), rel=1e-4)
        assert (sampled.grad * way > 0).all()
    # And one that is as small as may be for a pair that deserves less is pushed no further.
    sampled = torch.full((1, 1, 2), -1e3, requires_grad=True)
    sigma_positive(sampled, torch.tensor([[30.0]]), OPEN[:, :1]).backward()
    assert (sampled.grad == 0).all()


def test_saturated_scores_keep_the_gradient_of_the_reconstruction():
    logits = torch.tensor([[-200.0, 200.0]], requires_grad=True)
    reconstruction(logits, torch.tensor([[True, False]])).backward()
    assert logits.grad.tolist() == [[-0.5, 0.5]]


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_changes_nothing(half):
    sample = drawn(dtype=torch.float32)
    for config in (VacsrConfig(), VacsrConfig(hardest="bracket", directions="both")):
        plain = vacsr(sample, POSITIVES, config)
        with torch.autocast("cpu", dtype=half):
            cast = vacsr(sample, POSITIVES, config)
        assert all(torch.equal(a, b) for a, b in zip(plain, cast, strict=True))


@pytest.mark.parametrize("name", ["logits", "mean", "log_var", "weights", "sampled_log_var"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused_by_name(name, bad):
    sample = drawn()
    getattr(sample, name).view(-1)[3] = bad
    wanted = "log_var with" if name == "sampled_log_var" else f"{name} with"
    with pytest.raises(UserError, match=wanted):
        vacsr(sample, POSITIVES)


@pytest.mark.parametrize("name", ["mean", "log_var", "weights", "choice", "sampled_log_var"])
def test_shapes_that_do_not_fit_are_refused_by_name(name):
    sample = drawn()
    with pytest.raises(UserError, match=f"{name} of shape"):
        vacsr(sample._replace(**{name: getattr(sample, name)[:, :4]}), POSITIVES)


def test_mistakes_are_told():
    sample = drawn()
    with pytest.raises(UserError, match=r"positives of shape \(5, 4\)"):
        vacsr(sample, POSITIVES.T)
    with pytest.raises(UserError, match="log_var of shape"):
        sigma_positive(sample.sampled_log_var[:3], sample.logits, POSITIVES)
    with pytest.raises(UserError, match="at least one of each"):
        reconstruction(torch.zeros(0, 3), torch.zeros(0, 3, dtype=torch.bool))
    with pytest.raises(UserError, match="kl_weight = -1"):
        VacsrConfig(kl_weight=-1.0)
    with pytest.raises(UserError, match="recon_weight = inf"):
        VacsrConfig(recon_weight=math.inf)
    with pytest.raises(UserError, match=r"negative_target = 1\.5"):
        VacsrConfig(negative_target=1.5)
    with pytest.raises(UserError, match="hard_negatives = 0"):
        VacsrConfig(hard_negatives=0)


READINGS = ("recon_gradient", "recon_reduction", "kl_reduction", "variance", "denominator", "log_term", "aggregation")


@pytest.mark.parametrize("name", [*READINGS, "hardest", "directions"])
def test_an_unknown_reading_is_refused_with_the_known_ones(name, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as in production, where types are not checked
    with pytest.raises(UserError, match=f"{name} = 'other'"):
        VacsrConfig(**{name: "other"})
    with pytest.raises(UserError, match="one of appendix, equation_13"):
        paper_weights(reading="other")
