"""``litotes train vacsr --backbone blocks``: the recipe for classes by the command, what comes out, what is refused."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from drawn_table import litotes, write
from PIL import Image
from safetensors.torch import load_file
from test_train_vacsr_command import figures, report, same, settings, weights

from litotes.cli import pair_training
from litotes.cli.pair_settings import augmentation_of, loop_of, method_of, rates_of, resolved
from litotes.data.augment import Augmentation
from litotes.data.images import ImageFiles
from litotes.models.lora import LoraSettings, add_lora, save_adapter
from litotes.models.matcher import load_matcher
from litotes.models.pair_adapter import load_pair_adapter
from litotes.models.scorer import VariationalScorer
from litotes.train.backbone_pairs import BLOCKS_RATES, BLOCKS_RECIPE, BackbonePairs
from tiny import tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")

NAMES = ("cat", "dog", "red fox")
PROMPTS = tuple(f"a photo of a {name}." for name in NAMES)
SHORT = {
    "backbone": "blocks", "val_fraction": 0.34, "batch_size": 4, "epochs": 2, "lr": 0.05, "hidden": 8, "latent": 6,
    "decoder_hidden": 4, "save_frequency": 2,
}  # fmt: skip
STEPS = 4
"""Two passes over 8 pictures by four."""


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    root = tmp_path_factory.mktemp("classes") / "pets"
    pixels = np.random.default_rng(0).integers(0, 256, (12, 40, 32, 3), dtype=np.uint8)
    for i, values in enumerate(pixels):
        folder = root / NAMES[i % 3]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(values).save(folder / f"{i}.png")
    return root


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_model(tmp_path_factory.mktemp("model"), [*PROMPTS, "a photo of a new bird."], layers=4)


@pytest.fixture(scope="module")
def trained(model, classes, tmp_path_factory):
    """A whole run, for all that only looks at what is left."""
    torch.set_num_threads(1)
    run = tmp_path_factory.mktemp("trained") / "run"
    assert litotes("train vacsr", model=model, train_data=classes, output=run, **SHORT) == 0
    return run


@pytest.fixture
def train(model, classes, tmp_path):
    def run(output="run", without=(), **options):
        given = {"model": model, "train_data": classes, "output": tmp_path / output}
        short = {key: value for key, value in SHORT.items() if key not in without}
        return litotes("train vacsr", **(given | short | options))

    return run


def blocks(folder):
    return load_file(folder / "pair-adapter" / "backbone" / "pair_backbone.safetensors")


def test_the_defaults_are_the_recipe_of_the_paper_and_each_is_an_option():
    asked = settings("--backbone", "blocks")
    assert loop_of(asked, 5_000) == replace(BLOCKS_RECIPE, save_every=200)
    assert rates_of(asked) == BLOCKS_RATES
    assert augmentation_of(asked) == Augmentation(1.0, 0.5, 0.0, 0.0, 0.0, area=0.08)
    assert (asked.vision_blocks, asked.text_blocks) == ("0-1", "0-2")
    assert method_of(asked, 512).adapter.features == 512
    said = resolved(asked)
    assert (said["epochs"], said["batch_size"], said["lr"], said["wd"]) == (5, 16, 0.0015, 5e-4)
    assert (said["text_rate"], said["image_rate"]) == (1.0, 1.0)
    line = "--epochs 3 --batch-size 128 --lr 0.01 --wd 0.1 --optimizer adamw --schedule constant --warmup 5 --workers 2"
    other = loop_of(settings("--backbone", "blocks", *line.split()), 5_000)
    assert (other.epochs, other.batch_size, other.lr, other.weight_decay) == (3, 128, 0.01, 0.1)
    assert (other.optimizer, other.schedule, other.warmup, other.workers) == ("adamw", "constant", 5, 2)
    whole = settings("--backbone", "blocks", "--crop-area", "1", "--flip", "0", "--image-rate", "0.5")
    assert augmentation_of(whole) == Augmentation(1.0, 0.0, 0.0, 0.0, 0.0)
    assert (rates_of(whole).image, rates_of(whole).text) == (0.5, 1.0)
    assert loop_of(settings("--optimizer", "sgd"), 5_000).optimizer == "sgd"


def test_a_run_leaves_the_blocks_with_their_adapter_and_a_report_that_agrees(trained, model, classes):
    found = report(trained)
    before, after = found["models"]["cosine"], found["models"]["vacsr"]
    matcher = load_matcher(model)
    assert after["pair_backbone"]["base_sha256"] == matcher.base == before["base_sha256"]
    assert (after["pair_backbone"]["vision_blocks"], after["pair_backbone"]["text_blocks"]) == ("0-1", "0-2")
    assert after["preprocessing"] == before["preprocessing"]
    start = {f"clip.{name}": tensor.clone() for name, tensor in matcher.encoder.clip.state_dict().items()}
    kept = blocks(trained)
    assert len(kept) == 16 * 5
    assert not any(torch.equal(kept[name], start[name]) for name in kept if name.endswith("fc1.weight"))
    _, side = load_pair_adapter(trained / "pair-adapter", matcher)
    assert after["pair_adapter"]["backbone_sha256"] == side.backbone_sha256 is not None
    assert after["fingerprint"] == matcher.fingerprint != before["fingerprint"]
    told = found["adaptation"]
    assert told["The backbone"].endswith(
        "weights of blocks 0-1 of the picture tower and 0-2 of the text tower; all else as it was, and the features "
        "CLIP's own"
    )
    assert told["Changed in training"] == (
        "crops of 8% of the area or more, stretched to a square; 50% of the pictures mirrored"
    )
    assert told["Optimiser"] == "sgd with momentum 0.9, weight decay 0.0005"
    assert "3 prompts of the training part" in told["Batch"]
    assert "trained with some blocks" in (trained / "report.html").read_text()
    config = json.loads((trained / "config.json").read_text())["settings"]
    assert (config["wd"], config["epochs"], config["optimizer"]) == (5e-4, 2, None)


def test_evaluate_takes_it_for_classes_that_it_was_trained_on_and_for_new_ones(trained, model, classes, tmp_path):
    novel = tmp_path / "novel"
    for name, folder in (("new bird", "cat"), ("red fox", "dog")):
        shutil.copytree(classes / folder, novel / name)
    folder, out = trained / "pair-adapter", tmp_path / "result.json"
    assert litotes("evaluate", model=model, classification=novel, pair_adapter=folder, output=out) == 0
    found = json.loads(out.read_text())
    matcher = load_matcher(model)
    pair_model, _ = load_pair_adapter(folder, matcher)
    paths = [str(path.relative_to(novel)) for path in sorted(novel.rglob("*.png"))]
    images = matcher.encode_images(ImageFiles(paths, novel))
    texts = matcher.encode_texts(["a photo of a new bird.", "a photo of a red fox."])
    first = VariationalScorer(pair_model).scores(images, texts).argmax(1).tolist()
    right = [path.startswith(("new bird", "red fox")[label]) for path, label in zip(paths, first, strict=True)]
    assert found["suites"]["classification"]["acc1"] == pytest.approx(np.mean(right))
    assert found["pair_backbone"]["vision_blocks"] == "0-1"
    assert found["fingerprint"] == report(trained)["models"]["vacsr"]["fingerprint"]


def test_suspects_and_calibrate_take_it_too(trained, model, classes, tmp_path):
    rows = [(str(path), PROMPTS[NAMES.index(path.parent.name)]) for path in sorted(classes.rglob("*.png"))]
    pairs = write(classes.parent / "pairs.csv", rows, ("filepath", "caption"))
    given = {"model": model, "pair_adapter": tmp_path / "kept", "data": pairs, "images_root": classes.parent}
    shutil.copytree(trained / "pair-adapter", tmp_path / "kept")
    assert litotes("data suspects", **given, output=tmp_path / "list.csv") == 0
    assert len((tmp_path / "list.csv").read_text().splitlines()) > 3
    (tmp_path / "kept" / "trained_on.json").unlink()  # these pictures are all that there are
    assert litotes("calibrate", **given) == 0
    assert (tmp_path / "kept" / "calibration.json").is_file()


@pytest.mark.parametrize("stop_at", [2, 4])
def test_a_stopped_run_goes_on_and_ends_as_if_it_had_not_been_stopped(stop_at, trained, train, tmp_path, monkeypatch):
    calls, terms = [], BackbonePairs.terms

    def stop(task, batch):
        calls.append(1)
        if len(calls) == stop_at:
            raise KeyboardInterrupt
        return terms(task, batch)

    with monkeypatch.context() as patch:
        patch.setattr(BackbonePairs, "terms", stop)
        assert train() == 130
    assert not (tmp_path / "run" / "pair-adapter").exists()
    torch.manual_seed(99)
    assert train(resume=True) == 0
    same(weights(tmp_path / "run"), weights(trained))
    same(blocks(tmp_path / "run"), blocks(trained))
    assert figures(tmp_path / "run") == figures(trained)


def test_another_choice_of_blocks_is_another_training_and_no_resume(train, trained, tmp_path, capsys):
    shutil.copytree(trained, tmp_path / "run")
    assert train(resume=True, vision_blocks="top2") == 2
    assert "--vision-blocks = top2 (was 0-1)" in " ".join(capsys.readouterr().err.split())
    assert train("other", vision_blocks="top2", text_blocks="3", steps=1) == 0
    assert {name.split(".")[4] for name in blocks(tmp_path / "other") if "vision" in name} == {"2", "3"}
    assert {name.split(".")[4] for name in blocks(tmp_path / "other") if "text" in name} == {"3"}


def test_an_adapter_is_merged_first_and_the_plain_base_is_all_that_is_needed(train, model, classes, tmp_path, capsys):
    matcher = load_matcher(model)
    add_lora(matcher.encoder, LoraSettings(towers="text", rank=2, layers="3"), seed=1)
    with torch.no_grad():
        for name, weight in matcher.encoder.named_parameters():
            if "lora_B" in name:
                weight.fill_(0.3)
    save_adapter(matcher, LoraSettings(towers="text", rank=2, layers="3"), tmp_path / "lora")
    assert train(adapter=tmp_path / "lora", steps=1) == 0
    side = report(tmp_path / "run")["models"]["vacsr"]["pair_backbone"]
    assert (side["text_blocks"], side["merged_adapter_sha256"] is None) == ("all", False)
    given = {"model": model, "classification": classes, "pair_adapter": tmp_path / "run" / "pair-adapter"}
    given["output"] = tmp_path / "result.json"
    assert litotes("evaluate", **given) == 0
    found = json.loads((tmp_path / "result.json").read_text())
    assert found["fingerprint"] == report(tmp_path / "run")["models"]["vacsr"]["fingerprint"]
    assert litotes("evaluate", **given, adapter=tmp_path / "lora") == 2
    assert "leave out --adapter" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("method", ["sigmoid", "infonce"])
def test_the_controls_train_the_blocks_by_the_same_command(method, train, model, tmp_path):
    sizes = ("hidden", "latent", "decoder_hidden")
    assert train(without=sizes, method=method, scorer="cosine", steps=2) == 0
    load_pair_adapter(tmp_path / "run" / "pair-adapter", load_matcher(model))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"dimension": 12}, "--dimension with blocks that are trained as they are"),
        ({"token_part": 0.1, "frozen_epochs": 1}, "--frozen-epochs, --token-part with blocks that are trained"),
        ({"crop": 0.5}, "--crop with blocks"),
        ({"cache": "cache"}, "--cache with blocks"),
        ({"backbone": "frozen", "vision_blocks": "0"}, "--vision-blocks with a frozen backbone"),
        ({"backbone": "frozen", "image_rate": 0.5}, "--image-rate with a frozen backbone"),
        ({"backbone": "full", "text_blocks": "all"}, "--text-blocks with a backbone that is trained whole"),
        ({"vision_blocks": "first"}, "got: --vision-blocks first expected: all, top1"),
        ({"text_blocks": "2-0"}, "got: --text-blocks 2-0 expected: the lower number of a range first do: say 0-2"),
        ({"crop_area": 0}, "--crop-area 0"),
        ({"crop_area": 1.2}, "--crop-area 1.2"),
        ({"optimizer": "sdg"}, "adamw|adamp|sgd"),
    ],
)
def test_what_cannot_be_done_is_told_before_the_model_is_loaded(options, told, train, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pair_training, "load_backbone", None)
    assert train(**{key: tmp_path / value if key == "cache" else value for key, value in options.items()}) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["vision_blocks", "text_blocks"])
def test_blocks_that_the_model_lacks_are_told_before_anything_is_encoded(option, train, tmp_path, capsys):
    assert train(**{option: "3-4"}) == 2
    wanted = f"got: --{option.replace('_', '-')} 3-4 of a tower of 4 blocks expected: blocks among 0 to 3"
    assert wanted in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()
