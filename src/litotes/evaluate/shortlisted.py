"""What a result tells of a shortlist: how much of what all pairs would give is on it."""

from litotes.evaluate.suite import Result
from litotes.models.pair_shortlist import ShortlistedLogits
from litotes.models.pair_stream import StreamedLogits


def of_shortlist(stream: StreamedLogits | ShortlistedLogits) -> Result:
    """``shortlist``, its recall as JSON values, and ``notes``, when its scores were taken; nothing of all pairs."""
    found = stream.recall if isinstance(stream, ShortlistedLogits) else None
    if found is None:
        return {}
    i2t, t2i = (f"{100 * found.share[way]:.1f} %" for way in ("i2t", "t2i"))
    told = (
        "the shortlist holds all pairs, so that nothing is lost by it"
        if found.listed == found.pairs
        else (
            f"the adapter scored {found.listed:,} of {found.pairs:,} pairs, those of highest cosine; all others stand "
            f"behind them. Of the {found.best} best captions of a picture among all the list holds {i2t} (mean of "
            f"{found.sampled['i2t']} pictures), of the {found.best} best pictures of a caption {t2i} (of "
            f"{found.sampled['t2i']} captions)"
        )
    )
    return {"shortlist": found._asdict(), "notes": [told]}
