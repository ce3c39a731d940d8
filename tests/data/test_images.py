import hashlib

import numpy as np
import pytest
from PIL import Image

from broken_files import BROKEN, FAIL_WHEN_DECODED, GOOD, write_all
from litotes.data.images import ArrayPictures, ImageFiles, Subset, reason_of
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


def test_every_damaged_file_is_refused_by_name_and_reason(tmp_path):
    pictures = ImageFiles(write_all(tmp_path), tmp_path)
    refused = {}
    for i in range(len(pictures)):
        try:
            assert pictures[i].getbbox()
        except UserError as error:
            assert str(tmp_path / pictures.name(i)) in error.got
            refused[pictures.name(i)] = reason_of(error, pictures.path(i))
    assert tuple(refused) == BROKEN
    assert {pictures.name(i) for i in range(len(pictures))} - set(refused) == set(GOOD)
    assert all(len(reason) > 5 and "/" not in reason for reason in refused.values())
    for name in FAIL_WHEN_DECODED:
        Image.open(tmp_path / name).close()
    assert refused["folder.jpg"] == "is a directory"
    assert refused["error_page.jpg"] == refused["zero.jpg"] == "it is in no picture format that Pillow knows"


@pytest.mark.parametrize("error", [RuntimeError("Failed to decode image"), MemoryError(), SyntaxError("broken PNG")])
def test_whatever_a_decoder_says_is_told_as_a_users_mistake(root, monkeypatch, error):
    def load(self):
        raise error

    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", load)
    with pytest.raises(UserError, match=f"b.png cannot be read as a picture: {str(error) or 'MemoryError'}"):
        ImageFiles(["b.png"], root)[0]


def test_a_file_that_may_not_be_read_has_no_digest(root, monkeypatch):
    def no_right(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("litotes.data.images.sha256_of_file", no_right)
    with pytest.raises(UserError, match=r"b\.png cannot be read as a picture: permission denied"):
        ImageFiles(["b.png"], root).digest(0)


def test_decompression_bomb_is_refused(root, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 5)
    with pytest.raises(UserError, match=r"b\.png"):
        ImageFiles(["b.png"], root)[0]


def test_some_files_may_be_missing_if_that_is_said(root):
    pictures = ImageFiles(["b.png", "gone.png", "gone.png"], root, allow_missing=1)
    with pytest.raises(UserError, match=r"gone\.png cannot be read as a picture: no such file"):
        pictures[1]
    with pytest.raises(UserError, match="2 of 3 pictures are missing") as error:
        ImageFiles(["b.png", "gone.png", "lost.png"], root, allow_missing=1)
    assert "--allow-missing 2" in error.value.do


def test_the_file_of_a_picture(root):
    pictures = ImageFiles(["b.png", "cats/a.png"], root)
    assert pictures.path(1) == root / "cats/a.png"
    assert Subset(pictures, [1]).path(0) == root / "cats/a.png"
    assert Subset(ArrayPictures(noise(1), ["x"]), [0]).path(0) is None


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
