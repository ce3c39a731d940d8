"""What the demo's report says in words: every sentence follows the figures, whichever way they went."""

from collections.abc import Mapping
from typing import Any

from litotes.evaluate.verdict import BAND, DECISIVE, change, joined, level, losses, percents, standing

Model = Mapping[str, Any]
Models = Mapping[str, Model]

NAMES = {"base": "base", "infonce": "plain fine-tuning", "hanclip": "HANCLIP", "extended": "extended recipe"}
"""What the page calls the models that every report has, in the order of its columns."""

POINTS = {"image": "I", "positive": "P", "negated_positive": "P′", "negative": "N"}
"""Letters of the four kinds of points."""

_SAME = 1e-3


def lead(models: Models) -> tuple[str, ...]:
    """The opening paragraphs: what the base gets wrong, what HANCLIP and the extended recipe change.

    models: as in report.json, fractions 0-1. "Above" and "below guessing" (50 %) mean by more than 5 points; "up",
    "down", "rises" and "falls" mean a change of the figure as printed, with one decimal.
    """
    base = models["base"]
    return _base(base), _hanclip(models["hanclip"], base), _extended(models["extended"], base)


def price(models: Models) -> str:
    """At which of retrieval and classification the two recipes are worse than the base, as the figures have it."""
    found = {NAMES[name]: losses(models[name], models["base"]) for name in ("hanclip", "extended")}
    lost = [f"{_the(name)} is worse at {joined(worse)}" for name, worse in found.items() if worse]
    if not lost:
        return "Neither recipe is worse than the base at retrieval, search or classification."
    kept = [f"{_the(name)} is worse at none of this" for name, worse in found.items() if not worse]
    return f"The price, against the base: {'; '.join([*lost, *kept])}."


def radius_note(models: Models) -> str:
    """What the mean radii can say of the paper's claim, and what they cannot."""
    radii = [float(model["radius"][kind]) for model in models.values() for kind in POINTS]
    if max(radii) - min(radii) < _SAME:
        text = (
            f"Every radius as trained is the same constant, {radii[0]:.2f}: unit-normalised features all lie on one "
            "sphere of the ball. The paper's claim that I, P and P′ sit near the centre and N further out is "
            "empty here, neither true nor false."
        )
        unseen = "; no loss sees these lengths"
    else:
        text = f"The paper expects N furthest out. Here, {_outermost(models, 'radius')}."
        unseen = ""
    if all("radius_raw" in model for model in models.values()):
        text += f" As encoded, before any normalisation, {_outermost(models, 'radius_raw')}{unseen}."
    return text


def angle_note(models: Models) -> str:
    """How HANCLIP moved the two angles that its angular loss works on; "" where a model has none."""
    base, own = (models[name].get("angles") or {} for name in ("base", "hanclip"))
    corners = ("at_negative", "at_negated_positive")
    if any(angles.get(corner) is None for angles in (base, own) for corner in corners):
        return ""
    at_n, at_p = (change(base[corner], own[corner], "°") for corner in corners)
    return (
        "The angular loss (ATNL) wants the angle at N, between P and P′, small, and the angle at P′, between N and P, "
        f"large. From base to HANCLIP the first {at_n} and the second {at_p}."
    )


def _base(base: Model) -> str:
    shares = _decisive(base["pairs"])
    text = (
        "Take a picture with a cat and without a boat: “no boat” is true of it and “no cat” is not. Of such pairs the "
        f"base model ranks {100 * shares[0]:.1f} % in the right order, and {100 * shares[1]:.1f} % where something "
        "else is named first (“a tree but not a boat”); guessing would give 50 %. "
    )
    levels = {level(share) for share in shares}
    if levels == {"below"}:
        return text + "It looks for the word that is named and overlooks the “not” before it."
    if levels == {"above"}:
        return text + "So it is not blind to “not”."
    return text + ("That is no better than guessing." if "above" not in levels else "So it uses the “not” in part.")


