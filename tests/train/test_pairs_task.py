"""Training on frozen features: what a batch holds, what is minimised, and a stop that leaves no trace."""

import numpy as np
import pytest
import torch
from pair_toys import METHODS, SMALL, repeated_features, toy_features, toy_task

from litotes.data.images import ArrayPictures
from litotes.data.pairs import CaptionedPictures, codes
from litotes.errors import UserError
from litotes.metrics.selective import auroc
from litotes.models import pair_step
from litotes.models.pair_adapter import new_pair_model
from litotes.models.pair_noise import PairNoise
from litotes.models.variational import AdapterConfig, uncertainty
from litotes.objectives.vacsr import vacsr
from litotes.train.journal import read_journal
from litotes.train.loop import LoopConfig, train
from litotes.train.pair_objectives import PairMethod
from litotes.train.pairs import PairFeatures, pair_features
from tiny import noise_pictures, tiny_matcher

pytestmark = pytest.mark.usefixtures("one_thread")

LOOP = LoopConfig(batch_size=6, epochs=3, lr=1e-2, warmup=2, seed=5, save_every=2)


def test_a_batch_holds_the_features_of_its_rows_and_what_the_data_says_of_them():
    task, data = toy_task(METHODS["vacsr"], repeated_features()), repeated_features()
    batch = task.prepare([4, 0, 3])  # B w, A x, C z
    assert torch.equal(batch.images, data.images[[1, 0, 2]])
    assert torch.equal(batch.texts, data.texts[[3, 0, 2]])
    # B has x too, in a row outside the batch
    assert batch.positives.tolist() == [[True, True, False], [False, True, False], [False, False, True]]


def of_classes():
    """Five pictures of three classes, each class with one prompt: A B A B C."""
    generator = torch.Generator().manual_seed(4)
    images, texts = (torch.randn(n, 8, generator=generator) for n in (5, 3))
    return PairFeatures(images, texts, np.arange(5), codes("ABABC"), "toy", "classes")


def test_a21_the_two_readings_of_class_prompts_pair_a_batch_with_its_own_prompts_or_with_all():
    data = of_classes()
    rows = [0, 2, 1]  # A A B
    own, every = (toy_task(PairMethod(adapter=SMALL, pairing=pairing), data) for pairing in ("batch", "all"))
    batch = own.prepare(rows)
    assert torch.equal(batch.texts, data.texts[[0, 0, 1]])
    # two pictures of a class are right for each other's prompt, in either reading
    assert batch.positives.tolist() == [[True, True, False], [True, True, False], [False, False, True]]
    whole = every.prepare(rows)
    assert torch.equal(whole.images, batch.images) and torch.equal(whole.texts, data.texts)
    assert whole.positives.tolist() == [[True, False, False], [True, False, False], [False, True, False]]
    assert own.identity()["objective"] != every.identity()["objective"]


def test_a21_a_class_outside_the_batch_is_wrong_only_where_all_prompts_are_asked():
    for pairing, wrong in (("batch", False), ("all", True)):
        task = toy_task(PairMethod(adapter=SMALL, pairing=pairing), of_classes())
        task.begin_step(0)
        terms = task.terms(task.prepare([0, 2]))  # A A: within the batch nothing is wrong
        assert bool(terms["sigma_negative"] != 0) == wrong
        assert float(terms["pairs"]) - float(terms["positive_pairs"]) == (4 if wrong else 0)


def test_infonce_is_refused_texts_without_a_picture():
    with pytest.raises(UserError, match="infonce with pairs of a picture and all captions"):
        PairMethod("infonce", "cosine", adapter=SMALL, pairing="all")


def test_the_terms_of_vacsr_are_those_of_the_loss_with_the_draws_of_the_step_and_the_state_of_the_adapter():
    task = toy_task(METHODS["vacsr"], repeated_features())
    batch = task.prepare([0, 1, 2, 3])
    task.begin_step(3)
    terms = task.terms(batch)
    again = new_pair_model("variational", SMALL)
    seed = int(np.random.SeedSequence([0, 3]).generate_state(1, np.uint64)[0] >> np.uint64(1))
    noise = PairNoise.drawn(torch.Generator().manual_seed(seed))
    sample = again(batch.images, batch.texts, noise)
    wanted = vacsr(sample, batch.positives)._asdict()
    assert {name: float(terms[name].detach()) for name in wanted} == {n: float(v.detach()) for n, v in wanted.items()}
    told = set(terms) - set(wanted)
    assert told == {
        "pairs", "positive_pairs", "log_var_min", "log_var_mean", "log_var_max", "at_bound", "kl_0", "kl_1",
        "weights_0", "weights_1", "shares_0", "shares_1", "positive_residual",
    }  # fmt: skip
    assert float(terms["positive_pairs"]) == int(batch.positives.sum()) == 9
    assert float(terms["log_var_min"]) == float(sample.log_var.detach().min())


