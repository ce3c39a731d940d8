import math
import re
from dataclasses import replace

import pytest
import torch

from litotes.models import examination
from litotes.models.examination import Facts, Tower, ask, facts_of, oddities, relatedness, straightness
from tiny import CONTEXT, DIMENSION, SIDE, tiny_matcher

SOUND = Facts(
    family=None, vision=Tower(768, 12, 12), text=Tower(512, 12, 8), image_size=224, patch=32, context=77,
    vocabulary=49408, tokens=49408, embedding=512, activation="quick_gelu", eos=49407,
    mean=(0.48145466, 0.4578275, 0.40821073), std=(0.26862954, 0.26130258, 0.27577711), log_scale=4.6052,
    straightness=None, relatedness=None,
)  # fmt: skip
LONG = replace(SOUND, context=248, straightness=0.02, relatedness=0.98)
HALF = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}


def stretched(rows):
    """77 rows to 248 as LongCLIP does it, one number after the other."""
    out = []
    for j in range(248):
        at = float(j) if j < 20 else 20 + (j - 20) / 4
        low = min(math.floor(at), 75)
        out.append((1 - (at - low)) * rows[low] + (at - low) * rows[low + 1])
    return torch.stack(out)


@pytest.fixture(scope="module")
def table():
    return torch.randn(77, 64, generator=torch.Generator().manual_seed(0))


def test_a_stretched_table_is_straight_and_a_trained_or_a_random_one_is_not(table):
    long, noise = stretched(table), torch.randn(248, 64, generator=torch.Generator().manual_seed(1))
    assert straightness(long) < 1e-6
    assert straightness(long.half()) < straightness(long.bfloat16()) < 1e-2
    assert straightness(long.half()) < examination.STRAIGHT
    assert straightness(long + 0.01 * noise) == pytest.approx(0.01 * math.sqrt(19 / 7), rel=0.1)
    assert straightness(noise) > 1
    assert straightness(torch.zeros(248, 64)) == 0
    # The 20 rows before and the extrapolated ones after play no part.
    other = long.clone()
    other[:20], other[-3:] = noise[:20], noise[-3:]
    assert straightness(other) == straightness(long)


def test_neighbours_of_a_stretch_are_alike_and_those_of_a_random_table_are_not(table):
    assert relatedness(stretched(table)) > 0.9
    assert abs(relatedness(torch.randn(248, 64, generator=torch.Generator().manual_seed(1)))) < 0.1


@pytest.mark.parametrize("facts", [SOUND, LONG, replace(SOUND, vision=Tower(1280, 32, 16), activation="gelu")])
def test_a_usual_model_has_no_oddity(facts):
    assert oddities(facts) == []


@pytest.mark.parametrize(
    "facts, said",
    [
        (replace(SOUND, activation="gelu"), "sizes and heads of OpenAI's ViT-B/32"),
        (replace(SOUND, activation="gelu", patch=16), "OpenAI's ViT-B/16"),
        (replace(SOUND, activation="gelu (vision), quick_gelu (text)"), r"activation gelu \(vision\)"),
        (replace(LONG, activation="gelu"), "gelu with 248 positions"),
        (replace(SOUND, activation="gelu", family="openai"), "file of family openai: quick_gelu"),
        (replace(LONG, straightness=3e-4), r"straight lines .* 3\.0e-04 .*Texts above 20 tokens cannot be trusted"),
        (replace(LONG, straightness=1.1, relatedness=0.01), r"hardly alike \(mean cosine 0\.01"),
        (replace(SOUND, eos=2), r"eos_token_id 2 .*here \(49407\)"),
        (replace(SOUND, **HALF), r"mean \(0\.5, 0\.5, 0\.5\) and std .* not CLIP's"),
        (replace(SOUND, tokens=49000), "49000 tokens, the model 49408"),
        (replace(SOUND, log_scale=5.0), r"exp\(5\.00\), above CLIP's limit of 100"),
    ],
)
def test_each_oddity_is_told_alone(facts, said):
    (sentence,) = oddities(facts)
    assert re.search(said, sentence)


@pytest.mark.parametrize(
    "changes", [{"vocabulary": 600, "tokens": 600}, {"text": Tower(512, 12, 4)}, {"embedding": 1024}]
)
def test_gelu_is_no_oddity_of_other_sizes(changes):
    assert oddities(replace(SOUND, activation="gelu", **changes)) == []


@pytest.fixture
def matcher(tmp_path):
    return tiny_matcher(tmp_path / "model", ["a red circle", "no cat"])


def test_the_facts_are_those_of_the_model(matcher):
    facts = facts_of(matcher, "openai")
    assert (facts.family, facts.vision, facts.text) == ("openai", Tower(32, 1, 2), Tower(32, 1, 2))
    assert (facts.image_size, facts.patch, facts.context, facts.embedding) == (SIDE, 16, CONTEXT, DIMENSION)
    assert facts.tokens == facts.vocabulary == matcher.tokenizer.vocabulary_size == facts.eos + 1
    assert (facts.straightness, facts.size_name) == (None, None)


def test_a_sound_model_passes_every_check(matcher):
    answers = ask(matcher)
    assert all(check.passed for check in answers.checks) and len(answers.checks) == 8
    assert answers.cosines.shape == (2, 4) and answers.cosines.abs().max() <= 1
    assert torch.equal(answers.cosines, ask(matcher).cosines)


def broken(kind, original):
    """What an encoder may get wrong."""
    calls = []

    def features(inputs):
        rows = original(inputs)
        calls.append(1)
        return {
            "batch": lambda: rows + rows.mean(dim=0) * (len(rows) > 1),
            "dice": lambda: rows + 0.01 * len(calls),
            "constant": lambda: torch.ones_like(rows),
            "infinite": lambda: rows * float("inf"),
            "zero": lambda: rows * 0,
        }[kind]()

    return features


FAILS = {
    "batch": {"alone are the same"}, "dice": {"a second time are the same", "alone are the same"},
    "constant": {"differ"}, "zero": None, "infinite": None,
}  # fmt: skip


@pytest.mark.parametrize("tower, kind", [("image", "pictures"), ("text", "texts")])
@pytest.mark.parametrize("fault", FAILS)
def test_each_fault_fails_its_check(fault, tower, kind, matcher, monkeypatch):
    name = f"{tower}_features"
    monkeypatch.setattr(matcher.encoder, name, broken(fault, getattr(matcher.encoder, name)))
    failed = {check.what for check in ask(matcher).checks if not check.passed}
    assert all(kind in what for what in failed)
    if FAILS[fault] is None:
        assert f"{kind} have finite embeddings" in failed
    else:
        ends = {what.removeprefix(f"{kind} ").removeprefix("different ") for what in failed}
        assert {end.removeprefix(f"{kind} ") for end in ends} == FAILS[fault]
