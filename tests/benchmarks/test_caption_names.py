"""The comparison of names from captions with lists, by a table that was counted by hand."""

import importlib.util
import os
from pathlib import Path

import pytest

from litotes.data.nouns import names_from_captions
from litotes.data.tables import read_table

PATH = Path(__file__).parents[2] / "benchmarks" / "caption_names.py"
DATA = Path(os.environ.get("LITOTES_SHARED_DATA", "/nonexistent"))


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("caption_names", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_shares_by_hand(benchmark):
    found = [("dog", "tree"), ("dog",), ("cat",), ()]
    listed = [("dog", "christmas tree"), ("dog", "cat"), ("dog",), ("owl",)]
    # Judged are dog, tree, cat. Absent by the captions: cat | tree cat | dog tree | dog tree cat, of which there are
    # the cat of the second picture and the dog of the third. There by the lists: 5 of 12. Of the listed dog, christmas
    # tree, dog, cat, dog (the owl is no name), three are mentioned; of the 4 mentioned, the cat is not listed. Of
    # the two denials of a dog one is right, of the three of a cat two.
    assert benchmark.shares(found, listed) == (3, 6 / 8, 7 / 12, 3 / 5, 3 / 4, "dog", 1 / 2)


def test_rows_and_lists_of_a_picture_are_pooled(benchmark, tmp_path, capsys, monkeypatch):
    path = tmp_path / "t.csv"
    rows = [
        "1.png,a dog and a cat,dog|cat", "1.png,the dog,dog", "2.png,a cat,dog|cat", "3.png,a dog,dog",
        "4.png,x,cat", "5.png,the cat; the dog,\"['cat', 'dog']\"",
    ]  # fmt: skip
    path.write_text("\n".join(["filepath,caption,objects", *rows]))
    table = read_table(path)
    assert benchmark.pooled(table, "caption")[0] == ["a dog and a cat", "the dog"]
    assert benchmark.pooled(table, "objects")[4] == ["cat", "dog"]
    monkeypatch.setattr("sys.argv", ["caption_names.py", str(path)])
    benchmark.main()
    assert capsys.readouterr().out == (
        "t.csv: 2 names, 1.20 a picture; of 5 pictures 1 without a name, 2 with one. 2 names judged: denials 50.0% "
        "right (by chance 20.0%; of cat 50.0%), mentioned 75.0%, listed 100.0%\n"
    )


@pytest.mark.skipif(not DATA.is_dir(), reason="LITOTES_SHARED_DATA names no folder of data")
@pytest.mark.parametrize(
    ("name", "pictures", "denials", "mentioned", "listed"),
    [
        ("stamps/quadruplets_train.csv", 2000, 0.991, 0.65, 1.0),
        ("negbench/COCO_val_retrieval.csv", 5000, 0.98, 0.59, 0.85),
    ],
)
def test_names_on_real_captions(name, pictures, denials, mentioned, listed, benchmark):
    table = read_table(DATA / name)
    found = names_from_captions(benchmark.pooled(table, "captions", "caption"))
    got = benchmark.shares(found, benchmark.pooled(table, "objects", "positive_objects"))
    assert len(found) == pictures
    assert got.denials > max(denials, got.chance)
    assert got.mentioned > mentioned
    assert got.listed >= listed
