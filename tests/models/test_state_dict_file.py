"""Files in OpenAI's and open_clip's naming against an independent forward pass of the same weights."""

import hashlib
import json
import math

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from litotes.backbones.families import name_weights
from litotes.backbones.layout import ClipSizes, layout
from litotes.backbones.preprocess import CLIP_MEAN, Preprocess
from litotes.backbones.tensor_file import TensorFile
from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.errors import UserError
from litotes.models import state_dict_file
from litotes.models.matcher import Matcher, load_matcher
from litotes.models.state_dict_file import load_state_dict_file
from reference.openai_clip import ReferenceClip, texts
from tiny import noise_pictures

KINDS = {
    "clip": {},
    "custom_text_clip": {},
    "openai": {},
    "longclip": {"context": 248, "long": True},
    "smartclip": {"context": 248, "long": True, "mask": True, "dimension": 128},
}
SAID = {"clip": "quick_gelu", "custom_text_clip": "quick_gelu"}
SHORT = [2, 10, 20, 21, 77]


def state(kind, **options):
    """The reference model of a family, and its state dict under the names of that family."""
    model = ReferenceClip(**{**KINDS[kind], **options})
    weights = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    if kind == "custom_text_clip":
        plain = ("visual.", "logit_scale")
        weights = {name if name.startswith(plain) else f"text.{name}": weights[name] for name in weights}
    if kind == "openai":
        sizes = {"input_resolution": 32, "context_length": 77, "vocab_size": 600}
        weights |= {name: torch.tensor(size) for name, size in sizes.items()}
    return model, weights


def saved(folder, weights, name="model.pt"):
    (save_file if name.endswith("safetensors") else torch.save)(weights, folder / name)
    return folder / name


def pixels():
    return torch.randn(3, 3, 32, 32, generator=torch.Generator().manual_seed(5))


@torch.no_grad()
def differences(model, backbone):
    """Largest differences to the reference over pictures, padded texts and trimmed texts."""
    context = len(model.positional_embedding)
    ids = texts(context, [*SHORT, context])
    wanted = model.encode_text(ids)
    encoder = backbone.encoder
    trimmed = torch.cat([encoder.text_features(row[None, : int(row.argmax()) + 1]) for row in ids])
    with torch.no_grad():  # another way through the last block
        images = encoder.image_features(pixels())
    return [
        (images - model.encode_image(pixels())).abs().max().item(),
        (encoder.image_features(pixels()) - model.encode_image(pixels())).abs().max().item(),
        (encoder.text_features(ids) - wanted).abs().max().item(),
        (trimmed - wanted).abs().max().item(),
    ]


@pytest.mark.parametrize(
    "kind, suffix", [*((kind, "pt") for kind in KINDS), ("longclip", "safetensors"), ("clip", "safetensors")]
)
def test_every_family_gives_the_embeddings_of_the_reference(kind, suffix, tmp_path):
    model, weights = state(kind)
    backbone = load_state_dict_file(saved(tmp_path, weights, f"model.{suffix}"), activation=SAID.get(kind))
    assert max(differences(model, backbone)) < 5e-6
    assert model.encode_text(texts(77, SHORT)).std() > 0.3  # so that the bound means something
    assert backbone.family == kind
    assert not backbone.encoder.training and backbone.encoder.activation == "quick_gelu"
    assert backbone.encoder.context_length == len(model.positional_embedding)
    assert backbone.encoder.scale.item() == pytest.approx(math.exp(4.6))
    assert backbone.preprocess == Preprocess(size=32)


def test_the_first_table_alone_is_right_up_to_20_tokens_and_wrong_beyond(tmp_path):
    """What converters do that know no second table; here to show that the test above would notice."""
    model, weights = state("longclip")
    del weights["positional_embedding_res"]
    wrong = load_state_dict_file(saved(tmp_path, weights), activation="quick_gelu").encoder
    ids = texts(248, SHORT)
    with torch.no_grad():
        off = (wrong.text_features(ids) - model.encode_text(ids)).abs().amax(dim=1)
    assert off[:3].max() < 5e-6
    assert off[3:].min() > 1e-2


def test_the_other_activation_is_near_and_not_the_same(tmp_path):
    model, weights = state("clip", act=nn.GELU)
    path = saved(tmp_path, weights)
    right, wrong = (load_state_dict_file(path, activation=name) for name in ("gelu", "quick_gelu"))
    assert max(differences(model, right)) < 5e-6
    assert 1e-3 < differences(model, wrong)[0] < 1
    assert (right.encoder.activation, right.notes[1]) == ("gelu", "activation gelu: as given")


