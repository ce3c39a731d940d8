import json
import shutil

import pytest
import torch

from litotes.backbones.preprocess import Preprocess
from litotes.data.images import ImageFiles, Subset
from litotes.errors import UserError
from litotes.models.features import image_features, is_frozen, text_features
from litotes.models.lora import adapted_layers, add_lora
from litotes.models.lora_settings import LoraSettings
from litotes.models.matcher import load_matcher
from tiny import CONTEXT, DIMENSION, noise_pictures, tiny_matcher, tiny_model

TEXTS = ["a red cat and a tree", "no cat", "a tree and no cat", "an umbrella"]


@pytest.fixture
def matcher(tmp_path):
    return tiny_matcher(tmp_path / "model", TEXTS)


def test_rows_come_in_the_order_asked_for(matcher):
    pictures = noise_pictures(5)
    images = matcher.encode_images(pictures, batch_size=2)
    assert images.shape == (5, DIMENSION)
    for i in range(5):
        assert torch.allclose(images[i], matcher.encode_images(pictures, [i])[0], atol=1e-5)
    assert torch.allclose(matcher.encode_images(pictures, [4, 0, 4]), images[[4, 0, 4]], atol=1e-5)
    texts = matcher.encode_texts(TEXTS, batch_size=2)
    for i, text in enumerate(TEXTS):
        assert torch.allclose(texts[i], matcher.encode_texts([text])[0], atol=1e-5)
    assert torch.allclose(matcher.encode_texts(TEXTS[::-1]), texts.flip(0), atol=1e-5)


def test_processes_that_decode_change_no_bit_and_tell_the_same_mistake(matcher, tmp_path, monkeypatch):
    drawn = noise_pictures(11, size=40)
    for i, picture in enumerate(drawn):
        picture.save(tmp_path / f"{i}.png")
    (tmp_path / "broken.png").write_bytes((tmp_path / "0.png").read_bytes()[:200])
    files = ImageFiles([*(f"{i}.png" for i in range(11)), "broken.png"], tmp_path)
    monkeypatch.setattr("litotes.models.matcher.PREPARED_AT_ONCE", 3)
    rows = [*range(10, -1, -1), 4]
    alone = matcher.encode_images(files, rows, batch_size=4)
    assert torch.equal(alone, matcher.encode_images(drawn, rows, batch_size=4))
    told = []
    for workers in (0, 2):
        matcher.workers = workers
        assert torch.equal(matcher.encode_images(Subset(files, rows), batch_size=4), alone)
        with pytest.raises(UserError, match=r"broken\.png cannot be read as a picture") as error:
            matcher.encode_images(files)
        told.append(str(error.value))
    assert told[0] == told[1]


def test_equal_texts_are_encoded_once(matcher):
    encoded = []
    original = matcher.encoder.text_features

    def counting(ids):
        encoded.append(len(ids))
        return original(ids)

    matcher.encoder.text_features = counting
    rows = matcher.encode_texts([TEXTS[0], TEXTS[1], TEXTS[0], TEXTS[0]])
    assert encoded == [2]
    assert torch.equal(rows[0], rows[2])
    assert torch.equal(rows[0], rows[3])
    assert not torch.allclose(rows[0], rows[1])


def test_nothing_gives_no_rows(matcher):
    assert matcher.encode_texts([]).shape == (0, DIMENSION)
    assert matcher.encode_images(noise_pictures(2), []).shape == (0, DIMENSION)


@pytest.mark.parametrize("training", [True, False])
def test_dropout_is_off_while_encoding_and_the_mode_is_as_before(matcher, training):
    add_lora(matcher.encoder, LoraSettings(dropout=0.5))
    for layer in adapted_layers(matcher.encoder).values():
        torch.nn.init.ones_(layer.lora_B["default"].weight)
    matcher.encoder.train(training)
    assert torch.equal(matcher.encode_texts(TEXTS), matcher.encode_texts(TEXTS))
    assert torch.equal(matcher.encode_images(noise_pictures(2)), matcher.encode_images(noise_pictures(2)))
    assert {module.training for module in matcher.encoder.modules()} == {training}


def test_the_mode_is_restored_when_encoding_fails(matcher):
    matcher.encoder.train()
    with pytest.raises(UserError, match="half a character"):
        matcher.encode_texts(["\ud800"])
    assert matcher.encoder.training


def test_a_loaded_model_stays_in_eval_mode(matcher, tmp_path):
    matcher.save(tmp_path / "saved")
    loaded = load_matcher(tmp_path / "saved")
    loaded.encode_texts(TEXTS)
    assert not any(module.training for module in loaded.encoder.modules())


def test_a_saved_matcher_gives_the_same_embeddings(matcher, tmp_path):
    matcher.save(tmp_path / "saved")
    loaded = load_matcher(tmp_path / "saved")
    assert torch.equal(loaded.encode_texts(TEXTS), matcher.encode_texts(TEXTS))
    assert torch.equal(loaded.encode_images(noise_pictures(3)), matcher.encode_images(noise_pictures(3)))
    assert loaded.fingerprint == matcher.fingerprint
    assert loaded.scale == matcher.scale


