import json
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from litotes.data.images import ArrayPictures
from litotes.data.quadruplets import Quadruplets, from_table, template_captions
from litotes.data.templates import TEMPLATES, fill
from litotes.errors import UserError

HEADER = "filepath,caption,negated_caption"


@pytest.fixture
def folder(tmp_path):
    for name in "abc":
        Image.new("RGB", (2, 2)).save(tmp_path / f"{name}.png")
    return tmp_path


def table(folder, text, name="t.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def numbered(n):
    pictures = ArrayPictures(np.zeros((n, 1, 1, 3), dtype=np.uint8), [str(i) for i in range(n)])
    texts = [tuple(f"{letter}{i}" for i in range(n)) for letter in "pqn"]
    return Quadruplets(pictures, *texts, tuple((f"o{i}",) for i in range(n)))


def test_from_a_table(folder):
    path = table(folder, HEADER + ",objects\na.png,A dog.,no dog,dog| red ball ||dog\nb.png,A cat,no cat,\n")
    quadruplets = from_table(path)
    assert len(quadruplets) == len(quadruplets.pictures) == 2
    assert quadruplets.captions == ("A dog.", "A cat") and quadruplets.negatives == ("no dog", "no cat")
    assert quadruplets.objects == (("dog", "red ball"), ())
    assert [quadruplets.pictures.name(i) for i in range(2)] == ["a.png", "b.png"]
    assert all("{" not in text and "dog" in text for text in quadruplets.negated_positives[:1])


def test_objects_are_optional_and_may_be_a_json_list(folder):
    assert from_table(table(folder, HEADER + "\na.png,x,y\n")).objects is None
    record = {"filepath": "a.png", "caption": "x", "negated_caption": "y", "objects": ["a cup", "tree"]}
    path = table(folder, json.dumps(record), "t.jsonl")
    assert from_table(path).objects == (("a cup", "tree"),)


def test_given_negated_positives_win_and_blanks_are_filled(folder):
    path = table(folder, HEADER + ",negated_positive\na.png,A dog,y,It isn't no dog\nb.png,A cat,y, \n")
    own, made = from_table(path, seed=5).negated_positives
    assert own == "It isn't no dog"
    assert made == template_captions(["A dog", "A cat"], 5)[1]


def test_template_depends_on_seed_and_row_only():
    captions = [f"A thing {i}" for i in range(300)]
    first = template_captions(captions, 1)
    assert first == template_captions(captions, 1) != template_captions(captions, 2)
    assert first[:50] == template_captions(captions[:50], 1)
    known = {fill(template, captions[7]) for template in TEMPLATES}
    assert first[7] in known
    starts = Counter(text.split("thing")[0] for text in template_captions(["A thing"] * 2000, 3))
    assert len(starts) >= 20 and max(starts.values()) < 250


def test_choice_is_seeded_and_nested_and_keeps_rows_together():
    whole = numbered(50)
    ten, twenty = whole.choose(10, 3), whole.choose(20, 3)
    assert ten.captions == twenty.captions[:10]
    assert ten.captions == whole.choose(10, 3).captions != whole.choose(10, 4).captions
    assert len(set(twenty.captions)) == 20
    for i in range(10):
        number = ten.captions[i][1:]
        assert (ten.negated_positives[i], ten.negatives[i]) == (f"q{number}", f"n{number}")
        assert ten.objects[i] == (f"o{number}",) and ten.pictures.name(i) == number
    assert sorted(whole.choose(50, 0).captions) == sorted(whole.captions)


@pytest.mark.parametrize("n", [51, 0, -1])
def test_more_than_there_are(n):
    with pytest.raises(UserError, match=r"1 \.\. 50"):
        numbered(50).choose(n, 0)


def test_take_twice_and_without_objects():
    part = numbered(9).take([8, 1, 5]).take([2, 0])
    assert part.captions == ("p5", "p8") and part.pictures.name(0) == "5"
    bare = Quadruplets(part.pictures, part.captions, part.negated_positives, part.negatives)
    assert bare.take([1]).objects is None


def test_unequal_parts():
    whole = numbered(3)
    with pytest.raises(ValueError, match="parts"):
        Quadruplets(whole.pictures, whole.captions, whole.negated_positives, ("n",))


@pytest.mark.parametrize(
    "text, named",
    [
        ("filepath,caption\na.png,x\n", "negated_caption"),
        (HEADER + "\na.png,,y\nb.png,x,y\nc.png, . ,y\n", "2 rows: 1, 3"),
        (HEADER + "\na.png,x,\n", "negated_caption"),
        (HEADER + "\nz.png,x,y\n", "z.png"),
        (HEADER + ',objects\na.png,x,y,"[1, 2]"\n', "row 1"),
        (HEADER + ',objects\na.png,x,y,"onion, marigold"\n', "one name with a comma"),
        (HEADER + ",objects\na.png,x,y,\"['a']\"\n", "row 1"),
    ],
)
def test_refusals(folder, text, named):
    with pytest.raises(UserError) as error:
        from_table(table(folder, text))
    assert named in str(error.value)


def test_root_and_prefix(folder):
    (folder / "tables").mkdir()
    path = table(folder, HEADER + "\n/other/machine/a.png,x,y\n", "tables/t.csv")
    assert from_table(path, folder, strip_prefix="/other/machine/").pictures.name(0) == "a.png"
    with pytest.raises(UserError, match="outside"):
        from_table(path, folder)


def test_a_negated_caption_that_says_the_same_as_a_true_one_is_refused_with_its_row(folder):
    rows = "\na.png,A  dog.,a dog,\nb.png,A cat,no cat,\nc.png,A cat,Not a cat!,not  a cat\n"
    with pytest.raises(UserError, match=r"negated_caption says the same as a true caption in 2 rows: 1, 3"):
        from_table(table(folder, HEADER + ",negated_positive" + rows))
    data = Quadruplets(numbered(3).pictures, ("a", "b", "c"), ("p", "q", "r"), ("A.", "no b", "r"))
    assert data.contradictions() == [0, 2]
