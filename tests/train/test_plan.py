import numpy as np
import pytest
from train_toys import data, run

from litotes.errors import UserError
from litotes.train.journal import mean_loss
from litotes.train.loop import LoopConfig, total_steps
from litotes.train.plan import batch_sizes, batches, epoch_order, learning_rate, require_useful_steps, useful_steps

# pairs, batch, sizes of the batches with drop_last, sizes without: both useful steps are those of two pairs or more.
PLAN = [
    (0, 1, [], []),
    (0, 4, [], []),
    (0, 8, [], []),
    (1, 1, [1], [1]),
    (1, 4, [], [1]),
    (1, 8, [], [1]),
    (5, 1, [1] * 5, [1] * 5),
    (5, 4, [4], [4, 1]),
    (5, 8, [], [5]),
    (9, 1, [1] * 9, [1] * 9),
    (9, 4, [4, 4], [4, 4, 1]),
    (9, 8, [8], [8, 1]),
]
USEFUL = {(5, 4): (1, 1), (5, 8): (0, 1), (9, 4): (2, 2), (9, 8): (1, 1)}


@pytest.mark.parametrize(("pairs", "batch", "dropped", "whole"), PLAN)
def test_the_plan_is_as_listed(pairs, batch, dropped, whole):
    assert batch_sizes(pairs, batch, True) == dropped
    assert batch_sizes(pairs, batch, False) == whole
    assert (useful_steps(dropped), useful_steps(whole)) == USEFUL.get((pairs, batch), (0, 0))
    for drop_last, sizes in ((True, dropped), (False, whole)):
        assert total_steps(pairs, LoopConfig(batch_size=batch, epochs=3, drop_last=drop_last)) == 3 * len(sizes)
        if useful_steps(sizes):
            require_useful_steps(pairs, batch, drop_last)
        else:
            with pytest.raises(UserError, match=f"{pairs} pairs, batch {batch}"):
                require_useful_steps(pairs, batch, drop_last)


@pytest.mark.parametrize(
    ("pairs", "batch", "drop_last", "reason", "advice"),
    [
        (5, 8, True, "5 pairs, batch 8, drop_last: 0 steps\n", "or keep the last batch"),
        (5, 1, False, "5 steps, each with one pair, whose contrastive loss is 0 for ever", "a batch of two or more"),
        (0, 4, False, "0 pairs, batch 4: 0 steps\n", "at least two pairs"),
    ],
)
def test_a_plan_that_teaches_nothing_is_refused_with_its_reason(pairs, batch, drop_last, reason, advice):
    with pytest.raises(UserError, match=advice) as refused:
        require_useful_steps(pairs, batch, drop_last)
    assert reason in str(refused.value)


def test_such_a_run_stops_before_anything_is_written(tmp_path):
    with pytest.raises(UserError, match="5 pairs, batch 8, drop_last: 0 steps"):
        run(tmp_path, "run", LoopConfig(batch_size=8, drop_last=True), quadruplets=data(5))
    assert not (tmp_path / "run").exists()


def test_the_mean_loss_weighs_items_and_not_batches():
    lines = [{"items": 8, "loss": 2.0}, {"items": 1, "loss": 0.0}]
    assert mean_loss(lines) == pytest.approx(1.777778, abs=1e-6)


def test_learning_rates_are_those_of_the_open_clip_rule():
    listed = [0.5, 1.0, 1.0, 0.975528, 0.904508, 0.793893, 0.654508, 0.5, 0.345492, 0.206107, 0.095492, 0.024472]
    peak = 3e-4
    rates = [learning_rate(step, 12, peak, 2, "cosine") / peak for step in range(12)]
    assert rates == pytest.approx(listed, abs=1e-6)
    assert [learning_rate(step, 4, 1.0, 2, "constant") for step in range(4)] == [0.5, 1.0, 1.0, 1.0]
    assert [learning_rate(step, 3, 1.0, 4, "cosine") for step in range(3)] == [0.25, 0.5, 0.75]
    assert learning_rate(0, 5, 1.0, 0, "cosine") == 1.0


def test_each_item_comes_once_an_epoch_in_another_order_each_epoch():
    plan = list(batches(12, 4, False, 7, 12))
    epochs = [[i for b in plan if b.epoch == e for i in b.indices] for e in range(4)]
    assert all(sorted(order) == list(range(12)) for order in epochs)
    assert len({tuple(order) for order in epochs}) == 4
    assert [b.step for b in plan] == list(range(12))
    assert not np.array_equal(epoch_order(12, 7, 0), epoch_order(12, 8, 0))


@pytest.mark.parametrize("start", [0, 1, 5, 6, 11, 12])
@pytest.mark.parametrize("drop_last", [True, False])
def test_a_plan_goes_on_where_it_stopped(start, drop_last):
    whole = list(batches(13, 4, drop_last, 7, 12))
    assert list(batches(13, 4, drop_last, 7, 12, start)) == whole[start:]


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch_size": 0}, {"epochs": 0}, {"steps": -1}, {"lr": 0.0}, {"lr": float("nan")}, {"warmup": -1},
        {"clip_norm": -1.0}, {"accumulation": 0}, {"save_every": -1}, {"keep": 0}, {"workers": -1}, {"seed": -1},
        {"schedule": "cosin"}, {"precision": "bf61"}, {"accumulation": 3, "save_every": 200},
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(UserError) as refused:
        LoopConfig(**wrong)
    assert next(iter(wrong)) in str(refused.value)
