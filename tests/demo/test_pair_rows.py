import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from litotes.demo.vacsr.methods import LOOP, RIVALS
from litotes.demo.vacsr.rows import Held, Row, World, cosine_row, train_row
from litotes.demo.vacsr.run import run_rows
from litotes.demo.vacsr.truth import Truth
from litotes.errors import UserError
from litotes.train.pairs import PairFeatures

COUNT, WIDTH = 48, 128


@pytest.fixture(scope="module")
def world():
    """Pictures and captions of random directions, every caption a noisy copy of its picture and true of it alone."""
    generator = torch.Generator().manual_seed(0)
    images = normalize(torch.randn(COUNT, WIDTH, generator=generator), dim=1)
    texts = images + 0.02 * torch.randn(COUNT, WIDTH, generator=generator)
    rows = np.arange(COUNT)
    claims = tuple(frozenset({f"thing {i}"}) for i in rows)
    features = PairFeatures(images, texts, rows, rows, "features", "rows")
    return World(features, Truth(claims, claims), Held(images, texts, torch.eye(COUNT, dtype=torch.bool)), "world")


def row(name="vacsr", noise=0.25, seed=0, steps=4):
    rival = RIVALS[name]
    return Row(name, noise, seed, rival.seeded(seed), replace(rival.loop(steps, seed), batch_size=16))


@pytest.mark.parametrize("name", RIVALS)
def test_every_method_trains_and_is_measured(world, name):
    figures = train_row(row(name), world)
    json.dumps(figures, allow_nan=False)
    assert (figures["row"], figures["noise"], figures["steps"]) == (name, 0.25, 4)
    assert figures["wrong_pairs"]["n_shuffled"] == figures["n_wrong"] <= COUNT // 4
    doubts = {"one_minus_p", *(("sigma", "total_variance") if "sigma" in name or name == "vacsr" else ())}
    if name == "sigmoid":
        doubts = {"one_minus_p"}
    assert set(figures["errors"]["i2t"]) == {"error", *doubts}
    assert (figures["groups"] is None) == (doubts == {"one_minus_p"})
    assert set(figures["firsts"]["t2i"]) == {"n", "map_at_r", *doubts}
    assert figures["firsts"]["t2i"]["map_at_r"] == pytest.approx(figures["retrieval"]["t2i"]["map_at_r"])
    assert set(figures["similarities"]) == {"true", "wrong"}


def test_the_models_are_as_large_as_each_other(world):
    sizes = {train_row(row(name, steps=1), world)["parameters"] for name in ("vacsr", "deterministic", "infonce")}
    assert max(sizes) < 1.02 * min(sizes)


def test_a_row_depends_on_its_seed_and_on_nothing_else(world):
    first, again, other = (train_row(row(seed=seed), world) for seed in (0, 0, 1))
    assert first["errors"] == again["errors"] != other["errors"]
    assert first["noise_sha256"] == again["noise_sha256"] != other["noise_sha256"]


def test_without_noise_there_are_no_wrong_pairs_to_find(world):
    assert train_row(row(noise=0.0, steps=1), world)["wrong_pairs"] is None


def test_wrong_pairs_are_asked_of_held_out_pictures_too_the_same_for_every_row(world):
    found = [train_row(row(name, noise, seed), world)["held_wrong_pairs"] for name, noise, seed in
             (("vacsr", 0.25, 0), ("infonce", 0.0, 1))]  # fmt: skip
    assert found[0]["n_shuffled"] == found[1]["n_shuffled"] == found[0]["n_untrue"] > 0
    assert found[0]["shuffled"]["one_minus_cosine"] == found[1]["untrue"]["one_minus_cosine"] == 1.0


def test_the_cosine_finds_every_copy(world):
    figures = cosine_row(world)
    assert {figures["retrieval"][way]["map_at_r"] for way in ("i2t", "t2i")} == {1.0}


def test_rows_that_are_done_are_not_done_again(world, tmp_path):
    told = []
    rows = [row("infonce", noise) for noise in (0.0, 0.25)]
    first = run_rows(rows[:1], world, tmp_path, 0, lambda *some: told.append(some[1:]))
    stamp = (tmp_path / "infonce-noise00-seed0.json").stat().st_mtime_ns
    both = run_rows(rows, world, tmp_path, 0, lambda *some: told.append(some[1:]))
    assert (tmp_path / "infonce-noise00-seed0.json").stat().st_mtime_ns == stamp
    assert both[0] == first[0]
    assert [figures["noise"] for figures in both] == [0.0, 0.25]
    assert told == [(1, 1), (1, 2), (2, 2)]


@pytest.mark.parametrize("change", ["steps", "world", "broken"])
def test_rows_of_another_run_are_refused(world, tmp_path, change):
    run_rows([row("infonce")], world, tmp_path, 0, lambda *_: None)
    asked = row("infonce", steps=5 if change == "steps" else 4)
    other = replace(world, sha256="other") if change == "world" else world
    if change == "broken":
        next(tmp_path.glob("*.json")).write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="another demo") as refused:
        run_rows([asked], other, tmp_path, 0, lambda *_: None)
    assert "infonce-noise25-seed0.json" in str(refused.value)


def test_the_warm_up_ends_before_the_run():
    assert {RIVALS["vacsr"].loop(steps, 0).warmup for steps in (1, 16, 10_000)} == {0, 1, LOOP.warmup}
