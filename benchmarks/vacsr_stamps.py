"""VACSR and other losses on partly wrong pairs of real pictures: the rows of docs/reproduction.md.

    python benchmarks/vacsr_stamps.py --data STAMPS --model FOLDER --output OUT

STAMPS is the folder that ``benchmarks/stamps.py`` takes, FOLDER the model that it pretrained there. Each picture is a
scene of a few things, which the tables list; a caption is true of a picture if and only if all that it mentions is
there. A caption that says anything else is refused.

Three parts, which share no picture: to train on, to choose rate and scale of each method on, to measure on once. The
last two are of scenes that the pretraining never saw. ``--train-on pretrained``: the scenes that it did see, the scenes
that it held out, those of the test file. ``--train-on fresh``: two thirds of the test file, the scenes that it held
out, the rest of the test file, so that the wrong pairs to be found are of unseen scenes too.

Each finished row is one JSON file, and is not done again; the frozen features are kept; ``--table`` prints what is
there. ``--backbone`` also trains rows whose backbone learns too, at the rates of ``vacsr_backbone.py``.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from rich.console import Console

from litotes.cli.training import split
from litotes.data.claims import name_words
from litotes.data.images import ImageFiles, Pictures, Subset
from litotes.data.negbench import parse_list
from litotes.data.pairs import CaptionedPictures, require_disjoint
from litotes.data.quadruplets import Quadruplets, from_table
from litotes.data.tables import IMAGE, column, listed, read_table
from litotes.demo.vacsr.methods import LOOP, RIVALS, Rival
from litotes.demo.vacsr.rows import Row, World, cosine_row, world_features
from litotes.demo.vacsr.run import ABLATED_AT, run_rows
from litotes.demo.vacsr.summary import both_ways
from litotes.demo.vacsr.tables import Table, tables
from litotes.demo.vacsr.truth import Part, Truth
from litotes.errors import UserError
from litotes.evaluate.results import write_json
from litotes.models.loading import load_backbone
from stamps import HELD_OUT, QUADRUPLETS, SEED
from vacsr_backbone import ROWS, backbone_row
from vacsr_world import NAMES, markdown, read

TEST = "retrieval_test.csv"
TUNED = tuple(name for name in RIVALS if name != "no_sigma")
"""The methods that choose settings; VACSR without L_sigma has those of VACSR."""
CHOSEN_AT, CHOSEN_SEED = 0.2, 0
TRAINED = {f"backbone {name}": rival.label for name, rival in ROWS.items()}
FRAME = frozenset({"a", "an", "and", "with", "next", "to", "of", "there", "is", "this", "includes"}) | {
    "image", "photo", "picture",
}  # fmt: skip
"""All that a caption may say beside the names of things."""

Scale = float | Literal["sqrt_d", "d"]


@dataclass(frozen=True)
class Size:
    """How much is done. rates, scales: each method chooses from their product; noise, seeds, steps: of the rows."""

    rates: tuple[float, ...] = (1e-3, 3e-3, 1e-2, 3e-2)
    scales: tuple[Scale, ...] = (1.0, "sqrt_d")
    noise: tuple[float, ...] = (0.0, 0.2, 0.5)
    seeds: tuple[int, ...] = (0, 1, 2)
    steps: int = LOOP.steps


SMOKE = Size((1e-2,), (1.0, "d"), (0.2,), (0,), 2)


class Scenes(NamedTuple):
    """Pictures, the caption of each, and the names of the things in each."""

    pictures: Pictures
    captions: Sequence[str]
    objects: Sequence[Sequence[str]]

    def take(self, start: int, stop: int | None = None) -> "Scenes":
        """Those from ``start`` to before ``stop``."""
        rows = range(*slice(start, stop).indices(len(self.captions)))
        return Scenes(Subset(self.pictures, rows), self.captions[start:stop], self.objects[start:stop])


def part_of(scenes: Scenes, names: Sequence[str]) -> Part:
    """The scenes as a part of a world. names: of all things that any caption may mention.

    A thing that is there makes its shorter name true as well: where there is a yellow pear there is a pear. Errors:
    captions that mention nothing, that mention what is not there, or that say more than which things are there.
    """
    there = [frozenset(name for thing in things for name in names if _covers(thing, name)) for things in scenes.objects]
    pattern = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(names, key=len, reverse=True)))
    claims = [frozenset(pattern.findall(caption)) for caption in scenes.captions]
    rest = [set(re.findall(r"\w+", pattern.sub(" ", caption))) - FRAME for caption in scenes.captions]
    unjudged = [
        caption
        for caption, claim, known, more in zip(scenes.captions, claims, there, rest, strict=True)
        if more or not claim or not claim <= known
    ]
    if unjudged:
        raise UserError(
            got=f"{len(unjudged)} captions that the lists of things cannot judge: {listed(unjudged, 5)}",
            expected="captions that say which things of their picture are there, and nothing else",
            do="complete the lists of things, or choose other captions",
        )
    data = CaptionedPictures(scenes.pictures, tuple(scenes.captions), np.arange(len(claims)))
    return Part(data, Truth(tuple(claims), tuple(there)))


def _covers(thing: str, name: str) -> bool:
    return name_words(name) <= name_words(thing)


def arranged(data: Path, fresh: bool) -> tuple[Part, Part, Part]:
    """To train on, to choose on, to measure on. fresh: train on scenes that the pretraining did not see."""
    seen, held = (_scenes(half) for half in split(from_table(data / QUADRUPLETS, seed=SEED), HELD_OUT, SEED))
    test = _test_scenes(data)
    names = sorted({name for scenes in (seen, held, test) for things in scenes.objects for name in things})
    border = 2 * len(test.captions) // 3
    three = (test.take(0, border), held, test.take(border)) if fresh else (seen, held, test)
    training, validation, last = (part_of(scenes, names) for scenes in three)
    for one, other in ((training, validation), (training, last), (validation, last)):
        require_disjoint(one.data, other.data)
    if fresh:
        for one in (training, last):
            require_disjoint(part_of(seen, names).data, one.data)
    return training, validation, last


def _scenes(data: Quadruplets) -> Scenes:
    return Scenes(data.pictures, data.captions, data.objects or [()] * len(data))


def _test_scenes(data: Path) -> Scenes:
    """The test file with the first caption of each scene, its only label."""
    table = read_table(data / TEST)
    captions, objects = (
        [parse_list(cell) or [""] for cell in column(table, name)] for name in ("captions", "positive_objects")
    )
    return Scenes(ImageFiles(column(table, *IMAGE), data, table=table.path), [some[0] for some in captions], objects)


def candidates(width: int, size: Size) -> Iterator[tuple[str, str, Rival]]:
    """Every method with every rate and scale: its name, the name of its row, and itself. width: of the features."""
    for name, scale, rate in product(TUNED, size.scales, size.rates):
        yield name, _title(name, scale, rate), _with(RIVALS[name], width, scale, rate)


def _title(name: str, scale: Scale, rate: float) -> str:
    return f"{name}-scale-{scale}-lr-{rate:g}"


def _with(rival: Rival, width: int, scale: Scale, rate: float) -> Rival:
    """With half of the demo's latent numbers, as the figures of docs/reproduction.md have it."""
    adapter = replace(rival.method.adapter, features=width, latent=16, input_scale=scale)
    return replace(rival, method=replace(rival.method, adapter=adapter), lr=rate)