@pytest.mark.parametrize("kind", ["clip", "custom_text_clip"])
def test_an_activation_that_nobody_says_is_not_guessed(kind, tmp_path):
    path = saved(tmp_path, state(kind)[1])
    with pytest.raises(UserError, match="without a word on its activation") as error:
        load_state_dict_file(path)
    assert str(path) in error.value.got


@pytest.mark.parametrize("kind", ["openai", "longclip", "smartclip"])
def test_an_activation_that_contradicts_the_family_is_refused(kind, tmp_path):
    path = saved(tmp_path, state(kind)[1])
    with pytest.raises(UserError, match="'quick_gelu', that of"):
        load_state_dict_file(path, activation="gelu")
    assert load_state_dict_file(path, activation="quick_gelu").family == kind


def test_what_wraps_a_state_dict_is_undone_and_said(tmp_path):
    model, weights = state("custom_text_clip")
    wrapped = {"epoch": 3, "state_dict": {f"module.{name}": tensor for name, tensor in weights.items()}}
    backbone = load_state_dict_file(saved(tmp_path, wrapped), activation="quick_gelu")
    assert max(differences(model, backbone)) < 5e-6
    assert backbone.notes[2:4] == ("read from state_dict; left out: epoch", "taken off every name: module.")


@pytest.mark.parametrize("dtype, bound", [(torch.float16, 2e-2), (torch.bfloat16, 0.2), (torch.float64, 5e-6)])
def test_other_number_types_become_float32(dtype, bound, tmp_path):
    model, weights = state("clip")
    changed = {name: tensor.to(dtype) for name, tensor in weights.items()}
    backbone = load_state_dict_file(saved(tmp_path, changed), activation="quick_gelu")
    assert {tensor.dtype for tensor in backbone.encoder.state_dict().values()} == {torch.float32}
    assert max(differences(model, backbone)) < bound
    kind = str(dtype).removeprefix("torch.")
    assert f"to float32 from {kind} ({len(weights)} tensors)" in backbone.notes


def test_half_numbers_are_taken_exactly(tmp_path):
    model, weights = state("openai")
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.copy_(tensor.half().float())
    halves = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in weights.items()}
    assert max(differences(model, load_state_dict_file(saved(tmp_path, halves)))) < 5e-6


def test_weights_can_be_rounded_as_the_reference_loaders_do(tmp_path):
    _, weights = state("longclip")
    path = saved(tmp_path, weights)
    exact = load_state_dict_file(path).encoder.clip.state_dict()
    rounded = load_state_dict_file(path, round_like_reference=True)
    kept = 0
    for name, tensor in rounded.encoder.clip.state_dict().items():
        half = any(part in name for part in ("_proj", "mlp", "projection", "patch_embedding"))
        assert torch.equal(tensor, exact[name].half().float() if half else exact[name]), name
        kept += not half
    assert kept == 5 * 4 + 6 + 4 + 1  # norms of the blocks, norms of the towers, embeddings, the scale
    assert rounded.notes[-1].startswith("weights rounded to float16")
    weights["text_projection"][0, 0] = 1e5
    with pytest.raises(UserError, match="text_projection with a number above 65504"):
        load_state_dict_file(saved(tmp_path, weights), round_like_reference=True)
    assert load_state_dict_file(path).encoder.clip.text_projection.weight[0, 0] == 1e5


def test_the_mask_network_is_kept_aside(tmp_path):
    _, weights = state("smartclip")
    backbone = load_state_dict_file(saved(tmp_path, weights))
    wanted = {name: tensor for name, tensor in weights.items() if name.startswith("mask_net.")}
    assert len(wanted) == 14 and backbone.mask_network.keys() == wanted.keys()
    assert all(torch.equal(backbone.mask_network[name], wanted[name]) for name in wanted)
    assert any("CC-BY-NC-4.0" in note for note in backbone.notes)
    assert backbone.sizes.text_layers == 2  # the block of the mask network is none of them
    assert load_state_dict_file(saved(tmp_path, state("longclip")[1])).mask_network == {}


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_a_torchscript_archive_is_read_and_not_run(tmp_path, monkeypatch):
    model, _ = state("clip")
    for name, size in {"input_resolution": 32, "context_length": 77, "vocab_size": 600}.items():
        model.register_buffer(name, torch.tensor(size))
    traced = torch.jit.trace(model, (pixels(), texts(77, SHORT)))
    torch.jit.save(traced, tmp_path / "model.pt")

    def never(*_, **__):
        raise AssertionError("the archive is opened by torch.jit")

    monkeypatch.setattr(torch.jit, "load", never)
    backbone = load_state_dict_file(tmp_path / "model.pt")
    assert backbone.family == "openai"
    assert max(differences(model, backbone)) < 5e-6
    assert "tensors of a TorchScript archive; its code was not run" in backbone.notes


