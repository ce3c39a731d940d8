import csv
import hashlib
import json

import pytest

from litotes.data.negbench import (
    KNOWN,
    UNTYPED,
    fingerprint_choice,
    fingerprint_retrieval,
    parse_list,
    read_choice,
    read_retrieval,
    recognise,
)
from litotes.errors import UserError

CAPTIONS = [
    ["a dog", "a dog without a lead"],
    ["it's a dog that isn't wet"],
    ['a sign that says "no"', "plain"],
    ["mixed 'single' and \"double\" quotes"],
    ["a backslash \\ here", "a tab\tinside"],
    ["newline\ninside", "dog, cat, no bus"],
    ["chien sans laisse — été", "没有狗"],
    ["[not a list]", "(also, not)"],
]
MARKER = "list_caption_ran.marker"
MALFORMED = [
    "['a dog', 'a cat'",
    "a dog; a cat",
    "[]",
    "['a dog', 7, None]",
    "[['nested'], ['twice']]",
    "{'a': 'dict'}",
    "",
    f"open('{MARKER}','w').close() or ['a dog']",
]


def write(folder, header, rows, name="t.csv"):
    with (folder / name).open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return folder / name


def retrieval(folder, cells):
    return write(folder, ["filepath", "captions"], [(f"images/{i}.png", cell) for i, cell in enumerate(cells)])


def grouped(table):
    return [
        [text for text, owner in zip(table.captions, table.image_of_caption, strict=True) if owner == i]
        for i in range(len(table.image_paths))
    ]


@pytest.mark.parametrize("form", [repr, json.dumps, lambda texts: json.dumps(texts, ensure_ascii=False)])
def test_lists_of_python_and_of_json(tmp_path, form):
    table = read_retrieval(retrieval(tmp_path, [form(texts) for texts in CAPTIONS]))
    assert grouped(table) == CAPTIONS and len(table) == 14
    assert table.image_paths == tuple(f"images/{i}.png" for i in range(8))


def test_one_caption_a_row(tmp_path):
    rows = [(f"images/{i}.png", text) for i, texts in enumerate(CAPTIONS) for text in texts]
    for title in ("captions", "caption", "title"):
        table = read_retrieval(write(tmp_path, ["filepath", title], rows))
        assert grouped(table) == CAPTIONS and len(table.image_paths) == 8


def test_a_column_of_single_captions_is_never_parsed(tmp_path):
    table = read_retrieval(write(tmp_path, ["filepath", "caption"], [("a.png", "['a']"), ("b.png", "x")]))
    assert table.captions == ("['a']", "x")


def test_malformed_cells_and_code_are_refused_by_row_and_never_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        read_retrieval(retrieval(tmp_path, MALFORMED))
    assert "rows 1, 2, 3, 4, 5, 6, 7, 8" in error.value.got
    for cell in MALFORMED:
        with pytest.raises(UserError, match="rows 2"):
            read_retrieval(retrieval(tmp_path, ["['fine']", cell]))
        assert parse_list(cell) in (None, [])
    assert not (tmp_path / MARKER).exists()


@pytest.mark.parametrize(
    "cell",
    [
        "[" * 3000 + "'a'" + "]" * 3000,
        "[" * 100_000,
        "['" + "a" * 120_000,
        "[" + "'a'," * 30_000 + "x]",
        "[" + "-" * 100_000 + "1]",
        "['a' + 'b']",
        "['a' 'b']",
        "[f'{1}']",
        "[b'a']",
        "('a', 'b')",
        "['a', *['b']]",
        "['line\nbreak']",
        "[,]",
        "['a',,'b']",
        "['a'] # x",
        "['\\ud83d']",
        '["\\ud83d"]',
        "['\\N{x}']",
    ],
)
def test_nothing_but_flat_lists_of_strings(tmp_path, cell):
    assert parse_list(cell) is None
    with pytest.raises(UserError, match="rows 2"):
        read_retrieval(retrieval(tmp_path, ["['fine']", cell]))


@pytest.mark.parametrize(
    "cell, texts",
    [
        ("['a',]", ["a"]),
        (" [ 'a' , \"b\" ] ", ["a", "b"]),
        ("['']", [""]),
        ("[ ]", []),
        (r"['\x41\u00e9\'\"']", ["Aé'\""]),
        (r'["\ud83d\ude42 \/"]', ["🙂 /"]),
        (r"['a \d b']", [r"a \d b"]),
        ("['None', 'nan', ' NA ']", ["None", "nan", " NA "]),
        ('["a\ttab"]', ["a\ttab"]),
    ],
)
def test_lists_that_are_read(cell, texts):
    assert parse_list(cell) == texts


def test_a_cell_over_the_limit(monkeypatch):
    monkeypatch.setattr("litotes.data.negbench.MAX_CELL", 10)
    assert parse_list("['12345']") == ["12345"] and parse_list("['1234567']") is None


