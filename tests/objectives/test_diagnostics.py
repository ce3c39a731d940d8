"""Diagnostics of the adapter: against plain loops, in parts and whole, and what counts as a collapse."""

import math

import pytest
import torch

from litotes.errors import UserError
from litotes.models.variational import AdapterConfig, VariationalAdapter
from litotes.objectives import PairSample, match_matrix
from litotes.objectives.diagnostics import collapses, diagnostics, joined, named
from reference import vacsr as loops

POSITIVES = match_matrix(["a", "b", "a", "c"], ["a", "a", "b", "c", "z"])


def drawn(bi=4, bt=5, k=3, d=3):
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    choice = torch.nn.functional.one_hot(normal(bi, bt, k).argmax(-1), k).double()
    mean, log_var = normal(bi, bt, k, d), 6 * normal(bi, bt, k, d)
    log_var = log_var.clamp(-10, 10)
    sampled = (choice.unsqueeze(-1) * log_var).sum(-2)
    return PairSample(3 * normal(bi, bt), mean, log_var, normal(bi, bt, k).softmax(-1), choice, sampled)


def test_every_number_against_loops():
    sample = drawn()
    found = diagnostics(sample, POSITIVES)
    logits, means, log_vars = sample.logits.tolist(), sample.mean.tolist(), sample.log_var.tolist()
    places = [(i, j) for i in range(4) for j in range(5)]
    flat = [lv for i, j in places for component in log_vars[i][j] for lv in component]
    right = [(1 - loops.sigmoid(logits[i][j])) ** 2 for i, j in places if POSITIVES[i, j]]
    assert (found.pairs, found.positive_pairs) == (20, len(right)) == (20, 6)
    assert (found.log_var_min, found.log_var_max) == (min(flat), max(flat))
    assert found.log_var_mean == pytest.approx(loops.mean(flat), rel=1e-12)
    assert found.at_bound == pytest.approx(sum(abs(lv) == 10 for lv in flat) / len(flat))
    assert found.at_bound > 0
    assert found.positive_residual == pytest.approx(loops.mean(right), rel=1e-12)
    for k in range(3):
        kl = [loops.mean(loops.kl_of_component(means[i][j][k], log_vars[i][j][k])) for i, j in places]
        assert found.kl[k] == pytest.approx(loops.mean(kl), rel=1e-12)
        assert found.weights[k] == pytest.approx(loops.mean(sample.weights[i, j, k].item() for i, j in places))
        assert found.shares[k] == pytest.approx(loops.mean(sample.choice[i, j, k].item() for i, j in places))


def test_parts_joined_are_the_whole():
    sample = drawn()
    parts = [
        diagnostics(PairSample(*(x[rows] for x in sample)), POSITIVES[rows])
        for rows in (slice(0, 1), slice(1, 3), slice(3, 4))
    ]
    whole = named(diagnostics(sample, POSITIVES))
    assert named(joined(parts)) == pytest.approx(whole, rel=1e-12)
    assert {"kl_2", "weights_0", "shares_1", "positive_residual"} <= set(whole)


def test_a_batch_without_a_positive_pair_has_no_residual():
    none = torch.zeros(4, 5, dtype=torch.bool)
    found = diagnostics(drawn(), none)
    assert (found.positive_pairs, found.positive_residual) == (0, None)
    assert joined([found, found]).positive_residual is None
    both = joined([found, diagnostics(drawn(), POSITIVES)])
    assert both.positive_residual == pytest.approx(diagnostics(drawn(), POSITIVES).positive_residual)
    assert "positive_residual" not in named(found)
    with pytest.raises(UserError, match="positives of shape"):
        diagnostics(drawn(), none[:, :2])


def found_of(**changes):
    adapter = VariationalAdapter(AdapterConfig(features=8))
    with torch.no_grad():
        for head in adapter.mean_heads:
            head.bias += 1.0
        adapter.mixture += torch.tensor(changes.pop("mixture", [0.0, 0.0]))
        for component in changes.pop("flat", []):
            adapter.mean_heads[component].weight.zero_()
            adapter.log_var_heads[component].weight.zero_()
            adapter.mean_heads[component].bias.fill_(math.sqrt(changes["square"]))
            adapter.log_var_heads[component].bias.zero_()
    image, text = torch.eye(8)[:4], torch.ones(5, 8)
    return diagnostics(adapter(image, text, torch.Generator().manual_seed(0)), POSITIVES)


def test_a_component_is_idle_below_a_tenth_of_an_even_share():
    just = math.log(0.949 / 0.051), math.log(0.951 / 0.049)
    assert collapses(found_of()) == []
    assert collapses(found_of(mixture=[just[0], 0.0])) == []
    (told,) = collapses(found_of(mixture=[just[1], 0.0]))
    assert told.startswith("component 1 of 2 is idle: its mean weight is 0.049, below 0.05")


def test_a_component_is_flat_where_it_is_nearly_the_prior():
    assert collapses(found_of(flat=[0], square=0.0021)) == []
    (told,) = collapses(found_of(flat=[0], square=0.0019))
    assert told.startswith("component 0 of 2 is flat: its divergence from the prior is 0.00095 nats a dimension")
    # As the docstring says: by its initial weights an adapter of the paper's size is flat.
    new = VariationalAdapter(AdapterConfig())
    sample = new(torch.randn(2, 1024), torch.randn(2, 1024))
    assert len(collapses(diagnostics(sample, match_matrix(["a", "b"], ["a", "b"])))) == 2
