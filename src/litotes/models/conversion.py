"""A file of weights in, a folder in transformers' layout out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from litotes.backbones.deviations import ordered_deviations
from litotes.data.images import sha256_of_file
from litotes.errors import UserError
from litotes.models.clip import CONFIG, WEIGHT_ENDINGS, WEIGHTS
from litotes.models.matcher import load_matcher, matcher_of_file
from litotes.models.state_dict_file import Activation, Backbone, load_state_dict_file
from litotes.models.tensors import save_tensors
from litotes.places import require_folder_place

SOURCE_RECORD, MASK_NETWORK = "litotes_source.json", "mask_network.safetensors"


@dataclass(frozen=True)
class SourceRecord:
    """Of the file that a folder was made of: name, sha256, family, and whether its weights were rounded.

    ``round_like_reference``: None in records from before it was kept.
    """

    file: str
    sha256: str
    family: str
    round_like_reference: bool | None


def convert(
    source: str | Path,
    vocabulary: str | Path,
    output: str | Path,
    *,
    activation: Activation | None = None,
    round_like_reference: bool = False,
    sha256: str | None = None,
    picture_deviations: Sequence[str] = (),
) -> Backbone:
    """Write a model file as a folder that ``load_matcher``, and transformers, take.

    ``source``, ``activation``, ``round_like_reference``, ``sha256``: as for ``load_state_dict_file``; ``vocabulary``:
    folder of the tokenizer files, which are copied; ``picture_deviations``: names out of
    ``litotes.backbones.deviations.DEVIATIONS``, kept with the picture transform. Besides model, tokenizer and picture
    transform, the folder gets ``litotes_source.json`` (name and sha256 of the file, its family, the notes) and, of a
    SmartCLIP, ``mask_network.safetensors``. The folder is read again before this returns, and must be the same model;
    its encoder is the one returned.

    Errors: :class:`UserError` of reading; ``source`` is a folder; an unknown deviation; ``output`` cannot be written,
    or holds something already.
    """
    path, folder = Path(source), Path(output)
    if path.is_dir():
        raise _no_file(path)
    deviations = ordered_deviations(picture_deviations, "--picture-deviations")
    require_folder_place(folder)
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(
            got=f"--output {folder}, which is not empty",
            expected="a new or an empty folder",
            do="name another one, or move away what is in it",
        )
    backbone = load_state_dict_file(
        path, activation=activation, round_like_reference=round_like_reference, sha256=sha256
    )
    pictures = f"with {', '.join(deviations)}" if deviations else "as the CLIP reference, without deviations"
    backbone = replace(
        backbone,
        preprocess=replace(backbone.preprocess, deviations=deviations),
        notes=(*backbone.notes, f"pictures are read {pictures}"),
    )
    matcher = matcher_of_file(backbone, vocabulary, path.stem)
    matcher.save(folder)
    if backbone.mask_network:
        save_tensors(
            {name: tensor.contiguous() for name, tensor in backbone.mask_network.items()}, folder / MASK_NETWORK
        )
    record = {
        "file": path.name,
        "sha256": sha256_of_file(path),
        "family": backbone.family,
        "round_like_reference": round_like_reference,
        "notes": list(backbone.notes),
    }
    (folder / SOURCE_RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    fingerprint = matcher.fingerprint
    rest = {field.name: getattr(backbone, field.name) for field in fields(backbone) if field.name != "encoder"}
    del matcher, backbone  # before the same weights are read again
    again = load_matcher(folder)
    if again.fingerprint != fingerprint:
        raise RuntimeError(f"{folder} does not hold the model of {path}")
    return Backbone(encoder=again.encoder, **rest)


def _no_file(folder: Path) -> UserError:
    """What is told of a folder that should have been a file, by what lies in it."""
    files = sorted(path for path in folder.iterdir() if path.suffix in WEIGHT_ENDINGS)
    if (folder / "adapter_config.json").is_file():
        kind, do = "an adapter", f"give it as --adapter {folder} beside the --model that it was trained on"
    elif (folder / CONFIG).is_file() and (folder / WEIGHTS).is_file():
        kind = "a model in transformers' layout"
        do = f"there is nothing to convert: all commands take it as --model {folder}, and litotes export writes it anew"
    elif files:
        kind, do = "a folder", " or ".join(f"--source {path}" for path in files[:3])
    else:
        kind, do = "a folder without a file of weights", "name the file itself"
    return UserError(
        got=f"--source {folder}, which is {kind}", expected=f"one file of weights ({', '.join(WEIGHT_ENDINGS)})", do=do
    )


def source_record(folder: str | Path) -> SourceRecord | None:
    """What ``convert`` recorded of the file that a folder was made of; None for any other model.

    Errors: :class:`UserError` on a record that is not as ``convert`` writes it.
    """
    path = Path(folder) / SOURCE_RECORD
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        rounded = found.get("round_like_reference")
        return SourceRecord(str(found["file"]), str(found["sha256"]), str(found["family"]), rounded)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            got=f"{path}, which cannot be read: {error!r}",
            expected="the record that litotes convert wrote",
            do="convert the model again, or remove this file",
        ) from error
