import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from litotes.data.statements import (
    KINDS,
    absence_pair,
    choose_things,
    hybrid_pair,
    make_options,
    negated_positive,
)
from litotes.data.wordings import (
    HELD_OUT_WORDINGS,
    NEGBENCH_WORDINGS,
    NEW_CUE_WORDINGS,
    TRAIN_WORDINGS,
    bare,
    render,
    with_article,
)
from litotes.errors import UserError

VOCABULARY = ["cat", "boat", "umbrella", "owl", "christmas tree", "tree", "hourglass", "bus", "cup", "fox"]
EVALUATION = {"negbench": NEGBENCH_WORDINGS, "held out": HELD_OUT_WORDINGS, "new cues": NEW_CUE_WORDINGS}
COMMON_CUES = {"no", "not", "without"}
NEW_CUES = {"lacks", "missing", "absent", "free", "nowhere", "devoid"}


def rng(seed=0):
    return np.random.default_rng(seed)


def frames(wordings):
    return [frame for group in wordings for frame in group]


def plain(text):
    return " ".join(re.findall(r"[a-z{:}]+", text.lower().replace(":bare", "")))


def mentioned(text):
    """The names of the vocabulary in a text, longest first so that a tree in a christmas tree is not one."""
    found, rest = [], text.lower()
    for name in sorted(VOCABULARY, key=len, reverse=True):
        if re.search(rf"\b{name}\b", rest):
            found.append(name)
            rest = re.sub(rf"\b{name}\b", "_", rest)
    return set(found)


# --- the wordings


def test_sizes_places_and_parallel_affirmations():
    assert len(TRAIN_WORDINGS.one) >= 6 and len(TRAIN_WORDINGS.absence) >= 10 and len(TRAIN_WORDINGS.hybrid) >= 10
    for wordings in (HELD_OUT_WORDINGS, NEW_CUE_WORDINGS):
        assert len(wordings.absence) >= 6 and len(wordings.hybrid) >= 6
    for wordings in (TRAIN_WORDINGS, *EVALUATION.values()):
        assert len(wordings.one) == len(wordings.two)
        wanted = ({"a"}, {"a", "b"}, {"n"}, {"a", "n"})
        for group, places in zip(wordings, wanted, strict=True):
            assert len(set(group)) == len(group)
            for frame in group:
                assert set(re.findall(r"{(\w)(?::bare)?}", frame)) == places, frame


def test_both_orders_are_trained():
    order = Counter(frame.index("{a") < frame.index("{n") for frame in TRAIN_WORDINGS.hybrid)
    assert min(order[True], order[False]) >= 4
    ends = Counter(frame.startswith("{n") for frame in TRAIN_WORDINGS.absence)
    assert min(ends[True], ends[False]) >= 3


@pytest.mark.parametrize("name", EVALUATION)
def test_training_and_evaluation_share_no_frame(name):
    trained = {plain(frame) for frame in frames(TRAIN_WORDINGS)}
    assert trained.isdisjoint(plain(frame) for frame in frames(EVALUATION[name]))


def test_held_out_frames_use_trained_cues_and_new_frames_use_none_of_them():
    trained_words = {word for frame in frames(TRAIN_WORDINGS) for word in plain(frame).split()}
    assert trained_words >= COMMON_CUES and NEW_CUES.isdisjoint(trained_words)
    for frame in HELD_OUT_WORDINGS.absence + HELD_OUT_WORDINGS.hybrid:
        words = set(plain(frame).split())
        assert words & COMMON_CUES and not words & NEW_CUES, frame
    for frame in NEW_CUE_WORDINGS.absence + NEW_CUE_WORDINGS.hybrid:
        words = set(plain(frame).split())
        assert words & NEW_CUES and not words & COMMON_CUES, frame


@pytest.mark.parametrize("name", EVALUATION)
def test_no_training_text_is_an_evaluation_text_for_the_same_things(name):
    def texts(wordings):
        return {
            plain(render(frame, stop, a=a, b=b, n=n))
            for frame in frames(wordings)
            for stop in (False, True)
            for a, b, n in [("cat", "owl", "boat"), ("owl", "cat", "boat"), ("boat", "owl", "cat")]
        }

    assert texts(TRAIN_WORDINGS).isdisjoint(texts(EVALUATION[name]))


def test_generated_training_texts_meet_no_evaluation_text():
    source = rng(1)
    trained, tested = set(), set()
    names = ["cat", "owl", "boat"]
    for _ in range(500):
        options = make_options(["cat", "owl"], names, source)
        trained |= {plain(text) for text in (options.true, *options.false)}
        trained.add(plain(negated_positive(["cat", "owl"], names, source, ("absence", "hybrid")[_ % 2])))
    for wordings in EVALUATION.values():
        for _ in range(100):
            options = make_options(["cat", "owl"], names, source, wordings=wordings)
            tested |= {plain(text) for text in (options.true, *options.false)}
    assert len(trained) > 100 and len(tested) > 40 and trained.isdisjoint(tested)


