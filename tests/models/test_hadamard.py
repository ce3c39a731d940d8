"""The linear layer on products: against the plain layer, its gradient, what it keeps and what it leaves out."""

import pytest
import torch
from torch.nn.functional import linear
from torch.utils._python_dispatch import TorchDispatchMode

from litotes.models import hadamard
from litotes.models.hadamard import hadamard_linear

SIZES = ((5, 4), (7, 4), (6, 4), (6,))  # images, texts, weight, bias


def inputs(dtype=torch.float64, needing=(True, True, True, True)):
    generator = torch.Generator().manual_seed(0)
    made = [torch.randn(*size, generator=generator, dtype=torch.float64).to(dtype) for size in SIZES]
    return [x.requires_grad_(need) for x, need in zip(made, needing, strict=True)]


def plain(image, text, weight, bias):
    return linear(image[:, None] * text[None], weight, bias)


@pytest.fixture(params=[1, 60, 2**22], ids=lambda numbers: f"{numbers} at once")
def _blocks(request, monkeypatch):
    monkeypatch.setattr(hadamard, "_NUMBERS_AT_ONCE", request.param)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-5)])
def test_value_and_gradients_are_those_of_the_plain_layer(dtype, tolerance):
    slopes = torch.randn(5, 7, 6, generator=torch.Generator().manual_seed(1)).to(dtype)
    results = []
    for layer in (plain, hadamard_linear):
        made = inputs(dtype)
        value = layer(*made)
        results.append((value, *torch.autograd.grad(value, made, slopes)))
    torch.testing.assert_close(results[1], results[0], rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("_blocks")
def test_the_gradient_is_that_of_finite_differences():
    assert torch.autograd.gradcheck(hadamard_linear, inputs())


class Products(TorchDispatchMode):
    """Counts matrix products."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func.__name__.split(".")[0] in ("mm", "addmm", "bmm", "matmul")
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("needing", "products"),
    [
        ((True, True, True, True), 2),
        ((False, True, True, True), 2),
        ((False, False, True, True), 1),
        ((True, False, False, False), 1),
        ((False, False, False, True), 0),
    ],
)
def test_what_needs_no_gradient_costs_none(needing, products):
    made = inputs(needing=needing)
    value = hadamard_linear(*made).square().sum()
    with Products() as counted:
        value.backward()
    assert counted.count == products
    expected = inputs(needing=needing)
    plain(*expected).square().sum().backward()
    for found, wanted, need in zip(made, expected, needing, strict=True):
        assert (found.grad is not None) == need
        if need:
            torch.testing.assert_close(found.grad, wanted.grad)


def test_the_products_of_all_pairs_are_not_kept():
    kept = {}

    def keep(tensor):
        kept[tensor.data_ptr()] = tensor.numel()
        return tensor

    for layer in (plain, hadamard_linear):
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            layer(*inputs())
        assert (max(kept.values()) >= 5 * 7 * 4) == (layer is plain)


def test_under_autocast_the_product_is_in_the_lower_precision_and_gradients_are_not():
    results = []
    for layer in (plain, hadamard_linear):
        made = inputs(torch.float32)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            value = layer(*made)
        assert value.dtype == torch.bfloat16
        gradients = torch.autograd.grad(value.float().square().sum(), made)
        assert all(gradient.dtype == torch.float32 for gradient in gradients)
        results.append((value, *gradients))
    torch.testing.assert_close(results[1], results[0], rtol=0.03, atol=0.03)
