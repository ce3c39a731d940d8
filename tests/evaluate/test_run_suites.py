import hashlib

import numpy as np
import pytest
import torch
from evaluate_fakes import FakeEncoder, constant_encoder

from litotes.data.images import ArrayPictures, Subset
from litotes.data.negbench import (
    ChoiceQuestions,
    RetrievalCaptions,
    fingerprint_choice,
    fingerprint_retrieval,
)
from litotes.errors import UserError
from litotes.evaluate.features import Encoder, Remembering
from litotes.evaluate.negation import MultipleChoice, Pairs
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.suite import run_suites
from litotes.metrics.paired import wilson_interval
from tiny import noise_pictures as pictures


def random_encoder():
    generator = torch.Generator().manual_seed(0)
    images = {f"folder/p{i}": torch.randn(5, generator=generator) for i in range(20)}
    texts = {f"c{i}": torch.randn(5, generator=generator) for i in range(40)}
    return FakeEncoder(images, texts, default=[1.0, 0, 0, 0, 0])


def suites(first, second):
    captions = [f"c{i}" for i in range(20)]
    return [
        Retrieval("retrieval", first, captions, range(20)),
        Retrieval("again", second, [f"c{i}" for i in range(10, 30)], range(20), negated=True),
        Pairs("pairs", first, {"d": (captions, captions[::-1])}),
    ]


def test_pictures_and_texts_are_encoded_once_whatever_their_order():
    encoder = random_encoder()
    first = pictures(20)
    backwards = Subset(first, range(19, -1, -1))
    results = run_suites(encoder, suites(first, backwards))
    assert sum(map(len, encoder.asked_images)) == 20
    assert sorted(text for texts in encoder.asked_texts for text in texts) == sorted(f"c{i}" for i in range(30))
    assert results["retrieval"]["pictures_sha256"] == results["again"]["pictures_sha256"]
    assert results["retrieval"]["split_sha256"] != results["again"]["split_sha256"]


def test_remembered_embeddings_are_those_of_the_model():
    said = {}
    together = run_suites(random_encoder(), suites(pictures(20), Subset(pictures(20), range(19, -1, -1))), said)
    assert set(said) == {"retrieval", "again", "pairs"}
    for suite in suites(pictures(20), Subset(pictures(20), range(19, -1, -1))):
        alone = suite.run(random_encoder())
        assert alone.pop("answers", None) == said.get(suite.name)
        assert {key: together[suite.name][key] for key in alone} == alone


def test_equal_pictures_share_one_embedding():
    pixels = np.zeros((3, 4, 4, 3), dtype=np.uint8)
    pixels[2] = 9
    same = ArrayPictures(pixels, ["folder/p0", "folder/p1", "folder/p2"])
    encoder = random_encoder()
    rows = Remembering(encoder).encode_images(same)
    assert encoder.asked_images == [["folder/p0", "folder/p2"]]
    assert torch.equal(rows[0], rows[1])
    assert torch.equal(rows[2], encoder.images["folder/p2"])


def test_indices_choose_and_order_pictures():
    encoder = random_encoder()
    memory = Remembering(encoder)
    memory.encode_images(pictures(20), [4])
    rows = memory.encode_images(pictures(20), [7, 4, 7])
    assert torch.equal(rows, torch.stack([encoder.images[f"folder/p{i}"] for i in (7, 4, 7)]))
    assert encoder.asked_images == [["folder/p4"], ["folder/p7"]]
    assert isinstance(memory, Encoder)


def test_progress_reaches_the_total_of_each_kind():
    seen = []
    memory = Remembering(random_encoder(), lambda *step: seen.append(step))
    run_suites(memory, suites(pictures(20), pictures(20)))
    assert seen == [("pictures", 20, 20), ("texts", 20, 20), ("texts", 10, 10)]


def test_a_caller_may_bring_picture_features_from_elsewhere():
    encoder = random_encoder()
    memory = Remembering(encoder, encode_images=lambda some: torch.ones(len(some), 5))
    results = run_suites(memory, suites(pictures(20), pictures(20)))
    assert encoder.asked_images == []
    assert results["retrieval"]["t2i"]["10"] == 0


def test_a_caller_that_remembers_asks_again_for_nothing():
    encoder = random_encoder()
    memory = Remembering(encoder)
    run_suites(memory, suites(pictures(20), pictures(20)))
    asked = len(encoder.asked_images)
    assert torch.equal(memory.encode_images(pictures(20), [3])[0], encoder.images["folder/p3"])
    assert len(encoder.asked_images) == asked


def test_each_result_says_what_was_asked():
    long = "a caption of more than forty characters, which the fake cuts"
    suite = Pairs("pairs", pictures(2), {"d": (["c1", long], ["c2", long])})
    again = Pairs("other", pictures(2), {"d": ([long, long], ["c2", "c3"])})
    results = run_suites(random_encoder(), [suite, again])
    assert results["pairs"] | {"wall_s": 0} == {
        "task": "pairs", "d": 0.0, "ties": {"d": 1}, "n": 2, "n_images": 2, "n_texts": 4, "captions_truncated": 1,
        "split_sha256": hashlib.sha256(f"d\tp0\tc1\tc2\nd\tp1\t{long}\t{long}".encode()).hexdigest(),
        "pictures_sha256": results["other"]["pictures_sha256"], "wall_s": 0, "chance": 0.5,
    } | {key: results["pairs"][key] for key in ("d", "intervals")}  # fmt: skip
    assert results["pairs"]["intervals"]["d"] == list(wilson_interval(round(2 * results["pairs"]["d"]), 2))
    assert results["other"]["captions_truncated"] == 0
    assert results["pairs"]["wall_s"] >= 0


def test_split_hashes_are_the_fingerprints_of_negbench_files():
    names = ("data/coco/p0", "data/coco/p1")
    options = (("a", "b", "c", "d"), ("e", "f", "g", "h"))
    suite = MultipleChoice("mcq", pictures(2), [1, 0], options, [0, 3], ["positive", "hybrid"])
    questions = ChoiceQuestions((names[1], names[0]), options, (0, 3), ("positive", "hybrid"))
    assert suite.identity().split_sha256 == fingerprint_choice(questions)
    retrieval = Retrieval("r", pictures(2), ["a", "é", "c"], [1, 0, 0], ks=(1,))
    captions = RetrievalCaptions(names, ("a", "é", "c"), (1, 0, 0))
    assert retrieval.identity().split_sha256 == fingerprint_retrieval(captions)


def test_two_suites_of_one_name_are_refused():
    suite = Pairs("pairs", pictures(1), {"d": (["a"], ["b"])})
    with pytest.raises(UserError, match="pairs, pairs"):
        run_suites(constant_encoder(), [suite, suite])