@pytest.mark.parametrize(
    "name, article",
    [
        ("cat", "a cat"),
        ("owl", "an owl"),
        ("Owl", "an Owl"),
        ("umbrella", "an umbrella"),
        ("unicorn", "a unicorn"),
        ("uniform", "a uniform"),
        ("hour hand", "an hour hand"),
        ("house", "a house"),
        ("one-way sign", "a one-way sign"),
        ("european owl", "a european owl"),
        ("onion", "an onion"),
        ("scissors", "scissors"),
        ("bus", "a bus"),
        ("cactus", "a cactus"),
        ("glass", "a glass"),
        ("tennis racket", "a tennis racket"),
        ("trousers", "trousers"),
        ("people", "people"),
        ("lens", "a lens"),
        ("a pair of shoes", "a pair of shoes"),
        ("the moon", "the moon"),
        ("gas", "a gas"),
        (" cat ", "a cat"),
    ],
)
def test_articles(name, article):
    assert with_article(name) == article


def test_bare_names_and_rendering():
    assert [bare(name) for name in ("cat", "the moon", "a pair of shoes", "a")] == ["cat", "moon", "pair of shoes", "a"]
    assert render("no {n:bare} but {a}", n="owl", a="owl") == "No owl but an owl"
    assert render("no {n:bare}", stop=True, n="owl") == "No owl." and render("{a}.", stop=True, a="x") == "A x."
    assert render("{a}", a="{odd} name") == "A {odd} name"


# --- the things


def test_present_things_are_present_and_the_absent_one_is_not():
    source, seen = rng(), Counter()
    for _ in range(500):
        a, b, n = choose_things(["cat", "owl", "bus"], VOCABULARY, source)
        assert {a, b} <= {"cat", "owl", "bus"} and a != b and n not in {"cat", "owl", "bus"}
        seen[a, b] += 1
        seen[n] += 1
    assert len([key for key in seen if isinstance(key, tuple)]) == 6
    assert {key for key in seen if isinstance(key, str)} == set(VOCABULARY) - {"cat", "owl", "bus"}
    assert max(seen.values()) < 200


@pytest.mark.parametrize(
    "objects, never",
    [
        (["christmas tree"], {"tree", "christmas tree"}),
        (["tree"], {"christmas tree", "tree"}),
        (["Cats"], {"cat"}),
        (["the bus"], {"bus"}),
    ],
)
def test_a_name_within_a_present_name_is_not_absent(objects, never):
    source = rng()
    drawn = {choose_things(objects, VOCABULARY, source).n for _ in range(300)}
    assert drawn.isdisjoint(never) and len(drawn) >= 8


def test_pairs_that_are_kept_back_never_meet():
    kept = {frozenset(pair) for pair in combinations(VOCABULARY, 2) if sum(map(len, pair)) % 3 == 0}
    source, met = rng(), set()
    for _ in range(400):
        things = choose_things(["cat", "owl", "umbrella"], VOCABULARY, source, lambda x, y: {x, y} not in kept)
        met |= {frozenset(pair) for pair in combinations(set(things), 2)}
    assert kept and met and met.isdisjoint(kept)


def test_one_thing_and_no_allowed_pair():
    assert choose_things(["cat"], VOCABULARY, rng())[:2] == ("cat", "cat")
    a, b, _ = choose_things(["cat", "owl"], VOCABULARY, rng(), lambda x, y: {x, y} != {"cat", "owl"})
    assert a == b and a in ("cat", "owl")
    assert choose_things(["cat", "cat"], VOCABULARY, rng()).b == "cat"


def test_nothing_to_choose():
    with pytest.raises(UserError, match="without objects"):
        choose_things([], VOCABULARY, rng())
    with pytest.raises(UserError, match="list the things of more pictures"):
        choose_things(["cat", "owl"], ["cat", "owl"], rng())
    with pytest.raises(UserError, match="list the things of more pictures"):
        choose_things(["cat"], VOCABULARY, rng(), lambda x, y: x == y)


# --- the statements


def truth(text, present, wordings):
    """Whether a statement is true, found by undoing the frames; independent of how it was made."""
    names = sorted(VOCABULARY, key=len, reverse=True)
    place = "(?:(?:a|an) )?(" + "|".join(names) + ")"
    verdicts = []
    for group, frame in [(kind, frame) for kind, frames_ in wordings._asdict().items() for frame in frames_]:
        letters = re.findall(r"{(\w)", frame)
        pattern = re.escape(frame.lower()).replace(r"\{", "{").replace(r"\}", "}")
        pattern = re.sub(r"{\w(?::bare)?}", lambda _: place, pattern.rstrip("."))
        match = re.fullmatch(pattern.rstrip("\\") + r"\.?", text.lower())
        if match:
            found = dict(zip(letters, match.groups(), strict=True))
            shown = all(found[letter] in present for letter in letters if letter in "ab")
            verdicts.append((group, shown and not ("n" in found and found["n"] in present)))
    assert len(verdicts) == 1, (text, verdicts)
    return verdicts[0]


