"""The command line: a table of commands, each imported only when it is called."""

import difflib
import importlib
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

import litotes
from litotes.cli.options import help_text, parse
from litotes.config import require_known
from litotes.errors import Note, UserError

_HELP = ("-h", "--help")


@dataclass(frozen=True)
class Command:
    """Where a command lives: a module with ``Settings`` (a dataclass) and ``run(settings)``."""

    module: str
    help: str


COMMANDS = {
    "demo": Command("litotes.cli.demo", "adapt the small CLIP that comes with the package, and show what changed"),
    "demo pretrain": Command("litotes.cli.demo_pretrain", "pretrain the demo's small CLIP again, from nothing"),
    "demo extended": Command("litotes.cli.demo_extended", "train the demo's extended adapter again"),
    "demo vacsr": Command("litotes.cli.demo_vacsr", "train on pairs of which some are wrong, in four ways; compare"),
    "pretrain": Command("litotes.cli.pretrain", "pretrain a small CLIP from scratch on pictures with captions"),
    "train": Command("litotes.cli.train", "adapt a CLIP model to negation on your pictures and captions"),
    "train vacsr": Command(
        "litotes.cli.train_vacsr", "learn how likely and how surely captions fit, on a frozen model or with it"
    ),
    "evaluate": Command("litotes.cli.evaluate", "measure negation, retrieval and classification of a model"),
    "report": Command("litotes.cli.report", "put results side by side, or beside published figures, as a page"),
    "report published": Command("litotes.cli.report_published", "list the published figures that report can show"),
    "report base-novel": Command(
        "litotes.cli.report_base_novel",
        "sum up results on base and novel classes by data set, with their harmonic mean",
    ),
    "doctor": Command("litotes.cli.doctor", "tell what a model is, whether it answers soundly, and what is odd of it"),
    "convert": Command("litotes.cli.convert", "turn a CLIP, LongCLIP, SmartCLIP or HiMo-CLIP file into a model folder"),
    "calibrate": Command("litotes.cli.calibrate", "make probabilities of what an adapter of pairs says"),
    "export": Command("litotes.cli.export", "write a model, adapter merged, or an adapter for other tools"),
    "data suspects": Command(
        "litotes.cli.data_suspects", "list the pairs of a data set that look wrong, and those that it lacks"
    ),
    "data few-shot": Command(
        "litotes.cli.data_few_shot", "draw a few pictures a class to train on, and part base and novel classes"
    ),
    "data convert-cc-neg": Command("litotes.cli.convert_cc_neg", "convert CC-Neg's pickle once, safely, to parquet"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code: 0, or 2 after a message for a user's mistake.

    141, without a word, where whoever read the output has closed it, as ``head`` does.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a character shows another one in its place; no run ends for that.
            stream.reconfigure(errors="replace")
    try:
        with _notes_told():
            _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        _say_no_more()
        return 141
    except (UserError, OSError) as error:
        problem = error if isinstance(error, UserError) else _as_user_error(error)
        print(f"litotes {_called(words)}: this cannot be done as asked.\n{problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        print(f"\nstopped: {stop}" if str(stop) else "\nstopped", file=sys.stderr)
        return 130
    return 0


@contextmanager
def _notes_told() -> Iterator[None]:
    """Within it, each ``Note`` is a line on stderr, told once wherever it is raised; other warnings are as ever."""
    told: set[str] = set()
    with warnings.catch_warnings():
        show = warnings.showwarning

        def tell(
            message: Warning | str, category: type[Warning], filename: str, lineno: int,
            file: TextIO | None = None, line: str | None = None,
        ) -> None:  # fmt: skip
            if not issubclass(category, Note):
                show(message, category, filename, lineno, file, line)
            elif str(message) not in told:
                told.add(str(message))
                print(f"note: {message}", file=sys.stderr)

        warnings.showwarning = tell
        yield


def _called(words: list[str]) -> str:
    """The command that was asked for, in one word or two."""
    pair = " ".join(words[:2])
    return pair if pair in COMMANDS else words[0]


def _say_no_more() -> None:
    """Let what is still to be written to the standard output go nowhere, so that Python's end does not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> None:
    if not words or words[0] in _HELP:
        print(overview())
        return
    if _is_group(words[0]) and words[1:] and words[1] in _HELP:
        print(overview(words[0]))
        return
    if words[0] == "--version":
        print(f"litotes {litotes.__version__}")
        return
    name, rest = split_command(words)
    module = importlib.import_module(COMMANDS[name].module)
    if any(word in _HELP for word in rest):
        print(help_text(name, COMMANDS[name].help, module.Settings))
    else:
        module.run(parse(name, module.Settings, rest))


def _as_user_error(error: OSError) -> UserError:
    """A file that cannot be read or written, told as a mistake; anything else of the system is not one."""
    if error.filename is None:
        raise error
    return UserError(
        got=f"{error.filename}: {error.strerror}",
        expected="a place that can be read or written",
        do="check the path and its permissions",
    )


def _is_group(word: str) -> bool:
    """Whether a word only begins the names of commands, as "data" does."""
    return word not in COMMANDS and any(name.startswith(word + " ") for name in COMMANDS)


def overview(group: str = "") -> str:
    """What ``litotes --help`` prints, or ``litotes GROUP --help`` of the commands whose names begin so."""
    commands = {name: command for name, command in COMMANDS.items() if name.startswith(f"{group} " if group else "")}
    width = max(map(len, commands)) + 2
    rows = [f"  {name:<{width}}{command.help}" for name, command in commands.items()]
    return "\n".join(
        [
            f'litotes {litotes.__version__}: adapt CLIP models to "not", and measure how far that gets them',
            "",
            "usage: litotes COMMAND [options]        (litotes COMMAND --help for its options)",
            "",
            *rows,
        ]
    )


def _is_second_word(word: str, first: str, parts: list[str]) -> bool:
    """Whether a word, none of ``parts``, was meant as one of them: after a command of its own only one close to them.

    "published.json" is a file, "publishd" a slip.
    """
    if not parts or word.startswith("-"):
        return False
    return first not in COMMANDS or bool(difflib.get_close_matches(word, parts, cutoff=0.8))


def split_command(words: list[str]) -> tuple[str, list[str]]:
    """The longest command name that the words begin with, and what follows it."""
    parts = sorted(name for name in COMMANDS if name.startswith(words[0] + " "))
    pair = " ".join(words[:2])
    if pair in parts:
        return pair, words[2:]
    if len(words) > 1 and _is_second_word(words[1], words[0], [part.removeprefix(words[0] + " ") for part in parts]):
        require_known([pair], parts, "the command line")
    if words[0] in COMMANDS:
        return words[0], words[1:]
    if parts:
        raise UserError(got=words[0], expected=f"one of {', '.join(parts)}", do=f"say what to do: {parts[0]}")
    require_known(words[:1], COMMANDS, "the command line")
    raise AssertionError("unreachable")
