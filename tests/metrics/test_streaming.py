import random

import pytest
import torch

from litotes.errors import UserError
from litotes.metrics.cosine import cosine_rows, cosine_scores
from litotes.metrics.graded import UNFOUND, graded_scores
from litotes.metrics.ranking import cosine_ranks, ranks
from litotes.metrics.streaming import Asked, Parts, at_or_above, behind_their_equals, best, cosines, matrix
from reference.graded import means


def rows_of(scores):
    return lambda start, stop: scores[start:stop]


def worst_order(row, right):
    """Items by falling score; of equal ones those that are not right come first."""
    return sorted(range(len(row)), key=lambda item: (-row[item], item in right))


def features(seed, levels):
    """Whole numbers, so that equal cosines of different rows happen and rounding does not decide."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(-levels, levels + 1, (9, 4), generator=generator).double()
    texts = torch.randint(-levels, levels + 1, (23, 4), generator=generator).double()
    return images, texts


def judged(seed, n_queries, n_items):
    draw = random.Random(seed)
    return {query: draw.sample(range(n_items), draw.randint(1, 6)) for query in range(n_queries)}


def pairs(right):
    query = torch.tensor([q for q, items in right.items() for _ in items])
    return query, torch.tensor([item for items in right.values() for item in items])


@pytest.mark.parametrize("block", [1, 7, 100])
@pytest.mark.parametrize("levels", [1, 50])
def test_scores_with_ties_follow_the_definition_in_blocks_of_any_size(block, levels):
    for seed in range(10):
        images, texts = features(seed, levels)
        scores = images @ texts.T
        for by_query in (scores, scores.T):
            right = judged(seed, *by_query.shape)
            query, item = pairs(right)
            if by_query is scores:
                count = at_or_above(matrix(scores), query, item, block).texts
            else:
                count = at_or_above(matrix(scores), item, query, block).images
            found = behind_their_equals(query, count)
            lists = {q: worst_order(row, set(right[q])) for q, row in enumerate(by_query.tolist())}
            expected = sorted((q, 1 + lists[q].index(i)) for q, items in right.items() for i in items)
            assert sorted(zip(found.query.tolist(), found.rank.tolist(), strict=True)) == expected
            recall, precision, average = means(lists, right, (1, 5))
            measured = graded_scores(found, (1, 5))
            assert measured.recall == pytest.approx(recall, abs=1e-12)
            assert measured.r_precision == pytest.approx(precision, abs=1e-12)
            assert measured.map_at_r == pytest.approx(average, abs=1e-12)


@pytest.mark.parametrize("block", [1, 7, 100])
def test_the_best_are_those_of_a_stable_sort(block):
    for seed in range(10):
        images, texts = features(seed, 1)
        scores = images @ texts.T
        expected = scores.sort(dim=1, descending=True, stable=True)
        for k in (1, 5, 23):
            values, items = best(rows_of(scores), 9, k, block)
            assert items.tolist() == expected.indices[:, :k].tolist()
            assert values.tolist() == expected.values[:, :k].tolist()


@pytest.mark.parametrize("block", [1, 7, 100])
def test_cosines_in_blocks_are_those_of_the_whole(block):
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(9, 16, generator=generator, dtype=torch.float64)
    texts = torch.randn(12, 16, generator=generator, dtype=torch.float64)
    images, texts = torch.cat([images, images[:3]]), torch.cat([texts, texts, texts[:2]])  # equal ones must tie
    scores = cosine_scores(images, texts)
    image, text = pairs(judged(5, *scores.shape))
    whole = at_or_above(matrix(scores), image, text, 100)
    found = at_or_above(cosines(images, texts), image, text, block)
    assert (found.texts.tolist(), found.images.tolist()) == (whole.texts.tolist(), whole.images.tolist())
    by_image, by_text = cosine_rows(images, texts)
    for rows, by_query in ((by_image, scores), (by_text, scores.T)):
        assert best(rows, len(by_query), 6, block)[1].tolist() == best(rows_of(by_query), len(by_query), 6)[1].tolist()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("block", [1, 3, 256])
def test_equal_images_tie_whatever_block_they_stand_in(dtype, block):
    generator = torch.Generator().manual_seed(3)
    images, texts = torch.randn(5, 33, generator=generator).to(dtype), torch.randn(8, 33, generator=generator).to(dtype)
    images = torch.cat([images, images.flip(0), images])
    found = at_or_above(cosines(images, texts), torch.arange(15), torch.arange(15) % 8, block)
    first = [*range(5), *reversed(range(5)), *range(5)]
    expected = at_or_above(cosines(images[:5], texts), torch.tensor(first), torch.arange(15) % 8)
    assert found.texts.tolist() == expected.texts.tolist()
    assert found.images.tolist() == (3 * expected.images).tolist()


@pytest.mark.parametrize("block", [1, 7, 100])
@pytest.mark.parametrize("contiguous", [True, False])
def test_parts_ties_and_the_best_of_sets_are_counted_as_defined(block, contiguous):
    for seed in range(6):
        images, texts = features(seed, 2)
        scores = images @ texts.T
        draw = random.Random(seed)
        image, text = pairs(judged(seed, *scores.shape))
        of_images, of_texts = ([draw.randrange(3) for _ in range(n)] for n in scores.shape)
        if contiguous:
            of_images, of_texts = sorted(of_images), sorted(of_texts)
        generator = torch.Generator().manual_seed(seed)
        texts_sets, images_sets, (texts_every, images_every, decisive) = (
            torch.rand((n, len(image)), generator=generator) < 0.6 for n in (2, 2, 3)
        )
        parts = Parts(torch.tensor(of_images), torch.tensor(of_texts))
        found = at_or_above(
            matrix(scores), image, text, block, asked_texts=Asked(texts_sets, texts_every),
            asked_images=Asked(images_sets, images_every), decisive=decisive, parts=parts,
        )  # fmt: skip
        table, right = scores.tolist(), [*zip(image.tolist(), text.tolist(), strict=True)]
        own = [table[i][t] for i, t in right]
        texts_asked = asked(own, [i for i, _ in right], texts_sets.tolist(), texts_every.tolist())
        images_asked = asked(own, [t for _, t in right], images_sets.tolist(), images_every.tolist())
        for p, (i, t) in enumerate(right):
            row, column = table[i], [row[t] for row in table]
            in_row = [s for s, part in zip(row, of_texts, strict=True) if part == of_images[i]]
            in_column = [s for s, part in zip(column, of_images, strict=True) if part == of_texts[t]]
            inside = decisive[p] and of_images[i] == of_texts[t]
            assert found.texts[p] == (sum(s >= own[p] for s in row) if texts_asked[p] else UNFOUND)
            assert found.texts_inside[p] == (sum(s >= own[p] for s in in_row) if texts_asked[p] and inside else UNFOUND)
            assert found.equal_texts[p] == (row.count(own[p]) - 1 if texts_asked[p] and decisive[p] else 0)
            assert found.images[p] == (sum(s >= own[p] for s in column) if images_asked[p] else UNFOUND)
            expected = sum(s >= own[p] for s in in_column) if images_asked[p] and inside else UNFOUND
            assert found.images_inside[p] == expected
            assert found.equal_images[p] == (column.count(own[p]) - 1 if images_asked[p] and decisive[p] else 0)


def asked(own, query, sets, every):
    """Whether each pair is in ``every``, or has the highest score of its query in a set that holds it."""
    best = [{q: max(o for o, r, inside in zip(own, query, members, strict=True) if inside and r == q)
             for q, inside in zip(query, members, strict=True) if inside} for members in sets]  # fmt: skip
    return [
        always or any(members[p] and own[p] == top[query[p]] for members, top in zip(sets, best, strict=True))
        for p, always in enumerate(every)
    ]


@pytest.mark.parametrize("block", [1, 7, 100])
def test_no_more_is_counted_than_average_precision_at_r_needs(block):
    left_out = 0
    for seed in range(10):
        images, texts = features(seed, 2)
        scores = images @ texts.T
        query, item = pairs(judged(seed, *scores.shape))
        all_pairs, no_set = torch.ones(len(query), dtype=torch.bool), torch.zeros(0, len(query), dtype=torch.bool)
        r = torch.bincount(query)[query]
        whole = at_or_above(matrix(scores), query, item, block).texts
        found = at_or_above(matrix(scores), query, item, block, asked_texts=Asked(no_set, all_pairs, r)).texts
        measured, expected = (graded_scores(behind_their_equals(query, count), (1,)) for count in (found, whole))
        assert measured == expected
        first_beyond = torch.full((len(images),), UNFOUND).scatter_reduce(
            0, query, torch.where(whole > r, whole, UNFOUND), "amin"
        )
        assert torch.equal(found, torch.where(whole <= first_beyond[query], whole, UNFOUND))
        left_out += int((found == UNFOUND).sum())
    assert left_out


def test_one_right_item_a_query_gives_the_ranks_of_the_usual_recall():
    generator = torch.Generator().manual_seed(1)
    scores = torch.randint(0, 4, (6, 15), generator=generator).float()
    owners = torch.randint(0, 6, (15,), generator=generator)
    found = behind_their_equals(torch.arange(15), at_or_above(matrix(scores), owners, torch.arange(15), 4).images)
    assert found.rank.tolist() == ranks(scores, owners).text_to_image.tolist()
    images, texts = torch.randn(6, 8, generator=generator), torch.randn(15, 8, generator=generator)
    found = behind_their_equals(torch.arange(15), at_or_above(cosines(images, texts), owners, torch.arange(15)).images)
    assert found.rank.tolist() == cosine_ranks(images, texts, owners).text_to_image.tolist()


def test_a_collapsed_model_finds_nothing():
    same = torch.ones(20, 8)
    query, item = torch.arange(20).repeat_interleave(3), torch.arange(60) % 20
    count = at_or_above(cosines(same, same), query, item, 7)
    assert set(count.texts.tolist()) == set(count.images.tolist()) == {20}
    found = behind_their_equals(query, count.texts)
    assert graded_scores(found, (1, 5, 10)) == ({1: 0.0, 5: 0.0, 10: 0.0}, 0.0, 0.0)


def test_more_equal_images_are_counted_than_a_byte_holds():
    same = torch.ones(600, 2)
    found = at_or_above(matrix(same @ same[:3].T), torch.tensor([0, 599]), torch.tensor([2, 0]))
    assert (found.images.tolist(), found.equal_images.tolist()) == ([600, 600], [599, 599])


def test_what_is_not_in_the_gallery_is_not_found_but_counts():
    query, count = torch.tensor([0, 0, 0, 1]), torch.tensor([UNFOUND, 1, UNFOUND, 2])
    found = behind_their_equals(query, count)
    assert found.rank.tolist() == [1, UNFOUND, UNFOUND, 2]
    assert graded_scores(found).r_precision == pytest.approx((1 / 3 + 0) / 2)


def test_unsound_input_is_refused():
    scores = torch.rand(3, 4)
    one = torch.tensor([0])
    with pytest.raises(UserError, match="numbers of images from 0 to 3"):
        at_or_above(matrix(scores), torch.tensor([0, 3]), torch.tensor([0, 0]))
    with pytest.raises(UserError, match="numbers of texts from -1 to -1"):
        at_or_above(matrix(scores), one, torch.tensor([-1]))
    with pytest.raises(UserError, match="in blocks of 0"):
        at_or_above(matrix(scores), one, one, 0)
    with pytest.raises(UserError, match="K = 5 of 4"):
        best(rows_of(scores), 3, 5)
    scores[1, 2] = torch.nan
    with pytest.raises(UserError, match="NaN"):
        at_or_above(matrix(scores), one, one)
    with pytest.raises(UserError, match="NaN"):
        best(rows_of(scores), 3, 2)
