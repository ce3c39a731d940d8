"""Backbone and adapter trained together: what a batch holds, what moves when, and a stop that leaves no trace."""

import numpy as np
import pytest
import torch
from pair_toys import SMALL

from litotes.data.augment import UNCHANGED, Augmentation
from litotes.data.pairs import CaptionedPictures
from litotes.errors import UserError
from litotes.models.pair_backbone import PairBackbone
from litotes.models.variational import AdapterConfig
from litotes.train.backbone_pairs import RECIPE, BackbonePairs
from litotes.train.journal import read_journal
from litotes.train.loop import LoopConfig, total_steps, train
from litotes.train.optim import BackboneRates, listing
from litotes.train.pair_objectives import PairMethod, new_objective
from tiny import noise_pictures, tiny_matcher

pytestmark = pytest.mark.usefixtures("one_thread")

CAPTIONS = (
    "a red square", "the red one", "a blue circle", "a small blue circle", "two green lines", "green lines",
    "a dark square", "the dark one", "a bright star", "one bright star", "no shape at all", "only noise",
)  # fmt: skip
# Three epochs of three steps; the picture tower rests in the first, a ramp behind it, a drop in the last.
LOOP = LoopConfig(
    batch_size=4, epochs=3, lr=1e-2, weight_decay=1e-4, warmup=0, schedule="step", drop_epochs=(2,), ramp_epoch=1,
    optimizer="adamp", clip_norm=2.0, seed=7, save_every=3,
)  # fmt: skip
MANY = Augmentation(token_part=0.9)
"""The tiny picture has five tokens, of which a fifth is none."""


def pairs():
    return CaptionedPictures(noise_pictures(6, size=40), CAPTIONS, np.repeat(np.arange(6), 2))


def task(folder, *, augmentation=MANY, method=None, heads=0, owners=None, rates=None, dimension=8):
    method = method or PairMethod(adapter=SMALL)
    matcher = tiny_matcher(folder / "model", CAPTIONS, layers=1)
    matcher.pooled = PairBackbone(matcher.encoder, dimension, seed=heads)
    return BackbonePairs(
        matcher,
        pairs(),
        new_objective(method),
        method,
        augmentation=augmentation,
        owners=owners,
        rates=rates or BackboneRates(frozen_epochs=1),
    )


def weights(made):
    return {name: p.detach().clone() for name, p in made.module.named_parameters()}


def outcome(folder, name, made):
    lines = read_journal(folder / name / "journal.jsonl")
    return weights(made), [{k: v for k, v in line.items() if k != "samples_per_s"} for line in lines]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of nine steps without a stop, and the weights after each."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("whole")
    made, path = task(folder), []
    path.append(weights(made))
    train(made, LOOP, folder / "A", quiet=True, on_step=lambda _: path.append(weights(made)))
    return outcome(folder, "A", made), path


def test_a21_all_prompts_are_asked_of_each_picture_and_never_altered(tmp_path):
    made = task(tmp_path, method=PairMethod(adapter=SMALL, pairing="all"))
    batch = made.prepare_in([0, 5], 3)
    assert torch.equal(batch.ids, tiny_matcher(tmp_path / "model", CAPTIONS, layers=1).tokenizer(list(CAPTIONS)))
    assert batch.positives.tolist() == [[j in (0, 1) for j in range(12)], [j in (4, 5) for j in range(12)]]
    terms = made.terms(batch)
    terms["loss"].backward()
    assert float(terms["pairs"]) == 24 and float(terms["positive_pairs"]) == 4


def test_rows_as_they_are_are_those_of_the_matcher(tmp_path):
    made = task(tmp_path)
    batch, matcher, data = made.prepare([3, 0, 2]), made._matcher, pairs()
    assert torch.equal(batch.pixels, matcher.pixels(data.pictures, [1, 0, 1]))
    assert torch.equal(batch.ids, matcher.tokenizer([CAPTIONS[3], CAPTIONS[0], CAPTIONS[2]]))
    assert batch.kept.all()
    assert batch.positives.tolist() == [[True, False, True], [False, True, False], [True, False, True]]


