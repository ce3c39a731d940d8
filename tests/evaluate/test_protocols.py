"""Named retrieval protocols, on tiny files in the layouts in which they are published."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from evaluate_fakes import FakeEncoder
from PIL import Image

from litotes.cli import main
from litotes.data.flickr import read_flickr30k_test, read_flickr30k_tokens
from litotes.data.long_captions import read_sharegpt4v, read_urban1k
from litotes.errors import UserError
from litotes.evaluate import protocols
from litotes.evaluate.config import NAMED, EvaluateConfig
from litotes.evaluate.files import suites_from_files
from litotes.evaluate.results import result_record
from litotes.evaluate.sections import sections
from litotes.evaluate.suite import run_suites
from tiny import tiny_model

NAMES = ("10.jpg", "9.jpg", "30.jpg")
# 1, 2 and 5 captions a picture, with commas, quotes and blanks of their own
TEXTS = {
    "10.jpg": ["A man, a dog, no cat ."],
    "9.jpg": ['"Quoted"', " two blanks  "],
    "30.jpg": ["a", "b", "c", "d", "none, N/A"],
}
ROWS = [(name, text) for name in NAMES for text in TEXTS[name]]


def write_pictures(folder, names=NAMES):
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(0).integers(0, 256, (len(names), 24, 24, 3), dtype=np.uint8)
    for name, values in zip(names, pixels, strict=True):
        Image.fromarray(values).save(folder / name)


def karpathy():
    def image(name, split):
        told = [{"raw": text, "tokens": [], "imgid": 0, "sentid": 0} for text in TEXTS.get(name, ["other"])]
        return {"filename": name, "split": split, "imgid": 0, "sentids": [0], "sentences": told}

    return {"dataset": "flickr30k", "images": [image("1.jpg", "train"), *(image(name, "test") for name in NAMES)]}


def write_flickr(folder, form):
    """The file of one of the published forms of the test split, with the pictures where each form has them."""
    if form == "karpathy":
        write_pictures(folder / "flickr30k-images")
        (folder / "dataset_flickr30k.json").write_text(json.dumps(karpathy()))
        return folder / "dataset_flickr30k.json"
    if form == "albef":
        write_pictures(folder / "flickr30k-images")
        content = [{"image": f"flickr30k-images/{name}", "caption": TEXTS[name]} for name in NAMES]
        (folder / "flickr30k_test.json").write_text(json.dumps(content))
        return folder / "flickr30k_test.json"
    write_pictures(folder)
    lines = "".join(f"{name},{text}\n" for name, text in ROWS)
    (folder / "flickr30k_test_karpathy.txt").write_text("image,caption\n" + lines)
    return folder / "flickr30k_test_karpathy.txt"


def write_tokens(folder):
    write_pictures(folder / "flickr30k-images")
    lines = [f"{name}#{n}\t{text}" for name in NAMES for n, text in enumerate(TEXTS[name])]
    (folder / "results_20130124.token").write_text("\r\n".join(lines) + "\n")
    return folder / "results_20130124.token"


def write_urban(folder):
    write_pictures(folder / "image")
    (folder / "caption").mkdir()
    for name in NAMES:
        (folder / "caption" / name.replace(".jpg", ".txt")).write_text(f"A long caption of {name} .\n")
    return folder


def write_sharegpt(folder, beyond=""):
    write_pictures(folder / "sam" / "images")
    talk = {name: [{"from": "human", "value": "<image>\nWhat?"}, {"from": "gpt", "value": f"Of {name}\nso"}]
            for name in NAMES}  # fmt: skip
    entries = [{"id": name, "image": f"sam/images/{name}", "conversations": talk[name]} for name in NAMES]
    text = json.dumps(entries, indent=1)
    (folder / "share.json").write_text(text.removesuffix("]") + beyond if beyond else text)
    return folder / "share.json"


def pairs_of(read):
    return [(read.image_paths[i], text) for i, text in zip(read.image_of_caption, read.captions, strict=True)]


@pytest.mark.parametrize("form", ["karpathy", "albef", "clip_benchmark"])
def test_every_form_of_the_test_split_gives_the_same_captions(tmp_path, form):
    found = pairs_of(read_flickr30k_test(write_flickr(tmp_path, form)))
    assert [(name.removeprefix("flickr30k-images/"), text) for name, text in found] == ROWS


def test_the_token_file_gives_the_captions_of_every_picture(tmp_path):
    assert pairs_of(read_flickr30k_tokens(write_tokens(tmp_path))) == ROWS


def test_of_an_urban_caption_the_first_line_counts_and_more_are_told(tmp_path):
    folder = write_urban(tmp_path / "Urban1k")
    (folder / "caption" / "9.txt").write_text("first\nsecond\n\n")
    read, notes = read_urban1k(folder)
    assert pairs_of(read) == [
        ("image/10.jpg", "A long caption of 10.jpg ."),
        ("image/30.jpg", "A long caption of 30.jpg ."),
        ("image/9.jpg", "first"),
    ]
    assert notes == ["caption files with more than one line, of which the first counts: 1"]


@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
def test_of_sharegpt4v_the_first_entries_are_read_and_no_more(tmp_path, piece, monkeypatch):
    monkeypatch.setattr("litotes.data.long_captions._PIECE", piece)
    path = write_sharegpt(tmp_path, beyond=', {"never": read')
    expected = [(f"sam/images/{name}", f"Of {name} so") for name in NAMES]
    assert pairs_of(read_sharegpt4v(path, 3)) == expected
    with pytest.raises(UserError, match=r"share.json: entry 4: "):
        read_sharegpt4v(path, 4)
    assert pairs_of(read_sharegpt4v(write_sharegpt(tmp_path))) == expected


def faults():
    """Name of the suite, file, content, message."""
    line = "10.jpg#0\tA man\n"
    image = karpathy()["images"][1]
    talk = '[{"from": "human", "value": "?"}, {"from": "gpt", "value": 7}]'
    return [
        ("flickr30k_31k", "a.token", line + "9.jpg#0 no tab\n", "line 2: '9.jpg#0 no tab'"),
        ("flickr30k_31k", "a.token", line + "9.jpg\tA man\n", "line 2: "),
        ("flickr30k_31k", "a.token", line + line, "line 2: the caption 10.jpg#0 of line 1 again"),
        ("flickr30k_31k", "a.token", "", "a.token is an empty file"),
        ("flickr30k", "a.txt", "10.jpg,A man\n", "line 1: '10.jpg,A man'"),
        ("flickr30k", "a.txt", "image,caption\n10.jpg,A man\n9.png,A\n", "line 3: '9.png,A'"),
        ("flickr30k", "a.json", json.dumps({"dataset": "coco", "images": [image]}), "captions of coco"),
        ("flickr30k", "a.json", json.dumps({"images": [{**image, "split": "val"}]}), "no images of the split 'test'"),
        ("flickr30k", "a.json", json.dumps({"images": [{**image, "filename": 7}]}), "picture 1 .*7 is no str"),
        ("flickr30k", "a.json", json.dumps({"images": [image, image]}), "picture 2 is 10.jpg of picture 1 again"),
        ("flickr30k", "a.json", json.dumps({"images": [{**image, "sentences": []}]}), "picture 1 .*there are none"),
        ("flickr30k", "a.json", '[{"image": "10.jpg", "caption": [7]}]', "picture 1: "),
        ("flickr30k", "a.json", '[{"image": "10.jpg", "caption": []}]', "picture 1: "),
        ("flickr30k", "a.json", "7", "no images of the split"),
        ("sharegpt4v_1k", "a.json", "{}", "a.json: no list"),
        ("sharegpt4v_1k", "a.json", "[]", "an empty list"),
        ("sharegpt4v_1k", "a.json", "[7]", "entry 1 is 7"),
        ("sharegpt4v_1k", "a.json", '[{"image": "10.jpg"} {}]', "entry 1: "),
        ("sharegpt4v_1k", "a.json", f'[{{"image": "10.jpg", "conversations": {talk}}}]', "entry 1: .*conversations"),
        ("sharegpt4v_1k", "a.json", '[{"image": "a", "image": "b"}]', "a key stands twice"),
        ("sharegpt4v_1k", "a.json", '[{"image": "a', "entry 1: Unterminated"),
        ("sharegpt4v_1k", "none.json", None, "no file .*none.json"),
        ("flickr30k", "none.json", None, "no file .*none.json"),
    ]


@pytest.mark.parametrize("name, file, content, message", faults())
def test_files_of_another_form_are_refused_with_their_place(tmp_path, name, file, content, message):
    write_pictures(tmp_path)
    if content is not None:
        (tmp_path / file).write_text(content)
    with pytest.raises(UserError, match=message) as fault:
        suites_from_files(EvaluateConfig(model=tmp_path, ks=(1,), **{name: tmp_path / file}))
    assert file in fault.value.got


def test_a_folder_in_place_of_a_file_is_told(tmp_path):
    for name in ("sharegpt4v_1k", "flickr30k", "flickr30k_31k"):
        with pytest.raises(UserError, match=r"cannot be read|no file"):
            suites_from_files(EvaluateConfig(model=tmp_path, ks=(1,), **{name: tmp_path}))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda folder: (folder / "image" / "9.jpg").unlink(), "caption/9.txt without image/9.jpg"),
        (lambda folder: (folder / "caption" / "9.txt").unlink(), "image/9.jpg without a caption"),
        (lambda folder: (folder / "caption" / "9.txt").write_text(""), "caption/9.txt, empty"),
        (lambda folder: (folder / "caption").rename(folder / "captions"), "without caption/"),
    ],
)
def test_an_urban_folder_that_is_not_whole_is_refused_by_name(tmp_path, change, message):
    folder = write_urban(tmp_path / "Urban1k")
    change(folder)
    with pytest.raises(UserError, match=message):
        suites_from_files(EvaluateConfig(model=tmp_path, urban1k=folder))


def of_tiny_sizes(monkeypatch):
    """The protocols as if they had been published with as many pictures as the tiny files have."""
    for name, protocol in protocols.PROTOCOLS.items():
        monkeypatch.setitem(protocols.PROTOCOLS, name, replace(protocol, pictures=3))


def everything(folder):
    return EvaluateConfig(
        model=folder, flickr30k=write_flickr(folder / "a", "karpathy"), flickr30k_31k=write_tokens(folder / "b"),
        urban1k=write_urban(folder / "Urban1k"), sharegpt4v_1k=write_sharegpt(folder / "c"), ks=(1, 2),
    )  # fmt: skip


def test_a_result_has_the_protocols_name_and_says_whose_the_file_is(tmp_path):
    for folder in "abc":
        (tmp_path / folder).mkdir()
    suites = suites_from_files(everything(tmp_path))
    assert tuple(suite.name for suite in suites) == NAMED == tuple(protocols.PROTOCOLS)
    texts = {text: torch.randn(4, generator=torch.Generator().manual_seed(i))
             for i, text in enumerate(text for suite in suites for text in suite.captions)}  # fmt: skip
    encoder = FakeEncoder({}, texts, default=[1.0, 0.0, 0.0, 0.0])
    record = result_record(encoder, run_suites(encoder, suites), dataset="d")
    found = record["suites"]["flickr30k"]
    assert (found["protocol"], found["file"]) == ("Flickr30k, 1K test", "yours")
    assert found["notes"] == [
        "not Flickr30k, 1K test as published: 3 pictures, 8 captions, 1 pictures with 5 captions here, "
        "1,000 pictures, 5,000 captions, 1,000 pictures with 5 captions there"
    ]
    assert "31,783 pictures, 158,915 captions" in record["suites"]["flickr30k_31k"]["notes"][0]
    assert record["metrics"]["image_retrieval_recall@1"] == found["t2i"]["1"]
    assert record["metrics"]["urban1k-text_retrieval_recall@2"] == record["suites"]["urban1k"]["i2t"]["2"]
    assert [section.title for section in sections({"m": record})][1] == "Retrieval: Flickr30k, all 31K"


def test_the_same_counts_are_told_as_published(tmp_path, monkeypatch):
    of_tiny_sizes(monkeypatch)
    [urban] = suites_from_files(EvaluateConfig(model=tmp_path, urban1k=write_urban(tmp_path / "Urban1k"), ks=(1,)))
    assert urban.source == ("published counts: Urban1k", ())
    (tmp_path / "Urban1k" / "image" / "9.jpg").write_bytes(b"")
    asked = EvaluateConfig(model=tmp_path, urban1k=tmp_path / "Urban1k", ks=(1,), broken_pictures="skip")
    [fewer] = suites_from_files(asked)
    assert fewer.source.file == "yours" and "2 pictures, 2 captions" in fewer.source.notes[0]
    # as many pictures and captions, but not as many of each
    monkeypatch.setitem(protocols.PROTOCOLS, "flickr30k", replace(protocols.PROTOCOLS["flickr30k"], captions_each=2))
    content = [{"image": name, "caption": TEXTS["30.jpg"][:n]} for name, n in zip(NAMES, (1, 2, 3), strict=True)]
    write_pictures(tmp_path)
    (tmp_path / "f.json").write_text(json.dumps(content))
    [uneven] = suites_from_files(EvaluateConfig(model=tmp_path, flickr30k=tmp_path / "f.json", ks=(1,)))
    assert uneven.source.notes == (
        "not Flickr30k, 1K test as published: 1 pictures with 2 captions here, 3 pictures with 2 captions there",
    )


def test_the_command_names_the_protocol_in_result_and_screen(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    tiny_model(tmp_path / "tiny", [text for _, text in ROWS])
    words = ["--model", "tiny", "--urban1k", str(write_urban(tmp_path / "Urban1k")), "--ks", "1,2"]
    assert main(["evaluate", *words]) == 0
    record = json.loads((tmp_path / "urban1k_base_tiny_en_zeroshot_retrieval.json").read_text())
    assert record["suites"]["urban1k"]["protocol"] == "Urban1k"
    assert "note: urban1k: not Urban1k as published: 3 pictures" in capsys.readouterr().out
