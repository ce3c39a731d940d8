import json
import os
from pathlib import Path

import pytest
from PIL import Image

from litotes.data.caption_folder import picture_files, read_caption_folder
from litotes.errors import UserError
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.files import suites_from_files

IMAGES = [
    "cats/001.jpg", "dogs/001.jpg", "dogs/001.png", "dogs/002.JPG", "dogs/900_no_caption.png", "dogs/deep/001.jpeg",
    "dots/v1.0.1.png", "dots/v1.0.png", "with space/été #1.png",
]  # fmt: skip
TEXTS = {
    "cats/001.txt": "a cat and no dog", "dogs/002.txt": "a dog indoors", "dogs/deep/001.txt": "a puppy",
    "with space/été #1.txt": "a summer field", "dots/v1.0.txt": "a chart", "dots/v1.0.1.txt": "another chart",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    for path in IMAGES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(tmp_path / path, "PNG")
    for path, text in TEXTS.items():
        (tmp_path / path).write_text(text + "\n", encoding="utf-8")
    (tmp_path / "cats" / ".hidden.jpg").touch()
    (tmp_path / "notes.md").write_text("nothing")
    return tmp_path


def pairs(read):
    return {read.image_paths[i]: text for i, text in zip(read.image_of_caption, read.captions, strict=True)}


def test_pictures_of_like_names_keep_their_own_captions(folder):
    read = read_caption_folder(folder)
    assert list(read.image_paths) == picture_files(folder) == IMAGES
    assert pairs(read) == {
        "cats/001.jpg": "a cat and no dog", "dogs/002.JPG": "a dog indoors", "dogs/deep/001.jpeg": "a puppy",
        "with space/été #1.png": "a summer field", "dots/v1.0.png": "a chart", "dots/v1.0.1.png": "another chart",
    }  # fmt: skip


def test_a_text_of_two_pictures_and_one_of_none_are_named_together(folder):
    (folder / "dogs" / "001.txt").write_text("a dog and no cat")
    (folder / "dogs" / "999.txt").write_text("nobody")
    with pytest.raises(UserError) as error:
        read_caption_folder(folder)
    assert "dogs/001.txt belongs to dogs/001.jpg or dogs/001.png" in error.value.got
    assert "dogs/999.txt has no picture" in error.value.got


def test_several_captions_are_lines(folder):
    (folder / "cats" / "001.txt").write_text("one\n\n two \n", encoding="utf-8-sig")
    config = EvaluateConfig(model=folder, retrieval=folder, ks=(1,))
    (suite,) = suites_from_files(config)
    assert list(suite.captions)[:2] == ["one", " two "]
    assert (len(suite.pictures), len(suite.captions)) == (9, 7)
    assert suite.pictures[0].size == (4, 4)


@pytest.mark.parametrize("content, message", [(b" \n", "no caption"), (b"caf\xe9", "not UTF-8")])
def test_unsound_texts_are_refused(folder, content, message):
    (folder / "cats" / "001.txt").write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_caption_folder(folder)


def test_a_root_that_nothing_would_use_is_refused(folder):
    config = EvaluateConfig(model=folder, retrieval=folder, ks=(1,), images_root=folder)
    with pytest.raises(UserError, match="--images-root with folders of pictures alone"):
        suites_from_files(config)


def test_a_folder_without_texts_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"no \.txt file"):
        read_caption_folder(tmp_path)


CASE = Path(os.environ.get("LITOTES_SHARED_CASES", "/nonexistent")) / "11_same_name_files"


@pytest.mark.skipif(not CASE.is_dir(), reason="LITOTES_SHARED_CASES names no folder of cases")
def test_shared_same_names():
    wanted = json.loads((CASE / "expected.json").read_text())
    assert picture_files(CASE) == wanted["images_in_order"]
    with pytest.raises(UserError) as error:
        read_caption_folder(CASE)
    assert "dogs/001.txt belongs to dogs/001.jpg or dogs/001.png" in error.value.got
    assert wanted["caption_without_image"] in error.value.got
