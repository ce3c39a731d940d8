"""A CLIP from one file in OpenAI's or open_clip's naming."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from torch import Tensor

from litotes.backbones.families import FAMILY_NAMES, MASK, Family, NamedWeights, name_weights
from litotes.backbones.fit import require_fit
from litotes.backbones.layout import ClipSizes, layout, read_sizes
from litotes.backbones.mapped import Consumed
from litotes.backbones.open_clip_config import OPEN_CLIP_CONFIG, OpenClipConfig, read_open_clip_config
from litotes.backbones.openai import KEPT_POSITIONS, rounded_like_reference, to_hf
from litotes.backbones.preprocess import Preprocess
from litotes.backbones.tensor_file import TensorFile, read_tensor_file
from litotes.errors import UserError
from litotes.models.clip import ClipEncoder, clip_of_state

Activation = Literal["quick_gelu", "gelu"]

HEAD_WIDTH = 64
WIDEST = 1024
"""Widest tower whose heads are surely 64 wide: open_clip's ViT-H, g and bigG (1280 and more) have other ones."""

ACTIVATION = "activation"
"""Key of the header of a safetensors file under which its activation may stand."""

MASK_ASIDE = "the mask network is kept aside and not applied"
"""Note on a SmartCLIP, as it is scored in the published evaluations."""

CLIP_VOCABULARY = 49408
LARGEST_SCALE = 4.61
"""ln 100, CLIP's own limit, with room for a rounding to half precision."""


@dataclass(frozen=True)
class Backbone:
    """What a file gave: the ``encoder`` with its ``preprocess``, the ``family``, and ``notes`` to be shown or recorded.

    ``mask_network``: SmartCLIP's, by its own names, in the file's number type; empty for all others. It is not applied
    to any embedding, as in the published evaluations (``models.masking`` does).
    """

    encoder: ClipEncoder
    family: Family
    sizes: ClipSizes
    preprocess: Preprocess
    mask_network: dict[str, Tensor]
    notes: tuple[str, ...]


def load_state_dict_file(
    source: str | Path,
    *,
    activation: Activation | None = None,
    round_like_reference: bool = False,
    sha256: str | None = None,
    device: str = "cpu",
) -> Backbone:
    """Read a CLIP, LongCLIP, HiMo-CLIP or SmartCLIP from one file, in float32, for ``ClipEncoder``.

    ``source``: safetensors, a file of ``torch.save``, or OpenAI's TorchScript archive (``read_tensor_file``); names of
    OpenAI, or of open_clip's CLIP and CustomTextCLIP (``name_weights``). Sizes are read off the shapes. Every name
    and shape must be the family's, every number finite: nothing is skipped and nothing left at random.

    ``activation``: no tensor tells it. OpenAI's archives, LongCLIP, HiMo-CLIP and SmartCLIP have ``quick_gelu``; an
    ``open_clip_config.json`` in the same folder says it for open_clip's, and the header of what ``litotes export``
    wrote; elsewhere it must be given, since the wrong one gives plausible, worse embeddings. ``round_like_reference``:
    weights rounded to float16 as the reference loaders leave them (off: the file's own numbers). ``sha256``: refuse a
    file with another one.

    The end token is the last id of the vocabulary, the one at which the reference pools (49407 for CLIP).

    Errors: :class:`UserError` naming the file, for all of the above, for an activation that contradicts the family or
    the configuration, and for a width whose number of heads cannot be known.
    """
    path = Path(source)
    if activation is not None and activation not in get_args(Activation):
        raise UserError(got=f"activation {activation!r}", expected="'quick_gelu' or 'gelu'", do="name one of the two")
    file = read_tensor_file(path, sha256)
    named = name_weights(file)
    sizes = read_sizes(path, {name: tuple(tensor.shape) for name, tensor in named.tensors.items()})
    model = f"{FAMILY_NAMES[named.family]} with {sizes}"
    require_fit(path, named.tensors, layout(sizes, named.family), model)
    _require_announced(path, named, sizes)
    config = read_open_clip_config(path.parent, sizes) if named.family in ("clip", "custom_text_clip") else None
    chosen, reason = _activation(path, named.family, config, file.said.get(ACTIVATION), activation)
    heads = _heads(path, named.family, sizes, config)
    notes = (f"family: {model}", f"activation {chosen}: {reason}", *file.notes, *_remarks(file, named, sizes))
    tensors = rounded_like_reference(path, named.tensors) if round_like_reference else named.tensors
    mask_network = {name: tensor.clone() for name, tensor in tensors.items() if name.startswith(MASK)}
    consumed = Consumed(path, named.tensors)
    family, preprocess = named.family, config.preprocess if config else Preprocess(size=sizes.image_size)
    del file, named  # so that each tensor goes as soon as the model has its copy
    encoder = _encoder(to_hf(tensors, consumed), sizes, heads, chosen)
    return Backbone(
        encoder=encoder.to(device),
        family=family,
        sizes=sizes,
        preprocess=preprocess,
        mask_network=mask_network,
        notes=(*notes, "weights rounded to float16, as the reference loaders do") if round_like_reference else notes,
    )


