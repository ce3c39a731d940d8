"""What the screen says of ties and of questions that nobody can answer."""

from evaluate_fakes import FakeEncoder, constant_encoder

from litotes.evaluate.negation import MultipleChoice
from litotes.evaluate.notes import notes_of_all
from litotes.evaluate.results import result_record
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.suite import run_suites
from tiny import noise_pictures as pictures


def notes(encoder, *suites):
    return notes_of_all({"base": result_record(encoder, run_suites(encoder, suites), dataset="x")})


def test_searches_that_a_tie_decides_are_counted():
    captions = ["a", "b", "a", "c"]
    encoder = FakeEncoder(
        {"folder/p0": [1, 0, 0], "folder/p1": [0, 1, 0], "folder/p2": [0, 0, 1]},
        {"a": [1, 0.1, 0.2], "b": [0, 1, 0.1], "c": [0.1, 0.2, 1]},
    )
    suite = Retrieval("retrieval", pictures(3), captions, [0, 1, 1, 2], (1,))
    assert suite.run(encoder)["ties"] == {"i2t": 1, "t2i": 0}
    told = "retrieval: in 1 search for a picture's captions the best right item ties with a wrong one, and is put"
    assert [note for note in notes(encoder, suite) if note.startswith("retrieval")] == [f"{told} behind it"]
    assert suite.run(constant_encoder())["ties"] == {"i2t": 3, "t2i": 4}


def test_questions_that_nobody_can_answer_are_told():
    encoder = FakeEncoder({}, {"a": [1, 0], "b": [0, 1], "c": [0.5, 0.5]}, default=[1, 0.2])
    options = [("a", "b", "a"), ("a", "b", "b"), ("a", "b", "c")]
    suite = MultipleChoice("mcq", pictures(3), range(3), options, [0, 0, 0], ["negative"] * 3)
    told = (
        "mcq: 2 questions have two options of the same wording, 1 of them with the true one, which no model can answer"
    )
    assert told in notes(encoder, suite)
