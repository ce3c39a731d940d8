import json

import pytest
import torch
from drawn_table import litotes

from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.models.lora import add_lora, save_adapter
from litotes.models.lora_settings import LoraSettings
from litotes.models.matcher import load_matcher
from reference.openai_clip import ReferenceClip


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vocabulary")
    return folder, train_tokenizer(["a red circle", "no cat"] * 3, 600, folder)


def weights(ids):
    """A LongCLIP as it comes out of training: unused rows still as the stretch left them, the others moved."""
    state = ReferenceClip(ids=ids, context=248, long=True).state_dict()
    knots = torch.randn(59, 128, generator=torch.Generator().manual_seed(3))
    between = torch.arange(228) / 4
    low, part = between.long(), (between % 1)[:, None]
    straight = (1 - part) * knots[low] + part * knots[low + 1]
    moved = 0.05 * torch.randn(228, 128, generator=torch.Generator().manual_seed(4))
    state["positional_embedding"][20:] = straight
    state["positional_embedding_res"][20:] = straight + moved
    return state


def test_a_converted_longclip_is_told_in_full_and_its_adapter_too(vocabulary, tmp_path, capsys):
    words, ids = vocabulary
    torch.save(weights(ids), tmp_path / "long.pt")
    folder = tmp_path / "long"
    assert litotes("convert", source=tmp_path / "long.pt", vocabulary=words, output=folder) == 0
    matcher, settings = load_matcher(folder), LoraSettings(towers="text", layers="top1")
    before = matcher.fingerprint
    add_lora(matcher.encoder, settings)
    save_adapter(matcher, settings, tmp_path / "adapter")
    capsys.readouterr()
    assert litotes("doctor", model=folder) == 0
    shown = capsys.readouterr().out
    for part in (
        "longclip, converted from long.pt", "up to 248 tokens; width 128, 2 layers of 2 heads", "32 px in patches of 8",
        "quick_gelu", before, f"{ids:,} tokens of {folder}", "mode paper, mean (0.48145466", "nothing odd was found",
        f"{sum(p.numel() for p in load_matcher(folder).encoder.parameters()):,}",
    ):  # fmt: skip
        assert part in shown
    assert shown.count("ok  ") == 8 and "FAIL" not in shown
    assert litotes("doctor", model=folder, adapter=tmp_path / "adapter") == 0
    assert "adapter (rsLoRA on q_proj+k_proj+v_proj of text (blocks 1), rank 2" in capsys.readouterr().out


def test_a_longclip_whose_second_table_was_dropped_is_warned_of(vocabulary, tmp_path, capsys):
    words, ids = vocabulary
    state = weights(ids)
    torch.save(state, tmp_path / "long.pt")
    assert litotes("doctor", model=tmp_path / "long.pt", vocabulary=words) == 0
    shown = capsys.readouterr().out
    assert "LongCLIP or HiMo-CLIP" in shown and "warning" not in shown
    del state["positional_embedding_res"]
    torch.save(state, tmp_path / "cut.pt")
    assert litotes("doctor", model=tmp_path / "cut.pt", vocabulary=words, activation="quick_gelu") == 0
    shown = capsys.readouterr().out
    assert "warning: positions 20 to 247 lie on straight lines" in shown
    assert shown.count("warning") == 1


def test_a_model_that_does_not_answer_soundly_ends_in_an_error(vocabulary, tmp_path, capsys):
    words, ids = vocabulary
    state = weights(ids)
    state["text_projection"] *= 1e38
    torch.save(state, tmp_path / "long.pt")
    assert litotes("doctor", model=tmp_path / "long.pt", vocabulary=words) == 2
    captured = capsys.readouterr()
    assert "FAIL texts have finite embeddings" in captured.out and "ok   pictures have" in captured.out
    assert "a model that fails: texts have finite embeddings" in captured.err


def test_what_is_missing_is_refused(vocabulary, tmp_path, capsys):
    words, ids = vocabulary
    torch.save(weights(ids), tmp_path / "long.pt")
    assert litotes("doctor", model=tmp_path / "long.pt") == 2
    assert "add --vocabulary: " in capsys.readouterr().err
    assert litotes("doctor", model=tmp_path / "long.pt", vocabulary=words, adapter=tmp_path / "none") == 2
    assert "without adapter_config.json" in capsys.readouterr().err
    assert litotes("doctor", model=tmp_path / "no.pt", vocabulary=words, adapter=tmp_path / "none") == 2
    told = capsys.readouterr().err
    assert "no.pt, which is not there" in told and "none without adapter_config.json" in told
    assert litotes("convert", source=tmp_path / "long.pt", vocabulary=words, output=tmp_path / "long") == 0
    record = tmp_path / "long" / "litotes_source.json"
    record.write_text(json.dumps({"file": "x"}))
    assert litotes("doctor", model=tmp_path / "long") == 2
    assert "litotes_source.json, which cannot be read" in capsys.readouterr().err
