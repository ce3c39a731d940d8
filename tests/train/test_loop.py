"""A stop must be invisible in the result: the same bits on one CPU thread, wherever the run was cut."""

import multiprocessing
import os
import re
import signal
from dataclasses import replace

import pytest
import torch
from train_toys import LOOP, adapted, data, outcome, run

from litotes.data.images import ImageFiles
from litotes.errors import UserError
from litotes.models.lora_settings import LoraSettings
from litotes.train import checkpoint, journal
from litotes.train.checkpoint import latest_checkpoint, load_weights
from litotes.train.journal import read_journal
from litotes.train.loop import LoopConfig, _note, train
from litotes.train.negation import Negation, NegationConfig
from litotes.train.task import Task

pytestmark = pytest.mark.usefixtures("one_thread")


class StopError(Exception):
    pass


def stop_after(step):
    def raise_there(done):
        if done == step:
            raise StopError

    return raise_there


def same(first, second):
    (weights, steps), (other_weights, other_steps) = first, second
    assert steps == other_steps
    assert weights.keys() == other_weights.keys()
    assert all(torch.equal(weights[name], other_weights[name]) for name in weights)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Run A: twelve steps without a stop."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("whole")
    return outcome(folder, "A", run(folder, "A"))


def test_the_whole_run_trains_the_adapter_alone_at_the_listed_rates(whole, tmp_path):
    weights, steps = whole
    fresh = dict(adapted(tmp_path).encoder.named_parameters())
    changed = {name for name in weights if not torch.equal(weights[name], fresh[name])}
    assert changed == {name for name, p in fresh.items() if p.requires_grad}
    assert [line["step"] for line in steps] == list(range(1, 13))
    relative = [0.5, 1, 1, 0.975528, 0.904508, 0.793893, 0.654508, 0.5, 0.345492, 0.206107, 0.095492, 0.024472]
    assert [line["lr"] / LOOP.lr for line in steps] == pytest.approx(relative, abs=1e-6)
    assert {line["items"] for line in steps} == {4}
    assert set(steps[0]) == {"step", "epoch", "items", "lr", "loss", "hco", "atnl"}


def test_the_same_seed_gives_the_same_run_and_another_one_another(whole, tmp_path):
    same(outcome(tmp_path, "D", run(tmp_path, "D")), whole)
    other = LoopConfig(**{**vars(LOOP), "seed": 8})
    assert outcome(tmp_path, "other", run(tmp_path, "other", other))[1] != whole[1]


# B: in the middle of an epoch; C: at the end of one; then with a state that is older than the stop.
@pytest.mark.parametrize(("stop", "save_every"), [(5, 1), (6, 1), (5, 2), (6, 4), (2, 3)])
def test_a_stopped_run_ends_as_if_it_had_not_been_stopped(stop, save_every, whole, tmp_path):
    config = LoopConfig(**{**vars(LOOP), "save_every": save_every})
    with pytest.raises(StopError):
        run(tmp_path, "B", config, on_step=stop_after(stop))
    assert len(read_journal(tmp_path / "B" / "journal.jsonl")) == stop
    found = latest_checkpoint(tmp_path / "B")
    assert (found.name if found else None) == {
        (5, 1): "checkpoint-000005", (6, 1): "checkpoint-000006", (5, 2): "checkpoint-000004",
        (6, 4): "checkpoint-000004", (2, 3): None,
    }[stop, save_every]  # fmt: skip
    torch.manual_seed(99)  # a new process knows nothing of the first one's random numbers
    same(outcome(tmp_path, "B", run(tmp_path, "B", config, resume=True)), whole)


def test_worker_processes_change_nothing(whole, tmp_path):
    config = LoopConfig(**{**vars(LOOP), "workers": 2})
    with pytest.raises(StopError):
        run(tmp_path, "F", config, on_step=stop_after(5))
    same(outcome(tmp_path, "F", run(tmp_path, "F", config, resume=True)), whole)


