"""The command line as a person meets it: names, options, settings files, messages, exit codes."""

import os
import subprocess
import sys
import warnings
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

import litotes
from litotes import cli
from litotes.cli import COMMANDS, main
from litotes.cli.options import described
from litotes.config import field_names
from litotes.errors import Note, UserError


@dataclass(frozen=True)
class Settings:
    """What to do.

    What goes in:

    source: what to read, a folder or
        a table.
    cache: folder that keeps features.

    The rest:

    batch_size: pairs a step.
    rate: of learning.
    temperature: a number or the model's own.
    ks: ranks.
    shares: of wrong pairs.
    kind: of both.
    resume: go on.
    """

    source: Path
    batch_size: int = 64
    rate: float = 1e-3
    temperature: float | Literal["model"] = 0.01
    ks: tuple[int, ...] = (1, 5)
    cache: Path | None = None
    kind: Literal["plain", "fancy"] = "plain"
    resume: bool = False
    shares: tuple[float, ...] = (0.5,)


@pytest.fixture
def command(monkeypatch):
    """Replaces ``litotes evaluate`` by a command that keeps its settings, or raises what it is told to."""
    seen = SimpleNamespace(settings=None, error=None)

    def run(settings):
        seen.settings = settings
        if seen.error:
            raise seen.error

    def load(module):
        return SimpleNamespace(Settings=Settings, run=run)

    monkeypatch.setattr(cli.importlib, "import_module", load)
    return seen


def refused(capsys, *words):
    """The message of a mistake; checks that it is one message with three parts, and nothing else."""
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    called = " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else words[0]
    assert lines[0] == f"litotes {called}: this cannot be done as asked."
    assert [line.split(":")[0] for line in lines[1:]] == ["got", "expected", "do"]
    return err


def test_help_lists_every_command(capsys):
    for words in (["--help"], ["-h"], []):
        assert main(words) == 0
        text = capsys.readouterr().out
        assert 'adapt CLIP models to "not", and measure how far that gets them' in text
        assert "not sure" not in text  # uncertainty is not built yet
        assert "usage: litotes COMMAND [options]" in text
        assert all(f"  {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_of_a_group_lists_its_commands(word, capsys):
    assert main(["data", word]) == 0
    text = capsys.readouterr().out
    assert "  data convert-cc-neg  " in text
    assert "  train " not in text
    assert main(["dta", word]) == 2


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"litotes {litotes.__version__}\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["trian"], "did you mean 'train'?"),
        (["evalute", "--model", "x"], "did you mean 'evaluate'?"),
        (["demo", "pretrian"], "did you mean 'demo pretrain'?"),
        (["data", "convert-cc"], "did you mean 'data convert-cc-neg'?"),
        (["data", "fewshot"], "did you mean 'data few-shot'?"),
        (["report", "publishd"], "did you mean 'report published'?"),
        (["report", "a.json", "b.json"], "write --results a.json, and --results before each other file too"),
        (["report", "--results", "a.json", "b.json"], "write --results b.json, and"),
        (["report", "published.json"], "write --results published.json"),
        (["train", "pairs.csv"], "put values with blanks in quotes"),
        (["data"], "say what to do: data convert-cc-neg"),
        (["xyz"], "one of calibrate, convert, data convert-cc-neg, data few-shot, data suspects"),
    ],
)
def test_an_unknown_command_is_answered_with_the_nearest(words, expected, capsys):
    assert expected in refused(capsys, *words)


