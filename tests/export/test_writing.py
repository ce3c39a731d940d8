"""Exported models against the independent forward under OpenAI's names, and read again by every reader."""

import json

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from litotes.backbones.preprocess import Preprocess, pcmepp
from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.cli import main
from litotes.errors import UserError
from litotes.export import onnx, writing
from litotes.export.formats import KINDS, Kind
from litotes.export.writing import export
from litotes.models.clip import load_clip
from litotes.models.loading import load_backbone
from litotes.models.lora import adapted_layers, add_lora, load_adapter, save_adapter
from litotes.models.lora_settings import LoraSettings
from litotes.models.matcher import Matcher, load_matcher
from litotes.models.state_dict_file import load_state_dict_file
from reference.openai_clip import ReferenceClip

LONG = {"context": 248, "long": True}
KINDS_OF_CLIP = {"clip": {}, "longclip": LONG, "smartclip": {**LONG, "mask": True, "dimension": 128}}
DEVIATIONS = ("exif",)
LENGTHS = [2, 10, 20, 21, 77, 248]
FORMS = {"hf": "hf", "openai": "model.safetensors", "open_clip": "open_clip"}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    return folder, train_tokenizer(["a cat", "no cat"] * 3, 600, folder)


@pytest.fixture(scope="module")
def models(vocabulary, tmp_path_factory):
    """By family: a model folder, and an adapter for it that changes both towers and the scale."""
    made = {}
    for kind, options in KINDS_OF_CLIP.items():
        folder = tmp_path_factory.mktemp(kind)
        made[kind] = write_model(folder, vocabulary, **options)
    return made


def write_model(folder, vocabulary, *, preprocess=None, **options):
    place, size = vocabulary
    model = ReferenceClip(**{"hidden": 768, "ids": size, **options})
    torch.save(model.state_dict(), folder / "model.pt")
    said = None if options.get("long") else "gelu" if options.get("act") is nn.GELU else "quick_gelu"
    backbone = load_state_dict_file(folder / "model.pt", activation=said)
    encoder = backbone.encoder
    tokenizer = TextTokenizer(place, encoder.context_length)
    matcher = Matcher(encoder, tokenizer, preprocess or backbone.preprocess, "model")
    matcher.save(folder / "model")
    if backbone.mask_network:
        save_file(backbone.mask_network, folder / "model" / "mask_network.safetensors")
    settings = LoraSettings(rank=2, alpha=2.0, dropout=0.0)
    add_lora(encoder, settings)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for layer in adapted_layers(encoder).values():
            weight = layer.lora_B["default"].weight
            weight.copy_(torch.randn(weight.shape, generator=generator) / 8)
        encoder.clip.logit_scale.fill_(3.0)
    save_adapter(matcher, settings, folder / "adapter")
    return folder / "model", folder / "adapter"


def texts(vocabulary, lengths):
    """Ids [n, longest]: start, random ids, end (the last id), zeros."""
    _, size = vocabulary
    generator = torch.Generator().manual_seed(3)
    ids = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = torch.randint(1, size - 2, (length,), generator=generator)
        row[0], row[length - 1] = size - 2, size - 1
    return ids


def pixels():
    return torch.randn(3, 3, 32, 32, generator=torch.Generator().manual_seed(5))


def off(first, second):
    return (first - second).abs().max().item()


@torch.no_grad()
def features(encoder, ids):
    return encoder.image_features(pixels()), encoder.text_features(ids)


