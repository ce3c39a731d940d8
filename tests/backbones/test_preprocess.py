import json

import numpy as np
import pytest
import torch
from PIL import Image

from litotes.backbones.preprocess import CLIP_MEAN, CLIP_STD, Preprocess
from litotes.errors import UserError


def columns(width, height):
    """A picture whose red tells the column and whose green tells the row."""
    x, y = np.meshgrid(np.arange(width) % 256, np.arange(height) % 256)
    return Image.fromarray(np.stack([x, y, np.zeros_like(x)], axis=-1).astype(np.uint8))


def raw(transform, picture):
    """The 8-bit values behind the normalised result."""
    mean, std = torch.tensor(CLIP_MEAN).view(3, 1, 1), torch.tensor(CLIP_STD).view(3, 1, 1)
    return ((transform(picture) * std + mean) * 255).round().to(torch.int64)


@pytest.mark.parametrize("extra, left", enumerate([0, 0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6, 6]))
def test_crop_offset_rounds_half_to_even(extra, left):
    assert raw(Preprocess(16), columns(16 + extra, 16))[0, 0].tolist() == list(range(left, left + 16))
    assert raw(Preprocess(16), columns(16, 16 + extra))[1, :, 0].tolist() == list(range(left, left + 16))


@pytest.mark.parametrize(
    "width, height, box",
    [
        (640, 427, (56, 0, 280, 224)),  # longer side 335: floor would say 55
        (427, 640, (0, 56, 224, 280)),
        (500, 375, (37, 0, 261, 224)),  # int(224 * 500 / 375) = 298
        (375, 224, (76, 0, 300, 224)),  # 75.5 -> 76, and no resize
    ],
)
def test_equals_the_reference_order_exactly(width, height, box):
    generator = np.random.default_rng(3)
    picture = Image.fromarray(generator.integers(0, 256, (height, width, 3), dtype=np.uint8))
    long = int(224 * max(width, height) / min(width, height))
    resized = picture.resize((long, 224) if width > height else (224, long), Image.Resampling.BICUBIC)
    square = np.asarray(resized.crop(box), dtype=np.float32) / np.float32(255)
    wanted = (square - np.float32(CLIP_MEAN)) / np.float32(CLIP_STD)
    assert Preprocess()(picture).permute(1, 2, 0).equal(torch.from_numpy(wanted))


def test_conversion_comes_after_the_crop():
    # With alpha, resizing first mixes colours that converting first would have left apart.
    generator = np.random.default_rng(0)
    picture = Image.fromarray(generator.integers(0, 256, (40, 40, 4), dtype=np.uint8), "RGBA")
    late = picture.resize((16, 16), Image.Resampling.BICUBIC).convert("RGB")
    early = picture.convert("RGB").resize((16, 16), Image.Resampling.BICUBIC)
    got = raw(Preprocess(16), picture).permute(1, 2, 0)
    assert got.tolist() == np.asarray(late).tolist()
    assert got.tolist() != np.asarray(early).tolist()


@pytest.mark.parametrize("size", [(1, 1), (1, 3), (3, 1), (3, 3), (1, 400), (400, 1)])
def test_tiny_and_narrow_red_pictures(size):
    out = Preprocess()(Image.new("RGB", size, (255, 0, 0)))
    assert out.shape == (3, 224, 224) and out.dtype == torch.float32
    wanted = torch.tensor([1.930336, -1.752097, -1.480220]).view(3, 1, 1).expand_as(out)
    assert torch.allclose(out, wanted, atol=1e-5, rtol=0)


def test_a_white_picture_of_one_bit():
    wanted = torch.tensor([1.930336, 2.074884, 2.145897]).view(3, 1, 1)
    assert (Preprocess()(Image.new("1", (100, 95), 1)) - wanted).abs().max() < 1e-5


@pytest.mark.parametrize("size", [(2, 20000), (20000, 2)])
def test_long_strips_are_refused_before_they_are_made(size):
    with pytest.raises(UserError) as error:
        Preprocess()(Image.new("RGB", size))
    assert "2240000" in str(error.value) and f"{size[0]} x {size[1]}" in str(error.value)


def test_strip_under_the_limit_is_kept_at_a_small_size():
    assert Preprocess(8)(Image.new("L", (1, 9000), 255)).shape == (3, 8, 8)


@pytest.mark.filterwarnings("ignore:a picture of more than 8 bits")
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "YCbCr", "I;16", "I", "F"])
def test_every_pillow_mode_gives_finite_numbers(mode):
    assert Preprocess(8)(Image.new(mode, (11, 9))).isfinite().all()


def test_round_trip_of_the_configuration(tmp_path):
    transform = Preprocess(96, mean=(0.5, 0.4, 0.3), std=(0.1, 0.2, 0.3))
    transform.save(tmp_path / "new")
    assert Preprocess.from_config(tmp_path / "new") == transform


def test_result_owns_its_memory_and_leaves_the_picture_alone():
    picture = Image.new("RGB", (8, 8), (10, 20, 30))
    first = Preprocess(8)(picture)
    first.zero_()
    assert picture.getpixel((0, 0)) == (10, 20, 30)
    assert not Preprocess(8)(picture).eq(0).any()


@pytest.mark.parametrize(
    "config",
    [
        {"size": 64, "crop_size": 64},
        {"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}},
        {"size": {"height": 64, "width": 64}, "crop_size": 64},
        {"size": 64},
        {"size": 64, "do_convert_rgb": True, "feature_extractor_type": "CLIPFeatureExtractor", "resample": 3},
    ],
)
def test_sizes_as_published_files_write_them(tmp_path, config):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
    assert Preprocess.from_config(tmp_path) == Preprocess(64)


@pytest.mark.parametrize(
    "config, named",
    [
        ({"size": 64, "crop_size": 32}, "crop_size 32"),
        ({"size": {"height": 64, "width": 32}}, "size"),
        ({"size": {"longest_edge": 64}}, "longest_edge"),
        ({"size": "64"}, "'64'"),
        ({"size": 0}, "size 0"),
        ({"size": True}, "True"),
        ({"resample": 2}, "resample = 2"),
        ({"do_center_crop": False}, "do_center_crop"),
        ({"rescale_factor": 1}, "rescale_factor"),
        ({"image_mean": [0.5]}, "image_mean"),
        ({"image_std": [0.5, 0.5, 0]}, "std"),
        ({"preprocess_mode": "white"}, "white"),
        ([1], "list"),
    ],
)
def test_other_preparations_are_refused(tmp_path, config, named):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(config))
    with pytest.raises(UserError) as error:
        Preprocess.from_config(tmp_path)
    assert named in str(error.value)


def test_missing_and_broken_files(tmp_path):
    with pytest.raises(UserError, match="no file"):
        Preprocess.from_config(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        Preprocess.from_config(tmp_path)
