import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from litotes.errors import UserError
from litotes.places import alone_in, require_file_place, require_folder_place


@pytest.fixture
def occupied(tmp_path):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    return tmp_path


def test_a_place_that_can_be_written_is_accepted_and_left_as_it_was(occupied):
    before = sorted(occupied.rglob("*"))
    for path in ("file", "new", "folder/new", "far/away/new"):
        require_file_place(occupied / path)
    for path in ("folder", "new", "far/away"):
        require_folder_place(occupied / path)
    assert sorted(occupied.rglob("*")) == before
    assert (occupied / "file").read_text() == "kept"


@pytest.mark.parametrize(
    ("path", "got"),
    [
        ("folder", "--output {0}/folder, which is a folder"),
        ("nowhere", "--output {0}/nowhere, which is no ordinary file"),
        ("file/new", "--output {0}/file/new, but {0}/file is no folder"),
        ("nowhere/new", "--output {0}/nowhere/new, but {0}/nowhere is no folder"),
    ],
)
def test_a_file_cannot_be_where_something_else_is(path, got, occupied):
    with pytest.raises(UserError) as caught:
        require_file_place(occupied / path)
    assert caught.value.got == got.format(occupied)


@pytest.mark.parametrize(("path", "blocks"), [("file", "file"), ("file/new/er", "file"), ("nowhere", "nowhere")])
def test_a_folder_cannot_be_where_a_file_is(path, blocks, occupied):
    with pytest.raises(UserError) as caught:
        require_folder_place(occupied / path, "--cache")
    assert caught.value.got == f"--cache {occupied / path}, but {occupied / blocks} is no folder"


def test_a_device_is_not_replaced_by_a_file():
    with pytest.raises(UserError, match=f"--output {os.devnull}, which is no ordinary file"):
        require_file_place(Path(os.devnull))


def test_a_folder_that_takes_no_file_is_named_with_the_reason(occupied, monkeypatch):
    def refuse(**given):
        raise PermissionError(13, "Permission denied", str(given["dir"]))

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    for check in (require_file_place, require_folder_place):
        with pytest.raises(UserError) as caught:
            check(occupied / "folder" / "new")
        assert caught.value.got == (
            f"--output {occupied}/folder/new, but {occupied}/folder cannot be written to: Permission denied"
        )


def test_a_name_that_the_system_does_not_take_is_an_error_of_the_system(tmp_path):
    for check in (require_file_place, require_folder_place):
        with pytest.raises(OSError, match="File name too long"):
            check(tmp_path / ("a" * 300) / "b")


def test_one_process_at_a_time_is_alone_in_a_folder_and_leaves_nothing(tmp_path):
    """Another process waits for as long as this one is within, and goes on then."""
    program = (
        "import sys; from pathlib import Path; from litotes.places import alone_in\n"
        "print('asks', flush=True)\nwith alone_in(Path(sys.argv[1])): print('in', flush=True)"
    )
    with alone_in(tmp_path):
        other = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True)
        assert other.stdout.readline() == "asks\n"
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.3)
    assert other.communicate(timeout=60)[0] == "in\n" and other.returncode == 0
    assert list(tmp_path.iterdir()) == []
    with alone_in(tmp_path / "not there"):
        pass
