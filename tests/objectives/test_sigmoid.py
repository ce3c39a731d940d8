"""The sigmoid loss over all pairs, and which pairs are right."""

import math

import jaxtyping
import pytest
import torch

from litotes.errors import UserError
from litotes.objectives import match_matrix, sigmoid_loss, sigmoid_loss_of_logits
from litotes.objectives.pairs import require_pairs
from reference import vacsr as loops

POSITIVES = match_matrix(["a", "b", "a"], ["a", "b", "b", "z"])


def features(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(n, 5, generator=generator, dtype=torch.float64).to(dtype) for n in (3, 4)]


def test_captions_match_pictures_by_id():
    assert POSITIVES.int().tolist() == [[1, 0, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]]
    assert match_matrix([], ["a"]).shape == (0, 1)


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_against_loops(dtype, rtol):
    image, text = features(dtype)
    expected = loops.sigmoid_loss(image.tolist(), text.tolist(), 9.0, -4.0, POSITIVES.tolist())
    found = sigmoid_loss(image, text, 9.0, -4.0, positives=POSITIVES)
    assert found.item() == pytest.approx(expected, rel=rtol)
    mean = sigmoid_loss(image, text, 9.0, -4.0, positives=POSITIVES, reduction="mean")
    assert mean.item() == pytest.approx(expected / 4, rel=rtol)
    assert mean.dtype == dtype


def test_scale_and_bias_are_learned_and_lengths_do_not_matter():
    image, text = features()
    scale, bias = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (9.0, -4.0))

    def loss(*inputs):
        return sigmoid_loss(*inputs, positives=POSITIVES)

    assert torch.autograd.gradcheck(loss, (image.requires_grad_(), text.requires_grad_(), scale, bias))
    torch.testing.assert_close(loss(7 * image, text / 9, scale, bias), loss(image, text, scale, bias))


def test_open_logits_cost_log_two_and_saturated_ones_keep_their_gradient():
    zero = sigmoid_loss_of_logits(torch.zeros(3, 4), positives=POSITIVES, reduction="mean")
    assert zero.item() == pytest.approx(math.log(2))
    logits = torch.where(POSITIVES, -200.0, 200.0).requires_grad_()
    loss = sigmoid_loss_of_logits(logits, positives=POSITIVES, reduction="mean")
    loss.backward()
    assert loss.item() == pytest.approx(200)
    torch.testing.assert_close(logits.grad * 12, torch.where(POSITIVES, -1.0, 1.0))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("label", [True, False])
def test_loss_and_gradient_are_finite_at_every_magnitude(dtype, label):
    for size in (1e-15, 1e-8, 1e-3, 1.0, 1e3):
        image, text = ((size * x).to(dtype) for x in features())
        image[0] = 0
        image, text = image.requires_grad_(), text.requires_grad_()
        for positives in (POSITIVES, torch.full((3, 4), label)):
            loss = sigmoid_loss(image, text, 100.0, -10.0, positives=positives)
            loss.backward()
            assert loss.isfinite()
        assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert image.grad.isfinite().all()
        assert text.grad.isfinite().all()


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_changes_nothing(half):
    image, text = features(torch.float32)
    plain = sigmoid_loss(image, text, 100.0, -10.0, positives=POSITIVES)
    with torch.autocast("cpu", dtype=half):
        assert torch.equal(plain, sigmoid_loss(image, text, 100.0, -10.0, positives=POSITIVES))


def test_mistakes_are_told():
    image, text = features()
    with pytest.raises(UserError, match=r"positives of shape \(4, 3\)"):
        sigmoid_loss(image, text, 10.0, -10.0, positives=POSITIVES.T)
    with pytest.raises(UserError, match="at least one of each"):
        sigmoid_loss_of_logits(torch.zeros(0, 0), positives=torch.zeros(0, 0, dtype=torch.bool))
    with pytest.raises(UserError, match=r"torch\.int64"):
        require_pairs(torch.zeros(1, 1), torch.ones(1, 1, dtype=torch.long))
    text[0, 0] = float("nan")
    with pytest.raises(UserError, match="text with 1 of 20"):
        sigmoid_loss(image, text, 10.0, -10.0, positives=POSITIVES)


def test_an_unknown_reduction_is_refused(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as in production, where types are not checked
    with pytest.raises(UserError, match="one of mean, per_image"):
        sigmoid_loss_of_logits(torch.zeros(3, 4), positives=POSITIVES, reduction="sum")
