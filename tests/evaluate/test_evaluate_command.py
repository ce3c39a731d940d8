import csv
import io
import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from rich.console import Console

from litotes.data.negbench import KNOWN, fingerprint_retrieval, read_retrieval
from litotes.errors import UserError
from litotes.evaluate import command
from litotes.evaluate.answers import read_answers
from litotes.evaluate.command import evaluate_command, run
from litotes.evaluate.compare import Difference, hits, is_right
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.files import suites_from_files
from litotes.evaluate.reading import ks_of
from litotes.evaluate.rows import signed
from litotes.evaluate.table import print_record
from litotes.evaluate.verdict import outcome
from litotes.models.lora import adapted_layers, add_lora, save_adapter
from litotes.models.lora_settings import LoraSettings
from litotes.models.matcher import load_matcher
from tiny import tiny_model

NOUNS = ["boat", "cat", "cup", "tree", "dog", "hat", "sun", "key", "bee", "fox", "owl", "van"]
WORDS = [f"a {noun} and no {other}" for noun, other in zip(NOUNS, NOUNS[1:] + NOUNS[:1], strict=True)]


def write(path, columns, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([columns, *rows])
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Twelve pictures, and every kind of file over them."""
    folder = tmp_path_factory.mktemp("small set")
    generator = np.random.default_rng(0)
    for i, noun in enumerate(NOUNS):
        pixels = Image.fromarray(generator.integers(0, 256, (40, 48, 3), dtype=np.uint8))
        for path in (folder / "pictures" / f"{i}.png", folder / "classes" / f"{noun}_thing" / "one.PNG"):
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels.save(path)
    columns = ["image_path", "correct_answer", "caption_0", "caption_1", "correct_answer_template"]
    questions = [
        [f"pictures/{i}.png", i % 2, f"a {NOUNS[i]}", f"no {NOUNS[i]}", ("positive", "negative")[i % 2]]
        for i in range(12)
    ]
    write(folder / "mcq.csv", columns, questions)
    captions = [[f"pictures/{i}.png", str([f"a {noun}", f"one {noun}"])] for i, noun in enumerate(NOUNS)]
    write(folder / "retrieval.csv", ["filepath", "captions"], captions)
    write(
        folder / "negated.csv",
        ["filepath", "captions"],
        [[path, str([w])] for (path, _), w in zip(captions, WORDS, strict=True)],
    )
    write(
        folder / "captions.csv",
        ["filepath", "caption"],
        [[f"pictures/{i}.png", f"A {NOUNS[i % 6]}."] for i in range(12)],
    )
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_model(tmp_path_factory.mktemp("model") / "tiny", WORDS)


def everything(model, data, **changes):
    given = {
        "model": model, "choice": data / "mcq.csv", "retrieval": data / "retrieval.csv",
        "negated_retrieval": data / "negated.csv", "classification": data / "captions.csv",
    }  # fmt: skip
    return EvaluateConfig(**(given | changes))


def figures(record):
    return {name: {k: v for k, v in result.items() if k != "wall_s"} for name, result in record["suites"].items()}


def test_the_command_prints_a_table_and_writes_the_record(model, data, tmp_path):
    text = io.StringIO()
    out = tmp_path / "deep" / "result.json"
    path = evaluate_command(everything(model, data, output=out), Console(file=text, width=110))
    assert path == out
    record = json.loads(out.read_text())
    assert list(record["suites"]) == ["mcq", "retrieval", "retrieval_neg", "classification"]
    assert record["dataset"] == data.name
    assert record["n_images"] == 12
    assert record["suites"]["classification"]["n_texts"] == 6
    assert record["suites"]["retrieval"]["n_texts"] == 24
    assert record["metrics"][f"{data.name}-mcq-total_accuracy"] == record["suites"]["mcq"]["total"]
    shown = text.getvalue()
    assert f"{100 * record['suites']['mcq']['total']:.1f} %" in shown
    assert "Retrieval with negated captions" in shown
    assert "result.json" in shown.replace("\n", "")


def test_for_a_program_stdout_holds_the_record_and_nothing_else(model, data, tmp_path, capsys):
    path = tmp_path / "out.json"
    assert evaluate_command(replace(everything(model, data), output=path, json=True)) == path
    shown = capsys.readouterr()
    assert json.loads(shown.out) == json.loads(path.read_text()) and shown.out.isascii()
    assert f"written to {path}" in shown.err.replace("\n", "")


def test_a_second_run_gives_the_same_figures_from_its_cache(model, data, tmp_path):
    config = everything(model, data, cache=tmp_path / "cache")
    plain = figures(run(everything(model, data)))
    assert figures(run(config)) == plain
    files = sorted((tmp_path / "cache").glob("*.safetensors"))
    assert len(files) == 1
    files[0].write_bytes(files[0].read_bytes()[:100])  # a file cut short is computed again
    assert figures(run(config)) == plain


def test_processes_that_decode_give_the_same_figures_and_the_same_cache(model, data, tmp_path):
    config = everything(model, data, cache=tmp_path / "cache", choice=None, negated_retrieval=None)
    plain, seen = figures(run(config)), []
    files = {path: path.read_bytes() for path in (tmp_path / "cache").iterdir()}
    for path in files:
        path.unlink()
    assert figures(run(replace(config, workers=2), lambda *progress: seen.append(progress))) == plain
    assert {path: path.read_bytes() for path in (tmp_path / "cache").iterdir()} == files
    assert ("pictures", 12, 12) in seen


@pytest.fixture(scope="module")
def adapter(model, tmp_path_factory):
    """An adapter that moves the texts."""
    matcher, settings = load_matcher(model), LoraSettings(towers="text", rank=2)
    add_lora(matcher.encoder, settings)
    with torch.no_grad():
        for layer in adapted_layers(matcher.encoder).values():
            layer.lora_B["default"].weight.normal_(generator=torch.Generator().manual_seed(1))
    folder = tmp_path_factory.mktemp("adapters") / "moved"
    save_adapter(matcher, settings, folder)
    return folder


def test_with_an_adapter_the_base_stands_beside_it(model, data, adapter, tmp_path):
    text, out = io.StringIO(), tmp_path / "r.json"
    config = everything(model, data, adapter=adapter, output=out)
    evaluate_command(config, Console(file=text, width=130))
    record = json.loads(out.read_text())
    base = run(everything(model, data))
    assert "base" not in base
    assert figures(record["base"]) == figures(base)
    assert figures(record) == figures(run(replace(config, adapted_only=True))) != figures(base)
    assert (record["base"]["fingerprint"], record["base"]["pretrained"]) == (load_matcher(model).fingerprint, "base")
    assert record["pretrained"].startswith("moved (rsLoRA on ")
    shown = text.getvalue()
    compared = {suite: [Difference(**part) for part in parts] for suite, parts in told(record).items()}
    assert outcome(record["suites"], base["suites"], compared)[0] in " ".join(shown.split())
    total = [found["suites"]["retrieval"]["rsum"] for found in (base, record)]
    row = next(line for line in shown.splitlines() if "Retrieval, plain captions: rSum" in line)
    assert [cell.strip() for cell in row.split("│")[2:4]] == [f"{value:.1f}" for value in total]


def told(record):
    return {
        suite: [part | {"path": tuple(part["path"])} for part in parts]
        for suite, parts in record["differences"].items()
    }


def test_every_answer_is_kept_and_both_models_are_compared_by_them(model, data, adapter, tmp_path):
    text, out = io.StringIO(), tmp_path / "deep" / "r.json"
    evaluate_command(everything(model, data, adapter=adapter, output=out), Console(file=text, width=130))
    record = json.loads(out.read_text())
    answers = {name: read_answers(out.parent, record["answers"], name) for name in ("base", "adapted")}
    assert record["answers"] | {"model": "base"} == record["base"]["answers"]
    for label, result in (("base", record["base"]), ("adapted", record)):
        said, suites = answers[label], result["suites"]
        assert sum(map(is_right, said["mcq"])) / 12 == suites["mcq"]["total"]
        assert sum(map(is_right, said["classification"])) / 12 == suites["classification"]["acc1"]
        for way in ("i2t", "t2i"):
            asked = [answer for answer in said["retrieval"] if answer.asked["way"] == way]
            assert hits(asked, 5).mean() == suites["retrieval"][way]["5"]
    first = answers["base"]["mcq"][1]
    assert first.asked["texts"] == ["a cat", "no cat"]
    assert (out.parent / record["answers"]["pictures"]["mcq"] / first.asked["picture"]).read_bytes()
    for suite, parts in told(record).items():
        for part in parts:
            for key, result in (("before", record["base"]), ("after", record)):
                value = result["suites"][suite]
                for step in part["path"]:
                    value = value[step]
                assert part[key] == pytest.approx(value)
    (total,) = (part for part in told(record)["mcq"] if part["path"] == ("total",))
    row = next(line for line in text.getvalue().splitlines() if "Multiple choice, all 12" in line)
    assert f"({signed(100 * total['low'])} to {signed(100 * total['high'])})" in row
    assert f"(McNemar, p = {total['p']:.2g})" in " ".join(text.getvalue().split())


def test_a_result_is_replaced_by_that_of_the_same_run_alone(model, data, adapter, tmp_path, monkeypatch):
    config = EvaluateConfig(model=model, choice=data / "mcq.csv", output=tmp_path / "r.json")
    quiet = Console(file=io.StringIO())
    evaluate_command(config, quiet)
    evaluate_command(config, quiet)
    before = (tmp_path / "r.json").read_bytes()
    others = [
        {"adapter": adapter},
        {"retrieval": data / "retrieval.csv"},
        {"choice": None, "classification": data / "captions.csv"},
        {"adapter": adapter, "adapted_only": True},
    ]
    with monkeypatch.context() as patched:
        patched.setattr("litotes.evaluate.command.run_suites", None)  # refused before anything is encoded
        for change in others:
            with pytest.raises(UserError, match=r"r.json is there, not of this run"):
                evaluate_command(replace(config, **change), quiet)
    assert (tmp_path / "r.json").read_bytes() == before
    evaluate_command(replace(config, adapter=adapter, overwrite=True), quiet)
    assert "base" in json.loads((tmp_path / "r.json").read_text())


def while_measuring(monkeypatch, act):
    """Have something happen, once, when a run has looked for its place and begins to encode."""
    begin, pending = command.run_suites, [act]

    def acting(*given):
        while pending:
            pending.pop()()
        return begin(*given)

    monkeypatch.setattr(command, "run_suites", acting)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_result_that_came_during_the_run_is_not_destroyed(overwrite, model, data, tmp_path, monkeypatch):
    config = EvaluateConfig(model=model, choice=data / "mcq.csv", output=tmp_path / "r.json", overwrite=overwrite)
    text = io.StringIO()
    other = replace(config, choice=None, retrieval=data / "retrieval.csv")
    there = {}

    def other_run():
        evaluate_command(other, Console(file=io.StringIO()))
        (tmp_path / "r-2.answers.jsonl").write_text("somebody's")
        there.update({path.name: path.read_bytes() for path in tmp_path.iterdir()})

    while_measuring(monkeypatch, other_run)
    if overwrite:  # asked for: whatever result is there
        evaluate_command(config, Console(file=text))
        assert "mcq" in json.loads((tmp_path / "r.json").read_text())["suites"]
        return
    with pytest.raises(UserError) as caught:
        evaluate_command(config, Console(file=text, width=200))
    assert "r.json is there, not of this run: it came there while this run measured" in caught.value.got
    assert f"the result of this run is kept in {tmp_path / 'r-3.json'}" in caught.value.do
    assert "Multiple choice" in text.getvalue() and f"written to {tmp_path / 'r-3.json'}" in text.getvalue()
    assert {name: (tmp_path / name).read_bytes() for name in there} == there
    kept = json.loads((tmp_path / "r-3.json").read_text())
    assert list(kept["suites"]) == ["mcq"]
    assert len(read_answers(tmp_path, kept["answers"], "base")["mcq"]) == 12
    assert {path.name for path in tmp_path.iterdir()} == {*there, "r-3.json", "r-3.answers.jsonl"}


def test_what_is_no_result_is_kept_too_where_it_came_during_the_run(model, data, tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    while_measuring(monkeypatch, lambda: path.write_text("mine"))
    with pytest.raises(UserError, match="is no result of litotes evaluate: it came there"):
        evaluate_command(
            EvaluateConfig(model=model, choice=data / "mcq.csv", output=path, overwrite=True),
            Console(file=io.StringIO()),
        )
    assert path.read_text() == "mine" and json.loads((tmp_path / "r-2.json").read_text())["suites"]


def test_the_same_run_twice_at_once_leaves_one_result(model, data, tmp_path, monkeypatch):
    config = EvaluateConfig(model=model, choice=data / "mcq.csv", output=tmp_path / "r.json")
    quiet = Console(file=io.StringIO())
    while_measuring(monkeypatch, lambda: evaluate_command(config, quiet))
    evaluate_command(config, quiet)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.answers.jsonl", "r.json"]


def test_other_ranks_are_another_run_and_so_is_what_is_no_result(model, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config, quiet = EvaluateConfig(model=model, retrieval=data / "retrieval.csv"), Console(file=io.StringIO())
    path = evaluate_command(config, quiet)
    assert path.name == f"{data.name.replace(chr(32), chr(45))}_base_tiny_en_zeroshot_retrieval.json"
    with pytest.raises(UserError, match="not of this run"):
        evaluate_command(replace(config, ks=(1, 5)), quiet)
    path.write_text('{"suites": []}')
    with pytest.raises(UserError, match=f"{path.name} is there"):
        evaluate_command(config, quiet)
    path.unlink()
    with pytest.raises(UserError, match=r"retrieval.answers.jsonl is there"):
        evaluate_command(config, quiet)
    path.with_suffix(".answers.jsonl").unlink()
    path.with_suffix(".answers.jsonl").mkdir()
    with pytest.raises(UserError, match=r"the answers beside --output, .*, which is a folder"):
        evaluate_command(replace(config, overwrite=True), quiet)
    assert not path.exists()


def test_nothing_but_a_result_is_ever_replaced(model, data, tmp_path):
    table = tmp_path / "mine.csv"
    shutil.copy(data / "mcq.csv", table)
    asked = EvaluateConfig(model=model, choice=table, images_root=data, output=table, overwrite=True)
    notes = tmp_path / "notes.json"
    notes.write_text('{"suites": "for a concert"}')
    quiet = Console(file=io.StringIO())
    for output in (table, notes):
        before = output.read_bytes()
        with pytest.raises(UserError, match="is no result of litotes evaluate"):
            evaluate_command(replace(asked, output=output), quiet)
        assert output.read_bytes() == before


def test_the_result_is_kept_where_the_table_cannot_be_printed(model, data, tmp_path):
    narrow = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    with pytest.raises(UnicodeEncodeError):
        evaluate_command(EvaluateConfig(model=model, choice=data / "mcq.csv", output=tmp_path / "r.json"), narrow)
    assert json.loads((tmp_path / "r.json").read_text())["suites"]


def test_the_adapted_model_alone_can_be_asked_for(model, data, adapter, tmp_path):
    text = io.StringIO()
    config = everything(model, data, adapter=adapter, adapted_only=True, output=tmp_path / "r.json")
    evaluate_command(config, Console(file=text, width=110))
    assert "base" not in json.loads((tmp_path / "r.json").read_text())
    assert "difference" not in text.getvalue()
    with pytest.raises(UserError, match="--adapted-only without --adapter"):
        replace(config, adapter=None)


def test_what_is_to_be_known_of_one_model_alone_bears_its_name(model, data, adapter):
    record = run(everything(model, data, adapter=adapter))
    record["base"]["suites"]["mcq"] |= {"ties": 3, "total_if_ties_go_to_first": 0.5}
    record["suites"]["mcq"]["ties"] = 0
    for found in (record, record["base"]):
        found["captions_truncated"] = 2
    text = io.StringIO()
    print_record(record, Console(file=text, width=110))
    assert "note: 2 captions were cut to 16 tokens\n" in text.getvalue()
    assert "note: base: mcq: 3 ties, counted as wrong; 50.0 % if the first of equals won" in text.getvalue()


def test_class_folders_are_classes(model, data):
    record = run(EvaluateConfig(model=model, classification=data / "classes"))
    result = record["suites"]["classification"]
    assert set(result["per_class"]) == {f"{noun}_thing" for noun in NOUNS}
    assert record["prompt"] == ["a photo of a {c}."]
    assert (record["dataset"], record["task"]) == ("classes", "zeroshot_classification")


def test_numbered_class_folders_stand_in_the_order_of_their_numbers(tmp_path):
    for name in ("10", "2", "0"):
        (tmp_path / name).mkdir()
        Image.new("RGB", (4, 4)).save(tmp_path / name / "x.jpg")
    (suite,) = suites_from_files(EvaluateConfig(model=tmp_path, classification=tmp_path))
    assert list(suite.classnames) == ["0", "2", "10"]
    (tmp_path / "3").mkdir()
    with pytest.raises(UserError, match=r"3 without a picture"):
        suites_from_files(EvaluateConfig(model=tmp_path, classification=tmp_path))


def test_templates_come_from_a_file(model, data, tmp_path):
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("a {c}\n\n  the {}  \n")
    (suite,) = suites_from_files(EvaluateConfig(model=model, classification=data / "classes", templates=prompts))
    assert list(suite.templates) == ["a {c}", "the {}"]


def test_options_of_a_published_file_have_kinds(data, monkeypatch):
    (suite,) = suites_from_files(EvaluateConfig(model=data, choice=data / "mcq.csv"))
    assert suite.option_types is None
    options = [[f"pictures/{i}.png", 0, "a", "b", "c", "d", "hybrid"] for i in range(2)]
    columns = ["image_path", "correct_answer", *(f"caption_{o}" for o in range(4)), "correct_answer_template"]
    path = write(data / "published.csv", columns, options)
    (suite,) = suites_from_files(EvaluateConfig(model=data, choice=path))
    monkeypatch.setitem(KNOWN, suite.identity().split_sha256, "COCO MCQ rephrased")
    (suite,) = suites_from_files(EvaluateConfig(model=data, choice=path))
    assert suite.option_types == [("hybrid", "hybrid", "positive", "negative")] * 2


def test_missing_pictures_of_all_files_are_told_before_a_model_is_loaded(data, tmp_path):
    mcq = write(
        tmp_path / "mcq.csv", ["image_path", "correct_answer", "caption_0", "caption_1"], [["a.png", 0, "x", "y"]]
    )
    captions = write(tmp_path / "captions.csv", ["filepath", "captions"], [["b.png", "['x']"]])
    with pytest.raises(UserError) as caught:
        run(EvaluateConfig(model=tmp_path / "no model", choice=mcq, retrieval=captions))
    assert "a.png" in caught.value.got
    assert "b.png" in caught.value.got
    with pytest.raises(UserError, match="1 of 1 pictures are missing"):
        run(EvaluateConfig(model=tmp_path / "no model", choice=mcq))


def test_pictures_may_live_under_another_root(model, data, tmp_path):
    moved = write(
        tmp_path / "mcq.csv",
        ["image_path", "correct_answer", "caption_0", "caption_1"],
        [["their/0.png", 0, "a boat", "a cat"]],
    )
    config = EvaluateConfig(model=model, choice=moved, images_root=data / "pictures", strip_prefix="their/")
    record = run(config)
    assert (record["suites"]["mcq"]["n"], record["suites"]["mcq"]["n_untyped"]) == (1, 1)


def test_k_above_the_gallery_is_told_before_a_model_is_loaded(data, tmp_path):
    with pytest.raises(UserError, match="K = 50 over 12 images") as caught:
        run(everything(tmp_path / "no model", data, ks=(1, 5, 50), adapter=tmp_path / "no adapter"))
    assert "give --ks 1,5, or" in caught.value.do
    assert "no model, which is not a folder here" in caught.value.got
    with pytest.raises(UserError, match="K = 50 over 12 images") as caught:
        run(everything(tmp_path / "no model", data, ks=(50,)))
    assert "give --ks 1,5,10, or" in caught.value.do
    with pytest.raises(UserError, match="--ks 1,1"):
        everything(tmp_path, data, ks=(1, 1))


def test_ranks_of_recall_are_found_in_every_kind_of_result():
    by_k = {"1": 0.1, "10": 0.2}
    suites = {"a": {"i2t": by_k}, "coco": {"coco_5k": {"i2t": by_k}}, "mcq": {"total": 0.5}}
    assert ks_of(suites) == {"a": {"1", "10"}, "coco": {"1", "10"}}


def test_five_pictures_are_measured_without_naming_ks(model, data, tmp_path, capsys):
    """What a newcomer tries first; the same ranks named are refused, and named as they were left they are the same."""
    rows = [[f"pictures/{i}.png", f"a {NOUNS[i]}"] for i in range(5)]
    five = write(data / "five.csv", ["filepath", "caption"], rows)
    config = EvaluateConfig(model=model, retrieval=five, output=tmp_path / "r.json")
    evaluate_command(config)
    record = json.loads((tmp_path / "r.json").read_text())
    assert list(record["suites"]["retrieval"]["i2t"]) == ["1"]
    told = "note: retrieval: R@5 and R@10 left out: with 5 pictures, no model can miss a right one among the first 5"
    assert told in capsys.readouterr().out.replace("\n", " ").replace("  ", " ")
    with pytest.raises(UserError, match="K = 10 over 5 images"):
        run(replace(config, ks=(1, 5, 10)))
    evaluate_command(replace(config, ks=(1,)))
    with pytest.raises(UserError, match="not of this run"):
        evaluate_command(replace(config, ks=(1, 2)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "nowhere"}, "nowhere"),
        ({"adapter": "nowhere"}, "nowhere"),
        ({"device": "warp:9"}, "warp:9"),
        ({"templates": "nowhere"}, "nowhere"),
        ({"choice": "nowhere.csv"}, "nowhere.csv"),
    ],
)
def test_mistakes_have_one_message(model, data, tmp_path, changes, message):
    paths = {key: tmp_path / value if key != "device" else value for key, value in changes.items()}
    with pytest.raises(UserError, match=message):
        run(everything(paths.pop("model", model), data, **paths))


@pytest.mark.parametrize("option", ["output", "cache"])
def test_a_place_that_takes_no_result_is_told_before_anything_is_read(option, tmp_path):
    (tmp_path / "file").write_text("")
    config = EvaluateConfig(model=tmp_path / "no model", choice=tmp_path / "no table")
    with pytest.raises(UserError, match=f"--{option} {tmp_path}/file/x, but {tmp_path}/file is no folder"):
        evaluate_command(replace(config, **{option: tmp_path / "file" / "x"}))
    with pytest.raises(UserError, match=f"--output {tmp_path}, which is a folder"):
        evaluate_command(replace(config, output=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_caption_without_words_is_refused_but_in_a_published_file(model, data, tmp_path, monkeypatch):
    path = write(tmp_path / "c.csv", ["filepath", "captions"], [["0.png", "['a boat', ' ']"], ["1.png", "['.']"]])
    config = EvaluateConfig(
        model=model, retrieval=path, ks=(1,), images_root=data / "pictures", output=tmp_path / "r.json"
    )
    with pytest.raises(UserError, match=r"c.csv: 2 captions without words, of 0.png, 1.png"):
        run(config)
    monkeypatch.setitem(KNOWN, fingerprint_retrieval(read_retrieval(path)), "a published file")
    text = io.StringIO()
    evaluate_command(config, Console(file=text, width=110))
    assert "retrieval: 2 captions without words, counted like any other" in text.getvalue()
    classes = write(tmp_path / "classes.csv", ["filepath", "caption"], [["0.png", "a boat"], ["1.png", ""]])
    with pytest.raises(UserError, match="column caption has no words in 1 rows: 2"):
        suites_from_files(EvaluateConfig(model=model, classification=classes, images_root=data / "pictures"))


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"choice": "mcq.csv", "templates": "prompts.txt"}, "--templates without --classification"),
        ({"choice": "mcq.csv", "any_base": True}, "--any-base without --adapter"),
        ({"classification": "classes", "images_root": "pictures"}, "--images-root with folders of pictures alone"),
        ({"classification": "classes", "strip_prefix": "a/"}, "--strip-prefix with folders of pictures alone"),
    ],
)
def test_an_option_that_nothing_would_use_is_refused(options, got, data):
    given = {name: value if name in ("any_base", "strip_prefix") else data / value for name, value in options.items()}
    with pytest.raises(UserError, match=got):
        suites_from_files(EvaluateConfig(model=data, **given))


def test_nothing_to_evaluate_is_a_mistake(tmp_path):
    with pytest.raises(UserError, match="nothing to evaluate"):
        EvaluateConfig(model=tmp_path)


def test_a_caption_over_the_context_is_counted(model, data, tmp_path):
    path = write(
        tmp_path / "mcq.csv",
        ["image_path", "correct_answer", "caption_0", "caption_1"],
        [["0.png", 0, "boat cat cup tree dog hat sun key bee fox owl van " * 3, "a cat"]],
    )
    text = io.StringIO()
    config = EvaluateConfig(model=model, choice=path, images_root=data / "pictures", output=tmp_path / "r.json")
    evaluate_command(config, Console(file=text, width=110))
    assert json.loads((tmp_path / "r.json").read_text())["captions_truncated"] == 1
    assert "1 caption was cut to 16 tokens" in text.getvalue()
    with pytest.raises(UserError, match="tokens"):
        run(EvaluateConfig(model=model, choice=path, images_root=data / "pictures", truncation="refuse"))


def test_the_settings_load_nothing_heavy():
    code = "import sys, litotes.evaluate.config; assert not {'torch', 'transformers', 'rich'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