GROUPS = {"positive": ("two", "one"), "negative": ("absence",), "hybrid": ("hybrid",)}


@pytest.mark.parametrize("wordings", [TRAIN_WORDINGS, *EVALUATION.values()], ids=["train", *EVALUATION])
@pytest.mark.parametrize("present", [["cat", "owl", "bus"], ["cup", "boat"], ["fox"]], ids=len)
def test_the_true_one_is_true_and_the_others_are_false(wordings, present):
    source, kinds, joint = rng(2), Counter(), 0
    for _ in range(120):
        options = make_options(present, VOCABULARY, source, wordings=wordings)
        group, verdict = truth(options.true, present, wordings)
        assert verdict and group == GROUPS[options.kind][0 if len(present) > 1 else -1]
        checked = [truth(text, present, wordings) for text in options.false]
        assert [verdict for _, verdict in checked] == [False] * 3
        assert (checked[0][0], checked[2][0]) == ("hybrid", "absence") and checked[1][0] in ("one", "two")
        assert len({options.true, *options.false}) == 4
        joint += checked[1][0] == "two"
        kinds[options.kind] += 1
    assert set(kinds) == set(KINDS) and min(kinds.values()) > 20
    assert 28 < joint < 70


def test_statements_of_one_sort_have_one_wording():
    source = rng(3)
    for _ in range(300):
        options = make_options(["cat", "owl"], VOCABULARY, source)
        stripped = [
            re.sub(
                r"\b(?:an?|no|any|single)\b ?", "", re.sub("|".join(sorted(VOCABULARY, key=len)[::-1]), "_", t.lower())
            )
            for t in (options.true, *options.false)
        ]
        if options.kind == "negative":
            assert stripped[0] == stripped[3]
        if options.kind == "hybrid":
            assert stripped[0] == stripped[1]
        assert len({text.endswith(".") for text in stripped}) == 1


def test_things_of_a_question_follow_negbench():
    source = rng(4)
    for _ in range(100):
        for kind in KINDS:
            options = make_options(["cat", "owl"], VOCABULARY, source, wordings=NEGBENCH_WORDINGS, kind=kind, joint=0.0)
            assert options.kind == kind
            (absent,) = mentioned(options.false[1])
            assert absent in mentioned(options.false[0]) and mentioned(options.false[2]) <= {"cat", "owl"}
            expected = {"positive": {"cat", "owl"}, "negative": {absent}}
            if kind in expected:
                assert mentioned(options.true) == expected[kind]
            else:
                assert mentioned(options.true) == mentioned(options.false[0])


def test_same_generator_same_statements():
    made = [
        [make_options(["cat", "owl"], VOCABULARY, source) for _ in range(20)] for source in (rng(5), rng(5), rng(6))
    ]
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize("wordings", EVALUATION.values(), ids=EVALUATION)
def test_pairs_differ_only_in_the_denied_thing(wordings):
    source = rng(7)
    present = ["cat", "owl"]
    for _ in range(100):
        for pair in (
            absence_pair(present, VOCABULARY, source, wordings=wordings),
            hybrid_pair(present, VOCABULARY, source, wordings=wordings),
        ):
            assert truth(pair.true, present, wordings)[1] and not truth(pair.false, present, wordings)[1]
            assert len(mentioned(pair.true) ^ mentioned(pair.false)) == 2
    assert hybrid_pair(["cat"], VOCABULARY, source) is None


def test_negated_positives_are_true():
    source, two = rng(8), 0
    doubled = TRAIN_WORDINGS._replace(
        one=(),
        two=(),
        hybrid=(*TRAIN_WORDINGS.hybrid, *(f.replace("{a}", "{a} and {b}") for f in TRAIN_WORDINGS.hybrid)),
    )
    present = ["cat", "owl", "bus"]
    for _ in range(300):
        absence = negated_positive(present, VOCABULARY, source, "absence")
        assert truth(absence, present, TRAIN_WORDINGS) == ("absence", True)
        hybrid = negated_positive(present, VOCABULARY, source, "hybrid")
        assert truth(hybrid, present, doubled) == ("hybrid", True)
        two += len(mentioned(hybrid)) == 3
    assert 100 < two < 200
    assert len(mentioned(negated_positive(["cat"], VOCABULARY, source, "hybrid"))) == 2
