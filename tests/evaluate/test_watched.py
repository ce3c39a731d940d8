"""What is kept of scores in blocks: the same as of the whole matrix, whatever the blocks."""

import numpy as np
import pytest
import torch

from litotes.evaluate import watched as module
from litotes.evaluate.watched import Watched, Watching
from litotes.metrics.streaming import matrix

OWNERS = torch.tensor([2, 0, 0, 4, 2, 1, 4])
PICTURES = 5


def scores(levels=None):
    values = torch.randn(PICTURES, len(OWNERS), generator=torch.Generator().manual_seed(3))
    return (values * levels).round() / levels if levels else values


def kept(table, blocks, k=3):
    found = Watched(OWNERS, len(table), k)
    for start, stop in zip((0, *blocks), (*blocks, len(table)), strict=True):
        found.add(start, table[start:stop])
    return found


@pytest.mark.parametrize("blocks", [(), (1, 2, 3, 4), (2,)])
@pytest.mark.parametrize("levels", [None, 2])
def test_the_first_items_are_those_of_a_stable_sort(blocks, levels):
    table = scores(levels)
    firsts = kept(table, blocks).firsts()
    for rows, found in ((table, firsts.i2t), (table.T, firsts.t2i)):
        for row, items in zip(rows.tolist(), found.tolist(), strict=True):
            assert items == sorted(range(len(row)), key=lambda at: (-row[at], at))[:3]


@pytest.mark.parametrize("blocks", [(), (1, 3)])
def test_labelled_pairs_and_others_lie_apart(blocks):
    table = scores()
    found = kept(table, blocks).similarities()
    own = [float(table[owner, text]) for text, owner in enumerate(OWNERS.tolist())]
    others = [float(table[i, j]) for i in range(PICTURES) for j in range(len(OWNERS)) if OWNERS[j] != i]
    for name, values in (("labelled", own), ("others", others)):
        assert found[name].pairs == len(values)
        assert (found[name].mean, found[name].median) == pytest.approx((np.mean(values), np.median(values)))
        assert float(found[name].edges[0]) == pytest.approx(float(table.min()))
        assert float(found[name].shares.sum()) == pytest.approx(1)


def test_of_many_others_some_of_each_picture_are_drawn(monkeypatch):
    monkeypatch.setattr(module, "DRAWN", 3 * PICTURES)
    table = scores()
    found = kept(table, (2,)).similarities()
    assert (found["labelled"].pairs, found["others"].pairs) == (len(OWNERS), 3 * PICTURES)
    again = kept(table, (2,)).similarities()
    assert torch.equal(found["others"].shares, again["others"].shares)


def test_lists_are_cut_to_the_smaller_gallery_and_a_gallery_of_one_pair_has_no_others():
    assert kept(scores(), (), k=10).firsts().i2t.shape == (PICTURES, PICTURES)
    one = Watched(torch.tensor([0]), 1, 10)
    one.add(0, torch.tensor([[0.25]]))
    assert one.firsts().i2t.tolist() == [[0]] and list(one.similarities()) == ["labelled"]


def test_whoever_asks_for_the_rows_gets_them_unchanged():
    table = scores()

    class Whole:
        def scores(self, images, texts):
            return matrix(table)

    seen = Watched(OWNERS, PICTURES, 2)
    found = Watching(Whole(), seen).scores(torch.empty(0), torch.empty(0))
    assert torch.equal(torch.cat([found.rows(0, 3), found.rows(3, 5)]), table)
    assert seen.firsts().i2t[:, 0].tolist() == table.argmax(dim=1).tolist()
