"""ImageNet's flat folder by the lists that people have of it: every one gives the same questions."""

import json

import pytest
from PIL import Image

from litotes.data.label_list import read_label_list
from litotes.errors import UserError
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.files import class_table, suites_from_files

IDS = {
    "n01440764": "tench", "n01443537": "goldfish", "n02930766": "cab, taxi", "n04008634": "missile",
    "n03773504": "missile",
}  # fmt: skip
NAMES = sorted(IDS)  # the order of ImageNet's classes is that of their ids
ASKED = ["tench", "goldfish", "cab", "missile", "missile"]
OF_PICTURE = ["n04008634", "n01440764", "n02930766", "n01440764", "n03773504", "n01443537"]
PICTURES = [f"ILSVRC2012_val_{i:08d}.JPEG" for i in range(1, 7)]
BOX = " 85 1 499 272"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "val").mkdir()
    for i, name in enumerate(PICTURES):
        Image.new("RGB", (4, 4), (i, 0, 0)).save(tmp_path / "val" / name)
    (tmp_path / "names.txt").write_text("".join(f"{one} {IDS[one]}\n" for one in NAMES))
    return tmp_path


def numbers():
    return [NAMES.index(one) for one in OF_PICTURE]


def listed(mark, labels):
    return "".join(f"{name}{mark}{label}\n" for name, label in zip(PICTURES, labels, strict=True))


LISTS = {
    "val.txt": listed(" ", numbers()),
    "tabs.txt": listed("\t", OF_PICTURE),
    "blanks.txt": "\n" + listed("   ", OF_PICTURE).replace("\n", "\r\n"),
    "commas.csv": listed(",", OF_PICTURE),
    "LOC_val_solution.csv": "ImageId,PredictionString\n"
    + "".join(f"{name.removesuffix('.JPEG')},{one}{BOX} {one}{BOX} \n" for name, one in zip(PICTURES, OF_PICTURE)),  # noqa: B905
    "table.csv": "filepath,label\n" + listed(",", OF_PICTURE),
    "numbered.csv": "label,image\n" + "".join(f"{n},{name}\n" for n, name in zip(numbers(), PICTURES, strict=True)),
}


def config(folder, file, **more):
    given = {"classification": folder / file, "classnames": folder / "names.txt", "images_root": folder / "val"}
    return EvaluateConfig(model=folder, **(given | more))


@pytest.mark.parametrize("name", LISTS)
def test_every_list_of_a_flat_folder_asks_the_same(name, folder):
    (folder / name).write_text(LISTS[name], newline="")
    (suite,) = suites_from_files(config(folder, name))
    assert [suite.pictures.name(i) for i in range(6)] == PICTURES
    assert [suite.classnames[label] for label in suite.labels] == [IDS[one].split(",")[0] for one in OF_PICTURE]
    assert suite.labels == numbers() and suite.classnames == ASKED
    assert suite.notes == [
        "1 of 5 classes has several names in names.txt, parted by commas; the first alone is asked for, such as “cab” "
        "of “cab, taxi”"
    ]
    assert suite.templates == ("a photo of a {c}.",)


def test_ids_that_are_there_are_the_classes_and_of_numbers_all_names(folder):
    """As for folders: a part of ImageNet by id asks among its own classes (ImageNet-A), by number among all."""
    (folder / "ids.txt").write_text(f"{PICTURES[0]} n04008634\n{PICTURES[1]} n01440764\n")
    found = class_table(folder / "ids.txt", folder / "names.txt")
    assert (found.labels, found.classnames) == ([1, 0], ["tench", "missile"])
    (folder / "numbers.txt").write_text(f"{PICTURES[0]} 4\n{PICTURES[1]} 0\n")
    found = class_table(folder / "numbers.txt", folder / "names.txt")
    assert (found.labels, len(found.classnames)) == ([4, 0], 5)


def test_words_as_labels_need_no_names_and_no_header_where_a_mark_parts_them(folder):
    (folder / "words.csv").write_text(f"{PICTURES[0]},tabby cat\na folder/b, c.png,dog\n")
    found = class_table(folder / "words.csv")
    assert (found.paths, found.classnames) == ([PICTURES[0], "a folder/b, c.png"], ["tabby cat", "dog"])


LOOKS = ".*expected: a picture and its label, a WordNet id or a number from 0, in each line .*columns filepath,label"
MIXED = (
    f"labels of 2 kinds: a WordNet id in row 2 .{PICTURES[1]}: 'n01440764'., a number in row 1 .{PICTURES[0]}: '1'.\n"
    "expected: all WordNet ids, all numbers from 0, or all names"
)


