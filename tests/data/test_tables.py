import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from litotes.data.tables import CAPTION, IMAGE, column, read_table, title_of
from litotes.errors import UserError

ROWS = [
    ("images/a.png", "a dog, but no cat"),
    ("images/b.png", 'she said "no" twice'),
    ("images/c.png", "first line\nsecond line; no bus"),
]
BODY = (
    'images/a.png,"a dog, but no cat"\nimages/b.png,"she said ""no"" twice"\n'
    'images/c.png,"first line\nsecond line; no bus"\n'
)
COMMA = "filepath,title\n" + BODY
QUOTED = (
    '"filepath","title"\n"images/a.png","a dog, but no cat"\n"images/b.png","she said ""no"" twice"\n'
    '"images/c.png","first line\nsecond line; no bus"\n'
)
REORDERED = (
    'title,width,filepath\n"a dog, but no cat",8,images/a.png\n"she said ""no"" twice",8,images/b.png\n'
    '"first line\nsecond line; no bus",8,images/c.png\n'
)
INDEXED = (
    ',filepath,title\n0,images/a.png,"a dog, but no cat"\n1,images/b.png,"she said ""no"" twice"\n'
    '2,images/c.png,"first line\nsecond line; no bus"\n'
)
BROKEN_LINE = '"first line\nsecond line; no bus"'
TAB = (
    'filepath\ttitle\nimages/a.png\ta dog, but no cat\nimages/b.png\t"she said ""no"" twice"\n'
    f"images/c.png\t{BROKEN_LINE}\n"
)
CRLF = (
    'filepath,title\r\nimages/a.png,"a dog, but no cat"\r\nimages/b.png,"she said ""no"" twice"\r\n'
    f"images/c.png,{BROKEN_LINE}\r\n"
)
MARK = b"\xef\xbb\xbf"
DIALECTS = {
    "comma.csv": (COMMA.encode(), "comma"),
    "tab.tsv": (TAB.encode(), "tab"),
    "all_quoted.csv": (QUOTED.encode(), "comma"),
    "crlf.csv": (CRLF.encode(), "comma"),
    "bom.csv": (MARK + COMMA.encode(), "comma"),
    "bom_quoted_header.csv": (MARK + QUOTED.encode(), "comma"),
    "index_column.csv": (INDEXED.encode(), "comma"),
    "extra_columns_reordered.csv": (REORDERED.encode(), "comma"),
    "header_case_and_spaces.csv": ((" FilePath ,Title\n" + BODY).encode(), "comma"),
    "tab_content_named_csv.csv": (TAB.encode(), "tab"),
    "semicolon.csv": (TAB.replace("\t", ";").encode(), "semicolon"),
    "tab_named.txt": (TAB.encode(), "tab"),
    "UPPER.CSV": (COMMA.encode(), "comma"),
    "blank_lines.csv": (("\n" + COMMA + "\n\n").encode(), "comma"),
}


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path, *wanted):
    with pytest.raises(UserError) as error:
        table = read_table(path)
        for name in wanted:
            column(table, name)
    assert str(path) in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", DIALECTS)
def test_all_dialects_give_the_same_rows(tmp_path, name):
    content, form = DIALECTS[name]
    table = read_table(write(tmp_path, name, content))
    assert list(zip(column(table, "filepath"), column(table, "title"), strict=True)) == ROWS
    assert table.form == form


@pytest.mark.parametrize(
    "name, content, named",
    [
        ("wrong_columns.csv", "image,text\n" + BODY, ["image, text", "a column filepath", "comma"]),
        ("header_only.csv", "filepath,title\n", ["0 rows", "comma", "filepath, title"]),
        ("zero_bytes.csv", "", ["empty file"]),
        ("blank.csv", "\n \n\n", ["0 rows"]),
        ("newlines.csv", "\n\n", ["blank lines"]),
        (
            "ragged.csv",
            "filepath,title\nimages/a.png,a dog, but no cat\nimages/b.png,fine\n",
            ["line 2 has 3 fields, 2 expected", "comma", "filepath, title"],
        ),
        ("short.csv", "filepath,title\nimages/a.png\n", ["line 2 has 1 fields, 2 expected"]),
        ("ragged_late.csv", COMMA + "images/d.png,a,b\n", ["line 6 has 3 fields"]),
        ("duplicate_header.csv", "filepath,title,title\nimages/a.png,one,two\n", ["'title' twice"]),
        ("duplicate_in_case.csv", "filepath,title,Title\nimages/a.png,one,two\n", ["'Title' twice"]),
        (
            "latin1.csv",
            b"filepath,title\nimages/a.png,a caf\xe9 without chairs\n",
            ["not UTF-8", "0xe9 at position 33 (line 2)"],
        ),
        ("null_byte.csv", "filepath,title\nimages/a.png,a dog\0 no cat\n", ["NUL byte (line 2)"]),
        ("utf16.csv", COMMA.encode("utf-16"), ["UTF-16"]),
        ("utf16_bare.csv", COMMA.encode("utf-16-le"), ["UTF-16"]),
        ("utf32.csv", COMMA.encode("utf-32"), ["UTF-32"]),
        ("open_quote.csv", 'filepath,title\na.png,"a dog\nb.png,x\n', ["line 2"]),
        ("after_quote.csv", 'filepath,title\na.png,"a" dog\n', ["line 2"]),
        ("huge.csv", "filepath,title\na.png," + "x" * 140_000 + "\n", ["line 2", "131072"]),
        ("huge_title.csv", "filepath," + "x" * 140_000 + "\na.png,b\n", ["131072"]),
        ("table.xlsx", "PK", ["ends in .csv"]),
        ("nolines.jsonl", "\n", ["blank lines"]),
        ("list.jsonl", "[1]\n", ["line 1", "no JSON object"]),
        ("broken.jsonl", '{"a": 1}\n{"a": \n', ["line 2"]),
        ("twice.jsonl", '{"a": "x", "a": "y"}\n', ["twice"]),
        ("ragged.jsonl", '{"a": "x", "b": "y"}\n{"a": "x"}\n', ["line 2 has the keys a, 2 expected"]),
        ("nested.jsonl", '{"a": {"b": 1}}\n', ["line 1 holds a dict"]),
        ("nan.jsonl", '{"a": NaN}\n', ["NaN"]),
        ("half.jsonl", '{"a": "\\ud83d"}\n', ["half a character"]),
        ("deep.jsonl", '{"a": ' + "[" * 100_000 + "\n", ["line 1"]),
        ("fake.parquet", "PAR1 no", ["cannot be read"]),
    ],
)
def test_refusals_name_the_file_and_the_trouble(tmp_path, name, content, named):
    message = refusal(write(tmp_path, name, content), "filepath", "title")
    for part in named:
        assert part in message


