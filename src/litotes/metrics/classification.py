"""Zero-shot classification: accuracy at K and mean recall of the classes, ties counted as misses."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from litotes.errors import UserError
from litotes.metrics.checks import as_indices, refuse_non_finite


def class_ranks(scores: Float[Tensor, "images classes"], labels: Tensor | Sequence[int]) -> Tensor:
    """Rank of the right class of each image, from 1: 1 + #{ c != label : s[c] >= s[label] }; int64 [images].

    Errors: non-finite scores, no image, labels out of range.
    """
    n_images, n_classes = scores.shape
    if not n_images or not n_classes:
        raise UserError(
            got=f"{n_images} images and {n_classes} classes", expected="at least one of each", do="check the data set"
        )
    refuse_non_finite(scores)
    right = as_indices(labels, n_images, n_classes, "labels").to(scores.device)
    return (scores >= scores.gather(1, right[:, None])).sum(dim=1)


def accuracy_at(scores: Float[Tensor, "images classes"], labels: Tensor | Sequence[int], k: int = 1) -> float:
    """Share of the images whose right class is among the K highest, equals counted against it; a fraction 0-1.

    Errors: those of ``class_ranks``; K below 1 or above the number of classes.
    """
    if not 1 <= k <= scores.shape[1]:
        raise UserError(
            got=f"K = {k} over {scores.shape[1]} classes",
            expected="K from 1 to the number of classes",
            do="ask for a smaller K",
        )
    return int((class_ranks(scores, labels) <= k).sum()) / len(scores)


def acc1(scores: Float[Tensor, "images classes"], labels: Tensor | Sequence[int]) -> float:
    """Top-1 accuracy: share of the images whose right class is strictly above every other one; a fraction 0-1."""
    return accuracy_at(scores, labels, 1)


def recall_of_classes(scores: Float[Tensor, "images classes"], labels: Tensor | Sequence[int]) -> dict[int, float]:
    """Top-1 accuracy among the images of each class that has an image, by the class's index; fractions 0-1."""
    hit = (class_ranks(scores, labels) == 1).cpu()
    right = torch.as_tensor(labels).cpu()
    return {
        int(label): int(hit[right == label].sum()) / int((right == label).sum()) for label in right.unique(sorted=True)
    }


def mean_per_class_recall(scores: Float[Tensor, "images classes"], labels: Tensor | Sequence[int]) -> float:
    """Mean over the classes that have an image of their top-1 accuracy (balanced accuracy); a fraction 0-1.

    A class without an image has no recall and is left out, as in scikit-learn's balanced accuracy, which
    CLIP_benchmark reports under this name.
    """
    recall = recall_of_classes(scores, labels)
    return sum(recall.values()) / len(recall)
