"""Features of pairs that belong together, made by rule: no model and no file is needed."""

import hashlib

import numpy as np
import torch

from litotes.data.pairs import codes
from litotes.models.variational import AdapterConfig
from litotes.train.pair_objectives import PairMethod, new_objective
from litotes.train.pairs import FrozenPairs, PairFeatures

SMALL = AdapterConfig(features=8, hidden=12, latent=6, decoder_hidden=4)
METHODS = {
    "vacsr": PairMethod(adapter=SMALL),
    "sigmoid, deterministic": PairMethod("sigmoid", "deterministic", adapter=SMALL),
    "sigmoid, cosine": PairMethod("sigmoid", "cosine", adapter=SMALL),
    "infonce, deterministic": PairMethod("infonce", "deterministic", adapter=SMALL),
    "infonce, cosine": PairMethod("infonce", "cosine", adapter=SMALL),
}


def toy_features(rows=20, d=8, seed=0, noise=0.3, owners=None):
    """A picture a row and a caption near it; ``owners``: the picture that each caption is said to belong to."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(rows, d, generator=generator)
    texts = images + noise * torch.randn(rows, d, generator=generator)
    seen = np.arange(rows) if owners is None else np.asarray(owners)
    told = hashlib.sha256(seen.astype("<i8").tobytes()).hexdigest()
    return PairFeatures(images, texts, seen, np.arange(rows), f"toy {rows} {d} {seed}", told)


def repeated_features():
    """Five rows over three pictures and four captions: A x, A y, B x, C z, B w."""
    generator = torch.Generator().manual_seed(3)
    images, texts = (torch.randn(n, 8, generator=generator) for n in (3, 4))
    return PairFeatures(images, texts, codes("AABCB"), codes("xyxzw"), "toy", "repeated")


def toy_task(method, features=None):
    """A fresh task of a method."""
    return FrozenPairs(features or toy_features(), new_objective(method), method)
