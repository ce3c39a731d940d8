"""The tiny CLIP and the adapter are files of random numbers; the logits were computed once with PEFT 0.21."""

import json
import math
import re
import shutil
from dataclasses import replace

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file

from litotes.errors import UserError
from litotes.models.lora import adapted_layers, add_lora, load_adapter, save_adapter
from litotes.models.lora_settings import ALL_LINEAR, ATTENTION, LoraSettings, describe
from litotes.models.merging import merge_adapter, merge_adapters
from tiny import FILES, FileClip, noise_pictures, tiny_matcher

ADAPTER = FILES / "lora_adapter"
EXPECTED = json.loads((ADAPTER / "expected_logits.json").read_text())
GOOD, BASE = (torch.tensor(EXPECTED[f"logits_per_image_{name}"]) for name in ("good", "base"))
TOLERANCE = 0.002
SETTINGS = LoraSettings(targets=("q_proj", "v_proj"), rank=4, alpha=8.0, rslora=False, dropout=0.0)


def variant(folder, *, key=None, keep=lambda name: True, tensor=lambda t: t, **config):
    """The good adapter with changed key names, fewer keys, changed numbers, or changed configuration."""
    shutil.copytree(ADAPTER, folder, dirs_exist_ok=True)
    weights = load_file(ADAPTER / "adapter_model.safetensors")
    changed = {(key or str)(name): tensor(t) for name, t in weights.items() if keep(name)}
    save_file(changed, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    values = json.loads((ADAPTER / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(values | config))
    return folder


def logits_with(folder):
    matcher = FileClip.matcher()
    load_adapter(matcher, str(folder), any_base=True)  # a string, as a reader of the README writes it
    return FileClip.logits(matcher.encoder)


def logits_after_a_merge(matcher, strength=1.0):
    merge_adapter(matcher, strength)
    return FileClip.logits(matcher.encoder)


def make_unlike_the_base(encoder, seed=0):
    """Every lora_B drawn at random, as after training."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for layer in adapted_layers(encoder).values():
            weight = layer.lora_B["default"].weight
            weight.copy_(torch.randn(weight.shape, generator=generator) / 4)


def test_base_and_good_adapter_give_the_listed_logits():
    assert torch.allclose(FileClip.logits(FileClip.encoder()), BASE, atol=TOLERANCE)
    assert torch.allclose(logits_with(ADAPTER), GOOD, atol=TOLERANCE)


def test_both_foreign_key_prefixes_are_understood(tmp_path):
    with_module = variant(tmp_path / "module", key=lambda name: "module." + name)
    without = variant(tmp_path / "none", key=lambda name: name.removeprefix("base_model.model."))
    assert torch.allclose(logits_with(with_module), GOOD, atol=TOLERANCE)
    assert torch.allclose(logits_with(without), GOOD, atol=TOLERANCE)


def test_half_precision_loads_in_float32(tmp_path):
    logits = logits_with(variant(tmp_path, tensor=torch.Tensor.half))
    assert (logits - GOOD).abs().max() < 0.0035


REFUSED = {
    "keys of the text tower only": ({"keep": lambda name: "text_model" in name}, "8 weights missing"),
    "keys of one block only": ({"keep": lambda name: "layers.0" in name}, "8 weights missing"),
    "no lora_B": ({"keep": lambda name: "lora_A" in name}, "8 weights missing"),
    "keys of another library": ({"key": lambda name: name.replace("lora_A", "lora_down")}, "lora_down"),
    "rank 8 in the configuration": ({"r": 8}, "rank 4 beside a config that says 8"),
    "a typo among right targets": ({"target_modules": ["q_proj", "v_porj"]}, "'v_porj', which matches no layer"),
    "targets that nothing matches": ({"target_modules": ["qkv"]}, "'qkv', which matches no layer"),
    "more targets than weights": ({"target_modules": ["q_proj", "k_proj", "v_proj"]}, "8 weights missing"),
    "fewer targets than weights": ({"target_modules": ["q_proj"]}, "8 without a layer"),
    "targets beyond the blocks": ({"target_modules": ["q_proj", "text_projection"]}, "take in text_projection"),
    "NaN": ({"tensor": lambda t: t * float("nan")}, "NaN or infinite"),
    "another kind": ({"peft_type": "IA3"}, "type 'IA3'"),
    "DoRA": ({"use_dora": True}, "use_dora = True"),
    "an alpha of its own for some layers": ({"alpha_pattern": {"q_proj": 2}}, "alpha_pattern"),
    "another width": ({"tensor": lambda t: t.repeat(1, 2) if t.shape[0] == 4 else t}, r"shape \(4, 64\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_adapter_that_would_do_nothing_or_half_is_refused_and_the_model_stays_as_it_was(name, tmp_path):
    changes, message = REFUSED[name]
    matcher = FileClip.matcher()
    with pytest.raises(UserError, match=message):
        load_adapter(matcher, variant(tmp_path, **changes), any_base=True)
    assert adapted_layers(matcher.encoder) == {}
    assert matcher.adapter is None
    assert torch.allclose(FileClip.logits(matcher.encoder), BASE, atol=TOLERANCE)


def test_missing_and_damaged_files_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"without adapter_config\.json and adapter_model\.safetensors"):
        load_adapter(FileClip.matcher(), tmp_path, any_base=True)
    folder = variant(tmp_path / "cut")
    file = folder / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(UserError, match=r"adapter_model\.safetensors, which is cut or broken"):
        load_adapter(FileClip.matcher(), folder, any_base=True)
    for content, told in (
        (b"", "an empty file"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a git-lfs pointer"),
    ):
        file.write_bytes(content)
        with pytest.raises(UserError, match=told):
            load_adapter(FileClip.matcher(), folder, any_base=True)
    torch.save({"x": torch.ones(1)}, file)
    with pytest.raises(UserError, match=r"an archive as torch\.save writes it, with a pickle in it, and no"):
        load_adapter(FileClip.matcher(), folder, any_base=True)
    (folder / "adapter_config.json").write_text("{")
    with pytest.raises(UserError, match=r"adapter_config\.json: "):
        load_adapter(FileClip.matcher(), folder, any_base=True)


def test_a_pattern_in_a_foreign_configuration_is_not_run(tmp_path):
    # This one takes longer than the universe exists where the text does not match.
    endless = r"(([a-z_.0-9]+)+)+\.nothing"
    assert torch.allclose(logits_with(variant(tmp_path, target_modules=endless)), GOOD, atol=TOLERANCE)


def test_another_alpha_changes_the_logits_and_is_seen_in_the_summary(tmp_path):
    folder = variant(tmp_path, lora_alpha=16)
    assert (logits_with(folder) - GOOD).abs().max() > 5
    matcher = FileClip.matcher()
    settings = load_adapter(matcher, folder, any_base=True)
    assert "rank 4, alpha 16, scaling 4.0000" in describe(settings)
    assert describe(settings) in matcher.adapter
    assert "rank 4, alpha 8, scaling 2.0000" in describe(load_adapter(FileClip.matcher(), ADAPTER, any_base=True))


def test_the_scaling_rule_is_rank_stabilised_by_default():
    assert LoraSettings().scaling == pytest.approx(0.7071, abs=1e-4)
    assert "rsLoRA on q_proj+k_proj+v_proj of both, rank 2, alpha 1, scaling 0.7071" in describe(LoraSettings())


# "all-linear" of PEFT also takes the two projections: 26 layers there, ours are the 24 inside the blocks.
COUNTS = [
    (("q_proj", "v_proj"), "both", 8, 2048),
    (("q_proj", "v_proj"), "text", 4, 1024),
    (("q_proj", "k_proj", "v_proj", "out_proj"), "both", 16, 4096),
    (ATTENTION, "vision", 6, 1536),
    (ALL_LINEAR, "both", 24, 4096 + 4 * 2 * 4 * (32 + 64)),
]


@pytest.mark.parametrize(("targets", "towers", "layers", "numbers"), COUNTS)
def test_as_many_layers_and_numbers_are_trained_as_asked_for(targets, towers, layers, numbers):
    encoder = FileClip.encoder()
    assert add_lora(encoder, LoraSettings(towers=towers, targets=targets, rank=4)) == layers
    trained = {name: p for name, p in encoder.named_parameters() if p.requires_grad}
    assert sum(p.numel() for p in trained.values()) == numbers
    assert all(".lora_" in name for name in trained)
    assert all(towers == "both" or f"{towers}_model" in name for name in trained)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"targets": ("q_proj", "v_porj")}, "'v_porj', which matches no layer"),
        ({"targets": ("qkv",)}, "'qkv'"),
        ({"targets": ()}, "no targets"),
        ({"towers": "audio"}, "towers 'audio'"),
        ({"rank": 0}, "rank 0"),
        ({"alpha": 0.0}, "alpha 0"),
        ({"dropout": 1.0}, "dropout 1"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(UserError, match=message):
        LoraSettings(**wrong)


def test_an_adapter_that_is_mounted_is_not_mounted_again():
    encoder = FileClip.encoder()
    add_lora(encoder, SETTINGS)
    with pytest.raises(UserError, match="already carries an adapter"):
        add_lora(encoder, SETTINGS)
    assert len(adapted_layers(encoder)) == 8


def test_before_any_step_the_adapted_model_is_the_base_bit_for_bit():
    encoder = FileClip.encoder()
    before, fingerprint = FileClip.logits(encoder), encoder.base_fingerprint()
    add_lora(encoder, LoraSettings(targets=ALL_LINEAR, rank=4))
    assert torch.equal(FileClip.logits(encoder), before)
    assert encoder.base_fingerprint() == fingerprint


def test_lora_a_is_drawn_from_the_seed():
    drawn = []
    for seed in (1, 1, 2):
        encoder = FileClip.encoder()
        add_lora(encoder, SETTINGS, seed)
        drawn.append(next(iter(adapted_layers(encoder).values())).lora_A["default"].weight)
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


@pytest.mark.parametrize("towers", ["text", "vision", "both"])
def test_one_step_changes_every_lora_b_of_the_towers_asked_for_and_no_base_weight(towers):
    encoder = FileClip.encoder()
    add_lora(encoder, LoraSettings(towers=towers, targets=ALL_LINEAR, dropout=0.0))
    fingerprint = encoder.base_fingerprint()
    optimizer = torch.optim.AdamW([p for p in encoder.parameters() if p.requires_grad], lr=1e-2)
    image, text = encoder.image_features(FileClip.pixels()), encoder.text_features(FileClip.ids())
    (image - text).square().sum().backward()
    optimizer.step()
    layers = adapted_layers(encoder)
    assert {name.split("_model")[0] for name in layers} == ({"text", "vision"} if towers == "both" else {towers})
    assert all(layer.lora_B["default"].weight.abs().max() > 0 for layer in layers.values())
    assert encoder.base_fingerprint() == fingerprint


def test_the_side_file_names_the_family_of_the_base_where_it_is_known(tmp_path):
    for family in ("longclip", None):
        matcher = FileClip.matcher()
        matcher.family = family
        add_lora(matcher.encoder, SETTINGS)
        save_adapter(matcher, SETTINGS, tmp_path / "adapter")
        side = json.loads((tmp_path / "adapter" / "litotes_adapter.json").read_text())
        assert side.get("family") == family and ("family" in side) == bool(family)
        load_adapter(FileClip.matcher(), tmp_path / "adapter")
        told = "trained on, of the family longclip " if family else "trained on "
        with pytest.raises(UserError, match=re.escape(f"{told}(a merged model")):
            load_adapter(tiny_matcher(tmp_path / "other", ["a", "b"]), tmp_path / "adapter")


def test_a_saved_adapter_gives_the_same_logits_and_carries_the_scale(tmp_path):
    matcher = FileClip.matcher()
    add_lora(matcher.encoder, SETTINGS)
    make_unlike_the_base(matcher.encoder)
    with torch.no_grad():
        matcher.encoder.clip.logit_scale.fill_(3.25)
    save_adapter(matcher, SETTINGS, tmp_path / "adapter")
    again = FileClip.matcher()
    assert load_adapter(again, tmp_path / "adapter") == SETTINGS
    assert float(again.encoder.clip.logit_scale) == 3.25
    assert torch.equal(FileClip.logits(again.encoder), FileClip.logits(matcher.encoder))
    assert not torch.allclose(FileClip.logits(again.encoder), FileClip.logits(FileClip.encoder()), atol=0.1)
    assert again.base == matcher.base == FileClip.matcher().base
    assert again.fingerprint == matcher.fingerprint
    assert not any(p.requires_grad for p in again.encoder.parameters())


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_peft_itself_reads_a_saved_adapter(tmp_path):
    matcher = FileClip.matcher()
    settings = LoraSettings(targets=ALL_LINEAR, rank=2, dropout=0.0)
    add_lora(matcher.encoder, settings)
    make_unlike_the_base(matcher.encoder)
    save_adapter(matcher, settings, tmp_path / "adapter")
    encoder = FileClip.encoder()
    PeftModel.from_pretrained(encoder.clip, str(tmp_path / "adapter"))
    assert torch.equal(FileClip.logits(encoder.eval()), FileClip.logits(matcher.encoder))


def test_another_base_and_an_unknown_one_are_refused(tmp_path):
    matcher = FileClip.matcher()
    add_lora(matcher.encoder, SETTINGS)
    save_adapter(matcher, SETTINGS, tmp_path / "adapter")
    other = FileClip.matcher()
    with torch.no_grad():
        other.encoder.clip.text_projection.weight[0, 0] += 1e-3
    with pytest.raises(UserError, match="the base that the adapter was trained on"):
        load_adapter(other, tmp_path / "adapter", any_base=True)
    with pytest.raises(UserError, match="of an unknown base"):
        load_adapter(FileClip.matcher(), ADAPTER)


def test_a_configuration_that_was_changed_after_saving_is_refused(tmp_path):
    matcher = FileClip.matcher()
    add_lora(matcher.encoder, SETTINGS)
    save_adapter(matcher, SETTINGS, tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    (tmp_path / "adapter_config.json").write_text(json.dumps(config | {"lora_alpha": 16}))
    with pytest.raises(UserError, match=r"lora_alpha = 16 in adapter_config\.json, alpha = 8"):
        load_adapter(FileClip.matcher(), tmp_path)


def saved_of_the_file_clip(folder):
    """A saved adapter of the file's CLIP, and its side file."""
    matcher = FileClip.matcher()
    add_lora(matcher.encoder, SETTINGS)
    save_adapter(matcher, SETTINGS, folder)
    return folder, folder / "litotes_adapter.json"


def test_pictures_read_otherwise_than_in_training_are_refused(tmp_path):
    folder, _ = saved_of_the_file_clip(tmp_path / "adapter")
    matcher = FileClip.matcher()
    matcher.preprocess = replace(matcher.preprocess, deviations=("exif",))
    with pytest.raises(UserError, match=r"(?s)\['exif'\].*as the adapter was trained: picture_deviations = None"):
        load_adapter(matcher, folder)
    assert not adapted_layers(matcher.encoder)


@pytest.mark.parametrize("kept", [True, False], ids=["with its pictures", "saved before pictures were recorded"])
@pytest.mark.parametrize(("name", "value"), [("activation", "gelu"), ("vision_heads", 7), ("context_length", 5)])
def test_equal_weights_that_are_used_otherwise_are_refused(name, value, kept, tmp_path):
    folder, side = saved_of_the_file_clip(tmp_path / "adapter")
    values = json.loads(side.read_text())
    values["base"][name] = value
    side.write_text(json.dumps(values if kept else {key: values[key] for key in values if key != "pictures"}))
    with pytest.raises(UserError, match=rf"(?s)got: +{name} = .*trained: {name} = {value!r}"):
        load_adapter(FileClip.matcher(), folder)


def test_an_adapter_saved_before_pictures_were_recorded_still_loads(tmp_path):
    folder, side = saved_of_the_file_clip(tmp_path / "adapter")
    values = json.loads(side.read_text())
    del values["pictures"]
    side.write_text(json.dumps(values))
    matcher = FileClip.matcher()
    matcher.preprocess = replace(matcher.preprocess, deviations=("exif",))
    load_adapter(matcher, folder)
    assert adapted_layers(matcher.encoder)


@pytest.mark.parametrize("change", [{"base": None}, {"pictures": []}, {"base_sha256": 3}])
def test_a_side_file_of_another_form_is_refused(change, tmp_path):
    folder, side = saved_of_the_file_clip(tmp_path / "adapter")
    side.write_text(json.dumps(json.loads(side.read_text()) | change))
    with pytest.raises(UserError, match="missing or of another kind"):
        load_adapter(FileClip.matcher(), folder)


def test_merged_equals_unmerged_and_half_way_lies_between():
    matcher = FileClip.matcher()
    load_adapter(matcher, ADAPTER, any_base=True)
    adapted = FileClip.logits(matcher.encoder)
    assert torch.allclose(logits_after_a_merge(matcher), adapted, atol=1e-4)
    assert adapted_layers(matcher.encoder) == {}
    for strength in (math.nan, math.inf):
        with pytest.raises(UserError, match=f"strength {strength}\n.*a finite number"):
            merge_adapter(FileClip.matcher(), strength)
        with pytest.raises(UserError, match=f"strength {strength}\n.*a finite number"):
            merge_adapters(FileClip.matcher(), [], strength)
    for strength in (0.0, 0.5):
        matcher = FileClip.matcher()
        load_adapter(matcher, ADAPTER, any_base=True)
        logits = logits_after_a_merge(matcher, strength)
        assert torch.equal(logits, FileClip.logits(FileClip.encoder())) == (strength == 0)
        assert not torch.allclose(logits, adapted, atol=0.1)


def test_a_merged_model_saves_as_a_plain_one(tmp_path):
    texts = ["a cat", "a boat but no cat"]
    matcher = tiny_matcher(tmp_path / "model", texts)
    add_lora(matcher.encoder, LoraSettings())
    make_unlike_the_base(matcher.encoder)
    merge_adapter(matcher)
    matcher.save(tmp_path / "merged")
    names = set(load_file(tmp_path / "merged" / "model.safetensors"))
    assert names == set(tiny_matcher(tmp_path / "plain", texts).encoder.clip.state_dict())
    assert matcher.encode_images(noise_pictures(1)).isfinite().all()
    add_lora(matcher.encoder, LoraSettings())  # and takes a new adapter


def test_merging_twice_and_loading_onto_the_merged_model_are_noticed(tmp_path):
    matcher = FileClip.matcher()
    add_lora(matcher.encoder, SETTINGS)
    make_unlike_the_base(matcher.encoder)
    save_adapter(matcher, SETTINGS, tmp_path / "adapter")
    merge_adapter(matcher)
    with pytest.raises(UserError, match="without a mounted adapter"):
        merge_adapter(matcher)
    with pytest.raises(UserError, match="a merged model is another base"):
        load_adapter(matcher, tmp_path / "adapter")


def test_loading_a_foreign_adapter_onto_its_merged_model_shows_in_the_summary():
    matcher = FileClip.matcher()
    load_adapter(matcher, ADAPTER, any_base=True)
    merge_adapter(matcher)
    load_adapter(matcher, ADAPTER, any_base=True)
    assert (FileClip.logits(matcher.encoder) - GOOD).abs().max() > 5
    assert matcher.adapter.count("lora_adapter (") == 2
    assert "merged at 1; " in matcher.adapter


def test_adapters_are_summed_and_a_wrong_one_among_them_leaves_the_model_as_it_was(tmp_path):
    matcher = FileClip.matcher()
    settings = LoraSettings(towers="text", rank=3, alpha=2.0)
    add_lora(matcher.encoder, settings)
    make_unlike_the_base(matcher.encoder)
    save_adapter(matcher, settings, tmp_path / "own")
    apart = {}
    for folder in (ADAPTER, tmp_path / "own"):
        single = FileClip.matcher()
        load_adapter(single, folder, any_base=True)
        apart |= {
            (folder, name): layer.get_delta_weight("default") for name, layer in adapted_layers(single.encoder).items()
        }
    matcher = FileClip.matcher()
    base = {key: tensor.clone() for key, tensor in matcher.encoder.clip.state_dict().items()}
    merge_adapters(matcher, [ADAPTER, tmp_path / "own"], 0.5, any_base=True)
    merged = matcher.encoder.clip.state_dict()
    for key, before in base.items():
        deltas = [delta for (_, layer), delta in apart.items() if f"{layer}.weight" == key]
        assert torch.allclose(merged[key], before + sum(deltas) / 2, atol=1e-6), key
    assert matcher.adapter.count(" + own (") == 1 and matcher.adapter.endswith("merged at 0.5")
    matcher = FileClip.matcher()
    broken = variant(tmp_path / "broken", keep=lambda name: "q_proj" in name)
    with pytest.raises(UserError, match="weights missing"):
        merge_adapters(matcher, [ADAPTER, broken], any_base=True)
    assert matcher.adapter is None and matcher.base == FileClip.matcher().base
    merge_adapters(matcher, [ADAPTER], 0.0, any_base=True)
    assert matcher.base == FileClip.matcher().base


def test_saving_needs_an_adapter(tmp_path):
    with pytest.raises(UserError, match="without a mounted adapter"):
        save_adapter(FileClip.matcher(), SETTINGS, tmp_path / "adapter")
