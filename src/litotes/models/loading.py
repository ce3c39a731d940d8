"""One entry for a model, whichever way it lies on the disk."""

from pathlib import Path

from litotes.backbones.tokenizer import Truncation, require_tokenizer_files
from litotes.backbones.vocabulary import WHERE_FROM
from litotes.errors import UserError
from litotes.models.clip import local_folder
from litotes.models.matcher import Matcher, load_matcher, matcher_of_file
from litotes.models.state_dict_file import Activation, load_state_dict_file

_ENDINGS = (".pt", ".pth", ".ckpt", ".bin", ".safetensors")


def load_backbone(
    source: str | Path,
    *,
    vocabulary: str | Path | None = None,
    activation: Activation | None = None,
    device: str = "cpu",
    truncation: Truncation = "truncate",
    allow_network: bool = False,
) -> Matcher:
    """The model of a folder, of the hub, or of a file of weights, ready for training, evaluation and search.

    ``source``: a folder in transformers' layout, a file in OpenAI's or open_clip's naming (``load_state_dict_file``),
    or, with ``allow_network``, a model's name on the hub. ``vocabulary``: folder of the tokenizer files, for a file of
    weights, which holds none. ``activation``: of a file that leaves it open. What is to be known of a file (its family,
    its licence, what was left out) stands in ``notes`` of the result. A file and the folder that ``convert`` makes of
    it are the same model, with the same fingerprint.

    Errors: those of ``require_source``, ``load_matcher``, ``load_state_dict_file`` and ``matcher_of_file``.
    """
    require_source(source, vocabulary=vocabulary, activation=activation, allow_network=allow_network)
    if vocabulary is None:
        return load_matcher(source, device=device, truncation=truncation, allow_network=allow_network)
    backbone = load_state_dict_file(source, activation=activation, device=device)
    return matcher_of_file(backbone, vocabulary, Path(source).stem, truncation=truncation)


def require_source(
    source: str | Path,
    *,
    vocabulary: str | Path | None = None,
    activation: Activation | None = None,
    allow_network: bool = False,
) -> None:
    """Refuse a model that is not there or lacks its vocabulary; nothing is read or fetched.

    Errors: no such file or folder (on the hub is looked only by ``load_backbone``); a file without ``vocabulary``, or
    one that is no folder of tokenizer files; ``vocabulary`` or ``activation`` for a folder, which has its own.
    """
    path = Path(source)
    if path.is_file():
        _require_vocabulary(path, vocabulary)
        return
    if not path.exists() and (vocabulary is not None or path.suffix in _ENDINGS):
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