def test_a_model_with_an_adapter_is_not_saved_as_a_plain_one(matcher, tmp_path):
    add_lora(matcher.encoder, LoraSettings())
    with pytest.raises(UserError, match="mounted adapter"):
        matcher.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_the_fingerprint_follows_weights_adapter_vocabulary_and_transform(matcher, tmp_path):
    seen = [matcher.fingerprint]
    with torch.no_grad():
        matcher.encoder.clip.visual_projection.weight[0, 0] += 1
    seen.append(matcher.fingerprint)
    add_lora(matcher.encoder, LoraSettings())
    seen.append(matcher.fingerprint)
    with torch.no_grad():
        next(iter(adapted_layers(matcher.encoder).values())).lora_B["default"].weight[0, 0] += 1
    seen.append(matcher.fingerprint)
    matcher.tokenizer = tiny_matcher(tmp_path / "other", ["other words than these"]).tokenizer
    seen.append(matcher.fingerprint)
    matcher.preprocess = Preprocess(size=32, mean=(0.5, 0.5, 0.5))
    seen.append(matcher.fingerprint)
    matcher.encoder.clip.config.text_config.hidden_act = "gelu"
    seen.append(matcher.fingerprint)
    assert len(set(seen)) == len(seen)


def test_equal_adapter_weights_with_another_factor_are_another_model(matcher, tmp_path):
    def of(alpha):
        other = load_matcher(tmp_path / "saved")
        add_lora(other.encoder, LoraSettings(alpha=alpha))
        return other.fingerprint

    matcher.save(tmp_path / "saved")
    assert of(8.0) == of(8.0) != of(16.0)


def test_a_cache_does_not_mix_models_of_another_activation(matcher, tmp_path):
    matcher.save(tmp_path / "saved")
    config = json.loads((tmp_path / "saved" / "config.json").read_text())
    for tower in ("text_config", "vision_config"):
        config[tower]["hidden_act"] = "gelu"
    (tmp_path / "saved" / "config.json").write_text(json.dumps(config))
    other, pictures = load_matcher(tmp_path / "saved"), noise_pictures(2)
    assert other.base == matcher.base
    kept = image_features(matcher, pictures, tmp_path / "cache")
    found = image_features(other, pictures, tmp_path / "cache")
    assert torch.equal(found, other.encode_images(pictures))
    assert not torch.allclose(found, kept, atol=1e-4)


def test_provenance_names_everything_that_decides_a_number(matcher):
    matcher.encode_texts([" ".join(TEXTS * 3)])
    found = json.loads(json.dumps(matcher.provenance()))
    assert found["model"] == "tiny"
    assert found["adapter"] is None
    assert found["fingerprint"] == matcher.fingerprint
    assert found["base_sha256"] == matcher.base
    assert found["activation"] == "quick_gelu"
    assert found["context_length"] == CONTEXT
    assert found["captions_truncated"] == 1
    assert found["preprocessing"]["crop_size"] == {"height": 32, "width": 32}


def test_parts_of_another_model_are_refused(tmp_path):
    folder = tiny_model(tmp_path / "model", TEXTS)
    Preprocess(size=64).save(folder)
    with pytest.raises(UserError, match="pictures of 64 pixels"):
        load_matcher(folder)
    Preprocess(size=32).save(folder)
    other = tiny_model(tmp_path / "other", [f"{text} with many more words to learn" for text in TEXTS])
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(other / name, folder / name)
    with pytest.raises(UserError, match="end token"):
        load_matcher(folder)


def test_which_tower_is_frozen_is_seen(matcher):
    assert not is_frozen(matcher, "text")
    assert not is_frozen(matcher, "vision")
    add_lora(matcher.encoder, LoraSettings(towers="text"))
    assert not is_frozen(matcher, "text")
    assert is_frozen(matcher, "vision")
    matcher.encoder.clip.visual_projection.requires_grad_(True)
    assert not is_frozen(matcher, "vision")


def test_cached_features_are_read_again_and_belong_to_one_model_and_content(matcher, tmp_path):
    cache, pictures = tmp_path / "cache", noise_pictures(3)
    first = image_features(matcher, pictures, cache)
    assert torch.equal(first, matcher.encode_images(pictures))
    matcher.encode_images = None  # a second computation would fail
    assert torch.equal(image_features(matcher, noise_pictures(3, folder="moved/"), cache), first)
    del matcher.encode_images
    assert not torch.equal(image_features(matcher, noise_pictures(3, seed=1), cache), first)
    texts = text_features(matcher, TEXTS, cache)
    assert torch.equal(texts, text_features(matcher, TEXTS, None))
    assert len(list(cache.iterdir())) == 3
    with torch.no_grad():
        matcher.encoder.clip.text_projection.weight.mul_(2)
    assert torch.allclose(text_features(matcher, TEXTS, cache), 2 * texts, rtol=1e-5)
    assert len(list(cache.iterdir())) == 4


def test_a_cut_cache_file_is_computed_again(matcher, tmp_path):
    first = text_features(matcher, TEXTS, tmp_path)
    (file,) = tmp_path.glob("*.safetensors")
    file.write_bytes(file.read_bytes()[:50])
    assert torch.equal(text_features(matcher, TEXTS, tmp_path), first)
