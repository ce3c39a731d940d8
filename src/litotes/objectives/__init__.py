"""The losses, one a file, each a pure function of features that returns its named terms."""

from litotes.objectives.atnl import Angles, AtnlTerms, angles, atnl
from litotes.objectives.contrastive import (
    RepeatCounts,
    count_repeats,
    info_nce,
    negative_info_nce,
    repeat_matrix,
)
from litotes.objectives.hanclip import HanclipConfig, HanclipTerms, hanclip
from litotes.objectives.hco import HcoConfig, HcoTerms, hco
from litotes.objectives.mirror import MirrorConfig, mirror_targets, turning
from litotes.objectives.own_options import OwnOptionsConfig, own_options
from litotes.objectives.space import SpaceConfig, hyperbolic_temperature, sensitivity
from litotes.objectives.statements import StatementTerms, statement_contrast

__all__ = [
    "Angles",
    "AtnlTerms",
    "HanclipConfig",
    "HanclipTerms",
    "HcoConfig",
    "HcoTerms",
    "MirrorConfig",
    "OwnOptionsConfig",
    "RepeatCounts",
    "SpaceConfig",
    "StatementTerms",
    "angles",
    "atnl",
    "count_repeats",
    "hanclip",
    "hco",
    "hyperbolic_temperature",
    "info_nce",
    "mirror_targets",
    "negative_info_nce",
    "own_options",
    "repeat_matrix",
    "sensitivity",
    "statement_contrast",
    "turning",
]
