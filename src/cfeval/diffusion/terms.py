"""Small parts of the guidance: norms, the Lp distance, the cone (DVCE, Section 3.3), the consensus (LDCE, Section 3.2).

Variables and symbols: explained f, the gradient of the classifier to explain; robust r, that of the robust one; all are
(N, 3, H, W), and every image is treated by itself.
"""

import math
from typing import Literal

import torch
from torch import Tensor

TINY = 1e-22
"""What the reference code adds to a norm that is smaller."""


def norms(images: Tensor) -> Tensor:
    """The L2 norm of each image, (N, 1, 1, 1)."""
    sizes: Tensor = torch.linalg.vector_norm(images.flatten(1), dim=1)
    return sizes.view(-1, 1, 1, 1)


def unit(gradient: Tensor) -> Tensor:
    """Each image's gradient with norm 1; one of norm 0 stays 0."""
    size = norms(gradient)
    return gradient / torch.where(size < TINY, size + TINY, size)


def lp_gradient(difference: Tensor, p: float) -> Tensor:
    """The gradient of Σ|d|^p: p·|d|^(p−1)·sign(d); below p = 1 the size of d is kept off 0."""
    if p == 1:
        return difference.sign()
    size = difference.abs() + (1e-12 if p < 1 else 0)
    gradient: Tensor = p * size.pow(p - 1) * difference.sign()
    return gradient


def cone(robust: Tensor, explained: Tensor, degrees: float, inside: Literal["classifier", "robust"]) -> Tensor:
    """The robust gradient projected onto the cone of an angle around the explained classifier's.

    Outside the cone, also where the two disagree by more than 90°, this is the vector on its boundary that lies in the
    plane of the two, f̂ + tan(angle) · r̂⊥, of norm 1/cos(angle). Inside it is the unit vector of the explained gradient
    (reference code) or of the robust one (DVCE, Section 3.3), as `inside` says. Where either is 0, it is the explained
    one.
    """
    axis, alone = unit(explained), unit(robust)
    along = (robust * axis).flatten(1).sum(1).view(-1, 1, 1, 1)
    across = robust - along * axis
    cosine = (alone * axis).flatten(1).sum(1).view(-1, 1, 1, 1)
    both = (norms(robust) > 0) & (norms(explained) > 0)
    outside = both & (torch.acos(cosine.clamp(-1, 1)) > math.radians(degrees))
    boundary = axis + math.tan(math.radians(degrees)) * unit(across)
    within = axis if inside == "classifier" else torch.where(both, alone, axis)
    return torch.where(outside, boundary, within)


def consensus(explained: Tensor, implicit: Tensor, degrees: float) -> Tensor:
    """The explained gradient, set to 0 at each pixel where its angle to the implicit classifier's is larger.

    The angle is that of the two colour vectors of the pixel. A pixel at which either is 0 counts as agreeing, as in
    the reference code, where its angle is not a number.
    """
    cosine = torch.cosine_similarity(explained, implicit, dim=1, eps=1e-30).clamp(-1, 1)
    silent = (explained.norm(dim=1) == 0) | (implicit.norm(dim=1) == 0)
    agrees = silent | (torch.acos(cosine) <= math.radians(degrees))
    kept: Tensor = explained * agrees.unsqueeze(1)
    return kept
