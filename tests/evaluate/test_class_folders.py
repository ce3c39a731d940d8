import json
import pickle

import numpy as np
import pytest
import torch
from evaluate_fakes import FakeEncoder
from PIL import Image

from litotes.data.cifar import read_cifar_test
from litotes.errors import UserError
from litotes.evaluate.class_folders import class_folders, read_class_names
from litotes.evaluate.classification import readable
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.files import suites_from_files

NAMES = [
    "tench", "african_elephant", "AnnualCrop", "Persian_cat", "missile", "missile", "sunglasses", "sunglasses",
    "ice cream", "T-shirt", "jack-o'-lantern", "crane (bird)",
]  # fmt: skip
PROMPT_NAMES = [
    "tench", "african elephant", "AnnualCrop", "Persian cat", "missile", "missile", "sunglasses", "sunglasses",
    "ice cream", "T-shirt", "jack-o'-lantern", "crane (bird)",
]  # fmt: skip


def folders(root, names):
    for name in names:
        (root / name).mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(root / name / "img.png")
    return root


def write(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def numbered(tmp_path):
    return folders(tmp_path / "v2", [str(i) for i in range(12)])


def suite_of(root, names):
    config = EvaluateConfig(model=root, classification=root, classnames=names)
    return suites_from_files(config)[0]


@pytest.mark.parametrize("line", ["{name}", "{i} {name}"])
def test_a_folder_named_by_a_number_takes_it_as_its_label(numbered, tmp_path, line):
    names = write(tmp_path / "names.txt", [line.format(i=i, name=name) for i, name in enumerate(NAMES)])
    suite = suite_of(numbered, names)
    by_picture = {suite.pictures.name(i): label for i, label in enumerate(suite.labels)}
    assert by_picture == {f"{i}/img.png": i for i in range(12)}
    assert [readable(name) for name in suite.classnames] == PROMPT_NAMES
    texts = {f"a photo of a {name}.": row for name, row in zip(PROMPT_NAMES, torch.eye(12), strict=True)}
    images = {f"{i}/img.png": texts[f"a photo of a {PROMPT_NAMES[i]}."] for i in range(12)}
    result = suite.run(FakeEncoder(images, texts))
    assert result["equal_names"] == {"missile": [4, 5], "sunglasses": [6, 7]}
    assert result["acc1"] == pytest.approx(8 / 12)  # equal names tie, and a tie is a miss
    told = {f"{name} #{i}" if NAMES.count(name) > 1 else name: 1.0 * (NAMES.count(name) == 1)
            for i, name in enumerate(NAMES)}  # fmt: skip
    assert result["per_class"] == told


def test_numbers_are_labels_also_where_some_are_missing(tmp_path):
    root = folders(tmp_path / "some", ["10", "2"])
    found = class_folders(root, write(tmp_path / "names.txt", NAMES))
    assert (found.paths, found.labels, found.classnames) == (["2/img.png", "10/img.png"], [2, 10], NAMES)


def test_a_short_list_and_an_empty_folder_are_refused_by_name(numbered, tmp_path):
    with pytest.raises(UserError, match=r"1 class folder without a name: 11\nexpected: each among the 11 classes"):
        suite_of(numbered, write(tmp_path / "names.txt", NAMES[:11]))
    (numbered / "readme_folder").mkdir()
    with pytest.raises(UserError, match="readme_folder without a picture"):
        suite_of(numbered, None)


def test_ids_name_the_folders_that_are_there(tmp_path):
    root = folders(tmp_path / "a", ["n01498041", "n01440764"])
    listed = {"0": ["n01440764", "tench"], "1": ["n01443537", "goldfish"], "2": ["n01498041", "stingray"]}
    (tmp_path / "index.json").write_text(json.dumps(listed))
    lines = write(tmp_path / "names.txt", [" ".join(pair) for pair in listed.values()])
    for names in (tmp_path / "index.json", lines):
        found = class_folders(root, names)
        assert (found.labels, found.classnames) == ([0, 1], ["tench", "stingray"])
        assert found.paths == ["n01440764/img.png", "n01498041/img.png"]
    folders(root, ["n00000001"])
    with pytest.raises(UserError, match="without a name: n00000001"):
        class_folders(root, lines)


def test_files_of_no_class_are_told_and_hidden_ones_are_not_there(numbered, tmp_path):
    for name in ("README.txt", "beside.png", "3/deep/Z.JPEG", "3/deep/raw.heic", "3/.hidden.png", ".git/x.png"):
        (numbered / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(numbered / name, format="PNG")
    (tmp_path / "elsewhere").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "elsewhere" / "linked.png")
    (numbered / "12").symlink_to(tmp_path / "elsewhere")
    suite = suite_of(numbered, write(tmp_path / "names.txt", [*NAMES, "link"]))
    names = [suite.pictures.name(i) for i in range(len(suite.pictures))]
    expected = {f"{i}/img.png" for i in range(12)} | {"3/deep/Z.JPEG", "12/linked.png"}
    assert (set(names), len(names)) == (expected, len(expected))
    assert suite.notes == [
        "files of no class, or without a picture's ending, left out: 3 (3/deep/raw.heic, README.txt, beside.png)"
    ]


def test_ids_are_no_names_for_prompts(tmp_path):
    root = folders(tmp_path / "a", ["n01498041", "n01440764"])
    with pytest.raises(UserError, match=r"WordNet ids \(n01440764, n01498041\), without names"):
        suite_of(root, None)
    folders(root, ["cat"])
    with pytest.raises(UserError, match=r"with 2 class folders named by WordNet ids \(n01440764, n01498041\)"):
        suite_of(root, None)


def test_of_several_names_of_an_id_the_first_is_asked_for_with_a_note(tmp_path):
    root = folders(tmp_path / "a", ["n01498041", "n01440764"])
    lines = ["n01440764 tench, Tinca tinca", "n01443537 goldfish, Carassius auratus", "n01498041 stingray"]
    suite = suite_of(root, write(tmp_path / "LOC_synset_mapping.txt", lines))
    assert suite.classnames == ["tench", "stingray"]
    assert suite.notes == [
        "1 of 2 classes has several names in LOC_synset_mapping.txt, parted by commas; the first alone is asked for, "
        "such as “tench” of “tench, Tinca tinca”"
    ]


def test_the_folders_own_names_in_another_order_are_refused(tmp_path):
    root = folders(tmp_path / "a", ["hot_dog", "cat", "ox"])
    with pytest.raises(UserError, match=r"in another order: 'cat' would be asked for as 'Ox'") as refused:
        suite_of(root, write(tmp_path / "names.txt", ["Ox", "hot dog ", "cat"]))
    assert refused.value.expected.endswith("which is that of the alphabet and pairs them: cat, hot_dog, ox")
    assert refused.value.do.startswith("leave out --classnames")
    for names in (["Cat", "hot dog", "ox"], ["tomcat", "sausage", "bull"], ["ox", "cat", "sausage"], ["ox"] * 3):
        assert suite_of(root, write(tmp_path / "names.txt", names)).classnames == names


@pytest.mark.parametrize("column", ["classname", "class", "label", "caption"])
def test_a_tables_captions_are_asked_as_they_are_and_its_names_in_a_prompt(tmp_path, column):
    root = folders(tmp_path / "a", ["x", "y"])
    table = write(tmp_path / "a.csv", [f"filepath,{column}", "x/img.png,a_b", "y/img.png,c"])
    suite = suites_from_files(EvaluateConfig(model=root, classification=table, images_root=root))[0]
    assert (suite.labels, suite.classnames) == ([0, 1], ["a_b", "c"])
    assert suite.templates == (("{c}",) if column == "caption" else ("a photo of a {c}.",))
    both = write(tmp_path / "both.csv", ["filepath,label,caption", "x/img.png,1,a cat", "y/img.png,2,a dog"])
    suite = suites_from_files(EvaluateConfig(model=root, classification=both, images_root=root))[0]
    assert (suite.classnames, suite.templates) == (["a cat", "a dog"], ("{c}",))


def test_plain_names_go_by_the_alphabet_and_must_be_as_many(tmp_path):
    root = folders(tmp_path / "a", ["n2", "n10"])
    assert class_folders(root, write(tmp_path / "two.txt", ["x y", "z"])).classnames == ["x y", "z"]
    assert class_folders(root, tmp_path / "two.txt").paths == ["n10/img.png", "n2/img.png"]
    with pytest.raises(UserError, match="3 names for 2 class folders in"):
        class_folders(root, write(tmp_path / "three.txt", ["x", "y", "z"]))
    with pytest.raises(UserError, match="1 name for 2 class folders in"):
        class_folders(root, write(tmp_path / "one.txt", ["x"]))


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("none.txt", None, "no file"),
        ("gap.txt", "a\n\nb\n", "line 2 is empty"),
        ("empty.txt", "\n", "blank lines only"),
        ("gap.json", '{"0": ["n1", "a"], "2": ["n2", "b"]}', "neither a list"),
        ("number.json", "[1, 2]", "neither a list"),
        ("nothing.json", "[]", "neither a list"),
    ],
)
def test_unsound_lists_of_names_are_refused(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message):
        read_class_names(tmp_path / name)


