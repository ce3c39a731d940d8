import json
import re
from dataclasses import replace

import pytest
import torch
from drawn_table import COLUMNS, SMALL, litotes, litotes_apart, table, words, write

from litotes.cli import measuring, training
from litotes.cli.options import parse
from litotes.cli.train import Settings
from litotes.data.screening import Screening
from litotes.errors import UserError
from litotes.evaluate.notes import notes_of_all
from litotes.models.lora import load_adapter
from litotes.models.matcher import load_matcher
from litotes.train.journal import read_journal
from litotes.train.negation import Negation

SHORT = {"val_fraction": 0.34, "batch_size": 4, "steps": 2, "warmup": 0}
BRIEF = {"recipe": "extended", "mirror_steps": 3}
SUITES = ["mcq", "pairs", "held_out_wordings", "retrieval", "classification", "geometry"]
TERMS = {
    "hanclip": ["loss", "hco", "atnl"],
    "extended": ["loss", "hco", "atnl", "options", "by_picture", "by_statement", "mirror", "retention"],
    "infonce": ["loss", "retention"],
    "negatives": ["loss", "negatives"],
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return table(tmp_path_factory.mktemp("drawn pictures"))


@pytest.fixture(scope="module")
def model(pairs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("small model")
    assert litotes("pretrain", train_data=pairs, output=folder / "run", **SMALL) == 0
    return folder / "run" / "model"


@pytest.fixture
def train(model, pairs, tmp_path):
    def run(**options):
        given = {"model": model, "train_data": pairs, "output": tmp_path / "run", **SHORT}
        return litotes("train", **(given | options))

    return run


def report(folder):
    return json.loads((folder / "report.json").read_text())


def own_notes(found):
    """What a report says besides what the results themselves tell (ties, captions that were cut)."""
    return [note for note in found["notes"] if note not in notes_of_all(found["models"])]


def figures(folder):
    """What base and adapted got, without the seconds it took."""
    models = report(folder)["models"]
    return {
        label: {name: {k: v for k, v in suite.items() if k != "wall_s"} for name, suite in record["suites"].items()}
        for label, record in models.items()
    }


def settings(*line, needed=("--model", "m", "--train-data", "t.csv", "--output", "o")):
    return parse("train", Settings, [*needed, *line])


@pytest.mark.parametrize("recipe", TERMS)
def test_each_recipe_leaves_an_adapter_and_a_report_that_agree(recipe, train, model, tmp_path, capsys):
    assert train(**(BRIEF if recipe == "extended" else {"recipe": recipe})) == 0
    run = tmp_path / "run"
    assert (run / "run-lesson" / "journal.jsonl").exists() == (recipe == "extended")
    lines = read_journal(run / "run" / "journal.jsonl")
    assert [list(line)[4:-1] for line in lines] == [TERMS[recipe]] * 2
    found = report(run)
    base, adapted = found["models"]["base"], found["models"]["adapted"]
    assert list(base["suites"]) == list(adapted["suites"]) == SUITES
    assert own_notes(found) == []
    assert (base["adapter"], base["pretrained"], base["recipe"]) == (None, "base", recipe)
    assert base["fingerprint"] == load_matcher(model).fingerprint
    loaded = load_matcher(model)
    load_adapter(loaded, run / "adapter")
    assert adapted["fingerprint"] == loaded.fingerprint != base["fingerprint"]
    assert str(run / "adapter") in adapted["adapter"]
    assert base["split_sha256"] == adapted["split_sha256"]
    page = (run / "report.html").read_text()
    for title in ("Multiple choice on negation", "Zero-shot classification", "Retrieval", "Geometry"):
        assert title in page
    shown = capsys.readouterr().out
    assert "12 quadruplets to train on, 6 held out" in shown
    assert f"recipe {recipe}: rsLoRA on " in shown
    for text in ("base", "adapted", "difference", "Multiple choice, all 18", "Angle at N", str(run / "report.html")):
        assert text in shown.replace("\n", "")


def test_the_page_tells_the_recipe_the_data_and_what_it_came_to(train, pairs, tmp_path, capsys):
    assert train(**BRIEF, lr=1e-2) == 0
    told, page = report(tmp_path / "run")["adaptation"], (tmp_path / "run" / "report.html").read_text()
    part, _ = training.split(training.from_table(pairs), SHORT["val_fraction"], seed=0)
    assert told["Training data (SHA-256)"] == part.fingerprint()
    assert told["Training data"] == "12 quadruplets of pairs.csv"
    assert told["Recipe"].startswith("extended: beyond the paper: ")
    assert told["Steps"] == "2, 0.667 passes over the data"
    assert (told["Batch"], told["Learning rate"]) == ("4", "0.01 at its peak, 0 steps of rise, then half a cosine to 0")
    recipe = training.recipe_of(settings("--recipe", "extended"))
    weights = recipe.negation
    assert told["Loss"] == (
        f"{weights.hanclip:g} · (HCO + 1 · ATNL) + {weights.options:g} · own options + "
        f"{weights.contrast:g} · statements of the batch + {weights.mirror:g} · mirrored names + "
        f"{weights.retention:g} · InfoNCE on I and P"
    )
    assert told["Temperature"].endswith(", from the model's own")
    for name, value in told.items():
        if name != "outcome":
            assert f'<th scope="row">{name}</th><td>' in page
            assert value.replace("'", "&#39;") in page
    assert told["Lesson before"] == (
        "3 steps of 4 captions and the statements of their pictures, learning rate 0.03, by texts alone; "
        "25% of its weights in those that are kept"
    )
    curves = page[page.index("<h3>Losses</h3>") :]
    assert curves.count("<svg") == len([*TERMS["extended"], "keep"])
    assert told["outcome"][-1] == "With 6 held-out quadruplets, a share can be off by 40 points by chance alone."
    shown = " ".join(capsys.readouterr().out.split())
    assert all(sentence in shown for sentence in told["outcome"])


def test_base_and_adapted_are_compared_question_by_question(train, tmp_path, capsys):
    assert train(lr=1e-2) == 0
    shown, told = " ".join(capsys.readouterr().out.split()), report(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()
    parts = told["differences"]["adapted"]
    assert set(parts) == set(SUITES) - {"geometry"}
    base, adapted = (told["models"][label]["suites"] for label in ("base", "adapted"))
    for part in parts["mcq"]:
        (key,) = part["path"]
        assert (part["before"], part["after"]) == pytest.approx((base["mcq"][key], adapted["mcq"][key]))
        assert part["low"] <= part["after"] - part["before"] <= part["high"]
    assert "Multiple choice, all 18: " in shown and "95 % interval" in shown
    assert "Questions to look at" in page and '<img src="data:image/jpeg' in page
    again = tmp_path / "again.html"
    assert litotes("report", results=tmp_path / "run" / "report.json", output=again) == 0
    assert json.loads(again.with_suffix(".json").read_text())["differences"] == told["differences"]


def test_the_adapter_is_what_evaluate_takes(train, model, pairs, tmp_path):
    assert train() == 0
    captions = write(tmp_path / "captions.csv", [["00.png", "a red ball"], ["01.png", "a box"]], COLUMNS[:2])
    out = tmp_path / "result.json"
    code = litotes(
        "evaluate", model=model, adapter=tmp_path / "run" / "adapter", retrieval=captions, images_root=pairs.parent,
        ks="1,2", output=out,
    )  # fmt: skip
    assert code == 0
    record = json.loads(out.read_text())
    assert record["fingerprint"] == report(tmp_path / "run")["models"]["adapted"]["fingerprint"]
    assert record["suites"]["retrieval"]["i2t"]["2"] == 1


def test_whole_towers_are_saved_as_a_model(train, model, tmp_path, capsys):
    assert train(full=True, lr=1e-2) == 0
    made, before = load_matcher(tmp_path / "run" / "model"), load_matcher(model)
    adapted = report(tmp_path / "run")["models"]["adapted"]
    assert adapted["fingerprint"] == made.fingerprint != before.fingerprint
    assert adapted["pretrained"] == "all weights of text tuned"
    assert not (tmp_path / "run" / "adapter").exists()
    assert "recipe hanclip: all weights of text" in capsys.readouterr().out
    weights, old = made.encoder.base_state(), before.encoder.base_state()
    assert {name.split("_")[0] for name in old if not weights[name].equal(old[name])} == {"text"}


@pytest.mark.parametrize("full", [{}, {"full": True}])
def test_a_stopped_run_goes_on_and_ends_as_if_it_had_not_been_stopped(full, train, tmp_path, monkeypatch, capsys):
    given = {**full, "steps": 4, "lr": 1e-2, "save_frequency": 2, **BRIEF}
    assert train(output=tmp_path / "whole", **given) == 0

    calls, terms = [], Negation.terms

    def stop(task, batch):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return terms(task, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Negation, "terms", stop)
        assert train(**given) == 130
    saved = tmp_path / "run" / "run" / "checkpoint-000002"
    assert capsys.readouterr().err.strip() == (
        f"stopped: step 2 is saved in {saved}; the same command with --resume goes on from there"
    )
    assert not (tmp_path / "run" / "report.json").exists()
    assert train(**given) == 2  # a run is there, and --resume was not said
    assert train(resume=True, **given) == 0
    assert [line["step"] for line in read_journal(tmp_path / "run" / "run" / "journal.jsonl")] == [1, 2, 3, 4]
    assert figures(tmp_path / "run") == figures(tmp_path / "whole")
    fingerprints = [report(tmp_path / name)["models"]["adapted"]["fingerprint"] for name in ("run", "whole")]
    assert fingerprints[0] == fingerprints[1]


def test_a_finished_run_without_its_report_is_only_measured_again(train, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(training, "write_comparison_report", _stop)
        assert train() == 130
    run = tmp_path / "run"
    assert not (run / "report.html").exists()
    journal = (run / "run" / "journal.jsonl").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Negation, "terms", _stop)  # nothing is trained
        assert train(resume=True) == 0
    assert (run / "run" / "journal.jsonl").read_bytes() == journal
    assert (run / "report.html").exists()
    first = figures(run)
    assert train(resume=True, workers=0, save_frequency=7) == 0  # a whole one may be asked for again
    assert figures(run) == first


def _stop(*args, **given):
    raise KeyboardInterrupt


def test_a_kill_while_the_base_is_measured_is_no_obstacle(train, tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(training, "load_data", _stop)
        assert train() == 130
    assert capsys.readouterr().err == "\nstopped: nothing is saved yet; give the same command again\n"
    with monkeypatch.context() as patch:
        patch.setattr(training, "evaluated", _stop)
        assert train() == 130
    told = "no step is saved yet (--save-frequency); the same command with --resume begins again"
    assert capsys.readouterr().err == f"\nstopped: {told}\n"
    assert train(resume=True) == 0
    assert (tmp_path / "run" / "report.html").exists()


def test_what_is_read_again_on_resume_must_be_the_same(train, tmp_path, capsys):
    assert train() == 0
    capsys.readouterr()
    assert train(resume=True, lr=0.5, val_fraction=0.2) == 2
    message = capsys.readouterr().err
    assert "--lr = 0.5 (was 0.0001)" in message
    assert "--val-fraction = 0.2 (was 0.34)" in message
    # Said in other words, the settings are the same.
    assert train(resume=True, lr=1e-4, towers="text", lora_rank=2) == 0


def test_a_file_of_options_is_overruled_by_words(train, tmp_path):
    file = tmp_path / "own.toml"
    file.write_text('recipe = "infonce"\nlr = 0.5\nbatch-size = 3\nlora_targets = "all"\nks = [1, 3]\n')
    given = words(**SHORT | {"config": file, "lr": 1e-3})
    found = settings(*given)
    assert (found.recipe, found.lr, found.batch_size, found.ks) == ("infonce", 1e-3, 4, (1, 3))
    assert train(config=file, lr=1e-3) == 0
    recorded = json.loads((tmp_path / "run" / "config.json").read_text())
    assert recorded["settings"]["recipe"] == "infonce"
    assert recorded["recipe"]["loop"]["lr"] == 1e-3
    assert recorded["recipe"]["lora"]["targets"] == list(training.ALL_LINEAR)
    assert list(report(tmp_path / "run")["models"]["base"]["suites"]["retrieval"]["i2t"]) == ["1", "3"]


def test_the_extended_config_is_the_whole_recipe(pytestconfig):
    folder = pytestconfig.rootpath / "configs"
    needed = ("--model", "m", "--train-data", "t.csv", "--output", "o")
    small = parse("train", Settings, [*needed, "--config", str(folder / "extended" / "small-clip.toml")])
    assert training.recipe_of(small) == training.recipe_of(settings("--recipe", "extended"))


def test_a_recipe_brings_its_own_settings_and_words_change_them():
    hanclip, extended = (training.recipe_of(settings("--recipe", name)) for name in ("hanclip", "extended"))
    assert (hanclip.lora.towers, hanclip.lora.rank, hanclip.loop.lr, hanclip.loop.warmup) == ("text", 2, 1e-4, 200)
    assert (extended.lora.towers, extended.lora.rank, extended.loop.lr) == ("both", 32, 1e-3)
    assert (hanclip.loop.batch_size, extended.loop.batch_size) == (64, 32)
    assert (hanclip.lesson, extended.lesson.loop.steps, extended.lesson.loop.lr) == (None, 400, pytest.approx(3e-3))
    assert extended.loop.steps > 0 == hanclip.loop.steps
    assert hanclip.negation.objective.hco.temperature == 0.01
    assert extended.negation.objective.hco.temperature == "model"
    changed = training.recipe_of(
        settings(
            "--recipe", "extended", "--epochs", "2", "--towers", "text", "--hanclip-weight", "2", "--alpha", "0",
            "--lora-targets", "attention", "--lora-alpha", "3", "--lora-dropout", "0.1", "--warmup", "0",
            "--temperature", "0.2", "--contrast-weight", "0.5", "--mirror-steps", "30", "--lr", "2e-4", "--seed", "5",
        )
    )  # fmt: skip
    assert changed.negation.contrast == 0.5
    lesson = changed.lesson.loop
    assert (lesson.steps, lesson.lr, lesson.warmup, lesson.seed) == (30, pytest.approx(6e-4), 3, 5)
    assert training.recipe_of(settings("--recipe", "extended", "--lesson-share", "0.5")).lesson.share == 0.5
    alone = training.recipe_of(settings("--recipe", "extended", "--mirror-steps", "0"))
    assert (alone.lesson, alone.negation.mirror) == (None, 0)
    assert training.recipe_of(settings("--mirror-steps", "50")).lesson.loop.lr == pytest.approx(3e-4)
    assert (changed.loop.epochs, changed.loop.steps, changed.loop.warmup, changed.lora.towers) == (2, 0, 0, "text")
    assert (changed.negation.hanclip, changed.negation.options, changed.negation.objective.alpha) == (2, 1, 0)
    assert (changed.lora.targets, changed.lora.alpha, changed.lora.dropout) == (training.ATTENTION, 3, 0.1)
    assert changed.negation.objective.hco.temperature == 0.2
    parts = ("--towers", "both", "--lora-layers", "0,2-3", "--lora-vision-layers", "half-up")
    lora = training.recipe_of(settings(*parts)).lora
    assert (lora.layers_of("text"), lora.layers_of("vision")) == ("0,2-3", "half-up")
    assert hanclip.lora.layers_of("vision") == "all"
    full = training.recipe_of(settings("--full", "--towers", "vision"))
    assert (full.lora, full.full, full.loop.lr) == (None, "vision", 5e-6)


def test_a_warm_up_ends_before_the_run_does():
    # 1,800 quadruplets in batches of 64 are 29 steps: a warm-up of 200 would never reach the peak.
    own = settings()
    short = training.with_reachable_rate(training.recipe_of(own), 1800, own)
    assert (short.loop.warmup, short.loop.lr) == (2, 1e-4)
    assert training.with_reachable_rate(training.recipe_of(own), 20_000, own).loop.warmup == 200
    asked = settings("--steps", "60", "--warmup", "60")
    with pytest.raises(UserError, match="--warmup 60 in a run of 60 steps"):
        training.with_reachable_rate(training.recipe_of(asked), 1800, asked)
    kept = settings("--steps", "60", "--warmup", "59")
    assert training.with_reachable_rate(training.recipe_of(kept), 1800, kept).loop.warmup == 59


def test_scaled_features_are_measured_on_the_base_and_shown_as_trained(train, model, pairs, tmp_path):
    assert train(norm="scale", temperature="model") == 0
    base = report(tmp_path / "run")["models"]["base"]["suites"]["geometry"]
    assert base["norm"] == "scale"
    lengths = load_matcher(model).encode_images(training.from_table(pairs).pictures).norm(dim=-1)
    assert base["radius"]["image"] == pytest.approx(2, abs=0.1)
    assert base["radius_raw"]["image"] == pytest.approx(2 * float(lengths.mean()), rel=0.1)


def test_pictures_are_held_out_with_all_their_captions(pairs, tmp_path):
    rows = [line.split(",") for line in pairs.read_text().splitlines()[1:]]
    twice = write(tmp_path / "twice.csv", [*rows, *rows])
    data = training.from_table(twice, pairs.parent)
    part, held = training.split(data, 0.25, seed=1)
    names = [{some.pictures.name(i) for i in range(len(some))} for some in (part, held)]
    assert names[0].isdisjoint(names[1])
    assert (len(names[1]), len(held), len(part)) == (4, 8, 28)  # a quarter of 18 pictures is 4.5
    again, other = training.split(data, 0.25, seed=1)[1], training.split(data, 0.25, seed=2)[1]
    assert held.fingerprint() == again.fingerprint() != other.fingerprint()
    assert training.split(data, 0.25, 1)[1].captions == held.captions
    # Each held-out picture stands once among the pictures, and both its captions are queries.
    asked = measuring.report_suites(data, held, settings("--ks", "1,2"), Screening())
    retrieval = next(suite for suite in asked.suites if suite.name == "retrieval")
    assert len(retrieval.pictures) == 4
    for caption, owner in zip(retrieval.captions, retrieval.image_of_caption, strict=True):
        row = next(row for row in rows if row[0] == retrieval.pictures.name(owner))
        assert caption == row[1]


def test_questions_about_held_out_pictures_are_true_where_they_say_so(pairs):
    data = training.from_table(pairs)
    _, held = training.split(data, 0.5, seed=0)
    asked = {suite.name: suite for suite in measuring.report_suites(data, held, settings(), Screening()).suites}
    things = {held.pictures.name(i): set(held.objects[i]) for i in range(len(held))}
    mcq = asked["mcq"]
    assert len(mcq.options) == 3 * len(held)
    for options, answer, image, kind in zip(mcq.options, mcq.correct, mcq.image_of_question, mcq.types, strict=True):
        there = things[mcq.pictures.name(image)]
        assert [says(option, there) for option in options] == [i == answer for i in range(4)]
        assert ("not" in options[answer]) == (kind != "positive")
    classification = asked["classification"]
    shown = [name.split(" ")[1] for name in classification.classnames]
    for i, label in enumerate(classification.labels):
        assert things[classification.pictures.name(i)] & set(shown) == {shown[label]}
    assert len(set(classification.labels)) == len(shown) >= 2
    held_out = asked["held_out_wordings"].pairs
    assert list(held_out) == ["hybrid_absent_over_present", "absence_absent_over_present"]
    assert all(true != false for texts in held_out.values() for true, false in zip(*texts, strict=True))


def says(statement, there):
    """Whether a statement in NegBench's wording is true of a picture with these things."""
    affirmed, _, denied = re.sub(r"\b(includes|an?|This image|does|include)\b|\.", "", statement).partition("not")
    named, absent = ({word for word in part.split() if word not in ("and", "but")} for part in (affirmed, denied))
    return named <= there and not absent & there


def test_without_names_of_things_what_was_not_measured_is_said(train, model, tmp_path, capsys):
    plain = table(tmp_path / "plain", columns=COLUMNS[:3])
    assert train(train_data=plain) == 0
    shown = " ".join(capsys.readouterr().out.split())
    page, found = (tmp_path / "run" / "report.html").read_text(), report(tmp_path / "run")
    assert list(found["models"]["adapted"]["suites"]) == ["pairs", "retrieval", "geometry"]
    assert len(own_notes(found)) == 2
    for note, option in zip(own_notes(found), ("--choice", "--classification"), strict=True):
        assert option in note
        assert note in shown
        assert note in page
    classes = write(tmp_path / "classes.csv", [["00.png", "red"], ["01.png", "blue"]], COLUMNS[:2])
    for name in ("00.png", "01.png"):
        (tmp_path / name).write_bytes((tmp_path / "plain" / name).read_bytes())
    assert train(train_data=plain, output=tmp_path / "other", classification=classes) == 0
    found = report(tmp_path / "other")
    assert list(found["models"]["base"]["suites"]) == ["pairs", "retrieval", "classification", "geometry"]
    assert [note.split(" was ")[0] for note in own_notes(found)] == ["Multiple choice on negation"]


def test_names_may_come_from_the_captions_and_that_is_said(train, pairs, tmp_path, capsys):
    rows = [line.split(",")[:3] for line in table(tmp_path / "plain").read_text().splitlines()[1:]]
    rows[0][1], rows[4][1] = "nothing of this", "a red ball"
    plain = write(tmp_path / "plain" / "captions.csv", rows, COLUMNS[:3])
    assert train(train_data=plain, objects_from="captions", **BRIEF) == 0
    shown, found = " ".join(capsys.readouterr().out.split()), report(tmp_path / "run")
    named = training.load_data(settings("--objects-from", "captions", needed=needed(plain)), Screening())
    assert named.objects[:5] == ((), ("ball", "kite"), ("ball", "bar"), ("ball", "arch"), ("ball",))
    told, left_out = own_notes(found)
    assert "5 names, 1.8 a picture; most often" in told
    assert "Of 18 pictures, 1 have no name and 1 only one. What the captions do not mention counts as absent" in told
    assert left_out == (
        "1 of 12 quadruplets to train on are left out, since the captions of their pictures mention none of these "
        "names."
    )
    assert "11 quadruplets to train on, 6 held out" in shown
    page = (tmp_path / "run" / "report.html").read_text()
    assert all(note in shown and note in page for note in found["notes"])
    assert found["adaptation"]["Training data"] == "11 quadruplets of captions.csv"
    assert found["adaptation"]["Things in the pictures"].startswith("nouns of the captions; what they do not mention")
    for record in found["models"].values():
        assert (record["objects_from"], list(record["suites"])) == ("captions", SUITES)
    assert json.loads((tmp_path / "run" / "config.json").read_text())["settings"]["objects_from"] == "captions"
    assert train(train_data=plain, resume=True, **BRIEF) == 2
    assert "--objects-from = column (was captions)" in capsys.readouterr().err


def needed(path):
    return ("--model", "m", "--train-data", str(path), "--output", "o")


def test_a_recipe_without_statements_trains_on_pictures_without_a_name_too(tmp_path):
    rows = [line.split(",")[:3] for line in table(tmp_path).read_text().splitlines()[1:]]
    rows[0][1] = rows[1][1] = "nothing of this"
    plain = write(tmp_path / "captions.csv", rows, COLUMNS[:3])
    data = training.load_data(settings("--objects-from", "captions", needed=needed(plain)), Screening())
    part, notes = training.named_part(data, data, needed=False)
    assert (part.captions, len(notes)) == (data.captions, 1)
    part, notes = training.named_part(data, data, needed=True)
    assert part.captions == data.captions[2:]
    assert notes[1].startswith("2 of 18 quadruplets to train on are left out")
    # Names are looked for before the draw, in all captions.
    drawn = training.load_data(
        settings("--objects-from", "captions", "--train-num-samples", "2", needed=needed(plain)), Screening()
    )
    assert drawn.objects == data.choose(2, seed=0).objects


def test_a_run_from_before_an_option_goes_on(train, tmp_path):
    assert train() == 0
    path = tmp_path / "run" / "config.json"
    recorded = json.loads(path.read_text())
    del recorded["settings"]["objects_from"]
    path.write_text(json.dumps(recorded))
    assert train(resume=True) == 0


def test_files_replace_the_questions_made_from_the_table(train, pairs, tmp_path):
    questions = [["02.png", 1, "a cup", "a ball"], ["03.png", 0, "no cup", "no ball"]]
    mcq = write(pairs.parent / "mcq.csv", questions, ["image_path", "correct_answer", "caption_0", "caption_1"])
    negated = write(
        pairs.parent / "negated.csv", [["02.png", "a ball, no cup"], ["03.png", "a box, no cup"]], COLUMNS[:2]
    )
    assert train(choice=mcq, negated_retrieval=negated, ks="1,2") == 0
    suites = report(tmp_path / "run")["models"]["base"]["suites"]
    assert list(suites) == [*SUITES[:4], "retrieval_neg", *SUITES[4:]]
    assert suites["mcq"]["n"] == 2
    assert suites["retrieval_neg"]["n_texts"] == 2


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"val_fraction": 0}, ("--val-fraction 0.0 of 18 pictures", "between 0 and 1")),
        ({"val_fraction": 0.001}, ("--val-fraction 0.001 of 18 pictures", "at least one picture")),
        ({"val_fraction": 0.999}, ("--val-fraction 0.999", "at least one picture")),
        ({"val_fraction": 7}, ("--val-fraction 7.0",)),
        ({"val_fraction": "nan"}, ("--val-fraction nan",)),
        ({"val_fraction": "many"}, ("--val-fraction many", "NUMBER")),
        ({"model": "nowhere"}, ("nowhere", "a folder")),
        ({"train_data": "nowhere.csv"}, ("nowhere.csv",)),
        ({"train_num_samples": 99}, ("99 quadruplets asked for (--train-num-samples)", "1 .. 18")),
        ({"device": "warp:9"}, ("warp:9", "--device cpu")),
        ({"resume": True}, ("run, which is not there", "leave out --resume")),
        ({"output": __file__}, (f"--output {__file__}, but {__file__} is no folder",)),
        ({"cache": __file__}, (f"--cache {__file__}, but {__file__} is no folder",)),
        ({"full": True, "lora_rank": 4}, ("--full with --lora-rank",)),
        ({"recipe": "infonce", "alpha": 0.5, "reading": "paper_literal"}, ("--alpha, --reading with", "infonce")),
        ({"hanclip_weight": 0, "retention_weight": 1, "temperature": "model"}, ("--temperature with", "hanclip")),
        ({"retention_weight": -1}, ("--retention-weight -1.0",)),
        ({"lr": "nan"}, ("--lr nan", "NUMBER")),
        ({"lr": -1}, ("--lr -1.0", "a number above 0")),
        ({"lr": 0}, ("--lr 0.0", "a number above 0")),
        ({"steps": -3}, ("--steps -3", "a number from 1 on")),
        ({"epochs": 0, "steps": 1}, ("--epochs 0",)),
        ({"batch_size": 0}, ("--batch-size 0",)),
        ({"save_frequency": -1}, ("--save-frequency -1",)),
        ({"accum_freq": 0}, ("--accum-freq 0",)),
        ({"accum_freq": 3}, ("--save-frequency 200 with --accum-freq 3", "give --save-frequency 201")),
        ({"precision": "fp16"}, ("--precision fp16 on the CPU",)),
        ({"wd": -0.1}, ("--wd -0.1",)),
        ({"seed": -1}, ("--seed -1",)),
        ({"temperature": 0}, ("--temperature 0.0", "or model")),
        ({"lora_dropout": 1}, ("--lora-dropout 1.0",)),
        ({"curvature": 0}, ("--curvature 0.0",)),
        ({"images_root": "nowhere"}, ("image root nowhere (--images-root)",)),
        ({"hanclip_weight": 0}, ("every weight 0",)),
        ({"batch_size": 1}, ("each with one pair",)),
        ({"towers": "audio"}, ("--towers audio", "text|vision|both")),
        ({"lora_rank": 0}, ("--lora-rank 0",)),
        ({"lora_layers": ""}, ("layers ''", "half-up, or numbers")),
        ({"lora_layers": "top"}, ("layers 'top'", "half-up, or numbers")),
        ({"lora_layers": "0,2-1"}, ("layers 0,2-1, with 2-1", "say 1-2")),
        ({"lora_layers": "1-2"}, ("layers 1-2 of a tower of 1 blocks", "blocks among 0 to 0")),
        ({"lora_vision_layers": "up"}, ("of the text tower alone",)),
        ({"full": True, "lora_layers": "up"}, ("--full with --lora-layers",)),
        ({"epoch": 3}, ("--epoch", "did you mean '--epochs'")),
        ({"choice": "nowhere.csv"}, ("nowhere.csv",)),
        ({"config": "nowhere.toml"}, ("nowhere.toml",)),
        ({"alpha": -1}, ("--alpha -1.0",)),
        ({"steps": 0}, ("--steps 0", "a number from 1 on")),
        ({"objects_from": "captions"}, ("--objects-from captions", "objects column", "leave out --objects-from")),
        ({"objects_from": "air"}, ("--objects-from air", "column|captions")),
        ({"remove_commas": "both"}, ("--remove-commas both without --cc-neg",)),
        ({"temperature": "hot"}, ("--temperature hot", "NUMBER|model")),
    ],
)
def test_a_mistake_is_told_in_three_parts_and_nothing_is_trained(options, parts, train, tmp_path, capsys):
    assert train(**options) == 2
    message = capsys.readouterr().err
    assert message.startswith("litotes train: this cannot be done as asked.\ngot:      ")
    assert [line.split(":")[0] for line in message.splitlines() if line[:5] in ("got: ", "expec", "do:  ")] == [
        "got", "expected", "do",
    ]  # fmt: skip
    for part in parts:
        assert part in message
    assert not (tmp_path / "run" / "run").exists()
    assert not (tmp_path / "run" / "report.html").exists()


