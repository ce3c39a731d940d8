"""Pretraining the demo's small CLIP on the picture-book world (``litotes demo pretrain``)."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from litotes.backbones.preprocess import Preprocess
from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.data import wordings
from litotes.data.templates import TEMPLATES
from litotes.demo.language import chatter_words
from litotes.demo.scenes import SIDE
from litotes.demo.warmup import SceneWarmup
from litotes.demo.world import WorldCaptions, WorldPictures
from litotes.models.clip import new_clip
from litotes.models.matcher import Matcher
from litotes.models.tensors import save_tensors
from litotes.train.loop import LoopConfig
from litotes.train.phase import run_phase
from litotes.train.pretrain import Contrastive

VISION = {
    "hidden_size": 192, "intermediate_size": 768, "num_hidden_layers": 3, "num_attention_heads": 6,
    "image_size": SIDE, "patch_size": 16,
}  # fmt: skip
TEXT = {
    "hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 3, "num_attention_heads": 4,
    "max_position_embeddings": 77,
}  # fmt: skip
PROJECTION = 128
VOCABULARY = 1400
_TOKENIZER_CAPTIONS = 20_000
_WARMUP_BATCH = 64
_BATCH = 128
_WARMUP_SINGLE = 0.6
_WARMUP_LR = 1.5e-3


def tag_words() -> tuple[str, ...]:
    """Words of the 26 templates and of every statement wording, so that pretraining makes tokens of them all."""
    families = (
        wordings.TRAIN_WORDINGS, wordings.NEGBENCH_WORDINGS, wordings.HELD_OUT_WORDINGS, wordings.NEW_CUE_WORDINGS,
    )  # fmt: skip
    frames = [template.text for template in TEMPLATES]
    frames += [frame for family in families for kind in family for frame in kind]
    words = {word.strip(".,;:?!").lower() for frame in frames for word in re.sub(r"{[^}]*}", "", frame).split()}
    return tuple(sorted(words - {""}))


def new_matcher(folder: Path, seed: int) -> Matcher:
    """A small CLIP with random weights, and a tokenizer trained on the world's captions in ``folder``."""
    captions = WorldCaptions(WorldPictures(seed, _TOKENIZER_CAPTIONS), tag_words())
    corpus = [
        *(captions[i] for i in range(_TOKENIZER_CAPTIONS)),
        *(" ".join(tag_words()) for _ in range(200)),
        *(" ".join(chatter_words()) for _ in range(50)),
    ]
    train_tokenizer(corpus, VOCABULARY, folder)
    tokenizer = TextTokenizer(folder, TEXT["max_position_embeddings"])
    text = {**TEXT, "vocab_size": tokenizer.vocabulary_size}
    encoder = new_clip(VISION, text, PROJECTION, eos=tokenizer.eos, bos=tokenizer.bos, seed=seed)
    return Matcher(encoder, tokenizer, Preprocess(SIDE), name="picture-book CLIP")


@dataclass(frozen=True)
class PretrainPlan:
    """How the demo's model is pretrained: steps, peak rate, seed, worker processes that draw.

    The warm-up takes small batches, each picture being its own signal, and more pictures of a single thing.
    """

    warmup_steps: int = 1300
    steps: int = 1000
    lr: float = 1e-3
    seed: int = 0
    workers: int = 1


def pretrain(folder: Path, plan: PretrainPlan, *, resume: bool = False, quiet: bool = False) -> Matcher:
    """Pretrain from nothing: a warm-up on words, then contrastive pairs; both phases resume where they stopped.

    ``folder`` receives the tokenizer, the two runs and, in ``model``, the result in transformers' layout.
    """
    matcher = new_matcher(folder / "tokenizer", plan.seed)
    pictures = WorldPictures(10 * plan.seed + 11, plan.warmup_steps * _WARMUP_BATCH, _WARMUP_SINGLE)
    warmup = SceneWarmup(matcher, pictures, plan.seed)
    loop = replace(_loop(plan, _WARMUP_BATCH, plan.warmup_steps), lr=_WARMUP_LR)
    run_phase(warmup, folder / "warmup", loop, resume=resume, quiet=quiet)
    warmup.release()
    pictures = WorldPictures(10 * plan.seed + 12, plan.steps * _BATCH)
    task = Contrastive(matcher, pictures, WorldCaptions(pictures, tag_words()), data=repr(pictures))
    run_phase(task, folder / "contrastive", _loop(plan, _BATCH, plan.steps), resume=resume, quiet=quiet)
    matcher.encoder.eval()
    matcher.save(folder / "model")
    return matcher


def _loop(plan: PretrainPlan, batch_size: int, steps: int) -> LoopConfig:
    return LoopConfig(
        batch_size=batch_size, steps=steps, lr=plan.lr, betas=(0.9, 0.98), warmup=50, seed=plan.seed,
        save_every=100, keep=1, workers=plan.workers,
    )  # fmt: skip


def save_half(matcher: Matcher, folder: Path) -> None:
    """Write the model in float16, as it ships with the package; it is read back into float32."""
    matcher.save(folder)
    weights = {name: tensor.half().contiguous() for name, tensor in matcher.encoder.clip.state_dict().items()}
    save_tensors(weights, folder / "model.safetensors", metadata={"format": "pt"})
