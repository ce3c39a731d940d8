"""The towers of a model as ONNX graphs, for onnxruntime and what else reads them."""

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from litotes.errors import UserError
from litotes.models.clip import ClipEncoder
from litotes.models.matcher import Matcher

OPSET = 18
IMAGE, TEXT = "image.onnx", "text.onnx"
PACKAGES = ("onnx", "onnxscript", "onnxruntime")

_LARGEST = 1_800_000_000
"""Bytes of weights from which a graph has them in a file beside it: one file cannot be larger than 2 GB."""


class _ImageTower(nn.Module):
    def __init__(self, encoder: ClipEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.encoder.image_features(pixel_values)


class _TextTower(nn.Module):
    def __init__(self, encoder: ClipEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.encoder.text_features(input_ids)


class OnnxTowers:
    """Both graphs of a folder, run by onnxruntime on the CPU: un-normalised embeddings, as of ``ClipEncoder``."""

    def __init__(self, folder: Path) -> None:
        self._image, self._text = (_session(folder / name) for name in (IMAGE, TEXT))

    def image_features(self, pixels: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Projected picture embeddings."""
        return torch.from_numpy(self._image.run(None, {"pixel_values": pixels.numpy()})[0])

    def text_features(self, ids: Int[Tensor, "n length"]) -> Float[Tensor, "n d"]:
        """Projected text embeddings at the end token."""
        return torch.from_numpy(self._text.run(None, {"input_ids": ids.numpy()})[0])


def require_onnx() -> None:
    """Refuse when a package is missing that writes ONNX or runs what was written."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise UserError(
            got=f"--format onnx without the package{'s' * (len(missing) > 1)} {', '.join(missing)}",
            expected=f"{', '.join(PACKAGES)}: to write the graphs and to run them once before they are kept",
            do=f"pip install {' '.join(missing)} (or litotes with its extra: litotes[onnx])",
        )


def write_onnx(matcher: Matcher, folder: Path, record: dict[str, str]) -> None:
    """Write ``image.onnx`` and ``text.onnx`` beside tokenizer, picture transform and ``record`` in their metadata.

    image: pixel_values [n, 3, side, side] float32, normalised as by the picture transform, to image_embeds [n, d].
    text: input_ids [n, length] int64, from the start token to the end token and then 0, of any length from 2 to the
    context, to text_embeds [n, d]. Names are those of transformers; embeddings are un-normalised. Weights above 1.8 GB
    stand in a file beside their graph.
    """
    folder.mkdir()
    encoder, tokenizer = matcher.encoder, matcher.tokenizer
    pixels = torch.zeros(2, 3, encoder.image_size, encoder.image_size)
    # Three texts of unlike lengths: sizes of 0 and 1 would be taken for constants.
    ids = torch.zeros(3, min(8, encoder.context_length), dtype=torch.long)
    ids[:, 0] = tokenizer.bos
    ids[range(3), [1, 2, ids.shape[1] - 1]] = tokenizer.eos
    batch = torch.export.Dim("n", min=1)
    length = torch.export.Dim("length", min=2, max=encoder.context_length)
    _write(_ImageTower(encoder), pixels, ("pixel_values", "image_embeds"), {0: batch}, folder / IMAGE)
    _write(_TextTower(encoder), ids, ("input_ids", "text_embeds"), {0: batch, 1: length}, folder / TEXT)
    tokenizer.save(folder)
    matcher.preprocess.save(folder)
    (folder / "litotes_export.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _write(tower: nn.Module, example: Tensor, names: tuple[str, str], sizes: dict[int, Any], file: Path) -> None:
    weight = sum(tensor.numel() * tensor.element_size() for tensor in tower.state_dict().values())
    with _quiet(), torch.no_grad():
        torch.onnx.export(
            tower.eval(), (example,), str(file), dynamo=True, opset_version=OPSET, input_names=[names[0]],
            output_names=[names[1]], dynamic_shapes=({**sizes},), external_data=weight > _LARGEST, verbose=False,
        )  # fmt: skip


def _session(file: Path) -> Any:  # noqa: ANN401 (a class of a package that need not be there)
    import onnxruntime  # noqa: PLC0415

    return onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch's exporter tells of its own insides: absent torchvision, names that will go away."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
