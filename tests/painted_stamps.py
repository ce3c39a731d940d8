"""A folder such as benchmarks/stamps.py takes: pictures of two halves, each in the colour of a thing."""

import csv

import numpy as np
from PIL import Image

THINGS = {"sun": (250, 220, 40), "sea": (30, 60, 220), "tree": (20, 140, 40), "rose": (220, 30, 60)}
TRAINING, TEST = 30, 10


def write_stamps(folder):
    """Write 30 scenes to train on, 10 to test on, all different, and every table over them; returns the folder."""
    (folder / "scenes").mkdir(parents=True)
    names = list(THINGS)
    scenes = [(names[i % 4], names[(i + 1 + i // 4 % 3) % 4]) for i in range(TRAINING + TEST)]
    for i, both in enumerate(scenes):
        pixels = np.concatenate([np.full((32, 16, 3), THINGS[name], np.uint8) for name in both], axis=1)
        pixels[:4, :4] = 6 * i
        Image.fromarray(pixels).save(folder / "scenes" / f"{i:02}.png")
    paths = [f"scenes/{i:02}.png" for i in range(TRAINING + TEST)]
    shown = [*zip(paths, scenes, strict=True)]
    absent = [next(name for name in names if name not in both) for both in scenes]
    quadruplets = [(path, f"a {a} and a {b}", f"a {a} but no {b}", f"{a}|{b}") for path, (a, b) in shown[:TRAINING]]
    write(folder / "quadruplets_train.csv", ["filepath", "caption", "negated_caption", "objects"], quadruplets)
    write(folder / "captions.csv", ["filepath", "caption"], [(path, f"a {a}") for path, (a, _) in shown[:12]])
    asked = [*zip(shown[TRAINING:], absent[TRAINING:], strict=True)]
    options = [
        (path, 0, f"a {a} and a {b}", f"a {n} but no {b}", f"a {n}", f"no {a}", "positive")
        for (path, (a, b)), n in asked
    ]
    columns = ["image_path", "correct_answer", *(f"caption_{i}" for i in range(4)), "correct_answer_template"]
    write(folder / "mcq_test.csv", columns, options)
    for name, text in (("retrieval", "a {a} and a {b}"), ("negated_retrieval", "a {a} and a {b} but no {n}")):
        rows = [(str([a, b]), path, str([text.format(a=a, b=b, n=n)])) for (path, (a, b)), n in asked]
        write(folder / f"{name}_test.csv", ["positive_objects", "filepath", "captions"], rows)
    return folder


def write(path, header, rows):
    """A table of these rows."""
    with path.open("w", newline="") as out:
        csv.writer(out).writerows([header, *rows])
