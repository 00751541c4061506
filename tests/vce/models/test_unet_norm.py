"""The group normalisation for channels-last images is torch's."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from cfeval.vce.models.unet_norm import ChannelsLastNorm, quicken


@pytest.mark.parametrize(("channels", "groups"), [(64, 32), (32, 32), (96, 1)])
@pytest.mark.parametrize("mean", [0.0, 3.0])
@pytest.mark.parametrize("size", [(12, 8), (40, 32)])
def test_values_and_gradients_are_torchs(channels: int, groups: int, mean: float, size: tuple[int, int]) -> None:
    torch.manual_seed(0)
    images = (torch.randn(2, channels, *size) + mean).contiguous(memory_format=torch.channels_last)
    weight, bias, pull = torch.randn(channels), torch.randn(channels), torch.randn(2, channels, *size)
    norm = ChannelsLastNorm(groups, channels).requires_grad_(False)
    norm.weight.data, norm.bias.data = weight, bias
    pulled = []
    for make in (norm, lambda x: functional.group_norm(x, groups, weight, bias)):
        x = images.clone(memory_format=torch.preserve_format).requires_grad_()
        y = make(x)
        pulled.append((y.detach(), torch.autograd.grad(y, x, pull)[0]))
    assert torch.allclose(pulled[0][0], pulled[1][0], atol=1e-5)
    assert torch.allclose(pulled[0][1], pulled[1][1], atol=1e-4)


@pytest.mark.parametrize("side", [16, 32])
def test_in_bfloat16_it_is_as_near_to_the_truth_as_torchs(side: int) -> None:
    torch.manual_seed(0)
    images = torch.randn(2, 64, side, side) * 2 + 1
    norm = quicken(nn.Sequential(nn.GroupNorm(32, 64))).requires_grad_(False)
    truth = functional.group_norm(images, 32)
    coarse = images.bfloat16().contiguous(memory_format=torch.channels_last)
    ours = (norm(coarse).float() - truth).norm()
    torchs = (functional.group_norm(coarse, 32).float() - truth).norm()
    assert ours < 1.5 * torchs


def test_other_layouts_go_torchs_way() -> None:
    norm = ChannelsLastNorm(2, 4)
    for images in (torch.randn(1, 4, 5), torch.randn(1, 4, 5, 6)):
        assert torch.equal(norm(images), functional.group_norm(images, 2, norm.weight, norm.bias))
