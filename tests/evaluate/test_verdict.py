import pytest

from litotes.evaluate.compare import Difference
from litotes.evaluate.verdict import change, in_words, joined, level, losses, outcome, percents, standing, summary


def suites(mcq=0.342, p_over_n=0.571, orders=(0.5, 0.5), rsum=329.7, acc1=0.9, n=1000):
    return {
        "mcq": {"total": mcq},
        "pairs": {"negated_positive_over_negative": p_over_n, "n": n},
        "held_out_wordings": {
            "hybrid_absent_over_present": orders[1], "absence_absent_over_present": orders[0], "n": n,
        },
        "retrieval": {"rsum": rsum},
        "classification": {"acc1": acc1},
    }  # fmt: skip


def test_gains_and_price_are_the_printed_figures():
    first, second, third = outcome(suites(mcq=0.8357, rsum=316.94, orders=(0.612, 0.88)), suites())
    assert first == (
        "Better after the adaptation: multiple choice on negation (34.2 → 83.6 %). "
        "The price, worse than before: plain retrieval (rSum 329.7 → 316.9)."
    )
    assert second == (
        "The two orders that need negation itself, asked in wordings that no training uses: 61.2 and 88.0 % right, "
        "before 50.0 and 50.0 %. Guessing gives 50 %: it uses the “not” itself."
    )
    assert third == "With 1,000 held-out quadruplets, a share can be off by 3 points by chance alone."


def test_what_chance_can_bring_is_too_close_to_tell():
    few, base = suites(mcq=0.285, p_over_n=0.9, n=200), suites(mcq=0.282, n=200)
    few["mcq"]["n"] = base["mcq"]["n"] = 600
    assert outcome(few, base)[0] == (
        "Better after the adaptation: true negated captions over false ones (57.1 → 90.0 %, which a shortcut can win "
        "too). Nothing that was measured became worse. "
        "Too close to tell, with so few questions: multiple choice on negation (28.2 → 28.5 %)."
    )
    # Of 149 pictures, 60.4 and 71.0 % are 1.94 standard deviations apart, 60.4 and 72.0 % 2.13.
    for share, sure in ((0.71, False), (0.72, True)):
        before, after = ({"classification": {"acc1": acc1, "n_images": 149}} for acc1 in (0.604, share))
        assert outcome(after, before)[0].startswith("Better") is sure


def test_a_change_smaller_than_is_printed_is_none():
    assert outcome(suites(mcq=0.34204), suites())[0] == (
        "Nothing that was measured became better. Nothing that was measured became worse."
    )
    assert losses(suites(acc1=0.8), suites()) == ["classification (90.0 → 80.0 %)"]
    assert losses(suites(rsum=329.69), suites()) == []


@pytest.mark.parametrize(
    ("orders", "n", "verdict"),
    [
        ((0.56, 0.56), 1000, "it uses the “not” itself"),
        ((0.56, 0.54), 1000, "at most one of the two forms was learnt"),
        ((0.54, 0.30), 1000, "nothing shows that negation itself was learnt"),
        # Of 18 pictures, 72 % right are within the reach of chance, which is 23 points.
        ((0.72, 0.72), 18, "nothing shows that negation itself was learnt"),
        ((0.78, 0.78), 18, "it uses the “not” itself"),
    ],
)
def test_negation_is_learnt_only_where_chance_does_not_reach(orders, n, verdict):
    assert outcome(suites(orders=orders, n=n), suites(n=n))[1].endswith(f"Guessing gives 50 %: {verdict}.")


def test_a_part_that_is_marked_worse_is_told_though_its_total_is_not():
    base, adapted = (
        {"mcq": {"task": "mcq", "total": total, "n": 40, "chance": 0.25, "hybrid": hybrid, "n_hybrid": 20}}
        for total, hybrid in ((0.50, 0.60), (0.60, 0.52))
    )
    total = Difference(("total",), 40, 0.5, 0.6, 0.02, 0.18)
    for low, high, told in (
        (-0.15, -0.01,
         "The price, worse than before: Multiple choice on negation: Hybrid (“A but not N”), 20 (60.0 → 52.0 %)."),
        (-0.15, 0.01, "Nothing that was measured became worse."),
    ):  # fmt: skip
        compared = {"mcq": [total, Difference(("hybrid",), 20, 0.6, 0.52, low, high)]}
        assert outcome(adapted, base, compared) == (
            f"Better after the adaptation: multiple choice on negation (50.0 → 60.0 %). {told}",
        )


def test_what_was_not_asked_is_not_spoken_of():
    base, adapted = ({"retrieval": {"rsum": rsum}} for rsum in (200.0, 210.0))
    assert outcome(adapted, base) == (
        "Better after the adaptation: plain retrieval (rSum 200.0 → 210.0). Nothing that was measured became worse.",
    )
    one = {"held_out_wordings": {"absence_absent_over_present": 0.9, "n": 100}}
    assert "The order that needs negation itself" in outcome(one, one)[1]


