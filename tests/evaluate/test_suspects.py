"""Suspect pairs of a data set, against all of its pairs one by one."""

import csv
import io

import numpy as np
import pytest
import torch

from litotes.data.images import ArrayPictures
from litotes.data.pairs import CaptionedPictures
from litotes.errors import UserError
from litotes.evaluate.suspect_order import missing_order, share_below
from litotes.evaluate.suspects import (
    MISSING,
    WRONG,
    MissingSearch,
    Suspect,
    flat_note,
    labelled_logits,
    order_note,
    suspects,
    suspects_csv,
)
from litotes.metrics.calibrators import Scaling
from litotes.models.pair_adapter import new_pair_model
from litotes.models.pair_calibration import PairCalibration
from litotes.models.pair_scores import HighestPairs, PairScorer
from litotes.models.variational import AdapterConfig

KINDS = ("variational", "deterministic", "cosine")
CONTENTS = (0, 50, 100, 50, 200)  # d.png is a copy of b.png
NAMES = ("a.png", "b.png", "c.png", "d.png", "e.png")
CAPTIONS, OWNERS = ("one", "two", "three", "four", "two", 'five, "so"', "one"), (0, 1, 1, 2, 3, 4, 0)
DIFFERENT = ("one", "two", "three", "four", 'five, "so"')
LABELLED = {(0, 0), (1, 1), (1, 2), (2, 3), (3, 4)}  # different pictures (a, b = d, c, e) and DIFFERENT


@pytest.fixture
def data():
    pixels = np.array([[[[c, c, c]] * 2] * 2 for c in CONTENTS], dtype=np.uint8)
    return CaptionedPictures(ArrayPictures(pixels, list(NAMES)), CAPTIONS, np.array(OWNERS))


def features(n, seed):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(seed))


def model(kind):
    return new_pair_model(kind, AdapterConfig(features=6, hidden=8, latent=5, decoder_hidden=4), seed=3)


def one_by_one(pair_model, images, texts):
    """The logit of every pair of a different picture and a different caption, each by itself."""
    with torch.no_grad():
        return {
            (i, j): float(pair_model.logits(images[i : i + 1], texts[j : j + 1])) for i in range(4) for j in range(5)
        }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [1, 3, 128])
def test_the_lists_are_the_ends_of_all_pairs_whatever_the_block(kind, block, data):
    images, texts, pair_model = features(4, 0), features(5, 1), model(kind)
    logits = one_by_one(pair_model, images, texts)
    found = suspects(data, images, texts, PairScorer(pair_model, block=block), most=3)
    wrong, missing = ([one for one in found if one.kind == kind] for kind in (WRONG, MISSING))
    assert [one.rank for one in found] == [1, 2, 3, 1, 2, 3]
    picture_of = (0, 1, 1, 2, 1, 3, 0)  # of each row, and its caption among the different ones
    text_of = (0, 1, 2, 3, 1, 4, 0)
    rows = sorted(range(7), key=lambda row: (logits[picture_of[row], text_of[row]], row))[:3]
    assert [one.row_of_picture for one in wrong] == [one.row_of_caption for one in wrong] == rows
    free = sorted(set(logits) - LABELLED, key=lambda pair: -logits[pair])[:3]
    assert [(one.row_of_picture, one.row_of_caption) for one in missing] == [
        ((0, 1, 3, 5)[i], (0, 1, 2, 3, 5)[j]) for i, j in free
    ]
    for one, value in zip(missing, (logits[pair] for pair in free), strict=True):
        assert one.logit == pytest.approx(value, abs=1e-5)
        assert one.p == pytest.approx(1 / (1 + np.exp(-value)), abs=1e-6)
        assert one.doubts["one_minus_p"] == pytest.approx(1 - one.p, abs=1e-6)
        assert ("sigma" in one.doubts) == (kind == "variational")


def test_a_copy_of_a_picture_and_a_repeated_caption_are_labelled_in_every_combination(data):
    found = suspects(data, features(4, 0), features(5, 1), PairScorer(model("cosine")), most=100)
    wrong, missing = ([one for one in found if one.kind == kind] for kind in (WRONG, MISSING))
    assert len(wrong) == 7
    assert len(missing) == 4 * 5 - len(LABELLED)
    listed = {(CONTENTS[OWNERS[one.row_of_picture]], CAPTIONS[one.row_of_caption]) for one in missing}
    assert len(listed) == len(missing)
    assert not listed & {(CONTENTS[owner], caption) for owner, caption in zip(OWNERS, CAPTIONS, strict=True)}
    assert (50, "three") not in listed  # said of b.png, whose content d.png has too
    assert (50, "one") in listed


def test_a_table_with_every_caption_beside_every_picture_lacks_no_pair(data):
    one = data.of_pictures([1, 3])
    found = suspects(one, features(1, 0), features(2, 1), PairScorer(model("variational")), most=5)
    assert [one.kind for one in found] == [WRONG] * 3


