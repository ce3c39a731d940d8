"""HANCLIP's recipe on every family of backbones, and the recipes of the paper's eight."""

import json
import re

import pytest
import torch
from drawn_table import litotes, table, words
from safetensors.torch import load_file

from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.cli import training
from litotes.cli.options import parse
from litotes.cli.train import Settings
from litotes.models.lora import load_adapter
from litotes.models.matcher import load_matcher
from reference.openai_clip import ReferenceClip

FAMILIES = {
    "openai": ({}, {"activation": "quick_gelu"}),
    "longclip": ({"context": 248, "long": True}, {}),
    "smartclip": ({"context": 248, "long": True, "mask": True, "dimension": 128}, {}),
}  # HiMo-CLIP saves LongCLIP's names and shapes
BACKBONES = (
    "clip-b16", "clip-b32", "clip-l14", "longclip-b16", "longclip-l14", "smartclip-b16", "smartclip-l14",
    "himoclip-l14",
)  # fmt: skip
QUESTIONS = (2032, 1870, 2012)
"""Of COCO's multiple choice: affirmed, negated, hybrid."""
PAIR = r"([\d.]+) -> ([\d.]+)"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return table(tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    return folder, train_tokenizer(["a red ball and a blue box", "a ball but no box"] * 3, 600, folder)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_paper_s_recipe_trains_every_family_from_its_file(family, pairs, vocabulary, tmp_path):
    (sizes, said), (words_of, ids) = FAMILIES[family], vocabulary
    torch.save(ReferenceClip(ids=ids, **sizes).state_dict(), tmp_path / "model.pt")
    model, run = tmp_path / "model", tmp_path / "run"
    assert litotes("convert", source=tmp_path / "model.pt", vocabulary=words_of, output=model, **said) == 0
    short = {"recipe": "hanclip", "val_fraction": 0.34, "batch_size": 4, "steps": 2, "warmup": 0, "lora_dropout": 0}
    assert litotes("train", model=model, train_data=pairs, output=run, **short) == 0
    learnt = [
        tensor for name, tensor in load_file(run / "adapter" / "adapter_model.safetensors").items() if "_B" in name
    ]
    assert learnt and all(tensor.abs().max() > 0 for tensor in learnt)
    base, adapted = load_matcher(model), load_matcher(model)
    load_adapter(adapted, run / "adapter")
    caption = ["a ball but no box"]
    assert not torch.equal(base.encode_texts(caption), adapted.encode_texts(caption))
    long = "context" in sizes
    assert adapted.tokenizer.context_length == (248 if long else 77)
    shown = json.loads((run / "report.json").read_text())["models"]
    assert {record["base_sha256"] for record in shown.values()} == {base.base}


@pytest.mark.parametrize("name", BACKBONES)
def test_a_recipe_of_the_paper_is_whole_and_its_expected_figures_agree_with_each_other(name, pytestconfig):
    file = pytestconfig.rootpath / "configs" / "hanclip" / f"{name}-text.toml"
    given = words(model="m", train_data="t.csv", output="o")
    paper, plain = (parse("train", Settings, [*given, *more]) for more in (("--config", str(file)), ()))
    assert training.recipe_of(paper) == training.recipe_of(plain)
    assert (paper.cc_neg, paper.train_num_samples, paper.recipe) == (True, 20_000, "hanclip")
    head = " ".join(line.lstrip("# ") for line in file.read_text().splitlines() if line.startswith("#"))
    assert f"configs/hanclip/{name}-text.toml" in head
    affirmed, negated, hybrid, whole = (
        [float(share) for share in re.search(rf"{word} {PAIR}", head).groups()]
        for word in ("Affirmed", "Negated", "Hybrid", "all")
    )
    for i, total in enumerate(whole):
        parts = (affirmed[i], negated[i], hybrid[i])
        mean = sum(share * count for share, count in zip(parts, QUESTIONS, strict=True)) / sum(QUESTIONS)
        assert total == pytest.approx(mean, abs=0.02)


def test_every_recipe_of_the_folder_is_tested(pytestconfig):
    folder = pytestconfig.rootpath / "configs" / "hanclip"
    assert {file.name for file in folder.iterdir()} == {f"{name}-text.toml" for name in BACKBONES}
