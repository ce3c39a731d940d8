"""Directions of statements from the names that they affirm and deny."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.objectives import MirrorConfig, mirror_targets, turning

# Two names at right angles: their mean m is (1, 1) / 2, and t - m is half of (1, -1) or (-1, 1).
NAMES = torch.tensor([[2.0, 0.0], [0.0, 5.0]], dtype=torch.float64)
AFFIRMED = torch.tensor([[1, 0], [0, 0], [0, 1], [1, 1]], dtype=torch.bool)
DENIED = torch.tensor([[0, 0], [1, 0], [1, 0], [0, 0]], dtype=torch.bool)


def test_directions_by_hand():
    found = mirror_targets(NAMES, AFFIRMED, DENIED, MirrorConfig(absence=1.0, beside=0.5))
    half = math.sqrt(0.5)
    expected = [
        [1.0, 0.0],  # the name itself
        [0.0, 1.0],  # of two names, not the first is the second
        [-0.25, 1.25],  # m + d2 - d1 / 2
        [half, half],  # both: between them
    ]
    expected = torch.nn.functional.normalize(torch.tensor(expected, dtype=torch.float64), dim=1)
    torch.testing.assert_close(found, expected)


def test_a_denied_thing_counts_against_a_picture_as_far_as_it_is_shown():
    names = torch.nn.functional.normalize(torch.randn(8, 16, generator=torch.Generator().manual_seed(0)) + 0.5, dim=1)
    no_first = mirror_targets(names, torch.zeros(1, 8, dtype=torch.bool), torch.eye(8, dtype=torch.bool)[:1])
    shown = torch.stack([names[1] + share * (names[0] - names.mean(0)) for share in (0.0, 0.5, 1.0)])
    scores = (torch.nn.functional.normalize(shown, dim=1) @ no_first.T).flatten()
    assert scores[0] > scores[1] > scores[2]


def test_turning_is_one_minus_the_cosine():
    texts = torch.tensor([[3.0, 0.0], [0.0, 2.0], [-1.0, 0.0]])
    targets = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    assert turning(texts, targets).item() == pytest.approx((0 + 1 + 2) / 3)


def test_refusals():
    with pytest.raises(UserError, match="names"):
        mirror_targets(NAMES * float("nan"), AFFIRMED, DENIED)
    with pytest.raises(UserError, match="beside"):
        MirrorConfig(beside=0.0)
