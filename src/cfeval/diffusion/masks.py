"""Where an image may change: FastDiME's self-optimised mask, MaskDiME's two nested gradient masks.

A mask is (N, 1, H, W), 1 where the image may change. Sources: Weng et al. 2024, Section 3.2, Eq. 6–8; Guo et al. 2026,
Section 3, and the code of both.
"""

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d


def of_difference(clean: Tensor, original: Tensor, threshold: float, side: int) -> Tensor:
    """1 near a pixel whose colour differs by at least `threshold` of the image's largest difference."""
    difference = (clean - original).abs().sum(1, keepdim=True)
    largest = difference.amax((1, 2, 3), keepdim=True).clamp_min(torch.finfo(difference.dtype).tiny)
    return (_dilated(difference / largest, side) >= threshold).to(clean.dtype)


def of_gradient(gradient: Tensor, share: float, inner_share: float, side: int) -> tuple[Tensor, Tensor]:
    """Two masks, dilated: the share of pixels with the largest mean absolute gradient; the largest share of those."""
    size = gradient.abs().mean(1, keepdim=True)
    pixels = size[0].numel()
    outer = max(1, int(share * pixels))
    inner = max(1, int(inner_share * outer))
    order = size.flatten(1).topk(outer, dim=1).indices
    return _dilated(_marked(size, order), side), _dilated(_marked(size, order[:, :inner]), side)


def blended(mask: Tensor, inside: Tensor, outside: Tensor) -> Tensor:
    """One image within the mask, the other around it."""
    return mask * inside + (1 - mask) * outside


def _marked(like: Tensor, indices: Tensor) -> Tensor:
    return torch.zeros_like(like).flatten(1).scatter(1, indices, 1.0).view_as(like)


def _dilated(mask: Tensor, side: int) -> Tensor:
    return max_pool2d(mask, side, stride=1, padding=side // 2)
