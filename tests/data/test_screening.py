import os

import numpy as np
import pytest
from PIL import Image

from broken_files import BROKEN, FAIL_WHEN_DECODED, GOOD, write_all
from litotes.backbones.preprocess import Preprocess
from litotes.data.images import ArrayPictures, ImageFiles
from litotes.data.screening import Screening, headline, left_out_notes
from litotes.errors import UserError

SEEN_FROM_OUTSIDE = {"broken_link.jpg", "folder.jpg", "zero.jpg"}


@pytest.fixture
def folder(tmp_path):
    write_all(tmp_path / "pictures")
    return tmp_path / "pictures"


def names(pictures):
    return [pictures.name(i) for i in range(len(pictures))]


@pytest.mark.parametrize("workers", [0, 2])
def test_exactly_the_whole_pictures_are_left_in_their_order_and_all_others_listed(folder, workers):
    screening = Screening("skip")
    files = ImageFiles(sorted((*GOOD, *BROKEN)), folder)
    rows = range(len(files))
    assert set(names(files)) - set(names(screening.select("table", files, rows).pictures)) == SEEN_FROM_OUTSIDE
    seen = []
    assert screening.look(Preprocess(32).square, workers, lambda *progress: seen.append(progress))
    assert seen[-1] == ("pictures checked", 9, 9)
    left = screening.select("table", files, rows)
    assert names(left.pictures) == list(GOOD)
    assert left.of(names(files)) == list(GOOD)
    assert left.image_of_row == [0, 1, 2]
    record = screening.record()
    assert record["n_skipped"] == 9
    assert [one["picture"] for one in record["left_out"]["broken"]] == list(BROKEN)
    reasons = {one["picture"]: one["reason"] for one in record["left_out"]["broken"]}
    assert reasons["folder.jpg"] == "a folder"
    assert reasons["broken_link.jpg"] == "a link that leads nowhere"
    assert reasons["zero.jpg"] == "an empty file"
    assert "no picture format" in reasons["text_in_disguise.jpg"]
    assert all("truncated" in reasons[name] or "broken" in reasons[name] for name in FAIL_WHEN_DECODED)
    assert record["left_out"]["rows"] == {"table": 9}
    assert headline(record) == "without 9 of 12 pictures"
    told = " ".join(left_out_notes(record))
    assert "9 of 12 pictures are left out, and with them these rows: 9 of table." in told
    assert all(name in told for name in BROKEN)


def test_stop_names_the_first_one_and_says_how_many_more_are_seen_without_decoding(folder):
    screening = Screening()
    files = ImageFiles(sorted((*GOOD, *BROKEN)), folder)
    with pytest.raises(UserError, match=r"broken_link\.jpg cannot be read as a picture: a link that leads") as error:
        screening.select("table", files, range(len(files)))
    # those that show only when they are decoded are not looked for, so that no number is told for all
    assert "; at least 2 more cannot be read either" in error.value.got
    assert "list all that are broken and leave out their rows (--broken-pictures skip)" in error.value.do
    assert "--broken-pictures skip" in error.value.do
    sound = ImageFiles(["cut.png", *GOOD], folder)
    assert len(Screening().select("table", sound, range(4)).rows) == 4  # found when it is decoded
    assert not screening.look(Preprocess(32).square)


def test_rows_go_with_their_picture_and_a_picture_counts_once(folder):
    files = ImageFiles(["ok_b.png", "cut.png", "ok_a.jpg"], folder)
    image_of_row = [2, 1, 0, 1, 2]
    screening = Screening("skip")
    screening.select("captions", files, image_of_row)
    screening.select("questions", ImageFiles(["../pictures/cut.png", "ok_a.jpg"], folder), [0, 1])
    screening.look(Preprocess(32).square)
    left = screening.select("captions", files, image_of_row)
    assert (names(left.pictures), left.rows, left.image_of_row) == (["ok_b.png", "ok_a.jpg"], [0, 2, 4], [1, 0, 1])
    screening.select("questions", ImageFiles(["../pictures/cut.png", "ok_a.jpg"], folder), [0, 1])
    record = screening.record()
    assert record["n_skipped"] == 1
    assert record["left_out"]["rows"] == {"captions": 2, "questions": 1}
    assert record["left_out"]["of"] == 3


def test_missing_pictures_are_counted_over_all_tables(folder):
    def select(screening, table, *paths):
        files = ImageFiles(paths, folder, allow_missing=screening.allow_missing)
        return screening.select(table, files, range(len(paths)))

    screening = Screening(allow_missing=2)
    assert names(select(screening, "a", "gone.png", *GOOD).pictures) == list(GOOD)
    assert select(screening, "b", "gone.png", "ok_a.jpg", "lost.png").rows == [1]
    assert screening.record()["left_out"] == {
        "of": 5, "missing": ["gone.png", "lost.png"], "broken": [], "rows": {"a": 1, "b": 2}
    }  # fmt: skip
    assert "Missing: gone.png, lost.png." in left_out_notes(screening.record())
    with pytest.raises(UserError, match=r"3 of 6 pictures are missing.*third\.png"):
        select(screening, "c", "third.png", "ok_a.jpg")


def test_nothing_left_is_a_mistake(folder):
    with pytest.raises(UserError, match=r"table: none of 2 rows .*zero\.jpg \(an empty file\)"):
        Screening("skip").select("table", ImageFiles(["zero.jpg", "folder.jpg"], folder), [0, 1])


def test_what_the_model_refuses_is_broken_too(folder, monkeypatch):
    Image.new("RGB", (4000, 1)).save(folder / "strip.png")
    monkeypatch.setattr("litotes.backbones.square.MAX_INTERMEDIATE_PIXELS", 10_000)
    screening = Screening("skip")
    screening.select("table", ImageFiles(["strip.png", "ok_a.jpg"], folder), [0, 1])
    assert screening.look(Preprocess(32).square)
    (one,) = screening.record()["left_out"]["broken"]
    assert one == {"picture": "strip.png", "reason": "a picture of 4000 x 1 pixels, which resizes to 32 x 128000"}


def test_a_bomb_is_refused_by_name_and_the_others_go_on(folder, monkeypatch):
    Image.new("1", (500, 500)).save(folder / "bomb.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100_000)
    screening = Screening("skip")
    screening.select("table", ImageFiles(["bomb.png", "ok_a.jpg"], folder), [0, 1])
    screening.look(Preprocess(32).square)
    (one,) = screening.record()["left_out"]["broken"]
    assert one["picture"] == "bomb.png"
    assert "decompression bomb" in one["reason"]


def test_a_pipe_in_place_of_a_file_does_not_hang_the_run(folder):
    os.mkfifo(folder / "pipe.jpg")
    left = Screening("skip").select("table", ImageFiles(["pipe.jpg", "ok_a.jpg"], folder), [0, 1])
    assert names(left.pictures) == ["ok_a.jpg"]


def test_pictures_in_memory_are_whole():
    pictures = ArrayPictures(np.zeros((2, 4, 4, 3), dtype=np.uint8), ["a", "b"])
    screening = Screening("skip")
    assert screening.select("table", pictures, [1, 0]).pictures is pictures
    assert not screening.look(Preprocess(32).square)
    assert headline(screening.record()) == "" and left_out_notes(screening.record()) == []
