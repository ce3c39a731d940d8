"""CLIP's own vocabulary: from OpenAI's one file, and, where it is at hand, the ids of the reference tokenizer.

The second part runs where LITOTES_CLIP_VOCABULARY names bpe_simple_vocab_16e6.txt.gz or a folder with vocab.json and
merges.txt of CLIP; nothing is fetched. Its ids are those of the tokenizer of openai/CLIP (d05afc4) with ftfy 6.3.1.
"""

import gzip
import hashlib
import json
import os
from pathlib import Path

import pytest

from litotes.backbones import vocabulary
from litotes.backbones.tokenizer import TextTokenizer, require_tokenizer_files
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.data.tables import column, read_table
from litotes.errors import UserError


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A small vocabulary as transformers' pair in a folder, and the same in OpenAI's form with merges too many."""
    folder = tmp_path / "pair"
    size = train_tokenizer(["a dog without a boat", "a boat", "no dog"] * 2, 600, folder)
    merges = (folder / "merges.txt").read_text(encoding="utf-8").splitlines()[1:]
    lines = ['"bpe_simple_vocab_16e6.txt#version: 0.2', *merges, "z z", "q q", ""]
    content = gzip.compress("\n".join(lines).encode())
    file = tmp_path / "bpe_simple_vocab_16e6.txt.gz"
    file.write_bytes(content)
    monkeypatch.setattr(vocabulary, "PUBLISHED_SHA256", hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(vocabulary, "PUBLISHED_MERGES", size - 514)
    assert len(merges) == size - 514
    return folder, file


def test_openais_file_is_read_as_the_pair_of_files_is(published, tmp_path):
    folder, file = published
    pair, one = TextTokenizer(folder, 20), TextTokenizer(file, 20)
    texts = ["A boat, no dog!", "没有狗 🙂", "zz qq"]
    assert one.fingerprint == pair.fingerprint and one(texts).equal(pair(texts))
    one.save(tmp_path / "saved")
    again = TextTokenizer(tmp_path / "saved", 20)
    assert again.fingerprint == pair.fingerprint and again(texts).equal(pair(texts))
    for name in ("vocab.json", "merges.txt"):
        assert (tmp_path / "saved" / name).read_bytes() == (folder / name).read_bytes()


def test_any_other_file_is_refused_before_it_is_unpacked(published):
    _, file = published
    file.write_bytes(file.read_bytes() + b"\0")
    with pytest.raises(UserError) as error:
        TextTokenizer(file, 20)
    assert str(file) in error.value.got and vocabulary.PUBLISHED_SHA256 in error.value.expected


def test_the_file_of_an_installed_package_is_found_by_its_name_without_importing_it(published, tmp_path, monkeypatch):
    folder, file = published
    package = tmp_path / "packages" / "open_clip"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    file.rename(package / file.name)
    (tmp_path / "packages" / "clip").mkdir()  # another package of that name
    (tmp_path / "packages" / "clip" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.chdir(tmp_path)
    require_tokenizer_files(Path("open_clip"))
    assert TextTokenizer("open_clip", 20).fingerprint == TextTokenizer(folder, 20).fingerprint
    with pytest.raises(UserError, match="clip, whose package has no bpe_simple"):
        TextTokenizer("clip", 20)
    (tmp_path / "open_clip").mkdir()  # a path that is there is meant as such
    with pytest.raises(UserError, match="no tokenizer files in open_clip"):
        TextTokenizer("open_clip", 20)


def test_a_package_that_is_not_installed_is_told_as_such(monkeypatch):
    monkeypatch.setattr(vocabulary, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="vocabulary clip, which is no path, and no package that is installed"):
        TextTokenizer("clip", 20)


def test_a_missing_vocabulary_names_the_ways_to_get_it(tmp_path):
    with pytest.raises(UserError) as error:
        TextTokenizer(tmp_path, 20)
    for way in ("openai/clip-vit-base-patch32", "bpe_simple_vocab_16e6.txt.gz", "pip download --no-deps"):
        assert way in error.value.do


CLIP = Path(os.environ.get("LITOTES_CLIP_VOCABULARY", "/nonexistent"))
real = pytest.mark.skipif(not CLIP.exists(), reason="LITOTES_CLIP_VOCABULARY names no vocabulary of CLIP")

# Caption -> ids between start and end token.
PROBES = {
    "a photo of a cat": [320, 1125, 539, 320, 2368],
    "Tom &amp;amp; a cat on a &lt;mat&gt;": [2435, 261, 320, 2368, 525, 320, 283, 9063, 285],
    "rock &#39;n&#39; roll &#128049;": [2172, 262, 333, 262, 3341, 22979],
    "a sign that says \u201cno entry\u201d and it\u2019s red": [
        320,
        2292,
        682,
        1563,
        257,
        871,
        5362,
        257,
        537,
        585,
        568,
        736,
    ],
    'a sign that says "no entry" and it\'s red': [320, 2292, 682, 1563, 257, 871, 5362, 257, 537, 585, 568, 736],
    "a dog\nbut no cat": [320, 1929, 767, 871, 2368],
    "a dog\r\n\tbut no cat": [320, 1929, 767, 871, 2368],
    "  a   dog   but no cat  ": [320, 1929, 767, 871, 2368],
    "a\xa0dog but no\xa0cat": [320, 1929, 767, 871, 2368],
    "a do\u200bg but no cat": [320, 818, 9844, 326, 767, 871, 2368],
    "a dog but no ca\xadt": [320, 1929, 767, 871, 1684, 22618, 339],
    "a caf\xe9 in Z\xfcrich": [320, 15304, 530, 89, 6522, 4021],
    "a cafe\u0301 in Zu\u0308rich": [320, 15304, 530, 89, 6522, 4021],
    "a caf\xc3\xa9 in Z\xc3\xbcrich": [320, 15304, 530, 89, 6522, 4021],
    "\uff41 \uff44\uff4f\uff47 \uff42\uff55\uff54 \uff4e\uff4f \uff43\uff41\uff54": [320, 1929, 767, 871, 2368],
    "a \ufb01ne dog": [320, 3797, 1929],
    "a dog \U0001f436 but no \U0001f431": [320, 1929, 10631, 767, 871, 22979],
    "a family \U0001f469\u200d\U0001f469\u200d\U0001f467 outdoors": [320, 1315, 26304, 26304, 964, 356, 10469],
    "a flag \U0001f1e8\U0001f1ed on a roof": [320, 4859, 41119, 525, 320, 6449],
    "\u6709\u72d7\u4f46\u6ca1\u6709\u732b": [
        19277,
        231,
        163,
        233,
        245,
        47466,
        228,
        162,
        110,
        94,
        19277,
        231,
        163,
        234,
        360,
    ],
    "\u0643\u0644\u0628 \u0628\u062f\u0648\u0646 \u0642\u0637\u0629": [
        33499,
        14251,
        35330,
        16378,
        19872,
        12203,
        25386,
        27585,
        32050,
        20915,
    ],
    "\u0915\u0941\u0924\u094d\u0924\u093e \u0939\u0948 \u092c\u093f\u0932\u094d\u0932\u0940 \u0928\u0939\u0940\u0902": [
        22067,
        39653,
        27263,
        19389,
        27263,
        13343,
        29446,
        7410,
        486,
        43599,
        26721,
        30881,
        19389,
        30881,
        25751,
        3124,
        101,
        29446,
        45791,
        30833,
    ],
    "\uac1c\ub294 \uc788\uace0 \uace0\uc591\uc774\ub294 \uc5c6\ub2e4": [
        21122,
        39810,
        232,
        498,
        20849,
        230,
        36216,
        510,
        36216,
        254,
        31625,
        239,
        12286,
        167,
        232,
        498,
        13252,
        228,
        13094,
        353,
    ],
    "A DOG BUT NO CAT": [320, 1929, 767, 871, 2368],
    "\u0130stanbul at night": [328, 16384, 11231, 536, 930],
    "a no\u2011smoking sign": [320, 871, 728, 495, 9038, 2292],
    "a dog \u2014 not a cat": [320, 1929, 2005, 783, 320, 2368],
    "there isn't a dog and you should've seen the cat": [
        997,
        2923,
        713,
        320,
        1929,
        537,
        592,
        1535,
        1200,
        2041,
        518,
        2368,
    ],
    "there isn\u2019t a dog": [997, 2923, 713, 320, 1929],
    "an african_elephant without tusks": [550, 4736, 318, 10299, 2193, 24828, 662],
    "3 dogs, 0 cats, 2024": [274, 3255, 267, 271, 3989, 267, 273, 271, 273, 275],
    "a dog\x07 but no cat": [320, 1929, 767, 871, 2368],
    "\ufeffa dog but no cat": [320, 1929, 767, 871, 2368],
    "\U0001d41a \U0001d41d\U0001d428\U0001d420": [15889, 504, 15889, 251, 15889, 101, 15889, 510],
    "?!...": [9785, 678],
    "\U0001f642": [14860],
}


@real
def test_ids_of_unusual_captions_are_the_reference_tokenizers():
    tokenizer = TextTokenizer(CLIP, 77)
    assert (tokenizer.vocabulary_size, tokenizer.bos, tokenizer.eos) == (49408, 49406, 49407)
    for caption, ids in PROBES.items():
        assert tokenizer([caption])[0].tolist() == [49406, *ids, 49407], ascii(caption)


CYCLE = [
    "no",
    "dog",
    "but",
    "one",
    "cat",
    "near",
    "the",
    "red",
    "bus",
    "and",
    "two",
    "green",
    "cups",
    "on",
    "a",
    "wooden",
    "table",
]
DIGITS = "1234567890"


def words(n):
    """n words of one token each, over and over the same 17."""
    return " ".join((CYCLE * 18)[:n])


CUT_77, CUT_248 = [637, 2368, 2252, 518], [2368, 2252, 518, 736]
"""The last ids before the end of a caption of CYCLE's words that is cut, which has 75 or 246 of them."""

