"""The one place that calls transformers' CLIPModel."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import huggingface_hub
import torch
from huggingface_hub.errors import StrictDataclassError
from jaxtyping import Float, Int
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import CLIPConfig, CLIPModel
from transformers.utils import logging

from litotes.backbones.fit import first_three, shape_problems
from litotes.backbones.mapped import Consumed
from litotes.backbones.tensor_file import no_safetensors, require_weights
from litotes.errors import UserError
from litotes.models.activation import spare_memory
from litotes.models.last_layer import first_token
from litotes.places import require_files

CONFIG, WEIGHTS = "config.json", "model.safetensors"
WEIGHT_ENDINGS = (".pt", ".pth", ".ckpt", ".bin", ".safetensors")
"""Of files of weights, by which a path that is not there is taken for one."""
_HUB_FILES = (
    CONFIG, WEIGHTS, "vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json",
    "preprocessor_config.json",
)  # fmt: skip

_COUNTERS = "embeddings.position_ids"
"""Of positions; files written by transformers before version 5 hold them too."""

_UNFIT = (ValueError, TypeError, AttributeError, StrictDataclassError)
"""What transformers raises on sizes that do not fit each other."""

LEGACY_EOS = 2
"""End token in old configurations of OpenAI's models; transformers then pools at the largest id of a row."""

Sizes = dict[str, int]
VIT_B_32: tuple[Sizes, Sizes, int] = (
    {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
     "image_size": 224, "patch_size": 32},
    {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 12, "num_attention_heads": 8,
     "max_position_embeddings": 77, "vocab_size": 49408},
    512,
)  # fmt: skip


