"""What a benchmark is to the evaluation, and how several of them are run on one model."""

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from litotes.data.images import Pictures
from litotes.errors import UserError
from litotes.evaluate.answers import Answer
from litotes.evaluate.features import Encoder, Remembering, picture_digests, remembering
from litotes.metrics.paired import wilson_interval

Result = dict[str, Any]


class Identity(NamedTuple):
    """What a suite asks: its pictures, how many texts it scores, and a hash of questions and answers.

    ``split_sha256``: SHA-256 of the rows, each its fields joined by a tab, joined by line feeds, in UTF-8; pictures
    by the last part of their name. For files in NegBench's formats this is the fingerprint of the published file,
    whatever the folder and the order of columns.
    """

    pictures: Pictures
    n_texts: int
    split_sha256: str


class Suite(ABC):
    """A benchmark: pictures, texts, right answers, and what is counted. Its classes are final.

    ``name`` tells suites of one run apart; ``task`` is the word of CLIP_benchmark for the kind of benchmark. ``run``
    gives JSON values, fractions 0-1 unless the key says otherwise; and, where single questions have answers,
    ``answers``, a list of ``Answer``, which ``run_suites`` takes out of the result. A suite is complete and checked
    when it is built, so that a mistake in a file is found before anything is encoded.
    """

    name: str
    task: str

    @abstractmethod
    def run(self, encoder: Encoder) -> Result:
        """Encode, score and count."""

    @abstractmethod
    def identity(self) -> Identity:
        """What is asked, independent of the model."""


def run_suites(
    encoder: Encoder, suites: Sequence[Suite], answers: dict[str, list[Answer]] | None = None
) -> dict[str, Result]:
    """Results of all suites by name; each picture and each text is encoded once, whatever the number of suites.

    ``encoder``: the model, or a ``Remembering`` of it where the caller wants to see the progress, brings picture
    features from elsewhere, or asks more of the same pictures afterwards. ``answers``: takes, by suite, what was
    answered to each question, for a caller that wants to keep it.

    To each result are added ``task``, ``n_images``, ``n_texts``, ``split_sha256``, ``pictures_sha256`` (over the
    contents, whatever their order), ``captions_truncated`` (texts cut to the model's context, counted where they are
    first met) and ``wall_s``.

    Errors: two suites of one name; embeddings or scores that are not finite.
    """
    names = [suite.name for suite in suites]
    if len(set(names)) < len(names):
        raise UserError(got=f"suites named {', '.join(names)}", expected="different names", do="rename one of them")
    memory = remembering(encoder)
    results = {suite.name: _run(suite, memory) for suite in suites}
    for name, result in results.items():
        said = result.pop("answers", None)
        if answers is not None and said is not None:
            answers[name] = said
    return results


def sha256_of_rows(rows: Iterable[Sequence[object]]) -> str:
    """SHA-256 of rows of fields: tabs between fields, line feeds between rows, UTF-8; see ``Identity``."""
    return hashlib.sha256("\n".join("\t".join(map(str, row)) for row in rows).encode()).hexdigest()


def count_repeated(rows: Iterable[tuple[object, ...]]) -> int:
    """How many rows say what an earlier one says already."""
    whole = list(rows)
    return len(whole) - len(set(whole))


def interval_of(share: float | None, n: int) -> list[float]:
    """Wilson's 95 % interval of a share of n questions, its two ends as a result holds them."""
    return list(wilson_interval(round((share or 0.0) * n), n))


def base_name(pictures: Pictures, index: int) -> str:
    """The last part of a picture's name."""
    return PurePath(pictures.name(index)).name


def require_parallel(suite: str, **parts: int) -> None:
    """Nothing where all parts have the same length of at least one; otherwise a UserError that names them."""
    if len(set(parts.values())) != 1 or not all(parts.values()):
        raise UserError(
            got=f"{suite} with " + ", ".join(f"{length} {part.replace('_', ' ')}" for part, length in parts.items()),
            expected="as many of each, at least one",
            do="check the lists that the suite was built from",
        )


def require_in_range(suite: str, what: str, values: Sequence[int], size: int) -> None:
    """Nothing where every value is in [0, size); otherwise a UserError that names the first that is not."""
    for i, value in enumerate(values):
        if not 0 <= value < size:
            raise UserError(
                got=f"{suite}: {what} {value} at place {i}",
                expected=f"a number from 0 to {size - 1}",
                do="check the file: counting starts at 0",
            )


def _run(suite: Suite, encoder: Remembering) -> Result:
    start, cut = time.perf_counter(), encoder.truncated
    result = suite.run(encoder)
    asked = suite.identity()
    contents = sorted(set(picture_digests(asked.pictures)))
    return {
        "task": suite.task,
        **result,
        "n_images": len(asked.pictures),
        "n_texts": asked.n_texts,
        "split_sha256": asked.split_sha256,
        "pictures_sha256": sha256_of_rows([contents]),
        "captions_truncated": encoder.truncated - cut,
        "wall_s": round(time.perf_counter() - start, 3),
    }
