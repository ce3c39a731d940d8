"""Retrieval by a model of pair scores, and what its uncertainty knows of the searches that go wrong."""

import numpy as np
import pytest
import torch
from coco_files import text_of, write_judgements
from evaluate_fakes import FakeEncoder

from litotes.data.judgements import read_coco_judgements
from litotes.errors import UserError
from litotes.evaluate.by_pairs import scored_by
from litotes.evaluate.coco import JudgedRetrieval
from litotes.evaluate.judged import judge_lists
from litotes.evaluate.results import flat_metrics
from litotes.evaluate.retrieval import Retrieval
from litotes.evaluate.sections import sections
from litotes.evaluate.selective import SelectiveRetrieval
from litotes.evaluate.suite import run_suites
from litotes.models import pair_stream
from litotes.models.pair_adapter import new_pair_model
from litotes.models.pair_scores import PairScorer
from litotes.models.variational import AdapterConfig
from tiny import noise_pictures

N, OWNERS = 6, [0, 1, 1, 2, 4, 5, 5]
CAPTIONS = [f"caption {i}" for i in range(len(OWNERS))]


def encoder():
    generator = torch.Generator().manual_seed(5)
    images = torch.randn(N, 6, generator=generator)
    texts = images[OWNERS] + 1.2 * torch.randn(len(OWNERS), 6, generator=generator)
    return FakeEncoder(
        {f"folder/p{i}": row.tolist() for i, row in enumerate(images)},
        {text: row.tolist() for text, row in zip(CAPTIONS, texts, strict=True)},
    )


def scorer(kind="variational"):
    return PairScorer(new_pair_model(kind, AdapterConfig(features=6, hidden=8, latent=5, decoder_hidden=4), seed=3))


def logits(model):
    images = encoder().encode_images(noise_pictures(N))
    texts = encoder().encode_texts(CAPTIONS)
    with torch.no_grad():
        return images, texts, model.logits(images, texts).numpy()


@pytest.mark.parametrize("kind", ["variational", "deterministic", "cosine"])
def test_retrieval_ranks_by_the_models_logits(kind):
    chosen = scorer(kind)
    suite = Retrieval("retrieval", noise_pictures(N), CAPTIONS, OWNERS, ks=(1, 2), scorer=chosen)
    result = suite.run(encoder())
    _, _, table = logits(chosen.model)
    t2i = [1 + sum(table[i, j] >= table[own, j] for i in range(N) if i != own) for j, own in enumerate(OWNERS)]
    i2t = []
    for i in sorted(set(OWNERS)):
        best = max(table[i, j] for j, own in enumerate(OWNERS) if own == i)
        i2t.append(1 + sum(table[i, j] >= best for j, own in enumerate(OWNERS) if own != i))
    assert result["t2i"] == {k: pytest.approx(np.mean([rank <= int(k) for rank in t2i])) for k in ("1", "2")}
    assert result["i2t"] == {k: pytest.approx(np.mean([rank <= int(k) for rank in i2t])) for k in ("1", "2")}


@pytest.mark.parametrize("kind", ["variational", "deterministic", "cosine"])
def test_more_pairs_than_can_be_held_are_streamed_and_the_result_says_so(kind, monkeypatch):
    asked = [Retrieval("retrieval", noise_pictures(N), CAPTIONS, OWNERS, ks=(1, 2))]
    held, selective = scored_by(asked, scorer(kind))
    before = held.run(encoder())
    assert selective.name == "selective" and "notes" not in before
    monkeypatch.setattr(pair_stream, "HELD", N * len(CAPTIONS) - 1)
    monkeypatch.setattr(PairScorer, "scores", None)
    (streamed,) = scored_by(asked, scorer(kind))
    after = streamed.run(encoder())
    assert after.pop("notes") == ["uncertainties are not asked: the scores of 42 pairs are too many to hold"]
    assert after == before


