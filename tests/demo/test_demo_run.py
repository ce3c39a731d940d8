import json
import math
from dataclasses import replace

import pytest
import torch

from litotes.cli import main
from litotes.data.templates import TEMPLATES, fill
from litotes.demo import pretraining, recipes
from litotes.demo.run import MODELS, DemoConfig, print_summary, questions, run_demo, searches
from litotes.demo.sets import evaluation
from litotes.errors import UserError
from litotes.models.lora import adapted_layers, add_lora, load_adapter, save_adapter
from litotes.models.matcher import load_matcher

TOWER = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
LORA = recipes.EXTENDED_LORA
KINDS = ("image", "positive", "negated_positive", "negative")
DECISIVE = ("hybrid_absent_over_present", "absence_absent_over_present")
WAYS = [(way, k) for way in ("i2t", "t2i") for k in ("1", "5", "10")]
PICTURES, QUADRUPLETS = 20, 40


@pytest.fixture(scope="module", autouse=True)
def tiny_world():
    """A model of the world's own form, but tiny: two blocks of width 32 and a tokenizer of few captions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretraining, "_TOKENIZER_CAPTIONS", 200)
        for sizes in (pretraining.VISION, pretraining.TEXT):
            for name, size in TOWER.items():
                patch.setitem(sizes, name, size)
        patch.setattr(pretraining, "_WARMUP_BATCH", 4)
        patch.setattr(pretraining, "_BATCH", 4)
        yield


@pytest.fixture(scope="module")
def assets(tmp_path_factory):
    """What ships with the package, with random weights."""
    folder = tmp_path_factory.mktemp("assets")
    matcher = pretraining.new_matcher(folder / "tokenizer", 0)
    pretraining.save_half(matcher, folder / "model")
    base = load_matcher(folder / "model")
    add_lora(base.encoder, LORA)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for layer in adapted_layers(base.encoder).values():
            weight = layer.lora_B["default"].weight
            weight.copy_(torch.randn(weight.shape, generator=generator) / 10)
    save_adapter(base, LORA, folder / "extended")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipes, "ASSETS", folder)
        patch.setattr(recipes, "_LOOP", replace(recipes._LOOP, batch_size=8, steps=3, warmup=0))
        yield folder


@pytest.fixture(scope="module")
def told(assets, tmp_path_factory):
    """The demo on few pictures: its folder, its results, its page, and the stages that it told."""
    folder, stages = tmp_path_factory.mktemp("out") / "demo", []
    (folder / "runs" / "mine").mkdir(parents=True)  # what else is in the folder is the user's own
    page = run_demo(folder, DemoConfig(0, PICTURES, QUADRUPLETS), stages.append)
    assert page == folder / "report.html"
    return folder, json.loads((folder / "report.json").read_text()), page.read_text(), stages


def test_every_figure_that_the_report_promises_is_there_and_in_its_range(told):
    _, results, _, _ = told
    assert list(results["models"]) == list(MODELS) == ["base", "infonce", "hanclip", "extended"]
    for model in results["models"].values():
        shares = [model["mcq"][kind] for kind in ("positive", "negative", "hybrid", "total")]
        for suite in ("retrieval", "retrieval_neg"):
            shares += [model[suite][way][k] for way, k in WAYS]
            assert 0 <= model[suite]["rsum"] <= 600
            assert model[suite]["rsum"] == pytest.approx(100 * sum(model[suite][way][k] for way, k in WAYS))
        shares.append(model["classification"]["acc1"])
        shares += [model["pairs"][key] for key in ("negated_positive_over_negative", *DECISIVE)]
        shares += [model[suite][key] for suite in ("held_out_wordings", "new_cues") for key in DECISIVE]
        assert all(0 <= share <= 1 for share in shares)
        assert model["mcq"]["total"] == pytest.approx(sum(shares[:3]) / 3)
        for name in ("radius", "radius_raw"):
            assert all(model[name][kind] > 0 for kind in KINDS)
        assert all(model["radius"][kind] == pytest.approx(2) for kind in KINDS)
        assert all(0 < model["angles"][corner] < 180 for corner in ("at_negative", "at_negated_positive"))


def test_every_figure_can_be_traced(told):
    _, results, _, _ = told
    models = results["models"]
    assert len({model["fingerprint"] for model in models.values()}) == 4
    assert len({model["base_sha256"] for model in models.values()}) == 1
    assert models["base"]["adapter"] is None
    assert models["extended"]["adapter"].startswith("extended (rsLoRA on ")
    for name in ("infonce", "hanclip"):
        assert models[name]["adapter"].startswith(f"{name}, in memory (rsLoRA on q_proj")
    for model in models.values():
        assert (model["precision"], model["activation"], model["captions_truncated"]) == ("float32", "quick_gelu", 0)
        assert model["preprocessing"]["size"] == {"shortest_edge": pretraining.SIDE}
        assert model["classification"]["templates"] == ["a photo of {c}"]
        for suite in ("mcq", "retrieval", "retrieval_neg", "classification", "pairs", "held_out_wordings", "new_cues"):
            assert len(model[suite]["split_sha256"]) == 64
            assert model[suite]["split_sha256"] == models["base"][suite]["split_sha256"]
    honesty = results["honesty"]
    assert (honesty["seed"], honesty["skipped_images"]) == (0, 0)
    assert honesty["pictures_for_evaluation"] == models["base"]["mcq"]["n_images"] == PICTURES
    assert {"tool_version", "torch", "transformers", "numpy", "python", "threads"} <= honesty.keys()
    assert honesty["peak_memory_mb"] > 50
    assert results["settings"]["hanclip"]["loop"]["steps"] == 3
    assert results["settings"]["demo"]["quadruplets"] == QUADRUPLETS


def test_the_page_stands_alone_and_nothing_else_in_the_folder_is_touched(told):
    folder, _, page, stages = told
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "report.json", "runs"]
    assert [path.name for path in (folder / "runs").iterdir()] == ["mine"]
    assert page.count("data:image/png;base64,") > 20
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert len(stages) == len(set(stages)) >= 9
    assert stages[0] == "drawing pictures"
    assert [stage for stage in stages if stage.startswith("evaluating")] == [f"evaluating: {name}" for name in MODELS]
    assert {"adapting: infonce", "adapting: hanclip"} <= set(stages)


def test_the_same_seed_tells_the_same_story_again(told, tmp_path, monkeypatch):
    stories = []
    monkeypatch.setattr("litotes.demo.run.write_report", lambda story, folder: stories.append(story) or folder)
    run_demo(tmp_path, DemoConfig(0, PICTURES, QUADRUPLETS), lambda stage: None)
    assert json.loads(json.dumps(stories[0].results["models"])) == told[1]["models"]


def test_questions_are_taken_by_place_and_each_is_about_another_picture(assets):
    held = evaluation(12, per_class=1)
    asked = questions({"base": recipes.base_matcher(), "extended": recipes.extended_matcher()}, held)
    assert [question.kind for question in asked] == ["positive"] * 2 + ["negative"] * 2 + ["hybrid"] * 2
    assert len({question.picture.tobytes() for question in asked}) == 6
    for question, item in zip(asked, held.scenes, strict=False):
        assert [option.true for option in question.options].count(True) == 1
        assert question.picture.tobytes() == held.pictures[held.scenes.index(item)].tobytes()
        assert all(set(option.scores) == {"base", "extended"} for option in question.options)
        assert all(-1 <= score <= 1 for option in question.options for score in option.scores.values())
        assert question.shows == ", ".join(f"{thing.colour} {thing.kind}" for thing in item.scene.things)


def test_a_hit_is_right_where_the_wanted_is_there_and_the_unwanted_is_not(assets):
    held = evaluation(40, per_class=1)
    matcher = recipes.base_matcher()
    found = searches({"base": matcher}, held, best=40)
    shown = {held.pictures[i].tobytes(): item.scene.kinds for i, item in enumerate(held.scenes)}
    assert 1 <= len(found) <= 4
    for search in found:
        wanted, unwanted = search.query.split(" but no ")
        kinds = [shown[hit.picture.tobytes()] for hit in search.hits["base"]]
        assert len(set(kinds)) > 1
        assert any(wanted.split()[-1] in some and unwanted in some for some in kinds)
        for hit, some in zip(search.hits["base"], kinds, strict=True):
            assert hit.right == (wanted.split()[-1] in some and unwanted not in some)
        texts = torch.nn.functional.normalize(matcher.encode_texts([search.query]), dim=-1)
        images = torch.nn.functional.normalize(matcher.encode_images(held.pictures), dim=-1)
        best = held.pictures[int((images @ texts[0]).argmax())]
        assert search.hits["base"][0].picture.tobytes() == best.tobytes()


@pytest.mark.parametrize(("pictures", "quadruplets"), [(9, 40), (24, 1)])
def test_too_few_pictures_are_told_before_anything_is_drawn(pictures, quadruplets, tmp_path, capsys):
    with pytest.raises(UserError, match="at least 10 pictures"):
        DemoConfig(0, pictures, quadruplets)
    words = ["--pictures", str(pictures), "--quadruplets", str(quadruplets), "--output", str(tmp_path / "out")]
    assert main(["demo", *words]) == 2
    assert not (tmp_path / "out").exists()
    assert "at least 10 pictures" in capsys.readouterr().err


def test_the_command_shows_its_stages_its_figures_and_the_page(told, tmp_path, capsys, monkeypatch):
    asked = []

    def run(folder, config, say):
        asked.append((folder, config))
        say("adapting: hanclip")
        return told[0] / "report.html"

    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("litotes.demo.run.run_demo", run)
    assert main(["demo", "--output", str(tmp_path), "--pictures", "12", "--quadruplets", "16", "--seed", "3"]) == 0
    assert asked == [(tmp_path, DemoConfig(3, 12, 16))]
    shown = capsys.readouterr().out
    for text in ("· adapting: hanclip", "multiple choice, hybrid", "Retrieval-Neg, rSum", "infonce", "extended"):
        assert text in shown
    assert f"open {told[0] / 'report.html'}" in shown


def test_the_summary_prints_percent(told, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    models = told[1]["models"]
    print_summary({"base": models["base"]})
    rows = {
        line.split("│")[1].strip(): line.split("│")[2].strip()
        for line in capsys.readouterr().out.splitlines()
        if "│" in line
    }
    assert rows["multiple choice"] == f"{100 * models['base']['mcq']['total']:.1f}"
    assert rows["Retrieval-Neg, rSum"] == f"{models['base']['retrieval_neg']['rsum']:.1f}"


def test_the_model_that_ships_can_be_pretrained_again_and_gone_on_with(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("litotes.demo.sets.evaluation", lambda: evaluation(12, per_class=1))
    words = ["--output", str(tmp_path / "run"), "--warmup-steps", "2", "--steps", "2", "--workers", "0"]
    assert main(["demo", "pretrain", *words]) == 0
    whole, half = load_matcher(tmp_path / "run" / "model"), load_matcher(tmp_path / "run" / "half")
    assert "classification" in capsys.readouterr().out
    assert main(["demo", "pretrain", *words]) == 2
    assert "add --resume" in capsys.readouterr().err
    assert main(["demo", "pretrain", *words, "--resume"]) == 0
    assert load_matcher(tmp_path / "run" / "model").fingerprint == whole.fingerprint
    for name, tensor in whole.encoder.base_state().items():
        torch.testing.assert_close(half.encoder.base_state()[name], tensor, rtol=1e-3, atol=1e-6)
    size = (tmp_path / "run" / "half" / "model.safetensors").stat().st_size
    assert size < 0.6 * (tmp_path / "run" / "model" / "model.safetensors").stat().st_size


def test_the_adapter_that_ships_can_be_trained_again_and_gone_on_with(assets, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("litotes.demo.sets.evaluation", lambda: evaluation(12, per_class=1))
    extended = recipes.extended_recipe()
    short = replace(extended, loop=replace(extended.loop, batch_size=8, steps=2))
    monkeypatch.setattr(recipes, "extended_recipe", lambda seed: replace(short, loop=replace(short.loop, seed=seed)))
    words = ["--output", str(tmp_path / "run"), "--quadruplets", "16"]
    assert main(["demo", "extended", *words]) == 0
    weights = (tmp_path / "run" / "adapter" / "adapter_model.safetensors").read_bytes()
    monkeypatch.setattr(recipes, "ASSETS", _moved(assets, tmp_path))
    base, adapted = recipes.base_matcher(), recipes.extended_matcher()
    assert base.base == adapted.base
    assert base.fingerprint != adapted.fingerprint
    capsys.readouterr()
    assert main(["demo", "extended", *words]) == 2
    assert main(["demo", "extended", *words, "--resume"]) == 0
    assert (tmp_path / "run" / "adapter" / "adapter_model.safetensors").read_bytes() == weights
    assert "extended" in capsys.readouterr().out


def _moved(assets, folder):
    """Assets with the adapter that was just trained."""
    (folder / "assets").mkdir()
    (folder / "assets" / "model").symlink_to(assets / "model")
    (folder / "assets" / "extended").symlink_to(folder / "run" / "adapter")
    return folder / "assets"


SHIPPED = recipes.ASSETS
needs_model = pytest.mark.skipif(not (SHIPPED / "model").is_dir(), reason="the model is not there yet")
needs_adapter = pytest.mark.skipif(not (SHIPPED / "extended").is_dir(), reason="the adapter is not there yet")


@needs_model
def test_the_model_in_the_package_has_the_size_that_was_promised():
    size = sum(path.stat().st_size for path in (SHIPPED / "model").rglob("*") if path.is_file())
    assert size <= 12 * 1024**2
    matcher = load_matcher(SHIPPED / "model", truncation="refuse")
    count = sum(p.numel() for p in matcher.encoder.parameters())
    assert 1.5e6 <= count <= 6e6
    assert all(math.isfinite(float(p.detach().abs().sum())) for p in matcher.encoder.parameters())


@needs_model
def test_the_model_in_the_package_reads_every_sentence_whole_in_known_words():
    matcher = load_matcher(SHIPPED / "model", truncation="refuse")
    held = evaluation(60, per_class=1)
    suites = {suite.name: suite for suite in held.suites}
    captions = suites["retrieval"].captions
    texts = [fill(template, caption) for template in TEMPLATES for caption in captions]
    texts += [*suites["retrieval_neg"].captions, *(text for options in held.choice.options for text in options)]
    ids = matcher.tokenizer(texts)
    assert matcher.tokenizer.truncated == 0
    assert ids.shape[1] < matcher.tokenizer.context_length
    # Words of templates and statements are tokens of their own: few more tokens than words.
    words = sum(len(text.replace(",", " ,").replace(";", " ;").split()) + 3 for text in texts)
    assert int((ids != 0).sum()) < 1.15 * words


@needs_adapter
def test_the_adapter_in_the_package_belongs_to_the_model_and_moves_both_towers():
    matcher = load_matcher(SHIPPED / "model")
    before = matcher.fingerprint
    settings = load_adapter(matcher, SHIPPED / "extended")
    assert settings == recipes.EXTENDED_LORA
    assert matcher.fingerprint != before
    towers = {name.split("_model")[0] for name in adapted_layers(matcher.encoder)}
    assert towers == {"text", "vision"}
