import json
import random

import numpy as np
import pytest
import torch
from torch import nn

from litotes.errors import UserError
from litotes.train.checkpoint import (
    Progress,
    _restore_optimizer,
    latest_checkpoint,
    load_checkpoint,
    load_weights,
    prune,
    read_progress,
    require_same_settings,
    save_checkpoint,
    trainable,
)


class Model(nn.Module):
    """A frozen layer, a trained one, and a trained scalar."""

    def __init__(self):
        super().__init__()
        self.frozen = nn.Linear(3, 3).requires_grad_(False)
        self.layer = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return self.scale * self.layer(self.frozen(x))


def trained(steps=3):
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(trainable(model).values(), lr=0.1)
    for _ in range(steps):
        step(model, optimizer)
    return model, optimizer


def step(model, optimizer):
    model(torch.ones(2, 3)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def draws():
    return random.random(), random.gauss(0, 1), np.random.rand(), np.random.standard_normal(), torch.rand(2).tolist()


def test_only_what_is_trained_is_saved(tmp_path):
    model, optimizer = trained()
    folder = save_checkpoint(tmp_path, model, optimizer, Progress(3, {"lr": 0.1}))
    assert folder == tmp_path / "checkpoint-000003" == latest_checkpoint(tmp_path)
    assert read_progress(folder) == Progress(3, {"lr": 0.1})
    assert {path.name for path in folder.iterdir()} == {"weights.safetensors", "state.safetensors", "state.json"}
    assert set(trainable(model)) == {"layer.weight", "layer.bias", "scale"}


def test_weights_optimiser_and_random_numbers_go_on_as_they_were(tmp_path):
    model, optimizer = trained()
    random.gauss(0, 1), np.random.standard_normal()  # each keeps a second number for the next call
    folder = save_checkpoint(tmp_path, model, optimizer, Progress(3, {}))
    expected = draws()
    step(model, optimizer)

    other, other_optimizer = trained(steps=1)
    assert load_checkpoint(folder, other, other_optimizer) == Progress(3, {})
    assert draws() == expected
    step(other, other_optimizer)
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), other.parameters(), strict=True))
    for name, parameter in trainable(model).items():
        state, restored = optimizer.state[parameter], other_optimizer.state[trainable(other)[name]]
        assert set(state) == {"step", "exp_avg", "exp_avg_sq"}
        assert all(torch.equal(state[key], restored[key]) for key in state)


def test_the_loss_scale_of_float16_is_kept(tmp_path):
    model, optimizer = trained()
    scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
    folder = save_checkpoint(tmp_path, model, optimizer, Progress(3, {}), scaler)
    fresh = torch.amp.GradScaler("cpu")
    load_checkpoint(folder, model, optimizer, fresh)
    assert fresh.get_scale() == 512.0


def test_a_half_written_checkpoint_is_neither_used_nor_kept(tmp_path):
    model, optimizer = trained()
    whole = save_checkpoint(tmp_path, model, optimizer, Progress(4, {}))
    half = tmp_path / "checkpoint-000005.partial"
    half.mkdir()
    (half / "weights.safetensors").write_bytes(b"cut")
    assert latest_checkpoint(tmp_path) == whole
    prune(tmp_path, keep=2)
    assert list(tmp_path.iterdir()) == [whole]


def test_a_partial_folder_in_the_way_is_replaced(tmp_path):
    model, optimizer = trained()
    (tmp_path / "checkpoint-000003.partial").mkdir()
    (tmp_path / "checkpoint-000003.partial" / "rest").write_text("of an earlier kill")
    folder = save_checkpoint(tmp_path, model, optimizer, Progress(3, {}))
    assert not (folder / "rest").exists()


def test_the_newest_is_the_one_of_most_steps(tmp_path):
    model, optimizer = trained()
    for steps in (1_000_000, 999_999, 5):
        save_checkpoint(tmp_path, model, optimizer, Progress(steps, {}))
    assert latest_checkpoint(tmp_path).name == "checkpoint-1000000"
    prune(tmp_path, keep=2)
    assert {path.name for path in tmp_path.iterdir()} == {"checkpoint-1000000", "checkpoint-999999"}
    assert latest_checkpoint(tmp_path / "nowhere") is None


def test_weights_of_another_model_are_refused(tmp_path):
    model, optimizer = trained()
    folder = save_checkpoint(tmp_path, model, optimizer, Progress(3, {}))
    other = Model()
    other.frozen.requires_grad_(True)
    with pytest.raises(UserError, match=r"frozen\.bias and 1 more differ"):
        load_weights(folder, other)
    other = Model()
    other.scale = nn.Parameter(torch.ones(1))  # would be filled by broadcasting
    with pytest.raises(UserError, match=r"scale and 0 more differ"):
        load_weights(folder, other)


def test_other_settings_are_refused_by_name(tmp_path):
    saved = json.loads(json.dumps({"lr": 0.1, "betas": (0.9, 0.999), "data": {"n": 3}}))
    require_same_settings(tmp_path / "checkpoint-1", saved, {"lr": 0.1, "betas": (0.9, 0.999), "data": {"n": 3}})
    now = {"betas": (0.9, 0.999), "data": {"n": 4}, "new": 1}
    with pytest.raises(UserError) as refused:
        require_same_settings(tmp_path / "checkpoint-1", saved, now)
    assert refused.value.got == "data = {'n': 4} (was {'n': 3}); lr = None (was 0.1); new = 1 (was None)"


def test_moments_of_a_single_number_go_where_it_lives_and_the_count_of_steps_stays():
    scale = torch.nn.Parameter(torch.zeros((), device="meta"))
    optimizer = torch.optim.AdamW([scale])
    saved = {"optimizer/exp_avg/scale": torch.tensor(1.0), "optimizer/step/scale": torch.tensor(3.0)}
    _restore_optimizer({"scale": scale}, optimizer, saved)
    state = optimizer.state[scale]
    assert (state["exp_avg"].device.type, state["step"].device.type) == ("meta", "cpu")
