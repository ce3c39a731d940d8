"""InfoNCE, repeated pictures and captions in a batch, and the control with extra negatives."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.objectives import count_repeats, info_nce, info_nce_of_scores, negative_info_nce, repeat_matrix
from reference import losses

# One pair twice, another crop of its picture, and one caption on two pictures.
IMAGE_IDS = ("imgA", "imgB", "imgA", "imgC", "imgA")
CAPTIONS = ("a dog but no cat", "no people", "one dog alone", "no people", "a dog but no cat")
IMAGES = [
    [-1.21, 0.06, 1.16, -1.5],
    [-1.59, -0.02, -2.13, -0.53],
    [-1.0, -0.11, 1.28, -1.42],
    [-0.1, 0.01, -0.45, -1.5],
    [-1.21, 0.06, 1.16, -1.5],
]
TEXTS = [
    [-0.95, -0.61, -0.13, -0.41],
    [1.39, -0.1, 1.68, -0.94],
    [-0.49, 0.28, -0.28, 0.48],
    [1.39, -0.1, 1.68, -0.94],
    [-0.95, -0.61, -0.13, -0.41],
]
POSITIVES = [[1, 0, 1, 0, 1], [0, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 1, 0, 1, 0], [1, 0, 1, 0, 1]]
LOSSES = {"plain": 5.771787, "masked": 5.375259, "uniform": 5.686191}


def pairs(n=6, d=5, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(n, d, generator=generator, dtype=torch.float64).to(dtype) for _ in range(3)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("repeats", LOSSES)
def test_the_three_treatments_of_repeats(repeats, dtype):
    image, text = torch.tensor(IMAGES, dtype=dtype), torch.tensor(TEXTS, dtype=dtype)
    known = repeat_matrix(IMAGE_IDS, CAPTIONS)
    assert known.int().tolist() == POSITIVES
    loss = info_nce(image, text, 10.0, positives=known, repeats=repeats)
    assert loss.item() == pytest.approx(LOSSES[repeats], abs=1e-5)


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
def test_two_identical_pairs(scale):
    known = repeat_matrix(["a", "a"], ["c", "c"])
    for repeats, expected in (("plain", math.log(2)), ("uniform", math.log(2)), ("masked", 0.0)):
        image = torch.tensor([[1.0, 2.0], [1.0, 2.0]], requires_grad=True)
        text = torch.tensor([[2.0, 1.0], [2.0, 1.0]], requires_grad=True)
        loss = info_nce(image, text, scale, positives=known, repeats=repeats)
        loss.backward()
        assert loss.item() == pytest.approx(expected, abs=1e-6)
        torch.testing.assert_close(image.grad, torch.zeros_like(image), rtol=0, atol=1e-6)
        torch.testing.assert_close(text.grad, torch.zeros_like(text), rtol=0, atol=1e-6)


def test_repeats_are_counted():
    assert count_repeats(IMAGE_IDS, CAPTIONS) == (2, 2)
    assert count_repeats(["a", "b"], ["c", "d"]) == (0, 0)


def test_a_repeat_is_not_passed_on_through_a_third_pair():
    known = repeat_matrix(["a", "b", "b"], ["c", "c", "d"])
    assert known[0, 1]
    assert known[1, 2]
    assert not known[0, 2]


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_against_loops(dtype, rtol):
    image, text, negative = pairs(dtype=dtype)
    rows = image.tolist(), text.tolist()
    assert info_nce(image, text, 14.0).item() == pytest.approx(losses.info_nce(*rows, 14.0), rel=rtol)
    got = negative_info_nce(image, text, negative[:4], 14.0)
    assert got.item() == pytest.approx(losses.info_nce(*rows, 14.0, negative[:4].tolist()), rel=rtol)


def test_scores_of_any_source_have_the_same_loss():
    image, text, _ = pairs()
    scores = 14.0 * torch.nn.functional.cosine_similarity(image[:, None], text[None], dim=-1)
    known = repeat_matrix(list("aabcde"), list("uvwxyz"))
    for repeats in LOSSES:
        expected = info_nce(image, text, 14.0, positives=known, repeats=repeats)
        torch.testing.assert_close(info_nce_of_scores(scores, positives=known, repeats=repeats), expected)
    assert info_nce_of_scores(scores.half()).dtype == torch.float32
    scores[2, 1] = float("nan")
    with pytest.raises(UserError, match="scores with 1 of 36"):
        info_nce_of_scores(scores)


def test_without_repeats_the_three_treatments_are_one():
    image, text, negative = pairs()
    known = torch.eye(6, dtype=torch.bool)
    for function in (info_nce, lambda i, t, s, **how: negative_info_nce(i, t, negative, s, **how)):
        plain = function(image, text, 10.0)
        for repeats in ("masked", "uniform"):
            torch.testing.assert_close(function(image, text, 10.0, positives=known, repeats=repeats), plain)


def test_negatives_stay_in_the_denominator_when_repeats_are_masked():
    image, text, negative = pairs(2)
    known = torch.ones(2, 2, dtype=torch.bool)
    loss = negative_info_nce(image, text, negative, 10.0, positives=known, repeats="masked")
    plain = negative_info_nce(image, text, negative, 10.0)
    assert 0 < loss < plain


@pytest.mark.parametrize("repeats", LOSSES)
def test_a_batch_of_one_is_exactly_zero_with_zero_gradient(repeats):
    image = torch.tensor([[1.0, -2.0, 0.5]], requires_grad=True)
    text = torch.tensor([[0.3, 1.0, 2.0]], requires_grad=True)
    scale = torch.tensor(100.0, requires_grad=True)
    loss = info_nce(image, text, scale, positives=repeat_matrix(["a"], ["c"]), repeats=repeats)
    loss.backward()
    assert loss.item() == 0
    assert all((x.grad == 0).all() for x in (image, text, scale))


def test_the_scale_is_learned_and_lengths_do_not_matter():
    image, text, _ = pairs()
    scale = torch.tensor(10.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(info_nce, (image.requires_grad_(), text, scale))
    torch.testing.assert_close(info_nce(7 * image, text / 9, scale), info_nce(image, text, scale))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_loss_and_gradient_are_finite_at_every_magnitude(dtype):
    for size in (1e-15, 1e-8, 1e-3, 1.0, 1e3):
        image, text, negative = ((size * x).to(dtype) for x in pairs())
        image[0] = 0
        text[1] = image[1]
        rows = [x.requires_grad_() for x in (image, text, negative)]
        loss = info_nce(image, text, 100.0) + negative_info_nce(image, text, negative, 100.0)
        loss.backward()
        assert loss.isfinite()
        assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert all(x.grad.isfinite().all() for x in rows)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_changes_nothing(half):
    image, text, negative = pairs(dtype=torch.float32)
    known = repeat_matrix(list("aabcde"), list("uvwxyz"))
    for repeats in LOSSES:
        plain = negative_info_nce(image, text, negative, 100.0, positives=known, repeats=repeats)
        with torch.autocast("cpu", dtype=half):
            cast = negative_info_nce(image, text, negative, 100.0, positives=known, repeats=repeats)
        assert torch.equal(plain, cast)


def test_mistakes_are_told():
    image, text, negative = pairs()
    with pytest.raises(UserError, match="without positives"):
        info_nce(image, text, 10.0, repeats="masked")
    with pytest.raises(UserError, match="diagonal"):
        info_nce(image, text, 10.0, positives=torch.zeros(6, 6, dtype=torch.bool), repeats="masked")
    with pytest.raises(UserError, match="2 image ids and 1 captions"):
        repeat_matrix(["a", "b"], ["c"])
    image[0, 0] = float("nan")
    with pytest.raises(UserError, match="image with 1 of 30"):
        info_nce(image, text, 10.0)
    text[0, 0] = float("nan")
    with pytest.raises(UserError, match="image with 1 of 30"):
        negative_info_nce(image, text, negative, 10.0)
