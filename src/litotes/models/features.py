"""Features of a frozen tower, computed once."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from litotes.data.images import Pictures
from litotes.models.masking import MaskedMatcher
from litotes.models.matcher import Matcher
from litotes.models.tensors import save_tensors


def is_frozen(matcher: Matcher, tower: str) -> bool:
    """Whether no weight of the tower ("text" or "vision") is trained, its projection included."""
    clip = matcher.encoder.clip
    projection = clip.text_projection if tower == "text" else clip.visual_projection
    modules = (getattr(clip, f"{tower}_model"), projection)
    return not any(p.requires_grad for module in modules for p in module.parameters())


def image_features(matcher: Matcher | MaskedMatcher, pictures: Pictures, cache: Path | None) -> Tensor:
    """Un-normalised embeddings [n, d] of all pictures, from the cache folder where they are already there."""
    key = [matcher.fingerprint, *(pictures.digest(i) for i in range(len(pictures)))] if cache else []
    return _cached(cache, key, lambda: matcher.encode_images(pictures))


def text_features(matcher: Matcher, texts: Sequence[str], cache: Path | None) -> Tensor:
    """Un-normalised embeddings [n, d] of all texts, from the cache folder where they are already there."""
    return _cached(cache, [matcher.fingerprint, "texts", *texts], lambda: matcher.encode_texts(texts))


def _cached(folder: Path | None, key: Sequence[str], compute: Callable[[], Tensor]) -> Tensor:
    if folder is None:
        return compute()
    digest = hashlib.sha256()
    for part in key:
        digest.update(f"{len(part)}:{part}".encode())
    path = folder / f"{digest.hexdigest()}.safetensors"
    if path.is_file():
        try:
            return load_file(path)["features"]
        except SafetensorError:
            # A file cut by a full disk or a kill is computed again.
            path.unlink()
    features = compute().cpu().contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    save_tensors({"features": features}, partial)
    partial.replace(path)
    return features