class ClipEncoder(nn.Module):
    """Two towers and a logit scale: un-normalised embeddings of pictures and of texts.

    ``image_features(pixels [n, 3, h, w]) -> [n, d]`` and ``text_features(ids [n, length]) -> [n, d]`` are the
    projected embeddings as CLIP gives them, before any normalisation. Ids are padded with 0 after the end token:
    attention is causal, so neither the padding nor the length of the batch changes a row (to 1e-6).
    ``adapter_factor``: what a mounted LoRA adapter's update is multiplied by; None without one.
    """

    def __init__(self, clip: CLIPModel) -> None:
        super().__init__()
        spare_memory(clip)
        self.clip = clip
        self.adapter_factor: float | None = None
        self._hashed: tuple[list[tuple[int, int]], str] = ([], "")

    def image_features(self, pixels: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Projected picture embeddings, un-normalised.

        Where nothing is to be learnt, the last block is computed for the class token alone: the same to 1e-6. In
        training it is computed whole, so that an adapter's dropout draws for every token.
        """
        if self.training or torch.is_grad_enabled():
            return self.clip.get_image_features(pixel_values=pixels).pooler_output
        tower = self.clip.vision_model
        tokens = tower.pre_layrnorm(tower.embeddings(pixels))
        *blocks, last = tower.encoder.layers
        for block in blocks:
            tokens = block(tokens, None)
        return self.clip.visual_projection(tower.post_layernorm(first_token(last, tokens)))

    def text_features(self, ids: Int[Tensor, "n length"]) -> Float[Tensor, "n d"]:
        """Projected text embeddings at the end token, un-normalised."""
        return self.clip.get_text_features(input_ids=ids).pooler_output

    def grouped_text_features(self, ids: Int[Tensor, "n length"], group: int = 96) -> Float[Tensor, "n d"]:
        """``text_features`` of many texts of unlike lengths, without paying for their padding.

        Texts are sorted by length and encoded in groups of ``group``, each trimmed to its own longest; the rows come
        back in the order given, equal to one call on all of them to 1e-6.
        """
        lengths = text_lengths(ids)
        order = lengths.argsort(stable=True)
        parts = [self.text_features(ids[rows, : int(lengths[rows].max())]) for rows in order.split(group)]
        return torch.cat(parts)[order.argsort()]

    def image_tokens(self, pixels: Float[Tensor, "n c h w"]) -> Float[Tensor, "n length width"]:
        """What the last block gives for each token, the class token first, before the final norm and projection."""
        return self.clip.vision_model(pixel_values=pixels).last_hidden_state

    def text_tokens(self, ids: Int[Tensor, "n length"]) -> Float[Tensor, "n length width"]:
        """What the last block gives for each token, behind the final norm and before the projection.

        Rows go on behind the end token, where they mean nothing: see ``text_lengths``.
        """
        return self.clip.text_model(input_ids=ids).last_hidden_state

    def text_features_and_tokens(
        self, ids: Int[Tensor, "n length"]
    ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n length w"]]:
        """``text_features`` and ``text_tokens`` of one pass."""
        output = self.clip.get_text_features(input_ids=ids)
        return output.pooler_output, output.last_hidden_state

    @property
    def text_heads(self) -> int:
        """Attention heads of a block of the text tower."""
        return int(self.clip.config.text_config.num_attention_heads)

    @property
    def vision_heads(self) -> int:
        """Attention heads of a block of the vision tower."""
        return int(self.clip.config.vision_config.num_attention_heads)

    @property
    def token_widths(self) -> tuple[int, int]:
        """Dimensions of an image token and of a text token."""
        config = self.clip.config
        return int(config.vision_config.hidden_size), int(config.text_config.hidden_size)

    @property
    def image_token_count(self) -> int:
        """Tokens of a picture: the class token and one a patch."""
        config = self.clip.config.vision_config
        return 1 + (int(config.image_size) // int(config.patch_size)) ** 2

    @property
    def scale(self) -> Tensor:
        """exp(logit_scale), the factor on the cosine that the model was trained with (1 / temperature)."""
        return self.clip.logit_scale.exp()

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.clip.logit_scale.device

    @property
    def image_size(self) -> int:
        """Side of the square input picture in pixels."""
        return int(self.clip.config.vision_config.image_size)

    @property
    def context_length(self) -> int:
        """Most tokens a text may have, start and end tokens included."""
        return int(self.clip.config.text_config.max_position_embeddings)

    @property
    def activation(self) -> str:
        """Name of the activation of both towers, as transformers spells it (``quick_gelu`` for OpenAI's)."""
        vision, text = self.clip.config.vision_config.hidden_act, self.clip.config.text_config.hidden_act
        return vision if vision == text else f"{vision} (vision), {text} (text)"

    @property
    def decisive(self) -> dict[str, object]:
        """What beside the weights decides an embedding: the numbers of the configuration, an adapter's factor."""
        config = {"text": self.clip.config.text_config, "vision": self.clip.config.vision_config}
        told = {
            f"{tower}.{name}": getattr(config[tower], name)
            for tower in config
            for name in ("hidden_act", "layer_norm_eps", "num_attention_heads", "num_hidden_layers")
        }
        return {**told, "eos_token_id": config["text"].eos_token_id, "adapter_factor": self.adapter_factor}

    def base_state(self) -> dict[str, Tensor]:
        """Weights of the base model under their own names, whatever adapter is mounted on it."""
        state = {}
        for name, tensor in self.clip.state_dict().items():
            if ".lora_" not in name:
                state[name.replace(".base_layer.", ".")] = tensor
        return state

    def base_fingerprint(self) -> str:
        """sha256 over names, shapes, dtypes and bytes of the base weights; an adapter names the base by it.

        The logit scale is left out: no embedding depends on it, and an adapter brings its own. Hashing a large model
        takes seconds, so the result is kept until a weight is written to (torch counts that).
        """
        state = {name: tensor for name, tensor in self.base_state().items() if name != "logit_scale"}
        written = [(tensor.data_ptr(), tensor._version) for tensor in state.values()]
        if written != self._hashed[0]:
            digest = hashlib.sha256()
            for name, tensor in sorted(state.items()):
                digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
                digest.update(tensor_bytes(tensor))
            self._hashed = (written, digest.hexdigest())
        return self._hashed[1]


def text_lengths(ids: Int[Tensor, "n length"]) -> Int[Tensor, "n"]:
    """Tokens of each row, from the start token to the end token: what stands before the padding with 0.

    By the padding and not by the end token: configurations of OpenAI's models on the hub name a wrong one.
    """
    return ids.shape[1] - (ids != 0).flip(1).int().argmax(dim=1)


def add_tensors(digest: "hashlib._Hash", tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Let a digest go on over names and bytes of tensors, in their order."""
    for name, tensor in tensors:
        digest.update(name.encode())
        digest.update(tensor_bytes(tensor))


def tensor_bytes(tensor: Tensor) -> bytes:
    """The numbers of a tensor as bytes, for hashing."""
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def new_clip(vision: Sizes, text: Sizes, projection: int, *, eos: int, bos: int, seed: int = 0) -> ClipEncoder:
    """A CLIP of the given sizes with random weights, quick-GELU in both towers, drawn from ``seed``.

    ``eos`` must not be 2: transformers then pools at the largest id instead of the first end token. Other errors:
    sizes that do not fit each other.
    """
    with _fitting_sizes("choose for instance a width of 128 and pictures of 64 pixels"):
        config = _configuration(vision, text, projection, activation="quick_gelu", eos=eos, bos=bos)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return ClipEncoder(CLIPModel(config)).eval()


def clip_of_state(
    vision: Sizes, text: Sizes, projection: int, state: Mapping[str, Tensor], *, activation: str, eos: int, bos: int
) -> ClipEncoder:
    """A CLIP of the given sizes with the weights of ``state``, under transformers' names, all of them and no other.

    The tensors become the model's own: they are neither copied nor drawn at random first. ``activation``: of both
    towers, as transformers spells it. Errors: sizes that do not fit each other; names or shapes in ``state`` that are
    not the model's raise RuntimeError, since who calls has made them.
    """
    with _fitting_sizes("take the file of a whole CLIP"):
        config = _configuration(vision, text, projection, activation=activation, eos=eos, bos=bos)
        with torch.device("meta"):
            clip = CLIPModel(config)
    return _filled(clip, state)


def _filled(clip: CLIPModel, state: Mapping[str, Tensor]) -> ClipEncoder:
    """A model without numbers gets these as its own."""
    clip.load_state_dict(dict(state), strict=True, assign=True)
    # The counters of positions are in no state dict, and stay without numbers otherwise.
    for name, buffer in list(clip.named_buffers()):
        module, _, kind = name.rpartition(".")
        clip.get_submodule(module).register_buffer(kind, torch.arange(buffer.shape[-1])[None], persistent=False)
    return ClipEncoder(clip).eval()


@contextmanager
def _fitting_sizes(do: str) -> Iterator[None]:
    """Turns what transformers raises on sizes that fit no model into an error that says what to ``do``."""
    try:
        yield
    except _UNFIT as error:
        raise UserError(
            got=f"sizes that fit no model: {error}",
            expected="widths that are multiples of the number of heads, all sizes above 0",
            do=do,
        ) from error


def _configuration(vision: Sizes, text: Sizes, projection: int, *, activation: str, eos: int, bos: int) -> CLIPConfig:
    if eos == LEGACY_EOS:
        raise UserError(
            got="end token id 2",
            expected="another id: transformers treats 2 as a legacy mark and pools at the largest id",
            do="train the tokenizer with litotes, which puts the end token last",
        )
    common = {"hidden_act": activation, "projection_dim": projection}
    return CLIPConfig(
        vision_config={**vision, **common},
        text_config={**text, **common, "eos_token_id": eos, "bos_token_id": bos, "pad_token_id": 0},
        projection_dim=projection,
    )


def load_clip(source: str | Path, *, device: str = "cpu", allow_network: bool = False) -> ClipEncoder:
    """A CLIP from a folder in transformers' layout (``config.json`` + ``model.safetensors``), in float32.

    ``source``: as for ``local_folder``. Weights are read from safetensors alone, every name and shape must match, and
    all values must be finite: nothing is skipped or re-initialised.
    """
    folder = local_folder(source, allow_network)
    clip = _described(folder)
    _require_fitting_weights(folder, clip)
    return _filled(clip, _finite_weights(folder)).to(device)


def _finite_weights(folder: Path) -> dict[str, Tensor]:
    """The weights of a folder in float32, copied one by one, so that file and copy never lie in memory whole."""
    path = folder / WEIGHTS
    tensors, state = load_file(path), {}
    consumed = Consumed(path, tensors)
    for name in list(tensors):
        if not name.endswith(_COUNTERS):
            state[name] = tensors[name].to(torch.float32, copy=True)
        consumed(name)
    bad = [name for name, tensor in state.items() if not torch.isfinite(tensor).all()]
    if bad:
        raise UserError(
            got=f"{folder} with NaN or infinite numbers in {bad[0]}" + (f" and {len(bad) - 1} more" * (len(bad) > 1)),
            expected="finite weights",
            do="take another copy or an earlier checkpoint",
        )
    return state


def local_folder(source: str | Path, allow_network: bool = False) -> Path:
    """The folder of a model: ``source`` itself, or the hub's model of that name, fetched only with ``allow_network``.

    Errors: no such folder, without ``allow_network``; the hub has no such model or is not reached; ``config.json`` or
    ``model.safetensors`` is missing.
    """
    folder = Path(source)
    if not folder.is_dir():
        if not allow_network:
            raise UserError(
                got=f"{source!s}, which is not a folder here",
                expected="a folder with config.json and model.safetensors",
                do="check the path, or say --allow-network to fetch a model of this name from the hub",
            )
        folder = _fetched(str(source))
    require_files(folder, (CONFIG, WEIGHTS), "a CLIP folder in transformers' layout", _instead(folder))
    require_weights(folder / WEIGHTS)
    return folder


def _instead(folder: Path) -> str:
    """What to do with a folder that is no model's."""
    if (folder / "adapter_config.json").is_file():
        return f"that is an adapter: give its base as the model, and --adapter {folder}"
    files = sorted(path for path in folder.glob("*") if path.suffix in WEIGHT_ENDINGS)
    if files:
        return f"convert its file first: litotes convert --source {files[0]} --vocabulary FOLDER --output NEW"
    return "point to the folder that save_pretrained wrote"


def _fetched(name: str) -> Path:
    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=list(_HUB_FILES)))
    except (OSError, ValueError) as error:
        raise UserError(
            got=f"no model {name!r} from the hub: {str(error).splitlines()[0]}",
            expected="the id of a model on the hub (owner/name), and a connection",
            do="check the id, or give a folder",
        ) from error


def _described(folder: Path) -> CLIPModel:
    """The model of ``config.json``, its layers without numbers in them."""
    path = folder / CONFIG
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values.get("model_type") == "clip":
            with quiet_transformers(), torch.device("meta"):
                return CLIPModel(CLIPConfig.from_dict(values))
    except _UNFIT as error:
        raise UserError(
            got=f"{path}: {error}",
            expected="the configuration of a CLIP model",
            do="take the file again from its source",
        ) from error
    raise UserError(
        got=f"a model of type {values.get('model_type')!r} in {path}",
        expected="'clip', transformers' CLIPModel",
        do="give a CLIP model, or convert it to this layout first",
    )


def _require_fitting_weights(folder: Path, model: CLIPModel) -> None:
    """Compare names and shapes by the file's header, before any number is read."""
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    try:
        with safe_open(folder / WEIGHTS, "pt") as file:
            found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except SafetensorError as error:
        raise no_safetensors(folder / WEIGHTS, error) from error
    found = {name: shape for name, shape in found.items() if not name.endswith(_COUNTERS)}
    problems = shape_problems(found, wanted)
    if problems:
        raise UserError(
            got=f"{folder / WEIGHTS}: {first_three(problems)}",
            expected=f"exactly the weights of the model that {folder / CONFIG} describes",
            do="use the config.json that belongs to these weights",
        )


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without the progress bar and the warnings of transformers: what matters is checked here and told in full."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
