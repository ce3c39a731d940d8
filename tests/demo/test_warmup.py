import numpy as np
import pytest
import torch

from litotes.backbones.preprocess import Preprocess
from litotes.demo.scenes import SIDE, Scene, Thing, paint
from litotes.demo.things import COLOURS, KINDS
from litotes.demo.warmup import NOTHING, SceneWarmup
from litotes.demo.world import WorldPictures
from litotes.models.clip import new_clip
from litotes.models.matcher import Matcher
from tiny import WIDTHS, tiny_matcher

PATCH = 16
ROWS = (0, 5, 2, 9)
PICTURES = WorldPictures(3, 12, single=0.5)


@pytest.fixture
def matcher(tmp_path):
    blocks = {**WIDTHS, "num_hidden_layers": 1}
    tokenizer = tiny_matcher(tmp_path, ["a red cat"]).tokenizer
    encoder = new_clip(
        {**blocks, "image_size": SIDE, "patch_size": PATCH},
        {**blocks, "max_position_embeddings": 16, "vocab_size": tokenizer.vocabulary_size},
        24, eos=tokenizer.eos, bos=tokenizer.bos,
    )  # fmt: skip
    return Matcher(encoder, tokenizer, Preprocess(SIDE), "tiny")


def test_the_labels_of_a_picture_are_its_kinds_and_coloured_kinds_alike(matcher):
    task = SceneWarmup(matcher, PICTURES)
    assert len(task.labels) == len(KINDS) * (1 + len(COLOURS))
    batch = task.prepare(ROWS)
    assert batch.pixels.shape == (4, 3, SIDE, SIDE)
    for share, row in zip(batch.shares, ROWS, strict=True):
        things = PICTURES.scene(row)[0].things
        wanted = {thing.kind for thing in things} | {f"{thing.colour} {thing.kind}" for thing in things}
        found = {label for label, i in task.labels.items() if share[i] > 0}
        assert found == wanted
        assert share[share > 0].tolist() == pytest.approx([1 / len(wanted)] * len(wanted))


def test_the_kind_under_a_patch_is_the_one_that_was_painted_there(matcher):
    task = SceneWarmup(matcher, PICTURES)
    under = task.prepare(range(12)).under.view(12, SIDE // PATCH, SIDE // PATCH)
    for row in range(12):
        scene = PICTURES.scene(row)[0]
        seen = set()
        for r in range(SIDE // PATCH):
            for c in range(SIDE // PATCH):
                x, y = (c + 0.5) * PATCH, (r + 0.5) * PATCH
                over = [t for t in scene.things if np.hypot(x - t.x, y - t.y) < 0.42 * t.side]
                # What is painted last lies on top.
                assert under[row, r, c] == (KINDS.index(over[-1].kind) if over else NOTHING)
                seen |= {over[-1].kind} if over else set()
        assert seen == set(scene.kinds)


def test_labelled_patches_lie_where_the_picture_was_changed(matcher):
    labelled = changed = 0
    for row in range(12):
        scene = PICTURES.scene(row)[0]
        whole = paint(scene, np.random.default_rng(row)).astype(int)
        bare = paint(Scene(scene.backdrop, ()), np.random.default_rng(row)).astype(int)
        differs = (
            (np.abs(whole - bare).max(axis=-1) > 8).reshape(SIDE // PATCH, PATCH, SIDE // PATCH, PATCH).mean((1, 3))
        )
        at = SceneWarmup(matcher, PICTURES).prepare([row]).under.view(differs.shape).numpy() != NOTHING
        labelled += at.sum()
        changed += (differs[at] > 0.25).sum()
    assert changed > 0.9 * labelled


def test_every_thing_however_small_has_a_patch(matcher):
    # Otherwise a batch could have no patch with a label, and its loss would not be a number.
    class One(WorldPictures):
        def scene(self, index):
            x, y = divmod(index, 53)
            return Scene("meadow", (Thing("cat", "red", 14.0 + x, 14.0 + y, 28),)), np.random.default_rng(0)

    task = SceneWarmup(matcher, One(0, 53 * 53))
    for x in range(0, 53, 4):
        under = torch.stack([task.prepare([53 * x + y]).under[0] for y in range(0, 53, 4)])
        assert (under != NOTHING).any(dim=1).all()


def test_the_picture_tower_alone_is_trained_and_learns(matcher):
    task = SceneWarmup(matcher, PICTURES)
    clip = matcher.encoder.clip
    assert not any(p.requires_grad for p in (*clip.text_model.parameters(), *clip.text_projection.parameters()))
    assert not clip.logit_scale.requires_grad
    optimizer = torch.optim.AdamW([p for p in task.module.parameters() if p.requires_grad], lr=3e-3)
    batch = task.prepare(range(12))
    first = {name: float(value.detach()) for name, value in task.terms(batch).items()}
    assert list(first) == ["loss", "named", "placed", "right"]
    assert first["loss"] == pytest.approx(first["named"] + first["placed"], rel=1e-5)
    for _ in range(30):
        optimizer.zero_grad()
        task.terms(batch)["loss"].backward()
        optimizer.step()
    last = {name: float(value.detach()) for name, value in task.terms(batch).items()}
    assert last["named"] < 0.7 * first["named"]
    assert last["placed"] < 0.7 * first["placed"]
    assert 0 <= first["right"] < last["right"] <= 1
    task.release()
    assert all(p.requires_grad for p in matcher.encoder.parameters())


def test_the_heads_are_drawn_from_the_seed_and_nothing_else_is_disturbed(matcher):
    torch.manual_seed(1)
    state = torch.get_rng_state()
    weights = [SceneWarmup(matcher, PICTURES, seed).module["whole"].weight for seed in (0, 0, 1)]
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert SceneWarmup(matcher, PICTURES).identity() != SceneWarmup(matcher, WorldPictures(4, 12)).identity()
