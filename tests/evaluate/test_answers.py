import json

import pytest
import torch

from litotes.errors import UserError
from litotes.evaluate.answers import Answer, answers_path, choices, read_answers, searches, write_answers

ASKED = {"item": 0, "picture": "a.png", "right": 0}
# right, wrong, right tied with a later one, two wrong ones tied
SCORES = [[0.3, 0.1, 0.2], [0.3, 0.1, 0.2], [0.3, 0.3, 0.2], [0.1, 0.3, 0.3]]


def test_a_choice_is_right_only_where_it_is_strictly_best():
    said = choices(torch.tensor(SCORES), [0, 2, 0, 0], ({"item": i} for i in range(4)))
    assert [answer.given["chosen"] for answer in said] == [0, 0, 1, 1]
    assert [answer.given["tied"] for answer in said] == [False, False, True, False]
    assert [answer.asked for answer in said] == [{"item": i, "right": right} for i, right in enumerate([0, 2, 0, 0])]


def test_kept_scores_tell_float32_numbers_apart():
    value = torch.tensor([0.1, 0.25, 1 / 3])
    scores = torch.stack([value, torch.nextafter(value, torch.ones(3))], dim=1)
    (first, *_, last) = choices(scores, [1, 1, 1], [{}, {}, {}])
    assert first.given["scores"][0] < first.given["scores"][1]
    assert torch.equal(torch.tensor(last.given["scores"]), scores[2])
    (kept,) = choices(scores[:1], [1], [{}], torch.tensor([[0.5]]))
    assert (kept.given["scores"], kept.given["chosen"]) == ([0.5], 1)


def test_a_picture_without_captions_is_no_query():
    assert searches(torch.tensor([3, 0, 1]), [{"item": 0}, {"item": 1}, {"item": 2}]) == [
        Answer({"item": 0}, {"rank": 3}), Answer({"item": 2}, {"rank": 1})
    ]  # fmt: skip


@pytest.fixture
def written(tmp_path):
    models = {
        name: {"mcq": [Answer({**ASKED, "texts": ["a\u2028b\nc", "ü"]}, {"scores": [0.5, 0.25], "chosen": chosen})]}
        for name, chosen in (("base", 1), ("adapted", 0))
    }
    return tmp_path / "r.json", models, write_answers(tmp_path / "r.json", models)


def test_answers_are_read_as_they_were_written(written, tmp_path):
    path, models, told = written
    assert told["file"] == "r.answers.jsonl" == answers_path(path).name
    assert told["lines"] == 1
    assert {name: read_answers(tmp_path, told, name) for name in models} == models
    (line,) = (tmp_path / told["file"]).read_text().splitlines()[:1]
    assert json.loads((tmp_path / told["file"]).read_text())["base"] == {"scores": [0.5, 0.25], "chosen": 1}
    assert line.startswith('{"suite": "mcq", "item": 0, "picture": "a.png", "right": 0, "texts": ["a')


def test_answers_of_another_run_are_refused(written, tmp_path):
    path, models, told = written
    with pytest.raises(UserError, match=r"r.answers.jsonl without answers of other"):
        read_answers(tmp_path, told, "other")
    write_answers(path, {"base": models["base"]})
    with pytest.raises(UserError, match=r"r.answers.jsonl, changed since its result was written"):
        read_answers(tmp_path, told, "base")
    answers_path(path).unlink()
    with pytest.raises(UserError, match=r"no file .*r.answers.jsonl"):
        read_answers(tmp_path, told, "base")
    (tmp_path.parent / "r.answers.jsonl").write_text("")
    with pytest.raises(UserError, match=f"no file {tmp_path}"):
        read_answers(tmp_path, told | {"file": "../r.answers.jsonl"}, "base")
