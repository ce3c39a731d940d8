"""What is wrong with a user's files or options is told by the command, with the place, before any model is loaded."""

import numpy as np
import pytest
from PIL import Image

from litotes.cli import main
from tiny import tiny_model

MCQ = "image_path,correct_answer,caption_0,caption_1,correct_answer_template\n"
ROW = "pics/0.png,0,a cat,no cat,positive\n"
PAIRS = "filepath,caption\npics/0.png,a cat\npics/1.png,a dog\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("litotes.evaluate.command._matcher", None)  # nothing may be loaded
    for place in ("pics", "classes/a", "classes/b", "texts"):
        (tmp_path / place).mkdir(parents=True)
    pixels = np.random.default_rng(0).integers(0, 256, (2, 24, 24, 3), dtype=np.uint8)
    for i, values in enumerate(pixels):
        Image.fromarray(values).save(tmp_path / f"pics/{i}.png")
        Image.fromarray(values).save(tmp_path / f"classes/{'ab'[i]}/0.png")
    Image.fromarray(pixels[0]).save(tmp_path / "texts/0.png")
    tiny_model(tmp_path / "model", ["a cat"])
    return tmp_path


def refusal(capsys, *words):
    assert main(["evaluate", "--model", "model", *words]) == 2
    return capsys.readouterr().err


def table(text, option="--choice", file="t.csv"):
    return option, file, text


def mcq(*rows, header=MCQ):
    return table(header + "".join(row + "\n" for row in rows))


def pairs(*rows, header="filepath,caption\n"):
    return table(header + "".join(row + "\n" for row in rows), "--retrieval")