def test_small_words():
    assert [level(share) for share in (0.44, 0.45, 0.55, 0.56)] == ["below", "about", "about", "above"]
    assert joined(["a", "b", "c"]) == "a, b and c"
    assert percents((0.5, 0.25)) == "50.0 and 25.0 %"
    assert change(34.2, 34.24) == "stays at 34.2 %"
    assert standing((0.2, 0.9)) == "the first below, the second above guessing"


def test_a_page_opens_with_what_its_main_measures_say():
    def model(total, rsum):
        recall = dict.fromkeys(("1", "5", "10"), rsum / 600)
        return {"suites": {
            "mcq": {"task": "mcq", "total": total, "n": 100, "chance": 0.25, "interval": [0.3, 0.5]},
            "retrieval": {"task": "zeroshot_retrieval", "negated": False, "i2t": recall, "t2i": recall, "rsum": rsum,
                          "n_images": 9, "n_texts": 9},
        }}  # fmt: skip

    records = {"first": model(0.4, 300.0), "second": model(0.5, 300.0), "third": model(0.3, 200.0)}
    compared = {
        "second": {"mcq": [Difference(("total",), 100, 0.4, 0.5, 0.05, 0.15, 0.01)]},
        "third": {"mcq": [Difference(("total",), 100, 0.4, 0.3, -0.15, 0.05, 0.3)],
                  "retrieval": [Difference(("rsum",), 18, 300, 200, -150, -50)]},
    }  # fmt: skip
    assert summary(records, compared) == [
        "Compared with first, second is better in Multiple choice, all 100 (+10.0, 95 % interval +5.0 to +15.0); "
        "unchanged in Retrieval, plain captions: rSum (±0.0).",
        "Compared with first, third is worse in Retrieval, plain captions: rSum (−100.0, 95 % interval −150.0 to "
        "−50.0); too close to tell in Multiple choice, all 100 (−10.0, 95 % interval −15.0 to +5.0).",
    ]
    assert summary({"first": records["first"]}, {}) == [
        "Multiple choice, all 100: 40.0 % (95 % interval 30.0 to 50.0, guessing gives 25.0 %).",
        "Retrieval, plain captions: rSum: 300.0.",
    ]
    assert summary({"a": {"suites": {}}}, {}) == []


def test_a_page_opens_with_the_parts_that_the_terminal_names_by_the_same_rule():
    """A recall is worse while its rSum is undecided; a type is worse by its interval, yet not by McNemar."""

    def model(recall, rsum, affirmed):
        recalls = {"1": 0.1, "5": recall}
        return {"suites": {
            "mcq": {"task": "mcq", "total": 0.3, "n": 60, "chance": 0.25, "interval": [0.2, 0.4],
                    "positive": affirmed, "n_positive": 20},
            "retrieval": {"task": "zeroshot_retrieval", "negated": False, "i2t": {"1": 0.1, "5": 0.2}, "t2i": recalls,
                          "rsum": rsum, "n_images": 60, "n_texts": 150},
        }}  # fmt: skip

    base, adapted = model(0.353, 165.7, 0.55), model(0.233, 133.0, 0.35)
    found = {
        "mcq": [Difference(("total",), 60, 0.3, 0.3, -0.1, 0.1, 1.0),
                Difference(("positive",), 20, 0.55, 0.35, -0.4, -0.05, 0.125)],
        "retrieval": [Difference(("t2i", "5"), 150, 0.353, 0.233, -0.232, -0.013),
                      Difference(("rsum",), 210, 165.7, 133.0, -68.1, 2.9)],
    }  # fmt: skip
    part = "Retrieval: Caption → picture, R@5"
    assert (
        f"The price, worse than before: {part} (35.3 → 23.3 %). Too close to tell"
        in outcome(adapted["suites"], base["suites"], found)[0]
    )
    (opening,) = summary({"base": base, "adapted": adapted}, {"adapted": found})
    assert f"adapted is worse in {part} (−12.0, 95 % interval −23.2 to −1.3); too close to tell in Retrieval" in opening
    assert "Affirmed" not in opening


def test_a_single_question_is_said_to_say_nothing():
    told = in_words("R@1", Difference(("i2t", "1"), 1, 0.0, 0.0, 0.0, 0.0))
    assert told == "R@1: ±0.0 points in a single question, which says nothing about the models."
    rsum = in_words("rSum", Difference(("rsum",), 2, 100.0, 200.0, 100.0, 100.0))
    assert rsum == "rSum: +100.0 points in a single question, which says nothing about the models."
    assert "may be chance" in in_words("R@1", Difference(("i2t", "1"), 2, 0.0, 0.5, 0.0, 1.0))