def test_a_mistake_in_a_process_is_told_as_without_one(tmp_path):
    (tmp_path / "cut.png").write_bytes(b"no picture")
    files = ImageFiles(["cut.png"] * 12, tmp_path)
    config = LoopConfig(**{**vars(LOOP), "workers": 1})
    with pytest.raises(UserError, match=r"cut\.png cannot be read as a picture"):
        run(tmp_path, "G", config, lora=LoraSettings(towers="vision"), quadruplets=replace(data(), pictures=files))


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def kill_while_writing(nth):
    """The nth safetensors file is cut in its middle; two are written a step."""
    written = 0
    original = checkpoint.save_tensors

    def save(tensors, path, **options):
        nonlocal written
        written += 1
        original(tensors, path, **options)
        if written == nth:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
            kill()

    checkpoint.save_tensors = save


def kill_before_renaming(nth):
    renamed = 0
    original = checkpoint.Path.rename

    def rename(path, target):
        nonlocal renamed
        renamed += 1
        if renamed == nth:
            kill()
        return original(path, target)

    checkpoint.Path.rename = rename


def kill_before_pruning(nth):
    pruned = 0
    original = checkpoint.prune

    def prune(path, keep):
        nonlocal pruned
        pruned += 1
        if pruned == nth + 1:  # the first is done before any step
            kill()
        original(path, keep)

    checkpoint.prune = prune


def kill_within_a_line(nth):
    original = journal.json.dumps

    def write(self, line):
        if line["step"] == nth:
            self._file.write(original(line)[:20])
            self._file.flush()
            kill()
        self._file.write(original(line) + "\n")
        self._file.flush()

    journal.Journal.write = write


def killed_run(folder, prepare, nth):
    torch.set_num_threads(1)
    prepare(nth)
    run(folder, "E")


KILLS = {
    "the weights of step 5 are being written": (kill_while_writing, 9, "checkpoint-000004"),
    "the optimiser's state of step 5 is being written": (kill_while_writing, 10, "checkpoint-000004"),
    "step 5 is about to be renamed": (kill_before_renaming, 5, "checkpoint-000004"),
    "older states are about to be deleted": (kill_before_pruning, 5, "checkpoint-000005"),
    "the first state is being written": (kill_while_writing, 1, None),
    "a line of the journal is being written": (kill_within_a_line, 8, "checkpoint-000007"),
}


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.parametrize("moment", KILLS)
def test_a_killed_run_ends_as_if_it_had_not_been_killed(moment, whole, tmp_path):
    prepare, nth, newest = KILLS[moment]
    process = multiprocessing.get_context("fork").Process(target=killed_run, args=(tmp_path, prepare, nth))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    found = latest_checkpoint(tmp_path / "E")
    assert (found.name if found else None) == newest
    same(outcome(tmp_path, "E", run(tmp_path, "E", resume=True)), whole)
    assert not list((tmp_path / "E").glob("*.partial"))


def test_the_saved_weights_are_those_of_the_run(whole, tmp_path):
    run(tmp_path, "A")
    fresh = adapted(tmp_path)
    load_weights(latest_checkpoint(tmp_path / "A"), fresh.encoder)
    assert all(torch.equal(p, whole[0][name]) for name, p in fresh.encoder.named_parameters())


def test_only_the_newest_checkpoints_are_kept(tmp_path):
    run(tmp_path, "A")
    assert sorted(path.name for path in (tmp_path / "A").iterdir()) == [
        "checkpoint-000011", "checkpoint-000012", "journal.jsonl",
    ]  # fmt: skip


def test_a_run_is_not_overwritten(tmp_path):
    with pytest.raises(StopError):
        run(tmp_path, "A", on_step=stop_after(2))
    before = (tmp_path / "A" / "journal.jsonl").read_bytes()
    with pytest.raises(UserError, match="already holds a run"):
        run(tmp_path, "A")
    assert (tmp_path / "A" / "journal.jsonl").read_bytes() == before


def test_a_run_that_is_not_there_is_not_resumed(tmp_path):
    with pytest.raises(UserError, match="which is not there"):
        run(tmp_path, "A", resume=True)


def test_a_finished_run_says_so_and_does_not_train_again(tmp_path):
    run(tmp_path, "A")
    before = (tmp_path / "A" / "journal.jsonl").read_bytes()
    with pytest.raises(UserError, match=r"finished \(12 of 12 steps\)"):
        run(tmp_path, "A", resume=True)
    assert (tmp_path / "A" / "journal.jsonl").read_bytes() == before


