"""PCME++'s way to read a picture: squashed without smoothing, against plain loops; its file, what it leaves alone."""

import json
import math

import numpy as np
import pytest
import torch
from PIL import Image

from litotes.backbones.preprocess import CLIP_MEAN, CLIP_STD, Preprocess, pcmepp
from litotes.backbones.squash import IMAGENET_MEAN, IMAGENET_STD, random_crop, squashed
from litotes.errors import UserError


def noise(width, height, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def between(values, size, i):
    """The value at output place i of an axis squashed to ``size``: plain loops over lists."""
    at = min(max((i + 0.5) * len(values) / size - 0.5, 0.0), len(values) - 1.0)
    left = math.floor(at)
    right = min(left + 1, len(values) - 1)
    return [a + (at - left) * (b - a) for a, b in zip(values[left], values[right], strict=True)]


def reference(picture, size):
    rows = np.asarray(picture).tolist()
    columns = [[between(row, size, i) for i in range(size)] for row in rows]
    flat = [[x for pixel in row for x in pixel] for row in columns]
    return torch.tensor([between(flat, size, i) for i in range(size)]).view(size, size, 3).permute(2, 0, 1)


@pytest.mark.parametrize("size", [(64, 48), (13, 40), (7, 5), (16, 16), (1, 9), (1, 1), (33, 16)])
def test_squashing_is_that_of_plain_loops(size):
    picture = noise(*size)
    assert torch.allclose(squashed(picture, 16), reference(picture, 16), atol=2e-4)


def test_it_is_not_pillows_smoothed_filter_and_keeps_no_aspect():
    picture = noise(96, 64)
    smoothed = np.asarray(picture.resize((16, 16), Image.Resampling.BILINEAR), dtype=np.float32)
    assert np.abs(squashed(picture, 16).permute(1, 2, 0).numpy() - smoothed).mean() > 20
    stripes = Image.fromarray(np.repeat(np.arange(0, 256, 8, dtype=np.uint8)[None, :, None], 8, 0).repeat(3, 2))
    left_to_right = squashed(stripes, 8)[0, 0]
    assert (left_to_right[0], left_to_right[-1]) == (12.0, 236.0)  # between columns 1 and 2, and 29 and 30


def test_the_preset_has_imagenets_numbers_and_no_crop():
    preset, picture = pcmepp(16), noise(40, 20)
    assert (preset.size, preset.mode) == (16, "squash")
    assert pcmepp().size == 224
    mean, std = (torch.tensor(x).view(3, 1, 1) for x in (IMAGENET_MEAN, IMAGENET_STD))
    assert (IMAGENET_MEAN, IMAGENET_STD) == ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    assert torch.allclose(preset(picture), (reference(picture, 16) / 255 - mean) / std, atol=1e-5)
    grey = Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8))
    assert torch.equal(preset(grey), preset(grey.convert("RGB")))


def test_a_long_strip_needs_no_large_picture_between():
    with pytest.raises(UserError, match="resizes to"):
        Preprocess(224)(Image.new("RGB", (2, 4000)))
    assert pcmepp(224)(Image.new("RGB", (2, 4000))).shape == (3, 224, 224)


def test_the_preset_is_kept_in_its_file_and_others_files_stay_as_they_were(tmp_path):
    pcmepp(32).save(tmp_path)
    assert Preprocess.from_config(tmp_path) == pcmepp(32)
    values = json.loads((tmp_path / "preprocessor_config.json").read_text())
    assert values["do_center_crop"] is False
    assert values["resample"] == 2
    assert values["size"] == {"height": 32, "width": 32}
    clip = Preprocess(32)
    assert clip.to_dict() == {
        "image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": 32}, "resample": 3,
        "do_center_crop": True, "crop_size": {"height": 32, "width": 32}, "do_rescale": True,
        "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": list(CLIP_MEAN), "image_std": list(CLIP_STD),
        "do_convert_rgb": True, "preprocess_mode": "paper",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"do_center_crop": True}, "do_center_crop"),
        ({"resample": 3}, "resample"),
        ({"preprocess_mode": "paper"}, "do_center_crop"),
        ({"preprocess_mode": ["squash"]}, "mode"),
    ],
)
def test_a_file_that_asks_for_both_ways_is_refused(change, word, tmp_path):
    pcmepp(32).save(tmp_path)
    path = tmp_path / "preprocessor_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(UserError, match=word):
        Preprocess.from_config(tmp_path)


def test_a_crop_is_a_part_of_the_picture():
    picture = noise(20, 10)
    part = random_crop(picture, np.random.default_rng(3))
    whole = np.asarray(picture)
    height, width = np.asarray(part).shape[:2]
    places = [
        (y, x) for y in range(11 - height) for x in range(21 - width)
        if (whole[y : y + height, x : x + width] == np.asarray(part)).all()
    ]  # fmt: skip
    assert len(places) == 1
    assert 6 <= height < 10
    assert 12 <= width < 20
