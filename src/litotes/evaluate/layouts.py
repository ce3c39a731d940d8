"""How the results of each task are laid out: a title, a sentence on how to read it, the figures in their order."""

from collections.abc import Callable

from litotes.evaluate.rows import Measure, Record, value_at


def _mcq(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    words = {"positive": "Affirmed (“A and B”)", "negative": "Negated (“no N”)", "hybrid": "Hybrid (“A but not N”)"}
    kinds = [key[2:] for key in result if key.startswith("n_") and key[2:] in result and result[key]]
    rows = [
        Measure(
            f"{words.get(kind, kind)}, {result[f'n_{kind}']:,}",
            (kind,),
            "percent",
            interval=("intervals", kind),
            n=result[f"n_{kind}"],
        )
        for kind in kinds
    ]
    total = Measure(
        f"Multiple choice, all {result['n']:,}", ("total",), "percent", main=True,
        interval=("interval",), n=result["n"],
    )  # fmt: skip
    note = (
        f"Which of the captions is true of the picture? Guessing gives {100 * result['chance']:.1f} %. "
        "The true one must score strictly above every other."
    )
    controls = [
        Measure(label, ("controls", key), "control")
        for key, label in _CONTROLS.items()
        if result.get("controls", {}).get(key) is not None
    ]
    if "interval" in result:
        note += _INTERVALS
    return _titled("Multiple choice on negation", name, "mcq"), note, [*rows, total, *controls]


_INTERVALS = " Beside a share stands its 95 % interval (Wilson)."
_CONTROLS = {
    "another_picture": "Control: all, asked of another picture",
    "no_picture": "Control: all, asked of no picture (their mean)",
}


def _retrieval(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    ways = (("i2t", "Picture → caption"), ("t2i", "Caption → picture"))
    rows = [
        Measure(f"{label}, R@{k}", (way, k), "percent") for way, label in ways for k in sorted(result[way], key=int)
    ]
    about = "negated captions" if result["negated"] else "plain captions"
    total = Measure(f"Retrieval, {about}: rSum", ("rsum",), "rsum", main=True, summed=("i2t",))
    note = (
        f"{result['n_texts']:,} {about}, {result['n_images']:,} pictures: is the right one among the first K? "
        "rSum is the sum of these percentages."
    )
    ranks = [
        Measure(f"{label}, median rank", ("median_rank", way), "rank")
        for way, label in ways if "median_rank" in result
    ]  # fmt: skip
    gap = []
    if "gap" in result:
        gap = [Measure(f"Gap to plain captions, {label}, R@{k}", ("gap", way, k), "gap")
               for way, label in ways for k in sorted(result["gap"][way], key=int)]  # fmt: skip
        gap.append(Measure("Gap to plain captions: rSum", ("gap", "rsum"), "rsum gap", summed=("gap", "i2t")))
        note += " The gap is what the denial costs: negated less plain captions of the same pictures."
    title = "Retrieval with negated captions" if result["negated"] else "Retrieval"
    name = result.get("protocol", name)
    usual = "retrieval_neg" if result["negated"] else "retrieval"
    return _titled(title, name, usual), note, [*rows, *ranks, total, *gap]


_DOUBTS = {"sigma": "σ", "total_variance": "total variance", "one_minus_p": "1 − p"}


def _judged(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    ways = (("i2t", "picture → caption"), ("t2i", "caption → picture"))
    judges = (("coco_5k", "COCO 5K"), ("coco_1k", "COCO 1K, mean of five folds"), ("cxc", "CxC"))
    rows = [
        Measure(f"{label}, {words}, R@{k}", (key, way, k), "percent")
        for key, label in judges
        for way, words in ways
        for k in result[key][way]
    ]
    graded = (("map_at_r", "mAP@R"), ("r_precision", "R-Precision"), ("r1", "R@1"))
    rows += [Measure(f"ECCV Caption, {words}, {label}", ("eccv", way, key), "percent")
             for key, label in graded for way, words in ways]  # fmt: skip
    total = Measure("COCO 1K: rSum", ("rsum",), "rsum", main=True, summed=("coco_1k", "i2t"))
    told = result.get("doubt", {}).get("ways", {})
    rows += [Measure(f"COCO 5K, {words}, AURC by {word}", ("doubt", "ways", way, key, "aurc"), "control")
             for way, words in ways for key, word in _DOUBTS.items() if key in told.get(way, {})]  # fmt: skip
    note = (
        f"COCO's test set of Karpathy, {result['n_images']:,} pictures and {result['n_texts']:,} captions, by three "
        "groups of judges. CxC and ECCV Caption know more right pairs than COCO's own five a picture."
    )
    return _titled("Retrieval by COCO's judges", name, "coco"), note, [*rows, total]


def _classification(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    rows = [
        Measure(
            "Zero-shot classification: right class first", ("acc1",), "percent", main=True,
            interval=("interval",), n=result["n_images"],
        ),
        Measure(
            "Right class among the first five", ("acc5",), "percent",
            interval=("intervals", "acc5"), n=result["n_images"], chance=("chances", "acc5"),
        ),
        Measure("Mean recall of the classes", ("mean_per_class_recall",), "percent"),
    ]  # fmt: skip
    note = f"{result['n_images']:,} pictures. What an adaptation to negation could make the model forget."
    if "chance" in result:
        five = value_at(result, ("chances", "acc5"))
        among = "" if five is None else f", and {100 * five:.1f} % among the first five"
        note += f" Guessing gives {100 * result['chance']:.1f} %{among}."
    if "interval" in result:
        note += _INTERVALS
    kept = [row for row in rows if result[row.path[0]] is not None]
    return _titled("Zero-shot classification", name, "classification"), note, kept


def _pairs(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    words = {
        "negated_positive_over_negative": "P′ above N: true negated caption above false one",
        "absence_absent_over_present": "“no <absent>” above “no <present>”",
        "hybrid_absent_over_present": "“A but not <absent>” above “A but not <present>”",
    }
    keys = sorted(result["ties"], key=lambda key: list(words).index(key) if key in words else len(words))
    rows = [
        Measure(words.get(key, key), (key,), "percent", main=True, interval=("intervals", key), n=result["n"])
        for key in keys
    ]
    note = f"A true text against a false one, {result['n']:,} pictures. Guessing gives 50.0 %."
    if "negated_positive_over_negative" in result["ties"]:
        note += " P′ above N can be won by telling the templates of P′ from the wording of N: no proof of negation."
    if {"hybrid_absent_over_present", "absence_absent_over_present"} & result["ties"].keys():
        note += " The orders with <absent> differ in nothing but the thing denied, so they need the “not” itself."
    if "intervals" in result:
        note += _INTERVALS
    held_out = name == "held_out_wordings"
    title = (
        "True over false, in wordings that no training uses" if held_out else _titled("True over false", name, "pairs")
    )
    return title, note, rows


_FOILS = {
    "valse": "VALSE: true over false text",
    "sugarcrepe": "SugarCrepe: true over false text",
    "sugarcrepe_pp": "SugarCrepe++: two wordings of a true text over a false one",
    "negrefcocog": "NegRefCOCOg: the part of the picture that the phrase means",
    "cc_neg": "CC-Neg: true over negated caption",
}
_FOIL_NOTES = {
    "valse": " Valid are the records where two of three people chose the true text.",
    "sugarcrepe": " It asks for composition and for what was forgotten; hardly any of it is negation.",
    "sugarcrepe_pp": " ITT: both above the false one for the picture; TOT: nearer to each other than either to it.",
    "cc_neg": " The negated caption is always the false one, so whoever dislikes “not” wins: no proof of negation.",
}


def _foils(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    title = _FOILS.get(name, name)
    short = title.partition(":")[0]
    rows = []
    for group, count in result["count"].items():
        words = f"{group.replace('_', ' ')}, {count:,}"
        alone = not result["averages"]
        label = f"{short}, {words}" if alone else words
        rows.append(Measure(label, ("accuracy", group), "percent", main=alone, interval=("intervals", group), n=count))
    for key in result["averages"]:
        kind, *task = key.split(", ")
        words = {"micro": "over all items (micro)", "macro": "mean of the splits (macro)"}[kind]
        label = ", ".join([short, *task, words])
        rows.append(Measure(label, ("averages", key), "percent", main=kind == "macro", interval=("intervals", key)))
    note = f"Guessing gives {100 * result['chance']:.1f} %; equal scores are wrong.{_FOIL_NOTES.get(name, '')}"
    if "intervals" in result:
        note += _INTERVALS
    return title, note, rows


def _geometry(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    kinds = {
        "image": "picture I",
        "positive": "caption P",
        "negated_positive": "negated positive P′",
        "negative": "negative N",
    }
    placed = [Measure(f"Radius of {label}", ("radius", kind), "length") for kind, label in kinds.items()]
    raw = [Measure(f"Radius of {label}, as encoded", ("radius_raw", kind), "length") for kind, label in kinds.items()]
    corners = [
        Measure("Angle at N, between P and P′", ("angles", "at_negative"), "degrees"),
        Measure("Angle at P′, between N and P", ("angles", "at_negated_positive"), "degrees"),
    ]
    note = (
        f"Mean hyperbolic radius and mean angles over {result['n']:,} quadruplets, embeddings placed as in training "
        f"(norm = {result['norm']}, curvature {result['curvature']:g})."
    )
    if result["norm"] == "unit":
        note += " With unit norm every placed radius is 2, so only the radii as encoded can differ."
    return _titled("Geometry", name, "geometry"), note, [*placed, *raw, *corners]


def _selective(name: str, result: Record) -> tuple[str, str, list[Measure]]:
    ways = {"i2t": "Picture → caption", "t2i": "Caption → picture"}
    told = _DOUBTS
    rows = []
    for way, label in ways.items():
        known = [key for key in told if key in result["ways"][way]]
        rows.append(Measure(f"{label}, wrong at rank 1", ("ways", way, "error"), "control"))
        rows += [Measure(f"{label}, AURC by {told[key]}", ("ways", way, key, "aurc"), "control") for key in known]
        rows += [Measure(f"{label}, AUROC by {told[key]}", ("ways", way, key, "auroc"), "control") for key in known]
    note = (
        "Does the model know which searches go wrong? AURC is the mean error when only the surest are answered, over "
        "all shares of answers: a random order has the error itself. AUROC is 50.0 % for an uncertainty that says "
        "nothing. σ is worth something only beyond 1 − p."
    )
    about = {"selective_neg": "negated captions"}.get(name, name.removeprefix("selective_"))
    title = "Answering only where sure"
    return title if name == "selective" else f"{title}: {about}", note, rows


LAYOUTS: dict[str, Callable[[str, Record], tuple[str, str, list[Measure]]]] = {
    "mcq": _mcq,
    "zeroshot_retrieval": _retrieval,
    "judged_retrieval": _judged,
    "zeroshot_classification": _classification,
    "pairs": _pairs,
    "foils": _foils,
    "geometry": _geometry,
    "selective_retrieval": _selective,
}
"""How the results of each task are laid out."""


def has_layout(result: Record) -> bool:
    """Whether there is a table for a suite's result."""
    return result.get("task") in LAYOUTS


def _titled(title: str, name: str, usual: str) -> str:
    return title if name == usual else f"{title}: {name}"
