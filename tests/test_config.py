import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from litotes.config import field_names, flatten, read_toml, record, require_known, require_numbers, require_workers
from litotes.errors import UserError


@dataclass(frozen=True)
class Inner:
    rate: float = 0.1


@dataclass(frozen=True)
class Outer:
    folder: Path
    inner: Inner
    ks: tuple[int, ...] = (1, 5)


def test_a_record_holds_json_values_only():
    assert record(Outer(Path("a"), Inner())) == {"folder": "a", "inner": {"rate": 0.1}, "ks": [1, 5]}
    assert field_names(Outer) == ("folder", "inner", "ks")
    for wrong in (Outer, {"a": 1}):
        with pytest.raises(TypeError, match="not a dataclass instance"):
            record(wrong)


def test_nested_tables_become_dotted_keys():
    assert flatten({"a": 1, "b": {"c": {"d": 2}, "e": []}}) == {"a": 1, "b.c.d": 2, "b.e": []}


def test_an_unknown_name_is_answered_with_the_nearest():
    require_known(["lr", "steps"], ["steps", "lr", "seed"], "the file")
    with pytest.raises(UserError) as refused:
        require_known(["lr", "stpes"], ["steps", "lr"], "the file")
    assert str(refused.value) == (
        "got:      'stpes' in the file\nexpected: one of lr, steps\ndo:       did you mean 'steps'?"
    )
    with pytest.raises(UserError, match="choose one of these, or remove it"):
        require_known(["zzz"], ["steps", "lr"], "the file")


def test_a_settings_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(UserError, match="no file"):
        read_toml(tmp_path / "a.toml")
    (tmp_path / "a.toml").write_bytes(b"a = \xff")
    with pytest.raises(UserError, match="valid TOML"):
        read_toml(tmp_path / "a.toml")
    (tmp_path / "a.toml").write_text("a = 1\n[b]\nc = 'x'\n")
    assert read_toml(tmp_path / "a.toml") == {"a": 1, "b": {"c": "x"}}


@dataclass(frozen=True)
class Working:
    workers: int
    seed: int = 0


@pytest.mark.parametrize("cores, most", [(1, 32), (2, 32), (4, 32), (64, 512), (None, 32)])
def test_processes_have_an_upper_limit_by_the_cores(cores, most, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    require_numbers(Working(most), {"workers": 0})
    require_workers(0)
    for check in (require_workers, lambda n: require_numbers(Working(n), {"seed": 0, "workers": 0})):
        with pytest.raises(UserError, match=f"--workers {most + 1} .*{cores or 1} core") as refused:
            check(most + 1)
        assert f"at most {most} " in refused.value.expected and f"--workers {cores or 1}" in refused.value.do
