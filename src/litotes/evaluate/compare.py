"""Two models' answers to the same questions: by how much they differ, and how far chance could reach."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from litotes.errors import UserError
from litotes.evaluate.answers import Answer, Answers
from litotes.metrics.paired import bootstrap_difference, bootstrap_interval, mcnemar_p, sums_of_groups

LEVEL = 0.05
"""Probability below which chance is no explanation."""
_WAYS = ("i2t", "t2i")
SEED = 0
"""Of all bootstrap draws of this module."""


class Difference(NamedTuple):
    """How a second model differs from a first in one measure.

    path: where the measure stands in a suite's result, such as ("total",) or ("i2t", "1"). n: questions. before, after:
    fractions 0-1, or rSum in percent. low, high: 95 % interval of after - before. p: McNemar's exact p, None where the
    measure is no share of questions that are right or wrong, or of searches. only_before, only_after: questions that
    one model alone got right, likewise.
    """

    path: tuple[str, ...]
    n: int
    before: float
    after: float
    low: float
    high: float
    p: float | None = None
    only_before: int | None = None
    only_after: int | None = None

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval leaves out zero and, where there is a p, that is below 0.05.

        The interval alone is too narrow where few answers differ: five that the second model alone got right give
        p = 0.0625, and an interval without zero.
        """
        return not self.low <= 0 <= self.high and (self.p is None or self.p < LEVEL)


Differences = Mapping[str, Sequence[Difference]]
"""By suite."""


def differences(
    first: Answers, second: Answers, results: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[Difference]]:
    """What the second model's answers differ in from the first's, by suite; suites without answers are left out.

    ``results``: of either model, for the measures that were asked.

    Shares of right answers: McNemar's exact test over the questions, and a paired bootstrap. Recall and rSum, means of
    several groups, and what COCO's judges say: a paired bootstrap. All draws (10,000, ``SEED``) are of pictures, each
    with all that was asked of it, since questions about one picture are not independent of each other; McNemar's test
    takes them as if they were.

    Errors: the answers are not to the same questions.
    """
    found = {}
    for suite in (name for name in results if name in first and name in second):
        if [answer.asked for answer in first[suite]] != [answer.asked for answer in second[suite]]:
            raise UserError(
                got=f"answers to other questions in {suite}",
                expected="both models' answers to the same questions on the same pictures",
                do="evaluate both models on the same files",
            )
        compare = _BY_TASK.get(results[suite]["task"])
        if compare and first[suite]:
            found[suite] = list(compare(first[suite], second[suite], results[suite]))
    return found


def is_beyond_chance(before: float, after: float, count: int) -> bool:
    """Whether two shares of ``count`` questions differ by more than 1.96 standard deviations.

    As if of different questions, which is careful where both were asked the same: for shares without single answers.
    """
    spread = before * (1 - before) + after * (1 - after)
    return abs(after - before) > 1.96 * math.sqrt(spread / count)


def is_right(answer: Answer) -> bool:
    """Whether a choice is the right one; ties are not."""
    return answer.given["chosen"] == answer.asked["right"]


def hits(answers: Sequence[Answer], k: int) -> np.ndarray:
    """Whether the right item of each search is among the first K; bool [searches]."""
    return np.array([answer.given["rank"] for answer in answers]) <= k


def _mcq(first: Sequence[Answer], second: Sequence[Answer], result: Mapping[str, Any]) -> Iterator[Difference]:
    pair = _Pair(first, second)
    yield pair.shares(("total",), range(len(first)))
    types = [answer.asked["type"] for answer in first]
    for kind in dict.fromkeys(types):
        yield pair.shares((kind,), [i for i, other in enumerate(types) if other == kind])


def _classification(first: Sequence[Answer], second: Sequence[Answer], _: Mapping[str, Any]) -> Iterator[Difference]:
    yield _Pair(first, second).shares(("acc1",), range(len(first)))


def _pairs(first: Sequence[Answer], second: Sequence[Answer], _: Mapping[str, Any]) -> Iterator[Difference]:
    pair = _Pair(first, second)
    keys = [answer.asked["groups"][0] for answer in first]
    for key in dict.fromkeys(keys):
        yield pair.shares((key,), [i for i, other in enumerate(keys) if other == key])


