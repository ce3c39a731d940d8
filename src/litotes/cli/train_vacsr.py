"""``litotes train vacsr``: learn how likely, and how surely, a caption belongs to a picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from litotes.config import flag, require_numbers
from litotes.errors import UserError
from litotes.models.lora_settings import require_layers

_LEAST = {
    "epochs": 1, "steps": 1, "batch_size": 1, "warmup": 0, "wd": 0, "accum_freq": 1, "seed": 0, "save_frequency": 0,
    "drop_factor": 0, "workers": 0, "step_memory": 1, "allow_missing": 0, "noise_ratio": 0, "noise_seed": 0,
    "hidden": 1, "latent": 1, "components": 1, "decoder_hidden": 1, "bottleneck": 1, "hard_negatives": 1,
    "recon_weight": 0, "kl_weight": 0, "sigma_positive_weight": 0, "sigma_negative_weight": 0,
    "dimension": 1, "frozen_epochs": 0, "adapter_wd": 0,
    "flip": 0, "touched": 0, "token_chance": 0, "token_part": 0,
}  # fmt: skip
_ABOVE_ZERO = ("lr", "gumbel_temperature", "text_rate", "image_rate", "layer_decay", "crop", "crop_area")
_FACTORS = ("text_rate", "image_rate", "layer_decay", "crop", "crop_area", "flip", "touched", "token_chance")
"""Shares and factors, none above 1."""
_FULL_ALONE = (
    "dimension", "preparation", "layer_decay", "frozen_epochs", "ramp", "crop", "touched", "token_chance", "token_part",
)  # fmt: skip
_TRAINED = ("text_rate", "image_rate", "flip", "adapter_wd")
"""What both kinds of trained backbones know."""
_BLOCKS_ALONE = ("vision_blocks", "text_blocks", "crop_area")
UNKNOWN_TO = {
    "frozen": (*_FULL_ALONE, *_BLOCKS_ALONE, *_TRAINED),
    "full": (*_BLOCKS_ALONE, "cache"),
    "blocks": (*_FULL_ALONE, "cache"),
}  # fmt: skip
"""By backbone, the options that it does not know."""


@dataclass(frozen=True)
class Settings:
    """What to train on the features of a frozen model, or with the model, on which pairs, how, and what to measure.

    Model and data:
    model: folder of a CLIP in transformers' layout; or a file of weights of a CLIP, LongCLIP, HiMo-CLIP or SmartCLIP
        (.pt, .safetensors), with --vocabulary
    vocabulary: folder of tokenizer files, or bpe_simple_vocab_16e6.txt.gz, for a model that is a file; none by default
    activation: "quick_gelu" or "gelu", for a file that leaves it open; by default what its family says
    round_like_reference: of a file, round weights to float16 as the reference loaders do; off by default
    sha256: refuse another file, or a folder with another model.safetensors; not checked by default
    adapter: folder of a LoRA adapter, of HANCLIP for one, to mount on the model first (with --backbone full or
        blocks: to merge into it); none by default
    any_base: take such an adapter that does not name its base model
    train_data: table (CSV, TSV, JSONL, parquet) with filepath and caption, a caption a row, or NegBench's captions
        lists; a picture may have any number of captions. Or a folder of class folders
    output: folder of the run: pair-adapter, checkpoints, journal, config.json, noise.npy, report.html and report.json
    images_root: folder that the tables' paths start from; by default each table's own
    broken_pictures: "stop" at the first picture that cannot be read, or "skip": every picture is decoded once before
        the run starts, those that cannot be read are listed with the reason, and their rows left out
    allow_missing: how many pictures may be missing; those are listed, and their rows left out
    val_data: table of other pictures to validate on; by default a share of the training table
    classes: the captions of --train-data are classes (or it has a column classname), and classification is measured; a
        folder with one folder of pictures a class can be given as --train-data without it
    classnames: names of class folders that bear ids or numbers, as for ``litotes evaluate``; none by default
    prompt: what a class is put into, with {c} in its place; by default "a photo of a {c}." for the names of folders
        and of a column classname, and captions as they stand
    pairing: captions that the pictures of a batch are paired with: those of the "batch", or "all" prompts of classes
        that are trained on; by default all for classes
    val_fraction: share of the pictures that is kept out of training and measured, at most 1000 pictures
    allow_network: let --model be a hub id that is downloaded

    Noisy correspondence, on the training part alone:
    noise_ratio: share of the captions (or pictures) that are shuffled, 0 to 1
    noise_unit: "caption" shuffles single captions, "image" all captions of a picture together
    noise_seed: of the choice and the shuffle, apart from --seed
    noise_index: .npy with the picture's index of each caption, as NCR and BiCro publish it, in place of --noise-ratio;
        none by default
    noise_sha256: hash that the assignment in that file must have; not checked by default

    The method:
    method: "vacsr"; or, to compare with, "sigmoid" (the sigmoid loss of SigLIP) or "infonce"
    scorer: what gives a pair its score: "variational", VACSR's adapter; "deterministic", an adapter of the same size
        without a distribution; "cosine", none but a learned scale and bias. By default variational for vacsr, else
        deterministic
    backbone: "frozen": pictures and captions are encoded once, and the scorer alone is trained; "full": both towers
        are trained with it, by the paper's recipe for retrieval, all tokens pooled into one space; "blocks": some
        blocks of each tower are, below CLIP's own features, by its recipe for classes
    sigmoid_reduction: of the sigmoid loss: over "per_image" or "mean" of all pairs
    repeats: what InfoNCE does with further right captions of a picture in its batch

    Sizes and readings of the adapter (docs/methods.md, section 8):
    hidden: units behind the trunk; by default as wide as the features
    latent: dimensions of a component; by default as wide as the features
    components: Gaussians of the mixture
    decoder_hidden: units of the decoder
    bottleneck: units of one more layer before the trunk's last; none by default
    layout: one trunk for all heads, one a component, or one a head
    norm: before each ReLU
    feature_norm: features divided by their length, or as they are
    input_scale: factor on their product: a number, "sqrt_d" or "d"
    mixture: weights of the components, of the whole adapter or of each pair
    gumbel_choice: of a component in training: one-hot, or a softmax
    gumbel_temperature: of that softmax
    log_var: what a head gives: log sigma^2, or a number whose sigmoid is sigma^2, or whose sigmoid is log sigma^2
    decoded: mean that gives the logit: of the mixture, of its likeliest component ("argmax"), or the mean of the
        logits of all components
    uncertainty_spread: variance that sigma tells: of the mixture's components, of the likeliest one, or in "total",
        with the spread between them
    uncertainty_summary: one number of all dimensions: mean sigma, mean or sum of sigma^2

    The whole backbone, with --backbone full:
    dimension: of the features that the tokens are pooled into
    preparation: of pictures: "pcmepp", as in PCME++: the whole picture squashed to a square, ImageNet's mean and
        deviation; or "model", the model's own
    text_rate: learning rate of the text tower, as a share of --lr, which is the scorer's; by default 0.1, with blocks 1
    image_rate: the same of the picture tower; by default 0.01, with blocks 1
    layer_decay: factor on that rate for each block, counted from the top
    frozen_epochs: passes, from the first, in which the picture tower rests
    ramp: raise the loss step by step to its full weight in the pass in which the picture tower wakes; by default true
    adapter_wd: weight decay of the scorer; by default --wd. Also with --backbone blocks
    crop: least share of a side of a picture that training sees; 1 leaves it whole
    flip: share of the pictures that are mirrored; 0 for captions that tell left from right. Also with --backbone blocks
    touched: share of a caption's tokens that are masked, exchanged or left out
    token_chance: share of the pictures of which some tokens are not pooled
    token_part: largest part of a picture's tokens that is not pooled

    Some blocks, with --backbone blocks:
    vision_blocks: of the picture tower that are trained, counted from 0 at the input: numbers, as 0-1 or 0,2-3, "top1"
        to "top3", or "all"
    text_blocks: the same of the text tower
    crop_area: least share of a picture's area that training sees, stretched to a square; 1 for the model's own
        preparation

    Weights and readings of the loss:
    recon_weight: of the reconstruction
    kl_weight: of the divergence from the prior
    sigma_positive_weight: of the fit of sigma^2 at right pairs
    sigma_negative_weight: of the fit of sigma^2 at the hardest wrong ones
    hard_negatives: wrong captions a picture that sigma^2 is fitted at
    hardest: the most similar ones, or to the letter of the paper those with the largest loss
    directions: hardest captions of each image, or also hardest images of each caption
    negative_target: label that their residual is measured from
    recon_gradient: of the sigmoid in the reconstruction
    recon_reduction: over all pairs, or their sum by the number of images
    kl_reduction: over the latent dimensions
    variance: what the fit takes for sigma^2 of a log-variance
    denominator: of the fit: 2 sigma^2, or 2 sigma as printed
    log_term: of the fit: log of that variance, or the log-variance itself
    aggregation: over dimensions: mean of the fits, their sum, or the mean variance first
    stop_gradient: the residual in the fit is a constant; by default true

    The run:
    epochs: passes over the captions; by default 25, with --backbone blocks 5
    steps: at least 1; wins over epochs; by default counted from them
    batch_size: captions a step; all pairs of a batch are scored; by default 128, with --backbone blocks 16
    lr: peak learning rate; by default 5e-4, with --backbone blocks 1.5e-3
    warmup: steps of rising rate; by default 50, or a tenth of a run of fewer than 500; none where the backbone is
        trained
    schedule: after the rise half a "cosine" to 0, "constant", or "step": times --drop-factor at --drop-epochs; by
        default cosine, with --backbone full step
    drop_epochs: passes, counted from 0, from which on the rate is multiplied once more
    drop_factor: what it is multiplied by
    optimizer: "adamw", "adamp" or "sgd" with momentum 0.9; by default adamw, with --backbone full adamp and blocks
        sgd, as in the paper
    wd: weight decay, on matrices only; by default 1e-4, with --backbone blocks 5e-4
    accum_freq: batches whose gradients are averaged before a step of the optimiser
    step_memory: MiB that the graph of a step of vacsr may take; a larger batch is taken by blocks of pictures, with
        the same result
    precision: of towers, trunk and heads; everything else stays in float32 or float64
    device: torch device, cpu by default
    workers: processes that decode pictures
    seed: of the held-out pictures, weights, order and draws
    save_frequency: steps between checkpoints
    select: the adapter that is kept: of the "last" step, or of the checkpoint with the highest rSum on the
        validation pictures
    resume: go on where the last run in --output stopped; of a finished one, measure again and write the report
    cache: folder that keeps the features of a frozen backbone for the next run; none by default

    What is measured:
    retrieval: captions to measure on before and after, as for ``litotes evaluate``; by default the validation pictures
    negated_retrieval: the same with negated captions
    choice: multiple-choice questions, as for ``litotes evaluate``
    ks: ranks at which recall is counted
    """

    model: Path
    train_data: Path
    output: Path
    vocabulary: Path | None = None
    activation: Literal["quick_gelu", "gelu"] | None = None
    round_like_reference: bool = False
    sha256: str | None = None
    adapter: Path | None = None
    any_base: bool = False
    images_root: Path | None = None
    broken_pictures: Literal["stop", "skip"] = "stop"
    allow_missing: int = 0
    val_data: Path | None = None
    classes: bool = False
    classnames: Path | None = None
    prompt: str | None = None
    pairing: Literal["batch", "all"] | None = None
    val_fraction: float = 0.1
    allow_network: bool = False
    noise_ratio: float = 0.0
    noise_unit: Literal["caption", "image"] = "caption"
    noise_seed: int = 0
    noise_index: Path | None = None
    noise_sha256: str | None = None
    method: Literal["vacsr", "sigmoid", "infonce"] = "vacsr"
    scorer: Literal["variational", "deterministic", "cosine"] | None = None
    backbone: Literal["frozen", "full", "blocks"] = "frozen"
    sigmoid_reduction: Literal["mean", "per_image"] = "per_image"
    repeats: Literal["plain", "masked", "uniform"] = "masked"
    hidden: int | None = None
    latent: int | None = None
    components: int = 2
    decoder_hidden: int = 16
    bottleneck: int | None = None
    layout: Literal["shared", "per_component", "separate"] = "shared"
    norm: Literal["none", "layernorm"] = "none"
    feature_norm: Literal["unit", "none"] = "unit"
    input_scale: float | Literal["sqrt_d", "d"] = 1.0
    mixture: Literal["global", "per_pair"] = "global"
    gumbel_choice: Literal["hard", "soft"] = "hard"
    gumbel_temperature: float = 1.0
    log_var: Literal["raw", "log_sigmoid", "sigmoid"] = "raw"
    decoded: Literal["mixture_mean", "argmax", "mean_of_decoded"] = "mixture_mean"
    uncertainty_spread: Literal["mixture", "argmax", "total"] = "mixture"
    uncertainty_summary: Literal["mean_std", "mean_variance", "sum_variance"] = "mean_std"
    dimension: int = 1024
    preparation: Literal["pcmepp", "model"] = "pcmepp"
    text_rate: float | None = None
    image_rate: float | None = None
    layer_decay: float = 0.7
    frozen_epochs: int = 2
    ramp: bool = True
    adapter_wd: float | None = None
    crop: float = 0.6
    flip: float = 0.5
    touched: float = 0.2
    token_chance: float = 0.8
    token_part: float = 0.2
    vision_blocks: str = "0-1"
    text_blocks: str = "0-2"
    crop_area: float = 0.08
    recon_weight: float = 1.0
    kl_weight: float = 0.0005
    sigma_positive_weight: float = 1.0
    sigma_negative_weight: float = 1.0
    hard_negatives: int = 1
    hardest: Literal["similarity", "bracket"] = "similarity"
    directions: Literal["images", "both"] = "images"
    negative_target: float = 1.0
    recon_gradient: Literal["straight_through", "exact"] = "straight_through"
    recon_reduction: Literal["mean", "per_image"] = "mean"
    kl_reduction: Literal["mean", "sum"] = "mean"
    variance: Literal["sigmoid", "exp", "sigmoid_std"] = "sigmoid"
    denominator: Literal["variance", "std"] = "variance"
    log_term: Literal["variance", "log_var"] = "variance"
    aggregation: Literal["elementwise", "sum", "first"] = "elementwise"
    stop_gradient: bool = True
    epochs: int | None = None
    steps: int | None = None
    batch_size: int | None = None
    lr: float | None = None
    warmup: int | None = None
    schedule: Literal["cosine", "constant", "step"] | None = None
    drop_epochs: tuple[int, ...] = (15,)
    drop_factor: float = 0.1
    optimizer: Literal["adamw", "adamp", "sgd"] | None = None
    wd: float | None = None
    accum_freq: int = 1
    step_memory: int = 1024
    precision: Literal["no", "bf16", "fp16"] = "no"
    device: str = "cpu"
    workers: int = 0
    seed: int = 0
    save_frequency: int = 200
    select: Literal["last", "validation"] = "last"
    resume: bool = False
    cache: Path | None = None
    retrieval: Path | None = None
    negated_retrieval: Path | None = None
    choice: Path | None = None
    ks: tuple[int, ...] = (1, 5, 10)

    def __post_init__(self) -> None:
        require_numbers(self, _LEAST, _ABOVE_ZERO)
        self._require_shares()
        self._require_words()
        self._require_noise()
        for wrong, got, expected, do in (
            (
                self.save_frequency % self.accum_freq,
                f"--save-frequency {self.save_frequency} with --accum-freq {self.accum_freq}",
                "checkpoints at steps of the optimiser, which come every --accum-freq batches",
                f"give --save-frequency {self.accum_freq * max(1, round(self.save_frequency / self.accum_freq))}",
            ),
            (
                self.rate_schedule != "step"
                and (self.drop_epochs, self.drop_factor) != (Settings.drop_epochs, Settings.drop_factor),
                f"--drop-epochs or --drop-factor with --schedule {self.rate_schedule}",
                "--schedule step, since nothing else drops",
                "add it, or leave them out",
            ),
            (
                self.precision == "fp16" and self.device == "cpu",
                "--precision fp16 on the CPU",
                "no or bf16 there",
                "give --precision bf16, or leave it out",
            ),
            (
                self.select == "validation" and not self.save_frequency,
                "--select validation with --save-frequency 0",
                "checkpoints to choose among",
                "give --save-frequency a number of steps",
            ),
            (
                self.any_base and self.adapter is None,
                "--any-base without --adapter",
                "--adapter, since nothing else uses it",
                "add --adapter, or leave out --any-base",
            ),
            (
                self.val_data is not None and self.val_fraction != Settings.val_fraction,
                f"--val-data {self.val_data} with --val-fraction {self.val_fraction}",
                "one of them: with a table of its own nothing is kept out of --train-data",
                "leave out one",
            ),
            (
                self.select == "validation" and self.of_classes,
                "--select validation with classes",
                "captions of their own, by whose searches a checkpoint is chosen",
                "leave it out: the last step is kept",
            ),
            *(
                (
                    getattr(self, name) is not None and not self.of_classes,
                    f"{flag(name)} without classes",
                    "--classes, or a folder of class folders as --train-data",
                    "add it, or leave out the option",
                )
                for name in ("classnames", "prompt", "pairing")
            ),
        ):
            if wrong:
                raise UserError(got=got, expected=expected, do=do)

    @property
    def of_classes(self) -> bool:
        """Whether the captions are the prompts of classes."""
        return self.classes or self.train_data.is_dir()

    @property
    def full(self) -> bool:
        """Whether the backbone is trained with the scorer."""
        return self.backbone == "full"

    @property
    def rate_schedule(self) -> Literal["cosine", "constant", "step"]:
        """The schedule, also where none was named."""
        return self.schedule or ("step" if self.full else "cosine")

    def _require_shares(self) -> None:
        for name in (*_FACTORS, "token_part"):
            value = getattr(self, name)
            if value is not None and (value > 1 or (name == "token_part" and value == 1)):
                raise UserError(
                    got=f"{flag(name)} {value}",
                    expected="a share below 1" if name == "token_part" else "a share or factor of at most 1",
                    do=f"choose another value for {flag(name)}",
                )

    def _require_words(self) -> None:
        for name in ("vision_blocks", "text_blocks"):
            try:
                require_layers(getattr(self, name))
            except UserError as error:
                raise UserError(f"{flag(name)} {getattr(self, name)}", error.expected, error.do) from error

    def _require_noise(self) -> None:
        """Refuse options of the noise that would change nothing, or that say it twice."""
        made = [flag(name) for name in ("noise_unit", "noise_seed") if getattr(self, name) != getattr(Settings, name)]
        if self.noise_index and (self.noise_ratio or made):
            raise UserError(
                got=f"--noise-index with {', '.join([*(['--noise-ratio'] if self.noise_ratio else []), *made])}",
                expected="either a file of the noise or what it is made by",
                do="leave out one",
            )
        if made and not self.noise_ratio:
            raise UserError(
                got=f"{', '.join(made)} without noise",
                expected="--noise-ratio above 0",
                do="add it, or leave them out",
            )
        if self.noise_sha256 and not self.noise_index:
            raise UserError(got="--noise-sha256 without a file", expected="--noise-index", do="add it")


def run(settings: Settings) -> None:
    """Train, measure before and after, write adapter and report."""
    from litotes.cli.pair_training import run_pair_training

    run_pair_training(settings)
