from dataclasses import replace

import pytest
import torch
from train_toys import CAPTIONS, LOOP, adapted, data, matcher, options

from litotes.data.quadruplets import Quadruplets
from litotes.errors import UserError
from litotes.models.lora import adapted_layers
from litotes.models.lora_settings import ALL_LINEAR, LoraSettings
from litotes.objectives.contrastive import info_nce, negative_info_nce
from litotes.objectives.hanclip import HanclipConfig, hanclip
from litotes.objectives.hco import HcoConfig
from litotes.objectives.mirror import turning
from litotes.objectives.own_options import OwnOptionsConfig, own_options
from litotes.objectives.statements import statement_contrast
from litotes.train.journal import read_journal
from litotes.train.loop import LoopConfig
from litotes.train.negation import Negation, NegationConfig
from litotes.train.recipes import Recipe, adapt, extended, make_trainable, paper_hanclip
from tiny import DIMENSION, noise_pictures

STILL = LoraSettings(rank=2, dropout=0.0)
ALL = NegationConfig(hanclip=0.5, options=2.0, contrast=0.75, mirror=3.0, retention=1.5, negatives=0.25)
ROWS = (3, 0, 7, 1)
TARGETS = torch.randn(12, 4, DIMENSION, generator=torch.Generator().manual_seed(4))


def randomise(encoder):
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for layer in adapted_layers(encoder).values():
            weight = layer.lora_B["default"].weight
            weight.copy_(torch.randn(weight.shape, generator=generator) / 4)


def task(folder, config=ALL, towers="both", **given):
    made = adapted(folder, replace(STILL, towers=towers))
    randomise(made.encoder)
    return Negation(made, data(), config, options=options(), targets=TARGETS, **given)


def terms(some, rows=ROWS):
    some.module.train()
    return some.terms(some.prepare(rows))


def test_the_loss_is_the_weighted_sum_of_terms_from_the_same_texts(tmp_path):
    found = terms(task(tmp_path))
    assert list(found) == [
        "loss",
        "hco",
        "atnl",
        "options",
        "by_picture",
        "by_statement",
        "mirror",
        "retention",
        "negatives",
    ]
    model, quadruplets = adapted(tmp_path, STILL), data()
    randomise(model.encoder)
    image = model.encode_images(quadruplets.pictures, ROWS)
    p, q, n = (
        model.encode_texts([column[i] for i in ROWS])
        for column in (quadruplets.captions, quadruplets.negated_positives, quadruplets.negatives)
    )
    own = [text for i in ROWS for text in (options()[i].true, *options()[i].false)]
    parts = hanclip(image, p, q, n, HanclipConfig())
    stated = model.encode_texts(own)
    # Squares are in all pictures of ROWS but 3 and 0, which show a cat; CLAIMS are the same for each.
    square = torch.tensor([False, False, True, True])
    true = torch.stack([square, ~square, ~square, ~square], dim=1).repeat(1, 4)
    by = statement_contrast(image, stated, true, ~true, torch.tensor([1, 3, 1, 2]).repeat(4))
    alone = torch.eye(4, dtype=torch.bool)
    scale = model.scale
    expected = {
        "hco": parts.hco,
        "atnl": parts.atnl,
        "options": own_options(image, stated.view(4, 4, -1), OwnOptionsConfig()),
        "by_picture": by.pictures,
        "by_statement": by.statements,
        # The second and the fourth of CLAIMS deny.
        "mirror": turning(stated.view(4, 4, -1)[:, [1, 3]].flatten(0, 1), TARGETS[list(ROWS)][:, [1, 3]].flatten(0, 1)),
        "retention": info_nce(image, p, scale, positives=alone, repeats="masked"),
        "negatives": negative_info_nce(image, p, n, scale, positives=alone, repeats="masked"),
    }
    expected["loss"] = (
        0.5 * (parts.hco + parts.atnl) + 2 * expected["options"] + 0.75 * by.loss + 3 * expected["mirror"]
        + 1.5 * expected["retention"]
        + 0.25 * expected["negatives"]
    )  # fmt: skip
    for name, value in expected.items():
        assert float(found[name].detach()) == pytest.approx(float(value), rel=1e-4, abs=1e-5), name


@pytest.mark.parametrize(
    ("config", "names", "texts"),
    [
        (NegationConfig(), ["hco", "atnl"], 12),
        (NegationConfig(hanclip=0.0, retention=1.0), ["retention"], 4),
        (NegationConfig(hanclip=0.0, negatives=1.0), ["negatives"], 8),
        (NegationConfig(hanclip=0.0, options=1.0), ["options"], 16),
        (NegationConfig(hanclip=0.0, contrast=1.0), ["by_picture", "by_statement"], 16),
        (NegationConfig(hanclip=0.0, mirror=1.0), ["mirror"], 16),
        (ALL, ["hco", "atnl", "options", "by_picture", "by_statement", "mirror", "retention", "negatives"], 28),
    ],
)
def test_only_the_terms_with_a_weight_are_computed_and_only_their_texts_encoded(config, names, texts, tmp_path):
    some = task(tmp_path, config)
    assert len(some.prepare(ROWS).ids) == texts
    found = terms(some)
    assert list(found) == ["loss", *names]
    assert all(value.isfinite() and value.ndim == 0 for value in found.values())
    assert len(names) > 1 or float(found["loss"].detach()) == float(found[names[0]].detach())


