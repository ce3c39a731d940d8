"""Files that are no whole pictures, of every kind that users met, and three good ones among them."""

import numpy as np
from PIL import Image

GOOD = ("ok_a.jpg", "ok_b.png", "really_a_jpeg.png")
FAIL_WHEN_DECODED = ("bad_crc.png", "cut.png", "cut_half.jpg", "cut_tail.jpg")
"""Their headers are sound: they open, and fail only when the content is decoded."""
BROKEN = tuple(
    sorted((*FAIL_WHEN_DECODED, "broken_link.jpg", "error_page.jpg", "folder.jpg", "text_in_disguise.jpg", "zero.jpg"))
)


def write_all(folder):
    """Write GOOD and BROKEN into the folder; returns all their names, sorted."""
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(0).integers(0, 256, (3, 48, 40, 3), dtype=np.uint8)
    first, second, third = (Image.fromarray(one) for one in pixels)
    first.save(folder / "ok_a.jpg")
    second.save(folder / "ok_b.png")
    third.save(folder / "really_a_jpeg.png", format="JPEG")
    jpg, png = (folder / "ok_a.jpg").read_bytes(), (folder / "ok_b.png").read_bytes()
    at = png.index(b"IDAT") + 40
    contents = {
        "bad_crc.png": png[:at] + bytes([png[at] ^ 0xFF]) + png[at + 1 :],
        "cut.png": png[: len(png) // 2],
        "cut_half.jpg": jpg[: len(jpg) // 2],
        "cut_tail.jpg": jpg[: 9 * len(jpg) // 10],
        "error_page.jpg": b"<!DOCTYPE html><html><body>404 Not Found</body></html>",
        "text_in_disguise.jpg": b"no picture at all\n",
        "zero.jpg": b"",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder.jpg").mkdir()
    (folder / "broken_link.jpg").symlink_to(folder / "nowhere.jpg")
    return sorted((*GOOD, *BROKEN))
