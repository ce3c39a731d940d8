"""``litotes doctor``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from litotes.models.conversion import SourceRecord
    from litotes.models.examination import Answers, Facts
    from litotes.models.matcher import Matcher


@dataclass(frozen=True)
class Settings:
    """Look at a model before trusting figures of it.

    model: folder of a CLIP in transformers' layout, or a file of weights with --vocabulary
    vocabulary: folder of tokenizer files, or bpe_simple_vocab_16e6.txt.gz, for a model that is a file; none by default
    activation: "quick_gelu" or "gelu", for a file that leaves it open; by default what its family says
    round_like_reference: of a file, round weights to float16 as the reference loaders do; off by default
    sha256: refuse another file, or a folder with another model.safetensors; not checked by default
    adapter: LoRA adapter to mount, a PEFT folder or CLIP-LoRA's own file (with --any-base); none by default
    any_base: take an adapter that does not name its base model
    device: torch device
    allow_network: let --model be a hub id that is downloaded
    """

    model: Path
    vocabulary: Path | None = None
    activation: Literal["quick_gelu", "gelu"] | None = None
    round_like_reference: bool = False
    sha256: str | None = None
    adapter: Path | None = None
    any_base: bool = False
    device: str = "cpu"
    allow_network: bool = False


_WHERE = ("vocabulary", "activation", "round_like_reference", "sha256", "allow_network")
"""Settings that tell where a model is and how it is read."""


def run(settings: Settings) -> None:
    """Load, ask, print what was found. Errors: those of loading; a check that failed, after everything is printed."""
    from functools import partial

    from litotes.errors import UserError, together
    from litotes.evaluate.command import require_device
    from litotes.models.conversion import source_record
    from litotes.models.examination import ask, facts_of, oddities
    from litotes.models.loading import load_backbone, require_source
    from litotes.models.lora import load_adapter, require_adapter_files

    require_device(settings.device)
    where: dict[str, Any] = {name: getattr(settings, name) for name in _WHERE}
    find_adapter = [partial(require_adapter_files, settings.adapter)] if settings.adapter else []
    together(partial(require_source, settings.model, **where), *find_adapter)
    matcher = load_backbone(settings.model, device=settings.device, **where)
    if settings.adapter:
        load_adapter(matcher, settings.adapter, any_base=settings.any_base)
    record = source_record(settings.model)
    facts = facts_of(matcher, matcher.family)
    answers = ask(matcher)
    print(_sheet(matcher, facts, settings, record), _asked(answers), sep="\n\n")
    odd = oddities(facts)
    print("\n" + ("\n".join(f"warning: {sentence}" for sentence in odd) or "nothing odd was found"))
    failed = [check.what for check in answers.checks if not check.passed]
    if failed:
        raise UserError(
            got=f"a model that fails: {'; '.join(failed)}",
            expected="finite embeddings that depend on their own input alone",
            do="take the model again from its source; on another device than cpu, try --device cpu",
        )


def _sheet(matcher: "Matcher", facts: "Facts", settings: Settings, record: "SourceRecord | None") -> str:
    vision, text = facts.vision, facts.text
    weights = sum(tensor.numel() for tensor in matcher.encoder.base_state().values())
    pre = matcher.preprocess
    lines = {
        "model": str(settings.model),
        "family": _family(matcher, record),
        "pictures": f"{facts.image_size} px in patches of {facts.patch}; width {vision.width}, "
        f"{vision.layers} layers of {vision.heads} heads",
        "texts": f"up to {facts.context} tokens; width {text.width}, {text.layers} layers of {text.heads} heads",
        "embedding": f"{facts.embedding} numbers, logit scale {matcher.scale:.4g}",
        "parameters": f"{weights:,}",
        "activation": facts.activation,
        "preprocessing": f"mode {pre.mode}, mean {pre.mean}, std {pre.std}",
        "vocabulary": f"{facts.tokens:,} tokens of {settings.vocabulary or settings.model}",
        "vocabulary hash": matcher.tokenizer.fingerprint,
        "base weights": matcher.base,
        "fingerprint": matcher.fingerprint,
        "adapter": matcher.adapter or "none",
    }
    told = [f"- {note}" for note in matcher.notes[1:]]
    return "\n".join([*(f"{name:<17}{value}" for name, value in lines.items()), *told])


def _family(matcher: "Matcher", record: "SourceRecord | None") -> str:
    """What the file showed when it was read, now or when it was converted."""
    if matcher.notes:
        return matcher.notes[0].removeprefix("family: ")
    if record:
        return f"{record.family}, converted from {record.file} (sha256 {record.sha256[:12]})"
    return "not recorded: a folder in transformers' layout"


def _asked(answers: "Answers") -> str:
    from litotes.models.examination import TEXTS, drawn_pictures

    pictures = drawn_pictures()
    lines = [f"{'ok  ' if check.passed else 'FAIL'} {check.what} ({check.found})" for check in answers.checks]
    names = [pictures.name(i) for i in range(len(pictures))]
    lines += ["", "cosine with " + "  ".join(f"{name:>12}" for name in names)]
    for text, column in zip(TEXTS, answers.cosines.T.tolist(), strict=True):
        shown = "  ".join(f"{cosine:>12.3f}" for cosine in column)
        lines.append(f"            {shown}  {text}")
    return "\n".join(lines)
