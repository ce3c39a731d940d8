"""The demo's models and recipes: the small CLIP that ships, and how it is adapted."""

from dataclasses import replace
from pathlib import Path

from litotes.models.lora import load_adapter
from litotes.models.lora_settings import LoraSettings
from litotes.models.matcher import Matcher, load_matcher
from litotes.objectives.hanclip import HanclipConfig
from litotes.objectives.hco import HcoConfig
from litotes.train.loop import LoopConfig
from litotes.train.negation import NegationConfig
from litotes.train.recipes import EXTENDED_LORA, MIRROR, Recipe, extended, infonce, negatives, paper_hanclip

__all__ = [
    "ASSETS", "EXTENDED_LORA", "SINGLE", "TRUTHFUL", "base_matcher", "control_recipe", "extended_matcher",
    "extended_recipe", "hanclip_recipe", "infonce_recipe", "negatives_recipe",
]  # fmt: skip

ASSETS = Path(__file__).parent / "assets"
TRUTHFUL = 0.6
"""Share of truthful denials among the P' of the extended recipe and its control."""
SINGLE = 0.25
"""Share of their pictures that show a single thing, as the pictures of classification do."""
EXTENDED_STEPS = 1_600
"""Steps of their run with pictures: at 800 the model was better than the base too, but less so in everything."""
_TEXT_LORA = LoraSettings(towers="text", rank=8, alpha=5.6, dropout=0.0)
_LOOP = LoopConfig(batch_size=64, steps=160, lr=1e-3, warmup=20, save_every=0)
_MODEL_TEMPERATURE = HanclipConfig(hco=HcoConfig(temperature="model"))


def base_matcher() -> Matcher:
    """The small CLIP that comes with the package."""
    return load_matcher(ASSETS / "model")


def extended_matcher() -> Matcher:
    """The small CLIP with the extended adapter that comes with the package."""
    matcher = base_matcher()
    load_adapter(matcher, ASSETS / "extended")
    return matcher


def hanclip_recipe(seed: int = 0) -> Recipe:
    """HANCLIP for the small model: its own temperature, LoRA on q, k, v of the text tower, 160 steps of 64."""
    recipe = paper_hanclip()
    return _short(replace(recipe, negation=replace(recipe.negation, objective=_MODEL_TEMPERATURE)), seed)


def infonce_recipe(seed: int = 0) -> Recipe:
    """The control: the same adapter, pictures and steps, with plain InfoNCE on pictures and captions."""
    return _short(infonce(), seed)


def negatives_recipe(seed: int = 0) -> Recipe:
    """The control in the manner of CoN-CLIP: InfoNCE with N as further text negatives, without P'."""
    return _short(negatives(), seed)


def extended_recipe(seed: int = 0, steps: int = EXTENDED_STEPS) -> Recipe:
    """The extended recipe, with checkpoints every 100 steps."""
    recipe, lesson = extended(steps), replace(MIRROR, loop=replace(MIRROR.loop, seed=seed))
    return replace(recipe, loop=replace(recipe.loop, seed=seed, save_every=100, keep=1), lesson=lesson)


def control_recipe(seed: int = 0, steps: int = EXTENDED_STEPS) -> Recipe:
    """The extended recipe's control: the same towers, steps and pictures with InfoNCE alone."""
    recipe = extended_recipe(seed, steps)
    return replace(recipe, negation=NegationConfig(hanclip=0.0, retention=recipe.negation.retention), lesson=None)


def _short(recipe: Recipe, seed: int) -> Recipe:
    """The recipe on the small model's adapter and in its few steps."""
    return replace(recipe, loop=replace(_LOOP, seed=seed), lora=_TEXT_LORA)
