"""SmartCLIP's masks against an independent forward of the same weights, padded to 248 with id 0."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.functional import pad

from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.errors import UserError
from litotes.models.conversion import convert
from litotes.models.loading import load_backbone
from litotes.models.masking import MaskedMatcher, hard_mask, mask_logits
from reference.openai_clip import ReferenceClip
from tiny import noise_pictures, tiny_matcher

TEXTS = ["a cat", "no cat", "a cat and no cat " * 5, "no cat " * 60, "a"]
LONG = {"context": 248, "long": True}


@pytest.fixture(scope="module")
def smart(tmp_path_factory):
    """A SmartCLIP, its file, its folder, its vocabulary."""
    folder = tmp_path_factory.mktemp("smart")
    ids = train_tokenizer(["a cat", "no cat"] * 3, 600, folder / "words")
    reference = ReferenceClip(ids=ids, mask=True, dimension=128, **LONG)
    torch.save(reference.state_dict(), folder / "smart.pt")
    convert(folder / "smart.pt", folder / "words", folder / "model")
    return reference, folder / "smart.pt", folder / "model", folder / "words"


def padded(matcher, filler=0):
    ids = matcher.tokenizer(TEXTS)
    full = pad(ids, (0, 248 - ids.shape[1]))
    lengths = ids.argmax(dim=1) + 1  # the end token is the largest id
    return torch.where(torch.arange(248) < lengths[:, None], full, filler)


@torch.no_grad()
def logits_of(masked, ids):
    tokens = masked.matcher.encoder.text_tokens(ids)
    return mask_logits(tokens, masked.weights, masked.matcher.encoder.text_heads)


def test_smartclip_mask_at_248(smart):
    """The masks of the reference at 248 positions filled with 0; trimmed or filled otherwise they are others."""
    reference, file, _, words = smart
    masked = MaskedMatcher(load_backbone(file, vocabulary=words))
    ids = padded(masked.matcher)
    with torch.no_grad():
        wanted = reference.mask_logits(ids)
    right = logits_of(masked, ids)
    assert (right - wanted).abs().max() < 5e-6 and wanted.std() > 0.1
    rows = masked.encode_texts(TEXTS)
    assert torch.equal(rows[:, 128:], hard_mask(wanted)) and 0 < rows[:, 128:].mean() < 1
    with torch.no_grad():
        assert (rows[:, :128] - reference.encode_text(ids)).abs().max() < 5e-6
    trimmed = torch.cat([logits_of(masked, row[None, : int(row.argmax()) + 1]) for row in ids])
    filled = logits_of(masked, padded(masked.matcher, filler=masked.matcher.tokenizer.eos))
    for other in (trimmed, filled):
        flipped = (hard_mask(other) != hard_mask(right)).float().mean(dim=1)
        assert (other - right).abs().max() > 0.1 and flipped.max() > 0.01
        assert flipped[3] < flipped.max()  # the text that needs least filling is not the one that suffers most


@pytest.mark.parametrize("batch", [1, 2, 32])
def test_a_mask_does_not_depend_on_the_other_texts(smart, batch):
    masked = MaskedMatcher(load_backbone(smart[2]))
    rows = masked.encode_texts([*TEXTS, TEXTS[0]], batch)
    alone = torch.cat([masked.encode_texts([text]) for text in TEXTS])
    assert torch.equal(rows[:5, 128:], alone[:, 128:]) and torch.equal(rows[0], rows[5])
    assert (rows[:5] - alone).abs().max() < 5e-6
    assert masked.encode_texts([]).shape == (0, 256)


def test_scores_are_those_of_the_reference_for_the_file_and_its_folder(smart):
    reference, file, folder, words = smart
    pictures = noise_pictures(4)
    of_file, of_folder = (MaskedMatcher(m) for m in (load_backbone(file, vocabulary=words), load_backbone(folder)))
    images, texts = of_file.encode_images(pictures), of_file.encode_texts(TEXTS)
    with torch.no_grad():
        wanted = reference.masked_scores(of_file.matcher.pixels(pictures, range(4)), padded(of_file.matcher))
    assert (of_file.similarity.scores(images, texts).rows(0, 4) - wanted).abs().max() < 5e-6
    plain = torch.nn.functional.cosine_similarity(images[:, None], texts[None, :, :128], dim=-1)
    assert (plain - wanted).abs().max() > 0.01
    assert torch.equal(images, of_folder.encode_images(pictures)) and torch.equal(texts, of_folder.encode_texts(TEXTS))
    assert of_file.fingerprint == of_folder.fingerprint != of_file.matcher.fingerprint


def test_what_the_masks_did_is_recorded(smart):
    masked = MaskedMatcher(load_backbone(smart[1], vocabulary=smart[3]))
    assert masked.provenance()["mask_kept"] is None
    rows = masked.encode_texts(TEXTS)
    found = masked.provenance()
    assert found["mask_kept"] == pytest.approx(rows[:, 128:].mean().item()) and found["masks_empty"] == 0
    assert (found["similarity"], masked.matcher.provenance()["similarity"]) == ("masked cosine", "cosine")
    notes = " ".join(found["model_notes"])
    assert "masked for each text" in notes and "not applied" not in notes and "CC-BY-NC" in notes
    masked.weights["mask_net.attn_pool.attention.bias"] += 1  # a softmax does not see it
    assert torch.equal(masked.encode_texts(TEXTS), rows) and masked.fingerprint != found["fingerprint"]
    masked.matcher.mask_network = {name: torch.zeros_like(t) for name, t in masked.weights.items()}
    empty = MaskedMatcher(masked.matcher)
    empty.weights["mask_net.resblocks.0.mlp.c_proj.bias"] -= 100
    empty.encode_texts(TEXTS)
    assert empty.provenance()["masks_empty"] == 5 and "5 texts keep none" in empty.provenance()["model_notes"][-1]


def test_a_model_without_a_fitting_mask_network_is_refused(smart, tmp_path):
    words, ids = smart[3], len(smart[0].token_embedding.weight)
    with pytest.raises(UserError, match=r"--masked\) with tiny, a model without a mask network"):
        MaskedMatcher(tiny_matcher(tmp_path / "tiny", ["a cat"]))
    for name, options, message in (
        ("long", LONG, "without a mask network"),
        ("narrow", {**LONG, "mask": True}, "masks of 128 dimensions for embeddings of 96"),
    ):
        torch.save(ReferenceClip(ids=ids, **options).state_dict(), tmp_path / f"{name}.pt")
        with pytest.raises(UserError, match=message):
            MaskedMatcher(load_backbone(tmp_path / f"{name}.pt", vocabulary=words))
    convert(smart[1], words, tmp_path / "folder")
    weights = load_file(tmp_path / "folder" / "mask_network.safetensors")
    del weights["mask_net.attn_pool.attention.bias"]
    save_file(weights, tmp_path / "folder" / "mask_network.safetensors")
    with pytest.raises(UserError, match=r"attn_pool\.attention\.bias is missing"):
        MaskedMatcher(load_backbone(tmp_path / "folder"))
