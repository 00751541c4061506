"""The rejection step: drop what the classifier does not put into the target class (DBVCE, Section 5, Hypothesis 2)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from cfeval.backends.classifiers.base import Classifier
from cfeval.diffusion.memory import Allowance, mapped


def accepted(
    images: Tensor, targets: Sequence[int] | Tensor, classifier: Classifier, prepared: bool, allowance: Allowance
) -> Tensor:
    """Whether the classifier puts each image into its target class, (N,), on the images' device.

    Args:
        images: (N, 3, H, W) in [−1, 1]; what leaves it is clamped, as it would be in a picture file. An image that is
            not finite is never accepted.
        targets: (N,), indices of its classes.
        classifier: the explained one.
        prepared: whether it resizes and normalises as it was trained.
        allowance: how many images at once; halved where memory does not suffice.
    """

    @torch.no_grad()
    def predicted(start: int, end: int) -> Tensor:
        shown = images[start:end].clamp(-1, 1).to(classifier.device)
        return classifier.logits(shown, None, prepared).argmax(1).to(images.device)

    finite = torch.isfinite(images).flatten(1).all(1)
    wanted = torch.as_tensor(targets).to(images.device)
    return (mapped(predicted, len(images), allowance, "classification") == wanted) & finite