def _encoder(state: dict[str, Tensor], sizes: ClipSizes, heads: tuple[int, int], activation: str) -> ClipEncoder:
    vision, text = (
        {
            "hidden_size": sizes.vision_width, "intermediate_size": sizes.vision_hidden,
            "num_hidden_layers": sizes.vision_layers, "num_attention_heads": heads[0],
            "image_size": sizes.image_size, "patch_size": sizes.patch_size,
        },
        {
            "hidden_size": sizes.text_width, "intermediate_size": sizes.text_hidden,
            "num_hidden_layers": sizes.text_layers, "num_attention_heads": heads[1],
            "max_position_embeddings": sizes.context, "vocab_size": sizes.vocabulary,
        },
    )  # fmt: skip
    end = sizes.vocabulary - 1
    return clip_of_state(vision, text, sizes.embedding, state, activation=activation, eos=end, bos=end - 1)


def _require_announced(path: Path, named: NamedWeights, sizes: ClipSizes) -> None:
    found = {
        "input_resolution": sizes.image_size,
        "context_length": sizes.context,
        "vocab_size": sizes.vocabulary,
    }
    for name, said in named.announced.items():
        if said != found[name]:
            raise UserError(
                got=f"{path}: {name} = {said}",
                expected=f"{found[name]}, which its tensors have",
                do="take the file of the model itself",
            )


def _activation(
    path: Path, family: Family, config: OpenClipConfig | None, said: str | None, given: Activation | None
) -> tuple[str, str]:
    """The activation and who says so. ``said``: by the header of the file."""
    if config is not None:
        known, reason = config.activation, f"by {OPEN_CLIP_CONFIG}"
    elif family in ("openai", "longclip", "smartclip"):
        known, reason = "quick_gelu", f"that of {FAMILY_NAMES[family]}"
    elif said is not None and said in get_args(Activation):
        known, reason = said, "as the header of the file says"
    elif given is not None:
        return given, "as given"
    else:
        raise UserError(
            got=f"{path}, {FAMILY_NAMES[family]}, without a word on its activation",
            expected=f"activation = 'quick_gelu' or 'gelu', or the {OPEN_CLIP_CONFIG} of the model beside the file",
            do="say 'quick_gelu' for weights that descend from OpenAI's, 'gelu' for open_clip's that name none",
        )
    if given not in (None, known):
        raise UserError(got=f"activation {given!r} for {path}", expected=f"{known!r}, {reason}", do="leave it out")
    return known, reason


def _heads(path: Path, family: Family, sizes: ClipSizes, config: OpenClipConfig | None) -> tuple[int, int]:
    """Attention heads of pictures and of texts, which no tensor tells."""
    if config is not None:
        return config.vision_heads, config.text_heads
    widths = sizes.vision_width, sizes.text_width
    doubtful = any(width % HEAD_WIDTH for width in widths)
    doubtful |= family in ("clip", "custom_text_clip") and max(widths) > WIDEST
    if doubtful:
        raise UserError(
            got=f"{path} with widths {widths[0]} (pictures) and {widths[1]} (texts) and no word on its heads",
            expected=f"widths that are multiples of {HEAD_WIDTH}, at most {WIDEST} where the family leaves heads open",
            do=f"put the model's {OPEN_CLIP_CONFIG} beside the file",
        )
    return widths[0] // HEAD_WIDTH, widths[1] // HEAD_WIDTH


def _remarks(file: TensorFile, named: NamedWeights, sizes: ClipSizes) -> list[str]:
    remarks = []
    kinds = _kinds(named.tensors)
    if kinds != {"float32": len(named.tensors)}:
        remarks.append("to float32 from " + ", ".join(f"{kind} ({count} tensors)" for kind, count in kinds.items()))
    if file.scripted:
        remarks.append("tensors of a TorchScript archive; its code was not run")
    if "positional_embedding_res" in named.tensors:
        remarks.append(
            f"positions: rows 0 to {KEPT_POSITIONS - 1} of positional_embedding, the others of positional_embedding_res"
        )
    if named.family == "smartclip":
        remarks += [MASK_ASIDE, "SmartCLIP's weights are CC-BY-NC-4.0"]
    if sizes.vocabulary != CLIP_VOCABULARY:
        remarks.append(
            f"a vocabulary of {sizes.vocabulary}, not CLIP's {CLIP_VOCABULARY}: its last id is taken for the end token"
        )
    scale = float(named.tensors["logit_scale"])
    if scale > LARGEST_SCALE:
        remarks.append(f"a logit scale of exp({scale:.2f}) = {math.exp(min(scale, 100)):.3g}, above CLIP's 100")
    return remarks


def _kinds(tensors: Mapping[str, Tensor]) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for tensor in tensors.values():
        kind = str(tensor.dtype).removeprefix("torch.")
        kinds[kind] = kinds.get(kind, 0) + 1
    return kinds
