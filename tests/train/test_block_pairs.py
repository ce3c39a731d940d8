"""Some blocks and an adapter trained together: what moves, what never does, how pictures are cut, a stop."""

import numpy as np
import pytest
import torch
from PIL import Image

from litotes.backbones.square import cropped_square
from litotes.data.augment import UNCHANGED, Augmentation, example_rng
from litotes.data.pairs import CaptionedPictures
from litotes.errors import UserError
from litotes.models.variational import AdapterConfig
from litotes.train.backbone_pairs import (
    BLOCKS_RATES,
    BLOCKS_RECIPE,
    BackbonePairs,
    make_blocks_trainable,
)
from litotes.train.checkpoint import trainable
from litotes.train.journal import read_journal
from litotes.train.loop import LoopConfig, train
from litotes.train.optim import listing
from litotes.train.pair_objectives import PairMethod, new_objective
from tiny import noise_pictures, tiny_matcher

pytestmark = pytest.mark.usefixtures("one_thread")

PROMPTS = ("a photo of a dog.", "a photo of a red fox.", "a photo of a cat.")
CONFIG = AdapterConfig(features=24, hidden=8, latent=6, decoder_hidden=4)
METHOD = PairMethod(adapter=CONFIG, pairing="all", seed=3)
CHANGES = Augmentation(1.0, 0.5, 0.0, 0.0, 0.0, area=0.2)
LOOP = LoopConfig(**{**vars(BLOCKS_RECIPE), "batch_size": 4, "epochs": 2, "lr": 0.05, "seed": 7, "save_every": 2})


def data(n=9):
    return CaptionedPictures(noise_pictures(n, size=40), tuple(PROMPTS[i % 3] for i in range(n)), np.arange(n))


def task(folder, vision="0-1", text="0-2", changes=CHANGES):
    matcher = tiny_matcher(folder / "model", PROMPTS, layers=4)
    make_blocks_trainable(matcher, vision, text)
    made = BackbonePairs(
        matcher, data(), new_objective(METHOD), METHOD, rates=BLOCKS_RATES, augmentation=changes
    )  # fmt: skip
    return made, matcher


def weights(made):
    return {name: p.detach().clone() for name, p in made.module.named_parameters()}


def outcome(folder, name, made):
    lines = read_journal(folder / name / "journal.jsonl")
    return weights(made), [{k: v for k, v in line.items() if k != "samples_per_s"} for line in lines]


def test_the_recipe_is_the_stated_one():
    assert (BLOCKS_RECIPE.batch_size, BLOCKS_RECIPE.epochs, BLOCKS_RECIPE.lr, BLOCKS_RECIPE.weight_decay) == (
        16, 5, 0.0015, 5e-4,
    )  # fmt: skip
    assert (BLOCKS_RECIPE.optimizer, BLOCKS_RECIPE.schedule, BLOCKS_RECIPE.warmup) == ("sgd", "cosine", 0)
    assert BLOCKS_RECIPE.clip_norm == 0


def test_before_training_the_features_are_the_models_own(tmp_path):
    made, matcher = task(tmp_path)
    batch = made.prepare([4, 0, 8])
    image, text = made._backbone(batch.pixels, batch.ids, batch.kept)
    assert torch.allclose(image, matcher.encode_images(data().pictures, [4, 0, 8]), atol=1e-6)
    assert torch.allclose(text, matcher.encode_texts(PROMPTS), atol=1e-6)
    assert batch.positives.tolist() == [[False, True, False], [True, False, False], [False, False, True]]


def test_the_adapter_and_the_named_blocks_move_and_everything_else_stays_bit_for_bit(tmp_path):
    made, matcher = task(tmp_path)
    before, start = weights(made), dict(matcher.encoder.clip.state_dict())
    start = {name: tensor.clone() for name, tensor in start.items()}
    train(made, LOOP, tmp_path / "run", quiet=True)
    moved = {name for name, weight in weights(made).items() if not torch.equal(before[name], weight)}
    blocks = [f"vision_model.encoder.layers.{b}." for b in (0, 1)]
    blocks += [f"text_model.encoder.layers.{b}." for b in (0, 1, 2)]
    for name in before:
        asked = name.startswith("adapter.") or any(block in name for block in blocks)
        # No attention depends on the bias of its keys: rounding alone moves it.
        assert (name in moved) == asked or (asked and name.endswith("k_proj.bias")), name
    assert moved <= set(trainable(made.module))
    for name, tensor in matcher.encoder.clip.state_dict().items():
        if not any(block in name for block in blocks):
            assert torch.equal(tensor, start[name]), name


def test_all_is_trained_at_one_rate_unless_said_otherwise(tmp_path):
    made, _ = task(tmp_path, "top2", "1")
    rows = listing(made.module, made.groups(5e-4))
    names = {"image, block 2", "image, block 3", "text, block 1", "adapter"}
    assert {row["name"] for row in rows} == names | {f"{name}, vectors" for name in names}
    assert {(row["lr_factor"], row["frozen_epochs"]) for row in rows} == {(1.0, 0)}
    assert {row["weight_decay"] for row in rows if row["name"] in names} == {5e-4}


def test_pictures_are_cut_by_area_and_mirrored_as_seed_epoch_and_row_say(tmp_path):
    made, matcher = task(tmp_path)
    batch = made.prepare_in([5, 2], 1)
    mirrored = 0
    for place, row in enumerate((5, 2)):
        rng = example_rng(3, 1, row, "picture")
        square = cropped_square(data().pictures[row], 32, rng, 0.2)
        wanted = matcher.preprocess(Image.fromarray(square.transpose(1, 2, 0)))
        flip = rng.random() < 0.5
        mirrored += flip
        assert torch.equal(batch.pixels[place], wanted.flip(-1) if flip else wanted)
    assert batch.kept.all()
    assert not torch.equal(made.prepare_in([5], 0).pixels, batch.pixels[:1])
    plain, _ = task(tmp_path, changes=UNCHANGED)
    assert torch.equal(plain.prepare_in([5, 2], 1).pixels, matcher.pixels(data().pictures, [5, 2]))


def test_the_prompts_are_encoded_once_a_step(tmp_path):
    made, matcher = task(tmp_path)
    seen = []
    matcher.encoder.clip.text_model.register_forward_pre_hook(
        lambda _, __, named: seen.append(len(named["input_ids"])), with_kwargs=True
    )
    train(made, LOOP, tmp_path / "run", quiet=True)
    assert seen == [3] * 6


class StopError(Exception):
    pass


@pytest.mark.parametrize("stop", [3, 5])
def test_a_stopped_run_ends_as_if_it_had_not_been_stopped(stop, tmp_path):
    def stop_there(done):
        if done == stop:
            raise StopError

    whole, _ = task(tmp_path)
    train(whole, LOOP, tmp_path / "A", quiet=True)
    with pytest.raises(StopError):
        train(task(tmp_path)[0], LOOP, tmp_path / "B", quiet=True, on_step=stop_there)
    torch.manual_seed(99)
    again, _ = task(tmp_path)
    train(again, LOOP, tmp_path / "B", quiet=True, resume=True)
    (right, right_steps), (found, steps) = outcome(tmp_path, "A", whole), outcome(tmp_path, "B", again)
    assert steps == right_steps
    assert all(torch.equal(found[name], right[name]) for name in right)
    for other, told in ((task(tmp_path, "0")[0], "blocks"), (task(tmp_path, changes=UNCHANGED)[0], "augmentation")):
        with pytest.raises(UserError, match=rf"{told} = .* \(was "):
            train(other, LOOP, tmp_path / "B", quiet=True, resume=True)