def test_the_base_is_the_one_that_the_training_began_with(tmp_path):
    made = task(tmp_path)
    start = made._matcher.base
    with torch.no_grad():
        made._matcher.encoder.clip.text_model.final_layer_norm.bias.add_(1)
    assert made.base == start != made._matcher.base
    made._matcher.pooled = None
    method = PairMethod(adapter=AdapterConfig(features=24))
    with pytest.raises(UserError, match=r"CLIP's own features.*\n.*\n.*set matcher\.pooled"):
        BackbonePairs(made._matcher, pairs(), new_objective(method), method)


def test_noise_gives_rows_other_pictures(tmp_path):
    owners = np.repeat(np.arange(6), 2)[::-1].copy()
    batch = task(tmp_path, owners=owners).prepare([0, 11])
    matcher = task(tmp_path)._matcher
    assert torch.equal(batch.pixels, matcher.pixels(pairs().pictures, [5, 0]))


def test_changes_depend_on_seed_epoch_and_row_alone(tmp_path):
    made = task(tmp_path)
    batch = made.prepare_in([5, 2, 7], 1)
    alone = made.prepare_in([2], 1)
    assert torch.equal(alone.pixels[0], batch.pixels[1])
    assert torch.equal(alone.kept[0], batch.kept[1])
    length = alone.ids.shape[1]
    assert torch.equal(alone.ids[0], batch.ids[1, :length])
    assert not batch.ids[1, length:].any()
    later = [made.prepare_in(list(range(12)), epoch) for epoch in (1, 2, 1)]
    assert not torch.equal(later[0].pixels, later[1].pixels)
    assert not torch.equal(later[0].kept, later[1].kept)
    assert later[0].ids.shape != later[1].ids.shape or not torch.equal(later[0].ids, later[1].ids)
    assert all(torch.equal(a, b) for a, b in zip(later[0], later[2], strict=True))
    other = task(tmp_path, method=PairMethod(adapter=SMALL, seed=1)).prepare_in(list(range(12)), 1)
    assert not torch.equal(other.pixels, later[0].pixels)


def test_two_captions_of_a_picture_see_two_crops_and_a_mirror_is_one(tmp_path):
    made = task(tmp_path)
    batch = made.prepare_in(list(range(12)), 0)
    assert not torch.equal(batch.pixels[0], batch.pixels[1])
    mirrored = task(tmp_path, augmentation=Augmentation(1.0, 1.0, 0.0, 0.0, 0.0)).prepare_in([4], 0)
    assert torch.equal(mirrored.pixels.flip(-1), made.prepare([4]).pixels)


def test_the_loss_reaches_every_weight_that_is_trained(tmp_path):
    made = task(tmp_path)
    made.begin_step(0)
    made.terms(made.prepare_in([0, 2, 4, 6], 0))["loss"].backward()
    for name, parameter in made.module.named_parameters():
        assert (parameter.grad is not None) == parameter.requires_grad, name
    places = ("vision_model.embeddings.patch", "text_model.encoder.layers.0", "image_head.pool", "adapter.trunks")
    for place in places:
        grads = [p.grad for name, p in made.module.named_parameters() if place in name]
        assert any(grad.abs().max() > 0 for grad in grads)


def test_the_picture_tower_rests_an_epoch_and_everything_else_moves(whole):
    _, path = whole
    for step in range(1, 10):
        moved = {name for name in path[0] if not torch.equal(path[step][name], path[step - 1][name])}
        tower = {name for name in moved if ".vision_model." in name}
        assert bool(tower) == (step > 3), step
        assert any(".text_model." in name for name in moved)
        assert any("adapter." in name for name in moved)
    unused = [name for name in path[0] if "projection" in name or "post_layernorm" in name or "logit_scale" in name]
    assert len(unused) == 5
    assert all(torch.equal(path[0][name], path[9][name]) for name in unused)


def test_the_journal_tells_rates_losses_and_the_state_of_the_distribution(whole):
    (_, steps), _ = whole
    assert [line["lr"] for line in steps] == pytest.approx([1e-2] * 6 + [1e-3] * 3)
    assert {"loss", "recon", "positive_residual"} <= set(steps[0])


