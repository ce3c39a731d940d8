"""``litotes export``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Settings:
    """A model, with adapters merged into it, or an adapter alone, for the tools that others use; read again first.

    model: folder of the model, in transformers' layout
    format: "hf", a folder for transformers and for every command here; "openai", a safetensors file in the naming of
        OpenAI's CLIP, LongCLIP, HiMo-CLIP and SmartCLIP; "open_clip", a folder for open_clip; "onnx", a folder
        with a graph of each tower for onnxruntime (needs the packages onnx, onnxscript and onnxruntime); "peft", the
        one adapter by itself as a folder for PEFT and for every command here, which names the model by its hash
    output: what to write, a name that is not there yet
    adapter: LoRA adapter to merge into the model, or to write by itself: a PEFT folder, or CLIP-LoRA's own file (with
        --any-base); given several times, the adapters, of one base, are summed; none by default
    alpha: how far to go from the base (0) to the adapted model (1), by the weights
    any_base: take an adapter that does not name its base model; off by default
    """

    model: Path
    format: Literal["hf", "openai", "open_clip", "onnx", "peft"]
    output: Path
    adapter: tuple[Path, ...] = ()
    alpha: float = 1.0
    any_base: bool = False


def run(settings: Settings) -> None:
    """Merge, write, read again, and tell how far apart the two are."""
    from litotes.export.writing import export

    done = export(
        settings.model,
        settings.output,
        settings.format,
        adapters=settings.adapter,
        alpha=settings.alpha,
        any_base=settings.any_base,
    )
    print("\n".join(f"- {note}" for note in done.notes), end="\n" if done.notes else "")
    print(
        f"read again: the embeddings of pictures differ by {done.image_difference:.1e} at most, "
        f"those of texts by {done.text_difference:.1e}"
    )
    print(f"written to {settings.output}\nto use it: {done.use}")