@pytest.mark.parametrize("kind", KINDS_OF_CLIP)
@torch.no_grad()
def test_the_adapted_model_is_that_of_the_reference_forward_under_openais_names(kind, models, vocabulary, tmp_path):
    model, adapter = models[kind]
    done = export(model, tmp_path / "out.safetensors", "openai", adapters=[adapter])
    assert max(done.image_difference, done.text_difference) <= 1e-5
    tensors = load_file(tmp_path / "out.safetensors")
    reference = ReferenceClip(**{"hidden": 768, "ids": vocabulary[1], "seed": 9, **KINDS_OF_CLIP[kind]})
    reference.load_state_dict(tensors, strict=True)  # names and shapes are the family's, all of them
    mounted = load_matcher(model)
    load_adapter(mounted, adapter)
    ids = texts(vocabulary, [n for n in LENGTHS if n <= mounted.encoder.context_length])
    image, text = features(mounted.encoder, ids)
    assert off(reference.encode_image(pixels()), image) < 5e-6
    assert off(reference.encode_text(ids), text) < 5e-6
    assert reference.logit_scale == 3
    base = features(load_clip(model), ids)
    assert min(off(base[0], image), off(base[1], text)) > 0.1  # so that the bounds mean something


def test_two_position_tables_and_the_mask_network_go_along(models, tmp_path):
    model, adapter = models["smartclip"]
    done = export(model, tmp_path / "out.safetensors", "openai", adapters=[adapter])
    tensors, mask = load_file(tmp_path / "out.safetensors"), load_file(model / "mask_network.safetensors")
    assert len(mask) == 14 and all(torch.equal(tensors[name], mask[name]) for name in mask)
    assert torch.equal(tensors["positional_embedding"], tensors["positional_embedding_res"])
    assert len(tensors["positional_embedding"]) == 248
    assert "as it was for the base" in done.notes[1] and "CC-BY-NC-4.0" in done.notes[2]
    export(model, tmp_path / "hf", "hf")
    assert (tmp_path / "hf/mask_network.safetensors").read_bytes() == (model / "mask_network.safetensors").read_bytes()
    left_out = export(model, tmp_path / "open_clip", "open_clip").notes
    assert "left out" in left_out[0]
    assert not [name for name in load_file(tmp_path / "open_clip/open_clip_model.safetensors") if "mask_net" in name]


def test_a_mask_network_of_another_size_is_refused(models, vocabulary, tmp_path):
    model, _ = write_model(tmp_path, vocabulary, **KINDS_OF_CLIP["longclip"])
    mask = load_file(models["smartclip"][0] / "mask_network.safetensors")
    del mask["mask_net.attn_pool.attention.bias"]
    save_file(mask, model / "mask_network.safetensors")
    with pytest.raises(UserError, match=r"attn_pool\.attention\.bias is missing"):
        export(model, tmp_path / "out.safetensors", "openai")
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize("kind", ["clip", "longclip"])
@torch.no_grad()
def test_open_clips_folder_has_one_table_and_says_what_no_tensor_can(kind, models, vocabulary, tmp_path):
    model, adapter = models[kind]
    export(model, tmp_path / "out", "open_clip", adapters=[adapter])
    tensors = load_file(tmp_path / "out/open_clip_model.safetensors")
    context = len(tensors["positional_embedding"])
    reference = ReferenceClip(hidden=768, ids=vocabulary[1], seed=9, context=context)
    reference.load_state_dict(tensors, strict=True)
    ids = texts(vocabulary, [n for n in LENGTHS if n <= context])
    mounted = load_matcher(model)
    load_adapter(mounted, adapter)
    assert off(reference.encode_text(ids), features(mounted.encoder, ids)[1]) < 5e-6
    config = json.loads((tmp_path / "out/open_clip_config.json").read_text())["model_cfg"]
    assert (config["quick_gelu"], config["text_cfg"]["context_length"]) == (True, context)
    assert (config["vision_cfg"]["head_width"], config["text_cfg"]["heads"]) == (64, 2)


def test_transformers_folder_is_the_merged_model_with_all_that_belongs_to_it(models, tmp_path):
    model, adapter = models["longclip"]
    export(model, tmp_path / "out", "hf", adapters=[adapter])
    again, base = load_matcher(tmp_path / "out"), load_matcher(model)
    assert again.base != base.base and again.encoder.context_length == 248
    assert again.tokenizer.fingerprint == base.tokenizer.fingerprint and again.preprocess == base.preprocess
    record = json.loads((tmp_path / "out/litotes_export.json").read_text())
    assert record["weights_sha256"] == again.base and "merged at 1" in record["adapter"]
    with pytest.raises(UserError, match="base model"):  # an adapter on top of itself
        load_adapter(again, adapter)


