"""Twelve pairs, a tiny CLIP with an adapter that drops out, and runs of twelve steps on them."""

from litotes.data.claims import Claim
from litotes.data.quadruplets import Quadruplets
from litotes.data.statements import OptionSet
from litotes.models.lora import add_lora
from litotes.models.lora_settings import LoraSettings, describe
from litotes.train.journal import read_journal
from litotes.train.loop import LoopConfig, train
from litotes.train.negation import Negation, NegationConfig
from tiny import noise_pictures, tiny_matcher

CAPTIONS = (
    "a red square", "no red square", "a blue square but no circle", "two squares", "a square without a border",
    "no shapes at all", "a green square", "not a green square", "a dark square", "a bright square",
    "no square, only noise", "a small square",
)  # fmt: skip
CLAIMS = (Claim(("square",), ()), Claim(("cat",), ("square",)), Claim(("cat",), ()), Claim((), ("square",)))
LORA = LoraSettings(rank=2, dropout=0.25)
# Four epochs of three steps; the rate rises over two steps.
LOOP = LoopConfig(batch_size=4, epochs=4, lr=1e-2, warmup=2, seed=7, save_every=1)


def data(n=12, seed=0):
    """``n`` quadruplets of noise and square captions."""
    captions = [CAPTIONS[i % 12] if i < 12 else f"{CAPTIONS[i % 12]} {i}" for i in range(n)]
    return Quadruplets(
        noise_pictures(n, seed=seed),
        tuple(captions),
        tuple(f"this is {caption} but no cat" for caption in captions),
        tuple(f"a photo without {caption}" for caption in captions),
        tuple(("square",) if i % 3 else ("cat",) for i in range(n)),
    )


def options(n=12):
    """One true and three false statements a picture."""
    return [
        OptionSet(f"a square {i}", (f"a cat {i} but no square", f"a cat {i}", f"no square {i}"), "positive", CLAIMS)
        for i in range(n)
    ]


def matcher(folder, layers=1):
    """A tiny CLIP with random weights that can write the toy captions."""
    return tiny_matcher(folder / "tokenizer", [*CAPTIONS, "this is a photo without a cat"], layers=layers)


def adapted(folder, lora=LORA):
    """The same with a fresh adapter."""
    made = matcher(folder)
    add_lora(made.encoder, lora, seed=1)
    return made


def run(folder, name, config=LOOP, *, lora=LORA, negation=None, quadruplets=None, resume=False, on_step=None):
    """Train an adapter in ``folder / name`` and return the task."""
    task = Negation(
        adapted(folder / "model", lora), quadruplets or data(), negation or NegationConfig(), trained=describe(lora)
    )
    train(task, config, folder / name, resume=resume, on_step=on_step, quiet=True)
    return task


def outcome(folder, name, task):
    """What must not depend on how often a run was stopped: final weights, and every step but its speed."""
    lines = read_journal(folder / name / "journal.jsonl")
    steps = [{key: value for key, value in line.items() if key != "samples_per_s"} for line in lines]
    weights = {key: p.detach().clone() for key, p in task.module.named_parameters()}
    return weights, steps
