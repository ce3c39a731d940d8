"""Files as a user has them: drawn pictures of coloured shapes, and tables about them."""

import csv
import itertools
import os
import subprocess
import sys

from PIL import Image, ImageDraw

from litotes.cli import main
from litotes.data.wordings import with_article

COLOURS = {"red": (214, 40, 40), "blue": (40, 90, 214), "green": (40, 160, 70), "yellow": (240, 200, 40)}
SHAPES = ("ball", "box", "kite", "bar", "arch")
SIDE = 32
COLUMNS = ("filepath", "caption", "negated_caption", "objects")


def pictures(folder, count=18):
    """Draw ``count`` pictures of two shapes each; returns rows of COLUMNS."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs = itertools.cycle(itertools.permutations(SHAPES, 2))
    colours = itertools.cycle(itertools.permutations(COLOURS, 2))
    rows = []
    for i, (pair, pair_of_colours) in zip(range(count), zip(pairs, colours, strict=False), strict=False):
        picture = Image.new("RGB", (SIDE, SIDE), (250, 248 - i, 240))
        for place, (shape, colour) in enumerate(zip(pair, pair_of_colours, strict=True)):
            _draw(ImageDraw.Draw(picture), shape, COLOURS[colour], 2 + 16 * place)
        picture.save(folder / f"{i:02d}.png")
        (a, b), (first, second) = pair, pair_of_colours
        caption = f"{with_article(f'{first} {a}')} and {with_article(f'{second} {b}')}"
        rows.append((f"{i:02d}.png", caption, f"{with_article(a)} but no {b}", f"{a}|{b}"))
    return rows


def write(path, rows, columns=COLUMNS):
    """A CSV table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def table(folder, count=18, columns=COLUMNS):
    """The pictures and their table, with some of the columns."""
    rows = pictures(folder, count)
    kept = [COLUMNS.index(column) for column in columns]
    return write(folder / "pairs.csv", [[row[i] for i in kept] for row in rows], columns)


def words(**options):
    """Options as words: ``val_fraction=0.2`` as --val-fraction 0.2, ``full=True`` as --full, a list once for each."""
    line = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for one in value if isinstance(value, list) else [value]:
            line += [flag] if one is True else [flag, str(one)]
    return line


def litotes(command, **options):
    """Run a command in this process; returns its exit code."""
    return main([*command.split(), *words(**options)])


def litotes_apart(command, **options):
    """Run a command as a process of its own; returns what came of it."""
    call = [sys.executable, "-c", "import sys; from litotes.cli import main; sys.exit(main())", *command.split()]
    return subprocess.run(
        [*call, *words(**options)], capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"}
    )


SMALL = {
    "image_size": SIDE, "patch_size": 16, "width": 32, "text_width": 32, "layers": 1, "dimension": 16,
    "vocabulary": 600, "context": 32, "batch_size": 8, "warmup_steps": 2, "steps": 2, "save_frequency": 1,
}  # fmt: skip


def _draw(draw, shape, colour, left):
    box = (left, 9, left + 12, 21)
    if shape == "ball":
        draw.ellipse(box, fill=colour)
    elif shape == "box":
        draw.rectangle(box, fill=colour)
    elif shape == "bar":
        draw.rectangle((left + 4, 4, left + 8, 28), fill=colour)
    elif shape == "arch":
        draw.arc(box, 180, 360, fill=colour, width=4)
    else:
        draw.polygon([(left + 6, 7), (left + 12, 15), (left + 6, 23), (left, 15)], fill=colour)
