import numpy as np
import pytest
import torch
from evaluate_fakes import FakeEncoder, constant_encoder

from litotes.errors import UserError
from litotes.evaluate.negation import MultipleChoice, another_of_each
from litotes.metrics.paired import wilson_interval
from litotes.metrics.similarity import COSINE
from tiny import noise_pictures as pictures

N, PICTURES, SIZE = 5914, 40, 16
TYPES = ("positive", "negative", "hybrid")


class Rows:
    """Embeddings of the pictures, and of the texts by their number."""

    fingerprint, similarity = "f" * 64, COSINE

    def __init__(self, images, texts):
        self.images, self.texts = images, texts

    def encode_images(self, pictures, indices=None):
        return self.images

    def encode_texts(self, texts):
        return self.texts[[int(text) for text in texts]]

    def provenance(self):
        return {}


def asked(order=None):
    """As many questions as NegBench has on COCO, option 4q + o of question q, the right one first or where it goes."""
    order = np.tile(np.arange(4), (N, 1)) if order is None else order
    options = [tuple(str(4 * q + o) for o in row) for q, row in enumerate(order)]
    correct = [int(np.flatnonzero(row == 0)[0]) for row in order]
    types = [TYPES[q % 3] for q in range(N)]
    return MultipleChoice("mcq", pictures(PICTURES), [q % PICTURES for q in range(N)], options, correct, types)


@pytest.fixture(scope="module")
def chance():
    """A model whose embeddings are drawn at random."""
    draw = torch.Generator().manual_seed(3)
    return Rows(torch.randn(PICTURES, SIZE, generator=draw), torch.randn(4 * N, SIZE, generator=draw))


@pytest.fixture(scope="module")
def oracle(chance):
    """A model whose true options lie where their pictures do."""
    texts = chance.texts.clone()
    texts[::4] = chance.images[[q % PICTURES for q in range(N)]]
    return Rows(chance.images, texts)


def test_a_constant_scores_nothing_and_random_embeddings_a_quarter(chance):
    constant = asked().run(constant_encoder())
    assert (constant["total"], constant["total_if_ties_go_to_first"], constant["ties"]) == (0, 1, N)
    assert constant["controls"] == {"another_picture": 0, "no_picture": 0}
    assert constant["interval"][0] == 0 < constant["interval"][1] < 0.001
    result = asked().run(chance)
    for share in (result["total"], *result["controls"].values()):
        assert share == pytest.approx(0.25, abs=0.017)
    assert result["interval"] == list(wilson_interval(round(N * result["total"]), N))
    for kind in TYPES:
        n = result[f"n_{kind}"]
        assert result["intervals"][kind] == list(wilson_interval(round(n * result[kind]), n))
        assert result["intervals"][kind][1] - result["intervals"][kind][0] > 1.5 * np.diff(result["interval"])[0]
    assert result["interval"][0] < 0.25 < result["interval"][1]


def test_an_oracle_scores_all_and_needs_its_picture(oracle):
    result = asked().run(oracle)
    assert (result["total"], result["ties"]) == (1, 0)
    assert result["controls"]["another_picture"] < 0.5


def test_a_number_that_is_none_stops_the_run(chance):
    texts = chance.texts.clone()
    texts[7, 0] = float("nan")
    with pytest.raises(UserError, match="NaN"):
        asked().run(Rows(chance.images, texts))


def test_the_order_of_the_options_changes_nothing(chance):
    order = np.random.default_rng(0).permuted(np.tile(np.arange(4), (N, 1)), axis=1)
    plain, shuffled = asked().run(chance), asked(order).run(chance)
    for key in ("total", *TYPES, "ties", "interval", "controls"):
        assert shuffled[key] == plain[key]


def test_a_model_that_reads_texts_alone_is_shown_up():
    # every picture is the same, the true option always nearest: no picture is needed
    encoder = FakeEncoder({}, {"yes": [1.0, 0.0], "no": [0.0, 1.0]}, default=[1.0, 0.1])
    suite = MultipleChoice("mcq", pictures(2), [0, 1], [("yes", "no"), ("no", "yes")], [0, 1], ["positive"] * 2)
    assert suite.run(encoder)["controls"] == {"another_picture": 1, "no_picture": 1}
    lone = MultipleChoice("mcq", pictures(1), [0], [("yes", "no")], [0], ["positive"])
    assert lone.run(encoder)["controls"] == {"another_picture": None, "no_picture": 1}


@pytest.mark.parametrize("n", [2, 3, 500])
def test_every_item_gets_another_one(n):
    others = another_of_each(n)
    assert sorted(others.tolist()) == list(range(n))
    assert not (others == torch.arange(n)).any()
    assert torch.equal(others, another_of_each(n))