@pytest.mark.parametrize("name", ["none.csv", "none.jsonl", "none.parquet", "folder.csv"])
def test_no_such_file(tmp_path, name):
    (tmp_path / "folder.csv").mkdir()
    assert "no file" in refusal(tmp_path / name)


def test_nothing_is_interpreted(tmp_path):
    cells = ["NA", "", "null", "None", " blank around ", "007", "1e5", "nan", "TRUE"]
    body = "".join(f'{i},"{cell}"\n' for i, cell in enumerate(cells))
    assert column(read_table(write(tmp_path, "t.csv", "id,title\n" + body)), "title") == cells


def test_line_ends_inside_a_cell_are_kept(tmp_path):
    table = read_table(write(tmp_path, "t.csv", b'id,title\r\n1,"one\r\ntwo"\r\n2,"a\rb"\r\n'))
    assert column(table, "title") == ["one\r\ntwo", "a\rb"]


def test_columns_without_a_title_get_their_place(tmp_path):
    assert read_table(write(tmp_path, "t.csv", ",title,\n1,x,\n")).columns == ("column 1", "title", "column 3")


def test_first_of_the_aliases_that_is_there(tmp_path):
    table = read_table(write(tmp_path, "t.csv", "Image,text,caption\na.png,second,first\n"))
    assert column(table, *CAPTION) == ["first"] and column(table, *IMAGE) == ["a.png"]
    assert title_of(table, "objects", " IMAGE ") == "Image" and title_of(table, "objects") is None
    with pytest.raises(UserError) as error:
        column(table, "objects", "nouns")
    assert "one of the columns objects, nouns" in error.value.expected and "Image, text, caption" in error.value.got


def test_one_column(tmp_path):
    assert column(read_table(write(tmp_path, "t.csv", "caption\na dog\n")), "caption") == ["a dog"]
    # In a table with commas a lone title is still one column when its cells are quoted.
    assert column(read_table(write(tmp_path, "u.csv", 'caption\n"a, b"\n')), "caption") == ["a, b"]


def test_json_lines(tmp_path):
    records = [
        {"filepath": "a.png", "caption": 'été 🙂, "no"', "n": 3, "x": None, "objects": ["a|b", "c"]},
        {"caption": "NA", "filepath": "b.png", "n": 1.5, "x": True, "objects": []},
    ]
    lines = "\r\n".join(json.dumps(record) for record in records) + "\r\n\r\n"
    table = read_table(write(tmp_path, "t.jsonl", MARK + lines.encode()))
    assert table.columns == ("filepath", "caption", "n", "x", "objects") and table.form == "JSON lines"
    assert table.rows[0] == {
        "filepath": "a.png",
        "caption": 'été 🙂, "no"',
        "n": "3",
        "x": "",
        "objects": '["a|b", "c"]',
    }
    assert table.rows[1] == {"filepath": "b.png", "caption": "NA", "n": "1.5", "x": "true", "objects": "[]"}


def test_a_line_separator_inside_json_text_is_no_line_end(tmp_path):
    table = read_table(write(tmp_path, "t.jsonl", '{"caption": "a\u2028b\x85c"}\n'))
    assert column(table, "caption") == ["a\u2028b\x85c"]


def test_parquet(tmp_path):
    pq.write_table(
        pa.table({"filepath": ["a.png", "b.png"], "caption": ["x", None], "objects": [["a"], []], "n": [1, 2]}),
        tmp_path / "t.parquet",
    )
    table = read_table(tmp_path / "t.parquet")
    assert table.rows == (
        {"filepath": "a.png", "caption": "x", "objects": '["a"]', "n": "1"},
        {"filepath": "b.png", "caption": "", "objects": "[]", "n": "2"},
    )


def test_parquet_with_pictures_inside_or_no_rows(tmp_path):
    pq.write_table(pa.table({"image": [b"123"]}), tmp_path / "t.parquet")
    assert "row 1 of column 'image' holds a bytes" in refusal(tmp_path / "t.parquet")
    pq.write_table(pa.table({"caption": pa.array([], pa.string())}), tmp_path / "u.parquet")
    assert "0 rows" in refusal(tmp_path / "u.parquet")
