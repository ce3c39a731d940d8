"""Which weights move at which rate: the listed groups of a full backbone, and weights that rest for some epochs."""

import pytest
import torch
from train_toys import matcher

from litotes.errors import UserError
from litotes.models.lora import LoraSettings, add_lora
from litotes.models.pair_backbone import PairBackbone
from litotes.models.variational import AdapterConfig, VariationalAdapter
from litotes.train.adamp import AdamP
from litotes.train.checkpoint import latest_checkpoint, load_weights, trainable
from litotes.train.journal import read_journal
from litotes.train.loop import LoopConfig, train
from litotes.train.optim import (
    BackboneRates,
    ParameterGroup,
    backbone_groups,
    frozen,
    listing,
    new_optimizer,
    plain_groups,
    require_trained,
)
from litotes.train.plan import drops
from litotes.train.task import Task


def whole(folder, layers=3):
    backbone = PairBackbone(matcher(folder, layers=layers).encoder, 8)
    module = torch.nn.ModuleDict({"backbone": backbone, "adapter": VariationalAdapter(AdapterConfig(features=8))})
    return module, backbone


def groups_of(module, backbone, rates=None, weight_decay=1e-4):
    heads = (backbone.image_head, backbone.text_head)
    return backbone_groups(module, backbone.encoder, rates or BackboneRates(), weight_decay, heads)


def test_the_groups_of_a_full_backbone_are_the_listed_ones(tmp_path):
    module, backbone = whole(tmp_path)
    rows = {row["name"]: row for row in listing(module, groups_of(module, backbone))}
    wanted = {}
    for tower, factor, epochs in (("image", 0.01, 2), ("text", 0.1, 0)):
        wanted[f"{tower}, outside blocks"] = (factor, epochs)
        wanted |= {f"{tower}, block {b}": (factor * 0.7 ** (3 - b), epochs) for b in range(3)}
    wanted |= {"heads": (1.0, 0), "adapter": (1.0, 0)}
    assert set(rows) == {name + end for name in wanted for end in ("", ", vectors")}
    for name, (factor, epochs) in wanted.items():
        for end, decay in (("", 1e-4), (", vectors", 0.0)):
            row = rows[name + end]
            assert row["lr_factor"] == pytest.approx(factor)
            assert (row["weight_decay"], row["frozen_epochs"]) == (decay, epochs)


def test_every_trained_weight_is_in_exactly_one_group_and_biases_and_mixture_have_no_decay(tmp_path):
    module, backbone = whole(tmp_path)
    groups = groups_of(module, backbone)
    names = [name for group in groups for name in group.weights]
    assert sorted(names) == sorted(trainable(module))
    assert sum(row["numbers"] for row in listing(module, groups)) == sum(p.numel() for p in trainable(module).values())
    place = {name: group for group in groups for name in group.weights}
    assert place["adapter.mixture"].name == "adapter, vectors"
    assert place["adapter.decoder.0.weight"].name == "adapter"
    assert place["backbone.image_head.pool.gru.weight_ih_l0"].name == "heads"
    clip = "backbone.encoder.clip"
    assert place[f"{clip}.vision_model.embeddings.class_embedding"].name == "image, outside blocks, vectors"
    assert place[f"{clip}.text_model.embeddings.token_embedding.weight"].name == "text, outside blocks"
    assert place[f"{clip}.text_model.encoder.layers.2.mlp.fc1.bias"].weight_decay == 0
    for name in trainable(module):
        assert (place[name].weight_decay == 0) == (dict(module.named_parameters())[name].ndim < 2)


def test_twelve_blocks_take_the_rates_of_the_recipe():
    rates = BackboneRates()
    factors = [5e-4 * rates.text * rates.layer_decay ** (12 - block) for block in (11, 0)]
    assert factors == [pytest.approx(3.5e-5), pytest.approx(6.92e-7, rel=1e-3)]


def test_a24_the_adapters_decay_has_two_readings(tmp_path):
    module, backbone = whole(tmp_path)
    for reading, decay in ((None, 1e-4), (0.0, 0.0)):
        rates = BackboneRates(adapter_weight_decay=reading)
        rows = {group.name: group.weight_decay for group in groups_of(module, backbone, rates)}
        assert (rows["adapter"], rows["heads"], rows["text, block 0"]) == (decay, 1e-4, 1e-4)


def test_a24_the_adapter_on_frozen_features_is_listed_with_decay_on_its_matrices_alone():
    adapter = VariationalAdapter(AdapterConfig())
    rows = {row["name"]: row for row in listing(adapter, plain_groups(adapter, 1e-4))}
    assert (rows["matrices"]["weight_decay"], rows["vectors"]["weight_decay"]) == (1e-4, 0.0)
    assert (rows["matrices"]["weights"], rows["vectors"]["weights"]) == (7, 8)
    biases = 5 * 1024 + 16 + 1
    assert rows["vectors"]["numbers"] == biases + 2  # and alpha
    assert rows["matrices"]["numbers"] == 5_264_419 - biases - 2