def _foils(first: Sequence[Answer], second: Sequence[Answer], result: Mapping[str, Any]) -> Iterator[Difference]:
    pair = _Pair(first, second)
    members: dict[str, list[int]] = {}
    for i, answer in enumerate(first):
        for group in answer.asked["groups"]:
            members.setdefault(group, []).append(i)
    for group, items in members.items():
        yield pair.shares(("accuracy", group), items)
    for key in result["averages"]:
        kind, comma, task = key.partition(", ")
        groups = [items for group, items in members.items() if group.endswith(comma + task)]
        if kind == "micro":
            yield pair.shares(("averages", key), [i for items in groups for i in items])
        else:
            yield pair.mean_of_shares(("averages", key), groups)


def _retrieval(first: Sequence[Answer], second: Sequence[Answer], result: Mapping[str, Any]) -> Iterator[Difference]:
    picture = _numbers(first)
    way = np.array([answer.asked["way"] for answer in first])
    own = {name: (way == name).astype(float) for name in ("i2t", "t2i")}
    changes, values = [], []
    for name, asked in own.items():
        n = asked.sum()
        for k in result[name]:
            before, after = hits(first, int(k)) * asked, hits(second, int(k)) * asked
            rows = sums_of_groups(np.stack([after - before, asked], axis=1), picture)
            interval = bootstrap_interval(rows, _mean_of_ratios, seed=SEED)
            values.append((float(before.sum() / n), float(after.sum() / n)))
            yield Difference((name, k), int(n), *values[-1], *interval)
            changes.append(after - before)
    both = sums_of_groups(np.stack([*changes, own["i2t"], own["t2i"]], axis=1), picture)
    before, after = (100 * sum(side) for side in zip(*values, strict=True))
    interval = bootstrap_interval(both, _sum_of_recalls(len(result["i2t"])), seed=SEED)
    yield Difference(("rsum",), len(first), before, after, *interval)


def _judged(first: Sequence[Answer], second: Sequence[Answer], result: Mapping[str, Any]) -> Iterator[Difference]:
    picture = _numbers(first)
    way = np.array([answer.asked["way"] for answer in first])
    fold = np.array([answer.asked["fold"] for answer in first])
    asked = {name: way == name for name in _WAYS}
    in_fold = {name: [asked[name] & (fold == number) for number in np.unique(fold)] for name in _WAYS}
    ranks = {name: [_given(said, name) for said in (first, second)] for name in ("rank", "rank_1k", "rank_cxc")}

    def recalls(key: str, name: str, groups: Mapping[str, Sequence[np.ndarray]]) -> Iterator[Difference]:
        for direction in _WAYS:
            for k in result[key][direction]:
                before, after = ((rank <= int(k)).astype(float) for rank in ranks[name])
                yield _mean_difference((key, direction, k), before, after, groups[direction], picture)

    yield from recalls("coco_5k", "rank", {name: [rows] for name, rows in asked.items()})
    folds = list(recalls("coco_1k", "rank_1k", in_fold))
    yield from folds
    judged = {name: [rows & ~np.isnan(ranks["rank_cxc"][0])] for name, rows in asked.items()}
    yield from recalls("cxc", "rank_cxc", judged)
    for key, name in (("map_at_r", "map_at_r"), ("r_precision", "r_precision"), ("r1", "rank_eccv")):
        before, after = (_given(said, name) for said in (first, second))
        known = ~np.isnan(before)
        if key == "r1":
            before, after = ((rank <= 1).astype(float) for rank in (before, after))
        for direction, rows in asked.items():
            yield _mean_difference(("eccv", direction, key), before, after, [rows & known], picture)
    yield _sum_of_folds(folds, ranks["rank_1k"], in_fold, picture, list(map(int, result["coco_1k"]["i2t"])))


def _given(said: Sequence[Answer], name: str) -> np.ndarray:
    """A number of every answer: infinite for a rank that there is not, NaN where nothing of the kind was asked."""
    numbers = (answer.given.get(name, math.nan) for answer in said)
    return np.array([math.inf if number is None else number for number in numbers])


def _mean_difference(
    path: tuple[str, ...], before: np.ndarray, after: np.ndarray, groups: Sequence[np.ndarray], picture: np.ndarray
) -> Difference:
    """Of the mean over groups of queries of their mean values."""
    inside = np.stack(groups, axis=1).astype(float)
    asked = inside.any(axis=1)
    change = np.where(asked, after, 0.0) - np.where(asked, before, 0.0)
    rows = sums_of_groups(np.concatenate([change[:, None] * inside, inside], axis=1), picture)
    interval = bootstrap_interval(rows, _mean_of_ratios, seed=SEED)
    first, second = (float(np.mean([values[group].mean() for group in groups])) for values in (before, after))
    return Difference(path, int(inside.sum()), first, second, *interval)