@pytest.mark.parametrize("form", FORMS)
def test_without_an_adapter_and_with_none_of_it_the_weights_are_those_of_the_base(form, models, tmp_path):
    model, adapter = models["clip"]
    for name, options in (("a", {}), ("b", {"adapters": [adapter], "alpha": 0.0})):
        (tmp_path / name).mkdir()
        export(model, tmp_path / name / FORMS[form], form, **options)
        again = KINDS[form].read(tmp_path / name / FORMS[form], None)
        assert again.base_fingerprint() == load_clip(model).base_fingerprint()
        assert torch.equal(again.clip.logit_scale, load_clip(model).clip.logit_scale)


def test_half_of_the_way_is_half_of_every_weight(models, tmp_path):
    model, adapter = models["clip"]
    for alpha in (0.5, 1.0):
        export(model, tmp_path / f"{alpha}", "hf", adapters=[adapter], alpha=alpha)
    base, half, whole = (load_clip(f).clip.state_dict() for f in (model, tmp_path / "0.5", tmp_path / "1.0"))
    assert half["logit_scale"] == pytest.approx((4.6 + 3.0) / 2) and whole["logit_scale"] == 3
    name = "vision_model.encoder.layers.2.self_attn.v_proj.weight"
    assert off(whole[name], base[name]) > 0.01
    assert all(off(half[key], (base[key].double() + whole[key]) / 2) < 1e-6 for key in base)


def test_adapters_of_one_base_are_summed_and_the_scale_with_them(models, tmp_path):
    model, adapter = models["clip"]
    matcher = load_matcher(model)
    settings = LoraSettings(towers="text", targets=("q_proj", "fc1"), rank=3, alpha=1.0, rslora=False, dropout=0.0)
    add_lora(matcher.encoder, settings)
    with torch.no_grad():
        for layer in adapted_layers(matcher.encoder).values():
            layer.lora_B["default"].weight.fill_(0.05)
        matcher.encoder.clip.logit_scale.fill_(4.0)
    save_adapter(matcher, settings, tmp_path / "1")
    words = ["export", "--model", str(model), "--format", "hf", "--alpha", "0.5"]
    both, one, other = tmp_path / "both", tmp_path / "one", tmp_path / "other"
    for output, adapters in ((one, [adapter]), (other, [tmp_path / "1"]), (both, [adapter, tmp_path / "1"])):
        given = [word for adapter in adapters for word in ("--adapter", str(adapter))]
        assert main([*words, *given, "--output", str(output)]) == 0
    base, first, second, sums = (load_clip(f).clip.state_dict() for f in (model, one, other, both))
    assert all(off(sums[k], first[k].double() + second[k] - base[k]) < 1e-6 for k in base)
    names = [f"text_model.encoder.layers.1.{name}.weight" for name in ("self_attn.q_proj", "mlp.fc1")]
    assert all(off(sums[name], first[name]) > 1e-3 for name in names) and off(sums[names[0]], second[names[0]]) > 1e-3
    assert sums["logit_scale"].item() == pytest.approx(4.6 + 0.5 * ((3.0 - 4.6) + (4.0 - 4.6)))
    with pytest.raises(UserError, match="twice"):
        export(model, tmp_path / "out", "hf", adapters=[adapter, f"{adapter}/../adapter"])


def test_a_second_adapter_that_is_of_another_base_is_refused(models, tmp_path):
    with pytest.raises(UserError, match="base model"):
        export(models["clip"][0], tmp_path / "out", "hf", adapters=[models["clip"][1], models["longclip"][1]])
    assert list(tmp_path.iterdir()) == []


