"""``litotes train vacsr`` on classes: folders and tables, both pairings, classification before and after, mistakes."""

import csv
import json

import numpy as np
import pytest
import torch
from drawn_table import litotes, write
from PIL import Image
from safetensors.torch import load_file

from litotes.data.images import ImageFiles
from litotes.models.matcher import load_matcher
from litotes.models.pair_adapter import load_pair_adapter
from tiny import tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")

NAMES = ("big_cat", "dog", "red fox")
PROMPTS = ("a photo of a big cat.", "a photo of a dog.", "a photo of a red fox.")
SHORT = {
    "val_fraction": 0.34, "batch_size": 4, "steps": 4, "lr": 1e-2, "hidden": 8, "latent": 6, "decoder_hidden": 4,
    "save_frequency": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    root = tmp_path_factory.mktemp("classes") / "pets"
    pixels = np.random.default_rng(0).integers(0, 256, (12, 24, 24, 3), dtype=np.uint8)
    for i, values in enumerate(pixels):
        folder = root / NAMES[i % 3]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(values).save(folder / f"{i}.png")
    rows = [(f"pets/{NAMES[i % 3]}/{i}.png", NAMES[i % 3]) for i in range(12)]
    write(root.parent / "classes.csv", rows, ("filepath", "caption"))
    write(root.parent / "names.csv", rows, ("filepath", "classname"))
    return root


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_model(tmp_path_factory.mktemp("model"), PROMPTS)


@pytest.fixture
def train(classes, model, tmp_path):
    def run(output="run", **options):
        given = {"model": model, "train_data": classes, "output": tmp_path / output}
        return litotes("train vacsr", **(given | SHORT | options))

    return run


def test_class_folders_are_trained_on_and_classified_before_and_after(train, classes, model, tmp_path, capsys):
    assert train() == 0
    assert "8 captions of 8 pictures to train on" in capsys.readouterr().out
    told = json.loads((tmp_path / "run" / "report.json").read_text())
    before, after = (told["models"][name]["suites"]["classification"] for name in ("cosine", "vacsr"))
    assert before["n_images"] == after["n_images"] == 4
    assert before["notes"] == after["notes"] == []
    assert "3 prompts of the training part" in told["adaptation"]["Batch"]
    given = {"model": model, "classification": classes, "output": tmp_path / "result.json"}
    folder = tmp_path / "run" / "pair-adapter"
    assert litotes("evaluate", **given, pair_adapter=folder) == 0
    found = json.loads((tmp_path / "result.json").read_text())["suites"]["classification"]
    matcher = load_matcher(model)
    adapter, _ = load_pair_adapter(folder, matcher)
    paths = [f"{name}/{i}.png" for name in NAMES for i in range(NAMES.index(name), 12, 3)]
    with torch.no_grad():
        logits = adapter.logits(matcher.encode_images(ImageFiles(paths, classes)), matcher.encode_texts(list(PROMPTS)))
    right = [row.argmax() == NAMES.index(path.split("/")[0]) for row, path in zip(logits, paths, strict=True)]
    assert found["acc1"] == pytest.approx(np.mean(right))


def test_the_two_pairings_of_a_class_are_two_trainings(train, tmp_path):
    weights = {}
    for pairing in ("all", "batch"):
        assert train(pairing, pairing=pairing) == 0
        weights[pairing] = load_file(tmp_path / pairing / "pair-adapter" / "pair_adapter.safetensors")
    assert any(not torch.equal(weights["all"][name], value) for name, value in weights["batch"].items())
    assert train("control", method="infonce", scorer="cosine") == 2  # sizes of no adapter


def test_a_table_of_classes_is_the_same_data_as_the_folders(train, classes, tmp_path):
    assert train("folders") == 0
    parts = {"folders": {}, "captions": {"classes": True, "prompt": "a photo of a {c}."}, "names": {"classes": True}}
    digests = []
    for name, table in (("captions", "classes.csv"), ("names", "names.csv")):
        assert train(name, train_data=classes.parent / table, **parts[name]) == 0
    for name in parts:
        suite = json.loads((tmp_path / name / "report.json").read_text())["models"]["vacsr"]["suites"]["classification"]
        assert set(suite["per_class"]) <= set(PROMPTS) and suite["n_texts"] == 3 and not suite["notes"]
        digests.append(suite["pictures_sha256"])
    assert digests[1] == digests[2]  # the folders stand in another order, by which others are held out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"select": "validation"}, "--select validation with classes"),
        ({"prompt": "a photo"}, "--prompt 'a photo'"),
        ({"method": "infonce", "pairing": "all"}, "infonce with pairs of a picture and all captions"),
        ({"train_data": "classes.csv", "pairing": "all"}, "--pairing without classes"),
        ({"train_data": "classes.csv", "prompt": "{c}"}, "--prompt without classes"),
        (
            {"train_data": "classes.csv", "classes": True, "classnames": "x.txt"},
            "a table of captions or names of classes says itself",
        ),
        ({"train_data": "two.csv", "classes": True}, "pets/dog/1.png in row 2 ('dog') and in row 13 ('wolf')"),
        ({"train_data": "pets/dog"}, "without folders"),
        ({"train_data": "one.csv", "classes": True}, "every caption is right for every picture"),
    ],
)
def test_what_is_no_training_on_classes_is_told_before_the_model_is_loaded(options, told, train, classes, capsys):
    rows = list(csv.reader((classes.parent / "classes.csv").open(encoding="utf-8")))[1:]
    write(classes.parent / "two.csv", [*rows, ("pets/dog/1.png", "wolf")], ("filepath", "caption"))
    write(classes.parent / "one.csv", [(path, "dog") for path, _ in rows], ("filepath", "caption"))
    given = {key: classes.parent / value if key == "train_data" else value for key, value in options.items()}
    assert train(**given) == 2
    assert told in " ".join(capsys.readouterr().err.split())
