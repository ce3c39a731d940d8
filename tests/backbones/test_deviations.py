"""The named picture deviations, on inputs of the kinds that people reported."""

import io
import json
import os
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageCms

from litotes.backbones.deviations import DEVIATIONS, deviate
from litotes.backbones.preprocess import CLIP_MEAN, CLIP_STD, Preprocess
from litotes.data.images import ImageFiles
from litotes.errors import UserError

# How the stored rows and columns of each orientation come from the upright picture (EXIF 2.3, table of tag 0x0112).
STORED = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: a.swapaxes(0, 1)[::-1],
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: a.swapaxes(0, 1)[:, ::-1],
}


def upright():
    """32 rows of 48 columns, another colour in every corner."""
    x, y = np.meshgrid(np.linspace(0, 235, 48), np.linspace(0, 235, 32))
    return np.stack([x, y, (x + y) / 2], axis=-1).round().astype(np.uint8)


def stored(pixels, form="PNG", **options):
    """The pixels as a file of that form, read again."""
    picture = pixels if isinstance(pixels, Image.Image) else Image.fromarray(np.ascontiguousarray(pixels))
    content = io.BytesIO()
    picture.save(content, form, **options)
    return reopened(content.getvalue())


def reopened(content):
    with Image.open(io.BytesIO(content)) as picture:
        picture.load()
        return picture


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif.tobytes()


def grey_levels(picture, *deviations, size=16):
    """What reaches the model, as values 0 .. 255 [size, size, 3]."""
    out = Preprocess(size, deviations=deviations)(picture)
    assert out.shape == (3, size, size) and out.isfinite().all()
    mean, std = torch.tensor(CLIP_MEAN).view(3, 1, 1), torch.tensor(CLIP_STD).view(3, 1, 1)
    return ((out * std + mean) * 255).permute(1, 2, 0).numpy()


def mean_colour(picture, *deviations):
    return grey_levels(picture, *deviations, size=40).mean(axis=(0, 1))


@pytest.mark.parametrize("orientation", STORED)
def test_exif_turns_every_orientation_upright_and_paper_ignores_it(orientation):
    pixels = STORED[orientation](upright())
    options = {"quality": 95, "subsampling": 0, "exif": turned(orientation)}
    for picture, levels in [(stored(pixels, "JPEG", **options), 3), (stored(pixels, exif=turned(orientation)), 0)]:
        got = np.asarray(deviate(picture, ["exif"])).astype(int)
        assert got.shape == (32, 48, 3) and np.abs(got - upright()).max() <= levels
        assert np.array_equal(np.asarray(deviate(picture, [])), np.asarray(picture))
    assert picture.size == ((32, 48) if orientation >= 5 else (48, 32))


def test_a_tiff_which_pillow_turns_by_itself_is_not_turned_twice():
    picture = stored(STORED[6](upright()), "TIFF", exif=turned(6))
    assert np.array_equal(np.asarray(deviate(picture, ["exif"])), upright())


@pytest.mark.parametrize(
    "exif",
    [
        turned(9),
        turned(0),
        b"Exif\0\0garbage that is no block at all",
        b"Exif\0\0II*\0\x08\0\0\0",
        b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x05\0\0\0\x02\xff\xff\xff\xff",
        b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<HHHI4s", 1, 0x0112, 2, 4, b"six\0"),
    ],
)
@pytest.mark.filterwarnings("ignore:Corrupt EXIF|Truncated|Possibly corrupt:UserWarning")
def test_a_malformed_orientation_counts_as_none(exif):
    picture = stored(upright(), "JPEG", quality=95, exif=exif)
    assert np.array_equal(np.asarray(deviate(picture, ["exif"])), np.asarray(picture))


def ramp(high, dtype):
    """Left to right from 0 to high, 40 x 40."""
    return np.tile(np.linspace(0, high, 40), (40, 1)).astype(dtype)


WIDE = {
    "16-bit PNG": (ramp(65535, np.uint16), "PNG"),
    "16-bit TIFF": (ramp(65535, ">u2"), "TIFF"),
    "32-bit integers": (ramp(65535, np.int32), "TIFF"),
    "32-bit integers up to 255": (ramp(255, np.int32), "TIFF"),
    "floats up to 1": (ramp(1, np.float32), "TIFF"),
    "floats up to 255": (ramp(255, np.float32), "TIFF"),
    "floats up to 65535": (ramp(65535, np.float32), "TIFF"),
}


