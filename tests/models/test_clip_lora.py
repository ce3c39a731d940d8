"""CLIP-LoRA's own adapter file, against an independent forward in OpenAI's naming with the update in its weights."""

import argparse
import copy
import math

import pytest
import torch
from peft import PeftModel
from safetensors.torch import save_file
from transformers import CLIPModel

from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.cli import main
from litotes.errors import UserError
from litotes.models.lora import adapted_layers, load_adapter
from litotes.models.matcher import Matcher, load_matcher
from litotes.models.state_dict_file import load_state_dict_file
from reference.openai_clip import ReferenceClip, texts

LETTERS = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "proj"}
BLOCKS = {"all": {"text": [0, 1], "vision": [0, 1, 2]}, "half-up": {"text": [1], "vision": [1, 2]}}
WIDTH = {"text": 128, "vision": 192}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The reference's CLIP as a model folder: 2 blocks of texts, 3 of pictures."""
    folder = tmp_path_factory.mktemp("model")
    size = train_tokenizer(["a cat", "no cat"] * 3, 600, folder)
    save_file(ReferenceClip(ids=size, hidden=768).state_dict(), folder / "model.safetensors")
    backbone = load_state_dict_file(folder / "model.safetensors", activation="quick_gelu")
    Matcher(backbone.encoder, TextTokenizer(folder, 77), backbone.preprocess, "model").save(folder / "hf")
    return folder / "hf", size


def content(*, rank=2, alpha=1, encoder="both", params=("q", "k", "v"), position="all"):
    """What CLIP-LoRA would save: blocks counted through, those of texts first; every number drawn."""
    generator = torch.Generator().manual_seed(7)
    towers = ["text", "vision"] if encoder == "both" else [encoder]
    widths = [WIDTH[tower] for tower in towers for _ in BLOCKS[position][tower]]
    layers = {
        f"layer_{i}": {
            LETTERS[letter]: {
                "w_lora_A": torch.randn(rank, width, generator=generator) / 8,
                "w_lora_B": torch.randn(width, rank, generator=generator) / 8,
            }
            for letter in params
        }
        for i, width in enumerate(widths)
    }
    facts = {"r": rank, "alpha": alpha, "encoder": encoder, "params": list(params), "position": position}
    return {"weights": layers, "metadata": facts}


@torch.no_grad()
def with_update(saved, size):
    """The reference's CLIP with alpha / sqrt(r) B A added to its own matrices."""
    reference = ReferenceClip(ids=size, hidden=768)
    facts, number = saved["metadata"], 0
    for tower in ["text", "vision"] if facts["encoder"] == "both" else [facts["encoder"]]:
        transformer = reference.transformer if tower == "text" else reference.visual.transformer
        for block in BLOCKS[facts["position"]][tower]:
            attention = transformer.resblocks[block].attn
            rows = dict(zip("qkv", attention.in_proj_weight.detach().chunk(3), strict=True))
            rows["o"] = attention.out_proj.weight.detach()
            for letter, name in LETTERS.items():
                if letter in facts["params"]:
                    factors = saved["weights"][f"layer_{number}"][name]
                    update = factors["w_lora_B"].double() @ factors["w_lora_A"].double()
                    rows[letter] += (facts["alpha"] / math.sqrt(facts["r"]) * update).float()
            number += 1
    return reference


def pixels():
    return torch.randn(3, 3, 32, 32, generator=torch.Generator().manual_seed(5))


def ids(size):
    rows = texts(77, [2, 10, 20, 21, 77])
    return torch.where(rows >= 598, rows - 600 + size, rows % (size - 2))  # the vocabulary may be a little smaller


@torch.no_grad()
def features(clip, size):
    if isinstance(clip, ReferenceClip):
        return clip.encode_image(pixels()), clip.encode_text(ids(size))
    return clip.image_features(pixels()), clip.text_features(ids(size))


def off(first, second):
    return max((a - b).abs().max().item() for a, b in zip(first, second, strict=True))


SAVED = [
    {},
    {"rank": 4, "alpha": 3, "params": ("q", "v", "o"), "encoder": "text"},
    {"rank": 3, "alpha": 0.5, "params": ("k",), "encoder": "vision", "position": "half-up"},
    {"params": ("q", "k", "v", "o"), "position": "half-up"},
]


