"""One entry for a model, whichever way it lies on the disk."""

from pathlib import Path

from litotes.backbones.tensor_file import read_tensor_file, require_hash, require_sha256
from litotes.backbones.tokenizer import Truncation, require_tokenizer_files
from litotes.backbones.vocabulary import WHERE_FROM
from litotes.errors import UserError
from litotes.models.clip import WEIGHT_ENDINGS, WEIGHTS, local_folder
from litotes.models.conversion import MASK_NETWORK, source_record
from litotes.models.matcher import Matcher, load_matcher, matcher_of_file
from litotes.models.state_dict_file import Activation, load_state_dict_file


def load_backbone(
    source: str | Path,
    *,
    vocabulary: str | Path | None = None,
    activation: Activation | None = None,
    round_like_reference: bool = False,
    sha256: str | None = None,
    device: str = "cpu",
    truncation: Truncation = "truncate",
    allow_network: bool = False,
) -> Matcher:
    """The model of a folder, of the hub, or of a file of weights, ready for training, evaluation and search.

    ``source``: a folder in transformers' layout, a file in OpenAI's or open_clip's naming (``load_state_dict_file``),
    or, with ``allow_network``, a model's name on the hub. ``vocabulary``: folder of the tokenizer files, for a file of
    weights, which holds none. ``activation``: of a file that leaves it open. ``round_like_reference``: of a file,
    weights rounded to float16 as the reference loaders leave them; off, since the file's own numbers are the model.
    ``sha256``: refuse another file, or a folder whose ``model.safetensors`` is another one, before it is read.

    What is to be known of a file (its family, its licence, what was left out) stands in ``notes`` of the result;
    rounding and hash of the file, where known, in its provenance. A file and the folder that ``convert`` makes of it
    are the same model, with the same fingerprint.

    Errors: those of ``require_source``, ``load_matcher``, ``load_state_dict_file`` and ``matcher_of_file``; another
    hash.
    """
    require_source(
        source, vocabulary=vocabulary, activation=activation, round_like_reference=round_like_reference,
        sha256=sha256, allow_network=allow_network,
    )  # fmt: skip
    if vocabulary is None:
        folder = local_folder(source, allow_network)
        require_hash(folder / WEIGHTS, sha256)
        matcher = load_matcher(folder, device=device, truncation=truncation)
        matcher.name = Path(source).name
        if (folder / MASK_NETWORK).is_file():
            matcher.mask_network = read_tensor_file(folder / MASK_NETWORK).tensors
        record = source_record(folder)
        if record is not None:
            matcher.rounded, matcher.file_sha256 = record.round_like_reference, record.sha256
            matcher.family = record.family
        return matcher
    backbone = load_state_dict_file(
        source, activation=activation, round_like_reference=round_like_reference, sha256=sha256, device=device
    )
    matcher = matcher_of_file(backbone, vocabulary, Path(source).stem, truncation=truncation)
    matcher.rounded, matcher.file_sha256 = round_like_reference, sha256.lower() if sha256 else None
    return matcher


def require_source(
    source: str | Path,
    *,
    vocabulary: str | Path | None = None,
    activation: Activation | None = None,
    round_like_reference: bool = False,
    sha256: str | None = None,
    allow_network: bool = False,
) -> None:
    """Refuse a model that is not there or lacks its vocabulary; nothing is read or fetched.

    Errors: no such file or folder (on the hub is looked only by ``load_backbone``); a file without ``vocabulary``, or
    one that is no folder of tokenizer files; ``vocabulary``, ``activation`` or ``round_like_reference`` for a folder,
    which has its own; a ``sha256`` that is none (whether it is the file's is for ``load_backbone`` to say).
    """
    path = Path(source)
    if sha256 is not None:
        require_sha256(sha256)
    if path.is_file():
        _require_vocabulary(path, vocabulary)
        return
    if not path.exists() and (vocabulary is not None or path.suffix in WEIGHT_ENDINGS):
        raise UserError(
            got=f"{path}, which is not there",
            expected="a file of weights",
            do="check the path; the vocabulary is named for a file alone",
        )
    for option, given in (("vocabulary", vocabulary), ("activation", activation)):
        if given is not None:
            raise UserError(
                got=f"--{option} {given} for {path}, which is not a file",
                expected=f"no {option}: a folder in transformers' layout has its own",
                do=f"leave --{option} out",
            )
    if round_like_reference:
        raise UserError(
            got=f"--round-like-reference for {path}, which is not a file",
            expected="a file of weights: those of a folder are taken as they are",
            do="convert the file of the model with --round-like-reference, or leave it out",
        )
    if path.is_dir() or not allow_network:
        local_folder(path)


def _require_vocabulary(path: Path, vocabulary: str | Path | None) -> None:
    if vocabulary is None:
        raise UserError(
            got=f"{path}, a file of weights, which holds no vocabulary",
            expected="its tokenizer files (vocab.json and merges.txt, or tokenizer.json) named beside it",
            do=f"add --vocabulary: {WHERE_FROM}",
        )
    require_tokenizer_files(Path(vocabulary))
