import os
import pathlib

import numpy as np
import pytest
import torch
from PIL import Image

from litotes.data import cc_neg
from litotes.data.cc_neg import convert_cc_neg, from_cc_neg
from litotes.data.tables import read_table
from litotes.errors import UserError

TOTAL, TEST = 10, 4


def nested(i):
    return {"json": {"caption": f"A dog, {i}, runs", "key": i}, "sop_data": {"negative-prompt": f"no, dog {i}"}}


def flat(i):
    return {"caption": f"A dog, {i}, runs", "negative-prompt": f"no, dog {i}", "score": 0.5}


def save(folder, annotations, paths=None, name="ccneg_preprocessed.pt"):
    paths = paths or [f"/workspace/datasets/cc3m/images/{i}.jpg" for i in range(len(annotations))]
    torch.save({"image_paths": paths, "annotations": annotations, "extra": {"note": "x"}}, folder / name)
    return folder / name


@pytest.fixture
def pt(tmp_path):
    (tmp_path / "images").mkdir()
    for i in range(TOTAL):
        Image.new("RGB", (2, 2)).save(tmp_path / f"images/{i}.jpg")
    return save(tmp_path, [nested(i) for i in range(TOTAL)])


def read(source, root, **settings):
    return from_cc_neg(source, root, test_count=TEST, **settings)


@pytest.mark.parametrize("layout", [nested, flat])
def test_both_layouts_become_the_same_table(tmp_path, layout):
    table = read_table(convert_cc_neg(save(tmp_path, [layout(i) for i in range(3)]), tmp_path / "out.parquet"))
    assert table.columns == ("filepath", "caption", "negated_caption")
    assert table.rows[2] == {
        "filepath": "images/2.jpg",
        "caption": "A dog, 2, runs",
        "negated_caption": "no, dog 2",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ccneg_preprocessed.pt", "out.parquet"]


def test_split_by_position(pt):
    train, test = read(pt, pt.parent), read(pt, pt.parent, split="test")
    numbers = [[int(quads.pictures.name(i)[7:-4]) for i in range(len(quads))] for quads in (train, test)]
    assert numbers == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9]]
    assert train.objects is None and train.captions[5] == "A dog, 5, runs"


def test_published_split_is_the_last_forty_thousand(pt):
    assert cc_neg.TEST_COUNT == 40_000
    with pytest.raises(UserError, match="more than 40000"):
        from_cc_neg(pt, pt.parent)


@pytest.mark.parametrize(
    "option, caption, negated",
    [
        ("none", "A dog, 0, runs", "no, dog 0"),
        ("negated", "A dog, 0, runs", "no dog 0"),
        ("both", "A dog 0 runs", "no dog 0"),
    ],
)
def test_comma_removal(pt, option, caption, negated):
    quadruplets = read(pt, pt.parent, remove_commas=option)
    assert (quadruplets.captions[0], quadruplets.negatives[0]) == (caption, negated)
    assert caption[1:] in quadruplets.negated_positives[0]


def test_count_is_drawn_from_the_split_before_files_are_looked_for(pt):
    chosen = read(pt, pt.parent, count=3, seed=8)
    again = read(pt, pt.parent, count=3, seed=8)
    assert chosen.captions == again.captions and len(set(chosen.captions)) == 3
    assert {int(chosen.pictures.name(i)[7:-4]) for i in range(3)} <= set(range(6))
    used = {chosen.pictures.name(i) for i in range(3)}
    for i in range(TOTAL):
        if f"images/{i}.jpg" not in used:
            (pt.parent / f"images/{i}.jpg").unlink()
    assert read(pt, pt.parent, count=3, seed=8).captions == chosen.captions
    with pytest.raises(UserError, match="missing"):
        read(pt, pt.parent)
    with pytest.raises(UserError, match=r"1 \.\. 6"):
        read(pt, pt.parent, count=7)


def test_converted_once_and_anew_when_the_file_changes(pt, monkeypatch):
    read(pt, pt.parent)
    calls = []
    monkeypatch.setattr(cc_neg, "_load", lambda path, load=cc_neg._load: calls.append(path) or load(path))
    read(pt, pt.parent)
    assert calls == []
    save(pt.parent, [flat(i) for i in range(TOTAL)][::-1])
    assert read(pt, pt.parent).captions[0] == "A dog, 9, runs" and len(calls) == 1
    assert read(pt.with_suffix(".parquet"), pt.parent).captions[0] == "A dog, 9, runs"


def test_a_strangers_table_is_not_overwritten(pt):
    other = pt.with_suffix(".parquet")
    other.write_bytes(b"mine")
    with pytest.raises(UserError, match="not made from"):
        read(pt, pt.parent)
    assert other.read_bytes() == b"mine"


class Harmful:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return (os.system, (f"touch {self.marker}",))


def test_code_in_the_pickle_is_refused_and_not_run(tmp_path):
    marker = tmp_path / "marker"
    path = save(tmp_path, [nested(0), {"json": Harmful(marker)}])
    with pytest.raises(UserError) as error:
        convert_cc_neg(path, tmp_path / "out.parquet")
    assert "system" in error.value.got and "weights_only" not in str(error.value)
    assert not marker.exists() and not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("thing", [pathlib.PurePosixPath("x"), np.float64(3), np.zeros(2)])
def test_anything_but_plain_values_is_refused(tmp_path, thing):
    path = save(tmp_path, [{"json": thing}])
    with pytest.raises(UserError, match="it asks for"):
        convert_cc_neg(path, tmp_path / "out.parquet")


@pytest.mark.parametrize(
    "content, named",
    [
        ({"image_paths": ["a"]}, "image_paths"),
        (["a"], "list"),
        ({"image_paths": ["a"], "annotations": []}, "1 paths, 0 annotations"),
        ({"image_paths": ["a"], "annotations": [{"json": {"caption": "x"}}]}, "entry 0"),
        ({"image_paths": ["a"], "annotations": [{"json": "x", "sop_data": 3}]}, "entry 0"),
        ({"image_paths": [7], "annotations": [nested(0)]}, "entry 0"),
    ],
)
def test_other_contents(tmp_path, content, named):
    torch.save(content, tmp_path / "x.pt")
    with pytest.raises(UserError) as error:
        convert_cc_neg(tmp_path / "x.pt", tmp_path / "out.parquet")
    assert named in error.value.got


def test_no_torch_file_and_no_file(tmp_path):
    (tmp_path / "x.pt").write_bytes(b"hello")
    with pytest.raises(UserError, match="no torch file"):
        convert_cc_neg(tmp_path / "x.pt", tmp_path / "out.parquet")
    with pytest.raises(UserError, match="no file"):
        convert_cc_neg(tmp_path / "y.pt", tmp_path / "out.parquet")
    with pytest.raises(UserError, match="no file"):
        read(tmp_path / "y.pt", tmp_path)


def test_target_that_cannot_be_written(tmp_path):
    path = save(tmp_path, [nested(0)])
    with pytest.raises(UserError, match="cannot be written"):
        convert_cc_neg(path, tmp_path / "none" / "out.parquet")