FAULTS = {
    "an empty option": (mcq(ROW.strip(), "pics/1.png,0,,no,hybrid"), "t.csv: an option is empty in rows 2\n"),
    "an empty type": (mcq(ROW.strip(), "pics/1.png,0,a,b, "), "correct_answer_template is empty in rows 2\n"),
    "a gap in the options": (
        mcq("pics/0.png,0,a,b,c,positive", header=MCQ.replace("caption_1", "caption_1,caption_3")),
        "caption_2 is missing",
    ),
    "an answer as a letter": (mcq("pics/0.png,A,a,b,positive"), "t.csv: correct_answer 'A' in rows 1\n"),
    "an empty path": (mcq(ROW.strip(), ",0,a,b,positive"), "t.csv: image_path is empty in rows 2\n"),
    "a question id twice": (
        mcq("q7," + ROW.strip(), "q8," + ROW.strip(), "q7," + ROW.strip(), header="question_id," + MCQ),
        "t.csv: 1 ids stand more than once in the column question_id: q7 in rows 1, 3\n",
    ),
    "a row id twice": (
        pairs("1,pics/0.png,a cat", "1,pics/1.png,a dog", header="id,filepath,caption\n"),
        "t.csv: 1 ids stand more than once in the column id: 1 in rows 1, 2\n",
    ),
    "a caption id twice": (
        pairs("x,pics/0.png,a cat", "x,pics/1.png,a dog", header="caption_id,filepath,caption\n"),
        "column caption_id: x in rows 1, 2\n",
    ),
    "an image id with two pictures": (
        pairs("7,pics/0.png,a cat", "7,pics/1.png,a dog", header="image_id,filepath,caption\n"),
        "t.csv: image_id 7 with pics/0.png in row 1 and with pics/1.png in row 2\n",
    ),
    "a picture with two image ids": (
        pairs("7,pics/0.png,a cat", "007,pics/0.png,a dog", header="image_id,filepath,caption\n"),
        "t.csv: the picture pics/0.png with 7 in row 1 and with 007 in row 2\n",
    ),
    "a picture under two names": (
        pairs("pics/0.png,a cat", "./pics/0.png,a dog"),
        "t.csv: the picture pics/0.png also as ./pics/0.png\n",
    ),
    "a picture with two classes": (
        table("filepath,caption\npics/0.png,a cat\npics/0.png,a dog\n", "--classification"),
        "t.csv: pics/0.png in row 1 ('a cat') and in row 2 ('a dog')\n",
    ),
    "a class without words": (
        table("filepath,caption\npics/0.png,a cat\npics/1.png,\n", "--classification"),
        "t.csv: column caption has no words in 1 rows: 2\n",
    ),
    "a path out of the folder": (pairs("../x.png,a cat"), "t.csv: image path '../x.png', which is outside"),
    "an absolute path": (pairs("/etc/hostname,a cat"), "t.csv: image path '/etc/hostname', which is outside"),
    "several absolute paths": (
        pairs("/data/0.png,a cat", "/data/1.png,a dog"),
        "t.csv: 2 image paths that are outside the image root",
    ),
    "absolute paths that end as pictures do": (
        pairs("/data/pics/0.png,a cat", "/data/pics/1.png,a dog"),
        "strip the prefix '/data/' (litotes evaluate --strip-prefix): pics/0.png is there below the root",
    ),
    "a Windows path": (
        pairs("pics\\0.png,a cat", "pics\\1.png,a dog"),
        "write the paths from the image root on (--images-root), with forward slashes",
    ),
    "a K above the gallery": (
        pairs("pics/0.png,a cat", "pics/1.png,a dog"),
        "retrieval: recall at K = 5 over 2 images (--ks)",
    ),
    "another separator": (pairs(header="filepath|caption\n"), "t.csv (separator: comma, columns: filepath|caption)"),
    "a ragged row": (pairs("pics/0.png,a cat,7"), "t.csv (separator: comma, columns: filepath, caption): line 2 has 3"),
    "a list that is none": (
        pairs("pics/0.png,\"['a', 7]\"", header="filepath,captions\n"),
        "t.csv: captions \"['a', 7]\" in rows 1\n",
    ),
    "a title twice": (pairs("pics/0.png,a,b", header="filepath,caption,Caption\n"), "has the column 'Caption' twice"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_table_is_refused_with_its_name_and_rows(folder, capsys, name):
    (option, file, text), message = FAULTS[name]
    header, *rows = text.splitlines()
    (folder / file).write_text("\n".join([header, *(rows or ["pics/0.png|a cat"])]) + "\n")
    assert message in refusal(capsys, option, file, "--ks", "1,5" if "K above" in name else "1")


def test_a_byte_order_mark_and_other_separators_change_nothing(folder, monkeypatch):
    seen = []

    def stop(config, adapter):
        seen.append(config)
        raise KeyboardInterrupt

    monkeypatch.setattr("litotes.evaluate.command._matcher", stop)
    for text in ("\ufeff" + PAIRS, PAIRS.replace(",", ";"), PAIRS.replace(",", "\t"), PAIRS.replace("\n", "\r\n")):
        (folder / "t.csv").write_bytes(text.encode())
        assert main(["evaluate", "--model", "model", "--retrieval", "t.csv", "--ks", "1"]) == 130
    assert len(seen) == 4


def test_where_all_pictures_are_missing_the_folder_is_wrong(folder, capsys):
    (folder / "t.csv").write_text(PAIRS.replace("pics/", "elsewhere/"))
    told = refusal(capsys, "--retrieval", "t.csv")
    assert "t.csv: 2 of 2 pictures are missing below" in told and "--allow-missing" not in told
    assert "all are missing, so that this is another folder than the paths start from" in told
    (folder / "t.csv").write_text(PAIRS + "pics/7.png,a bird\n")
    assert "allow as many as are missing (--allow-missing 1)" in refusal(capsys, "--retrieval", "t.csv")
    (folder / "t.csv").write_text(PAIRS.replace("pics/", "elsewhere/"))
    told = refusal(capsys, "--retrieval", "t.csv", "--allow-missing", "2")
    assert "none of 2 rows has a picture that can be used" in told and "--images-root" in told


LATIN = "caf\xe9 {c}\n".encode("latin-1")


@pytest.mark.parametrize(
    "option, content, message",
    [
        ("--classnames", LATIN, "names.txt is not UTF-8"),
        ("--classnames", b"", "names.txt is an empty file"),
        ("--classnames", b"\n\n", "names.txt holds blank lines only"),
        ("--classnames", b"a\n\nb\n", "names.txt: line 2 is empty"),
        ("--classnames", b"a\n", "names.txt with 1 name for 2 class folders in classes"),
        ("--classnames", b"a\nb\nc\n", "names.txt with 3 names for 2 class folders in classes"),
        ("--templates", LATIN, "names.txt is not UTF-8"),
        ("--templates", b"", "names.txt is an empty file"),
        ("--templates", b" \n", "names.txt, line 1: ''"),
        ("--templates", b"a {c}\n\na photo\n", "names.txt, line 3: 'a photo'"),
    ],
)
def test_a_faulty_list_of_names_or_prompts_is_refused(folder, capsys, option, content, message):
    (folder / "names.txt").write_bytes(content)
    assert message in refusal(capsys, "--classification", "classes", option, "names.txt")


def test_a_caption_file_that_is_no_text_is_refused(folder, capsys):
    (folder / "texts/0.txt").write_bytes(LATIN)
    assert "0.txt is not UTF-8" in refusal(capsys, "--retrieval", "texts", "--ks", "1")
    (folder / "texts/0.txt").write_bytes(b"")
    assert "0.txt has no caption" in refusal(capsys, "--retrieval", "texts", "--ks", "1")


def test_an_option_given_twice_is_refused(folder, capsys):
    told = refusal(capsys, "--choice", "a.csv", "--choice", "b.csv")
    assert "got:      --choice a.csv and --choice b.csv" in told
    assert "--images-root a and --images-root b" in refusal(capsys, "--images-root=a", "--images_root", "b")
    assert "--adapted-only true and --adapted-only true" in refusal(capsys, "--adapted-only", "--adapted-only")
