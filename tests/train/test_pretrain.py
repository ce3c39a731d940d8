import csv
import math

import numpy as np
import pytest
import torch
from PIL import Image

from litotes.data.images import ArrayPictures
from litotes.errors import UserError
from litotes.models.matcher import load_matcher
from litotes.train.config import PretrainConfig
from litotes.train.journal import mean_loss, read_journal
from litotes.train.loop import LoopConfig, train
from litotes.train.pretrain import Contrastive, WordWarmup, content_words
from litotes.train.scratch import pretrain_from_table, run_phase
from tiny import noise_pictures, tiny_matcher

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 60), "blue": (30, 60, 220), "white": (240, 240, 240)}
CAPTIONS = [f"a {colour} square" for colour in COLOURS] * 4
LOOP = LoopConfig(batch_size=8, steps=24, lr=3e-3, warmup=4, save_every=0)


def squares(seed=0):
    """Sixteen pictures, each of one colour with a little noise."""
    noise = np.random.default_rng(seed).integers(-20, 20, (16, 32, 32, 3))
    pixels = np.array(list(COLOURS.values()) * 4)[:, None, None] + noise
    return ArrayPictures(pixels.clip(0, 255).astype(np.uint8), [f"square{i}" for i in range(16)])


def model(folder):
    return tiny_matcher(folder / "tokenizer", CAPTIONS)


def thirds(run):
    """Mean loss of the first and of the last third of a run."""
    lines = read_journal(run / "journal.jsonl")
    return mean_loss(lines[: len(lines) // 3]), mean_loss(lines[-len(lines) // 3 :])


def test_the_warm_up_teaches_words_to_the_picture_tower_alone(tmp_path):
    made = model(tmp_path)
    before = {name: p.detach().clone() for name, p in made.encoder.clip.named_parameters()}
    task = WordWarmup(made, squares(), [tuple(caption.split()[1:]) for caption in CAPTIONS])
    train(task, LOOP, tmp_path / "run", quiet=True)
    first, last = thirds(tmp_path / "run")
    assert last < 0.7 * first
    changed = {name for name, p in made.encoder.clip.named_parameters() if not torch.equal(p, before[name])}
    assert changed
    assert all(name.startswith(("vision_model", "visual_projection")) for name in changed)
    task.release()
    assert all(p.requires_grad for p in made.encoder.parameters())


def test_targets_spread_evenly_over_the_different_words_of_a_picture(tmp_path):
    words = [("cat", "boat"), ("boat", "boat"), ("cat", "boat", "tree", "tree")]
    task = WordWarmup(model(tmp_path), noise_pictures(3), words)
    assert task.vocabulary == ["boat", "cat", "tree"]
    _, targets = task.prepare([0, 1, 2])
    third = 1 / 3
    assert torch.allclose(targets, torch.tensor([[0.5, 0.5, 0], [1, 0, 0], [third, third, third]]))


def test_the_divergence_is_zero_for_a_perfect_head(tmp_path):
    task = WordWarmup(model(tmp_path), noise_pictures(2), [("boat",), ("boat",)])
    assert float(task.terms(task.prepare([0, 1]))["loss"].detach()) == pytest.approx(0, abs=1e-6)
    task = WordWarmup(model(tmp_path), noise_pictures(2), [("boat",), ("cat",)])
    torch.nn.init.zeros_(task.module["head"].weight)
    torch.nn.init.zeros_(task.module["head"].bias)
    assert float(task.terms(task.prepare([0, 1]))["loss"].detach()) == pytest.approx(math.log(2))


def test_the_head_is_drawn_from_its_seed(tmp_path):
    words = [("boat",), ("cat",)]
    heads = []
    for seed in (1, 1, 2):
        torch.rand(3)
        task = WordWarmup(model(tmp_path), noise_pictures(2), words, seed=seed)
        heads.append(task.module["head"].weight)
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])


def test_contrastive_training_matches_pictures_with_captions(tmp_path):
    made = model(tmp_path)
    train(Contrastive(made, squares(), CAPTIONS), LOOP, tmp_path / "run", quiet=True)
    first, last = thirds(tmp_path / "run")
    assert last < 0.6 * first
    held = made.encode_images(squares(seed=1))
    texts = made.encode_texts(CAPTIONS[:4])
    nearest = torch.nn.functional.cosine_similarity(held[:, None], texts[None], dim=-1).argmax(1)
    assert (nearest == torch.arange(16) % 4).float().mean() > 0.9


def test_the_same_caption_of_another_picture_is_no_negative(tmp_path):
    task = Contrastive(model(tmp_path), squares(), CAPTIONS)
    _, ids, repeats = task.prepare([0, 4, 1])
    assert len(ids) == 3
    assert repeats.tolist() == [[True, True, False], [True, True, False], [False, False, True]]
    assert float(task.terms(task.prepare([0, 4]))["loss"].detach()) == 0