def test_a_step_that_would_take_more_memory_is_taken_in_blocks_and_ends_the_same(monkeypatch):
    # 96 x 96 pairs of 168 numbers in float32 are 6 MiB; 4 GiB and 1 MiB are two plans of one run.
    results, planned = [], []
    plan = pair_step.rows_within
    monkeypatch.setattr(pair_step, "rows_within", lambda *args: planned.append(plan(*args)) or planned[-1])
    for memory in (4096, 1):
        task = toy_task(PairMethod(adapter=SMALL, memory=memory), toy_features(96))
        terms = task.terms(task.prepare(range(96)))
        terms["loss"].backward()
        results.append(({name: float(value.detach()) for name, value in terms.items()}, task))
    assert planned[0] > 96 > planned[1] > 1
    (one, whole), (other, blocks) = results
    assert other == pytest.approx(one, rel=1e-5, abs=1e-6)
    for a, b in zip(whole.module.parameters(), blocks.module.parameters(), strict=True):
        torch.testing.assert_close(b.grad, a.grad, rtol=1e-4, atol=1e-7)
    assert whole.identity() == blocks.identity()
    state, again = (task.diagnose(96)._asdict() for _, task in results)
    assert state["kl"] == pytest.approx(again["kl"], rel=1e-5)


@pytest.mark.parametrize("kind", ["deterministic", "cosine"])
def test_the_baselines_minimise_their_losses_of_the_models_logits(kind):
    sigmoid = toy_task(METHODS[f"sigmoid, {kind}"], repeated_features())
    infonce = toy_task(METHODS[f"infonce, {kind}"], repeated_features())
    batch = sigmoid.prepare([0, 1, 2, 3])
    logits = sigmoid.module.logits(batch.images, batch.texts).detach()
    right = batch.positives
    signs = torch.where(right, 1.0, -1.0)
    wanted = -torch.nn.functional.logsigmoid(signs.double() * logits.double()).sum() / 4
    assert float(sigmoid.terms(batch)["loss"].detach()) == pytest.approx(float(wanted), rel=1e-5)

    def direction(scores, allowed):
        rows = [[float(scores[i, j]) for j in range(4) if j == i or not allowed[i, j]] for i in range(4)]
        own = [float(scores[i, i]) for i in range(4)]
        return sum(np.log(np.exp(row).sum()) - mine for row, mine in zip(rows, own, strict=True)) / 4

    both = (direction(logits, right) + direction(logits.T, right.T)) / 2
    assert float(infonce.terms(batch)["loss"].detach()) == pytest.approx(both, rel=1e-5)


class StopError(Exception):
    pass


def outcome(folder, name):
    lines = read_journal(folder / name / "journal.jsonl")
    return [{key: value for key, value in line.items() if key != "samples_per_s"} for line in lines]


@pytest.mark.parametrize("name", METHODS)
def test_a_stopped_run_ends_with_the_same_bits_as_one_without_a_stop(name, tmp_path):
    def stop(done):
        if done == 7:  # step 6 is saved
            raise StopError

    whole = toy_task(METHODS[name])
    train(whole, LOOP, tmp_path / "whole", quiet=True)
    with pytest.raises(StopError):
        train(toy_task(METHODS[name]), LOOP, tmp_path / "parts", on_step=stop, quiet=True)
    torch.manual_seed(99)  # nothing may come from the global source
    rest = toy_task(METHODS[name])
    train(rest, LOOP, tmp_path / "parts", resume=True, quiet=True)
    assert outcome(tmp_path, "whole") == outcome(tmp_path, "parts")
    for (key, one), (_, other) in zip(whole.module.state_dict().items(), rest.module.state_dict().items(), strict=True):
        assert torch.equal(one, other), key


def test_another_seed_draws_otherwise_and_a_step_draws_the_same_whatever_came_before():
    task = toy_task(METHODS["vacsr"])
    batch = task.prepare(range(6))

    def loss(step):
        task.begin_step(step)
        return float(task.terms(batch)["loss"].detach())

    first = [loss(step) for step in range(4)]
    assert [loss(step) for step in (3, 1, 0, 2)] == [first[step] for step in (3, 1, 0, 2)]
    assert len(set(first)) == 4
    other = toy_task(PairMethod(adapter=SMALL, seed=1))
    other.module.load_state_dict(task.module.state_dict())
    other.begin_step(0)
    assert float(other.terms(batch)["loss"].detach()) != first[0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"owners": np.roll(np.arange(20), 1)}, "rows"),
        ({"seed": 1}, "features"),
    ],
)
def test_a_run_is_not_gone_on_with_on_other_pairs_or_features(change, told, tmp_path):
    def stop(done):
        if done == 2:
            raise StopError

    with pytest.raises(StopError):
        train(toy_task(METHODS["vacsr"]), LOOP, tmp_path / "run", on_step=stop, quiet=True)
    with pytest.raises(UserError, match=told):
        train(toy_task(METHODS["vacsr"], toy_features(**change)), LOOP, tmp_path / "run", resume=True, quiet=True)


