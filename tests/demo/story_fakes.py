"""A story with real pictures of the world and invented figures."""

import copy

import numpy as np
from PIL import Image

from litotes.demo.scenes import paint, sample_scene
from litotes.demo.story import Disc, Hit, Option, Question, Search, Story

KINDS = ("image", "positive", "negated_positive", "negative")
MODELS = ("base", "infonce", "hanclip", "extended")


def figures(mcq, rsum, rsum_neg, acc1, pairs, held, new, *, adapter=None):
    """One model, from (positive, negative, hybrid), sums, and the shares of the pair diagnostics."""
    recall = {
        name: {**{way: {k: total / 600 for k in ("1", "5", "10")} for way in ("i2t", "t2i")}, "rsum": total,
               "n_images": 1000, "n_texts": 1000, "split_sha256": "d" * 64}
        for name, total in (("retrieval", rsum), ("retrieval_neg", rsum_neg))
    }  # fmt: skip
    decisive = ("hybrid_absent_over_present", "absence_absent_over_present")
    return {
        "mcq": dict(zip(("positive", "negative", "hybrid"), mcq, strict=True))
        | {"total": sum(mcq) / 3, "n": 3000, "n_positive": 1000, "n_negative": 1000, "n_hybrid": 1000,
           "n_images": 1000, "n_texts": 12000, "split_sha256": "c" * 64},
        **recall,
        "classification": {"acc1": acc1, "n_images": 480},
        "pairs": {"negated_positive_over_negative": pairs[0], **dict(zip(decisive, pairs[1:], strict=True))},
        "held_out_wordings": dict(zip(decisive, held, strict=True)),
        "new_cues": dict(zip(decisive, new, strict=True)),
        "radius": dict.fromkeys(KINDS, 2.0),
        "radius_raw": dict(zip(KINDS, (25.1, 22.4, 22.9, 23.1 + rsum / 100), strict=True)),
        "angles": {"at_negative": 62.0 - 25 * pairs[0], "at_negated_positive": 61.0 + 20 * pairs[0], "undefined": 0},
        "model": "picture-book CLIP",
        "adapter": adapter,
        "fingerprint": "ab12" * 16,
        "precision": "float32",
        "preprocessing": {"size": 80},
    }  # fmt: skip


RESULTS = {
    "models": {
        "base": figures((0.862, 0.003, 0.163), 329.7, 172.6, 0.773, (0.571, 0.064, 0.08), (0.07, 0.09), (0.11, 0.12)),
        "infonce": figures(
            (0.821, 0.004, 0.121), 328.4, 170.9, 0.758, (0.543, 0.06, 0.078), (0.07, 0.085), (0.1, 0.12), adapter="a"
        ),
        "hanclip": figures(
            (0.958, 0.0, 0.175), 316.9, 169.9, 0.736, (0.97, 0.07, 0.079), (0.08, 0.1), (0.1, 0.14), adapter="h"
        ),
        "extended": figures(
            (0.931, 0.723, 0.868), 347.4, 194.7, 0.751, (0.988, 0.751, 0.812), (0.68, 0.702), (0.47, 0.53), adapter="e"
        ),
    },
    "honesty": {"seed": 0, "torch": "2.13.0", "pictures_for_evaluation": 1000, "peak_memory_mb": 1210},
    "timings": {"drawing pictures": 14.2, "adapting: hanclip": 55.0, "evaluating: base": 21.4},
    "settings": {"demo": {"seed": 0}, "hanclip": {"loop": {"lr": 0.003, "steps": 160}}},
}


def results(**changes):
    """A copy of RESULTS; ``changes``: by model, dotted paths and their new values."""
    made = copy.deepcopy(RESULTS)
    for model, values in changes.items():
        for path, value in values.items():
            *folders, last = path.split(".")
            at = made["models"][model]
            for key in folders:
                at = at[key]
            at[last] = value
    return made


def pictures(count, seed=7):
    """Painted scenes with what they show, in words."""
    rng = np.random.default_rng(seed)
    scenes = [sample_scene(rng) for _ in range(count)]
    return [
        (Image.fromarray(paint(scene, rng)), ", ".join(f"{thing.colour} {thing.kind}" for thing in scene.things))
        for scene in scenes
    ]


def search(query, shown, right, rng):
    """The same pictures in another order for each model, with as many right ones as ``right`` says."""
    hits = {}
    for name in MODELS:
        order = rng.permutation(len(shown))[:6]
        true = set(rng.permutation(6)[: right[name]].tolist())
        hits[name] = tuple(Hit(shown[i][0], place in true, shown[i][1]) for place, i in enumerate(order))
    return Search(query, hits)


def question(picture, shows, kind, texts, scores):
    """Four options, the first one true, and (model -> four scores)."""
    rows = [{name: values[i] for name, values in scores.items()} for i in range(len(texts))]
    options = tuple(Option(text, i == 0, row) for i, (text, row) in enumerate(zip(texts, rows, strict=True)))
    return Question(picture, kind, options, shows)


def disc(turn, seed):
    """Four clouds at a small radius, as unit vectors at curvature 0.1 have."""
    rng = np.random.default_rng(seed)
    points = {}
    for i, kind in enumerate(KINDS):
        angle = rng.normal(0.8 * i * turn, 0.35, 40)
        points[kind] = (0.27 + 0.03 * i + rng.normal(0, 0.01, (40, 1))) * np.stack([np.cos(angle), np.sin(angle)], 1)
    return Disc(points)


def story(made=None, *, searches=2, questions=2):
    """A small whole story."""
    rng = np.random.default_rng(0)
    shown = pictures(12)
    counts = {"base": 1, "infonce": 0, "hanclip": 2, "extended": 5}
    queries = ("a boat but no cat", "an owl but no tree", "a kite but no cloud", "a duck but no lamp")
    statements = (
        ("This image does not include a tractor.", "This image includes a cake but not an owl.",
         "This image includes an owl and a tractor.", "This image does not include an owl."),
        ("This image includes a cat but not a boat.", "This image includes a boat but not a cat.",
         "This image includes a boat.", "This image does not include a cat."),
    )  # fmt: skip
    scores = {
        "base": [0.412, 0.431, 0.468, 0.447], "infonce": [0.404, 0.42, 0.47, 0.44],
        "hanclip": [0.38, 0.41, 0.475, 0.351], "extended": [0.52, 0.18, 0.231, -0.102],
    }  # fmt: skip
    steps = np.arange(160)
    curves = {
        "infonce": {"loss": (1.2 + np.exp(-steps / 30)).tolist()},
        "hanclip": {
            term: (np.exp(-steps / 40) * height - low + np.random.default_rng(i).normal(0, 0.05, 160)).tolist()
            for i, (term, height, low) in enumerate((("loss", 3, 0.2), ("hco", 2, -0.6), ("atnl", 1, 0.4)))
        },
    }
    return Story(
        made or RESULTS,
        tuple(question(*shown[i], ("negative", "hybrid")[i % 2], statements[i % 2], scores) for i in range(questions)),
        tuple(search(queries[i % 4], shown, counts, rng) for i in range(searches)),
        {name: disc(0.4 + 0.3 * i, i) for i, name in enumerate(MODELS)},
        curves,
    )
