import hashlib

import numpy as np
import pytest
from PIL import Image

from litotes.data.images import ArrayPictures, ImageFiles, Subset, broken
from litotes.errors import UserError


@pytest.fixture
def root(tmp_path):
    (tmp_path / "cats").mkdir()
    for i, name in enumerate(["cats/a.png", "cats/été #1.png", "b.png"]):
        Image.new("RGB", (4, 3), (i, 0, 0)).save(tmp_path / name)
    return tmp_path


def noise(n):
    return np.random.default_rng(0).integers(0, 256, (n, 5, 4, 3), dtype=np.uint8)


def test_files_in_the_order_of_the_table_with_repeats(root):
    paths = ["b.png", "cats/été #1.png", "b.png", "cats/a.png"]
    pictures = ImageFiles(paths, root)
    assert len(pictures) == 4
    assert [pictures.name(i) for i in range(4)] == paths
    assert [picture.getpixel((0, 0))[0] for picture in pictures] == [2, 1, 2, 0]
    assert pictures.digest(0) == pictures.digest(2) != pictures.digest(1)
    assert pictures.digest(3) == hashlib.sha256((root / "cats/a.png").read_bytes()).hexdigest()


def test_paths_from_the_current_folder_and_absolute_ones(root, monkeypatch):
    monkeypatch.chdir(root)
    assert ImageFiles(["cats/a.png", str(root / "b.png")])[1].size == (4, 3)
    assert len(ImageFiles([str(root / "b.png")], root)) == 1


def test_the_stored_pixel_format_is_kept(tmp_path):
    Image.new("LA", (2, 2), (9, 8)).save(tmp_path / "a.png")
    assert ImageFiles(["a.png"], tmp_path)[0].mode == "LA"


def test_missing_files_are_all_told_in_one_message(root):
    paths = ["b.png"] + [f"gone/{i}.png" for i in range(12)] + ["gone/0.png"]
    with pytest.raises(UserError) as error:
        ImageFiles(paths, root)
    assert "12 of 13" in error.value.got and "gone/9.png" in error.value.got
    assert "gone/10.png" not in error.value.got and str(root) in error.value.got


def test_a_prefix_from_another_machine(root):
    with pytest.raises(UserError) as error:
        ImageFiles(["data/coco/cats/a.png"], root)
    assert "'data/coco/'" in error.value.do
    assert ImageFiles(["data/coco/cats/a.png", "b.png"], root, "data/coco/").name(0) == "cats/a.png"


@pytest.mark.parametrize("path", ["../b.png", "cats/../../b.png", "/etc/passwd", "", ".", "a\0.png"])
def test_nothing_outside_the_root_is_touched(root, path):
    with pytest.raises(UserError, match=r"outside the image root|image path"):
        ImageFiles([path], root / "cats")


def test_root_with_a_like_named_neighbour(root):
    (root / "cats2").mkdir()
    Image.new("RGB", (1, 1)).save(root / "cats2/a.png")
    with pytest.raises(UserError, match="outside"):
        ImageFiles(["../cats2/a.png"], root / "cats")


def test_linked_folders_stay_usable(root, tmp_path_factory):
    link = tmp_path_factory.mktemp("elsewhere") / "data"
    link.symlink_to(root, target_is_directory=True)
    assert ImageFiles(["cats/a.png"], link)[0].size == (4, 3)


def test_a_root_that_is_no_folder(root):
    with pytest.raises(UserError, match="image root"):
        ImageFiles(["a.png"], root / "none")


def damaged(root):
    """Name -> the file's bytes, for every kind of damage that a run has to survive."""
    Image.fromarray(noise(1)[0].repeat(8, 0).repeat(8, 1)).save(root / "whole.png")
    Image.fromarray(noise(1)[0].repeat(8, 0).repeat(8, 1)).save(root / "whole.jpg")
    png, jpg = (root / "whole.png").read_bytes(), (root / "whole.jpg").read_bytes()
    at = png.index(b"IDAT") + 10
    return {
        "cut.png": png[: len(png) // 2],
        "bad_crc.png": png[:at] + bytes([png[at] ^ 0xFF]) + png[at + 1 :],
        "cut_half.jpg": jpg[: len(jpg) // 2],
        "zero.jpg": b"",
        "text.jpg": b"no picture at all",
        "page.jpg": b"<html><body>404</body></html>",
    }


def test_every_damaged_file_is_refused_by_name_and_reason(root):
    files = damaged(root)
    for name, content in files.items():
        (root / name).write_bytes(content)
    pictures = ImageFiles(["whole.png", *files, "whole.jpg", "zero.jpg"], root)
    for i, name in enumerate(files, start=1):
        with pytest.raises(UserError) as error:
            pictures[i]
        assert name in error.value.got and len(error.value.got.split(": ", 1)[1]) > 5
    assert [name for name, _ in broken(pictures)] == list(files)


def test_decompression_bomb_is_refused(root, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 5)
    with pytest.raises(UserError, match=r"b\.png"):
        ImageFiles(["b.png"], root)[0]


def test_a_folder_named_like_a_picture_and_a_broken_link_are_missing(root):
    (root / "folder.jpg").mkdir()
    (root / "link.jpg").symlink_to(root / "nowhere.jpg")
    with pytest.raises(UserError, match="2 of 2"):
        ImageFiles(["folder.jpg", "link.jpg"], root)


def test_arrays(root):
    pixels = noise(3)
    pictures = ArrayPictures(pixels, ["x", "y", "z"])
    assert len(pictures) == 3 and pictures.name(1) == "y"
    assert np.array_equal(np.asarray(pictures[2]), pixels[2])
    twin = ArrayPictures(pixels[::-1], ["x", "y", "z"])
    assert pictures.digest(0) == twin.digest(2) != pictures.digest(1)
    assert len(list(pictures)) == 3
    with pytest.raises(ValueError, match="names"):
        ArrayPictures(pixels, ["x"])


def test_digest_of_an_array_depends_on_the_shape():
    flat = np.zeros((1, 2, 8, 3), dtype=np.uint8)
    assert ArrayPictures(flat, ["a"]).digest(0) != ArrayPictures(flat.reshape(1, 8, 2, 3), ["a"]).digest(0)


def test_subset_of_a_subset():
    pixels = noise(5)
    pictures = ArrayPictures(pixels, list("abcde"))
    inner = Subset(Subset(pictures, [4, 2, 0, 2]), [3, 0])
    assert [inner.name(i) for i in range(len(inner))] == ["c", "e"]
    assert inner.digest(1) == pictures.digest(4)
    assert np.array_equal(np.asarray(inner[0]), pixels[2])
    assert len(list(inner)) == 2 and len(Subset(pictures, [])) == 0


@pytest.mark.parametrize("indices", [[0, 5], [-1]])
def test_subset_outside(indices):
    with pytest.raises(IndexError):
        Subset(ArrayPictures(noise(5), list("abcde")), indices)
