"""Values that are text: paths and names are taken as they are written."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from litotes.cli.options import help_text, parse
from litotes.errors import UserError


@dataclass(frozen=True)
class Given:
    """What to read.

    source: where from.
    several: more of it.
    names: of things.
    word: any text.
    counts: numbers, by default none.
    """

    source: Path
    several: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()
    word: str | None = None
    counts: tuple[int, ...] | None = None


def given(*words):
    named = any(word.startswith("--source") for word in words)
    return parse("read", Given, [*(() if named else ("--source", "s")), *words])


ODD = ["1", "007", "0x10", "1e5", "null", "true", "a,b", "[a]", "{a: b}", "#a", "a: b", "~", "no", " a "]


@pytest.mark.parametrize("name", ODD)
def test_a_path_is_taken_as_it_is_written(name, tmp_path):
    assert given("--source", name).source == Path(name)
    assert given("--several", name, "--several=b", "--several", name).several == (Path(name), Path("b"), Path(name))
    assert given("--word", name).word == name
    file = tmp_path / "a.toml"
    file.write_text(f"source = '{name}'\nseveral = ['{name}', 'b']\n")
    assert parse("read", Given, ["--config", str(file)]) == Given(Path(name), (Path(name), Path("b")))
    file.write_text(f"several = '{name}'\n")
    assert given("--config", str(file)).several == (Path(name),)
    assert given("--config", str(file), "--several", "word").several == (Path("word"),)


@pytest.mark.parametrize("option", ["--source", "--several", "--config"])
@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_path_is_not_the_current_folder(option, value):
    for words in ((option, value), (f"{option}={value}",)):
        with pytest.raises(UserError, match=f"{option} with an empty path\n.*a dot\n.*leave out {option}"):
            given(*words)
    assert given("--source", ".").source == Path()


def test_paths_with_commas_between_them_are_told_how_to_be_given(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    a, b = tmp_path / "a", tmp_path / "b"
    with pytest.raises(UserError, match=f"do: +--several {a} --several {b}$"):
        given("--several", f"{a},{b}")
    assert given("--several", f"{tmp_path}/c,{tmp_path}/d").several == (Path(f"{tmp_path}/c,{tmp_path}/d"),)
    (tmp_path / "a,b").mkdir()
    assert given("--several", f"{tmp_path / 'a,b'}").several == (tmp_path / "a,b",)


def test_names_stand_in_one_value_with_commas(tmp_path):
    assert given("--names", "16bit, 007,null").names == ("16bit", "007", "null")
    assert given("--names", "").names == ()
    file = tmp_path / "a.toml"
    file.write_text('names = ["16bit", "exif"]\n')
    assert given("--config", str(file)).names == ("16bit", "exif")


def test_numbers_that_need_not_be_given_stand_in_one_value_with_commas(tmp_path):
    assert given().counts is None
    assert given("--counts", "1,5").counts == given("--counts", "[1, 5]").counts == (1, 5)
    assert given("--counts=7").counts == (7,)
    file = tmp_path / "a.toml"
    file.write_text("counts = [3, 4]\n")
    assert given("--config", str(file)).counts == (3, 4)
    with pytest.raises(UserError, match="--counts 1,x"):
        given("--counts", "1,x")
    assert "--counts INTEGER,..." in help_text("read", "things", Given)


@pytest.mark.parametrize("line", ["source = 1", "several = [1]", "several = true", "word = 1.5", "names = [[]]"])
def test_a_number_in_a_settings_file_is_no_text(line, tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(line + "\n")
    with pytest.raises(UserError, match="write text in quotes"):
        given("--config", str(file))


def test_the_help_shows_one_path_for_an_option_of_several():
    assert "  --several PATH            more of it" in help_text("read", "read", Given)


@pytest.mark.parametrize("words", [("--word", "a"), ("--word=a",), ("--names", "a")])
def test_an_option_of_one_value_is_given_once(words, tmp_path):
    with pytest.raises(UserError, match=f"{words[0][:6]}.* and .*\n.*once"):
        given(*words, *words)
    with pytest.raises(UserError, match="--source s and --source t"):
        given("--source", "s", "--source", "t")
    file = tmp_path / "a.toml"
    file.write_text("source = 'file'\nword = 'x'\n")
    with pytest.raises(UserError, match=r"--config .* and --config"):
        given("--config", str(file), "--config", str(file))
    assert given("--config", str(file), "--word", "y") == Given(Path("s"), word="y")


def test_an_option_stands_once_in_a_settings_file(tmp_path):
    file = tmp_path / "a.toml"

    @dataclass(frozen=True)
    class Longer:
        """What to read.

        the_source: where from.
        """

        the_source: Path

    file.write_text("the-source = 'a'\nthe_source = 'b'\n")
    with pytest.raises(UserError, match=r"a\.toml: --the-source twice"):
        parse("read", Longer, ["--config", str(file)])