# Caption, tokens without start and end, the last four ids before the end at 77 and at 248.
LONG = [
    (words(1), 1, [49406, 871], [49406, 871]),
    (words(74), 74, [767, 637, 2368, 2252], [767, 637, 2368, 2252]),
    (words(75), 75, CUT_77, CUT_77),
    (words(76), 76, CUT_77, CUT_248),
    (words(77), 77, CUT_77, [2252, 518, 736, 2840]),
    (words(150), 150, CUT_77, [1237, 1901, 11463, 525]),
    (words(245), 245, CUT_77, CUT_77),
    (words(246), 246, CUT_77, CUT_248),
    (words(247), 247, CUT_77, CUT_248),
    (words(300), 300, CUT_77, CUT_248),
    (" ".join([DIGITS] * 4), 40, [278, 279, 280, 271], [278, 279, 280, 271]),
    (" ".join([DIGITS] * 8), 80, [273, 274, 275, 276], [278, 279, 280, 271]),
    (words(75) + " a cat", 77, CUT_77, [2252, 518, 320, 2368]),
    (words(75) + " no dog at all", 79, CUT_77, [871, 1929, 536, 615]),
    (words(246) + " a cat", 248, CUT_77, CUT_248),
    (words(246) + " no dog at all", 250, CUT_77, CUT_248),
    (words(80) + " and there is no person", 85, CUT_77, [997, 533, 871, 2533]),
]


