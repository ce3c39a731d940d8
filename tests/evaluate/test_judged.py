import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from coco_files import write_judgements

from litotes.data.judgements import read_coco_judgements
from litotes.errors import UserError
from litotes.evaluate.judged import judge_features, judge_lists
from litotes.models.pair_adapter import new_pair_model
from litotes.models.pair_scores import PairScorer
from litotes.models.pair_stream import StreamedLogits
from litotes.models.variational import AdapterConfig
from reference.graded import means

KS = (1, 2)


@pytest.fixture
def small(tmp_path):
    return (*write_judgements(tmp_path), read_coco_judgements(tmp_path))


def by_loops(i2t, t2i, captions, judged):
    lists = (i2t, t2i)
    whole = {name: [means(lists[way], judged[name][way], KS) for way in (0, 1)] for name in judged}
    folds = []
    for start in range(0, 20, 4):
        fold = captions[start : start + 4]
        images = {i for c in fold for i in judged["original"][1][c]}
        for way, queries, gallery in ((0, images, set(fold)), (1, fold, images)):
            ranked = {q: [item for item in lists[way][q] if item in gallery] for q in queries}
            folds.append(means(ranked, {q: judged["original"][way][q] for q in queries}, KS)[0])
    one_k = [[sum(fold[k] for fold in folds[way::2]) / 5 for k in KS] for way in (0, 1)]
    return whole, one_k


def compare(found, whole, one_k):
    for way, name in enumerate(("i2t", "t2i")):
        for ours, theirs in (("coco_5k", "original"), ("cxc", "cxc")):
            assert list(found[ours][name].values()) == pytest.approx(list(whole[theirs][way][0].values()), abs=1e-12)
        assert list(found["coco_1k"][name].values()) == pytest.approx(one_k[way], abs=1e-12)
        recall, precision, average = whole["eccv"][way]
        expected = {"map_at_r": average, "r_precision": precision, "r1": recall[1]}
        assert found["eccv"][name] == pytest.approx(expected, abs=1e-12)
    assert found["rsum"] == pytest.approx(100 * sum(map(sum, one_k)), abs=1e-9)


def test_lists_and_features_follow_the_definition(small):
    images, captions, judged, judgements = small
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        image_rows = torch.randn(10, 6, generator=generator, dtype=torch.float64)
        text_rows = image_rows.repeat_interleave(2, 0) + torch.randn(20, 6, generator=generator, dtype=torch.float64)
        scores = torch.nn.functional.normalize(image_rows) @ torch.nn.functional.normalize(text_rows).T
        i2t = {
            i: [captions[j] for j in row.argsort(descending=True).tolist()]
            for i, row in zip(images, scores, strict=True)
        }
        t2i = {
            c: [images[j] for j in row.argsort(descending=True).tolist()]
            for c, row in zip(captions, scores.T, strict=True)
        }
        expected = by_loops(i2t, t2i, captions, judged)
        compare(judge_lists(i2t, t2i, judgements, KS), *expected)
        order = torch.randperm(20, generator=generator)
        shuffled = [captions[j] for j in order.tolist()]
        compare(judge_features(image_rows, text_rows[order], images, shuffled, judgements, KS), *expected)


def test_a_collapsed_model_gets_nothing_from_any_judge(small):
    images, captions, _, judgements = small
    found = judge_features(torch.ones(10, 3), torch.ones(20, 3), images, captions, judgements, (1,))
    assert found["rsum"] == 0
    for measure in ("coco_5k", "coco_1k", "cxc", "eccv"):
        assert {value for by_k in found[measure].values() for value in by_k.values()} == {0.0}


def test_lists_that_are_too_short_are_told(small):
    images, captions, judged, judgements = small
    i2t = {i: judged["cxc"][0][i][:3] for i in images} | {7: captions}
    t2i = {c: [*judged["original"][1][c], *(i for i in images if i not in judged["original"][1][c])] for c in captions}
    notes = judge_lists(i2t, t2i, judgements, KS)["notes"]
    assert any("not asked" in note and note.endswith(": 7") for note in notes)
    assert "ECCV i2t: 6 lists are too short; what they do not hold counts as not found" in notes
    assert not any("t2i" in note for note in notes)