def test_the_scale_is_kept_within_its_range(tmp_path):
    made = model(tmp_path)
    task = Contrastive(made, squares(), CAPTIONS)
    for outside, inside in ((9.0, math.log(100)), (-1.0, 0.0), (3.0, 3.0)):
        made.encoder.clip.logit_scale.data.fill_(outside)
        task.constrain()
        assert float(made.encoder.clip.logit_scale.detach()) == pytest.approx(inside)


@pytest.mark.parametrize("kind", ["warm-up", "contrastive"])
def test_the_identity_follows_data_and_base(kind, tmp_path):
    def identity(captions, pictures, base):
        made = tiny_matcher(tmp_path / "tokenizer", CAPTIONS, seed=base)
        if kind == "warm-up":
            return WordWarmup(made, pictures, [tuple(caption.split()) for caption in captions]).identity()
        return Contrastive(made, pictures, captions).identity()

    first = identity(CAPTIONS, squares(), 0)
    assert identity(CAPTIONS, squares(), 0) == first
    assert identity(CAPTIONS[::-1], squares(), 0) != first
    assert identity(CAPTIONS, noise_pictures(16), 0) != first
    assert identity(CAPTIONS, squares(), 1) != first


def test_telling_words_are_neither_rare_nor_everywhere():
    captions = ["A red cat.", "a red boat", "a blue cat", "a blue boat!", "a tree"] * 3
    found = content_words(captions, fewest=3, largest_share=0.5)
    assert found[:5] == [("red", "cat"), ("red", "boat"), ("blue", "cat"), ("blue", "boat"), ("tree",)]
    assert content_words(["the owl", "the owl", ""], fewest=3) == [("owl",), ("owl",), ("",)]


@pytest.fixture
def table(tmp_path):
    pictures = squares()
    rows = [["filepath", "caption"]]
    for i, caption in enumerate(CAPTIONS):
        Image.Image.save(pictures[i], tmp_path / f"{i}.png")
        rows.append([f"{i}.png", caption])
    with (tmp_path / "pairs.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return tmp_path / "pairs.csv"


def settings(table, output, **changes):
    small = {
        "image_size": 32, "patch_size": 16, "width": 32, "text_width": 32, "layers": 1, "dimension": 16,
        "vocabulary": 600, "context": 16, "warmup_steps": 3, "steps": 4, "batch_size": 8, "save_frequency": 2,
    }  # fmt: skip
    return PretrainConfig(train_data=table, output=output, **(small | changes))


def weights(folder):
    return load_matcher(folder).fingerprint


def test_a_model_comes_out_of_a_table_of_captions(table, tmp_path):
    folder = pretrain_from_table(settings(table, tmp_path / "run"))
    made = load_matcher(folder)
    assert made.encode_texts(CAPTIONS[:4]).shape == (4, 16)
    assert made.encode_images(squares(), range(2)).shape == (2, 16)
    assert made.tokenizer.vocabulary_size <= 600
    assert len(read_journal(tmp_path / "run" / "warmup" / "journal.jsonl")) == 3
    assert len(read_journal(tmp_path / "run" / "contrastive" / "journal.jsonl")) == 4


def test_a_pretraining_that_was_stopped_goes_on_in_its_second_phase(table, tmp_path, monkeypatch):
    whole = weights(pretrain_from_table(settings(table, tmp_path / "whole")))

    def stop(task, run, loop, **given):
        if run.name == "contrastive":
            given["on_step"] = fail
        train(task, loop, run, **{"resume": False, "quiet": True, **given})

    def fail(done):
        if done == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("litotes.train.scratch.run_phase", stop)
    with pytest.raises(KeyboardInterrupt):
        pretrain_from_table(settings(table, tmp_path / "run"))
    monkeypatch.undo()
    with pytest.raises(UserError, match="already holds a run"):
        pretrain_from_table(settings(table, tmp_path / "run"))
    with pytest.raises(UserError, match=r"lr = 0\.5 \(was 0\.001\)"):
        pretrain_from_table(settings(table, tmp_path / "run", lr=0.5, resume=True))
    resumed = settings(table, tmp_path / "run", resume=True)
    assert weights(pretrain_from_table(resumed)) == whole
    # Both phases are finished now: nothing is trained again, and the model is written as it was.
    assert weights(pretrain_from_table(resumed)) == whole


def test_a_phase_that_was_never_begun_begins_on_resume(tmp_path):
    made = model(tmp_path)
    run_phase(Contrastive(made, squares(), CAPTIONS), tmp_path / "run", LOOP, resume=True, quiet=True)
    assert len(read_journal(tmp_path / "run" / "journal.jsonl")) == 24


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"width": 100}, "not a multiple"),
        ({"image_size": 30}, "--image-size 30 and --patch-size 16"),
        ({"patch_size": 0}, "--patch-size 0"),
        ({"vocabulary": 100}, "vocabulary of 100"),
        ({"context": 2}, "context length 2"),
        ({"batch_size": 1}, "each with one pair"),
    ],
)
def test_sizes_that_make_no_model_are_refused(wrong, message, table, tmp_path):
    with pytest.raises(UserError, match=message):
        pretrain_from_table(settings(table, tmp_path / "run", **wrong))
    assert not (tmp_path / "run" / "model").exists()