def test_mistakes_in_the_table_are_told_before_the_model_is_loaded(train, pairs, tmp_path, capsys):
    def message(**options):
        assert train(model=tmp_path / "no model", **options) == 2
        assert not (tmp_path / "run").exists()
        return capsys.readouterr().err

    plain = table(tmp_path / "plain", columns=COLUMNS[:3])
    told = message(recipe="extended", train_data=plain)
    assert "plain/pairs.csv without an objects column" in told
    assert "--objects-from captions" in told
    mute = [[f"{i:02d}.png", "nothing of this", "no ball"] for i in range(18)]
    mute = write(tmp_path / "plain" / "mute.csv", mute, COLUMNS[:3])
    told = message(recipe="extended", train_data=mute, objects_from="captions")
    assert "0 names in the captions of 18 pictures" in told
    assert "every weight" in message(
        recipe="extended", options_weight=0, contrast_weight=0, mirror_weight=0, hanclip_weight=0, retention_weight=0
    )
    rows = [line.split(",") for line in pairs.read_text().splitlines()[1:]]
    gaps = write(tmp_path / "gaps.csv", [*rows[:3], *([row[0], row[1], row[2], ""] for row in rows[3:])])
    assert "pictures without objects: " in message(recipe="extended", train_data=gaps, images_root=pairs.parent)
    lost = write(tmp_path / "lost.csv", [*rows, ["lost/1.png", "a ball", "no ball", "ball"]])
    told = message(train_data=lost, images_root=pairs.parent)
    assert "1 of 19 pictures are missing" in told
    assert "lost/1.png" in told
    odd = write(tmp_path / "odd.csv", [row[:2] for row in rows], ["filepath", "words"])
    told = message(train_data=odd, images_root=pairs.parent)
    assert "caption" in told
    assert "words" in told
    questions = [["02.png", 0, "a cup", "a ball"]]
    mcq = write(tmp_path / "mcq.csv", questions, ["image_path", "correct_answer", "caption_0", "caption_1"])
    few = write(pairs.parent / "few.csv", [rows[0][:2]], COLUMNS[:2])
    told = message(choice=mcq, retrieval=few, ks="1,50")
    assert "02.png" in told
    assert "recall at K = 50 over 1 images (--ks)" in told
    assert "no model, which is not a folder here" in told


