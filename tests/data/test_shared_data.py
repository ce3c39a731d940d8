"""Checks on the published caption files and on real pictures, where these are at hand."""

import os
from pathlib import Path

import pytest

from litotes.data.images import ImageFiles
from litotes.data.negbench import fingerprint_choice, fingerprint_retrieval, read_choice, read_retrieval, recognise
from litotes.data.quadruplets import from_table

ROOT = Path(os.environ.get("LITOTES_SHARED_DATA", "/nonexistent"))
pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="LITOTES_SHARED_DATA names no folder of data")


@pytest.mark.parametrize(
    "name, known, types, pictures",
    [
        ("COCO_val_mcq_llama3.1_rephrased", "COCO MCQ rephrased", (2032, 1870, 2012), 3926),
        ("VOC2007_mcq_llama3.1_rephrased", "VOC2007 MCQ rephrased", (682, 2121, 2228), 4951),
        ("synthetic_mcq_llama3.1_rephrased", "HardNeg-Syn MCQ rephrased", (4999, 0, 4998), 9997),
        ("msr_vtt_mcq_rephrased_llama", "MSR-VTT MCQ rephrased", (335, 353, 312), 1000),
    ],
)
def test_published_choice_files(name, known, types, pictures):
    questions = read_choice(ROOT / "negbench" / f"{name}.csv")
    assert tuple(questions.types.count(kind) for kind in ("positive", "negative", "hybrid")) == types
    assert (len(questions), len(set(questions.image_paths))) == (sum(types), pictures)
    assert all(len(set(options)) == 4 for options in questions.options)
    assert recognise(fingerprint_choice(questions)) == f"published file: {known}"


@pytest.mark.parametrize(
    "name, known",
    [
        ("COCO_val_retrieval", "COCO retrieval standard"),
        ("COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true", "COCO retrieval negated rephrased"),
        ("COCO_val_negated_retrieval_template", "COCO retrieval negated template"),
    ],
)
def test_published_retrieval_files(name, known):
    table = read_retrieval(ROOT / "negbench" / f"{name}.csv")
    assert (len(table), len(table.image_paths)) == (25_014, 5000)
    assert recognise(fingerprint_retrieval(table)) == f"published file: {known}"


def test_stamps():
    folder = ROOT / "stamps"
    quadruplets = from_table(folder / "quadruplets_train.csv").choose(20, seed=0)
    assert quadruplets.pictures[19].size == (128, 128) and all(quadruplets.objects)
    questions = read_choice(folder / "mcq_test.csv")
    assert len(ImageFiles(questions.image_paths, folder)) == 600
    assert recognise(fingerprint_choice(questions)) == "yours"
