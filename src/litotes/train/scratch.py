"""Pretraining a small CLIP from scratch on a table of pictures and captions."""

from collections.abc import Callable
from pathlib import Path

from litotes.backbones.preprocess import Preprocess
from litotes.backbones.tokenizer import TextTokenizer
from litotes.backbones.train_tokenizer import train_tokenizer
from litotes.data.images import ImageFiles
from litotes.data.screening import Screening, left_out_notes
from litotes.data.tables import CAPTION, IMAGE, column, filled, read_table
from litotes.models.clip import new_clip
from litotes.models.matcher import Matcher
from litotes.train.config import PretrainConfig
from litotes.train.loop import LoopConfig
from litotes.train.phase import require_place, run_phase
from litotes.train.plan import batch_note
from litotes.train.pretrain import Contrastive, WordWarmup, content_words

HEAD_WIDTH = 32
RISE = 50
"""Steps of rising rate in each phase, if not said otherwise."""
RUNS = ("warmup", "contrastive")
"""Folders of the two phases within the output."""


def pretrain_from_table(settings: PretrainConfig, say: Callable[[str], None] = print) -> Path:
    """Train tokenizer and towers on the table's captions and pictures; returns the folder of the model.

    First the picture tower learns the captions' telling words (``WordWarmup``), then both towers learn the pairs
    (``Contrastive``). Each phase resumes on its own. say: is told what a reader must know.

    Errors: those of the table, of missing and broken pictures and of ``train``.
    """
    require_place(settings.output, RUNS, settings.resume)
    table = read_table(settings.train_data)
    root = settings.images_root or settings.train_data.parent
    files = ImageFiles(column(table, *IMAGE), root, allow_missing=settings.allow_missing)
    every = filled(table, *CAPTION)
    screening = Screening(settings.broken_pictures, settings.allow_missing)
    left = screening.select("train_data", files, range(len(files)))
    if screening.look(Preprocess(settings.image_size).square, settings.workers):
        left = screening.select("train_data", files, range(len(files)))
    pictures, captions = left.pictures, left.of(every)
    for note in (*left_out_notes(screening.record()), batch_note(len(pictures), settings.batch_size)):
        if note:
            say(f"note: {note}")
    matcher = new_matcher(settings, captions)
    if settings.warmup_steps:
        warmup = WordWarmup(matcher, pictures, content_words(captions), seed=settings.seed)
        run_phase(warmup, settings.output / "warmup", _loop(settings, settings.warmup_steps), resume=settings.resume)
        warmup.release()
    task = Contrastive(matcher, pictures, captions)
    run_phase(task, settings.output / "contrastive", _loop(settings, settings.steps), resume=settings.resume)
    matcher.save(settings.output / "model")
    return settings.output / "model"


def new_matcher(settings: PretrainConfig, captions: list[str]) -> Matcher:
    """Random towers of the given sizes, and a tokenizer trained on the captions."""
    folder = settings.output / "tokenizer"
    train_tokenizer(captions, settings.vocabulary, folder)
    tokenizer = TextTokenizer(folder, settings.context)
    vision = {
        "hidden_size": settings.width, "intermediate_size": 4 * settings.width, "num_hidden_layers": settings.layers,
        "num_attention_heads": max(1, settings.width // HEAD_WIDTH), "image_size": settings.image_size,
        "patch_size": settings.patch_size,
    }  # fmt: skip
    text = {
        "hidden_size": settings.text_width, "intermediate_size": 4 * settings.text_width,
        "num_hidden_layers": settings.layers, "num_attention_heads": max(1, settings.text_width // HEAD_WIDTH),
        "max_position_embeddings": settings.context, "vocab_size": tokenizer.vocabulary_size,
    }  # fmt: skip
    encoder = new_clip(vision, text, settings.dimension, eos=tokenizer.eos, bos=tokenizer.bos, seed=settings.seed)
    return Matcher(encoder.to(settings.device), tokenizer, Preprocess(settings.image_size), name=settings.output.name)


def _loop(settings: PretrainConfig, steps: int) -> LoopConfig:
    warmup = min(RISE, steps // 5) if settings.warmup is None else settings.warmup
    return LoopConfig(
        batch_size=settings.batch_size, steps=steps, lr=settings.lr, betas=(0.9, 0.98), warmup=warmup,
        seed=settings.seed, save_every=settings.save_frequency, keep=1, workers=settings.workers,
    )  # fmt: skip
