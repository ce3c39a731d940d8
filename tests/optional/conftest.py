"""torchvision, which open_clip imports, beside a torch without CUDA.

PyPI's torchvision for Linux has its operators built for CUDA. They do not load beside a CPU torch, and then neither
torchvision nor what imports it (open_clip, timm, CLIPModel) can be imported, for want of the declarations of ``nms``
and ``qnms``. Declared and never called, they let it be imported; its picture transforms need no operator.
"""

from importlib import import_module
from importlib.util import find_spec

import torch


def import_torchvision():
    """The declarations that had to be made, which last as long as what is returned; None where none had to be."""
    try:
        import_module("torchvision")
    except RuntimeError as error:
        if "operator torchvision::nms does not exist" not in str(error):
            raise
        library = torch.library.Library("torchvision", "FRAGMENT")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import_module("torchvision")
        return library
    return None


DECLARED = import_torchvision() if find_spec("torchvision") else None