class StopError(Exception):
    pass


@pytest.mark.parametrize(("stop", "workers"), [(3, 0), (5, 2)])
def test_a_stopped_run_ends_as_if_it_had_not_been_stopped(stop, workers, whole, tmp_path):
    def stop_there(done):
        if done == stop:
            raise StopError

    config = LoopConfig(**{**vars(LOOP), "workers": workers})
    with pytest.raises(StopError):
        train(task(tmp_path), config, tmp_path / "B", quiet=True, on_step=stop_there)
    torch.manual_seed(99)
    again = task(tmp_path)
    train(again, config, tmp_path / "B", quiet=True, resume=True)
    (right, right_steps), _ = whole
    found, steps = outcome(tmp_path, "B", again)
    assert steps == right_steps
    assert all(torch.equal(found[name], right[name]) for name in right)


def test_a_resume_with_another_start_is_refused_and_names_it(tmp_path):
    def stop_there(done):
        if done == 3:
            raise StopError

    with pytest.raises(StopError):
        train(task(tmp_path), LOOP, tmp_path / "run", quiet=True, on_step=stop_there)
    others = {
        "augmentation": {"augmentation": UNCHANGED},
        "rates": {"rates": BackboneRates(frozen_epochs=0)},
        "model": {"heads": 1},
        "rows": {"owners": np.repeat(np.arange(6), 2)[::-1].copy()},
    }
    for name, other in others.items():
        with pytest.raises(UserError, match=rf"{name} = .* \(was "):
            train(task(tmp_path, **other), LOOP, tmp_path / "run", quiet=True, resume=True)


def test_what_is_trained_on_is_learned_by_the_backbone(tmp_path):
    rates = BackboneRates(text=1.0, image=1.0, layer_decay=1.0, frozen_epochs=0)
    method = PairMethod("infonce", "cosine", adapter=SMALL)
    made = task(tmp_path, augmentation=UNCHANGED, method=method, rates=rates)
    loop = LoopConfig(batch_size=12, steps=25, lr=5e-3, warmup=3, schedule="constant", save_every=0)
    train(made, loop, tmp_path / "run", quiet=True)
    batch = made.prepare(list(range(12)))
    with torch.no_grad():
        image, text = made._backbone(batch.pixels, batch.ids, batch.kept)
        scores = made._objective.module.logits(image, text)
    assert (batch.positives[range(12), scores.argmax(1)]).float().mean() > 0.9


def test_the_groups_name_heads_and_adapter(tmp_path):
    made = task(tmp_path)
    rows = {row["name"]: row for row in listing(made.module, made.groups(1e-4))}
    assert rows["adapter, vectors"]["weight_decay"] == 0
    assert rows["image, block 0"]["lr_factor"] == pytest.approx(0.007)
    assert rows["image, block 0"]["frozen_epochs"] == 1
    assert {"heads", "adapter", "text, block 0"} <= set(rows)


def test_the_recipe_is_the_stated_one():
    assert (RECIPE.batch_size, RECIPE.epochs, RECIPE.lr, RECIPE.weight_decay, RECIPE.clip_norm) == (
        128, 25, 5e-4, 1e-4, 2.0,
    )  # fmt: skip
    assert (RECIPE.optimizer, RECIPE.schedule, RECIPE.drop_epochs, RECIPE.drop_factor, RECIPE.ramp_epoch) == (
        "adamp", "step", (15,), 0.1, 2,
    )  # fmt: skip
    assert total_steps(566_435, RECIPE) == 25 * 4426


def test_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(UserError, match="an adapter for features of 9 numbers on a backbone of 8"):
        task(tmp_path, method=PairMethod(adapter=AdapterConfig(features=9)))
    for wrong in ({"crop": 0.0}, {"flip": 1.5}, {"touched": -0.1}, {"token_part": 1.0}, {"area": 0.0}, {"area": 1.5}):
        with pytest.raises(UserError, match=next(iter(wrong))):
            Augmentation(**wrong)
