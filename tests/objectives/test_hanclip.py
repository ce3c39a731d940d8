"""The HANCLIP loss is the weighted sum of its parts, on features treated once."""

import pytest
import torch

from litotes.errors import UserError
from litotes.objectives import HanclipConfig, HcoConfig, atnl, hanclip, hco
from litotes.objectives.space import place


def batch(n=5, d=7, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return [3 * torch.randn(n, d, generator=generator, dtype=torch.float64).to(dtype) for _ in range(4)]


@pytest.mark.parametrize("norm", ["unit", "none", "clip"])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_the_weighted_sum_of_both_parts(norm, alpha):
    features = batch()
    config = HanclipConfig(hco=HcoConfig(norm=norm, temperature=0.5), alpha=alpha)
    got = hanclip(*features, config)
    contrastive = hco(*features, config.hco)
    angular = atnl(*(place(feature, config.hco) for feature in features[1:]))
    torch.testing.assert_close(got.loss, contrastive.total + alpha * angular.total)
    torch.testing.assert_close(got.hco, contrastive.total)
    torch.testing.assert_close(got.atnl, angular.total)
    torch.testing.assert_close(got[2:5], tuple(contrastive))
    torch.testing.assert_close(got[6:], tuple(angular))


def test_the_angles_see_the_treated_features():
    features = batch()
    features[1] = 10 * features[1]
    unit, raw = (hanclip(*features, HanclipConfig(hco=HcoConfig(norm=norm))) for norm in ("unit", "none"))
    torch.testing.assert_close(unit.atnl, atnl(*(f / f.norm(dim=-1, keepdim=True) for f in features[1:])).total)
    torch.testing.assert_close(raw.atnl, atnl(*features[1:]).total)
    assert abs(unit.atnl - raw.atnl) > 0.01


def test_the_defaults_are_the_papers_and_the_terms_have_names():
    assert HanclipConfig() == HanclipConfig(hco=HcoConfig(curvature=0.1, temperature=0.01), alpha=1.0)
    assert list(hanclip(*batch())._asdict()) == [
        "loss",
        "hco",
        "text_to_image",
        "image_to_text",
        "text_to_text",
        "atnl",
        "positive_angle",
        "negated_angle",
    ]


def test_float32_captions_that_differ_by_rounding_count_as_equal():
    image, positive, _, negative = batch(1, dtype=torch.float32)
    negated = (positive * (1 + 1e-7)).requires_grad_()
    terms = hanclip(image, positive, negated, negative)
    assert terms.negated_angle.item() == 0
    terms.negated_angle.backward()
    assert (negated.grad == 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_loss_and_gradient_are_finite_with_repeats(dtype):
    for size in (1e-15, 1e-3, 1.0, 1e3):
        features = [(size * f).to(dtype) for f in batch()]
        features[2][0] = features[1][0]
        features[3][1] = features[2][1]
        features[3][2] = 0
        features = [f.requires_grad_() for f in features]
        terms = hanclip(*features)
        terms.loss.backward()
        assert all(term.isfinite() for term in terms)
        assert terms.loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert all(f.grad.isfinite().all() for f in features)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_changes_nothing(half):
    features = batch(dtype=torch.float32)
    plain = hanclip(*features)
    with torch.autocast("cpu", dtype=half):
        cast = hanclip(*features)
    assert all(torch.equal(a, b) for a, b in zip(plain, cast, strict=True))


def test_gradient_steps_bring_pictures_to_their_captions_and_away_from_negatives():
    image, positive, negated, negative = batch(8)
    texts = [f.clone().requires_grad_() for f in (positive, negated, negative)]
    optimizer = torch.optim.Adam(texts, lr=0.1)
    config = HanclipConfig(hco=HcoConfig(temperature=0.2))
    first = None
    for _ in range(60):
        terms = hanclip(image, *texts, config)
        first = first or terms.loss.item()
        optimizer.zero_grad()
        terms.loss.backward()
        optimizer.step()
    similarity = torch.nn.functional.cosine_similarity
    own, wrong = similarity(image, texts[1]), similarity(image, texts[2])
    assert terms.loss.item() < 0.2 * first
    assert (own > wrong).all()
    assert (own - wrong).mean() > 0.5


def test_mistakes_are_told():
    with pytest.raises(UserError, match="alpha"):
        HanclipConfig(alpha=-1.0)
    with pytest.raises(UserError, match="temperature"):
        hanclip(*batch(), HanclipConfig(hco=HcoConfig(temperature="model")))
    config = HanclipConfig(hco=HcoConfig(temperature="model")).with_model_temperature(0.06)
    assert config.hco.temperature == pytest.approx(0.094)
    features = batch()
    features[0][0, 0] = float("inf")
    with pytest.raises(UserError, match="image with 1 of 35"):
        hanclip(*features)