def test_ids_that_are_not_those_judged_are_refused(small):
    images, captions, _, judgements = small
    with pytest.raises(UserError, match="9 images with 10 image ids"):
        judge_features(torch.rand(9, 3), torch.rand(20, 3), images, captions, judgements, KS)
    with pytest.raises(UserError, match="1 of the judged ones missing"):
        judge_features(torch.rand(10, 3), torch.rand(20, 3), images, [*captions[1:], 5], judgements, KS)
    with pytest.raises(UserError, match="K = 5 over 2 images"):
        judge_features(torch.rand(10, 3), torch.rand(20, 3), images, captions, judgements, (1, 5))


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("cxc_image_to_caption.json", "[1]", "no JSON object"),
        ("cxc_image_to_caption.json", '{"1": [2], "1": [3]}', "twice"),
        ("cxc_image_to_caption.json", '{"1": [2], "01": [3]}', "twice"),
        ("cxc_image_to_caption.json", '{"one": [2]}', "'one'"),
        ("cxc_image_to_caption.json", '{"1": [2, 2]}', "right items of 1"),
        ("cxc_image_to_caption.json", '{"1": ["2"]}', "right items of 1"),
        ("cxc_image_to_caption.json", '{"1": []}', "right items of 1"),
        ("cxc_image_to_caption.json", '{"1": [2', "cxc_image_to_caption.json"),
        ("original_image_to_caption.json", '{"1": [2]}', "the same pairs"),
        ("coco_test_ids.npy", "text", "no .npy file"),
        ("eccv_image_to_caption.json", None, "without eccv_image_to_caption.json"),
    ],
)
def test_unsound_files_are_refused_by_name(tmp_path, name, content, message):
    write_judgements(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message):
        read_coco_judgements(tmp_path)


@pytest.mark.parametrize("ids", [[1, 2, 3], [1, 1, 2, 3, 4], [1.0] * 5, [[1] * 5]])
def test_a_list_of_captions_without_five_folds_is_refused(tmp_path, ids):
    write_judgements(tmp_path)
    np.save(tmp_path / "coco_test_ids.npy", np.array(ids))
    with pytest.raises(UserError, match=r"coco_test_ids\.npy(:| holds)"):
        read_coco_judgements(tmp_path)


def published():
    package = importlib.util.find_spec("eccv_caption")
    inside = str(Path(package.origin).parent / "data") if package and package.origin else "/nonexistent"
    return Path(os.environ.get("LITOTES_ECCV_CAPTION", inside))


@pytest.fixture(scope="module")
def coco():
    if not published().is_dir():
        pytest.skip("neither eccv_caption nor LITOTES_ECCV_CAPTION, a folder of its data, is there")
    return read_coco_judgements(published())


def nearest(centres, size):
    """The 500 positions nearest to each centre, ties by position."""
    distance = np.abs(np.arange(size)[None] - np.asarray(centres)[:, None])
    return np.argsort(distance, axis=1, kind="stable")[:, :500]


def lists_of(coco, i2t, t2i):
    images, captions = np.array(coco.image_ids), np.array(coco.caption_ids)
    return (
        dict(zip(coco.image_ids, captions[i2t], strict=True)),
        dict(zip(coco.caption_ids, images[t2i], strict=True)),
    )


def plain(ranked):
    return {query: row.tolist() for query, row in ranked.items()}


def by_package(i2t, t2i):
    metrics = pytest.importorskip("eccv_caption").Metrics()
    asked = ("eccv_r1", "eccv_map_at_r", "eccv_rprecision", "coco_1k_recalls", "coco_5k_recalls", "cxc_recalls")
    return metrics.compute_all_metrics(plain(i2t), plain(t2i), target_metrics=asked, Ks=(1, 5, 10))