def test_an_archive_without_openais_numbers_may_be_anyones(tmp_path):
    weights = state("clip")[1]
    assert name_weights(TensorFile(tmp_path, weights, scripted=True)).family == "clip"
    named = name_weights(TensorFile(tmp_path, {**weights, "vocab_size": torch.tensor(600)}))
    assert (named.family, named.announced) == ("openai", {"vocab_size": 600})
    assert "vocab_size" not in named.tensors


def put(name, value):
    return lambda weights: weights.__setitem__(name, value)


def spoil(name, value):
    return lambda weights: weights[name].view(-1).__setitem__(0, value)


FIRST = "transformer.resblocks.0"
FAULTS = {
    "missing": (lambda w: w.pop(f"{FIRST}.attn.in_proj_bias"), f"{FIRST}.attn.in_proj_bias is missing"),
    "an anchor is missing": (lambda w: w.pop("ln_final.weight"), "ln_final.weight is missing"),
    "extra": (put("extra.weight", torch.zeros(2)), "extra.weight has no place in the model"),
    "wrong shape": (
        put("visual.proj", torch.zeros(96, 192)),
        r"visual.proj has shape \(96, 192\) instead of \(192, 96\)",
    ),
    "other dimensions": (put("visual.proj", torch.zeros(192, 64)), r"visual.proj has shape \(192, 64\)"),
    "one table stretched": (put("positional_embedding_res", torch.zeros(248, 128)), r"res has shape \(248, 128\)"),
    "wrong axes": (put("text_projection", torch.zeros(3)), r"text_projection has shape \(3,\)"),
    "a scale with an axis": (put("logit_scale", torch.zeros(1)), r"logit_scale has shape \(1,\) instead of \(\)"),
    "a block too many": (put("transformer.resblocks.7.ln_1.bias", torch.zeros(128)), "resblocks.2.attn.*and 10 more"),
    "no square": (put("visual.positional_embedding", torch.zeros(16, 192)), "visual.positional_embedding has 16 rows"),
    "NaN": (spoil("visual.ln_pre.bias", math.nan), "visual.ln_pre.bias holds NaN"),
    "infinity": (spoil("positional_embedding", -math.inf), "positional_embedding holds infinity"),
    "too large": (put("logit_scale", torch.tensor(1e300, dtype=torch.float64)), "logit_scale holds infinity, or a"),
    "eight bits": (put("logit_scale", torch.tensor(1.0).to(torch.float8_e5m2)), "holds strided float8_e5m2"),
    "whole numbers": (put("visual.ln_pre.bias", torch.zeros(192, dtype=torch.int8)), "ln_pre.bias holds strided int8"),
    "sparse": (put("visual.proj", torch.zeros(192, 96).to_sparse()), "visual.proj holds sparse_coo float32"),
    "no numbers": (put("visual.proj", torch.zeros(192, 96, device="meta")), "visual.proj holds no numbers"),
    "another model's size": (put("context_length", torch.tensor(248)), "context_length = 248"),
    "a size that is none": (put("context_length", torch.zeros(2)), "context_length is no whole number"),
    "both forms": (put("text.ln_final.bias", torch.zeros(128)), "both text.ln_final.bias and ln_final.bias"),
    "a ResNet": (put("visual.layer1.0.conv1.weight", torch.zeros(2)), "picture tower is a ResNet"),
    "transformers' names": (put("text_model.final_layer_norm.bias", torch.zeros(2)), "in transformers' naming"),
    "an adapter": (put("base_model.model.x.lora_A.weight", torch.zeros(2)), "a PEFT adapter"),
    "one tower": (
        lambda w: [w.pop(name) for name in list(w) if "visual" in name],
        "with ln_final.bias, ln_final.weight",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_fit_is_refused_by_name(fault, tmp_path):
    _, weights = state("clip")
    change, message = FAULTS[fault]
    change(weights)
    path = saved(tmp_path, weights)
    with pytest.raises(UserError, match=message) as error:
        load_state_dict_file(path, activation="quick_gelu")
    assert str(path) in error.value.got


def test_a_file_with_another_hash_is_not_read(tmp_path):
    path = saved(tmp_path, state("longclip")[1])
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    assert load_state_dict_file(path, sha256=right.upper()).family == "longclip"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(UserError, match=f"expected: sha256 {right}"):
        load_state_dict_file(path, sha256=right)


def test_a_scale_above_the_limit_and_another_vocabulary_are_told(tmp_path):
    _, weights = state("longclip")
    notes = load_state_dict_file(saved(tmp_path, weights)).notes
    assert any("a vocabulary of 600, not CLIP's 49408" in note for note in notes)
    assert not any("scale" in note for note in notes)
    weights["logit_scale"] = torch.tensor(5.0)
    assert any("exp(5.00) = 148" in note for note in load_state_dict_file(saved(tmp_path, weights)).notes)


# open_clip's configuration beside the file


def open_clip(folder, weights, config=None, **options):
    """Weights with an open_clip_config.json that fits ``ReferenceClip``; ``options`` change one of its parts."""
    parts = {
        "vision_cfg": {"image_size": 32, "layers": 3, "width": 192, "patch_size": 8},
        "text_cfg": {"context_length": 77, "vocab_size": 600, "width": 128, "heads": 2, "layers": 2},
    }
    model = {"embed_dim": 96, **{name: {**part, **options.pop(name, {})} for name, part in parts.items()}}
    pictures = options.pop("preprocess_cfg", {})
    content = {"model_cfg": {**model, **options}, "preprocess_cfg": pictures} if config is None else config
    (folder / "open_clip_config.json").write_text(json.dumps(content))
    return saved(folder, weights, "open_clip_model.safetensors")


@pytest.mark.parametrize("quick", [True, False])
def test_open_clips_configuration_says_activation_heads_and_preparation(quick, tmp_path):
    act = {} if quick else {"act": nn.GELU}
    model, weights = state("clip", heads=(4, 8), **act)
    quick_gelu = {"quick_gelu": True} if quick else {}
    mean = {"mean": [0.5, 0.5, 0.5], "interpolation": "bicubic", "resize_mode": "shortest"}
    path = open_clip(
        tmp_path, weights, vision_cfg={"head_width": 48}, text_cfg={"heads": 8}, preprocess_cfg=mean, **quick_gelu
    )
    backbone = load_state_dict_file(path)
    assert max(differences(model, backbone)) < 5e-6
    assert backbone.encoder.activation == ("quick_gelu" if quick else "gelu")
    assert backbone.preprocess.mean == (0.5, 0.5, 0.5) != CLIP_MEAN
    with pytest.raises(UserError, match=r"by open_clip_config.json"):
        load_state_dict_file(path, activation="gelu" if quick else "quick_gelu")


def test_a_configuration_of_the_class_with_eight_text_heads_by_default(tmp_path):
    model, weights = state("custom_text_clip", heads=(3, 8))
    path = open_clip(tmp_path, weights, quick_gelu=True, custom_text=True, text_cfg={"heads": 8})
    content = json.loads((tmp_path / "open_clip_config.json").read_text())
    del content["model_cfg"]["text_cfg"]["heads"]
    path = open_clip(tmp_path, weights, content)
    assert max(differences(model, load_state_dict_file(path))) < 5e-6


@pytest.mark.parametrize(
    "options, message",
    [
        ({"embed_dim": 512}, "embed_dim = 512"),
        ({"vision_cfg": {"image_size": 224}}, "vision_cfg.image_size = 224"),
        ({"text_cfg": {"context_length": 248}}, "text_cfg.context_length = 248"),
        ({"text_cfg": {"no_causal_mask": True}}, "text_cfg with no_causal_mask = True"),
        ({"vision_cfg": {"timm_model_name": "vit"}}, "timm_model_name = 'vit'"),
        ({"preprocess_cfg": {"resize_mode": "squash"}}, "resize_mode = 'squash'"),
        ({"preprocess_cfg": {"mean": [0.5]}}, "cannot be read: ValueError"),
        ({"config": {"architecture": "x"}}, "cannot be read: KeyError"),
        ({"config": []}, "cannot be read: TypeError"),
        ({"vision_cfg": {"head_width": 0}}, "cannot be read: ZeroDivisionError"),
        ({"vision_cfg": {"head_width": 50}}, "3.84 attention heads over a width of 192"),
        ({"text_cfg": {"heads": 3}}, "3 attention heads over a width of 128"),
        ({"text_cfg": {"heads": 0}}, "0 attention heads"),
    ],
)
def test_a_configuration_that_does_not_belong_or_is_not_known_is_refused(options, message, tmp_path):
    path = open_clip(tmp_path, state("clip")[1], quick_gelu=True, **options) if "config" not in options else None
    path = path or open_clip(tmp_path, state("clip")[1], **options)
    with pytest.raises(UserError, match=message):
        load_state_dict_file(path)


def test_a_configuration_is_not_asked_about_a_family_that_needs_none(tmp_path):
    path = open_clip(tmp_path, state("longclip")[1])
    assert load_state_dict_file(path).encoder.activation == "quick_gelu"


def test_heads_that_nobody_says_are_not_guessed(tmp_path, monkeypatch):
    path = saved(tmp_path, state("clip", width=96)[1])
    with pytest.raises(UserError, match=r"texts.*no word on its heads"):
        load_state_dict_file(path, activation="gelu")
    path = saved(tmp_path, state("clip")[1])
    assert state_dict_file.WIDEST == 1024
    monkeypatch.setattr(state_dict_file, "WIDEST", 128)  # in place of a model of that size
    with pytest.raises(UserError, match=r"widths 192 \(pictures\) and 128 \(texts\) and no word on its heads"):
        load_state_dict_file(path, activation="gelu")
    assert load_state_dict_file(saved(tmp_path, state("longclip")[1])).family == "longclip"


# what comes of it


def test_with_a_vocabulary_it_becomes_a_folder_that_every_command_takes(tmp_path):
    _, weights = state("longclip")
    size = train_tokenizer(["a cat", "no cat"] * 3, 600, tmp_path / "vocabulary")
    weights["token_embedding.weight"] = weights["token_embedding.weight"][:size].clone()
    backbone = load_state_dict_file(saved(tmp_path, weights))
    tokenizer = TextTokenizer(tmp_path / "vocabulary", backbone.encoder.context_length)
    matcher = Matcher(backbone.encoder, tokenizer, backbone.preprocess, "long")
    matcher.save(tmp_path / "folder")
    again = load_matcher(tmp_path / "folder")
    assert again.fingerprint == matcher.fingerprint
    assert torch.equal(again.encode_texts(["a cat", "no cat"]), matcher.encode_texts(["a cat", "no cat"]))
    assert torch.equal(again.encode_images(noise_pictures(2)), matcher.encode_images(noise_pictures(2)))


def test_the_model_keeps_nothing_of_the_file(tmp_path):
    path = saved(tmp_path, state("longclip")[1])
    encoder = load_state_dict_file(path).encoder
    before = encoder.base_fingerprint()
    path.write_bytes(bytes(path.stat().st_size))
    encoder._hashed = ([], "")
    assert encoder.base_fingerprint() == before
    # q, k and v each own their memory: a saved adapter or model would otherwise hold all three.
    assert all(p.untyped_storage().nbytes() == p.numel() * 4 for p in encoder.parameters())
    assert all(p.requires_grad for p in encoder.parameters())


SIZES = {
    "B/32": (768, 12, 32, 512, 512),
    "B/16": (768, 12, 16, 512, 512),
    "L/14": (1024, 24, 14, 768, 768),
}


@pytest.mark.parametrize(
    "model, family, tensors, parameters",
    [
        ("B/32", "openai", 302, 151_277_313),
        ("B/32", "longclip", 303, 151_491_841),
        ("B/32", "smartclip", 317, 154_644_738),
        ("B/16", "openai", 302, 149_620_737),
        ("B/16", "longclip", 303, 149_835_265),
        ("B/16", "smartclip", 317, 152_988_162),
        ("L/14", "openai", 446, 427_616_513),
        ("L/14", "longclip", 447, 427_938_305),
        ("L/14", "smartclip", 461, 435_026_946),
    ],
)
def test_published_models_have_their_number_of_tensors_and_weights(model, family, tensors, parameters):
    width, layers, patch, text, dimensions = SIZES[model]
    context = 77 if family == "openai" else 248
    sizes = ClipSizes(width, layers, 4 * width, 224, patch, text, 12, 4 * text, context, 49408, dimensions)
    shapes = layout(sizes, family)
    assert len(shapes) == tensors
    assert sum(math.prod(shape) for shape in shapes.values()) == parameters