@pytest.mark.parametrize("options", SAVED)
def test_the_adapted_model_is_the_reference_with_the_update_in_its_weights(options, model, tmp_path):
    folder, size = model
    saved = content(**options)
    torch.save(saved, tmp_path / "lora_weights.pt")
    matcher = load_matcher(folder)
    before = features(matcher.encoder, size)
    settings = load_adapter(matcher, tmp_path / "lora_weights.pt", any_base=True)
    wanted = features(with_update(saved, size), size)
    assert off(features(matcher.encoder, size), wanted) < 5e-6
    assert off(before, wanted) > 0.01
    assert settings.scaling == pytest.approx(saved["metadata"]["alpha"] / math.sqrt(saved["metadata"]["r"]))
    assert "lora_weights.pt (rsLoRA on " in matcher.adapter and settings.towers == saved["metadata"]["encoder"]


def test_numbers_of_half_precision_and_trained_parameters_load_in_float32(model, tmp_path):
    folder, size = model
    saved = content()
    for layer in saved["weights"].values():
        for factors in layer.values():
            factors.update({name: torch.nn.Parameter(tensor.half()) for name, tensor in factors.items()})
    torch.save(saved, tmp_path / "a.pt")
    matcher = load_matcher(folder)
    load_adapter(matcher, tmp_path / "a.pt", any_base=True)
    assert off(features(matcher.encoder, size), features(with_update(saved, size), size)) < 5e-6


def test_every_command_that_takes_an_adapter_takes_the_file(model, tmp_path, capsys):
    folder, size = model
    saved = content(position="half-up")
    torch.save(saved, tmp_path / "a.pt")
    words = ["--model", str(folder), "--adapter", str(tmp_path / "a.pt")]
    assert main(["doctor", *words]) == 2
    assert "of an unknown base" in capsys.readouterr().err
    assert main(["doctor", *words, "--any-base"]) == 0
    assert "a.pt (rsLoRA on q_proj+k_proj+v_proj of both (blocks half-up), rank 2" in capsys.readouterr().out
    export = ["export", *words, "--any-base", "--format", "hf", "--output", str(tmp_path / "merged")]
    assert main(export) == 0
    merged = features(load_matcher(tmp_path / "merged").encoder, size)
    assert off(merged, features(with_update(saved, size), size)) < 5e-6


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
@pytest.mark.parametrize("options", SAVED)
def test_the_file_becomes_a_folder_that_peft_reads_as_the_reference_has_it(options, model, tmp_path, capsys):
    folder, size = model
    saved = content(**options)
    torch.save(saved, tmp_path / "a.pt")
    out = tmp_path / "peft"
    words = ["export", "--model", str(folder), "--adapter", str(tmp_path / "a.pt"), "--format", "peft"]
    assert main([*words, "--output", str(out)]) == 2
    assert "of an unknown base" in capsys.readouterr().err and not out.exists()
    assert main([*words, "--output", str(out), "--any-base"]) == 0
    assert "a.pt (rsLoRA on " in capsys.readouterr().out
    wanted = features(with_update(saved, size), size)
    clip = PeftModel.from_pretrained(CLIPModel.from_pretrained(folder), out).eval()
    with torch.no_grad():
        image = clip.get_image_features(pixel_values=pixels()).pooler_output
        text = clip.get_text_features(input_ids=ids(size)).pooler_output
    assert off((image, text), wanted) < 5e-6
    matcher = load_matcher(folder)
    load_adapter(matcher, out)  # the base is named now
    assert off(features(matcher.encoder, size), wanted) < 5e-6


def altered(change):
    saved = copy.deepcopy(content())
    change(saved)
    return saved


def _nan(saved):
    saved["weights"]["layer_3"]["k_proj"]["w_lora_A"][0, 0] = math.nan


def _whole(saved):
    saved["weights"]["layer_3"]["k_proj"]["w_lora_A"] = torch.ones(2, 192, dtype=torch.long)


def _shape(saved):
    saved["weights"]["layer_0"]["q_proj"]["w_lora_A"] = torch.ones(2, 192)


