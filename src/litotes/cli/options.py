"""Options of a command, from the fields of its settings: parsing, settings files, help."""

import inspect
import json
import math
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
    false. Paths are taken as they are written: an option of several is given once for each, commas belong to a name;
    numbers and words that are several stand in one value, with commas. ``--config FILE`` reads a TOML file of options,
    several paths as a list; those given as words win. Errors: an unknown option (the nearest is named), one that is
    given twice, a missing or unfit value, an empty path, an option that is needed and not given.
    """
    given = _pairs(name, kind, words)
    file = given.pop("config", None)
    options = {**({} if file is None else _from_file(_path("config", file), kind)), **given}
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


def _pairs(name: str, kind: type, words: list[str]) -> dict[str, Any]:
    """Options by field name, each with its value as written; the values of an option of several paths as a list."""
    switches = {field.name for field in fields(kind) if field.type is bool}
    several = {field.name for field in fields(kind) if _is_paths(field.type)}
    found: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or word == "--":
            raise _stray(word, name, kind)
        said, equals, value = word[2:].partition("=")
        field = said.replace("-", "_")
        _require_option(field, kind, f"the options of litotes {name}")
        if not equals and field in switches:
            value = rest.pop(0) if rest and rest[0] in _TRUTH else "true"
        elif not equals:
            if not rest or rest[0].startswith("--"):
                raise UserError(got=f"{flag(field)} without a value", expected="a value", do=f"add it after {word}")
            value = rest.pop(0)
        if field in found and field not in several:
            raise UserError(
                got=f"{flag(field)} {found[field]} and {flag(field)} {value}",
                expected=f"{flag(field)} once",
                do="leave out one of the two",
            )
        found[field] = [*found.get(field, ()), value] if field in several else value
    return found


def _stray(word: str, name: str, kind: type) -> UserError:
    """A word where an option should stand; with the option that it is meant for where only one, of paths, is needed."""
    needed = [field for field in fields(kind) if _is_needed(field)]
    do = "put values with blanks in quotes, and an option's name before its value"
    if len(needed) == 1 and _is_paths(needed[0].type):
        do = f"write {flag(needed[0].name)} {word}, and {flag(needed[0].name)} before each other file too"
    return UserError(
        got=f"{word!r} where an option should stand",
        expected=f"--option value; litotes {name} takes no other words",
        do=do,
    )


def _from_file(path: Path, kind: type) -> dict[str, Any]:
    """Options of a settings file, written as on the command line."""
    options: dict[str, Any] = {}
    for key, value in flatten(read_toml(path)).items():
        field = key.replace("-", "_")
        _require_option(field, kind, str(path))
        if field in options:
            raise UserError(got=f"{path}: {flag(field)} twice", expected="each option once", do="leave out one")
        options[field] = value
    types_of = {field.name: field.type for field in fields(kind)}
    return {field: _as_written(field, types_of.get(field, str), value) for field, value in options.items()}


def _as_written(field: str, kind: Any, value: Any) -> Any:  # noqa: ANN401 (any type, and any value of a TOML file)
    """A value of a settings file as ``_pairs`` gives it."""
    if _is_paths(kind):
        paths = value if isinstance(value, list) else [value]
        if all(isinstance(path, str) for path in paths):
            return paths
    elif isinstance(value, str):
        return value
    elif kind == tuple[str, ...] and isinstance(value, list) and all(isinstance(word, str) for word in value):
        return ",".join(value)
    elif kind != tuple[str, ...] and not _is_of(kind, Path, str):
        return json.dumps(value, default=str)
    raise UserError(
        got=f"{flag(field)} {value!r}", expected=_shown(kind), do="write text in quotes, several paths as a list"
    )


def _require_option(field: str, kind: type, where: str) -> None:
    require_known([flag(field)], [flag(known) for known in (*field_names(kind), "config")], where)


def _converted(name: str, kind: type, options: dict[str, Any]) -> dict[str, object]:
    # Imported here, since the help of a command needs no parser.
    from jsonargparse import ArgumentError, ArgumentParser

    types_of = {field.name: field.type for field in fields(kind)}
    converted = {option: _plain(option, types_of[option], value) for option, value in options.items()}
    parser = ArgumentParser(exit_on_error=False)
    for option in options:
        parser.add_argument(f"--{option}", type=types_of[option])
    for option, value in options.items():
        if converted[option] is not None:
            continue
        _require_finite(name, option, types_of[option], value)
        listed = _is_listed(types_of[option]) and not value.startswith("[")
        try:
            converted[option] = parser.parse_args([f"--{option}=" + (f"[{value}]" if listed else value)])[option]
        except ArgumentError as error:
            raise UserError(
                got=f"{flag(option)} {value}",
                expected=_shown(types_of[option]) or "true or false",
                do=f"correct the value; litotes {name} --help explains every option",
            ) from error
    return converted


def _require_finite(name: str, option: str, kind: Any, value: str) -> None:  # noqa: ANN401 (any type annotation)
    """Refuse nan and infinity, also as 1e999, in an option of numbers: no option here has a use for them."""
    if not _takes_numbers(kind):
        return
    for word in value.strip("[]").split(","):
        try:
            number = float(word.lower().replace(".inf", "inf").replace(".nan", "nan"))  # also as YAML has them
        except ValueError:  # told by the parser, in its place
            continue
        if not math.isfinite(number):
            raise UserError(
                got=f"{flag(option)} {value}, which is {'not a number' if math.isnan(number) else 'infinite'}",
                expected=f"{_shown(kind)}, finite",
                do=f"give a finite number; litotes {name} --help explains every option",
            )


def _takes_numbers(kind: Any) -> bool:  # noqa: ANN401 (any type annotation)
    """Whether a value of this type can be a floating-point number, or hold some."""
    return kind is float or any(map(_takes_numbers, get_args(kind)))


def _plain(option: str, kind: Any, value: Any) -> object:  # noqa: ANN401 (any type annotation, and its value)
    """Paths and words, as they are written; None for what has to be parsed."""
    if _is_paths(kind):
        return tuple(_path(option, path, several=True) for path in value)
    if kind == tuple[str, ...]:
        return tuple(word.strip() for word in value.split(",")) if value.strip() else ()
    if _is_of(kind, Path):
        return _path(option, value)
    return value if _is_of(kind, str) else None


def _path(option: str, value: str, several: bool = False) -> Path:
    """A path; Errors: an empty one, which would mean the current folder, and several ones with commas between them."""
    if not value.strip():
        raise UserError(
            got=f"{flag(option)} with an empty path",
            expected="the path of a file or folder; the current folder is a dot",
            do=f"name it, or leave out {flag(option)}",
        )
    parts = [part for part in value.split(",") if part]
    if several and len(parts) > 1 and not Path(value).exists() and any(Path(part).exists() for part in parts):
        raise UserError(
            got=f"{flag(option)} {value}, and there is no such file or folder",
            expected="one path each time that the option is given, since commas may belong to a name",
            do=" ".join(f"{flag(option)} {part}" for part in parts),
        )
    return Path(value)


def _is_paths(kind: Any) -> bool:  # noqa: ANN401 (any type annotation)
    """Whether an option takes several paths."""
    return bool(kind == tuple[Path, ...])


def _is_listed(kind: Any) -> bool:  # noqa: ANN401 (any type annotation)
    """Whether an option takes several values, or several or None."""
    parts = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    return any(get_origin(part) is tuple for part in parts)


def _is_of(kind: Any, *wanted: type) -> bool:  # noqa: ANN401
    """Whether a type is one of the wanted ones, or it or None."""
    parts = set(get_args(kind)) if get_origin(kind) in (Union, types.UnionType) else {kind}
    return parts - {type(None)} in [{one} for one in wanted]


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
    if _is_paths(kind):
        return _shown(Path)
    if get_origin(kind) is tuple:
        return f"{_shown(get_args(kind)[0])},..."
    return {Path: "PATH", int: "INTEGER", float: "NUMBER"}.get(kind, "TEXT")