def _hanclip(model: Model, base: Model) -> str:
    key = "negated_positive_over_negative"
    before, after = 100 * base["pairs"][key], 100 * model["pairs"][key]
    shares = _decisive(model["pairs"])
    near = all(abs(new - old) <= BAND for new, old in zip(shares, _decisive(base["pairs"]), strict=True))
    text = (
        "With HANCLIP, the recipe of the paper, a true caption with a negation in it (P′) scores above a false one (N) "
        f"for {_moved(before, after, 'pictures')}. The two orders from before, which need negation itself, "
        f"{'stay near the base' if near else 'move'}, at {percents(shares)} ({standing(shares)}): "
    )
    above = sum(level(share) == "above" for share in shares)
    if above == 2:
        return text + "more than a shortcut was learnt."
    if above == 1:
        return text + "at most one of the two forms was learnt."
    rose = round(after, 1) > round(before, 1)
    return text + ("a shortcut was learnt, not negation." if rose else "negation was not learnt.")


def _unmet(model: Model) -> str:
    """What becomes of denials whose very words training never used, if that is not understood."""
    shares = _decisive(model["new_cues"]) if "new_cues" in model else ()
    above = [level(share) == "above" for share in shares]
    if all(above):
        return ""
    extent = "understood in part" if any(above) else "not understood"
    return f" Denials in words that it never met as such (“lacks”, “free of”) are at {percents(shares)}: {extent}."


def _extended(model: Model, base: Model) -> str:
    shares = _decisive(model["pairs"])
    total = _moved(100 * base["mcq"]["total"], 100 * model["mcq"]["total"], "questions")
    text = (
        "The extended recipe, in which each picture also meets true and false statements about itself, brings them "
        f"to {percents(shares)} ({standing(shares)}), and picks the true one of four statements in {total} "
        "(guessing: 25 %). "
    )
    above = [level(share) == "above" for share in shares]
    if "held_out_wordings" not in model:
        verdicts = ("Negation was not learnt.", "At most one of the two forms was learnt.",
                    "So it uses the “not”, in this small world and these wordings.")  # fmt: skip
        return text + verdicts[sum(above)]
    held = _decisive(model["held_out_wordings"])
    kept = [level(share) == "above" and known for share, known in zip(held, above, strict=True)]
    text += f"In wordings that training never used the two are at {percents(held)} ({standing(held)}): "
    if all(kept):
        return text + "it uses the “not” itself, in this small world." + _unmet(model)
    if any(kept):
        return text + "at most one of the two forms was learnt."
    return text + ("what it learnt is the phrases, not negation." if any(above) else "negation was not learnt.")


def _moved(before: float, after: float, of: str) -> str:
    """Say "97.0 % of the pictures, up from 57.1 %", "down from ..." or "as before", by the printed figures."""
    old, new = f"{before:.1f}", f"{after:.1f}"
    if old == new:
        return f"{new} % of the {of}, as before"
    return f"{new} % of the {of}, {'up' if after > before else 'down'} from {old} %"


def _the(name: str) -> str:
    return name if name == "HANCLIP" else f"the {name}"


def _outermost(models: Models, key: str) -> str:
    found = {name: _furthest({kind: float(model[key][kind]) for kind in POINTS}) for name, model in models.items()}
    if len(set(found.values())) == 1:
        return f"{next(iter(found.values()))} is furthest out in every model"
    return "furthest out is " + ", ".join(f"{letter} in {NAMES.get(name, name)}" for name, letter in found.items())


def _furthest(radii: Mapping[str, float]) -> str:
    """The letter of the largest mean radius, or "none" where all are the same."""
    if max(radii.values()) - min(radii.values()) < _SAME:
        return "none"
    return POINTS[max(radii, key=radii.__getitem__)]


def _decisive(pairs: Model) -> tuple[float, float]:
    return pairs[DECISIVE[0]], pairs[DECISIVE[1]]
