"""The losses, one a file, each a pure function of features that returns its named terms."""

from litotes.objectives.atnl import Angles, AtnlTerms, angles, atnl
from litotes.objectives.contrastive import (
    RepeatCounts,
    count_repeats,
    info_nce,
    info_nce_of_scores,
    negative_info_nce,
    repeat_matrix,
)
from litotes.objectives.diagnostics import PairDiagnostics, collapses, diagnostics
from litotes.objectives.hanclip import HanclipConfig, HanclipTerms, hanclip
from litotes.objectives.hco import HcoConfig, HcoTerms, hco
from litotes.objectives.mirror import MirrorConfig, mirror_targets, turning
from litotes.objectives.own_options import OwnOptionsConfig, own_options
from litotes.objectives.pairs import match_matrix
from litotes.objectives.sigmoid import sigmoid_loss, sigmoid_loss_of_logits
from litotes.objectives.space import SpaceConfig, hyperbolic_temperature, sensitivity
from litotes.objectives.statements import StatementTerms, statement_contrast
from litotes.objectives.vacsr import (
    PairSample,
    VacsrConfig,
    VacsrTerms,
    hardest_negatives,
    kl_bound,
    paper_weights,
    reconstruction,
    sigma_negative,
    sigma_positive,
    vacsr,
)

__all__ = [
    "Angles",
    "AtnlTerms",
    "HanclipConfig",
    "HanclipTerms",
    "HcoConfig",
    "HcoTerms",
    "MirrorConfig",
    "OwnOptionsConfig",
    "PairDiagnostics",
    "PairSample",
    "RepeatCounts",
    "SpaceConfig",
    "StatementTerms",
    "VacsrConfig",
    "VacsrTerms",
    "angles",
    "atnl",
    "collapses",
    "count_repeats",
    "diagnostics",
    "hanclip",
    "hardest_negatives",
    "hco",
    "hyperbolic_temperature",
    "info_nce",
    "info_nce_of_scores",
    "kl_bound",
    "match_matrix",
    "mirror_targets",
    "negative_info_nce",
    "own_options",
    "paper_weights",
    "reconstruction",
    "repeat_matrix",
    "sensitivity",
    "sigma_negative",
    "sigma_positive",
    "sigmoid_loss",
    "sigmoid_loss_of_logits",
    "statement_contrast",
    "turning",
    "vacsr",
]