def _sum_of_folds(
    folds: Sequence[Difference],
    ranks: Sequence[np.ndarray],
    in_fold: Mapping[str, Sequence[np.ndarray]],
    picture: np.ndarray,
    ks: Sequence[int],
) -> Difference:
    """RSum of the means over the folds, both ways."""
    first, second = ranks
    changes = [(second <= k).astype(float) - (first <= k) for k in ks]
    parts = [np.stack(groups, axis=1).astype(float) for groups in in_fold.values()]
    columns = [change[:, None] * inside for inside in parts for change in changes]
    rows = sums_of_groups(np.concatenate([*columns, *parts], axis=1), picture)
    n_folds = parts[0].shape[1]

    def rsum(sums: np.ndarray) -> np.ndarray:
        change, count = np.split(sums, [len(columns) * n_folds], axis=1)
        own = np.maximum(count.reshape(-1, len(parts), 1, n_folds), 1)
        return 100 * (change.reshape(-1, len(parts), len(ks), n_folds) / own).mean(axis=3).sum(axis=(1, 2))

    interval = bootstrap_interval(rows, rsum, seed=SEED)
    before, after = (100 * sum(getattr(part, side) for part in folds) for side in ("before", "after"))
    return Difference(("rsum",), len(first), before, after, *interval)


class _Pair:
    """Right and wrong answers of both models to the same questions."""

    def __init__(self, first: Sequence[Answer], second: Sequence[Answer]) -> None:
        self.first = np.array([is_right(answer) for answer in first])
        self.second = np.array([is_right(answer) for answer in second])
        self.picture = _numbers(first)

    def shares(self, path: tuple[str, ...], items: Sequence[int]) -> Difference:
        chosen = np.asarray(items)
        first, second = self.first[chosen], self.second[chosen]
        interval = bootstrap_difference(first, second, self.picture[chosen], seed=SEED)
        return Difference(
            path, len(chosen), float(first.mean()), float(second.mean()), *interval,
            mcnemar_p(first, second), int((first & ~second).sum()), int((second & ~first).sum()),
        )  # fmt: skip

    def mean_of_shares(self, path: tuple[str, ...], groups: Sequence[Sequence[int]]) -> Difference:
        inside = np.zeros((len(self.first), len(groups)))
        for column, items in enumerate(groups):
            inside[list(items), column] = 1
        change = (self.second.astype(float) - self.first)[:, None] * inside
        rows = sums_of_groups(np.concatenate([change, inside], axis=1), self.picture)
        interval = bootstrap_interval(rows, _mean_of_ratios, seed=SEED)
        before, after = (
            float(np.mean([right[list(items)].mean() for items in groups])) for right in (self.first, self.second)
        )
        return Difference(path, int(inside.sum()), before, after, *interval)


def _numbers(answers: Sequence[Answer]) -> np.ndarray:
    """A number for each answer, the same for those of one picture."""
    names = [answer.asked["picture"] for answer in answers]
    return np.unique(names, return_inverse=True)[1]


def _mean_of_ratios(sums: np.ndarray) -> np.ndarray:
    """Of sums [draws, 2 m], m changes and m counts: the mean quotient; a group that was not drawn is left out."""
    change, count = np.split(sums, 2, axis=1)
    drawn = count > 0
    shares = np.divide(change, count, out=np.zeros_like(change), where=drawn)
    return shares.sum(axis=1) / np.maximum(drawn.sum(axis=1), 1)


def _sum_of_recalls(n_ks: int) -> Callable[[np.ndarray], np.ndarray]:
    """RSum of sums [draws, 2 n_ks + 2]: changes of hits picture -> text, text -> picture, the queries of both ways."""

    def rsum(sums: np.ndarray) -> np.ndarray:
        ways = (sums[:, :n_ks].sum(axis=1), sums[:, -2]), (sums[:, n_ks:-2].sum(axis=1), sums[:, -1])
        return 100 * sum(change / np.maximum(count, 1) for change, count in ways)

    return rsum


_BY_TASK: Mapping[str, Callable[[Sequence[Answer], Sequence[Answer], Mapping[str, Any]], Iterator[Difference]]] = {
    "mcq": _mcq,
    "pairs": _pairs,
    "foils": _foils,
    "zeroshot_retrieval": _retrieval,
    "judged_retrieval": _judged,
    "zeroshot_classification": _classification,
}