def cifar(folder, labels, before, file, names_file, count):
    """Records of random pixels [n, 32, 32, 3], written plane by plane."""
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (len(labels), 32, 32, 3), dtype=np.uint8)
    planes = [bytes([*before, label]) + bytes(p.transpose(2, 0, 1).ravel().tolist())
              for label, p in zip(labels, pixels, strict=True)]  # fmt: skip
    (folder / file).write_bytes(b"".join(planes))
    write(folder / names_file, [f"class {i}" for i in range(count)])
    return pixels


@pytest.mark.parametrize(
    "before, file, names_file, count",
    [([], "test_batch.bin", "batches.meta.txt", 10), ([7], "test.bin", "fine_label_names.txt", 100)],
)
def test_cifar_is_read_from_its_binary_version(tmp_path, before, file, names_file, count):
    labels = [3, 0, count - 1]
    pixels = cifar(tmp_path / "cifar", labels, before, file, names_file, count)
    found = read_cifar_test(tmp_path / "cifar")
    assert found.labels == labels
    assert found.classnames == [f"class {i}" for i in range(count)]
    assert all((np.asarray(found.pictures[i]) == pixels[i]).all() for i in range(3))
    suite = suite_of(tmp_path / "cifar", None)
    assert (suite.labels, suite.templates) == (labels, ("a photo of a {c}.",))
    with pytest.raises(UserError, match="--classnames with"):
        suite_of(tmp_path / "cifar", tmp_path / "names.txt")
    (tmp_path / "cifar" / file).write_bytes(b"x" * 100)
    with pytest.raises(UserError, match="100 bytes"):
        read_cifar_test(tmp_path / "cifar")
    (tmp_path / "cifar" / file).write_bytes(bytes([*before, count]) + bytes(3072))
    with pytest.raises(UserError, match=f"class {count}"):
        read_cifar_test(tmp_path / "cifar")
    (tmp_path / "cifar" / names_file).unlink()
    with pytest.raises(UserError, match=f"without {names_file}"):
        read_cifar_test(tmp_path / "cifar")


class _Runs:
    def __reduce__(self):
        return (open, ("ran.marker", "w"))


def test_cifars_pickles_are_never_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("test_batch", "batches.meta"):
        (tmp_path / name).write_bytes(pickle.dumps(_Runs()))
    with pytest.raises(UserError, match="binary version"):
        suite_of(tmp_path, None)
    assert not (tmp_path / "ran.marker").exists()


def test_names_belong_to_class_folders(tmp_path):
    with pytest.raises(UserError, match="--classnames without --classification"):
        EvaluateConfig(model=tmp_path, retrieval=tmp_path, classnames=tmp_path)
