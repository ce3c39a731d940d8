"""A model that gives one embedding to everything scores nothing in any suite, whichever place the right answer has."""

import pytest
from coco_files import write_judgements
from evaluate_fakes import constant_encoder

from litotes.data.judgements import read_coco_judgements
from litotes.evaluate.classification import Classification
from litotes.evaluate.coco import JudgedRetrieval
from litotes.evaluate.foils import Boxes, Foils, Rewordings
from litotes.evaluate.geometry import Geometry
from litotes.evaluate.negation import MultipleChoice, Pairs
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.selective import SelectiveRetrieval
from litotes.evaluate.suite import Suite, run_suites
from litotes.models.pair_adapter import new_pair_model
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import AdapterConfig
from tiny import noise_pictures as pictures

TWELVE = [f"text {i}" for i in range(12)]


def scorer():
    """An adapter of pairs with random weights: equal features have equal logits."""
    config = AdapterConfig(features=3, hidden=4, latent=3, decoder_hidden=3)
    return PairScorer(new_pair_model("variational", config, seed=0))


def choice(**more):
    options = [(f"a{q}", f"b{q}", f"c{q}") for q in range(9)]
    kinds = ["positive", "negative", "hybrid"] * 3
    return MultipleChoice("mcq", pictures(9), range(9), options, [q % 3 for q in range(9)], kinds, **more)


def judged(folder):
    images, captions, _ = write_judgements(folder)
    return JudgedRetrieval(
        "coco", pictures(10), images, [f"caption {c}" for c in captions], captions, read_coco_judgements(folder), (1,)
    )


def retrieval(**more):
    return Retrieval("retrieval", pictures(10), TWELVE, [i % 10 for i in range(12)], (1, 5), **more)


SUITES = {
    "MultipleChoice": lambda folder: [choice(), choice(scorer=scorer())],
    "Pairs": lambda folder: [Pairs("pairs", pictures(12), {"a": (TWELVE, TWELVE[::-1])})],
    "Retrieval": lambda folder: [retrieval(), retrieval(negated=True), retrieval(scorer=scorer())],
    "JudgedRetrieval": lambda folder: [judged(folder)],
    "Classification": lambda folder: [
        Classification("classes", pictures(12), [i % 6 for i in range(12)], TWELVE[:6], ("a {c}.", "the {c}."))
    ],
    "Foils": lambda folder: [
        Foils("valse", pictures(12), range(12), TWELVE, [f"no {text}" for text in TWELVE], {"all": range(12)})
    ],
    "Rewordings": lambda folder: [
        Rewordings("scpp", pictures(12), range(12), TWELVE, [*TWELVE[1:], "x"], ["y"] * 12, {"all": range(12)})
    ],
    "Boxes": lambda folder: [Boxes("negrefcocog", pictures(12), TWELVE[:6])],
    "SelectiveRetrieval": lambda folder: [SelectiveRetrieval("selective", pictures(12), TWELVE, range(12), scorer())],
}
SHARES = {
    "mcq": ["total", "positive", "negative", "hybrid", ("controls", "another_picture"), ("controls", "no_picture")],
    "pairs": ["a"],
    "zeroshot_retrieval": ["i2t", "t2i", "rsum"],
    "judged_retrieval": ["coco_5k", "coco_1k", "rsum", "cxc", "eccv"],
    "zeroshot_classification": ["acc1", "acc5", "mean_per_class_recall", "per_class"],
    "foils": ["accuracy"],
    "rewordings": ["accuracy"],
}
"""What is a share of right answers, by task."""


def leaves(value):
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    return [value]


@pytest.mark.parametrize("name", SUITES)
def test_a_collapsed_model_gets_nothing(name, tmp_path):
    for suite in SUITES[name](tmp_path):
        answers = {}
        result = run_suites(constant_encoder(), [suite], answers)[suite.name]
        if result["task"] == "selective_retrieval":
            assert {way["error"] for way in result["ways"].values()} == {1.0}
            continue
        for key in SHARES[result["task"]]:
            share = result[key] if isinstance(key, str) else result[key[0]][key[1]]
            assert set(leaves(share)) == {0}, key
        told = leaves(result["ties"]) if "ties" in result else [None]
        assert all(count != 0 for count in told)
        for answer in answers.get(suite.name, ()):
            assert answer.given.get("tied", True) is True
            assert answer.given.get("rank", 2) > 1


def test_every_suite_is_asked():
    missing = {kind.__name__ for kind in Suite.__subclasses__() if kind.__module__.startswith("litotes.")} - {*SUITES}
    assert missing == {Geometry.__name__}, "a new suite: add it to SUITES, with what a collapsed model gets"