OTHERS = {
    "batch_size": {"config": LoopConfig(**{**vars(LOOP), "batch_size": 6})},
    "lr": {"config": LoopConfig(**{**vars(LOOP), "lr": 2e-2})},
    "epochs": {"config": LoopConfig(**{**vars(LOOP), "epochs": 5})},
    "seed": {"config": LoopConfig(**{**vars(LOOP), "seed": 9})},
    "data": {"quadruplets": data(14)},
    "trained": {"lora": LoraSettings(rank=2, alpha=2.0, dropout=0.25)},
    "objective": {"negation": NegationConfig(hanclip=2.0)},
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_resume_with_other_settings_is_refused_and_names_them(name, tmp_path):
    with pytest.raises(StopError):
        run(tmp_path, "A", on_step=stop_after(2))
    with pytest.raises(UserError, match=rf"{name} = .* \(was "):
        run(tmp_path, "A", resume=True, **OTHERS[name])


def test_a_resume_on_another_base_is_refused(tmp_path):
    with pytest.raises(StopError):
        run(tmp_path, "A", on_step=stop_after(2))
    other = adapted(tmp_path)
    with torch.no_grad():
        other.encoder.clip.visual_projection.weight.add_(1e-3)
    task = Negation(other, data(), NegationConfig())
    with pytest.raises(UserError, match=r"base = \w+ \(was "):
        train(task, LOOP, tmp_path / "A", resume=True, quiet=True)


def test_how_often_it_saves_may_change_on_resume(whole, tmp_path):
    with pytest.raises(StopError):
        run(tmp_path, "A", on_step=stop_after(3))
    rarely = LoopConfig(**{**vars(LOOP), "save_every": 0, "keep": 1, "workers": 1})
    same(outcome(tmp_path, "A", run(tmp_path, "A", rarely, resume=True)), whole)


class Line(Task):
    """Fits y = 2 x, or fails as the test asks."""

    name = "line"

    def __init__(self, n=12, fail_at=None, gradient=1.0):
        self.x = torch.arange(1, n + 1, dtype=torch.float32)[:, None] / n
        self.weight = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.zeros_(self.weight.weight)
        self.fail_at, self.gradient, self.seen, self.constrained = fail_at, gradient, [], 0

    @property
    def module(self):
        return self.weight

    def __len__(self):
        return len(self.x)

    def prepare(self, indices):
        self.seen.append(indices)
        return self.x[list(indices)]

    def terms(self, batch):
        loss = (self.weight(batch) - 2 * batch).square().mean()
        if len(self.seen) == self.fail_at:
            loss = loss * torch.nan if self.gradient == 1.0 else loss + self.gradient * self.weight.weight.sum().sqrt()
        return {"loss": loss}

    def identity(self):
        return {}

    def constrain(self):
        self.constrained += 1


def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_batch(tmp_path):
    task = Line(fail_at=3)
    with pytest.raises(UserError, match=r"loss nan at step 3 .*\n.*\n.*examples \[") as refused:
        train(task, LOOP, tmp_path / "run", quiet=True)
    assert str(list(task.seen[2])) in str(refused.value)
    assert latest_checkpoint(tmp_path / "run").name == "checkpoint-000002"


def test_a_gradient_that_is_not_finite_never_reaches_the_weights(tmp_path):
    # The slope of a root at 0 is infinite, while the loss is not.
    task = Line(fail_at=1, gradient=2.0)
    with pytest.raises(UserError, match="gradient norm inf at step 1"):
        train(task, LoopConfig(**{**vars(LOOP), "clip_norm": 0.0}), tmp_path / "run", quiet=True)
    assert torch.equal(task.weight.weight, torch.zeros(1, 1))


def test_half_batches_added_up_give_the_steps_of_whole_ones(tmp_path):
    whole, halves = Line(), Line()
    common = {"lr": 0.1, "warmup": 0, "schedule": "constant", "seed": 3, "weight_decay": 0.0, "save_every": 0}
    train(whole, LoopConfig(batch_size=4, epochs=2, **common), tmp_path / "whole", quiet=True)
    train(halves, LoopConfig(batch_size=2, epochs=2, accumulation=2, **common), tmp_path / "halves", quiet=True)
    assert [i for batch in halves.seen for i in batch] == [i for batch in whole.seen for i in batch]
    assert torch.allclose(whole.weight.weight, halves.weight.weight, atol=1e-6)
    assert 0 < float(whole.weight.weight.detach()) < 1
    lines = read_journal(tmp_path / "halves" / "journal.jsonl")
    assert [line["items"] for line in lines] == [2] * 12
    assert halves.constrained == whole.constrained == 6


def test_a_last_step_without_its_second_half_still_moves_the_weights(tmp_path):
    task = Line(n=6)
    train(task, LoopConfig(batch_size=2, accumulation=2, save_every=0, warmup=0), tmp_path / "run", quiet=True)
    assert task.constrained == 2


def test_weight_decay_spares_vectors(tmp_path):
    class Idle(Line):
        def __init__(self):
            super().__init__()
            self.both = torch.nn.Linear(2, 2)

        @property
        def module(self):
            return self.both

        def terms(self, batch):
            return {"loss": sum(p.sum() * 0 for p in self.both.parameters())}

    task = Idle()
    before = {name: p.detach().clone() for name, p in task.both.named_parameters()}
    config = LoopConfig(batch_size=12, lr=0.1, weight_decay=0.5, warmup=0, schedule="constant")
    train(task, config, tmp_path / "run", quiet=True)
    assert torch.allclose(task.both.weight, before["weight"] * (1 - 0.1 * 0.5))
    assert torch.equal(task.both.bias, before["bias"])


@pytest.mark.parametrize("precision", ["bf16", "no"])
def test_autocast_is_used_where_it_is_asked_for(precision, tmp_path):
    seen = []

    class Watched(Line):
        def terms(self, batch):
            seen.append(self.weight(batch).dtype)
            return super().terms(batch)

    train(Watched(), LoopConfig(batch_size=4, precision=precision), tmp_path / "run", quiet=True)
    assert set(seen) == {torch.bfloat16 if precision == "bf16" else torch.float32}


def test_float16_on_the_cpu_and_a_frozen_model_are_refused(tmp_path):
    with pytest.raises(UserError, match="fp16 on the CPU"):
        train(Line(), LoopConfig(batch_size=4, precision="fp16"), tmp_path / "run", quiet=True)
    task = Line()
    task.weight.requires_grad_(False)
    with pytest.raises(UserError, match="a frozen model"):
        train(task, LoopConfig(batch_size=4), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_the_model_is_in_train_mode_in_the_run_and_in_eval_mode_after_it(tmp_path):
    task = Line()
    modes = []
    task.weight.eval()
    train(task, LOOP, tmp_path / "run", on_step=lambda done: modes.append(task.weight.training), quiet=True)
    assert modes == [True] * 12
    assert not task.weight.training


def test_several_processes_are_refused_as_long_as_losses_do_not_gather(tmp_path, monkeypatch):
    monkeypatch.setattr("accelerate.Accelerator.num_processes", 2)
    with pytest.raises(UserError, match="2 processes"):
        train(Line(), LOOP, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_the_progress_shows_terms_and_speed(tmp_path, capsys):
    train(Line(), LOOP, tmp_path / "run")
    shown = capsys.readouterr().out
    assert "line" in shown
    assert "12/12" in shown
    assert re.search(r"\d+ samples/s  loss \d+\.\d{3}", shown)
    train(Line(), LOOP, tmp_path / "quiet", quiet=True)
    assert capsys.readouterr().out.strip() == ""


def test_a_second_run_of_a_process_may_have_another_precision(tmp_path):
    for precision in ("no", "bf16", "no"):
        config = LoopConfig(batch_size=12, precision=precision)
        train(Line(), config, tmp_path / f"{precision}{len(list(tmp_path.iterdir()))}", quiet=True)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("width", "note"),
    [
        (0, "1234 samples/s"),
        (35, "1234 samples/s  loss 104.903"),
        (80, "1234 samples/s  loss 104.903  hco 103.187  atnl 1.427"),
    ],
)
def test_the_note_beside_the_bar_fits_the_terminal(width, note):
    line = {"step": 1, "epoch": 0, "items": 4, "lr": 1.0, "loss": 104.903, "hco": 103.187, "atnl": 1.427}
    assert _note({**line, "samples_per_s": 1234.2}, width) == note