@pytest.mark.parametrize("name", METHODS)
def test_a_batch_of_one_has_finite_terms_and_gradients(name):
    task = toy_task(METHODS[name])
    terms = task.terms(task.prepare([3]))
    terms["loss"].backward()
    assert all(np.isfinite(float(value.detach())) for value in terms.values())
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in task.module.parameters())


def test_what_cannot_teach_is_refused():
    alike = toy_features(4)
    with pytest.raises(UserError, match="every caption is right for every picture"):
        toy_task(METHODS["vacsr"], type(alike)(alike.images, alike.texts, np.zeros(4, int), np.arange(4), "", ""))
    for images, texts in ((alike.images[:1].repeat(4, 1), alike.texts), (alike.images, alike.texts[:1].repeat(4, 1))):
        with pytest.raises(UserError, match="one and the same features"):
            toy_task(METHODS["vacsr"], type(alike)(images, texts, np.arange(4), np.arange(4), "", ""))
    with pytest.raises(UserError, match="variational adapter"):
        PairMethod("sigmoid", "variational")
    with pytest.raises(UserError, match="variational adapter"):
        PairMethod("vacsr", "deterministic")


def test_features_are_encoded_once_a_content_and_a_wording_and_kept(tmp_path):
    captions = ("a cat", "a dog", "a cat", "no dog", "a bird")
    matcher = tiny_matcher(tmp_path / "tokenizer", captions)
    pixels = noise_pictures(3)
    repeated = ArrayPictures(np.stack([np.asarray(pixels[i]) for i in (0, 1, 0, 2)]), list("abcd"))
    data = CaptionedPictures(repeated, captions, np.array([0, 1, 2, 2, 3]))
    found = pair_features(matcher, data, cache=tmp_path / "cache")
    assert (found.images.shape, found.texts.shape) == ((3, 24), (4, 24))
    assert found.picture_of_row.tolist() == [0, 1, 0, 0, 2]
    assert found.text_of_row.tolist() == [0, 1, 0, 2, 3]
    assert torch.allclose(found.images, matcher.encode_images(pixels))
    noisy = pair_features(matcher, data, np.array([1, 0, 2, 2, 3]), cache=tmp_path / "cache")
    assert noisy.picture_of_row.tolist() == [1, 0, 0, 0, 2]
    assert len(list((tmp_path / "cache").glob("*.safetensors"))) == 2
    assert found.rows_sha256 != noisy.rows_sha256


def test_features_that_are_not_finite_are_told_by_the_names_of_their_pictures_or_captions(tmp_path):
    captions = ("a cat", "a dog")
    matcher = tiny_matcher(tmp_path / "tokenizer", captions)
    data = CaptionedPictures(noise_pictures(2), captions, np.arange(2))
    with torch.no_grad():
        matcher.encoder.clip.visual_projection.weight[0, 0] = float("nan")
    with pytest.raises(UserError, match=r"2 of 2 pictures: folder/p0, folder/p1"):
        pair_features(matcher, data)
    with torch.no_grad():
        matcher.encoder.clip.visual_projection.weight[0, 0] = 0.0
        matcher.encoder.clip.text_projection.weight[0, 0] = float("inf")
    with pytest.raises(UserError, match=r"2 of 2 captions: a cat, a dog"):
        pair_features(matcher, data)


def test_variance_and_doubt_point_to_the_wrong_pairs_that_the_run_took_for_right(tmp_path):
    rows, wrong = 60, 12
    owners = np.arange(rows)
    owners[:wrong] = np.roll(owners[:wrong], 1)
    features = toy_features(rows, 16, owners=owners, noise=0.3)
    task = toy_task(PairMethod(adapter=AdapterConfig(features=16, hidden=32, latent=8)), features)
    train(task, LoopConfig(batch_size=30, steps=60, lr=1e-2, warmup=5), tmp_path / "run", quiet=True)
    pairs = [(features.images[owner][None], features.texts[row][None]) for row, owner in enumerate(owners.tolist())]
    with torch.no_grad():
        variance = torch.stack([uncertainty(task.module.distribution(*pair))[0, 0] for pair in pairs])
        doubt = torch.stack([-task.module.logits(*pair)[0, 0] for pair in pairs])
    mask = torch.arange(rows) < wrong
    assert auroc(variance, mask) > 0.9
    assert auroc(doubt, mask) > 0.9
