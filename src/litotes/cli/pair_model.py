"""What commands that use an adapter of pairs do first: check all that is named, load it, look at the pictures."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from rich.console import Console

from litotes.cli import calibrate, data_suspects
from litotes.data.screening import Screening, left_out_notes
from litotes.errors import together
from litotes.evaluate.features import Progress
from litotes.models.loading import load_backbone, require_source
from litotes.models.lora import load_adapter, require_adapter_files
from litotes.models.matcher import Matcher
from litotes.models.pair_adapter import PairAdapterRecord, PairModel, load_pair_adapter, read_pair_adapter

Settings = calibrate.Settings | data_suspects.Settings
Data = TypeVar("Data")

_WHERE = ("vocabulary", "activation", "round_like_reference", "sha256", "allow_network")


def load_pair_model(settings: Settings, read: Callable[[], Data]) -> tuple[Data, Matcher, PairModel, PairAdapterRecord]:
    """What ``read`` gives, after everything was checked, and then the model, the one of pairs and its side file.

    Errors: those of ``read``, of the model and of its adapters, told together before the model is loaded.
    """
    where: dict[str, Any] = {key: getattr(settings, key) for key in _WHERE}
    data = together(
        read, partial(require_source, settings.model, **where), partial(read_pair_adapter, settings.pair_adapter),
        *([partial(require_adapter_files, settings.adapter)] if settings.adapter else []),
    )[0]  # fmt: skip
    matcher = load_backbone(settings.model, device=settings.device, **where)
    matcher.workers = settings.workers
    if settings.adapter:
        load_adapter(matcher, settings.adapter, any_base=settings.any_base)
    return data, matcher, *load_pair_adapter(settings.pair_adapter, matcher)


def only_readable(
    data: Data, read: Callable[[], Data], matcher: Matcher, screening: Screening, progress: Progress, screen: Console
) -> Data:
    """``data``, or what ``read`` gives without the pictures that ``screening`` leaves out; notes go to ``screen``."""
    if screening.look(matcher.preprocess.square, matcher.workers, progress):
        data = read()
    for note in (*matcher.notes, *left_out_notes(screening.record())):
        screen.print(f"note: {note}", highlight=False, markup=False)
    return data
