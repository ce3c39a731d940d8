"""The figures of the comparison as tables: the same for the terminal, the page and the notes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from litotes.demo.vacsr.summary import Mean, Path, Rows, noises, over_seeds
from litotes.evaluate.doubts import KS
from litotes.metrics.pair_groups import EASY, HARD, LABELLED, MISSING

Labels = Mapping[str, str]
WAYS = {"i2t": "picture → caption", "t2i": "caption → picture"}
NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """Cells by row; ``note``: what the figures mean and what they do not."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def tables(rows: Rows, labels: Labels) -> list[Table]:
    """Every table that the rows have figures for. labels: the methods in their order, and what they are called."""
    made = [*(retrieval(rows, labels, noise) for noise in noises(rows)), wrong_pairs(rows, labels),
            held_wrong_pairs(rows, labels), errors(rows, labels), *(firsts(rows, labels, way) for way in WAYS),
            groups(rows, labels)]  # fmt: skip
    return [table for table in made if table.rows]


def overview(rows: Rows, labels: Labels) -> list[Table]:
    """The main figures of the page's tables, in columns that a narrow terminal holds."""
    made = []
    for noise in noises(rows):
        paths: list[Path] = [("retrieval", way, key) for key in ("map_at_r", "r1") for way in WAYS]
        lines = _lines(rows, labels, [noise], paths, Mean.percent, with_noise=False)
        columns = ("mAP@R i2t", "mAP@R t2i", "R@1 i2t", "R@1 t2i")
        made.append(Table(f"{percent(noise)} of the training pairs wrong, all that is true counts", "", columns, lines))
    paths = [("wrong_pairs", "shuffled", "sigma"), ("wrong_pairs", "shuffled", "one_minus_p"),
             ("wrong_pairs", "untrue", "sigma")]  # fmt: skip
    lines = _lines(rows, labels, [noise for noise in noises(rows) if noise], paths, Mean.share)
    made.append(Table("AUROC for wrong training pairs", "", ("by σ", "by 1 − p", "untrue, by σ"), lines))
    return [table for table in made if table.rows]


def retrieval(rows: Rows, labels: Labels, noise: float) -> Table:
    """Every method at one noise, both ways."""
    keys = {"map_at_r": "mAP@R", "r1": "R@1", "sparse_r1": "R@1, label"}
    paths = [("retrieval", way, key) for way in WAYS for key in keys]
    return Table(
        f"Retrieval, {percent(noise)} of the training pairs wrong",
        "mAP@R and R@1 count every caption that is true of a picture; “label” counts the picture's own caption alone, "
        "although some twenty are true of it. In percent, mean and spread (sample standard deviation) of the seeds. "
        "The frozen cosine is where every method starts; it sees no training pair, so noise does not change it.",
        tuple(f"{arrow} {key}" for arrow in WAYS.values() for key in keys.values()),
        _lines(rows, labels, [noise], paths, Mean.percent, with_noise=False),
    )


def wrong_pairs(rows: Rows, labels: Labels) -> Table:
    """Whether each method is less sure of the wrong training pairs."""
    return Table(
        "Does the uncertainty find the wrong training pairs?",
        "AUROC: how often a wrong pair is less sure than a right one; 0.5 says nothing, below 0.5 is the wrong way "
        "round. “Shuffled” are all pairs that the noise made. “Untrue” leaves out those whose caption happens to be "
        "true of the picture that it came to. 1 − cosine is the frozen model's, without any training.",
        _FOUND_BY,
        _lines(rows, labels, [noise for noise in noises(rows) if noise], _found_paths("wrong_pairs"), Mean.share),
    )


def held_wrong_pairs(rows: Rows, labels: Labels) -> Table:
    """Whether each method is less sure of wrong pairs of pictures and captions that it did not train on."""
    return Table(
        "Does the uncertainty find wrong pairs of other pictures?",
        "AUROC as above, of the held-out pictures with a fifth of their captions shuffled, the same ones for every "
        "method: pairs that no training saw, neither right nor wrong.",
        _FOUND_BY,
        _lines(rows, labels, noises(rows), _found_paths("held_wrong_pairs"), Mean.share),
    )