def test_pictures_that_are_read_otherwise_leave_as_a_folder_alone(vocabulary, tmp_path):
    model, _ = write_model(tmp_path, vocabulary, preprocess=Preprocess(size=32, deviations=DEVIATIONS))
    for form in ("openai", "open_clip"):
        with pytest.raises(UserError, match="pictures read otherwise"):
            export(model, tmp_path / "out.safetensors", form)
    export(model, tmp_path / "hf", "hf")
    assert load_matcher(tmp_path / "hf").preprocess.deviations == DEVIATIONS


def test_squashed_pictures_leave_as_a_folder_alone(vocabulary, tmp_path):
    model, _ = write_model(tmp_path, vocabulary, preprocess=pcmepp(32))
    for form in ("openai", "open_clip"):
        with pytest.raises(UserError, match="pictures read in the mode 'squash'"):
            export(model, tmp_path / "out.safetensors", form)
    export(model, tmp_path / "hf", "hf")
    assert load_matcher(tmp_path / "hf").preprocess == pcmepp(32)


def test_a_header_of_a_file_says_where_its_weights_come_from(models, tmp_path):
    model, adapter = models["clip"]
    export(model, tmp_path / "out.safetensors", "openai", adapters=[adapter], alpha=0.5)
    with safe_open(tmp_path / "out.safetensors", "pt") as file:
        said = file.metadata()
    assert said["model"] == "model" and "merged at 0.5" in said["adapter"]
    back = load_state_dict_file(tmp_path / "out.safetensors")  # no word on the activation
    assert back.encoder.activation == "quick_gelu"
    assert "activation quick_gelu: as the header of the file says" in back.notes
    with pytest.raises(UserError, match="'quick_gelu', as the header of the file says"):
        load_state_dict_file(tmp_path / "out.safetensors", activation="gelu")


def test_a_folder_of_open_clip_taken_for_a_model_is_told_how_to_be_read(models, tmp_path):
    model, adapter = models["clip"]
    export(model, tmp_path / "out", "open_clip")
    with pytest.raises(UserError, match=r"without config\.json and model\.safetensors") as error:
        load_backbone(tmp_path / "out")
    assert f"{tmp_path / 'out' / 'open_clip_model.safetensors'} --vocabulary" in error.value.do
    assert load_backbone(tmp_path / "out" / "open_clip_model.safetensors", vocabulary=model).encoder
    with pytest.raises(UserError, match=r"without config\.json") as error:
        load_backbone(adapter)
    assert f"--adapter {adapter}" in error.value.do


@pytest.mark.parametrize(
    "options, message",
    [
        ({"act": nn.GELU}, r"activation gelu \(quick_gelu\)"),
        ({"hidden": 320}, r"320 and 512 hidden units \(768 and 512\)"),
        ({"preprocess": Preprocess(size=32, mean=(0.5, 0.5, 0.5))}, "another mean"),
    ],
)
def test_what_openais_code_fixes_is_refused_and_open_clip_takes_it(options, message, vocabulary, tmp_path):
    model, _ = write_model(tmp_path, vocabulary, **options)
    with pytest.raises(UserError, match=message):
        export(model, tmp_path / "out.safetensors", "openai")
    assert not list(tmp_path.glob("*out*"))
    done = export(model, tmp_path / "out", "open_clip")
    assert max(done.image_difference, done.text_difference) <= 1e-5


@pytest.mark.parametrize(
    "part, values, message",
    [
        ("vision_config", {"num_attention_heads": 6}, r"6 and 2 attention heads \(3 and 2\)"),
        ("text_config", {"layer_norm_eps": 1e-6}, r"layer_norm_eps 1e-05 \(pictures\) and 1e-06 \(texts\)"),
        ("text_config", {"hidden_act": "gelu"}, r"quick_gelu \(vision\), gelu \(text\)"),
    ],
)
def test_a_configuration_that_no_file_of_openais_names_can_say(part, values, message, vocabulary, tmp_path):
    model, _ = write_model(tmp_path, vocabulary)
    config = json.loads((model / "config.json").read_text())
    config[part].update(values)
    (model / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=message):
        export(model, tmp_path / "out.safetensors", "openai")
    export(model, tmp_path / "hf", "hf")


