"""Options of a command, from the fields of its settings: parsing, settings files, help."""

import inspect
import json
import textwrap
import types
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from litotes.config import field_names, flag, flatten, read_toml, require_known
from litotes.errors import UserError

_TRUTH = ("true", "false")
_WIDTH, _MEANING_AT = 100, 28


def parse(name: str, kind: type, words: list[str]) -> Any:  # noqa: ANN401 (an instance of ``kind``)
    """The settings that the words after a command's name say.

    ``--batch-size 4``, ``--batch-size=4`` and ``--batch_size 4`` mean the same; a switch stands alone or with true or
    false. ``--config FILE`` reads a TOML file of options; those given as words win. Errors: an unknown option (the
    nearest is named), a missing or unfit value, an option that is needed and not given.
    """
    given = _pairs(name, kind, words)
    file = given.pop("config", None)
    options = {**(_from_file(Path(file), kind) if file else {}), **given}
    needed = [field.name for field in fields(kind) if _is_needed(field)]
    missing = [flag(field) for field in needed if field not in options]
    if missing:
        raise UserError(
            got=f"no {' and no '.join(missing)}",
            expected=f"litotes {name} {' '.join(f'{flag(field)} ...' for field in needed)}",
            do=f"add what is missing; litotes {name} --help explains every option",
        )
    return kind(**_converted(name, kind, options))


def help_text(name: str, about: str, kind: type) -> str:
    """What ``litotes NAME --help`` prints: every option with its value, its meaning and its default.

    Meanings are read off the documentation of ``kind``, see ``described``; a line of it that ends in a colon is the
    heading of the options below it.
    """
    needed = " ".join(f"{flag(field.name)} {_shown(field.type)}" for field in fields(kind) if _is_needed(field))
    known = {field.name: field for field in fields(kind)}
    lines = [f"usage: litotes {name} {needed} [options]".replace("  ", " "), "", f"{about[0].upper()}{about[1:]}."]
    for part in described(kind):
        lines += ["", part.heading]
        for field, meaning in part.meanings.items():
            lines += _entry(flag(field), _shown(known[field].type), _with_default(meaning, known[field]))
    config = "file with any of these options, in TOML; options given as words win"
    return "\n".join([*lines, "", "from a file:", *_entry("--config", "FILE", config)])


class Described(NamedTuple):
    """Some options under one heading, and what each means."""

    heading: str
    meanings: dict[str, str]


def described(kind: type) -> list[Described]:
    """The fields of a settings dataclass by heading, each with its meaning, in the order of its documentation.

    A meaning stands as ``name: meaning`` at the beginning of a line, longer ones go on in indented lines.
    """
    names = field_names(kind)
    parts = [Described("options:", {})]
    current = ""
    for line in inspect.cleandoc(kind.__doc__ or "").splitlines():
        name, colon, meaning = line.partition(": ")
        if colon and name in names:
            current = name
            parts[-1].meanings[name] = meaning
        elif line.startswith(" ") and current:
            parts[-1].meanings[current] += " " + line.strip()
        elif line.endswith(":"):
            parts.append(Described(line[0].lower() + line[1:], {}))
    return [part for part in parts if part.meanings]


def _entry(flag: str, value: str, meaning: str) -> list[str]:
    """An option and its meaning in two columns; a long option has a line of its own."""
    option, plain = f"  {flag} {value}".rstrip(), meaning.replace("``", "")
    indent = " " * _MEANING_AT
    lines = textwrap.wrap(plain, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    if len(option) > _MEANING_AT - 2:
        return [option, *lines]
    return [option + lines[0][len(option) :], *lines[1:]]


def _pairs(name: str, kind: type, words: list[str]) -> dict[str, str]:
    """Options by field name, each with its value as written."""
    switches = {field.name for field in fields(kind) if field.type is bool}
    found: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or word == "--":
            raise UserError(
                got=f"{word!r} where an option should stand",
                expected=f"--option value; litotes {name} takes no other words",
                do="put values with blanks in quotes, and an option's name before its value",
            )
        said, equals, value = word[2:].partition("=")
        field = said.replace("-", "_")
        _require_option(field, kind, f"the options of litotes {name}")
        if not equals and field in switches:
            value = rest.pop(0) if rest and rest[0] in _TRUTH else "true"
        elif not equals:
            if not rest or rest[0].startswith("--"):
                raise UserError(got=f"{flag(field)} without a value", expected="a value", do=f"add it after {word}")
            value = rest.pop(0)
        found[field] = value
    return found


def _from_file(path: Path, kind: type) -> dict[str, str]:
    """Options of a settings file, written as on the command line."""
    options = {key.replace("-", "_"): value for key, value in flatten(read_toml(path)).items()}
    for field in options:
        _require_option(field, kind, str(path))
    return {
        field: value if isinstance(value, str) else json.dumps(value, default=str) for field, value in options.items()
    }


def _require_option(field: str, kind: type, where: str) -> None:
    require_known([flag(field)], [flag(known) for known in (*field_names(kind), "config")], where)


def _converted(name: str, kind: type, options: dict[str, str]) -> dict[str, object]:
    # Imported here, since the help of a command needs no parser.
    from jsonargparse import ArgumentError, ArgumentParser

    types_of = {field.name: field.type for field in fields(kind)}
    parser = ArgumentParser(exit_on_error=False)
    for option in options:
        parser.add_argument(f"--{option}", type=types_of[option])
    converted: dict[str, object] = {}
    for option, value in options.items():
        listed = get_origin(types_of[option]) is tuple and not value.startswith("[")
        try:
            converted[option] = parser.parse_args([f"--{option}=" + (f"[{value}]" if listed else value)])[option]
        except ArgumentError as error:
            raise UserError(
                got=f"{flag(option)} {value}",
                expected=_shown(types_of[option]) or "true or false",
                do=f"correct the value; litotes {name} --help explains every option",
            ) from error
    return converted


def _is_needed(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _with_default(meaning: str, field: "Field[Any]") -> str:
    """The meaning and, unless it tells what happens without the option, the default in brackets."""
    told = _is_needed(field) or field.type is bool or field.default in (None, "") or "default" in meaning
    shown = ",".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
    return meaning.rstrip(".") + ("" if told else f" [{shown}]")


def _shown(kind: Any) -> str:  # noqa: ANN401 (any type annotation)
    """A type as a person writes a value of it; nothing for a switch."""
    if kind is bool:
        return ""
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if get_origin(kind) in (Union, types.UnionType):
        return "|".join(_shown(part) for part in get_args(kind) if part is not type(None))
    if get_origin(kind) is tuple:
        return f"{_shown(get_args(kind)[0])},..."
    return {Path: "PATH", int: "INTEGER", float: "NUMBER"}.get(kind, "TEXT")