@real
@pytest.mark.parametrize("context, at, cut", [(77, 2, 13), (248, 3, 4)])
def test_long_captions_are_cut_as_the_reference_cuts_them(context, at, cut):
    tokenizer = TextTokenizer(CLIP, context)
    for row in LONG:
        ids = tokenizer([row[0]])[0].tolist()
        assert len(ids) == min(row[1] + 2, context) and ids.count(49407) == 1
        assert ids[-5:] == [*row[at], 49407], row[0][-40:]
    assert tokenizer.truncated == cut
    cat, dog = (tokenizer([words(75) + end])[0].tolist() for end in (" a cat", " no dog at all"))
    assert (cat == dog) == (context == 77)
    cat, dog = tokenizer([words(context - 2) + " a cat"]), tokenizer([words(context - 2) + " no dog at all"])
    assert cat.equal(dog)
    strict = TextTokenizer(CLIP, context, truncation="refuse")
    with pytest.raises(UserError, match="tokens"):
        strict([row[0] for row in LONG])


@real
@pytest.mark.skipif(not CLIP.is_file(), reason="a folder")
def test_the_published_file_gives_clips_vocabulary(tmp_path):
    tokenizer = TextTokenizer(CLIP, 77)
    assert tokenizer.id_of("M") == 44
    tokenizer.save(tmp_path)
    pieces = json.loads((tmp_path / "vocab.json").read_text(encoding="utf-8"))
    assert sorted(pieces.values()) == list(range(49408))


CASES = Path(os.environ.get("LITOTES_SHARED_CASES", "/nonexistent"))
shared = pytest.mark.skipif(not CASES.is_dir(), reason="LITOTES_SHARED_CASES names no folder of cases")


def captions_of(path):
    table = read_table(path)
    return dict(zip(column(table, "id"), column(table, "caption"), strict=True))


@real
@shared
@pytest.mark.parametrize("context", [77, 248])
def test_shared_long_captions(context):
    wanted = json.loads((CASES / "05_long_captions" / "expected.json").read_text())
    texts = captions_of(CASES / "05_long_captions" / "captions.jsonl")
    tokenizer = TextTokenizer(CLIP, context)
    found = {name: tokenizer([texts[name]])[0].tolist() for name in wanted["captions"]}
    for name, ids in found.items():
        facts = wanted["captions"][name][f"at_{context}"]
        assert (len(ids), ids.index(49407), ids[-5:]) == (
            facts["used_length"], facts["eot_position"], facts["last_5_ids"],
        ), name  # fmt: skip
    assert tokenizer.truncated == wanted[f"truncated_at_{context}"]
    assert all(found[first] == found[second] for first, second in wanted[f"must_be_identical_at_{context}"])
    assert context == 77 or all(found[first] != found[second] for first, second in wanted["must_differ_at_248"])


@real
@shared
def test_shared_unusual_captions():
    wanted = json.loads((CASES / "06_unicode_captions" / "expected.json").read_text())
    tokenizer = TextTokenizer(CLIP, 77)
    for name in ("captions.csv", "captions.jsonl"):
        texts = captions_of(CASES / "06_unicode_captions" / name)
        found = {key: tokenizer([text])[0].tolist() for key, text in texts.items()}
        assert found == wanted["ids_with_start_and_end"], name
        assert all(found[first] == found[second] for first, second in wanted["equal_pairs"])
