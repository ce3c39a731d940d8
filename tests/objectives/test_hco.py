"""The hyperbolic contrastive objective: each reading pinned, a reference in loops, edges."""

import math
from functools import partial

import jaxtyping
import pytest
import torch

from litotes.errors import UserError
from litotes.objectives import HcoConfig, hco
from reference import losses

SIZE = 5


def batch(n=SIZE, d=7, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [2 * torch.randn(n, d, generator=generator, dtype=torch.float64).to(dtype) for _ in range(4)]


def expected(features, config, size=None):
    placed = [[losses.placed(row, config.norm, size) for row in feature.tolist()] for feature in features]
    if config.distance == "cosine":

        def measure(x, y):
            return config.cosine_slope * (1 - losses.cosine(x, y))
    else:
        measure = partial(losses.distance, c=config.curvature)
    tau = config.temperature
    if config.reading == "all_pairs":
        return losses.hco(*placed, measure, tau)
    return losses.hco_literal(*placed, measure, tau, 1 if config.reading == "paper_literal_sign" else -1)


def test_the_defaults_are_the_papers():
    config = HcoConfig()
    assert (config.curvature, config.temperature, config.norm, config.reading) == (0.1, 0.01, "unit", "all_pairs")
    assert config.distance == "hyperbolic"


@pytest.mark.parametrize("reading", ["all_pairs", "paper_literal", "paper_literal_sign"])
@pytest.mark.parametrize("distance", ["hyperbolic", "cosine"])
@pytest.mark.parametrize(("norm", "size"), [("unit", None), ("none", None), ("clip", 2.3), ("scale", 4.0)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_every_reading_treatment_and_distance_against_loops(reading, distance, norm, size, dtype):
    features = batch(dtype=dtype)
    image_norm = size if norm == "scale" else None
    config = HcoConfig(temperature=0.5, norm=norm, image_norm=image_norm, reading=reading, distance=distance)
    got = hco(*features, config)
    rtol = 1e-10 if dtype == torch.float64 else 1e-6
    for term, value in zip(got, expected(features, config, size), strict=True):
        assert term.dtype == dtype
        assert term.item() == pytest.approx(value, rel=rtol)
    assert got.total.item() == pytest.approx(sum(expected(features, config, size)), rel=rtol)


def test_reading_1_a_smaller_distance_of_the_matched_pair_is_a_smaller_loss():
    image, positive, negated, negative = batch()
    closer = negated.clone()
    closer[0] = 0.5 * negated[0] + 0.5 * image[0]
    for reading, sign in (("all_pairs", -1), ("paper_literal_sign", 1)):
        config = HcoConfig(temperature=1.0, reading=reading)
        before = hco(image, positive, negated, negative, config).image_to_text
        after = hco(image, positive, closer, negative, config).image_to_text
        assert (after - before) * sign > 0


def test_reading_2_all_pairs_punish_other_pictures_and_the_literal_denominator_does_not_see_them():
    image, positive, negated, negative = batch()
    same = HcoConfig(temperature=0.1)
    literal = HcoConfig(temperature=0.1, reading="paper_literal")
    collapsed = [torch.ones(SIZE, 7, dtype=torch.float64)] * 4
    aligned = [image, image, image, -image]
    # Features that are all one vector reach the literal optimum of equal distances; all pairs prefer alignment.
    assert hco(*collapsed, literal).text_to_image.item() == pytest.approx(math.log(SIZE))
    assert hco(*aligned, literal).text_to_image.item() == pytest.approx(math.log(SIZE))
    assert hco(*collapsed, same).text_to_image.item() == pytest.approx(math.log(SIZE))
    assert hco(*aligned, same).text_to_image.item() < 0.01
    # Moving image 1 towards P'_0 alone changes what row 0 sees in its denominator.
    moved = image.clone()
    moved[1] = negated[0]
    before, after = (hco(x, positive, negated, negative, same).text_to_image for x in (image, moved))
    assert after > before


def test_reading_2_negatives_of_the_other_rows_count():
    image, positive, negated, negative = batch()
    config = HcoConfig(temperature=0.1)
    rolled = hco(image, positive, negated, negative.roll(1, 0), config)
    plain = hco(image, positive, negated, negative, config)
    torch.testing.assert_close(rolled.image_to_text, plain.image_to_text)
    torch.testing.assert_close(rolled.text_to_text, plain.text_to_text)


def test_reading_3_the_loss_is_a_mean_over_the_batch():
    features = batch()
    order = torch.tensor([3, 0, 4, 1, 2])
    config = HcoConfig(temperature=0.5)
    plain = hco(*features, config)
    for a, b in zip(plain, hco(*(f[order] for f in features), config), strict=True):
        torch.testing.assert_close(a, b)
    doubled = hco(*(torch.cat([f, f]) for f in features), config)
    # Twice the batch adds ln 2 to every row's denominator, and nothing is summed twice.
    for a, b in zip(plain, doubled, strict=True):
        assert b.item() == pytest.approx(a.item() + math.log(2))


def test_reading_4_unit_features_forget_their_length_and_raw_ones_do_not():
    image, *texts = batch()
    unit, raw = HcoConfig(temperature=0.5), HcoConfig(temperature=0.5, norm="none")
    torch.testing.assert_close(hco(3 * image, *texts, unit).total, hco(image, *texts, unit).total)
    assert hco(3 * image, *texts, raw).total != pytest.approx(hco(image, *texts, raw).total.item(), rel=1e-3)


def test_reading_5_the_models_temperature_replaces_the_word():
    config = HcoConfig(temperature="model")
    assert config.with_model_temperature(0.06).temperature == pytest.approx(0.06 * 2.35 / 1.5)
    assert HcoConfig(temperature=0.2).with_model_temperature(0.06).temperature == 0.2
    with pytest.raises(UserError, match="model"):
        hco(*batch(), config)


def test_rotations_change_nothing():
    features = batch()
    turn = torch.linalg.qr(torch.randn(7, 7, generator=torch.Generator().manual_seed(9), dtype=torch.float64))[0]
    for a, b in zip(hco(*features), hco(*(f @ turn for f in features)), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_a_batch_of_one_has_nothing_to_choose_from():
    image, positive, negated, negative = batch(1)
    terms = hco(image, positive, negated, negative, HcoConfig(temperature=1.0))
    assert terms.text_to_image == 0
    assert terms.image_to_text > 0
    assert terms.text_to_text > 0


def test_gradients_equal_finite_differences():
    features = [f.requires_grad_() for f in batch(3, 4)]
    for norm in ("unit", "none", "clip"):
        config = HcoConfig(temperature=1.0, norm=norm)
        assert torch.autograd.gradcheck(lambda *f, c=config: hco(*f, c).total, features)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("norm", ["unit", "none", "clip", "scale"])
@pytest.mark.parametrize("reading", ["all_pairs", "paper_literal"])
def test_loss_and_gradient_are_finite_at_every_magnitude_with_repeats_and_zeros(dtype, norm, reading):
    config = HcoConfig(norm=norm, image_norm=1.0, reading=reading)
    # A float16 input's gradient is float16 too and ends at 65504; that of a unit vector grows as 1 / length.
    for size in (1.0, 30.0) if dtype == torch.float16 else (1e-15, 1e-8, 1e-3, 1.0, 30.0, 1e3):
        features = [(size * f).to(dtype) for f in batch()]
        features[2][0] = features[1][0]  # P' equal to P
        features[3][1] = features[2][1]  # N equal to P'
        features[0][2] = features[2][2]  # the picture's vector equal to its caption's
        features[2][3] = features[2][4]  # one caption twice
        features[1][4] = 0
        features = [f.requires_grad_() for f in features]
        total = hco(*features, config).total
        total.backward()
        assert total.isfinite()
        assert all(f.grad.isfinite().all() for f in features)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("distance", ["hyperbolic", "cosine"])
@pytest.mark.parametrize("reading", ["all_pairs", "paper_literal"])
def test_autocast_changes_nothing(half, distance, reading):
    features = batch(dtype=torch.float32)
    config = HcoConfig(distance=distance, reading=reading)
    plain = hco(*features, config)
    with torch.autocast("cpu", dtype=half):
        cast = hco(*features, config)
    for a, b in zip(plain, cast, strict=True):
        assert b.dtype == torch.float32
        assert torch.equal(a, b)


def test_mistakes_are_told_by_name():
    features = batch()
    features[2][1, 0] = float("nan")
    with pytest.raises(UserError, match="negated_positive with 1 of 35 numbers"):
        hco(*features)
    for wrong, word in (
        ({"temperature": 0.0}, "temperature"),
        ({"curvature": -0.1}, "curvature"),
        ({"norm": "scale"}, "image_norm"),
        ({"clip_norm": 0.0}, "clip_norm"),
        ({"image_norm": -1.0}, "image_norm"),
        ({"cosine_slope": 0.0}, "cosine_slope"),
    ):
        with pytest.raises(UserError, match=word):
            HcoConfig(**wrong)


@pytest.mark.parametrize(("name", "value"), [("norm", "unti"), ("reading", "literal"), ("temperature", "clip")])
def test_a_word_that_is_no_choice_is_refused_with_the_choices(name, value, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as in production, where types are not checked
    with pytest.raises(UserError, match=f"{name} = '{value}'"):
        HcoConfig(**{name: value})
