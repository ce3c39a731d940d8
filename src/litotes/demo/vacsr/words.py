"""What the page says in words: every sentence follows the figures, whichever way they went."""

from collections.abc import Iterator

from litotes.demo.vacsr.summary import Mean, Rows, both_ways, noises, over_seeds
from litotes.demo.vacsr.tables import Labels, percent
from litotes.metrics.pair_groups import EASY, HARD, LABELLED, MISSING

ASKED = 0.95
"""The AUROC of sigma for wrong pairs that the project asks for."""
ASKED_AT = 0.2
"""The noise whose figures stand for all where one is enough."""
_SURE = 0.05
"""How far from 0.5 an AUROC must be for the page to say that it tells anything."""


def lead(rows: Rows, labels: Labels) -> list[str]:
    """The opening paragraphs: the ranking, the wrong pairs, and what sigma adds where something was learned."""
    known = [row for row in rows if "noise" not in row or _searches(rows, row["noise"])]
    return [*_ranking(rows, labels), *_unlearned(rows), *_wrong_pairs(known), *_beyond(known), *_groups(known)]


def _searches(rows: Rows, noise: float) -> bool:
    """Whether VACSR finds at least half of what the frozen cosine does (mAP@R); yes where one is not known."""
    own, frozen = both_ways(rows, "vacsr", noise), both_ways(rows, "cosine", noise)
    return own is None or frozen is None or own.mean >= frozen.mean / 2


def _unlearned(rows: Rows) -> Iterator[str]:
    for noise in noises(rows):
        if not _searches(rows, noise):
            yield (
                f"With {percent(noise)} wrong pairs VACSR finds less than half of what the frozen cosine does: "
                "it is not trained enough for its σ to say anything, and nothing is concluded. Give it more --steps."
            )


def _ranking(rows: Rows, labels: Labels) -> Iterator[str]:
    """By mAP@R against all that is true, the mean of both ways."""
    for noise in noises(rows):
        found = {label: both_ways(rows, name, noise) for name, label in labels.items() if name != "no_sigma"}
        known = sorted(((mean, label) for label, mean in found.items() if mean), key=lambda one: -one[0].mean)
        if len(known) < 2:
            continue
        listed = ", ".join(f"{label} {mean.percent()}" for mean, label in known)
        yield f"With {percent(noise)} wrong pairs, by mAP@R against all that is true (mean of both ways): {listed}." + (
            _place([label for _, label in known], [mean for mean, _ in known], labels)
        )


def _place(order: list[str], means: list[Mean], labels: Labels) -> str:
    """Where VACSR stands, and whether the seeds tell it from its neighbour."""
    own = labels["vacsr"]
    if own not in order:
        return ""
    at = order.index(own)
    place = "first" if at == 0 else "last" if at == len(order) - 1 else f"number {at + 1} of {len(order)}"
    other = 1 if at == 0 else at - 1
    gap, spread = abs(means[at].mean - means[other].mean), max(means[at].spread, means[other].spread)
    sure = "by less than a spread of the seeds" if gap < spread else "by more than a spread of the seeds"
    if min(means[at].seeds, means[other].seeds) < 2:
        sure = "on one seed"
    return f" {own} is {place}, {'ahead of' if at == 0 else 'behind'} {order[other]} {sure}."


def _wrong_pairs(rows: Rows) -> Iterator[str]:
    for noise in noises(rows):
        sigma = over_seeds(rows, "vacsr", noise, ("wrong_pairs", "shuffled", "sigma"))
        p = over_seeds(rows, "vacsr", noise, ("wrong_pairs", "shuffled", "one_minus_p"))
        cosine = over_seeds(rows, "vacsr", noise, ("wrong_pairs", "shuffled", "one_minus_cosine"))
        untrue = over_seeds(rows, "vacsr", noise, ("wrong_pairs", "untrue", "sigma"))
        without = over_seeds(rows, "no_sigma", noise, ("wrong_pairs", "shuffled", "sigma"))
        if not (sigma and p and cosine and untrue):
            continue
        met = "reaches" if sigma.mean >= ASKED else "does not reach"
        text = (
            f"Of the {percent(noise)} wrong training pairs, σ finds them with an AUROC of {sigma.share()}, which {met} "
            f"the {ASKED:.2f} that was asked for; 1 − p has {p.share()}, the frozen cosine alone {cosine.share()}. Of "
            f"those only whose caption is really untrue σ has {untrue.share()}."
        )
        if without:
            text += f" Without L_sigma, σ has {without.share()}" + (
                ": it points the wrong way." if without.mean < 0.5
                else ": it says nearly nothing." if without.mean < 0.6
                else ": no collapse here." if without.mean > sigma.mean - 0.1 else "."
            )  # fmt: skip
        yield text


def _beyond(rows: Rows) -> Iterator[str]:
    """Whether sigma orders the first finds better than 1 - p, at each noise and both ways."""
    gains = []
    for noise in noises(rows):
        for way in ("i2t", "t2i"):
            sigma = over_seeds(rows, "vacsr", noise, ("errors", way, "sigma", "aurc"))
            p = over_seeds(rows, "vacsr", noise, ("errors", way, "one_minus_p", "aurc"))
            if sigma and p and sigma.seeds > 1:
                gains.append((p.mean - sigma.mean) / (max(sigma.spread, p.spread) or 1e-12))
    if gains:
        better, worse = sum(gain > 1 for gain in gains), sum(gain < -1 for gain in gains)
        yield (
            "Does σ know the untrue first finds better than 1 − p? By risk and coverage, in "
            f"{len(gains)} cases (noise and direction): better by more than a spread of the seeds in {better}, worse "
            f"in {worse}, the same in {len(gains) - better - worse}."
        )


def _groups(rows: Rows) -> Iterator[str]:
    """What sigma is for each kind of pair, and whether it tells missing labels from wrong pairs of the same score."""
    noise = ASKED_AT if ASKED_AT in noises(rows) else next(iter(noises(rows)), 0.0)
    kinds = {LABELLED: "labelled", MISSING: "true without a label", HARD: "hard and wrong", EASY: "easy and wrong"}
    told = [
        f"{sigma.mean:.2f} for pairs that are {kind} (p {p.mean:.2f})"
        for name, kind in kinds.items()
        if (sigma := over_seeds(rows, "vacsr", noise, ("groups", name, "sigma")))
        and (p := over_seeds(rows, "vacsr", noise, ("groups", name, "p")))
    ]
    if told:
        yield f"With {percent(noise)} wrong pairs, σ is on average {', '.join(told)}."
    found = [over_seeds(rows, "vacsr", noise, ("groups", "missing_at_equal_p")) for noise in noises(rows)]
    known = [mean for mean in found if mean]
    if known:
        low, high = min(mean.mean for mean in known), max(mean.mean for mean in known)
        says = (
            "the claim holds here" if low > 0.5 + _SURE
            else "σ says the opposite of the claim" if high < 0.5 - _SURE
            else "σ says little beyond p"
        )  # fmt: skip
        yield (
            "The paper claims a high σ for true pairs without a label. Against wrong pairs of the same p, σ picks them "
            f"with an AUROC of {low:.3f} to {high:.3f} over the noises: {says}."
        )