def test_an_adapter_mounted_on_the_towers_is_grouped_with_its_block(tmp_path):
    encoder = matcher(tmp_path, layers=2).encoder
    add_lora(encoder, LoraSettings(towers="text"), seed=1)
    groups = [group for group in backbone_groups(encoder, encoder, BackboneRates(), 0.1) if group.weights]
    names = {group.name for group in groups}
    assert {"text, block 0", "text, block 1"} <= names
    assert all(".lora_" in name for group in groups if group.name == "text, block 1" for name in group.weights)


@pytest.mark.parametrize(
    "wrong",
    [{"text": 0.0}, {"image": 2.0}, {"layer_decay": -1.0}, {"frozen_epochs": -1}, {"adapter_weight_decay": -1.0}],
)
def test_rates_out_of_range_are_refused_by_name(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        BackboneRates(**wrong)


class Two(Task):
    """Two weights that fit y = x; the first rests for some epochs. Every term of the gradient is known."""

    name = "two"

    def __init__(self, epochs=2, factor=0.5):
        self.weights = torch.nn.ParameterDict({"slow": torch.zeros(2, 2), "quick": torch.zeros(2, 2)})
        self.rest, self.factor, self.asked, self.prepared = epochs, factor, [], []

    @property
    def module(self):
        return self.weights

    def __len__(self):
        return 6

    def prepare(self, indices):
        raise AssertionError("the loop prepares by epoch")

    def prepare_in(self, indices, epoch):
        self.prepared.append((epoch, tuple(indices)))
        return torch.tensor([float(i) for i in indices])

    def terms(self, batch):
        self.asked.append(self.weights["slow"].requires_grad)
        total = self.weights["slow"] + self.weights["quick"]
        return {"loss": (total - 1 - batch.mean() / 10).square().sum()}

    def groups(self, weight_decay):
        slow = ParameterGroup("slow", ("slow",), self.factor, weight_decay, self.rest)
        return [slow, ParameterGroup("quick", ("quick",), 1.0, weight_decay)]

    def identity(self):
        return {"rest": self.rest}


# Three epochs of three steps; the rate falls to a tenth in the last, and the loss is ramped in it.
STEPPED = LoopConfig(
    batch_size=2, epochs=3, lr=0.1, warmup=0, schedule="step", drop_epochs=(2,), weight_decay=0.0, save_every=1,
    optimizer="adamp", clip_norm=2.0, seed=3,
)  # fmt: skip


def steps_of(folder, name):
    return [
        {k: v for k, v in line.items() if k != "samples_per_s"}
        for line in read_journal(folder / name / "journal.jsonl")
    ]


def test_resting_weights_do_not_move_ask_for_no_gradient_and_move_afterwards(tmp_path):
    task, seen = Two(), []
    train(task, STEPPED, tmp_path / "run", quiet=True, on_step=lambda _: seen.append(task.weights["slow"][0, 0].item()))
    assert task.asked == [False] * 6 + [True] * 3
    assert seen[:6] == [0.0] * 6
    assert seen[6] != 0
    assert task.weights["slow"].requires_grad
    assert [epoch for epoch, _ in task.prepared] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("optimizer", ["adamw", "adamp", "sgd"])
@pytest.mark.parametrize("stop", [2, 5, 6, 7])
def test_a_run_that_was_stopped_before_at_or_behind_the_thaw_ends_as_a_whole_one(stop, optimizer, tmp_path):
    class StopError(Exception):
        pass

    def stop_there(done):
        if done == stop:
            raise StopError

    config = LoopConfig(**{**vars(STEPPED), "optimizer": optimizer, "ramp_epoch": 2, "weight_decay": 0.1})
    undisturbed = Two()
    train(undisturbed, config, tmp_path / "A", quiet=True)
    with pytest.raises(StopError):
        train(Two(), config, tmp_path / "B", quiet=True, on_step=stop_there)
    again = Two()
    train(again, config, tmp_path / "B", quiet=True, resume=True)
    assert steps_of(tmp_path, "A") == steps_of(tmp_path, "B")
    for name, weight in undisturbed.weights.items():
        assert torch.equal(weight, again.weights[name])
    loaded = Two()
    load_weights(latest_checkpoint(tmp_path / "B"), loaded.module)
    assert torch.equal(loaded.weights["slow"], again.weights["slow"])


def test_rates_drop_at_their_epochs_and_each_group_takes_its_factor(tmp_path):
    assert [drops(epoch, (15,), 0.1) for epoch in (0, 14, 15, 24)] == [1, 1, 0.1, 0.1]
    assert drops(9, (3, 6), 0.5) == 0.25
    task, moved = Two(epochs=0), []

    def note(done):
        moved.append({name: weight[0, 0].item() for name, weight in task.weights.items()})

    train(task, STEPPED, tmp_path / "run", quiet=True, on_step=note)
    assert [line["lr"] for line in steps_of(tmp_path, "run")] == pytest.approx([0.1] * 6 + [0.01] * 3)
    # The first step of Adam is as long as the rate, whatever the gradient.
    assert (moved[0]["quick"], moved[0]["slow"]) == (pytest.approx(0.1, rel=1e-4), pytest.approx(0.05, rel=1e-4))


class Watched(Two):
    """Keeps the factor by which each loss was multiplied on its way back."""

    def __init__(self):
        super().__init__(epochs=0)
        self.factors = []

    def terms(self, batch):
        terms = super().terms(batch)
        terms["loss"].register_hook(lambda grad: self.factors.append(grad.item()))
        return terms


def test_in_its_epoch_the_loss_is_ramped_up_and_told_as_it_is(tmp_path):
    tasks = {ramp: Watched() for ramp in (None, 1)}
    for ramp, task in tasks.items():
        config = LoopConfig(**{**vars(STEPPED), "ramp_epoch": ramp, "lr": 1e-30})
        train(task, config, tmp_path / str(ramp), quiet=True)
    assert tasks[None].factors == [1.0] * 9
    assert tasks[1].factors == pytest.approx([1, 1, 1, 1 / 3, 2 / 3, 1, 1, 1, 1])
    losses = [[line["loss"] for line in steps_of(tmp_path, name)] for name in ("None", "1")]
    assert losses[0] == pytest.approx(losses[1])


def test_a_resume_with_another_optimiser_or_other_drops_is_refused(tmp_path):
    train(Two(), STEPPED, tmp_path / "run", quiet=True)
    for other in ({"optimizer": "adamw"}, {"drop_epochs": (1,)}, {"ramp_epoch": 0}):
        config = LoopConfig(**{**vars(STEPPED), **other, "epochs": 4})
        with pytest.raises(UserError, match=rf"{next(iter(other))} = .* \(was "):
            train(Two(), config, tmp_path / "run", quiet=True, resume=True)


@pytest.mark.parametrize(
    "wrong", [{"optimizer": "adamq"}, {"schedule": "stairs"}, {"ramp_epoch": -1}, {"drop_factor": -0.1}]
)
def test_settings_of_the_loop_out_of_range_are_refused(wrong):
    with pytest.raises(UserError, match=str(next(iter(wrong.values())))):
        LoopConfig(**wrong)


def test_nothing_that_moves_in_the_first_epoch_is_refused(tmp_path):
    task = Two()
    task.groups = lambda decay: [ParameterGroup("slow", ("slow", "quick"), frozen_epochs=1)]
    with pytest.raises(UserError, match="no weight that moves in the first epoch"):
        train(task, STEPPED, tmp_path / "run", quiet=True)
    with pytest.raises(UserError, match="a frozen model"):
        require_trained([])


def test_an_error_inside_thaws_all_the_same():
    module = torch.nn.Linear(2, 2)
    with pytest.raises(ZeroDivisionError), frozen(module, [ParameterGroup("all", ("weight",), frozen_epochs=1)], 0):
        assert not module.weight.requires_grad
        assert 1 / 0
    assert module.weight.requires_grad


def test_optimisers_are_made_by_name_with_the_settings_of_their_groups():
    module = torch.nn.Linear(2, 3)
    groups = plain_groups(module, 0.3)
    for kind, wanted, name, value in (
        ("adamp", AdamP, "betas", (0.8, 0.9)),
        ("adamw", torch.optim.AdamW, "betas", (0.8, 0.9)),
        ("sgd", torch.optim.SGD, "momentum", 0.9),
    ):
        optimizer = new_optimizer(module, groups, kind, 0.1, (0.8, 0.9))
        assert type(optimizer) is wanted
        first, second = optimizer.param_groups
        assert (first["params"], first["weight_decay"], first["lr_factor"]) == ([module.weight], 0.3, 1.0)
        assert (second["params"], second["weight_decay"], second[name]) == ([module.bias], 0.0, value)


def test_sgd_adds_decay_to_the_gradient_and_a_tenth_of_it_fades_a_step(tmp_path):
    task, moved = Two(epochs=0, factor=0.5), []
    config = LoopConfig(**{**vars(STEPPED), "optimizer": "sgd", "clip_norm": 0.0, "weight_decay": 0.2, "lr": 0.01})
    train(task, config, tmp_path / "run", quiet=True, on_step=lambda _: moved.append(values(task)))
    slow = quick = speed_slow = speed_quick = 0.0
    for (_, indices), line, found in zip(task.prepared, steps_of(tmp_path, "run"), moved, strict=True):
        slope = 2 * (slow + quick - 1 - sum(indices) / len(indices) / 10)
        speed_slow = 0.9 * speed_slow + slope + 0.2 * slow
        speed_quick = 0.9 * speed_quick + slope + 0.2 * quick
        slow -= line["lr"] * 0.5 * speed_slow
        quick -= line["lr"] * speed_quick
        assert found == pytest.approx((slow, quick), rel=1e-5)


def values(task):
    return tuple(task.weights[name][0, 0].item() for name in ("slow", "quick"))