def test_captions_are_untouched(tmp_path):
    texts = ["", " blank around ", "NA", "null", "(Your turn!)", "a\u00a0b"]
    table = read_retrieval(retrieval(tmp_path, [repr(texts), "['x']"]))
    assert list(table.captions) == [*texts, "x"] and table.image_of_caption == (0,) * 6 + (1,)


def test_rows_of_one_picture_are_joined(tmp_path):
    rows = [("a.png", "['1']"), ("b.png", "['2']"), ("a.png", "['3', '4']")]
    table = read_retrieval(write(tmp_path, ["filepath", "captions"], rows))
    assert table.image_paths == ("a.png", "b.png") and table.image_of_caption == (0, 1, 0, 0)
    assert table.captions == ("1", "2", "3", "4")


def test_extra_columns_of_the_published_files_do_no_harm(tmp_path):
    header = ["positive_objects", "negative_objects", "filepath", "image_id", "captions"]
    table = read_retrieval(write(tmp_path, header, [("['a']", "['b']", "x/y.jpg", "7", "['A cat.']")]))
    assert table.captions == ("A cat.",)


CHOICE = ["image_path", "correct_answer", "caption_0", "caption_1", "caption_2", "caption_3", "correct_answer_template"]
QUESTIONS = [
    ("data/x/1.jpg", "0", "No cat. ", "A cat, but no dog.", "A cat", "NA", "negative"),
    ("2.jpg", "3", "a", "b", "None", "d", "hybrid"),
]


def test_choice(tmp_path):
    questions = read_choice(write(tmp_path, CHOICE, QUESTIONS))
    assert len(questions) == 2 and questions.image_paths == ("data/x/1.jpg", "2.jpg")
    assert questions.options[0] == ("No cat. ", "A cat, but no dog.", "A cat", "NA")
    assert questions.correct == (0, 3) and questions.types == ("negative", "hybrid")


def test_choice_reads_columns_by_name(tmp_path):
    turned = read_choice(write(tmp_path, CHOICE[::-1], [row[::-1] for row in QUESTIONS]))
    assert turned == read_choice(write(tmp_path, CHOICE, QUESTIONS))


def test_two_options_without_a_type(tmp_path):
    questions = read_choice(write(tmp_path, CHOICE[:4], [row[:2] + row[2:4] for row in QUESTIONS[:1]]))
    assert questions.options == (("No cat. ", "A cat, but no dog."),) and questions.types == (UNTYPED,)


def test_a_whole_number_with_a_point_is_that_number(tmp_path):
    rows = [(QUESTIONS[0][0], "1.0", *QUESTIONS[0][2:])]
    assert read_choice(write(tmp_path, CHOICE, rows)).correct == (1,)


@pytest.mark.parametrize("answer", ["4", "4.0", "-1", "", "0.5", "x", "True", "²"])
def test_answers_outside(tmp_path, answer):
    rows = [QUESTIONS[0], (QUESTIONS[1][0], answer, *QUESTIONS[1][2:])]
    with pytest.raises(UserError) as error:
        read_choice(write(tmp_path, CHOICE, rows))
    assert "rows 2" in error.value.got and "0 .. 3" in error.value.expected


@pytest.mark.parametrize("kept", [["image_path", "correct_answer", "caption_0"], CHOICE[1:], CHOICE[:1] + CHOICE[2:]])
def test_missing_columns(tmp_path, kept):
    rows = [[dict(zip(CHOICE, row, strict=True))[title] for title in kept] for row in QUESTIONS]
    with pytest.raises(UserError):
        read_choice(write(tmp_path, kept, rows))
    with pytest.raises(UserError, match="captions"):
        read_retrieval(write(tmp_path, kept[:1], [row[:1] for row in rows]))


def test_fingerprints_follow_the_recipe_and_ignore_prefix_and_order(tmp_path):
    questions = read_choice(write(tmp_path, CHOICE, QUESTIONS))
    record = "1.jpg\t0\tNo cat. \tA cat, but no dog.\tA cat\tNA\tnegative\n2.jpg\t3\ta\tb\tNone\td\thybrid"
    assert fingerprint_choice(questions) == hashlib.sha256(record.encode()).hexdigest()
    moved = [("/elsewhere/" + row[0], *row[1:]) for row in QUESTIONS]
    assert fingerprint_choice(read_choice(write(tmp_path, CHOICE, moved))) == fingerprint_choice(questions)
    other = [QUESTIONS[1], QUESTIONS[0]]
    assert fingerprint_choice(read_choice(write(tmp_path, CHOICE, other))) != fingerprint_choice(questions)

    table = read_retrieval(retrieval(tmp_path, ["['été', '']", "['x']"]))
    record = "0.png\tété\n0.png\t\n1.png\tx"
    assert fingerprint_retrieval(table) == hashlib.sha256(record.encode()).hexdigest()


def test_published_files_are_told_from_ones_own():
    assert len(KNOWN) == 8 and all(len(key) == 64 for key in KNOWN)
    assert recognise(next(iter(KNOWN))) == "published file: COCO MCQ rephrased"
    assert recognise("0" * 64) == "yours"
