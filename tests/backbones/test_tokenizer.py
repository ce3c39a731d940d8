import json

import pytest
import torch
from transformers import CLIPTokenizer

from litotes.backbones.tokenizer import TextTokenizer, clean
from litotes.backbones.train_tokenizer import SMALLEST, train_tokenizer
from litotes.errors import UserError

CAPTIONS = [
    "A frog on a leaf.",
    "A crowned crane beside a boat",
    "A boat without a sail!",
    "There is no boat here.",
    "An umbrella and a cup",
    "a cup, but no umbrella",
    "It's a dog that isn't wet",
    "2 dogs and 12 cups",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary")
    train_tokenizer(CAPTIONS, 600, path)
    return path


@pytest.fixture
def tokenizer(folder):
    return TextTokenizer(folder, 12)


def content(row, tokenizer):
    """The ids between start and end token; asserts that the row has its form."""
    ids = row.tolist()
    end = ids.index(tokenizer.eos)
    assert ids[0] == tokenizer.bos and set(ids[end + 1 :]) <= {0}
    return ids[1:end]


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("  A  Dog\n\tand\u00a0a cat ", "a dog and a cat"),
        ("a dog &amp;amp; a cat", "a dog & a cat"),
        ("&lt;b&gt; it&#39;s", "<b> it's"),
        ("the \u2018dog\u2019 said \u201cno\u201d", "the 'dog' said \"no\""),
        ("cafÃ©", "café"),
        ("\ufb01sh", "fish"),
        ("\uff24\uff2f\uff27", "dog"),
        ("\ufeffa dog", "a dog"),
        ("", ""),
    ],
)
def test_cleaning(text, wanted):
    assert clean(text) == wanted


def test_rows_start_and_end_and_are_trimmed_to_the_longest(tokenizer):
    ids = tokenizer(["a boat!", "", "a cup and a boat and an umbrella"])
    assert ids.dtype == torch.int64 and ids.shape[0] == 3
    assert [len(content(row, tokenizer)) for row in ids] == [3, 0, ids.shape[1] - 2]
    assert tokenizer.truncated == 0


def test_no_texts_and_one_string(tokenizer):
    assert tokenizer([]).shape == (0, 2)
    with pytest.raises(UserError, match="list"):
        tokenizer("a dog")


def test_same_ids_as_transformers_reads_from_the_files(folder):
    texts = [*CAPTIONS, "没有狗 🙂 café's", "!!! boats?", "x", "\u0301 lone accent", "\x07 bell"]
    reader = CLIPTokenizer.from_pretrained(folder)
    mine = TextTokenizer(folder, 77)
    for text, row in zip(texts, mine(texts), strict=True):
        wanted = reader(clean(text))["input_ids"]
        assert row[: len(wanted)].tolist() == wanted


def test_same_after_transformers_wrote_the_files_anew(folder, tmp_path):
    CLIPTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    (tmp_path / "vocab.json").unlink(missing_ok=True)
    (tmp_path / "merges.txt").unlink(missing_ok=True)
    first, second = TextTokenizer(folder, 20), TextTokenizer(tmp_path, 20)
    assert first.fingerprint == second.fingerprint
    assert first(CAPTIONS).equal(second(CAPTIONS))


def test_pad_is_zero_and_an_exclamation_mark_stays_itself(tokenizer):
    ids = tokenizer(["a dog !", "a cup and a boat and an umbrella"])
    assert content(ids[0], tokenizer)[-1] == 256


def test_truncation_keeps_the_first_tokens_and_the_end_and_counts(folder):
    whole = TextTokenizer(folder, 77)
    short = TextTokenizer(folder, 5)
    text = "a frog and a boat and a cup"
    ids = short([text, "a dog", text])
    assert ids.shape[1] == 5 and ids[0, -1] == short.eos
    assert content(ids[0], short) == content(whole([text])[0], whole)[:3]
    assert (short.truncated, whole.truncated) == (2, 0)
    short([text])
    assert short.truncated == 3


def test_exactly_full_is_not_truncated(folder):
    length = TextTokenizer(folder, 77)(["a frog and a boat"]).shape[1]
    fits, over = TextTokenizer(folder, length), TextTokenizer(folder, length - 1)
    fits(["a frog and a boat"])
    over(["a frog and a boat"])
    assert (fits.truncated, over.truncated) == (0, 1)


def test_refusal_of_long_captions(folder):
    with pytest.raises(UserError) as error:
        TextTokenizer(folder, 5, truncation="refuse")(["a dog", "a frog and a boat and a cup"])
    assert "at most 3" in str(error.value) and "a frog" in str(error.value)


@pytest.mark.parametrize("name", ["<|endoftext|>", "<|ENDOFTEXT|>", "<|startoftext|>", "&lt;|endoftext|&gt;"])
def test_a_special_token_in_a_caption_cuts_nothing(folder, name):
    tokenizer = TextTokenizer(folder, 77)
    with_name, other, without = tokenizer([f"a frog {name} and a boat", f"a frog {name} and a cup", "a frog"])
    for row in (with_name, other):
        assert row.tolist().count(tokenizer.eos) == 1 and row.tolist().count(tokenizer.bos) == 1
    assert len(content(with_name, tokenizer)) > len(content(without, tokenizer)) + 3
    assert not with_name.equal(other)