def test_a_shortlist_of_all_pairs_gives_what_all_pairs_give_and_a_short_one_says_what_it_lacks():
    asked = [Retrieval("retrieval", noise_pictures(N), CAPTIONS, OWNERS, ks=(1, 2))]
    model = scorer().model
    before = scored_by(asked, PairScorer(model))[0].run(encoder())
    (whole,) = scored_by(asked, PairScorer(model, shortlist=N))
    found = whole.run(encoder())
    notes, listed = found.pop("notes"), found.pop("shortlist")
    assert found == before
    assert notes == [
        "the shortlist holds all pairs, so that nothing is lost by it",
        "uncertainties are not asked with --shortlist: they need the scores of all pairs",
    ]
    assert listed["share"] == {"i2t": 1.0, "t2i": 1.0}
    (short,) = scored_by(asked, PairScorer(model, shortlist=1))
    result = short.run(encoder())
    listed = result["shortlist"]
    assert listed["listed"] < 42
    assert result["notes"][0].startswith(f"the adapter scored {listed['listed']} of 42 pairs, those of highest cosine")
    assert listed["share"]["i2t"] < 1


def test_a_cosine_with_scale_and_bias_ranks_as_the_cosine_itself():
    by_cosine = Retrieval("retrieval", noise_pictures(N), CAPTIONS, OWNERS, ks=(1, 2)).run(encoder())
    by_model = Retrieval("retrieval", noise_pictures(N), CAPTIONS, OWNERS, ks=(1, 2), scorer=scorer("cosine"))
    assert by_model.run(encoder())["rsum"] == by_cosine["rsum"]


def test_wrong_searches_are_held_against_each_uncertainty_of_the_first_item():
    chosen = scorer()
    suite = SelectiveRetrieval("selective", noise_pictures(N), CAPTIONS, OWNERS, chosen)
    result = suite.run(encoder())
    images, texts, table = logits(chosen.model)
    firsts = [int(np.argmax(table[:, j])) for j in range(len(OWNERS))]
    wrong = np.array([first != own for first, own in zip(firsts, OWNERS, strict=True)], dtype=float)
    assert 0 < wrong.sum() < len(OWNERS)
    told = result["ways"]["t2i"]
    assert (told["n"], told["error"]) == (len(OWNERS), pytest.approx(wrong.mean()))
    with torch.no_grad():
        pairs = [chosen.model.distribution(images[i : i + 1], texts[j : j + 1]) for j, i in enumerate(firsts)]
    sigma = np.array([
        float((pair.weights.unsqueeze(-1) * pair.log_var.exp()).sum(-2).sqrt().mean()) for pair in pairs
    ])  # fmt: skip
    doubt = np.array([-table[i, j] for j, i in enumerate(firsts)])
    for name, values in (("sigma", sigma), ("one_minus_p", doubt)):
        errors = wrong[np.argsort(values)]
        aurc = np.mean([errors[: k + 1].mean() for k in range(len(errors))])
        apart = [
            (a > b) + 0.5 * (a == b) for a in values[wrong == 1] for b in values[wrong == 0]
        ]  # fmt: skip
        assert told[name]["aurc"] == pytest.approx(aurc)
        assert told[name]["auroc"] == pytest.approx(np.mean(apart))
    assert result["ways"]["i2t"]["n"] == len(set(OWNERS))  # picture 3 has no caption and is no query


