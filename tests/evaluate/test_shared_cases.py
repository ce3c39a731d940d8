"""Cases that people reported, where a folder of them is there; each part's own tests rebuild these inputs."""

import csv
import json
import os
from pathlib import Path

import pytest
import torch
from evaluate_fakes import FakeEncoder

from litotes.data.caption_folder import picture_files
from litotes.data.images import ImageFiles
from litotes.data.negbench import parse_list, read_choice, read_retrieval
from litotes.data.screening import Screening
from litotes.data.tables import column, read_table
from litotes.errors import UserError
from litotes.evaluate.class_folders import class_folders, read_class_names
from litotes.evaluate.classification import readable
from litotes.evaluate.config import EvaluateConfig
from litotes.evaluate.files import suites_from_files
from litotes.metrics.ranked_lists import list_scores
from litotes.metrics.ranking import median_rank, ranks, recall_at_k

CASES = Path(os.environ.get("LITOTES_SHARED_CASES", "/nonexistent"))
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="LITOTES_SHARED_CASES names no folder of cases")


def case(name):
    folder = CASES / name
    return folder, json.loads((folder / "expected.json").read_text())


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))[1:]


def test_broken_pictures():
    folder, wanted = case("01_broken_image_files")
    names = sorted([*wanted["readable"], *wanted["unreadable"]])
    assert not [name for name in picture_files(folder) if name not in names]
    if not os.path.lexists(folder / "broken_link.jpg"):  # a link that leads nowhere is lost where links are not kept
        names.remove("broken_link.jpg")
    screening = Screening("skip")
    pictures = ImageFiles(names, folder)
    screening.select("all", pictures, range(len(names)))
    screening.look(lambda picture: picture)
    left = screening.select("all", pictures, range(len(names)))
    assert [left.pictures.name(i) for i in range(len(left.pictures))] == wanted["readable"]
    told = screening.record()
    assert [one["picture"] for one in told["left_out"]["broken"]] == sorted(set(names) - set(wanted["readable"]))
    assert all(one["reason"] for one in told["left_out"]["broken"]) and told["n_skipped"] == len(names) - 3


def test_ranked_lists():
    folder, wanted = case("16_ranked_metrics_and_ids")

    def read(name):
        return json.loads((folder / f"{name}.json").read_text())

    def percent(name, truth="ground_truth"):
        scores, listed = list_scores(read(name), read(truth))
        return {"R@1": 100 * scores.recall[1], "R-Precision": 100 * scores.r_precision,
                "mAP@R": 100 * scores.map_at_r}, listed.notes  # fmt: skip

    for name in ("ranked_int", "ranked_str", "ranked_zero_padded_str", "ranked_extra_query"):
        assert percent(name)[0] == pytest.approx(wanted["mean_percent"], abs=1e-6), name
    assert percent("ranked_too_short")[0] == pytest.approx(wanted["ranked_too_short"]["honest_percent"], abs=1e-6)
    assert any("999" in note for note in percent("ranked_extra_query")[1])
    assert percent("ranked_int", "ground_truth_with_empty")[0] == pytest.approx(wanted["mean_percent"], abs=1e-6)
    with pytest.raises(UserError, match="104"):
        percent("ranked_missing_query")
    with pytest.raises(UserError, match=r"twice|repeat"):
        percent("ranked_with_repeats")


def test_tables():
    folder, wanted = case("08_table_dialects")
    for name in wanted["must_load_these_three_rows"] + wanted["may_refuse_with_clear_message_else_must_load"]:
        if name == "utf16.csv":
            with pytest.raises(UserError, match="UTF-16"):
                read_table(folder / name)
            continue
        table = read_table(folder / name)
        cells = zip(column(table, "filepath"), column(table, "title"), strict=True)
        assert [list(row) for row in cells] == wanted["three_rows"], name
    for name in wanted["must_refuse"]:
        with pytest.raises(UserError) as error:
            column(read_table(folder / name), "filepath")
        assert str(folder / name) in str(error.value)


