"""Few-shot draws by the protocol's words, base and novel classes, and split files that cannot be trusted."""

import json
import math
import random
from pathlib import Path

import pytest

from litotes.data.few_shot import (
    Labelled,
    Split,
    few_shot,
    halves,
    is_plain_path,
    of_classes,
    read_split,
    require_sound,
    short_classes,
)
from litotes.errors import UserError

PLAIN = {
    "train": [["a/1.jpg", 0, "cat"], ["b/1.jpg", 1, "dog"]],
    "val": [],
    "test": [["a/2.jpg", 0, "cat"], ["b/2.jpg", 1, "dog"]],
}


def data_set(classes=5, train=30, val=8, test=3, seed=0):
    """A split of ``classes`` classes in a shuffled order, whose labels are not those of their names."""
    parts = []
    for part, count in zip(("train", "val", "test"), (train, val, test), strict=True):
        rows = [(f"{part}/{c}_{i}.jpg", 7 * c % 11, f"class_{c}") for c in range(classes) for i in range(count)]
        random.Random(seed).shuffle(rows)
        parts.append([Labelled(*row) for row in rows])
    return Split(*parts)


def drawn_by_the_words(split, shots, seed, group="all"):
    """The protocol, sentence by sentence, with Python's own global generator, as a training script has it."""
    random.seed(seed)
    kept = []
    for part, count in ((split.train, shots), (split.val, min(shots, 4))):
        sampled = []
        for label in dict.fromkeys(row.label for row in part):
            own = [row for row in part if row.label == label]
            sampled += random.sample(own, count) if len(own) >= count else own
        kept.append(sampled)
    order = sorted({row.label for row in kept[0]})
    n_base = math.ceil(len(order) / 2)
    chosen = {"all": order, "base": order[:n_base], "novel": order[n_base:]}[group]
    return tuple([row for row in part if row.label in chosen] for part in (*kept, split.test))


def groups_of(split):
    return dict(zip(("base", "novel"), halves({item.label for item in split.train}), strict=True))


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("shots", [1, 3, 16, 30])
def test_a_draw_is_that_of_the_protocols_words(shots, seed):
    split = data_set()
    drawn = few_shot(split, shots, seed)
    assert tuple(drawn) == drawn_by_the_words(split, shots, seed)
    assert len(drawn.train) == 5 * shots and len(drawn.val) == 5 * min(shots, 4) and drawn.test == split.test
    assert few_shot(split, shots, seed + 1).train != drawn.train


@pytest.mark.parametrize("group", ["base", "novel"])
def test_the_group_of_an_all_class_draw_is_the_groups_own_draw(group):
    split = data_set()
    found = of_classes(few_shot(split, 16, 1), groups_of(split)[group])
    assert tuple(found) == drawn_by_the_words(split, 16, 1, group)
    # Had the classes been parted first, other pictures would have been drawn of those that come after the first.
    parted_first = few_shot(of_classes(split, groups_of(split)[group]), 16, 1)
    assert parted_first.train != found.train and parted_first.test == found.test


def test_a_short_class_gives_all_it_has_and_takes_no_random_number():
    split = data_set(train=16)
    short = next(iter(split.train)).label
    fewer = split._replace(train=[row for row in split.train if row.label != short] +
                           [row for row in split.train if row.label == short][:5])  # fmt: skip
    fewer.train.sort(key=lambda row: row.label != short)  # the short class comes first
    others = [row for row in fewer.train if row.label != short]
    drawn = few_shot(fewer, 16, 1)
    assert drawn.train[:5] == fewer.train[:5]
    assert drawn.train[5:] == few_shot(fewer._replace(train=others), 16, 1).train
    names = {row.label: row.name for row in split.train}
    assert short_classes(drawn.train, names, 16) == {names[short]: 5}
    assert tuple(drawn) == drawn_by_the_words(fewer, 16, 1)


def test_the_draw_is_that_of_any_python():
    items = [Labelled(f"{i}.jpg", i % 2, "ab"[i % 2]) for i in range(40)]
    drawn = few_shot(Split(items, items, items), 3, 1)
    assert [row.path for row in drawn.train] == ["8.jpg", "36.jpg", "4.jpg", "17.jpg", "7.jpg", "31.jpg"]


def test_without_a_val_of_its_own_it_is_drawn_from_what_is_left_and_train_stays():
    split = data_set(train=18)
    with_val, without = few_shot(split, 16, 2), few_shot(split._replace(val=[]), 16, 2)
    assert without.train == with_val.train
    assert not set(without.val) & set(without.train) and set(without.val) <= set(split.train)
    assert len(without.val) == 5 * 2  # two of 18 are left


