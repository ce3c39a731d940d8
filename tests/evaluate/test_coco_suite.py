import csv
import io
import json

import numpy as np
import pytest
import torch
from coco_files import karpathy, text_of, write_judgements
from evaluate_fakes import FakeEncoder, constant_encoder
from PIL import Image
from rich.console import Console

from litotes.data.judgements import read_coco_judgements
from litotes.errors import UserError
from litotes.evaluate.command import evaluate_command, run
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.files import suites_from_files
from litotes.evaluate.judged import judge_features
from litotes.evaluate.results import flat_metrics
from litotes.evaluate.sections import sections
from litotes.evaluate.suite import run_suites
from tiny import tiny_model

KS = (1, 2)


@pytest.fixture
def coco(tmp_path):
    """Judgements, pictures and captions of ten images in both forms, the table's rows in another order."""
    judged = tmp_path / "judged"
    judged.mkdir()
    images, captions, _ = write_judgements(judged)
    (tmp_path / "val2014").mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (10, 24, 24, 3), dtype=np.uint8)
    for image, values in zip(images, pixels, strict=True):
        Image.fromarray(values).save(tmp_path / "val2014" / f"{image:06d}.png")
    (tmp_path / "dataset_coco.json").write_text(json.dumps(karpathy(images, captions, [(images[3], 77)])))
    rows = [[f"val2014/{image:06d}.png", image, captions[2 * i + n], text_of(image, n)]
            for n in (1, 0) for i, image in enumerate(images)]  # fmt: skip
    with (tmp_path / "captions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["filepath", "image_id", "caption_id", "caption"], *rows[::-1]])
    return tmp_path, images, captions


def config(folder, name="dataset_coco.json", **changes):
    given = {"model": folder / "model", "coco": folder / name, "coco_judgements": folder / "judged", "ks": KS}
    return EvaluateConfig(**(given | changes))


def result_of(folder, name="dataset_coco.json", encoder=None):
    return run_suites(encoder, suites_from_files(config(folder, name)))["coco"]


def encoder_of(images):
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(10, 6, generator=generator)
    noise = torch.randn(20, 6, generator=generator)
    texts = {text_of(image, n): rows[i] + noise[2 * i + n] for i, image in enumerate(images) for n in (0, 1)}
    return FakeEncoder({f"val2014/{image:06d}.png": row for image, row in zip(images, rows, strict=True)}, texts)


def test_the_published_json_and_a_table_ask_the_same(coco):
    folder, images, captions = coco
    encoder = encoder_of(images)
    found = result_of(folder, encoder=encoder)
    texts = torch.stack([encoder.texts[text_of(image, n)] for image in images for n in (0, 1)])
    rows = torch.stack([encoder.images[f"val2014/{image:06d}.png"] for image in images])
    expected = judge_features(rows, texts, images, captions, read_coco_judgements(folder / "judged"), KS)
    for key in ("coco_5k", "coco_1k", "rsum", "cxc", "eccv"):
        assert found[key] == expected[key]
    assert (found["task"], found["n_images"], found["n_texts"]) == ("judged_retrieval", 10, 20)
    assert found["notes"] == ["captions that nobody judged, left out: 1"]
    by_table = result_of(folder, "captions.csv", encoder)
    assert by_table["notes"] == []
    for key in ("coco_5k", "coco_1k", "rsum", "cxc", "eccv", "split_sha256"):
        assert by_table[key] == found[key]
    names = flat_metrics("set", {"coco": found})
    assert names["set-cxc_r1-t2i"] == expected["cxc"]["t2i"]["1"]
    assert names["set-eccv_rprecision-i2t"] == expected["eccv"]["i2t"]["r_precision"]
    assert names["set-coco_1k-rsum"] == expected["rsum"]


def test_a_collapsed_model_gets_nothing(coco):
    found = run_suites(constant_encoder(), suites_from_files(config(coco[0], ks=(1,))))["coco"]
    assert found["rsum"] == 0
    assert {share for by in found["eccv"].values() for share in by.values()} == {0.0}


def test_the_command_measures_a_model(coco):
    folder, images, _ = coco
    tiny_model(folder / "model", [text_of(image, n) for image in images for n in (0, 1)])
    record = run(config(folder))
    assert record["task"] == "judged_retrieval"
    assert record["n_skipped"] == 0
    [section] = sections({"model": record})
    assert section.title == "Retrieval by COCO's judges"
    labels = [row.label for row in section.rows]
    assert len(labels) == 3 * 2 * 2 + 6 + 1
    assert all(row.cells[0].text != "–" for row in section.rows)


def test_the_command_says_that_no_single_answers_are_kept(coco):
    folder, images, _ = coco
    tiny_model(folder / "model", [text_of(image, n) for image in images for n in (0, 1)])
    text = io.StringIO()
    evaluate_command(config(folder, output=folder / "out.json"), Console(file=text, width=130))
    assert text.getvalue().endswith("out.answers.jsonl (none are kept of coco)\n")


def test_every_picture_must_be_there(coco):
    folder, images, _ = coco
    (folder / "val2014" / f"{images[2]:06d}.png").unlink()
    with pytest.raises(UserError, match="1 of 10"):
        suites_from_files(config(folder, allow_missing=3))


def test_a_broken_picture_cannot_be_skipped(coco):
    folder, images, _ = coco
    (folder / "val2014" / f"{images[2]:06d}.png").write_bytes(b"")
    with pytest.raises(UserError, match="1 of 10 pictures are missing or broken"):
        suites_from_files(config(folder, broken_pictures="skip"))


def test_judgements_must_be_named_or_installed(coco, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match="no package eccv_caption"):
        suites_from_files(config(coco[0], coco_judgements=None))
    with pytest.raises(UserError, match="--coco-judgements without --coco"):
        EvaluateConfig(model=coco[0], coco_judgements=coco[0], retrieval=coco[0] / "captions.csv")


def spoiled(coco, change):
    folder, images, captions = coco
    content = karpathy(images, captions)
    change(content["images"][1:], images, captions)
    (folder / "dataset_coco.json").write_text(json.dumps(content))
    return config(folder)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda rows, i, c: rows[0].pop("cocoid"), "picture 1 of the split 'test': KeyError 'cocoid'"),
        (lambda rows, i, c: rows[1].update(cocoid="7"), "picture 2 .*'7' is no int"),
        (lambda rows, i, c: rows[1]["sentences"].pop(), "1 of the judged ones missing"),
        (lambda rows, i, c: rows[1]["sentences"][0].update(sentid=c[0]), "caption id .* stands twice"),
        (lambda rows, i, c: rows[1].update(cocoid=i[0]), "image id .* stands twice"),
        (lambda rows, i, c: rows[1].update(filename=rows[0]["filename"]), "path .* stands twice"),
        (
            lambda rows, i, c: rows[0].update(sentences=rows[1]["sentences"]) or rows[1].update(sentences=[]),
            "with image",
        ),
        (lambda rows, i, c: [row.update(split="val") for row in rows], "no images of the split 'test'"),
    ],
)
def test_files_that_do_not_fit_are_refused(coco, change, message):
    with pytest.raises(UserError, match=message):
        suites_from_files(spoiled(coco, change))


def test_ids_of_a_table_are_numbers(coco):
    folder = coco[0]
    (folder / "captions.csv").write_text("filepath,image_id,caption_id,caption\na.png,1,x7,a dog\n")
    with pytest.raises(UserError, match="caption_id 'x7' in row 1"):
        suites_from_files(config(folder, "captions.csv"))
