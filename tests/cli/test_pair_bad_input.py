"""What the commands of pairs say of input that cannot be used, each by the real command, with nothing left behind."""

import csv
import json
import shutil

import numpy as np
import pytest
from drawn_table import litotes, table, write
from safetensors.torch import load_file, save_file

from litotes.models.matcher import load_matcher
from litotes.models.pair_adapter import new_pair_model, save_pair_adapter
from litotes.models.variational import AdapterConfig
from tiny import DIMENSION, tiny_model

pytestmark = pytest.mark.usefixtures("one_thread")

COLUMNS = ("filepath", "caption")
CONFIG = AdapterConfig(features=DIMENSION, hidden=8, latent=6, decoder_hidden=4)
COMMANDS = ("train vacsr", "data suspects", "calibrate")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A table of ten pairs that fit, and tables that do not."""
    folder = tmp_path_factory.mktemp("drawn")
    with table(folder, count=10, columns=COLUMNS).open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    write(folder / "no_picture.csv", [*rows[:8], ("", "a lonely ball")], COLUMNS)
    write(folder / "gone.csv", [*rows[:8], ("gone.png", "a lost ball")], COLUMNS)
    write(folder / "no_caption.csv", [*rows[:8], (rows[8][0], " ")], COLUMNS)
    write(folder / "one_caption.csv", [(path, "a ball") for path, _ in rows], COLUMNS)
    write(folder / "one_pair.csv", [rows[0]] * 6, COLUMNS)
    return folder


@pytest.fixture(scope="module")
def models(data, tmp_path_factory):
    """A model with an adapter of pairs; the same model with a NaN; another one; the adapter as one of another width."""
    folder = tmp_path_factory.mktemp("models")
    with (data / "pairs.csv").open(newline="", encoding="utf-8") as file:
        captions = [row["caption"] for row in csv.DictReader(file)]
    tiny_model(folder / "clip", captions)
    tiny_model(folder / "other", captions, seed=9)
    model = new_pair_model("variational", CONFIG, seed=1)
    matcher = load_matcher(folder / "clip")
    save_pair_adapter(model, "variational", CONFIG, matcher, {"method": "x"}, folder / "adapter")
    shutil.copytree(folder / "clip", folder / "nan")
    weights = load_file(folder / "nan" / "model.safetensors")
    weights["visual_projection.weight"][0, 0] = float("nan")
    save_file(weights, folder / "nan" / "model.safetensors", {"format": "pt"})
    shutil.copytree(folder / "adapter", folder / "wide")
    side = json.loads((folder / "wide" / "pair_adapter.json").read_text())
    side["config"]["features"] = DIMENSION + 8
    (folder / "wide" / "pair_adapter.json").write_text(json.dumps(side))
    return folder


@pytest.fixture
def run(data, models, tmp_path):
    def call(command, table="pairs.csv", model="clip", adapter="adapter", **options):
        given = {"model": models / model, "output": tmp_path / "out"}
        if command == "train vacsr":
            given |= {"train_data": data / table, "steps": 2, "batch_size": 4, "val_fraction": 0.3}
        else:
            given |= {"data": data / table, "pair_adapter": models / adapter}
        if command == "calibrate":
            del given["output"]
        return litotes(command, **(given | options))

    return call


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("no_picture.csv", "no_picture.csv: filepath is empty in rows 9"),
        ("gone.csv", "gone.csv: 1 of 9 pictures are missing"),
        ("no_caption.csv", "no_caption.csv: 1 captions without words, the 9. of the table"),
    ],
)
def test_a_caption_without_a_picture_and_a_picture_without_a_caption(command, table, told, run, tmp_path, capsys):
    assert run(command, table) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "table", "told"),
    [
        ("train vacsr", "one_caption.csv", "7 pairs of which every caption is right for every picture"),
        ("train vacsr", "one_pair.csv", "of 1 different pictures"),
        ("calibrate", "one_pair.csv", "1 different pictures"),
    ],
)
def test_pairs_that_are_all_the_same(command, table, told, run, tmp_path, models, capsys):
    assert run(command, table) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())
    assert not (models / "adapter" / "calibration.json").exists()


def test_identical_pairs_beside_pictures_to_validate_on(run, data, tmp_path, capsys):
    options = {"train_data": data / "one_pair.csv", "val_data": data / "pairs.csv", "val_fraction": 0.1}
    assert run("train vacsr", **options) == 2
    assert "trained on too" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("backbone", ["frozen", "full"])
def test_a_batch_of_one_pair(backbone, run, tmp_path, capsys):
    assert run("train vacsr", backbone=backbone, batch_size=1) == 2
    assert "at least one step with two pairs" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_a_last_batch_of_one_pair_is_trained_on(run, tmp_path):
    assert run("train vacsr", batch_size=6, steps=2, save_frequency=1) == 0  # 7 pairs: 6, then 1
    lines = (tmp_path / "out" / "run" / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["pairs"] for line in lines] == [36, 1]
    assert all(np.isfinite(json.loads(line)["loss"]) for line in lines)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_that_gives_nan(command, run, tmp_path, capsys):
    assert run(command, model="nan") == 2
    assert "with NaN or infinite numbers in visual_projection.weight" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", COMMANDS[1:])
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"model": "other"}, "for an adapter of pairs trained on"),
        ({"adapter": "wide"}, f"an adapter for features of {DIMENSION + 8} numbers, beside a model of {DIMENSION}"),
    ],
)
def test_an_adapter_of_another_base_or_width(command, options, told, run, tmp_path, capsys):
    assert run(command, **options) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"no array", "no .npy file, or one of pickled objects, which are never opened"),
        (b"\x93NUMPY\x01\x00", "cut or broken"),
        (np.arange(3), "with 3 captions expected: 7"),
        (np.linspace(0, 1, 7), "float64 of shape (7,)"),
        (np.arange(7) - 1, "0 to 6: the training set has 7 pictures"),
    ],
)
def test_a_noise_file_of_another_form_or_size(content, told, run, tmp_path, capsys):
    path = tmp_path / "noise.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    assert run("train vacsr", noise_index=path) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert told in message and "allow_pickle" not in message
    assert list(tmp_path.iterdir()) == [path]


def test_a_noise_file_of_another_hash(run, tmp_path, capsys):
    np.save(tmp_path / "noise.npy", np.arange(7))
    assert run("train vacsr", noise_index=tmp_path / "noise.npy", noise_sha256="0" * 64) == 2
    assert "with SHA-256" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists()
