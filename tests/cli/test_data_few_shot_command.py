"""``litotes data few-shot``: a split or folders in, tables out that train and evaluate take, and what is refused."""

import csv
import hashlib
import json

import numpy as np
import pytest
from drawn_table import litotes, write
from PIL import Image

from litotes.data.few_shot import few_shot, read_split
from tiny import tiny_model

NAMES = ("cup", "apple", "big_cat", "dog", "fox")
TABLES = {f"{group}{part}.csv" for group in ("", "base-", "novel-") for part in ("train", "val", "test")}


@pytest.fixture
def split(tmp_path):
    """Five classes, whose labels are in no order of their names, of nine pictures each."""
    rng = np.random.default_rng(0)
    parts = {"train": [], "val": [], "test": []}
    for i in range(45):
        name = NAMES[i % 5]
        path = tmp_path / "images" / name / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(path)
        part = ("train", "train", "train", "train", "train", "val", "val", "test", "test")[i // 5]
        parts[part].append([f"{name}/{i}.png", i % 5, name])
    (tmp_path / "split_zhou_Few.json").write_text(json.dumps(parts))
    return tmp_path / "split_zhou_Few.json"


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_tables_and_record_are_those_of_the_draw(split, tmp_path, capsys):
    out = tmp_path / "far" / "few-2"
    assert litotes("data few-shot", split=split, shots=3, seed=2, output=out) == 0
    assert {path.name for path in out.iterdir()} == TABLES | {"few-shot.json"}
    drawn = few_shot(read_split(split), 3, 2)
    for part, items in drawn._asdict().items():
        rows = {group: read(out / f"{group}{part}.csv") for group in ("", "base-", "novel-")}
        assert [(row["filepath"], row["classname"]) for row in rows[""]] == [(one.path, one.name) for one in items]
        for group, names in (("base-", NAMES[:3]), ("novel-", NAMES[3:])):
            assert rows[group] == [row for row in rows[""] if row["classname"] in names]
    told = json.loads((out / "few-shot.json").read_text())
    assert told["source"]["split"]["sha256"] == hashlib.sha256(split.read_bytes()).hexdigest()
    assert (told["seed"], told["shots"], told["val_shots"], told["val_from"]) == (2, 3, 3, "val")
    assert told["classes"] == {"all": list(NAMES), "base": list(NAMES[:3]), "novel": list(NAMES[3:])}
    assert told["fewer_than_asked"] == {"train": {}, "val": dict.fromkeys(NAMES, 2)}
    counts = {name: (one["classes"], one["pictures"]) for name, one in told["tables"].items()}
    assert (counts["train.csv"], counts["base-val.csv"], counts["novel-test.csv"]) == ((5, 15), (3, 6), (2, 4))
    assert all(hashlib.sha256((out / name).read_bytes()).hexdigest() == one["sha256"]
               for name, one in told["tables"].items())  # fmt: skip
    shown = " ".join(capsys.readouterr().out.split())
    assert "val: 5 classes have fewer than 3 pictures, all of which are taken once: cup 2, apple 2" in shown
    assert "3 shots, seed 2" in shown and "give that as --images-root" in shown


def test_the_tables_are_what_train_and_evaluate_take(split, tmp_path, one_thread):
    assert litotes("data few-shot", split=split, shots=4, output=tmp_path / "few") == 0
    model = tiny_model(tmp_path / "model", [f"a photo of a {name.replace('_', ' ')}." for name in NAMES])
    given = {"model": model, "images_root": tmp_path / "images"}
    done = litotes("train vacsr", **given, classes=True, train_data=tmp_path / "few" / "base-train.csv",
                   val_data=tmp_path / "few" / "base-val.csv", output=tmp_path / "run", steps=2, batch_size=4,
                   hidden=8, latent=6, decoder_hidden=4)  # fmt: skip
    assert done == 0
    for group, names in (("base", NAMES[:3]), ("novel", NAMES[3:])):
        output = tmp_path / f"{group}.json"
        table = tmp_path / "few" / f"{group}-test.csv"
        assert litotes("evaluate", **given, pair_adapter=tmp_path / "run" / "pair-adapter", classification=table,
                       output=output) == 0  # fmt: skip
        suite = json.loads(output.read_text())["suites"]["classification"]
        assert set(suite["per_class"]) == set(names) and suite["n_images"] == 2 * len(names)
        assert suite["n_classes"] == len(names) and suite["templates"] == ["a photo of a {c}."]


def folders(root, names, per_class, shift=0):
    for name in names:
        (root / name).mkdir(parents=True)
        for i in range(per_class):
            Image.new("RGB", (8, 8), (shift, i, 10 * len(name))).save(root / name / f"{i}.png")
    return root


def test_folders_are_listed_sorted_and_named_by_ids_and_validated_on_what_is_left(tmp_path, capsys):
    ids = ["n00000004", "n00000001", "n00000003", "n00000002"]
    train, test = folders(tmp_path / "train", ids, 11), folders(tmp_path / "val", ids[::-1], 2, 99)
    (train / "n00000001" / "10.png").rename(train / "n00000001" / "07.png")
    (tmp_path / "classnames.txt").write_text("".join(f"n0000000{i} thing {i}\n" for i in (1, 2, 3, 4)))
    asked = {"train_data": train, "test_data": test, "classnames": tmp_path / "classnames.txt"}
    assert litotes("data few-shot", **asked, output=tmp_path / "few", shots=8) == 0
    told = json.loads((tmp_path / "few" / "few-shot.json").read_text())
    assert told["classes"]["base"] == ["thing 1", "thing 2"] and told["val_from"] == "train, what was not drawn"
    rows = [(row["filepath"], row["classname"]) for row in read(tmp_path / "few" / "train.csv")]
    listing = {
        i: sorted(f"n0000000{i}/{path.name}" for path in (train / f"n0000000{i}").iterdir()) for i in range(1, 5)
    }
    whole = {part: [[path, i, f"thing {i}"] for i, paths in listing.items() for path in paths]
             for part in ("train", "val")}  # fmt: skip
    (tmp_path / "same.json").write_text(
        json.dumps({"train": whole["train"], "val": [], "test": [[f"t{i}.png", i, f"thing {i}"] for i in range(1, 5)]})
    )
    drawn = few_shot(read_split(tmp_path / "same.json"), 8, 1)
    assert rows == [(one.path, one.name) for one in drawn.train] and len(rows) == 32
    validated = [(row["filepath"], row["classname"]) for row in read(tmp_path / "few" / "val.csv")]
    assert validated == [(one.path, one.name) for one in drawn.val] and not set(validated) & set(rows)
    shown = " ".join(capsys.readouterr().out.split())
    assert f"those of train in {train}, those of test in {test}" in shown
    assert "val: 4 classes have fewer than 4 pictures" in shown


def test_a_table_of_words_has_its_labels_by_the_alphabet_and_few_classes_no_groups(tmp_path, capsys):
    rows = [(f"{name}{i}.png", name) for name in ("emu", "cat", "dog") for i in range(3)]
    write(tmp_path / "train.csv", rows, ("filepath", "classname"))
    write(tmp_path / "test.csv", [(f"t{path}", name) for path, name in rows], ("filepath", "classname"))
    asked = {"train_data": tmp_path / "train.csv", "test_data": tmp_path / "test.csv"}
    assert litotes("data few-shot", **asked, output=tmp_path / "few", shots=2) == 0
    assert {path.name for path in (tmp_path / "few").iterdir()} == {"train.csv", "val.csv", "test.csv", "few-shot.json"}
    assert json.loads((tmp_path / "few" / "few-shot.json").read_text())["classes"] == {"all": ["cat", "dog", "emu"]}
    assert "3 classes, of which no base and novel are made" in " ".join(capsys.readouterr().out.split())
    write(tmp_path / "caption.csv", rows, ("filepath", "caption"))
    asked["test_data"] = tmp_path / "caption.csv"
    assert litotes("data few-shot", **asked, output=tmp_path / "other") == 2
    assert "whose classes are whole captions" in " ".join(capsys.readouterr().err.split())


def test_what_cannot_be_drawn_leaves_nothing(split, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    same = {"train_data": tmp_path / "images", "test_data": tmp_path / "images"}
    for options, told in (
        ({"split": split, "output": "there"}, "which is there already"),
        ({"split": split, "output": split / "x"}, "is no folder"),
        ({"split": split, "shots": 0}, "--shots 0"),
        ({"split": split, "seed": -1}, "--seed -1"),
        ({}, "no --split and no --train-data and no --test-data"),
        ({"train_data": "images"}, "no --test-data"),
        ({"split": split, "classnames": "x"}, "--split with --classnames"),
        ({"split": "none.json"}, "no file none.json"),
        (same, "each picture once"),
    ):
        assert litotes("data few-shot", **{"output": "new", **options}) == 2
        assert told in " ".join(capsys.readouterr().err.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["images", "split_zhou_Few.json", "there"]
