"""Settings of ``litotes evaluate``. Loads nothing heavy, so that the command's help stays quick."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from litotes.config import flag, require_numbers
from litotes.errors import UserError

NAMED = ("flickr30k", "flickr30k_31k", "urban1k", "sharegpt4v_1k")
"""Suites that are a retrieval protocol with a name."""

USUAL_KS = (1, 5, 10)
"""Ranks at which recall is counted where no others are asked for."""

_OPTIONS = {"mcq": "--choice", "retrieval_neg": "--negated-retrieval"}
"""Suites whose option is not called as they are."""
_SHORTLISTED = {"retrieval", "retrieval_neg", "coco", *NAMED}
_BY_PAIRS = ("mcq", "retrieval", "retrieval_neg", "coco", "classification", *NAMED)
"""Suites that an adapter of pairs can score."""


def named_ks(ks: tuple[int, ...]) -> tuple[int, ...] | None:
    """The K of a command whose default are the usual ones: None for these, since nobody may have named them."""
    return None if ks == USUAL_KS else ks


@dataclass(frozen=True)
class EvaluateConfig:
    """What to measure, on which model, and where the numbers go.

    At least one file or folder of questions, captions or classes is given.

    model: folder of the model, tokenizer and picture transform in transformers' layout; or a file of weights of a
        CLIP, LongCLIP, HiMo-CLIP or SmartCLIP (.pt, .safetensors), with --vocabulary.
    vocabulary: folder of tokenizer files, or bpe_simple_vocab_16e6.txt.gz, for a model that is a file; none by default.
    activation: "quick_gelu" or "gelu", for a file that leaves it open; by default what its family says.
    round_like_reference: of a file, round weights to float16 as the reference loaders do; off by default.
    sha256: refuse another file, or a folder with another model.safetensors; not checked by default.
    adapter: LoRA adapter to mount, a PEFT folder or CLIP-LoRA's own file (with --any-base); none by default.
    any_base: take an adapter that does not name its base model; off by default.
    pair_adapter: folder of an adapter of pairs, as ``litotes train vacsr`` writes it, for this model with this adapter
        (without --adapter where it has a backbone of its own): retrieval, multiple choice and classification by its
        logit in place of the cosine, with what its uncertainty knows; none by default.
    shortlist: with --pair-adapter, score in retrieval only the pairs of highest cosine: for each caption so many
        pictures, for each picture as many captions (times five, where a picture has five). More than the largest K. The
        result tells how much of the exact best 10 that holds. By default all pairs, COCO's 125 million for one.
    adapted_only: with an adapter, leave out the base, which is measured beside it otherwise; half the time.
    masked: of a SmartCLIP, mask each picture for each text by the model's mask network, as its training does and its
        published evaluations do not; off by default.
    choice: multiple-choice questions in NegBench's columns (image_path, correct_answer, caption_0 ...).
    retrieval: captions in NegBench's columns (filepath, captions) or one a row (filepath, caption); or a folder of
        pictures, each with its captions, one a line, in a .txt of the same name.
    negated_retrieval: the same with negated captions, reported under their own names.
    flickr30k: Flickr30k's 1K test split: Karpathy's dataset_flickr30k.json, ALBEF's flickr30k_test.json or
        CLIP_benchmark's flickr30k_test_karpathy.txt; the pictures in flickr30k-images beside it.
    flickr30k_31k: all of Flickr30k at once, 31,783 pictures, as LongCLIP measures: results_20130124.token; other
        figures than those of the 1K test split.
    urban1k: the folder Urban1k, with image/N.jpg and caption/N.txt.
    sharegpt4v_1k: ShareGPT4V's share-captioner_coco_lcs_sam_1246k_1107.json, of which the first 1,000 are asked.
    coco: Karpathy's dataset_coco.json, or a table (filepath, image_id, caption_id, caption): retrieval on COCO's test
        set by all its judges (5K, 1K with RSUM, CxC, ECCV Caption), for which every picture must be there.
    coco_judgements: folder of their judgements, eccv_caption/data; by default that of the installed package
        (pip install 'litotes[coco]').
    classification: a folder of class folders, one of CIFAR's binary version, a table whose different captions
        (filepath, caption) or names (filepath, classname) are the classes, or a list of pictures with a label each,
        such as val.txt or LOC_val_solution.csv for ImageNet's flat folder (--images-root).
    classnames: file of class names for class folders, or for labels that are WordNet ids or numbers from 0: one a line
        or "n01440764 tench" a line, or JSON; by default the folders' own names.
    valse: VALSE's file of true and false texts, such as existence.json.
    sugarcrepe: a split of SugarCrepe or SugarCrepe++ in JSON, or a folder of splits, each reported and averaged.
    negrefcocog: NegRefCOCOg.json, two boxes of one picture for each phrase.
    cc_neg: ccneg_preprocessed.pt, or the table converted from it; its last 40,000 triples are asked.
    images_root: folder that the tables' paths start from; by default each table's own folder.
    strip_prefix: beginning to take off every path of the tables that has it; nothing by default.
    broken_pictures: "stop" at the first picture that cannot be read, or "skip": every picture is decoded once before
        the model starts, those that cannot be read are listed with the reason, and their rows left out.
    allow_missing: how many pictures may be missing; those are listed, and their rows left out.
    templates: file of prompts, one a line, with {c} or {} for the class name; by default "a photo of a {c}." for
        class folders and a table of class names, and for a table of captions the caption alone.
    ks: ranks at which recall is counted, such as 1,5,10, each at most the pictures and captions that are searched; by
        default these three, without those that no model can miss in so few.
    dataset: name of the data in the result's keys; by default the folder of the first file, in the order of
        --choice, --retrieval and so on in this help (of a protocol with a name, such as --flickr30k, that name).
    output: JSON file of the result, beside which every answer is written as NAME.answers.jsonl; by default
        DATASET_base_MODEL_en_TASK.json in the current folder, with the adapter's name for base. A file that is there
        is replaced only by the same models' result on the same questions; where another one comes there during the
        run, this one is kept beside it as NAME-2.json.
    overwrite: replace whatever result is there.
    json: print the result as JSON, as it is written to --output, in place of the table; progress goes to stderr.
    cache: folder in which picture embeddings are kept for the next run; none by default.
    device: torch device, "cpu" by default.
    workers: processes that decode pictures while the model works; 0 decodes in between.
    truncation: "truncate" cuts captions over the model's context and counts them (as the benchmarks do);
        "refuse" stops at the first.
    allow_network: let --model be a hub id that is downloaded; off by default.
    """

    model: Path
    vocabulary: Path | None = None
    activation: Literal["quick_gelu", "gelu"] | None = None
    round_like_reference: bool = False
    sha256: str | None = None
    adapter: Path | None = None
    any_base: bool = False
    pair_adapter: Path | None = None
    shortlist: int | None = None
    adapted_only: bool = False
    masked: bool = False
    choice: Path | None = None
    retrieval: Path | None = None
    negated_retrieval: Path | None = None
    flickr30k: Path | None = None
    flickr30k_31k: Path | None = None
    urban1k: Path | None = None
    sharegpt4v_1k: Path | None = None
    coco: Path | None = None
    coco_judgements: Path | None = None
    classification: Path | None = None
    classnames: Path | None = None
    valse: Path | None = None
    sugarcrepe: Path | None = None
    negrefcocog: Path | None = None
    cc_neg: Path | None = None
    images_root: Path | None = None
    strip_prefix: str = ""
    broken_pictures: Literal["stop", "skip"] = "stop"
    allow_missing: int = 0
    templates: Path | None = None
    ks: tuple[int, ...] | None = None
    dataset: str | None = None
    output: Path | None = None
    overwrite: bool = False
    json: bool = False
    cache: Path | None = None
    device: str = "cpu"
    workers: int = 0
    truncation: Literal["truncate", "refuse"] = "truncate"
    allow_network: bool = False

    def __post_init__(self) -> None:
        require_numbers(self, {"allow_missing": 0, "workers": 0})
        if not self.files:
            raise UserError(
                got="nothing to evaluate",
                expected="one or more of --choice, --retrieval, --negated-retrieval, --flickr30k, --flickr30k-31k, "
                "--urban1k, --sharegpt4v-1k, --coco, --classification, --valse, --sugarcrepe, --negrefcocog, --cc-neg",
                do="name a file of questions or captions, or a folder of class folders",
            )
        if self.ks is not None and (not self.ks or min(self.ks) < 1 or len(set(self.ks)) < len(self.ks)):
            raise UserError(
                got=f"--ks {','.join(map(str, self.ks))}",
                expected="different whole numbers from 1",
                do="give for instance --ks 1,5,10",
            )
        for option, given, needed, other in (
            ("--classnames", self.classnames, "--classification", self.classification),
            ("--templates", self.templates, "--classification", self.classification),
            ("--coco-judgements", self.coco_judgements, "--coco", self.coco),
            ("--any-base", self.any_base, "--adapter", self.adapter),
            ("--shortlist", self.shortlist is not None, "--pair-adapter", self.pair_adapter),
            ("--adapted-only", self.adapted_only, "--adapter or --pair-adapter", self.adapter or self.pair_adapter),
        ):
            if given and not other:
                raise UserError(
                    got=f"{option} without {needed}",
                    expected=f"{needed}, since nothing else uses {option}",
                    do=f"add {needed}, or leave out {option}",
                )

        if self.masked and self.pair_adapter:
            raise UserError(
                got="--masked with --pair-adapter",
                expected="one way to score a pair: by masks, or by the adapter",
                do="leave out one of the two",
            )
        by_cosine = [flag(name) for name in self.files if name not in _BY_PAIRS]
        if self.pair_adapter and by_cosine:
            raise UserError(
                got=f"--pair-adapter with {', '.join(by_cosine)}",
                expected="multiple choice, retrieval and classification, which an adapter of pairs can score",
                do="evaluate the others without --pair-adapter",
            )

        self._require_shortlist()

    def _require_shortlist(self) -> None:
        """Refuse a shortlist for suites that need none, and one that recall reaches the end of."""
        if self.shortlist is None:
            return
        if not _SHORTLISTED & set(self.files):
            raise UserError(
                got=f"--shortlist with {', '.join(_OPTIONS.get(name, flag(name)) for name in self.files)}",
                expected="retrieval, whose searches have more items than can be scored soon",
                do="leave out --shortlist, or add --retrieval or --coco",
            )
        if self.shortlist <= max(self.ks or USUAL_KS):
            raise UserError(
                got=f"--shortlist {self.shortlist} for recall at {max(self.ks or USUAL_KS)}",
                expected="more items than the largest K",
                do="give for instance --shortlist 64",
            )

    @property
    def with_base(self) -> bool:
        """Whether the base is measured beside the adapted model."""
        return (self.adapter is not None or self.pair_adapter is not None) and not self.adapted_only

    @property
    def files(self) -> dict[str, Path]:
        """The inputs that were given, by suite, in the order they are run."""
        given = {
            "mcq": self.choice,
            "retrieval": self.retrieval,
            "retrieval_neg": self.negated_retrieval,
            **{name: getattr(self, name) for name in NAMED},
            "coco": self.coco,
            "classification": self.classification,
            "valse": self.valse,
            "sugarcrepe": self.sugarcrepe,
            "negrefcocog": self.negrefcocog,
            "cc_neg": self.cc_neg,
        }
        return {name: path for name, path in given.items() if path is not None}

    @property
    def dataset_name(self) -> str:
        """``dataset``, or the first input's name, of a named protocol, or that of the folder that holds it."""
        name, path = next(iter(self.files.items()))
        place = path.absolute()
        return self.dataset or (name if name in NAMED else (place if place.is_dir() else place.parent).name)