def grads(some):
    found = terms(some)
    found["loss"].backward()
    return found, {name: p.grad for name, p in some.module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(
    ("towers", "cached", "computed"), [("text", "images", "encoded"), ("vision", "encoded", "images")]
)
def test_a_frozen_tower_is_encoded_once_and_gives_the_same_loss(towers, cached, computed, tmp_path):
    first = task(tmp_path, towers=towers, cache=tmp_path / "cache")
    assert getattr(first, cached) is not None
    assert getattr(first, computed) is None
    batch = first.prepare(ROWS)
    assert (batch.pixels is None) == (towers == "text")
    assert (batch.ids is None) == (towers == "vision")
    whole = task(tmp_path, towers=towers)
    whole.images = whole.encoded = None
    for (a, b), (a_grads, b_grads) in [zip(grads(first), grads(whole), strict=True)]:
        assert a.keys() == b.keys()
        for name in a:
            assert torch.allclose(a[name], b[name], rtol=1e-5, atol=1e-5), name
        assert a_grads.keys() == b_grads.keys()
        assert all(towers in name for name in a_grads)
        assert all(torch.allclose(a_grads[name], b_grads[name], rtol=1e-3, atol=1e-5) for name in a_grads)


def test_the_features_of_a_frozen_tower_come_from_the_cache_the_second_time(tmp_path, monkeypatch):
    first = task(tmp_path, towers="text", cache=tmp_path / "cache")
    again = adapted(tmp_path, replace(STILL, towers="text"))
    randomise(again.encoder)
    monkeypatch.setattr(again, "encode_images", None)
    second = Negation(again, data(), ALL, options=options(), targets=TARGETS, cache=tmp_path / "cache")
    assert torch.equal(first.images, second.images)


def test_repeated_pictures_and_captions_are_not_pushed_from_themselves(tmp_path):
    once = data(4)
    doubled = Quadruplets(
        noise_pictures(4), (CAPTIONS[0], CAPTIONS[0], *CAPTIONS[2:4]), once.negated_positives, once.negatives
    )
    some = Negation(adapted(tmp_path, STILL), doubled, NegationConfig(hanclip=0.0, retention=1.0))
    batch = some.prepare(range(4))
    assert batch.repeats.tolist() == [[i == j or {i, j} == {0, 1} for j in range(4)] for i in range(4)]


def test_own_statements_are_needed_where_they_have_a_weight(tmp_path):
    model = adapted(tmp_path, STILL)
    for given, message in ((None, "no statements"), (options(3), "3 statement sets for 12 pictures")):
        with pytest.raises(UserError, match=message):
            Negation(model, data(), ALL, options=given)
    for weight in ("options", "contrast", "mirror"):
        with pytest.raises(UserError, match="no statements"):
            Negation(model, data(), NegationConfig(**{weight: 1.0}))
    with pytest.raises(UserError, match="no objects"):
        Negation(model, replace(data(), objects=None), ALL, options=options())
    with pytest.raises(UserError, match="no directions"):
        Negation(model, data(), ALL, options=options())
    Negation(model, data(), replace(ALL, options=0.0, contrast=0.0, mirror=0.0))


def test_nothing_to_train_is_refused(tmp_path):
    with pytest.raises(UserError, match="every weight 0"):
        Negation(adapted(tmp_path), data(), NegationConfig(hanclip=0.0))
    frozen = matcher(tmp_path)
    frozen.encoder.requires_grad_(False)
    with pytest.raises(UserError, match="a frozen encoder"):
        Negation(frozen, data(), NegationConfig())


def test_the_models_own_temperature_is_resolved_for_every_term(tmp_path):
    objective = HanclipConfig(hco=HcoConfig(temperature="model"))
    own = OwnOptionsConfig(temperature="model")
    some = task(tmp_path, NegationConfig(objective=objective, own=own, options=1.0))
    temperature = 1 / some.matcher.scale
    assert some.config.objective == objective.with_model_temperature(temperature)
    assert some.config.own == own.with_model_temperature(temperature)
    assert all(value.isfinite() for value in terms(some).values())


def test_the_identity_names_data_texts_base_and_objective(tmp_path):
    base = task(tmp_path).identity()
    changed = {
        "data": Negation(adapted(tmp_path, STILL), data(seed=0, n=11), NegationConfig()).identity()["data"],
        "texts": Negation(adapted(tmp_path, STILL), data(), ALL, options=options()[::-1], targets=TARGETS).identity()[
            "texts"
        ],
        "objective": task(tmp_path, replace(ALL, retention=1.0)).identity()["objective"],
        "trained": task(tmp_path, trained="otherwise").identity()["trained"],
    }
    assert set(changed) < set(base)
    assert all(base[name] != value for name, value in changed.items())
    same = task(tmp_path).identity()
    assert same == base


def adapt_for(folder, recipe, steps=2, **given):
    recipe = replace(recipe, loop=replace(recipe.loop, steps=steps, batch_size=6, warmup=0))
    if recipe.lesson:
        lesson = replace(recipe.lesson, loop=replace(recipe.lesson.loop, steps=2, batch_size=6, warmup=0))
        recipe = replace(recipe, lesson=lesson)
    model = matcher(folder)
    adapt(model, data(), recipe, folder / "run", quiet=True, **given)
    return model, read_journal(folder / "run" / "journal.jsonl")


def test_the_extended_recipe_moves_all_linear_layers_of_both_towers(tmp_path):
    model, lines = adapt_for(tmp_path, extended(), options=options())
    assert [list(line)[4:-1] for line in lines] == [
        [
            "loss",
            "hco",
            "atnl",
            "options",
            "by_picture",
            "by_statement",
            "mirror",
            "retention",
        ]
    ] * 2
    layers = adapted_layers(model.encoder)
    assert len(layers) == 2 * len(ALL_LINEAR)
    assert all(layer.lora_B["default"].weight.abs().max() > 0 for layer in layers.values())
    assert model.base == matcher(tmp_path).base
    assert "rank 32" in model.adapter


def test_the_papers_recipe_moves_the_text_tower_alone(tmp_path):
    model, lines = adapt_for(tmp_path, paper_hanclip())
    assert list(lines[0])[4:-1] == ["loss", "hco", "atnl"]
    assert {name.split("_model")[0] for name in adapted_layers(model.encoder)} == {"text"}
    assert lines[0]["lr"] == 1e-4


@pytest.mark.parametrize("towers", ["text", "vision", "both"])
def test_full_fine_tuning_moves_whole_towers_and_never_the_scale(towers, tmp_path):
    recipe = Recipe(NegationConfig(), LoopConfig(lr=1e-3), lora=None, full=towers)
    model, _ = adapt_for(tmp_path, recipe)
    before = matcher(tmp_path)
    changed = {
        name
        for (name, p), q in zip(model.encoder.clip.named_parameters(), before.encoder.clip.parameters(), strict=True)
        if not torch.equal(p, q)
    }
    assert any(name.startswith("text_model") for name in changed) == (towers != "vision")
    assert any(name.startswith("vision_model") for name in changed) == (towers != "text")
    assert ("text_projection.weight" in changed) == (towers != "vision")
    assert ("visual_projection.weight" in changed) == (towers != "text")
    assert "logit_scale" not in changed
    assert model.base != before.base
    assert model.adapter is None


def test_a_recipe_has_either_an_adapter_or_whole_towers(tmp_path):
    model = matcher(tmp_path)
    for lora, full in ((None, None), (LoraSettings(), "text")):
        with pytest.raises(UserError, match="both or neither"):
            make_trainable(model, Recipe(NegationConfig(), LOOP, lora, full))
    with pytest.raises(UserError, match="full = 'audio'"):
        make_trainable(model, Recipe(NegationConfig(), LOOP, None, "audio"))


def gap(model, quadruplets):
    """How much nearer each picture is to P' than to N, in cosine."""
    image = model.encode_images(quadruplets.pictures)
    nearness = [
        torch.cosine_similarity(image, model.encode_texts(column))
        for column in (quadruplets.negated_positives, quadruplets.negatives)
    ]
    return float((nearness[0] - nearness[1]).mean())


def test_hanclip_brings_negated_positives_nearer_than_negatives(tmp_path):
    before = gap(matcher(tmp_path), data())
    objective = HanclipConfig(hco=HcoConfig(temperature="model"))
    recipe = Recipe(NegationConfig(objective=objective), LoopConfig(lr=1e-2), LoraSettings(towers="text", dropout=0.0))
    model, lines = adapt_for(tmp_path, recipe, steps=30)
    assert gap(model, data()) > before + 0.1
    assert lines[-1]["loss"] < lines[0]["loss"]


def test_the_papers_printed_denominators_can_be_trained_for_study(tmp_path):
    # Matched pairs alone in the denominator: what is right for the batch as a whole no longer is.
    literal = NegationConfig(objective=HanclipConfig(hco=HcoConfig(temperature="model", reading="paper_literal")))
    recipe = Recipe(literal, LoopConfig(lr=1e-2), LoraSettings(towers="text", dropout=0.0))
    model, lines = adapt_for(tmp_path, recipe, steps=2)
    assert lines[0]["hco"] != pytest.approx(float(terms(task(tmp_path, NegationConfig()))["hco"].detach()))
    assert model.encode_texts(CAPTIONS).isfinite().all()