def test_the_first_items_are_held_against_what_the_search_is_worth():
    chosen = scorer()
    result = SelectiveRetrieval("selective", noise_pictures(N), CAPTIONS, OWNERS, chosen).run(encoder())
    images, texts, table = logits(chosen.model)
    with torch.no_grad():
        whole = chosen.model.distribution(images, texts)
    sigma = (whole.weights.unsqueeze(-1) * whole.log_var.exp()).sum(-2).sqrt().mean(-1).numpy()
    asked = sorted(set(OWNERS))
    rankings = {
        "i2t": [(i, np.argsort(-table[i], kind="stable"), [j for j, own in enumerate(OWNERS) if own == i])
                for i in asked],
        "t2i": [(j, np.argsort(-table[:, j], kind="stable"), [own]) for j, own in enumerate(OWNERS)],
    }  # fmt: skip
    for way, queries in rankings.items():
        told = result["firsts"][way]
        precision = []
        for _, order, right in queries:
            hit = np.isin(order[: len(right)], right)
            precision.append(sum(hit[: r + 1].mean() for r in range(len(right)) if hit[r]) / len(right))
        assert (told["n"], told["map_at_r"]) == (len(queries), pytest.approx(np.mean(precision)))
        assert way == "i2t" or np.std(precision) > 0
        assert set(told["sigma"]) == {"1", "5"}  # of six pictures no ten can be listed
        by_way = {"sigma": sigma, "one_minus_p": 1 / (1 + np.exp(table))}
        for name, k in (("sigma", 1), ("sigma", 5), ("one_minus_p", 5)):
            doubt = by_way[name] if way == "i2t" else by_way[name].T
            means = [doubt[query, order[:k]].mean() for query, order, _ in queries]
            assert told[name][str(k)]["mean"] == pytest.approx(np.mean(means), rel=1e-5)
            same = np.std(precision) == 0  # no search finds anything here
            wanted = None if same else pytest.approx(np.corrcoef(means, precision)[0, 1], abs=1e-3)
            assert told[name][str(k)]["pearson"] == wanted


def test_similarities_of_labelled_pairs_and_of_the_others_are_told():
    chosen = scorer()
    found = SelectiveRetrieval("selective", noise_pictures(N), CAPTIONS, OWNERS, chosen).run(encoder())["similarities"]
    table = logits(chosen.model)[2]
    own = table[OWNERS, range(len(OWNERS))]
    assert found["labelled"]["pairs"] == len(OWNERS)
    assert found["labelled"]["mean"] == pytest.approx(own.mean(), rel=1e-5)
    assert found["others"]["pairs"] == table.size - len(OWNERS)
    assert found["others"]["mean"] == pytest.approx((table.sum() - own.sum()) / (table.size - len(OWNERS)), rel=1e-5)


def test_a_model_without_a_distribution_has_no_sigma_and_the_report_says_so_with_dashes():
    parts = {"variational": scorer(), "cosine": scorer("cosine")}
    records = {
        label: {"suites": run_suites(encoder(), [
            Retrieval("retrieval", noise_pictures(N), CAPTIONS, OWNERS, (1,), scorer=model),
            SelectiveRetrieval("selective", noise_pictures(N), CAPTIONS, OWNERS, model),
        ])}
        for label, model in parts.items()
    }  # fmt: skip
    assert "sigma" not in records["cosine"]["suites"]["selective"]["ways"]["i2t"]
    section = sections(records)[1]
    assert section.title == "Answering only where sure"
    cells = {row.label: [cell.text for cell in row.cells] for row in section.rows}
    by_sigma = cells["Caption → picture, AURC by σ"]
    assert by_sigma[0].endswith(" %")
    assert by_sigma[1] == "–"
    assert cells["Caption → picture, AURC by 1 − p"][1].endswith(" %")
    names = flat_metrics("set", records["variational"]["suites"])
    assert (
        names["set-image_retrieval-aurc-by-sigma"]
        == (records["variational"]["suites"]["selective"]["ways"]["t2i"]["sigma"]["aurc"])
    )
    assert "set-text_retrieval-aurc-by-one_minus_p" in names


def test_lists_that_do_not_fit_are_refused_before_anything_is_scored():
    with pytest.raises(UserError, match="picture 6 at place 6"):
        SelectiveRetrieval("selective", noise_pictures(N), CAPTIONS, [*OWNERS[:-1], 6], scorer())