@pytest.mark.parametrize("kind", WIDE)
def test_16bit_scales_what_the_reference_clips(kind):
    pixels, form = WIDE[kind]
    picture = stored(pixels, form)
    assert picture.mode in ("I;16", "I;16B", "I", "F")
    wanted = np.rint(pixels.astype(np.float64) / pixels.max() * 255)
    got = np.asarray(deviate(picture, ["16bit"]))
    assert got.dtype == np.uint8 and np.abs(got - wanted).max() <= 1
    assert mean_colour(picture, "16bit") == pytest.approx([127.5] * 3, abs=1.5)


def test_a_dark_16_bit_picture_stays_dark():
    assert mean_colour(stored(ramp(65535, np.uint16) // 100), "16bit") == pytest.approx([1] * 3, abs=0.7)


def test_paper_mode_clips_wide_pictures_and_says_so():
    for kind, wanted in [("16-bit PNG", 248.6), ("32-bit integers", 248.6), ("floats up to 1", 0.03)]:
        with pytest.warns(UserWarning, match="16bit"):
            assert mean_colour(stored(*WIDE[kind])) == pytest.approx([wanted] * 3, abs=0.1)


@pytest.mark.parametrize("pixels", [[[0, np.nan]], [[0, np.inf]], [[-1, 0]], [[0, 65536]]])
def test_values_without_a_known_range_are_refused_by_the_name_of_the_file(pixels, tmp_path):
    Image.fromarray(np.array(pixels, dtype=np.float32)).save(tmp_path / "depth.tif")
    picture = ImageFiles(["depth.tif"], tmp_path)[0]
    with pytest.raises(UserError) as error:
        Preprocess(8, deviations=("16bit",))(picture)
    assert "depth.tif" in error.value.got and "mode F" in error.value.got


def flat(mode, colour, palette=None):
    picture = Image.new(mode, (40, 40), colour)
    if palette:
        picture.putpalette(palette)
    return picture


PALETTE = [200, 0, 0, 10, 150, 20]
FRAMES = [Image.new("RGB", (40, 40), colour) for colour in [(200, 0, 0), (0, 200, 0), (0, 0, 200)]]
FLAT = {
    "grey": (flat("L", 100), "PNG", {}, [100] * 3),
    "grey with alpha": (flat("LA", (100, 30)), "PNG", {}, [100] * 3),
    "one bit": (flat("1", 1), "PNG", {}, [255] * 3),
    "transparent red": (flat("RGBA", (255, 0, 0, 0)), "PNG", {}, [255, 0, 0]),
    "palette": (flat("P", 1, PALETTE), "PNG", {}, [10, 150, 20]),
    "palette with byte transparency": (flat("P", 1, PALETTE), "PNG", {"transparency": b"\x00\x80"}, [10, 150, 20]),
    "palette with a transparent colour": (flat("P", 1, PALETTE), "PNG", {"transparency": 0}, [10, 150, 20]),
    "GIF": (flat("P", 1, PALETTE), "GIF", {}, [10, 150, 20]),
    "CMYK": (flat("CMYK", (0, 255, 255, 0)), "JPEG", {}, [255, 0, 0]),
    "frames of a GIF": (FRAMES[0], "GIF", {"save_all": True, "append_images": FRAMES[1:]}, [200, 0, 0]),
    "frames of a PNG": (FRAMES[0], "PNG", {"save_all": True, "append_images": FRAMES[1:]}, [200, 0, 0]),
    "pages of a TIFF": (FRAMES[0], "TIFF", {"save_all": True, "append_images": FRAMES[1:]}, [200, 0, 0]),
    "frames of a WebP": (
        FRAMES[0],
        "WEBP",
        {"save_all": True, "append_images": FRAMES[1:], "lossless": True},
        [200, 0, 0],
    ),
    "garbage for a profile": (flat("RGB", (255, 0, 0)), "PNG", {"icc_profile": b"no profile"}, [255, 0, 0]),
    "an empty profile": (flat("RGB", (255, 0, 0)), "JPEG", {"icc_profile": bytes(200)}, [254, 0, 0]),
}


@pytest.mark.parametrize("kind", FLAT)
def test_every_kind_of_file_keeps_its_colour_with_all_deviations_but_alpha(kind):
    picture, form, options, wanted = FLAT[kind]
    picture = stored(picture, form, **options)
    for deviations in [(), [name for name in DEVIATIONS if name != "alpha"]]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert mean_colour(picture, *deviations) == pytest.approx(wanted, abs=2)


def test_alpha_lays_on_white():
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 256, (9, 7, 4), dtype=np.uint8)
    share = pixels[..., 3:] / 255
    wanted = pixels[..., :3] * share + 255 * (1 - share)
    got = np.asarray(deviate(stored(pixels), ["alpha"]))
    assert got.shape == (9, 7, 3) and np.abs(got - wanted).max() <= 1
    assert np.ptp(np.abs(got - pixels[..., :3].astype(int))) > 100


@pytest.mark.parametrize(
    "picture, options, wanted",
    [
        (flat("RGBA", (255, 0, 0, 0)), {}, [255] * 3),
        (flat("LA", (100, 30)), {}, [255 - 155 * 30 / 255] * 3),
        (flat("P", 1, PALETTE), {"transparency": 1}, [255] * 3),
        (flat("P", 1, PALETTE), {"transparency": b"\x00\xff"}, [10, 150, 20]),
        (flat("RGB", (1, 2, 3)), {"transparency": (1, 2, 3)}, [255] * 3),
        (flat("L", 9), {"transparency": 9}, [255] * 3),
    ],
)
@pytest.mark.parametrize("names", [["alpha"], DEVIATIONS])
def test_every_form_of_transparency(picture, options, wanted, names):
    assert mean_colour(stored(picture, **options), *names) == pytest.approx(wanted, abs=1)


def test_palette_is_looked_up_before_resizing():
    generator = np.random.default_rng(1)
    picture = Image.fromarray(generator.integers(0, 256, (50, 50), dtype=np.uint8), "P")
    picture.putpalette(generator.integers(0, 256, 768, dtype=np.uint8).tobytes())
    picture = stored(picture)
    early = picture.convert("RGB").resize((16, 16), Image.Resampling.BICUBIC)
    late = picture.resize((16, 16), Image.Resampling.NEAREST).convert("RGB")
    assert np.allclose(grey_levels(picture, "palette"), np.asarray(early), atol=0.01)
    assert np.allclose(grey_levels(picture), np.asarray(late), atol=0.01)
    bits = stored(Image.fromarray(generator.integers(0, 2, (50, 50)).astype(bool)))
    smooth = grey_levels(bits, "palette")
    assert bits.mode == "1" and ((smooth > 50) & (smooth < 200)).any()
    assert set(np.unique(grey_levels(bits).round())) == {0, 255}


def swapped_primaries():
    """An sRGB profile whose red and blue primaries are exchanged: same file, two tags renamed."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return profile.replace(b"rXYZ", b"?XYZ").replace(b"bXYZ", b"rXYZ").replace(b"?XYZ", b"bXYZ")


def test_icc_shows_the_colours_that_the_profile_means():
    picture = stored(flat("RGB", (255, 0, 0)), icc_profile=swapped_primaries())
    assert mean_colour(picture, "icc") == pytest.approx([0, 0, 255], abs=2)
    assert mean_colour(picture) == pytest.approx([255, 0, 0], abs=0.01)


def test_icc_beside_alpha_palette_and_a_profile_for_other_colours():
    profile = swapped_primaries()
    half = stored(flat("RGBA", (255, 0, 0, 128)), icc_profile=profile)
    assert np.asarray(deviate(half, ["icc"]))[0, 0] == pytest.approx([0, 0, 255, 128], abs=2)
    assert mean_colour(half, "alpha", "icc") == pytest.approx([127, 127, 255], abs=2)
    looked_up = stored(flat("P", 0, [255, 0, 0]), icc_profile=profile)
    assert mean_colour(looked_up, "icc") == pytest.approx([0, 0, 255], abs=2)
    for other in [flat("L", 90), flat("CMYK", (0, 255, 255, 0))]:
        picture = stored(other, "TIFF", icc_profile=profile)
        assert picture.info["icc_profile"] == profile and deviate(picture, ["icc"]) is picture


def test_a_plain_picture_is_bit_equal_with_every_deviation_on():
    picture = stored(upright())
    assert Preprocess(16, deviations=DEVIATIONS)(picture).equal(Preprocess(16)(picture))
    assert deviate(picture, DEVIATIONS) is picture


def test_deviations_are_recorded_and_restored(tmp_path):
    transform = Preprocess(8, deviations=("alpha", "exif", "alpha"))
    assert transform.deviations == ("exif", "alpha")
    assert transform.to_dict()["picture_deviations"] == ["exif", "alpha"]
    transform.save(tmp_path)
    assert Preprocess.from_config(tmp_path) == transform == Preprocess(8, deviations=("exif", "alpha"))
    assert "picture_deviations" not in Preprocess(8).to_dict()


@pytest.mark.parametrize("value", [["exf"], "exif", [1], {"exif": True}])
def test_other_deviations_are_refused(value, tmp_path):
    (tmp_path / "preprocessor_config.json").write_text(json.dumps({"size": 8, "picture_deviations": value}))
    with pytest.raises(UserError) as error:
        Preprocess.from_config(tmp_path)
    assert "picture_deviations" in error.value.got and "exif" in error.value.expected
    if value == ["exf"]:
        assert "'exif'" in error.value.do and str(tmp_path) in error.value.got
        with pytest.raises(UserError, match="did you mean 'exif'"):
            Preprocess(8, deviations=("exf",))


@pytest.mark.parametrize("size", [(2, 20000), (20000, 2)])
@pytest.mark.parametrize("names", [(), DEVIATIONS])
def test_a_strip_is_refused_by_name_before_anything_large_is_made(size, names, tmp_path, monkeypatch):
    Image.new("RGB", size, (255, 0, 0)).save(tmp_path / "strip.png")
    picture = ImageFiles(["strip.png"], tmp_path)[0]
    made = []
    monkeypatch.setattr(Image.Image, "resize", lambda self, wanted, *_: made.append(wanted))
    with pytest.raises(UserError) as error:
        Preprocess(deviations=names)(picture)
    assert "strip.png" in error.value.got and made == []


def one_bit(width, height):
    """A PNG of a few kilobytes that unpacks to width x height."""
    content = io.BytesIO()
    Image.new("1", (width, height), 1).save(content, "PNG")
    return content.getvalue()


def test_bombs_are_refused_by_name_and_large_pictures_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)
    (tmp_path / "bomb.png").write_bytes(one_bit(201, 100))
    (tmp_path / "large.png").write_bytes(one_bit(110, 100))
    pictures = ImageFiles(["bomb.png", "large.png"], tmp_path)
    with pytest.raises(UserError, match=r"bomb\.png"):
        pictures[0]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            assert mean_colour(pictures[1], "palette") == pytest.approx([255] * 3, abs=0.01)
    assert len(told) == 1


CASES = Path(os.environ.get("LITOTES_SHARED_CASES", "/nonexistent"))
shared = pytest.mark.skipif(not CASES.is_dir(), reason="LITOTES_SHARED_CASES names no folder of cases")


@shared
def test_shared_orientations():
    folder = CASES / "02_exif_orientation"
    wanted = json.loads((folder / "expected.json").read_text())
    files = ImageFiles(sorted(wanted["stored_sizes"]), folder)
    right = np.asarray(files[-1 + len(files)]).astype(int)
    assert files.name(len(files) - 1) == "upright_reference.png"
    for i, picture in enumerate(files):
        got = np.asarray(deviate(picture, ["exif"]).convert("RGB")).astype(int)
        assert np.abs(got - right).max() <= wanted["tolerance_levels"], files.name(i)
        assert list(deviate(picture, []).size) == wanted["stored_sizes"][files.name(i)]


@shared
def test_shared_modes():
    folder = CASES / "03_image_modes"
    for name, wanted in json.loads((folder / "expected.json").read_text())["files"].items():
        picture = ImageFiles([name], folder)[0]
        mean = mean_colour(picture, "16bit", "palette", "exif")
        assert mean == pytest.approx(wanted["rgb_mean"] or [200, 0, 0], abs=4 if "avif" in name else 2), name
        if not name.startswith("ramp_"):
            assert mean_colour(picture) == pytest.approx(mean, abs=1e-3), name
    swapped = ImageFiles(["icc_swapped_primaries.png"], folder)[0]
    assert mean_colour(swapped, "icc") == pytest.approx([0, 0, 255], abs=2)


@shared
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_shared_sizes():
    folder = CASES / "04_extreme_sizes"
    expected = json.loads((folder / "expected.json").read_text())
    red = torch.tensor(expected["every_pixel_after_CLIP_normalisation_for_the_red_files"]).view(3, 1, 1)
    refused = []
    for name in expected["pillow13_open"]:
        white = torch.tensor(expected["for_the_white_files_if_accepted"]).view(3, 1, 1)
        try:
            out = Preprocess(deviations=("palette",))(ImageFiles([name], folder)[0])
        except UserError as error:
            assert name in error.got
            refused.append(name)
        else:
            assert (out - (white if name.startswith("warn") else red)).abs().max() < 1e-5
    assert sorted(refused) == ["20000x2.png", "2x20000.png", "bomb_20000x10000.png"]