@pytest.mark.parametrize(
    ("text", "names", "message"),
    {
        "ids without names": (LISTS["tabs.txt"], None,
                              "labels named by WordNet ids .n01440764, n01443537, n02930766, ....*--classnames"),
        "a number above the names": (listed(" ", [0, 1, 2, 3, 4, 5]), "names.txt",
                                     "1 label without a name: 5.*the 5 classes of .*names.txt; numbers count from 0"),
        "an id without a name": (listed(" ", [*OF_PICTURE[:5], "n99999999"]), "names.txt", "without a name: n99999999"),
        "the devkit's ground truth": ("490\n361\n", "names.txt", "labels alone, such as '490'.*put the name of"),
        "labels of pictures in order": ("n01751748\nn09193705\n", "names.txt", "labels alone, such as 'n01751748'"),
        "a line without a label": (LISTS["val.txt"] + "ILSVRC2012_val_00000009.JPEG\n", "names.txt", "line 7: 'ILSV"),
        "a word for a label": (LISTS["val.txt"] + "b.JPEG cat\n", "names.txt", "line 7: 'b.JPEG cat'.*filepath,class"),
        "no picture": (LISTS["val.txt"] + "b.mp4 3\n", "names.txt", "line 7: 'b.mp4 3'"),
        "a picture twice": (LISTS["val.txt"] + f"{PICTURES[0]} 1\n", "names.txt", "JPEG in row 1 .'4'. and in row 7"),
        "ids and numbers": (listed(" ", [1, *OF_PICTURE[1:]]), "names.txt", MIXED),
        "ids and numbers without names": (listed(" ", [1, *OF_PICTURE[1:]]), None, MIXED),
        "ids and numbers in a table": ("filepath,label\n" + listed(",", [1, *OF_PICTURE[1:]]), "names.txt", MIXED),
        "ids and words": (listed(",", ["cat", *OF_PICTURE[1:]]), None,
                          "a WordNet id in row 2 .*, words in row 1 .*00001.JPEG: 'cat'"),
        "numbers and words with names": (listed(",", [0, 1, 2, 3, 4, "cat"]), "names.txt",
                                         "a number in row 1 .*, words in row 6 .*00006.JPEG: 'cat'"),
        "a first line without a label": ("\n" + PICTURES[5] + "\n" + LISTS["val.txt"], "names.txt",
                                         f"line 2: '{PICTURES[5]}', a picture without a label{LOOKS}"),
        "a first line with an empty label": (f"{PICTURES[5]},\n", "names.txt", f"line 1: '{PICTURES[5]},'{LOOKS}"),
        "a header that nobody knows": ("picture class_id\n" + LISTS["val.txt"], "names.txt", f"class_id.{LOOKS}"),
        "columns that nobody knows": ("filepath,wnid\n" + listed(",", OF_PICTURE), "names.txt", f"wnid.{LOOKS}"),
        "no column of pictures": ("file,label\n" + listed(",", OF_PICTURE), "names.txt", f"file, label.{LOOKS}"),
    }.values(),
)  # fmt: skip
def test_a_faulty_list_is_refused_with_its_place(text, names, message, folder):
    (folder / "val.txt").write_text(text)
    with pytest.raises(UserError, match=f"(?s){message}") as refused:
        suites_from_files(config(folder, "val.txt", classnames=folder / names if names else None))
    assert "leave" not in refused.value.do and "caption, title" not in str(refused.value)


def test_labels_of_a_table_may_have_blanks_around_them_and_words_may_be_digits(folder):
    (folder / "t.csv").write_text("filepath,label\n" + listed(", ", OF_PICTURE))
    assert class_table(folder / "t.csv", folder / "names.txt").classnames == ASKED
    (folder / "signs.csv").write_text("filepath,classname\n" + listed(",", [*"ab01", 0, 1]))
    assert class_table(folder / "signs.csv").classnames == ["a", "b", "0", "1"]


def test_names_by_place_are_cut_to_the_first_only_where_they_have_ids(folder):
    (folder / "val.txt").write_text(LISTS["val.txt"])
    (folder / "plain.txt").write_text("".join(f"{IDS[one]}\n" for one in NAMES))
    found = class_table(folder / "val.txt", folder / "plain.txt")
    assert (found.classnames, found.notes) == ([IDS[one] for one in NAMES], [])
    several = {"0": ["n00000001", " , a flower , other"], "1": ["n00000002", "b, c"], "2": ["n00000003", "d"]}
    (folder / "index.json").write_text(json.dumps(several))
    (folder / "two.txt").write_text(listed(" ", [0, 1, 0, 1, 0, 1]))
    found = class_table(folder / "two.txt", folder / "index.json")
    assert found.classnames == ["a flower", "b", "d"]
    assert found.notes == [
        "2 of 3 classes have several names in index.json, parted by commas; the first alone is asked for, such as "
        "“a flower” of “ , a flower , other”"
    ]


def test_a_class_without_a_usable_picture_is_told_and_stays_an_answer(folder):
    (folder / "val.txt").write_text(LISTS["val.txt"])
    (folder / "val" / PICTURES[5]).write_bytes(b"")
    (suite,) = suites_from_files(config(folder, "val.txt", broken_pictures="skip"))
    assert (suite.classnames, 1 in suite.labels) == (ASKED, False)
    told = "1 class without a picture that can be used (goldfish) stays an answer, always a wrong one"
    assert suite.notes[1:] == [told]


def test_rows_of_kaggles_list_without_a_label_are_told(folder):
    (folder / "LOC_val_solution.csv").write_text(f"ImageId,PredictionString\na,n01440764{BOX}\nb, \n")
    with pytest.raises(UserError, match="ImageId or PredictionString is empty in rows 2"):
        read_label_list(folder / "LOC_val_solution.csv")


def test_a_flat_folder_is_told_what_it_needs_and_a_lost_picture_its_name(folder):
    with pytest.raises(UserError, match=r"(?s)without folders, only files.*val.txt, as --classif.*--images-root .*val"):
        suites_from_files(config(folder, "val", images_root=None))
    (folder / "val.txt").write_text(LISTS["val.txt"])
    (folder / "val" / PICTURES[2]).unlink()
    with pytest.raises(UserError, match=rf"1 of 6 pictures are missing below .*{PICTURES[2]}"):
        suites_from_files(config(folder, "val.txt"))


@pytest.mark.parametrize("text", ["filepath,classname\na.jpg,cat\n", "image,caption\na.jpg,a cat\n"])
def test_a_table_with_a_header_is_no_list(text, folder):
    (folder / "t.csv").write_text(text)
    assert read_label_list(folder / "t.csv") is None
    with pytest.raises(UserError, match="says itself what they are called"):
        class_table(folder / "t.csv", folder / "names.txt")