def test_all_judges_of_coco_are_asked_by_the_models_logits(tmp_path):
    images, captions, _ = write_judgements(tmp_path)
    judgements = read_coco_judgements(tmp_path)
    texts = [text_of(image, number) for image in images for number in (0, 1)]
    generator = torch.Generator().manual_seed(4)
    rows = torch.randn(10, 6, generator=generator)
    told = rows.repeat_interleave(2, 0) + torch.randn(20, 6, generator=generator)
    pictures = noise_pictures(10)
    coder = FakeEncoder({f"folder/p{i}": row for i, row in enumerate(rows)}, dict(zip(texts, told, strict=True)))
    chosen = scorer()
    (suite,) = scored_by([JudgedRetrieval("coco", pictures, images, texts, captions, judgements, ks=(1, 2))], chosen)
    found = suite.run(coder)
    with torch.no_grad():
        table = chosen.model.logits(rows, told)
    i2t = {i: [captions[j] for j in row.argsort(descending=True)] for i, row in zip(images, table, strict=True)}
    t2i = {c: [images[j] for j in row.argsort(descending=True)] for c, row in zip(captions, table.T, strict=True)}
    wanted = judge_lists(i2t, t2i, judgements, (1, 2))
    for key in ("coco_5k", "coco_1k", "cxc", "eccv"):
        for way in ("i2t", "t2i"):
            assert found[key][way] == pytest.approx(wanted[key][way])
    assert found["rsum"] == pytest.approx(wanted["rsum"])
    by_cosine = JudgedRetrieval("coco", pictures, images, texts, captions, judgements, ks=(1, 2)).run(coder)
    assert found["coco_5k"] != by_cosine["coco_5k"]
    assert "doubt" not in by_cosine
    _judged_doubt(found["doubt"], chosen, (rows, told, table), (images, captions), judgements)
    listing = PairScorer(chosen.model, shortlist=10)
    (suite,) = scored_by([JudgedRetrieval("coco", pictures, images, texts, captions, judgements, ks=(1, 2))], listing)
    listed = suite.run(coder)
    assert "the shortlist holds all pairs, so that nothing is lost by it" in listed["notes"]
    assert "similarities" not in listed["doubt"]
    for key in ("coco_5k", "coco_1k", "cxc", "eccv"):
        assert listed[key] == found[key]
    assert listed["doubt"] == {name: part for name, part in found["doubt"].items() if name != "similarities"}


def _judged_doubt(found, chosen, features, ids, judgements):
    """What the uncertainty knows of COCO's searches, in any order of pictures and captions: by plain loops."""
    (rows, told, table), (images, captions) = features, ids
    sigma = chosen.all_doubts(rows, told)["sigma"].numpy()
    table, place = table.numpy(), {c: j for j, c in enumerate(captions)}
    own = [images.index(judgements.original.t2i[c][0]) for c in captions]
    right = {"i2t": [own[table[i].argmax()] == i for i in range(10)],
             "t2i": [table[:, j].argmax() == own[j] for j in range(20)]}  # fmt: skip
    for way, hits in right.items():
        assert found["ways"][way]["error"] == pytest.approx(1 - np.mean(hits))
    errors = 1 - np.array(right["t2i"], dtype=float)[np.argsort([sigma[table[:, j].argmax(), j] for j in range(20)])]
    aurc = np.mean([errors[: k + 1].mean() for k in range(20)])
    assert found["ways"]["t2i"]["sigma"]["aurc"] == pytest.approx(aurc)
    means, precision = [], []
    for image, relevant in judgements.eccv.i2t.items():
        row = images.index(image)
        order = np.argsort(-table[row], kind="stable")
        hit = [captions[j] in relevant for j in order[: len(relevant)]]
        precision.append(sum(np.mean(hit[: r + 1]) for r in range(len(hit)) if hit[r]) / len(relevant))
        means.append(sigma[row, order[:5]].mean())
    firsts = found["firsts"]["i2t"]
    assert (firsts["n"], firsts["map_at_r"]) == (6, pytest.approx(np.mean(precision)))
    assert firsts["sigma"]["5"]["mean"] == pytest.approx(np.mean(means))
    assert firsts["sigma"]["5"]["pearson"] == pytest.approx(np.corrcoef(means, precision)[0, 1])
    labelled = [table[i, place[c]] for c, i in zip(captions, own, strict=True)]
    assert found["similarities"]["labelled"]["mean"] == pytest.approx(np.mean(labelled), rel=1e-5)
    assert found["diagnostics"]["log_var_min"] < 0
