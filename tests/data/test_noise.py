import numpy as np
import pytest

from litotes.data.noise import Noise, load_noise, noise_record, noise_sha256, save_noise, shuffled, wrong_pairs
from litotes.errors import UserError

FIVE_EACH = np.repeat(np.arange(2000), 5)


@pytest.mark.parametrize("ratio", [0.2, 0.5])
def test_captions_are_permuted_among_the_chosen_share(ratio):
    noisy = shuffled(FIVE_EACH, Noise(ratio, seed=3))
    assert np.array_equal(np.sort(noisy), FIVE_EACH)
    record = noise_record(FIVE_EACH, noisy)
    # floor(ratio N) are chosen; of these the few that come back to their own picture are right (about 5 of all)
    assert 10_000 * ratio - 30 < record["n_wrong"] <= 10_000 * ratio
    assert record["effective_ratio"] == record["n_wrong"] / 10_000
    per_image = wrong_pairs(FIVE_EACH, noisy).reshape(-1, 5).sum(axis=1)
    # Chosen one by one: the number of wrong captions of a picture is about binomial.
    assert np.mean(per_image == 0) == pytest.approx((1 - ratio) ** 5, abs=0.04)


def test_whole_pictures_go_wrong_together_and_keep_their_captions_together():
    owners = np.array([7, 7, 3, 3, 3, 5, 9, 9, 2, 2])
    noisy = shuffled(owners, Noise(0.8, "image", seed=1))
    for image in np.unique(owners):
        assert len(set(noisy[owners == image].tolist())) == 1
    assert sorted({noisy[owners == image][0] for image in np.unique(owners)}) == [2, 3, 5, 7, 9]
    wrong = wrong_pairs(owners, noisy)
    assert len({image for image in owners[wrong]}) <= 4 and wrong.any()


def test_the_draw_depends_on_the_seed_alone():
    np.random.seed(0)
    first = shuffled(FIVE_EACH, Noise(0.5, seed=4))
    np.random.seed(1)
    assert np.array_equal(first, shuffled(list(FIVE_EACH), Noise(0.5, seed=4)))
    assert not np.array_equal(first, shuffled(FIVE_EACH, Noise(0.5, seed=5)))


@pytest.mark.parametrize("unit", ["caption", "image"])
def test_no_noise_changes_nothing_and_all_of_it_permutes_all(unit):
    assert np.array_equal(shuffled(FIVE_EACH, Noise(0.0, unit)), FIVE_EACH)
    assert wrong_pairs(FIVE_EACH, shuffled(FIVE_EACH, Noise(1.0, unit))).mean() > 0.99


def test_a_share_that_floating_point_cannot_write_is_floored_as_on_paper():
    owners = np.arange(100)
    for hundredths in range(101):
        changed = wrong_pairs(owners, shuffled(owners, Noise(hundredths / 100, seed=2))).sum()
        assert changed <= hundredths
    # 0.29 * 100 is 28.999999999999996
    counts = {wrong_pairs(owners, shuffled(owners, Noise(0.29, seed=seed))).sum() for seed in range(40)}
    assert max(counts) == 29
    assert max(wrong_pairs(owners[:7], shuffled(owners[:7], Noise(0.5, seed=s))).sum() for s in range(40)) == 3


def test_a_file_gives_back_what_was_saved_and_is_what_ncr_writes(tmp_path):
    noisy = shuffled(FIVE_EACH, Noise(0.2, seed=1))
    digest = save_noise(tmp_path / "new" / "n.npy", noisy)
    assert digest == noise_sha256(noisy) and [p.name for p in (tmp_path / "new").iterdir()] == ["n.npy"]
    assert np.array_equal(load_noise(tmp_path / "new" / "n.npy", captions=10_000, images=2000, sha256=digest), noisy)
    np.save(tmp_path / "theirs.npy", noisy.astype(np.int32))
    assert noise_sha256(load_noise(tmp_path / "theirs.npy", captions=10_000, images=2000)) == digest


@pytest.mark.parametrize(
    "array, message",
    [
        (np.arange(9), "9 captions"),
        (np.arange(10) - 1, "pictures -1 to 8"),
        (np.arange(10) + 1, "pictures 1 to 10"),
        (np.arange(10.0), "float64"),
        (np.zeros((10, 1), int), r"shape \(10, 1\)"),
        (np.arange(10)[::-1].copy(), "SHA-256"),
    ],
)
def test_a_file_of_another_set_is_refused(array, message, tmp_path):
    np.save(tmp_path / "n.npy", array)
    with pytest.raises(UserError, match=message):
        load_noise(tmp_path / "n.npy", captions=10, images=10, sha256=noise_sha256(np.arange(10)))


def test_pickles_archives_and_rubbish_are_refused_and_not_run(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    np.save(tmp_path / "pickle.npy", np.array([Harmful()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "many.npz", a=np.arange(3))
    (tmp_path / "text.npy").write_text("1,2,3")
    (tmp_path / "empty.npy").touch()
    for name in ("pickle.npy", "many.npz", "text.npy", "empty.npy"):
        with pytest.raises(UserError, match=name):
            load_noise(tmp_path / name, captions=3, images=3)
    with pytest.raises(UserError, match="no file"):
        load_noise(tmp_path / "none.npy", captions=3, images=3)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Noise(1.2),
        lambda: Noise(float("nan")),
        lambda: Noise(0.2, seed=-1),
        lambda: shuffled([0, -1], Noise(0.2)),
        lambda: shuffled([0.5, 1.0], Noise(0.2)),
        lambda: shuffled([[0, 1]], Noise(0.2)),
        lambda: wrong_pairs([0, 1], [0]),
    ],
)
def test_what_makes_no_sense_is_refused(make):
    with pytest.raises(UserError):
        make()