@pytest.mark.parametrize("name", ["<|endoftext|>", "<|startoftext|>"])
def test_a_special_token_alone_or_glued_to_a_word(folder, name):
    tokenizer = TextTokenizer(folder, 77)
    for row in tokenizer([name, f"dog{name}cat", f"{name}{name}"]):
        assert {tokenizer.eos, tokenizer.bos}.isdisjoint(content(row, tokenizer))


def test_every_byte_can_be_written(folder):
    tokenizer = TextTokenizer(folder, 77)
    texts = [chr(code) for code in range(1, 0x800)] + ["\u2603a", "\U0001f642a", "\U0010ffffa"]
    assert tokenizer(texts).shape[0] == len(texts)


def test_lone_surrogate_is_refused(tokenizer):
    with pytest.raises(UserError, match="surrogate"):
        tokenizer(["a dog \ud83d"])


def test_vocabulary_without_bytes_is_refused_where_it_would_cut(tmp_path):
    vocabulary = {"!": 0, "d": 1, "o": 2, "g</w>": 3, "<|startoftext|>": 4, "<|endoftext|>": 5}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = TextTokenizer(tmp_path, 9)
    assert tokenizer(["dog"]).tolist() == [[4, 1, 2, 3, 5]]
    with pytest.raises(UserError, match="cannot write"):
        tokenizer(["cat"])


def test_missing_files_and_specials(tmp_path):
    with pytest.raises(UserError, match="no tokenizer files"):
        TextTokenizer(tmp_path, 9)
    with pytest.raises(UserError, match="no tokenizer files"):
        TextTokenizer(tmp_path / "absent", 9)
    (tmp_path / "vocab.json").write_text(json.dumps({"!": 0, "a</w>": 1}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    with pytest.raises(UserError, match="a CLIP vocabulary"):
        TextTokenizer(tmp_path, 9)
    (tmp_path / "vocab.json").write_text("{")
    with pytest.raises(UserError, match="cannot be read"):
        TextTokenizer(tmp_path, 9)


def test_context_too_short_for_a_word(folder):
    with pytest.raises(UserError, match="at least 3"):
        TextTokenizer(folder, 2)


def test_layout_is_clips(folder):
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    size = len(vocabulary)
    assert sorted(vocabulary.values()) == list(range(size))
    assert (vocabulary["!"], vocabulary["!</w>"], vocabulary["a"], vocabulary["a</w>"]) == (0, 256, 64, 320)
    assert (vocabulary["<|startoftext|>"], vocabulary["<|endoftext|>"]) == (size - 2, size - 1)
    tokenizer = TextTokenizer(folder, 9)
    assert (tokenizer.bos, tokenizer.eos, tokenizer.vocabulary_size) == (size - 2, size - 1, size)


def test_frequent_words_become_one_token(folder):
    tokenizer = TextTokenizer(folder, 9)
    assert len(content(tokenizer(["boat"])[0], tokenizer)) == 1


def test_training_twice_gives_the_same_files(tmp_path):
    for name in ("one", "two"):
        train_tokenizer(CAPTIONS, 560, tmp_path / name)
    for file in ("vocab.json", "merges.txt"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_size_is_kept_and_returned(tmp_path):
    assert train_tokenizer(CAPTIONS, SMALLEST, tmp_path / "none") == SMALLEST
    assert train_tokenizer(CAPTIONS, 530, tmp_path / "some") == 530
    assert SMALLEST < train_tokenizer(CAPTIONS, 40000, tmp_path / "all") < 700
    with pytest.raises(UserError, match="at least 514"):
        train_tokenizer(CAPTIONS, SMALLEST - 1, tmp_path)
    with pytest.raises(UserError, match="no text"):
        train_tokenizer(["", "  "], 600, tmp_path)


def test_fingerprint_tells_vocabularies_apart(folder, tmp_path):
    train_tokenizer(CAPTIONS, 530, tmp_path)
    assert TextTokenizer(folder, 9).fingerprint != TextTokenizer(tmp_path, 9).fingerprint


def test_saved_files_read_the_same(folder, tmp_path):
    TextTokenizer(folder, 9).save(tmp_path / "copy")
    first, second = TextTokenizer(folder, 9), TextTokenizer(tmp_path / "copy", 9)
    second.save(tmp_path / "copy")
    assert first.fingerprint == second.fingerprint and first(CAPTIONS[:2]).equal(second(CAPTIONS[:2]))


def test_a_tokens_own_id_is_found_and_a_missing_one_refused(tokenizer):
    assert content(tokenizer(["m"])[0], tokenizer) == [tokenizer.id_of("m</w>")]
    assert tokenizer.id_of("M") not in content(tokenizer(["M MM mM"])[0], tokenizer)  # captions are lower-cased
    with pytest.raises(UserError, match="no token 'no such token'"):
        tokenizer.id_of("no such token")


def test_cut_merges_are_refused(tmp_path):
    train_tokenizer(CAPTIONS, 560, tmp_path)
    lines = (tmp_path / "merges.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "merges.txt").write_text("".join(lines[:-2]), encoding="utf-8")
    with pytest.raises(UserError, match=r"2 pieces in the vocabulary of .* that no merge makes") as error:
        TextTokenizer(tmp_path, 9)
    assert "both together" in error.value.do
