import math

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics import cosine
from litotes.metrics.cosine import cosine_scores, distinct_rows, paired_cosines, unit


def reference(first, second):
    dot = math.fsum(a * b for a, b in zip(first, second, strict=True))
    lengths = math.sqrt(math.fsum(a * a for a in first)) * math.sqrt(math.fsum(b * b for b in second))
    return dot / lengths if lengths else 0.0


@pytest.mark.parametrize("magnitude", [1e-15, 1e-3, 1.0, 1e3, 1e18])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cosines_follow_the_definition_at_any_length(magnitude, dtype):
    generator = torch.Generator().manual_seed(0)
    images = magnitude * torch.randn(4, 6, generator=generator, dtype=dtype)
    texts = torch.randn(5, 6, generator=generator, dtype=dtype) / magnitude
    expected = torch.tensor([[reference(i, t) for t in texts.tolist()] for i in images.tolist()], dtype=dtype)
    torch.testing.assert_close(cosine_scores(images, texts), expected, atol=2e-7, rtol=0)
    torch.testing.assert_close(paired_cosines(images, texts[:4]), expected.diagonal(), atol=2e-7, rtol=0)


def test_a_zero_vector_scores_zero_with_everything():
    assert cosine_scores(torch.zeros(1, 3), torch.ones(2, 3)).tolist() == [[0, 0]]
    assert unit(torch.zeros(2, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_distinct_rows_rebuild_the_rows_and_merge_only_equal_ones(dtype):
    rows = torch.randn(9, 4, generator=torch.Generator().manual_seed(1)).to(dtype)
    rows = torch.cat([rows, rows[3:5], torch.nextafter(rows[:1], rows[:1] + 1)])
    different, place = distinct_rows(rows)
    assert len(different) == 10
    assert torch.equal(different[place], rows)
    assert place.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 4, 9]


def test_equal_rows_share_their_scores():
    generator = torch.Generator().manual_seed(2)
    images, texts = torch.randn(31, 17, generator=generator), torch.randn(45, 17, generator=generator)
    scores = cosine_scores(torch.cat([images, images]), torch.cat([texts, texts]))
    assert torch.equal(scores[:31], scores[31:])
    assert torch.equal(scores[:, :45], scores[:, 45:])


def test_non_finite_embeddings_are_refused():
    bad = torch.tensor([[1.0, float("nan")]])
    with pytest.raises(UserError, match="1 of 2 text embeddings"):
        cosine_scores(torch.ones(1, 2), bad)
    with pytest.raises(UserError, match="NaN"):
        paired_cosines(bad, torch.ones(1, 2))


def test_rows_of_one_digest_are_told_apart(monkeypatch):
    monkeypatch.setattr(cosine, "_digests", lambda words: words[:, 0] * 0)
    rows = torch.tensor([[1.0, 2.0], [0.5, 2.0], [1.0, 2.0], [-1.0, 0.0]])
    different, place = distinct_rows(rows)
    assert place.tolist() == [0, 1, 0, 2]
    assert different.tolist() == [[1, 2], [0.5, 2], [-1, 0]]
