"""The lesson on texts alone: directions, captions kept, and a run of two phases that stops and goes on."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import cosine_similarity
from train_toys import CAPTIONS, LOOP, adapted, data, matcher, options

from litotes.errors import UserError
from litotes.models.lora_settings import LoraSettings
from litotes.objectives.mirror import MirrorConfig, mirror_targets
from litotes.train.journal import read_journal
from litotes.train.loop import train
from litotes.train.mirror import Mirror
from litotes.train.negation import NegationConfig
from litotes.train.recipes import Lesson, Recipe, adapt

LORA = LoraSettings(towers="both", rank=8, alpha=16.0, dropout=0.0)
RECIPE = Recipe(
    NegationConfig(hanclip=0.3, options=1.0, contrast=1.0, mirror=1.0, retention=1.0), replace(LOOP, epochs=1), LORA,
    lesson=Lesson(MirrorConfig(), replace(LOOP, epochs=2)),
)  # fmt: skip


def mirror(folder, lora=LORA, **given):
    return Mirror(adapted(folder, lora), CAPTIONS, options(), MirrorConfig(keep=0.5), **given)


def test_targets_are_of_the_bases_names_and_captions(tmp_path):
    task = mirror(tmp_path)
    names = matcher(tmp_path).encode_texts(["a photo of a cat", "a photo of a square"])
    # The four claims of the toys: a square, a cat but no square, a cat, no square.
    affirmed = torch.tensor([[0, 1], [1, 0], [1, 0], [0, 0]], dtype=torch.bool)
    denied = torch.tensor([[0, 0], [0, 1], [0, 0], [0, 1]], dtype=torch.bool)
    expected = mirror_targets(names, affirmed, denied)
    torch.testing.assert_close(task.targets, expected.expand(12, -1, -1), rtol=1e-4, atol=1e-5)
    batch = task.prepare([4, 2])
    assert len(batch.ids) == len(batch.targets) == 10
    found = task.terms(batch)
    assert found["keep"].item() == pytest.approx(0, abs=1e-5)  # a fresh adapter changes nothing yet
    assert found["loss"].item() == pytest.approx(found["mirror"].item() + 0.5 * found["keep"].item())
    texts = [text for i in (4, 2) for text in (options()[i].true, *options()[i].false)]
    turned = cosine_similarity(matcher(tmp_path).encode_texts(texts), expected.repeat(2, 1))
    assert found["mirror"].item() == pytest.approx(1 - turned.mean().item(), rel=1e-4)


def test_it_turns_statements_and_leaves_the_picture_tower(tmp_path):
    task = mirror(tmp_path)
    train(task, replace(LOOP, epochs=8, lr=3e-2), tmp_path / "run", quiet=True)
    lines = read_journal(tmp_path / "run" / "journal.jsonl")
    assert lines[-1]["mirror"] < 0.3 * lines[0]["mirror"]
    moved = [name for name, p in task.module.named_parameters() if "lora_B" in name and p.abs().sum() > 0]
    assert moved
    assert all("text_model" in name for name in moved)


def test_refusals(tmp_path):
    with pytest.raises(UserError, match="3 statement sets for 12 captions"):
        Mirror(adapted(tmp_path), CAPTIONS, options(3), MirrorConfig())
    with pytest.raises(UserError, match="frozen text tower"):
        mirror(tmp_path, replace(LORA, towers="vision"))
    with pytest.raises(UserError, match="without the lesson"):
        replace(RECIPE, lesson=None)


def test_a_recipe_with_a_lesson_is_two_runs(tmp_path):
    model = matcher(tmp_path)
    adapt(model, data(), RECIPE, tmp_path / "run", options=options(), quiet=True)
    assert RECIPE.phases("run") == ("run-lesson", "run")
    assert Recipe(NegationConfig(), LOOP).phases("run") == ("run",)
    assert [line["mirror"] > 0 for line in read_journal(tmp_path / "run-lesson" / "journal.jsonl")] == [True] * 6
    assert len(read_journal(tmp_path / "run" / "journal.jsonl")) == 3
    lesson, end = (load_file(tmp_path / f"{run}/checkpoint-{step:06d}/weights.safetensors")
                   for run, step in (("run-lesson", 6), ("run", 3)))  # fmt: skip
    trained = {name: p for name, p in model.encoder.named_parameters() if p.requires_grad}
    assert trained.keys() == end.keys()
    for name, weight in trained.items():
        torch.testing.assert_close(weight.detach(), 0.25 * lesson[name] + 0.75 * end[name])
    with pytest.raises(UserError, match=r"share 1\.5"):
        replace(RECIPE.lesson, share=1.5)


@pytest.mark.parametrize("stop", [4, 8])
def test_stopped_in_either_phase_it_goes_on_to_the_same_weights(stop, tmp_path):
    whole = matcher(tmp_path)
    adapt(whole, data(), RECIPE, tmp_path / "whole", options=options(), quiet=True)
    seen = []

    def interrupt(step):
        seen.append(step)
        if len(seen) == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapt(
            matcher(tmp_path), data(), RECIPE, tmp_path / "run", options=options(), on_step=interrupt, quiet=True,
            resume=True,
        )  # fmt: skip
    again = matcher(tmp_path)
    adapt(again, data(), RECIPE, tmp_path / "run", options=options(), quiet=True, resume=True)
    for (name, expected), found in zip(whole.encoder.named_parameters(), again.encoder.parameters(), strict=True):
        assert torch.equal(expected, found), name