def test_commands_of_two_words_and_of_one_are_told_apart():
    assert cli.split_command(["demo", "pretrain", "--seed", "1"]) == ("demo pretrain", ["--seed", "1"])
    assert cli.split_command(["demo", "--seed", "1"]) == ("demo", ["--seed", "1"])
    assert cli.split_command(["evaluate", "x"]) == ("evaluate", ["x"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--batch-sise", "4"], "did you mean '--batch-size'?"),
        (["--batch_sise=4"], "did you mean '--batch-size'?"),
        (["--source", "a", "--batch-size"], "--batch-size without a value"),
        (["--source", "--resume"], "--source without a value"),
        (["--batch-size", "4"], "no --source"),
        (["--source", "a", "more"], "'more' where an option should stand"),
        (["--source", "a", "--batch-size", "four"], "expected: INTEGER"),
        (["--source", "a", "--rate", "fast"], "expected: NUMBER"),
        (["--source", "a", "--temperature", "warm"], "expected: NUMBER|model"),
        (["--source", "a", "--rate", "nan"], "--rate nan, which is not a number"),
        (["--source", "a", "--rate=-inf"], "--rate -inf, which is infinite"),
        (["--source", "a", "--rate", "1e999"], "--rate 1e999, which is infinite"),
        (["--source", "a", "--temperature", "-.INF"], "--temperature -.INF, which is infinite"),
        (["--source", "a", "--temperature", "Infinity"], "expected: NUMBER|model, finite"),
        (["--source", "a", "--shares", "0.5,nan"], "--shares 0.5,nan, which is not a number"),
        (["--source", "a", "--kind", "odd"], "expected: plain|fancy"),
        (["--source", "a", "--ks", "[1,x]"], "expected: INTEGER,..."),
        (["--source", "a", "--resume=perhaps"], "expected: true or false"),
        (["--source", "a", "--config", "nowhere.toml"], "no file nowhere.toml"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_run(words, expected, command, capsys):
    assert expected in refused(capsys, "evaluate", *words)
    assert command.settings is None


def test_hyphens_underscores_and_the_equals_sign_mean_the_same(command):
    wanted = Settings(Path("a b"), batch_size=4)
    for words in (["--batch-size", "4"], ["--batch_size", "4"], ["--batch-size=4"], ["--batch_size=4"]):
        assert main(["evaluate", "--source", "a b", *words]) == 0
        assert command.settings == wanted


def test_values_of_every_kind_are_read(command):
    words = "--source=s --rate 2 --temperature model --ks 3,4 --cache c --kind fancy --resume --batch-size=-1"
    assert main(["evaluate", *words.split()]) == 0
    assert command.settings == Settings(Path("s"), -1, 2.0, "model", (3, 4), Path("c"), "fancy", True)
    assert isinstance(command.settings.rate, float)
    assert main(["evaluate", "--source", "s", "--temperature", "0.07"]) == 0
    assert command.settings.temperature == 0.07


@pytest.mark.parametrize(
    ("words", "value"),
    [([], False), (["--resume"], True), (["--resume", "true"], True), (["--resume", "false"], False),
     (["--resume", "--rate", "1"], True)],
)  # fmt: skip
def test_a_switch_stands_alone_or_with_its_value(words, value, command):
    assert main(["evaluate", "--source", "s", *words]) == 0
    assert command.settings.resume is value


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_settings_file_is_read_and_words_win(command, tmp_path):
    file = write(
        tmp_path / "a.toml",
        'source = "from file"\nbatch-size = 8\nrate = 0.5\nks = [2, 3]\nresume = true\ntemperature = "model"\n',
    )
    assert main(["evaluate", "--config", file, "--rate", "0.25"]) == 0
    assert command.settings == Settings(Path("from file"), 8, 0.25, "model", (2, 3), None, "plain", True)
    assert main(["evaluate", f"--config={file}", "--resume=false"]) == 0
    assert command.settings.resume is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('source = "a"\nbatch_sise = 8\n', "did you mean '--batch-size'?"),
        ('source = "a"\n[loop]\nrate = 8\n', "'--loop.rate' in "),
        ('source = "a"\nbatch_size = "many"\n', "--batch-size many"),
        ("source = \n", "valid TOML"),
    ],
)
def test_a_wrong_settings_file_is_refused(text, expected, command, capsys, tmp_path):
    assert expected in refused(capsys, "evaluate", "--config", write(tmp_path / "a.toml", text))
    assert command.settings is None


def test_the_help_of_a_command_explains_every_option(command, capsys):
    assert main(["evaluate", "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: litotes evaluate --source PATH [options]\n")
    assert "\nwhat goes in:\n  --source PATH " in text
    assert text.index("--source PATH") < text.index("--cache PATH") < text.index("the rest:") < text.index("--rate")
    found = {line.split()[0]: " ".join(line.split()[1:]) for line in text.splitlines() if line.startswith("  --")}
    assert found == {
        "--source": "PATH what to read, a folder or a table",
        "--cache": "PATH folder that keeps features",
        "--batch-size": "INTEGER pairs a step [64]",
        "--rate": "NUMBER of learning [0.001]",
        "--temperature": "NUMBER|model",
        "--ks": "INTEGER,... ranks [1,5]",
        "--shares": "NUMBER,... of wrong pairs [0.5]",
        "--kind": "plain|fancy of both [plain]",
        "--resume": "go on",
        "--config": "FILE file with any of these options, in TOML; options given as words win",
    }
    assert main(["evaluate", "--source", "a", "-h"]) == 0
    assert command.settings is None


@pytest.mark.parametrize("name", COMMANDS)
def test_every_real_command_explains_itself(name, capsys):
    assert main([*name.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: litotes {name} ")
    kind = cli.importlib.import_module(COMMANDS[name].module).Settings
    explained = {field for part in described(kind) for field, meaning in part.meanings.items() if len(meaning) > 3}
    assert explained == set(field_names(kind))
    assert all(f"--{field.replace('_', '-')}" in text for field in explained)


def test_a_mistake_found_by_the_command_is_a_message(command, capsys):
    command.error = UserError(got="seven", expected="six", do="count again")
    assert "got:      seven" in refused(capsys, "evaluate", "--source", "a")


def test_a_place_that_cannot_be_written_is_a_message(command, capsys, tmp_path):
    command.error = PermissionError(13, "Permission denied", str(tmp_path / "out"))
    assert f"{tmp_path / 'out'}: Permission denied" in refused(capsys, "evaluate", "--source", "a")


@pytest.mark.parametrize("name", ["demo", "demo extended", "demo pretrain"])
def test_a_number_out_of_range_is_told_by_its_option(name, capsys):
    assert "--seed -1" in refused(capsys, *name.split(), "--seed=-1")


@pytest.mark.parametrize("name", ["demo", "demo extended", "demo pretrain"])
def test_a_file_where_the_demos_folder_should_be_is_told_before_the_work(name, capsys, tmp_path):
    (tmp_path / "file").write_text("kept")
    where = f"--output {tmp_path / 'file'}, but {tmp_path / 'file'} is no folder"
    assert where in refused(capsys, *name.split(), "--output", str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_where_the_demos_page_should_be_is_told_before_the_work(capsys, tmp_path):
    (tmp_path / "report.html").mkdir()
    assert "report.html, which is a folder" in refused(capsys, "demo", "--output", str(tmp_path))


def test_an_error_of_ours_is_not_hidden(command):
    for command.error in (OSError("a broken pipe, say"), ValueError("a bug")):
        with pytest.raises(type(command.error)):
            main(["evaluate", "--source", "a"])


def test_an_interrupt_may_say_where_it_stands(command, capsys):
    command.error = KeyboardInterrupt("step 3 is saved")
    assert main(["evaluate", "--source", "a"]) == 130
    assert capsys.readouterr().err == "\nstopped: step 3 is saved\n"


def test_an_interrupt_ends_quietly(command, capsys):
    command.error = KeyboardInterrupt()
    assert main(["evaluate", "--source", "a"]) == 130
    assert capsys.readouterr().err == "\nstopped\n"


@pytest.mark.parametrize(
    "name", ["pretrain", "train", "train vacsr", "evaluate", "calibrate", "data suspects", "demo pretrain"]
)
def test_a_number_of_processes_with_a_digit_too_many_is_refused_by_every_command(name, capsys):
    kind = cli.importlib.import_module(COMMANDS[name].module).Settings
    needed = [f"--{field.name.replace('_', '-')}=x" for field in fields(kind) if field.default is MISSING]
    told = refused(capsys, *name.split(), *needed, "--workers", "9999")
    assert "--workers 9999 on a machine with " in told and "0 to do without" in told


def test_the_demo_of_pairs_has_no_more_trainings_at_once_than_a_machine_can_do(capsys, tmp_path):
    told = refused(capsys, "demo", "vacsr", "--output", str(tmp_path / "out"), "--workers", "9999")
    assert "--workers 9999 on a machine with " in told and not (tmp_path / "out").exists()


def test_python_m_litotes_is_litotes():
    def run(*words):
        return subprocess.run([sys.executable, "-m", "litotes", *words], capture_output=True, text=True, check=False)

    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"litotes {litotes.__version__}\n", "")
    done = run("convert", "--sorce", "a")
    assert done.returncode == 2 and "did you mean '--source'?" in done.stderr


def test_a_terminal_without_a_character_shows_another_in_its_place():
    code = "import sys; from litotes.cli import main; main(['--version']); print('\\u2212', file=sys.stderr)"
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
    assert done.stderr.strip() == b"?"


def test_a_mistake_in_a_command_of_two_words_names_both(capsys):
    for words in (["data", "suspects"], ["train", "vacsr"], ["report", "published"]):
        assert main([*words, "--nonsense", "1"]) == 2
        assert capsys.readouterr().err.startswith(f"litotes {' '.join(words)}: this cannot be done as asked.\n")


def test_a_note_is_told_once_and_other_warnings_as_ever(monkeypatch, capsys):
    def warned(words):
        for line in range(2):
            warnings.warn_explicit("clipped", Note, f"file{line}.py", line + 1)  # as from two processes
        warnings.warn("something else", UserWarning, stacklevel=1)

    monkeypatch.setattr(cli, "_run", warned)
    with pytest.warns(UserWarning, match="something else") as caught:
        assert cli.main(["evaluate"]) == 0
    assert [str(one.message) for one in caught] == ["something else"]
    assert capsys.readouterr().err == "note: clipped\n"


def test_a_reader_who_has_enough_ends_the_command_without_a_word():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "litotes", "evaluate", "--help"], stdout=closed, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")