_FOUND_BY = tuple(f"{of}: {by}" for of in ("shuffled", "untrue") for by in ("σ", "1 − p", "1 − cosine"))


def _found_paths(where: str) -> list[Path]:
    doubts = ("sigma", "one_minus_p", "one_minus_cosine")
    return [(where, of, name) for of in ("shuffled", "untrue") for name in doubts]


def errors(rows: Rows, labels: Labels) -> Table:
    """Whether each method knows which of its first finds are untrue."""
    doubts = ("sigma", "one_minus_p")
    paths: list[Path] = []
    for way in WAYS:
        paths += [("errors", way, name, key) for key in ("aurc", "pearson", "spearman") for name in doubts]
    return Table(
        "Does the uncertainty know the untrue first finds?",
        "On held-out pictures. AURC: mean error when only the surest searches are answered, over all shares of them; "
        "lower is better. r: Pearson's correlation of the uncertainty with R@1 over ten bins of equal count, as the "
        "paper has it, ρ: Spearman's; nearer to −1 is better. A σ that adds something to p has the lower AURC.",
        tuple(f"{way} {key} {by}" for way in ("i2t", "t2i") for key in ("AURC", "r", "ρ") for by in ("σ", "1 − p")),
        _lines(rows, labels, noises(rows), paths, Mean.share),
    )


def firsts(rows: Rows, labels: Labels, way: str) -> Table:
    """The uncertainty of the K items that a search lists first, against its AP@R: Table 10 of the paper."""
    paths: list[Path] = [("firsts", way, "map_at_r")]
    columns = ["mAP@R"]
    for k in KS:
        paths += [("firsts", way, "sigma", str(k), "mean"), ("firsts", way, "sigma", str(k), "pearson"),
                  ("firsts", way, "one_minus_p", str(k), "pearson")]  # fmt: skip
        columns += [f"σ, K = {k}", f"r σ, K = {k}", f"r 1 − p, K = {k}"]
    return Table(
        f"Uncertainty of the K first against mAP@R, {WAYS[way]}",
        "On held-out pictures: the mean σ of the K items that a search lists first, and Pearson's correlation over the "
        "searches of that mean with the AP@R of each, against all that is true; nearer to −1 is better. Beside it that "
        "of 1 − p.",
        tuple(columns),
        _lines(rows, labels, noises(rows), paths, Mean.share),
    )


def groups(rows: Rows, labels: Labels) -> Table:
    """Sigma by what a pair is."""
    paths: list[Path] = [("groups", name, key) for name in (LABELLED, MISSING, HARD, EASY) for key in ("sigma", "p")]
    return Table(
        "σ by what a pair is",
        "The paper says that true pairs without a label (false negatives) get a high σ, labelled and hard wrong pairs "
        "a low one. The last column asks whether σ tells true pairs without a label from wrong ones of the same p: "
        "AUROC, 0.5 for no.",
        (
            *(f"{kind}: {by}" for kind in ("labelled", "true, no label", "hard wrong", "easy wrong") for by in "σp"),
            "at equal p",
        ),
        _lines(rows, labels, noises(rows), [*paths, ("groups", "missing_at_equal_p")], Mean.share),
    )


def percent(noise: float) -> str:
    """A share as "20 %"."""
    return f"{100 * noise:g} %"


def _lines(
    rows: Rows,
    labels: Labels,
    at: list[float],
    paths: Sequence[Path],
    printed: Callable[[Mean], str],
    *,
    with_noise: bool = True,
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A line for each noise and method that has any of the figures."""
    lines = []
    for noise in at:
        for name, label in labels.items():
            found = [over_seeds(rows, name, noise, path) for path in paths]
            if any(found):
                cells = tuple(NOTHING if mean is None else printed(mean) for mean in found)
                lines.append((f"{label}, {percent(noise)}" if with_noise else label, cells))
    return tuple(lines)
