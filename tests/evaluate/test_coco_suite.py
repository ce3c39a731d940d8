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

from litotes.cli import main
from litotes.data.judgements import read_coco_judgements
from litotes.errors import UserError
from litotes.evaluate.command import evaluate_command, run
from litotes.evaluate.compare import differences
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.files import suites_from_files
from litotes.evaluate.judged import judge_features
from litotes.evaluate.results import flat_metrics
from litotes.evaluate.rows import value_at
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
    note = "not COCO, Karpathy's test set as published: 10 pictures, 20 captions here, 5,000 pictures, 25,000 captions"
    assert found["notes"] == ["captions that nobody judged, left out: 1", f"{note} there"]
    assert found["file"] == "yours"
    by_table = result_of(folder, "captions.csv", encoder)
    assert by_table["notes"] == found["notes"][1:]
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


def test_every_query_keeps_what_each_judge_found(coco):
    folder, images, captions = coco
    encoder = encoder_of(images)
    said = {}
    result = run_suites(encoder, suites_from_files(config(folder)), said)["coco"]
    answers = said["coco"]
    judged = read_coco_judgements(folder / "judged")
    assert "answers" not in result
    assert [a.asked["id"] for a in answers] == [*images, *captions]
    assert [a.asked["way"] for a in answers] == ["i2t"] * 10 + ["t2i"] * 20
    assert answers[10].asked == {
        "way": "t2i", "item": 0, "picture": f"val2014/{images[0]:06d}.png", "id": captions[0],
        "texts": [text_of(images[0], 0)], "fold": 0,
    }  # fmt: skip
    for way, part in (("i2t", answers[:10]), ("t2i", answers[10:])):
        known = {name: [a.given[name] for a in part if name in a.given] for name in
                 ("rank", "rank_1k", "rank_cxc", "rank_eccv", "map_at_r", "r_precision")}  # fmt: skip
        assert [len(values) for values in known.values()] == [
            len(part), len(part), len(getattr(judged.cxc, way)), *[len(getattr(judged.eccv, way))] * 3
        ]  # fmt: skip
        for k in KS:
            for key, name in (("coco_5k", "rank"), ("cxc", "rank_cxc")):
                assert np.mean([rank <= k for rank in known[name]]) == pytest.approx(result[key][way][str(k)])
            folds = [np.mean([a.given["rank_1k"] <= k for a in part if a.asked["fold"] == n]) for n in range(5)]
            assert np.mean(folds) == pytest.approx(result["coco_1k"][way][str(k)])
        assert np.mean([rank == 1 for rank in known["rank_eccv"]]) == pytest.approx(result["eccv"][way]["r1"])
        for key in ("map_at_r", "r_precision"):
            assert np.mean(known[key]) == pytest.approx(result["eccv"][way][key])


def by_loops(answers, path, ks=KS):
    """A measure from single answers by a plain mean, whatever pictures stand how often among them."""
    judge, way, key = path if path != ("rsum",) else ("", "", "")
    if path == ("rsum",):
        return 100 * sum(by_loops(answers, ("coco_1k", w, str(k))) for w in ("i2t", "t2i") for k in ks)
    own = [a for a in answers if a.asked["way"] == way]
    if judge == "coco_1k":
        parts = [[a for a in own if a.asked["fold"] == n] for n in range(5)]
        return np.mean([np.mean([a.given["rank_1k"] <= int(key) for a in part]) for part in parts])
    name = {"coco_5k": "rank", "cxc": "rank_cxc", "eccv": "rank_eccv" if key == "r1" else key}[judge]
    values = [a.given[name] for a in own if name in a.given]
    if key in ("map_at_r", "r_precision"):
        return np.mean(values)
    return np.mean([value <= (1 if key == "r1" else int(key)) for value in values])


def test_two_models_are_compared_in_every_measure_of_the_judges(coco):
    folder, images, _ = coco
    suites = suites_from_files(config(folder))
    said = [{}, {}]
    first = run_suites(encoder_of(images), suites, said[0])
    other = encoder_of(images)
    other.texts = {text: 0.3 * row + 0.7 * other.images[f"val2014/{int(text.split()[-1]):06d}.png"]
                   for text, row in other.texts.items()}  # fmt: skip
    second = run_suites(other, suites, said[1])
    found = differences(said[0], said[1], first)["coco"]
    [section] = sections({"a": {"suites": first}, "b": {"suites": second}}, {"b": {"coco": found}})
    assert {part.path for part in found} == {row.path for row in section.rows}
    for part in found:
        before, after = (by_loops(answers["coco"], part.path) for answers in said)
        assert (part.before, part.after) == (pytest.approx(before), pytest.approx(after))
        assert part.before == pytest.approx(value_at(first["coco"], part.path))
        assert part.after == pytest.approx(value_at(second["coco"], part.path))
        assert part.low <= part.after - part.before <= part.high
    # the interval of a plain share against one drawn by hand
    part = next(part for part in found if part.path == ("coco_5k", "t2i", "1"))
    hits = [np.array([a.given["rank"] <= 1 for a in answers["coco"][10:]]).astype(float) for answers in said]
    change = np.array([(hits[1] - hits[0])[np.array([a.asked["picture"] for a in said[0]["coco"][10:]]) == name].sum()
                       for name in {a.asked["picture"] for a in said[0]["coco"]}])  # fmt: skip
    drawn = change[np.random.default_rng(1).integers(0, 10, (20_000, 10))].sum(axis=1) / 20
    assert (part.low, part.high) == (pytest.approx(np.quantile(drawn, 0.025), abs=0.051),
                                     pytest.approx(np.quantile(drawn, 0.975), abs=0.051))  # fmt: skip
    assert (part.n, part.p) == (20, None)


def test_a_right_caption_that_is_nowhere_has_no_rank(coco):
    folder, images, _ = coco
    judged = {str(images[1]): [99999]}
    (folder / "judged" / "eccv_image_to_caption.json").write_text(json.dumps(judged))
    said = {}
    run_suites(encoder_of(images), suites_from_files(config(folder)), said)
    given = said["coco"][1].given
    assert (given["rank_eccv"], given["map_at_r"]) == (None, 0.0)
    assert [part for part in differences(said, said, {"coco": {"task": "judged_retrieval", **EMPTY}})["coco"]]


EMPTY = {key: {"i2t": {"1": 0.0}, "t2i": {"1": 0.0}} for key in ("coco_5k", "coco_1k", "cxc")}


def test_the_command_keeps_the_answers_and_the_report_reads_them(coco, capsys, monkeypatch):
    folder, images, _ = coco
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "150")
    texts = [text_of(image, n) for image in images for n in (0, 1)]
    for seed, name in enumerate(("one", "two")):
        tiny_model(folder / name, texts, seed=seed)
        evaluate_command(
            config(folder, model=folder / name, output=folder / f"{name}.json"), Console(file=io.StringIO())
        )
    lines = (folder / "one.answers.jsonl").read_text().splitlines()
    assert len(lines) == 30 and {"rank", "rank_1k"} <= json.loads(lines[0])["base"].keys()
    assert main(["report", "--results", "one.json", "--results", "two.json", "--output", "page.html"]) == 0
    shown = capsys.readouterr().out
    assert "COCO 1K: rSum of at most 400: " in shown and "95 % interval" in shown and "not compared" not in shown


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
            lambda rows, i, c: (
                rows[0].update(sentences=rows[1]["sentences"])
                or rows[1].update(sentences=[{"sentid": n, "raw": "a word"} for n in c[:2]])
            ),
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