def choose(rows: Sequence[Mapping[str, Any]], width: int, size: Size) -> dict[str, Rival]:
    """Each method with the settings of the highest mAP@R on the validation part, mean of both ways.

    rows: the figures of all candidates; of equal ones the first is taken.
    """
    best: dict[str, tuple[float, Rival]] = {}
    for name, title, rival in candidates(width, size):
        found = both_ways(rows, title, CHOSEN_AT)
        if found and (name not in best or found.mean > best[name][0]):
            best[name] = (found.mean, rival)
    chosen = {name: rival for name, (_, rival) in best.items()}
    vacsr = chosen["vacsr"]
    return chosen | {"no_sigma": _with(RIVALS["no_sigma"], width, vacsr.method.adapter.input_scale, vacsr.lr)}


def choice_table(rows: Sequence[Mapping[str, Any]], size: Size) -> Table:
    """What the settings were chosen by."""
    settings = [*product(size.scales, size.rates)]
    lines = []
    for name in TUNED:
        found = [both_ways(rows, _title(name, scale, rate), CHOSEN_AT) for scale, rate in settings]
        lines.append((RIVALS[name].label, tuple("–" if mean is None else mean.percent() for mean in found)))
    cosine = both_ways(rows, "cosine", CHOSEN_AT)
    if cosine:
        lines.append((NAMES["cosine"], (cosine.percent(),) * len(settings)))
    return Table(
        "Validation part, 20 % of the training pairs wrong: mAP@R, mean of both ways", "",
        tuple(f"scale {scale}, lr {rate:g}" for scale, rate in settings), tuple(lines),
    )  # fmt: skip