@pytest.fixture
def level(monkeypatch):
    """A scorer that gives all pairs one logit; the later a pair is asked for, the less sure it is."""

    def doubts(images, texts):
        order = torch.arange(len(images), dtype=torch.float64)
        return {"sigma": order, "one_minus_p": torch.full_like(order, 0.5)}

    def highest(images, texts, most, left_out, progress):
        return HighestPairs(torch.tensor([0, 0, 2]), torch.tensor([1, 2, 4]), torch.zeros(3))

    scorer = PairScorer(model("variational"))
    monkeypatch.setattr(scorer, "paired", lambda images, texts: torch.zeros(len(images)))
    monkeypatch.setattr(scorer, "doubts", doubts)
    monkeypatch.setattr(scorer, "highest", highest)
    return scorer


def test_pairs_of_equal_logit_stand_by_falling_sigma(data, level):
    found = suspects(data, features(4, 0), features(5, 1), level, most=4)
    assert [one.row_of_picture for one in found if one.kind == WRONG] == [3, 2, 1, 0]
    assert [one.row_of_caption for one in found if one.kind == MISSING] == [5, 2, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_has_the_numbers_and_the_rows_as_the_user_counts_them(kind, data):
    found = suspects(data, features(4, 0), features(5, 1), PairScorer(model(kind)), most=100)
    places = [0, 1, 2, 4, 5, 6, 9]  # captions 3, 7 and 8 were left out with their pictures
    rows = list(csv.DictReader(io.StringIO(suspects_csv(found, data, places).decode(), newline="")))
    assert len(rows) == len(found)
    sigma = ["mean_std", "total_variance"] if kind == "variational" else []
    told = ["kind", "rank", "filepath", "caption", "row_of_picture", "row_of_caption", "p", "logit", "p_percentile"]
    assert list(rows[0]) == told + sigma + (["mean_std_percentile"] if sigma else [])
    for row, one in zip(rows, found, strict=True):
        assert (row["kind"], int(row["rank"])) == (one.kind, one.rank)
        assert row["filepath"] == NAMES[OWNERS[one.row_of_picture]]
        assert row["caption"] == CAPTIONS[one.row_of_caption]
        assert int(row["row_of_picture"]) == places[one.row_of_picture] + 1
        assert int(row["row_of_caption"]) == places[one.row_of_caption] + 1
        assert np.float32(row["logit"]) == np.float32(one.logit)
        assert float(row["p"]) == pytest.approx(one.p, rel=1e-5)
        assert [float(row[name]) for name in sigma] == pytest.approx(
            [one.doubts[name] for name in ("sigma", "total_variance") if sigma], rel=1e-5
        )


def test_the_columns_of_sigma_are_called_what_it_is(data):
    config = AdapterConfig(features=6, hidden=8, latent=5, decoder_hidden=4, summary="sum_variance")
    scorer = PairScorer(new_pair_model("variational", config, seed=3))
    found = suspects(data, features(4, 0), features(5, 1), scorer, most=2)
    rows = list(csv.DictReader(io.StringIO(suspects_csv(found, data, range(7), config.summary).decode())))
    assert list(rows[0])[-3:] == ["sum_variance", "total_variance", "sum_variance_percentile"]
    assert float(rows[0]["sum_variance"]) == pytest.approx(found[0].doubts["sigma"], rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_percentiles_are_counted_among_the_pairs_of_the_table(kind, data):
    images, texts, scorer = features(4, 0), features(5, 1), PairScorer(model(kind))
    logits = labelled_logits(data, images, texts, scorer).tolist()
    rows = torch.tensor(data.contents()[data.owners]), torch.tensor([0, 1, 2, 3, 1, 4, 0])
    sigma = scorer.doubts(images[rows[0]], texts[rows[1]]).get("sigma")
    for one in suspects(data, images, texts, scorer, most=100):
        assert one.p_percentile == pytest.approx(100 * sum(x < one.logit - 1e-6 for x in logits) / 7)
        if kind == "variational":
            lower = sum(x < one.doubts["sigma"] - 1e-9 for x in sigma.tolist())
            assert one.sigma_percentile == pytest.approx(100 * lower / 7)
        else:
            assert one.sigma_percentile is None


@pytest.mark.parametrize(("order", "shortlist"), [("uncertainty", 6), ("both", 6), ("uncertainty", 0), ("both", 100)])
def test_missing_pairs_in_another_order_are_those_of_highest_logit_put_in_order(order, shortlist, data):
    images, texts, pair_model = features(4, 0), features(5, 1), model("variational")
    scorer, search = PairScorer(pair_model), MissingSearch(order, shortlist)
    found = [one for one in suspects(data, images, texts, scorer, 3, missing=search) if one.kind == MISSING]
    logits = one_by_one(pair_model, images, texts)
    near = sorted(set(logits) - LABELLED, key=lambda pair: -logits[pair])[: max(3, shortlist)]
    sigma = {(i, j): float(scorer.doubts(images[i : i + 1], texts[j : j + 1])["sigma"]) for i, j in near}
    by_sigma = sorted(near, key=lambda pair: -sigma[pair])
    places = {pair: near.index(pair) + by_sigma.index(pair) for pair in near}
    expected = by_sigma if order == "uncertainty" else sorted(near, key=lambda pair: (places[pair], near.index(pair)))
    assert [(one.row_of_picture, one.row_of_caption) for one in found] == [
        ((0, 1, 3, 5)[i], (0, 1, 2, 3, 5)[j]) for i, j in expected[:3]
    ]
    assert [one.rank for one in found] == [1, 2, 3]
    assert near[:3] != expected[:3]  # the fixture tells the orders apart


@pytest.mark.parametrize("kind", ["deterministic", "cosine"])
def test_a_model_without_sigma_has_no_order_by_it(kind, data):
    scorer = PairScorer(model(kind))
    with pytest.raises(UserError, match="--missing-order both with an adapter that knows no uncertainty but 1 - p"):
        suspects(data, features(4, 0), features(5, 1), scorer, 3, missing=MissingSearch("both"))


def test_orders_of_equal_numbers():
    logits, sigma = torch.tensor([1.0, 2.0, 2.0, 1.0]), torch.tensor([3.0, 1.0, 2.0, 3.0])
    assert missing_order(logits, sigma).tolist() == [2, 1, 0, 3]
    assert missing_order(logits, sigma, "uncertainty").tolist() == [0, 3, 2, 1]
    # Places by logit 2, 1, 0, 3 and by sigma 0, 3, 2, 1 add up to 2, 4, 2, 4: of equal sums the higher logit first.
    assert missing_order(logits, sigma, "both").tolist() == [2, 0, 1, 3]
    assert missing_order(torch.zeros(0), torch.zeros(0), "both").tolist() == []
    assert share_below(torch.tensor([0.0, 1.0, 1.5, 9.0]), torch.tensor([2.0, 1.0, 1.0, 0.5])).tolist() == [
        0, 0.25, 0.75, 1,
    ]  # fmt: skip


def test_a_calibrated_model_gives_the_probability_of_a_match_in_a_column_of_its_own(data):
    images, texts = features(4, 0), features(5, 1)
    calibration = PairCalibration("scaling", Scaling(0.5, -1.0), "balanced", "ab")
    found = suspects(data, images, texts, PairScorer(model("cosine"), calibration=calibration), most=2)
    for one in found:
        assert one.p_match == pytest.approx(1 / (1 + np.exp(-(2 * one.logit - 1))))
    rows = list(csv.DictReader(io.StringIO(suspects_csv(found, data, range(7)).decode())))
    assert [float(row["p_match"]) for row in rows] == pytest.approx([one.p_match for one in found], rel=1e-5)
    plain = suspects(data, images, texts, PairScorer(model("cosine")), most=2)
    assert plain[0].p_match is None and b"p_match" not in suspects_csv(plain, data, range(7))
    assert float(labelled_logits(data, images, texts, PairScorer(model("cosine"))).min()) == pytest.approx(
        plain[0].logit
    )


def test_it_is_told_where_p_hardly_varies_over_the_labelled_pairs():
    logits = torch.linspace(-0.03, 0.03, 101)
    told = flat_note(logits)
    assert "p hardly varies: nine in ten pairs of the table have p from 0.4933 to 0.5067" in told
    # Two outliers are no variation; a wide range is, and so are small p whose logits differ.
    assert flat_note(torch.cat([logits, torch.tensor([-9.0, 9.0])])) is not None
    assert flat_note(10 * logits) is None
    assert flat_note(torch.linspace(-9.0, -7.0, 101)) is None
    assert flat_note(logits[:10]) is None


def test_an_order_by_sigma_that_is_the_reverse_of_p_is_told():
    def listed(sigma, kind=MISSING):
        return [Suspect(kind, i + 1, i, i, float(i), 0.5, {"sigma": one}, 50.0) for i, one in enumerate(sigma)]

    falling = [20.0 - i for i in range(12)]
    told = order_note(listed(falling), "uncertainty")
    assert told is not None
    assert "Spearman -1.00" in told
    assert "--missing-order similarity" in told
    assert order_note(listed(falling), "both") is None
    assert order_note(listed(falling), "similarity") is None
    assert order_note(listed(falling, WRONG), "uncertainty") is None
    assert order_note(listed(falling[:10]), "uncertainty") is None
    assert order_note(listed(falling[::-1]), "uncertainty") is None
    assert order_note(listed([1.0] * 12), "uncertainty") is None
