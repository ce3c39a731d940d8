import pytest

from litotes.train.journal import Journal, mean_loss, read_journal


def lines(*steps):
    return [{"step": step, "loss": float(step), "items": 2} for step in steps]


def filled(path, *steps):
    journal = Journal(path)
    for line in lines(*steps):
        journal.write(line)
    journal.close()
    return path


def test_every_step_is_on_disc_before_the_next(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    for count, line in enumerate(lines(1, 2, 3), 1):
        journal.write(line)
        assert read_journal(journal.path) == lines(1, 2, 3)[:count]


def test_a_resumed_journal_holds_no_step_twice(tmp_path):
    path = filled(tmp_path / "journal.jsonl", 1, 2, 3, 4)
    journal = Journal(path, steps_done=2)
    journal.write({"step": 3, "loss": 9.0, "items": 2})
    journal.close()
    assert read_journal(path) == [*lines(1, 2), {"step": 3, "loss": 9.0, "items": 2}]
    assert [file.name for file in tmp_path.iterdir()] == ["journal.jsonl"]


def test_a_last_line_that_was_cut_is_left_out_and_overwritten(tmp_path):
    path = filled(tmp_path / "journal.jsonl", 1, 2)
    path.write_bytes(path.read_bytes()[:-7])
    assert read_journal(path) == lines(1)
    Journal(path, steps_done=1).close()
    assert read_journal(path) == lines(1)
    assert path.read_text().count("\n") == 1


def test_no_journal_has_no_lines(tmp_path):
    assert read_journal(tmp_path / "journal.jsonl") == []


def test_any_term_can_be_averaged():
    assert mean_loss([{"hco": 1.0, "items": 1}, {"hco": 4.0, "items": 2}], "hco") == pytest.approx(3.0)