def test_rows_behind_the_end_token_are_refused(vocabulary, tmp_path):
    model, _ = write_model(tmp_path, vocabulary)
    weights = load_file(model / "model.safetensors")
    name = "text_model.embeddings.token_embedding.weight"
    weights[name] = torch.cat([weights[name], torch.zeros(1, 128)])
    save_file(weights, model / "model.safetensors", {"format": "pt"})
    config = json.loads((model / "config.json").read_text())
    config["text_config"]["vocab_size"] += 1
    (model / "config.json").write_text(json.dumps(config))
    for form in ("openai", "open_clip"):
        with pytest.raises(UserError, match="expected: the last row"):
            export(model, tmp_path / "out.safetensors", form)


@pytest.mark.parametrize("form", FORMS)
def test_what_reads_back_as_another_model_is_an_error_and_leaves_nothing(form, models, tmp_path, monkeypatch):
    def other(place, source):
        encoder = KINDS[form].read(place, source)
        with torch.no_grad():
            encoder.clip.text_projection.weight[0, 0] += 0.01
        return encoder

    kind = KINDS[form]
    monkeypatch.setattr(writing, "KINDS", {form: Kind(kind.require, kind.write, other, kind.use)})
    with pytest.raises(UserError, match="when read again"):
        export(models["clip"][0], tmp_path / FORMS[form], form)
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_are_no_numbers_when_read_again_are_an_error(models, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "differences", lambda *_: (float("nan"), 0.0))
    with pytest.raises(UserError, match="when read again"):
        export(models["clip"][0], tmp_path / "out", "hf")


def test_a_name_that_is_taken_is_refused_and_what_is_there_stays(models, tmp_path):
    (tmp_path / "out.safetensors").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    for form, name in (("openai", "out.safetensors"), ("hf", "folder"), ("open_clip", "link")):
        with pytest.raises(UserError, match="there already"):
            export(models["clip"][0], tmp_path / name, form)
    assert (tmp_path / "out.safetensors").read_text() == "mine"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"alpha": 0.5}, "--alpha without --adapter"),
        ({"any_base": True}, "--any-base without --adapter"),
        ({"alpha": 1.5, "adapters": ["x"]}, "--alpha 1.5, which is above its range"),
        ({"alpha": -0.1, "adapters": ["x"]}, "--alpha -0.1, which is below its range"),
        ({"alpha": float("nan"), "adapters": ["x"]}, "--alpha nan, which is no finite number"),
        ({"alpha": float("-inf"), "adapters": ["x"]}, "--alpha -inf, which is no finite number"),
        ({"adapters": ["x"]}, "x without adapter_config.json"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message, models, tmp_path):
    with pytest.raises(UserError, match=message):
        export(models["clip"][0], tmp_path / "out", "hf", **options)
    assert list(tmp_path.iterdir()) == []