def counts(part: Part) -> dict[str, Any]:
    """How many pictures and different captions a part has, how much is true of what, and the hash of its rows."""
    true = part.truth.relevance().double()
    return {
        "sha256": part.data.fingerprint(),
        "pictures": len(part.data), "captions": len(set(part.data.captions)),
        "captions_of_a_picture": float(true.sum(1).mean()), "pictures_of_a_caption": float(true.sum(0).mean()),
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Choose, train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--train-on", choices=["pretrained", "fresh"], default="pretrained")
    parser.add_argument("--backbone", nargs="*", default=[], choices=list(ROWS), metavar="ROW")
    parser.add_argument("--smoke", action="store_true", help="a few steps: does it run?")
    parser.add_argument("--table", action="store_true", help="print what is there, and train nothing")
    asked = parser.parse_args(arguments)
    size = SMOKE if asked.smoke else Size()
    if not asked.table:
        if not (asked.data and asked.model):
            parser.error("--data and --model are needed, but for --table")
        torch.set_num_threads(1)
        run(asked, size)
    _print(asked.output, size)


def run(asked: argparse.Namespace, size: Size) -> None:
    """All that ``asked`` names and is not there yet."""
    training, validation, test = arranged(asked.data, asked.train_on == "fresh")
    parts = {"training": training, "validation": validation, "test": test}
    matcher = load_backbone(asked.model)
    record = {"model": matcher.fingerprint, "parts": {name: counts(one) for name, one in parts.items()}}
    _write_once(asked.output / "parts.json", {"train_on": asked.train_on, **record})
    tell = partial(_tell, Console(stderr=True))
    choosing, measuring = (
        world_features(matcher, training, one, asked.output / "features") for one in (validation, test)
    )
    chosen = chosen_settings(choosing, asked.output / "choice", size, tell)
    folder = asked.output / "rows"
    _write_cosine(measuring, folder)
    rows = [
        Row(name, noise, seed, chosen[name].seeded(seed), chosen[name].loop(size.steps, seed))
        for seed, noise, name in product(size.seeds, size.noise, RIVALS)
        if name != "no_sigma" or noise == ABLATED_AT
    ]
    run_rows(rows, measuring, folder, 0, tell)
    for name in asked.backbone:
        path = folder / f"backbone-{name}-noise20-seed0.json"
        if not path.exists():
            own = load_backbone(asked.model)
            rates = ROWS[name].rates
            figures = backbone_row(name, CHOSEN_AT, CHOSEN_SEED, size.steps, training, test, own, rates)
            write_json(path, {**figures, "row": f"backbone {name}"})


def chosen_settings(
    world: World, folder: Path, size: Size, tell: Callable[[dict[str, Any], int, int], None]
) -> dict[str, Rival]:
    """Train every candidate, measure it on the validation part, and choose."""
    _write_cosine(world, folder)
    width = world.features.images.shape[1]
    rows = [
        Row(title, CHOSEN_AT, CHOSEN_SEED, rival.seeded(CHOSEN_SEED), rival.loop(size.steps, CHOSEN_SEED))
        for _, title, rival in candidates(width, size)
    ]
    return choose(run_rows(rows, world, folder, 0, tell), width, size)


def _write_cosine(world: World, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "cosine.json", cosine_row(world))


def _write_once(path: Path, parts: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and json.loads(path.read_text(encoding="utf-8")) != parts:
        raise UserError(
            got=f"{path}, of another model or other parts than those that are asked for",
            expected="a folder of the same comparison, to go on with, or a new one",
            do="choose another --output",
        )
    write_json(path, parts)


def _tell(screen: Console, figures: dict[str, Any], done: int, total: int) -> None:
    screen.print(f"{done}/{total} {figures['row']}, noise {figures['noise']}, seed {figures['seed']}")


def _print(folder: Path, size: Size) -> None:
    record = json.loads((folder / "parts.json").read_text(encoding="utf-8"))
    print(f"trained on {record['train_on']} scenes")
    for name, some in record["parts"].items():
        print(
            f"{name}: {some['pictures']} pictures, {some['captions']} different captions; "
            f"{some['captions_of_a_picture']:.1f} captions are true of a picture, "
            f"{some['pictures_of_a_caption']:.1f} pictures have what a caption mentions"
        )
    rows = read(folder / "rows")
    for table in (choice_table(read(folder / "choice"), size), *tables(rows, {**NAMES, **TRAINED})):
        print(f"\n{markdown(table)}")


if __name__ == "__main__":
    main()