REFUSED = {
    "a list": (lambda s: s.update(weights=[1]), "list as weights"),
    "no facts": (lambda s: s.pop("metadata"), "no metadata in the file"),
    "something beside": (lambda s: s.update(more=1), "unknown 'more' in the file"),
    "a block less": (lambda s: s["weights"].pop("layer_4"), "no layer_4 in weights"),
    "a block more": (lambda s: s["weights"].update(layer_5=s["weights"]["layer_4"]), "unknown 'layer_5' in weights"),
    "a matrix less": (lambda s: s["weights"]["layer_1"].pop("v_proj"), "no v_proj in layer_1"),
    "a matrix more": (lambda s: s["weights"]["layer_1"].update(proj={}), "unknown 'proj' in layer_1"),
    "half a matrix": (lambda s: s["weights"]["layer_2"]["q_proj"].pop("w_lora_B"), "no w_lora_B in layer_2.q_proj"),
    "NaN": (_nan, "NaN or infinite numbers in layer_3.k_proj.w_lora_A"),
    "whole numbers": (_whole, "torch.int64 of shape"),
    "a width of the other tower": (_shape, r"q_proj.lora_A of shape \(2, 192\)"),
    "another rank": (lambda s: s["metadata"].update(r=3), r"lora_A of shape \(2, 128\)"),
    "no rank": (lambda s: s["metadata"].pop("r"), "no r in metadata"),
    "a rank that is no number": (lambda s: s["metadata"].update(r=True), "r = True in its metadata"),
    "an alpha in words": (lambda s: s["metadata"].update(alpha="1"), "alpha = '1'"),
    "an alpha without end": (lambda s: s["metadata"].update(alpha=math.inf), "alpha inf"),
    "another encoder": (lambda s: s["metadata"].update(encoder=["text"]), r"encoder = \['text'\]"),
    "matrices of no name": (lambda s: s["metadata"].update(params=["q", "x"]), r"params = \['q', 'x'\]"),
    "another place": (lambda s: s["metadata"].update(position="top"), "position = 'top'"),
    "one tower of two": (lambda s: s["metadata"].update(encoder="text"), "unknown 'layer_2' in weights"),
    "settings of the script": (lambda s: s["metadata"].update(r=argparse.Namespace(r=2)), "r = "),
}


@pytest.mark.parametrize("name", REFUSED)
def test_any_other_content_is_refused_and_the_model_stays_as_it_was(name, model, tmp_path):
    change, message = REFUSED[name]
    torch.save(altered(change), tmp_path / "a.pt")
    matcher = load_matcher(model[0])
    base = matcher.base
    with pytest.raises(UserError, match=message):
        load_adapter(matcher, tmp_path / "a.pt", any_base=True)
    assert adapted_layers(matcher.encoder) == {} and matcher.base == base and matcher.adapter is None


class Runs:
    """Would make a file of this name if it were unpickled without care."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return (open, (str(self.place), "w"))


def test_a_file_that_would_run_code_is_refused_and_runs_none(model, tmp_path):
    saved = content()
    saved["metadata"]["r"] = Runs(tmp_path / "ran")
    torch.save(saved, tmp_path / "a.pt")
    with pytest.raises(UserError, match="nothing of it was run"):
        load_adapter(load_matcher(model[0]), tmp_path / "a.pt", any_base=True)
    assert not (tmp_path / "ran").exists()


def test_files_of_another_kind_are_refused(model, tmp_path):
    matcher = load_matcher(model[0])
    whole = tmp_path / "a.pt"
    torch.save(content(), whole)
    (tmp_path / "cut.pt").write_bytes(whole.read_bytes()[:500])
    (tmp_path / "words.pt").write_text("q, k, v")
    (tmp_path / "empty.pt").touch()
    save_file({"a": torch.ones(1)}, tmp_path / "b.safetensors")
    for name, message in (
        ("cut.pt", "cut"), ("words.pt", "no file of weights"), ("empty.pt", "empty"), ("b.safetensors", "no weights"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            load_adapter(matcher, tmp_path / name, any_base=True)
    with pytest.raises(UserError, match="without adapter_config"):
        load_adapter(matcher, tmp_path / "none.pt", any_base=True)
