"""The work of ``litotes data suspects``: from a table to the list of its suspect pairs."""

from collections.abc import Sequence
from functools import partial

from rich.console import Console

from litotes.cli.data_suspects import Settings
from litotes.cli.pair_model import load_pair_model, only_readable
from litotes.data.pairs import KnownPairs, codes, read_placed_pairs
from litotes.data.screening import Screening
from litotes.errors import UserError
from litotes.evaluate.command import progress_bars, require_device
from litotes.evaluate.notes import counted
from litotes.evaluate.suspects import (
    MISSING,
    WRONG,
    MissingSearch,
    Suspect,
    flat_note,
    labelled_logits,
    list_notes,
    order_note,
    require_sigma,
    suspects,
    suspects_csv,
)
from litotes.models.pair_adapter import read_pair_adapter
from litotes.models.pair_calibration import load_calibration
from litotes.models.pair_scores import PairScorer
from litotes.places import require_file_place, require_folder_place, write_whole
from litotes.train.pairs import pair_features

_SAID = {
    WRONG: "of the table that {look} least like belonging together",
    MISSING: "that the table lacks and that {look} most like belonging together",
}
_FIRST = {"uncertainty": "of highest sigma", "both": "first by p and sigma together"}


def run_suspects(settings: Settings) -> None:
    """Everything is read and checked before the model is loaded; the list is written last, whole or not at all."""
    screen = Console()
    _require_places(settings)
    if settings.missing_order != "similarity":
        side = read_pair_adapter(settings.pair_adapter)
        require_sigma(settings.missing_order, has_sigma=side.kind == "variational")
    screening = Screening(settings.broken_pictures, settings.allow_missing)
    read = partial(read_placed_pairs, settings.data, settings.images_root, screening, "data")
    pairs, matcher, model, side = load_pair_model(settings, read)
    calibration = load_calibration(settings.pair_adapter, side.weights_sha256)
    with progress_bars(screen) as progress:
        data, places = only_readable(pairs, read, matcher, screening, progress, screen)
        features = pair_features(matcher, data, cache=settings.cache)
        scorer = PairScorer(model, calibration=calibration)
        labelled = labelled_logits(data, features.images, features.texts, scorer)
        missing = MissingSearch(settings.missing_order, settings.shortlisted)
        bar = partial(progress, "pairs")
        found = suspects(data, features.images, features.texts, scorer, settings.most, bar, labelled, missing)
        flat = flat_note(labelled)
    write_whole(settings.output, suspects_csv(found, data, places, side.config.summary))
    lacking = KnownPairs(data.contents()[data.owners], codes(data.captions)).count_wrong()
    for kind in (WRONG, MISSING):
        told = _told(kind, [one for one in found if one.kind == kind], settings, lacking)
        screen.print(told, highlight=False, soft_wrap=True)
    for note in filter(None, (flat, order_note(found, settings.missing_order), *list_notes(found, data))):
        screen.print(f"note: {note}", highlight=False, soft_wrap=True, markup=False)
    screen.print(f"written to {settings.output}", highlight=False, soft_wrap=True, markup=False)


def _told(kind: str, listed: Sequence[Suspect], settings: Settings, lacking: int) -> str:
    """What was listed, in a sentence. lacking: pairs that the table does not have."""
    if not listed:
        return f"{kind}: none, since the table has every caption beside every picture"
    ends = [end(one.p for one in listed) for end in ((max, min) if kind == MISSING else (min, max))]
    p = f"p from {ends[0]:.6g} to {ends[1]:.6g}"
    if kind == WRONG or settings.missing_order == "similarity":
        return f"{kind}: the {_pairs(kind, len(listed))}, {p}"
    first = f"the {len(listed):,} {_FIRST[settings.missing_order]}, {p}"
    if lacking <= settings.shortlisted:
        return f"{kind}: of all {counted(lacking, 'pair')} that the table lacks, {first}"
    return f"{kind}: of the {_pairs(kind, settings.shortlisted)}, {first}"


def _pairs(kind: str, count: int) -> str:
    return f"{counted(count, 'pair')} {_SAID[kind].format(look='looks' if count == 1 else 'look')}"


def _require_places(settings: Settings) -> None:
    """Refuse a device or a place that will not do, before a file is read."""
    require_device(settings.device)
    require_file_place(settings.output)
    if settings.output.exists() and not settings.overwrite:
        raise UserError(
            got=f"--output {settings.output}, which is there",
            expected="a name that is free",
            do="name another file, or add --overwrite to replace it",
        )
    if settings.cache:
        require_folder_place(settings.cache, "--cache")
