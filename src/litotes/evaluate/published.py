"""Published figures, to stand beside measured ones on the very same questions."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from litotes.config import require_known
from litotes.data.negbench import KNOWN
from litotes.errors import UserError

_ASKED = (
    "task",
    "n",
    "chance",
    "negated",
    "n_images",
    "n_texts",
    "n_positive",
    "n_negative",
    "n_hybrid",
    "split_sha256",
)
"""What of a measured suite describes its questions, not its answers."""


def published() -> dict[str, dict[str, Any]]:
    """All rows by name: ``source``, and by the name of a published file (``KNOWN``) its figures in percent.

    Multiple choice: ``positive``, ``negative``, ``hybrid``, ``total``. Retrieval-Neg: ``i2t`` and ``t2i`` by K, and
    ``rsum``. Sources: HANCLIP, Table 1, checked (the six recalls add up to rSum, the types to the total); the result
    files of the NegBench repository after its embeddings were normalised (its counts over the numbers of questions).
    """
    text = (files("litotes.evaluate") / "figures" / "published.json").read_text(encoding="utf-8")
    rows: dict[str, dict[str, Any]] = json.loads(text)
    return rows


def published_record(name: str, measured: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A row as a record of the same suites as those measured (results by name), for a table of both.

    Only suites on a published file for which the row has figures; a suite is known by its hash, never by its name.

    Errors: a name that is not in ``published``; none of the suites measured is in the row.
    """
    rows = published()
    require_known([name], rows, "the published rows")
    row = rows[name]
    suites = {}
    for suite, result in measured.items():
        figures = row.get(KNOWN.get(result["split_sha256"], ""))
        if figures is not None:
            asked = {key: result[key] for key in _ASKED if key in result}
            suites[suite] = asked | {key: value if key == "rsum" else _share(value) for key, value in figures.items()}
    if not suites:
        raise UserError(
            got=f"no suite on a file that {name} ({row['source']}) has figures for",
            expected=f"one of {', '.join(key for key in row if key != 'source')}, whole and unchanged",
            do="evaluate on NegBench's own files: figures on other questions cannot be compared",
        )
    return {"model": name, "source": row["source"], "suites": suites}


def _share(percent: Any) -> Any:  # noqa: ANN401 (a number, or numbers by K)
    return {key: value / 100 for key, value in percent.items()} if isinstance(percent, Mapping) else percent / 100
