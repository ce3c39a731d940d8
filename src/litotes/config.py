"""Settings: frozen dataclasses, TOML files, and the record that goes into a run."""

import difflib
import json
import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path

from litotes.errors import UserError


def read_toml(path: Path) -> dict[str, object]:
    """Settings from a TOML file, as nested dictionaries."""
    if not path.is_file():
        raise UserError(got=f"no file {path}", expected="a TOML file with settings", do="check the path")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(got=f"{path}: {error}", expected="valid TOML", do="correct the line") from error


def require_known(names: Iterable[str], known: Iterable[str], where: str) -> None:
    """Refuse a name that is not known, and offer the nearest that is."""
    options = sorted(known)
    for name in names:
        if name not in options:
            near = difflib.get_close_matches(name, options, n=1, cutoff=0.5)
            raise UserError(
                got=f"{name!r} in {where}",
                expected=f"one of {', '.join(options)}",
                do=f"did you mean {near[0]!r}?" if near else "choose one of these, or remove it",
            )


def flag(name: str) -> str:
    """The option by which a user says a setting: "batch_size" -> "--batch-size"."""
    return "--" + name.replace("_", "-")


def require_numbers(settings: object, least: Mapping[str, int], above_zero: Iterable[str] = ()) -> None:
    """Refuse settings out of their range or not finite, by their options; one that is None was not given.

    least: by the name of a setting the smallest value it may have. above_zero: settings that must be larger than 0.
    A setting ``workers`` has an upper limit too (``require_workers``).
    """
    ranges: dict[str, tuple[str, float]] = {name: (f"a number from {low} on", low) for name, low in least.items()}
    ranges |= {name: ("a number above 0", math.ulp(0.0)) for name in above_zero}
    for name, (expected, low) in ranges.items():
        value = getattr(settings, name)
        if value is not None and not low <= value < math.inf:
            raise UserError(got=f"{flag(name)} {value}", expected=expected, do=f"choose another value for {flag(name)}")
    if "workers" in least:
        require_workers(settings.workers)  # type: ignore[attr-defined]


def require_workers(count: int) -> None:
    """Refuse more processes (``--workers``) than any work here can use: 8 for each core, and 32 on any machine.

    More of them only take memory, and a number with a digit too many would take all of it.
    """
    cores = os.cpu_count() or 1
    most = max(32, 8 * cores)
    if count > most:
        raise UserError(
            got=f"--workers {count} on a machine with {cores} core{'s' * (cores > 1)}",
            expected=f"at most {most} processes",
            do=f"give about as many as there are cores (--workers {cores}), or 0 to do without",
        )


def flatten(settings: dict[str, object], prefix: str = "") -> dict[str, object]:
    """Nested tables as dotted keys: {"loop": {"lr": 1}} -> {"loop.lr": 1}."""
    flat: dict[str, object] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def record(config: object) -> dict[str, object]:
    """A dataclass of settings as JSON values, for the run's own ``config.json``."""
    if not is_dataclass(config) or isinstance(config, type):
        raise TypeError(f"{config!r} is not a dataclass instance")
    return json.loads(json.dumps(asdict(config), default=str))


def field_names(config: type) -> tuple[str, ...]:
    """Names of the fields of a settings dataclass."""
    return tuple(field.name for field in fields(config))