def test_a_batch_that_the_table_cannot_fill_is_said(train, tmp_path, capsys):
    assert train(batch_size=64) == 0
    note = "The batch of 64 is larger than the 12 examples to train on: every step takes all 12."
    assert note in " ".join(capsys.readouterr().out.split())
    assert own_notes(report(tmp_path / "run")) == [note]
    assert note in (tmp_path / "run" / "report.html").read_text()


def test_captions_that_say_the_same_in_a_published_table_are_said(pairs):
    data = training.from_table(pairs)
    odd = replace(data, negatives=(data.captions[0], *data.negatives[1:]))
    assert training.data_notes(odd, 4) == ["1 of 18 negated captions say the same as a true caption of their picture."]
    assert training.data_notes(data, 18) == []


def test_a_mistake_ends_a_process_with_code_2_and_no_traceback(model, tmp_path):
    done = litotes_apart("train", model=model, train_data=tmp_path / "none.csv", output=tmp_path / "run")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[0] == "litotes train: this cannot be done as asked."
    assert (done.stdout, "none.csv" in done.stderr) == ("", True)


def test_a_cache_keeps_the_features_of_the_frozen_tower(train, tmp_path):
    cache = tmp_path / "cache"
    assert train(cache=cache) == 0
    kept = {file.name for file in cache.iterdir()}
    assert len(kept) == 1
    assert train(cache=cache, output=tmp_path / "second") == 0
    assert {file.name for file in cache.iterdir()} == kept
    assert figures(tmp_path / "second") == figures(tmp_path / "run")


def test_the_outcome_depends_on_no_random_state_from_outside(train, tmp_path):
    torch.manual_seed(5)
    assert train() == 0
    torch.manual_seed(6)
    assert train(output=tmp_path / "again") == 0
    assert figures(tmp_path / "again") == figures(tmp_path / "run")
