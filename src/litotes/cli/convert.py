"""``litotes convert``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Settings:
    """A file of weights in OpenAI's or open_clip's naming in, a folder that every command takes out.

    source: file of a CLIP, LongCLIP, HiMo-CLIP or SmartCLIP (.pt, .safetensors); no code in it is run
    vocabulary: folder with the model's tokenizer files (vocab.json and merges.txt, or tokenizer.json), which no such
        file holds; all four families share CLIP's, for instance that of openai/clip-vit-base-patch32. Or OpenAI's own
        bpe_simple_vocab_16e6.txt.gz, or clip or open_clip where that package, which holds it, is installed
    output: folder to write, empty or new
    activation: "quick_gelu" or "gelu"; needed where neither the family nor an open_clip_config.json beside the file
        says it ("quick_gelu" for weights that descend from OpenAI's); by default what these say
    round_like_reference: round weights to float16, as the reference loaders of these families do; off by default
    sha256: refuse a file with another hash; not checked by default
    picture_deviations: where pictures are to be read otherwise than the CLIP reference does: some of exif, 16bit,
        palette, icc, alpha, with commas. Kept with the model, so that all commands do the same; none by default
    """

    source: Path
    vocabulary: Path
    output: Path
    activation: Literal["quick_gelu", "gelu"] | None = None
    round_like_reference: bool = False
    sha256: str = ""
    picture_deviations: tuple[str, ...] = ()


def run(settings: Settings) -> None:
    """Read, write, and read again what was written."""
    from litotes.models.conversion import convert

    backbone = convert(
        settings.source,
        settings.vocabulary,
        settings.output,
        activation=settings.activation,
        round_like_reference=settings.round_like_reference,
        sha256=settings.sha256 or None,
        picture_deviations=settings.picture_deviations,
    )
    print("\n".join(f"- {note}" for note in backbone.notes))
    print(f"written to {settings.output}; from here on: litotes evaluate --model {settings.output} ...")