def test_lists(tmp_path, monkeypatch):
    folder, wanted = case("09_list_like_captions")
    for name in ("python_lists.csv", "json_lists.csv", "one_caption_per_row.csv"):
        read = read_retrieval(folder / name)
        found = [[] for _ in read.image_paths]
        for image, text in zip(read.image_of_caption, read.captions, strict=True):
            found[image].append(text)
        assert found == wanted["captions_per_image"], name
    monkeypatch.chdir(tmp_path)
    cells = [row[1] for row in rows_of(folder / "malformed_and_code.csv")]
    assert [i for i, cell in enumerate(cells, 1) if not parse_list(cell)] == wanted[
        "rows_to_refuse_in_malformed_and_code"
    ]
    for name in ("malformed_and_code.csv", "deep.csv"):
        with pytest.raises(UserError):
            read_retrieval(folder / name)
    assert not (tmp_path / wanted["marker_that_must_not_exist"]).exists()


def test_recall_with_different_numbers_of_captions():
    folder, wanted = case("12_varying_captions_recall")
    scores = torch.tensor([[float(x) for x in row[1:]] for row in rows_of(next(folder.glob("similarity*.csv")))])
    owners = [int(pair["image"][1:]) for pair in json.loads((folder / "captions.json").read_text())]
    recall = recall_at_k(scores, owners, (1, 2, 3, 5))
    for way, name in (("t2i", "text_to_image"), ("i2t", "image_to_text")):
        for k, share in recall[way].items():
            assert 100 * share == pytest.approx(wanted[name][f"R@{k}"], abs=1e-4)
    found = ranks(scores, owners)
    assert found.text_to_image.tolist() == wanted["text_to_image_ranks"]
    assert [rank for rank in found.image_to_text.tolist() if rank] == wanted["image_to_text_best_ranks"]
    assert median_rank(found.text_to_image) == wanted["text_to_image_median_rank"]
    assert median_rank(found.image_to_text) == wanted["image_to_text_median_rank"]


def test_multiple_choice(tmp_path):
    folder, wanted = case("14_mcq_scoring")
    (suite,) = suites_from_files(EvaluateConfig(model=folder, choice=folder / "questions.csv"))
    images = {f"images/{row[0]}.png": [float(x) for x in row[1:]] for row in rows_of(folder / "image_vectors.csv")}
    vectors = {tuple(map(int, row[:2])): [float(x) for x in row[2:]] for row in rows_of(folder / "caption_vectors.csv")}
    correct = 0
    for question, options in enumerate(suite.options):  # one text has another vector in another question
        texts = {text: vectors[question, i] for i, text in enumerate(options)}
        own = suites_from_files(EvaluateConfig(model=folder, choice=folder / "questions.csv"))[0]
        chosen = type(own)(
            "mcq", own.pictures, [own.image_of_question[question]], [options], [own.correct[question]],
            [own.types[question]],
        )  # fmt: skip
        correct += chosen.run(FakeEncoder(images, texts))["total"]
    assert 100 * correct / len(suite.options) == wanted["accuracy_all"]
    with pytest.raises(UserError, match="correct_answer '4' in rows 1, 2, 3\n"):
        read_choice(folder / "answer_problems.csv")
    lines = (folder / "answer_problems.csv").read_text().splitlines()
    (tmp_path / "rest.csv").write_text("\n".join([lines[0], *lines[5:]]))
    read = read_choice(tmp_path / "rest.csv")
    assert read.correct[0] == 1
    (tmp_path / "empty.csv").write_text("\n".join([lines[0], lines[4]]))
    with pytest.raises(UserError, match="an option is empty in rows 1"):
        suites_from_files(EvaluateConfig(model=folder, choice=tmp_path / "empty.csv", images_root=folder))


def test_class_folders():
    folder, wanted = case("17_class_folders_and_names")
    found = class_folders(folder / "v2", folder / "classnames.txt")
    assert {f"v2/{path}".rsplit("/", 1)[0]: label for path, label in zip(found.paths, found.labels, strict=True)} == (
        wanted["labels"]
    )
    predicted = json.loads((folder / "predictions.json").read_text())
    right = [predicted[f"v2/{path}"] == label for path, label in zip(found.paths, found.labels, strict=True)]
    assert 100 * sum(right) / len(right) == wanted["accuracy_percent"]
    names = [readable(name) for _, name in read_class_names(folder / "classnames.txt")]
    assert names == [name.split(" (or ")[0] for name in wanted["prompt_names"]]
    with pytest.raises(UserError, match="without a name: 11"):
        class_folders(folder / "v2", folder / "classnames_11_lines.txt")