def equal_to_package(ours, theirs):
    for way in ("i2t", "t2i"):
        for name in ("coco_1k", "coco_5k", "cxc"):
            for k in ("1", "5", "10"):
                assert ours[name][way][k] == pytest.approx(theirs[f"{name}_r{k}"][way], abs=1e-12)
        for name, key in (("map_at_r", "eccv_map_at_r"), ("r_precision", "eccv_rprecision"), ("r1", "eccv_r1")):
            assert ours["eccv"][way][name] == pytest.approx(theirs[key][way], abs=1e-12)


def test_the_example_of_full_size_to_the_printed_digits(coco):
    assert (len(coco.image_ids), len(coco.caption_ids)) == (5000, 25000)
    assert coco.image_ids[0] == 391895
    i2t, t2i = lists_of(coco, nearest(5 * np.arange(5000) + 2, 25000), nearest(np.arange(25000) // 5, 5000))
    found = judge_lists(i2t, t2i, coco)
    assert found["rsum"] == pytest.approx(600, abs=1e-9)
    assert set(found["coco_5k"]["i2t"].values()) == set(found["coco_5k"]["t2i"].values()) == {1.0}
    assert found["cxc"]["i2t"] == {"1": 0.9982, "5": 1.0, "10": 1.0}
    assert [f"{value:.5f}" for value in found["cxc"]["t2i"].values()] == ["0.99996"] * 3
    printed = {way: {name: f"{value:.6f}" for name, value in by.items()} for way, by in found["eccv"].items()}
    assert printed == {
        "i2t": {"map_at_r": "0.320247", "r_precision": "0.324663", "r1": "0.998414"},
        "t2i": {"map_at_r": "0.150275", "r_precision": "0.157731", "r1": "1.000000"},
    }
    assert found["notes"] == []
    equal_to_package(found, by_package(i2t, t2i))


def test_noisy_embeddings_agree_with_the_package(coco):
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(5000, 16, generator=generator)
    texts = images.repeat_interleave(5, 0) + 0.8 * torch.randn(25000, 16, generator=generator)
    found = judge_features(images, texts, coco.image_ids, coco.caption_ids, coco)
    unit = torch.nn.functional.normalize
    scores = unit(images) @ unit(texts).T
    i2t, t2i = lists_of(coco, scores.topk(2000).indices.numpy(), scores.T.topk(500).indices.numpy())
    assert 0 < found["coco_5k"]["i2t"]["1"] < 1
    listed = judge_lists(i2t, t2i, coco)
    equal_to_package(listed, by_package(i2t, t2i))
    equal_to_package(found, by_package(i2t, t2i))


def test_vacsr_agrees_with_the_package_at_full_size(coco):
    """All 125 million pairs by the logits of a variational adapter, streamed; without pictures. Over a minute."""
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(5000, 8, generator=generator)
    texts = images.repeat_interleave(5, 0) + 0.5 * torch.randn(25000, 8, generator=generator)
    config = AdapterConfig(features=8, hidden=8, latent=4, decoder_hidden=4)
    streamed = StreamedLogits(PairScorer(new_pair_model("variational", config, seed=1)), block=512)
    found = judge_features(images, texts, coco.image_ids, coco.caption_ids, coco, similarity=streamed)
    scores = streamed.scores(images, texts)
    first = torch.cat([scores.rows(start, start + 500).topk(500).indices for start in range(0, 5000, 500)])
    turned = streamed.scores(texts, images)  # the product of two features is the same either way round
    of_texts = torch.cat([turned.rows(start, start + 500).topk(500).indices for start in range(0, 25000, 500)])
    i2t, t2i = lists_of(coco, first.numpy(), of_texts.numpy())
    equal_to_package(found, by_package(i2t, t2i))
    assert found["coco_5k"]["i2t"]["10"] > 0