def test_the_command_tells_the_difference_and_how_to_use_it(models, tmp_path, capsys):
    model, adapter = map(str, models["longclip"])
    words = ["export", "--model", model, "--adapter", adapter]
    assert main([*words, "--format", "openai", "--output", str(tmp_path / "a/out.safetensors")]) == 0
    shown = capsys.readouterr().out
    assert "pictures differ by 0.0e+00" in shown and 'longclip.load("' in shown and "merged at 1" in shown
    assert main([*words, "--format", "open_clip", "--output", str(tmp_path / "b")]) == 0
    assert f'create_model_and_transforms("local-dir:{tmp_path / "b"}")' in capsys.readouterr().out
    assert main([*words, "--format", "openai", "--output", str(tmp_path / "c.pt")]) == 2
    assert f"--output {tmp_path / 'c.safetensors'}" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_an_adapter_alone_is_the_adapter_that_it_was_and_names_its_base(models, vocabulary, tmp_path, capsys):
    model, adapter = models["smartclip"]
    words = ["export", "--model", str(model), "--adapter", str(adapter), "--format", "peft"]
    assert main([*words, "--output", str(tmp_path / "alone")]) == 0
    shown = capsys.readouterr().out
    assert "pictures differ by 0.0e+00 at most" in shown and "mask network" not in shown
    assert (
        "CC-BY-NC-4.0" in shown
        and f'peft.PeftModel.from_pretrained(transformers.CLIPModel.from_pretrained("{model}")' in shown
    )
    mine, again = load_matcher(model), load_matcher(model)
    load_adapter(mine, adapter)
    load_adapter(again, tmp_path / "alone")
    assert again.adapter_sha256 == mine.adapter_sha256 and again.fingerprint == mine.fingerprint
    assert again.scale == mine.scale == pytest.approx(20.0855, rel=1e-4)
    assert json.loads((tmp_path / "alone" / "litotes_export.json").read_text())["weights_sha256"] == mine.base
    with pytest.raises(UserError, match="for an adapter trained on"):
        load_adapter(load_matcher(models["longclip"][0]), tmp_path / "alone")


@pytest.mark.parametrize(
    "adapters, alpha, message",
    [
        ([], 1.0, "--format peft with no adapter\n"),
        (["x", "y"], 1.0, "--format peft with 2 adapters\n"),
        (["x"], 0.5, "--format peft with --alpha 0.5\n"),
        (["x"], 1.0, "x without adapter_config"),
    ],
)
def test_what_an_adapter_alone_cannot_hold_is_refused(adapters, alpha, message, models, tmp_path):
    with pytest.raises(UserError, match=message):
        export(models["clip"][0], tmp_path / "out", "peft", adapters=adapters, alpha=alpha)
    assert list(tmp_path.iterdir()) == []


def test_an_adapter_that_reads_back_as_another_is_an_error_and_leaves_nothing(models, tmp_path, monkeypatch):
    model, adapter = models["clip"]
    kind = KINDS["peft"]
    monkeypatch.setattr(
        writing, "KINDS", {"peft": Kind(kind.require, kind.write, lambda _, source: load_clip(source.model), kind.use)}
    )
    with pytest.raises(UserError, match="when read again"):
        export(model, tmp_path / "out", "peft", adapters=[adapter])
    assert list(tmp_path.iterdir()) == []


def test_a_file_and_a_place_without_anything_are_no_model(tmp_path):
    (tmp_path / "model.pt").touch()
    with pytest.raises(UserError, match="which is a file") as fault:
        export(tmp_path / "model.pt", tmp_path / "out", "hf")
    assert "litotes convert" in fault.value.do
    with pytest.raises(UserError, match="which is not there"):
        export(tmp_path / "none", tmp_path / "out", "hf")
    assert [file.name for file in tmp_path.iterdir()] == ["model.pt"]


def test_onnx_without_its_packages_says_which_to_install(models, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(onnx, "find_spec", lambda name: None if name == "onnxscript" else name)
    words = ["export", "--model", str(models["clip"][0]), "--format", "onnx", "--output", str(tmp_path / "out")]
    assert main(words) == 2
    shown = capsys.readouterr().err
    assert "--format onnx without the package onnxscript" in shown
    assert "pip install onnxscript (or litotes with its extra: litotes[onnx])" in shown
    assert list(tmp_path.iterdir()) == []


def test_texts_are_compared_padded_and_alone(models):
    matcher = load_matcher(models["clip"][0])

    class Depends(onnx.OnnxTowers):
        """Right for texts of the whole context alone."""

        def __init__(self):
            self.image_features = matcher.encoder.image_features

        def text_features(self, ids):
            return matcher.encoder.text_features(ids) + (ids.shape[1] < 77)

    assert writing.differences(matcher, matcher.encoder)[1] < 1e-5
    assert writing.differences(matcher, Depends())[1] == pytest.approx(1, abs=1e-5)
