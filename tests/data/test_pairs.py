"""Pictures with any number of captions: reading, splitting by content, and which pairs count as right."""

import numpy as np
import pytest
from PIL import Image

from litotes.data.images import ArrayPictures
from litotes.data.pairs import (
    CaptionedPictures,
    KnownPairs,
    codes,
    read_pairs,
    read_placed_pairs,
    require_disjoint,
    split_by_picture,
)
from litotes.data.screening import Screening
from litotes.errors import UserError


def flat(colours, names=None):
    """Pictures of one colour each: equal colours are equal content."""
    pixels = np.array([[[[c, c, c]] * 2] * 2 for c in colours], dtype=np.uint8)
    return ArrayPictures(pixels, names or [f"{i}.png" for i in range(len(colours))])


def written(folder, table, pictures=("a.png", "b.png")):
    for i, name in enumerate(pictures):
        Image.new("RGB", (4, 4), (i * 50, 0, 0)).save(folder / name)
    (folder / "table.csv").write_text(table, encoding="utf-8")
    return folder / "table.csv"


def test_a_table_with_a_caption_a_row_keeps_its_order_and_its_repeats(tmp_path):
    data = read_pairs(written(tmp_path, "filepath,caption\nb.png,one\na.png,two\nb.png,three\n"))
    assert [data.pictures.name(i) for i in range(len(data.pictures))] == ["b.png", "a.png"]
    assert data.captions == ("one", "two", "three")
    assert data.owners.tolist() == [0, 1, 0]


def test_lists_of_captions_are_read_as_negbench_writes_them(tmp_path):
    data = read_pairs(written(tmp_path, "filepath,captions\na.png,\"['one', 'two']\"\nb.png,['three']\n"))
    assert (data.captions, data.owners.tolist()) == (("one", "two", "three"), [0, 0, 1])


def test_captions_keep_their_places_where_others_are_left_out(tmp_path):
    table = written(tmp_path, "filepath,captions\nc.png,\"['one', 'two']\"\na.png,['three']\nb.png,['four']\n")
    data, places = read_placed_pairs(table, screening=Screening(allow_missing=1))
    assert (data.captions, data.owners.tolist(), places) == (("three", "four"), [0, 1], [2, 3])


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("filepath,caption\na.png,one\nb.png, \n", "1 captions without words, the 2. of the table"),
        ("filepath,captions\na.png,['one']\nb.png,[]\n", "a list of at least one string in every row"),
        ("filepath,caption\na.png,one\n,two\n", "filepath is empty in rows 2"),
        ("filepath,caption\na.png,one\nc.png,two\n", "1 of 2 pictures are missing"),
        ("filepath,words\na.png,one\n", "caption"),
    ],
)
def test_captions_without_pictures_and_pictures_without_captions_are_refused(table, told, tmp_path):
    with pytest.raises(UserError) as refusal:
        read_pairs(written(tmp_path, table))
    assert told in str(refusal.value)


def test_a_split_parts_pictures_by_content_and_takes_all_their_captions():
    colours = [0, 1, 2, 3, 0, 5, 6, 7, 8, 9]  # the fifth picture is the first again
    owners = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 4])
    data = CaptionedPictures(flat(colours), tuple(f"c{i}" for i in range(12)), owners)
    sides = [split_by_picture(data, 0.3, seed, 1000) for seed in range(8)]
    for training, held in sides:
        require_disjoint(training, held)
        assert sorted((*training.captions, *held.captions)) == sorted(data.captions)
        assert len(set(held.contents().tolist())) == 3
        for part in (training, held):
            for caption, owner in zip(part.captions, part.owners.tolist(), strict=True):
                assert part.pictures.name(owner) == data.pictures.name(int(owners[int(caption[1:])]))
    assert len({side.fingerprint() for _, side in sides}) > 1
    assert sides[0][1].fingerprint() == split_by_picture(data, 0.3, 0, 1000)[1].fingerprint()
    assert len(split_by_picture(data, 0.9, 0, 2)[1].pictures) in (2, 3)  # at most two contents


@pytest.mark.parametrize("fraction", [0.0, 1.0, 0.01])
def test_a_split_that_leaves_a_side_empty_is_refused(fraction):
    data = CaptionedPictures(flat([0, 1, 1]), ("a", "b", "c"), np.array([0, 1, 2]))
    with pytest.raises(UserError, match="of 2 different pictures"):
        split_by_picture(data, fraction, 0, 1000)


def test_a_picture_on_both_sides_is_refused_by_content():
    training = CaptionedPictures(flat([0, 1]), ("a", "b"), np.array([0, 1]))
    held = CaptionedPictures(flat([2, 1], ["x.png", "y.png"]), ("c", "d"), np.array([0, 1]))
    with pytest.raises(UserError, match=r"1 picture to validate on that is trained on too: y\.png"):
        require_disjoint(training, held)


def test_what_is_right_in_a_batch_is_what_any_row_of_the_table_says():
    # picture: A A B C B; caption: x y x z w
    known = KnownPairs(codes("AABCB"), codes("xyxzw"))
    pairs = {("A", "x"), ("A", "y"), ("B", "x"), ("C", "z"), ("B", "w")}
    for rows in ([0, 1, 2, 3, 4], [4, 0], [1, 2], [3, 3]):
        wanted = [[("AABCB"[i], "xyxzw"[j]) in pairs for j in rows] for i in rows]
        assert known.matrix(rows).tolist() == wanted
    # rows 2 (B, x) and 0 (A, x): the caption of the one is right for the picture of the other, outside any diagonal
    assert known.matrix([2, 0]).all()
    asked = known.between(np.array([2, 0]), np.array([0, 1, 2, 3]))  # C and A; x, y, z, w
    assert asked.tolist() == [[("CA"[i], "xyzw"[j]) in pairs for j in range(4)] for i in range(2)]
    known.require_wrong_pair()
    assert not KnownPairs(codes("AAB"), codes("xyx")).matrix([1, 2])[1, 0]


@pytest.mark.parametrize(("pictures", "texts"), [("AAA", "xyx"), ("ABAB", "xxyy"), ("AB", "xx")])
def test_a_table_in_which_everything_is_right_tells_nothing_apart(pictures, texts):
    with pytest.raises(UserError, match=rf"{len(pictures)} pairs of which every caption is right for every picture"):
        KnownPairs(codes(pictures), codes(texts)).require_wrong_pair()


def test_the_fingerprint_knows_contents_and_captions_not_names():
    def made(colours, captions, names=None):
        return CaptionedPictures(flat(colours, names), captions, np.arange(len(colours))).fingerprint()

    assert made([0, 1], ("a", "b")) == made([0, 1], ("a", "b"), ["x", "y"])
    assert len({made([0, 1], ("a", "b")), made([1, 0], ("a", "b")), made([0, 1], ("b", "a"))}) == 3