@pytest.mark.parametrize(("n", "base"), [(1, 1), (2, 1), (37, 19), (47, 24), (100, 50), (397, 199)])
def test_base_is_the_first_half_rounded_up_of_the_labels_in_order(n, base):
    labels = {3 * i for i in range(n)}
    assert halves(labels) == ([3 * i for i in range(base)], [3 * i for i in range(base, n)])


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "split_zhou_Small.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def test_a_split_is_read_to_the_letter(file):
    found = read_split(file(PLAIN | {"train": [["a/1.jpg", 0, "Großer_Kater"], ["b//1.jpg", 1, " dog"]],
                                     "test": [["a/2.jpg", 0, "Großer_Kater"], ["b/2.jpg", 1, " dog"]]}))  # fmt: skip
    assert found.train == [("a/1.jpg", 0, "Großer_Kater"), ("b//1.jpg", 1, " dog")]
    assert found.val == []


def changed(part, entry, row=0):
    rows = [list(one) for one in PLAIN[part]]
    rows[row] = entry
    return PLAIN | {part: rows}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "a list in place of an object"),
        (PLAIN | {"tests": []}, "did you mean 'test'?"),
        ({"train": PLAIN["train"], "test": PLAIN["test"]}, "without val"),
        (PLAIN | {"test": []}, "test is empty"),
        (PLAIN | {"train": {}}, "train is an object"),
        ('{"train": NaN, "val": [], "test": []}', "NaN is not JSON"),
        ('{"train": [], "train": [], "val": [], "test": []}', "stands twice"),
        (changed("train", ["a/1.jpg", 0]), "entry 1 of train is a list of 2"),
        (changed("train", "a/1.jpg"), "entry 1 of train is a text"),
        (changed("test", ["b/2.jpg", "1", "dog"], 1), "entry 2 of test is the label '1', which is no whole number"),
        (changed("train", ["a/1.jpg", 0.0, "cat"]), "the label 0.0"),
        (changed("train", ["a/1.jpg", True, "cat"]), "the label True"),
        (changed("train", ["a/1.jpg", -1, "cat"]), "the label -1"),
        (changed("train", [7, 0, "cat"]), "whose path or name is no text"),
        (changed("train", ["/a/1.jpg", 0, "cat"]), "the path '/a/1.jpg'"),
        (changed("train", ["a/../../1.jpg", 0, "cat"]), "the path 'a/../../1.jpg'"),
        (changed("train", ["a\\1.jpg", 0, "cat"]), "forward slashes"),
        (changed("train", ["", 0, "cat"]), "the path ''"),
        (changed("train", ["a/1.jpg", 0, " "]), "of the class ' '"),
        (changed("train", ["a/1.jpg", 0, "c\nat"]), "line breaks"),
        (changed("train", ["a\0.jpg", 0, "cat"]), "control characters"),
        (changed("test", ["a/2.jpg", 0, "tomcat"]), "test, entry 1: label 0 is 'tomcat', and was 'cat' before"),
        (changed("train", ["b/1.jpg", 1, "cat"], 1), "labels 0 and 1 are both called 'cat' in prompts"),
        (changed("test", ["./a//1.jpg", 0, "cat"]), "./a//1.jpg is entry 1 of train"),
        (changed("train", ["b/1.jpg", 0, "cat"], 1), "classes of test stand not in train"),
        (PLAIN | {"test": PLAIN["test"][:1]}, "classes of train stand not in test"),
        (PLAIN | {"val": [["c/1.jpg", 2, "emu"]]}, "1 of the classes of val stand not in train"),
        ({part: rows[:1] for part, rows in PLAIN.items()}, "one class, 'cat'"),
    ],
)  # fmt: skip
def test_a_split_that_cannot_be_trusted_is_refused_with_its_place(content, told, file):
    with pytest.raises(UserError) as refused:
        read_split(file(content))
    assert told in str(refused.value) and "split_zhou_Small.json" in str(refused.value)


def test_names_that_prompts_write_alike_are_refused(file):
    with pytest.raises(UserError, match="both called 'big cat' in prompts"):
        read_split(file({"train": [["1.jpg", 0, "big_cat"], ["2.jpg", 1, "big cat "]], "val": [], "test": []} |
                        {"test": [["3.jpg", 0, "big_cat"], ["4.jpg", 1, "big cat "]]}))  # fmt: skip


def test_equal_paths_in_two_folders_are_two_pictures():
    items = [Labelled("1.jpg", 0, "cat"), Labelled("2.jpg", 1, "dog")]
    where = dict.fromkeys(("train", "val", "test"), Path("here"))
    require_sound(Split(items, [], items), where, {"train": "/one", "test": "/two"})
    with pytest.raises(UserError, match="each picture once"):
        require_sound(Split(items, [], items), where, {"train": "/one", "test": "/one"})


@pytest.mark.parametrize(
    ("path", "plain"),
    [("a/b.jpg", True), ("..a/b..jpg", True), ("./b.jpg", True), ("..", False), (".", False), ("a/..", False),
     ("C:/a.jpg", False), ("//host/a.jpg", False)],
)  # fmt: skip
def test_a_plain_path_stays_where_it_starts(path, plain):
    assert is_plain_path(path) is plain
